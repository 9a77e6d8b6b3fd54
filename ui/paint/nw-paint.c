#include "ui/paint/nw-paint.h"

#include <math.h>
#include <pango/pangocairo.h>

static void source(cairo_t *cr, NwColor color, double alpha)
{
  cairo_set_source_rgba(cr, color.r, color.g, color.b, color.a * alpha);
}

static void rounded(cairo_t *cr, double x, double y, double w, double h, double r)
{
  cairo_new_sub_path(cr);
  cairo_arc(cr, x + w - r, y + r, r, -G_PI_2, 0);
  cairo_arc(cr, x + w - r, y + h - r, r, 0, G_PI_2);
  cairo_arc(cr, x + r, y + h - r, r, G_PI_2, G_PI);
  cairo_arc(cr, x + r, y + r, r, G_PI, 1.5 * G_PI);
  cairo_close_path(cr);
}

/* ---- text ---- */

enum { BOLD = 1, RIGHT = 2, SEMI = 4 };

static PangoLayout *layout_new(cairo_t *cr, const NwPaintStyle *style, double px, int flags, const char *text)
{
  PangoLayout *layout = pango_cairo_create_layout(cr);
  PangoFontDescription *font = pango_font_description_new();
  pango_font_description_set_family(font, style->font != NULL ? style->font : "Cantarell");
  pango_font_description_set_absolute_size(font, px * PANGO_SCALE);
  pango_font_description_set_weight(font, flags & BOLD   ? PANGO_WEIGHT_BOLD
                                          : flags & SEMI ? PANGO_WEIGHT_SEMIBOLD
                                                         : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description(layout, font);
  pango_font_description_free(font);
  /* Shapes and figures run left to right in every language. */
  pango_layout_set_auto_dir(layout, FALSE);
  pango_layout_set_single_paragraph_mode(layout, TRUE);
  pango_layout_set_text(layout, text, -1);
  return layout;
}

static double width_of(PangoLayout *layout)
{
  int w, h;
  pango_layout_get_pixel_size(layout, &w, &h);
  return w;
}

/* Text with its middle at y, ellipsized to `room`; returns its width. */
static double draw_text(cairo_t *cr, const NwPaintStyle *style, double x, double y, double room, double px,
                        int flags, NwColor color, const char *text)
{
  if (text == NULL || *text == '\0' || room < px)
    return 0;
  PangoLayout *layout = layout_new(cr, style, px, flags, text);
  if (width_of(layout) > room) {
    pango_layout_set_width(layout, (int)(room * PANGO_SCALE));
    pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
  }
  int w, h;
  pango_layout_get_pixel_size(layout, &w, &h);
  cairo_move_to(cr, flags & RIGHT ? x - w : x, y - h / 2.0);
  source(cr, color, 1);
  pango_cairo_show_layout(cr, layout);
  cairo_new_path(cr);
  g_object_unref(layout);
  return w;
}

static double text_width(cairo_t *cr, const NwPaintStyle *style, double px, int flags, const char *text)
{
  PangoLayout *layout = layout_new(cr, style, px, flags, text);
  double w = width_of(layout);
  g_object_unref(layout);
  return w;
}

/* ---- glyphs: one sign a kind, drawn on a grid of 16 ---- */

static void line(cairo_t *cr, double x0, double y0, double x1, double y1)
{
  cairo_move_to(cr, x0, y0);
  cairo_line_to(cr, x1, y1);
}

static void glyph_path(cairo_t *cr, NwGroup group)
{
  switch (group) {
  case NW_GROUP_INPUT: /* a picture with a hill and a sun */
    rounded(cr, 1.5, 2.5, 13, 11, 2);
    line(cr, 2.5, 12, 6.5, 7.5);
    cairo_line_to(cr, 9.5, 10.5);
    cairo_line_to(cr, 11.5, 8.5);
    cairo_line_to(cr, 14, 11);
    cairo_new_sub_path(cr);
    cairo_arc(cr, 11, 5.6, 1, 0, 2 * G_PI);
    break;
  case NW_GROUP_CONVOLUTION: /* a filter over a picture */
    rounded(cr, 1.5, 1.5, 13, 13, 2);
    cairo_rectangle(cr, 4.5, 4.5, 4, 4);
    break;
  case NW_GROUP_LINEAR: /* everything to everything */
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 2; j++)
        line(cr, 3, 3 + 5 * i, 13, 5.5 + 5 * j);
    break;
  case NW_GROUP_POOLING: /* a funnel */
    cairo_move_to(cr, 1.5, 3);
    cairo_line_to(cr, 14.5, 3);
    cairo_line_to(cr, 9.5, 9);
    cairo_line_to(cr, 9.5, 13.5);
    cairo_line_to(cr, 6.5, 13.5);
    cairo_line_to(cr, 6.5, 9);
    cairo_close_path(cr);
    break;
  case NW_GROUP_NORM: /* a bell */
    cairo_move_to(cr, 1.5, 13);
    cairo_curve_to(cr, 6, 13, 5.5, 3, 8, 3);
    cairo_curve_to(cr, 10.5, 3, 10, 13, 14.5, 13);
    break;
  case NW_GROUP_ACTIVATION: /* a bend */
    line(cr, 1.5, 12, 7.5, 12);
    cairo_line_to(cr, 14, 3.5);
    break;
  case NW_GROUP_REGULARISATION: /* some points left out */
    for (int i = 0; i < 4; i++) {
      cairo_new_sub_path(cr);
      cairo_arc(cr, i % 2 ? 11.5 : 4.5, i / 2 ? 11.5 : 4.5, i == 1 || i == 2 ? 2.2 : 1, 0, 2 * G_PI);
    }
    break;
  case NW_GROUP_SHAPE: /* a square becomes a row */
    cairo_rectangle(cr, 2, 2.5, 6, 6);
    line(cr, 2, 13, 14, 13);
    line(cr, 11.5, 5.5, 11.5, 10);
    break;
  case NW_GROUP_MERGE: /* a plus in a ring */
    cairo_new_sub_path(cr);
    cairo_arc(cr, 8, 8, 6.2, 0, 2 * G_PI);
    line(cr, 8, 5, 8, 11);
    line(cr, 5, 8, 11, 8);
    break;
  default: /* stacked sheets */
    rounded(cr, 2, 2, 12, 5, 1.5);
    rounded(cr, 2, 9, 12, 5, 1.5);
    break;
  }
}

void nw_paint_glyph(cairo_t *cr, NwGroup group, double x, double y, double size, NwColor color)
{
  cairo_save(cr);
  cairo_translate(cr, x, y);
  cairo_scale(cr, size / 16, size / 16);
  cairo_set_line_width(cr, 1.5);
  cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
  source(cr, color, 1);
  cairo_new_path(cr);
  glyph_path(cr, group);
  cairo_stroke(cr);
  cairo_restore(cr);
}

/* ---- blocks ---- */

static void block_ground(cairo_t *cr, const NwBlockFace *face, const NwPaintStyle *style, double w, double h)
{
  NwColor edge = face->bad ? style->err : face->selected ? style->accent : style->border;
  if (face->selected || face->bad) {
    rounded(cr, -2, -2, w + 4, h + 4, 11);
    source(cr, edge, face->selected ? 0.28 : 0.16);
    cairo_set_line_width(cr, 4);
    cairo_stroke(cr);
  }
  rounded(cr, 0, 1.5, w, h, 9);
  cairo_set_source_rgba(cr, 0, 0, 0, 0.06);
  cairo_fill(cr);
  rounded(cr, 0, 0, w, h, 9);
  source(cr, style->block, 1);
  cairo_fill_preserve(cr);
  if (face->hover) {
    source(cr, style->fg, 0.04);
    cairo_fill_preserve(cr);
  }
  cairo_save(cr);
  cairo_clip(cr);
  cairo_rectangle(cr, 0, 0, 4, h); /* the stripe */
  source(cr, style->groups[face->group], 1);
  cairo_fill(cr);
  if (!face->slim && face->share > 0) {
    cairo_rectangle(cr, 4, h - 3, (w - 4) * MIN(face->share, 1), 3);
    source(cr, style->groups[face->group], 0.75);
    cairo_fill(cr);
  }
  cairo_restore(cr);
  rounded(cr, 0.5, 0.5, w - 1, h - 1, 8.5);
  source(cr, edge, 1);
  cairo_set_line_width(cr, face->selected ? 2 : face->bad ? 1.5 : 1);
  cairo_stroke(cr);
  if (face->focused) {
    rounded(cr, -3.5, -3.5, w + 7, h + 7, 12);
    source(cr, style->accent, 0.6);
    cairo_set_line_width(cr, 2);
    cairo_stroke(cr);
  }
}

/* Shape badge at the right; returns where the room to its left ends. */
static double badge(cairo_t *cr, const NwBlockFace *face, const NwPaintStyle *style, double right, double y)
{
  const char *text = face->shape;
  if (text == NULL || *text == '\0')
    return right;
  double w = text_width(cr, style, 11, SEMI, text) + 14;
  NwColor color = face->bad ? style->err : style->fg;
  rounded(cr, right - w, y - 9, w, 18, 9);
  source(cr, color, face->bad ? 0.14 : 0.08);
  cairo_fill(cr);
  draw_text(cr, style, right - w + 7, y, w, 11, SEMI, color, text);
  return right - w - 6;
}

static void card_words(cairo_t *cr, const NwBlockFace *face, const NwPaintStyle *style, double w)
{
  NwColor color = style->groups[face->group];
  rounded(cr, 12, 14, 28, 28, 7);
  source(cr, color, 0.14);
  cairo_fill(cr);
  nw_paint_glyph(cr, face->group, 18, 20, 16, color);
  double right = badge(cr, face, style, w - 10, 19);
  draw_text(cr, style, 50, 19, MAX(right - 50, 40), 13, BOLD, style->fg, face->name);
  double cost = draw_text(cr, style, w - 12, 38, 90, 11.5, RIGHT, style->dim, face->cost);
  draw_text(cr, style, 50, 38, w - 12 - cost - 8 - 50, 12, 0, style->dim, face->kind);
}

static void slim_words(cairo_t *cr, const NwBlockFace *face, const NwPaintStyle *style, double w, double h)
{
  nw_paint_glyph(cr, face->group, 18, h / 2 - 7, 14, style->groups[face->group]);
  double right = w - 12;
  if (face->bad)
    right = badge(cr, face, style, w - 8, h / 2);
  else
    right -= draw_text(cr, style, right, h / 2, 80, 11.5, RIGHT, style->dim, face->cost) + 8;
  double name = draw_text(cr, style, 50, h / 2, right - 50, 13, BOLD, style->fg, face->name);
  draw_text(cr, style, 50 + name + 8, h / 2, right - 50 - name - 8, 12, 0, style->dim, face->kind);
}

void nw_paint_block(cairo_t *cr, const NwBlockFace *face, const NwPaintStyle *style, double zoom)
{
  double w = NW_BLOCK_WIDTH, h = face->slim ? NW_BLOCK_SLIM : NW_BLOCK_HEIGHT;
  cairo_save(cr);
  cairo_scale(cr, zoom, zoom);
  cairo_translate(cr, NW_BLOCK_MARGIN, NW_BLOCK_MARGIN);
  if (face->frozen)
    cairo_push_group(cr);
  block_ground(cr, face, style, w, h);
  if (zoom < 0.35) {
    /* Far away a block is a patch of its colour. */
    rounded(cr, 0, 0, w, h, 9);
    source(cr, style->groups[face->group], 0.6);
    cairo_fill(cr);
  } else if (zoom < 0.6) {
    draw_text(cr, style, 16, h / 2, w - 28, face->slim ? 17 : 20, BOLD, style->fg, face->name);
  } else if (face->slim) {
    slim_words(cr, face, style, w, h);
  } else {
    card_words(cr, face, style, w);
  }
  if (face->frozen) {
    cairo_pop_group_to_source(cr);
    cairo_paint_with_alpha(cr, 0.62);
  }
  cairo_restore(cr);
}

/* ---- wires, ports, grid ---- */

void nw_paint_wire(cairo_t *cr, double x0, double y0, double x1, double y1, NwColor color, double width,
                   gboolean dotted, double zoom)
{
  static const double dots[] = {2, 5};
  double dx = fabs(x1 - x0), dy = y1 - y0, d = CLAMP(dy / 2 + 0.12 * dx, 14 * zoom, 60 * zoom);
  cairo_set_line_width(cr, width * zoom);
  cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
  cairo_set_dash(cr, dotted ? dots : NULL, dotted ? 2 : 0, 0);
  source(cr, color, 1);
  cairo_move_to(cr, x0, y0);
  if (dx > 140 * zoom && dy > 60 * zoom) {
    /* To another column: turn in the gap just above the reader, so that the wire runs under no card. */
    double bend = MIN(dy, 90 * zoom);
    cairo_curve_to(cr, x0, y0 + bend * 0.45, x1, y0 + bend * 0.1, x1, y0 + bend);
    cairo_line_to(cr, x1, y1);
  } else if (dy > 100 * zoom || dy < 0) {
    /* Past other cards in the same column: around them, at their right. */
    double side = MAX(x0, x1) + (NW_BLOCK_WIDTH / 2.0 + 18) * zoom - MAX(x1 - x0, 0), turn = 16 * zoom;
    cairo_curve_to(cr, x0, y0 + turn, side, y0 - turn / 2, side, y0 + 2 * turn);
    cairo_line_to(cr, side, y1 - 2 * turn);
    cairo_curve_to(cr, side, y1 + turn / 2, x1, y1 - turn, x1, y1);
  } else {
    cairo_curve_to(cr, x0, y0 + d, x1, y1 - d, x1, y1);
  }
  cairo_stroke(cr);
  cairo_set_dash(cr, NULL, 0, 0);
}

void nw_paint_port(cairo_t *cr, double x, double y, NwColor ring, NwColor fill, double zoom)
{
  cairo_new_sub_path(cr);
  cairo_arc(cr, x, y, NW_PORT_RADIUS * zoom, 0, 2 * G_PI);
  source(cr, fill, 1);
  cairo_fill_preserve(cr);
  source(cr, ring, 1);
  cairo_set_line_width(cr, 1.5 * zoom);
  cairo_stroke(cr);
}

void nw_paint_grid(cairo_t *cr, double width, double height, double offset_x, double offset_y, double zoom,
                   NwColor dot)
{
  double step = NW_GRID * zoom;
  while (step < 14)
    step *= 2;
  source(cr, dot, 1);
  for (double y = fmod(fmod(offset_y, step) + step, step); y < height; y += step)
    for (double x = fmod(fmod(offset_x, step) + step, step); x < width; x += step)
      cairo_rectangle(cr, floor(x), floor(y), 1.5, 1.5);
  cairo_fill(cr);
}
