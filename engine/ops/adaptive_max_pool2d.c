/* AdaptiveMaxPool2d: the largest number of each of so many windows, wherever their edges fall. */
#include "engine/ops/common.h"

typedef struct AdaptivePool {
  NwDims output_size;
} AdaptivePool;

extern const NwOp nw_ops_adaptive_max_pool2d[];

static const NwAttr attrs_rows[] = {
    {"output_size", N_("Output size"),
     N_("Height and width that come out; 1 leaves one number for each channel."), N_("pixels"), NW_ATTR_DIMS,
     NW_ATTR_ON_BLOCK, offsetof(AdaptivePool, output_size), 1, 1, 4096, 1, 32, 1, .count = 2},
};
static const NwPort pool_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")}};
static const NwPort pool_out[] = {{"y", NW_PORT_DATA, 0, N_("Smaller pictures.")},
                                  {"index", NW_PORT_AUX, 0, N_("Where each number was found.")}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}, {"index", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort grad_out[] = {{"dx", NW_PORT_DATA}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const AdaptivePool *a = attrs;
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  if (in[0].dims[2] < 1 || in[0].dims[3] < 1 || in[0].dims[2] > INT32_MAX / 4 ||
      in[0].dims[3] > INT32_MAX / 4 || in[0].dims[2] * in[0].dims[3] > INT32_MAX)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the picture is empty or too large", nw_op_name(op));
  out[0] = in[0];
  out[0].block = 0;
  out[0].dims[2] = a->output_size.v[0];
  out[0].dims[3] = a->output_size.v[1];
  out[1] = out[0];
  out[1].dtype = NW_I32;
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  NwSpec y[2];
  if (!nw_spec_is(in, n_in, 2))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy, index and x", op->id);
  NW_TRY(infer(op, attrs, &in[2], 1, y, error));
  NW_TRY(nw_need_same(op, &in[0], &y[0], error));
  NW_TRY(nw_need_same(op, &in[1], &y[1], error));
  out[0] = in[2];
  out[0].block = 0;
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_adaptive_max_pool2d[1], g->attrs,
                 (NwVal[]){g->dout[0], g->out[1], g->in[0]}, 3, &g->din[0], error);
}

NW_INLINE void pool_planes(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const int64_t *x = call->in[0].dims, *y = call->out[0].dims;
  int32_t *index = call->out_data[1];
  for (int64_t plane = begin; plane < end; plane++)
    for (int64_t at = 0; at < y[2] * y[3]; at++) {
      int64_t i = at / y[3], j = at % y[3], to = plane * y[2] * y[3] + at;
      int64_t top = i * x[2] / y[2], bottom = ((i + 1) * x[2] + y[2] - 1) / y[2];
      int64_t left = j * x[3] / y[3], right = ((j + 1) * x[3] + y[3] - 1) / y[3], best = top * x[3] + left;
      double most = -INFINITY;
      for (int64_t r = top; r < bottom; r++)
        for (int64_t c = left; c < right; c++) {
          double v = nw_get(call->in_data[0], (plane * x[2] + r) * x[3] + c, wide);
          if (v > most || (v != v && most == most)) { /* what is not a number wins, as in torch */
            most = v;
            best = r * x[3] + c;
          }
        }
      nw_put(call->out_data[0], to, most, wide);
      if (index != NULL)
        index[to] = (int32_t)best;
    }
}
NW_WIDTHS(pool_planes)

NW_INLINE void grad_planes(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const int64_t *x = call->out[0].dims, *y = call->in[0].dims;
  const int32_t *index = call->in_data[1];
  for (int64_t plane = begin; plane < end; plane++) {
    int64_t base = plane * x[2] * x[3], from = plane * y[2] * y[3];
    for (int64_t i = 0; i < x[2] * x[3]; i++)
      nw_put(call->out_data[0], base + i, 0, wide);
    for (int64_t i = from; i < from + y[2] * y[3]; i++) {
      int64_t to = base + index[i];
      nw_put(call->out_data[0], to, nw_get(call->out_data[0], to, wide) + nw_get(call->in_data[0], i, wide),
             wide);
    }
  }
}
NW_WIDTHS(grad_planes)

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  pool_planes_run(call, call->in[0].dims[0] * call->in[0].dims[1], 1);
  return NW_OK;
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  grad_planes_run(call, call->out[0].dims[0] * call->out[0].dims[1], 1);
  return NW_OK;
}

static NwCost cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out)
{
  return (NwCost){0, (double)nw_spec_count(&in[0])};
}

static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const char *y = nw_torch_output(writer);
  nw_torch_line(writer, "%s, %s_index = torch.adaptive_max_pool2d(%s, %s)", y, y, nw_torch_input(writer, 0),
                nw_torch_attr(writer, "output_size"));
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwKernel grad_kernels[] = {NW_PLAIN(grad_run)};
static const NwOpCase cases[] = {{"", "2x16x7x7"},
                                 {"output_size=3", "1x5x7x8"},
                                 {"output_size=5x1", "2x3x4x6"},
                                 {"output_size=2", "3x8x4x4"}};

/* Windows of one size only: where the picture is no multiple of the wanted size, ONNX has no words for it. */
static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const AdaptivePool *a = attrs;
  NwSpec x = nw_onnx_spec(writer, 0);
  long long h = a->output_size.v[0], w = a->output_size.v[1];
  if (h == 1 && w == 1)
    return nw_onnx_put(writer, error, "GlobalMaxPool($x)");
  if (x.dims[2] % h != 0 || x.dims[3] % w != 0)
    return nw_fail(
        error, NW_UNSUPPORTED,
        "ONNX cannot pool %lld×%lld to %lld×%lld: the sizes are no multiples. Choose another output "
        "size.",
        (long long)x.dims[2], (long long)x.dims[3], h, w);
  return nw_onnx_put(writer, error, "MaxPool($x) kernel_shape=[%lld, %lld] strides=[%lld, %lld]",
                     (long long)x.dims[2] / h, (long long)x.dims[3] / w, (long long)x.dims[2] / h,
                     (long long)x.dims[3] / w);
}

const NwOp nw_ops_adaptive_max_pool2d[] = {
    {.id = "adaptive_max_pool2d",
     .version = 1,
     .label = "AdaptiveMaxPool2d",
     .group = NW_GROUP_POOLING,
     .doc = N_("Keeps largest numbers so that the picture gets a given size, whatever it was."),
     .formula = N_("y[n,c,i,j] = largest of x over rows ⌊i·H/h⌋ to ⌈(i+1)·H/h⌉ and the columns alike"),
     .keywords = "global max maximum pooling",
     .torch = "torch.nn.AdaptiveMaxPool2d",
     NW_PORTS_AND(pool_in, pool_out),
     NW_ATTRS(AdaptivePool, attrs_rows),
     .infer = infer,
     .grad = rule,
     .cost = cost,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript_write = write,
     NW_CASES(cases)},
    {NW_INTERNAL("adaptive_max_pool2d_grad", grad_in, grad_out), NW_ATTRS(AdaptivePool, attrs_rows),
     .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(adaptive_max_pool2d);
