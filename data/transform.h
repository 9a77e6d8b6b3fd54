/* Transforms, equal to torchvision's PIL backend pixel for pixel. */
#pragma once

#include "data/picture.h"
#include "engine/base/json.h"
#include "engine/base/philox.h"

/* Names and parameters are torchvision's. */
typedef enum NwTransformKind {
  NW_RESIZE,               /* size: shorter side, or height × width */
  NW_CENTER_CROP,
  NW_RANDOM_CROP,          /* size, padding */
  NW_RANDOM_RESIZED_CROP,  /* size, scale, ratio */
  NW_RANDOM_HORIZONTAL_FLIP,
  NW_COLOR_JITTER          /* brightness, contrast, saturation, hue */
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
  GArray *train, *eval; /* NwTransform */
  guint channels, height, width; /* what comes out */
  double mean[4], deviation[4];  /* Normalize, last, on the device */
} NwPreprocessing;

NwPreprocessing *nw_preprocessing_new(guint channels, guint height, guint width); /* Resize to it, nothing random */
NwPreprocessing *nw_preprocessing_copy(const NwPreprocessing *preprocessing);
void nw_preprocessing_free(NwPreprocessing *preprocessing);
/* [{"name":"RandomResizedCrop","size":[224,224],"scale":[0.08,1]}...] under "train" and "eval", and "normalize". */
NwJson *nw_preprocessing_to_json(const NwPreprocessing *preprocessing);
NwStatus nw_preprocessing_from_json(const NwJson *json, NwPreprocessing **out, NwError *error);
/* Applies list in place. key/epoch/picture give the random numbers; random transforms in an eval list are refused. */
NwStatus nw_transform_apply(const GArray *list, NwPicture *picture, NwPhilox key, guint64 epoch, guint64 picture_id,
                            NwError *error);
/* The single steps, for tests against torchvision and for the preview. */
NwStatus nw_picture_resize(const NwPicture *in, guint width, guint height, NwPicture *out, NwError *error);
