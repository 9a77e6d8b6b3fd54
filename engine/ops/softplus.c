/* Softplus. Where beta · x passes the threshold it is the straight line that it tends to. */
#include "engine/ops/elementwise.h"

typedef struct Softplus {
  double beta, threshold;
} Softplus;

extern const NwOp nw_ops_softplus[];

NW_UNARY(softplus, Softplus,
         x *(real)a->beta > (real)a->threshold ? x : log1p(exp(x * (real)a->beta)) / (real)a->beta)
NW_BINARY(softplus_grad, Softplus,
          v *(real)a->beta > (real)a->threshold ? x : x / (1 + exp(-v * (real)a->beta)))

static const NwAttr attrs_rows[] = {
    {"beta", N_("Beta"), N_("How sharp the bend is."), NULL, NW_ATTR_REAL, 0, offsetof(Softplus, beta), 1,
     0.001, 1000, 0.1, 10, 0.1},
    {"threshold", N_("Threshold"), N_("From here on the numbers pass unchanged."), NULL, NW_ATTR_REAL, 0,
     offsetof(Softplus, threshold), 20, 0, 1000, 1, 50, 1},
};

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_softplus[1], g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0],
                 error);
}

static const NwKernel kernels[] = {NW_SIMPLE_PLAIN(softplus_simple), NW_PLAIN(softplus_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(softplus_grad_simple), NW_PLAIN(softplus_grad_plain)};
static const NwOpCase cases[] = {{"", "2x8x5x7"}, {"beta=3 threshold=1", "3x13"}, {"beta=0.5", "1x3x4x4"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const Softplus *a = attrs;
  if (a->threshold < 15) /* beyond, both are the same number */
    return nw_onnx_put(writer, error,
                       "steep = Mul($x, $beta); soft = Softplus(steep); bent = Div(soft, $beta); "
                       "far = Greater(steep, $threshold); Where(far, $x, bent)");
  if (a->beta == 1)
    return nw_onnx_put(writer, error, "Softplus($x)");
  return nw_onnx_put(writer, error, "steep = Mul($x, $beta); soft = Softplus(steep); Div(soft, $beta)");
}

const NwOp nw_ops_softplus[] = {
    {.id = "softplus",
     .version = 1,
     .label = "Softplus",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("A smooth ReLU whose numbers are always above zero."),
     .formula = N_("y = ln(1 + e^(beta · x)) / beta; y = x where beta · x > threshold"),
     .keywords = "soft plus smooth relu positive activation",
     .torch = "torch.nn.Softplus",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     NW_ATTRS(Softplus, attrs_rows),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript = "torch.softplus($x, $beta, $threshold)",
     NW_CASES(cases)},
    {NW_INTERNAL("softplus_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     NW_ATTRS(Softplus, attrs_rows), .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(softplus);
