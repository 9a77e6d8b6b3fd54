/* Add: two values of the same shape, as residual connections need it; also how gradients of one value come
 * together. */
#include "engine/ops/elementwise.h"

NW_BINARY(add, void, x + v)

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
     .torchscript = "torch.add($x, $other)",
     NW_CASES(cases)},
};
NW_OPS_END(add);
