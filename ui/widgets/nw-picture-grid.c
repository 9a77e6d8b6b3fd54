#include "ui/widgets/nw-picture-grid.h"

#include <glib/gi18n.h>

/* ---- one picture ---- */

#define NW_TYPE_PICTURE_ITEM (nw_picture_item_get_type())
G_DECLARE_FINAL_TYPE(NwPictureItem, nw_picture_item, NW, PICTURE_ITEM, GObject)
struct _NwPictureItem {
  GObject parent;
  guint index;
  GdkTexture *texture; /* NULL: not decoded yet */
  char *failure;       /* the decoder's sentence */
};
G_DEFINE_FINAL_TYPE(NwPictureItem, nw_picture_item, G_TYPE_OBJECT)

static guint loaded_signal;

static void nw_picture_item_finalize(GObject *object)
{
  g_clear_object(&NW_PICTURE_ITEM(object)->texture);
  g_free(NW_PICTURE_ITEM(object)->failure);
  G_OBJECT_CLASS(nw_picture_item_parent_class)->finalize(object);
}

static void nw_picture_item_class_init(NwPictureItemClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = nw_picture_item_finalize;
  loaded_signal =
      g_signal_new("loaded", NW_TYPE_PICTURE_ITEM, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void nw_picture_item_init(NwPictureItem *item) {}

/* ---- the grid ---- */

struct _NwPictureGrid {
  GtkWidget parent;
  NwProject *project;
  GtkWidget *scroll, *view;
  GListStore *store;
  GtkSingleSelection *selection;
  GQueue wanted; /* NwPictureItem in view and not decoded; owned */
  guint source;
};

G_DEFINE_FINAL_TYPE(NwPictureGrid, nw_picture_grid, GTK_TYPE_WIDGET)

static guint chosen_signal;

GdkTexture *nw_preview_texture(const NwPreview *preview)
{
  g_autoptr(GBytes) bytes = g_bytes_new(preview->rgb, (gsize)preview->width * preview->height * 3);
  return gdk_memory_texture_new((int)preview->width, (int)preview->height, GDK_MEMORY_R8G8B8, bytes,
                                (gsize)preview->width * 3);
}

static void load(NwPictureGrid *self, NwPictureItem *item)
{
  NwPreview preview = {0};
  NwError error = {0};
  if (nw_preview_original(self->project, item->index, 208, &preview, &error) == NW_OK)
    item->texture = nw_preview_texture(&preview);
  else
    item->failure = g_strdup(error.text);
  nw_preview_clear(&preview);
  g_signal_emit(item, loaded_signal, 0);
}

/* Decodes for at most 6 ms, so that a frame is never lost. */
static gboolean load_some(gpointer data)
{
  NwPictureGrid *self = data;
  gint64 until = g_get_monotonic_time() + 6000;
  NwPictureItem *item;
  while (g_get_monotonic_time() < until && (item = g_queue_pop_head(&self->wanted)) != NULL) {
    if (item->texture == NULL && item->failure == NULL)
      load(self, item);
    g_object_unref(item);
  }
  if (!g_queue_is_empty(&self->wanted))
    return G_SOURCE_CONTINUE;
  self->source = 0;
  return G_SOURCE_REMOVE;
}

static void want(NwPictureGrid *self, NwPictureItem *item)
{
  g_queue_push_tail(&self->wanted, g_object_ref(item));
  if (self->source == 0)
    self->source = g_timeout_add_full(GDK_PRIORITY_REDRAW + 10, 1, load_some, self, NULL);
}

/* ---- cells ---- */

static void on_setup(GtkListItemFactory *factory, GtkListItem *item, NwPictureGrid *self)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);
  GtkWidget *picture = gtk_picture_new();
  gtk_widget_set_size_request(picture, 104, 104);
  gtk_widget_add_css_class(picture, "thumbnail");
  gtk_picture_set_can_shrink(GTK_PICTURE(picture), TRUE);
  gtk_picture_set_content_fit(GTK_PICTURE(picture), GTK_CONTENT_FIT_COVER);
  gtk_widget_set_overflow(picture, GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_halign(box, GTK_ALIGN_CENTER);
  GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4);
  GtkWidget *name = gtk_label_new(NULL), *part = gtk_label_new(NULL);
  gtk_label_set_xalign(GTK_LABEL(name), 0);
  gtk_label_set_ellipsize(GTK_LABEL(name), PANGO_ELLIPSIZE_END);
  gtk_label_set_width_chars(GTK_LABEL(name), 4);
  gtk_widget_set_hexpand(name, TRUE);
  gtk_widget_add_css_class(name, "caption");
  gtk_widget_add_css_class(part, "caption");
  gtk_box_append(GTK_BOX(line), name);
  gtk_box_append(GTK_BOX(line), part);
  gtk_box_append(GTK_BOX(box), picture);
  gtk_box_append(GTK_BOX(box), line);
  gtk_list_item_set_child(item, box);
}

static void show_texture(NwPictureItem *picture, GtkListItem *item)
{
  GtkWidget *widget = gtk_widget_get_first_child(gtk_list_item_get_child(item));
  gtk_picture_set_paintable(GTK_PICTURE(widget),
                            picture->texture != NULL ? GDK_PAINTABLE(picture->texture) : NULL);
  if (picture->failure != NULL)
    gtk_widget_set_tooltip_text(widget, picture->failure);
}

static void on_bind(GtkListItemFactory *factory, GtkListItem *item, NwPictureGrid *self)
{
  NwPictureItem *picture = gtk_list_item_get_item(item);
  const NwManifest *manifest = nw_project_manifest(self->project);
  if (manifest == NULL || picture->index >= manifest->pictures->len)
    return;
  const NwPictureEntry *entry = &g_array_index(manifest->pictures, NwPictureEntry, picture->index);
  GtkWidget *widget = gtk_widget_get_first_child(gtk_list_item_get_child(item));
  GtkWidget *name = gtk_widget_get_first_child(gtk_widget_get_next_sibling(widget));
  GtkWidget *part = gtk_widget_get_next_sibling(name);
  const char *label =
      entry->label < manifest->classes->len ? g_ptr_array_index(manifest->classes, entry->label) : "";
  g_autofree char *shown = g_filename_display_name(label);
  g_autofree char *path =
      entry->path != NULL ? g_filename_display_name(entry->path) : g_strdup_printf("%u", entry->record);
  gtk_label_set_text(GTK_LABEL(name), shown);
  gtk_label_set_text(GTK_LABEL(part), entry->split == NW_SPLIT_TRAIN ? _("train")
                                      : entry->split == NW_SPLIT_VAL ? _("val")
                                                                     : _("left out"));
  gtk_widget_remove_css_class(part, "val");
  gtk_widget_remove_css_class(part, "dim");
  gtk_widget_add_css_class(part, entry->split == NW_SPLIT_VAL ? "val" : "dim");
  gtk_widget_set_tooltip_text(widget, path);
  gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, shown,
                                 GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, path, -1);
  show_texture(picture, item);
  g_signal_connect(picture, "loaded", G_CALLBACK(show_texture), item);
  if (picture->texture == NULL && picture->failure == NULL)
    want(self, picture);
}

static void on_unbind(GtkListItemFactory *factory, GtkListItem *item, NwPictureGrid *self)
{
  NwPictureItem *picture = gtk_list_item_get_item(item);
  g_signal_handlers_disconnect_by_func(picture, show_texture, item);
  if (g_queue_remove(&self->wanted, picture))
    g_object_unref(picture);
}

static void on_selected(GtkSingleSelection *selection, GParamSpec *spec, NwPictureGrid *self)
{
  NwPictureItem *item = gtk_single_selection_get_selected_item(selection);
  if (item != NULL)
    g_signal_emit(self, chosen_signal, 0, item->index);
}

/* ---- what is shown ---- */

static gboolean name_has(const NwPictureEntry *entry, const char *text)
{
  if (text == NULL || *text == '\0')
    return TRUE;
  if (entry->path == NULL)
    return FALSE;
  g_autofree char *shown = g_filename_display_name(entry->path);
  g_autofree char *a = g_utf8_casefold(shown, -1), *b = g_utf8_casefold(text, -1);
  return strstr(a, b) != NULL;
}

static void forget_wanted(NwPictureGrid *self)
{
  g_queue_clear_full(&self->wanted, g_object_unref);
}

guint nw_picture_grid_show(NwPictureGrid *grid, int label, int split, const char *text)
{
  const NwManifest *manifest = nw_project_manifest(grid->project);
  g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_object_unref);
  g_autoptr(GArray) matching = g_array_new(FALSE, FALSE, sizeof(guint));
  for (guint i = 0; manifest != NULL && i < manifest->pictures->len; i++) {
    const NwPictureEntry *entry = &g_array_index(manifest->pictures, NwPictureEntry, i);
    if ((label < 0 || entry->label == (guint)label) && (split < 0 || entry->split == (NwSplit)split) &&
        name_has(entry, text))
      g_array_append_val(matching, i);
  }
  /* Spread over everything that matches: the first thousands of a sorted set would all be of one class. */
  guint n = matching->len, shown = MIN(n, NW_PICTURE_GRID_MAX), columns = label < 0 ? 97 : 1;
  for (guint i = 0; i < shown; i++) {
    NwPictureItem *item = g_object_new(NW_TYPE_PICTURE_ITEM, NULL);
    guint64 k = label < 0 && n > columns ? ((guint64)i * (n / columns * 2 + 1)) % n : i;
    item->index = g_array_index(matching, guint, k);
    g_ptr_array_add(items, item);
  }
  forget_wanted(grid);
  g_list_store_splice(grid->store, 0, g_list_model_get_n_items(G_LIST_MODEL(grid->store)), items->pdata,
                      items->len);
  return n;
}

/* ---- object ---- */

static void nw_picture_grid_dispose(GObject *object)
{
  NwPictureGrid *self = NW_PICTURE_GRID(object);
  g_clear_handle_id(&self->source, g_source_remove);
  if (self->selection != NULL)
    g_signal_handlers_disconnect_by_data(self->selection, self);
  self->selection = NULL;
  g_clear_pointer(&self->scroll, gtk_widget_unparent);
  forget_wanted(self);
  g_clear_object(&self->store);
  g_clear_object(&self->project);
  G_OBJECT_CLASS(nw_picture_grid_parent_class)->dispose(object);
}

static void nw_picture_grid_class_init(NwPictureGridClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_picture_grid_dispose;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
  chosen_signal = g_signal_new("chosen", NW_TYPE_PICTURE_GRID, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                               G_TYPE_NONE, 1, G_TYPE_UINT);
}

static void nw_picture_grid_init(NwPictureGrid *self)
{
  g_queue_init(&self->wanted);
  self->store = g_list_store_new(NW_TYPE_PICTURE_ITEM);
  self->selection = gtk_single_selection_new(G_LIST_MODEL(g_object_ref(self->store)));
  gtk_single_selection_set_autoselect(self->selection, FALSE);
  gtk_single_selection_set_can_unselect(self->selection, TRUE);
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
  g_signal_connect(factory, "setup", G_CALLBACK(on_setup), self);
  g_signal_connect(factory, "bind", G_CALLBACK(on_bind), self);
  g_signal_connect(factory, "unbind", G_CALLBACK(on_unbind), self);
  g_signal_connect(self->selection, "notify::selected-item", G_CALLBACK(on_selected), self);
  self->view = gtk_grid_view_new(GTK_SELECTION_MODEL(self->selection), factory);
  gtk_grid_view_set_min_columns(GTK_GRID_VIEW(self->view), 2);
  gtk_grid_view_set_max_columns(GTK_GRID_VIEW(self->view), 24);
  gtk_widget_add_css_class(self->view, "picture-grid");
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->view), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Pictures"),
                                 -1);
  self->scroll = gtk_scrolled_window_new();
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->scroll), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->scroll), self->view);
  gtk_widget_set_parent(self->scroll, GTK_WIDGET(self));
  gtk_widget_set_vexpand(GTK_WIDGET(self), TRUE);
  gtk_widget_set_hexpand(GTK_WIDGET(self), TRUE);
}

GtkWidget *nw_picture_grid_new(NwProject *project)
{
  NwPictureGrid *self = g_object_new(NW_TYPE_PICTURE_GRID, NULL);
  self->project = g_object_ref(project);
  return GTK_WIDGET(self);
}
