/* Windows of the pooling layers. */
#pragma once

#include "engine/ops/common.h"

typedef struct NwPool {
  NwDims kernel, stride, padding, dilation;
  bool ceil_mode;
} NwPool;

/* The places [first, last) of a window that lie inside [0, size); place k is at start + k·dilation. */
typedef struct NwPoolSpan {
  int64_t start, first, last;
} NwPoolSpan;

NW_INLINE NwPoolSpan nw_pool_span(const NwPool *p, int axis, int64_t at, int64_t size)
{
  int64_t d = p->dilation.v[axis], start = at * p->stride.v[axis] - p->padding.v[axis];
  /* divisions are slow, and there is seldom a gap */
  int64_t first = start >= 0 ? 0 : d == 1 ? -start : (-start + d - 1) / d;
  int64_t last = start >= size ? 0 : d == 1 ? size - start : (size - 1 - start) / d + 1;
  int64_t k = p->kernel.v[axis];
  return (NwPoolSpan){start, first < k ? first : k - 1, last < k ? last : k};
}

NW_INLINE int64_t nw_pool_place(const NwPool *p, int axis, int64_t at, int64_t place)
{
  return at * p->stride.v[axis] - p->padding.v[axis] + place * p->dilation.v[axis];
}

static inline NwStatus nw_pool_check(const NwOp *op, const NwPool *p, NwError *error)
{
  for (int i = 0; i < 2; i++)
    if (p->padding.v[i] * 2 > p->kernel.v[i])
      return nw_fail_property(error, NW_BAD_ARGUMENT, "padding",
                              "%s: padding %lld is more than half the window of %lld; make it smaller",
                              nw_op_name(op), (long long)p->padding.v[i], (long long)p->kernel.v[i]);
  return NW_OK;
}

static inline NwStatus nw_pool_infer(const NwOp *op, const NwPool *p, const NwSpec *x, NwSpec *y,
                                     NwError *error)
{
  NW_TRY(nw_infer_need_ndim(op, x, 4, error));
  NW_TRY(nw_infer_need_float(op, x, error));
  NW_TRY(nw_pool_check(op, p, error));
  NwSpec made = *x;
  for (int i = 0; i < 2; i++)
    NW_TRY(nw_infer_window(op, i ? "width" : "height", x->dims[2 + i], p->kernel.v[i], p->stride.v[i],
                           p->padding.v[i], p->dilation.v[i], p->ceil_mode, &made.dims[2 + i], error));
  *y = made;
  return NW_OK;
}
