/* Softmax along one size. The loss has its own inside; this one is for attention and for reading
 * probabilities. */
#include "engine/ops/elementwise.h"

typedef struct Softmax {
  int64_t dim;
} Softmax;

extern const NwOp nw_ops_softmax[];

static const NwAttr attrs_rows[] = {
    {"dim", N_("Along"), N_("Which size adds up to one; −1 is the last, 1 are classes or channels."), NULL,
     NW_ATTR_INT, 0, offsetof(Softmax, dim), -1, -NW_MAX_DIMS, NW_MAX_DIMS - 1, -1, 3, 1},
};

static int axis_of(const Softmax *a, const NwSpec *x)
{
  return (int)(a->dim < 0 ? a->dim + x->ndim : a->dim);
}

static NwStatus need_axis(const NwOp *op, const Softmax *a, const NwSpec *x, NwError *error)
{
  int axis = axis_of(a, x);
  if (axis < 0 || axis >= x->ndim)
    return nw_fail_property(error, NW_BAD_SHAPE, "dim",
                            "%s: the input has %d sizes, so there is no size %lld", nw_op_name(op), x->ndim,
                            (long long)a->dim);
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NW_TRY(nw_infer_activation(op, attrs, in, n_in, out, error));
  return need_axis(op, attrs, &in[0], error);
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  NW_TRY(nw_infer_pair(op, attrs, in, n_in, out, error));
  return need_axis(op, attrs, &in[0], error);
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_softmax[1], g->attrs, (NwVal[]){g->dout[0], g->out[0]}, 2, &g->din[0],
                 error);
}

/* Line l of the value: `size` numbers, `step` apart, from *first on. */
NW_INLINE void line_of(const NwCall *call, int64_t l, int64_t *first, int64_t *size, int64_t *step)
{
  const NwSpec *x = &call->in[0];
  int axis = axis_of(call->attrs, x);
  *size = x->dims[axis];
  *step = 1;
  for (int i = axis + 1; i < x->ndim; i++)
    *step *= x->dims[i];
  *first = l / *step * *size * *step + l % *step;
}

NW_INLINE void softmax_lines(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  for (int64_t l = begin; l < end; l++) {
    int64_t first, size, step;
    double top = -INFINITY, sum = 0;
    line_of(call, l, &first, &size, &step);
    for (int64_t i = 0; i < size; i++) {
      double v = nw_get(call->in_data[0], first + i * step, wide);
      top = v > top || v != v ? v : top;
    }
    for (int64_t i = 0; i < size; i++)
      sum += exp(nw_get(call->in_data[0], first + i * step, wide) - top);
    for (int64_t i = 0; i < size; i++)
      nw_put(call->out_data[0], first + i * step,
             exp(nw_get(call->in_data[0], first + i * step, wide) - top) / sum, wide);
  }
}
NW_WIDTHS(softmax_lines)

/* dx = y·(dy − Σ dy·y) */
NW_INLINE void grad_lines(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const void *dy = call->in_data[0], *y = call->in_data[1];
  for (int64_t l = begin; l < end; l++) {
    int64_t first, size, step;
    double dot = 0;
    line_of(call, l, &first, &size, &step);
    for (int64_t i = first; i < first + size * step; i += step)
      dot += nw_get(dy, i, wide) * nw_get(y, i, wide);
    for (int64_t i = first; i < first + size * step; i += step)
      nw_put(call->out_data[0], i, nw_get(y, i, wide) * (nw_get(dy, i, wide) - dot), wide);
  }
}
NW_WIDTHS(grad_lines)

static int64_t lines(const NwCall *call)
{
  int64_t size = call->in[0].dims[axis_of(call->attrs, &call->in[0])];
  return size ? nw_spec_count(&call->in[0]) / size : 0;
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  softmax_lines_run(call, lines(call), 8);
  return NW_OK;
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  grad_lines_run(call, lines(call), 8);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwKernel grad_kernels[] = {NW_PLAIN(grad_run)};
static const NwOpCase cases[] = {{"", "3x7"}, {"dim=1", "2x5x3x4"}, {"dim=-2", "2x3x9"}, {"dim=0", "4x2"}};

const NwOp nw_ops_softmax[] = {
    {.id = "softmax",
     .version = 1,
     .label = "Softmax",
     .group = NW_GROUP_ACTIVATION,
     .doc =
         N_("Turns numbers into shares that add up to one; not needed before the loss, which has its own."),
     .formula = N_("y[i] = e^x[i] / Σ e^x[k]"),
     .keywords = "probability normalize attention activation",
     .torch = "torch.nn.Softmax",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     NW_ATTRS(Softmax, attrs_rows),
     .infer = infer,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "Softmax($x) axis=$dim",
     .torchscript = "torch.softmax($x, $dim)",
     NW_CASES(cases)},
    {NW_INTERNAL("softmax_grad", nw_activation_grad_in, nw_activation_grad_out),
     NW_ATTRS(Softmax, attrs_rows), .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(softmax);
