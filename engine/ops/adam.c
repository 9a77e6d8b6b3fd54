/* Adam and AdamW, in torch.optim's order of operations. They differ in weight decay only: Adam adds it to the
 * gradient, AdamW takes it from the parameter. */
#include "engine/kernels/kernels.h"
#include "engine/ops/optimizer.h"

typedef struct Adam {
  double beta1, beta2, eps, weight_decay;
} Adam;

extern const NwOp nw_ops_adam[];
enum { ADAM, ADAMW };

#define A(member) offsetof(Adam, member)
#define ADAM_ATTRS(decay)                                                                                    \
  {"beta1",                                                                                                  \
   N_("Beta 1"),                                                                                             \
   N_("How slowly the mean of the gradients moves."),                                                        \
   NULL,                                                                                                     \
   NW_ATTR_REAL,                                                                                             \
   0,                                                                                                        \
   A(beta1),                                                                                                 \
   0.9,                                                                                                      \
   0,                                                                                                        \
   0.999999,                                                                                                 \
   0,                                                                                                        \
   0.999,                                                                                                    \
   0.01},                                                                                                    \
      {"beta2",  N_("Beta 2"), N_("How slowly the mean of their squares moves."),                            \
       NULL,     NW_ATTR_REAL, 0,                                                                            \
       A(beta2), 0.999,        0,                                                                            \
       0.999999, 0.8,          0.9999,                                                                       \
       0.001},                                                                                               \
      {"eps",  N_("Epsilon"), N_("Added to the divisor so that nothing is divided by zero."),                \
       NULL,   NW_ATTR_REAL,  NW_ATTR_LOG,                                                                   \
       A(eps), 1e-8,          0,                                                                             \
       1,      1e-10,         1e-2,                                                                          \
       1e-8},                                                                                                \
  {                                                                                                          \
    "weight_decay", N_("Weight decay"), N_("Pulls all weights towards zero, which holds overfitting back."), \
        NULL, NW_ATTR_REAL, NW_ATTR_LOG, A(weight_decay), decay, 0, 10, 0, 0.5, 1e-3                         \
  }
static const NwAttr adam_attrs[] = {ADAM_ATTRS(0)};
static const NwAttr adamw_attrs[] = {ADAM_ATTRS(0.01)};
#undef A
static const NwPort ports[] = {
    NW_OPTIMIZER_PORTS,
    {"exp_avg", NW_PORT_STATE, 0, N_("Running mean of the gradients.")},
    {"exp_avg_sq", NW_PORT_STATE, 0, N_("Running mean of their squares.")},
};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  if (!nw_spec_is(in, n_in, NW_OPT_SLOT) || !nw_spec_is(in, n_in, NW_OPT_SLOT + 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs exp_avg and exp_avg_sq", op->label);
  return nw_optimizer_infer(op, attrs, in, n_in, out, error);
}

/* Numbers of one step, the same for every element. */
typedef struct Step {
  double shrink, decay, beta1, beta2, step_size, root, eps;
} Step;

static Step step_of(const NwCall *call)
{
  const Adam *a = call->attrs;
  bool w = call->op == &nw_ops_adam[ADAMW];
  double lr = nw_optimizer_lr(call), t = (double)nw_optimizer_step(call);
  return (Step){.shrink = w ? 1 - lr * a->weight_decay : 1,
                .decay = w ? 0 : a->weight_decay,
                .beta1 = a->beta1,
                .beta2 = a->beta2,
                .step_size = lr / (1 - pow(a->beta1, t)),
                .root = sqrt(1 - pow(a->beta2, t)),
                .eps = a->eps};
}

#define LOOP(real)                                                                                           \
  do {                                                                                                       \
    Step s = step_of(call);                                                                                  \
    real *p = nw_call_state(call, NW_OPT_PARAM), *m = nw_call_state(call, NW_OPT_SLOT);                      \
    real *v = nw_call_state(call, NW_OPT_SLOT + 1);                                                          \
    const real *grad = call->in_data[NW_OPT_GRAD];                                                           \
    const real shrink = (real)s.shrink, decay = (real)s.decay, b1 = (real)s.beta1, b2 = (real)s.beta2;       \
    const real r1 = (real)(1 - s.beta1), r2 = (real)(1 - s.beta2), size = (real)s.step_size;                 \
    const real root = (real)s.root, eps = (real)s.eps;                                                       \
    for (int64_t i = begin; i < end; i++) {                                                                  \
      real q = p[i] * shrink, g = grad[i] + decay * q;                                                       \
      m[i] = b1 * m[i] + r1 * g;                                                                             \
      v[i] = b2 * v[i] + r2 * g * g;                                                                         \
      p[i] = q - size * m[i] /                                                                               \
                     ((real)(sizeof(real) == 4 ? sqrtf((float)v[i]) : sqrt((double)v[i])) / root + eps);     \
    }                                                                                                        \
  } while (0)

NW_INLINE void step(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  if (wide)
    LOOP(double);
  else
    LOOP(float);
}
NW_OPTIMIZER_RUN(step)

/* ---- f32 with wider vectors ---- */
static void vector_body(void *context, int64_t begin, int64_t end, int thread)
{
  (void)thread;
  nw_kernels()->adam(context, begin, end);
}

static NwStatus vector_run(const NwCall *call, void *state, NwError *error)
{
  Step s = step_of(call);
  NwAdamStep job = {.shrink = (float)s.shrink,
                    .decay = (float)s.decay,
                    .beta1 = (float)s.beta1,
                    .beta2 = (float)s.beta2,
                    .rest1 = (float)(1 - s.beta1),
                    .rest2 = (float)(1 - s.beta2),
                    .size = (float)s.step_size,
                    .root = (float)s.root,
                    .eps = (float)s.eps,
                    .param = nw_call_state(call, NW_OPT_PARAM),
                    .mean = nw_call_state(call, NW_OPT_SLOT),
                    .square = nw_call_state(call, NW_OPT_SLOT + 1),
                    .grad = call->in_data[NW_OPT_GRAD]};
  nw_parallel(nw_spec_count(&call->in[NW_OPT_PARAM]), NW_GRAIN, vector_body, &job);
  return NW_OK;
}

static const NwKernel kernels[] = {
    {.name = "vector", .device = NW_CPU, .supports = nw_supports_plain_f32, .run = vector_run},
    NW_PLAIN(step_run)};
static const NwOpCase cases[] = {{"", "37 37 1 1:i64<9 37 37"},
                                 {"weight_decay=0.1 beta1=0.8 eps=1e-6", "5x3 5x3 1 1:i64<9 5x3 5x3"}};

#define ROW(name, title, text, math, rows)                                                                   \
  {                                                                                                          \
    .id = name, .version = 1, .label = title, .group = NW_GROUP_OPTIMIZER, .doc = text, .formula = math,     \
    .keywords = "adaptive moments optimizer", .torch = "torch.optim." title, .flags = NW_OP_SIDE_EFFECT,     \
    NW_INPUTS(ports), NW_ATTRS(Adam, rows), .infer = infer, .param = nw_optimizer_param,                     \
    NW_KERNELS(kernels), NW_CASES(cases)                                                                     \
  }
const NwOp nw_ops_adam[] = {
    ROW("adam", "Adam", N_("Gives every weight its own step, from the mean and the spread of its gradients."),
        N_("m = β1·m + (1−β1)·g; v = β2·v + (1−β2)·g²; param −= lr/(1−β1ᵗ) · m / (√v/√(1−β2ᵗ) + eps), g = "
           "grad + "
           "weight_decay·param (Kingma and Ba 2015)."),
        adam_attrs),
    ROW("adamw", "AdamW",
        N_("Adam with weight decay that does not pass through its averages; a good first choice."),
        N_("param −= lr·weight_decay·param, then as Adam without decay (Loshchilov and Hutter 2019)."),
        adamw_attrs),
};
NW_OPS_END(adam);
