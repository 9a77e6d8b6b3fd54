#include "ui/pages/nw-data-page.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/panels/nw-data-settings.h"
#include "ui/widgets/nw-class-balance.h"
#include "ui/widgets/nw-picture-grid.h"
#include "ui/widgets/nw-text.h"

enum { SEEN = 8 };

struct _NwDataPage {
  GtkWidget parent;
  NwProject *project;
  GtkWidget *stack, *panel, *toasts;
  GtkWidget *name, *path, *pictures, *classes, *parts, *balance, *balance_card, *grid, *count;
  GtkWidget *class_filter, *part_filter, *text_filter;
  GtkWidget *seen_title, *seen[SEEN + 1], *seen_label[SEEN + 1];
  GtkWidget *scan_words, *failure;
  GCancellable *cancellable;
  guint shown;  /* index of the picture whose versions are shown */
  guint64 turn; /* epoch of the first version */
  guint refilling;
  guint seen_source, next_seen; /* previews still to be drawn */
  gulong handlers[2];
};

G_DEFINE_FINAL_TYPE(NwDataPage, nw_data_page, GTK_TYPE_WIDGET)

/* ---- what the network sees ---- */

static void set_picture(GtkWidget *widget, NwStatus status, NwPreview *preview, const NwError *error)
{
  GdkTexture *texture = status == NW_OK ? nw_preview_texture(preview) : NULL;
  gtk_picture_set_paintable(GTK_PICTURE(widget), texture != NULL ? GDK_PAINTABLE(texture) : NULL);
  gtk_widget_set_tooltip_text(widget, status != NW_OK ? error->text : NULL);
  g_clear_object(&texture);
  nw_preview_clear(preview);
}

/* One picture a turn, below drawing and input: eight photos of twelve megapixels take a second to decode. */
static gboolean show_next(gpointer data)
{
  NwDataPage *self = data;
  guint i = self->next_seen++;
  NwPreview preview = {0};
  NwError error = {0};
  NwStatus status = i == 0
                        ? nw_preview_original(self->project, self->shown, 208, &preview, &error)
                        : nw_preview_seen(self->project, self->shown, self->turn + i - 1, &preview, &error);
  set_picture(self->seen[i], status, &preview, &error);
  if (self->next_seen <= SEEN)
    return G_SOURCE_CONTINUE;
  self->seen_source = 0;
  return G_SOURCE_REMOVE;
}

static void show_seen(NwDataPage *self)
{
  const NwManifest *m = nw_project_manifest(self->project);
  const NwPreprocessing *p = nw_project_preprocessing(self->project);
  if (m == NULL || m->pictures->len == 0)
    return;
  self->shown = MIN(self->shown, m->pictures->len - 1);
  g_autofree char *title = g_strdup_printf(_("%u×%u, drawn by the code that trains"), p->width, p->height);
  gtk_label_set_text(GTK_LABEL(self->seen_title), title);
  for (guint i = 0; i <= SEEN; i++) {
    g_autofree char *words =
        i == 0 ? g_strdup(_("original")) : g_strdup_printf(_("epoch %d"), (int)(self->turn + i));
    gtk_label_set_text(GTK_LABEL(self->seen_label[i]), words);
  }
  self->next_seen = 0;
  if (self->seen_source == 0)
    self->seen_source = g_idle_add_full(G_PRIORITY_LOW, show_next, self, NULL);
}

static void on_chosen(NwPictureGrid *grid, guint index, NwDataPage *self)
{
  self->shown = index;
  self->turn = 0;
  show_seen(self);
}

static void on_shuffle(GtkButton *button, NwDataPage *self)
{
  self->turn += SEEN;
  show_seen(self);
}

/* ---- the pictures ---- */

static void filter(NwDataPage *self)
{
  guint label = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->class_filter));
  guint part = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->part_filter));
  if (self->refilling)
    return;
  guint n = nw_picture_grid_show(NW_PICTURE_GRID(self->grid),
                                 label == 0 || label == GTK_INVALID_LIST_POSITION ? -1 : (int)label - 1,
                                 part == 0   ? -1
                                 : part == 1 ? NW_SPLIT_TRAIN
                                             : NW_SPLIT_VAL,
                                 gtk_editable_get_text(GTK_EDITABLE(self->text_filter)));
  g_autofree char *count = nw_text_count(n), *most = nw_text_count(NW_PICTURE_GRID_MAX);
  g_autofree char *text = n > NW_PICTURE_GRID_MAX
                              ? g_strdup_printf(_("%s, of which %s are shown"), count, most)
                              : g_strdup(count);
  gtk_label_set_text(GTK_LABEL(self->count), text);
}

static void on_filter(GtkWidget *widget, GParamSpec *spec, NwDataPage *self)
{
  filter(self);
}

static void on_text(GtkSearchEntry *entry, NwDataPage *self)
{
  filter(self);
}

static void fill_class_filter(NwDataPage *self, const NwManifest *m)
{
  GtkStringList *names = gtk_string_list_new(NULL);
  gtk_string_list_append(names, _("All classes"));
  for (guint i = 0; i < m->classes->len; i++)
    gtk_string_list_append(names, g_ptr_array_index(m->classes, i));
  gtk_drop_down_set_model(GTK_DROP_DOWN(self->class_filter), G_LIST_MODEL(names));
  g_object_unref(names);
}

static void fill_head(NwDataPage *self, const NwManifest *m)
{
  static const char *const kinds[] = {N_("read in place"), N_("an archive, read in place"), N_("MNIST files"),
                                      N_("CIFAR-10 files")};
  g_autofree char *base = g_filename_display_basename(m->root), *path = g_filename_display_name(m->root);
  g_autofree char *where = g_strdup_printf("%s · %s", path, _(kinds[m->kind]));
  guint train = nw_manifest_count(m, NW_SPLIT_TRAIN, -1), val = nw_manifest_count(m, NW_SPLIT_VAL, -1);
  g_autofree char *pictures = nw_text_count(train + val), *classes = nw_text_count(m->classes->len);
  g_autofree char *train_text = nw_text_count(train), *val_text = nw_text_count(val);
  g_autofree char *parts = g_strdup_printf(_("train %s · validation %s"), train_text, val_text);
  gtk_label_set_text(GTK_LABEL(self->name), base);
  gtk_label_set_text(GTK_LABEL(self->path), where);
  gtk_label_set_text(GTK_LABEL(self->pictures), pictures);
  gtk_label_set_text(GTK_LABEL(self->classes), classes);
  gtk_label_set_text(GTK_LABEL(self->parts), parts);
}

static void fill(NwDataPage *self)
{
  const NwManifest *m = nw_project_manifest(self->project);
  if (m == NULL) {
    if (g_strcmp0(gtk_stack_get_visible_child_name(GTK_STACK(self->stack)), "set") == 0)
      gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "empty");
    return;
  }
  fill_head(self, m);
  nw_class_balance_fill(self->balance, m);
  self->refilling++;
  fill_class_filter(self, m);
  self->refilling--;
  filter(self);
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "set");
  show_seen(self);
}

static void on_dataset(NwProject *project, NwDataPage *self)
{
  fill(self);
}

/* ---- opening ---- */

static void on_scan_progress(NwProject *project, guint files, guint problems, NwDataPage *self)
{
  g_autofree char *n = nw_text_count(files);
  g_autofree char *text = g_strdup_printf(_("%s files, %u problems"), n, problems);
  gtk_label_set_text(GTK_LABEL(self->scan_words), text);
}

static void on_opened(NwProject *project, const NwError *error, gpointer data)
{
  NwDataPage *self = data;
  g_clear_object(&self->cancellable);
  if (self->project != NULL && error != NULL && error->status != NW_CANCELLED) {
    gtk_label_set_text(GTK_LABEL(self->failure), error->text);
    gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "empty");
  }
  if (self->project != NULL && (error == NULL || nw_project_manifest(project) != NULL))
    fill(self);
  else if (self->project != NULL)
    gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "empty");
  if (self->project != NULL && error != NULL && nw_project_manifest(project) != NULL)
    adw_toast_overlay_add_toast(ADW_TOAST_OVERLAY(self->toasts), adw_toast_new(error->text));
  g_object_unref(self);
}

void nw_data_page_open(NwDataPage *self, const char *path)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel(self->cancellable);
  g_clear_object(&self->cancellable);
  self->cancellable = g_cancellable_new();
  gtk_label_set_text(GTK_LABEL(self->failure), "");
  gtk_label_set_text(GTK_LABEL(self->scan_words), _("Reading the folder…"));
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "scan");
  nw_project_set_dataset_async(self->project, path, self->cancellable, on_opened, g_object_ref(self));
}

static void on_folder(GtkNativeDialog *dialog, int response, NwDataPage *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = g_file_get_path(file);
    if (path != NULL)
      nw_data_page_open(self, path);
  }
  g_object_unref(dialog);
}

static void choose(NwDataPage *self, gboolean archive)
{
  GtkWindow *window = GTK_WINDOW(gtk_widget_get_root(GTK_WIDGET(self)));
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new(
      archive ? _("Choose an Archive of Pictures") : _("Choose a Folder of Pictures"), window,
      archive ? GTK_FILE_CHOOSER_ACTION_OPEN : GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, _("_Choose"),
      _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
  g_signal_connect(dialog, "response", G_CALLBACK(on_folder), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

void nw_data_page_choose(NwDataPage *page)
{
  choose(page, FALSE);
}

static void on_choose(GtkButton *button, NwDataPage *self)
{
  choose(self, FALSE);
}

static void on_choose_archive(GtkButton *button, NwDataPage *self)
{
  choose(self, TRUE);
}

static void on_rescan(GtkButton *button, NwDataPage *self)
{
  if (nw_project_dataset(self->project) != NULL)
    nw_data_page_open(self, nw_project_dataset(self->project));
}

static void on_cancel(GtkButton *button, NwDataPage *self)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel(self->cancellable);
}

static gboolean on_drop(GtkDropTarget *target, const GValue *value, double x, double y, NwDataPage *self)
{
  g_autofree char *path = g_file_get_path(g_value_get_object(value));
  if (path == NULL)
    return FALSE;
  nw_data_page_open(self, path);
  return TRUE;
}

/* ---- building ---- */

static GtkWidget *label_new(const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new(text);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class(label, css);
  return label;
}

static GtkWidget *card_new(GtkOrientation orientation)
{
  GtkWidget *card = gtk_box_new(orientation, 8);
  gtk_widget_add_css_class(card, "card");
  gtk_widget_add_css_class(card, "chart-card");
  return card;
}

static GtkWidget *stat(GtkWidget *row, const char *words)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), *value = label_new(NULL, "stat-value");
  gtk_label_set_ellipsize(GTK_LABEL(value), PANGO_ELLIPSIZE_NONE);
  gtk_box_append(GTK_BOX(box), value);
  gtk_box_append(GTK_BOX(box), label_new(words, "caption"));
  gtk_widget_set_valign(box, GTK_ALIGN_CENTER);
  gtk_widget_set_margin_end(box, 12);
  gtk_box_append(GTK_BOX(row), box);
  return value;
}

static GtkWidget *build_head(NwDataPage *self)
{
  GtkWidget *card = card_new(GTK_ORIENTATION_HORIZONTAL), *words = gtk_box_new(GTK_ORIENTATION_VERTICAL, 1);
  GtkWidget *icon = gtk_image_new_from_icon_name("folder-pictures-symbolic");
  gtk_image_set_pixel_size(GTK_IMAGE(icon), 24);
  gtk_widget_set_margin_start(icon, 4);
  gtk_widget_set_margin_end(icon, 6);
  self->name = label_new(NULL, "card-title");
  self->path = label_new(NULL, "dim");
  gtk_label_set_ellipsize(GTK_LABEL(self->path), PANGO_ELLIPSIZE_MIDDLE);
  gtk_widget_set_hexpand(words, TRUE);
  gtk_box_append(GTK_BOX(words), self->name);
  gtk_box_append(GTK_BOX(words), self->path);
  gtk_widget_set_valign(words, GTK_ALIGN_CENTER);
  gtk_box_append(GTK_BOX(card), icon);
  gtk_box_append(GTK_BOX(card), words);
  self->pictures = stat(card, _("pictures"));
  self->classes = stat(card, _("classes"));
  self->parts = label_new(NULL, "dim");
  gtk_label_set_ellipsize(GTK_LABEL(self->parts), PANGO_ELLIPSIZE_NONE);
  gtk_widget_add_css_class(self->parts, "numeric");
  gtk_box_append(GTK_BOX(card), self->parts);
  GtkWidget *rescan = gtk_button_new_from_icon_name("view-refresh-symbolic");
  gtk_widget_set_tooltip_text(rescan, _("Read the folder again"));
  gtk_widget_set_valign(rescan, GTK_ALIGN_CENTER);
  g_signal_connect(rescan, "clicked", G_CALLBACK(on_rescan), self);
  GtkWidget *other = gtk_button_new_from_icon_name("folder-open-symbolic");
  gtk_widget_set_tooltip_text(other, _("Choose another folder"));
  gtk_widget_set_valign(other, GTK_ALIGN_CENTER);
  g_signal_connect(other, "clicked", G_CALLBACK(on_choose), self);
  gtk_box_append(GTK_BOX(card), rescan);
  gtk_box_append(GTK_BOX(card), other);
  return card;
}

static GtkWidget *build_balance(NwDataPage *self)
{
  self->balance_card = card_new(GTK_ORIENTATION_VERTICAL);
  gtk_widget_set_size_request(self->balance_card, 290, -1);
  GtkWidget *head = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8),
            *title = label_new(_("Class balance"), "card-title");
  gtk_widget_set_hexpand(title, TRUE);
  GtkWidget *train = label_new(_("■ train"), "caption"), *val = label_new(_("■ validation"), "caption");
  gtk_widget_add_css_class(train, "train-color");
  gtk_widget_add_css_class(val, "val");
  gtk_box_append(GTK_BOX(head), title);
  gtk_box_append(GTK_BOX(head), train);
  gtk_box_append(GTK_BOX(head), val);
  self->balance = nw_class_balance_new();
  gtk_box_append(GTK_BOX(self->balance_card), head);
  gtk_box_append(GTK_BOX(self->balance_card), self->balance);
  return self->balance_card;
}

static GtkWidget *build_pictures(NwDataPage *self)
{
  GtkWidget *card = card_new(GTK_ORIENTATION_VERTICAL), *head = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  const char *const parts[] = {_("Both parts"), _("Train"), _("Validation"), NULL};
  const char *const classes[] = {_("All classes"), NULL};
  self->count = label_new(NULL, "dim");
  gtk_widget_set_hexpand(self->count, TRUE);
  self->class_filter = gtk_drop_down_new_from_strings(classes);
  self->part_filter = gtk_drop_down_new_from_strings(parts);
  gtk_widget_add_css_class(self->class_filter, "lean");
  gtk_widget_add_css_class(self->part_filter, "lean");
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->class_filter), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Class"), -1);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->part_filter), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Part"),
                                 -1);
  self->text_filter = gtk_search_entry_new();
  g_object_set(self->text_filter, "placeholder-text", _("File name"), NULL);
  gtk_editable_set_max_width_chars(GTK_EDITABLE(self->text_filter), 16);
  self->grid = nw_picture_grid_new(self->project);
  GtkWidget *row[] = {label_new(_("Pictures"), "card-title"), self->count, self->class_filter,
                      self->part_filter, self->text_filter};
  for (guint i = 0; i < G_N_ELEMENTS(row); i++)
    gtk_box_append(GTK_BOX(head), row[i]);
  gtk_box_append(GTK_BOX(card), head);
  gtk_box_append(GTK_BOX(card), self->grid);
  gtk_widget_set_hexpand(card, TRUE);
  g_signal_connect(self->class_filter, "notify::selected", G_CALLBACK(on_filter), self);
  g_signal_connect(self->part_filter, "notify::selected", G_CALLBACK(on_filter), self);
  g_signal_connect(self->text_filter, "search-changed", G_CALLBACK(on_text), self);
  g_signal_connect(self->grid, "chosen", G_CALLBACK(on_chosen), self);
  return card;
}

static GtkWidget *build_seen(NwDataPage *self)
{
  GtkWidget *card = card_new(GTK_ORIENTATION_VERTICAL), *head = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  self->seen_title = label_new(NULL, "dim");
  gtk_widget_set_hexpand(self->seen_title, TRUE);
  GtkWidget *shuffle = gtk_button_new(), *content = adw_button_content_new();
  adw_button_content_set_icon_name(ADW_BUTTON_CONTENT(content), "media-playlist-shuffle-symbolic");
  adw_button_content_set_label(ADW_BUTTON_CONTENT(content), _("More"));
  gtk_button_set_child(GTK_BUTTON(shuffle), content);
  gtk_widget_add_css_class(shuffle, "lean");
  gtk_widget_set_tooltip_text(shuffle, _("The same picture in later epochs"));
  g_signal_connect(shuffle, "clicked", G_CALLBACK(on_shuffle), self);
  gtk_box_append(GTK_BOX(head), label_new(_("What the network sees"), "card-title"));
  gtk_box_append(GTK_BOX(head), self->seen_title);
  gtk_box_append(GTK_BOX(head), shuffle);
  GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  gtk_box_set_homogeneous(GTK_BOX(row), TRUE);
  for (guint i = 0; i <= SEEN; i++) {
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);
    self->seen[i] = gtk_picture_new();
    gtk_widget_set_size_request(self->seen[i], 48, 92);
    gtk_widget_add_css_class(self->seen[i], "thumbnail");
    self->seen_label[i] = label_new(NULL, "caption");
    gtk_widget_add_css_class(self->seen_label[i], "dim");
    gtk_box_append(GTK_BOX(box), self->seen[i]);
    gtk_box_append(GTK_BOX(box), self->seen_label[i]);
    gtk_box_append(GTK_BOX(row), box);
  }
  gtk_box_append(GTK_BOX(card), head);
  gtk_box_append(GTK_BOX(card), row);
  return card;
}

static GtkWidget *build_set(NwDataPage *self)
{
  GtkWidget *all = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0),
            *main = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);
  GtkWidget *middle = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  gtk_widget_add_css_class(main, "page");
  gtk_widget_set_hexpand(main, TRUE);
  gtk_widget_set_vexpand(middle, TRUE);
  gtk_box_append(GTK_BOX(middle), build_balance(self));
  gtk_box_append(GTK_BOX(middle), build_pictures(self));
  gtk_box_append(GTK_BOX(main), build_head(self));
  gtk_box_append(GTK_BOX(main), middle);
  gtk_box_append(GTK_BOX(main), build_seen(self));
  self->panel = gtk_scrolled_window_new();
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->panel), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_add_css_class(self->panel, "side-panel");
  gtk_widget_set_size_request(self->panel, 320, -1);
  gtk_widget_set_hexpand(self->panel, FALSE);
  GtkWidget *inside = nw_data_settings_new(self->project);
  gtk_widget_set_margin_start(inside, 12);
  gtk_widget_set_margin_end(inside, 12);
  gtk_widget_set_margin_bottom(inside, 12);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->panel), inside);
  gtk_box_append(GTK_BOX(all), main);
  gtk_box_append(GTK_BOX(all), self->panel);
  return all;
}

static GtkWidget *build_empty(NwDataPage *self)
{
  GtkWidget *page = adw_status_page_new(), *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);
  adw_status_page_set_icon_name(ADW_STATUS_PAGE(page), "folder-pictures-symbolic");
  adw_status_page_set_title(ADW_STATUS_PAGE(page), _("Choose Pictures"));
  adw_status_page_set_description(
      ADW_STATUS_PAGE(page),
      _("A folder with one sub-folder for each class, or an archive of one. They are read where they lie."));
  self->failure = gtk_label_new(NULL);
  gtk_label_set_wrap(GTK_LABEL(self->failure), TRUE);
  gtk_label_set_max_width_chars(GTK_LABEL(self->failure), 60);
  gtk_label_set_justify(GTK_LABEL(self->failure), GTK_JUSTIFY_CENTER);
  gtk_widget_add_css_class(self->failure, "err");
  GtkWidget *folder = gtk_button_new_with_label(_("Choose Folder…")),
            *archive = gtk_button_new_with_label(_("Choose Archive…"));
  gtk_widget_add_css_class(folder, "pill");
  gtk_widget_add_css_class(folder, "suggested-action");
  gtk_widget_add_css_class(archive, "pill");
  gtk_widget_set_name(folder, "choose-folder");
  g_signal_connect(folder, "clicked", G_CALLBACK(on_choose), self);
  g_signal_connect(archive, "clicked", G_CALLBACK(on_choose_archive), self);
  GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  gtk_widget_set_halign(row, GTK_ALIGN_CENTER);
  gtk_box_append(GTK_BOX(row), folder);
  gtk_box_append(GTK_BOX(row), archive);
  gtk_box_append(GTK_BOX(box), self->failure);
  gtk_box_append(GTK_BOX(box), row);
  adw_status_page_set_child(ADW_STATUS_PAGE(page), box);
  return page;
}

static GtkWidget *build_scan(NwDataPage *self)
{
  GtkWidget *page = adw_status_page_new(), *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 18),
            *spinner = gtk_spinner_new();
  adw_status_page_set_title(ADW_STATUS_PAGE(page), _("Reading Pictures"));
  gtk_spinner_set_spinning(GTK_SPINNER(spinner), TRUE);
  gtk_widget_set_size_request(spinner, 32, 32);
  self->scan_words = gtk_label_new(NULL);
  gtk_widget_add_css_class(self->scan_words, "numeric");
  GtkWidget *cancel = gtk_button_new_with_label(_("Cancel"));
  gtk_widget_add_css_class(cancel, "pill");
  gtk_widget_set_halign(cancel, GTK_ALIGN_CENTER);
  g_signal_connect(cancel, "clicked", G_CALLBACK(on_cancel), self);
  gtk_box_append(GTK_BOX(box), spinner);
  gtk_box_append(GTK_BOX(box), self->scan_words);
  gtk_box_append(GTK_BOX(box), cancel);
  adw_status_page_set_child(ADW_STATUS_PAGE(page), box);
  return page;
}

void nw_data_page_set_narrow(NwDataPage *page, gboolean narrow)
{
  gtk_widget_set_size_request(page->panel, narrow ? 262 : 320, -1);
  gtk_widget_set_size_request(page->balance_card, narrow ? 218 : 290, -1);
  for (guint i = 0; i <= SEEN; i++)
    gtk_widget_set_size_request(page->seen[i], 48, narrow ? 70 : 92);
  gtk_widget_set_visible(page->text_filter, !narrow);
  gtk_widget_set_visible(page->parts, !narrow);
}

static void nw_data_page_dispose(GObject *object)
{
  NwDataPage *self = NW_DATA_PAGE(object);
  if (self->cancellable != NULL)
    g_cancellable_cancel(self->cancellable);
  g_clear_handle_id(&self->seen_source, g_source_remove);
  for (guint i = 0; i < G_N_ELEMENTS(self->handlers); i++)
    g_clear_signal_handler(&self->handlers[i], self->project);
  g_clear_pointer(&self->toasts, gtk_widget_unparent);
  g_clear_object(&self->project);
  G_OBJECT_CLASS(nw_data_page_parent_class)->dispose(object);
}

static void nw_data_page_class_init(NwDataPageClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_data_page_dispose;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
}

static void nw_data_page_init(NwDataPage *self)
{
  self->toasts = adw_toast_overlay_new();
  gtk_widget_set_parent(self->toasts, GTK_WIDGET(self));
}

GtkWidget *nw_data_page_new(NwProject *project)
{
  NwDataPage *self = g_object_new(NW_TYPE_DATA_PAGE, NULL);
  self->project = g_object_ref(project);
  self->stack = gtk_stack_new();
  gtk_stack_add_named(GTK_STACK(self->stack), build_empty(self), "empty");
  gtk_stack_add_named(GTK_STACK(self->stack), build_scan(self), "scan");
  gtk_stack_add_named(GTK_STACK(self->stack), build_set(self), "set");
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "empty");
  adw_toast_overlay_set_child(ADW_TOAST_OVERLAY(self->toasts), self->stack);
  GtkDropTarget *drop = gtk_drop_target_new(G_TYPE_FILE, GDK_ACTION_COPY);
  g_signal_connect(drop, "drop", G_CALLBACK(on_drop), self);
  gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(drop));
  self->handlers[0] = g_signal_connect(project, "dataset-changed", G_CALLBACK(on_dataset), self);
  self->handlers[1] = g_signal_connect(project, "scan-progress", G_CALLBACK(on_scan_progress), self);
  fill(self);
  /* A project that was opened knows its folder but has not read it yet. */
  if (nw_project_manifest(project) == NULL && nw_project_dataset(project) != NULL)
    nw_data_page_open(self, nw_project_dataset(project));
  return GTK_WIDGET(self);
}
