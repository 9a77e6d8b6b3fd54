#include "data/fetch.h"

#include "data/words.h"

void nw_fetch_clear(NwFetch *fetch)
{
  nw_decoder_free(fetch->decoder);
  fetch->decoder = NULL;
  nw_bytes_clear(&fetch->bytes);
  nw_bytes_clear(&fetch->expanded);
  nw_workshop_clear(&fetch->workshop);
}

static NwStatus draw(const NwOrder *order, guint width, guint height, NwStep *steps, guint *n, NwError *error)
{
  return nw_transform_draw_range(order->list, order->first, order->last, width, height, order->key,
                                 order->epoch, order->id, steps, n, NULL, NULL, error);
}

NwStatus nw_fetch_packed(NwFetch *fetch, const guint8 *pixels, guint width, guint height, guint has,
                         guint channels, const NwOrder *order, NwFrame *frame, gboolean *mirror,
                         NwError *error)
{
  NwStep steps[NW_STEPS_MAX];
  guint n = 0;
  gsize count = (gsize)width * height;
  NW_TRY(draw(order, width, height, steps, &n, error));
  if (has == 1 && channels == 3) {
    NW_TRY(nw_frame_in(&fetch->expanded, width, height, 4, frame, error));
    for (gsize i = 0; i < count; i++)
      for (int c = 0; c < 4; c++)
        frame->pixels[4 * i + (gsize)c] = pixels[i];
  } else {
    NW_TRY(nw_frame_from_packed(pixels, width, height, has, &fetch->expanded, frame, error));
    if (has == 3 && channels == 1) {
      nw_gray_from_rgbx(frame->pixels, frame->pixels, count);
      frame->bytes = 1;
      frame->stride = width;
    }
  }
  return nw_steps_run(steps, n, &fetch->workshop, width, height, frame, mirror, error);
}

NwStatus nw_fetch_frame(NwFetch *fetch, const NwStore *store, const NwPictureEntry *entry, guint channels,
                        const NwOrder *order, NwFrame *frame, gboolean *mirror, NwError *error)
{
  NwStep steps[NW_STEPS_MAX];
  NwPictureInfo info;
  const guint8 *bytes;
  gsize size;
  guint n = 0;
  if (store->packed.pixels)
    return nw_fetch_packed(fetch, nw_store_packed(store, entry), entry->width, entry->height,
                           store->packed.channels, channels, order, frame, mirror, error);
  if (!fetch->decoder)
    fetch->decoder = nw_decoder_new();
  NW_TRY(nw_store_read(store, entry, &fetch->bytes, &bytes, &size, error));
  NW_TRY(nw_decoder_open(fetch->decoder, bytes, size, &info, error));
  if (info.width != entry->width || info.height != entry->height)
    return nw_fail(error, NW_BAD_FORMAT, _("the picture has changed since the scan"));
  NW_TRY(draw(order, info.width, info.height, steps, &n, error));
  NwRegion need = nw_steps_need(steps, n, info.width, info.height);
  NW_TRY(nw_decoder_decode(fetch->decoder, &need, channels, frame, error));
  return nw_steps_run(steps, n, &fetch->workshop, info.width, info.height, frame, mirror, error);
}
