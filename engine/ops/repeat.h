/* A smaller value that is repeated along its sizes of 1, and along sizes that it lacks in front, as torch
 * does. */
#pragma once

#include "engine/ops/common.h"

/* Size of `other` that meets size d of x. */
NW_INLINE int64_t nw_repeat_met(const NwSpec *x, const NwSpec *other, int d)
{
  int back = x->ndim - d;
  return back > other->ndim ? 1 : other->dims[other->ndim - back];
}

static inline bool nw_repeats(const NwSpec *x, const NwSpec *other)
{
  bool fits = other->ndim >= 0 && other->ndim <= x->ndim && other->dtype == x->dtype;
  for (int d = 0; fits && d < x->ndim; d++)
    fits = nw_repeat_met(x, other, d) == 1 || nw_repeat_met(x, other, d) == x->dims[d];
  return fits;
}

/* Place in `other` of number i of x. */
NW_INLINE int64_t nw_repeat_place(const NwSpec *x, const NwSpec *other, int64_t i)
{
  int64_t at = 0, step = 1, n = nw_spec_count(other);
  for (int d = x->ndim - 1; d >= 0 && step < n; d--) {
    int64_t size = nw_repeat_met(x, other, d);
    at += size > 1 ? i % x->dims[d] * step : 0;
    step *= size;
    i /= x->dims[d];
  }
  return at;
}

/* Numbers of x that lie side by side and meet one number of `other` (*shared), or as many side by side. */
NW_INLINE int64_t nw_repeat_run(const NwSpec *x, const NwSpec *other, bool *shared)
{
  int64_t run = 1;
  int d = x->ndim - 1;
  while (d >= 0 && x->dims[d] == 1) /* a size of 1 is of either kind */
    d--;
  *shared = d >= 0 && nw_repeat_met(x, other, d) == 1;
  for (; d >= 0 && (x->dims[d] == 1 || (nw_repeat_met(x, other, d) == 1) == *shared); d--)
    run *= x->dims[d];
  return run > 0 ? run : 1;
}

/* What each number of x gets, over [begin, end): NW_REPEAT_EACH(call, x spec, other spec, { uses i and at }).
 */
#define NW_REPEAT_EACH(x, other, body)                                                                       \
  do {                                                                                                       \
    bool shared_;                                                                                            \
    int64_t run_ = nw_repeat_run(x, other, &shared_);                                                        \
    for (int64_t i = begin; i < end;) {                                                                      \
      int64_t at = nw_repeat_place(x, other, i), last_ = (i / run_ + 1) * run_;                              \
      last_ = last_ < end ? last_ : end;                                                                     \
      if (shared_)                                                                                           \
        for (; i < last_; i++)                                                                               \
          body;                                                                                              \
      else                                                                                                   \
        for (; i < last_; i++, at++)                                                                         \
          body;                                                                                              \
    }                                                                                                        \
  } while (0)
