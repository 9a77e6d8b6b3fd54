#include "data/decoder.h"

#include <string.h>

#include "data/frame.h"
#include "data/words.h"

enum { SLOT_JPEG, SLOT_PNG, SLOT_WEBP, SLOT_PIXBUF, SLOTS };

static const NwCodec *const codecs[SLOTS] = {&nw_codec_jpeg, &nw_codec_png, &nw_codec_webp, &nw_codec_pixbuf};

struct NwDecoder {
  void *states[SLOTS];
  int slot; /* of the open picture; -1: none */
  NwPictureInfo info;
  NwBytes room, narrow;
};

gboolean nw_bytes_need(NwBytes *bytes, gsize n)
{
  if (bytes->room >= n + 64)
    return TRUE;
  gsize room = n + n / 4 + 128;
  g_free(bytes->data);
  bytes->data = g_try_malloc(room);
  bytes->room = bytes->data ? room : 0;
  return bytes->data != NULL;
}

void nw_bytes_clear(NwBytes *bytes)
{
  g_free(bytes->data);
  bytes->data = NULL;
  bytes->room = 0;
}

NwStatus nw_check_size(guint32 width, guint32 height, NwError *error)
{
  if (width == 0 || height == 0)
    return nw_fail(error, NW_BAD_FORMAT, _("the picture has no pixels"));
  if ((guint64)width * height > NW_PICTURE_PIXELS_MAX)
    return nw_fail_property(error, NW_UNSUPPORTED, NW_FAULT_LARGE,
                            _("the picture is %u × %u pixels; the limit is %u million"), width, height,
                            NW_PICTURE_PIXELS_MAX / 1000000u);
  return NW_OK;
}

NwStatus nw_frame_in(NwBytes *room, guint width, guint height, guint bytes, NwFrame *frame, NwError *error)
{
  gsize size = (gsize)width * height * bytes;
  if (!nw_bytes_need(room, size))
    return nw_fail(error, NW_NO_MEMORY, _("no memory for a picture of %u × %u pixels"), width, height);
  *frame = (NwFrame){room->data, (gsize)width * bytes, width, height, bytes, 0, 0};
  return NW_OK;
}

void nw_gray_from_rgbx(const guint8 *in, guint8 *out, gsize n)
{
  for (gsize i = 0; i < n; i++)
    out[i] = (guint8)((in[4 * i] * 19595u + in[4 * i + 1] * 38470u + in[4 * i + 2] * 7471u + 0x8000u) >> 16);
}

NwDecoder *nw_decoder_new(void)
{
  NwDecoder *decoder = g_new0(NwDecoder, 1);
  decoder->slot = -1;
  return decoder;
}

void nw_decoder_free(NwDecoder *decoder)
{
  if (!decoder)
    return;
  for (int i = 0; i < SLOTS; i++)
    if (decoder->states[i])
      codecs[i]->free(decoder->states[i]);
  nw_bytes_clear(&decoder->room);
  nw_bytes_clear(&decoder->narrow);
  g_free(decoder);
}

static int slot_of(NwPictureFormat format)
{
  switch (format) {
  case NW_FORMAT_JPEG:
    return SLOT_JPEG;
  case NW_FORMAT_PNG:
    return SLOT_PNG;
  case NW_FORMAT_WEBP:
    return SLOT_WEBP;
  case NW_FORMAT_BMP:
  case NW_FORMAT_GIF:
  case NW_FORMAT_TIFF:
  case NW_FORMAT_PNM:
    return SLOT_PIXBUF;
  default:
    return -1;
  }
}

NwStatus nw_decoder_open(NwDecoder *decoder, const guint8 *bytes, gsize n, NwPictureInfo *info,
                         NwError *error)
{
  memset(info, 0, sizeof *info);
  info->orientation = 1;
  info->format = nw_picture_sniff(bytes, n);
  decoder->slot = -1;
  if (n == 0)
    return nw_fail(error, NW_BAD_FORMAT, _("the file is empty"));
  int slot = slot_of(info->format);
  if (slot < 0)
    return nw_fail(error, NW_BAD_FORMAT, _("this is not a picture that can be read"));
  NW_TRY(codecs[slot]->open(&decoder->states[slot], bytes, n, info, error));
  NW_TRY(nw_check_size(info->width, info->height, error));
  decoder->slot = slot;
  decoder->info = *info;
  return NW_OK;
}

NwStatus nw_decoder_decode(NwDecoder *decoder, const NwRegion *region, guint channels, NwFrame *frame,
                           NwError *error)
{
  NwRegion whole = {0, 0, decoder->info.width, decoder->info.height};
  if (decoder->slot < 0)
    return nw_fail(error, NW_BAD_STATE, "no picture is open");
  int slot = decoder->slot;
  decoder->slot = -1;
  memset(frame, 0, sizeof *frame);
  NW_TRY(codecs[slot]->decode(decoder->states[slot], region ? region : &whole, channels, &decoder->room,
                              frame, error));
  if (channels != 1 || frame->bytes == 1)
    return NW_OK;
  NwFrame gray;
  NW_TRY(nw_frame_in(&decoder->narrow, frame->width, frame->height, 1, &gray, error));
  gray.x = frame->x;
  gray.y = frame->y;
  for (guint y = 0; y < frame->height; y++)
    nw_gray_from_rgbx(frame->pixels + y * frame->stride, gray.pixels + y * gray.stride, frame->width);
  *frame = gray;
  return NW_OK;
}

gboolean nw_decoder_lacks_end(const NwDecoder *decoder)
{
  return decoder->info.format == NW_FORMAT_JPEG && decoder->states[SLOT_JPEG] &&
         nw_codec_jpeg_lacks_end(decoder->states[SLOT_JPEG]);
}
