/* The decoders behind picture.h, as one object a thread keeps: header first, then the wanted region. Private
 * to data/. */
#pragma once

#include "data/picture.h"

/* Bytes that only ever grow, so that the steady state allocates nothing. */
typedef struct NwBytes {
  guint8 *data;
  gsize room;
} NwBytes;

/* At least n bytes plus 64 that vector loads may touch; FALSE: no memory. Contents are lost when it grows. */
gboolean nw_bytes_need(NwBytes *bytes, gsize n);
void nw_bytes_clear(NwBytes *bytes);

/* Pixels of 1 byte (grey) or 4 bytes (red, green, blue, anything). Rows may be followed by padding; 64 bytes
 * behind the last row are readable. (x, y) is where the frame lies in the whole picture. */
typedef struct NwFrame {
  guint8 *pixels;
  gsize stride;
  guint width, height, bytes;
  guint x, y;
} NwFrame;

typedef struct NwRegion {
  guint x, y, width, height;
} NwRegion;

typedef struct NwPictureInfo {
  NwPictureFormat format;
  guint32 width, height;
  gboolean gray, alpha, animated, progressive, sixteen;
  guint orientation; /* EXIF's, 1: upright */
} NwPictureInfo;

/* What NwError.property says about a picture that was refused; otherwise it is empty. */
#define NW_FAULT_CUT "truncated"
#define NW_FAULT_LARGE "too-large"

typedef struct NwDecoder NwDecoder;

NwDecoder *nw_decoder_new(void);
void nw_decoder_free(NwDecoder *decoder); /* NULL is allowed */
/* Reads the header. bytes must stay until the last nw_decoder_decode of this picture. */
NwStatus nw_decoder_open(NwDecoder *decoder, const guint8 *bytes, gsize n, NwPictureInfo *info,
                         NwError *error);
/* Decodes to 1 or 3 channels (frames of 1 or 4 bytes a pixel). The frame covers region (NULL: everything) or
 * more and belongs to the decoder until the next call. Once for each open. */
NwStatus nw_decoder_decode(NwDecoder *decoder, const NwRegion *region, guint channels, NwFrame *frame,
                           NwError *error);
/* After a decode of the whole picture: the file ends without its end marker although all rows are there. */
gboolean nw_decoder_lacks_end(const NwDecoder *decoder);

/* The rows of the table in decoder.c. Each keeps its state in `void **state`. */
typedef struct NwCodec {
  NwStatus (*open)(void **state, const guint8 *bytes, gsize n, NwPictureInfo *info, NwError *error);
  NwStatus (*decode)(void *state, const NwRegion *region, guint channels, NwBytes *room, NwFrame *frame,
                     NwError *error);
  void (*free)(void *state);
} NwCodec;

extern const NwCodec nw_codec_jpeg, nw_codec_png, nw_codec_webp, nw_codec_pixbuf;
gboolean nw_codec_jpeg_lacks_end(const void *state);

/* Pillow's L of n pixels of 4 bytes. in and out may be the same. */
void nw_gray_from_rgbx(const guint8 *in, guint8 *out, gsize n);
/* Refuses what is above NW_PICTURE_PIXELS_MAX, or empty. */
NwStatus nw_check_size(guint32 width, guint32 height, NwError *error);
/* A frame of the given size in room. */
NwStatus nw_frame_in(NwBytes *room, guint width, guint height, guint bytes, NwFrame *frame, NwError *error);
