/* Pictures in memory and their decoders: RGB or grey bytes, exactly Pillow's convert("RGB") / convert("L"). */
#pragma once

#include <glib.h>

#include "engine/base/status.h"

typedef enum NwPictureFormat {
  NW_FORMAT_UNKNOWN, NW_FORMAT_JPEG, NW_FORMAT_PNG, NW_FORMAT_WEBP, NW_FORMAT_BMP, NW_FORMAT_GIF, NW_FORMAT_TIFF,
  NW_FORMAT_PNM, NW_FORMAT_RAW /* packed sets */
} NwPictureFormat;

typedef struct NwPicture {
  guint32 width, height, channels; /* 1 or 3 */
  guint8 *pixels;                  /* height × width × channels, no padding */
} NwPicture;

/* By content, never by name. */
NwPictureFormat nw_picture_sniff(const guint8 *bytes, gsize n);
const char *nw_picture_format_name(NwPictureFormat format);
/* Decodes to 1 or 3 channels. Sentences name what is wrong ("cut after row 214 of 375"). */
NwStatus nw_picture_decode(const guint8 *bytes, gsize n, guint channels, NwPicture *out, NwError *error);
NwStatus nw_picture_read(const char *path, guint channels, NwPicture *out, NwError *error);
void nw_picture_clear(NwPicture *picture);
