/* DenseLayer of DenseNet: new channels behind those that came in. */
#include "engine/op/composite.h"
#include "engine/ops/common.h"

typedef struct Dense {
  NwCompositeHidden hidden;
  int64_t growth_rate, bn_size;
  double drop_rate;
} Dense;

static const NwAttr attrs_rows[] = {
    {"growth_rate", N_("New channels"), N_("How many channels are added."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(Dense, growth_rate), 32, 1, 4096, 1, 128, 1},
    {"bn_size", N_("Width inside"), N_("How many times the new channels there are in the middle."), NULL,
     NW_ATTR_INT, 0, offsetof(Dense, bn_size), 4, 1, 64, 1, 8, 1},
    {"drop_rate", N_("Dropout"), N_("How likely each new number is set to zero in training."), NULL,
     NW_ATTR_REAL, 0, offsetof(Dense, drop_rate), 0, 0, 1, 0, 0.95, 0.05},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
                                  NW_PORTS_NORM("norm1"),
                                  NW_PORTS_WEIGHT("conv1"),
                                  NW_PORTS_NORM("norm2"),
                                  NW_PORTS_WEIGHT("conv2")};
static const NwPort ports_out[] = {
    {"y", NW_PORT_DATA, 0, N_("What came in, and the new channels behind it.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Dense *a = attrs;
  NwVal x = s->in[0], y = nw_part(s, "norm1", "batch_norm2d", x, " ");
  y = nw_part(s, "conv1", "conv2d", nw_part(s, NULL, "relu", y, " "),
              "out_channels=%lld kernel_size=1 bias=false", (long long)(a->growth_rate * a->bn_size));
  y = nw_part(s, NULL, "relu", nw_part(s, "norm2", "batch_norm2d", y, " "), " ");
  y = nw_part(s, "conv2", "conv2d", y, "out_channels=%lld padding=1 bias=false", (long long)a->growth_rate);
  if (a->drop_rate > 0)
    y = nw_part(s, NULL, "dropout", y, "p=%.17g", a->drop_rate);
  return nw_join(s, "concat", x, y);
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"growth_rate=3 bn_size=2 training=true", "2x4x5x5 4 4 4 4 1:i64<9 6x4x1x1 6 6 6 6 1:i64<9 3x6x3x3"},
    {"growth_rate=8 bn_size=1", "1x8x3x4 8 8 8 8 1:i64<9 8x8x1x1 8 8 8 8 1:i64<9 8x8x3x3"}};

const NwOp nw_ops_dense_layer[] = {
    {.id = "dense_layer",
     .version = 1,
     .label = "DenseLayer",
     .group = NW_GROUP_COMPOSITE,
     .doc =
         N_("Adds new channels and keeps all older ones, so that later layers see everything before them."),
     .formula =
         N_("y = [x, conv2(relu(norm2(conv1(relu(norm1(x))))))] along the channels (Huang et al. 2017)"),
     .keywords = "densenet dense concatenate growth",
     .torch = "torchvision.models.densenet._DenseLayer",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Dense, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(dense_layer);
