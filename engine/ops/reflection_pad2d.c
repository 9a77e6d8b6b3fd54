/* ReflectionPad2d: the picture goes on as in a mirror that stands on its outermost pixels. */
#include "engine/ops/taps.h"

typedef struct Pad {
  NwDims padding;
} Pad;

extern const NwOp nw_ops_reflection_pad2d[];

static const NwAttr attrs_rows[] = {
    {"padding", N_("Padding"),
     N_("Pixels on the left, on the right, above and below; fewer than the picture has."), N_("pixels"),
     NW_ATTR_DIMS, NW_ATTR_ON_BLOCK, offsetof(Pad, padding), 1, 0, 4096, 0, 16, 1, .count = 4},
};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const int64_t *p = ((const Pad *)attrs)->padding.v;
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  NwSpec made = in[0];
  for (int i = 0; i < 2; i++) {
    int64_t before = p[i ? 0 : 2], after = p[i ? 1 : 3], size = in[0].dims[2 + i];
    if (before >= size || after >= size || size > (1LL << 40))
      return nw_fail_property(error, NW_BAD_SHAPE, "padding",
                              "%s: padding %lld needs a picture of more than so many pixels; its %s is %lld",
                              nw_op_name(op), (long long)(before > after ? before : after),
                              i ? "width" : "height", (long long)size);
    made.dims[2 + i] += before + after;
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
  return nw_emit(g->emitter, &nw_ops_reflection_pad2d[1], g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2,
                 &g->din[0], error);
}

static NwTap mirror(const void *attrs, int axis, int64_t at, int64_t size, int64_t made)
{
  int64_t i = at - ((const Pad *)attrs)->padding.v[axis ? 0 : 2];
  i = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
  return (NwTap){i, i, 0};
}
NW_TAPS(mirror, mirror)

static const NwOpCase cases[] = {{"", "2x3x4x5"},
                                 {"padding=1x2x0x3", "1x12x4x3"},
                                 {"padding=0", "2x8x3x3"},
                                 {"padding=3x0x1x0", "1x3x4x4"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const int64_t *p = ((const Pad *)attrs)->padding.v; /* left, right, top, bottom */
  return nw_onnx_put(writer, error, "Pad($x, [0, 0, %lld, %lld, 0, 0, %lld, %lld]) mode=\"reflect\"",
                     (long long)p[2], (long long)p[0], (long long)p[3], (long long)p[1]);
}

const NwOp nw_ops_reflection_pad2d[] = {
    {.id = "reflection_pad2d",
     .version = 1,
     .label = "ReflectionPad2d",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Lets the picture go on over its edges as in a mirror."),
     .formula = N_("y[n,c,i,j] = x at the mirror image of (i − top, j − left) in the edges"),
     .keywords = "padding reflect mirror border margin",
     .torch = "torch.nn.ReflectionPad2d",
     NW_PORTS_AND(nw_taps_in, nw_taps_out),
     NW_ATTRS(Pad, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(mirror_kernels),
     .onnx_write = onnx_write,
     .torchscript = "torch.reflection_pad2d($x, $padding)",
     NW_CASES(cases)},
    {NW_INTERNAL("reflection_pad2d_grad", nw_taps_grad_in, nw_taps_grad_out), NW_ATTRS(Pad, attrs_rows),
     .infer = grad_infer, NW_KERNELS(mirror_kernels)},
};
NW_OPS_END(reflection_pad2d);
