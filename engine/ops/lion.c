/* Lion: steps of one size, in the direction that most of the gradients agree on. */
#include "engine/ops/optimizer.h"

typedef struct Lion {
  double beta1, beta2, weight_decay;
} Lion;

#define A(member) offsetof(Lion, member)
static const NwAttr attrs_rows[] = {
    {"beta1", N_("Beta 1"), N_("Share of the running mean in the direction of a step."), NULL, NW_ATTR_REAL,
     0, A(beta1), 0.9, 0, 0.999999, 0, 0.999, 0.01},
    {"beta2", N_("Beta 2"), N_("How slowly the mean of the gradients moves."), NULL, NW_ATTR_REAL, 0,
     A(beta2), 0.99, 0, 0.999999, 0, 0.999, 0.01},
    {"weight_decay", N_("Weight decay"), N_("Pulls all weights towards zero, which holds overfitting back."),
     NULL, NW_ATTR_REAL, NW_ATTR_LOG, A(weight_decay), 0, 0, 10, 0, 1, 1e-3},
};
#undef A
static const NwPort ports[] = {
    NW_OPTIMIZER_PORTS,
    {"exp_avg", NW_PORT_STATE, 0, N_("Running mean of the gradients.")},
};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  if (!nw_spec_is(in, n_in, NW_OPT_SLOT))
    return nw_fail(error, NW_BAD_SHAPE, "Lion needs exp_avg");
  return nw_optimizer_infer(op, attrs, in, n_in, out, error);
}

#define LOOP(real)                                                                                           \
  do {                                                                                                       \
    real *p = nw_call_state(call, NW_OPT_PARAM), *m = nw_call_state(call, NW_OPT_SLOT);                      \
    const real *grad = call->in_data[NW_OPT_GRAD];                                                           \
    const real rate = (real)lr, shrink = (real)(1 - lr * a->weight_decay);                                   \
    const real b1 = (real)a->beta1, r1 = (real)(1 - a->beta1), b2 = (real)a->beta2,                          \
               r2 = (real)(1 - a->beta2);                                                                    \
    for (int64_t i = begin; i < end; i++) {                                                                  \
      real g = grad[i], way = b1 * m[i] + r1 * g;                                                            \
      real sign = (real)((way > 0) - (way < 0)) + 0 * way; /* 0·way: what is not finite stays seen */       \
      p[i] = shrink * p[i] - rate * sign;                                                                    \
      m[i] = b2 * m[i] + r2 * g;                                                                             \
    }                                                                                                        \
  } while (0)

NW_INLINE void step(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const Lion *a = call->attrs;
  double lr = nw_optimizer_lr(call);
  if (wide)
    LOOP(double);
  else
    LOOP(float);
}
NW_OPTIMIZER_RUN(step)

static const NwKernel kernels[] = {NW_PLAIN(step_run)};
static const NwOpCase cases[] = {{"", "37 37 1 1:i64<9 37"},
                                 {"beta1=0.95 beta2=0.98 weight_decay=0.01", "5x3 5x3 1 1:i64<9 5x3"}};

const NwOp nw_ops_lion[] = {
    {.id = "lion",
     .version = 1,
     .label = "Lion",
     .group = NW_GROUP_OPTIMIZER,
     .doc = N_("Moves every weight by the same amount, in the sign of its running gradient; wants a learning "
               "rate about ten times smaller than AdamW's."),
     .formula =
         N_("u = sign(β1·m + (1 − β1)·grad); param = (1 − lr·weight_decay)·param − lr·u; m = β2·m + (1 "
            "− β2)·grad (Chen et al. 2023)."),
     .keywords = "evolved sign momentum optimizer",
     .torch = "not in torch.optim; the paper's formula",
     .flags = NW_OP_SIDE_EFFECT,
     NW_INPUTS(ports),
     NW_ATTRS(Lion, attrs_rows),
     .infer = infer,
     .param = nw_optimizer_param,
     NW_KERNELS(kernels),
     NW_CASES(cases)},
};
NW_OPS_END(lion);
