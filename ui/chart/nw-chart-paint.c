#include "ui/chart/nw-chart-paint.h"

#include <math.h>
#include <pango/pangocairo.h>
#include <string.h>

enum { LEFT = 1, RIGHT = 2, CENTER = 4, BOLD = 8 };

static void source(cairo_t *cr, NwChartColor color, double alpha)
{
  cairo_set_source_rgba(cr, color.r, color.g, color.b, color.a * alpha);
}

static PangoLayout *layout_new(cairo_t *cr, const NwChartStyle *style, double px, int flags,
                               const char *words)
{
  PangoLayout *layout = pango_cairo_create_layout(cr);
  PangoFontDescription *font = pango_font_description_new();
  pango_font_description_set_family(font, style->font != NULL ? style->font : "Cantarell");
  pango_font_description_set_absolute_size(font, px * style->text_scale * PANGO_SCALE);
  pango_font_description_set_weight(font, flags & BOLD ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description(layout, font);
  pango_font_description_free(font);
  PangoAttrList *attrs = pango_attr_list_new();
  pango_attr_list_insert(attrs, pango_attr_font_features_new("tnum=1"));
  pango_layout_set_attributes(layout, attrs);
  pango_attr_list_unref(attrs);
  /* Figures run left to right in every language. */
  pango_layout_set_auto_dir(layout, FALSE);
  pango_layout_set_text(layout, words, -1);
  return layout;
}

/* Text with its middle at y. */
static void text(cairo_t *cr, const NwChartStyle *style, double x, double y, double px, int flags,
                 NwChartColor color, const char *words)
{
  PangoLayout *layout = layout_new(cr, style, px, flags, words);
  int w, h;
  pango_layout_get_pixel_size(layout, &w, &h);
  double at = flags & RIGHT ? x - w : flags & CENTER ? x - w / 2.0 : x;
  cairo_move_to(cr, floor(at + 0.5), floor(y - h / 2.0 + 0.5));
  source(cr, color, 1);
  pango_cairo_show_layout(cr, layout);
  cairo_new_path(cr);
  g_object_unref(layout);
}

static double text_width(cairo_t *cr, const NwChartStyle *style, double px, int flags, const char *words)
{
  PangoLayout *layout = layout_new(cr, style, px, flags, words);
  int w, h;
  pango_layout_get_pixel_size(layout, &w, &h);
  g_object_unref(layout);
  return w;
}

static void rounded(cairo_t *cr, double x, double y, double w, double h, double r)
{
  cairo_new_sub_path(cr);
  cairo_arc(cr, x + w - r, y + r, r, -G_PI_2, 0);
  cairo_arc(cr, x + w - r, y + h - r, r, 0, G_PI_2);
  cairo_arc(cr, x + r, y + h - r, r, G_PI_2, G_PI);
  cairo_arc(cr, x + r, y + r, r, G_PI, 1.5 * G_PI);
  cairo_close_path(cr);
}

static void crisp(cairo_t *cr, double x0, double y0, double x1, double y1)
{
  cairo_move_to(cr, floor(x0) + 0.5, floor(y0) + 0.5);
  cairo_line_to(cr, floor(x1) + 0.5, floor(y1) + 0.5);
}

NwChartPlot nw_chart_plot(const NwChartView *view, const NwChartStyle *style, double width, double height)
{
  double left = 46 * style->text_scale, bottom = view->hide_x ? 8 : 24 * style->text_scale;
  return (NwChartPlot){left, 10, MAX(width - left - 14, 1), MAX(height - 10 - bottom, 1)};
}

double nw_chart_x(const NwChartView *view, const NwChartPlot *plot, double x)
{
  return plot->left + (x - view->x0) / (view->x1 - view->x0) * plot->width;
}

double nw_chart_x_at(const NwChartView *view, const NwChartPlot *plot, double pixel)
{
  return view->x0 + (pixel - plot->left) / plot->width * (view->x1 - view->x0);
}

double nw_chart_y(const NwChartView *view, const NwChartPlot *plot, double y)
{
  double share = view->log_y
                     ? (log(view->y1) - log(MAX(y, view->y0 * 1e-6))) / (log(view->y1) - log(view->y0))
                     : (view->y1 - y) / (view->y1 - view->y0);
  return plot->top + share * plot->height;
}

double nw_chart_step(double span, int wanted)
{
  double raw = span / MAX(wanted, 1), power = pow(10, floor(log10(raw)));
  static const double steps[] = {1, 2, 2.5, 5, 10};
  for (guint i = 0; i < G_N_ELEMENTS(steps); i++)
    if (raw <= steps[i] * power * 1.0001)
      return steps[i] * power;
  return 10 * power;
}

void nw_chart_format(NwChartUnit unit, double value, char *words, gsize n)
{
  if (!isfinite(value))
    g_strlcpy(words, isnan(value) ? "NaN" : value > 0 ? "∞" : "−∞", n);
  else if (unit == NW_CHART_PERCENT)
    g_snprintf(words, n, "%.1f %%", value * 100); /* a thin no-break space would be lost in some fonts */
  else if (unit == NW_CHART_RATE || (value != 0 && fabs(value) < 1e-3))
    g_snprintf(words, n, "%.3g", value);
  else
    g_snprintf(words, n, fabs(value) < 10 ? "%.3f" : fabs(value) < 100 ? "%.2f" : "%.4g", value);
}

void nw_chart_fit_y(NwChartView *view)
{
  double low = INFINITY, high = -INFINITY;
  for (guint k = 0; k < view->series->len; k++) {
    const NwChartSeries *series = g_ptr_array_index(view->series, k);
    guint from = nw_chart_series_find(series, view->x0), n = series->points->len;
    for (guint i = from > 0 ? from - 1 : 0; i < n; i++) {
      NwChartPoint point = g_array_index(series->points, NwChartPoint, i);
      if (point.x > view->x1)
        break;
      /* The smoothed curve decides: one wild batch must not flatten everything else. */
      double y = g_array_index(series->smooth, double, i);
      if (!isfinite(y) || (view->log_y && y <= 0))
        continue;
      low = MIN(low, y);
      high = MAX(high, y);
    }
  }
  if (view->unit == NW_CHART_PERCENT) {
    view->y0 = 0;
    view->y1 = 1;
    return;
  }
  if (high < low) {
    low = view->log_y ? 0.1 : 0;
    high = 1;
  }
  if (view->log_y) {
    view->y0 = pow(10, floor(log10(low)));
    view->y1 = pow(10, ceil(log10(high) + 1e-9));
    return;
  }
  low = MIN(low, 0);
  if (high <= low)
    high = low + 1;
  double step = nw_chart_step((high - low) * 1.04, 5);
  view->y0 = floor(low / step) * step;
  view->y1 = ceil((high + (high - low) * 0.02) / step) * step;
}

/* ---- axes ---- */

static void axis_label(const NwChartView *view, double value, double step, char *words, gsize n)
{
  if (view->unit == NW_CHART_PERCENT)
    g_snprintf(words, n, "%g %%", value * 100);
  else if (view->log_y || fabs(value) >= 1e5 || (value != 0 && step < 1e-4))
    g_snprintf(words, n, "%g", value);
  else
    g_snprintf(
        words, n, "%.*f",
        (int)CLAMP(ceil(-log10(step) - 1e-9) + (fmod(step * 1e6, pow(10, floor(log10(step * 1e6)))) != 0), 0,
                   6),
        value);
}

static void y_tick(cairo_t *cr, const NwChartView *view, const NwChartStyle *style, const NwChartPlot *plot,
                   double value, double step, gboolean base)
{
  double y = nw_chart_y(view, plot, value);
  source(cr, base ? style->border : style->grid, 1);
  crisp(cr, plot->left, y, plot->left + plot->width, y);
  cairo_stroke(cr);
  char words[32];
  axis_label(view, value, step, words, sizeof words);
  text(cr, style, plot->left - 8, y, 11, RIGHT, style->dim, words);
}

static void paint_axes(cairo_t *cr, const NwChartView *view, const NwChartStyle *style,
                       const NwChartPlot *plot)
{
  cairo_set_line_width(cr, 1);
  if (view->log_y) {
    for (double v = view->y0; v <= view->y1 * 1.0001; v *= 10)
      y_tick(cr, view, style, plot, v, v, v == view->y0);
  } else {
    double step = nw_chart_step(view->y1 - view->y0, plot->height < 120 ? 2 : plot->height < 220 ? 4 : 5);
    int n = (int)((view->y1 - view->y0) / step + 1e-6);
    for (int i = 0; i <= n; i++)
      y_tick(cr, view, style, plot, view->y0 + i * step, step, i == 0);
  }
  double step = nw_chart_step(view->x1 - view->x0, (int)MAX(plot->width / (70 * style->text_scale), 2));
  if (step < 1 && view->x1 - view->x0 > 1.5)
    step = 1;
  double bottom = plot->top + plot->height;
  for (double k = ceil(view->x0 / step - 1e-9); k * step <= view->x1 + 1e-9 * step; k++) {
    double x = nw_chart_x(view, plot, k * step);
    source(cr, style->border, 1);
    crisp(cr, x, bottom, x, bottom + 4);
    cairo_stroke(cr);
    if (!view->hide_x) {
      char words[32];
      g_snprintf(words, sizeof words, "%g", k * step + 0.0); /* never "-0" */
      text(cr, style, x, bottom + 14 * style->text_scale, 11, CENTER, style->dim, words);
    }
  }
  if (view->x_label != NULL && !view->hide_x)
    text(cr, style, plot->left - 12, bottom + 14 * style->text_scale, 11, RIGHT, style->dim, view->x_label);
}

/* ---- curves ---- */

static void set_dash(cairo_t *cr, int dash)
{
  static const double patterns[][4] = {{0}, {7, 4}, {2, 4}, {8, 3, 2, 3}, {12, 4}, {5, 2, 1, 2}};
  static const int lengths[] = {0, 2, 2, 4, 2, 4};
  int k = dash % (int)G_N_ELEMENTS(lengths);
  cairo_set_dash(cr, patterns[k], lengths[k], 0);
}

/* Strokes points [from, to). With several points a pixel column, one vertical span a column is enough to look
 * the same (the column's lowest and highest value), and costs the width of the chart instead of the number of
 * points. */
static void paint_line(cairo_t *cr, const NwChartView *view, const NwChartPlot *plot,
                       const NwChartSeries *series, gboolean smooth, guint from, guint to)
{
  gboolean dense = to - from > plot->width * 2;
  double column = -1e9, low = 0, high = 0, last = 0;
  gboolean started = FALSE;
  for (guint i = from; i < to; i++) {
    NwChartPoint point = g_array_index(series->points, NwChartPoint, i);
    double value = smooth ? g_array_index(series->smooth, double, i) : point.y;
    if (!isfinite(value) || (view->log_y && value <= 0)) {
      started = FALSE;
      continue;
    }
    double x = nw_chart_x(view, plot, point.x), y = nw_chart_y(view, plot, value);
    if (!dense) {
      if (started)
        cairo_line_to(cr, x, y);
      else
        cairo_move_to(cr, x, y);
      started = TRUE;
      continue;
    }
    if (started && floor(x) == column) {
      low = MIN(low, y);
      high = MAX(high, y);
      last = y;
      continue;
    }
    if (started) {
      cairo_line_to(cr, column + 0.5, low);
      cairo_line_to(cr, column + 0.5, high);
      cairo_line_to(cr, column + 0.5, last);
    } else {
      cairo_move_to(cr, floor(x) + 0.5, y);
    }
    started = TRUE;
    column = floor(x);
    low = high = last = y;
  }
  if (dense && started)
    cairo_line_to(cr, column + 0.5, last);
}

static void paint_series(cairo_t *cr, const NwChartView *view, const NwChartStyle *style,
                         const NwChartPlot *plot, const NwChartSeries *series)
{
  guint n = series->points->len, from = nw_chart_series_find(series, view->x0), to;
  from = from > 0 ? from - 1 : 0;
  to = MIN(nw_chart_series_find(series, view->x1) + 1, n);
  if (to <= from)
    return;
  double alpha = series->dimmed ? 0.3 : 1;
  if (series->raw && series->smoothing > 0) {
    cairo_set_line_width(cr, 1);
    cairo_set_dash(cr, NULL, 0, 0);
    source(cr, series->color, 0.26 * alpha);
    paint_line(cr, view, plot, series, FALSE, from, to);
    cairo_stroke(cr);
  }
  set_dash(cr, series->dash);
  cairo_set_line_width(cr, 2);
  source(cr, series->color, alpha);
  paint_line(cr, view, plot, series, TRUE, from, to);
  cairo_stroke(cr);
  cairo_set_dash(cr, NULL, 0, 0);
  gboolean rings = series->rings && (to - from) * 12.0 < plot->width;
  if (n == 1)
    rings = TRUE; /* a line of one point would be invisible */
  for (guint i = from; i < to && rings; i++) {
    double value = g_array_index(series->smooth, double, i);
    if (!isfinite(value) || (view->log_y && value <= 0))
      continue;
    cairo_new_sub_path(cr);
    cairo_arc(cr, nw_chart_x(view, plot, g_array_index(series->points, NwChartPoint, i).x),
              nw_chart_y(view, plot, value), 3.5, 0, 2 * G_PI);
    source(cr, style->card, 1);
    cairo_fill_preserve(cr);
    source(cr, series->color, alpha);
    cairo_stroke(cr);
  }
}

/* Numbers that are none: a red tick on the axis where they happened. */
static void paint_not_finite(cairo_t *cr, const NwChartView *view, const NwChartStyle *style,
                             const NwChartPlot *plot)
{
  cairo_set_line_width(cr, 2);
  source(cr, style->err, 1);
  for (guint k = 0; k < view->series->len; k++) {
    const NwChartSeries *series = g_ptr_array_index(view->series, k);
    for (guint i = nw_chart_series_find(series, view->x0); i < series->points->len; i++) {
      NwChartPoint point = g_array_index(series->points, NwChartPoint, i);
      if (point.x > view->x1)
        break;
      if (isfinite(point.y))
        continue;
      double x = nw_chart_x(view, plot, point.x), bottom = plot->top + plot->height;
      crisp(cr, x, bottom - 6, x, bottom + 4);
    }
  }
  cairo_stroke(cr);
}

/* ---- marks ---- */

static void paint_events(cairo_t *cr, const NwChartView *view, const NwChartStyle *style,
                         const NwChartPlot *plot)
{
  static const double dots[] = {3, 3};
  for (guint i = 0; view->events != NULL && i < view->events->len; i++) {
    const NwChartEvent *event = &g_array_index(view->events, NwChartEvent, i);
    if (event->x < view->x0 || event->x > view->x1)
      continue;
    double x = nw_chart_x(view, plot, event->x);
    cairo_set_line_width(cr, 1);
    cairo_set_dash(cr, dots, 2, 0);
    source(cr, style->faint, 1);
    crisp(cr, x, plot->top, x, plot->top + plot->height);
    cairo_stroke(cr);
    cairo_set_dash(cr, NULL, 0, 0);
    text(cr, style, x + 6, plot->top + 8, 11, LEFT, style->dim, event->text);
  }
}

static void paint_best(cairo_t *cr, const NwChartView *view, const NwChartStyle *style,
                       const NwChartPlot *plot)
{
  static const double dots[] = {2, 3};
  if (isnan(view->best_x) || view->best_text == NULL || view->best_x < view->x0 || view->best_x > view->x1)
    return;
  double x = nw_chart_x(view, plot, view->best_x), y = nw_chart_y(view, plot, view->best_y);
  double bottom = plot->top + plot->height;
  cairo_set_line_width(cr, 1);
  cairo_set_dash(cr, dots, 2, 0);
  source(cr, style->ok, 0.6);
  crisp(cr, x, y + 9, x, bottom);
  cairo_stroke(cr);
  cairo_set_dash(cr, NULL, 0, 0);
  cairo_arc(cr, x, y, 7, 0, 2 * G_PI);
  source(cr, style->ok, 0.22);
  cairo_fill(cr);
  cairo_arc(cr, x, y, 4.5, 0, 2 * G_PI);
  source(cr, style->ok, 1);
  cairo_fill(cr);
  double w = text_width(cr, style, 11, BOLD, view->best_text) + 16, at = bottom - 16;
  if (y > at - 24)
    at = y - 24;
  double left = CLAMP(x - w / 2, plot->left, plot->left + plot->width - w + 10);
  rounded(cr, left, at - 10 * style->text_scale, w, 20 * style->text_scale, 10);
  source(cr, style->card, 1);
  cairo_fill_preserve(cr);
  source(cr, style->ok, 0.16);
  cairo_fill(cr);
  text(cr, style, left + w / 2, at, 11, BOLD | CENTER, style->ok, view->best_text);
}

static int by_value(gconstpointer a, gconstpointer b, gpointer cursor)
{
  double x = nw_chart_series_value(*(NwChartSeries *const *)a, *(double *)cursor);
  double y = nw_chart_series_value(*(NwChartSeries *const *)b, *(double *)cursor);
  return x < y ? 1 : x > y ? -1 : 0;
}

/* The box beside the crosshair, values sorted as the curves lie. */
static void paint_readout(cairo_t *cr, const NwChartView *view, const NwChartStyle *style,
                          const NwChartPlot *plot)
{
  g_autoptr(GPtrArray) rows = g_ptr_array_new();
  double widest = 0, cursor = view->cursor;
  char words[32];
  for (guint k = 0; k < view->series->len; k++) {
    NwChartSeries *series = g_ptr_array_index(view->series, k);
    double value = nw_chart_series_value(series, cursor);
    if (isnan(value))
      continue;
    nw_chart_format(view->unit, value, words, sizeof words);
    widest = MAX(widest, text_width(cr, style, 12, 0, series->name) + text_width(cr, style, 12, BOLD, words));
    g_ptr_array_add(rows, series);
  }
  if (rows->len == 0)
    return;
  g_ptr_array_sort_with_data(rows, by_value, &cursor);
  double scale = style->text_scale,
         w = MAX(widest + 54, text_width(cr, style, 11, 0, view->cursor_title) + 24);
  double h = (34 + 20 * rows->len) * scale, x = nw_chart_x(view, plot, cursor) + 12;
  double y = view->readout_low ? plot->top + plot->height - h - 12 : plot->top + 14;
  if (x + w > plot->left + plot->width || (view->readout_low && x - 24 - w > plot->left))
    x = MAX(x - 24 - w, plot->left);
  rounded(cr, x, y + 2, w, h, 9);
  cairo_set_source_rgba(cr, 0, 0, 0, style->dark ? 0.35 : 0.10);
  cairo_fill(cr);
  rounded(cr, x + 0.5, y + 0.5, w - 1, h - 1, 8.5);
  source(cr, style->tip, 1);
  cairo_fill_preserve(cr);
  cairo_set_line_width(cr, 1);
  source(cr, style->border, 1);
  cairo_stroke(cr);
  text(cr, style, x + 12, y + 15 * scale, 11, LEFT, style->dim, view->cursor_title);
  for (guint k = 0; k < rows->len; k++) {
    NwChartSeries *series = g_ptr_array_index(rows, k);
    double at = y + (36 + 20 * k) * scale;
    rounded(cr, x + 12, at - 1.5, 12, 3, 1.5);
    source(cr, series->color, 1);
    cairo_fill(cr);
    text(cr, style, x + 30, at, 12, LEFT, style->fg, series->name);
    nw_chart_format(view->unit, nw_chart_series_value(series, cursor), words, sizeof words);
    text(cr, style, x + w - 12, at, 12, BOLD | RIGHT, style->fg, words);
  }
}

static gboolean says_something(const NwChartView *view)
{
  for (guint k = 0; k < view->series->len; k++)
    if (!isnan(nw_chart_series_value(g_ptr_array_index(view->series, k), view->cursor)))
      return TRUE;
  return FALSE;
}

static void paint_cursor(cairo_t *cr, const NwChartView *view, const NwChartStyle *style,
                         const NwChartPlot *plot)
{
  if (isnan(view->cursor) || view->cursor < view->x0 || view->cursor > view->x1 || !says_something(view))
    return;
  double x = nw_chart_x(view, plot, view->cursor);
  cairo_set_line_width(cr, 1);
  source(cr, style->dim, 1);
  crisp(cr, x, plot->top, x, plot->top + plot->height);
  cairo_stroke(cr);
  for (guint k = 0; k < view->series->len; k++) {
    const NwChartSeries *series = g_ptr_array_index(view->series, k);
    double value = nw_chart_series_value(series, view->cursor);
    if (!isfinite(value) || (view->log_y && value <= 0))
      continue;
    double y = nw_chart_y(view, plot, value);
    cairo_arc(cr, x, y, 5, 0, 2 * G_PI);
    source(cr, style->card, 1);
    cairo_fill(cr);
    cairo_arc(cr, x, y, 3.5, 0, 2 * G_PI);
    source(cr, series->color, 1);
    cairo_fill(cr);
  }
  if (view->readout && view->cursor_title != NULL)
    paint_readout(cr, view, style, plot);
}

void nw_chart_paint(cairo_t *cr, const NwChartView *view, const NwChartStyle *style, double width,
                    double height)
{
  NwChartPlot plot = nw_chart_plot(view, style, width, height);
  if (!(view->x1 > view->x0) || !(view->y1 > view->y0))
    return;
  paint_axes(cr, view, style, &plot);
  cairo_save(cr);
  cairo_rectangle(cr, plot.left - 5, 0, plot.width + 19, plot.top + plot.height + 1);
  cairo_clip(cr);
  paint_events(cr, view, style, &plot);
  cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
  for (guint k = 0; k < view->series->len; k++)
    paint_series(cr, view, style, &plot, g_ptr_array_index(view->series, k));
  cairo_set_line_cap(cr, CAIRO_LINE_CAP_BUTT);
  if (!isnan(view->zoom_from)) {
    double a = nw_chart_x(view, &plot, view->zoom_from), b = nw_chart_x(view, &plot, view->zoom_to);
    source(cr, style->accent, 0.15);
    cairo_rectangle(cr, MIN(a, b), plot.top, fabs(b - a), plot.height);
    cairo_fill(cr);
  }
  cairo_restore(cr);
  paint_not_finite(cr, view, style, &plot);
  paint_best(cr, view, style, &plot);
  paint_cursor(cr, view, style, &plot);
}
