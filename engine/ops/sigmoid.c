/* Sigmoid. Its gradient reads the output. */
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_sigmoid[];

NW_UNARY(sigmoid, void, 1 / (1 + exp(-x)))
NW_BINARY(sigmoid_grad, void, x *(1 - v) * v)

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_sigmoid[1], g->attrs, (NwVal[]){g->dout[0], g->out[0]}, 2, &g->din[0],
                 error);
}

static const NwKernel kernels[] = {NW_SIMPLE_PLAIN(sigmoid_simple), NW_PLAIN(sigmoid_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(sigmoid_grad_simple), NW_PLAIN(sigmoid_grad_plain)};

const NwOp nw_ops_sigmoid[] = {
    {.id = "sigmoid",
     .version = 1,
     .label = "Sigmoid",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("Squeezes every number into 0 to 1."),
     .formula = N_("y = 1 / (1 + e^(−x))"),
     .keywords = "logistic activation probability",
     .torch = "torch.nn.Sigmoid",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "Sigmoid($x)",
     .torchscript = "torch.sigmoid($x)",
     NW_CASES(nw_activation_cases)},
    {NW_INTERNAL("sigmoid_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(sigmoid);
