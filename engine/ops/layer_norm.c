/* LayerNorm over the last sizes of each value, as transformers and ConvNeXt have it. */
#include <stdio.h>

#include "engine/ops/elementwise.h"
#include "engine/ops/norm-sets.h"

typedef struct LayerNorm {
  NwSetsAttrs sets;
  int64_t sizes;
  bool elementwise_affine;
} LayerNorm;

static const NwAttr attrs_rows[] = {
    NW_SETS_EPS(1e-5),
    {"sizes", N_("Sizes"), N_("How many of the last sizes make one set; 1 is each row."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(LayerNorm, sizes), 1, 1, 3, 1, 3, 1},
    {"elementwise_affine", N_("Scale and shift"),
     N_("Learns a factor and an offset for each number of a set."), NULL, NW_ATTR_BOOL, 0,
     offsetof(LayerNorm, elementwise_affine), 1, 0, 1, 0, 1, 1},
};
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Numbers with at least one size behind the batch.")},
    {"weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("A factor for each number of a set.")},
    {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("An offset for each number of a set.")}};

static NwStatus need_sizes(const NwOp *op, const LayerNorm *a, const NwSpec *x, NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, x, 1, &(NwSpec){0}, error));
  if (x->ndim <= a->sizes)
    return nw_fail_property(error, NW_BAD_SHAPE, "sizes",
                            "%s: the input has %d sizes behind the batch, fewer than %lld", nw_op_name(op),
                            x->ndim > 0 ? x->ndim - 1 : 0, (long long)a->sizes);
  if (nw_spec_count(x) < 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the input has too many numbers", nw_op_name(op));
  for (int i = 0; i < a->sizes; i++)
    if (x->dims[x->ndim - 1 - i] < 1)
      return nw_fail(error, NW_BAD_SHAPE, "%s: the input holds no numbers", nw_op_name(op));
  return NW_OK;
}

static NwSets sets_of(const void *attrs, const NwSpec *x)
{
  NwSets sets = {.count = 1, .size = 1, .step = 1, .repeat = 1, .run = 1};
  int64_t sizes = ((const LayerNorm *)attrs)->sizes;
  for (int i = 0; i < x->ndim; i++)
    *(i < x->ndim - sizes ? &sets.count : &sets.size) *= x->dims[i];
  sets.affine = sets.size;
  return sets;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NW_TRY(need_sizes(op, attrs, &in[0], error));
  NwSets sets = sets_of(attrs, &in[0]);
  return nw_sets_infer(op, &sets, in, n_in, out, error);
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy and x", op->id);
  NW_TRY(need_sizes(op, attrs, &in[1], error));
  NwSets sets = sets_of(attrs, &in[1]);
  return nw_sets_grad_infer(op, &sets, in, n_in, out, error);
}

static NwStatus param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                      NwError *error)
{
  const LayerNorm *a = attrs;
  NW_TRY(need_sizes(op, a, &in[0], error));
  NwSpec spec = nw_spec_like(&in[0], (int)a->sizes, &in[0].dims[in[0].ndim - a->sizes]);
  *info = (NwParamInfo){a->elementwise_affine, spec, NW_INIT_CONSTANT, port == NW_SETS_WEIGHT};
  return NW_OK;
}

static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const LayerNorm *a = attrs;
  NwSpec x = nw_torch_spec(writer, 0);
  char sizes[96] = "";
  size_t used = 0;
  for (int64_t i = x.ndim - a->sizes; i > 0 && i < x.ndim; i++)
    used +=
        (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%lld", used ? ", " : "", (long long)x.dims[i]);
  nw_torch_line(writer, "%s = torch.layer_norm(%s, [%s], %s, %s, %s, True)", nw_torch_output(writer),
                nw_torch_input(writer, 0), sizes, nw_torch_param(writer, "weight"),
                nw_torch_param(writer, "bias"), nw_torch_attr(writer, "eps"));
  return NW_OK;
}

NW_SETS_KERNELS(sets_of)
static const NwOpCase cases[] = {{"", "3x13 13 13"},
                                 {"eps=1e-3", "2x5x24 24 24"},
                                 {"elementwise_affine=false", "4x9 - -"},
                                 {"sizes=3", "2x3x4x5 3x4x5 3x4x5"}};

/* LayerNormalization came with 17. */
static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  NwSpec weight = nw_onnx_spec(writer, NW_SETS_WEIGHT);
  bool affine = nw_spec_present(&weight);
  int sizes = (int)((const LayerNorm *)attrs)->sizes;
  static const char *const axes[] = {"", "[-1]", "[-2, -1]", "[-3, -2, -1]"};
  if (affine && nw_onnx_opset(writer) >= 17)
    return nw_onnx_put(writer, error, "LayerNormalization($x, $weight, $bias) axis=-%d epsilon=$eps", sizes);
  return nw_onnx_put(writer, error,
                     "mean = ReduceMean($x) axes=%s keepdims=1; middle = Sub($x, mean); "
                     "square = Mul(middle, middle); var = ReduceMean(square) axes=%s keepdims=1; "
                     "sum = Add(var, $eps); root = Sqrt(sum); flat = Div(middle, root); %s",
                     axes[sizes], axes[sizes],
                     affine ? "scaled = Mul(flat, $weight); Add(scaled, $bias)" : "Identity(flat)");
}

const NwOp nw_ops_layer_norm[] = {
    {.id = "layer_norm",
     .version = 1,
     .label = "LayerNorm",
     .group = NW_GROUP_NORM,
     .doc = N_("Gives each row of numbers mean 0 and deviation 1, whatever else is in the batch."),
     .formula =
         N_("y = (x − mean) / √(variance + eps) · weight + bias, over the last sizes (Ba et al. 2016)"),
     .keywords = "layer normalization transformer convnext",
     .torch = "torch.nn.LayerNorm",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(ports_in, nw_sets_out),
     NW_ATTRS(LayerNorm, attrs_rows),
     .infer = infer,
     .param = param,
     .grad = nw_sets_rule,
     .cost = nw_sets_cost,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript_write = write,
     NW_CASES(cases)},
    {NW_INTERNAL("layer_norm_grad", nw_sets_grad_in, nw_sets_grad_out), NW_ATTRS(LayerNorm, attrs_rows),
     .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(layer_norm);
