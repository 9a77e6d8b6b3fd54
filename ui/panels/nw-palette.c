#include "ui/panels/nw-palette.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/canvas/nw-canvas.h"
#include "ui/paint/nw-paint.h"

struct _NwPalette {
  GtkWidget parent;
  GtkWidget *box, *search, *list;
};

G_DEFINE_FINAL_TYPE(NwPalette, nw_palette, GTK_TYPE_WIDGET)

static guint chosen_signal;

gboolean nw_palette_offers(const NwOp *op)
{
  return op->label != NULL && op->group != NW_GROUP_INTERNAL && op->group != NW_GROUP_LOSS &&
         op->group != NW_GROUP_OPTIMIZER;
}

static const NwOp *op_of(GtkListBoxRow *row)
{
  return g_object_get_data(G_OBJECT(row), "op");
}

/* ---- rows ---- */

static void draw_glyph(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  const NwOp *op = data;
  g_autofree char *name = g_strdup_printf("nw_cat_%s", nw_group_key(op->group));
  GdkRGBA rgba;
  GtkStyleContext *context = gtk_widget_get_style_context(GTK_WIDGET(area));
  if (!gtk_style_context_lookup_color(context, name, &rgba) &&
      !gtk_style_context_lookup_color(context, op->group == NW_GROUP_LINEAR ? "nw_cat_out" : "nw_cat_reg",
                                      &rgba))
    gdk_rgba_parse(&rgba, "#888");
  cairo_rectangle(cr, 0, 5, 3, height - 10);
  cairo_set_source_rgba(cr, rgba.red, rgba.green, rgba.blue, rgba.alpha);
  cairo_fill(cr);
  nw_paint_glyph(cr, op->group, 10, (height - 16) / 2.0, 16,
                 (NwColor){rgba.red, rgba.green, rgba.blue, rgba.alpha});
}

static GdkContentProvider *on_drag_prepare(GtkDragSource *source, double x, double y, gpointer data)
{
  g_autofree char *text = g_strconcat(NW_CANVAS_DROP_PREFIX, ((const NwOp *)data)->id, NULL);
  return gdk_content_provider_new_typed(G_TYPE_STRING, text);
}

static void on_drag_begin(GtkDragSource *source, GdkDrag *drag, gpointer row)
{
  GdkPaintable *picture = gtk_widget_paintable_new(row);
  gtk_drag_source_set_icon(source, picture, 20, 14);
  g_object_unref(picture);
}

static GtkWidget *row_new(const NwOp *op)
{
  GtkWidget *row = gtk_list_box_row_new(), *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4);
  GtkWidget *glyph = gtk_drawing_area_new(), *name = gtk_label_new(op->label);
  gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(glyph), 30);
  gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(glyph), 26);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(glyph), draw_glyph, (gpointer)op, NULL);
  gtk_label_set_xalign(GTK_LABEL(name), 0);
  gtk_label_set_ellipsize(GTK_LABEL(name), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand(name, TRUE);
  gtk_box_append(GTK_BOX(line), glyph);
  gtk_box_append(GTK_BOX(line), name);
  gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), line);
  g_object_set_data(G_OBJECT(row), "op", (gpointer)op);
  g_autofree char *tip = g_strdup_printf("%s\n%s", _(op->doc), op->torch != NULL ? op->torch : "");
  gtk_widget_set_tooltip_text(row, tip);
  gtk_accessible_update_property(GTK_ACCESSIBLE(row), GTK_ACCESSIBLE_PROPERTY_LABEL, op->label,
                                 GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, _(op->doc), -1);
  GtkDragSource *drag = gtk_drag_source_new();
  gtk_drag_source_set_actions(drag, GDK_ACTION_COPY);
  g_signal_connect(drag, "prepare", G_CALLBACK(on_drag_prepare), (gpointer)op);
  g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), row);
  gtk_widget_add_controller(row, GTK_EVENT_CONTROLLER(drag));
  return row;
}

static void fill(NwPalette *self)
{
  const NwOp *op;
  for (int group = NW_GROUP_INPUT; group < NW_GROUPS; group++)
    for (size_t i = 0; (op = nw_op_at(i)) != NULL; i++)
      if (op->group == (NwGroup)group && nw_palette_offers(op))
        gtk_list_box_append(GTK_LIST_BOX(self->list), row_new(op));
}

/* A title above the first row of a group that is shown. */
static void set_header(GtkListBoxRow *row, GtkListBoxRow *before, gpointer data)
{
  if (before != NULL && op_of(before)->group == op_of(row)->group) {
    gtk_list_box_row_set_header(row, NULL);
    return;
  }
  GtkWidget *label = gtk_label_new(_(nw_group_label(op_of(row)->group)));
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_widget_add_css_class(label, "palette-group");
  gtk_list_box_row_set_header(row, label);
}

/* ---- search ---- */

static gboolean holds(const char *text, const char *word)
{
  if (text == NULL)
    return FALSE;
  g_autofree char *folded = g_utf8_casefold(text, -1);
  return strstr(folded, word) != NULL;
}

static gboolean is_shown(GtkListBoxRow *row, gpointer data)
{
  NwPalette *self = data;
  const NwOp *op = op_of(row);
  g_autofree char *word = g_utf8_casefold(gtk_editable_get_text(GTK_EDITABLE(self->search)), -1);
  g_strstrip(word);
  return *word == '\0' || holds(op->label, word) || holds(op->keywords, word) || holds(op->id, word) ||
         holds(_(nw_group_label(op->group)), word) || holds(_(op->doc), word);
}

static void on_search(GtkSearchEntry *entry, NwPalette *self)
{
  gtk_list_box_invalidate_filter(GTK_LIST_BOX(self->list));
}

static void choose(NwPalette *self, GtkListBoxRow *row)
{
  if (row != NULL)
    g_signal_emit(self, chosen_signal, 0, (gpointer)op_of(row));
}

/* Enter in the search takes the first row that is shown. */
static void on_search_activate(GtkSearchEntry *entry, NwPalette *self)
{
  GtkListBoxRow *row;
  for (int i = 0; (row = gtk_list_box_get_row_at_index(GTK_LIST_BOX(self->list), i)) != NULL; i++)
    if (gtk_widget_get_child_visible(GTK_WIDGET(row))) {
      choose(self, row);
      return;
    }
}

static void on_search_stop(GtkSearchEntry *entry, NwPalette *self)
{
  gtk_editable_set_text(GTK_EDITABLE(entry), "");
}

static void on_activated(GtkListBox *list, GtkListBoxRow *row, NwPalette *self)
{
  choose(self, row);
}

void nw_palette_focus_search(NwPalette *palette)
{
  gtk_widget_grab_focus(palette->search);
}

GtkWidget *nw_palette_row(NwPalette *palette, const char *op_id)
{
  GtkListBoxRow *row;
  for (int i = 0; (row = gtk_list_box_get_row_at_index(GTK_LIST_BOX(palette->list), i)) != NULL; i++)
    if (strcmp(op_of(row)->id, op_id) == 0)
      return GTK_WIDGET(row);
  return NULL;
}

/* ---- object ---- */

static void nw_palette_dispose(GObject *object)
{
  g_clear_pointer(&NW_PALETTE(object)->box, gtk_widget_unparent);
  G_OBJECT_CLASS(nw_palette_parent_class)->dispose(object);
}

static void nw_palette_class_init(NwPaletteClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_palette_dispose;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
  chosen_signal = g_signal_new("chosen", NW_TYPE_PALETTE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,
                               1, G_TYPE_POINTER);
}

static void nw_palette_init(NwPalette *self)
{
  self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_add_css_class(self->box, "side-panel");
  gtk_widget_add_css_class(self->box, "left");
  gtk_widget_set_size_request(self->box, 216, -1);
  gtk_widget_set_parent(self->box, GTK_WIDGET(self));
  gtk_widget_set_hexpand(GTK_WIDGET(self), FALSE);
  self->search = gtk_search_entry_new();
  g_object_set(self->search, "placeholder-text", _("Search layers"), NULL);
  gtk_widget_set_margin_start(self->search, 10);
  gtk_widget_set_margin_end(self->search, 10);
  gtk_widget_set_margin_top(self->search, 10);
  g_signal_connect(self->search, "search-changed", G_CALLBACK(on_search), self);
  g_signal_connect(self->search, "activate", G_CALLBACK(on_search_activate), self);
  g_signal_connect(self->search, "stop-search", G_CALLBACK(on_search_stop), self);
  self->list = gtk_list_box_new();
  gtk_list_box_set_activate_on_single_click(GTK_LIST_BOX(self->list), FALSE);
  gtk_list_box_set_selection_mode(GTK_LIST_BOX(self->list), GTK_SELECTION_SINGLE);
  gtk_list_box_set_header_func(GTK_LIST_BOX(self->list), set_header, NULL, NULL);
  gtk_list_box_set_filter_func(GTK_LIST_BOX(self->list), is_shown, self, NULL);
  gtk_widget_add_css_class(self->list, "palette-list");
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->list), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Layers"), -1);
  g_signal_connect(self->list, "row-activated", G_CALLBACK(on_activated), self);
  fill(self);
  GtkWidget *none = gtk_label_new(_("No layer by that name"));
  gtk_widget_add_css_class(none, "dim");
  gtk_widget_set_margin_top(none, 24);
  gtk_list_box_set_placeholder(GTK_LIST_BOX(self->list), none);
  GtkWidget *scroll = gtk_scrolled_window_new();
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroll), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), self->list);
  gtk_widget_set_vexpand(scroll, TRUE);
  gtk_box_append(GTK_BOX(self->box), self->search);
  gtk_box_append(GTK_BOX(self->box), scroll);
}

GtkWidget *nw_palette_new(void)
{
  return g_object_new(NW_TYPE_PALETTE, NULL);
}
