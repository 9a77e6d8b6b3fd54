/* RMSprop, plain, centred and with momentum, in torch.optim.RMSprop's order of operations. */
#include <math.h>

#include "engine/ops/optimizer.h"

typedef struct RmsProp {
  double alpha, eps, weight_decay, momentum;
  bool centered;
} RmsProp;

#define A(member) offsetof(RmsProp, member)
static const NwAttr attrs_rows[] = {
    {"alpha", N_("Alpha"), N_("How slowly the mean of the squared gradients moves."), NULL, NW_ATTR_REAL, 0,
     A(alpha), 0.99, 0, 0.999999, 0.5, 0.999, 0.01},
    {"eps", N_("Epsilon"), N_("Added to the divisor so that nothing is divided by zero."), NULL, NW_ATTR_REAL,
     NW_ATTR_LOG, A(eps), 1e-8, 0, 1, 1e-10, 1e-2, 1e-8},
    {"weight_decay", N_("Weight decay"), N_("Pulls all weights towards zero, which holds overfitting back."),
     NULL, NW_ATTR_REAL, NW_ATTR_LOG, A(weight_decay), 0, 0, 10, 0, 0.1, 1e-4},
    {"momentum", N_("Momentum"), N_("Share of the last step that is taken again."), NULL, NW_ATTR_REAL, 0,
     A(momentum), 0, 0, 1, 0, 0.999, 0.01},
    {"centered", N_("Centred"), N_("Divides by the spread around the mean gradient instead of around zero."),
     NULL, NW_ATTR_BOOL, 0, A(centered), 0, 0, 1, 0, 1, 1},
};
#undef A
enum { SQUARE = NW_OPT_SLOT, BUFFER, MEAN };
static const NwPort ports[] = {
    NW_OPTIMIZER_PORTS,
    {"square_avg", NW_PORT_STATE, 0, N_("Running mean of the squared gradients.")},
    {"momentum_buffer", NW_PORT_STATE, NW_PORT_OPTIONAL, N_("The running step.")},
    {"grad_avg", NW_PORT_STATE, NW_PORT_OPTIONAL, N_("Running mean of the gradients.")},
};

static NwStatus param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                      NwError *error)
{
  const RmsProp *a = attrs;
  NW_TRY(nw_optimizer_param(op, attrs, in, port, info, error));
  info->present = port == BUFFER ? a->momentum != 0 : port == MEAN ? a->centered : true;
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const RmsProp *a = attrs;
  if (!nw_spec_is(in, n_in, SQUARE) || (a->momentum != 0 && !nw_spec_is(in, n_in, BUFFER)) ||
      (a->centered && !nw_spec_is(in, n_in, MEAN)))
    return nw_fail(error, NW_BAD_SHAPE,
                   "RMSprop needs square_avg, with momentum momentum_buffer and centred grad_avg");
  return nw_optimizer_infer(op, attrs, in, n_in, out, error);
}

#define LOOP(real, root)                                                                                     \
  do {                                                                                                       \
    real *p = nw_call_state(call, NW_OPT_PARAM), *square = nw_call_state(call, SQUARE);                      \
    real *buffer = a->momentum != 0 ? nw_call_state(call, BUFFER) : NULL;                                    \
    real *mean = a->centered ? nw_call_state(call, MEAN) : NULL;                                             \
    const real *grad = call->in_data[NW_OPT_GRAD];                                                           \
    const real lr = (real)nw_optimizer_lr(call), decay = (real)a->weight_decay, eps = (real)a->eps;          \
    const real keep = (real)a->alpha, rest = (real)(1 - a->alpha), momentum = (real)a->momentum;             \
    for (int64_t i = begin; i < end; i++) {                                                                  \
      real g = grad[i] + decay * p[i], spread;                                                               \
      square[i] = spread = keep * square[i] + rest * g * g;                                                  \
      if (mean) {                                                                                            \
        mean[i] = keep * mean[i] + rest * g;                                                                 \
        spread -= mean[i] * mean[i];                                                                         \
      }                                                                                                      \
      real d = g / (root(spread) + eps);                                                                     \
      if (buffer)                                                                                            \
        buffer[i] = d = momentum * buffer[i] + d;                                                            \
      p[i] -= lr * d;                                                                                        \
    }                                                                                                        \
  } while (0)

NW_INLINE void step(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const RmsProp *a = call->attrs;
  if (wide)
    LOOP(double, sqrt);
  else
    LOOP(float, sqrtf);
}
NW_OPTIMIZER_RUN(step)

static const NwKernel kernels[] = {NW_PLAIN(step_run)};
static const NwOpCase cases[] = {{"", "37 37 1 1:i64<9 37 - -"},
                                 {"momentum=0.9 weight_decay=0.01", "5x3 5x3 1 1:i64<9 5x3 5x3 -"}};

const NwOp nw_ops_rmsprop[] = {
    {.id = "rmsprop",
     .version = 1,
     .label = "RMSprop",
     .group = NW_GROUP_OPTIMIZER,
     .doc = N_("Divides each gradient by its running size, so that all weights move at the same pace."),
     .formula =
         N_("s = α·s + (1 − α)·g², g = grad + weight_decay·param; param −= lr·g / (√s + eps); centred: "
            "√(s − m²) with m the running mean of g; momentum: v = momentum·v + g / (…), param −= lr·v "
            "(Tieleman and Hinton 2012)."),
     .keywords = "root mean square optimizer",
     .torch = "torch.optim.RMSprop",
     .flags = NW_OP_SIDE_EFFECT,
     NW_INPUTS(ports),
     NW_ATTRS(RmsProp, attrs_rows),
     .infer = infer,
     .param = param,
     NW_KERNELS(kernels),
     NW_CASES(cases)},
};
NW_OPS_END(rmsprop);
