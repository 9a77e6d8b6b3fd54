/* The threaded loader: decodes, transforms, and hands batches of uint8 NHWC to the trainer in an order that depends only on
 * seed and epoch. Small sets (≤ 64×64) are decoded once into memory. A picture that cannot be read in the run is replaced
 * by another of its class, counted and listed (rule R3). */
#pragma once

#include "data/manifest.h"
#include "data/transform.h"
#include "engine/train/source.h"

typedef struct NwLoader NwLoader;

/* training: shuffled, train transforms; else in order, eval transforms. threads 0: as many as help. manifest and
 * preprocessing are borrowed and must stay. */
NwStatus nw_loader_new(const NwManifest *manifest, NwSplit split, const NwPreprocessing *preprocessing, gboolean training,
                       guint64 seed, guint threads, NwLoader **out, NwError *error);
void nw_loader_free(NwLoader *loader);
NwBatchSource *nw_loader_source(NwLoader *loader); /* owned by the loader */
guint nw_loader_replaced(NwLoader *loader);        /* pictures that had to be replaced so far */
/* Mean and deviation of each channel of the training split after the eval transforms, in [0, 1]; every picture counts
 * (sampled evenly above 2,000). */
NwStatus nw_loader_statistics(const NwManifest *manifest, const NwPreprocessing *preprocessing, double mean[4],
                              double deviation[4], NwError *error);
/* One picture of the set, decoded to the preprocessing's channels, before transforms. */
NwStatus nw_manifest_picture(const NwManifest *manifest, guint index, guint channels, NwPicture *out, NwError *error);
