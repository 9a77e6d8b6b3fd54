/* The same numbers under other sizes, for gradient rules and composites. */
#pragma once

#include "engine/ops/common.h"

typedef struct NwView {
  int64_t ndim, dims[NW_MAX_DIMS];
} NwView;

/* Emits a view of value with these sizes; in a plan it costs nothing where the value dies there. */
static inline NwStatus nw_emit_view(NwEmitter *emitter, NwVal value, int ndim, const int64_t *dims,
                                    NwVal *out, NwError *error)
{
  NwView view = {.ndim = ndim};
  memcpy(view.dims, dims, sizeof *dims * (size_t)ndim);
  return nw_emit_id(emitter, "view", &view, &value, 1, out, error);
}

/* For gradient rules: dy under the sizes that input 0 had. */
static inline NwStatus nw_view_back(NwGrad *g, NwError *error)
{
  return nw_emit_view(g->emitter, g->dout[0], g->in_spec[0].ndim, g->in_spec[0].dims, &g->din[0], error);
}
