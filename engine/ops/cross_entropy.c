/* CrossEntropyLoss over class numbers or over shares of classes (soft targets), with class weights and label
 * smoothing, as torch.nn.functional.cross_entropy (reduction "mean"). Beside the loss it keeps the
 * probabilities, which are all that backward needs. */
#include "engine/ops/common.h"

typedef struct CrossEntropy {
  double label_smoothing;
  int64_t ignore_index;
} CrossEntropy;

extern const NwOp nw_ops_cross_entropy[];

static const NwAttr attrs_rows[] = {
    {"label_smoothing", N_("Label smoothing"),
     N_("Share of the target that is spread evenly over all classes."), NULL, NW_ATTR_REAL, 0,
     offsetof(CrossEntropy, label_smoothing), 0, 0, 1, 0, 0.5, 0.01},
    {"ignore_index", N_("Ignored class"), N_("Pictures of this class number do not count."), NULL,
     NW_ATTR_INT, 0, offsetof(CrossEntropy, ignore_index), -100, -1000000, 1000000, -100, 1000, 1},
};
static const NwPort loss_in[] = {
    {"logits", NW_PORT_DATA, 0, N_("Batch × classes, before any softmax.")},
    {"target", NW_PORT_DATA, 0, N_("Number of the right class of each picture, or the share of each class.")},
    {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL, N_("How much each class counts.")},
};
static const NwPort loss_out[] = {{"loss", NW_PORT_DATA, 0, N_("One number.")},
                                  {"probabilities", NW_PORT_AUX, 0, N_("Softmax of the logits.")}};
static const NwPort grad_in[] = {{"dloss", NW_PORT_DATA},
                                 {"probabilities", NW_PORT_DATA},
                                 {"target", NW_PORT_DATA},
                                 {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL}};
static const NwPort grad_out[] = {{"dlogits", NW_PORT_DATA}};

static NwStatus need_table(const NwOp *op, const NwSpec *in, int n_in, NwError *error)
{
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  if (in[0].ndim != 2 || in[0].dims[0] < 1 || in[0].dims[1] < 1)
    return nw_fail(error, NW_BAD_SHAPE,
                   "%s needs one number for each class of each picture; put a Linear at the end",
                   nw_op_name(op));
  bool numbers =
      nw_spec_is(in, n_in, 1) && in[1].ndim == 1 && in[1].dims[0] == in[0].dims[0] && in[1].dtype == NW_I64;
  if (!numbers &&
      !(nw_spec_is(in, n_in, 1) && in[1].dtype == in[0].dtype && nw_spec_same_shape(&in[0], &in[1])))
    return nw_fail(error, NW_BAD_SHAPE,
                   "%s needs one class number for each of the %lld pictures, or a share of each class",
                   nw_op_name(op), (long long)in[0].dims[0]);
  if (nw_spec_is(in, n_in, 2) &&
      (in[2].ndim != 1 || in[2].dims[0] != in[0].dims[1] || in[2].dtype != in[0].dtype))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs one weight for each of the %lld classes", nw_op_name(op),
                   (long long)in[0].dims[1]);
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NW_TRY(need_table(op, in, n_in, error));
  out[0] = nw_spec_like(&in[0], 0, NULL);
  out[1] = in[0];
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  if (n_in < 3 || nw_spec_count(&in[0]) != 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs one number as the loss's gradient", op->id);
  NW_TRY(need_table(op, &in[1], n_in - 1, error));
  out[0] = in[1];
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  NwVal weight = g->n_in > 2 ? g->in[2] : (NwVal){0};
  return nw_emit(g->emitter, &nw_ops_cross_entropy[1], g->attrs,
                 (NwVal[]){g->dout[0], g->out[1], g->in[1], weight}, 4, &g->din[0], error);
}

/* ---- kernels ---- */
/* Sum of the targets' weights, which the mean divides by; checks the class numbers. */
static NwStatus total_weight(const CrossEntropy *a, const NwSpec *spec, const int64_t *target,
                             int64_t classes, const void *weight, bool wide, double *total, NwError *error)
{
  int64_t n = spec->dims[0];
  *total = spec->dtype == NW_I64 ? 0 : (double)n; /* soft targets count alike */
  for (int64_t i = 0; i < n && spec->dtype == NW_I64; i++) {
    if (target[i] == a->ignore_index)
      continue;
    if (target[i] < 0 || target[i] >= classes)
      return nw_fail(
          error, NW_BAD_DATA,
          "Picture %lld of the batch is of class %lld, but the network tells only classes 0 to %lld apart",
          (long long)i, (long long)target[i], (long long)classes - 1);
    *total += weight ? (wide ? ((const double *)weight)[target[i]] : ((const float *)weight)[target[i]]) : 1;
  }
  return NW_OK;
}

/* Share of class c in the soft target of a row that begins at `at`. */
NW_INLINE double share_of(const CrossEntropy *a, const void *target, int64_t at, int64_t c, int64_t classes,
                          bool wide)
{
  return (1 - a->label_smoothing) * nw_get(target, at + c, wide) + a->label_smoothing / (double)classes;
}

/* Row by row: probabilities into output 1, each row's weighted loss into the workspace. */
NW_INLINE void loss_rows(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const CrossEntropy *a = call->attrs;
  const int64_t *target = call->in_data[1];
  const void *weight = nw_call_has(call, 2) ? call->in_data[2] : NULL;
  double *losses = call->workspace;
  int64_t classes = call->in[0].dims[1];
  bool soft = call->in[1].dtype != NW_I64;
  for (int64_t n = begin; n < end; n++) {
    double top = -INFINITY, sum = 0, smooth = 0;
    int64_t at = n * classes;
    for (int64_t c = 0; c < classes; c++) {
      double z = nw_get(call->in_data[0], at + c, wide);
      top = z > top || z != z ? z : top;
    }
    for (int64_t c = 0; c < classes; c++)
      sum += exp(nw_get(call->in_data[0], at + c, wide) - top);
    double normal = top + log(sum), shares = 0;
    for (int64_t c = 0; c < classes; c++) {
      double log_p = nw_get(call->in_data[0], at + c, wide) - normal;
      smooth -= log_p * (weight ? nw_get(weight, c, wide) : 1);
      if (soft)
        shares -= share_of(a, target, at, c, classes, wide) * log_p * (weight ? nw_get(weight, c, wide) : 1);
      if (call->out_data[1])
        nw_put(call->out_data[1], at + c, exp(log_p), wide);
    }
    losses[n] = shares;
    if (soft || target[n] == a->ignore_index)
      continue;
    double nll = (normal - nw_get(call->in_data[0], at + target[n], wide)) *
                 (weight ? nw_get(weight, target[n], wide) : 1);
    losses[n] = (1 - a->label_smoothing) * nll;
    if (a->label_smoothing > 0)
      losses[n] += a->label_smoothing / (double)classes * smooth;
  }
}
NW_WIDTHS(loss_rows)

static NwStatus loss_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  *workspace = (size_t)call->in[0].dims[0] * sizeof(double);
  return NW_OK;
}

static NwStatus loss_run(const NwCall *call, void *state, NwError *error)
{
  int64_t n = call->in[0].dims[0];
  bool wide = nw_call_wide(call);
  double total, sum = 0;
  const double *losses = call->workspace;
  NW_TRY(total_weight(call->attrs, &call->in[1], call->in_data[1], call->in[0].dims[1],
                      nw_call_has(call, 2) ? call->in_data[2] : NULL, wide, &total, error));
  loss_rows_run(call, n, 8);
  for (int64_t i = 0; i < n; i++)
    sum += losses[i];
  nw_put(call->out_data[0], 0, sum / total, wide);
  return NW_OK;
}

/* Two factors for all rows, from dloss and the total weight, stand at the start of the workspace. */
NW_INLINE void grad_rows(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const CrossEntropy *a = call->attrs;
  const int64_t *target = call->in_data[2];
  const void *weight = nw_call_has(call, 3) ? call->in_data[3] : NULL;
  int64_t classes = call->in[1].dims[1];
  double factor = *(const double *)call->workspace, all = 0, e = a->label_smoothing;
  for (int64_t c = 0; c < classes; c++)
    all += weight ? nw_get(weight, c, wide) : 1;
  bool soft = call->in[2].dtype != NW_I64;
  for (int64_t n = begin; n < end; n++) {
    double shares = 0;
    for (int64_t c = 0; c < classes && soft; c++)
      shares += share_of(a, target, n * classes, c, classes, wide) * (weight ? nw_get(weight, c, wide) : 1);
    for (int64_t c = 0; c < classes; c++) {
      double d = 0, p = nw_get(call->in_data[1], n * classes + c, wide);
      if (soft) {
        d = p * shares -
            share_of(a, target, n * classes, c, classes, wide) * (weight ? nw_get(weight, c, wide) : 1);
      } else if (target[n] != a->ignore_index) {
        d = (1 - e) * (weight ? nw_get(weight, target[n], wide) : 1) * (p - (c == target[n]));
        d += e / (double)classes * (all * p - (weight ? nw_get(weight, c, wide) : 1));
      }
      nw_put(call->out_data[0], n * classes + c, d * factor, wide);
    }
  }
}
NW_WIDTHS(grad_rows)

static NwStatus grad_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  *workspace = sizeof(double);
  return NW_OK;
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  double total;
  NW_TRY(total_weight(call->attrs, &call->in[2], call->in_data[2], call->in[1].dims[1],
                      nw_call_has(call, 3) ? call->in_data[3] : NULL, wide, &total, error));
  *(double *)call->workspace = nw_get(call->in_data[0], 0, wide) / total;
  grad_rows_run(call, call->in[1].dims[0], 8);
  return NW_OK;
}

#define FLAGS .device = NW_CPU, .flags = NW_KERNEL_EXACT | NW_KERNEL_F64, .supports = nw_supports_plain
static const NwKernel loss_kernels[] = {{.name = "plain", FLAGS, .prepare = loss_prepare, .run = loss_run}};
static const NwKernel grad_kernels[] = {{.name = "plain", FLAGS, .prepare = grad_prepare, .run = grad_run}};
static const NwOpCase cases[] = {{"", "5x7 5:i64<7 -"},
                                 {"label_smoothing=0.1", "4x10 4:i64<10 -"},
                                 {"label_smoothing=0.2", "6x3 6:i64<3 3"},
                                 {"", "1x2 1:i64<2 2"},
                                 {"ignore_index=2", "6x3 6:i64<3 3"},
                                 {"label_smoothing=0.1", "4x5 4x5 5"},
                                 {"", "3x4 3x4 -"}};

const NwOp nw_ops_cross_entropy[] = {
    {.id = "cross_entropy",
     .version = 1,
     .label = "CrossEntropyLoss",
     .group = NW_GROUP_LOSS,
     .doc = N_("Tells how far the network's guess is from the right class; training makes it small."),
     .formula = N_("loss = Σ w[t]·((1−ε)·(−log p[t]) + ε/C·Σ over c of −w[c]/w[t]·log p[c]) / Σ w[t], p = "
                   "softmax(logits), "
                   "t the right class, ε label smoothing; soft targets q: mean of −Σ w[c]·q[c]·log p[c]."),
     .keywords = "softmax log loss classification nll",
     .torch = "torch.nn.CrossEntropyLoss",
     NW_PORTS_AND(loss_in, loss_out),
     NW_ATTRS(CrossEntropy, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(loss_kernels),
     NW_CASES(cases)},
    {NW_INTERNAL("cross_entropy_grad", grad_in, grad_out), NW_ATTRS(CrossEntropy, attrs_rows),
     .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(cross_entropy);
