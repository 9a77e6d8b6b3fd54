/* PNG through libpng, without gamma or colour profiles, alpha left in the fourth byte where nobody looks. */
#include <png.h>
#include <string.h>

#include "data/decoder.h"
#include "data/words.h"

typedef struct Png {
  png_structp png;
  png_infop info;
  const guint8 *next, *end;
  gboolean ended;
  guint row;
  char message[96];
} Png;

static void on_error(png_structp png, png_const_charp message)
{
  Png *state = png_get_error_ptr(png);
  g_strlcpy(state->message, message, sizeof state->message);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {}

static void read_bytes(png_structp png, png_bytep out, png_size_t n)
{
  Png *state = png_get_io_ptr(png);
  if ((size_t)(state->end - state->next) < n) {
    state->ended = TRUE;
    png_error(png, "the bytes ran out");
  }
  memcpy(out, state->next, n);
  state->next += n;
}

static void close_png(Png *state)
{
  if (state->png)
    png_destroy_read_struct(&state->png, &state->info, NULL);
  state->png = NULL;
  state->info = NULL;
}

static void png_state_free(void *state)
{
  close_png(state);
  g_free(state);
}

static NwStatus fail(Png *state, NwError *error)
{
  guint height = state->info ? png_get_image_height(state->png, state->info) : 0, row = state->row;
  close_png(state);
  if (state->ended && height > 0)
    return nw_fail_property(error, NW_BAD_FORMAT, NW_FAULT_CUT, _("the file is cut after row %u of %u"), row,
                            height);
  if (state->ended)
    return nw_fail_property(error, NW_BAD_FORMAT, NW_FAULT_CUT,
                            _("the file is cut: it ends inside its header"));
  return nw_fail(error, NW_BAD_FORMAT, _("the PNG data is broken at row %u (%s)"), row, state->message);
}

static NwStatus png_open(void **slot, const guint8 *bytes, gsize n, NwPictureInfo *info, NwError *error)
{
  Png *state = *slot ? *slot : g_new0(Png, 1);
  *slot = state;
  close_png(state);
  state->next = bytes;
  state->end = bytes + n;
  state->ended = FALSE;
  state->row = 0;
  state->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, state, on_error, on_warning);
  state->info = state->png ? png_create_info_struct(state->png) : NULL;
  if (!state->info) {
    close_png(state);
    return nw_fail(error, NW_NO_MEMORY, _("no memory to decode the picture"));
  }
  if (setjmp(png_jmpbuf(state->png)))
    return fail(state, error);
  png_set_read_fn(state->png, state, read_bytes);
  png_set_crc_action(state->png, PNG_CRC_DEFAULT, PNG_CRC_QUIET_USE);
  png_read_info(state->png, state->info);
  int type = png_get_color_type(state->png, state->info);
  info->width = png_get_image_width(state->png, state->info);
  info->height = png_get_image_height(state->png, state->info);
  info->gray = (type & (PNG_COLOR_MASK_COLOR | PNG_COLOR_MASK_PALETTE)) == 0;
  info->alpha = (type & PNG_COLOR_MASK_ALPHA) || png_get_valid(state->png, state->info, PNG_INFO_tRNS);
  info->sixteen = png_get_bit_depth(state->png, state->info) == 16;
  return NW_OK;
}

/* Asks libpng for 1 byte a pixel, or 4. */
static guint choose_transforms(Png *state, guint channels)
{
  png_structp png = state->png;
  int type = png_get_color_type(png, state->info), depth = png_get_bit_depth(png, state->info);
  gboolean gray = (type & PNG_COLOR_MASK_COLOR) == 0;
  if (depth == 16)
    png_set_strip_16(png);
  if (type == PNG_COLOR_TYPE_PALETTE)
    png_set_palette_to_rgb(png);
  else if (gray && depth < 8)
    png_set_expand_gray_1_2_4_to_8(png);
  if (gray && channels == 1) {
    png_set_strip_alpha(png);
    return 1;
  }
  if (gray)
    png_set_gray_to_rgb(png);
  if (!(type & PNG_COLOR_MASK_ALPHA) &&
      !(type == PNG_COLOR_TYPE_PALETTE && png_get_valid(png, state->info, PNG_INFO_tRNS)))
    png_set_filler(png, 0xff, PNG_FILLER_AFTER);
  return 4;
}

static NwStatus png_decode(void *slot, const NwRegion *region, guint channels, NwBytes *room, NwFrame *frame,
                           NwError *error)
{
  Png *state = slot;
  if (setjmp(png_jmpbuf(state->png)))
    return fail(state, error);
  guint bytes = choose_transforms(state, channels);
  int passes = png_set_interlace_handling(state->png);
  png_read_update_info(state->png, state->info);
  guint width = png_get_image_width(state->png, state->info),
        height = png_get_image_height(state->png, state->info);
  if (png_get_rowbytes(state->png, state->info) != (gsize)width * bytes) {
    close_png(state);
    return nw_fail(error, NW_INTERNAL, "libpng gives rows of another size than asked for");
  }
  NwStatus status = nw_frame_in(room, width, height, bytes, frame, error);
  guint last = passes > 1 ? height : region->y + region->height; /* rows below the region are not needed */
  for (int pass = 0; status == NW_OK && pass < passes; pass++)
    for (state->row = 0; state->row < last; state->row++)
      png_read_row(state->png, frame->pixels + state->row * frame->stride, NULL);
  close_png(state);
  frame->height = last;
  return status;
}

const NwCodec nw_codec_png = {png_open, png_decode, png_state_free};
