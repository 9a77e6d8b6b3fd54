/* Hardswish: SiLU out of straight pieces, which costs no exponential. */
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_hardswish[];

NW_UNARY(hardswish, void, x *(x + 3 < 0 ? 0 : x + 3 > 6 ? 6 : x + 3) * (real)(1 / 6.0))
NW_BINARY(hardswish_grad, void, v <= -3 ? 0 : v < 3 ? x * (v * (real)(1 / 3.0) + (real)0.5) : x)

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_hardswish[1], NULL, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0],
                 error);
}

static const NwKernel kernels[] = {NW_SIMPLE_ANY(hardswish_simple), NW_PLAIN(hardswish_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(hardswish_grad_simple), NW_PLAIN(hardswish_grad_plain)};

const NwOp nw_ops_hardswish[] = {
    {.id = "hardswish",
     .version = 1,
     .label = "Hardswish",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("SiLU made of straight pieces, so that it costs little."),
     .formula = N_("y = x · min(max(x + 3, 0), 6) / 6 (Howard et al. 2019)"),
     .keywords = "hard swish silu mobilenet v3 activation",
     .torch = "torch.nn.Hardswish",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "gate = HardSigmoid($x) alpha=0.16666667163372040 beta=0.5; Mul($x, gate)",
     .torchscript = "torch.hardswish($x)",
     NW_CASES(nw_activation_cases)},
    {NW_INTERNAL("hardswish_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(hardswish);
