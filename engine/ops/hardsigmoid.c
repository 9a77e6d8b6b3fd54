/* Hardsigmoid. Its gradient reads the output: it is strictly between 0 and 1 just where the line is not cut.
 */
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_hardsigmoid[];

NW_UNARY(hardsigmoid, void, (x + 3 < 0 ? 0 : x + 3 > 6 ? 6 : x + 3) * (real)(1 / 6.0))
NW_BINARY(hardsigmoid_grad, void, v > 0 && v < 1 ? x * (real)(1 / 6.0) : 0)

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_hardsigmoid[1], NULL, (NwVal[]){g->dout[0], g->out[0]}, 2, &g->din[0],
                 error);
}

static const NwKernel kernels[] = {NW_SIMPLE_PLAIN(hardsigmoid_simple), NW_PLAIN(hardsigmoid_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(hardsigmoid_grad_simple),
                                        NW_PLAIN(hardsigmoid_grad_plain)};

const NwOp nw_ops_hardsigmoid[] = {
    {.id = "hardsigmoid",
     .version = 1,
     .label = "Hardsigmoid",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("Sigmoid made of straight pieces, so that it costs little."),
     .formula = N_("y = min(max(x + 3, 0), 6) / 6 (Courbariaux et al. 2015)"),
     .keywords = "hard sigmoid gate mobilenet v3 squeeze activation",
     .torch = "torch.nn.Hardsigmoid",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "HardSigmoid($x) alpha=0.16666667163372040 beta=0.5",
     .torchscript = "torch.hardsigmoid($x)",
     NW_CASES(nw_activation_cases)},
    {NW_INTERNAL("hardsigmoid_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(hardsigmoid);
