/* NLLLoss over class numbers: what CrossEntropyLoss is behind its LogSoftmax. */
#include "engine/ops/common.h"

typedef struct Nll {
  int64_t ignore_index;
} Nll;

extern const NwOp nw_ops_nll_loss[];

static const NwAttr attrs_rows[] = {
    {"ignore_index", N_("Ignored class"), N_("Pictures of this class number do not count."), NULL,
     NW_ATTR_INT, 0, offsetof(Nll, ignore_index), -100, -1000000, 1000000, -100, 1000, 1},
};
static const NwPort loss_in[] = {
    {"input", NW_PORT_DATA, 0, N_("Batch × classes: logarithms of probabilities.")},
    {"target", NW_PORT_DATA, 0, N_("Number of the right class of each picture.")},
    {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL, N_("How much each class counts.")}};
static const NwPort loss_out[] = {{"loss", NW_PORT_DATA, 0, N_("One number.")}};
static const NwPort grad_in[] = {{"dloss", NW_PORT_DATA},
                                 {"target", NW_PORT_DATA},
                                 {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL},
                                 {"input", NW_PORT_SHAPE}};
static const NwPort grad_out[] = {{"dinput", NW_PORT_DATA}};

static NwStatus need_table(const NwOp *op, const NwSpec *x, const NwSpec *target, const NwSpec *weight,
                           NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, x, 1, &(NwSpec){0}, error));
  if (x->ndim != 2 || x->dims[0] < 1 || x->dims[1] < 1)
    return nw_fail(error, NW_BAD_SHAPE,
                   "%s needs one number for each class of each picture; put a Linear and a "
                   "LogSoftmax at the end",
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
  return nw_emit(g->emitter, &nw_ops_nll_loss[1], g->attrs, (NwVal[]){g->dout[0], g->in[1], weight, g->in[0]},
                 4, &g->din[0], error);
}

/* Weight of picture i, 0 where it is ignored; checks its class. */
static NwStatus weigh(const NwCall *call, int port, int64_t i, int64_t classes, bool wide, double *weight,
                      NwError *error)
{
  const int64_t target = ((const int64_t *)call->in_data[port])[i];
  *weight = 0;
  if (target == ((const Nll *)call->attrs)->ignore_index)
    return NW_OK;
  if (target < 0 || target >= classes)
    return nw_fail(
        error, NW_BAD_DATA,
        "Picture %lld of the batch is of class %lld, but the network tells only classes 0 to %lld apart",
        (long long)i, (long long)target, (long long)classes - 1);
  *weight = nw_call_has(call, port + 1) ? nw_get(call->in_data[port + 1], target, wide) : 1;
  return NW_OK;
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  const int64_t *target = call->in_data[1];
  double sum = 0, total = 0, weight;
  for (int64_t i = 0; i < call->in[0].dims[0]; i++) {
    NW_TRY(weigh(call, 1, i, call->in[0].dims[1], wide, &weight, error));
    if (weight != 0)
      sum -= weight * nw_get(call->in_data[0], i * call->in[0].dims[1] + target[i], wide);
    total += weight;
  }
  nw_put(call->out_data[0], 0, sum / total, wide);
  return NW_OK;
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  const int64_t *target = call->in_data[1], rows = call->out[0].dims[0], classes = call->out[0].dims[1];
  double total = 0, weight, dloss = nw_get(call->in_data[0], 0, wide);
  for (int64_t i = 0; i < rows; i++) {
    NW_TRY(weigh(call, 1, i, classes, wide, &weight, error));
    total += weight;
  }
  memset(call->out_data[0], 0, nw_spec_bytes(&call->out[0]));
  for (int64_t i = 0; i < rows; i++) {
    NW_TRY(weigh(call, 1, i, classes, wide, &weight, error));
    if (weight != 0)
      nw_put(call->out_data[0], i * classes + target[i], -dloss * weight / total, wide);
  }
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwKernel grad_kernels[] = {NW_PLAIN(grad_run)};
static const NwOpCase cases[] = {
    {"", "5x7 5:i64<7 -"}, {"ignore_index=1", "6x3 6:i64<3 3"}, {"", "1x2 1:i64<2 2"}};

const NwOp nw_ops_nll_loss[] = {
    {.id = "nll_loss",
     .version = 1,
     .label = "NLLLoss",
     .group = NW_GROUP_LOSS,
     .doc = N_("Reads logarithms of probabilities, as LogSoftmax gives them, and wants the right class's to "
               "be large."),
     .formula = N_("loss = Σ −weight[t] · input[t] / Σ weight[t], t the right class"),
     .keywords = "negative log likelihood classification",
     .torch = "torch.nn.NLLLoss",
     NW_PORTS_AND(loss_in, loss_out),
     NW_ATTRS(Nll, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(kernels),
     NW_CASES(cases)},
    {NW_INTERNAL("nll_loss_grad", grad_in, grad_out), NW_ATTRS(Nll, attrs_rows), .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
};
NW_OPS_END(nll_loss);
