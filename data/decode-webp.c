/* WebP: still pictures by libwebp, the first frame of animations by its demuxer. */
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "data/decoder.h"
#include "data/words.h"

typedef struct Webp {
  const guint8 *bytes;
  gsize n;
  WebPBitstreamFeatures features;
} Webp;

static NwStatus fail(VP8StatusCode code, NwError *error)
{
  switch (code) {
  case VP8_STATUS_NOT_ENOUGH_DATA:
  case VP8_STATUS_SUSPENDED:
    return nw_fail_property(error, NW_BAD_FORMAT, NW_FAULT_CUT,
                            _("the file is cut: the WebP data is not complete"));
  case VP8_STATUS_OUT_OF_MEMORY:
    return nw_fail(error, NW_NO_MEMORY, _("no memory to decode the picture"));
  default:
    return nw_fail(error, NW_BAD_FORMAT, _("the WebP data is broken"));
  }
}

static NwStatus webp_open(void **slot, const guint8 *bytes, gsize n, NwPictureInfo *info, NwError *error)
{
  Webp *state = *slot ? *slot : g_new0(Webp, 1);
  *slot = state;
  VP8StatusCode code = WebPGetFeatures(bytes, n, &state->features);
  if (code != VP8_STATUS_OK)
    return fail(code, error);
  state->bytes = bytes;
  state->n = n;
  info->width = (guint32)state->features.width;
  info->height = (guint32)state->features.height;
  info->alpha = state->features.has_alpha;
  info->animated = state->features.has_animation;
  return NW_OK;
}

static NwStatus first_frame(Webp *state, NwFrame *frame, NwError *error)
{
  WebPData data = {state->bytes, state->n};
  WebPAnimDecoderOptions options;
  WebPAnimDecoderOptionsInit(&options);
  options.color_mode = MODE_RGBA;
  WebPAnimDecoder *animation = WebPAnimDecoderNew(&data, &options);
  guint8 *pixels = NULL;
  int stamp;
  NwStatus status = NW_OK;
  if (!animation || !WebPAnimDecoderGetNext(animation, &pixels, &stamp) || !pixels)
    status = nw_fail(error, NW_BAD_FORMAT, _("the first frame of this animated WebP cannot be read"));
  else
    memcpy(frame->pixels, pixels, frame->stride * frame->height);
  WebPAnimDecoderDelete(animation);
  return status;
}

static NwStatus webp_decode(void *slot, const NwRegion *region, guint channels, NwBytes *room, NwFrame *frame,
                            NwError *error)
{
  Webp *state = slot;
  guint width = (guint)state->features.width, height = (guint)state->features.height;
  NW_TRY(nw_frame_in(room, width, height, 4, frame, error));
  if (state->features.has_animation)
    return first_frame(state, frame, error);
  WebPDecoderConfig config;
  WebPInitDecoderConfig(&config);
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = frame->pixels;
  config.output.u.RGBA.stride = (int)frame->stride;
  config.output.u.RGBA.size = frame->stride * height;
  VP8StatusCode code = WebPDecode(state->bytes, state->n, &config);
  return code == VP8_STATUS_OK ? NW_OK : fail(code, error);
}

const NwCodec nw_codec_webp = {webp_open, webp_decode, g_free};
