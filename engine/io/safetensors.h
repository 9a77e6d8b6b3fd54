/* Hugging Face's safetensors: a JSON header and raw little-endian numbers. */
#pragma once

#include "engine/io/weights.h"
#include "engine/nn/model.h"

/* Writes the model's parameters and buffers atomically; the state dict's order is kept in the metadata, for
 * the format sorts tensors by their alignment. dtype: NW_F32 as they are, or NW_F16: f32 tensors are rounded.
 * Equal models, equal bytes. */
NwStatus nw_safetensors_write(const char *path, NwModel *model, NwDType dtype, NwError *error);

/* Reads what lies mapped in `weights`, for nw_weights_open. */
NwStatus nw_safetensors_read(NwWeights *weights, NwError *error);
