/* JPEG through libjpeg-turbo with the settings that give Pillow's pixels: slow integer DCT, fancy upsampling.
 * A region is decoded alone: the columns by jpeg_crop_scanline, widened so that chroma upsampling sees its
 * neighbours, the rows above by one jpeg_skip_scanlines at the very start (later ones are broken in some
 * versions), the rows below not at all. */
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>
#include <setjmp.h>
#include <string.h>

#include "data/decoder.h"
#include "data/jpeg-quick.h"
#include "data/words.h"

#define SIDE 2 /* columns beyond the region, left and right */

typedef struct Jpeg {
  struct jpeg_decompress_struct d;
  NwJpegQuick *quick;
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr source;
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  int code;
  guint warnings;
  gboolean ended; /* the bytes ran out */
  gboolean cut;   /* and data was missing when they did */
  guint cut_row;
} Jpeg;

static void on_error(j_common_ptr c)
{
  Jpeg *jpeg = c->client_data;
  c->err->format_message(c, jpeg->message);
  jpeg->code = c->err->msg_code;
  longjmp(jpeg->jump, 1);
}

static void on_message(j_common_ptr c, int level)
{
  Jpeg *jpeg = c->client_data;
  if (level >= 0)
    return;
  jpeg->warnings++;
  if (jpeg->ended && !jpeg->cut && c->err->msg_code == JWRN_HIT_MARKER) {
    jpeg->cut = TRUE;
    jpeg->cut_row = jpeg->d.output_scanline;
  }
}

static void on_output(j_common_ptr c) {}

static void source_nothing(j_decompress_ptr d) {}

static boolean source_fill(j_decompress_ptr d)
{
  static const JOCTET end[2] = {0xff, JPEG_EOI};
  Jpeg *jpeg = d->client_data;
  jpeg->ended = TRUE;
  d->src->next_input_byte = end;
  d->src->bytes_in_buffer = 2;
  return TRUE;
}

static void source_skip(j_decompress_ptr d, long n)
{
  if (n <= 0)
    return;
  if ((size_t)n > d->src->bytes_in_buffer) {
    source_fill(d);
  } else {
    d->src->next_input_byte += n;
    d->src->bytes_in_buffer -= (size_t)n;
  }
}

static Jpeg *jpeg_new(void)
{
  Jpeg *jpeg = g_new0(Jpeg, 1);
  jpeg->d.err = jpeg_std_error(&jpeg->errors);
  jpeg->errors.error_exit = on_error;
  jpeg->errors.emit_message = on_message;
  jpeg->errors.output_message = on_output;
  jpeg->d.client_data = jpeg;
  if (setjmp(jpeg->jump)) {
    g_free(jpeg);
    return NULL;
  }
  jpeg_create_decompress(&jpeg->d);
  jpeg->d.client_data = jpeg;
  jpeg->source = (struct jpeg_source_mgr){
      NULL, 0, source_nothing, source_fill, source_skip, jpeg_resync_to_restart, source_nothing};
  jpeg->d.src = &jpeg->source;
  return jpeg;
}

static void jpeg_state_free(void *state)
{
  Jpeg *jpeg = state;
  jpeg_destroy_decompress(&jpeg->d);
  nw_jpeg_quick_free(jpeg->quick);
  g_free(jpeg);
}

static NwStatus fail(Jpeg *jpeg, NwError *error)
{
  jpeg_abort_decompress(&jpeg->d);
  switch (jpeg->code) {
  case JERR_OUT_OF_MEMORY:
    return nw_fail(error, NW_NO_MEMORY, _("no memory to decode the picture"));
  case JERR_BAD_PRECISION:
    return nw_fail(error, NW_UNSUPPORTED,
                   _("this JPEG has more than 8 bits a channel; save it again with 8"));
  case JERR_SOF_UNSUPPORTED:
    return nw_fail(error, NW_UNSUPPORTED,
                   _("this JPEG is lossless or of another unusual kind; save it again"));
  case JERR_ARITH_NOTIMPL:
    return nw_fail(error, NW_UNSUPPORTED,
                   _("this JPEG uses arithmetic coding, which the library here cannot read"));
  default:
    break;
  }
  if (jpeg->ended)
    return nw_fail_property(error, NW_BAD_FORMAT, NW_FAULT_CUT,
                            _("the file is cut: it ends inside its header"));
  return nw_fail(error, NW_BAD_FORMAT, _("the JPEG data is broken (%s)"), jpeg->message);
}

static NwStatus jpeg_open(void **state, const guint8 *bytes, gsize n, NwPictureInfo *info, NwError *error)
{
  Jpeg *jpeg = *state ? *state : jpeg_new();
  if (!jpeg)
    return nw_fail(error, NW_NO_MEMORY, _("no memory to decode the picture"));
  *state = jpeg;
  jpeg->warnings = 0;
  jpeg->ended = jpeg->cut = FALSE;
  jpeg->code = 0;
  if (setjmp(jpeg->jump))
    return fail(jpeg, error);
  jpeg_abort_decompress(&jpeg->d);
  jpeg->source.next_input_byte = bytes;
  jpeg->source.bytes_in_buffer = n;
  jpeg_read_header(&jpeg->d, TRUE);
  info->width = jpeg->d.image_width;
  info->height = jpeg->d.image_height;
  info->gray = jpeg->d.num_components == 1;
  info->progressive = jpeg->d.progressive_mode;
  return NW_OK;
}

/* Pillow takes every CMYK JPEG as inverted, as Adobe writes them. */
static void rgbx_from_cmyk(guint8 *p, guint n)
{
  for (guint i = 0; i < n; i++, p += 4)
    for (int c = 0; c < 3; c++) {
      guint t = (guint)p[c] * p[3] + 128;
      p[c] = (guint8)(((t >> 8) + t) >> 8);
    }
}

/* All bits of all coefficients are there: only the end marker was missing. */
static gboolean scans_complete(const Jpeg *jpeg)
{
  if (!jpeg->d.progressive_mode || !jpeg->d.coef_bits)
    return TRUE;
  for (int c = 0; c < jpeg->d.num_components; c++)
    for (int k = 0; k < DCTSIZE2; k++)
      if (jpeg->d.coef_bits[c][k] != 0)
        return FALSE;
  return TRUE;
}

static NwStatus choose_colours(Jpeg *jpeg, guint channels, NwError *error)
{
  struct jpeg_decompress_struct *d = &jpeg->d;
  switch (d->num_components) {
  case 1:
    d->out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_EXT_RGBX;
    break;
  case 3:
    d->out_color_space = JCS_EXT_RGBX;
    break;
  case 4:
    d->out_color_space = JCS_CMYK;
    break;
  default:
    jpeg_abort_decompress(d);
    return nw_fail(error, NW_UNSUPPORTED, _("this JPEG has %d colour components; 1, 3 and 4 can be read"),
                   d->num_components);
  }
  d->dct_method = JDCT_ISLOW;
  d->do_fancy_upsampling = TRUE;
  return NW_OK;
}

static NwStatus jpeg_decode(void *state, const NwRegion *region, guint channels, NwBytes *room,
                            NwFrame *frame, NwError *error)
{
  Jpeg *jpeg = state;
  struct jpeg_decompress_struct *d = &jpeg->d;
  if (nw_jpeg_quick(&jpeg->quick, d, region, channels, room, frame)) {
    jpeg_abort_decompress(d);
    return NW_OK;
  }
  NW_TRY(choose_colours(jpeg, channels, error));
  if (setjmp(jpeg->jump))
    return fail(jpeg, error);
  jpeg_start_decompress(d);
  /* Four components and arithmetic coding take the whole picture: rare, and not worth the risk. */
  gboolean whole = d->num_components == 4 || d->arith_code;
  guint top = whole ? 0 : region->y, bottom = whole ? d->output_height : region->y + region->height;
  JDIMENSION left = 0, wide = d->output_width;
  if (!whole) {
    guint right = MIN(region->x + region->width + SIDE, d->output_width);
    left = region->x > SIDE ? region->x - SIDE : 0;
    wide = right - left;
    if (left > 0 || right < d->output_width)
      jpeg_crop_scanline(d, &left, &wide);
  }
  guint bytes = d->out_color_space == JCS_GRAYSCALE ? 1 : 4;
  NwStatus status = nw_frame_in(room, wide, bottom - top, bytes, frame, error);
  if (status != NW_OK) {
    jpeg_abort_decompress(d);
    return status;
  }
  frame->x = left;
  frame->y = top;
  if (top > 0)
    jpeg_skip_scanlines(d, top);
  while (d->output_scanline < bottom) {
    JSAMPROW rows[16];
    guint first = d->output_scanline - top, n = MIN(bottom - d->output_scanline, 16u);
    for (guint i = 0; i < n; i++)
      rows[i] = frame->pixels + (first + i) * frame->stride;
    if (jpeg_read_scanlines(d, rows, n) == 0)
      break;
  }
  if (jpeg->cut && !d->progressive_mode)
    nw_fail_property(error, NW_BAD_FORMAT, NW_FAULT_CUT, _("the file is cut after row %u of %u"),
                     jpeg->cut_row, d->output_height);
  else if (jpeg->cut || (jpeg->ended && !scans_complete(jpeg)))
    nw_fail_property(error, NW_BAD_FORMAT, NW_FAULT_CUT,
                     _("the file is cut: the last parts of this progressive JPEG are missing"));
  gboolean bad = jpeg->cut || (jpeg->ended && !scans_complete(jpeg));
  if (!bad && d->output_scanline == d->output_height)
    jpeg_finish_decompress(d); /* tells whether the end marker is there */
  jpeg_abort_decompress(d);
  if (bad)
    return NW_BAD_FORMAT;
  if (d->out_color_space == JCS_CMYK)
    rgbx_from_cmyk(frame->pixels, frame->width * frame->height);
  return NW_OK;
}

gboolean nw_codec_jpeg_lacks_end(const void *state)
{
  return ((const Jpeg *)state)->ended;
}

const NwCodec nw_codec_jpeg = {jpeg_open, jpeg_decode, jpeg_state_free};
