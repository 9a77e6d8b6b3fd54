/* FocalLoss over class numbers, softmax inside: what is already right hardly counts. */
#include "engine/ops/common.h"

typedef struct Focal {
  double gamma;
  int64_t ignore_index;
} Focal;

extern const NwOp nw_ops_focal_loss[];

static const NwAttr attrs_rows[] = {
    {"gamma", N_("Gamma"), N_("How much less easy pictures count; 0 is cross entropy."), NULL, NW_ATTR_REAL,
     NW_ATTR_ON_BLOCK, offsetof(Focal, gamma), 2, 0, 100, 0, 5, 0.5},
    {"ignore_index", N_("Ignored class"), N_("Pictures of this class number do not count."), NULL,
     NW_ATTR_INT, 0, offsetof(Focal, ignore_index), -100, -1000000, 1000000, -100, 1000, 1},
};
static const NwPort loss_in[] = {
    {"input", NW_PORT_DATA, 0, N_("Batch × classes, before any softmax.")},
    {"target", NW_PORT_DATA, 0, N_("Number of the right class of each picture.")},
    {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL, N_("How much each class counts.")}};
static const NwPort loss_out[] = {{"loss", NW_PORT_DATA, 0, N_("One number.")}};
static const NwPort grad_in[] = {{"dloss", NW_PORT_DATA},
                                 {"target", NW_PORT_DATA},
                                 {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL},
                                 {"input", NW_PORT_DATA}};
static const NwPort grad_out[] = {{"dinput", NW_PORT_DATA}};

static NwStatus need_table(const NwOp *op, const NwSpec *x, const NwSpec *target, const NwSpec *weight,
                           NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, x, 1, &(NwSpec){0}, error));
  if (x->ndim != 2 || x->dims[0] < 1 || x->dims[1] < 1)
    return nw_fail(error, NW_BAD_SHAPE,
                   "%s needs one number for each class of each picture; put a Linear "
                   "at the end",
                   nw_op_name(op));
  if (target->ndim != 1 || target->dims[0] != x->dims[0] || target->dtype != NW_I64)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs one class number for each of the %lld pictures",
                   nw_op_name(op), (long long)x->dims[0]);
  if (weight->ndim >= 0 && (weight->ndim != 1 || weight->dims[0] != x->dims[1] || weight->dtype != x->dtype))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs one weight for each of the %lld classes", nw_op_name(op),
                   (long long)x->dims[1]);
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NwSpec none = nw_spec_absent();
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s has no target", nw_op_name(op));
  NW_TRY(need_table(op, &in[0], &in[1], n_in > 2 ? &in[2] : &none, error));
  out[0] = nw_spec_like(&in[0], 0, NULL);
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  if (!nw_spec_is(in, n_in, 3) || nw_spec_count(&in[0]) != 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dloss and the shape of the input", op->id);
  NW_TRY(need_table(op, &in[3], &in[1], &in[2], error));
  out[0] = in[3];
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  NwVal weight = g->n_in > 2 ? g->in[2] : (NwVal){0};
  return nw_emit(g->emitter, &nw_ops_focal_loss[1], g->attrs,
                 (NwVal[]){g->dout[0], g->in[1], weight, g->in[0]}, 4, &g->din[0], error);
}

/* Weight of picture i, 0 where it is ignored; checks its class. */
static NwStatus weigh(const NwCall *call, int port, int64_t i, int64_t classes, bool wide, double *weight,
                      NwError *error)
{
  const int64_t target = ((const int64_t *)call->in_data[port])[i];
  *weight = 0;
  if (target == ((const Focal *)call->attrs)->ignore_index)
    return NW_OK;
  if (target < 0 || target >= classes)
    return nw_fail(
        error, NW_BAD_DATA,
        "Picture %lld of the batch is of class %lld, but the network tells only classes 0 to %lld apart",
        (long long)i, (long long)target, (long long)classes - 1);
  *weight = nw_call_has(call, port + 1) ? nw_get(call->in_data[port + 1], target, wide) : 1;
  return NW_OK;
}

/* Logarithm of the right class's share. */
NW_INLINE double softmax_row(const void *x, int64_t first, int64_t classes, int64_t target, bool wide)
{
  double top = -INFINITY, sum = 0;
  for (int64_t c = 0; c < classes; c++) {
    double v = nw_get(x, first + c, wide);
    top = v > top || v != v ? v : top;
  }
  for (int64_t c = 0; c < classes; c++)
    sum += exp(nw_get(x, first + c, wide) - top);
  return nw_get(x, first + target, wide) - top - log(sum);
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  const Focal *a = call->attrs;
  bool wide = nw_call_wide(call);
  const int64_t *target = call->in_data[1], classes = call->in[0].dims[1];
  double sum = 0, weight;
  int64_t counted = 0;
  for (int64_t i = 0; i < call->in[0].dims[0]; i++) {
    NW_TRY(weigh(call, 1, i, classes, wide, &weight, error));
    counted += target[i] != a->ignore_index;
    if (weight == 0)
      continue;
    double log_p = softmax_row(call->in_data[0], i * classes, classes, target[i], wide);
    sum -= weight * pow(-expm1(log_p), a->gamma) * log_p;
  }
  nw_put(call->out_data[0], 0, sum / (double)counted, wide);
  return NW_OK;
}

/* With q = 1 − p: d/dx[c] = weight · (γ · p · q^(γ−1) · ln p − q^γ) · ([c = t] − p[c]) */
static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  const Focal *a = call->attrs;
  bool wide = nw_call_wide(call);
  const void *x = call->in_data[3];
  const int64_t *target = call->in_data[1], rows = call->out[0].dims[0], classes = call->out[0].dims[1];
  double weight, dloss = nw_get(call->in_data[0], 0, wide);
  int64_t counted = 0;
  for (int64_t i = 0; i < rows; i++)
    counted += target[i] != a->ignore_index;
  for (int64_t i = 0; i < rows; i++) {
    NW_TRY(weigh(call, 1, i, classes, wide, &weight, error));
    double log_p = weight != 0 ? softmax_row(x, i * classes, classes, target[i], wide) : 0;
    double q = -expm1(log_p), normal = weight != 0 ? nw_get(x, i * classes + target[i], wide) - log_p : 0;
    double slope = q > 0 ? a->gamma * exp(log_p) * pow(q, a->gamma - 1) * log_p - pow(q, a->gamma) : 0;
    for (int64_t c = 0; c < classes; c++) {
      double p = weight != 0 ? exp(nw_get(x, i * classes + c, wide) - normal) : 0;
      double d = weight != 0 ? weight * slope * ((c == target[i]) - p) : 0;
      nw_put(call->out_data[0], i * classes + c, dloss * d / (double)counted, wide);
    }
  }
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwKernel grad_kernels[] = {NW_PLAIN(grad_run)};
static const NwOpCase cases[] = {
    {"", "5x7 5:i64<7 -"}, {"ignore_index=1 gamma=1.5", "6x3 6:i64<3 3"}, {"gamma=0", "1x2 1:i64<2 2"}};

const NwOp nw_ops_focal_loss[] = {
    {.id = "focal_loss",
     .version = 1,
     .label = "FocalLoss",
     .group = NW_GROUP_LOSS,
     .doc = N_("Cross entropy in which pictures that are already right hardly count; for few pictures of "
               "some classes."),
     .formula = N_("loss = mean of −weight[t] · (1 − p[t])^gamma · ln p[t], p = softmax(input), t the right "
                   "class (Lin et al. 2017)"),
     .keywords = "focal imbalance hard examples classification softmax",
     .torch =
         "none; the formula in PyTorch: ((1 - p) ** gamma * F.cross_entropy(x, t, reduction='none')).mean()",
     NW_PORTS_AND(loss_in, loss_out),
     NW_ATTRS(Focal, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(kernels),
     NW_CASES(cases)},
    {NW_INTERNAL("focal_loss_grad", grad_in, grad_out), NW_ATTRS(Focal, attrs_rows), .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
};
NW_OPS_END(focal_loss);
