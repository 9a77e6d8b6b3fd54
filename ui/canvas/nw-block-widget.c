#include "ui/canvas/nw-block-widget.h"

#include <math.h>

struct _NwBlockWidget {
  GtkWidget parent;
  guint32 block;
  NwBlockFace face;
  double zoom;
  const NwPaintStyle *style;
  GskRenderNode *node; /* the picture; NULL: to be drawn */
};

G_DEFINE_FINAL_TYPE(NwBlockWidget, nw_block_widget, GTK_TYPE_WIDGET)

static int picture_width(NwBlockWidget *self)
{
  return (int)ceil((NW_BLOCK_WIDTH + 2 * NW_BLOCK_MARGIN) * self->zoom);
}

static int picture_height(NwBlockWidget *self)
{
  return (int)ceil(((self->face.slim ? NW_BLOCK_SLIM : NW_BLOCK_HEIGHT) + 2 * NW_BLOCK_MARGIN) * self->zoom);
}

void nw_block_widget_restyle(NwBlockWidget *self)
{
  g_clear_pointer(&self->node, gsk_render_node_unref);
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void nw_block_widget_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
  NwBlockWidget *self = NW_BLOCK_WIDGET(widget);
  gboolean focused = gtk_widget_has_visible_focus(widget);
  if (focused != self->face.focused) {
    self->face.focused = focused;
    g_clear_pointer(&self->node, gsk_render_node_unref);
  }
  if (self->node == NULL && self->style != NULL) {
    /* Kept and appended again: GTK paints only what differs from the last frame. */
    self->node = gsk_cairo_node_new(&GRAPHENE_RECT_INIT(0, 0, picture_width(self), picture_height(self)));
    cairo_t *cr = gsk_cairo_node_get_draw_context(self->node);
    nw_paint_block(cr, &self->face, self->style, self->zoom);
    cairo_destroy(cr);
  }
  if (self->node != NULL)
    gtk_snapshot_append_node(snapshot, self->node);
}

static void nw_block_widget_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                                    int *natural, int *minimum_baseline, int *natural_baseline)
{
  NwBlockWidget *self = NW_BLOCK_WIDGET(widget);
  *minimum = *natural =
      orientation == GTK_ORIENTATION_HORIZONTAL ? picture_width(self) : picture_height(self);
}

static void on_focus(GtkWidget *widget, GParamSpec *spec, gpointer data)
{
  nw_block_widget_restyle(NW_BLOCK_WIDGET(widget));
}

static void face_clear(NwBlockFace *face)
{
  g_free((char *)face->name);
  g_free((char *)face->kind);
  g_free((char *)face->shape);
  g_free((char *)face->cost);
}

static gboolean faces_alike(const NwBlockFace *a, const NwBlockFace *b)
{
  return g_strcmp0(a->name, b->name) == 0 && g_strcmp0(a->kind, b->kind) == 0 &&
         g_strcmp0(a->shape, b->shape) == 0 && g_strcmp0(a->cost, b->cost) == 0 && a->group == b->group &&
         a->slim == b->slim && a->selected == b->selected && a->bad == b->bad && a->hover == b->hover &&
         a->frozen == b->frozen && a->share == b->share;
}

void nw_block_widget_set_face(NwBlockWidget *self, const NwBlockFace *face, const char *spoken)
{
  if (faces_alike(&self->face, face))
    return;
  gboolean resized = self->face.slim != face->slim, focused = self->face.focused;
  face_clear(&self->face);
  self->face = *face;
  self->face.focused = focused;
  self->face.name = g_strdup(face->name);
  self->face.kind = g_strdup(face->kind);
  self->face.shape = g_strdup(face->shape);
  self->face.cost = g_strdup(face->cost);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, spoken, -1);
  nw_block_widget_restyle(self);
  if (resized)
    gtk_widget_queue_resize(GTK_WIDGET(self));
}

void nw_block_widget_set_zoom(NwBlockWidget *self, double zoom, const NwPaintStyle *style)
{
  gboolean resized = self->zoom != zoom;
  if (!resized && self->style == style)
    return;
  self->zoom = zoom;
  self->style = style;
  nw_block_widget_restyle(self);
  if (resized)
    gtk_widget_queue_resize(GTK_WIDGET(self));
}

guint32 nw_block_widget_block(NwBlockWidget *self)
{
  return self->block;
}

static void nw_block_widget_finalize(GObject *object)
{
  NwBlockWidget *self = NW_BLOCK_WIDGET(object);
  g_clear_pointer(&self->node, gsk_render_node_unref);
  face_clear(&self->face);
  G_OBJECT_CLASS(nw_block_widget_parent_class)->finalize(object);
}

static void nw_block_widget_class_init(NwBlockWidgetClass *klass)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  G_OBJECT_CLASS(klass)->finalize = nw_block_widget_finalize;
  widget->snapshot = nw_block_widget_snapshot;
  widget->measure = nw_block_widget_measure;
  gtk_widget_class_set_css_name(widget, "nwblock");
  gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_LIST_ITEM);
}

static void nw_block_widget_init(NwBlockWidget *self)
{
  self->zoom = 1;
  gtk_widget_set_focusable(GTK_WIDGET(self), TRUE);
  g_signal_connect(self, "notify::has-focus", G_CALLBACK(on_focus), NULL);
}

GtkWidget *nw_block_widget_new(guint32 block)
{
  NwBlockWidget *self = g_object_new(NW_TYPE_BLOCK_WIDGET, NULL);
  self->block = block;
  return GTK_WIDGET(self);
}
