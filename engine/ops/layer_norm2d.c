/* LayerNorm2d: each pixel's channels are one set, as ConvNeXt has it between its stages. */
#include "engine/ops/norm-sets.h"

typedef struct LayerNorm2d {
  NwSetsAttrs sets;
  bool affine;
} LayerNorm2d;

static const NwAttr attrs_rows[] = {
    NW_SETS_EPS(1e-6),
    {"affine", N_("Scale and shift"), N_("Learns a factor and an offset for each channel."), NULL,
     NW_ATTR_BOOL, 0, offsetof(LayerNorm2d, affine), 1, 0, 1, 0, 1, 1},
};
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
    {"weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("A factor for each channel.")},
    {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("An offset for each channel.")}};

static NwStatus need(const NwOp *op, const void *attrs, const NwSpec *x, NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, x, 1, &(NwSpec){0}, error));
  NW_TRY(nw_infer_need_ndim(op, x, 4, error));
  if (nw_spec_count(x) < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the input holds no numbers, or too many", nw_op_name(op));
  return NW_OK;
}

static NwSets sets_of(const void *attrs, const NwSpec *x)
{
  int64_t area = 1;
  for (int i = 2; i < x->ndim; i++)
    area *= x->dims[i];
  return (NwSets){.count = x->dims[0] * area,
                  .size = x->dims[1],
                  .step = area,
                  .repeat = 1,
                  .run = 1,
                  .affine = x->dims[1]};
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NW_TRY(need(op, attrs, &in[0], error));
  NwSets sets = sets_of(attrs, &in[0]);
  return nw_sets_infer(op, &sets, in, n_in, out, error);
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy and x", op->id);
  NW_TRY(need(op, attrs, &in[1], error));
  NwSets sets = sets_of(attrs, &in[1]);
  return nw_sets_grad_infer(op, &sets, in, n_in, out, error);
}

static NwStatus param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                      NwError *error)
{
  NW_TRY(need(op, attrs, &in[0], error));
  *info = nw_param_vector(&in[0], in[0].dims[1], NW_INIT_CONSTANT, port == NW_SETS_WEIGHT);
  info->present = ((const LayerNorm2d *)attrs)->affine;
  return NW_OK;
}

/* LayerNorm of PyTorch is over last sizes, so the channels go there and back, as in torchvision. */
static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  nw_torch_line(writer, "%s_last = torch.permute(%s, [0, 2, 3, 1])", y, x);
  nw_torch_line(writer, "%s_norm = torch.layer_norm(%s_last, [%lld], %s, %s, %s, True)", y, y,
                (long long)nw_torch_spec(writer, 0).dims[1], nw_torch_param(writer, "weight"),
                nw_torch_param(writer, "bias"), nw_torch_attr(writer, "eps"));
  nw_torch_line(writer, "%s = torch.permute(%s_norm, [0, 3, 1, 2])", y, y);
  return NW_OK;
}

NW_SETS_KERNELS(sets_of)
static const NwOpCase cases[] = {{"", "2x5x3x4 5 5"},
                                 {"eps=1e-3", "1x24x2x5 24 24"},
                                 {"affine=false", "2x9x1x1 - -"},
                                 {"", "3x16x1x2 16 16"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  NwSpec weight = nw_onnx_spec(writer, NW_SETS_WEIGHT);
  return nw_onnx_put(writer, error,
                     "mean = ReduceMean($x) axes=[1] keepdims=1; middle = Sub($x, mean); "
                     "square = Mul(middle, middle); var = ReduceMean(square) axes=[1] keepdims=1; "
                     "sum = Add(var, $eps); root = Sqrt(sum); flat = Div(middle, root); %s",
                     nw_spec_present(&weight)
                         ? "w = Reshape($weight, [-1, 1, 1]); b = Reshape($bias, [-1, 1, 1]); "
                           "scaled = Mul(flat, w); Add(scaled, b)"
                         : "Identity(flat)");
}

const NwOp nw_ops_layer_norm2d[] = {
    {.id = "layer_norm2d",
     .version = 1,
     .label = "LayerNorm2d",
     .group = NW_GROUP_NORM,
     .doc = N_("Gives the channels of each pixel mean 0 and deviation 1."),
     .formula = N_("y = (x − mean) / √(variance + eps) · weight + bias, over the channels of a pixel (Liu et "
                   "al. 2022)"),
     .keywords = "layer normalization channels convnext pixel",
     .torch = "torchvision.models.convnext.LayerNorm2d",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(ports_in, nw_sets_out),
     NW_ATTRS(LayerNorm2d, attrs_rows),
     .infer = infer,
     .param = param,
     .grad = nw_sets_rule,
     .cost = nw_sets_cost,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript_write = write,
     NW_CASES(cases)},
    {NW_INTERNAL("layer_norm2d_grad", nw_sets_grad_in, nw_sets_grad_out), NW_ATTRS(LayerNorm2d, attrs_rows),
     .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(layer_norm2d);
