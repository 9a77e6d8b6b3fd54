/* ReLU. Its gradient reads the output, so the input need not be kept. */
#include "engine/ops/batch_norm2d.h"
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_relu[];

/* Not x > 0 ? x : 0: a NaN must come out as a NaN, or a broken training would go on unseen. */
NW_UNARY(relu, void, x < 0 ? 0 : x)
NW_BINARY(relu_grad, void, v > 0 ? x : 0)

static NwStatus relu_rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_relu[1], NULL, (NwVal[]){g->dout[0], g->out[0]}, 2, &g->din[0], error);
}

static const NwKernel relu_kernels[] = {NW_SIMPLE_ANY(relu_simple), NW_PLAIN(relu_plain)};
static const NwKernel grad_kernels[] = {NW_SIMPLE_ANY(relu_grad_simple), NW_PLAIN(relu_grad_plain)};

/* Where a normalisation lies before the ReLU, masking while its gradient reads dy saves a pass over memory.
 */
static void into_norm(const void *attrs, const void *next_attrs, void *into_attrs)
{
  memcpy(into_attrs, next_attrs, sizeof(NwBatchNorm2d));
}
static const NwFusion grad_fusions[] = {{"batch_norm2d_grad", "batch_norm2d_relu_grad", NULL, into_norm}};

const NwOp nw_ops_relu[] = {
    {.id = "relu",
     .version = 1,
     .label = "ReLU",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("Keeps what is positive and sets the rest to zero."),
     .formula = N_("y = max(x, 0) (Nair and Hinton 2010)"),
     .keywords = "rectified linear unit activation",
     .torch = "torch.nn.ReLU",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = nw_infer_activation,
     .grad = relu_rule,
     .cost = nw_cost_elements,
     NW_KERNELS(relu_kernels),
     .onnx = "Relu($x)",
     .torchscript = "torch.relu($x)",
     NW_CASES(nw_activation_cases)},
    {NW_INTERNAL("relu_grad", nw_activation_grad_in, nw_activation_grad_out), .flags = NW_OP_INPLACE,
     .infer = nw_infer_pair, NW_KERNELS(grad_kernels), NW_FUSIONS(grad_fusions)},
};
NW_OPS_END(relu);
