/* ConvTranspose2d: the gradient of a convolution used as a layer, so it is made of that op. */
#include "engine/op/composite.h"
#include "engine/ops/conv2d.h"
#include "engine/ops/view.h"

typedef struct ConvTranspose2d {
  NwConv2d conv;
  NwDims output_padding;
} ConvTranspose2d;

static const NwAttr attrs_rows[] = {
    NW_CONV2D_ATTR_ROWS,
    {"output_padding", N_("Extra pixels"),
     N_("Rows and columns added below and on the right; fewer than the stride."), N_("pixels"), NW_ATTR_DIMS,
     0, offsetof(ConvTranspose2d, output_padding), 0, 0, 254, 0, 7, 1, .count = 2},
};
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
    {"weight", NW_PORT_PARAM, NW_PORT_OPTIONAL,
     N_("Filters: channels in, channels out of a group, height, width.")},
    {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("One number for each channel out.")},
};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("Larger pictures.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const ConvTranspose2d *a = attrs;
  const NwConv2d *c = &a->conv;
  NwSpec x = nw_drawn(s, s->in[0]);
  int64_t channels = nw_drawn_channels(s, s->in[0]), per = c->out_channels / c->groups;
  if (s->status == NW_OK)
    s->status = nw_infer_need_ndim(s->op, &x, 4, s->error);
  if (channels % c->groups != 0 || c->out_channels % c->groups != 0)
    nw_sketch_fail(s, "groups", "%s: %lld groups must divide both the %lld channels in and the %lld out",
                   s->op->label, (long long)c->groups, (long long)channels, (long long)c->out_channels);
  NwView view = {4, {x.dims[0], c->out_channels}};
  for (int i = 0; i < 2 && s->status == NW_OK; i++) {
    int64_t size = x.dims[2 + i];
    if (a->output_padding.v[i] >= c->stride.v[i] && a->output_padding.v[i] >= c->dilation.v[i])
      nw_sketch_fail(s, "output_padding",
                     "%s: output_padding is %lld; it must be smaller than stride or dilation", s->op->label,
                     (long long)a->output_padding.v[i]);
    if (size < 1 || size > (1 << 24))
      nw_sketch_fail(s, NULL, "%s: the picture is empty or too large", s->op->label);
    view.dims[2 + i] = (size - 1) * c->stride.v[i] - 2 * c->padding.v[i] +
                       c->dilation.v[i] * (c->kernel_size.v[i] - 1) + a->output_padding.v[i] + 1;
    if (s->status == NW_OK && view.dims[2 + i] < 1)
      nw_sketch_fail(s, "padding", "%s: padding %lld leaves no picture", s->op->label,
                     (long long)c->padding.v[i]);
  }
  double bound = 1 / sqrt((double)(per * c->kernel_size.v[0] * c->kernel_size.v[1]));
  NwParamInfo info = {
      true, nw_spec_like(&x, 4, (int64_t[]){channels, per, c->kernel_size.v[0], c->kernel_size.v[1]}),
      NW_INIT_UNIFORM, bound};
  NwVal weight = nw_own_param(s, "weight", &info);
  info = nw_param_vector(&x, c->out_channels, NW_INIT_UNIFORM, bound);
  info.present = c->bias;
  NwVal bias = nw_own_param(s, "bias", &info);
  NwVal blank = nw_part_attrs(s, "blank", &s->in[0], 1, &view);
  NwConv2d conv = *c;
  conv.out_channels = channels;
  conv.bias = false;
  NwVal y = nw_part_attrs(s, "conv2d_grad_x", (NwVal[]){s->in[0], weight, blank}, 3, &conv);
  if (!c->bias)
    return y;
  view = (NwView){3, {c->out_channels, 1, 1}};
  bias = nw_part_attrs(s, "view", &bias, 1, &view);
  return nw_join(s, "add_repeat", y, bias);
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"out_channels=4 stride=2", "2x3x4x5 3x4x3x3 4"},
    {"out_channels=6 kernel_size=4 stride=2 padding=1 groups=2 bias=false", "1x4x3x3 4x3x4x4 -"},
    {"out_channels=2 kernel_size=3x2 stride=2x3 output_padding=1x2 dilation=2x1", "1x8x3x2 8x2x3x2 2"}};

const NwOp nw_ops_conv_transpose2d[] = {
    {.id = "conv_transpose2d",
     .version = 1,
     .label = "ConvTranspose2d",
     .group = NW_GROUP_CONVOLUTION,
     .doc = N_("Makes pictures larger with learnt filters: a convolution the other way round."),
     .formula =
         N_("y gathers weight[c,o] · x[n,c,i,j] at the places (i·stride − padding + k·dilation); height = "
            "(H − 1)·stride − 2·padding + dilation·(kernel − 1) + output_padding + 1"),
     .keywords = "transposed deconvolution upsample fractionally strided",
     .torch = "torch.nn.ConvTranspose2d",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(ConvTranspose2d, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     .onnx = "ConvTranspose($x, $weight, $bias) kernel_shape=$kernel_size strides=$stride "
             "pads=[$padding, $padding] dilations=$dilation group=$groups output_padding=$output_padding",
     .torchscript =
         "torch.conv_transpose2d($x, $weight, $bias, $stride, $padding, $output_padding, $groups, $dilation)",
     NW_CASES(cases)},
};
NW_OPS_END(conv_transpose2d);
