/* SqueezeExcitation: a gate for each channel, from the means of all of them. */
#include "engine/op/composite.h"
#include "engine/ops/common.h"

typedef struct Squeeze {
  NwCompositeHidden hidden;
  int64_t squeeze_channels, activation, gate;
} Squeeze;

enum { RELU, SILU, SIGMOID, HARDSIGMOID };
static const NwEnumItem activations[] = {{RELU, "relu", N_("ReLU")}, {SILU, "silu", N_("SiLU")}};
static const NwEnumItem gates[] = {{SIGMOID, "sigmoid", N_("Sigmoid")},
                                   {HARDSIGMOID, "hardsigmoid", N_("Hardsigmoid")}};
static const NwAttr attrs_rows[] = {
    {"squeeze_channels", N_("Squeezed channels"),
     N_("How many numbers are between the two layers of the gate."), NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK,
     offsetof(Squeeze, squeeze_channels), 16, 1, 16384, 1, 512, 1},
    {"activation", N_("Activation"), N_("What stands between the two layers."), NULL, NW_ATTR_ENUM, 0,
     offsetof(Squeeze, activation), RELU, .items = activations, .n_items = NW_COUNT(activations)},
    {"gate", N_("Gate"), N_("What makes the gate lie between 0 and 1."), NULL, NW_ATTR_ENUM, 0,
     offsetof(Squeeze, gate), SIGMOID, .items = gates, .n_items = NW_COUNT(gates)},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
                                  NW_PORTS_LINEAR("fc1"),
                                  NW_PORTS_LINEAR("fc2")};
static const NwPort ports_out[] = {
    {"y", NW_PORT_DATA, 0, N_("The same pictures, each channel multiplied with its gate.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Squeeze *a = attrs;
  NwVal x = s->in[0], y = nw_part(s, NULL, "adaptive_avg_pool2d", x, " ");
  y = nw_part(s, "fc1", "conv2d", y, "out_channels=%lld kernel_size=1", (long long)a->squeeze_channels);
  y = nw_part(s, NULL, a->activation == SILU ? "silu" : "relu", y, " ");
  y = nw_part(s, "fc2", "conv2d", y, "out_channels=%lld kernel_size=1", (long long)nw_drawn_channels(s, x));
  return nw_join(s, "mul", x, nw_part(s, NULL, a->gate == HARDSIGMOID ? "hardsigmoid" : "sigmoid", y, " "));
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"squeeze_channels=4", "2x8x5x5 4x8x1x1 4 8x4x1x1 8"},
    {"squeeze_channels=3 activation=silu gate=hardsigmoid", "1x13x3x4 3x13x1x1 3 13x3x1x1 13"}};

const NwOp nw_ops_squeeze_excitation[] = {
    {.id = "squeeze_excitation",
     .version = 1,
     .label = "SqueezeExcitation",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_("Looks at the means of all channels and decides how much of each is let through."),
     .formula = N_("y = x · gate(fc2 · activation(fc1 · mean of x over each channel)) (Hu et al. 2018)"),
     .keywords = "attention gate channel se squeeze excite",
     .torch = "torchvision.ops.SqueezeExcitation",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Squeeze, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(squeeze_excitation);
