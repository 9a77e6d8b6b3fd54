/* A graph of ops under construction: inputs, nodes, and their gradients as more nodes.
 *
 * Nodes are appended in an order in which every value is made before it is read. A value handle (NwVal) stays valid for
 * the graph's life. Used by one thread at a time. */
#pragma once

#include "engine/op/op.h"

typedef struct NwGraph NwGraph;

NwStatus nw_graph_new(NwGraph **out, NwError *error);
void nw_graph_free(NwGraph *graph); /* NULL is allowed */

typedef enum NwInputKind {
  NW_INPUT_DATA,  /* changes every run: pictures, labels, learning rate */
  NW_INPUT_PARAM, /* weights: bound once; frozen in evaluation plans */
  NW_INPUT_STATE  /* buffers changed in place */
} NwInputKind;
/* name is copied ("features.0.weight"). wants_grad: gradients may be asked for. */
NwStatus nw_graph_input(NwGraph *graph, const char *name, const NwSpec *spec, NwInputKind kind, bool wants_grad,
                        NwVal *out, NwError *error);
/* Appends op (composites are expanded). Nodes remember the current block for errors and the profiler. */
NwStatus nw_graph_emit(NwGraph *graph, const NwOp *op, const void *attrs, const NwVal *in, int n_in, NwVal *out,
                       NwError *error);
void nw_graph_set_block(NwGraph *graph, uint32_t block);
NwEmitter *nw_graph_emitter(NwGraph *graph);
NwSpec nw_graph_spec(const NwGraph *graph, NwVal value);
/* Gradients of the scalar `loss` for wrt[0..n-1] into grads (absent where nothing flows). Appends nodes. */
NwStatus nw_graph_grad(NwGraph *graph, NwVal loss, const NwVal *wrt, int n, NwVal *grads, NwError *error);
