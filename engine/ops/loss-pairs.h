/* Losses that compare number by number: each is a formula and its slope. The target holds as many numbers as
 * the input, or a class number for each row, which stands for a row of zeros with a one. */
#pragma once

#include "engine/ops/common.h"

enum { NW_LOSS_MEAN, NW_LOSS_SUM, NW_LOSS_BATCHMEAN };

/* Every such loss's attributes begin with it. */
typedef struct NwLossAttrs {
  int64_t reduction;
} NwLossAttrs;

extern const NwEnumItem nw_loss_reductions[3];
#define NW_LOSS_REDUCTION(choices)                                                                           \
  {                                                                                                          \
    "reduction", N_("Together"), N_("How the numbers' losses become one."), NULL, NW_ATTR_ENUM, 0,           \
        offsetof(NwLossAttrs, reduction), NW_LOSS_MEAN, .items = nw_loss_reductions, .n_items = choices      \
  }

/* Loss of number x against target t with the column's weight w (1 without), and its slope by x. */
typedef double (*NwLossValue)(const void *attrs, double x, double t, double w);

extern const NwPort nw_loss_out[1], nw_loss_grad_in[4], nw_loss_grad_out[1];
NwStatus nw_loss_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                       NwError *error);
NwStatus nw_loss_grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                            NwError *error);
/* The gradient's row stands behind the loss's. */
NwStatus nw_loss_rule(NwGrad *g, NwError *error);
NwStatus nw_loss_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error);
NwStatus nw_loss_run(const NwCall *call, NwLossValue value, NwError *error);
NwStatus nw_loss_grad_run(const NwCall *call, NwLossValue slope, NwError *error);

/* Kernels from the two expressions in x, t, w and the attributes a. */
#define NW_LOSS_KERNELS(A, value, slope)                                                                     \
  static double value_of(const void *attrs, double x, double t, double w)                                    \
  {                                                                                                          \
    const A *a = attrs;                                                                                      \
    (void)a;                                                                                                 \
    return value;                                                                                            \
  }                                                                                                          \
  static double slope_of(const void *attrs, double x, double t, double w)                                    \
  {                                                                                                          \
    const A *a = attrs;                                                                                      \
    (void)a;                                                                                                 \
    return slope;                                                                                            \
  }                                                                                                          \
  static NwStatus loss_run(const NwCall *call, void *state, NwError *error)                                  \
  {                                                                                                          \
    return nw_loss_run(call, value_of, error);                                                               \
  }                                                                                                          \
  static NwStatus grad_run(const NwCall *call, void *state, NwError *error)                                  \
  {                                                                                                          \
    return nw_loss_grad_run(call, slope_of, error);                                                          \
  }                                                                                                          \
  __attribute__((unused)) static const NwKernel loss_kernels[] = {{.name = "plain",                          \
                                                                   .device = NW_CPU,                         \
                                                                   .flags = NW_KERNEL_EXACT | NW_KERNEL_F64, \
                                                                   .supports = nw_supports_plain,            \
                                                                   .prepare = nw_loss_prepare,               \
                                                                   .run = loss_run}};                        \
  static const NwKernel grad_kernels[] = {NW_PLAIN(grad_run)};

#define NW_LOSS_PORTS(x_name, x_doc, t_doc, w_name, w_doc)                                                   \
  static const NwPort loss_in[] = {{x_name, NW_PORT_DATA, 0, x_doc},                                         \
                                   {"target", NW_PORT_DATA, 0, t_doc},                                       \
                                   {w_name, NW_PORT_DATA, NW_PORT_OPTIONAL, w_doc}};
