/* Rows of our own convolution kernels (engine/kernels), beside oneDNN's. */
#pragma once

#include "engine/kernels/kernels.h"
#include "engine/ops/conv2d.h"

/* A Winograd convolution with its transformed filters: kept where they are frozen. */
typedef struct NwWinogradConv NwWinogradConv;
/* Is this a convolution that Winograd does best, with this many channels in a block? */
bool nw_winograd_suits(const NwConvShape *shape, int lanes);
NwStatus nw_winograd_conv_new(const NwConvShape *shape, bool back, bool frozen, NwWinogradConv **out,
                              size_t *workspace, NwError *error);
/* job: x, weight, bias, other, relu and y are read. frozen: weight keeps its numbers until refresh changes.
 */
void nw_winograd_conv_run(NwWinogradConv *conv, const NwWinograd *job, void *workspace, bool frozen,
                          uint64_t refresh);
void nw_winograd_conv_free(void *conv);

/* The number of workers must be the one that a workspace was measured for: *state keeps it; free with
 * nw_free. */
NwStatus nw_keep_threads(void **state, int threads, NwError *error);

/* A convolution of few channels (conv2d-direct.c) with given filters: bytes of workspace, and the run. Reads
 * x and y of the call. */
size_t nw_direct_forward_workspace(const NwCall *call, int threads);
void nw_direct_forward(const NwCall *call, int threads, const float *weight, const float *bias, bool relu);

/* Rows of conv2d, conv2d_grad_x and conv2d_grad_w; part: which of them. */
#define NW_OWN_CONV_FUNCTIONS(name)                                                                          \
  bool name##_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block);                  \
  bool name##_supports(const NwCall *call);                                                                  \
  NwStatus name##_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error);              \
  NwStatus name##_run(const NwCall *call, void *state, NwError *error);
NW_OWN_CONV_FUNCTIONS(nw_winograd_forward)
NW_OWN_CONV_FUNCTIONS(nw_winograd_back)
NW_OWN_CONV_FUNCTIONS(nw_winograd_weights)
NW_OWN_CONV_FUNCTIONS(nw_first_weights)
NW_OWN_CONV_FUNCTIONS(nw_direct_forward)
NW_OWN_CONV_FUNCTIONS(nw_direct_back)
#define NW_OWN_CONV_ROW(title, fn, free)                                                                     \
  {                                                                                                          \
    .name = title, .device = NW_CPU, .layout = fn##_layout, .supports = fn##_supports,                       \
    .prepare = fn##_prepare, .run = fn##_run, .release = free                                                \
  }
