#include "ui/pages/nw-history-columns.h"

#include <glib/gi18n.h>
#include <math.h>

#include "app/session.h"
#include "ui/chart/nw-chart-theme.h"
#include "ui/model/nw-run-item.h"
#include "ui/widgets/nw-text.h"

/* One cell: fills itself from the item and again whenever the item changes. */
typedef void (*Fill)(GtkWidget *cell, NwRunItem *item);

static const char *state_icon(NwRunState state)
{
  switch (state) {
  case NW_RUN_RUNNING:
    return "media-playback-start-symbolic";
  case NW_RUN_PAUSED:
    return "media-playback-pause-symbolic";
  case NW_RUN_FINISHED:
    return "object-select-symbolic";
  case NW_RUN_STOPPED:
    return "media-playback-stop-symbolic";
  case NW_RUN_INTERRUPTED:
    return "dialog-warning-symbolic";
  case NW_RUN_FAILED:
    return "dialog-error-symbolic";
  }
  return "dialog-question-symbolic";
}

static const char *state_words(NwRunState state)
{
  switch (state) {
  case NW_RUN_RUNNING:
    return _("running");
  case NW_RUN_PAUSED:
    return _("paused");
  case NW_RUN_FINISHED:
    return _("finished");
  case NW_RUN_STOPPED:
    return _("stopped");
  case NW_RUN_INTERRUPTED:
    return _("interrupted");
  case NW_RUN_FAILED:
    return _("failed");
  }
  return "";
}

static const char *state_tone(NwRunState state)
{
  return state == NW_RUN_FINISHED || state == NW_RUN_RUNNING ? "ok"
         : state == NW_RUN_FAILED                            ? "err"
         : state == NW_RUN_INTERRUPTED                       ? "warn"
                                                             : "dim";
}

static void set_tone(GtkWidget *widget, const char *tone)
{
  static const char *const tones[] = {"ok", "warn", "err", "dim"};
  for (guint i = 0; i < G_N_ELEMENTS(tones); i++)
    gtk_widget_remove_css_class(widget, tones[i]);
  gtk_widget_add_css_class(widget, tone);
}

/* ---- the run: icon, name, number, chip where something is to be said ---- */

static GtkWidget *make_run(void)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *name = gtk_label_new(NULL), *number = gtk_label_new(NULL), *chip = gtk_label_new(NULL);
  gtk_label_set_ellipsize(GTK_LABEL(name), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign(GTK_LABEL(name), 0);
  gtk_label_set_width_chars(GTK_LABEL(name), 20); /* a name is never cut to nothing */
  gtk_widget_add_css_class(number, "dim");
  gtk_widget_add_css_class(number, "caption");
  gtk_widget_add_css_class(number, "numeric");
  gtk_widget_add_css_class(chip, "chip");
  gtk_widget_set_valign(chip, GTK_ALIGN_CENTER);
  gtk_box_append(GTK_BOX(box), gtk_image_new());
  gtk_box_append(GTK_BOX(box), name);
  gtk_box_append(GTK_BOX(box), number);
  gtk_box_append(GTK_BOX(box), chip);
  return box;
}

static void fill_run(GtkWidget *cell, NwRunItem *item)
{
  const NwRunInfo *info = nw_run_item_info(item);
  GtkWidget *icon = gtk_widget_get_first_child(cell), *name = gtk_widget_get_next_sibling(icon);
  GtkWidget *number = gtk_widget_get_next_sibling(name), *chip = gtk_widget_get_next_sibling(number);
  gtk_image_set_from_icon_name(GTK_IMAGE(icon), state_icon(info->state));
  set_tone(icon, state_tone(info->state));
  gtk_widget_set_tooltip_text(icon, state_words(info->state));
  gtk_label_set_text(GTK_LABEL(name), info->name != NULL && *info->name != '\0' ? info->name : info->id);
  g_autofree char *n = g_strdup_printf("%d", (int)info->number);
  gtk_label_set_text(GTK_LABEL(number), n);
  /* A finished run needs no word; what asks for a decision does. */
  gboolean tell = info->state != NW_RUN_FINISHED && info->state != NW_RUN_STOPPED;
  gtk_widget_set_visible(chip, tell);
  gtk_label_set_text(GTK_LABEL(chip), state_words(info->state));
  set_tone(chip, state_tone(info->state));
  gtk_widget_set_tooltip_text(chip, info->message);
}

/* ---- validation accuracy: a bar in the run's colour, and the figure ---- */

static void draw_bar(GtkDrawingArea *area, cairo_t *cr, int w, int h, gpointer data)
{
  NwRunItem *item = g_object_get_data(G_OBJECT(area), "item");
  double share = item != NULL ? nw_run_item_info(item)->best_val_accuracy : NAN;
  NwChartColor track = nw_chart_color(GTK_WIDGET(area), "nw_track"), color;
  char name[16] = "nw_faint";
  if (item != NULL && nw_run_item_slot(item) >= 0)
    g_snprintf(name, sizeof name, "nw_run_%d", nw_run_item_slot(item) + 1);
  color = nw_chart_color(GTK_WIDGET(area), name);
  cairo_set_line_width(cr, 6);
  cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
  cairo_set_source_rgba(cr, track.r, track.g, track.b, track.a);
  cairo_move_to(cr, 3, h / 2.0);
  cairo_line_to(cr, w - 3, h / 2.0);
  cairo_stroke(cr);
  if (!isfinite(share))
    return;
  cairo_set_source_rgba(cr, color.r, color.g, color.b, color.a);
  cairo_move_to(cr, 3, h / 2.0);
  cairo_line_to(cr, 3 + CLAMP(share, 0, 1) * (w - 6), h / 2.0);
  cairo_stroke(cr);
}

static GtkWidget *make_accuracy(void)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *bar = gtk_drawing_area_new(), *figure = gtk_label_new(NULL);
  gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(bar), 72);
  gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(bar), 12);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(bar), draw_bar, NULL, NULL);
  gtk_widget_set_valign(bar, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class(figure, "numeric");
  gtk_box_append(GTK_BOX(box), bar);
  gtk_box_append(GTK_BOX(box), figure);
  return box;
}

static void fill_accuracy(GtkWidget *cell, NwRunItem *item)
{
  GtkWidget *bar = gtk_widget_get_first_child(cell), *figure = gtk_widget_get_next_sibling(bar);
  g_autofree char *text = nw_text_share(nw_run_item_info(item)->best_val_accuracy);
  gtk_label_set_text(GTK_LABEL(figure), text);
  g_object_set_data(G_OBJECT(bar), "item", item);
  gtk_widget_queue_draw(bar);
}

/* ---- plain texts ---- */

static GtkWidget *make_text(void)
{
  GtkWidget *label = gtk_label_new(NULL);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
  return label;
}

static GtkWidget *make_figure(void)
{
  GtkWidget *label = gtk_label_new(NULL);
  gtk_label_set_xalign(GTK_LABEL(label), 1);
  gtk_widget_add_css_class(label, "numeric");
  return label;
}

static void fill_dataset(GtkWidget *cell, NwRunItem *item)
{
  const char *root = nw_run_item_info(item)->dataset_root;
  g_autofree char *base = root != NULL && *root != '\0' ? g_filename_display_basename(root) : g_strdup("–");
  gtk_label_set_text(GTK_LABEL(cell), base);
  gtk_widget_set_tooltip_text(cell, root);
}

static void fill_network(GtkWidget *cell, NwRunItem *item)
{
  g_autofree char *name = nw_session_network_words(nw_run_item_info(item)->network_name);
  gtk_label_set_text(GTK_LABEL(cell), name);
}

static void fill_epochs(GtkWidget *cell, NwRunItem *item)
{
  const NwRunInfo *info = nw_run_item_info(item);
  g_autofree char *text =
      info->best_epoch > 0 ? g_strdup_printf(_("%d of %d"), (int)info->best_epoch, (int)info->epochs_wanted)
                           : g_strdup("–");
  gtk_label_set_text(GTK_LABEL(cell), text);
}

static void fill_duration(GtkWidget *cell, NwRunItem *item)
{
  g_autofree char *text = nw_text_duration(nw_run_item_info(item)->seconds);
  gtk_label_set_text(GTK_LABEL(cell), text);
}

static void fill_started(GtkWidget *cell, NwRunItem *item)
{
  g_autofree char *text = nw_text_when(nw_run_item_info(item)->created);
  gtk_label_set_text(GTK_LABEL(cell), text);
}

static void fill_parameters(GtkWidget *cell, NwRunItem *item)
{
  g_autofree char *text = nw_text_scaled((double)nw_run_item_info(item)->parameters);
  gtk_label_set_text(GTK_LABEL(cell), text);
}

static void fill_tags(GtkWidget *cell, NwRunItem *item)
{
  const char *tags = nw_run_item_info(item)->tags;
  gtk_label_set_text(GTK_LABEL(cell), tags != NULL ? tags : "");
}

/* ---- sorting ---- */

#define INFO(p) nw_run_item_info(NW_RUN_ITEM((gpointer)(p)))
#define COMPARE(name, field)                                                                                 \
  static int name(gconstpointer a, gconstpointer b, gpointer data)                                           \
  {                                                                                                          \
    return INFO(a)->field < INFO(b)->field ? -1 : INFO(a)->field > INFO(b)->field;                           \
  }
COMPARE(by_epoch, best_epoch)
COMPARE(by_seconds, seconds)
COMPARE(by_parameters, parameters)
COMPARE(by_number, number)

/* NaN sorts below every number, so that runs without a result stand together. */
static int by_accuracy(gconstpointer a, gconstpointer b, gpointer data)
{
  double x = INFO(a)->best_val_accuracy, y = INFO(b)->best_val_accuracy;
  if (isnan(x) || isnan(y))
    return isnan(y) - isnan(x);
  return x < y ? -1 : x > y;
}

#define COMPARE_TEXT(name, field)                                                                            \
  static int name(gconstpointer a, gconstpointer b, gpointer data)                                           \
  {                                                                                                          \
    return g_utf8_collate(INFO(a)->field != NULL ? INFO(a)->field : "",                                      \
                          INFO(b)->field != NULL ? INFO(b)->field : "");                                     \
  }
COMPARE_TEXT(by_name, name)
COMPARE_TEXT(by_dataset, dataset_root)
COMPARE_TEXT(by_network, network_name)
COMPARE_TEXT(by_tags, tags)

/* ---- columns ---- */

typedef struct Column {
  const char *title;
  GtkWidget *(*make)(void);
  Fill fill;
  GCompareDataFunc compare;
  int width;
  gboolean expand;
  gboolean wide_only;
} Column;

static const Column columns[] = {
    {N_("Run"), make_run, fill_run, by_name, 0, TRUE},
    {N_("Dataset"), make_text, fill_dataset, by_dataset, 120, FALSE},
    {N_("Network"), make_text, fill_network, by_network, 190, FALSE, TRUE},
    {N_("Val accuracy"), make_accuracy, fill_accuracy, by_accuracy, 160, FALSE},
    {N_("Best epoch"), make_figure, fill_epochs, by_epoch, 90, FALSE},
    {N_("Duration"), make_figure, fill_duration, by_seconds, 100, FALSE},
    {N_("Started"), make_text, fill_started, by_number, 120, FALSE},
    {N_("Parameters"), make_figure, fill_parameters, by_parameters, 100, FALSE, TRUE},
    {N_("Tags"), make_text, fill_tags, by_tags, 100, FALSE, TRUE},
};

static void on_setup(GtkListItemFactory *factory, GtkListItem *item, const Column *column)
{
  /* In GTK 4.8 a cell and its row both answer a click, and Ctrl+click chooses and drops the row at once:
   * leave clicks to the row. */
  gtk_list_item_set_selectable(item, FALSE);
  gtk_list_item_set_activatable(item, FALSE);
  gtk_list_item_set_child(item, column->make());
}

static void on_item_changed(NwRunItem *run, GtkListItem *item)
{
  const Column *column = g_object_get_data(G_OBJECT(item), "column");
  column->fill(gtk_list_item_get_child(item), run);
}

static void on_bind(GtkListItemFactory *factory, GtkListItem *item, const Column *column)
{
  NwRunItem *run = gtk_list_item_get_item(item);
  g_object_set_data(G_OBJECT(item), "column", (gpointer)column);
  column->fill(gtk_list_item_get_child(item), run);
  g_signal_connect(run, "changed", G_CALLBACK(on_item_changed), item);
}

static void on_unbind(GtkListItemFactory *factory, GtkListItem *item, const Column *column)
{
  NwRunItem *run = gtk_list_item_get_item(item);
  if (run != NULL)
    g_signal_handlers_disconnect_by_func(run, on_item_changed, item);
  if (column->make == make_accuracy)
    g_object_set_data(G_OBJECT(gtk_widget_get_first_child(gtk_list_item_get_child(item))), "item", NULL);
}

static const Column *row_of(GtkColumnViewColumn *column)
{
  return g_object_get_data(G_OBJECT(column), "row");
}

static gboolean is_figure(const char *title)
{
  for (guint i = 0; i < G_N_ELEMENTS(columns); i++)
    if (g_str_equal(_(columns[i].title), title))
      return columns[i].make == make_figure;
  return FALSE;
}

/* A header stands over its figures: at the right, as they do. GTK 4.8 has no property for it, and the titles
 * do not stand in the order of the columns: their text tells. */
static void align_headers(GtkColumnView *view)
{
  GtkWidget *header = gtk_widget_get_first_child(GTK_WIDGET(view));
  for (GtkWidget *title = gtk_widget_get_first_child(header); title != NULL;
       title = gtk_widget_get_next_sibling(title)) {
    GtkWidget *box = gtk_widget_get_first_child(title),
              *label = box != NULL ? gtk_widget_get_first_child(box) : NULL;
    if (GTK_IS_LABEL(label))
      gtk_widget_set_halign(box,
                            is_figure(gtk_label_get_text(GTK_LABEL(label))) ? GTK_ALIGN_END : GTK_ALIGN_FILL);
  }
}

GtkColumnViewColumn *nw_history_columns_add(GtkColumnView *view)
{
  GtkColumnViewColumn *started = NULL;
  GPtrArray *every = g_ptr_array_new_with_free_func(g_object_unref);
  for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
    const Column *row = &columns[i];
    GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
    g_signal_connect(factory, "setup", G_CALLBACK(on_setup), (gpointer)row);
    g_signal_connect(factory, "bind", G_CALLBACK(on_bind), (gpointer)row);
    g_signal_connect(factory, "unbind", G_CALLBACK(on_unbind), (gpointer)row);
    GtkColumnViewColumn *column = gtk_column_view_column_new(_(row->title), factory);
    gtk_column_view_column_set_sorter(column, GTK_SORTER(gtk_custom_sorter_new(row->compare, NULL, NULL)));
    gtk_column_view_column_set_resizable(column, TRUE);
    gtk_column_view_column_set_expand(column, row->expand);
    if (row->width > 0)
      gtk_column_view_column_set_fixed_width(column, row->width);
    g_object_set_data(G_OBJECT(column), "row", (gpointer)row);
    gtk_column_view_append_column(view, column);
    if (row->compare == by_number)
      started = column;
    g_ptr_array_add(every, column);
  }
  g_object_set_data_full(G_OBJECT(view), "every-column", every, (GDestroyNotify)g_ptr_array_unref);
  align_headers(view);
  return started;
}

/* Columns are taken out, not hidden: GTK 4.8 does not give the room of hidden ones to the one that expands.
 */
void nw_history_columns_set_narrow(GtkColumnView *view, gboolean narrow)
{
  GPtrArray *every = g_object_get_data(G_OBJECT(view), "every-column");
  guint place = 0;
  for (guint i = 0; i < every->len; i++) {
    GtkColumnViewColumn *column = g_ptr_array_index(every, i);
    gboolean there = gtk_column_view_column_get_column_view(column) == view;
    gboolean wanted = !narrow || !row_of(column)->wide_only;
    if (there && !wanted)
      gtk_column_view_remove_column(view, column);
    else if (wanted && !there)
      gtk_column_view_insert_column(view, place, column);
    place += wanted;
  }
  align_headers(view);
}
