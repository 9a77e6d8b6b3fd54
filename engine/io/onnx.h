/* ONNX: networks written from the op rows, and files read as lists of weights. */
#pragma once

#include "engine/base/json.h"
#include "engine/io/weights.h"
#include "engine/nn/model.h"

typedef struct NwOnnxOptions {
  int opset;                  /* 13 or 17 (0: 17) */
  const char *const *notes;   /* metadata: key and text in pairs, ending in NULL; may be NULL */
  uint64_t external_at_least; /* numbers go into FILE.data beside it from this many bytes on; 0: 1.9 GB, what
                                 protobuf allows */
} NwOnnxOptions;

/* Writes the model, atomically; "input" takes normalised f32 N×C×H×W, "logits" is N×classes, N is free.
 * Refused by name: blocks whose op has no ONNX. Equal models, equal bytes. */
NwStatus nw_onnx_write(const char *path, NwModel *model, const NwOnnxOptions *options, NwError *error);

/* For nw_weights_open: initializers; also those in a data file beside the model, never elsewhere. */
bool nw_onnx_is(const uint8_t *bytes, size_t n);
NwStatus nw_onnx_read(NwWeights *weights, NwError *error);
