/* KLDivLoss: the input are logarithms of probabilities, as LogSoftmax gives them. */
#include "engine/ops/loss-pairs.h"

typedef struct KlDiv {
  NwLossAttrs loss;
  bool log_target;
} KlDiv;

static const NwAttr attrs_rows[] = {{"log_target", N_("Target is a logarithm"),
                                     N_("The target holds logarithms of probabilities, too."), NULL,
                                     NW_ATTR_BOOL, 0, offsetof(KlDiv, log_target), 0, 0, 1, 0, 1, 1},
                                    NW_LOSS_REDUCTION(3)};
NW_LOSS_PORTS("input", N_("Logarithms of probabilities."),
              N_("As many numbers, or the number of the right class of each picture."), "weight",
              N_("How much each column counts."))

NW_LOSS_KERNELS(KlDiv,
                w *(a->log_target ? exp(t) * (t - x)
                    : t > 0       ? t * (log(t) - x)
                                  : 0),
                -w *(a->log_target ? exp(t)
                     : t > 0       ? t
                                   : 0))
static const NwOpCase cases[] = {{"", "5x7 5x7 -"},
                                 {"reduction=batchmean", "4x3 4:i64<3 3"},
                                 {"log_target=true reduction=sum", "2x3x4 2x3x4 -"}};

const NwOp nw_ops_kl_div_loss[] = {
    {.id = "kl_div_loss",
     .version = 1,
     .label = "KLDivLoss",
     .group = NW_GROUP_LOSS,
     .doc = N_("Tells how far a distribution is from the wanted one, as when a network learns from another."),
     .formula = N_("loss = Σ target · (ln target − input), divided as chosen; with log_target, target stands "
                   "for its logarithm"),
     .keywords = "kullback leibler divergence distillation distribution",
     .torch = "torch.nn.KLDivLoss",
     NW_PORTS_AND(loss_in, nw_loss_out),
     NW_ATTRS(KlDiv, attrs_rows),
     .infer = nw_loss_infer,
     .grad = nw_loss_rule,
     NW_KERNELS(loss_kernels),
     NW_CASES(cases)},
    {NW_INTERNAL("kl_div_loss_grad", nw_loss_grad_in, nw_loss_grad_out), NW_ATTRS(KlDiv, attrs_rows),
     .infer = nw_loss_grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(kl_div_loss);
