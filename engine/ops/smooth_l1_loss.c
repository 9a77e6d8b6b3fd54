/* SmoothL1Loss: squares near zero, straight further out. */
#include "engine/ops/loss-pairs.h"

typedef struct SmoothL1 {
  NwLossAttrs loss;
  double beta;
} SmoothL1;

static const NwAttr attrs_rows[] = {{"beta", N_("Beta"), N_("Where squares end."), NULL, NW_ATTR_REAL, 0,
                                     offsetof(SmoothL1, beta), 1, 0, 1000, 0, 5, 0.1},
                                    NW_LOSS_REDUCTION(2)};
NW_LOSS_PORTS("input", N_("Any numbers; the network's outputs."),
              N_("As many numbers, or the number of the right class of each picture."), "weight",
              N_("How much each column counts."))

NW_LOSS_KERNELS(SmoothL1,
                w *(fabs(x - t) < a->beta ? 0.5 * (x - t) * (x - t) / a->beta : fabs(x - t) - 0.5 * a->beta),
                w *(fabs(x - t) < a->beta ? (x - t) / a->beta : (x > t) - (x < t)))
static const NwOpCase cases[] = {
    {"beta=0.5", "5x7 5x7 -"}, {"reduction=sum", "4x3 4:i64<3 3"}, {"beta=0", "2x3x4 2x3x4 -"}};

const NwOp nw_ops_smooth_l1_loss[] = {
    {.id = "smooth_l1_loss",
     .version = 1,
     .label = "SmoothL1Loss",
     .group = NW_GROUP_LOSS,
     .doc = N_("Squares small mistakes and takes large ones as they are, so that odd pictures do not rule."),
     .formula = N_("loss = mean of weight · (d²/2/beta where d = |input − target| < beta, else d − beta/2) "
                   "(Girshick 2015)"),
     .keywords = "smooth l1 robust regression",
     .torch = "torch.nn.SmoothL1Loss",
     NW_PORTS_AND(loss_in, nw_loss_out),
     NW_ATTRS(SmoothL1, attrs_rows),
     .infer = nw_loss_infer,
     .grad = nw_loss_rule,
     NW_KERNELS(loss_kernels),
     NW_CASES(cases)},
    {NW_INTERNAL("smooth_l1_loss_grad", nw_loss_grad_in, nw_loss_grad_out), NW_ATTRS(SmoothL1, attrs_rows),
     .infer = nw_loss_grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(smooth_l1_loss);
