/* What the files about convolution share: attributes, geometry, and the oneDNN row. */
#pragma once

#include "engine/backend/onednn.h"
#include "engine/ops/common.h"

typedef struct NwConv2d {
  int64_t out_channels;
  NwDims kernel_size, stride, padding, dilation;
  int64_t groups;
  bool bias;
} NwConv2d;

enum { NW_CONV2D_ATTRS = 7 };
extern const NwAttr nw_conv2d_attrs[NW_CONV2D_ATTRS];

/* Sizes of one convolution, whichever of its values a kernel computes. */
typedef struct NwConvShape {
  int64_t n, ci, h, w, co, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw, groups, ig, og;
} NwConvShape;
NwConvShape nw_conv_shape(const NwConv2d *attrs, const NwSpec *x, const NwSpec *weight, const NwSpec *y);

/* Output spec of x and weight; the ports after them are bias and whatever a fused op adds. */
NwStatus nw_conv2d_infer_y(const NwOp *op, const NwConv2d *attrs, const NwSpec *in, int n_in, NwSpec *y,
                           NwError *error);
/* y = conv(x, weight) + bias, accumulated in double; f32 or f64; scale and shift (per output channel, NULL:
 * none) are applied to the sum, then `other` (y's shape) is added, then relu. */
typedef struct NwConvPlain {
  NwConvShape shape;
  const void *x, *weight, *bias, *other;
  const double *scale, *shift;
  void *y;
  bool relu, wide;
} NwConvPlain;
void nw_conv2d_plain(const NwConvPlain *job);

/* The description of a call for oneDNN. x, weight, y: which specs play these parts. */
NwOnednnConv nw_conv2d_describe(const NwConv2d *attrs, const NwSpec *x, const NwSpec *weight, const NwSpec *y,
                                NwOnednnPass pass, bool bias);
/* The layouts in which oneDNN has a fast implementation of `conv`, into its src_block and dst_block; false:
 * none. */
bool nw_conv2d_layout(NwOnednnConv *conv, int lanes);
/* Are all values f32 and is there an implementation for the blocks they have? */
bool nw_conv2d_onednn_supports(const NwCall *call, const NwOnednnConv *conv);
