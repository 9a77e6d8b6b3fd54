/* GroupNorm: the channels of a picture in groups, each a set. */
#include "engine/ops/norm-sets.h"

typedef struct GroupNorm {
  NwSetsAttrs sets;
  int64_t num_groups;
  bool affine;
} GroupNorm;

static const NwAttr attrs_rows[] = {
    NW_SETS_EPS(1e-5),
    {"num_groups", N_("Groups"), N_("How many sets the channels make; it must divide their number."), NULL,
     NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(GroupNorm, num_groups), 8, 1, 65536, 1, 64, 1},
    {"affine", N_("Scale and shift"), N_("Learns a factor and an offset for each channel."), NULL,
     NW_ATTR_BOOL, 0, offsetof(GroupNorm, affine), 1, 0, 1, 0, 1, 1},
};
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Numbers with channels.")},
    {"weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("A factor for each channel.")},
    {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("An offset for each channel.")}};

static NwStatus need(const NwOp *op, const void *attrs, const NwSpec *x, NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, x, 1, &(NwSpec){0}, error));
  int64_t groups = ((const GroupNorm *)attrs)->num_groups;
  if (x->ndim < 2)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs numbers with channels", nw_op_name(op));
  if (x->dims[1] % groups != 0)
    return nw_fail_property(error, NW_BAD_SHAPE, "num_groups",
                            "%s: %lld groups do not divide the %lld channels", nw_op_name(op),
                            (long long)groups, (long long)x->dims[1]);
  if (nw_spec_count(x) < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the input holds no numbers, or too many", nw_op_name(op));
  return NW_OK;
}

static NwSets sets_of(const void *attrs, const NwSpec *x)
{
  int64_t area = 1;
  for (int i = 2; i < x->ndim; i++)
    area *= x->dims[i];
  int64_t groups = ((const GroupNorm *)attrs)->num_groups, per = x->dims[1] / groups;
  return (NwSets){.count = x->dims[0] * groups,
                  .size = per * area,
                  .step = 1,
                  .repeat = groups,
                  .per = per,
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
  info->present = ((const GroupNorm *)attrs)->affine;
  return NW_OK;
}

NW_SETS_KERNELS(sets_of)
static const NwOpCase cases[] = {{"num_groups=2", "2x6x3x4 6 6"},
                                 {"", "1x24x2x5 24 24"},
                                 {"num_groups=3 affine=false", "2x9x3 - -"},
                                 {"num_groups=4 eps=1e-2", "3x16 16 16"}};

/* InstanceNormalization over groups laid side by side; ONNX has a group norm of its own only from 18 on. */
static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  NwSpec x = nw_onnx_spec(writer, 0), weight = nw_onnx_spec(writer, NW_SETS_WEIGHT);
  NW_TRY(
      nw_onnx_put(writer, error,
                  "sets = Reshape($x, [0, $num_groups, -1]); mean = ReduceMean(sets) axes=[-1] keepdims=1; "
                  "middle = Sub(sets, mean); square = Mul(middle, middle); "
                  "var = ReduceMean(square) axes=[-1] keepdims=1; sum = Add(var, $eps); root = Sqrt(sum); "
                  "flat = Div(middle, root); normed = Reshape(flat, %s)",
                  nw_onnx_sizes(&x, (char[200]){0}, 200)));
  if (!nw_spec_present(&weight))
    return nw_onnx_put(writer, error, "Identity(normed)");
  const char *ones = x.ndim == 4 ? ", 1, 1" : x.ndim == 3 ? ", 1" : "";
  return nw_onnx_put(writer, error,
                     "w = Reshape($weight, [-1%s]); b = Reshape($bias, [-1%s]); scaled = Mul(normed, w); "
                     "Add(scaled, b)",
                     ones, ones);
}

const NwOp nw_ops_group_norm[] = {
    {.id = "group_norm",
     .version = 1,
     .label = "GroupNorm",
     .group = NW_GROUP_NORM,
     .doc =
         N_("Gives groups of channels of each picture mean 0 and deviation 1; small batches do it no harm."),
     .formula = N_("y = (x − mean) / √(variance + eps) · weight + bias, over each group of channels of each "
                   "picture (Wu and He 2018)"),
     .keywords = "group normalization small batch",
     .torch = "torch.nn.GroupNorm",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(ports_in, nw_sets_out),
     NW_ATTRS(GroupNorm, attrs_rows),
     .infer = infer,
     .param = param,
     .grad = nw_sets_rule,
     .cost = nw_sets_cost,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript = "torch.group_norm($x, $num_groups, $weight, $bias, $eps, True)",
     NW_CASES(cases)},
    {NW_INTERNAL("group_norm_grad", nw_sets_grad_in, nw_sets_grad_out), NW_ATTRS(GroupNorm, attrs_rows),
     .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(group_norm);
