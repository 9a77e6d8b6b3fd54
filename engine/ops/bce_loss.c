/* BCELoss of probabilities. Logarithms are cut at −100 and slopes at 1e12, as in PyTorch. */
#include "engine/ops/loss-pairs.h"

static const NwAttr attrs_rows[] = {NW_LOSS_REDUCTION(2)};
NW_LOSS_PORTS("probability", N_("Probabilities: what a Sigmoid gives."),
              N_("As many numbers, or the number of the right class of each picture."), "weight",
              N_("How much each column counts."))

/* ln v, cut at −100; what is not a number stays so. */
static inline double cut(double v)
{
  return v < -100 ? -100 : v;
}
NW_LOSS_KERNELS(NwLossAttrs, -w *(t *cut(log(x)) + (1 - t) * cut(log1p(-x))),
                w *(x - t) / ((1 - x) * x < 1e-12 ? 1e-12 : (1 - x) * x))

static NwStatus checked_run(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  for (int64_t i = 0; i < nw_spec_count(&call->in[0]); i++) {
    double p = nw_get(call->in_data[0], i, wide);
    if (p < 0 || p > 1)
      return nw_fail(error, NW_BAD_DATA,
                     "BCELoss reads probabilities, but %g is not between 0 and 1: end in a Sigmoid, or take "
                     "BCEWithLogitsLoss",
                     p);
  }
  return loss_run(call, state, error);
}
static const NwKernel checked_kernels[] = {{.name = "plain",
                                            .device = NW_CPU,
                                            .flags = NW_KERNEL_EXACT | NW_KERNEL_F64,
                                            .supports = nw_supports_plain,
                                            .prepare = nw_loss_prepare,
                                            .run = checked_run}};
static const NwOpCase cases[] = {
    {"", "5x7 5x7 -"}, {"reduction=sum", "4x3 4:i64<3 3"}, {"", "2x3x4 2x3x4 -"}};

const NwOp nw_ops_bce_loss[] = {
    {.id = "bce_loss",
     .version = 1,
     .label = "BCELoss",
     .group = NW_GROUP_LOSS,
     .doc = N_("Compares probabilities with what is true of each of several labels; end in a Sigmoid."),
     .formula = N_("loss = mean of −weight · (target · ln p + (1 − target) · ln(1 − p)), p the input"),
     .keywords = "binary cross entropy multi label probability",
     .torch = "torch.nn.BCELoss",
     NW_PORTS_AND(loss_in, nw_loss_out),
     NW_ATTRS(NwLossAttrs, attrs_rows),
     .infer = nw_loss_infer,
     .grad = nw_loss_rule,
     NW_KERNELS(checked_kernels),
     NW_CASES(cases)},
    {NW_INTERNAL("bce_loss_grad", nw_loss_grad_in, nw_loss_grad_out), NW_ATTRS(NwLossAttrs, attrs_rows),
     .infer = nw_loss_grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(bce_loss);
