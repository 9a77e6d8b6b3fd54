/* Conv1d: Conv2d of pictures that are one row. */
#include "engine/ops/line1d.h"

typedef struct Conv1d {
  int64_t out_channels, kernel_size, stride, padding, dilation, groups;
  bool bias;
} Conv1d;

static const NwAttr attrs_rows[] = {
    {"out_channels", N_("Channels"), N_("Number of filters, which is the number of channels that come out."),
     NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(Conv1d, out_channels), 16, 1, 65536, 1, 2048,
     1},
    {"kernel_size", N_("Kernel size"), N_("Length of a filter."), NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK,
     offsetof(Conv1d, kernel_size), 3, 1, 255, 1, 15, 1},
    {"stride", N_("Stride"), N_("Step between two positions of the filter."), NULL, NW_ATTR_INT, 0,
     offsetof(Conv1d, stride), 1, 1, 255, 1, 8, 1},
    {"padding", N_("Padding"), N_("Zeros put at both ends."), NULL, NW_ATTR_INT, 0, offsetof(Conv1d, padding),
     0, 0, 255, 0, 16, 1},
    {"dilation", N_("Dilation"), N_("Distance between the taps of a filter; 1 leaves no gaps."), NULL,
     NW_ATTR_INT, 0, offsetof(Conv1d, dilation), 1, 1, 255, 1, 16, 1},
    {"groups", N_("Groups"), N_("Channels are split into so many groups that do not see each other."), NULL,
     NW_ATTR_INT, 0, offsetof(Conv1d, groups), 1, 1, 65536, 1, 1024, 1},
    {"bias", N_("Bias"), N_("Adds one learnt number to each channel that comes out."), NULL, NW_ATTR_BOOL, 0,
     offsetof(Conv1d, bias), 1, 0, 1, 0, 1, 1},
};
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Batch × channels × length.")},
    {"weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("Filters: channels out, channels in of a group, length.")},
    {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("One number for each channel out.")},
};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("The filtered list.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Conv1d *a = attrs;
  NwVal x = nw_line_in(s, s->in[0], false);
  int64_t channels = nw_drawn_channels(s, x), per = channels / a->groups;
  if (channels % a->groups != 0 || a->out_channels % a->groups != 0)
    nw_sketch_fail(s, "groups", "%s: %lld groups must divide both the %lld channels in and the %lld out",
                   s->op->label, (long long)a->groups, (long long)channels, (long long)a->out_channels);
  NwSpec like = nw_drawn(s, x);
  double bound = 1 / sqrt((double)(per * a->kernel_size));
  NwParamInfo info = {true, nw_spec_like(&like, 3, (int64_t[]){a->out_channels, per, a->kernel_size}),
                      NW_INIT_UNIFORM, bound};
  NwVal weight = nw_own_param(s, "weight", &info);
  info = nw_param_vector(&like, a->out_channels, NW_INIT_UNIFORM, bound);
  info.present = a->bias;
  NwVal bias = nw_own_param(s, "bias", &info);
  NwView view = {4, {a->out_channels, per, 1, a->kernel_size}};
  weight = nw_part_attrs(s, "view", &weight, 1, &view);
  NwVal y = nw_part_ports(s, "conv2d", (NwVal[]){x, weight, bias}, 3,
                          "out_channels=%lld kernel_size=1x%lld stride=1x%lld padding=0x%lld dilation=1x%lld "
                          "groups=%lld bias=%s",
                          (long long)a->out_channels, (long long)a->kernel_size, (long long)a->stride,
                          (long long)a->padding, (long long)a->dilation, (long long)a->groups,
                          a->bias ? "true" : "false");
  return nw_line_out(s, y, false);
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"out_channels=4", "2x3x9 4x3x3 4"},
    {"out_channels=6 kernel_size=5 stride=2 padding=2 groups=2 bias=false", "1x4x11 6x2x5 -"},
    {"out_channels=8 dilation=2 kernel_size=2", "3x8x7 8x8x2 8"}};

const NwOp nw_ops_conv1d[] = {
    {.id = "conv1d",
     .version = 1,
     .label = "Conv1d",
     .group = NW_GROUP_CONVOLUTION,
     .doc = N_("Slides learnt filters along a list of vectors."),
     .formula = N_(
         "y[n,o,i] = bias[o] + Σ over c and k of weight[o,c,k] · x[n, c, i·stride − padding + k·dilation]"),
     .keywords = "convolution sequence signal one dimensional filter",
     .torch = "torch.nn.Conv1d",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Conv1d, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     .torchscript = "torch.conv1d($x, $weight, $bias, [$stride], [$padding], [$dilation], $groups)",
     NW_CASES(cases)},
};
NW_OPS_END(conv1d);
