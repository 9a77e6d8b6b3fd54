/* SiLU. Its gradient reads the input. */
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_silu[];

NW_UNARY(silu, void, x / (1 + exp(-x)))
NW_BINARY(silu_grad, void, x *(1 + v * (1 - 1 / (1 + exp(-v)))) / (1 + exp(-v)))

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_silu[1], g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0],
                 error);
}

static const NwKernel kernels[] = {NW_SIMPLE_ANY(silu_simple), NW_PLAIN(silu_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(silu_grad_simple), NW_PLAIN(silu_grad_plain)};

const NwOp nw_ops_silu[] = {
    {.id = "silu",
     .version = 1,
     .label = "SiLU",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("A smooth ReLU: what is very negative goes to zero, what is large passes."),
     .formula = N_("y = x · σ(x) (Elfwing et al. 2017)"),
     .keywords = "swish activation sigmoid",
     .torch = "torch.nn.SiLU",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "gate = Sigmoid($x); Mul($x, gate)",
     .torchscript = "torch.silu($x)",
     NW_CASES(nw_activation_cases)},
    {NW_INTERNAL("silu_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(silu);
