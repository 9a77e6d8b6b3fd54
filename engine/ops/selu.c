/* SELU: ELU with the two constants for which mean and variance stay 0 and 1 from layer to layer. */
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_selu[];

#define SCALE 1.0507009873554804934193349852946
#define ALPHA 1.6732632423543772848170429916717

NW_UNARY(selu, void, x > 0 ? (real)SCALE * x : (real)(SCALE * ALPHA) * expm1(x))
NW_BINARY(selu_grad, void, v > 0 ? x * (real)SCALE : x * (real)(SCALE * ALPHA) * exp(v))

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_selu[1], NULL, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0], error);
}

static const NwKernel kernels[] = {NW_SIMPLE_ANY(selu_simple), NW_PLAIN(selu_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(selu_grad_simple), NW_PLAIN(selu_grad_plain)};

const NwOp nw_ops_selu[] = {
    {.id = "selu",
     .version = 1,
     .label = "SELU",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("An ELU that keeps mean and variance of its numbers at 0 and 1 by itself."),
     .formula = N_("y = 1.0507 · (x where x > 0, else 1.6733 · (e^x − 1)) (Klambauer et al. 2017)"),
     .keywords = "scaled exponential linear unit self normalizing activation",
     .torch = "torch.nn.SELU",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "Selu($x)",
     .torchscript = "torch.selu($x)",
     NW_CASES(nw_activation_cases)},
    {NW_INTERNAL("selu_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(selu);
