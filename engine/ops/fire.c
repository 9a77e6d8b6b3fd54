/* Fire of SqueezeNet: few channels in the middle, 1×1 and 3×3 filters side by side behind. */
#include "engine/op/composite.h"
#include "engine/ops/common.h"

typedef struct Fire {
  NwCompositeHidden hidden;
  int64_t squeeze, expand1x1, expand3x3;
} Fire;

static const NwAttr attrs_rows[] = {
    {"squeeze", N_("Squeezed channels"), N_("How few channels the 1×1 convolution in front leaves."), NULL,
     NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(Fire, squeeze), 16, 1, 4096, 1, 256, 1},
    {"expand1x1", N_("1×1 channels"), N_("Channels of the 1×1 convolution behind."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(Fire, expand1x1), 64, 1, 4096, 1, 512, 1},
    {"expand3x3", N_("3×3 channels"), N_("Channels of the 3×3 convolution behind."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(Fire, expand3x3), 64, 1, 4096, 1, 512, 1},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
                                  NW_PORTS_LINEAR("squeeze"),
                                  NW_PORTS_LINEAR("expand1x1"),
                                  NW_PORTS_LINEAR("expand3x3")};
static const NwPort ports_out[] = {
    {"y", NW_PORT_DATA, 0, N_("Pictures with the channels of both convolutions.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Fire *a = attrs;
  NwVal y =
      nw_part(s, "squeeze", "conv2d", s->in[0], "out_channels=%lld kernel_size=1", (long long)a->squeeze);
  y = nw_part(s, NULL, "relu", y, " ");
  NwVal one =
      nw_part(s, "expand1x1", "conv2d", y, "out_channels=%lld kernel_size=1", (long long)a->expand1x1);
  NwVal three = nw_part(s, "expand3x3", "conv2d", y, "out_channels=%lld padding=1", (long long)a->expand3x3);
  one = nw_part(s, NULL, "relu", one, " ");
  return nw_join(s, "concat", one, nw_part(s, NULL, "relu", three, " "));
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"squeeze=2 expand1x1=3 expand3x3=4", "2x5x4x4 2x5x1x1 2 3x2x1x1 3 4x2x3x3 4"},
    {"squeeze=8 expand1x1=8 expand3x3=8", "1x16x3x5 8x16x1x1 8 8x8x1x1 8 8x8x3x3 8"}};

const NwOp nw_ops_fire[] = {
    {.id = "fire",
     .version = 1,
     .label = "Fire",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_("Squeezes the channels, then widens them with small filters: few weights for what it can do."),
     .formula =
         N_("y = [relu(expand1x1(z)), relu(expand3x3(z))], z = relu(squeeze(x)) (Iandola et al. 2016)"),
     .keywords = "squeezenet squeeze expand",
     .torch = "torchvision.models.squeezenet.Fire",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Fire, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(fire);
