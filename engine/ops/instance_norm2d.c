/* InstanceNorm2d: each channel of each picture is a set. */
#include "engine/ops/norm-sets.h"

typedef struct InstanceNorm2d {
  NwSetsAttrs sets;
  bool affine;
} InstanceNorm2d;

static const NwAttr attrs_rows[] = {
    NW_SETS_EPS(1e-5),
    {"affine", N_("Scale and shift"), N_("Learns a factor and an offset for each channel."), NULL,
     NW_ATTR_BOOL, 0, offsetof(InstanceNorm2d, affine), 0, 0, 1, 0, 1, 1},
};
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
    {"weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("A factor for each channel.")},
    {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("An offset for each channel.")}};

static NwStatus need(const NwOp *op, const void *attrs, const NwSpec *x, NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, x, 1, &(NwSpec){0}, error));
  NW_TRY(nw_infer_need_ndim(op, x, 4, error));
  if (x->dims[2] == 1 && x->dims[3] == 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs channels of more than one pixel; this picture is 1×1",
                   nw_op_name(op));
  if (nw_spec_count(x) < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the input holds no numbers, or too many", nw_op_name(op));
  return NW_OK;
}

static NwSets sets_of(const void *attrs, const NwSpec *x)
{
  int64_t area = 1;
  for (int i = 2; i < x->ndim; i++)
    area *= x->dims[i];
  return (NwSets){.count = x->dims[0] * x->dims[1],
                  .size = area,
                  .step = 1,
                  .repeat = x->dims[1],
                  .per = 1,
                  .run = area,
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
  info->present = ((const InstanceNorm2d *)attrs)->affine;
  return NW_OK;
}

NW_SETS_KERNELS(sets_of)
static const NwOpCase cases[] = {
    {"affine=true", "2x5x3x4 5 5"}, {"", "1x24x2x5 - -"}, {"affine=true eps=1e-2", "2x9x1x7 9 9"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  NwSpec weight = nw_onnx_spec(writer, NW_SETS_WEIGHT);
  if (nw_spec_present(&weight))
    return nw_onnx_put(writer, error, "InstanceNormalization($x, $weight, $bias) epsilon=$eps");
  return nw_onnx_put(writer, error,
                     "mean = ReduceMean($x) axes=[2, 3] keepdims=1; middle = Sub($x, mean); "
                     "square = Mul(middle, middle); var = ReduceMean(square) axes=[2, 3] keepdims=1; "
                     "sum = Add(var, $eps); root = Sqrt(sum); Div(middle, root)");
}

const NwOp nw_ops_instance_norm2d[] = {
    {.id = "instance_norm2d",
     .version = 1,
     .label = "InstanceNorm2d",
     .group = NW_GROUP_NORM,
     .doc = N_("Gives each channel of each picture mean 0 and deviation 1, which takes its contrast away."),
     .formula = N_("y = (x − mean) / √(variance + eps) · weight + bias, over each channel of each picture "
                   "(Ulyanov et al. 2016)"),
     .keywords = "instance normalization style contrast",
     .torch = "torch.nn.InstanceNorm2d",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(ports_in, nw_sets_out),
     NW_ATTRS(InstanceNorm2d, attrs_rows),
     .infer = infer,
     .param = param,
     .grad = nw_sets_rule,
     .cost = nw_sets_cost,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript = "torch.instance_norm($x, $weight, $bias, None, None, True, 0.1, $eps, True)",
     NW_CASES(cases)},
    {NW_INTERNAL("instance_norm2d_grad", nw_sets_grad_in, nw_sets_grad_out),
     NW_ATTRS(InstanceNorm2d, attrs_rows), .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(instance_norm2d);
