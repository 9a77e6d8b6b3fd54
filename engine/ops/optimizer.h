/* Shapes that all optimizer ops share: the parameter and its slots are changed in place, and nothing comes
 * out. */
#pragma once

#include "engine/ops/common.h"

/* Ports of every optimizer; its slots follow, named as in PyTorch's optimizer state. */
enum { NW_OPT_PARAM, NW_OPT_GRAD, NW_OPT_LR, NW_OPT_STEP, NW_OPT_SLOT };
#define NW_OPTIMIZER_PORTS                                                                                   \
  {"param", NW_PORT_STATE, 0, N_("What is trained.")}, {"grad", NW_PORT_DATA, 0, N_("Its gradient.")},       \
      {"lr", NW_PORT_DATA, 0, N_("Learning rate.")},                                                         \
  {                                                                                                          \
    "step", NW_PORT_DATA, 0, N_("Number of this step; the first is 1.")                                      \
  }

static inline NwStatus nw_optimizer_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in,
                                          NwSpec *out, NwError *error)
{
  if (n_in < NW_OPT_SLOT)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs a parameter, its gradient, the learning rate and the step",
                   nw_op_name(op));
  NW_TRY(nw_infer_need_float(op, &in[NW_OPT_PARAM], error));
  NW_TRY(nw_need_same(op, &in[NW_OPT_GRAD], &in[NW_OPT_PARAM], error));
  if (nw_spec_count(&in[NW_OPT_LR]) != 1 || in[NW_OPT_LR].dtype != NW_F32 ||
      nw_spec_count(&in[NW_OPT_STEP]) != 1 || in[NW_OPT_STEP].dtype != NW_I64)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs one float32 as learning rate and one int64 as step",
                   nw_op_name(op));
  for (int i = NW_OPT_SLOT; i < n_in; i++)
    if (nw_spec_is(in, n_in, i))
      NW_TRY(nw_need_same(op, &in[i], &in[NW_OPT_PARAM], error));
  return NW_OK;
}

static inline NwStatus nw_optimizer_param(const NwOp *op, const void *attrs, const NwSpec *in, int port,
                                          NwParamInfo *info, NwError *error)
{
  *info = (NwParamInfo){true, in[NW_OPT_GRAD], NW_INIT_CONSTANT, 0};
  info->spec.block = 0;
  return NW_OK;
}

static inline double nw_optimizer_lr(const NwCall *call)
{
  return *(const float *)call->in_data[NW_OPT_LR];
}

static inline int64_t nw_optimizer_step(const NwCall *call)
{
  return *(const int64_t *)call->in_data[NW_OPT_STEP];
}

/* The width of the parameter decides (lr is always f32), so NW_WIDTHS cannot be used. */
#define NW_OPTIMIZER_RUN(body)                                                                               \
  static void body##_f32(void *call, int64_t begin, int64_t end, int thread)                                 \
  {                                                                                                          \
    body(call, begin, end, false);                                                                           \
  }                                                                                                          \
  static void body##_f64(void *call, int64_t begin, int64_t end, int thread)                                 \
  {                                                                                                          \
    body(call, begin, end, true);                                                                            \
  }                                                                                                          \
  static NwStatus body##_run(const NwCall *call, void *state, NwError *error)                                \
  {                                                                                                          \
    bool wide = call->in[NW_OPT_PARAM].dtype == NW_F64;                                                      \
    nw_parallel(nw_spec_count(&call->in[NW_OPT_PARAM]), NW_GRAIN, wide ? body##_f64 : body##_f32,            \
                (void *)(uintptr_t)call);                                                                    \
    return NW_OK;                                                                                            \
  }
