/* Frames: the pixels that decoders and transforms hand to each other. Private to data/. */
#pragma once

#include "data/decoder.h"
#include "data/transform.h"

/* Room for the transforms of one thread; zero at first, grows to what is needed. */
typedef struct NwWorkshop {
  NwBytes rooms[2]; /* outputs of steps, in turn */
  NwBytes rows;     /* between the passes of a resize */
  NwBytes lines;    /* four grey rows woven into one */
  NwBytes weights;  /* coefficients of a resize */
  guint turn;
} NwWorkshop;
void nw_workshop_clear(NwWorkshop *workshop);

/* Whole file into bytes. Sentences say "it": the caller puts the name before them. */
NwStatus nw_file_bytes(const char *path, NwBytes *bytes, gsize *n, NwError *error);

NwStatus nw_frame_to_picture(const NwFrame *frame, NwPicture *out, NwError *error);
/* Grey or RGB bytes, packed, to a frame in room. */
NwStatus nw_frame_from_packed(const guint8 *pixels, guint width, guint height, guint channels, NwBytes *room,
                              NwFrame *frame, NwError *error);
/* Writes the frame as packed bytes (1 or 3 channels, after the frame's), mirrored when asked. */
void nw_frame_pack(const NwFrame *frame, gboolean mirror, guint8 *out);

/* The box of `window` (in the output of a resize from width × height to out_width × out_height): which region
 * of the input is looked at. */
NwRegion nw_resize_needs(guint width, guint height, guint out_width, guint out_height,
                         const NwRegion *window);
/* Pillow's bilinear resize of a picture of width × height, of which `in` holds at least what nw_resize_needs
 * says; only window of the output is made (NULL: everything). The result lies in room. */
NwStatus nw_frame_resize(NwWorkshop *workshop, const NwFrame *in, guint width, guint height, guint out_width,
                         guint out_height, const NwRegion *window, NwBytes *room, NwFrame *out,
                         NwError *error);

/* Colour steps, in place. */
void nw_frame_brightness(NwFrame *frame, double factor);
void nw_frame_contrast(NwFrame *frame, double factor);
void nw_frame_saturation(NwFrame *frame, double factor);
void nw_frame_hue(NwFrame *frame, double factor);
void nw_frame_mirror(NwFrame *frame);

/* Runs the steps on a picture of width × height, of which frame holds at least nw_steps_need. frame becomes
 * the result (its pixels lie in the workshop, or are the input's). *mirror: a flip that is still to be done
 * by nw_frame_pack. */
NwStatus nw_steps_run(const NwStep *steps, guint n, NwWorkshop *workshop, guint width, guint height,
                      NwFrame *frame, gboolean *mirror, NwError *error);
/* nw_transform_draw of the transforms first … last - 1 of list, with the numbers they have in the whole list.
 */
NwStatus nw_transform_draw_range(const GArray *list, guint first, guint last, guint width, guint height,
                                 NwPhilox key, guint64 epoch, guint64 picture_id, NwStep *steps, guint *n,
                                 guint *out_width, guint *out_height, NwError *error);
/* Which region of the picture the steps look at. */
NwRegion nw_steps_need(const NwStep *steps, guint n, guint width, guint height);
