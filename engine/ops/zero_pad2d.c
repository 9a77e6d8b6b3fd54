/* ZeroPad2d: zeros on each of the four sides. Rows are copied as bytes, so any type and any block will do. */
#include "engine/ops/common.h"

typedef struct Pad {
  NwDims padding;
} Pad;

extern const NwOp nw_ops_zero_pad2d[];

static const NwAttr attrs_rows[] = {
    {"padding", N_("Padding"), N_("Zeros on the left, on the right, above and below."), N_("pixels"),
     NW_ATTR_DIMS, NW_ATTR_ON_BLOCK, offsetof(Pad, padding), 1, 0, 4096, 0, 16, 1, .count = 4},
};
static const NwPort pad_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")}};
static const NwPort pad_out[] = {{"y", NW_PORT_DATA, 0, N_("Larger pictures.")}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort grad_out[] = {{"dx", NW_PORT_DATA}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const int64_t *p = ((const Pad *)attrs)->padding.v;
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  NwSpec made = in[0];
  for (int i = 0; i < 2; i++) {
    if (in[0].dims[2 + i] < 0 || in[0].dims[2 + i] > (1LL << 40))
      return nw_fail(error, NW_BAD_SHAPE, "%s: the picture is too large", nw_op_name(op));
    made.dims[2 + i] += i ? p[0] + p[1] : p[2] + p[3];
  }
  out[0] = made;
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
  return nw_emit(g->emitter, &nw_ops_zero_pad2d[1], g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0],
                 error);
}

/* Bytes of a pixel: one number, or a block of them. */
static size_t pixel(const NwSpec *spec)
{
  return nw_dtype_size(spec->dtype) * (size_t)(spec->block ? spec->block : 1);
}

static void pad_rows(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  const int64_t *p = ((const Pad *)call->attrs)->padding.v, *x = call->in[0].dims, *y = call->out[0].dims;
  size_t bytes = pixel(&call->in[0]);
  for (int64_t row = begin; row < end; row++) {
    int64_t plane = row / y[2], from = row % y[2] - p[2];
    char *out = (char *)call->out_data[0] + (size_t)(row * y[3]) * bytes;
    if (from < 0 || from >= x[2]) {
      memset(out, 0, (size_t)y[3] * bytes);
      continue;
    }
    const char *in = (const char *)call->in_data[0] + (size_t)((plane * x[2] + from) * x[3]) * bytes;
    memset(out, 0, (size_t)p[0] * bytes);
    memcpy(out + (size_t)p[0] * bytes, in, (size_t)x[3] * bytes);
    memset(out + (size_t)(p[0] + x[3]) * bytes, 0, (size_t)p[1] * bytes);
  }
}

static void crop_rows(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  const int64_t *p = ((const Pad *)call->attrs)->padding.v, *x = call->out[0].dims, *y = call->in[0].dims;
  size_t bytes = pixel(&call->in[0]);
  for (int64_t row = begin; row < end; row++) {
    int64_t plane = row / x[2], from = (plane * y[2] + row % x[2] + p[2]) * y[3] + p[0];
    memcpy((char *)call->out_data[0] + (size_t)(row * x[3]) * bytes,
           (const char *)call->in_data[0] + (size_t)from * bytes, (size_t)x[3] * bytes);
  }
}

static NwStatus run_rows(const NwCall *call, NwParallelBody rows)
{
  NwPlanes p = nw_planes(&call->out[0]);
  nw_parallel(p.n * p.blocks * p.h, 1 + NW_GRAIN / (p.w * p.lanes + 1), rows, (void *)(uintptr_t)call);
  return NW_OK;
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  return run_rows(call, pad_rows);
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  return run_rows(call, crop_rows);
}

static const NwKernel kernels[] = {NW_ONE_BLOCK("simple", run), NW_PLAIN(run)};
static const NwKernel grad_kernels[] = {NW_ONE_BLOCK("simple", grad_run), NW_PLAIN(grad_run)};
static const NwOpCase cases[] = {{"", "2x3x4x5"},
                                 {"padding=1x2x0x3", "1x12x3x2"},
                                 {"padding=0", "2x8x3x3"},
                                 {"padding=0x1x0x1", "1x3x4x4"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const int64_t *p = ((const Pad *)attrs)->padding.v; /* left, right, top, bottom */
  return nw_onnx_put(writer, error, "Pad($x, [0, 0, %lld, %lld, 0, 0, %lld, %lld], 0.0) mode=\"constant\"",
                     (long long)p[2], (long long)p[0], (long long)p[3], (long long)p[1]);
}

const NwOp nw_ops_zero_pad2d[] = {
    {.id = "zero_pad2d",
     .version = 1,
     .label = "ZeroPad2d",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Puts zeros around the picture, on each side as many as are wanted."),
     .formula = N_("y[n,c,i,j] = x[n, c, i − top, j − left] inside the picture, else 0"),
     .keywords = "padding border margin constant same",
     .torch = "torch.nn.ZeroPad2d",
     NW_PORTS_AND(pad_in, pad_out),
     NW_ATTRS(Pad, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript = "torch.constant_pad_nd($x, $padding, 0.)",
     NW_CASES(cases)},
    {NW_INTERNAL("zero_pad2d_grad", grad_in, grad_out), NW_ATTRS(Pad, attrs_rows), .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
};
NW_OPS_END(zero_pad2d);
