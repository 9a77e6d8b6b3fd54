/* MBConv: an inverted residual with a squeezed gate, as in EfficientNet and MobileNetV3. */
#include <stdio.h>

#include "engine/op/composite.h"
#include "engine/ops/common.h"

typedef struct MbConv {
  NwCompositeHidden hidden;
  int64_t out_channels, expanded_channels, kernel_size, stride, squeeze_channels, activation;
  double eps, momentum, p;
} MbConv;

enum { RELU, HARDSWISH, SILU };
static const NwEnumItem activations[] = {
    {RELU, "relu", N_("ReLU")}, {HARDSWISH, "hardswish", N_("Hardswish")}, {SILU, "silu", N_("SiLU")}};
static const NwAttr attrs_rows[] = {
    {"out_channels", N_("Channels"), N_("Number of channels that come out."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(MbConv, out_channels), 64, 1, 16384, 1, 2048, 1},
    {"expanded_channels", N_("Channels inside"), N_("As many as come in leave the widening out."), NULL,
     NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(MbConv, expanded_channels), 96, 1, 65536, 1, 4096, 1},
    {"kernel_size", N_("Kernel size"), N_("Height and width of the filters inside."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(MbConv, kernel_size), 3, 1, 15, 1, 9, 1},
    {"stride", N_("Stride"), N_("2 halves the picture."), NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK,
     offsetof(MbConv, stride), 1, 1, 8, 1, 4, 1},
    {"squeeze_channels", N_("Squeezed channels"),
     N_("Numbers between the two layers of the gate; 0 leaves the gate out."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(MbConv, squeeze_channels), 0, 0, 16384, 0, 512, 1},
    {"activation", N_("Activation"),
     N_("SiLU also gives the gate of EfficientNet, the others that of MobileNetV3."), NULL, NW_ATTR_ENUM, 0,
     offsetof(MbConv, activation), SILU, .items = activations, .n_items = NW_COUNT(activations)},
    {"eps", N_("Epsilon"), N_("Of the norms; MobileNetV3 has 0.001."), NULL, NW_ATTR_REAL, NW_ATTR_LOG,
     offsetof(MbConv, eps), 1e-5, 0, 1, 1e-8, 1e-1, 1e-5},
    {"momentum", N_("Momentum"), N_("Of the norms; MobileNetV3 has 0.01."), NULL, NW_ATTR_REAL, 0,
     offsetof(MbConv, momentum), 0.1, 0, 1, 0, 1, 0.01},
    {"p", N_("Probability"), N_("How likely the branch is left out in training."), NULL, NW_ATTR_REAL, 0,
     offsetof(MbConv, p), 0, 0, 1, 0, 0.95, 0.05},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
                                  NW_PORTS_WEIGHT("block.0.0"),
                                  NW_PORTS_NORM("block.0.1"),
                                  NW_PORTS_WEIGHT("block.1.0"),
                                  NW_PORTS_NORM("block.1.1"),
                                  NW_PORTS_LINEAR("block.1.fc1"),
                                  NW_PORTS_LINEAR("block.1.fc2"),
                                  NW_PORTS_WEIGHT("block.2.0"),
                                  NW_PORTS_NORM("block.2.1"),
                                  NW_PORTS_LINEAR("block.2.fc1"),
                                  NW_PORTS_LINEAR("block.2.fc2"),
                                  NW_PORTS_WEIGHT("block.3.0"),
                                  NW_PORTS_NORM("block.3.1")};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("Pictures with the wanted channels.")}};

/* Part number `at` of the block: a convolution and its norm. */
static NwVal step(NwSketch *s, const MbConv *a, int at, NwVal x, long long out, long long k, long long stride,
                  long long groups)
{
  char conv[16], norm[16];
  snprintf(conv, sizeof conv, "block.%d.0", at);
  snprintf(norm, sizeof norm, "block.%d.1", at);
  NwVal y = nw_part(s, conv, "conv2d", x,
                    "out_channels=%lld kernel_size=%lld stride=%lld padding=%lld groups=%lld bias=false", out,
                    k, stride, k / 2, groups);
  return nw_part(s, norm, "batch_norm2d", y, "eps=%.17g momentum=%.17g", a->eps, a->momentum);
}

static NwVal draw(NwSketch *s, const void *attrs)
{
  static const char *const names[] = {"relu", "hardswish", "silu"};
  const MbConv *a = attrs;
  const char *activation = names[a->activation];
  NwVal x = s->in[0], y = x;
  long long in = nw_drawn_channels(s, x), wide = a->expanded_channels, out = a->out_channels;
  int at = 0;
  if (a->kernel_size % 2 == 0)
    nw_sketch_fail(s, "kernel_size",
                   "%s: kernel_size %lld is even; it must be odd, so that pictures keep their size",
                   s->op->label, (long long)a->kernel_size);
  if (wide != in)
    y = nw_part(s, NULL, activation, step(s, a, at++, y, wide, 1, 1, 1), " ");
  y = nw_part(s, NULL, activation, step(s, a, at++, y, wide, a->kernel_size, a->stride, wide), " ");
  if (a->squeeze_channels > 0) {
    char path[16];
    snprintf(path, sizeof path, "block.%d", at++);
    y = nw_part(s, path, "squeeze_excitation", y, "squeeze_channels=%lld activation=%s gate=%s",
                (long long)a->squeeze_channels, a->activation == SILU ? "silu" : "relu",
                a->activation == SILU ? "sigmoid" : "hardsigmoid");
  }
  y = step(s, a, at, y, out, 1, 1, 1);
  if (a->stride != 1 || in != out)
    return y;
  if (a->p > 0)
    y = nw_part(s, NULL, "stochastic_depth", y, "p=%.17g", a->p);
  return nw_join(s, "add", y, x);
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"out_channels=4 expanded_channels=8 squeeze_channels=2 training=true",
     "2x4x5x5 8x4x1x1 8 8 8 8 1:i64<9 8x1x3x3 8 8 8 8 1:i64<9 - - - - - - - - - - 2x8x1x1 2 8x2x1x1 8 "
     "4x8x1x1 4 4 4 4 1:i64<9"},
    {"out_channels=6 expanded_channels=5 kernel_size=5 stride=2 activation=hardswish squeeze_channels=3",
     "1x5x7x6 5x1x5x5 5 5 5 5 1:i64<9 - - - - - - 3x5x1x1 3 5x3x1x1 5 6x5x1x1 6 6 6 6 1:i64<9"},
    {"out_channels=4 expanded_channels=6 activation=relu",
     "1x3x5x4 6x3x1x1 6 6 6 6 1:i64<9 6x1x3x3 6 6 6 6 1:i64<9 - - - - 4x6x1x1 4 4 4 4 1:i64<9"}};

const NwOp nw_ops_mb_conv[] = {
    {.id = "mb_conv",
     .version = 1,
     .label = "MBConv",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_("Widens, filters each channel by itself, lets a gate weigh the channels and narrows again."),
     .formula = N_("y = narrow(gate(act(each channel k×k(act(widen(x)))))), each with its norm; + x where "
                   "sizes agree (Tan and Le 2019, Howard et al. 2019)"),
     .keywords = "efficientnet mobilenet v3 depthwise squeeze excitation inverted residual",
     .torch = "torchvision.models.efficientnet.MBConv",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(MbConv, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(mb_conv);
