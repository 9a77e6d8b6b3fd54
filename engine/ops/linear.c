/* Linear: y = x·weightᵀ + bias over the last size of x. linear_relu is the same with a ReLU on its way out.
 */
#include "engine/backend/onednn.h"
#include "engine/ops/common.h"

typedef struct Linear {
  int64_t out_features;
  bool bias;
} Linear;

extern const NwOp nw_ops_linear[];
enum { LINEAR, RELU, GRAD_X, GRAD_W };

static const NwAttr linear_attrs[] = {
    {"out_features", N_("Outputs"), N_("How many numbers come out; the last Linear has one for each class."),
     NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(Linear, out_features), 128, 1, 1048576, 1,
     8192, 1},
    {"bias", N_("Bias"), N_("Adds one learnt number to each output."), NULL, NW_ATTR_BOOL, 0,
     offsetof(Linear, bias), 1, 0, 1, 0, 1, 1},
};
static const NwPort linear_in[] = {
    {"x", NW_PORT_DATA, 0, N_("A list of numbers for each picture.")},
    {"weight", NW_PORT_PARAM, 0, N_("Outputs × inputs.")},
    {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("One number for each output.")},
};
static const NwPort linear_out[] = {{"y", NW_PORT_DATA, 0, N_("The outputs of each picture.")}};
static const NwPort grad_x_in[] = {{"dy", NW_PORT_DATA}, {"weight", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort grad_x_out[] = {{"dx", NW_PORT_DATA}};
static const NwPort grad_w_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_DATA}, {"weight", NW_PORT_SHAPE}};
static const NwPort grad_w_out[] = {{"dweight", NW_PORT_DATA}, {"dbias", NW_PORT_DATA}};

/* ---- shapes ---- */
static NwStatus need_list(const NwOp *op, const NwSpec *x, NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, x, 1, &(NwSpec){0}, error));
  if (x->ndim < 2)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs a batch of lists of numbers; this input has %d sizes",
                   nw_op_name(op), x->ndim);
  if (x->ndim == 4)
    return nw_fail(error, NW_BAD_SHAPE,
                   "%s needs a list of numbers for each picture; put a Flatten before it", nw_op_name(op));
  if (x->dims[x->ndim - 1] < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the input holds no numbers", nw_op_name(op));
  return NW_OK;
}

static NwStatus infer_y(const NwOp *op, const Linear *a, const NwSpec *in, int n_in, NwSpec *y,
                        NwError *error)
{
  NW_TRY(need_list(op, &in[0], error));
  int64_t features = in[0].dims[in[0].ndim - 1];
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s has no weight", nw_op_name(op));
  const NwSpec *w = &in[1];
  if (w->ndim != 2 || w->dtype != in[0].dtype || w->dims[0] != a->out_features || w->dims[1] != features) {
    char text[64];
    nw_spec_shape_text(w, false, text, sizeof text);
    return nw_fail(error, NW_BAD_SHAPE, "%s: a weight of %s does not fit %lld inputs and %lld outputs",
                   nw_op_name(op), text, (long long)features, (long long)a->out_features);
  }
  if (nw_spec_is(in, n_in, 2) && (in[2].ndim != 1 || in[2].dims[0] != w->dims[0] || in[2].dtype != w->dtype))
    return nw_fail(error, NW_BAD_SHAPE, "%s: the bias needs %lld numbers", nw_op_name(op),
                   (long long)w->dims[0]);
  *y = in[0];
  y->dims[y->ndim - 1] = w->dims[0];
  return NW_OK;
}

static NwStatus linear_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                             NwError *error)
{
  return infer_y(op, attrs, in, n_in, &out[0], error);
}

static NwStatus need_dy(const NwOp *op, const Linear *a, const NwSpec *dy, const NwSpec *x, const NwSpec *w,
                        NwError *error)
{
  NwSpec y;
  NW_TRY(infer_y(op, a, (NwSpec[]){*x, *w}, 2, &y, error));
  return nw_need_same(op, dy, &y, error);
}

static NwStatus grad_x_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                             NwError *error)
{
  NW_TRY(need_dy(op, attrs, &in[0], &in[2], &in[1], error));
  out[0] = in[2];
  return NW_OK;
}

static NwStatus grad_w_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                             NwError *error)
{
  const Linear *a = attrs;
  NW_TRY(need_dy(op, attrs, &in[0], &in[1], &in[2], error));
  out[0] = in[2];
  out[1] = a->bias ? nw_spec_like(&in[2], 1, &in[2].dims[0]) : nw_spec_absent();
  return NW_OK;
}

static NwStatus linear_param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                             NwError *error)
{
  const Linear *a = attrs;
  NW_TRY(need_list(op, &in[0], error));
  int64_t dims[2] = {a->out_features, in[0].dims[in[0].ndim - 1]};
  double bound = 1 / sqrt((double)dims[1]);
  if (port == 1)
    *info = (NwParamInfo){true, nw_spec_like(&in[0], 2, dims), NW_INIT_UNIFORM, bound};
  else
    *info = nw_param_vector(&in[0], a->out_features, NW_INIT_UNIFORM, bound);
  info->present = port == 1 || a->bias;
  return NW_OK;
}

static NwCost linear_cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out)
{
  double macs = (double)nw_spec_count(&out[0]) * (double)in[1].dims[1];
  return (NwCost){macs, 2 * macs + (nw_spec_is(in, n_in, 2) ? (double)nw_spec_count(&out[0]) : 0)};
}

static NwStatus linear_grad(NwGrad *g, NwError *error)
{
  Linear a = *(const Linear *)g->attrs;
  a.bias = g->n_in > 2 && g->in[2].p != NULL && g->need[2];
  if (g->need[0])
    NW_TRY(nw_emit(g->emitter, &nw_ops_linear[GRAD_X], g->attrs, (NwVal[]){g->dout[0], g->in[1], g->in[0]}, 3,
                   &g->din[0], error));
  if (!g->need[1] && !a.bias)
    return NW_OK;
  NwVal out[2];
  NW_TRY(g->emitter->emit(g->emitter, &nw_ops_linear[GRAD_W], &a, (NwVal[]){g->dout[0], g->in[0], g->in[1]},
                          3, out, error));
  if (g->need[1])
    g->din[1] = out[0];
  if (a.bias)
    g->din[2] = out[1];
  return NW_OK;
}

/* ---- plain kernels: rows × features, in double ---- */
typedef struct Sizes {
  int64_t rows, in, out;
} Sizes;

static Sizes sizes_of(const NwSpec *x, const NwSpec *weight)
{
  Sizes s = {1, weight->dims[1], weight->dims[0]};
  for (int i = 0; i + 1 < x->ndim; i++)
    s.rows *= x->dims[i];
  return s;
}

/* Four sums side by side, so that the additions need not wait for each other. */
NW_INLINE double dot(const void *a, int64_t i, const void *b, int64_t j, int64_t n, bool wide)
{
  double sum[4] = {0};
  int64_t k = 0;
  for (; k + 4 <= n; k += 4)
    for (int l = 0; l < 4; l++)
      sum[l] += nw_get(a, i + k + l, wide) * nw_get(b, j + k + l, wide);
  for (; k < n; k++)
    sum[0] += nw_get(a, i + k, wide) * nw_get(b, j + k, wide);
  return sum[0] + sum[1] + sum[2] + sum[3];
}

NW_INLINE void forward_numbers(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  Sizes s = sizes_of(&call->in[0], &call->in[1]);
  const void *bias = nw_call_has(call, 2) ? call->in_data[2] : NULL;
  bool relu = call->op == &nw_ops_linear[RELU];
  for (int64_t i = begin; i < end; i++) {
    int64_t r = i / s.out, o = i % s.out;
    double y = dot(call->in_data[0], r * s.in, call->in_data[1], o * s.in, s.in, wide);
    y += bias ? nw_get(bias, o, wide) : 0;
    nw_put(call->out_data[0], i, relu && y < 0 ? 0 : y, wide);
  }
}
NW_WIDTHS(forward_numbers)

/* Columns are summed in pieces that stay in the first-level cache. */
enum { TILE = 256 };

NW_INLINE void grad_x_rows(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  Sizes s = sizes_of(&call->in[2], &call->in[1]);
  for (int64_t r = begin; r < end; r++)
    for (int64_t k0 = 0; k0 < s.in; k0 += TILE) {
      int64_t n = s.in - k0 < TILE ? s.in - k0 : TILE;
      double sum[TILE] = {0};
      for (int64_t o = 0; o < s.out; o++) {
        double dy = nw_get(call->in_data[0], r * s.out + o, wide);
        for (int64_t k = 0; k < n; k++)
          sum[k] += dy * nw_get(call->in_data[1], o * s.in + k0 + k, wide);
      }
      for (int64_t k = 0; k < n; k++)
        nw_put(call->out_data[0], r * s.in + k0 + k, sum[k], wide);
    }
}
NW_WIDTHS(grad_x_rows)

NW_INLINE void grad_w_rows(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  Sizes s = sizes_of(&call->in[1], &call->in[2]);
  for (int64_t o = begin; o < end; o++) {
    double bias = 0;
    for (int64_t k0 = 0; k0 < s.in; k0 += TILE) {
      int64_t n = s.in - k0 < TILE ? s.in - k0 : TILE;
      double sum[TILE] = {0};
      for (int64_t r = 0; r < s.rows; r++) {
        double dy = nw_get(call->in_data[0], r * s.out + o, wide);
        bias += k0 == 0 ? dy : 0;
        for (int64_t k = 0; k < n; k++)
          sum[k] += dy * nw_get(call->in_data[1], r * s.in + k0 + k, wide);
      }
      for (int64_t k = 0; k < n; k++)
        nw_put(call->out_data[0], o * s.in + k0 + k, sum[k], wide);
    }
    if (call->out_data[1])
      nw_put(call->out_data[1], o, bias, wide);
  }
}
NW_WIDTHS(grad_w_rows)

static NwStatus forward_plain(const NwCall *call, void *state, NwError *error)
{
  forward_numbers_run(call, nw_spec_count(&call->out[0]), 16);
  return NW_OK;
}

static NwStatus grad_x_plain(const NwCall *call, void *state, NwError *error)
{
  grad_x_rows_run(call, sizes_of(&call->in[2], &call->in[1]).rows, 1);
  return NW_OK;
}

static NwStatus grad_w_plain(const NwCall *call, void *state, NwError *error)
{
  grad_w_rows_run(call, call->in[2].dims[0], 1);
  return NW_OK;
}

/* ---- oneDNN ---- */
static bool onednn_supports(const NwCall *call)
{
  return nw_onednn_available() && nw_supports_plain_f32(call);
}

static NwStatus onednn_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  int kind = (int)(call->op - nw_ops_linear);
  bool forward = kind == LINEAR || kind == RELU;
  Sizes s = forward          ? sizes_of(&call->in[0], &call->in[1])
            : kind == GRAD_X ? sizes_of(&call->in[2], &call->in[1])
                             : sizes_of(&call->in[1], &call->in[2]);
  NwOnednnLinear l = {.pass = forward          ? NW_ONEDNN_FORWARD
                              : kind == GRAD_X ? NW_ONEDNN_BACKWARD_DATA
                                               : NW_ONEDNN_BACKWARD_WEIGHTS,
                      .rows = s.rows,
                      .in = s.in,
                      .out = s.out,
                      .bias = forward ? nw_call_has(call, 2) : kind == GRAD_W && call->out[1].ndim >= 0,
                      .relu = kind == RELU};
  return nw_onednn_linear_new(&l, (NwOnednn **)state, workspace, error);
}

static NwStatus onednn_run(const NwCall *call, void *state, NwError *error)
{
  int kind = (int)(call->op - nw_ops_linear);
  NwOnednnData d = {.workspace = call->workspace};
  if (kind == LINEAR || kind == RELU) {
    d.src = call->in_data[0];
    d.weights = call->in_data[1];
    d.bias = nw_call_has(call, 2) ? call->in_data[2] : NULL;
    d.dst = call->out_data[0];
  } else if (kind == GRAD_X) {
    d.src = call->out_data[0];
    d.weights = call->in_data[1];
    d.dst = call->in_data[0];
  } else {
    d.src = call->in_data[1];
    d.dst = call->in_data[0];
    d.weights = call->out_data[0];
    d.bias = call->out_data[1];
  }
  return nw_onednn_run(state, &d, error);
}

#define ONEDNN_ROW                                                                                           \
  {                                                                                                          \
    .name = "onednn", .device = NW_CPU, .flags = NW_KERNEL_EXACT, .supports = onednn_supports,               \
    .prepare = onednn_prepare, .run = onednn_run, .release = nw_onednn_free                                  \
  }
static const NwKernel forward_kernels[] = {ONEDNN_ROW, NW_PLAIN(forward_plain)};
static const NwKernel grad_x_kernels[] = {ONEDNN_ROW, NW_PLAIN(grad_x_plain)};
static const NwKernel grad_w_kernels[] = {ONEDNN_ROW, NW_PLAIN(grad_w_plain)};
static const NwFusion linear_fusions[] = {{"relu", "linear_relu", NULL, NULL}};
static const NwOpCase linear_cases[] = {
    {"out_features=7", "3x5 7x5 7"},         {"out_features=10 bias=false", "1x33 10x33 -"},
    {"out_features=16", "2x3x24 16x24 16"},  {"out_features=1", "4x1 1x1 1"},
    {"out_features=65", "17x300 65x300 65"},
};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  if (nw_onnx_spec(writer, 0).ndim == 2)
    return nw_onnx_put(writer, error, "Gemm($x, $weight, $bias) transB=1");
  NwSpec bias = nw_onnx_spec(writer, 2);
  return nw_onnx_put(writer, error, "%s",
                     nw_spec_present(&bias)
                         ? "turned = Transpose($weight) perm=[1, 0]; y = MatMul($x, turned); Add(y, $bias)"
                         : "turned = Transpose($weight) perm=[1, 0]; MatMul($x, turned)");
}

const NwOp nw_ops_linear[] = {
    {.id = "linear",
     .version = 1,
     .label = "Linear",
     .group = NW_GROUP_LINEAR,
     .doc = N_("Mixes all its inputs into each of its outputs, with learnt weights."),
     .formula = N_("y = x·weightᵀ + bias; both start uniform in ±1/√inputs (as PyTorch does)."),
     .keywords = "dense fully connected fc inner product classifier",
     .torch = "torch.nn.Linear",
     NW_PORTS_AND(linear_in, linear_out),
     NW_ATTRS(Linear, linear_attrs),
     .infer = linear_infer,
     .param = linear_param,
     .grad = linear_grad,
     .cost = linear_cost,
     NW_KERNELS(forward_kernels),
     NW_FUSIONS(linear_fusions),
     .onnx_write = onnx_write,
     .torchscript = "torch.linear($x, $weight, $bias)",
     NW_CASES(linear_cases)},
    {NW_INTERNAL("linear_relu", linear_in, linear_out), NW_ATTRS(Linear, linear_attrs), .infer = linear_infer,
     .cost = linear_cost, NW_KERNELS(forward_kernels), NW_CASES(linear_cases)},
    {NW_INTERNAL("linear_grad_x", grad_x_in, grad_x_out), NW_ATTRS(Linear, linear_attrs),
     .infer = grad_x_infer, NW_KERNELS(grad_x_kernels)},
    {NW_INTERNAL("linear_grad_w", grad_w_in, grad_w_out), NW_ATTRS(Linear, linear_attrs),
     .infer = grad_w_infer, NW_KERNELS(grad_w_kernels)},
};
NW_OPS_END(linear);
