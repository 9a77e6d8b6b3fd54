#include "ui/chart/nw-chart-theme.h"

NwChartColor nw_chart_color(GtkWidget *widget, const char *name)
{
  GdkRGBA rgba = {0.5f, 0.5f, 0.5f, 1};
  G_GNUC_BEGIN_IGNORE_DEPRECATIONS
  gtk_style_context_lookup_color(gtk_widget_get_style_context(widget), name, &rgba);
  G_GNUC_END_IGNORE_DEPRECATIONS
  return (NwChartColor){rgba.red, rgba.green, rgba.blue, rgba.alpha};
}

void nw_chart_style_read(GtkWidget *widget, NwChartStyle *style)
{
  int dpi = 0;
  g_object_get(gtk_widget_get_settings(widget), "gtk-xft-dpi", &dpi, NULL);
  style->fg = nw_chart_color(widget, "nw_fg");
  style->dim = nw_chart_color(widget, "nw_dim");
  style->faint = nw_chart_color(widget, "nw_faint");
  style->border = nw_chart_color(widget, "nw_border");
  style->grid = nw_chart_color(widget, "nw_grid");
  style->card = nw_chart_color(widget, "card_bg_color");
  style->tip = nw_chart_color(widget, "popover_bg_color");
  style->ok = nw_chart_color(widget, "nw_ok");
  style->err = nw_chart_color(widget, "nw_err");
  style->accent = nw_chart_color(widget, "accent_bg_color");
  style->dark = style->fg.r > 0.5;
  /* In the dark theme the card is a veil over the window: rings need the colour that is seen. */
  if (style->card.a < 1) {
    NwChartColor under = nw_chart_color(widget, "window_bg_color");
    double a = style->card.a;
    style->card = (NwChartColor){style->card.r * a + under.r * (1 - a), style->card.g * a + under.g * (1 - a),
                                 style->card.b * a + under.b * (1 - a), 1};
  }
  style->text_scale = dpi > 0 ? dpi / 1024.0 / 96.0 : 1;
  style->font = "Cantarell";
}
