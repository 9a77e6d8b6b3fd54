/* From an entry of the manifest to transformed pixels: one object a thread. Private to data/. */
#pragma once

#include "data/frame.h"
#include "data/store.h"

typedef struct NwFetch {
  NwDecoder *decoder;
  NwBytes bytes, expanded;
  NwWorkshop workshop;
} NwFetch;

void nw_fetch_clear(NwFetch *fetch);

/* One picture and the transforms first … last - 1 of a list, which draw from key, epoch and id. */
typedef struct NwOrder {
  const GArray *list;
  guint first, last;
  NwPhilox key;
  guint64 epoch, id;
} NwOrder;

/* Draws, decodes what the steps need, and runs them. frame belongs to fetch until the next call; *mirror is
 * for nw_frame_pack. NW_NOT_FOUND, NW_IO, NW_BAD_FORMAT, NW_UNSUPPORTED: the picture is at fault. */
NwStatus nw_fetch_frame(NwFetch *fetch, const NwStore *store, const NwPictureEntry *entry, guint channels,
                        const NwOrder *order, NwFrame *frame, gboolean *mirror, NwError *error);
/* The same for pixels in memory, of `has` channels. */
NwStatus nw_fetch_packed(NwFetch *fetch, const guint8 *pixels, guint width, guint height, guint has,
                         guint channels, const NwOrder *order, NwFrame *frame, gboolean *mirror,
                         NwError *error);
