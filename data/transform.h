/* Transforms, equal to torchvision's PIL backend pixel for pixel. */
#pragma once

#include "data/picture.h"
#include "engine/base/json.h"
#include "engine/base/philox.h"

/* Names and parameters are torchvision's. */
typedef enum NwTransformKind {
  NW_RESIZE,                 /* size: shorter side, or height × width */
  NW_CENTER_CROP,            /* smaller pictures are padded with black */
  NW_RANDOM_CROP,            /* size, padding */
  NW_RANDOM_RESIZED_CROP,    /* size, scale, ratio */
  NW_RANDOM_HORIZONTAL_FLIP, /* p */
  NW_COLOR_JITTER            /* brightness, contrast, saturation, hue */
} NwTransformKind;

typedef struct NwTransform {
  NwTransformKind kind;
  int height, width; /* Resize: width 0 means `height` is the shorter side */
  int padding;
  double p;
  double scale[2], ratio[2];
  double brightness, contrast, saturation, hue;
} NwTransform;

typedef struct NwPreprocessing {
  GArray *train, *eval;          /* NwTransform */
  guint channels, height, width; /* what comes out */
  double mean[4], deviation[4];  /* Normalize, last, on the device */
} NwPreprocessing;

/* torchvision's defaults for a kind: scale (.08, 1), ratio (3/4, 4/3), p .5, no padding, no jitter. */
NwTransform nw_transform_default(NwTransformKind kind, int height, int width);
const char *nw_transform_name(NwTransformKind kind); /* "RandomResizedCrop" */
gboolean nw_transform_is_random(NwTransformKind kind);

NwPreprocessing *nw_preprocessing_new(guint channels, guint height,
                                      guint width); /* Resize to it, nothing random */
NwPreprocessing *nw_preprocessing_copy(const NwPreprocessing *preprocessing);
void nw_preprocessing_free(NwPreprocessing *preprocessing); /* NULL is allowed */
/* [{"name":"RandomResizedCrop","size":[224,224],"scale":[0.08,1]}...] under "train" and "eval", and
 * "normalize". */
NwJson *nw_preprocessing_to_json(const NwPreprocessing *preprocessing);
NwStatus nw_preprocessing_from_json(const NwJson *json, NwPreprocessing **out, NwError *error);
/* Applies list in place. key/epoch/picture give the random numbers. */
NwStatus nw_transform_apply(const GArray *list, NwPicture *picture, NwPhilox key, guint64 epoch,
                            guint64 picture_id, NwError *error);

/* What a list does to one picture once its random numbers are drawn. The numbers depend on the size of the
 * picture, the key, the epoch and the picture's id only. */
typedef enum NwStepKind {
  NW_STEP_CROP,       /* x, y may be negative, the box may reach outside: filled with 0 */
  NW_STEP_RESIZE,     /* width × height */
  NW_STEP_MIRROR,     /* left becomes right */
  NW_STEP_BRIGHTNESS, /* factor */
  NW_STEP_CONTRAST,
  NW_STEP_SATURATION,
  NW_STEP_HUE /* factor -0.5 … 0.5 */
} NwStepKind;

typedef struct NwStep {
  NwStepKind kind;
  int x, y, width, height;
  double factor;
} NwStep;

#define NW_STEPS_MAX 64 /* more are refused */

/* *n is the number of steps; the size after them goes to out_width, out_height (NULL is allowed). NW_BAD_DATA
 * when a crop is larger than the picture. */
NwStatus nw_transform_draw(const GArray *list, guint width, guint height, NwPhilox key, guint64 epoch,
                           guint64 picture_id, NwStep *steps, guint *n, guint *out_width, guint *out_height,
                           NwError *error);
NwStatus nw_steps_apply(const NwStep *steps, guint n, NwPicture *picture, NwError *error);

/* The single step, for tests against torchvision and for the preview. */
NwStatus nw_picture_resize(const NwPicture *in, guint width, guint height, NwPicture *out, NwError *error);
