/* Helpers shared by op files: common shape rules, gradient rules, layout rules, and emission shortcuts. */
#pragma once

#include "engine/op/op.h"

/* out[0] = in[0]. */
NwStatus nw_infer_same(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out, NwError *error);
/* "Conv2d needs pictures (channels × height × width); this input is 128 numbers" when in is not 4-D, and so on. */
NwStatus nw_infer_need_ndim(const NwOp *op, const NwSpec *in, int ndim, NwError *error);
NwStatus nw_infer_need_float(const NwOp *op, const NwSpec *in, NwError *error);
/* Output size of a window: floor((size + 2*padding - dilation*(kernel-1) - 1) / stride) + 1 (ceil with ceil_mode, as
 * torch: a window that would start in the right padding is dropped). Fails when kernel exceeds the padded size, with
 * property "kernel_size". axis: "height" or "width". */
NwStatus nw_infer_window(const NwOp *op, const char *axis, int64_t size, int64_t kernel, int64_t stride,
                         int64_t padding, int64_t dilation, bool ceil_mode, int64_t *out, NwError *error);
/* Kernels that take any layout as long as all 4-D values share it: follows input 0. */
bool nw_layout_follow(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block);
/* Every present 4-D value has the same block, and dtypes are f32. */
bool nw_supports_same_block(const NwCall *call);
/* Elements in memory, padding included. */
int64_t nw_spec_stored(const NwSpec *spec);
