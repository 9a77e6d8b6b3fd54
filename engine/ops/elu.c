/* ELU. */
#include "engine/ops/elementwise.h"

typedef struct Elu {
  double alpha;
} Elu;

extern const NwOp nw_ops_elu[];

NW_UNARY(elu, Elu, x > 0 ? x : (real)a->alpha * expm1(x))
NW_BINARY(elu_grad, Elu, v > 0 ? x : x * (real)a->alpha * exp(v))

static const NwAttr attrs_rows[] = {
    {"alpha", N_("Alpha"), N_("How far negative numbers may go."), NULL, NW_ATTR_REAL, 0,
     offsetof(Elu, alpha), 1, 0, 1000, 0, 3, 0.1},
};

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_elu[1], g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0], error);
}

static const NwKernel kernels[] = {NW_SIMPLE_ANY(elu_simple), NW_PLAIN(elu_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(elu_grad_simple), NW_PLAIN(elu_grad_plain)};
static const NwOpCase cases[] = {{"", "2x8x5x7"}, {"alpha=0.3", "3x13"}, {"alpha=2", "1x3x4x4"}};

const NwOp nw_ops_elu[] = {
    {.id = "elu",
     .version = 1,
     .label = "ELU",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("Keeps what is positive and lets negative numbers bend towards −alpha."),
     .formula = N_("y = x where x > 0, else alpha · (e^x − 1) (Clevert et al. 2016)"),
     .keywords = "exponential linear unit activation",
     .torch = "torch.nn.ELU",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     NW_ATTRS(Elu, attrs_rows),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "Elu($x) alpha=$alpha",
     .torchscript = "torch.elu($x, $alpha, 1, 1)",
     NW_CASES(cases)},
    {NW_INTERNAL("elu_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     NW_ATTRS(Elu, attrs_rows), .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(elu);
