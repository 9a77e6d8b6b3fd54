/* Runs drawn steps over a frame. Cropping is a change of view; a crop behind a resize becomes the resize's
 * window. */
#include <string.h>

#include "data/frame.h"
#include "data/words.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

#include "engine/base/machine.h"

void nw_workshop_clear(NwWorkshop *workshop)
{
  nw_bytes_clear(&workshop->rooms[0]);
  nw_bytes_clear(&workshop->rooms[1]);
  nw_bytes_clear(&workshop->rows);
  nw_bytes_clear(&workshop->lines);
  nw_bytes_clear(&workshop->weights);
}

static gboolean inside(const NwStep *step, guint width, guint height)
{
  return step->kind == NW_STEP_CROP && step->x >= 0 && step->y >= 0 &&
         (guint)(step->x + step->width) <= width && (guint)(step->y + step->height) <= height;
}

static NwRegion box_of(const NwStep *step)
{
  return (NwRegion){(guint)step->x, (guint)step->y, (guint)step->width, (guint)step->height};
}

NwRegion nw_steps_need(const NwStep *steps, guint n, guint width, guint height)
{
  if (n > 0 && inside(&steps[0], width, height))
    return box_of(&steps[0]);
  if (n > 0 && steps[0].kind == NW_STEP_RESIZE) {
    guint w = (guint)steps[0].width, h = (guint)steps[0].height;
    NwRegion window = {0, 0, w, h};
    if (n > 1 && inside(&steps[1], w, h))
      window = box_of(&steps[1]);
    return nw_resize_needs(width, height, w, h, &window);
  }
  return (NwRegion){0, 0, width, height};
}

/* A crop that reaches outside: what lies there is black. */
static NwStatus crop_outside(const NwStep *step, NwBytes *room, NwFrame *frame, NwError *error)
{
  NwFrame out;
  NW_TRY(nw_frame_in(room, (guint)step->width, (guint)step->height, frame->bytes, &out, error));
  memset(out.pixels, 0, out.stride * out.height);
  int x0 = MAX(step->x, 0), x1 = MIN(step->x + step->width, (int)frame->width);
  for (int y = MAX(step->y, 0); y < MIN(step->y + step->height, (int)frame->height) && x1 > x0; y++)
    memcpy(out.pixels + (gsize)(y - step->y) * out.stride + (gsize)(x0 - step->x) * frame->bytes,
           frame->pixels + (gsize)y * frame->stride + (gsize)x0 * frame->bytes,
           (gsize)(x1 - x0) * frame->bytes);
  *frame = out;
  return NW_OK;
}

static gboolean geometry_follows(const NwStep *steps, guint n)
{
  for (guint i = 0; i < n; i++)
    if (steps[i].kind == NW_STEP_CROP || steps[i].kind == NW_STEP_RESIZE)
      return TRUE;
  return FALSE;
}

NwStatus nw_steps_run(const NwStep *steps, guint n, NwWorkshop *workshop, guint width, guint height,
                      NwFrame *frame, gboolean *mirror, NwError *error)
{
  *mirror = FALSE;
  for (guint i = 0; i < n; i++) {
    const NwStep *step = &steps[i];
    NwBytes *room = &workshop->rooms[workshop->turn];
    switch (step->kind) {
    case NW_STEP_CROP:
      if (inside(step, width, height)) {
        frame->pixels += (gsize)((guint)step->y - frame->y) * frame->stride;
        frame->pixels += (gsize)((guint)step->x - frame->x) * frame->bytes;
        frame->width = (guint)step->width;
        frame->height = (guint)step->height;
      } else {
        NW_TRY(crop_outside(step, room, frame, error));
        workshop->turn ^= 1;
      }
      frame->x = frame->y = 0;
      break;
    case NW_STEP_RESIZE: {
      NwFrame out;
      NwRegion window = {0, 0, (guint)step->width, (guint)step->height};
      if (i + 1 < n && inside(&steps[i + 1], window.width, window.height))
        window = box_of(&steps[++i]);
      NW_TRY(nw_frame_resize(workshop, frame, width, height, (guint)step->width, (guint)step->height, &window,
                             room, &out, error));
      workshop->turn ^= 1;
      *frame = out;
      break;
    }
    case NW_STEP_MIRROR:
      if (geometry_follows(steps + i + 1, n - i - 1))
        nw_frame_mirror(frame);
      else
        *mirror = !*mirror;
      break;
    case NW_STEP_BRIGHTNESS:
      nw_frame_brightness(frame, step->factor);
      break;
    case NW_STEP_CONTRAST:
      nw_frame_contrast(frame, step->factor);
      break;
    case NW_STEP_SATURATION:
      nw_frame_saturation(frame, step->factor);
      break;
    case NW_STEP_HUE:
      nw_frame_hue(frame, step->factor);
      break;
    }
    width = frame->width;
    height = frame->height;
  }
  return NW_OK;
}

/* --- packed bytes --- */

static void pack_row_plain(const guint8 *in, guint width, gboolean mirror, guint8 *out)
{
  gssize step = mirror ? -4 : 4;
  in += mirror ? 4 * ((gsize)width - 1) : 0;
  for (guint x = 0; x < width; x++, in += step, out += 3) {
    out[0] = in[0];
    out[1] = in[1];
    out[2] = in[2];
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("ssse3"))) static void pack_row_ssse3(const guint8 *in, guint width, gboolean mirror,
                                                            guint8 *out)
{
  const __m128i straight = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const __m128i turned = _mm_setr_epi8(12, 13, 14, 8, 9, 10, 4, 5, 6, 0, 1, 2, -1, -1, -1, -1);
  guint x = 0;
  /* Each store writes four bytes too many, so the last ones go one by one. */
  for (; x + 6 <= width; x += 4, out += 12) {
    const guint8 *p = mirror ? in + 4 * (gsize)(width - x - 4) : in + 4 * (gsize)x;
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    _mm_storeu_si128((__m128i *)(void *)out, _mm_shuffle_epi8(v, mirror ? turned : straight));
  }
  pack_row_plain(mirror ? in : in + 4 * (gsize)x, width - x, mirror, out);
}
#endif

void nw_frame_pack(const NwFrame *frame, gboolean mirror, guint8 *out)
{
  gboolean quick = nw_isa() >= NW_ISA_AVX2;
  for (guint y = 0; y < frame->height; y++) {
    const guint8 *in = frame->pixels + y * frame->stride;
    if (frame->bytes == 1) {
      guint8 *to = out + (gsize)y * frame->width;
      if (!mirror)
        memcpy(to, in, frame->width);
      for (guint x = 0; mirror && x < frame->width; x++)
        to[x] = in[frame->width - 1 - x];
      continue;
    }
    guint8 *to = out + (gsize)y * frame->width * 3;
#if defined(__x86_64__) && defined(__GNUC__)
    if (quick) {
      pack_row_ssse3(in, frame->width, mirror, to);
      continue;
    }
#endif
    (void)quick;
    pack_row_plain(in, frame->width, mirror, to);
  }
}

NwStatus nw_frame_to_picture(const NwFrame *frame, NwPicture *out, NwError *error)
{
  out->channels = frame->bytes == 1 ? 1 : 3;
  out->width = frame->width;
  out->height = frame->height;
  out->pixels = g_try_malloc((gsize)frame->width * frame->height * out->channels);
  if (!out->pixels)
    return nw_fail(error, NW_NO_MEMORY, _("no memory for a picture of %u × %u pixels"), frame->width,
                   frame->height);
  nw_frame_pack(frame, FALSE, out->pixels);
  return NW_OK;
}

NwStatus nw_frame_from_packed(const guint8 *pixels, guint width, guint height, guint channels, NwBytes *room,
                              NwFrame *frame, NwError *error)
{
  gsize n = (gsize)width * height;
  NW_TRY(nw_frame_in(room, width, height, channels == 1 ? 1 : 4, frame, error));
  if (channels == 1)
    memcpy(frame->pixels, pixels, n);
  for (gsize i = 0; channels == 3 && i < n; i++) {
    frame->pixels[4 * i] = pixels[3 * i];
    frame->pixels[4 * i + 1] = pixels[3 * i + 1];
    frame->pixels[4 * i + 2] = pixels[3 * i + 2];
    frame->pixels[4 * i + 3] = 255;
  }
  return NW_OK;
}

NwStatus nw_steps_apply(const NwStep *steps, guint n, NwPicture *picture, NwError *error)
{
  NwWorkshop workshop = {0};
  NwBytes room = {0};
  NwFrame frame;
  gboolean mirror = FALSE;
  if (picture->channels != 1 && picture->channels != 3)
    return nw_fail(error, NW_BAD_ARGUMENT, "a picture has 1 or 3 channels, not %u", picture->channels);
  NwStatus status = nw_frame_from_packed(picture->pixels, picture->width, picture->height, picture->channels,
                                         &room, &frame, error);
  if (status == NW_OK)
    status = nw_steps_run(steps, n, &workshop, picture->width, picture->height, &frame, &mirror, error);
  if (status == NW_OK) {
    NwPicture out = {0};
    if (mirror)
      nw_frame_mirror(&frame);
    status = nw_frame_to_picture(&frame, &out, error);
    if (status == NW_OK) {
      nw_picture_clear(picture);
      *picture = out;
    }
  }
  nw_workshop_clear(&workshop);
  nw_bytes_clear(&room);
  return status;
}
