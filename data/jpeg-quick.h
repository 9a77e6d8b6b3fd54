/* The common kind of JPEG, decoded with AVX2 faster than libjpeg-turbo does and to the same bytes: baseline,
 * Huffman, 8 bits, grey or YCbCr with whole, half-width or quarter colour. Only the region is transformed;
 * what lies outside is only walked through. libjpeg reads the header; anything unusual, broken or cut is left
 * to it. Private to data/. */
#pragma once

#include <stdio.h>

#include <jpeglib.h>

#include "data/decoder.h"

typedef struct NwJpegQuick NwJpegQuick;

/* d: after jpeg_read_header, nothing started; it is only read. FALSE: libjpeg has to do it. frame covers
 * exactly the region and lies in room. */
gboolean nw_jpeg_quick(NwJpegQuick **state, const struct jpeg_decompress_struct *d, const NwRegion *region,
                       guint channels, NwBytes *room, NwFrame *frame);
void nw_jpeg_quick_free(NwJpegQuick *state);
