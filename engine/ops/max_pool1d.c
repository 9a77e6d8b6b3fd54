/* MaxPool1d: MaxPool2d of pictures that are one row. */
#include "engine/ops/line1d.h"

typedef struct Pool {
  int64_t kernel_size, stride, padding;
  bool ceil_mode;
} Pool;

static const NwAttr attrs_rows[] = {
    {"kernel_size", N_("Kernel size"), N_("Length of the window."), NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK,
     offsetof(Pool, kernel_size), 2, 1, 255, 1, 15, 1},
    {"stride", N_("Stride"), N_("Step between two windows; as large as the window leaves no overlap."), NULL,
     NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(Pool, stride), 2, 1, 255, 1, 8, 1},
    {"padding", N_("Padding"), N_("Places around the list that never win; at most half the window."), NULL,
     NW_ATTR_INT, 0, offsetof(Pool, padding), 0, 0, 127, 0, 7, 1},
    {"ceil_mode", N_("Round up"), N_("Keeps a last window that reaches over the end."), NULL, NW_ATTR_BOOL, 0,
     offsetof(Pool, ceil_mode), 0, 0, 1, 0, 1, 1},
};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Batch × channels × length.")}};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("A shorter list.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Pool *a = attrs;
  NwVal x = nw_line_in(s, s->in[0], false);
  NwVal y = nw_part(s, NULL, "max_pool2d", x, "kernel_size=1x%lld stride=1x%lld padding=0x%lld ceil_mode=%s",
                    (long long)a->kernel_size, (long long)a->stride, (long long)a->padding,
                    a->ceil_mode ? "true" : "false");
  return nw_line_out(s, y, false);
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {{"", "2x3x9"},
                                 {"kernel_size=3 stride=2 padding=1", "1x12x8"},
                                 {"kernel_size=3 stride=2 ceil_mode=true", "2x2x8"}};

const NwOp nw_ops_max_pool1d[] = {
    {.id = "max_pool1d",
     .version = 1,
     .label = "MaxPool1d",
     .group = NW_GROUP_POOLING,
     .doc = N_("Shortens a list by keeping the largest number of each window."),
     .formula = N_("y[n,c,i] = largest of x[n, c, i·stride − padding + k] over the window"),
     .keywords = "max maximum pooling sequence downsample shrink",
     .torch = "torch.nn.MaxPool1d",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Pool, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     .torchscript = "torch.max_pool1d($x, [$kernel_size], [$stride], [$padding], [1], $ceil_mode)",
     NW_CASES(cases)},
};
NW_OPS_END(max_pool1d);
