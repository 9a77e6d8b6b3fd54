/* Painters of blocks, wires and grid: cairo and pango, no widgets, so that they run without a display. */
#pragma once

#include <cairo.h>
#include <glib.h>

#include "engine/op/op.h"

typedef struct NwColor {
  double r, g, b, a;
} NwColor;

typedef struct NwPaintStyle {
  NwColor fg, dim, faint, canvas, dot, block, border, wire, accent, err, track;
  NwColor groups[NW_GROUPS];
  const char *font;
} NwPaintStyle;

/* Sizes at zoom 1. Blocks that keep the shape are slim. */
enum { NW_BLOCK_WIDTH = 236, NW_BLOCK_HEIGHT = 58, NW_BLOCK_SLIM = 32, NW_PORT_RADIUS = 4, NW_GRID = 24 };

typedef struct NwBlockFace {
  const char *name, *kind; /* "conv1", "Conv2d 3×3 · stride 2" */
  const char *shape;       /* "64×56×56" */
  const char *cost;        /* "9.4 K"; may be "" */
  NwGroup group;
  gboolean slim, selected, focused, bad, hover, frozen;
  double share; /* of the bar at the bottom, 0 … 1 */
} NwBlockFace;

/* Draws the card into (0, 0, width, height) times zoom, with a margin of NW_BLOCK_MARGIN around it for halo
 * and ports. */
enum { NW_BLOCK_MARGIN = 8 };
void nw_paint_block(cairo_t *cr, const NwBlockFace *face, const NwPaintStyle *style, double zoom);
/* The sign of a group in a square of `size`. */
void nw_paint_glyph(cairo_t *cr, NwGroup group, double x, double y, double size, NwColor color);
void nw_paint_wire(cairo_t *cr, double x0, double y0, double x1, double y1, NwColor color, double width,
                   gboolean dotted, double zoom);
void nw_paint_port(cairo_t *cr, double x, double y, NwColor ring, NwColor fill, double zoom);
void nw_paint_grid(cairo_t *cr, double width, double height, double offset_x, double offset_y, double zoom,
                   NwColor dot);
