#include "ui/pages/nw-history-compare.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/chart/nw-chart-theme.h"
#include "ui/chart/nw-chart.h"
#include "ui/widgets/nw-text.h"

struct _NwHistoryCompare {
  GtkWidget parent;
  NwHistory *history;
  GtkWidget *box, *metric, *count, *table, *only, *differing, *stack;
  NwChart *chart;
  GPtrArray *items; /* NwRunItem */
};

G_DEFINE_FINAL_TYPE(NwHistoryCompare, nw_history_compare, GTK_TYPE_WIDGET)

static const struct {
  const char *key, *label;
  NwChartUnit unit;
} metrics[] = {{"val_accuracy", N_("Validation accuracy"), NW_CHART_PERCENT},
               {"val_loss", N_("Validation loss"), NW_CHART_NUMBER},
               {"epoch_train_accuracy", N_("Training accuracy"), NW_CHART_PERCENT},
               {"epoch_train_loss", N_("Training loss"), NW_CHART_NUMBER},
               {"train_loss", N_("Training loss, every batch"), NW_CHART_NUMBER},
               {"lr", N_("Learning rate"), NW_CHART_RATE}};

static NwChartColor slot_color(NwHistoryCompare *self, guint slot)
{
  char name[16];
  g_snprintf(name, sizeof name, "nw_run_%u", slot % NW_COMPARE_MAX + 1);
  return nw_chart_color(GTK_WIDGET(self), name);
}

static char *item_name(NwRunItem *item)
{
  const NwRunInfo *info = nw_run_item_info(item);
  return g_strdup_printf("%d · %s", (int)info->number,
                         info->name != NULL && *info->name != '\0' ? info->name : info->id);
}

/* ---- curves ---- */

static void fill_chart(NwHistoryCompare *self)
{
  guint which = MIN(gtk_drop_down_get_selected(GTK_DROP_DOWN(self->metric)), G_N_ELEMENTS(metrics) - 1);
  double last = 1;
  nw_chart_clear(self->chart);
  nw_chart_set_unit(self->chart, metrics[which].unit);
  for (guint i = 0; i < self->items->len; i++) {
    NwRunItem *item = g_ptr_array_index(self->items, i);
    GArray *points = NULL;
    NwError error = {0};
    g_autofree char *name = item_name(item);
    NwChartSeries *series = nw_chart_add_series(self->chart, name, slot_color(self, i));
    series->dash = (int)i;
    if (nw_history_metrics(self->history, nw_run_item_info(item)->id, metrics[which].key, &points, &error) !=
        NW_OK)
      continue;
    if (g_str_equal(metrics[which].key, "train_loss")) {
      series->raw = TRUE;
      nw_chart_series_set_smoothing(series, 0.9);
    }
    for (guint k = 0; k < points->len; k++) {
      NwMetricPoint point = g_array_index(points, NwMetricPoint, k);
      nw_chart_series_add(series, point.epoch, point.value);
      last = MAX(last, point.epoch);
    }
    g_array_unref(points);
  }
  nw_chart_set_extent(self->chart, which >= 4 ? 0 : MIN(1, last - 1), last);
  nw_chart_updated(self->chart);
}

static void on_metric(GtkDropDown *choice, GParamSpec *spec, NwHistoryCompare *self)
{
  fill_chart(self);
}

/* ---- table ---- */

static GtkWidget *cell(const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new(text);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
  gtk_label_set_max_width_chars(GTK_LABEL(label), 22);
  gtk_widget_set_tooltip_text(label, text);
  gtk_widget_set_halign(label, GTK_ALIGN_START);
  if (css != NULL)
    gtk_widget_add_css_class(label, css);
  return label;
}

static void draw_curve(GtkDrawingArea *area, cairo_t *cr, int w, int h, gpointer slot)
{
  static const double dashes[][4] = {{0}, {7, 4}, {2, 4}, {8, 3, 2, 3}, {12, 4}, {5, 2, 1, 2}};
  static const int lengths[] = {0, 2, 2, 4, 2, 4};
  guint k = GPOINTER_TO_UINT(slot) % NW_COMPARE_MAX;
  char name[16];
  g_snprintf(name, sizeof name, "nw_run_%u", k + 1);
  NwChartColor color = nw_chart_color(GTK_WIDGET(area), name);
  cairo_set_source_rgba(cr, color.r, color.g, color.b, color.a);
  cairo_set_line_width(cr, 3);
  cairo_set_dash(cr, dashes[k], lengths[k], 0);
  cairo_move_to(cr, 0, h / 2.0);
  cairo_line_to(cr, w, h / 2.0);
  cairo_stroke(cr);
}

static void add_head(NwHistoryCompare *self)
{
  GtkGrid *grid = GTK_GRID(self->table);
  gtk_grid_attach(grid, cell(_("Curve"), NULL), 0, 1, 1, 1);
  for (guint i = 0; i < self->items->len; i++) {
    g_autofree char *name = item_name(g_ptr_array_index(self->items, i));
    gtk_grid_attach(grid, cell(name, "column-title"), (int)i + 1, 0, 1, 1);
    GtkWidget *curve = gtk_drawing_area_new();
    gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(curve), 24);
    gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(curve), 12);
    gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(curve), draw_curve, GUINT_TO_POINTER(i), NULL);
    gtk_widget_set_halign(curve, GTK_ALIGN_START);
    gtk_widget_set_valign(curve, GTK_ALIGN_CENTER);
    gtk_grid_attach(grid, curve, (int)i + 1, 1, 1, 1);
  }
}

static int best_of(NwHistoryCompare *self)
{
  int best = -1;
  double value = -INFINITY;
  for (guint i = 0; i < self->items->len; i++) {
    double v = nw_run_item_info(g_ptr_array_index(self->items, i))->best_val_accuracy;
    if (v > value) {
      value = v;
      best = (int)i;
    }
  }
  return self->items->len > 1 ? best : -1;
}

static int add_results(NwHistoryCompare *self, int row)
{
  static const char *const titles[] = {N_("Best val accuracy"), N_("Best epoch"), N_("Training loss"),
                                       N_("Duration"), N_("Parameters")};
  int best = best_of(self);
  for (guint t = 0; t < G_N_ELEMENTS(titles); t++, row++) {
    gtk_grid_attach(GTK_GRID(self->table), cell(_(titles[t]), NULL), 0, row, 1, 1);
    for (guint i = 0; i < self->items->len; i++) {
      const NwRunInfo *info = nw_run_item_info(g_ptr_array_index(self->items, i));
      g_autofree char *text = t == 0   ? nw_text_share(info->best_val_accuracy)
                              : t == 1 ? g_strdup_printf("%d", (int)info->best_epoch)
                              : t == 2 ? nw_text_number(info->train_loss)
                              : t == 3 ? nw_text_duration(info->seconds)
                                       : nw_text_count(info->parameters);
      GtkWidget *label = cell(text, "numeric");
      if (t == 0 && (int)i == best)
        gtk_widget_add_css_class(label, "heading");
      gtk_grid_attach(GTK_GRID(self->table), label, (int)i + 1, row, 1, 1);
    }
  }
  return row;
}

static GList *all_keys(NwHistoryCompare *self)
{
  g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
  for (guint i = 0; i < self->items->len; i++) {
    GHashTableIter it;
    gpointer key;
    g_hash_table_iter_init(&it, nw_run_item_settings(g_ptr_array_index(self->items, i)));
    while (g_hash_table_iter_next(&it, &key, NULL))
      g_hash_table_add(keys, key);
  }
  return g_list_sort(g_hash_table_get_keys(keys), (GCompareFunc)g_strcmp0);
}

static const char *setting(NwHistoryCompare *self, guint item, const char *key)
{
  return g_hash_table_lookup(nw_run_item_settings(g_ptr_array_index(self->items, item)), key);
}

static gboolean differs(NwHistoryCompare *self, const char *key)
{
  for (guint i = 1; i < self->items->len; i++)
    if (g_strcmp0(setting(self, 0, key), setting(self, i, key)) != 0)
      return TRUE;
  return FALSE;
}

static void fill_table(NwHistoryCompare *self)
{
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child(self->table)) != NULL)
    gtk_grid_remove(GTK_GRID(self->table), child);
  add_head(self);
  int row = add_results(self, 2), n = 0, different = 0;
  GList *keys = all_keys(self);
  for (GList *it = keys; it != NULL; it = it->next, n++) {
    gboolean other = differs(self, it->data);
    different += other;
    if (gtk_switch_get_active(GTK_SWITCH(self->only)) && !other)
      continue;
    gtk_grid_attach(GTK_GRID(self->table), cell(it->data, NULL), 0, row, 1, 1);
    for (guint i = 0; i < self->items->len; i++) {
      const char *text = setting(self, i, it->data);
      /* What differs from the first run is marked by a ground, not by colour alone: it is bold too. */
      gboolean marked = i > 0 && g_strcmp0(text, setting(self, 0, it->data)) != 0;
      gtk_grid_attach(GTK_GRID(self->table), cell(text != NULL ? text : "—", marked ? "differs" : "numeric"),
                      (int)i + 1, row, 1, 1);
    }
    row++;
  }
  g_list_free(keys);
  g_autofree char *count = g_strdup_printf(_("%d of %d settings differ"), different, n);
  gtk_label_set_text(GTK_LABEL(self->differing), count);
}

static void on_only(GtkSwitch *control, GParamSpec *spec, NwHistoryCompare *self)
{
  fill_table(self);
}

/* ---- building ---- */

static GtkWidget *card_new(const char *title, GtkWidget **sub, GtkWidget **head)
{
  GtkWidget *card = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_add_css_class(card, "card");
  gtk_widget_add_css_class(card, "chart-card");
  *head = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *label = gtk_label_new(title);
  gtk_widget_add_css_class(label, "card-title");
  *sub = gtk_label_new(NULL);
  gtk_label_set_xalign(GTK_LABEL(*sub), 0);
  gtk_label_set_ellipsize(GTK_LABEL(*sub), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand(*sub, TRUE);
  gtk_widget_add_css_class(*sub, "dim");
  gtk_box_append(GTK_BOX(*head), label);
  gtk_box_append(GTK_BOX(*head), *sub);
  gtk_box_append(GTK_BOX(card), *head);
  return card;
}

static GtkWidget *build_curves(NwHistoryCompare *self)
{
  GtkWidget *head, *card = card_new(_("Curves"), &self->count, &head);
  GtkStringList *names = gtk_string_list_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(metrics); i++)
    gtk_string_list_append(names, _(metrics[i].label));
  self->metric = gtk_drop_down_new(G_LIST_MODEL(names), NULL);
  gtk_widget_add_css_class(self->metric, "lean");
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->metric), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("What is drawn"), -1);
  g_signal_connect(self->metric, "notify::selected", G_CALLBACK(on_metric), self);
  gtk_box_append(GTK_BOX(head), self->metric);
  self->chart = NW_CHART(nw_chart_new(NW_CHART_PERCENT, _("Curves of the chosen runs")));
  nw_chart_set_x_label(self->chart, _("epoch"));
  nw_chart_set_readout_low(self->chart, TRUE);
  gtk_box_append(GTK_BOX(card), GTK_WIDGET(self->chart));
  return card;
}

static GtkWidget *build_table(NwHistoryCompare *self)
{
  GtkWidget *head, *card = card_new(_("Compare"), &self->differing, &head);
  GtkWidget *words = gtk_label_new(_("Only what differs"));
  gtk_widget_add_css_class(words, "dim");
  self->only = gtk_switch_new();
  gtk_switch_set_active(GTK_SWITCH(self->only), TRUE);
  gtk_widget_set_valign(self->only, GTK_ALIGN_CENTER);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->only), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Only what differs"), -1);
  gtk_box_append(GTK_BOX(head), words);
  gtk_box_append(GTK_BOX(head), self->only);
  self->table = gtk_grid_new();
  gtk_widget_add_css_class(self->table, "compare");
  gtk_grid_set_column_spacing(GTK_GRID(self->table), 24);
  gtk_grid_set_row_spacing(GTK_GRID(self->table), 8);
  GtkWidget *scroll = gtk_scrolled_window_new();
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), self->table);
  gtk_widget_set_vexpand(scroll, TRUE);
  gtk_box_append(GTK_BOX(card), scroll);
  g_signal_connect(self->only, "notify::active", G_CALLBACK(on_only), self);
  return card;
}

void nw_history_compare_set(NwHistoryCompare *compare, GPtrArray *items)
{
  g_ptr_array_set_size(compare->items, 0);
  for (guint i = 0; i < items->len && i < NW_COMPARE_MAX; i++)
    g_ptr_array_add(compare->items, g_object_ref(g_ptr_array_index(items, i)));
  gtk_stack_set_visible_child_name(GTK_STACK(compare->stack), compare->items->len > 0 ? "compare" : "empty");
  g_autofree char *count =
      g_strdup_printf(g_dngettext(NULL, "%u run", "%u runs", compare->items->len), compare->items->len);
  gtk_label_set_text(GTK_LABEL(compare->count), count);
  fill_chart(compare);
  fill_table(compare);
}

static void recolor(NwHistoryCompare *self)
{
  NwChartStyle style = {0};
  nw_chart_style_read(GTK_WIDGET(self), &style);
  nw_chart_set_style(self->chart, &style);
  const NwChartView *view = nw_chart_view(self->chart);
  for (guint i = 0; i < view->series->len; i++)
    ((NwChartSeries *)g_ptr_array_index(view->series, i))->color = slot_color(self, i);
}

static void nw_history_compare_css_changed(GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS(nw_history_compare_parent_class)->css_changed(widget, change);
  if (NW_HISTORY_COMPARE(widget)->chart != NULL)
    recolor(NW_HISTORY_COMPARE(widget));
}

static void nw_history_compare_dispose(GObject *object)
{
  NwHistoryCompare *self = NW_HISTORY_COMPARE(object);
  self->chart = NULL;
  g_clear_pointer(&self->stack, gtk_widget_unparent);
  g_clear_pointer(&self->items, g_ptr_array_unref);
  G_OBJECT_CLASS(nw_history_compare_parent_class)->dispose(object);
}

static void nw_history_compare_class_init(NwHistoryCompareClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_history_compare_dispose;
  GTK_WIDGET_CLASS(klass)->css_changed = nw_history_compare_css_changed;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
}

static void nw_history_compare_init(NwHistoryCompare *self)
{
  self->items = g_ptr_array_new_with_free_func(g_object_unref);
  self->stack = gtk_stack_new();
  gtk_widget_set_parent(self->stack, GTK_WIDGET(self));
}

GtkWidget *nw_history_compare_new(NwHistory *history)
{
  NwHistoryCompare *self = g_object_new(NW_TYPE_HISTORY_COMPARE, NULL);
  self->history = history;
  self->box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  gtk_box_set_homogeneous(GTK_BOX(self->box), TRUE);
  gtk_widget_add_css_class(self->box, "page");
  gtk_box_append(GTK_BOX(self->box), build_curves(self));
  gtk_box_append(GTK_BOX(self->box), build_table(self));
  GtkWidget *empty = adw_status_page_new();
  adw_status_page_set_title(ADW_STATUS_PAGE(empty), _("Choose runs to compare"));
  adw_status_page_set_description(ADW_STATUS_PAGE(empty), _("Hold Ctrl to choose several."));
  gtk_widget_add_css_class(empty, "compact");
  gtk_stack_add_named(GTK_STACK(self->stack), self->box, "compare");
  gtk_stack_add_named(GTK_STACK(self->stack), empty, "empty");
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "empty");
  return GTK_WIDGET(self);
}
