/* BCEWithLogitsLoss: the sigmoid is inside, so that nothing overflows. */
#include "engine/ops/loss-pairs.h"

static const NwAttr attrs_rows[] = {NW_LOSS_REDUCTION(2)};
NW_LOSS_PORTS("input", N_("Any numbers; the network's outputs."),
              N_("As many numbers, or the number of the right class of each picture."), "pos_weight",
              N_("How much a true label of each column counts."))

NW_LOSS_KERNELS(NwLossAttrs, (1 - t) * x + (1 + (w - 1) * t) * (log1p(exp(-fabs(x))) + (x < 0 ? -x : 0)),
                (1 + (w - 1) * t) / (1 + exp(-x)) - w * t)
static const NwOpCase cases[] = {
    {"", "5x7 5x7 -"}, {"reduction=sum", "4x3 4:i64<3 3"}, {"", "2x3x4 2x3x4 -"}};

const NwOp nw_ops_bce_with_logits_loss[] = {
    {.id = "bce_with_logits_loss",
     .version = 1,
     .label = "BCEWithLogitsLoss",
     .group = NW_GROUP_LOSS,
     .doc = N_("Compares outputs with what is true of each of several labels; needs no Sigmoid before it."),
     .formula =
         N_("loss = mean of −(pos_weight · target · ln σ(x) + (1 − target) · ln(1 − σ(x))), σ the sigmoid"),
     .keywords = "binary cross entropy multi label logits sigmoid",
     .torch = "torch.nn.BCEWithLogitsLoss",
     NW_PORTS_AND(loss_in, nw_loss_out),
     NW_ATTRS(NwLossAttrs, attrs_rows),
     .infer = nw_loss_infer,
     .grad = nw_loss_rule,
     NW_KERNELS(loss_kernels),
     NW_CASES(cases)},
    {NW_INTERNAL("bce_with_logits_loss_grad", nw_loss_grad_in, nw_loss_grad_out),
     NW_ATTRS(NwLossAttrs, attrs_rows), .infer = nw_loss_grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(bce_with_logits_loss);
