/* The threaded loader: decodes, transforms, and hands batches of uint8 NHWC to the trainer in an order that
 * depends only on seed and epoch, never on the number of threads. Pictures that are small (≤ 64×64) behind
 * the transforms that are not random are kept in memory from the first time they are needed. A picture that
 * cannot be read in the run is replaced by the next one of its class that can, counted and listed (rule R3);
 * only a class with nothing left to read, or a root that has gone, ends the run with a sentence. */
#pragma once

#include "data/manifest.h"
#include "data/transform.h"
#include "engine/train/source.h"

typedef struct NwLoader NwLoader;

/* training: shuffled, train transforms; else in order, eval transforms. threads 0: as many as help. manifest
 * and preprocessing are borrowed and must stay (also unchanged) until nw_loader_free. NW_BAD_DATA: no picture
 * in the split, or a crop larger than a picture; NW_BAD_ARGUMENT: the transforms do not end at the
 * preprocessing's size. */
NwStatus nw_loader_new(const NwManifest *manifest, NwSplit split, const NwPreprocessing *preprocessing,
                       gboolean training, guint64 seed, guint threads, NwLoader **out, NwError *error);
void nw_loader_free(NwLoader *loader); /* at any moment; NULL is allowed */
/* Owned by the loader. NwBatch.index counts within the split, in the manifest's order; a replaced picture has
 * the index of the one that is shown instead. Up to three batches may be held at once. */
NwBatchSource *nw_loader_source(NwLoader *loader);
/* Pictures that had to be replaced so far, each counted once; any thread. */
guint nw_loader_replaced(NwLoader *loader);
/* The same as a list of sentences, char * (g_ptr_array_unref); any thread. */
GPtrArray *nw_loader_replaced_texts(NwLoader *loader);
/* Position in manifest->pictures of the index-th picture of the loader's split. */
guint nw_loader_picture(NwLoader *loader, guint32 index);
/* Mean and deviation of each channel of the training split after the eval transforms, in [0, 1]; every
 * picture counts (files are sampled evenly above 2,000). Pictures that cannot be read are passed over. */
NwStatus nw_loader_statistics(const NwManifest *manifest, const NwPreprocessing *preprocessing,
                              double mean[4], double deviation[4], NwError *error);
/* One picture of the set, decoded to the preprocessing's channels, before transforms. */
NwStatus nw_manifest_picture(const NwManifest *manifest, guint index, guint channels, NwPicture *out,
                             NwError *error);
