/* BMP, GIF (first frame), TIFF and PNM through gdk-pixbuf: rare among training sets, so whole and unhurried.
 */
#include <gdk-pixbuf/gdk-pixbuf.h>
#include <string.h>

#include "data/decoder.h"
#include "data/words.h"

typedef struct Pix {
  GdkPixbuf *pixbuf;
  guint width, height; /* as the header says */
} Pix;

static void on_size(GdkPixbufLoader *loader, int width, int height, gpointer data)
{
  Pix *state = data;
  state->width = (guint)MAX(width, 0);
  state->height = (guint)MAX(height, 0);
  /* A loader cannot be told to stop here; a size of 0 makes it refuse before it takes memory. */
  if ((guint64)state->width * state->height > NW_PICTURE_PIXELS_MAX)
    gdk_pixbuf_loader_set_size(loader, 0, 0);
}

static NwStatus pix_open(void **slot, const guint8 *bytes, gsize n, NwPictureInfo *info, NwError *error)
{
  Pix *state = *slot ? *slot : g_new0(Pix, 1);
  *slot = state;
  g_clear_object(&state->pixbuf);
  state->width = state->height = 0;
  GdkPixbufLoader *loader = gdk_pixbuf_loader_new();
  GError *problem = NULL;
  g_signal_connect(loader, "size-prepared", G_CALLBACK(on_size), state);
  gboolean fine = gdk_pixbuf_loader_write(loader, bytes, n, &problem);
  if (!gdk_pixbuf_loader_close(loader, fine ? &problem : NULL))
    fine = FALSE;
  if (fine && gdk_pixbuf_loader_get_pixbuf(loader))
    state->pixbuf = g_object_ref(gdk_pixbuf_loader_get_pixbuf(loader));
  g_object_unref(loader);
  NwStatus status = NW_OK;
  if (state->width > 0 && state->height > 0)
    status = nw_check_size(state->width, state->height, error);
  if (status == NW_OK && !state->pixbuf)
    status = nw_fail(error, NW_BAD_FORMAT, _("this %s file is cut or broken (%s)"),
                     nw_picture_format_name(info->format), problem ? problem->message : "?");
  g_clear_error(&problem);
  if (status != NW_OK)
    return status;
  info->width = (guint32)gdk_pixbuf_get_width(state->pixbuf);
  info->height = (guint32)gdk_pixbuf_get_height(state->pixbuf);
  info->alpha = gdk_pixbuf_get_has_alpha(state->pixbuf);
  return NW_OK;
}

static NwStatus pix_decode(void *slot, const NwRegion *region, guint channels, NwBytes *room, NwFrame *frame,
                           NwError *error)
{
  Pix *state = slot;
  guint width = (guint)gdk_pixbuf_get_width(state->pixbuf),
        height = (guint)gdk_pixbuf_get_height(state->pixbuf);
  guint n = (guint)gdk_pixbuf_get_n_channels(state->pixbuf);
  const guint8 *in = gdk_pixbuf_read_pixels(state->pixbuf);
  gsize stride = (gsize)gdk_pixbuf_get_rowstride(state->pixbuf);
  NwStatus status = nw_frame_in(room, width, height, 4, frame, error);
  for (guint y = 0; status == NW_OK && y < height; y++)
    for (guint x = 0; x < width; x++)
      memcpy(frame->pixels + y * frame->stride + 4 * x, in + y * stride + (gsize)n * x, MIN(n, 4));
  g_clear_object(&state->pixbuf);
  return status;
}

static void pix_free(void *slot)
{
  Pix *state = slot;
  g_clear_object(&state->pixbuf);
  g_free(state);
}

const NwCodec nw_codec_pixbuf = {pix_open, pix_decode, pix_free};
