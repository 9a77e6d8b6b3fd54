#include "data/jpeg-quick.h"

#include <string.h>

#include "data/jpeg-pixels.h"
#include "engine/base/machine.h"

#define LOOK 10 /* bits that the tables look at once */
#define COEF_MAX 4095

typedef struct Huffman {
  guint8 bits[17], values[256]; /* what the tables were made from */
  gboolean made;
  guint16 look[1 << LOOK]; /* length << 8 | symbol; 0: a longer code */
  gint32 fast[1 << LOOK];  /* AC: value << 16 | run << 8 | all bits; 0: not in these bits */
  gint32 most[18], offset[17];
} Huffman;

/* Bits of a stretch of scan data without its stuffing, between two markers. */
typedef struct Bits {
  const guint8 *p, *start, *end; /* behind end stand BEHIND zeros */
  guint64 acc;                   /* the next bits, from the top */
  int n;                         /* of them valid */
} Bits;

#define BEHIND 512 /* more than a block can take */

typedef struct Plane {
  gint16 quant[64]; /* zigzag order */
  Huffman *dc, *ac;
  guint across, down;             /* blocks of an MCU */
  guint width, height;            /* samples of the whole picture */
  guint left, top, right, bottom; /* blocks that are wanted, ends excluded */
  NwJpegPlane samples;
  NwBytes room;
  int predictor;
} Plane;

struct NwJpegQuick {
  Huffman dc[4], ac[4];
  Plane planes[3];
  NwBytes lines, clean;
  const guint8 *next, *end; /* scan data that was not looked at yet; a marker stands there */
};

/* --- tables --- */

static inline int extend(int v, int bits)
{
  return v < 1 << (bits - 1) ? v - (1 << bits) + 1 : v;
}

static gboolean huffman_make(Huffman *h, const JHUFF_TBL *table, gboolean ac)
{
  if (!table)
    return FALSE;
  if (h->made && !memcmp(h->bits, table->bits, sizeof h->bits) &&
      !memcmp(h->values, table->huffval, sizeof h->values))
    return TRUE;
  h->made = FALSE;
  memcpy(h->bits, table->bits, sizeof h->bits);
  memcpy(h->values, table->huffval, sizeof h->values);
  memset(h->look, 0, sizeof h->look);
  memset(h->fast, 0, sizeof h->fast);
  guint code = 0, k = 0;
  for (guint length = 1; length <= 16; length++, code <<= 1) {
    h->offset[length] = (gint32)k - (gint32)code;
    for (guint i = 0; i < h->bits[length]; i++, k++, code++) {
      if (k >= 256 || code >= 1u << length)
        return FALSE;
      if (length <= LOOK)
        for (guint fill = 0; fill < 1u << (LOOK - length); fill++)
          h->look[code << (LOOK - length) | fill] = (guint16)(length << 8 | h->values[k]);
    }
    h->most[length] = h->bits[length] ? (gint32)code - 1 : -1;
  }
  for (guint i = 0; ac && i < 1 << LOOK; i++) {
    guint length = h->look[i] >> 8, run = (h->look[i] & 255u) >> 4, size = h->look[i] & 15u;
    if (length == 0 || size == 0 || length + size > LOOK)
      continue;
    int v = extend((int)(i >> (LOOK - length - size)) & ((1 << size) - 1), (int)size);
    h->fast[i] = (gint32)((guint32)v << 16 | run << 8 | (length + size));
  }
  h->made = TRUE;
  return TRUE;
}

/* --- bits --- */

/* The next stretch of data, its stuffing taken out. */
static void next_stretch(NwJpegQuick *q, Bits *b)
{
  guint8 *out = q->clean.data;
  const guint8 *p = q->next;
  while (p < q->end) {
    const guint8 *stop = memchr(p, 0xff, (gsize)(q->end - p));
    gsize run = (gsize)((stop ? stop : q->end) - p);
    memcpy(out, p, run);
    out += run;
    p += run;
    if (q->end - p < 2 || p[1] != 0)
      break;
    *out++ = 0xff;
    p += 2;
  }
  q->next = p;
  memset(out, 0, BEHIND);
  *b = (Bits){q->clean.data, q->clean.data, out, 0, 0};
}

/* Bits of the stretch that were not taken; negative: more were taken than there are. */
static gint64 bits_left(const Bits *b)
{
  return (b->end - b->p) * 8 + b->n;
}

/* At least 56 valid bits. What stands behind the valid ones are the next bits too, so they can be or-ed in
 * again. */
static inline void refill(Bits *b)
{
  guint64 word;
  memcpy(&word, b->p, 8);
  b->acc |= GUINT64_FROM_BE(word) >> b->n;
  b->p += (63 - b->n) >> 3;
  b->n |= 56;
}

static inline void drop(Bits *b, int n)
{
  b->acc <<= n;
  b->n -= n;
}

/* n is 1 … 16 */
static inline int take(Bits *b, int n)
{
  int v = (int)(b->acc >> (64 - n));
  drop(b, n);
  return v;
}

/* The next symbol, -1: no such code. */
static inline int symbol(Bits *b, const Huffman *h)
{
  guint seen = h->look[b->acc >> (64 - LOOK)];
  if (seen) {
    drop(b, (int)(seen >> 8));
    return (int)(seen & 255);
  }
  for (int length = LOOK + 1; length <= 16; length++) {
    gint32 code = (gint32)(b->acc >> (64 - length));
    if (code <= h->most[length]) {
      drop(b, length);
      return h->values[(code + h->offset[length]) & 255];
    }
  }
  return -1;
}

/* --- blocks --- */

typedef gint64 Pair __attribute__((vector_size(16)));
typedef union Coefs {
  gint16 value[64];
  Pair pairs[8];
} __attribute__((aligned(32))) Coefs;

/* Written out: compilers make a slow string instruction of a loop or a memset here. */
static inline void clear(Coefs *c)
{
  const Pair zero = {0, 0};
  c->pairs[0] = zero, c->pairs[1] = zero, c->pairs[2] = zero, c->pairs[3] = zero;
  c->pairs[4] = zero, c->pairs[5] = zero, c->pairs[6] = zero, c->pairs[7] = zero;
}

static const guint8 natural[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                   12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                   35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                   58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

static gboolean read_dc(Bits *b, Plane *plane)
{
  if (b->p > b->end + 8) /* the data ended in an earlier block */
    return FALSE;
  refill(b);
  int size = symbol(b, plane->dc);
  if (size < 0 || size > 11)
    return FALSE;
  if (size > 0)
    plane->predictor += extend(take(b, size), size);
  return TRUE;
}

/* coefs must be zero. *last: place of the last coefficient in zigzag order. */
static gboolean read_block(Bits *bits, Plane *plane, gint16 *coefs, guint *last)
{
  const Huffman *h = plane->ac;
  if (!read_dc(bits, plane) || ABS(plane->predictor) > COEF_MAX)
    return FALSE;
  Bits b = *bits; /* in registers */
  int v = plane->predictor * plane->quant[0];
  gboolean wild = v > COEF_MAX || v < -COEF_MAX;
  guint k = 0;
  coefs[0] = (gint16)v;
  *last = 0;
  while (k < 63) {
    refill(&b);
    for (int i = 0; i < 3 && k < 63; i++) { /* three short ones leave enough for a long one */
      gint32 fast = h->fast[b.acc >> (64 - LOOK)];
      int value;
      if (fast) {
        k += ((guint)(fast >> 8) & 15u) + 1;
        drop(&b, fast & 255);
        value = fast >> 16;
      } else {
        int s = symbol(&b, h), size = s & 15;
        if (s < 0)
          return FALSE;
        if (size == 0) {
          if (s != 0xf0)
            goto done; /* nothing more in this block */
          k += 16;
          break;
        }
        k += ((guint)s >> 4) + 1;
        value = extend(take(&b, size), size);
        i = 3;
      }
      if (k > 63)
        return FALSE;
      v = value * plane->quant[k];
      wild |= v > COEF_MAX || v < -COEF_MAX;
      coefs[natural[k]] = (gint16)v;
      *last = k;
    }
  }
done:
  *bits = b;
  return !wild;
}

/* Walks over a block that nobody will look at. */
static gboolean skip_block(Bits *bits, Plane *plane)
{
  const Huffman *h = plane->ac;
  if (!read_dc(bits, plane))
    return FALSE;
  Bits b = *bits;
  guint k = 0;
  while (k < 63) {
    refill(&b);
    for (int i = 0; i < 3 && k < 63; i++) {
      gint32 fast = h->fast[b.acc >> (64 - LOOK)];
      if (fast) {
        k += ((guint)(fast >> 8) & 15u) + 1;
        drop(&b, fast & 255);
      } else {
        int s = symbol(&b, h), size = s & 15;
        if (s < 0)
          return FALSE;
        if (size == 0 && s != 0xf0)
          goto done;
        k += ((guint)s >> 4) + (size != 0);
        k += s == 0xf0;
        drop(&b, size);
        i = 3;
      }
    }
  }
  if (k > 63)
    return FALSE;
done:
  *bits = b;
  return TRUE;
}

static gboolean restart(NwJpegQuick *q, Bits *b, guint planes, guint number)
{
  gint64 left = bits_left(b);
  if (left < 0 || left > 7 || q->end - q->next < 2 || q->next[1] != 0xd0 + number % 8)
    return FALSE;
  q->next += 2;
  next_stretch(q, b);
  for (guint i = 0; i < planes; i++)
    q->planes[i].predictor = 0;
  return TRUE;
}

static gboolean read_mcu(Plane *planes, guint n, Bits *b, guint mx, guint my)
{
  for (guint i = 0; i < n; i++) {
    Plane *plane = &planes[i];
    for (guint v = 0; v < plane->down; v++)
      for (guint h = 0; h < plane->across; h++) {
        guint bx = mx * plane->across + h, by = my * plane->down + v;
        if (bx < plane->left || bx >= plane->right || by < plane->top || by >= plane->bottom) {
          if (!skip_block(b, plane))
            return FALSE;
          continue;
        }
        Coefs block;
        gint16 *coefs = block.value;
        clear(&block);
        guint last;
        if (!read_block(b, plane, coefs, &last))
          return FALSE;
        nw_jpeg_block(coefs, last == 0,
                      plane->samples.rows + (gsize)(by - plane->top) * 8 * plane->samples.stride +
                          (bx - plane->left) * 8,
                      plane->samples.stride);
      }
  }
  return TRUE;
}

static gboolean read_scan(NwJpegQuick *q, const struct jpeg_decompress_struct *d, guint n, guint mcus,
                          guint rows, gboolean to_the_end)
{
  Bits b;
  q->next = d->src->next_input_byte;
  q->end = q->next + d->src->bytes_in_buffer;
  if (!nw_bytes_need(&q->clean, d->src->bytes_in_buffer + BEHIND))
    return FALSE;
  next_stretch(q, &b);
  guint interval = d->restart_interval, until = interval, restarts = 0;
  for (guint my = 0; my < rows; my++) {
    for (guint mx = 0; mx < mcus; mx++) {
      if (interval && until-- == 0) {
        if (!restart(q, &b, n, restarts++))
          return FALSE;
        until = interval - 1;
      }
      if (!read_mcu(q->planes, n, &b, mx, my))
        return FALSE;
    }
    if (bits_left(&b) < 0) /* read beyond the data */
      return FALSE;
  }
  /* libjpeg sees to files that lack their end. */
  return !to_the_end || (bits_left(&b) < 8 && q->end - q->next >= 2 && q->next[1] == JPEG_EOI);
}

/* --- the picture --- */

static gboolean can_do(const struct jpeg_decompress_struct *d)
{
  if (nw_isa() < NW_ISA_AVX2 || !nw_jpeg_pixels_here() || d->progressive_mode || d->arith_code ||
      d->data_precision != 8 || d->image_width < 16 || d->image_height < 16 ||
      d->comps_in_scan != d->num_components)
    return FALSE;
  if (d->num_components == 1)
    return d->jpeg_color_space == JCS_GRAYSCALE;
  if (d->num_components != 3 || d->jpeg_color_space != JCS_YCbCr)
    return FALSE;
  const jpeg_component_info *c = d->comp_info;
  for (int i = 1; i < 3; i++)
    if (c[i].h_samp_factor != 1 || c[i].v_samp_factor != 1)
      return FALSE;
  for (int i = 0; i < 3; i++)
    if (d->cur_comp_info[i] != &c[i])
      return FALSE;
  return (c[0].h_samp_factor == 1 && c[0].v_samp_factor == 1) ||
         (c[0].h_samp_factor == 2 && c[0].v_samp_factor <= 2);
}

/* The blocks of a component that the region needs, one sample more on each side where colour is interpolated.
 */
static gboolean plan_plane(NwJpegQuick *q, const struct jpeg_decompress_struct *d, guint i,
                           const NwRegion *region)
{
  const jpeg_component_info *c = &d->comp_info[i];
  Plane *plane = &q->planes[i];
  guint most_h = d->num_components == 1 ? 1 : (guint)d->comp_info[0].h_samp_factor;
  guint most_v = d->num_components == 1 ? 1 : (guint)d->comp_info[0].v_samp_factor;
  plane->across = d->num_components == 1 ? 1 : (guint)c->h_samp_factor;
  plane->down = d->num_components == 1 ? 1 : (guint)c->v_samp_factor;
  guint rx = most_h / plane->across, ry = most_v / plane->down;
  plane->width = (d->image_width + rx - 1) / rx;
  plane->height = (d->image_height + ry - 1) / ry;
  guint x0 = region->x / rx, x1 = (region->x + region->width - 1) / rx;
  guint y0 = region->y / ry, y1 = (region->y + region->height - 1) / ry;
  if (rx > 1 || ry > 1) {
    x0 -= x0 > 0;
    y0 -= y0 > 0;
    x1 = MIN(x1 + 1, plane->width - 1);
    y1 = MIN(y1 + 1, plane->height - 1);
  }
  plane->left = x0 / 8;
  plane->top = y0 / 8;
  plane->right = x1 / 8 + 1;
  plane->bottom = y1 / 8 + 1;
  plane->predictor = 0;
  const JQUANT_TBL *quant = d->quant_tbl_ptrs[c->quant_tbl_no & 3];
  plane->dc = &q->dc[c->dc_tbl_no & 3];
  plane->ac = &q->ac[c->ac_tbl_no & 3];
  plane->samples = (NwJpegPlane){
      NULL,         (gsize)(plane->right - plane->left) * 8, plane->left * 8, plane->top * 8, plane->width,
      plane->height};
  if (!quant || !huffman_make(plane->dc, d->dc_huff_tbl_ptrs[c->dc_tbl_no & 3], FALSE) ||
      !huffman_make(plane->ac, d->ac_huff_tbl_ptrs[c->ac_tbl_no & 3], TRUE) ||
      !nw_bytes_need(&plane->room, plane->samples.stride * (plane->bottom - plane->top) * 8))
    return FALSE;
  plane->samples.rows = plane->room.data;
  for (guint k = 0; k < 64; k++)
    plane->quant[k] = (gint16)MIN(quant->quantval[natural[k]], COEF_MAX + 1);
  return TRUE;
}

gboolean nw_jpeg_quick(NwJpegQuick **state, const struct jpeg_decompress_struct *d, const NwRegion *region,
                       guint channels, NwBytes *room, NwFrame *frame)
{
  if (!can_do(d))
    return FALSE;
  NwJpegQuick *q = *state = *state ? *state : g_new0(NwJpegQuick, 1);
  guint n = (guint)d->num_components;
  for (guint i = 0; i < n; i++)
    if (!plan_plane(q, d, i, region))
      return FALSE;
  guint wide = 8 * q->planes[0].across, high = 8 * q->planes[0].down, rows = 0;
  for (guint i = 0; i < n; i++)
    rows = MAX(rows, (q->planes[i].bottom + q->planes[i].down - 1) / q->planes[i].down);
  gboolean to_the_end = region->y + region->height == d->image_height;
  if (!read_scan(q, d, n, (d->image_width + wide - 1) / wide,
                 to_the_end ? (d->image_height + high - 1) / high : rows, to_the_end))
    return FALSE;
  guint bytes = n == 1 && channels == 1 ? 1 : 4;
  if (nw_frame_in(room, region->width, region->height, bytes, frame, NULL) != NW_OK ||
      !nw_bytes_need(&q->lines, nw_jpeg_lines_size(region->width)))
    return FALSE;
  frame->x = region->x;
  frame->y = region->y;
  NwJpegPlane planes[3] = {q->planes[0].samples, q->planes[1].samples, q->planes[2].samples};
  nw_jpeg_colour(planes, n, q->planes[0].across, q->planes[0].down, frame, q->lines.data);
  return TRUE;
}

void nw_jpeg_quick_free(NwJpegQuick *state)
{
  if (!state)
    return;
  for (int i = 0; i < 3; i++)
    nw_bytes_clear(&state->planes[i].room);
  nw_bytes_clear(&state->lines);
  nw_bytes_clear(&state->clean);
  g_free(state);
}
