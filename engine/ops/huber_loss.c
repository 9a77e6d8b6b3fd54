/* HuberLoss: squares near zero, straight further out. */
#include "engine/ops/loss-pairs.h"

typedef struct Huber {
  NwLossAttrs loss;
  double delta;
} Huber;

static const NwAttr attrs_rows[] = {{"delta", N_("Delta"), N_("Where squares end."), NULL, NW_ATTR_REAL, 0,
                                     offsetof(Huber, delta), 1, 0.001, 1000, 0.1, 5, 0.1},
                                    NW_LOSS_REDUCTION(2)};
NW_LOSS_PORTS("input", N_("Any numbers; the network's outputs."),
              N_("As many numbers, or the number of the right class of each picture."), "weight",
              N_("How much each column counts."))

NW_LOSS_KERNELS(Huber,
                w *(fabs(x - t) <= a->delta ? 0.5 * (x - t) * (x - t)
                                            : a->delta * (fabs(x - t) - 0.5 * a->delta)),
                w *(fabs(x - t) <= a->delta ? x - t : a->delta * ((x > t) - (x < t))))
static const NwOpCase cases[] = {
    {"delta=0.5", "5x7 5x7 -"}, {"reduction=sum", "4x3 4:i64<3 3"}, {"", "2x3x4 2x3x4 -"}};

const NwOp nw_ops_huber_loss[] = {
    {.id = "huber_loss",
     .version = 1,
     .label = "HuberLoss",
     .group = NW_GROUP_LOSS,
     .doc = N_("Squares small mistakes and takes large ones as they are, times delta."),
     .formula = N_("loss = mean of weight · (d²/2 where d = |input − target| ≤ delta, else delta · (d − "
                   "delta/2)) (Huber 1964)"),
     .keywords = "huber robust regression",
     .torch = "torch.nn.HuberLoss",
     NW_PORTS_AND(loss_in, nw_loss_out),
     NW_ATTRS(Huber, attrs_rows),
     .infer = nw_loss_infer,
     .grad = nw_loss_rule,
     NW_KERNELS(loss_kernels),
     NW_CASES(cases)},
    {NW_INTERNAL("huber_loss_grad", nw_loss_grad_in, nw_loss_grad_out), NW_ATTRS(Huber, attrs_rows),
     .infer = nw_loss_grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(huber_loss);
