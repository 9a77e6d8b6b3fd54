/* Named tensors out of any file that holds some: PyTorch's formats, TorchScript, safetensors, .npy, .npz,
 * ONNX.
 *
 * The file is mapped; tensors point into it, or into copies where they lie otherwise than we need them. Files
 * may be hostile: everything is checked, and nothing in them is run. */
#pragma once

#include "engine/io/map-file.h"
#include "engine/tensor/spec.h"

typedef struct NwWeight {
  const char *name;
  const char *dtype;  /* as torch names it, also of one that cannot be used */
  NwSpec spec;        /* only the shape counts when reason is set */
  const void *data;   /* contiguous, little-endian; may be unaligned */
  const char *reason; /* why it cannot be used, NULL: it can */
} NwWeight;

typedef struct NwWeights NwWeights;
/* The format is told from the bytes. Errors: NW_NOT_FOUND, NW_BAD_FORMAT, NW_UNSUPPORTED, NW_TOO_NEW,
 * NW_NO_MEMORY, NW_IO. */
NwStatus nw_weights_open(const char *path, NwWeights **out, NwError *error);
void nw_weights_close(NwWeights *weights); /* NULL is allowed */
const char *nw_weights_path(const NwWeights *weights);
const char *nw_weights_format(const NwWeights *weights); /* "safetensors" */
int nw_weights_count(const NwWeights *weights);
const NwWeight *nw_weights_at(const NwWeights *weights, int index); /* in the file's order */

/* For the readers of the formats. */
NwMappedFile nw_weights_map(const NwWeights *weights);
void nw_weights_set_format(NwWeights *weights, const char *format);
/* The name and dtype are copied; the data must live as long as the weights. */
NwStatus nw_weights_add(NwWeights *weights, NwWeight weight, NwError *error);
/* Memory that is freed with the weights; NULL: none. */
void *nw_weights_alloc(NwWeights *weights, size_t size);
/* Something that is closed with them. */
NwStatus nw_weights_keep(NwWeights *weights, void *thing, void (*close)(void *thing), NwError *error);
/* Puts the tensors into the order of names[0..n-1] when these are exactly their names. */
void nw_weights_sort(NwWeights *weights, const char *const *names, int n);

/* One element type into another, with rounding to nearest: float types into each other, whole types into each
 * other. False when there is no such conversion. from may be unaligned. */
bool nw_convert(NwDType from_type, const void *from, NwDType to_type, void *to, int64_t count);
