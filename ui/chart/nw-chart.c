#include "ui/chart/nw-chart.h"

#include <glib/gi18n.h>
#include <math.h>

struct _NwChart {
  GtkWidget parent;
  NwChartView view;
  NwChartStyle style;
  double extent0, extent1; /* of all points */
  gboolean zoomed;
  double smoothing;
  char *label, *x_label, *best_text;
  char *(*title)(double x, gpointer data);
  gpointer title_data;
  GPtrArray *linked; /* NwChart, borrowed; every chart of the link holds every other */
  double drag_start;
};

G_DEFINE_FINAL_TYPE(NwChart, nw_chart, GTK_TYPE_WIDGET)

enum { RANGE_CHANGED, CURSOR_CHANGED, SIGNALS };
static guint signals[SIGNALS];

static void event_clear(gpointer event)
{
  g_free(((NwChartEvent *)event)->text);
}

/* ---- drawing ---- */

static void nw_chart_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
  NwChart *self = NW_CHART(widget);
  int w = gtk_widget_get_width(widget), h = gtk_widget_get_height(widget);
  if (w <= 0 || h <= 0)
    return;
  g_autofree char *made = NULL;
  if (!isnan(self->view.cursor)) {
    made = self->title != NULL ? self->title(self->view.cursor, self->title_data)
                               : g_strdup_printf(_("epoch %.2f"), self->view.cursor);
    self->view.cursor_title = made;
  }
  cairo_t *cr = gtk_snapshot_append_cairo(snapshot, &GRAPHENE_RECT_INIT(0, 0, w, h));
  nw_chart_paint(cr, &self->view, &self->style, w, h);
  cairo_destroy(cr);
  self->view.cursor_title = NULL;
  if (gtk_widget_has_visible_focus(widget)) {
    GtkStyleContext *context = gtk_widget_get_style_context(widget);
    gtk_snapshot_render_focus(snapshot, context, 1, 1, w - 2, h - 2);
  }
}

static void nw_chart_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                             int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? 160 : 72;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 480 : 84;
}

/* What a screen reader says. */
static void describe(NwChart *self)
{
  GString *words = g_string_new(NULL);
  for (guint k = 0; k < self->view.series->len; k++) {
    const NwChartSeries *series = g_ptr_array_index(self->view.series, k);
    char value[32];
    if (series->points->len == 0)
      continue;
    nw_chart_format(self->view.unit, nw_chart_series_last(series), value, sizeof value);
    /* Translators: one curve of a chart: its name, its newest value, how many points it has. */
    g_string_append_printf(words, _("%s: now %s, %u points. "), series->name, value, series->points->len);
  }
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                 words->len > 0 ? words->str : _("No points yet"), -1);
  g_string_free(words, TRUE);
}

/* ---- range and crosshair, shared by linked charts ---- */

static void apply_range(NwChart *self, double x0, double x1, gboolean zoomed)
{
  self->view.x0 = x0;
  self->view.x1 = x1;
  self->zoomed = zoomed;
  nw_chart_fit_y(&self->view);
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void share_range(NwChart *self, double x0, double x1, gboolean zoomed)
{
  apply_range(self, x0, x1, zoomed);
  for (guint i = 0; i < self->linked->len; i++)
    apply_range(g_ptr_array_index(self->linked, i), x0, x1, zoomed);
  g_signal_emit(self, signals[RANGE_CHANGED], 0);
}

static void apply_cursor(NwChart *self, double x, gboolean readout)
{
  self->view.cursor = x;
  self->view.readout = readout;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void share_cursor(NwChart *self, double x)
{
  apply_cursor(self, x, TRUE);
  for (guint i = 0; i < self->linked->len; i++)
    apply_cursor(g_ptr_array_index(self->linked, i), x, TRUE);
  g_signal_emit(self, signals[CURSOR_CHANGED], 0);
}

static NwChartPlot current_plot(NwChart *self)
{
  return nw_chart_plot(&self->view, &self->style, gtk_widget_get_width(GTK_WIDGET(self)),
                       gtk_widget_get_height(GTK_WIDGET(self)));
}

static double x_at(NwChart *self, double pixel)
{
  NwChartPlot plot = current_plot(self);
  return CLAMP(nw_chart_x_at(&self->view, &plot, pixel), self->view.x0, self->view.x1);
}

static void zoom_by(NwChart *self, double factor, double around)
{
  double x0 = around - (around - self->view.x0) * factor, x1 = around + (self->view.x1 - around) * factor;
  x0 = MAX(x0, self->extent0);
  x1 = MIN(x1, self->extent1);
  if (x1 - x0 >= (self->extent1 - self->extent0) * 0.999)
    share_range(self, self->extent0, self->extent1, FALSE);
  else if (x1 - x0 > (self->extent1 - self->extent0) * 1e-4)
    share_range(self, x0, x1, TRUE);
}

/* ---- pointer and keys ---- */

static void on_motion(GtkEventControllerMotion *controller, double x, double y, gpointer data)
{
  share_cursor(data, x_at(data, x));
}

static void on_leave(GtkEventControllerMotion *controller, gpointer data)
{
  share_cursor(data, NAN);
}

static void on_drag_begin(GtkGestureDrag *gesture, double x, double y, gpointer data)
{
  NwChart *self = data;
  self->drag_start = x;
  gtk_widget_grab_focus(GTK_WIDGET(self));
}

static void on_drag_update(GtkGestureDrag *gesture, double dx, double dy, gpointer data)
{
  NwChart *self = data;
  if (fabs(dx) < 4)
    return;
  self->view.zoom_from = x_at(self, self->drag_start);
  self->view.zoom_to = x_at(self, self->drag_start + dx);
  share_cursor(self, self->view.zoom_to);
}

static void on_drag_end(GtkGestureDrag *gesture, double dx, double dy, gpointer data)
{
  NwChart *self = data;
  double a = self->view.zoom_from, b = self->view.zoom_to;
  self->view.zoom_from = self->view.zoom_to = NAN;
  if (!isnan(a) && fabs(dx) >= 8)
    share_range(self, MIN(a, b), MAX(a, b), TRUE);
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void on_pressed(GtkGestureClick *gesture, int n, double x, double y, gpointer data)
{
  if (n == 2)
    nw_chart_reset_range(data);
}

static gboolean on_scroll(GtkEventControllerScroll *controller, double dx, double dy, gpointer data)
{
  NwChart *self = data;
  if (!(gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(controller)) & GDK_CONTROL_MASK))
    return FALSE;
  zoom_by(self, dy > 0 ? 1.25 : 0.8,
          isnan(self->view.cursor) ? (self->view.x0 + self->view.x1) / 2 : self->view.cursor);
  return TRUE;
}

static void action_cursor(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwChart *self = NW_CHART(widget);
  NwChartPlot plot = current_plot(self);
  double step = (self->view.x1 - self->view.x0) / plot.width * 4;
  double x = isnan(self->view.cursor) ? self->view.x1 : self->view.cursor;
  share_cursor(self, CLAMP(x + step * g_variant_get_int32(parameter), self->view.x0, self->view.x1));
}

static void action_zoom(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwChart *self = NW_CHART(widget);
  int by = g_variant_get_int32(parameter);
  if (by == 0)
    nw_chart_reset_range(self);
  else
    zoom_by(self, by > 0 ? 0.8 : 1.25,
            isnan(self->view.cursor) ? (self->view.x0 + self->view.x1) / 2 : self->view.cursor);
}

static void action_log(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwChart *self = NW_CHART(widget);
  if (self->view.unit != NW_CHART_PERCENT)
    nw_chart_set_log(self, !self->view.log_y);
}

/* ---- object ---- */

static void nw_chart_dispose(GObject *object)
{
  NwChart *self = NW_CHART(object);
  for (guint i = 0; i < self->linked->len; i++)
    g_ptr_array_remove(((NwChart *)g_ptr_array_index(self->linked, i))->linked, self);
  g_ptr_array_set_size(self->linked, 0);
  G_OBJECT_CLASS(nw_chart_parent_class)->dispose(object);
}

static void nw_chart_finalize(GObject *object)
{
  NwChart *self = NW_CHART(object);
  g_ptr_array_unref(self->view.series);
  g_array_unref(self->view.events);
  g_ptr_array_unref(self->linked);
  g_free(self->label);
  g_free(self->x_label);
  g_free(self->best_text);
  G_OBJECT_CLASS(nw_chart_parent_class)->finalize(object);
}

static void nw_chart_class_init(NwChartClass *klass)
{
  GObjectClass *object = G_OBJECT_CLASS(klass);
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  object->dispose = nw_chart_dispose;
  object->finalize = nw_chart_finalize;
  widget->snapshot = nw_chart_snapshot;
  widget->measure = nw_chart_measure;
  gtk_widget_class_set_css_name(widget, "chart");
  gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_install_action(widget, "chart.cursor", "i", action_cursor);
  gtk_widget_class_install_action(widget, "chart.zoom", "i", action_zoom);
  gtk_widget_class_install_action(widget, "chart.log", NULL, action_log);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_Left, 0, "chart.cursor", "i", -1);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_Right, 0, "chart.cursor", "i", 1);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_plus, 0, "chart.zoom", "i", 1);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_KP_Add, 0, "chart.zoom", "i", 1);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_minus, 0, "chart.zoom", "i", -1);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_KP_Subtract, 0, "chart.zoom", "i", -1);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_0, 0, "chart.zoom", "i", 0);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_Escape, 0, "chart.zoom", "i", 0);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_l, 0, "chart.log", NULL);
  signals[RANGE_CHANGED] =
      g_signal_new("range-changed", NW_TYPE_CHART, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[CURSOR_CHANGED] =
      g_signal_new("cursor-changed", NW_TYPE_CHART, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void nw_chart_init(NwChart *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  self->view = (NwChartView){
      .x1 = 1, .y1 = 1, .cursor = NAN, .best_x = NAN, .best_y = NAN, .zoom_from = NAN, .zoom_to = NAN};
  self->view.series = g_ptr_array_new_with_free_func((GDestroyNotify)nw_chart_series_free);
  self->view.events = g_array_new(FALSE, FALSE, sizeof(NwChartEvent));
  g_array_set_clear_func(self->view.events, event_clear);
  self->linked = g_ptr_array_new();
  self->extent1 = 1;
  self->style.text_scale = 1;
  gtk_widget_set_focusable(widget, TRUE);
  gtk_widget_set_hexpand(widget, TRUE);
  gtk_widget_set_vexpand(widget, TRUE);

  GtkEventController *motion = gtk_event_controller_motion_new();
  g_signal_connect(motion, "motion", G_CALLBACK(on_motion), self);
  g_signal_connect(motion, "leave", G_CALLBACK(on_leave), self);
  gtk_widget_add_controller(widget, motion);
  GtkGesture *drag = gtk_gesture_drag_new();
  g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), self);
  g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), self);
  g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drag));
  GtkGesture *click = gtk_gesture_click_new();
  g_signal_connect(click, "pressed", G_CALLBACK(on_pressed), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(click));
  GtkEventController *scroll = gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), self);
  gtk_widget_add_controller(widget, scroll);
}

GtkWidget *nw_chart_new(NwChartUnit unit, const char *label)
{
  NwChart *self = g_object_new(NW_TYPE_CHART, NULL);
  self->view.unit = unit;
  self->label = g_strdup(label);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return GTK_WIDGET(self);
}

static void link_one(NwChart *a, NwChart *b)
{
  if (a != b && !g_ptr_array_find(a->linked, b, NULL))
    g_ptr_array_add(a->linked, b);
}

void nw_chart_link(NwChart *chart, NwChart *other)
{
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  g_ptr_array_add(all, chart);
  g_ptr_array_add(all, other);
  for (guint i = 0; i < chart->linked->len; i++)
    g_ptr_array_add(all, g_ptr_array_index(chart->linked, i));
  for (guint i = 0; i < other->linked->len; i++)
    g_ptr_array_add(all, g_ptr_array_index(other->linked, i));
  for (guint i = 0; i < all->len; i++)
    for (guint j = 0; j < all->len; j++)
      link_one(g_ptr_array_index(all, i), g_ptr_array_index(all, j));
}

NwChartSeries *nw_chart_add_series(NwChart *chart, const char *name, NwChartColor color)
{
  NwChartSeries *series = nw_chart_series_new(name, color);
  g_ptr_array_add(chart->view.series, series);
  return series;
}

void nw_chart_clear(NwChart *chart)
{
  g_ptr_array_set_size(chart->view.series, 0);
  g_array_set_size(chart->view.events, 0);
  chart->view.best_x = chart->view.best_y = NAN;
  chart->zoomed = FALSE;
  nw_chart_updated(chart);
}

void nw_chart_updated(NwChart *chart)
{
  nw_chart_fit_y(&chart->view);
  describe(chart);
  gtk_widget_queue_draw(GTK_WIDGET(chart));
}

void nw_chart_add_event(NwChart *chart, double x, const char *text)
{
  NwChartEvent event = {x, g_strdup(text)};
  g_array_append_val(chart->view.events, event);
  gtk_widget_queue_draw(GTK_WIDGET(chart));
}

void nw_chart_set_best(NwChart *chart, double x, double y, const char *text)
{
  g_free(chart->best_text);
  chart->best_text = g_strdup(text);
  chart->view.best_x = x;
  chart->view.best_y = y;
  chart->view.best_text = chart->best_text;
  gtk_widget_queue_draw(GTK_WIDGET(chart));
}

void nw_chart_set_extent(NwChart *chart, double x0, double x1)
{
  if (!(x1 > x0))
    x1 = x0 + 1;
  chart->extent0 = x0;
  chart->extent1 = x1;
  if (!chart->zoomed)
    apply_range(chart, x0, x1, FALSE);
}

void nw_chart_set_range(NwChart *chart, double x0, double x1)
{
  if (x1 > x0)
    share_range(chart, x0, x1, TRUE);
}

void nw_chart_reset_range(NwChart *chart)
{
  share_range(chart, chart->extent0, chart->extent1, FALSE);
}

void nw_chart_set_unit(NwChart *chart, NwChartUnit unit)
{
  chart->view.unit = unit;
  chart->view.log_y = chart->view.log_y && unit != NW_CHART_PERCENT;
  nw_chart_updated(chart);
}

void nw_chart_set_log(NwChart *chart, gboolean on)
{
  chart->view.log_y = on;
  nw_chart_updated(chart);
}

void nw_chart_set_smoothing(NwChart *chart, double smoothing)
{
  chart->smoothing = smoothing;
  for (guint k = 0; k < chart->view.series->len; k++) {
    NwChartSeries *series = g_ptr_array_index(chart->view.series, k);
    if (series->raw)
      nw_chart_series_set_smoothing(series, smoothing);
  }
  nw_chart_updated(chart);
}

void nw_chart_set_x_label(NwChart *chart, const char *label)
{
  g_free(chart->x_label);
  chart->x_label = g_strdup(label);
  chart->view.x_label = chart->x_label;
  gtk_widget_queue_draw(GTK_WIDGET(chart));
}

void nw_chart_set_hide_x(NwChart *chart, gboolean hide)
{
  chart->view.hide_x = hide;
  gtk_widget_queue_draw(GTK_WIDGET(chart));
}

void nw_chart_set_readout_low(NwChart *chart, gboolean low)
{
  chart->view.readout_low = low;
}

void nw_chart_set_title_func(NwChart *chart, char *(*title)(double x, gpointer data), gpointer data)
{
  chart->title = title;
  chart->title_data = data;
}

void nw_chart_set_style(NwChart *chart, const NwChartStyle *style)
{
  chart->style = *style;
  gtk_widget_queue_draw(GTK_WIDGET(chart));
}

const NwChartView *nw_chart_view(NwChart *chart)
{
  return &chart->view;
}

char *nw_chart_csv(NwChart *chart)
{
  GString *out = g_string_new("series,x,value\n");
  char x[G_ASCII_DTOSTR_BUF_SIZE], y[G_ASCII_DTOSTR_BUF_SIZE];
  for (guint k = 0; k < chart->view.series->len; k++) {
    const NwChartSeries *series = g_ptr_array_index(chart->view.series, k);
    g_auto(GStrv) parts = g_strsplit(series->name, "\"", -1);
    g_autofree char *name = g_strjoinv("\"\"", parts);
    for (guint i = 0; i < series->points->len; i++) {
      NwChartPoint point = g_array_index(series->points, NwChartPoint, i);
      g_string_append_printf(out, "\"%s\",%s,%s\n", name, g_ascii_formatd(x, sizeof x, "%.10g", point.x),
                             g_ascii_formatd(y, sizeof y, "%.10g", point.y));
    }
  }
  return g_string_free(out, FALSE);
}
