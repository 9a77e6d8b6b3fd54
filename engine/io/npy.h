/* NumPy's .npy (one array) and .npz (a zip of them). */
#pragma once

#include "engine/io/weights.h"
#include "engine/nn/model.h"

/* For nw_weights_open. An .npy array is named after its file. */
NwStatus nw_npy_read(NwWeights *weights, NwError *error);
/* Is this zip an .npz? (Its first record ends in .npy.) */
bool nw_npz_is(const NwWeights *weights);
NwStatus nw_npz_read(NwWeights *weights, NwError *error);

/* The model's parameters and buffers as .npz, atomically; numpy.load opens it. */
NwStatus nw_npz_write(const char *path, NwModel *model, NwError *error);
