/* A reference-counted tensor: a cheap handle over counted storage, with the fields autograd needs.
 *
 * Tensors are row-major and contiguous in this engine's tape; views that share storage come from nw_tensor_reshape and
 * nw_tensor_detach. Reading from many threads is safe; writing needs the caller's order. */
#pragma once

#include "engine/base/status.h"
#include "engine/tensor/spec.h"

typedef struct NwTensor NwTensor;

/* All give a new reference in *out (free with nw_tensor_unref), NULL on failure. Errors: NW_NO_MEMORY, NW_BAD_SHAPE. */
NwStatus nw_tensor_new(const NwSpec *spec, NwTensor **out, NwError *error); /* zeros */
NwStatus nw_tensor_from(const NwSpec *spec, const void *data, NwTensor **out, NwError *error); /* copies data */
NwStatus nw_tensor_full(const NwSpec *spec, double value, NwTensor **out, NwError *error);
/* Same storage, other shape, no history; the counts must agree. */
NwStatus nw_tensor_reshape(NwTensor *tensor, int ndim, const int64_t *dims, NwTensor **out, NwError *error);
/* Same storage, no history. */
NwStatus nw_tensor_detach(NwTensor *tensor, NwTensor **out, NwError *error);
NwStatus nw_tensor_copy(NwTensor *tensor, NwTensor **out, NwError *error);

NwTensor *nw_tensor_ref(NwTensor *tensor);
void nw_tensor_unref(NwTensor *tensor); /* NULL is allowed */

const NwSpec *nw_tensor_spec(const NwTensor *tensor);
/* The numbers for reading. */
const void *nw_tensor_data(const NwTensor *tensor);
/* The numbers for writing: counts as a change in place, so that a backward which still needs the old numbers fails
 * with a sentence instead of computing something else (torch's version counter). */
void *nw_tensor_write(NwTensor *tensor);
uint32_t nw_tensor_version(const NwTensor *tensor);
/* The single number of a one-element tensor of any dtype; NaN otherwise. */
double nw_tensor_item(const NwTensor *tensor);
