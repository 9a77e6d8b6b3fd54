#include "ui/pages/nw-train-charts.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/chart/nw-chart-theme.h"
#include "ui/chart/nw-chart.h"
#include "ui/widgets/nw-text.h"

/* A curve and the session's series that feeds it. */
typedef struct Feed {
  const char *metric;
  NwChartSeries *series;
  guint taken;       /* points already in the chart */
  GtkWidget *legend; /* newest value */
  gboolean share;
} Feed;

enum { TRAIN_LOSS, VAL_LOSS, TRAIN_ACCURACY, VAL_ACCURACY, LR, FEEDS };

struct _NwTrainCharts {
  GtkWidget parent;
  NwProject *project;
  NwSession *session;
  GtkWidget *box;
  NwChart *loss, *accuracy, *rate;
  NwChartSeries *planned;
  GtkWidget *rate_now, *log_y;
  Feed feeds[FEEDS];
  char *run; /* the run whose points are shown */
  double smoothing;
  gint64 told; /* when the legends were last set */
  gint64 best_epoch;
  gulong handlers[3];
};

G_DEFINE_FINAL_TYPE(NwTrainCharts, nw_train_charts, GTK_TYPE_WIDGET)

/* ---- building ---- */

static GtkWidget *text_label(const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new(text);
  gtk_widget_add_css_class(label, css);
  return label;
}

static void draw_swatch(GtkDrawingArea *area, cairo_t *cr, int w, int h, gpointer name)
{
  NwChartColor color = nw_chart_color(GTK_WIDGET(area), name);
  cairo_set_source_rgba(cr, color.r, color.g, color.b, color.a);
  cairo_set_line_width(cr, 3);
  cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
  cairo_move_to(cr, 2, h / 2.0);
  cairo_line_to(cr, w - 2, h / 2.0);
  cairo_stroke(cr);
  if (g_str_equal(name, "nw_val")) {
    cairo_arc(cr, w / 2.0, h / 2.0, 3.5, 0, 2 * G_PI);
    cairo_fill(cr);
  }
}

/* "— train 0.343" in a card's head; returns the label of the value. */
static GtkWidget *add_legend(GtkWidget *head, const char *color, const char *name)
{
  GtkWidget *swatch = gtk_drawing_area_new();
  gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(swatch), 18);
  gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(swatch), 12);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(swatch), draw_swatch, (gpointer)color, NULL);
  gtk_widget_set_valign(swatch, GTK_ALIGN_CENTER);
  gtk_widget_set_margin_start(swatch, 8);
  gtk_box_append(GTK_BOX(head), swatch);
  gtk_box_append(GTK_BOX(head), text_label(name, "dim"));
  GtkWidget *value = text_label("", "legend-value");
  gtk_widget_add_css_class(value, "numeric");
  gtk_box_append(GTK_BOX(head), value);
  return value;
}

static GtkWidget *card_new(const char *title, const char *subtitle, GtkWidget **head)
{
  GtkWidget *card = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_add_css_class(card, "card");
  gtk_widget_add_css_class(card, "chart-card");
  *head = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_box_append(GTK_BOX(*head), text_label(title, "card-title"));
  GtkWidget *sub = text_label(subtitle, "dim");
  gtk_label_set_xalign(GTK_LABEL(sub), 0);
  gtk_label_set_ellipsize(GTK_LABEL(sub), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand(sub, TRUE);
  gtk_box_append(GTK_BOX(*head), sub);
  gtk_box_append(GTK_BOX(card), *head);
  return card;
}

static void on_log(GtkToggleButton *button, NwTrainCharts *self)
{
  nw_chart_set_log(self->loss, gtk_toggle_button_get_active(button));
}

static char *cursor_title(double x, gpointer data)
{
  NwTrainCharts *self = data;
  const NwSessionProgress *progress = nw_session_progress(self->session);
  if (progress == NULL || progress->batches <= 0)
    return g_strdup_printf(_("epoch %.2f"), x);
  g_autofree char *step = nw_text_count((gint64)llround(x * (double)progress->batches));
  return g_strdup_printf(_("epoch %.2f · step %s"), x, step);
}

static GtkWidget *loss_card(NwTrainCharts *self)
{
  GtkWidget *head, *card = card_new(_("Loss"), nw_project_config(self->project)->loss->label, &head);
  self->feeds[TRAIN_LOSS].legend = add_legend(head, "nw_train", _("train"));
  self->feeds[VAL_LOSS].legend = add_legend(head, "nw_val", _("validation"));
  self->log_y = gtk_toggle_button_new_with_label(_("Log y"));
  gtk_widget_add_css_class(self->log_y, "lean");
  gtk_widget_set_tooltip_text(self->log_y, _("Logarithmic scale (L in the chart)"));
  gtk_widget_set_margin_start(self->log_y, 8);
  g_signal_connect(self->log_y, "toggled", G_CALLBACK(on_log), self);
  gtk_box_append(GTK_BOX(head), self->log_y);
  self->loss = NW_CHART(nw_chart_new(NW_CHART_NUMBER, _("Loss")));
  nw_chart_set_hide_x(self->loss, TRUE);
  gtk_box_append(GTK_BOX(card), GTK_WIDGET(self->loss));
  return card;
}

static GtkWidget *accuracy_card(NwTrainCharts *self)
{
  GtkWidget *head, *card = card_new(_("Accuracy"), _("top 1"), &head);
  self->feeds[TRAIN_ACCURACY].legend = add_legend(head, "nw_train", _("train"));
  self->feeds[VAL_ACCURACY].legend = add_legend(head, "nw_val", _("validation"));
  self->accuracy = NW_CHART(nw_chart_new(NW_CHART_PERCENT, _("Accuracy")));
  nw_chart_set_x_label(self->accuracy, _("epoch"));
  nw_chart_set_readout_low(self->accuracy, TRUE);
  gtk_box_append(GTK_BOX(card), GTK_WIDGET(self->accuracy));

  gtk_box_append(GTK_BOX(card), gtk_separator_new(GTK_ORIENTATION_HORIZONTAL));
  GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_box_append(GTK_BOX(line), text_label(_("Learning rate"), "small-title"));
  GtkWidget *whole = text_label(_("the whole schedule; dotted: still to come"), "dim");
  gtk_label_set_ellipsize(GTK_LABEL(whole), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign(GTK_LABEL(whole), 0);
  gtk_widget_set_hexpand(whole, TRUE);
  gtk_box_append(GTK_BOX(line), whole);
  self->rate_now = text_label("", "legend-value");
  gtk_widget_add_css_class(self->rate_now, "numeric");
  gtk_box_append(GTK_BOX(line), self->rate_now);
  gtk_box_append(GTK_BOX(card), line);
  self->rate = NW_CHART(nw_chart_new(NW_CHART_RATE, _("Learning rate")));
  gtk_widget_set_vexpand(GTK_WIDGET(self->rate), FALSE);
  gtk_widget_set_size_request(GTK_WIDGET(self->rate), -1, 84);
  gtk_box_append(GTK_BOX(card), GTK_WIDGET(self->rate));
  return card;
}

/* ---- colours ---- */

static void recolor(NwTrainCharts *self)
{
  NwChartStyle style = {0};
  GtkWidget *widget = GTK_WIDGET(self);
  nw_chart_style_read(widget, &style);
  NwChart *charts[] = {self->loss, self->accuracy, self->rate};
  for (guint i = 0; i < G_N_ELEMENTS(charts); i++)
    nw_chart_set_style(charts[i], &style);
  NwChartColor train = nw_chart_color(widget, "nw_train"), val = nw_chart_color(widget, "nw_val");
  self->feeds[TRAIN_LOSS].series->color = self->feeds[TRAIN_ACCURACY].series->color = train;
  self->feeds[VAL_LOSS].series->color = self->feeds[VAL_ACCURACY].series->color = val;
  self->feeds[LR].series->color = self->planned->color = nw_chart_color(widget, "nw_run_3");
}

static void nw_train_charts_css_changed(GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS(nw_train_charts_parent_class)->css_changed(widget, change);
  if (NW_TRAIN_CHARTS(widget)->planned != NULL)
    recolor(NW_TRAIN_CHARTS(widget));
}

/* ---- feeding ---- */

static void add_feed(NwTrainCharts *self, int k, NwChart *chart, const char *metric, const char *name,
                     gboolean rings, gboolean share)
{
  Feed *feed = &self->feeds[k];
  feed->metric = metric;
  feed->series = nw_chart_add_series(chart, name, (NwChartColor){0.5, 0.5, 0.5, 1});
  feed->series->rings = rings;
  feed->series->raw = !rings && k != LR;
  feed->taken = 0;
  feed->share = share;
  if (feed->series->raw)
    nw_chart_series_set_smoothing(feed->series, self->smoothing);
}

static void start_over(NwTrainCharts *self)
{
  nw_chart_clear(self->loss);
  nw_chart_clear(self->accuracy);
  nw_chart_clear(self->rate);
  self->best_epoch = 0;
  add_feed(self, TRAIN_LOSS, self->loss, "train_loss", _("train"), FALSE, FALSE);
  add_feed(self, VAL_LOSS, self->loss, "val_loss", _("validation"), TRUE, FALSE);
  add_feed(self, TRAIN_ACCURACY, self->accuracy, "train_accuracy", _("train"), FALSE, TRUE);
  add_feed(self, VAL_ACCURACY, self->accuracy, "val_accuracy", _("validation"), TRUE, TRUE);
  self->planned = nw_chart_add_series(self->rate, _("planned"), (NwChartColor){0.5, 0.5, 0.5, 1});
  self->planned->dash = 2;
  add_feed(self, LR, self->rate, "lr", _("learning rate"), FALSE, FALSE);
  recolor(self);
}

static void plan_rate(NwTrainCharts *self)
{
  const NwTrainConfig *config = nw_project_config(self->project);
  double epochs = MAX((double)config->epochs, 1);
  nw_chart_series_clear(self->planned);
  for (int i = 0; i <= 240; i++)
    nw_chart_series_add(self->planned, epochs * i / 240, nw_train_config_lr(config, epochs * i / 240));
  nw_chart_set_extent(self->rate, 0, epochs);
  nw_chart_updated(self->rate);
}

static void set_legend(const Feed *feed)
{
  double last = nw_chart_series_last(feed->series);
  g_autofree char *text = feed->share ? nw_text_share(last) : nw_text_number(last);
  if (g_strcmp0(gtk_label_get_text(GTK_LABEL(feed->legend)), text) != 0)
    gtk_label_set_text(GTK_LABEL(feed->legend), text);
}

static gboolean take(NwTrainCharts *self, Feed *feed)
{
  const GArray *points = nw_session_series(self->session, feed->metric);
  guint n = points != NULL ? points->len : 0;
  if (n < feed->taken) { /* a resumed run was rewound to its checkpoint */
    nw_chart_series_clear(feed->series);
    feed->taken = 0;
  }
  gboolean any = n > feed->taken;
  for (; feed->taken < n; feed->taken++) {
    NwMetricPoint point = g_array_index(points, NwMetricPoint, feed->taken);
    nw_chart_series_add(feed->series, point.epoch, point.value);
  }
  return any;
}

static void mark_best(NwTrainCharts *self, const NwSessionProgress *progress)
{
  if (progress->best_epoch == self->best_epoch || isnan(progress->best_val_accuracy))
    return;
  self->best_epoch = progress->best_epoch;
  g_autofree char *share = nw_text_share(progress->best_val_accuracy);
  /* Translators: mark in the accuracy chart: best · 91.2 % at 5 (epoch). */
  g_autofree char *text = g_strdup_printf(_("best · %s at %d"), share, (int)progress->best_epoch);
  nw_chart_set_best(self->accuracy, (double)progress->best_epoch, progress->best_val_accuracy, text);
}

/* Words beside the curves: as often as eyes follow; each change lays the window out anew. */
enum { LEGEND_EVERY = 250 * 1000 };

static void on_progress(NwSession *session, NwTrainCharts *self)
{
  const char *run = nw_session_run(session);
  if (g_strcmp0(run, self->run) != 0) {
    g_free(self->run);
    self->run = g_strdup(run);
    start_over(self);
    plan_rate(self);
  }
  const NwSessionProgress *progress = nw_session_progress(session);
  if (progress == NULL || run == NULL)
    return;
  gboolean changed = FALSE;
  for (int k = 0; k < FEEDS; k++)
    changed |= take(self, &self->feeds[k]);
  if (!changed && nw_session_is_active(session))
    return;
  mark_best(self, progress);
  double now = progress->batches > 0
                   ? (double)progress->epoch + (double)progress->batch / (double)progress->batches
                   : (double)progress->epoch;
  double shown = MIN(MAX(ceil(now + 0.02), 1), MAX((double)progress->epochs, 1));
  nw_chart_set_extent(self->loss, 0, shown);
  nw_chart_set_extent(self->accuracy, 0, shown);
  nw_chart_updated(self->loss);
  nw_chart_updated(self->accuracy);
  nw_chart_updated(self->rate);
  gint64 told = g_get_monotonic_time();
  if (told - self->told < LEGEND_EVERY && nw_session_is_active(session))
    return;
  self->told = told;
  for (int k = 0; k < FEEDS; k++)
    if (self->feeds[k].legend != NULL)
      set_legend(&self->feeds[k]);
  g_autofree char *rate = g_strdup_printf(_("now %.4g"), progress->lr);
  gtk_label_set_text(GTK_LABEL(self->rate_now), rate);
}

static void on_settings(NwProject *project, NwTrainCharts *self)
{
  if (!nw_session_is_active(self->session))
    plan_rate(self);
}

/* ---- object ---- */

void nw_train_charts_set_smoothing(NwTrainCharts *charts, double smoothing)
{
  charts->smoothing = smoothing;
  nw_chart_set_smoothing(charts->loss, smoothing);
  nw_chart_set_smoothing(charts->accuracy, smoothing);
}

char *nw_train_charts_csv(NwTrainCharts *charts)
{
  g_autofree char *loss = nw_chart_csv(charts->loss), *accuracy = nw_chart_csv(charts->accuracy);
  const char *rows = strchr(accuracy, '\n');
  return g_strconcat("# loss\n", loss, "# accuracy", rows != NULL ? rows : "\n", NULL);
}

static void nw_train_charts_dispose(GObject *object)
{
  NwTrainCharts *self = NW_TRAIN_CHARTS(object);
  g_clear_signal_handler(&self->handlers[0], self->session);
  g_clear_signal_handler(&self->handlers[1], self->session);
  g_clear_signal_handler(&self->handlers[2], self->project);
  self->planned = NULL;
  g_clear_pointer(&self->box, gtk_widget_unparent);
  g_clear_object(&self->session);
  g_clear_object(&self->project);
  g_clear_pointer(&self->run, g_free);
  G_OBJECT_CLASS(nw_train_charts_parent_class)->dispose(object);
}

static void nw_train_charts_class_init(NwTrainChartsClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_train_charts_dispose;
  GTK_WIDGET_CLASS(klass)->css_changed = nw_train_charts_css_changed;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
}

static void nw_train_charts_init(NwTrainCharts *self)
{
  self->smoothing = 0.9;
  self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);
  gtk_widget_set_parent(self->box, GTK_WIDGET(self));
}

GtkWidget *nw_train_charts_new(NwProject *project, NwSession *session)
{
  NwTrainCharts *self = g_object_new(NW_TYPE_TRAIN_CHARTS, NULL);
  self->project = g_object_ref(project);
  self->session = g_object_ref(session);
  gtk_box_append(GTK_BOX(self->box), loss_card(self));
  gtk_box_append(GTK_BOX(self->box), accuracy_card(self));
  nw_chart_link(self->loss, self->accuracy);
  nw_chart_set_title_func(self->loss, cursor_title, self);
  nw_chart_set_title_func(self->accuracy, cursor_title, self);
  start_over(self);
  plan_rate(self);
  self->handlers[0] = g_signal_connect(session, "progress", G_CALLBACK(on_progress), self);
  self->handlers[1] = g_signal_connect(session, "state-changed", G_CALLBACK(on_progress), self);
  self->handlers[2] = g_signal_connect(project, "settings-changed", G_CALLBACK(on_settings), self);
  on_progress(session, self);
  return GTK_WIDGET(self);
}
