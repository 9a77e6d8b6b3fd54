/* Add: two values of the same shape, as residual connections need it; also how gradients of one value come
 * together. */
#include "engine/ops/elementwise.h"

NW_BINARY(add, void, x + v)
NW_BINARY(add_relu, void, x + v < 0 ? 0 : x + v)

static const NwPort add_in[] = {{"x", NW_PORT_DATA, 0, N_("Any numbers.")},
                                {"other", NW_PORT_DATA, 0, N_("As many numbers, in the same shape.")}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "Add needs two inputs; connect the second one");
  if (!nw_spec_same_shape(&in[0], &in[1])) {
    char left[64], right[64];
    nw_spec_shape_text(&in[0], true, left, sizeof left);
    nw_spec_shape_text(&in[1], true, right, sizeof right);
    return nw_fail(error, NW_BAD_SHAPE, "Add needs two inputs of the same size; these are %s and %s", left,
                   right);
  }
  return nw_infer_pair(op, attrs, in, n_in, out, error);
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  g->din[0] = g->din[1] = g->dout[0];
  return NW_OK;
}

/* ---- add_relu_grad: (x + other) where y > 0 ---- */
static const NwPort masked_in[] = {{"x", NW_PORT_DATA}, {"other", NW_PORT_DATA}, {"y", NW_PORT_DATA}};

static NwStatus masked_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                             NwError *error)
{
  NW_TRY(nw_infer_pair(op, attrs, in, n_in, out, error));
  if (!nw_spec_is(in, n_in, 2))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs the value of the ReLU", op->id);
  return nw_need_same(op, &in[0], &in[2], error);
}

static void masked_floats(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  const float *a = call->in_data[0], *b = call->in_data[1], *y = call->in_data[2];
  float *out = call->out_data[0];
  for (int64_t i = begin; i < end; i++) {
    float sum = a[i] + b[i];
    out[i] = y[i] > 0 ? sum : 0.f;
  }
}

NW_INLINE void masked_each(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  for (int64_t i = begin; i < end; i++) {
    double sum = nw_get(call->in_data[0], i, wide) + nw_get(call->in_data[1], i, wide);
    nw_put(call->out_data[0], i, nw_get(call->in_data[2], i, wide) > 0 ? sum : 0, wide);
  }
}
NW_ELEMENTWISE_RUNS(masked)

static const NwKernel relu_kernels[] = {NW_SIMPLE_ANY(add_relu_simple), NW_PLAIN(add_relu_plain)};
static const NwKernel masked_kernels[] = {NW_SIMPLE_ANY(masked_simple), NW_PLAIN(masked_plain)};
static const NwFusion fusions[] = {{"relu", "add_relu", NULL, NULL},
                                   {"relu_grad", "add_relu_grad", NULL, NULL}};
static const NwKernel kernels[] = {NW_SIMPLE_ANY(add_simple), NW_PLAIN(add_plain)};
static const NwOpCase cases[] = {{"", "2x8x5x5 2x8x5x5"}, {"", "3x7 3x7"}, {"", "1x3x2x9 1x3x2x9"}};

const NwOp nw_ops_add[] = {
    {.id = "add",
     .version = 1,
     .label = "Add",
     .group = NW_GROUP_MERGE,
     .doc = N_("Adds two values number by number, so that a shortcut can pass layers by."),
     .formula = N_("y = x + other (He et al. 2016)"),
     .keywords = "sum plus residual skip shortcut merge",
     .torch = "torch.add",
     .flags = NW_OP_INPLACE | NW_OP_COMMUTATIVE,
     NW_INPUTS(add_in),
     NW_OUTPUTS(nw_activation_out),
     .infer = infer,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     NW_FUSIONS(fusions),
     .onnx = "Add($x, $other)",
     .torchscript = "torch.add($x, $other)",
     NW_CASES(cases)},
    {NW_INTERNAL("add_relu", add_in, nw_activation_out), .flags = NW_OP_INPLACE | NW_OP_COMMUTATIVE,
     .infer = infer, .cost = nw_cost_elements, NW_KERNELS(relu_kernels), NW_CASES(cases)},
    {NW_INTERNAL("add_relu_grad", masked_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = masked_infer, .cost = nw_cost_elements, NW_KERNELS(masked_kernels)},
};
NW_OPS_END(add);
