/* One block as a widget: focus, tooltip, accessible name; its picture is kept as a render node until
 * something about it changes. */
#pragma once

#include <gtk/gtk.h>

#include "ui/paint/nw-paint.h"

#define NW_TYPE_BLOCK_WIDGET (nw_block_widget_get_type())
G_DECLARE_FINAL_TYPE(NwBlockWidget, nw_block_widget, NW, BLOCK_WIDGET, GtkWidget)

GtkWidget *nw_block_widget_new(guint32 block);
guint32 nw_block_widget_block(NwBlockWidget *widget);
/* Copies the face's texts; draws anew only when something differs. */
void nw_block_widget_set_face(NwBlockWidget *widget, const NwBlockFace *face, const char *spoken);
void nw_block_widget_set_zoom(NwBlockWidget *widget, double zoom, const NwPaintStyle *style);
void nw_block_widget_restyle(NwBlockWidget *widget);
