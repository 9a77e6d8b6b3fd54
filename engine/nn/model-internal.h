#pragma once

#include "engine/nn/model.h"
#include "engine/nn/network-internal.h"

struct NwModel {
  NwNetwork *network;
  NwSpec input;
  int64_t classes;
  int *order;      /* block indices in the order of computation */
  int *first;      /* by block index: its first parameter */
  NwParam *params; /* names are owned */
  int n_params;
  void *memory;
  size_t bytes;
};

/* First numbers of every parameter (torch's defaults, Philox). */
void nw_model_initialise(NwModel *model, const NwParamInfo *infos, uint64_t seed);
