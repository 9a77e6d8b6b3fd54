/* The block of ConvNeXt: a 7×7 filter a channel, then two layers over the channels of each pixel. */
#include "engine/op/composite.h"
#include "engine/ops/view.h"

typedef struct Next {
  NwCompositeHidden hidden;
  int64_t kernel_size;
  double layer_scale, p;
} Next;

static const NwAttr attrs_rows[] = {
    {"kernel_size", N_("Kernel size"), N_("Height and width of the filters; odd."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(Next, kernel_size), 7, 1, 31, 1, 15, 1},
    {"layer_scale", N_("First scale"), N_("What the learnt scale of the branch starts from."), NULL,
     NW_ATTR_REAL, NW_ATTR_LOG, offsetof(Next, layer_scale), 1e-6, 0, 10, 0, 1, 1e-6},
    {"p", N_("Probability"), N_("How likely the branch is left out in training."), NULL, NW_ATTR_REAL, 0,
     offsetof(Next, p), 0, 0, 1, 0, 0.95, 0.05},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
    {"layer_scale", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("A factor for each channel of the branch.")},
    NW_PORTS_LINEAR("block.0"),
    NW_PORTS_LINEAR("block.2"),
    NW_PORTS_LINEAR("block.3"),
    NW_PORTS_LINEAR("block.5")};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("Pictures of the same size.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Next *a = attrs;
  NwVal x = s->in[0];
  long long c = nw_drawn_channels(s, x);
  if (a->kernel_size % 2 == 0)
    nw_sketch_fail(s, "kernel_size",
                   "%s: kernel_size %lld is even; it must be odd, so that pictures keep their size",
                   s->op->label, (long long)a->kernel_size);
  NwSpec like = nw_drawn(s, x);
  NwParamInfo info = {true, nw_spec_like(&like, 3, (int64_t[]){c, 1, 1}), NW_INIT_CONSTANT, a->layer_scale};
  NwVal scale = nw_own_param(s, "layer_scale", &info);
  NwVal y = nw_part(s, "block.0", "conv2d", x, "out_channels=%lld groups=%lld kernel_size=%lld padding=%lld",
                    c, c, (long long)a->kernel_size, (long long)a->kernel_size / 2);
  y = nw_part(s, NULL, "permute", y, "first=2 second=3 third=1");
  NwSpec pixels = nw_drawn(s, y);
  NwView view = {2, {pixels.dims[0] * pixels.dims[1] * pixels.dims[2], c}};
  y = nw_part_attrs(s, "view", &y, 1, &view);
  y = nw_part(s, "block.2", "layer_norm", y, "eps=1e-6");
  y = nw_part(s, "block.3", "linear", y, "out_features=%lld", 4 * c);
  y = nw_part(s, NULL, "gelu", y, " ");
  y = nw_part(s, "block.5", "linear", y, "out_features=%lld", c);
  view = (NwView){4, {pixels.dims[0], pixels.dims[1], pixels.dims[2], c}};
  y = nw_part_attrs(s, "view", &y, 1, &view);
  y = nw_part(s, NULL, "permute", y, "first=3 second=1 third=2");
  y = nw_join(s, "mul", y, scale);
  if (a->p > 0)
    y = nw_part(s, NULL, "stochastic_depth", y, "p=%.17g", a->p);
  return nw_join(s, "add", y, x);
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {{"layer_scale=0.5", "2x4x6x5 4x1x1 4x1x7x7 4 4 4 16x4 16 4x16 4"},
                                 {"kernel_size=3", "1x8x4x4 8x1x1 8x1x3x3 8 8 8 32x8 32 8x32 8"}};

const NwOp nw_ops_convnext_block[] = {
    {.id = "convnext_block",
     .version = 1,
     .label = "ConvNeXtBlock",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_("A large filter for each channel, then a small network over the channels of each pixel."),
     .formula =
         N_("y = x + layer_scale · linear(gelu(linear(layer_norm(each channel 7×7(x))))) (Liu et al. 2022)"),
     .keywords = "convnext depthwise transformer like block",
     .torch = "torchvision.models.convnext.CNBlock",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Next, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(convnext_block);
