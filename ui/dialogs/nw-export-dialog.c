#include "ui/dialogs/nw-export-dialog.h"

#include <adwaita.h>
#include <glib/gi18n.h>

typedef struct Dialog {
  GtkWindow *window;
  NwHistory *history;
  NwRunInfo *info;
  GtkWidget *format, *doc, *checkpoint, *place, *export, *cancel, *stack, *report, *report_icon, *show;
  char *path;
  gboolean chosen; /* the person picked the place: do not propose another */
} Dialog;

static void dialog_free(gpointer data)
{
  Dialog *self = data;
  nw_run_info_free(self->info);
  g_free(self->path);
  g_free(self);
}

static const NwExportFormat *chosen_format(Dialog *self)
{
  return nw_export_format_at((guint)adw_combo_row_get_selected(ADW_COMBO_ROW(self->format)));
}

/* ---- where to ---- */

static void show_place(Dialog *self)
{
  g_autofree char *shown = g_filename_display_name(self->path);
  adw_action_row_set_subtitle(ADW_ACTION_ROW(self->place), shown);
}

static void propose_place(Dialog *self)
{
  const NwExportFormat *format = chosen_format(self);
  if (format == NULL)
    return;
  const char *base =
      self->info->name != NULL && *self->info->name != '\0' ? self->info->name : self->info->id;
  g_autofree char *safe = g_strdelimit(g_strdup(base), "/\\:*?\"<>| ", '-');
  g_autofree char *file = g_strconcat(safe, ".", format->extension, NULL);
  g_autofree char *folder = self->path != NULL ? g_path_get_dirname(self->path) : NULL;
  const char *documents = g_get_user_special_dir(G_USER_DIRECTORY_DOCUMENTS);
  char *path = g_build_filename(folder != NULL      ? folder
                                : documents != NULL ? documents
                                                    : g_get_home_dir(),
                                file, NULL);
  g_free(self->path);
  self->path = path;
  show_place(self);
}

static void on_format(AdwComboRow *row, GParamSpec *spec, Dialog *self)
{
  const NwExportFormat *format = chosen_format(self);
  if (format == NULL)
    return;
  gtk_label_set_text(GTK_LABEL(self->doc), _(format->doc));
  if (!self->chosen)
    propose_place(self);
}

void nw_export_dialog_set_path(GtkWindow *dialog, const char *path)
{
  Dialog *self = g_object_get_data(G_OBJECT(dialog), "nw-dialog");
  g_free(self->path);
  self->path = g_strdup(path);
  self->chosen = TRUE;
  show_place(self);
}

static void on_place_chosen(GtkNativeDialog *chooser, int response, Dialog *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(chooser));
    g_autofree char *path = g_file_get_path(file);
    if (path != NULL)
      nw_export_dialog_set_path(self->window, path);
  }
  g_object_unref(chooser);
}

static void on_choose_place(GtkButton *button, Dialog *self)
{
  GtkFileChooserNative *chooser = gtk_file_chooser_native_new(
      _("Export To"), self->window, GTK_FILE_CHOOSER_ACTION_SAVE, _("_Choose"), _("_Cancel"));
  g_autofree char *name = g_path_get_basename(self->path);
  g_autofree char *folder = g_path_get_dirname(self->path);
  g_autoptr(GFile) file = g_file_new_for_path(folder);
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(chooser), name);
  gtk_file_chooser_set_current_folder(GTK_FILE_CHOOSER(chooser), file, NULL);
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(chooser), TRUE);
  g_signal_connect(chooser, "response", G_CALLBACK(on_place_chosen), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(chooser));
}

/* ---- exporting, off the main thread ---- */

typedef struct Job {
  NwHistory *history;
  char *run, *path, *checkpoint;
  const NwExportFormat *format;
  char *report;
  NwError error;
} Job;

static void job_free(gpointer data)
{
  Job *job = data;
  g_free(job->run);
  g_free(job->path);
  g_free(job->checkpoint);
  g_free(job->report);
  g_free(job);
}

static void job_run(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Job *job = data;
  NwStatus status = nw_export_run(job->history, job->run, job->checkpoint, job->format, job->path,
                                  &job->report, &job->error);
  g_task_return_boolean(task, status == NW_OK);
}

static void on_exported(GObject *source, GAsyncResult *result, gpointer data)
{
  Dialog *self = data;
  Job *job = g_task_get_task_data(G_TASK(result));
  gboolean ok = g_task_propagate_boolean(G_TASK(result), NULL);
  g_object_unref(self->window);
  if (!gtk_widget_get_visible(GTK_WIDGET(self->window)))
    return;
  gtk_image_set_from_icon_name(GTK_IMAGE(self->report_icon),
                               ok ? "object-select-symbolic" : "dialog-error-symbolic");
  gtk_widget_add_css_class(self->report_icon, ok ? "ok" : "err");
  gtk_widget_remove_css_class(self->report_icon, ok ? "err" : "ok");
  gtk_label_set_text(GTK_LABEL(self->report),
                     ok ? (job->report != NULL ? job->report : _("Done.")) : job->error.text);
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "report");
  gtk_widget_set_sensitive(self->export, TRUE);
  gtk_button_set_label(GTK_BUTTON(self->export), ok ? _("Export Again") : _("Try Again"));
  gtk_button_set_label(GTK_BUTTON(self->cancel), _("Close"));
  gtk_widget_set_visible(self->show, ok);
}

static void on_export(GtkButton *button, Dialog *self)
{
  Job *job = g_new0(Job, 1);
  job->history = self->history;
  job->run = g_strdup(self->info->id);
  job->path = g_strdup(self->path);
  job->checkpoint =
      g_strdup(adw_combo_row_get_selected(ADW_COMBO_ROW(self->checkpoint)) == 0 ? "best" : "last");
  job->format = chosen_format(self);
  gtk_widget_set_sensitive(self->export, FALSE);
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "working");
  g_object_ref(self->window); /* the dialog's data lives as long as its window */
  g_autoptr(GTask) task = g_task_new(NULL, NULL, on_exported, self);
  g_task_set_task_data(task, job, job_free);
  g_task_run_in_thread(task, job_run);
}

static void on_show(GtkButton *button, Dialog *self)
{
  g_autofree char *folder = g_path_get_dirname(self->path);
  g_autofree char *uri = g_filename_to_uri(folder, NULL, NULL);
  if (uri != NULL)
    gtk_show_uri(self->window, uri, GDK_CURRENT_TIME);
}

/* ---- building ---- */

static GtkWidget *combo(const char *title, const char *const *names)
{
  GtkWidget *row = adw_combo_row_new();
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
  g_autoptr(GtkStringList) model = gtk_string_list_new(names);
  adw_combo_row_set_model(ADW_COMBO_ROW(row), G_LIST_MODEL(model));
  adw_combo_row_set_use_subtitle(ADW_COMBO_ROW(row), TRUE);
  return row;
}

static GtkWidget *build_form(Dialog *self)
{
  GtkWidget *group = adw_preferences_group_new();
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  const NwExportFormat *format;
  for (guint i = 0; (format = nw_export_format_at(i)) != NULL; i++)
    g_ptr_array_add(names, (gpointer)_(format->label));
  g_ptr_array_add(names, NULL);
  self->format = combo(_("Format"), (const char *const *)names->pdata);
  g_autofree char *best = self->info->best_epoch > 0
                              ? g_strdup_printf(_("Best (epoch %d)"), (int)self->info->best_epoch)
                              : g_strdup(_("Best"));
  g_autofree char *last = g_strdup_printf(_("Last (epoch %d)"), (int)self->info->epochs_done);
  self->checkpoint = combo(_("Checkpoint"), (const char *[]){best, last, NULL});
  self->place = adw_action_row_new();
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(self->place), _("Save to"));
  GtkWidget *choose = gtk_button_new_from_icon_name("document-open-symbolic");
  gtk_widget_set_valign(choose, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class(choose, "flat");
  gtk_widget_set_tooltip_text(choose, _("Choose another place"));
  g_signal_connect(choose, "clicked", G_CALLBACK(on_choose_place), self);
  adw_action_row_add_suffix(ADW_ACTION_ROW(self->place), choose);
  GtkWidget *rows[] = {self->format, self->checkpoint, self->place};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    adw_preferences_group_add(ADW_PREFERENCES_GROUP(group), rows[i]);
  g_signal_connect(self->format, "notify::selected", G_CALLBACK(on_format), self);
  return group;
}

static GtkWidget *build_report(Dialog *self)
{
  self->stack = gtk_stack_new();
  gtk_stack_add_named(GTK_STACK(self->stack), gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0), "nothing");
  GtkWidget *working = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *spinner = gtk_spinner_new();
  gtk_spinner_set_spinning(GTK_SPINNER(spinner), TRUE);
  gtk_box_append(GTK_BOX(working), spinner);
  gtk_box_append(GTK_BOX(working), gtk_label_new(_("Writing, reading back and comparing…")));
  gtk_stack_add_named(GTK_STACK(self->stack), working, "working");
  GtkWidget *report = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  self->report_icon = gtk_image_new();
  gtk_widget_set_valign(self->report_icon, GTK_ALIGN_START);
  self->report = gtk_label_new(NULL);
  gtk_label_set_wrap(GTK_LABEL(self->report), TRUE);
  gtk_label_set_xalign(GTK_LABEL(self->report), 0);
  gtk_label_set_selectable(GTK_LABEL(self->report), TRUE);
  gtk_widget_set_hexpand(self->report, TRUE);
  gtk_box_append(GTK_BOX(report), self->report_icon);
  gtk_box_append(GTK_BOX(report), self->report);
  gtk_stack_add_named(GTK_STACK(self->stack), report, "report");
  return self->stack;
}

void nw_export_dialog_present(GtkWindow *parent, NwHistory *history, const char *run)
{
  NwError error = {0};
  NwRunInfo *info = NULL;
  if (nw_history_find(history, run, &info, &error) != NW_OK) {
    GtkWidget *message = adw_message_dialog_new(parent, _("This run cannot be exported"), error.text);
    adw_message_dialog_add_response(ADW_MESSAGE_DIALOG(message), "close", _("_Close"));
    gtk_window_present(GTK_WINDOW(message));
    return;
  }
  Dialog *self = g_new0(Dialog, 1);
  self->history = history;
  self->info = info;
  self->window = GTK_WINDOW(adw_window_new());
  g_object_set_data_full(G_OBJECT(self->window), "nw-dialog", self, dialog_free);
  gtk_window_set_title(self->window, _("Export"));
  gtk_window_set_modal(self->window, TRUE);
  gtk_window_set_transient_for(self->window, parent);
  gtk_window_set_default_size(self->window, 520, -1);
  gtk_widget_set_name(GTK_WIDGET(self->window), "export-dialog");

  GtkWidget *bar = adw_header_bar_new();
  adw_header_bar_set_show_end_title_buttons(ADW_HEADER_BAR(bar), FALSE);
  adw_header_bar_set_show_start_title_buttons(ADW_HEADER_BAR(bar), FALSE);
  g_autofree char *subtitle = g_strdup_printf(
      _("Run %d · %s"), (int)info->number, info->name != NULL && *info->name != '\0' ? info->name : info->id);
  adw_header_bar_set_title_widget(ADW_HEADER_BAR(bar), adw_window_title_new(_("Export"), subtitle));
  self->cancel = gtk_button_new_with_label(_("Cancel"));
  g_signal_connect_swapped(self->cancel, "clicked", G_CALLBACK(gtk_window_close), self->window);
  self->export = gtk_button_new_with_label(_("Export"));
  gtk_widget_set_name(self->export, "export-button");
  gtk_widget_add_css_class(self->export, "suggested-action");
  g_signal_connect(self->export, "clicked", G_CALLBACK(on_export), self);
  adw_header_bar_pack_start(ADW_HEADER_BAR(bar), self->cancel);
  adw_header_bar_pack_end(ADW_HEADER_BAR(bar), self->export);

  GtkWidget *body = gtk_box_new(GTK_ORIENTATION_VERTICAL, 18);
  gtk_widget_add_css_class(body, "dialog-body");
  gtk_widget_set_margin_start(body, 24);
  gtk_widget_set_margin_end(body, 24);
  gtk_widget_set_margin_top(body, 18);
  gtk_widget_set_margin_bottom(body, 24);
  self->doc = gtk_label_new(NULL);
  gtk_label_set_wrap(GTK_LABEL(self->doc), TRUE);
  gtk_label_set_xalign(GTK_LABEL(self->doc), 0);
  gtk_widget_add_css_class(self->doc, "dim");
  gtk_box_append(GTK_BOX(body), build_form(self));
  gtk_box_append(GTK_BOX(body), self->doc);
  gtk_box_append(GTK_BOX(body), build_report(self));
  self->show = gtk_button_new_with_label(_("Show in Folder"));
  gtk_widget_set_halign(self->show, GTK_ALIGN_START);
  gtk_widget_set_visible(self->show, FALSE);
  g_signal_connect(self->show, "clicked", G_CALLBACK(on_show), self);
  gtk_box_append(GTK_BOX(body), self->show);
  GtkWidget *all = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_box_append(GTK_BOX(all), bar);
  gtk_box_append(GTK_BOX(all), body);
  adw_window_set_content(ADW_WINDOW(self->window), all);
  on_format(ADW_COMBO_ROW(self->format), NULL, self);
  GtkEventController *keys = gtk_shortcut_controller_new();
  gtk_shortcut_controller_add_shortcut(
      GTK_SHORTCUT_CONTROLLER(keys),
      gtk_shortcut_new(gtk_keyval_trigger_new(GDK_KEY_Escape, 0), gtk_named_action_new("window.close")));
  gtk_widget_add_controller(GTK_WIDGET(self->window), keys);
  gtk_window_set_focus(self->window, self->export);
  gtk_window_present(self->window);
}
