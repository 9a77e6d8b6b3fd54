/* BatchNorm1d: BatchNorm2d of pictures that are one row, or one number. */
#include "engine/ops/elementwise.h"
#include "engine/ops/line1d.h"

typedef struct BatchNorm1d {
  NwCompositeHidden hidden;
  double eps, momentum;
  bool affine;
} BatchNorm1d;

static const NwAttr attrs_rows[] = {
    {"eps", N_("Epsilon"), N_("Added to the variance so that nothing is divided by zero."), NULL,
     NW_ATTR_REAL, NW_ATTR_LOG, offsetof(BatchNorm1d, eps), 1e-5, 0, 1, 1e-8, 1e-1, 1e-5},
    {"momentum", N_("Momentum"), N_("How much each batch moves the running mean and variance."), NULL,
     NW_ATTR_REAL, 0, offsetof(BatchNorm1d, momentum), 0.1, 0, 1, 0, 1, 0.01},
    {"affine", N_("Scale and shift"), N_("Learns a factor and an offset for each channel."), NULL,
     NW_ATTR_BOOL, 0, offsetof(BatchNorm1d, affine), 1, 0, 1, 0, 1, 1},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Batch × numbers, or batch × channels × length.")},
    {"weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("A factor for each channel.")},
    {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("An offset for each channel.")},
    {"running_mean", NW_PORT_STATE, NW_PORT_OPTIONAL, N_("Mean of each channel over past batches.")},
    {"running_var", NW_PORT_STATE, NW_PORT_OPTIONAL, N_("Variance of each channel over past batches.")},
    {"num_batches_tracked", NW_PORT_STATE, NW_PORT_OPTIONAL, N_("Batches seen in training.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const BatchNorm1d *a = attrs;
  bool flat = nw_drawn(s, s->in[0]).ndim == 2;
  NwVal y = nw_part(s, "", "batch_norm2d", nw_line_in(s, s->in[0], true),
                    "eps=%.17g momentum=%.17g affine=%s", a->eps, a->momentum, a->affine ? "true" : "false");
  return nw_line_out(s, y, flat);
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {{"training=true", "6x7 7 7 7 7 1:i64<9"},
                                 {"training=true eps=1e-3", "3x12x5 12 12 12 12 1:i64<9"},
                                 {"affine=false", "2x5x3 - - 5 5 1:i64<9"}};

const NwOp nw_ops_batch_norm1d[] = {
    {.id = "batch_norm1d",
     .version = 1,
     .label = "BatchNorm1d",
     .group = NW_GROUP_NORM,
     .doc = N_("Gives each number of a list mean 0 and deviation 1 over the batch."),
     .formula =
         N_("y = (x − mean) / √(variance + eps) · weight + bias, over the batch (Ioffe and Szegedy 2015)"),
     .keywords = "batch normalization list sequence",
     .torch = "torch.nn.BatchNorm1d",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(ports_in, nw_activation_out),
     NW_ATTRS(BatchNorm1d, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(batch_norm1d);
