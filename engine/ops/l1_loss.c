/* L1Loss. */
#include "engine/ops/loss-pairs.h"

static const NwAttr attrs_rows[] = {NW_LOSS_REDUCTION(2)};
NW_LOSS_PORTS("input", N_("Any numbers; the network's outputs."),
              N_("As many numbers, or the number of the right class of each picture."), "weight",
              N_("How much each column counts."))

NW_LOSS_KERNELS(NwLossAttrs, w *fabs(x - t), w *((x > t) - (x < t)))
static const NwOpCase cases[] = {
    {"", "5x7 5x7 -"}, {"reduction=sum", "4x3 4:i64<3 3"}, {"", "2x3x4 2x3x4 -"}};

const NwOp nw_ops_l1_loss[] = {
    {.id = "l1_loss",
     .version = 1,
     .label = "L1Loss",
     .group = NW_GROUP_LOSS,
     .doc = N_("Takes how far each number is off as it is."),
     .formula = N_("loss = mean of weight · |input − target|"),
     .keywords = "mean absolute error mae regression",
     .torch = "torch.nn.L1Loss",
     NW_PORTS_AND(loss_in, nw_loss_out),
     NW_ATTRS(NwLossAttrs, attrs_rows),
     .infer = nw_loss_infer,
     .grad = nw_loss_rule,
     NW_KERNELS(loss_kernels),
     NW_CASES(cases)},
    {NW_INTERNAL("l1_loss_grad", nw_loss_grad_in, nw_loss_grad_out), NW_ATTRS(NwLossAttrs, attrs_rows),
     .infer = nw_loss_grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(l1_loss);
