/* InvertedResidual of MobileNetV2: wide and one filter a channel inside, narrow outside. */
#include "engine/op/composite.h"
#include "engine/ops/common.h"

typedef struct Inverted {
  NwCompositeHidden hidden;
  int64_t out_channels, stride, expand_ratio;
} Inverted;

static const NwAttr attrs_rows[] = {
    {"out_channels", N_("Channels"), N_("Number of channels that come out."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(Inverted, out_channels), 64, 1, 16384, 1, 2048, 1},
    {"stride", N_("Stride"), N_("2 halves the picture."), NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK,
     offsetof(Inverted, stride), 1, 1, 8, 1, 4, 1},
    {"expand_ratio", N_("Widening"), N_("How many times more channels there are inside."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(Inverted, expand_ratio), 6, 1, 64, 1, 12, 1},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
                                  NW_PORTS_WEIGHT("conv.0.0"),
                                  NW_PORTS_NORM("conv.0.1"),
                                  NW_PORTS_WEIGHT("conv.1"),
                                  NW_PORTS_WEIGHT("conv.1.0"),
                                  NW_PORTS_NORM("conv.1.1"),
                                  NW_PORTS_NORM("conv.2"),
                                  NW_PORTS_NORM("conv.3")};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("Pictures with the wanted channels.")}};

static NwVal step(NwSketch *s, const char *conv, const char *norm, NwVal x, long long out, long long k,
                  long long stride, long long groups)
{
  NwVal y = nw_part(s, conv, "conv2d", x,
                    "out_channels=%lld kernel_size=%lld stride=%lld padding=%lld groups=%lld bias=false", out,
                    k, stride, k / 2, groups);
  return nw_part(s, norm, "batch_norm2d", y, " ");
}

/* Names are those of torchvision, where the parts move up by one when nothing is widened. */
static NwVal draw(NwSketch *s, const void *attrs)
{
  const Inverted *a = attrs;
  NwVal x = s->in[0], y = x;
  long long in = nw_drawn_channels(s, x), wide = in * a->expand_ratio, out = a->out_channels,
            stride = a->stride;
  bool widens = a->expand_ratio != 1;
  if (widens)
    y = nw_part(s, NULL, "relu6", step(s, "conv.0.0", "conv.0.1", y, wide, 1, 1, 1), " ");
  y = step(s, widens ? "conv.1.0" : "conv.0.0", widens ? "conv.1.1" : "conv.0.1", y, wide, 3, stride, wide);
  y = nw_part(s, NULL, "relu6", y, " ");
  y = step(s, widens ? "conv.2" : "conv.1", widens ? "conv.3" : "conv.2", y, out, 1, 1, 1);
  return stride == 1 && in == out ? nw_join(s, "add", x, y) : y;
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"out_channels=4 expand_ratio=3 training=true",
     "2x4x5x5 12x4x1x1 12 12 12 12 1:i64<9 - 12x1x3x3 12 12 12 12 1:i64<9 4x12x1x1 - - - - 4 4 4 4 1:i64<9"},
    {"out_channels=6 stride=2 expand_ratio=1",
     "1x5x6x7 5x1x3x3 5 5 5 5 1:i64<9 6x5x1x1 - - - - - - 6 6 6 6 1:i64<9"}};

const NwOp nw_ops_inverted_residual[] = {
    {.id = "inverted_residual",
     .version = 1,
     .label = "InvertedResidual",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_(
         "Widens, filters each channel by itself and narrows again; the block of networks for telephones."),
     .formula = N_("y = narrow(relu6(each channel 3×3(relu6(widen(x))))), each with its norm; + x where "
                   "sizes agree (Sandler et al. 2018)"),
     .keywords = "mobilenet v2 depthwise separable residual",
     .torch = "torchvision.models.mobilenetv2.InvertedResidual",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Inverted, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(inverted_residual);
