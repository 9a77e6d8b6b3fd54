/* BasicBlock of ResNet-18 and 34: two 3×3 convolutions beside a shortcut. */
#include "engine/op/composite.h"
#include "engine/ops/common.h"

typedef struct Basic {
  NwCompositeHidden hidden;
  int64_t out_channels, stride;
} Basic;

static const NwAttr attrs_rows[] = {{"out_channels", N_("Channels"), N_("Number of channels that come out."),
                                     NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK | NW_ATTR_LOG,
                                     offsetof(Basic, out_channels), 64, 1, 16384, 1, 2048, 1},
                                    {"stride", N_("Stride"), N_("2 halves the picture."), NULL, NW_ATTR_INT,
                                     NW_ATTR_ON_BLOCK, offsetof(Basic, stride), 1, 1, 8, 1, 4, 1},
                                    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
                                  NW_PORTS_WEIGHT("conv1"),
                                  NW_PORTS_NORM("bn1"),
                                  NW_PORTS_WEIGHT("conv2"),
                                  NW_PORTS_NORM("bn2"),
                                  NW_PORTS_WEIGHT("downsample.0"),
                                  NW_PORTS_NORM("downsample.1")};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("Pictures with the wanted channels.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Basic *a = attrs;
  NwVal x = s->in[0], y = x, shortcut = x;
  long long out = a->out_channels, stride = a->stride;
  y = nw_part(s, "conv1", "conv2d", y, "out_channels=%lld stride=%lld padding=1 bias=false", out, stride);
  y = nw_part(s, NULL, "relu", nw_part(s, "bn1", "batch_norm2d", y, " "), " ");
  y = nw_part(s, "conv2", "conv2d", y, "out_channels=%lld padding=1 bias=false", out);
  y = nw_part(s, "bn2", "batch_norm2d", y, " ");
  if (stride != 1 || nw_drawn_channels(s, x) != out) {
    shortcut = nw_part(s, "downsample.0", "conv2d", x,
                       "out_channels=%lld kernel_size=1 stride=%lld bias=false", out, stride);
    shortcut = nw_part(s, "downsample.1", "batch_norm2d", shortcut, " ");
  }
  return nw_part(s, NULL, "relu", nw_join(s, "add", y, shortcut), " ");
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"out_channels=4 training=true", "2x4x6x6 4x4x3x3 4 4 4 4 1:i64<9 4x4x3x3 4 4 4 4 1:i64<9"},
    {"out_channels=8 stride=2",
     "1x3x7x6 8x3x3x3 8 8 8 8 1:i64<9 8x8x3x3 8 8 8 8 1:i64<9 8x3x1x1 8 8 8 8 1:i64<9"}};

const NwOp nw_ops_basic_block[] = {
    {.id = "basic_block",
     .version = 1,
     .label = "BasicBlock",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_("Two convolutions whose result is added to what came in, so that deep networks learn well."),
     .formula = N_("y = relu(bn2(conv2(relu(bn1(conv1(x))))) + shortcut(x)); the shortcut is a 1×1 "
                   "convolution and a norm where sizes change (He et al. 2016)"),
     .keywords = "residual resnet block skip shortcut",
     .torch = "torchvision.models.resnet.BasicBlock",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Basic, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(basic_block);
