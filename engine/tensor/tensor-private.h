/* The inside of a tensor, for the tape. */
#pragma once

#include <stdatomic.h>

#include "engine/tensor/tensor.h"

typedef struct NwStorage {
  _Atomic int refs;
  _Atomic uint32_t version; /* changes in place so far */
  size_t bytes;
  void *data;
} NwStorage;

struct NwTensor {
  _Atomic int refs;
  NwSpec spec;
  NwStorage *storage;
  /* The tape's part (engine/autograd). */
  bool requires_grad;
  NwTensor *grad;
  void *record; /* what made it; NULL: a leaf */
  int record_output;
};

/* Called with the record of a tensor that goes away; set by the tape, so that tensor/ knows no autograd. */
extern void (*nw_tensor_record_release)(void *record);

/* Another handle on the same storage, without history. */
NwStatus nw_tensor_alias(NwTensor *tensor, const NwSpec *spec, NwTensor **out, NwError *error);
