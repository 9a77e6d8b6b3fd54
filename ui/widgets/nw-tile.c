#include "ui/widgets/nw-tile.h"

struct _NwTile {
  GtkWidget parent;
  GtkWidget *box, *label, *value, *unit, *note, *bar;
};

G_DEFINE_FINAL_TYPE(NwTile, nw_tile, GTK_TYPE_WIDGET)

static void nw_tile_dispose(GObject *object)
{
  g_clear_pointer(&NW_TILE(object)->box, gtk_widget_unparent);
  G_OBJECT_CLASS(nw_tile_parent_class)->dispose(object);
}

static void nw_tile_class_init(NwTileClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_tile_dispose;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name(GTK_WIDGET_CLASS(klass), "tile");
  gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(klass), GTK_ACCESSIBLE_ROLE_GROUP);
}

static GtkWidget *label(const char *css)
{
  GtkWidget *widget = gtk_label_new(NULL);
  gtk_label_set_xalign(GTK_LABEL(widget), 0);
  gtk_widget_add_css_class(widget, css);
  return widget;
}

static void nw_tile_init(NwTile *self)
{
  self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_add_css_class(self->box, "card");
  gtk_widget_add_css_class(self->box, "tile");
  gtk_widget_set_parent(self->box, GTK_WIDGET(self));
  self->label = label("dim");
  gtk_label_set_ellipsize(GTK_LABEL(self->label), PANGO_ELLIPSIZE_END);
  GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 5);
  self->value = label("tile-value");
  gtk_widget_add_css_class(self->value, "numeric");
  self->unit = label("dim");
  gtk_widget_set_valign(self->unit, GTK_ALIGN_BASELINE);
  gtk_widget_set_valign(self->value, GTK_ALIGN_BASELINE);
  gtk_box_append(GTK_BOX(line), self->value);
  gtk_box_append(GTK_BOX(line), self->unit);
  self->note = label("tile-note");
  gtk_label_set_ellipsize(GTK_LABEL(self->note), PANGO_ELLIPSIZE_END);
  self->bar = gtk_progress_bar_new();
  gtk_widget_set_visible(self->bar, FALSE);
  gtk_widget_set_valign(self->bar, GTK_ALIGN_CENTER);
  gtk_box_append(GTK_BOX(self->box), self->label);
  gtk_box_append(GTK_BOX(self->box), line);
  gtk_box_append(GTK_BOX(self->box), self->note);
  gtk_box_append(GTK_BOX(self->box), self->bar);
  gtk_widget_set_hexpand(GTK_WIDGET(self), TRUE);
  nw_tile_set(self, "–", NULL);
}

GtkWidget *nw_tile_new(const char *text)
{
  NwTile *self = g_object_new(NW_TYPE_TILE, NULL);
  gtk_label_set_text(GTK_LABEL(self->label), text);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
  return GTK_WIDGET(self);
}

/* Setting an unchanged text would still queue a resize in every frame of a training. */
static void set_text(GtkWidget *widget, const char *text)
{
  if (g_strcmp0(gtk_label_get_text(GTK_LABEL(widget)), text) != 0)
    gtk_label_set_text(GTK_LABEL(widget), text);
}

void nw_tile_set(NwTile *tile, const char *value, const char *unit)
{
  set_text(tile->value, value);
  set_text(tile->unit, unit != NULL ? unit : "");
}

void nw_tile_set_note(NwTile *tile, const char *note, const char *tone)
{
  set_text(tile->note, note);
  gtk_widget_remove_css_class(tile->note, "ok");
  gtk_widget_remove_css_class(tile->note, "warn");
  if (*tone != '\0')
    gtk_widget_add_css_class(tile->note, tone);
}

void nw_tile_set_share(NwTile *tile, double share)
{
  gtk_widget_set_visible(tile->note, FALSE);
  gtk_widget_set_visible(tile->bar, TRUE);
  gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(tile->bar), CLAMP(share, 0, 1));
}
