/* Adagrad, in torch.optim.Adagrad's order of operations. */
#include <math.h>

#include "engine/ops/optimizer.h"

typedef struct Adagrad {
  double lr_decay, weight_decay, initial, eps;
} Adagrad;

#define A(member) offsetof(Adagrad, member)
static const NwAttr attrs_rows[] = {
    {"lr_decay", N_("Decay of the rate"), N_("Makes the learning rate fall with the number of steps."), NULL,
     NW_ATTR_REAL, NW_ATTR_LOG, A(lr_decay), 0, 0, 10, 0, 0.1, 1e-4},
    {"weight_decay", N_("Weight decay"), N_("Pulls all weights towards zero, which holds overfitting back."),
     NULL, NW_ATTR_REAL, NW_ATTR_LOG, A(weight_decay), 0, 0, 10, 0, 0.1, 1e-4},
    {"initial_accumulator_value", N_("First sum"), N_("What the sum of squared gradients begins with."), NULL,
     NW_ATTR_REAL, 0, A(initial), 0, 0, 1000, 0, 1, 0.1},
    {"eps", N_("Epsilon"), N_("Added to the divisor so that nothing is divided by zero."), NULL, NW_ATTR_REAL,
     NW_ATTR_LOG, A(eps), 1e-10, 0, 1, 1e-10, 1e-2, 1e-10},
};
#undef A
static const NwPort ports[] = {
    NW_OPTIMIZER_PORTS,
    {"sum", NW_PORT_STATE, 0, N_("Sum of the squared gradients.")},
};

static NwStatus param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                      NwError *error)
{
  NW_TRY(nw_optimizer_param(op, attrs, in, port, info, error));
  if (port == NW_OPT_SLOT)
    info->value = ((const Adagrad *)attrs)->initial;
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  if (!nw_spec_is(in, n_in, NW_OPT_SLOT))
    return nw_fail(error, NW_BAD_SHAPE, "Adagrad needs its sum");
  return nw_optimizer_infer(op, attrs, in, n_in, out, error);
}

#define LOOP(real, root)                                                                                     \
  do {                                                                                                       \
    real *p = nw_call_state(call, NW_OPT_PARAM), *sum = nw_call_state(call, NW_OPT_SLOT);                    \
    const real *grad = call->in_data[NW_OPT_GRAD];                                                           \
    const real decay = (real)a->weight_decay, eps = (real)a->eps, rate = (real)lr;                           \
    for (int64_t i = begin; i < end; i++) {                                                                  \
      real g = grad[i] + decay * p[i];                                                                       \
      sum[i] += g * g;                                                                                       \
      p[i] -= rate * g / (root(sum[i]) + eps);                                                               \
    }                                                                                                        \
  } while (0)

NW_INLINE void step(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const Adagrad *a = call->attrs;
  double lr = nw_optimizer_lr(call) / (1 + ((double)nw_optimizer_step(call) - 1) * a->lr_decay);
  if (wide)
    LOOP(double, sqrt);
  else
    LOOP(float, sqrtf);
}
NW_OPTIMIZER_RUN(step)

static const NwKernel kernels[] = {NW_PLAIN(step_run)};
static const NwOpCase cases[] = {{"", "37 37 1 1:i64<9 37"},
                                 {"lr_decay=0.1 weight_decay=0.01", "5x3 5x3 1 1:i64<9 5x3"}};

const NwOp nw_ops_adagrad[] = {
    {.id = "adagrad",
     .version = 1,
     .label = "Adagrad",
     .group = NW_GROUP_OPTIMIZER,
     .doc = N_("Takes smaller steps along weights that have moved much already; good with rare inputs."),
     .formula = N_("sum += g², g = grad + weight_decay·param; param −= lr/(1 + (t − 1)·lr_decay) · g / (√sum "
                   "+ eps) (Duchi, Hazan and Singer 2011)."),
     .keywords = "adaptive gradient optimizer",
     .torch = "torch.optim.Adagrad",
     .flags = NW_OP_SIDE_EFFECT,
     NW_INPUTS(ports),
     NW_ATTRS(Adagrad, attrs_rows),
     .infer = infer,
     .param = param,
     NW_KERNELS(kernels),
     NW_CASES(cases)},
};
NW_OPS_END(adagrad);
