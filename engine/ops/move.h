/* Values whose sizes change places: what Permute, PixelShuffle and channel shuffling are. */
#pragma once

#include "engine/ops/common.h"

typedef struct NwMove {
  int ndim;
  int64_t dims[NW_MAX_DIMS]; /* of what comes out */
  int64_t step[NW_MAX_DIMS]; /* how far apart the numbers of each of its sizes lie in what goes in */
  const void *in;
  void *out;
  size_t size; /* bytes of a number */
} NwMove;

/* Output size k is size order[k] of a plain value of these sizes. */
static inline NwMove nw_move_new(const NwCall *call, int ndim, const int64_t *dims, const int *order)
{
  NwMove move = {.ndim = ndim,
                 .in = call->in_data[0],
                 .out = call->out_data[0],
                 .size = nw_dtype_size(call->out[0].dtype)};
  int64_t step[NW_MAX_DIMS], n = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    step[d] = n;
    n *= dims[d];
  }
  for (int d = 0; d < ndim; d++) {
    move.dims[d] = dims[order[d]];
    move.step[d] = step[order[d]];
  }
  return move;
}

/* Rows of the last size, [begin, end). */
NW_INLINE void nw_move_rows(const NwMove *m, int64_t begin, int64_t end, size_t size)
{
  int last = m->ndim - 1;
  int64_t n = m->dims[last], step = m->step[last];
  for (int64_t row = begin; row < end; row++) {
    int64_t from = 0, rest = row;
    for (int d = last - 1; d >= 0; d--) {
      from += rest % m->dims[d] * m->step[d];
      rest /= m->dims[d];
    }
    const char *in = (const char *)m->in + (size_t)from * size;
    char *out = (char *)m->out + (size_t)(row * n) * size;
    if (step == 1) {
      memcpy(out, in, (size_t)n * size);
      continue;
    }
    for (int64_t i = 0; i < n; i++)
      memcpy(out + (size_t)i * size, in + (size_t)(i * step) * size, size);
  }
}

static void nw_move_body(void *context, int64_t begin, int64_t end, int thread)
{
  const NwMove *move = context;
  if (move->size == 4)
    nw_move_rows(move, begin, end, 4);
  else
    nw_move_rows(move, begin, end, 8);
}

static inline void nw_move_run(NwMove *move)
{
  int64_t rows = 1, n = move->dims[move->ndim - 1];
  for (int d = 0; d + 1 < move->ndim; d++)
    rows *= move->dims[d];
  if (n > 0)
    nw_parallel(rows, 1 + NW_GRAIN / n, nw_move_body, move);
}
