/* Layers that give each set of numbers mean 0 and deviation 1: LayerNorm, GroupNorm, InstanceNorm. They
 * differ only in which numbers make a set, and in how factors and offsets are laid over them. */
#pragma once

#include "engine/ops/common.h"

/* Set s is [first, first + size·step) with first = s / inner · inner · size + s % inner for step = inner (a
 * set across planes), or s · size for step 1. Its number i has factor and offset number (s % repeat) · per +
 * i / run. */
typedef struct NwSets {
  int64_t count, size, step;
  int64_t repeat, per, run;
  int64_t affine; /* factors in all */
} NwSets;
typedef NwSets (*NwSetsOf)(const void *attrs, const NwSpec *x);

/* Ports and outputs that these rows share. */
enum { NW_SETS_X, NW_SETS_WEIGHT, NW_SETS_BIAS };
extern const NwPort nw_sets_out[3], nw_sets_grad_in[5], nw_sets_grad_out[3];

/* infer of forward (x checked by the caller): weight and bias, when there, hold `affine` numbers. */
NwStatus nw_sets_infer(const NwOp *op, const NwSets *sets, const NwSpec *in, int n_in, NwSpec *out,
                       NwError *error);
/* infer of the gradient: dy, x, weight, mean, invstd. */
NwStatus nw_sets_grad_infer(const NwOp *op, const NwSets *sets, const NwSpec *in, int n_in, NwSpec *out,
                            NwError *error);
/* Gradient rule: the gradient's row stands behind the forward one. */
NwStatus nw_sets_rule(NwGrad *g, NwError *error);
void nw_sets_forward(const NwCall *call, const NwSets *sets);
size_t nw_sets_workspace(const NwSets *sets, const NwSpec *weight);
void nw_sets_grad(const NwCall *call, const NwSets *sets);

static inline NwCost nw_sets_cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in,
                                  const NwSpec *out)
{
  return (NwCost){0, 5 * (double)nw_spec_count(&out[0])};
}

/* From `NwSets of(const void *attrs, const NwSpec *x)`: kernels and grad_kernels. */
#define NW_SETS_KERNELS(of)                                                                                  \
  static NwStatus forward_run(const NwCall *call, void *state, NwError *error)                               \
  {                                                                                                          \
    NwSets sets = of(call->attrs, &call->in[0]);                                                             \
    nw_sets_forward(call, &sets);                                                                            \
    return NW_OK;                                                                                            \
  }                                                                                                          \
  static NwStatus grad_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)          \
  {                                                                                                          \
    NwSets sets = of(call->attrs, &call->in[1]);                                                             \
    *workspace = nw_sets_workspace(&sets, &call->in[2]);                                                     \
    return NW_OK;                                                                                            \
  }                                                                                                          \
  static NwStatus grad_run(const NwCall *call, void *state, NwError *error)                                  \
  {                                                                                                          \
    NwSets sets = of(call->attrs, &call->in[1]);                                                             \
    nw_sets_grad(call, &sets);                                                                               \
    return NW_OK;                                                                                            \
  }                                                                                                          \
  static const NwKernel kernels[] = {NW_PLAIN(forward_run)};                                                 \
  static const NwKernel grad_kernels[] = {{.name = "plain",                                                  \
                                           .device = NW_CPU,                                                 \
                                           .flags = NW_KERNEL_EXACT | NW_KERNEL_F64,                         \
                                           .supports = nw_supports_plain,                                    \
                                           .prepare = grad_prepare,                                          \
                                           .run = grad_run}};
/* The first attribute of every such row. */
typedef struct NwSetsAttrs {
  double eps;
} NwSetsAttrs;
#define NW_SETS_EPS(first)                                                                                   \
  {                                                                                                          \
    "eps", N_("Epsilon"), N_("Added to the variance so that nothing is divided by zero."), NULL,             \
        NW_ATTR_REAL, NW_ATTR_LOG, offsetof(NwSetsAttrs, eps), first, 0, 1, 1e-8, 1e-1, 1e-5                 \
  }
