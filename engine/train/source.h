/* Where the trainer gets pictures from. data/ implements it; the engine knows no folders. */
#pragma once

#include "engine/base/status.h"
#include "engine/tensor/spec.h"

typedef struct NwBatch {
  int64_t n;             /* pictures; 0: the epoch is over */
  const uint8_t *pixels; /* n × height × width × channels */
  const int64_t *labels; /* n */
  const uint32_t *index; /* n: which picture of the split, for lists of mistakes; may be NULL */
  void *slot;            /* the source's own */
} NwBatch;

/* All functions are called by one thread, the trainer's. The order of pictures and every augmentation depend
 * only on the source's seed and the epoch. */
typedef struct NwBatchSource {
  void *owner;
  int64_t count; /* pictures an epoch */
  int64_t channels, height, width, classes;
  /* Starts an epoch of batches of batch_size at batch number first_batch (resume in mid-epoch). Ends a
   * running one. */
  NwStatus (*begin)(void *owner, int64_t epoch, int64_t batch_size, int64_t first_batch, NwError *error);
  /* Blocks until a batch is there. The last one may be smaller. */
  NwStatus (*next)(void *owner, NwBatch *batch, NwError *error);
  void (*release)(void *owner, NwBatch *batch);
  void (*end)(void *owner); /* stops prefetching; the epoch is abandoned */
} NwBatchSource;
