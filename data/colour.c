/* Pillow's colour operations: blends in float32, truncated; hue through Pillow's HSV bytes. */
#include <math.h>
#include <string.h>

#include "data/frame.h"

/* What Pillow's blend makes of a pixel: from the degenerate towards the picture, beyond it for factors
 * above 1. */
static inline guint8 blend(int degenerate, int value, float factor)
{
  float mixed = (float)degenerate + factor * (float)(value - degenerate);
  if (factor >= 0.0f && factor <= 1.0f)
    return (guint8)(int)mixed;
  return mixed <= 0.0f ? 0 : mixed >= 255.0f ? 255 : (guint8)mixed;
}

static void blend_with_constant(NwFrame *frame, int degenerate, double factor)
{
  guint8 table[256];
  float f = (float)factor;
  if (f == 1.0f)
    return;
  for (int v = 0; v < 256; v++)
    table[v] = f == 0.0f ? (guint8)degenerate : blend(degenerate, v, f);
  for (guint y = 0; y < frame->height; y++) {
    guint8 *row = frame->pixels + y * frame->stride;
    for (gsize i = 0; i < (gsize)frame->width * frame->bytes; i++)
      row[i] = table[row[i]];
  }
}

void nw_frame_brightness(NwFrame *frame, double factor)
{
  blend_with_constant(frame, 0, factor);
}

static inline guint gray_of(const guint8 *p)
{
  return (p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16;
}

void nw_frame_contrast(NwFrame *frame, double factor)
{
  guint64 sum = 0;
  for (guint y = 0; y < frame->height; y++) {
    const guint8 *row = frame->pixels + y * frame->stride;
    for (guint x = 0; x < frame->width; x++)
      sum += frame->bytes == 1 ? row[x] : gray_of(row + 4 * x);
  }
  double mean = (double)sum / ((double)frame->width * frame->height);
  blend_with_constant(frame, (int)(mean + 0.5), factor);
}

void nw_frame_saturation(NwFrame *frame, double factor)
{
  float f = (float)factor;
  if (frame->bytes == 1 || f == 1.0f)
    return;
  for (guint y = 0; y < frame->height; y++) {
    guint8 *p = frame->pixels + y * frame->stride;
    for (guint x = 0; x < frame->width; x++, p += 4) {
      int gray = (int)gray_of(p);
      for (int c = 0; c < 3; c++)
        p[c] = f == 0.0f ? (guint8)gray : blend(gray, p[c], f);
    }
  }
}

static void to_hsv(const guint8 *p, guint8 hsv[3])
{
  guint8 r = p[0], g = p[1], b = p[2], high = MAX(r, MAX(g, b)), low = MIN(r, MIN(g, b));
  hsv[0] = hsv[1] = 0;
  hsv[2] = high;
  if (high == low)
    return;
  float range = (float)(high - low), s = range / (float)high, h;
  float rc = (float)(high - r) / range, gc = (float)(high - g) / range, bc = (float)(high - b) / range;
  if (r == high)
    h = bc - gc;
  else if (g == high)
    h = (float)(2.0 + rc - bc);
  else
    h = (float)(4.0 + gc - rc);
  h = (float)fmod(h / 6.0 + 1.0, 1.0);
  int hue = (int)(h * 255.0), saturation = (int)(s * 255.0);
  hsv[0] = (guint8)CLAMP(hue, 0, 255);
  hsv[1] = (guint8)CLAMP(saturation, 0, 255);
}

static inline guint8 rounded(double v)
{
  int i = (int)floor(v + 0.5);
  return (guint8)CLAMP(i, 0, 255);
}

static void from_hsv(const guint8 hsv[3], guint8 *p)
{
  guint8 v = hsv[2];
  if (hsv[1] == 0) {
    p[0] = p[1] = p[2] = v;
    return;
  }
  double sector = hsv[0] * 6.0 / 255.0;
  int i = (int)floor(sector);
  float f = (float)(sector - i), fs = (float)(hsv[1] / 255.0);
  guint8 low = rounded(v * (1.0 - fs)), down = rounded(v * (1.0 - fs * (double)f)),
         up = rounded(v * (1.0 - fs * (1.0 - (double)f)));
  const guint8 table[6][3] = {{v, up, low},   {down, v, low}, {low, v, up},
                              {low, down, v}, {up, low, v},   {v, low, down}};
  memcpy(p, table[i % 6], 3);
}

void nw_frame_hue(NwFrame *frame, double factor)
{
  if (frame->bytes == 1)
    return;
  guint8 shift = (guint8)((int)(factor * 255) & 255);
  for (guint y = 0; y < frame->height; y++) {
    guint8 *p = frame->pixels + y * frame->stride;
    for (guint x = 0; x < frame->width; x++, p += 4) {
      guint8 hsv[3];
      to_hsv(p, hsv);
      hsv[0] = (guint8)(hsv[0] + shift);
      from_hsv(hsv, p);
    }
  }
}

void nw_frame_mirror(NwFrame *frame)
{
  for (guint y = 0; y < frame->height; y++) {
    guint8 *row = frame->pixels + y * frame->stride;
    for (guint a = 0, b = frame->width - 1; a < b; a++, b--)
      for (guint c = 0; c < frame->bytes; c++) {
        guint8 t = row[a * frame->bytes + c];
        row[a * frame->bytes + c] = row[b * frame->bytes + c];
        row[b * frame->bytes + c] = t;
      }
  }
}
