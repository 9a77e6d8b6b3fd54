/* Upsample by whole factors: each pixel repeated, or lines between them. */
#include "engine/ops/taps.h"

typedef struct Upsample {
  NwDims scale_factor;
  int64_t mode;
  bool align_corners;
} Upsample;
enum { NEAREST, BILINEAR };

extern const NwOp nw_ops_upsample[];

static const NwEnumItem modes[] = {{NEAREST, "nearest", N_("Repeat pixels")},
                                   {BILINEAR, "bilinear", N_("Smooth between pixels")}};
static const NwAttr attrs_rows[] = {
    {"scale_factor", N_("Factor"), N_("How many times higher and wider the picture becomes."), NULL,
     NW_ATTR_DIMS, NW_ATTR_ON_BLOCK, offsetof(Upsample, scale_factor), 2, 1, 64, 1, 8, 1, .count = 2},
    {"mode", N_("Way"), N_("How new pixels come from old ones."), NULL, NW_ATTR_ENUM, NW_ATTR_ON_BLOCK,
     offsetof(Upsample, mode), NEAREST, .items = modes, .n_items = NW_COUNT(modes)},
    {"align_corners", N_("Align corners"), N_("Corner pixels keep their exact numbers and places."), NULL,
     NW_ATTR_BOOL, 0, offsetof(Upsample, align_corners), 0, 0, 1, 0, 1, 1, .visible_when = "mode=bilinear"},
};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const Upsample *a = attrs;
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  NwSpec made = in[0];
  for (int i = 0; i < 2; i++) {
    if (in[0].dims[2 + i] < 1 || in[0].dims[2 + i] > (1LL << 40))
      return nw_fail(error, NW_BAD_SHAPE, "%s: the picture is empty or too large", nw_op_name(op));
    made.dims[2 + i] *= a->scale_factor.v[i];
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
  return nw_emit(g->emitter, &nw_ops_upsample[1], g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0],
                 error);
}

/* As torch: pixel centres meet, or with align_corners the corners do. */
static NwTap tap(const void *attrs, int axis, int64_t at, int64_t size, int64_t made)
{
  const Upsample *a = attrs;
  int64_t factor = a->scale_factor.v[axis];
  if (a->mode == NEAREST)
    return (NwTap){at / factor, at / factor, 0};
  double place = a->align_corners ? (made > 1 ? (double)at * (double)(size - 1) / (double)(made - 1) : 0)
                                  : ((double)at + 0.5) / (double)factor - 0.5;
  place = place > 0 ? place : 0;
  int64_t first = (int64_t)place;
  first = first < size - 1 ? first : size - 1;
  return (NwTap){first, first + (first + 1 < size), place - (double)first};
}
NW_TAPS(tap, tap)

static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const Upsample *a = attrs;
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  long long h = a->scale_factor.v[0], w = a->scale_factor.v[1];
  if (a->mode == NEAREST)
    nw_torch_line(writer, "%s = torch.upsample_nearest2d(%s, None, [%lld., %lld.])", y, x, h, w);
  else
    nw_torch_line(writer, "%s = torch.upsample_bilinear2d(%s, None, %s, [%lld., %lld.])", y, x,
                  a->align_corners ? "True" : "False", h, w);
  return NW_OK;
}

static const NwOpCase cases[] = {{"", "2x3x4x5"},
                                 {"scale_factor=3x1", "1x12x3x2"},
                                 {"mode=bilinear", "2x8x3x4"},
                                 {"mode=bilinear scale_factor=2x3 align_corners=true", "1x5x4x3"},
                                 {"mode=bilinear scale_factor=4 align_corners=true", "1x3x1x1"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const Upsample *a = attrs;
  long long h = a->scale_factor.v[0], w = a->scale_factor.v[1];
  const char *way = a->mode == NEAREST  ? "mode=\"nearest\" coordinate_transformation_mode=\"asymmetric\" "
                                          "nearest_mode=\"floor\""
                    : !a->align_corners ? "mode=\"linear\" coordinate_transformation_mode=\"half_pixel\""
                                        : "mode=\"linear\" coordinate_transformation_mode=\"align_corners\"";
  return nw_onnx_put(writer, error, "Resize($x, , [1.0, 1.0, %lld.0, %lld.0]) %s", h, w, way);
}

const NwOp nw_ops_upsample[] = {
    {.id = "upsample",
     .version = 1,
     .label = "Upsample",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Makes pictures larger, by repeating pixels or smoothly between them."),
     .formula =
         N_("nearest: y[i,j] = x[⌊i/f⌋, ⌊j/f⌋]; bilinear: the four pixels around ((i+½)/f − ½, (j+½)/f − ½), "
            "each weighed by how near it is"),
     .keywords = "resize scale enlarge interpolate nearest bilinear zoom",
     .torch = "torch.nn.Upsample",
     NW_PORTS_AND(nw_taps_in, nw_taps_out),
     NW_ATTRS(Upsample, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(tap_kernels),
     .onnx_write = onnx_write,
     .torchscript_write = write,
     NW_CASES(cases)},
    {NW_INTERNAL("upsample_grad", nw_taps_grad_in, nw_taps_grad_out), NW_ATTRS(Upsample, attrs_rows),
     .infer = grad_infer, NW_KERNELS(tap_kernels)},
};
NW_OPS_END(upsample);
