/* The canvas: blocks and wires of a project, moved, wired, selected and zoomed with pointer and keys. It
 * changes the network only through the project, so that every gesture is one undo step. */
#pragma once

#include <gtk/gtk.h>

#include "app/project.h"

#define NW_TYPE_CANVAS (nw_canvas_get_type())
G_DECLARE_FINAL_TYPE(NwCanvas, nw_canvas, NW, CANVAS, GtkWidget)
/* Signals: "selection-changed", "view-changed" (zoom or pan), "refused" (const char *sentence). Actions:
 * canvas.delete, canvas.delete-heal, canvas.select-all, canvas.copy, canvas.cut, canvas.paste,
 * canvas.duplicate, canvas.zoom (d factor), canvas.fit, canvas.actual-size, canvas.go (i direction),
 * canvas.nudge (i direction), canvas.connect, canvas.disconnect. */

/* What the bar of a block shows. */
typedef enum NwCanvasBars { NW_BARS_PARAMETERS, NW_BARS_MACS, NW_BARS_MEMORY } NwCanvasBars;

/* Dropped texts begin with this; the op's id follows. */
#define NW_CANVAS_DROP_PREFIX "netwright-op:"

GtkWidget *nw_canvas_new(NwProject *project);
void nw_canvas_fit(NwCanvas *canvas);
void nw_canvas_set_bars(NwCanvas *canvas, NwCanvasBars bars);
double nw_canvas_zoom(NwCanvas *canvas);
void nw_canvas_set_zoom(NwCanvas *canvas, double zoom); /* around the middle */
/* The part of the network in view, in its coordinates. */
void nw_canvas_visible(NwCanvas *canvas, double *x, double *y, double *width, double *height);
void nw_canvas_center(NwCanvas *canvas, double x, double y);
/* Block ids; g_array_unref. */
GArray *nw_canvas_selection(NwCanvas *canvas);
guint32 nw_canvas_selected(NwCanvas *canvas); /* the only one, else 0 */
void nw_canvas_select(NwCanvas *canvas, guint32 block, gboolean add);
void nw_canvas_reveal(NwCanvas *canvas, guint32 block); /* scrolls it into view */
/* Where a point of the network lies on the widget. */
void nw_canvas_to_widget(NwCanvas *canvas, double x, double y, double *widget_x, double *widget_y);
