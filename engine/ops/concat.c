/* Concat: channels (or features) of several values one after the other. */
#include "engine/ops/common.h"

typedef struct Slice {
  int64_t start;
} Slice;

extern const NwOp nw_ops_concat[];

static const NwAttr slice_attrs[] = {{"start", N_("Start"), N_("First channel that is taken."), NULL,
                                      NW_ATTR_INT, 0, offsetof(Slice, start), 0, 0, 1 << 30}};
static const NwPort concat_in[] = {
    {"x", NW_PORT_DATA, NW_PORT_VARIADIC, N_("Values that agree but for channels.")}};
static const NwPort concat_out[] = {{"y", NW_PORT_DATA, 0, N_("All their channels.")}};
static const NwPort slice_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort slice_out[] = {{"dx", NW_PORT_DATA}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  if (n_in < 1 || in[0].ndim < 2)
    return nw_fail(error, NW_BAD_SHAPE, "Concat needs pictures or lists of numbers at its inputs");
  NwSpec made = in[0];
  for (int i = 1; i < n_in; i++) {
    if (in[i].ndim < 0)
      return nw_fail(error, NW_BAD_SHAPE, "Concat: input %d is not connected", i + 1);
    bool fits = in[i].ndim == in[0].ndim && in[i].dtype == in[0].dtype;
    for (int d = 0; fits && d < in[0].ndim; d++)
      fits = d == 1 || in[i].dims[d] == in[0].dims[d];
    if (!fits) {
      char left[64], right[64];
      nw_spec_shape_text(&in[0], true, left, sizeof left);
      nw_spec_shape_text(&in[i], true, right, sizeof right);
      return nw_fail(error, NW_BAD_SHAPE,
                     "Concat needs inputs that differ in channels only; these are %s and %s", left, right);
    }
    if (in[i].dims[1] > (1 << 30) - made.dims[1])
      return nw_fail(error, NW_BAD_SHAPE, "Concat: the inputs have too many channels together");
    made.dims[1] += in[i].dims[1];
  }
  out[0] = made;
  return NW_OK;
}

static NwStatus slice_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                            NwError *error)
{
  const Slice *a = attrs;
  if (!nw_spec_is(in, n_in, 1) || in[0].ndim != in[1].ndim || in[0].ndim < 2 ||
      a->start + in[1].dims[1] > in[0].dims[1])
    return nw_fail(error, NW_BAD_SHAPE, "%s: the channels do not fit", op->id);
  out[0] = in[0];
  out[0].dims[1] = in[1].dims[1];
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  Slice slice = {0};
  for (int i = 0; i < g->n_in; i++) {
    if (g->need[i])
      NW_TRY(nw_emit(g->emitter, &nw_ops_concat[1], &slice, (NwVal[]){g->dout[0], g->in[i]}, 2, &g->din[i],
                     error));
    slice.start += g->in_spec[i].dims[1];
  }
  return NW_OK;
}

/* Bytes of the first `channels` channels of one picture, in the layout of spec. */
static size_t bytes_of(const NwSpec *spec, int64_t channels)
{
  size_t bytes = nw_dtype_size(spec->dtype) * (size_t)channels;
  for (int i = 2; i < spec->ndim; i++)
    bytes *= (size_t)spec->dims[i];
  return bytes;
}

/* Begin and end count pictures. Layouts in blocks are taken only where all channels fill whole blocks, so a
 * picture is one run of bytes either way. */
static void concat_pictures(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  size_t row = bytes_of(&call->out[0], call->out[0].dims[1]), at = 0;
  for (int i = 0; i < call->n_in; i++) {
    size_t bytes = bytes_of(&call->in[i], call->in[i].dims[1]);
    for (int64_t n = begin; n < end; n++)
      memcpy((char *)call->out_data[0] + (size_t)n * row + at,
             (const char *)call->in_data[i] + (size_t)n * bytes, bytes);
    at += bytes;
  }
}

static void slice_pictures(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  const Slice *a = call->attrs;
  size_t row = bytes_of(&call->in[0], call->in[0].dims[1]),
         bytes = bytes_of(&call->out[0], call->out[0].dims[1]);
  size_t at = bytes_of(&call->in[0], a->start);
  for (int64_t n = begin; n < end; n++)
    memcpy((char *)call->out_data[0] + (size_t)n * bytes,
           (const char *)call->in_data[0] + (size_t)n * row + at, bytes);
}

static NwStatus concat_run(const NwCall *call, void *state, NwError *error)
{
  nw_parallel(call->out[0].dims[0], 1, concat_pictures, (void *)(uintptr_t)call);
  return NW_OK;
}

static NwStatus slice_run(const NwCall *call, void *state, NwError *error)
{
  nw_parallel(call->out[0].dims[0], 1, slice_pictures, (void *)(uintptr_t)call);
  return NW_OK;
}

static bool whole_blocks(const NwCall *call, int32_t block)
{
  if (block == 0)
    return true;
  if (call->attrs && call->op == &nw_ops_concat[1] && ((const Slice *)call->attrs)->start % block != 0)
    return false;
  for (int i = 0; i < call->n_in; i++)
    if (call->in[i].ndim != 4 || call->in[i].dims[1] % block != 0)
      return false;
  return true;
}

static bool layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  if (!nw_layout_one_block(call, lanes, in_block, out_block) || whole_blocks(call, out_block[0]))
    return true;
  for (int i = 0; i < call->n_in; i++)
    in_block[i] = nw_call_role(call, i) == NW_PORT_SHAPE ? call->in[i].block : 0;
  out_block[0] = 0;
  return true;
}

static bool supports(const NwCall *call)
{
  if (nw_supports_plain(call))
    return true;
  return nw_supports_one_block(call) && whole_blocks(call, call->out[0].block);
}

#define ROW(fn)                                                                                              \
  {                                                                                                          \
    .name = "plain", .device = NW_CPU, .flags = NW_KERNEL_EXACT | NW_KERNEL_F64, .layout = layout,           \
    .supports = supports, .run = fn                                                                          \
  }
static const NwKernel concat_kernels[] = {ROW(concat_run)};
static const NwKernel slice_kernels[] = {ROW(slice_run)};
static const NwOpCase cases[] = {
    {"", "2x8x3x3 2x16x3x3"}, {"", "2x3x4x5 2x5x4x5 2x1x4x5"}, {"", "3x7 3x2"}, {"", "1x4x2x2"}};

const NwOp nw_ops_concat[] = {
    {.id = "concat",
     .version = 1,
     .label = "Concat",
     .group = NW_GROUP_MERGE,
     .doc = N_("Puts the channels of several inputs one after the other."),
     .formula = N_("y = [x₁, x₂, …] along the channels"),
     .keywords = "concatenate join merge cat stack channels",
     .torch = "torch.cat(dim=1)",
     NW_PORTS_AND(concat_in, concat_out),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(concat_kernels),
     .onnx = "Concat($x) axis=1",
     .torchscript = "torch.cat($x, 1)",
     NW_CASES(cases)},
    {NW_INTERNAL("concat_slice", slice_in, slice_out), NW_ATTRS(Slice, slice_attrs), .infer = slice_infer,
     NW_KERNELS(slice_kernels)},
};
NW_OPS_END(concat);
