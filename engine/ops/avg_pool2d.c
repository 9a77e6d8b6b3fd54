/* AvgPool2d and AdaptiveAvgPool2d: means over windows, which the two only choose differently. */
#include "engine/ops/pool.h"

extern const NwOp nw_ops_avg_pool2d[];
enum { AVG, AVG_GRAD, ADAPTIVE, ADAPTIVE_GRAD };

typedef struct AvgPool2d {
  NwDims kernel_size, stride, padding;
  bool ceil_mode, count_include_pad;
} AvgPool2d;

typedef struct AdaptivePool {
  NwDims output_size;
} AdaptivePool;

#define A(member) offsetof(AvgPool2d, member)
static const NwAttr avg_attrs[] = {
    {"kernel_size", N_("Kernel size"), N_("Height and width of the window."), N_("pixels"), NW_ATTR_DIMS,
     NW_ATTR_ON_BLOCK, A(kernel_size), 2, 1, 255, 1, 15, 1, .count = 2},
    {"stride", N_("Stride"), N_("Step between two windows; as large as the window leaves no overlap."),
     N_("pixels"), NW_ATTR_DIMS, NW_ATTR_ON_BLOCK, A(stride), 2, 1, 255, 1, 8, 1, .count = 2},
    {"padding", N_("Padding"), N_("Rows and columns of zeros around the picture; at most half the window."),
     N_("pixels"), NW_ATTR_DIMS, 0, A(padding), 0, 0, 127, 0, 7, 1, .count = 2},
    {"ceil_mode", N_("Round up"), N_("Keeps a last window that reaches over the edge."), NULL, NW_ATTR_BOOL,
     0, A(ceil_mode), 0, 0, 1, 0, 1, 1},
    {"count_include_pad", N_("Count the padding"), N_("Zeros of the padding count in the mean."), NULL,
     NW_ATTR_BOOL, 0, A(count_include_pad), 1, 0, 1, 0, 1, 1},
};
#undef A
static const NwAttr adaptive_attrs[] = {
    {"output_size", N_("Output size"),
     N_("Height and width that come out; 1 leaves one number for each channel."), N_("pixels"), NW_ATTR_DIMS,
     NW_ATTR_ON_BLOCK, offsetof(AdaptivePool, output_size), 1, 1, 4096, 1, 32, 1, .count = 2},
};
static const NwPort pool_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")}};
static const NwPort pool_out[] = {{"y", NW_PORT_DATA, 0, N_("Smaller pictures.")}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort grad_out[] = {{"dx", NW_PORT_DATA}};

/* ---- shapes ---- */
static bool is_adaptive(const NwOp *op)
{
  return op >= &nw_ops_avg_pool2d[ADAPTIVE];
}

static NwPool window_of(const AvgPool2d *a)
{
  return (NwPool){a->kernel_size, a->stride, a->padding, {{1, 1}}, a->ceil_mode};
}

static NwStatus avg_check(const NwOp *op, const void *attrs, NwError *error)
{
  NwPool p = window_of(attrs);
  return nw_pool_check(op, &p, error);
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  if (!is_adaptive(op)) {
    NwPool p = window_of(attrs);
    return nw_pool_infer(op, &p, &in[0], &out[0], error);
  }
  const AdaptivePool *a = attrs;
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  if (in[0].dims[2] < 1 || in[0].dims[3] < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the picture is empty", nw_op_name(op));
  out[0] = in[0];
  out[0].dims[2] = a->output_size.v[0];
  out[0].dims[3] = a->output_size.v[1];
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  NwSpec y;
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy and x", op->id);
  NW_TRY(infer(op, attrs, &in[1], 1, &y, error));
  NW_TRY(nw_need_same(op, &in[0], &y, error));
  out[0] = in[1];
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, g->op + 1, g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0], error);
}

static NwCost cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out)
{
  return (NwCost){0, (double)nw_spec_count(&in[0])};
}

/* ---- windows ---- */
/* Rows or columns [from, to) of window `at`, and how many count in the mean (padding included where torch
 * counts it). */
typedef struct Span {
  int64_t from, to, count;
} Span;

static Span span_of(const NwCall *call, const int64_t *x, const int64_t *y, int axis, int64_t at)
{
  int64_t size = x[2 + axis], made = y[2 + axis];
  if (is_adaptive(call->op)) {
    int64_t from = at * size / made, to = ((at + 1) * size + made - 1) / made;
    return (Span){from, to, to - from};
  }
  const AvgPool2d *a = call->attrs;
  int64_t from = at * a->stride.v[axis] - a->padding.v[axis], to = from + a->kernel_size.v[axis];
  to = to < size + a->padding.v[axis] ? to : size + a->padding.v[axis];
  int64_t padded = to - from;
  from = from < 0 ? 0 : from;
  to = to < size ? to : size;
  return (Span){from, to, a->count_include_pad ? padded : to - from};
}

/* ---- plain ---- */
NW_INLINE void pool_planes(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const int64_t *x = call->in[0].dims, *y = call->out[0].dims;
  for (int64_t plane = begin; plane < end; plane++)
    for (int64_t at = 0; at < y[2] * y[3]; at++) {
      Span v = span_of(call, x, y, 0, at / y[3]), h = span_of(call, x, y, 1, at % y[3]);
      double sum = 0;
      for (int64_t r = v.from; r < v.to; r++)
        for (int64_t s = h.from; s < h.to; s++)
          sum += nw_get(call->in_data[0], (plane * x[2] + r) * x[3] + s, wide);
      nw_put(call->out_data[0], plane * y[2] * y[3] + at, sum / (double)(v.count * h.count), wide);
    }
}
NW_WIDTHS(pool_planes)

static NwStatus pool_plain(const NwCall *call, void *state, NwError *error)
{
  pool_planes_run(call, call->in[0].dims[0] * call->in[0].dims[1], 1);
  return NW_OK;
}

NW_INLINE void grad_planes(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const int64_t *x = call->in[1].dims, *y = call->in[0].dims;
  for (int64_t plane = begin; plane < end; plane++) {
    int64_t base = plane * x[2] * x[3];
    for (int64_t i = 0; i < x[2] * x[3]; i++)
      nw_put(call->out_data[0], base + i, 0, wide);
    for (int64_t at = 0; at < y[2] * y[3]; at++) {
      Span v = span_of(call, x, y, 0, at / y[3]), h = span_of(call, x, y, 1, at % y[3]);
      double share = nw_get(call->in_data[0], plane * y[2] * y[3] + at, wide) / (double)(v.count * h.count);
      for (int64_t r = v.from; r < v.to; r++)
        for (int64_t s = h.from; s < h.to; s++) {
          int64_t to = base + r * x[3] + s;
          nw_put(call->out_data[0], to, nw_get(call->out_data[0], to, wide) + share, wide);
        }
    }
  }
}
NW_WIDTHS(grad_planes)

static NwStatus grad_plain(const NwCall *call, void *state, NwError *error)
{
  grad_planes_run(call, call->in[1].dims[0] * call->in[1].dims[1], 1);
  return NW_OK;
}

/* ---- simple: f32, a block of channels side by side ---- */
NW_INLINE void pool_block(const NwCall *call, int64_t plane, const int lanes)
{
  const int64_t *xd = call->in[0].dims, *yd = call->out[0].dims;
  const float *x = (const float *)call->in_data[0] + plane * xd[2] * xd[3] * lanes;
  float *y = (float *)call->out_data[0] + plane * yd[2] * yd[3] * lanes;
  for (int64_t at = 0; at < yd[2] * yd[3]; at++) {
    Span v = span_of(call, xd, yd, 0, at / yd[3]), h = span_of(call, xd, yd, 1, at % yd[3]);
    double sum[16] = {0};
    for (int64_t r = v.from; r < v.to; r++)
      for (int64_t s = h.from; s < h.to; s++)
        for (int l = 0; l < lanes; l++)
          sum[l] += x[(r * xd[3] + s) * lanes + l];
    for (int l = 0; l < lanes; l++)
      y[at * lanes + l] = (float)(sum[l] / (double)(v.count * h.count));
  }
}

NW_INLINE void grad_block(const NwCall *call, int64_t plane, const int lanes)
{
  const int64_t *xd = call->in[1].dims, *yd = call->in[0].dims;
  float *dx = (float *)call->out_data[0] + plane * xd[2] * xd[3] * lanes;
  const float *dy = (const float *)call->in_data[0] + plane * yd[2] * yd[3] * lanes;
  memset(dx, 0, (size_t)(xd[2] * xd[3] * lanes) * sizeof *dx);
  for (int64_t at = 0; at < yd[2] * yd[3]; at++) {
    Span v = span_of(call, xd, yd, 0, at / yd[3]), h = span_of(call, xd, yd, 1, at % yd[3]);
    float share[16], factor = 1.f / (float)(v.count * h.count);
    for (int l = 0; l < lanes; l++)
      share[l] = dy[at * lanes + l] * factor;
    for (int64_t r = v.from; r < v.to; r++)
      for (int64_t s = h.from; s < h.to; s++)
        for (int l = 0; l < lanes; l++)
          dx[(r * xd[3] + s) * lanes + l] += share[l];
  }
}

#define BLOCKS(name, one)                                                                                    \
  static void name##_body(void *context, int64_t begin, int64_t end, int thread)                             \
  {                                                                                                          \
    const NwCall *call = context;                                                                            \
    for (int64_t plane = begin; plane < end; plane++)                                                        \
      if (call->in[0].block == 8)                                                                            \
        one(call, plane, 8);                                                                                 \
      else if (call->in[0].block == 16)                                                                      \
        one(call, plane, 16);                                                                                \
      else                                                                                                   \
        one(call, plane, 1);                                                                                 \
  }                                                                                                          \
  static NwStatus name(const NwCall *call, void *state, NwError *error)                                      \
  {                                                                                                          \
    NwPlanes p = nw_planes(&call->in[0]);                                                                    \
    nw_parallel(p.n *p.blocks, 1, name##_body, (void *)(uintptr_t)call);                                     \
    return NW_OK;                                                                                            \
  }
BLOCKS(pool_simple, pool_block)
BLOCKS(grad_simple, grad_block)

static const NwKernel pool_kernels[] = {NW_ONE_BLOCK("simple", pool_simple), NW_PLAIN(pool_plain)};
static const NwKernel grad_kernels[] = {NW_ONE_BLOCK("simple", grad_simple), NW_PLAIN(grad_plain)};
static const NwOpCase avg_cases[] = {
    {"", "2x3x8x8"},
    {"kernel_size=3 stride=2 padding=1", "1x8x7x9"},
    {"kernel_size=3 stride=2 padding=1 count_include_pad=false ceil_mode=true", "2x5x8x9"},
    {"kernel_size=3x2 stride=1x2 ceil_mode=true", "1x16x5x5"},
};
static const NwOpCase adaptive_cases[] = {{"", "2x16x7x7"},
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
    return nw_onnx_put(writer, error, "GlobalAveragePool($x)");
  if (x.dims[2] % h != 0 || x.dims[3] % w != 0)
    return nw_fail(
        error, NW_UNSUPPORTED,
        "ONNX cannot pool %lld×%lld to %lld×%lld: the sizes are no multiples. Choose another output "
        "size.",
        (long long)x.dims[2], (long long)x.dims[3], h, w);
  return nw_onnx_put(writer, error, "AveragePool($x) kernel_shape=[%lld, %lld] strides=[%lld, %lld]",
                     (long long)x.dims[2] / h, (long long)x.dims[3] / w, (long long)x.dims[2] / h,
                     (long long)x.dims[3] / w);
}

const NwOp nw_ops_avg_pool2d[] = {
    {.id = "avg_pool2d",
     .version = 1,
     .label = "AvgPool2d",
     .group = NW_GROUP_POOLING,
     .doc = N_("Shrinks the picture by taking the mean of each window."),
     .formula =
         N_("y[n,c,i,j] = mean over the window of x[n, c, i·stride − padding + p, j·stride − padding + q]"),
     .keywords = "average mean pooling downsample shrink",
     .torch = "torch.nn.AvgPool2d",
     NW_PORTS_AND(pool_in, pool_out),
     NW_ATTRS(AvgPool2d, avg_attrs),
     .check = avg_check,
     .infer = infer,
     .grad = rule,
     .cost = cost,
     NW_KERNELS(pool_kernels),
     .onnx = "AveragePool($x) kernel_shape=$kernel_size strides=$stride pads=[$padding, $padding] "
             "ceil_mode=$ceil_mode count_include_pad=$count_include_pad",
     .torchscript =
         "torch.avg_pool2d($x, $kernel_size, $stride, $padding, $ceil_mode, $count_include_pad, None)",
     NW_CASES(avg_cases)},
    {NW_INTERNAL("avg_pool2d_grad", grad_in, grad_out), NW_ATTRS(AvgPool2d, avg_attrs), .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
    {.id = "adaptive_avg_pool2d",
     .version = 1,
     .label = "AdaptiveAvgPool2d",
     .group = NW_GROUP_POOLING,
     .doc = N_("Takes means so that the picture gets a given size, whatever it was."),
     .formula = N_("y[n,c,i,j] = mean of x over rows ⌊i·H/h⌋ to ⌈(i+1)·H/h⌉ and the columns alike"),
     .keywords = "global average mean pooling gap",
     .torch = "torch.nn.AdaptiveAvgPool2d",
     NW_PORTS_AND(pool_in, pool_out),
     NW_ATTRS(AdaptivePool, adaptive_attrs),
     .infer = infer,
     .grad = rule,
     .cost = cost,
     NW_KERNELS(pool_kernels),
     .onnx_write = onnx_write,
     .torchscript = "torch.adaptive_avg_pool2d($x, $output_size)",
     NW_CASES(adaptive_cases)},
    {NW_INTERNAL("adaptive_avg_pool2d_grad", grad_in, grad_out), NW_ATTRS(AdaptivePool, adaptive_attrs),
     .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(avg_pool2d);
