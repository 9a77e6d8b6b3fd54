/* A network with numbers: parameters and buffers in one flat memory, under torch's names and in torch's order. */
#pragma once

#include "engine/graph/graph.h"
#include "engine/nn/network.h"

typedef struct NwParam {
  const char *name; /* "features.0.weight" */
  NwSpec spec;      /* plain layout, always */
  bool buffer;      /* running_mean and such: saved, not trained */
  bool frozen;
  uint32_t block;
  int port;
  void *data; /* into the model's flat memory, 64-byte aligned */
} NwParam;

typedef struct NwModel NwModel;

/* Copies the network. input: (1, channels, height, width) f32. Parameters are initialised as torch does by default, from
 * Philox (seed, NW_STREAM_INIT, parameter index). Errors as in the report of nw_network_check. */
NwStatus nw_model_new(const NwNetwork *network, const NwSpec *input, int64_t classes, uint64_t seed, NwModel **out,
                      NwError *error);
void nw_model_free(NwModel *model);
const NwNetwork *nw_model_network(const NwModel *model);
NwSpec nw_model_input(const NwModel *model);
int64_t nw_model_classes(const NwModel *model);

int nw_model_count(const NwModel *model);
NwParam *nw_model_at(NwModel *model, int index); /* state_dict order: by block order, then port order */
NwParam *nw_model_find(NwModel *model, const char *name);
int64_t nw_model_parameters(const NwModel *model); /* trainable numbers, buffers not counted */

/* Emits the network into any emitter. params[i] is the value of nw_model_at(i). training sets the ops' hidden
 * "training" attribute; each block gets its own "stream" (its index). input: (N, C, H, W). */
NwStatus nw_model_emit(NwModel *model, NwEmitter *emitter, NwVal input, const NwVal *params, bool training,
                       NwVal *logits, NwError *error);
/* The same into a graph: makes the parameter inputs (params has room for nw_model_count) and sets blocks. */
NwStatus nw_model_emit_graph(NwModel *model, NwGraph *graph, NwVal input, bool training, NwVal *params,
                             NwVal *logits, NwError *error);
