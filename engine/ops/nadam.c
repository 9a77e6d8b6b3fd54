/* NAdam: Adam that looks one step ahead, in torch.optim.NAdam's order of operations. */
#include <math.h>

#include "engine/ops/optimizer.h"

typedef struct NAdam {
  double beta1, beta2, eps, weight_decay, momentum_decay;
} NAdam;

#define A(member) offsetof(NAdam, member)
static const NwAttr attrs_rows[] = {
    {"beta1", N_("Beta 1"), N_("How slowly the mean of the gradients moves."), NULL, NW_ATTR_REAL, 0,
     A(beta1), 0.9, 0, 0.999999, 0, 0.999, 0.01},
    {"beta2", N_("Beta 2"), N_("How slowly the mean of their squares moves."), NULL, NW_ATTR_REAL, 0,
     A(beta2), 0.999, 0, 0.999999, 0.8, 0.9999, 0.001},
    {"eps", N_("Epsilon"), N_("Added to the divisor so that nothing is divided by zero."), NULL, NW_ATTR_REAL,
     NW_ATTR_LOG, A(eps), 1e-8, 0, 1, 1e-10, 1e-2, 1e-8},
    {"weight_decay", N_("Weight decay"), N_("Pulls all weights towards zero, which holds overfitting back."),
     NULL, NW_ATTR_REAL, NW_ATTR_LOG, A(weight_decay), 0, 0, 10, 0, 0.5, 1e-3},
    {"momentum_decay", N_("Momentum decay"), N_("How fast the look-ahead grows to its full share."), NULL,
     NW_ATTR_REAL, NW_ATTR_LOG, A(momentum_decay), 4e-3, 0, 10, 0, 0.1, 1e-3},
};
#undef A
enum { MEAN = NW_OPT_SLOT, SQUARE, PRODUCT };
static const NwPort ports[] = {
    NW_OPTIMIZER_PORTS,
    {"exp_avg", NW_PORT_STATE, 0, N_("Running mean of the gradients.")},
    {"exp_avg_sq", NW_PORT_STATE, 0, N_("Running mean of their squares.")},
    {"mu_product", NW_PORT_STATE, 0, N_("One number: the product of all look-ahead shares.")},
};

static NwStatus param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                      NwError *error)
{
  NW_TRY(nw_optimizer_param(op, attrs, in, port, info, error));
  if (port == PRODUCT) {
    info->spec = nw_spec(NW_F32, 0, NULL);
    info->value = 1;
  }
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  if (!nw_spec_is(in, n_in, MEAN) || !nw_spec_is(in, n_in, SQUARE) || !nw_spec_is(in, n_in, PRODUCT) ||
      nw_spec_count(&in[PRODUCT]) != 1)
    return nw_fail(error, NW_BAD_SHAPE, "NAdam needs exp_avg, exp_avg_sq and one number mu_product");
  NW_TRY(nw_infer_need_float(op, &in[PRODUCT], error));
  return nw_optimizer_infer(op, attrs, in, PRODUCT, out, error);
}

/* Numbers of one step, the same for every element. */
typedef struct Step {
  const NwCall *call;
  double grad_size, mean_size, rest2;
} Step;

/* torch keeps the product in float32. */
static Step begin_step(const NwCall *call)
{
  const NAdam *a = call->attrs;
  double t = (double)nw_optimizer_step(call), lr = nw_optimizer_lr(call), product;
  double mu = a->beta1 * (1 - 0.5 * pow(0.96, t * a->momentum_decay));
  double mu_next = a->beta1 * (1 - 0.5 * pow(0.96, (t + 1) * a->momentum_decay));
  void *at = nw_call_state(call, PRODUCT);
  if (call->in[PRODUCT].dtype == NW_F64)
    product = *(double *)at *= mu;
  else
    product = *(float *)at *= (float)mu;
  double ahead = product * mu_next;
  return (Step){.call = call,
                .grad_size = lr * (1 - mu) / (1 - product),
                .mean_size = lr * mu_next / (1 - ahead),
                .rest2 = 1 - pow(a->beta2, t)};
}

#define LOOP(real, root)                                                                                     \
  do {                                                                                                       \
    real *p = nw_call_state(call, NW_OPT_PARAM), *m = nw_call_state(call, MEAN);                             \
    real *v = nw_call_state(call, SQUARE);                                                                   \
    const real *grad = call->in_data[NW_OPT_GRAD];                                                           \
    const real decay = (real)a->weight_decay, eps = (real)a->eps, rest = (real)s->rest2;                     \
    const real b1 = (real)a->beta1, r1 = (real)(1 - a->beta1), b2 = (real)a->beta2,                          \
               r2 = (real)(1 - a->beta2);                                                                    \
    const real now = (real)s->grad_size, mean = (real)s->mean_size;                                          \
    for (int64_t i = begin; i < end; i++) {                                                                  \
      real g = grad[i] + decay * p[i];                                                                       \
      m[i] = b1 * m[i] + r1 * g;                                                                             \
      v[i] = b2 * v[i] + r2 * g * g;                                                                         \
      real d = root(v[i] / rest) + eps;                                                                      \
      p[i] = p[i] - now * g / d - mean * m[i] / d;                                                           \
    }                                                                                                        \
  } while (0)

static void step(void *context, int64_t begin, int64_t end, int thread)
{
  const Step *s = context;
  const NwCall *call = s->call;
  const NAdam *a = call->attrs;
  if (call->in[NW_OPT_PARAM].dtype == NW_F64)
    LOOP(double, sqrt);
  else
    LOOP(float, sqrtf);
}

static NwStatus step_run(const NwCall *call, void *state, NwError *error)
{
  Step s = begin_step(call);
  nw_parallel(nw_spec_count(&call->in[NW_OPT_PARAM]), NW_GRAIN, step, &s);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(step_run)};
static const NwOpCase cases[] = {{"", "37 37 1 1:i64<9 37 37 1"},
                                 {"weight_decay=0.1 beta1=0.8 eps=1e-6", "5x3 5x3 1 1:i64<9 5x3 5x3 1"}};

const NwOp nw_ops_nadam[] = {
    {.id = "nadam",
     .version = 1,
     .label = "NAdam",
     .group = NW_GROUP_OPTIMIZER,
     .doc = N_("Adam that looks one step ahead, as Nesterov does for momentum."),
     .formula =
         N_("μt = β1·(1 − 0.5·0.96^(t·momentum_decay)); m and v as Adam; param −= lr·((1 − μt)/(1 − Πμ)·g + "
            "μt+1/(1 − Πμ·μt+1)·m) / (√(v/(1 − β2ᵗ)) + eps), g = grad + weight_decay·param (Dozat 2016)."),
     .keywords = "nesterov adaptive moments optimizer",
     .torch = "torch.optim.NAdam",
     .flags = NW_OP_SIDE_EFFECT,
     NW_INPUTS(ports),
     NW_ATTRS(NAdam, attrs_rows),
     .infer = infer,
     .param = param,
     NW_KERNELS(kernels),
     NW_CASES(cases)},
};
NW_OPS_END(nadam);
