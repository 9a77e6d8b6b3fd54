/* LogSoftmax along one size, computed without ever leaving the logarithm. Its gradient reads the output. */
#include "engine/ops/elementwise.h"
#include "engine/ops/lines.h"

typedef struct LogSoftmax {
  int64_t dim;
} LogSoftmax;

extern const NwOp nw_ops_log_softmax[];

static const NwAttr attrs_rows[] = {
    {"dim", N_("Along"), N_("Over which size the shares are; −1 is the last, 1 are classes or channels."),
     NULL, NW_ATTR_INT, 0, offsetof(LogSoftmax, dim), -1, -NW_MAX_DIMS, NW_MAX_DIMS - 1, -1, 3, 1},
};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const LogSoftmax *a = attrs;
  NW_TRY(nw_infer_activation(op, attrs, in, n_in, out, error));
  return nw_need_axis(op, a->dim, &in[0], error);
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  const LogSoftmax *a = attrs;
  NW_TRY(nw_infer_pair(op, attrs, in, n_in, out, error));
  return nw_need_axis(op, a->dim, &in[0], error);
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_log_softmax[1], g->attrs, (NwVal[]){g->dout[0], g->out[0]}, 2,
                 &g->din[0], error);
}

NW_INLINE void forward_lines(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const LogSoftmax *a = call->attrs;
  NwLines lines = nw_lines(&call->in[0], a->dim);
  for (int64_t l = begin; l < end; l++) {
    int64_t first = nw_line(&lines, l), last = first + lines.size * lines.step;
    double top = -INFINITY, sum = 0;
    for (int64_t i = first; i < last; i += lines.step) {
      double v = nw_get(call->in_data[0], i, wide);
      top = v > top || v != v ? v : top;
    }
    for (int64_t i = first; i < last; i += lines.step)
      sum += exp(nw_get(call->in_data[0], i, wide) - top);
    double normal = top + log(sum);
    for (int64_t i = first; i < last; i += lines.step)
      nw_put(call->out_data[0], i, nw_get(call->in_data[0], i, wide) - normal, wide);
  }
}
NW_WIDTHS(forward_lines)

/* dx = dy − e^y · Σ dy */
NW_INLINE void grad_lines(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const LogSoftmax *a = call->attrs;
  NwLines lines = nw_lines(&call->in[0], a->dim);
  const void *dy = call->in_data[0], *y = call->in_data[1];
  for (int64_t l = begin; l < end; l++) {
    int64_t first = nw_line(&lines, l), last = first + lines.size * lines.step;
    double sum = 0;
    for (int64_t i = first; i < last; i += lines.step)
      sum += nw_get(dy, i, wide);
    for (int64_t i = first; i < last; i += lines.step)
      nw_put(call->out_data[0], i, nw_get(dy, i, wide) - exp(nw_get(y, i, wide)) * sum, wide);
  }
}
NW_WIDTHS(grad_lines)

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  const LogSoftmax *a = call->attrs;
  forward_lines_run(call, nw_lines(&call->in[0], a->dim).count, 8);
  return NW_OK;
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  const LogSoftmax *a = call->attrs;
  grad_lines_run(call, nw_lines(&call->in[0], a->dim).count, 8);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwKernel grad_kernels[] = {NW_PLAIN(grad_run)};
static const NwOpCase cases[] = {{"", "3x7"}, {"dim=1", "2x5x3x4"}, {"dim=-2", "2x3x9"}, {"dim=0", "4x2"}};

const NwOp nw_ops_log_softmax[] = {
    {.id = "log_softmax",
     .version = 1,
     .label = "LogSoftmax",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("The logarithms of the shares that Softmax gives; what NLLLoss reads."),
     .formula = N_("y[i] = x[i] − ln Σ e^x[k]"),
     .keywords = "log probability normalize nll activation",
     .torch = "torch.nn.LogSoftmax",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     NW_ATTRS(LogSoftmax, attrs_rows),
     .infer = infer,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "LogSoftmax($x) axis=$dim",
     .torchscript = "torch.log_softmax($x, $dim)",
     NW_CASES(cases)},
    {NW_INTERNAL("log_softmax_grad", nw_activation_grad_in, nw_activation_grad_out),
     NW_ATTRS(LogSoftmax, attrs_rows), .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(log_softmax);
