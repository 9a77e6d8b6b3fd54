/* SGD with momentum, dampening, Nesterov's look-ahead and weight decay, in torch.optim.SGD's order of
 * operations. */
#include "engine/ops/optimizer.h"

typedef struct Sgd {
  double momentum, dampening, weight_decay;
  bool nesterov;
} Sgd;

#define A(member) offsetof(Sgd, member)
static const NwAttr attrs_rows[] = {
    {"momentum", N_("Momentum"), N_("Share of the last step that is taken again; 0.9 is usual."), NULL,
     NW_ATTR_REAL, 0, A(momentum), 0.9, 0, 1, 0, 0.999, 0.01},
    {"dampening", N_("Dampening"), N_("Share of the gradient that momentum leaves out."), NULL, NW_ATTR_REAL,
     0, A(dampening), 0, 0, 1, 0, 1, 0.01},
    {"weight_decay", N_("Weight decay"), N_("Pulls all weights towards zero, which holds overfitting back."),
     NULL, NW_ATTR_REAL, NW_ATTR_LOG, A(weight_decay), 0, 0, 10, 0, 0.1, 1e-4},
    {"nesterov", N_("Nesterov"), N_("Looks one step ahead; needs momentum and no dampening."), NULL,
     NW_ATTR_BOOL, 0, A(nesterov), 0, 0, 1, 0, 1, 1},
};
#undef A
static const NwPort ports[] = {
    NW_OPTIMIZER_PORTS,
    {"momentum_buffer", NW_PORT_STATE, NW_PORT_OPTIONAL, N_("The running step.")},
};

static NwStatus check(const NwOp *op, const void *attrs, NwError *error)
{
  const Sgd *a = attrs;
  if (a->nesterov && (a->momentum <= 0 || a->dampening != 0))
    return nw_fail_property(error, NW_BAD_ARGUMENT, "nesterov",
                            "SGD: Nesterov needs a momentum above 0 and a dampening of 0");
  return NW_OK;
}

static NwStatus param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                      NwError *error)
{
  const Sgd *a = attrs;
  NW_TRY(nw_optimizer_param(op, attrs, in, port, info, error));
  info->present = port == NW_OPT_PARAM || a->momentum != 0;
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const Sgd *a = attrs;
  if (a->momentum != 0 && !nw_spec_is(in, n_in, NW_OPT_SLOT))
    return nw_fail(error, NW_BAD_SHAPE, "SGD with momentum needs its momentum_buffer");
  return nw_optimizer_infer(op, attrs, in, n_in, out, error);
}

NW_INLINE void step_double(const NwCall *call, int64_t begin, int64_t end)
{
  const Sgd *a = call->attrs;
  double lr = nw_optimizer_lr(call), *p = nw_call_state(call, NW_OPT_PARAM);
  const double *g = call->in_data[NW_OPT_GRAD];
  double *v = a->momentum != 0 ? nw_call_state(call, NW_OPT_SLOT) : NULL;
  bool first = nw_optimizer_step(call) <= 1;
  for (int64_t i = begin; i < end; i++) {
    double d = g[i] + a->weight_decay * p[i];
    if (v) {
      v[i] = first ? d : a->momentum * v[i] + (1 - a->dampening) * d;
      d = a->nesterov ? d + a->momentum * v[i] : v[i];
    }
    p[i] -= lr * d;
  }
}

NW_INLINE void step(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  if (wide) {
    step_double(call, begin, end);
    return;
  }
  const Sgd *a = call->attrs;
  float *p = nw_call_state(call, NW_OPT_PARAM), lr = (float)nw_optimizer_lr(call);
  const float *g = call->in_data[NW_OPT_GRAD];
  float decay = (float)a->weight_decay, momentum = (float)a->momentum, rest = (float)(1 - a->dampening);
  float *v = a->momentum != 0 ? nw_call_state(call, NW_OPT_SLOT) : NULL;
  if (v == NULL) {
    for (int64_t i = begin; i < end; i++)
      p[i] -= lr * (g[i] + decay * p[i]);
    return;
  }
  /* torch copies the first gradient into the buffer, without dampening */
  bool first = nw_optimizer_step(call) <= 1;
  float keep = first ? 0 : momentum, ahead = a->nesterov ? 1 : 0, factor = a->nesterov ? momentum : 1;
  rest = first ? 1 : rest;
  for (int64_t i = begin; i < end; i++) {
    float d = g[i] + decay * p[i];
    v[i] = (first ? 0 : keep * v[i]) + rest * d;
    p[i] -= lr * (ahead * d + factor * v[i]);
  }
}
NW_OPTIMIZER_RUN(step)

static const NwKernel kernels[] = {NW_PLAIN(step_run)};
static const NwOpCase cases[] = {{"", "37 37 1 1:i64<9 37"},
                                 {"momentum=0 weight_decay=0.01", "5x3 5x3 1 1:i64<9 -"},
                                 {"nesterov=true weight_decay=0.001", "4x3x3x3 4x3x3x3 1 1:i64<9 4x3x3x3"}};

const NwOp nw_ops_sgd[] = {
    {.id = "sgd",
     .version = 1,
     .label = "SGD",
     .group = NW_GROUP_OPTIMIZER,
     .doc = N_("Steps straight down the gradient, with momentum."),
     .formula =
         N_("g = grad + weight_decay·param; v = momentum·v + (1 − dampening)·g; param −= lr·v, or lr·(g + "
            "momentum·v) with Nesterov (Sutskever et al. 2013)."),
     .keywords = "stochastic gradient descent momentum nesterov optimizer",
     .torch = "torch.optim.SGD",
     .flags = NW_OP_SIDE_EFFECT,
     NW_INPUTS(ports),
     NW_ATTRS(Sgd, attrs_rows),
     .check = check,
     .infer = infer,
     .param = param,
     NW_KERNELS(kernels),
     NW_CASES(cases)},
};
NW_OPS_END(sgd);
