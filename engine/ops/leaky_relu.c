/* LeakyReLU. Its gradient reads the output: as the slope is not negative, y > 0 just where x > 0. */
#include "engine/ops/elementwise.h"

typedef struct LeakyRelu {
  double negative_slope;
} LeakyRelu;

extern const NwOp nw_ops_leaky_relu[];

NW_UNARY(leaky_relu, LeakyRelu, x > 0 ? x : x * (real)a->negative_slope)
NW_BINARY(leaky_relu_grad, LeakyRelu, v > 0 ? x : x * (real)a->negative_slope)

static const NwAttr attrs_rows[] = {
    {"negative_slope", N_("Slope"), N_("What negative numbers are multiplied with."), NULL, NW_ATTR_REAL, 0,
     offsetof(LeakyRelu, negative_slope), 0.01, 0, 1, 0, 0.5, 0.01},
};

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_leaky_relu[1], g->attrs, (NwVal[]){g->dout[0], g->out[0]}, 2, &g->din[0],
                 error);
}

static const NwKernel kernels[] = {NW_SIMPLE_ANY(leaky_relu_simple), NW_PLAIN(leaky_relu_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(leaky_relu_grad_simple),
                                        NW_PLAIN(leaky_relu_grad_plain)};
static const NwOpCase cases[] = {
    {"", "2x8x5x7"}, {"negative_slope=0.2", "3x13"}, {"negative_slope=0", "1x3x4x4"}};

const NwOp nw_ops_leaky_relu[] = {
    {.id = "leaky_relu",
     .version = 1,
     .label = "LeakyReLU",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("Keeps what is positive and makes the rest small, so that no unit is ever wholly off."),
     .formula = N_("y = x where x > 0, else negative_slope · x (Maas et al. 2013)"),
     .keywords = "leaky rectified linear unit activation",
     .torch = "torch.nn.LeakyReLU",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     NW_ATTRS(LeakyRelu, attrs_rows),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "LeakyRelu($x) alpha=$negative_slope",
     .torchscript = "torch.leaky_relu($x, $negative_slope)",
     NW_CASES(cases)},
    {NW_INTERNAL("leaky_relu_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     NW_ATTRS(LeakyRelu, attrs_rows), .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(leaky_relu);
