#include "ui/nw-window.h"

#include <glib/gi18n.h>

#include "ui/nw-shortcuts.h"
#include "ui/pages/nw-data-page.h"
#include "ui/pages/nw-design-page.h"
#include "ui/pages/nw-history-page.h"
#include "ui/pages/nw-train-page.h"
#include "ui/pages/nw-welcome-page.h"
#include "ui/widgets/nw-run-pill.h"

enum { NARROW_BELOW = 1180, AUTOSAVE_AFTER = 1000 };

struct _NwWindow {
  AdwApplicationWindow parent;
  NwApplication *application;
  NwProject *project;
  NwSession *session;
  GtkWidget *root, *toasts, *stack, *switcher, *name, *state, *pill, *train, *menu, *project_button;
  AdwViewStack *pages;
  NwDataPage *data;
  NwDesignPage *design;
  NwTrainPage *training;
  NwHistoryPage *history;
  gboolean narrow, closing;
  guint autosave, layout;
  gulong handlers[4];
};

G_DEFINE_FINAL_TYPE(NwWindow, nw_window, ADW_TYPE_APPLICATION_WINDOW)

static void toast(NwWindow *self, const char *text)
{
  adw_toast_overlay_add_toast(ADW_TOAST_OVERLAY(self->toasts), adw_toast_new(text));
}

/* ---- what the header says ---- */

static void set_enabled(NwWindow *self, const char *name, gboolean enabled)
{
  GAction *action = g_action_map_lookup_action(G_ACTION_MAP(self), name);
  g_simple_action_set_enabled(G_SIMPLE_ACTION(action), enabled);
}

static const char *state_words(NwWindow *self)
{
  if (nw_project_folder(self->project) == NULL)
    return _("Not saved yet");
  return nw_project_is_dirty(self->project) ? _("Saving…") : _("All changes saved");
}

static void refresh(NwWindow *self)
{
  gboolean open = self->project != NULL, active = nw_session_is_active(self->session);
  const char *obstacle = open ? nw_project_obstacle(self->project, NULL) : _("Open a project first");
  NwTrainerState state = nw_session_state(self->session);
  gtk_widget_set_visible(self->switcher, open);
  /* One blue button a window: the Train page has its own. */
  gboolean there = open && g_strcmp0(adw_view_stack_get_visible_child_name(self->pages), "train") == 0;
  gtk_widget_set_visible(self->train, open && !active && !there);
  set_enabled(self, "train", open && !active && obstacle == NULL);
  gtk_widget_set_tooltip_text(self->train, obstacle != NULL ? obstacle : _("Start a new run (F5)"));
  set_enabled(self, "resume-run",
              open && !active && (state == NW_TRAINER_STOPPED || state == NW_TRAINER_FAILED));
  set_enabled(self, "pause", active && state == NW_TRAINER_RUNNING);
  set_enabled(self, "continue", active && state == NW_TRAINER_PAUSED);
  set_enabled(self, "toggle-pause", active);
  set_enabled(self, "stop", active && state != NW_TRAINER_STOPPING);
  set_enabled(self, "save", open);
  set_enabled(self, "save-as", open);
  set_enabled(self, "previous", open && nw_project_has_previous(self->project));
  set_enabled(self, "undo", open && nw_project_undo_label(self->project) != NULL);
  set_enabled(self, "redo", open && nw_project_redo_label(self->project) != NULL);
  gtk_label_set_text(GTK_LABEL(self->name), open ? nw_project_name(self->project) : "Netwright");
  gtk_label_set_text(GTK_LABEL(self->state), open ? state_words(self) : "");
  gtk_widget_set_visible(self->state, open && !self->narrow);
}

static void on_visible_page(AdwViewStack *pages, GParamSpec *spec, NwWindow *self)
{
  refresh(self);
}

static void on_session(NwSession *session, NwWindow *self)
{
  refresh(self);
}

static void on_finished(NwSession *session, NwWindow *self)
{
  const NwError *error = nw_session_error(session);
  if (nw_session_state(session) == NW_TRAINER_FAILED && error != NULL)
    toast(self, error->text);
  if (self->closing)
    gtk_window_destroy(GTK_WINDOW(self));
}

/* ---- saving ---- */

static gboolean autosave_now(gpointer data)
{
  NwWindow *self = data;
  NwError error = {0};
  self->autosave = 0;
  if (nw_project_save(self->project, &error) != NW_OK)
    toast(self, error.text);
  refresh(self);
  return G_SOURCE_REMOVE;
}

static void on_project(NwProject *project, NwWindow *self)
{
  refresh(self);
  if (nw_project_folder(project) != NULL && nw_project_is_dirty(project)) {
    g_clear_handle_id(&self->autosave, g_source_remove);
    self->autosave = g_timeout_add(AUTOSAVE_AFTER, autosave_now, self);
  }
}

static void on_save_place(GtkNativeDialog *dialog, int response, NwWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT && self->project != NULL) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = g_file_get_path(file), *name = path != NULL ? g_path_get_basename(path) : NULL;
    NwError error = {0};
    if (name != NULL)
      nw_project_set_name(self->project, name);
    if (path != NULL && nw_project_save_as(self->project, path, &error) != NW_OK)
      toast(self, error.text);
    else if (path != NULL)
      nw_settings_add_recent(nw_application_settings(self->application), nw_project_folder(self->project));
    refresh(self);
  }
  g_object_unref(dialog);
}

static void on_save_as(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwWindow *self = data;
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new(
      _("Save Project As"), GTK_WINDOW(self), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"), _("_Cancel"));
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(dialog), nw_project_name(self->project));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
  g_signal_connect(dialog, "response", G_CALLBACK(on_save_place), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

static void on_save(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwWindow *self = data;
  if (nw_project_folder(self->project) == NULL)
    on_save_as(action, value, data);
  else
    autosave_now(self);
}

static void on_previous(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwWindow *self = data;
  NwError error = {0};
  if (nw_project_restore_previous(self->project, &error) != NW_OK)
    toast(self, error.text);
  else
    toast(self, _("The project is as it was before it was last changed; undo takes this back"));
}

/* ---- opening ---- */

static void add_page(NwWindow *self, GtkWidget *page, const char *name, const char *title, const char *icon)
{
  AdwViewStackPage *added = adw_view_stack_add_titled(self->pages, page, name, title);
  adw_view_stack_page_set_icon_name(added, icon);
}

static void clear_pages(NwWindow *self)
{
  GtkWidget *child;
  self->data = NULL;
  while ((child = gtk_widget_get_first_child(GTK_WIDGET(self->pages))) != NULL)
    adw_view_stack_remove(self->pages, child);
}

static void set_narrow(NwWindow *self)
{
  adw_view_switcher_set_policy(ADW_VIEW_SWITCHER(self->switcher), self->narrow
                                                                      ? ADW_VIEW_SWITCHER_POLICY_NARROW
                                                                      : ADW_VIEW_SWITCHER_POLICY_WIDE);
  nw_run_pill_set_narrow(self->pill, self->narrow);
  if (self->data != NULL) {
    nw_data_page_set_narrow(self->data, self->narrow);
    nw_design_page_set_narrow(self->design, self->narrow);
    nw_train_page_set_narrow(self->training, self->narrow);
    nw_history_page_set_narrow(self->history, self->narrow);
  }
  refresh(self);
}

static void forget_project(NwWindow *self)
{
  g_clear_handle_id(&self->autosave, g_source_remove);
  for (guint i = 0; i < G_N_ELEMENTS(self->handlers); i++)
    g_clear_signal_handler(&self->handlers[i], self->project);
  clear_pages(self);
  g_clear_object(&self->project);
}

void nw_window_set_project(NwWindow *self, NwProject *project)
{
  static const char *const names[] = {"network-changed", "dataset-changed", "settings-changed",
                                      "history-changed"};
  if (self->project != NULL && nw_project_folder(self->project) != NULL && nw_project_is_dirty(self->project))
    nw_project_save(self->project, NULL);
  forget_project(self);
  self->project = project;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    self->handlers[i] = g_signal_connect(project, names[i], G_CALLBACK(on_project), self);
  NwHistory *history = nw_application_history(self->application);
  self->data = NW_DATA_PAGE(nw_data_page_new(project));
  self->design = NW_DESIGN_PAGE(nw_design_page_new(project));
  self->training = NW_TRAIN_PAGE(nw_train_page_new(project, self->session, history));
  self->history = NW_HISTORY_PAGE(nw_history_page_new(project, self->session, history));
  add_page(self, GTK_WIDGET(self->data), "data", _("Data"), "folder-pictures-symbolic");
  add_page(self, GTK_WIDGET(self->design), "design", _("Design"), "view-app-grid-symbolic");
  add_page(self, GTK_WIDGET(self->training), "train", _("Train"), "media-playback-start-symbolic");
  add_page(self, GTK_WIDGET(self->history), "history", _("History"), "document-open-recent-symbolic");
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "project");
  if (nw_project_folder(project) != NULL)
    nw_settings_add_recent(nw_application_settings(self->application), nw_project_folder(project));
  nw_window_show_page(self, nw_project_dataset(project) != NULL ? "design" : "data");
  set_narrow(self);
}

void nw_window_open(NwWindow *window, const char *folder)
{
  NwProject *project = NULL;
  NwError error = {0};
  if (nw_project_open(folder, &project, &error) == NW_OK)
    nw_window_set_project(window, project);
  else
    toast(window, error.text);
}

static void on_open_place(GtkNativeDialog *dialog, int response, NwWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = g_file_get_path(file);
    if (path != NULL)
      nw_window_open(self, path);
  }
  g_object_unref(dialog);
}

static void on_open(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwWindow *self = data;
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new(
      _("Open a Project"), GTK_WINDOW(self), GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, _("_Open"), _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
  g_signal_connect(dialog, "response", G_CALLBACK(on_open_place), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

static void on_open_folder(GSimpleAction *action, GVariant *value, gpointer data)
{
  nw_window_open(data, g_variant_get_string(value, NULL));
}

static void on_new(GSimpleAction *action, GVariant *value, gpointer data)
{
  const NwTemplate *tmpl = nw_template_find(g_variant_get_string(value, NULL));
  NwProject *project = nw_project_new();
  NwError error = {0};
  if (tmpl != NULL && nw_project_use_template(project, tmpl, &error) != NW_OK)
    toast(data, error.text);
  nw_window_set_project(data, project);
}

static void on_use_template(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwWindow *self = data;
  const NwTemplate *tmpl = nw_template_find(g_variant_get_string(value, NULL));
  NwError error = {0};
  if (self->project != NULL && tmpl != NULL && nw_project_use_template(self->project, tmpl, &error) != NW_OK)
    toast(self, error.text);
  else if (self->design != NULL)
    nw_canvas_fit(nw_design_page_canvas(self->design));
}

static void show_start(NwWindow *self)
{
  GtkWidget *old = gtk_stack_get_child_by_name(GTK_STACK(self->stack), "start");
  if (old != NULL)
    gtk_stack_remove(GTK_STACK(self->stack), old);
  gtk_stack_add_named(GTK_STACK(self->stack), nw_welcome_page_new(nw_application_settings(self->application)),
                      "start");
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "start");
  refresh(self);
}

static void on_start(GSimpleAction *action, GVariant *value, gpointer data)
{
  show_start(data);
}

/* ---- training ---- */

static void on_train(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwWindow *self = data;
  NwError error = {0};
  if (nw_session_start(self->session, self->project, NULL, &error) != NW_OK)
    toast(self, error.text);
  else
    nw_window_show_page(self, "train");
}

/* The run that was stopped (or failed) in this window goes on from its last checkpoint. */
static void on_resume_run(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwWindow *self = data;
  NwError error = {0};
  g_autofree char *run = g_strdup(nw_session_run(self->session));
  if (run == NULL)
    return;
  if (nw_session_resume(self->session, run, 0, &error) != NW_OK)
    toast(self, error.text);
  else
    nw_window_show_page(self, "train");
}

static void on_pause(GSimpleAction *action, GVariant *value, gpointer data)
{
  nw_session_pause(((NwWindow *)data)->session);
}

static void on_continue(GSimpleAction *action, GVariant *value, gpointer data)
{
  nw_session_continue(((NwWindow *)data)->session);
}

static void on_toggle_pause(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwSession *session = ((NwWindow *)data)->session;
  if (nw_session_state(session) == NW_TRAINER_PAUSED)
    nw_session_continue(session);
  else
    nw_session_pause(session);
}

static void on_stop(GSimpleAction *action, GVariant *value, gpointer data)
{
  nw_session_stop(((NwWindow *)data)->session);
}

/* ---- the rest ---- */

static void on_undo(GSimpleAction *action, GVariant *value, gpointer data)
{
  nw_project_undo(((NwWindow *)data)->project);
}

static void on_redo(GSimpleAction *action, GVariant *value, gpointer data)
{
  nw_project_redo(((NwWindow *)data)->project);
}

static void on_page(GSimpleAction *action, GVariant *value, gpointer data)
{
  nw_window_show_page(data, g_variant_get_string(value, NULL));
}

static void on_menu(GSimpleAction *action, GVariant *value, gpointer data)
{
  gtk_menu_button_popup(GTK_MENU_BUTTON(((NwWindow *)data)->menu));
}

static void on_choose_folder(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwWindow *self = data;
  if (self->data == NULL)
    return;
  nw_window_show_page(self, "data");
  nw_data_page_choose(self->data);
}

void nw_window_show_page(NwWindow *window, const char *page)
{
  if (window->project == NULL)
    return;
  gtk_stack_set_visible_child_name(GTK_STACK(window->stack), "project");
  if (adw_view_stack_get_child_by_name(window->pages, page) != NULL)
    adw_view_stack_set_visible_child_name(window->pages, page);
}

NwProject *nw_window_project(NwWindow *window)
{
  return window->project;
}

NwSession *nw_window_session(NwWindow *window)
{
  return window->session;
}

GtkWidget *nw_window_page(NwWindow *window, const char *page)
{
  return adw_view_stack_get_child_by_name(window->pages, page);
}

/* ---- building ---- */

static GMenu *project_menu(void)
{
  GMenu *menu = g_menu_new(), *files = g_menu_new();
  g_menu_append(files, _("_New Project…"), "win.start");
  g_menu_append(files, _("_Open…"), "win.open");
  g_menu_append(files, _("_Save"), "win.save");
  g_menu_append(files, _("Save _As…"), "win.save-as");
  g_menu_append(files, _("_Previous Version"), "win.previous");
  g_menu_append_section(menu, NULL, G_MENU_MODEL(files));
  g_object_unref(files);
  return menu;
}

static GMenu *primary_menu(void)
{
  GMenu *menu = g_menu_new(), *edit = g_menu_new(), *style = g_menu_new(), *about = g_menu_new();
  g_menu_append(edit, _("_Undo"), "win.undo");
  g_menu_append(edit, _("_Redo"), "win.redo");
  g_menu_append(style, _("Follow the System"), "app.style::system");
  g_menu_append(style, _("Light"), "app.style::light");
  g_menu_append(style, _("Dark"), "app.style::dark");
  g_menu_append(about, _("_Keyboard Shortcuts"), "win.show-help-overlay");
  g_menu_append(about, _("_About Netwright"), "app.about");
  g_menu_append(about, _("_Quit"), "app.quit");
  g_menu_append_section(menu, NULL, G_MENU_MODEL(edit));
  g_menu_append_section(menu, _("Style"), G_MENU_MODEL(style));
  g_menu_append_section(menu, NULL, G_MENU_MODEL(about));
  g_object_unref(edit);
  g_object_unref(style);
  g_object_unref(about);
  return menu;
}

static GtkWidget *build_project_button(NwWindow *self)
{
  GtkWidget *button = gtk_menu_button_new(), *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *words = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  g_autoptr(GMenu) menu = project_menu();
  self->name = gtk_label_new("Netwright");
  self->state = gtk_label_new(NULL);
  gtk_label_set_xalign(GTK_LABEL(self->name), 0);
  gtk_label_set_xalign(GTK_LABEL(self->state), 0);
  gtk_label_set_ellipsize(GTK_LABEL(self->name), PANGO_ELLIPSIZE_END);
  gtk_label_set_max_width_chars(GTK_LABEL(self->name), 20);
  gtk_widget_add_css_class(self->name, "project-name");
  gtk_widget_add_css_class(self->state, "project-state");
  gtk_box_append(GTK_BOX(words), self->name);
  gtk_box_append(GTK_BOX(words), self->state);
  gtk_widget_set_valign(words, GTK_ALIGN_CENTER);
  gtk_box_append(GTK_BOX(box), words);
  gtk_box_append(GTK_BOX(box), gtk_image_new_from_icon_name("pan-down-symbolic"));
  gtk_menu_button_set_child(GTK_MENU_BUTTON(button), box);
  gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(button), G_MENU_MODEL(menu));
  gtk_widget_add_css_class(button, "flat");
  gtk_widget_set_tooltip_text(button, _("Project"));
  return button;
}

static GtkWidget *build_header(NwWindow *self)
{
  GtkWidget *bar = adw_header_bar_new();
  g_autoptr(GMenu) menu = primary_menu();
  adw_header_bar_set_centering_policy(ADW_HEADER_BAR(bar), ADW_CENTERING_POLICY_STRICT);
  self->project_button = build_project_button(self);
  adw_header_bar_pack_start(ADW_HEADER_BAR(bar), self->project_button);
  self->switcher = adw_view_switcher_new();
  adw_view_switcher_set_policy(ADW_VIEW_SWITCHER(self->switcher), ADW_VIEW_SWITCHER_POLICY_WIDE);
  adw_view_switcher_set_stack(ADW_VIEW_SWITCHER(self->switcher), self->pages);
  adw_header_bar_set_title_widget(ADW_HEADER_BAR(bar), self->switcher);
  self->menu = gtk_menu_button_new();
  gtk_menu_button_set_icon_name(GTK_MENU_BUTTON(self->menu), "open-menu-symbolic");
  gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(self->menu), G_MENU_MODEL(menu));
  gtk_widget_set_tooltip_text(self->menu, _("Menu (F10)"));
  adw_header_bar_pack_end(ADW_HEADER_BAR(bar), self->menu);
  self->train = gtk_button_new();
  GtkWidget *content = adw_button_content_new();
  adw_button_content_set_icon_name(ADW_BUTTON_CONTENT(content), "media-playback-start-symbolic");
  adw_button_content_set_label(ADW_BUTTON_CONTENT(content), _("Train"));
  gtk_button_set_child(GTK_BUTTON(self->train), content);
  gtk_widget_add_css_class(self->train, "suggested-action");
  gtk_widget_set_name(self->train, "train-button");
  gtk_actionable_set_action_name(GTK_ACTIONABLE(self->train), "win.train");
  adw_header_bar_pack_end(ADW_HEADER_BAR(bar), self->train);
  self->pill = nw_run_pill_new(self->session);
  adw_header_bar_pack_end(ADW_HEADER_BAR(bar), self->pill);
  return bar;
}

static void install_actions(NwWindow *self)
{
  const GActionEntry entries[] = {
      {.name = "train", .activate = on_train},
      {.name = "resume-run", .activate = on_resume_run},
      {.name = "pause", .activate = on_pause},
      {.name = "continue", .activate = on_continue},
      {.name = "toggle-pause", .activate = on_toggle_pause},
      {.name = "stop", .activate = on_stop},
      {.name = "save", .activate = on_save},
      {.name = "save-as", .activate = on_save_as},
      {.name = "previous", .activate = on_previous},
      {.name = "open", .activate = on_open},
      {.name = "open-folder", .activate = on_open_folder, .parameter_type = "s"},
      {.name = "new", .activate = on_new, .parameter_type = "s"},
      {.name = "use-template", .activate = on_use_template, .parameter_type = "s"},
      {.name = "start", .activate = on_start},
      {.name = "undo", .activate = on_undo},
      {.name = "redo", .activate = on_redo},
      {.name = "page", .activate = on_page, .parameter_type = "s"},
      {.name = "menu", .activate = on_menu},
      {.name = "choose-folder", .activate = on_choose_folder}};
  g_action_map_add_action_entries(G_ACTION_MAP(self), entries, G_N_ELEMENTS(entries), self);
}

/* ---- life ---- */

static gboolean layout_later(gpointer data)
{
  NwWindow *self = data;
  self->layout = 0;
  set_narrow(self);
  return G_SOURCE_REMOVE;
}

static void nw_window_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
  NwWindow *self = NW_WINDOW(widget);
  GTK_WIDGET_CLASS(nw_window_parent_class)->size_allocate(widget, width, height, baseline);
  gboolean narrow = width < NARROW_BELOW;
  if (narrow != self->narrow) {
    self->narrow = narrow;
    /* Not inside the allocation: it would ask for another one. */
    if (self->layout == 0)
      self->layout = g_idle_add(layout_later, self);
  }
}

static void on_close_answer(AdwMessageDialog *dialog, const char *response, NwWindow *self)
{
  if (!g_str_equal(response, "stop"))
    return;
  self->closing = TRUE;
  nw_session_stop(self->session);
}

static gboolean nw_window_close_request(GtkWindow *window)
{
  NwWindow *self = NW_WINDOW(window);
  if (nw_session_is_active(self->session)) {
    GtkWidget *dialog = adw_message_dialog_new(
        window, _("A Training Is Going On"),
        _("It can be stopped now and resumed later from the History, exactly where it stands."));
    adw_message_dialog_add_responses(ADW_MESSAGE_DIALOG(dialog), "stay", _("_Keep Training"), "stop",
                                     _("_Stop and Close"), NULL);
    adw_message_dialog_set_default_response(ADW_MESSAGE_DIALOG(dialog), "stay");
    adw_message_dialog_set_close_response(ADW_MESSAGE_DIALOG(dialog), "stay");
    g_signal_connect(dialog, "response", G_CALLBACK(on_close_answer), self);
    gtk_window_present(GTK_WINDOW(dialog));
    return TRUE;
  }
  if (self->project != NULL && nw_project_folder(self->project) != NULL && nw_project_is_dirty(self->project))
    nw_project_save(self->project, NULL);
  NwSettings *settings = nw_application_settings(self->application);
  int width, height;
  gtk_window_get_default_size(window, &width, &height);
  nw_settings_set_int(settings, "width", width);
  nw_settings_set_int(settings, "height", height);
  return GTK_WINDOW_CLASS(nw_window_parent_class)->close_request(window);
}

static void nw_window_dispose(GObject *object)
{
  NwWindow *self = NW_WINDOW(object);
  g_clear_handle_id(&self->layout, g_source_remove);
  if (self->session != NULL) {
    g_signal_handlers_disconnect_by_data(self->session, self);
    g_signal_handlers_disconnect_by_data(self->pages, self);
  }
  if (self->project != NULL) {
    g_clear_handle_id(&self->autosave, g_source_remove);
    for (guint i = 0; i < G_N_ELEMENTS(self->handlers); i++)
      g_clear_signal_handler(&self->handlers[i], self->project);
  }
  G_OBJECT_CLASS(nw_window_parent_class)->dispose(object);
  g_clear_object(&self->project);
  g_clear_object(&self->session);
}

static void nw_window_class_init(NwWindowClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_window_dispose;
  GTK_WIDGET_CLASS(klass)->size_allocate = nw_window_size_allocate;
  GTK_WINDOW_CLASS(klass)->close_request = nw_window_close_request;
}

static void nw_window_init(NwWindow *self) {}

NwWindow *nw_window_new(NwApplication *application)
{
  NwWindow *self = g_object_new(NW_TYPE_WINDOW, "application", application, "title", "Netwright", NULL);
  NwSettings *settings = nw_application_settings(application);
  self->application = application;
  self->session = nw_session_new(nw_application_history(application));
  gtk_window_set_default_size(GTK_WINDOW(self), (int)nw_settings_get_int(settings, "width", 1440),
                              (int)nw_settings_get_int(settings, "height", 900));
  gtk_widget_set_size_request(GTK_WIDGET(self), 1000, 640);
  install_actions(self);
  self->pages = ADW_VIEW_STACK(adw_view_stack_new());
  self->stack = gtk_stack_new();
  gtk_stack_add_named(GTK_STACK(self->stack), GTK_WIDGET(self->pages), "project");
  self->toasts = adw_toast_overlay_new();
  adw_toast_overlay_set_child(ADW_TOAST_OVERLAY(self->toasts), self->stack);
  gtk_widget_set_vexpand(self->toasts, TRUE);
  self->root = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_box_append(GTK_BOX(self->root), build_header(self));
  gtk_box_append(GTK_BOX(self->root), self->toasts);
  adw_application_window_set_content(ADW_APPLICATION_WINDOW(self), self->root);
  gtk_application_window_set_help_overlay(GTK_APPLICATION_WINDOW(self), nw_shortcuts_window_new());
  g_signal_connect(self->pages, "notify::visible-child-name", G_CALLBACK(on_visible_page), self);
  g_signal_connect(self->session, "state-changed", G_CALLBACK(on_session), self);
  g_signal_connect(self->session, "finished", G_CALLBACK(on_finished), self);
  show_start(self);
  return self;
}
