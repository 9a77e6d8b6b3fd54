#include "engine/ops/loss-pairs.h"

const NwEnumItem nw_loss_reductions[3] = {
    {NW_LOSS_MEAN, "mean", N_("Mean of all numbers")},
    {NW_LOSS_SUM, "sum", N_("Sum")},
    {NW_LOSS_BATCHMEAN, "batchmean", N_("Sum, divided by the pictures")}};
const NwPort nw_loss_out[1] = {{"loss", NW_PORT_DATA, 0, N_("One number.")}};
const NwPort nw_loss_grad_in[4] = {{"dloss", NW_PORT_DATA},
                                   {"x", NW_PORT_DATA},
                                   {"target", NW_PORT_DATA},
                                   {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL}};
const NwPort nw_loss_grad_out[1] = {{"dx", NW_PORT_DATA}};

/* in: x, target, weight. */
static NwStatus need_pair(const NwOp *op, const NwSpec *in, int n_in, NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, in, n_in, &(NwSpec){0}, error));
  if (in[0].ndim < 1 || nw_spec_count(&in[0]) < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs a batch of numbers", nw_op_name(op));
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s has no target", nw_op_name(op));
  bool classes =
      in[1].dtype == NW_I64 && in[0].ndim == 2 && in[1].ndim == 1 && in[1].dims[0] == in[0].dims[0];
  if (!classes && (in[1].dtype != in[0].dtype || !nw_spec_same_shape(&in[0], &in[1]))) {
    char left[64], right[64];
    nw_spec_shape_text(&in[0], false, left, sizeof left);
    nw_spec_shape_text(&in[1], false, right, sizeof right);
    return nw_fail(
        error, NW_BAD_SHAPE,
        "%s: a target of %s does not fit numbers of %s; it needs the same size, or one class number for each "
        "picture",
        nw_op_name(op), right, left);
  }
  int64_t columns = in[0].dims[in[0].ndim - 1];
  if (nw_spec_is(in, n_in, 2) && (in[2].ndim != 1 || in[2].dims[0] != columns || in[2].dtype != in[0].dtype))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs one weight for each of the %lld columns", nw_op_name(op),
                   (long long)columns);
  return NW_OK;
}

NwStatus nw_loss_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                       NwError *error)
{
  NW_TRY(need_pair(op, in, n_in, error));
  out[0] = nw_spec_like(&in[0], 0, NULL);
  return NW_OK;
}

NwStatus nw_loss_grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                            NwError *error)
{
  if (n_in < 3 || nw_spec_count(&in[0]) != 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs one number as the loss's gradient", op->id);
  NW_TRY(need_pair(op, in + 1, n_in - 1, error));
  out[0] = in[1];
  out[0].block = 0;
  return NW_OK;
}

NwStatus nw_loss_rule(NwGrad *g, NwError *error)
{
  NwVal weight = g->n_in > 2 ? g->in[2] : (NwVal){0};
  return nw_emit(g->emitter, g->op + 1, g->attrs, (NwVal[]){g->dout[0], g->in[0], g->in[1], weight}, 4,
                 &g->din[0], error);
}

/* ---- kernels ---- */
enum { PARTS = 64 }; /* sums of their own, so that threads do not change a bit */

typedef struct Job {
  const NwCall *call;
  NwLossValue function;
  int x; /* port of x; target and weight follow */
  double factor;
  double *sums; /* NULL: the gradient */
} Job;

static NwStatus need_classes(const NwCall *call, int x, NwError *error)
{
  if (call->in[x + 1].dtype != NW_I64)
    return NW_OK;
  const int64_t *target = call->in_data[x + 1], classes = call->in[x].dims[1];
  for (int64_t i = 0; i < call->in[x].dims[0]; i++)
    if (target[i] < 0 || target[i] >= classes)
      return nw_fail(
          error, NW_BAD_DATA,
          "Picture %lld of the batch is of class %lld, but the network tells only classes 0 to %lld apart",
          (long long)i, (long long)target[i], (long long)classes - 1);
  return NW_OK;
}

NW_INLINE void pairs(const Job *job, int64_t begin, int64_t end, double *sum, bool wide)
{
  const NwCall *call = job->call;
  const NwSpec *x = &call->in[job->x];
  int64_t columns = x->dims[x->ndim - 1];
  bool classes = call->in[job->x + 1].dtype == NW_I64;
  const int64_t *number = call->in_data[job->x + 1];
  const void *weight = nw_call_has(call, job->x + 2) ? call->in_data[job->x + 2] : NULL;
  for (int64_t i = begin; i < end; i++) {
    double v = nw_get(call->in_data[job->x], i, wide);
    double t = classes ? number[i / columns] == i % columns : nw_get(call->in_data[job->x + 1], i, wide);
    double made = job->function(call->attrs, v, t, weight ? nw_get(weight, i % columns, wide) : 1);
    if (sum != NULL)
      *sum += made;
    else
      nw_put(call->out_data[0], i, made * job->factor, wide);
  }
}

static void part_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Job *job = context;
  bool wide = nw_call_wide(job->call);
  int64_t n = nw_spec_count(&job->call->in[job->x]);
  for (int64_t part = begin; part < end; part++) {
    int64_t from = n / PARTS * part + (part < n % PARTS ? part : n % PARTS);
    int64_t to = from + n / PARTS + (part < n % PARTS);
    if (job->sums)
      job->sums[part] = 0;
    if (wide)
      pairs(job, from, to, job->sums ? &job->sums[part] : NULL, true);
    else
      pairs(job, from, to, job->sums ? &job->sums[part] : NULL, false);
  }
}

static double divisor(const NwCall *call, int x)
{
  switch (((const NwLossAttrs *)call->attrs)->reduction) {
  case NW_LOSS_SUM:
    return 1;
  case NW_LOSS_BATCHMEAN:
    return (double)call->in[x].dims[0];
  default:
    return (double)nw_spec_count(&call->in[x]);
  }
}

static int64_t grain(const NwCall *call, int x)
{
  return nw_spec_count(&call->in[x]) < NW_GRAIN ? PARTS : 1;
}

NwStatus nw_loss_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  *workspace = PARTS * sizeof(double);
  return NW_OK;
}

NwStatus nw_loss_run(const NwCall *call, NwLossValue value, NwError *error)
{
  Job job = {call, value, 0, 1, call->workspace};
  double sum = 0;
  NW_TRY(need_classes(call, 0, error));
  nw_parallel(PARTS, grain(call, 0), part_body, &job);
  for (int i = 0; i < PARTS; i++)
    sum += job.sums[i];
  nw_put(call->out_data[0], 0, sum / divisor(call, 0), nw_call_wide(call));
  return NW_OK;
}

NwStatus nw_loss_grad_run(const NwCall *call, NwLossValue slope, NwError *error)
{
  Job job = {call, slope, 1, nw_get(call->in_data[0], 0, nw_call_wide(call)) / divisor(call, 1), NULL};
  NW_TRY(need_classes(call, 1, error));
  nw_parallel(PARTS, grain(call, 1), part_body, &job);
  return NW_OK;
}
