/* What the files of the canvas share. */
#pragma once

#include "ui/canvas/nw-canvas.h"
#include "ui/canvas/nw-geometry.h"
#include "ui/paint/nw-paint.h"

typedef enum NwCanvasTool {
  NW_TOOL_IDLE,
  NW_TOOL_MOVE,
  NW_TOOL_BAND,
  NW_TOOL_WIRE,
  NW_TOOL_PAN
} NwCanvasTool;

struct _NwCanvas {
  GtkWidget parent;
  NwProject *project;
  GHashTable *widgets;       /* block id → NwBlockWidget */
  GHashTable *selected;      /* set of block ids */
  double zoom, pan_x, pan_y; /* widget = network * zoom + pan */
  gboolean fitted;           /* once there was room */
  int width;                 /* as last allocated */
  NwCanvasBars bars;
  NwPaintStyle style;
  NwCanvasTool tool;
  double start_x, start_y; /* of the gesture, in network coordinates */
  double pointer_x, pointer_y;
  double pan_from_x, pan_from_y;
  double move_x, move_y; /* of the selection while it is dragged */
  NwHit wire_from;       /* output (or input) the new wire hangs on */
  NwHit wire_to;         /* where it would land */
  gboolean moved;
  guint32 press_block;
  gboolean press_add, press_was_selected;
  guint32 hover;
  gboolean dropping;                                 /* something of the palette is over the canvas */
  GtkWidget *problem, *problem_title, *problem_text; /* the card pinned to the first block with a mistake */
  gulong handlers[2];
};

void nw_canvas_controllers_add(NwCanvas *canvas);
void nw_canvas_actions_install(GtkWidgetClass *klass);
void nw_canvas_to_network(NwCanvas *canvas, double widget_x, double widget_y, double *x, double *y);
void nw_canvas_sync(NwCanvas *canvas);  /* widgets after the network */
void nw_canvas_faces(NwCanvas *canvas); /* what they show */
void nw_canvas_selection_changed(NwCanvas *canvas);
void nw_canvas_view_changed(NwCanvas *canvas);
void nw_canvas_refused(NwCanvas *canvas, const NwError *error);
void nw_canvas_zoom_at(NwCanvas *canvas, double zoom, double widget_x, double widget_y);
gboolean nw_canvas_is_selected(NwCanvas *canvas, guint32 block);
