/* Bottleneck of ResNet-50 and deeper, and of ResNeXt and Wide ResNet: 1×1, 3×3, 1×1 beside a shortcut. */
#include "engine/op/composite.h"
#include "engine/ops/common.h"

typedef struct Bottleneck {
  NwCompositeHidden hidden;
  int64_t planes, stride, groups, base_width;
} Bottleneck;

static const NwAttr attrs_rows[] = {
    {"planes", N_("Width"), N_("A quarter of the channels that come out."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(Bottleneck, planes), 64, 1, 4096, 1, 512, 1},
    {"stride", N_("Stride"), N_("2 halves the picture."), NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK,
     offsetof(Bottleneck, stride), 1, 1, 8, 1, 4, 1},
    {"groups", N_("Groups"), N_("Groups of the 3×3 convolution (ResNeXt has 32)."), NULL, NW_ATTR_INT, 0,
     offsetof(Bottleneck, groups), 1, 1, 1024, 1, 64, 1},
    {"base_width", N_("Base width"), N_("Channels of a group for a width of 64 (Wide ResNet has 128)."), NULL,
     NW_ATTR_INT, 0, offsetof(Bottleneck, base_width), 64, 1, 1024, 1, 256, 1},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
                                  NW_PORTS_WEIGHT("conv1"),
                                  NW_PORTS_NORM("bn1"),
                                  NW_PORTS_WEIGHT("conv2"),
                                  NW_PORTS_NORM("bn2"),
                                  NW_PORTS_WEIGHT("conv3"),
                                  NW_PORTS_NORM("bn3"),
                                  NW_PORTS_WEIGHT("downsample.0"),
                                  NW_PORTS_NORM("downsample.1")};
static const NwPort ports_out[] = {
    {"y", NW_PORT_DATA, 0, N_("Pictures with four times as many channels as the width.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Bottleneck *a = attrs;
  NwVal x = s->in[0], y = x, shortcut = x;
  long long out = 4 * a->planes, stride = a->stride, groups = a->groups;
  long long width = (long long)((double)a->planes * ((double)a->base_width / 64)) * groups;
  y = nw_part(s, "conv1", "conv2d", y, "out_channels=%lld kernel_size=1 bias=false", width);
  y = nw_part(s, NULL, "relu", nw_part(s, "bn1", "batch_norm2d", y, " "), " ");
  y = nw_part(s, "conv2", "conv2d", y, "out_channels=%lld stride=%lld padding=1 groups=%lld bias=false",
              width, stride, groups);
  y = nw_part(s, NULL, "relu", nw_part(s, "bn2", "batch_norm2d", y, " "), " ");
  y = nw_part(s, "conv3", "conv2d", y, "out_channels=%lld kernel_size=1 bias=false", out);
  y = nw_part(s, "bn3", "batch_norm2d", y, " ");
  if (stride != 1 || nw_drawn_channels(s, x) != out) {
    shortcut = nw_part(s, "downsample.0", "conv2d", x,
                       "out_channels=%lld kernel_size=1 stride=%lld bias=false", out, stride);
    shortcut = nw_part(s, "downsample.1", "batch_norm2d", shortcut, " ");
  }
  return nw_part(s, NULL, "relu", nw_join(s, "add", y, shortcut), " ");
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"planes=2 training=true",
     "2x8x4x4 2x8x1x1 2 2 2 2 1:i64<9 2x2x3x3 2 2 2 2 1:i64<9 8x2x1x1 8 8 8 8 1:i64<9"},
    {"planes=4 stride=2 groups=2", "1x3x5x6 8x3x1x1 8 8 8 8 1:i64<9 8x4x3x3 8 8 8 8 1:i64<9 16x8x1x1 16 16 "
                                   "16 16 1:i64<9 16x3x1x1 16 16 16 16 1:i64<9"}};

const NwOp nw_ops_bottleneck[] = {
    {.id = "bottleneck",
     .version = 1,
     .label = "Bottleneck",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_("A narrow 3×3 convolution between two 1×1 ones, added to what came in."),
     .formula = N_("y = relu(bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x)))))))) + shortcut(x)) (He et al. "
                   "2016); the stride is in conv2"),
     .keywords = "residual resnet resnext wide block skip shortcut",
     .torch = "torchvision.models.resnet.Bottleneck",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Bottleneck, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(bottleneck);
