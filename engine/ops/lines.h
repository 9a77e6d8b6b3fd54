/* Lines along one size of a plain value, for the layers that sum along it. */
#pragma once

#include "engine/ops/common.h"

typedef struct NwLines {
  int64_t count, size, step; /* lines; numbers of one; distance between two of them */
} NwLines;

/* dim as torch counts: negative from the end. It must be there (nw_need_axis). */
NW_INLINE NwLines nw_lines(const NwSpec *x, int64_t dim)
{
  int axis = (int)(dim < 0 ? dim + x->ndim : dim);
  NwLines lines = {0, x->dims[axis], 1};
  for (int i = axis + 1; i < x->ndim; i++)
    lines.step *= x->dims[i];
  lines.count = lines.size ? nw_spec_count(x) / lines.size : 0;
  return lines;
}

/* First number of line l. */
NW_INLINE int64_t nw_line(const NwLines *lines, int64_t l)
{
  return l / lines->step * lines->size * lines->step + l % lines->step;
}

static inline NwStatus nw_need_axis(const NwOp *op, int64_t dim, const NwSpec *x, NwError *error)
{
  int64_t axis = dim < 0 ? dim + x->ndim : dim;
  if (axis < 0 || axis >= x->ndim)
    return nw_fail_property(error, NW_BAD_SHAPE, "dim",
                            "%s: the input has %d sizes, so there is no size %lld", nw_op_name(op), x->ndim,
                            (long long)dim);
  return NW_OK;
}
