#include "engine/op/infer.h"

static const char *name_of(const NwOp *op)
{
  return op->label != NULL ? op->label : op->id;
}

NwStatus nw_infer_same(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                       NwError *error)
{
  if (n_in < 1 || !nw_spec_present(&in[0]))
    return nw_fail(error, NW_BAD_SHAPE, "%s has no input", name_of(op));
  NW_TRY(nw_infer_need_float(op, in, error));
  out[0] = in[0];
  return NW_OK;
}

NwStatus nw_infer_need_ndim(const NwOp *op, const NwSpec *in, int ndim, NwError *error)
{
  if (in->ndim == ndim)
    return NW_OK;
  if (!nw_spec_present(in))
    return nw_fail(error, NW_BAD_SHAPE, "%s has no input", name_of(op));
  char shape[96];
  nw_spec_shape_text(in, true, shape, sizeof shape);
  if (ndim == 4)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs pictures (channels × height × width); this input is %s",
                   name_of(op), shape);
  if (ndim == 2)
    return nw_fail(error, NW_BAD_SHAPE,
                   "%s needs a row of numbers for each picture; this input is %s: put Flatten before it",
                   name_of(op), shape);
  return nw_fail(error, NW_BAD_SHAPE, "%s needs an input of %d dimensions, not %d", name_of(op), ndim,
                 in->ndim);
}

NwStatus nw_infer_need_float(const NwOp *op, const NwSpec *in, NwError *error)
{
  if (in->dtype == NW_F32 || in->dtype == NW_F64)
    return NW_OK;
  return nw_fail(error, NW_BAD_DTYPE, "%s needs floating numbers, not %s", name_of(op),
                 nw_dtype_name(in->dtype));
}

NwStatus nw_infer_window(const NwOp *op, const char *axis, int64_t size, int64_t kernel, int64_t stride,
                         int64_t padding, int64_t dilation, bool ceil_mode, int64_t *out, NwError *error)
{
  if (size < 0 || size > INT64_MAX / 4 || kernel < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the input's %s is %lld and its window %lld pixels", name_of(op),
                   axis, (long long)size, (long long)kernel);
  int64_t span = dilation * (kernel - 1) + 1, room = size + 2 * padding - span;
  if (stride < 1)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "stride", "%s: stride must be at least 1", name_of(op));
  if (room < 0)
    return nw_fail_property(
        error, NW_BAD_SHAPE, "kernel_size",
        "%s: kernel_size %lld reaches over %lld pixels, but the input's %s is %lld with padding %lld: "
        "lower kernel_size or add padding",
        name_of(op), (long long)kernel, (long long)span, axis, (long long)size, (long long)padding);
  int64_t n = (ceil_mode ? room + stride - 1 : room) / stride + 1;
  /* torch: a window must begin inside the input or its left padding. */
  if (ceil_mode && (n - 1) * stride >= size + padding)
    n--;
  *out = n;
  return NW_OK;
}

bool nw_layout_follow(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  int32_t block = call->in[0].ndim == 4 ? call->in[0].block : 0;
  for (int i = 0; i < call->n_in; i++)
    in_block[i] = call->in[i].ndim == 4 ? block : 0;
  for (int i = 0; i < call->n_out; i++)
    out_block[i] = call->out[i].ndim == 4 ? block : 0;
  return true;
}

bool nw_supports_same_block(const NwCall *call)
{
  int32_t block = -1;
  for (int i = 0; i < call->n_in + call->n_out; i++) {
    const NwSpec *spec = i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
    if (!nw_spec_present(spec))
      continue;
    if (spec->dtype != NW_F32)
      return false;
    if (spec->ndim != 4)
      continue;
    if (block >= 0 && spec->block != block)
      return false;
    block = spec->block;
  }
  return true;
}

int64_t nw_spec_stored(const NwSpec *spec)
{
  NwSpec stored = *spec;
  if (spec->block > 0 && spec->ndim == 4)
    stored.dims[1] = (spec->dims[1] + spec->block - 1) / spec->block * spec->block;
  return nw_spec_count(&stored);
}
