/* oneDNN (v2 C API) behind one file: convolution, inner product and reorder as prepared objects.
 *
 * No oneDNN type leaks out. A prepared object belongs to one kernel state and is used by one thread at a
 * time; the scratchpad is the caller's workspace. Weights are always given and returned in torch's layout (O,
 * I/g, kH, kW): where the library wants another, the object reorders inside. Built without oneDNN,
 * nw_onednn_available is false and every other call fails with NW_UNSUPPORTED. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"

typedef enum NwOnednnPass {
  NW_ONEDNN_FORWARD,
  NW_ONEDNN_BACKWARD_DATA,
  NW_ONEDNN_BACKWARD_WEIGHTS
} NwOnednnPass;

typedef struct NwOnednnConv {
  NwOnednnPass pass;
  int64_t n, ci, co, h, w, oh, ow, kh, kw, groups;
  int64_t stride[2], padding[2], dilation[2]; /* dilation as torch counts: 1 is dense */
  int32_t src_block, dst_block;               /* 0, 8 or 16 */
  bool bias;                                  /* forward: added; backward weights: also computed */
  bool add, relu;                             /* forward: add a value of dst's layout, then relu */
} NwOnednnConv;

typedef struct NwOnednnLinear {
  NwOnednnPass pass;
  int64_t rows, in, out;
  bool bias, relu;
} NwOnednnLinear;

typedef struct NwOnednn NwOnednn;

/* The values of one run. Forward reads src, weights, bias, other and writes dst; backward data reads dst (dy)
 * and weights and writes src (dx); backward weights reads src and dst and writes weights and bias. */
typedef struct NwOnednnData {
  const void *src, *weights, *bias, *dst, *other;
  void *workspace;
  bool frozen; /* weights do not change until refresh does */
  uint64_t refresh;
} NwOnednnData;

bool nw_onednn_available(void);
/* "2.6.3", or "" without oneDNN. */
const char *nw_onednn_version(void);
/* Is there an implementation that is not the slow reference one? */
bool nw_onednn_conv_fast(const NwOnednnConv *conv);

/* All give a new object (free with nw_onednn_free) and the workspace bytes that its runs need. NW_BACKEND
 * names the library's own status. */
NwStatus nw_onednn_conv_new(const NwOnednnConv *conv, NwOnednn **out, size_t *workspace, NwError *error);
NwStatus nw_onednn_linear_new(const NwOnednnLinear *linear, NwOnednn **out, size_t *workspace,
                              NwError *error);
/* (N, C, H, W) from one block to another. */
NwStatus nw_onednn_reorder_new(const int64_t dims[4], int32_t from, int32_t to, NwOnednn **out,
                               size_t *workspace, NwError *error);
NwStatus nw_onednn_run(NwOnednn *object, const NwOnednnData *data, NwError *error);
void nw_onednn_free(void *object); /* NULL is allowed */
/* The implementation chosen, as the library names it ("jit:avx2"). */
const char *nw_onednn_implementation(const NwOnednn *object);
