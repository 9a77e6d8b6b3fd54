/* Own kernels over one vector layer (vec.h): compiled once an instruction set, chosen by nw_isa().
 *
 * Values are in blocks of `lanes` channels (nChw8c or nChw16c), weights in torch's layout. Work is cut for
 * `threads` workers when a job is made and stays so cut, whatever nw_threads() says later: results and
 * scratch memory depend on it. Kernels never allocate and cannot fail. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/machine.h"

/* Winograd's F(4×4, 3×3) (Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016) for
 * filters of 3×3, stride 1, padding 1, channels a multiple of lanes. */
typedef struct NwWinograd {
  int64_t n, ci, co, h, w; /* of the forward convolution */
  int threads;
  bool back; /* the gradient: x is dy with co channels, y is dx with ci */
  bool relu;
  const float *x, *weight; /* weight: co × ci × 3 × 3 */
  const float *bias;       /* co numbers, NULL: none */
  const float *other;      /* added, lies as y; NULL: none */
  float *y;
  float *filters; /* transformed weights, winograd_filters floats */
  bool ready;     /* filters already hold them */
  float *scratch;
} NwWinograd;

/* Gradient of the weights. */
typedef struct NwWinogradWeights {
  int64_t n, ci, co, h, w;
  int threads;
  const float *x, *dy;
  float *dweight, *dbias; /* dbias: co numbers, NULL: not wanted */
  float *scratch;
} NwWinogradWeights;

/* A convolution of few channels in, any filter, one stride for both directions, no gaps, no groups. */
typedef struct NwDirect {
  int64_t n, ci, co, h, w, oh, ow, kh, kw, ph, pw,
      stride; /* of what is computed: for a gradient ci is that of dy */
  int threads;
  bool blocked; /* x is in blocks of lanes channels, not plain */
  bool back;    /* the gradient of a convolution of stride 1: weight is ci × co × kh × kw, and turned */
  bool relu;
  const float *x, *weight;
  const float *bias; /* co numbers, NULL: none */
  float *y;          /* in blocks; channels past the last are zero */
  float *scratch;
} NwDirect;

/* Weight gradient of a first layer: x plain with 1 to 8 channels, any square filter and stride; dy in blocks.
 */
typedef struct NwFirstWeights {
  int64_t n, ci, co, h, w, oh, ow, kernel, stride, padding;
  int threads;
  const float *x, *dy;
  float *dweight, *dbias;
  float *scratch;
} NwFirstWeights;

/* Max pooling of planes (one block of channels of one picture each), windows without gaps; index bytes as
 * MaxPool2d keeps them: place in the window, bit 7 where the greatest is not positive. */
typedef struct NwPooling {
  int64_t planes, h, w, oh, ow;
  int64_t kernel; /* 2: stride 2, no padding; 3: stride 2, padding 1 */
  bool relu;      /* gradient: nothing passes where the mark is set */
  const float *x; /* gradient: dy */
  float *y;       /* gradient: dx */
  const uint8_t *index;
  uint8_t *index_out; /* NULL: not kept */
} NwPooling;

/* Adam's step over n numbers, as engine/ops/adam.c says it. */
typedef struct NwAdamStep {
  float shrink, decay, beta1, beta2, rest1, rest2, size, root, eps;
  float *param, *mean, *square;
  const float *grad;
} NwAdamStep;

typedef struct NwKernels {
  const char *name;
  int lanes;
  size_t (*winograd_filters)(const NwWinograd *job); /* floats */
  size_t (*winograd_scratch)(const NwWinograd *job); /* floats */
  void (*winograd_transform)(const NwWinograd *job); /* weight → filters, and no more */
  void (*winograd)(const NwWinograd *job);
  size_t (*winograd_weights_scratch)(const NwWinogradWeights *job);
  void (*winograd_weights)(const NwWinogradWeights *job);
  size_t (*direct_scratch)(const NwDirect *job);
  void (*direct)(const NwDirect *job);
  size_t (*first_weights_scratch)(const NwFirstWeights *job);
  void (*first_weights)(const NwFirstWeights *job);
  void (*pool)(const NwPooling *job);
  void (*pool_grad)(const NwPooling *job);
  void (*adam)(const NwAdamStep *step, int64_t begin, int64_t end);
} NwKernels;

/* Those of nw_isa(), constant for the process. */
const NwKernels *nw_kernels(void);
/* Those of another set, for comparisons; NULL: above nw_isa(), or not in this build. */
const NwKernels *nw_kernels_of(NwIsa isa);
