/* AvgPool1d: AvgPool2d of pictures that are one row. */
#include "engine/ops/line1d.h"

typedef struct Pool {
  int64_t kernel_size, stride, padding;
  bool ceil_mode, count_include_pad;
} Pool;

static const NwAttr attrs_rows[] = {
    {"kernel_size", N_("Kernel size"), N_("Length of the window."), NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK,
     offsetof(Pool, kernel_size), 2, 1, 255, 1, 15, 1},
    {"stride", N_("Stride"), N_("Step between two windows; as large as the window leaves no overlap."), NULL,
     NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(Pool, stride), 2, 1, 255, 1, 8, 1},
    {"padding", N_("Padding"), N_("Zeros at both ends; at most half the window."), NULL, NW_ATTR_INT, 0,
     offsetof(Pool, padding), 0, 0, 127, 0, 7, 1},
    {"ceil_mode", N_("Round up"), N_("Keeps a last window that reaches over the end."), NULL, NW_ATTR_BOOL, 0,
     offsetof(Pool, ceil_mode), 0, 0, 1, 0, 1, 1},
    {"count_include_pad", N_("Count the padding"), N_("Zeros of the padding count in the mean."), NULL,
     NW_ATTR_BOOL, 0, offsetof(Pool, count_include_pad), 1, 0, 1, 0, 1, 1},
};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Batch × channels × length.")}};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("A shorter list.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Pool *a = attrs;
  NwVal x = nw_line_in(s, s->in[0], false);
  NwVal y = nw_part(s, NULL, "avg_pool2d", x,
                    "kernel_size=1x%lld stride=1x%lld padding=0x%lld ceil_mode=%s count_include_pad=%s",
                    (long long)a->kernel_size, (long long)a->stride, (long long)a->padding,
                    a->ceil_mode ? "true" : "false", a->count_include_pad ? "true" : "false");
  return nw_line_out(s, y, false);
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {{"", "2x3x9"},
                                 {"kernel_size=3 stride=2 padding=1", "1x12x8"},
                                 {"kernel_size=3 stride=2 ceil_mode=true", "2x2x8"}};

const NwOp nw_ops_avg_pool1d[] = {
    {.id = "avg_pool1d",
     .version = 1,
     .label = "AvgPool1d",
     .group = NW_GROUP_POOLING,
     .doc = N_("Shortens a list by taking the mean of each window."),
     .formula = N_("y[n,c,i] = mean of x[n, c, i·stride − padding + k] over the window"),
     .keywords = "average mean pooling sequence downsample shrink",
     .torch = "torch.nn.AvgPool1d",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Pool, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     .torchscript =
         "torch.avg_pool1d($x, [$kernel_size], [$stride], [$padding], $ceil_mode, $count_include_pad)",
     NW_CASES(cases)},
};
NW_OPS_END(avg_pool1d);
