/* Tanh. Its gradient reads the output. */
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_tanh[];

NW_UNARY(tanh, void, tanh(x))
NW_BINARY(tanh_grad, void, x *(1 - v * v))

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_tanh[1], g->attrs, (NwVal[]){g->dout[0], g->out[0]}, 2, &g->din[0],
                 error);
}

static const NwKernel kernels[] = {NW_SIMPLE_ANY(tanh_simple), NW_PLAIN(tanh_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(tanh_grad_simple), NW_PLAIN(tanh_grad_plain)};

const NwOp nw_ops_tanh[] = {
    {.id = "tanh",
     .version = 1,
     .label = "Tanh",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("Squeezes every number into −1 to 1."),
     .formula = N_("y = tanh(x)"),
     .keywords = "hyperbolic tangent activation",
     .torch = "torch.nn.Tanh",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "Tanh($x)",
     .torchscript = "torch.tanh($x)",
     NW_CASES(nw_activation_cases)},
    {NW_INTERNAL("tanh_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(tanh);
