/* GELU, exact (with erf) or by torch's tanh approximation. Its gradient reads the input. */
#include "engine/ops/elementwise.h"

typedef struct Gelu {
  int64_t approximate;
} Gelu;
enum { NONE, TANH };

extern const NwOp nw_ops_gelu[];

#define ROOT_HALF 0.70710678118654752440
#define ROOT_2_PI 0.79788456080286535588 /* √(2/π) */
#define BEND 0.044715
#define INNER(x) (tanh((real)ROOT_2_PI * ((x) + (real)BEND * (x) * (x) * (x))))

NW_UNARY(gelu, Gelu,
         a->approximate == TANH ? (real)0.5 * x * (1 + INNER(x))
                                : (real)0.5 * x * (1 + erf(x * (real)ROOT_HALF)))
/* exact: Φ(v) + v·φ(v), φ(v) = e^(−v²/2)/√(2π) */
NW_BINARY(gelu_grad, Gelu,
          x *(a->approximate == TANH
                  ? (real)0.5 * (1 + INNER(v)) + (real)0.5 * v * (1 - INNER(v) * INNER(v)) * (real)ROOT_2_PI *
                                                     (1 + 3 * (real)BEND * v * v)
                  : (real)0.5 * (1 + erf(v * (real)ROOT_HALF)) +
                        v * exp((real)-0.5 * v * v) * (real)(0.5 * ROOT_2_PI)))

static const NwEnumItem forms[] = {{NONE, "none", N_("Exact")}, {TANH, "tanh", N_("With tanh")}};
static const NwAttr attrs_rows[] = {
    {"approximate", N_("Form"), N_("The exact form, or the approximation that some published networks use."),
     NULL, NW_ATTR_ENUM, 0, offsetof(Gelu, approximate), NONE, .items = forms, .n_items = NW_COUNT(forms)},
};

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_gelu[1], g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0],
                 error);
}

/* Files of version 3 know torch.gelu without `approximate`, so the other form is written out. */
static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const Gelu *a = attrs;
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  if (a->approximate == NONE)
    nw_torch_line(writer, "%s = torch.gelu(%s)", y, x);
  else
    nw_torch_line(writer,
                  "%s = torch.mul(torch.mul(%s, 0.5), torch.add(torch.tanh(torch.mul(torch.add(%s, "
                  "torch.mul(torch.pow(%s, 3), 0.044715)), 0.7978845608028654)), 1.0))",
                  y, x, x, x);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_SIMPLE_ANY(gelu_simple), NW_PLAIN(gelu_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(gelu_grad_simple), NW_PLAIN(gelu_grad_plain)};
static const NwOpCase cases[] = {{"", "2x8x5x7"}, {"approximate=tanh", "3x13"}, {"", "1x3x4x4"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  return nw_onnx_put(
      writer, error, "%s",
      ((const Gelu *)attrs)->approximate == NONE
          ? "small = Mul($x, 0.70710678118654752); erf = Erf(small); share = Add(erf, 1.0); "
            "part = Mul($x, share); Mul(part, 0.5)"
          : "square = Mul($x, $x); cube = Mul(square, $x); bent = Mul(cube, 0.044715); sum = Add($x, bent); "
            "inner = Mul(sum, 0.7978845608028654); curve = Tanh(inner); share = Add(curve, 1.0); "
            "part = Mul($x, share); Mul(part, 0.5)");
}

const NwOp nw_ops_gelu[] = {
    {.id = "gelu",
     .version = 1,
     .label = "GELU",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("A smooth ReLU that weighs each number by how likely a normal number is smaller."),
     .formula = N_("y = x · Φ(x), Φ the normal distribution (Hendrycks and Gimpel 2016)"),
     .keywords = "gaussian error linear unit activation",
     .torch = "torch.nn.GELU",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     NW_ATTRS(Gelu, attrs_rows),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript_write = write,
     NW_CASES(cases)},
    {NW_INTERNAL("gelu_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     NW_ATTRS(Gelu, attrs_rows), .infer = nw_infer_pair, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(gelu);
