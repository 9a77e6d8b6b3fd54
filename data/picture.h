/* Pictures in memory and their decoders: RGB or grey bytes, exactly Pillow's convert("RGB") / convert("L").
 * One exception: 16-bit grey is divided by 256, where Pillow clips to white. Alpha is dropped, EXIF rotation
 * is not applied
 * (`pixels=torchvision`). Content decides what a file is, never its name. All functions may be called from
 * any thread. */
#pragma once

#include <glib.h>

#include "engine/base/status.h"

typedef enum NwPictureFormat {
  NW_FORMAT_UNKNOWN,
  NW_FORMAT_JPEG,
  NW_FORMAT_PNG,
  NW_FORMAT_WEBP,
  NW_FORMAT_BMP,
  NW_FORMAT_GIF,
  NW_FORMAT_TIFF,
  NW_FORMAT_PNM,
  NW_FORMAT_RAW /* packed sets */
} NwPictureFormat;

/* Larger pictures are refused from their header, before anything is inflated. */
#define NW_PICTURE_PIXELS_MAX 200000000u

typedef struct NwPicture {
  guint32 width, height, channels; /* 1 or 3 */
  guint8 *pixels;                  /* height × width × channels, no padding; g_free */
} NwPicture;

NwPictureFormat nw_picture_sniff(const guint8 *bytes, gsize n);
const char *nw_picture_format_name(NwPictureFormat format); /* "JPEG", ... never NULL */
/* Decodes to 1 or 3 channels. Sentences name what is wrong ("cut after row 214 of 375"). NW_BAD_FORMAT: not a
 * picture, or a broken one; NW_UNSUPPORTED: a kind that we do not read. On failure *out is zeroed. */
NwStatus nw_picture_decode(const guint8 *bytes, gsize n, guint channels, NwPicture *out, NwError *error);
NwStatus nw_picture_read(const char *path, guint channels, NwPicture *out, NwError *error);
void nw_picture_clear(NwPicture *picture);
