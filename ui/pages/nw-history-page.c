#include "ui/pages/nw-history-page.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/dialogs/nw-export-dialog.h"
#include "ui/model/nw-run-item.h"
#include "ui/pages/nw-history-columns.h"
#include "ui/pages/nw-history-compare.h"

struct _NwHistoryPage {
  GtkWidget parent;
  NwProject *project;
  NwSession *session;
  NwHistory *history;
  GtkWidget *stack, *paned, *search, *view, *compare, *chosen, *toasts;
  GtkWidget *filters[4], *export, *resume, *rename, *trash;
  GListStore *store;
  GtkMultiSelection *selection;
  GtkCustomFilter *filter;
  int shown; /* which of the filter buttons */
  guint refresh_source, compare_source;
  gulong handlers[2];
};

G_DEFINE_FINAL_TYPE(NwHistoryPage, nw_history_page, GTK_TYPE_WIDGET)

enum { SHOW_ALL, SHOW_RUNNING, SHOW_FINISHED, SHOW_ATTENTION };

static gboolean belongs(const NwRunInfo *info, int shown)
{
  switch (shown) {
  case SHOW_RUNNING:
    return info->state == NW_RUN_RUNNING || info->state == NW_RUN_PAUSED;
  case SHOW_FINISHED:
    return info->state == NW_RUN_FINISHED;
  case SHOW_ATTENTION:
    return info->state == NW_RUN_INTERRUPTED || info->state == NW_RUN_FAILED;
  default:
    return TRUE;
  }
}

/* ---- filter: words in name, tags, network, data set, project; and acc>90 ---- */

static gboolean has_word(const char *text, const char *word)
{
  if (text == NULL)
    return FALSE;
  g_autofree char *a = g_utf8_casefold(text, -1);
  return strstr(a, word) != NULL;
}

static gboolean word_matches(const NwRunInfo *info, const char *word)
{
  if (g_str_has_prefix(word, "acc>") || g_str_has_prefix(word, "acc<")) {
    double limit = g_ascii_strtod(word + 4, NULL) / 100;
    return word[3] == '>' ? info->best_val_accuracy > limit : info->best_val_accuracy < limit;
  }
  if (g_str_has_prefix(word, "net:"))
    return has_word(info->network_name, word + 4);
  if (g_str_has_prefix(word, "tag:"))
    return has_word(info->tags, word + 4);
  return has_word(info->name, word) || has_word(info->tags, word) || has_word(info->network_name, word) ||
         has_word(info->dataset_root, word) || has_word(info->project, word) ||
         g_str_has_prefix(info->id, word);
}

static gboolean on_filter(gpointer object, gpointer data)
{
  NwHistoryPage *self = data;
  const NwRunInfo *info = nw_run_item_info(NW_RUN_ITEM(object));
  if (!belongs(info, self->shown))
    return FALSE;
  g_autofree char *text = g_utf8_casefold(gtk_editable_get_text(GTK_EDITABLE(self->search)), -1);
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  for (char **word = words; *word != NULL; word++)
    if (**word != '\0' && !word_matches(info, *word))
      return FALSE;
  return TRUE;
}

static void on_search(GtkSearchEntry *entry, NwHistoryPage *self)
{
  gtk_filter_changed(GTK_FILTER(self->filter), GTK_FILTER_CHANGE_DIFFERENT);
}

static void on_shown(GtkToggleButton *button, NwHistoryPage *self)
{
  if (!gtk_toggle_button_get_active(button))
    return;
  for (int i = 0; i < (int)G_N_ELEMENTS(self->filters); i++)
    if (self->filters[i] == GTK_WIDGET(button))
      self->shown = i;
  gtk_filter_changed(GTK_FILTER(self->filter), GTK_FILTER_CHANGE_DIFFERENT);
}

/* ---- chosen runs ---- */

static GPtrArray *chosen_items(NwHistoryPage *self)
{
  GPtrArray *items = g_ptr_array_new_with_free_func(g_object_unref);
  g_autoptr(GtkBitset) bits = gtk_selection_model_get_selection(GTK_SELECTION_MODEL(self->selection));
  GtkBitsetIter it;
  guint position;
  for (gboolean more = gtk_bitset_iter_init_first(&it, bits, &position); more;
       more = gtk_bitset_iter_next(&it, &position))
    g_ptr_array_add(items, g_list_model_get_item(G_LIST_MODEL(self->selection), position));
  return items;
}

static gboolean can_resume(const NwRunInfo *info)
{
  return info->state == NW_RUN_INTERRUPTED || info->state == NW_RUN_STOPPED || info->state == NW_RUN_PAUSED ||
         info->state == NW_RUN_FAILED;
}

static gboolean show_chosen(gpointer data)
{
  NwHistoryPage *self = data;
  g_autoptr(GPtrArray) items = chosen_items(self);
  self->compare_source = 0;
  for (guint i = 0, n = g_list_model_get_n_items(G_LIST_MODEL(self->store)); i < n; i++) {
    g_autoptr(NwRunItem) item = g_list_model_get_item(G_LIST_MODEL(self->store), i);
    guint slot;
    nw_run_item_set_slot(item,
                         g_ptr_array_find(items, item, &slot) && slot < NW_COMPARE_MAX ? (int)slot : -1);
  }
  nw_history_compare_set(NW_HISTORY_COMPARE(self->compare), items);
  g_autofree char *words =
      items->len > 1
          ? g_strdup_printf(g_dngettext(NULL, "%u selected", "%u selected", items->len), items->len)
          : NULL;
  gtk_label_set_text(GTK_LABEL(self->chosen), words != NULL ? words : "");
  const NwRunInfo *one = items->len == 1 ? nw_run_item_info(g_ptr_array_index(items, 0)) : NULL;
  gtk_widget_set_sensitive(self->export, one != NULL);
  gtk_widget_set_sensitive(self->rename, one != NULL);
  gtk_widget_set_sensitive(self->resume,
                           one != NULL && can_resume(one) && !nw_session_is_active(self->session));
  gtk_widget_set_sensitive(self->trash, items->len > 0);
  return G_SOURCE_REMOVE;
}

static void on_selection(GtkSelectionModel *model, guint position, guint n, NwHistoryPage *self)
{
  /* A click on a row deselects and selects: read the outcome once. */
  if (self->compare_source == 0)
    self->compare_source = g_idle_add(show_chosen, self);
}

/* ---- commands ---- */

static void toast(NwHistoryPage *self, const char *text)
{
  adw_toast_overlay_add_toast(ADW_TOAST_OVERLAY(self->toasts), adw_toast_new(text));
}

static GtkWindow *window_of(NwHistoryPage *self)
{
  return GTK_WINDOW(gtk_widget_get_root(GTK_WIDGET(self)));
}

static void on_export(GtkButton *button, NwHistoryPage *self)
{
  g_autoptr(GPtrArray) items = chosen_items(self);
  if (items->len == 1)
    nw_export_dialog_present(window_of(self), self->history,
                             nw_run_item_info(g_ptr_array_index(items, 0))->id);
}

static void on_resume(GtkButton *button, NwHistoryPage *self)
{
  g_autoptr(GPtrArray) items = chosen_items(self);
  NwError error = {0};
  if (items->len != 1)
    return;
  if (nw_session_resume(self->session, nw_run_item_info(g_ptr_array_index(items, 0))->id, 0, &error) != NW_OK)
    toast(self, error.text);
  else
    gtk_widget_activate_action(GTK_WIDGET(self), "win.page", "s", "train");
}

static void on_renamed(GtkWidget *dialog, const char *response, NwHistoryPage *self)
{
  GtkWidget *entry = g_object_get_data(G_OBJECT(dialog), "entry");
  const char *run = g_object_get_data(G_OBJECT(dialog), "run");
  NwError error = {0};
  if (!g_str_equal(response, "rename"))
    return;
  if (nw_history_rename(self->history, run, gtk_editable_get_text(GTK_EDITABLE(entry)), &error) != NW_OK)
    toast(self, error.text);
  nw_history_page_refresh(self);
}

static void on_rename(GtkButton *button, NwHistoryPage *self)
{
  g_autoptr(GPtrArray) items = chosen_items(self);
  if (items->len != 1)
    return;
  const NwRunInfo *info = nw_run_item_info(g_ptr_array_index(items, 0));
  GtkWidget *dialog = adw_message_dialog_new(window_of(self), _("Rename Run"), NULL);
  GtkWidget *entry = gtk_entry_new();
  gtk_editable_set_text(GTK_EDITABLE(entry), info->name != NULL ? info->name : "");
  gtk_entry_set_activates_default(GTK_ENTRY(entry), TRUE);
  adw_message_dialog_set_extra_child(ADW_MESSAGE_DIALOG(dialog), entry);
  adw_message_dialog_add_responses(ADW_MESSAGE_DIALOG(dialog), "cancel", _("_Cancel"), "rename", _("_Rename"),
                                   NULL);
  adw_message_dialog_set_default_response(ADW_MESSAGE_DIALOG(dialog), "rename");
  adw_message_dialog_set_close_response(ADW_MESSAGE_DIALOG(dialog), "cancel");
  adw_message_dialog_set_response_appearance(ADW_MESSAGE_DIALOG(dialog), "rename", ADW_RESPONSE_SUGGESTED);
  g_object_set_data(G_OBJECT(dialog), "entry", entry);
  g_object_set_data_full(G_OBJECT(dialog), "run", g_strdup(info->id), g_free);
  g_signal_connect(dialog, "response", G_CALLBACK(on_renamed), self);
  gtk_window_present(GTK_WINDOW(dialog));
}

static void on_undo_trash(AdwToast *shown, NwHistoryPage *self)
{
  char **runs = g_object_get_data(G_OBJECT(shown), "runs");
  for (char **run = runs; *run != NULL; run++)
    nw_history_trash(self->history, *run, FALSE, NULL);
  nw_history_page_refresh(self);
}

static void on_trash(GtkButton *button, NwHistoryPage *self)
{
  g_autoptr(GPtrArray) items = chosen_items(self);
  GPtrArray *runs = g_ptr_array_new();
  NwError error = {0};
  for (guint i = 0; i < items->len; i++) {
    const NwRunInfo *info = nw_run_item_info(g_ptr_array_index(items, i));
    if (nw_session_is_active(self->session) && g_strcmp0(nw_session_run(self->session), info->id) == 0) {
      toast(self, _("This run is being trained: stop it first."));
      continue;
    }
    if (nw_history_trash(self->history, info->id, TRUE, &error) != NW_OK)
      toast(self, error.text);
    else
      g_ptr_array_add(runs, g_strdup(info->id));
  }
  if (runs->len > 0) {
    g_autofree char *words = g_strdup_printf(
        g_dngettext(NULL, "%u run moved to the trash", "%u runs moved to the trash", runs->len), runs->len);
    AdwToast *shown = adw_toast_new(words);
    g_ptr_array_add(runs, NULL);
    adw_toast_set_button_label(shown, _("_Undo"));
    g_object_set_data_full(G_OBJECT(shown), "runs", g_ptr_array_free(runs, FALSE),
                           (GDestroyNotify)g_strfreev);
    g_signal_connect(shown, "button-clicked", G_CALLBACK(on_undo_trash), self);
    adw_toast_overlay_add_toast(ADW_TOAST_OVERLAY(self->toasts), shown);
  } else {
    g_ptr_array_unref(runs);
  }
  nw_history_page_refresh(self);
}

/* ---- reading ---- */

static NwRunItem *find_item(NwHistoryPage *self, const char *id)
{
  for (guint i = 0, n = g_list_model_get_n_items(G_LIST_MODEL(self->store)); i < n; i++) {
    g_autoptr(NwRunItem) item = g_list_model_get_item(G_LIST_MODEL(self->store), i);
    if (g_str_equal(nw_run_item_info(item)->id, id))
      return item;
  }
  return NULL;
}

static void count_filters(NwHistoryPage *self, GPtrArray *runs)
{
  static const char *const words[] = {N_("All %u"), N_("Running %u"), N_("Finished %u"),
                                      N_("Needs attention %u")};
  for (int k = 0; k < (int)G_N_ELEMENTS(self->filters); k++) {
    guint n = 0;
    for (guint i = 0; i < runs->len; i++)
      n += belongs(g_ptr_array_index(runs, i), k);
    g_autofree char *label = g_strdup_printf(_(words[k]), n);
    gtk_button_set_label(GTK_BUTTON(self->filters[k]), label);
  }
}

void nw_history_page_refresh(NwHistoryPage *page)
{
  GPtrArray *runs = NULL;
  NwError error = {0};
  if (nw_history_list(page->history, FALSE, &runs, &error) != NW_OK) {
    toast(page, error.text);
    return;
  }
  count_filters(page, runs);
  gtk_stack_set_visible_child_name(GTK_STACK(page->stack), runs->len > 0 ? "runs" : "empty");
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GPtrArray) fresh = g_ptr_array_new_with_free_func(g_object_unref);
  g_ptr_array_set_free_func(runs, NULL); /* the items take them */
  for (guint i = 0; i < runs->len; i++) {
    NwRunInfo *info = g_ptr_array_index(runs, i);
    NwRunItem *item = find_item(page, info->id);
    g_hash_table_add(seen, g_strdup(info->id));
    if (item != NULL)
      nw_run_item_update(item, info);
    else
      g_ptr_array_add(fresh, nw_run_item_new(info));
  }
  g_ptr_array_unref(runs);
  for (guint i = g_list_model_get_n_items(G_LIST_MODEL(page->store)); i-- > 0;) {
    g_autoptr(NwRunItem) item = g_list_model_get_item(G_LIST_MODEL(page->store), i);
    if (!g_hash_table_contains(seen, nw_run_item_info(item)->id))
      g_list_store_remove(page->store, i);
  }
  /* One splice: single appends to a sorted table rebind every row each time. */
  g_list_store_splice(page->store, 0, 0, fresh->pdata, fresh->len);
  gtk_filter_changed(GTK_FILTER(page->filter), GTK_FILTER_CHANGE_DIFFERENT);
  if (page->compare_source == 0)
    page->compare_source = g_idle_add(show_chosen, page);
}

static gboolean refresh_now(gpointer data)
{
  NwHistoryPage *self = data;
  self->refresh_source = 0;
  nw_history_page_refresh(self);
  return G_SOURCE_REMOVE;
}

static void refresh_soon(NwHistoryPage *self)
{
  /* The writer thread may be a moment behind the signal. */
  if (self->refresh_source == 0 && gtk_widget_get_mapped(GTK_WIDGET(self)))
    self->refresh_source = g_timeout_add(400, refresh_now, self);
}

static void on_session(NwSession *session, NwHistoryPage *self)
{
  refresh_soon(self);
}

static void nw_history_page_map(GtkWidget *widget)
{
  GTK_WIDGET_CLASS(nw_history_page_parent_class)->map(widget);
  nw_history_page_refresh(NW_HISTORY_PAGE(widget));
}

void nw_history_page_select(NwHistoryPage *page, const char *run)
{
  nw_history_page_refresh(page);
  for (guint i = 0, n = g_list_model_get_n_items(G_LIST_MODEL(page->selection)); i < n; i++) {
    g_autoptr(NwRunItem) item = g_list_model_get_item(G_LIST_MODEL(page->selection), i);
    if (g_str_equal(nw_run_item_info(item)->id, run))
      gtk_selection_model_select_item(GTK_SELECTION_MODEL(page->selection), i, TRUE);
  }
}

/* ---- building ---- */

static GtkWidget *tool_button(const char *icon, const char *label, const char *tip, GCallback clicked,
                              NwHistoryPage *self)
{
  GtkWidget *button = gtk_button_new();
  if (label != NULL) {
    GtkWidget *content = adw_button_content_new();
    adw_button_content_set_icon_name(ADW_BUTTON_CONTENT(content), icon);
    adw_button_content_set_label(ADW_BUTTON_CONTENT(content), label);
    gtk_button_set_child(GTK_BUTTON(button), content);
  } else {
    gtk_button_set_icon_name(GTK_BUTTON(button), icon);
    gtk_widget_add_css_class(button, "flat");
    gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, tip, -1);
  }
  gtk_widget_set_tooltip_text(button, tip);
  gtk_widget_set_sensitive(button, FALSE);
  g_signal_connect(button, "clicked", clicked, self);
  return button;
}

static GtkWidget *build_toolbar(NwHistoryPage *self)
{
  GtkWidget *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_add_css_class(bar, "page-toolbar");
  self->search = gtk_search_entry_new();
  g_object_set(self->search, "placeholder-text", _("Filter: name, tag:x, net:resnet, acc>90"), NULL);
  gtk_widget_set_size_request(self->search, 260, -1);
  g_signal_connect(self->search, "search-changed", G_CALLBACK(on_search), self);
  gtk_box_append(GTK_BOX(bar), self->search);
  for (guint i = 0; i < G_N_ELEMENTS(self->filters); i++) {
    self->filters[i] = gtk_toggle_button_new_with_label("");
    gtk_widget_add_css_class(self->filters[i], "filter-chip");
    gtk_widget_set_valign(self->filters[i], GTK_ALIGN_CENTER);
    if (i > 0)
      gtk_toggle_button_set_group(GTK_TOGGLE_BUTTON(self->filters[i]), GTK_TOGGLE_BUTTON(self->filters[0]));
    g_signal_connect(self->filters[i], "toggled", G_CALLBACK(on_shown), self);
    gtk_box_append(GTK_BOX(bar), self->filters[i]);
  }
  gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(self->filters[0]), TRUE);
  self->chosen = gtk_label_new(NULL);
  gtk_widget_add_css_class(self->chosen, "dim");
  gtk_widget_set_hexpand(self->chosen, TRUE);
  gtk_widget_set_halign(self->chosen, GTK_ALIGN_END);
  gtk_box_append(GTK_BOX(bar), self->chosen);
  self->resume = tool_button("media-playback-start-symbolic", _("Resume"),
                             _("Go on exactly where the last checkpoint stood"), G_CALLBACK(on_resume), self);
  self->export = tool_button("document-send-symbolic", _("Export…"), _("Take the trained network away"),
                             G_CALLBACK(on_export), self);
  self->rename = tool_button("document-edit-symbolic", NULL, _("Rename (F2)"), G_CALLBACK(on_rename), self);
  self->trash =
      tool_button("user-trash-symbolic", NULL, _("Move to the trash (Delete)"), G_CALLBACK(on_trash), self);
  gtk_widget_set_name(self->export, "history-export");
  GtkWidget *buttons[] = {self->resume, self->export, self->rename, self->trash};
  for (guint i = 0; i < G_N_ELEMENTS(buttons); i++)
    gtk_box_append(GTK_BOX(bar), buttons[i]);
  /* The wide form must not keep the window from becoming narrow, which is what makes the bar narrow. */
  GtkWidget *scroll = gtk_scrolled_window_new();
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroll), GTK_POLICY_EXTERNAL, GTK_POLICY_NEVER);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), bar);
  return scroll;
}

static GtkWidget *build_table(NwHistoryPage *self)
{
  self->store = g_list_store_new(NW_TYPE_RUN_ITEM);
  self->filter = gtk_custom_filter_new(on_filter, self, NULL);
  self->view = gtk_column_view_new(NULL);
  GtkFilterListModel *filtered = gtk_filter_list_model_new(G_LIST_MODEL(g_object_ref(self->store)),
                                                           GTK_FILTER(g_object_ref(self->filter)));
  GtkSorter *sorter = gtk_column_view_get_sorter(GTK_COLUMN_VIEW(self->view));
  GtkSortListModel *sorted = gtk_sort_list_model_new(G_LIST_MODEL(filtered), g_object_ref(sorter));
  self->selection = gtk_multi_selection_new(G_LIST_MODEL(sorted));
  gtk_column_view_set_model(GTK_COLUMN_VIEW(self->view), GTK_SELECTION_MODEL(self->selection));
  GtkColumnViewColumn *started = nw_history_columns_add(GTK_COLUMN_VIEW(self->view));
  gtk_column_view_sort_by_column(GTK_COLUMN_VIEW(self->view), started, GTK_SORT_DESCENDING);
  gtk_column_view_set_reorderable(GTK_COLUMN_VIEW(self->view), FALSE);
  gtk_widget_add_css_class(self->view, "nw-table");
  gtk_widget_add_css_class(self->view, "data-table");
  gtk_widget_set_name(self->view, "history-table");
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->view), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Runs"), -1);
  g_signal_connect(self->selection, "selection-changed", G_CALLBACK(on_selection), self);
  GtkWidget *scroll = gtk_scrolled_window_new();
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), self->view);
  gtk_widget_set_vexpand(scroll, TRUE);
  return scroll;
}

static GtkWidget *build_empty(void)
{
  GtkWidget *page = adw_status_page_new();
  adw_status_page_set_icon_name(ADW_STATUS_PAGE(page), "document-open-recent-symbolic");
  adw_status_page_set_title(ADW_STATUS_PAGE(page), _("No Runs Yet"));
  adw_status_page_set_description(
      ADW_STATUS_PAGE(page), _("Every training is kept here, with its settings, curves and checkpoints."));
  GtkWidget *button = gtk_button_new_with_label(_("Go to Train"));
  gtk_widget_add_css_class(button, "pill");
  gtk_widget_set_halign(button, GTK_ALIGN_CENTER);
  gtk_actionable_set_detailed_action_name(GTK_ACTIONABLE(button), "win.page::train");
  adw_status_page_set_child(ADW_STATUS_PAGE(page), button);
  return page;
}

static void action_rename(GtkWidget *widget, const char *name, GVariant *parameter)
{
  on_rename(NULL, NW_HISTORY_PAGE(widget));
}

static void action_trash(GtkWidget *widget, const char *name, GVariant *parameter)
{
  on_trash(NULL, NW_HISTORY_PAGE(widget));
}

static void action_export(GtkWidget *widget, const char *name, GVariant *parameter)
{
  on_export(NULL, NW_HISTORY_PAGE(widget));
}

static void action_find(GtkWidget *widget, const char *name, GVariant *parameter)
{
  gtk_widget_grab_focus(NW_HISTORY_PAGE(widget)->search);
}

void nw_history_page_set_narrow(NwHistoryPage *page, gboolean narrow)
{
  gtk_widget_set_size_request(page->search, narrow ? 170 : 260, -1);
  nw_history_columns_set_narrow(GTK_COLUMN_VIEW(page->view), narrow);
  for (guint i = 1; i < G_N_ELEMENTS(page->filters); i++)
    gtk_widget_set_visible(page->filters[i], !narrow || i == SHOW_ATTENTION);
}

static void nw_history_page_dispose(GObject *object)
{
  NwHistoryPage *self = NW_HISTORY_PAGE(object);
  g_clear_handle_id(&self->refresh_source, g_source_remove);
  g_clear_handle_id(&self->compare_source, g_source_remove);
  g_clear_signal_handler(&self->handlers[0], self->session);
  g_clear_signal_handler(&self->handlers[1], self->session);
  if (self->selection != NULL)
    g_signal_handlers_disconnect_by_data(self->selection, self);
  g_clear_pointer(&self->toasts, gtk_widget_unparent);
  g_clear_object(&self->store);
  g_clear_object(&self->filter);
  g_clear_object(&self->session);
  g_clear_object(&self->project);
  self->selection = NULL;
  G_OBJECT_CLASS(nw_history_page_parent_class)->dispose(object);
}

static void nw_history_page_class_init(NwHistoryPageClass *klass)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  G_OBJECT_CLASS(klass)->dispose = nw_history_page_dispose;
  widget->map = nw_history_page_map;
  gtk_widget_class_set_layout_manager_type(widget, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_install_action(widget, "history.rename", NULL, action_rename);
  gtk_widget_class_install_action(widget, "history.trash", NULL, action_trash);
  gtk_widget_class_install_action(widget, "history.export", NULL, action_export);
  gtk_widget_class_install_action(widget, "history.find", NULL, action_find);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_F2, 0, "history.rename", NULL);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_Delete, 0, "history.trash", NULL);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_e, GDK_CONTROL_MASK, "history.export", NULL);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_f, GDK_CONTROL_MASK, "history.find", NULL);
}

static void nw_history_page_init(NwHistoryPage *self)
{
  self->toasts = adw_toast_overlay_new();
  gtk_widget_set_parent(self->toasts, GTK_WIDGET(self));
}

GtkWidget *nw_history_page_new(NwProject *project, NwSession *session, NwHistory *history)
{
  NwHistoryPage *self = g_object_new(NW_TYPE_HISTORY_PAGE, NULL);
  self->project = g_object_ref(project);
  self->session = g_object_ref(session);
  self->history = history;
  GtkWidget *top = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *table = build_table(self), *toolbar = build_toolbar(self);
  gtk_box_append(GTK_BOX(top), toolbar);
  gtk_box_append(GTK_BOX(top), table);
  self->compare = nw_history_compare_new(history);
  self->paned = gtk_paned_new(GTK_ORIENTATION_VERTICAL);
  gtk_paned_set_start_child(GTK_PANED(self->paned), top);
  gtk_paned_set_end_child(GTK_PANED(self->paned), self->compare);
  gtk_paned_set_resize_start_child(GTK_PANED(self->paned), TRUE);
  gtk_paned_set_shrink_start_child(GTK_PANED(self->paned), FALSE);
  gtk_paned_set_shrink_end_child(GTK_PANED(self->paned), FALSE);
  gtk_paned_set_position(GTK_PANED(self->paned), 380);
  self->stack = gtk_stack_new();
  gtk_stack_add_named(GTK_STACK(self->stack), self->paned, "runs");
  gtk_stack_add_named(GTK_STACK(self->stack), build_empty(), "empty");
  adw_toast_overlay_set_child(ADW_TOAST_OVERLAY(self->toasts), self->stack);
  self->handlers[0] = g_signal_connect(session, "state-changed", G_CALLBACK(on_session), self);
  self->handlers[1] = g_signal_connect(session, "progress", G_CALLBACK(on_session), self);
  return GTK_WIDGET(self);
}
