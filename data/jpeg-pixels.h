/* From JPEG coefficients to pixels, in the whole-number arithmetic of the IJG's slow DCT, fancy upsampling
 * and colour tables, so that every byte is libjpeg's. Private to jpeg-quick.c. */
#pragma once

#include "data/decoder.h"

/* Samples of one component; (x, y) is where they begin in the whole component of width × height. */
typedef struct NwJpegPlane {
  guint8 *rows;
  gsize stride;
  guint x, y, width, height;
} NwJpegPlane;

gboolean nw_jpeg_pixels_here(void); /* FALSE: not in this build */
/* coefs: multiplied out, natural order, 32-byte aligned, each within ±4095. 8 × 8 samples go to out. */
void nw_jpeg_block(const gint16 *coefs, gboolean flat, guint8 *out, gsize stride);
/* Fills the frame from planes (1 or 3); across, down: how much larger the first is than the others. lines:
 * scratch of nw_jpeg_lines_size bytes. */
void nw_jpeg_colour(const NwJpegPlane *planes, guint n, guint across, guint down, NwFrame *frame,
                    guint8 *lines);
gsize nw_jpeg_lines_size(guint width);
