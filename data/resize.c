#include "data/resize.h"

#include <math.h>
#include <string.h>

#include "data/frame.h"
#include "data/words.h"
#include "engine/base/machine.h"

/* --- the plain passes --- */

static inline guint8 byte_of(gint32 sum)
{
  sum = (sum + (1 << 21)) >> 22;
  return (guint8)CLAMP(sum, 0, 255);
}

static void lines_plain(const guint8 *const in[4], guint8 *const out[4], const NwAxis *axis)
{
  for (int line = 0; line < 4; line++)
    for (guint x = 0; x < axis->n; x++) {
      const gint16 *kh = axis->hi + (gsize)x * axis->taps, *kl = axis->lo + (gsize)x * axis->taps;
      const guint8 *p = in[line] + (gsize)axis->first[x] * 4;
      gint32 sum[4] = {0};
      for (int i = 0; i < axis->count[x]; i++, p += 4) {
        gint32 k = kh[i] * 2048 + kl[i];
        for (int c = 0; c < 4; c++)
          sum[c] += p[c] * k;
      }
      for (int c = 0; c < 4; c++)
        out[line][4 * x + (guint)c] = byte_of(sum[c]);
    }
}

static void row_plain(const guint8 *rows, gsize stride, const NwAxis *axis, guint at, guint8 *out,
                      gsize bytes)
{
  const gint16 *kh = axis->hi + (gsize)at * axis->taps, *kl = axis->lo + (gsize)at * axis->taps;
  int n = axis->count[at];
  rows += (gsize)axis->first[at] * stride;
  for (gsize x0 = 0; x0 < bytes; x0 += 64) {
    gint32 sum[64] = {0};
    gsize m = MIN(bytes - x0, 64);
    for (int j = 0; j < n; j++) {
      const guint8 *p = rows + (gsize)j * stride + x0;
      gint32 k = kh[j] * 2048 + kl[j];
      for (gsize x = 0; x < m; x++)
        sum[x] += p[x] * k;
    }
    for (gsize x = 0; x < m; x++)
      out[x0 + x] = byte_of(sum[x]);
  }
}

const NwResizePasses nw_resize_plain = {lines_plain, row_plain};

static const NwResizePasses *passes_here(void)
{
  const NwResizePasses *avx2 = nw_isa() >= NW_ISA_AVX2 ? nw_resize_avx2() : NULL;
  return avx2 ? avx2 : &nw_resize_plain;
}

/* --- weights, as Pillow computes them --- */

typedef struct Scale {
  double scale, support, inverse;
} Scale;

static Scale scale_of(guint in, guint out)
{
  double scale = (double)in / out, filter = scale < 1.0 ? 1.0 : scale;
  return (Scale){scale, filter, 1.0 / filter};
}

static void bounds(const Scale *s, guint in, guint i, double *centre, int *first, int *end)
{
  *centre = (i + 0.5) * s->scale;
  int low = (int)(*centre - s->support + 0.5), high = (int)(*centre + s->support + 0.5);
  *first = MAX(low, 0);
  *end = MIN(high, (int)in);
}

static gsize axis_bytes(guint in, guint out, guint n, guint *taps)
{
  Scale s = scale_of(in, out);
  *taps = (((guint)ceil(s.support) * 2 + 1) + 3) & ~3u;
  return (gsize)n * 2 * sizeof(int) + (gsize)n * *taps * 2 * sizeof(gint16) + *taps * sizeof(double) + 64;
}

/* Weights of outputs from … from + n - 1; inputs are counted from `origin`. */
static guint8 *axis_make(NwAxis *axis, guint8 *room, guint in, guint out, guint from, guint n, guint taps,
                         guint origin)
{
  Scale s = scale_of(in, out);
  double *w = (double *)(void *)room;
  axis->n = n;
  axis->taps = taps;
  axis->first = (int *)(void *)(w + taps);
  axis->count = axis->first + n;
  axis->hi = (gint16 *)(void *)(axis->count + n);
  axis->lo = axis->hi + (gsize)n * taps;
  for (guint i = 0; i < n; i++) {
    double centre, sum = 0;
    int first, end;
    bounds(&s, in, from + i, &centre, &first, &end);
    int count = end - first;
    for (int x = 0; x < count; x++) {
      double distance = fabs((x + first - centre + 0.5) * s.inverse);
      w[x] = distance < 1.0 ? 1.0 - distance : 0.0;
      sum += w[x];
    }
    gint16 *hi = axis->hi + (gsize)i * taps, *lo = axis->lo + (gsize)i * taps;
    for (guint x = 0; x < taps; x++) {
      double share = (int)x < count && sum != 0.0 ? w[x] / sum : 0.0;
      int k = (int)x < count ? (int)(0.5 + share * (1 << 22)) : 0;
      hi[x] = (gint16)(k >> 11);
      lo[x] = (gint16)(k & 2047);
    }
    axis->first[i] = first - (int)origin;
    axis->count[i] = count;
  }
  return room + (((gsize)((guint8 *)(axis->lo + (gsize)n * taps) - room) + 63) & ~(gsize)63);
}

NwRegion nw_resize_needs(guint width, guint height, guint out_width, guint out_height, const NwRegion *window)
{
  Scale sx = scale_of(width, out_width), sy = scale_of(height, out_height);
  double centre;
  int x0, x1, y0, y1, skip;
  bounds(&sx, width, window->x, &centre, &x0, &skip);
  bounds(&sx, width, window->x + window->width - 1, &centre, &skip, &x1);
  bounds(&sy, height, window->y, &centre, &y0, &skip);
  bounds(&sy, height, window->y + window->height - 1, &centre, &skip, &y1);
  return (NwRegion){(guint)x0, (guint)y0, (guint)(x1 - x0), (guint)(y1 - y0)};
}

/* --- the passes over a frame --- */

/* n rows from `in` on, four at a time, into rows of `out` (whose room is a multiple of four rows). */
static void lines_of_colour(const NwResizePasses *passes, const guint8 *in, gsize stride, guint n,
                            guint8 *out, gsize out_stride, const NwAxis *axis)
{
  for (guint y = 0; y < n; y += 4) {
    const guint8 *from[4];
    guint8 *to[4];
    for (guint i = 0; i < 4; i++) {
      from[i] = in + MIN(y + i, n - 1) * stride;
      to[i] = out + (y + i) * out_stride;
    }
    passes->lines(from, to, axis);
  }
}

/* Grey: four rows are woven into one line of 4-byte pixels, so that the same pass serves. */
static void lines_of_gray(const NwResizePasses *passes, const guint8 *in, gsize stride, guint width, guint n,
                          guint8 *out, gsize out_stride, const NwAxis *axis, guint8 *woven)
{
  gsize line = (gsize)width * 4 + 16, out_line = (gsize)axis->n * 4;
  guint8 *result = woven + 4 * line;
  for (guint y = 0; y < n; y += 16) {
    const guint8 *from[4];
    guint8 *to[4];
    for (guint i = 0; i < 4; i++) {
      guint8 *w = woven + i * line;
      const guint8 *r[4];
      for (guint k = 0; k < 4; k++)
        r[k] = in + MIN(y + 4 * i + k, n - 1) * stride;
      for (guint x = 0; x < width; x++) {
        w[4 * x] = r[0][x];
        w[4 * x + 1] = r[1][x];
        w[4 * x + 2] = r[2][x];
        w[4 * x + 3] = r[3][x];
      }
      from[i] = w;
      to[i] = result + i * out_line;
    }
    passes->lines(from, to, axis);
    for (guint i = 0; i < MIN(n - y, 16u); i++)
      for (guint x = 0; x < axis->n; x++)
        out[(y + i) * out_stride + x] = to[i / 4][4 * x + i % 4];
  }
}

static NwStatus no_memory(guint width, guint height, NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, _("no memory to resize a picture to %u × %u"), width, height);
}

NwStatus nw_frame_resize(NwWorkshop *workshop, const NwFrame *in, guint width, guint height, guint out_width,
                         guint out_height, const NwRegion *window, NwBytes *room, NwFrame *out,
                         NwError *error)
{
  NwRegion all = {0, 0, out_width, out_height};
  const NwRegion *w = window ? window : &all;
  const NwResizePasses *passes = passes_here();
  NwRegion need = nw_resize_needs(width, height, out_width, out_height, w);
  guint taps_x, taps_y;
  gsize weights = axis_bytes(width, out_width, w->width, &taps_x) + 128;
  weights += axis_bytes(height, out_height, w->height, &taps_y);
  NwAxis across, down;
  if (!nw_bytes_need(&workshop->weights, weights))
    return no_memory(out_width, out_height, error);
  guint8 *rest = axis_make(&across, workshop->weights.data, width, out_width, w->x, w->width, taps_x, in->x);
  axis_make(&down, rest, height, out_height, w->y, w->height, taps_y, need.y);

  const guint8 *rows = in->pixels + (need.y - in->y) * in->stride;
  gsize stride = in->stride;
  if (out_width == width) {
    rows += (w->x - in->x) * in->bytes;
  } else {
    gsize row = (gsize)w->width * in->bytes;
    if (!nw_bytes_need(&workshop->rows, ((gsize)need.height + 16) * row))
      return no_memory(out_width, out_height, error);
    if (in->bytes == 4) {
      lines_of_colour(passes, rows, stride, need.height, workshop->rows.data, row, &across);
    } else {
      if (!nw_bytes_need(&workshop->lines, 4 * ((gsize)in->width * 4 + 16) + 16 * (gsize)w->width))
        return no_memory(out_width, out_height, error);
      lines_of_gray(passes, rows, stride, in->width, need.height, workshop->rows.data, row, &across,
                    workshop->lines.data);
    }
    rows = workshop->rows.data;
    stride = row;
  }
  NW_TRY(nw_frame_in(room, w->width, w->height, in->bytes, out, error));
  for (guint y = 0; y < w->height; y++) {
    guint8 *to = out->pixels + y * out->stride;
    if (out_height == height)
      memcpy(to, rows + (gsize)down.first[y] * stride, out->stride);
    else
      passes->row(rows, stride, &down, y, to, out->stride);
  }
  return NW_OK;
}

NwStatus nw_picture_resize(const NwPicture *in, guint width, guint height, NwPicture *out, NwError *error)
{
  NwStep step = {NW_STEP_RESIZE, 0, 0, (int)width, (int)height, 0};
  memset(out, 0, sizeof *out);
  if (width == 0 || height == 0 || width > 65535 || height > 65535)
    return nw_fail(error, NW_BAD_ARGUMENT, "a picture cannot be resized to %u × %u", width, height);
  NwPicture copy = *in;
  gsize n = (gsize)in->width * in->height * in->channels;
  copy.pixels = g_try_malloc(n);
  if (!copy.pixels)
    return no_memory(width, height, error);
  memcpy(copy.pixels, in->pixels, n);
  NwStatus status = nw_steps_apply(&step, 1, &copy, error);
  if (status == NW_OK)
    *out = copy;
  else
    nw_picture_clear(&copy);
  return status;
}
