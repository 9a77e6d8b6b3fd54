/* What Dropout2d and StochasticDepth share: one draw for many numbers that lie side by side. */
#pragma once

#include "engine/base/philox.h"
#include "engine/ops/elementwise.h"

typedef struct NwChance {
  double p;
  bool training;
  int64_t stream;
  int64_t mode; /* StochasticDepth only */
} NwChance;

#define NW_CHANCE_ROWS(doc_p, first)                                                                         \
  {"p",                                                                                                      \
   N_("Probability"),                                                                                        \
   doc_p,                                                                                                    \
   NULL,                                                                                                     \
   NW_ATTR_REAL,                                                                                             \
   NW_ATTR_ON_BLOCK,                                                                                         \
   offsetof(NwChance, p),                                                                                    \
   first,                                                                                                    \
   0,                                                                                                        \
   1,                                                                                                        \
   0,                                                                                                        \
   0.95,                                                                                                     \
   0.05},                                                                                                    \
      {"training",                                                                                           \
       N_("Training"),                                                                                       \
       N_("Without it the numbers pass unchanged."),                                                         \
       NULL,                                                                                                 \
       NW_ATTR_BOOL,                                                                                         \
       NW_ATTR_HIDDEN,                                                                                       \
       offsetof(NwChance, training),                                                                         \
       0,                                                                                                    \
       0,                                                                                                    \
       1,                                                                                                    \
       0,                                                                                                    \
       1,                                                                                                    \
       1},                                                                                                   \
  {                                                                                                          \
    "stream", N_("Stream"), N_("Keeps the random numbers of two layers apart."), NULL, NW_ATTR_INT,          \
        NW_ATTR_HIDDEN, offsetof(NwChance, stream), 0, 0, 1 << 30, 0, 1, 1                                   \
  }

/* 0, or what keeps the mean as it was, for element `at` of this step. */
NW_INLINE double nw_chance_factor(const NwCall *call, int64_t at)
{
  const NwChance *a = call->attrs;
  NwPhilox key = {call->run->seed, (uint32_t)(NW_STREAM_OP + a->stream)};
  uint32_t limit = (uint32_t)ceil(a->p * 16777216.0);
  bool stays = nw_philox(key, call->run->step, (uint64_t)at) >> 8 >= limit;
  return stays && a->p < 1 ? 1 / (1 - a->p) : 0;
}

/* The gradient draws the same numbers again. */
static inline NwStatus nw_chance_rule(NwGrad *g, NwError *error)
{
  const NwChance *a = g->attrs;
  if (!a->training || a->p == 0) {
    g->din[0] = g->dout[0];
    return NW_OK;
  }
  return nw_emit(g->emitter, g->op, a, &g->dout[0], 1, &g->din[0], error);
}

static inline NwStatus nw_chance_pass(const NwCall *call)
{
  if (call->in_data[0] != call->out_data[0])
    memcpy(call->out_data[0], call->in_data[0], nw_spec_bytes(&call->out[0]));
  return NW_OK;
}
