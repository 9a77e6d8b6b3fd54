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

/* Their rows, for every op whose attributes begin with an NwConv2d. */
#define NW_CONV2D_ATTR_ROWS                                                                                  \
  {"out_channels",                                                                                           \
   N_("Channels"),                                                                                           \
   N_("Number of filters, which is the number of channels that come out."),                                  \
   NULL,                                                                                                     \
   NW_ATTR_INT,                                                                                              \
   NW_ATTR_ON_BLOCK | NW_ATTR_LOG,                                                                           \
   offsetof(NwConv2d, out_channels),                                                                         \
   16,                                                                                                       \
   1,                                                                                                        \
   65536,                                                                                                    \
   1,                                                                                                        \
   2048,                                                                                                     \
   1},                                                                                                       \
      {"kernel_size",                                                                                        \
       N_("Kernel size"),                                                                                    \
       N_("Height and width of a filter."),                                                                  \
       N_("pixels"),                                                                                         \
       NW_ATTR_DIMS,                                                                                         \
       NW_ATTR_ON_BLOCK,                                                                                     \
       offsetof(NwConv2d, kernel_size),                                                                      \
       3,                                                                                                    \
       1,                                                                                                    \
       255,                                                                                                  \
       1,                                                                                                    \
       15,                                                                                                   \
       1,                                                                                                    \
       .count = 2},                                                                                          \
      {"stride",                                                                                             \
       N_("Stride"),                                                                                         \
       N_("Step between two positions of the filter; 2 halves the picture."),                                \
       N_("pixels"),                                                                                         \
       NW_ATTR_DIMS,                                                                                         \
       0,                                                                                                    \
       offsetof(NwConv2d, stride),                                                                           \
       1,                                                                                                    \
       1,                                                                                                    \
       255,                                                                                                  \
       1,                                                                                                    \
       8,                                                                                                    \
       1,                                                                                                    \
       .count = 2},                                                                                          \
      {"padding",                                                                                            \
       N_("Padding"),                                                                                        \
       N_("Rows and columns of zeros put around the picture."),                                              \
       N_("pixels"),                                                                                         \
       NW_ATTR_DIMS,                                                                                         \
       0,                                                                                                    \
       offsetof(NwConv2d, padding),                                                                          \
       0,                                                                                                    \
       0,                                                                                                    \
       255,                                                                                                  \
       0,                                                                                                    \
       16,                                                                                                   \
       1,                                                                                                    \
       .count = 2},                                                                                          \
      {"dilation",                                                                                           \
       N_("Dilation"),                                                                                       \
       N_("Distance between the taps of a filter; 1 leaves no gaps."),                                       \
       N_("pixels"),                                                                                         \
       NW_ATTR_DIMS,                                                                                         \
       0,                                                                                                    \
       offsetof(NwConv2d, dilation),                                                                         \
       1,                                                                                                    \
       1,                                                                                                    \
       255,                                                                                                  \
       1,                                                                                                    \
       16,                                                                                                   \
       1,                                                                                                    \
       .count = 2},                                                                                          \
      {"groups",                                                                                             \
       N_("Groups"),                                                                                         \
       N_("Channels are split into so many groups that do not see each other; it must divide both channel "  \
          "counts."),                                                                                        \
       NULL,                                                                                                 \
       NW_ATTR_INT,                                                                                          \
       0,                                                                                                    \
       offsetof(NwConv2d, groups),                                                                           \
       1,                                                                                                    \
       1,                                                                                                    \
       65536,                                                                                                \
       1,                                                                                                    \
       1024,                                                                                                 \
       1},                                                                                                   \
  {                                                                                                          \
    "bias", N_("Bias"), N_("Adds one learnt number to each channel that comes out."), NULL, NW_ATTR_BOOL, 0, \
        offsetof(NwConv2d, bias), 1, 0, 1, 0, 1, 1                                                           \
  }

bool nw_conv2d_bn_when(const void *attrs, const void *next_attrs, const NwSpec *in, const NwSpec *next_out);
void nw_conv2d_bn_merge(const void *attrs, const void *next_attrs, void *into_attrs);

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
