/* ReLU6. Its gradient reads the output: it is strictly between 0 and 6 just where the input is. */
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_relu6[];

NW_UNARY(relu6, void, x<0 ? 0 : x> 6 ? 6 : x)
NW_BINARY(relu6_grad, void, v > 0 && v < 6 ? x : 0)

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_relu6[1], NULL, (NwVal[]){g->dout[0], g->out[0]}, 2, &g->din[0], error);
}

static const NwKernel kernels[] = {NW_SIMPLE_ANY(relu6_simple), NW_PLAIN(relu6_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(relu6_grad_simple), NW_PLAIN(relu6_grad_plain)};
static const NwOpCase cases[] = {{"", "2x8x5x7"}, {"", "3x13"}, {"", "1x3x4x4"}};

const NwOp nw_ops_relu6[] = {
    {.id = "relu6",
     .version = 1,
     .label = "ReLU6",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("Keeps what is between 0 and 6 and cuts off the rest, as networks for telephones like it."),
     .formula = N_("y = min(max(x, 0), 6) (Howard et al. 2017)"),
     .keywords = "rectified linear unit clamp hardtanh mobilenet activation",
     .torch = "torch.nn.ReLU6",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "Clip($x, 0.0, 6.0)",
     .torchscript = "torch.hardtanh($x, 0., 6.)",
     NW_CASES(cases)},
    {NW_INTERNAL("relu6_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(relu6);
