/* Mish. s is the sigmoid, t the tanh of the softplus. */
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_mish[];

#define BEND(x) (tanh(log1p(exp(x)))) /* where e^x is too large, 1 */

NW_UNARY(mish, void, x *BEND(x))
NW_BINARY(mish_grad, void, x *(BEND(v) + v / (1 + exp(-v)) * (1 - BEND(v) * BEND(v))))

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_mish[1], NULL, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0], error);
}

static const NwKernel kernels[] = {NW_SIMPLE_ANY(mish_simple), NW_PLAIN(mish_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(mish_grad_simple), NW_PLAIN(mish_grad_plain)};

const NwOp nw_ops_mish[] = {
    {.id = "mish",
     .version = 1,
     .label = "Mish",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("A smooth activation much like SiLU, a little steeper."),
     .formula = N_("y = x · tanh(ln(1 + e^x)) (Misra 2020)"),
     .keywords = "mish softplus tanh activation",
     .torch = "torch.nn.Mish",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "soft = Softplus($x); gate = Tanh(soft); Mul($x, gate)",
     .torchscript = "torch.mish($x)",
     NW_CASES(nw_activation_cases)},
    {NW_INTERNAL("mish_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(mish);
