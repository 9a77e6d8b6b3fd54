/* Shared by the files of engine/ops: numbers in two widths, loops over pieces, and the boilerplate of rows.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/base/threads.h"
#include "engine/op/infer.h"

/* Plain kernels are written once over doubles and built for f32 and f64: `wide` is a constant wherever these
 * are used, so the compiler makes one loop for each. */
#define NW_INLINE static inline __attribute__((always_inline, unused))

NW_INLINE double nw_get(const void *data, int64_t i, bool wide)
{
  return wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

NW_INLINE void nw_put(void *data, int64_t i, double value, bool wide)
{
  if (wide)
    ((double *)data)[i] = value;
  else
    ((float *)data)[i] = (float)value;
}

/* From `NW_INLINE void body(const NwCall *call, int64_t begin, int64_t end, bool wide)` makes body_run(call,
 * n, grain), which runs it over [0, n) in parallel, in the width of input 0 (or output 0 of an op without
 * inputs). */
#define NW_WIDTHS(body)                                                                                      \
  static void body##_f32(void *call, int64_t begin, int64_t end, int thread)                                 \
  {                                                                                                          \
    (void)thread;                                                                                            \
    body(call, begin, end, false);                                                                           \
  }                                                                                                          \
  static void body##_f64(void *call, int64_t begin, int64_t end, int thread)                                 \
  {                                                                                                          \
    (void)thread;                                                                                            \
    body(call, begin, end, true);                                                                            \
  }                                                                                                          \
  static void body##_run(const NwCall *call, int64_t n, int64_t grain)                                       \
  {                                                                                                          \
    nw_parallel(n, grain, nw_call_wide(call) ? body##_f64 : body##_f32, (void *)(uintptr_t)call);            \
  }

/* Elements below which a loop is not worth waking another thread for; a multiple of every vector width. */
enum { NW_GRAIN = 8192 };

static inline bool nw_call_has(const NwCall *call, int port)
{
  return port < call->n_in && call->in[port].ndim >= 0;
}

static inline bool nw_spec_is(const NwSpec *in, int n_in, int port)
{
  return port < n_in && in[port].ndim >= 0;
}

static inline bool nw_call_wide(const NwCall *call)
{
  for (int i = 0; i < call->n_in; i++)
    if (call->in[i].ndim >= 0 && (call->in[i].dtype == NW_F64 || call->in[i].dtype == NW_F32))
      return call->in[i].dtype == NW_F64;
  return call->n_out > 0 && call->out[0].dtype == NW_F64;
}

/* Height × width and channel geometry of a 4-D value; plain values count as blocks of one channel. */
typedef struct NwPlanes {
  int64_t n, c, blocks, h, w; /* blocks: planes of `lanes` channels in one picture */
  int64_t lanes;
} NwPlanes;

static inline NwPlanes nw_planes(const NwSpec *spec)
{
  int64_t lanes = spec->block ? spec->block : 1;
  return (NwPlanes){spec->dims[0], spec->dims[1], (spec->dims[1] + lanes - 1) / lanes,
                    spec->dims[2], spec->dims[3], lanes};
}

/* From `NW_INLINE void one(const NwCall *call, int64_t plane, const int lanes)` makes a kernel that calls it
 * for every plane (one picture's channel, or block of channels) of value `spec`, with the block of input 0.
 */
#define NW_PLANES_RUN(name, one, value)                                                                      \
  static void name##_body(void *context, int64_t begin, int64_t end, int thread)                             \
  {                                                                                                          \
    const NwCall *call = context;                                                                            \
    for (int64_t plane = begin; plane < end; plane++)                                                        \
      if (call->in[0].block == 8)                                                                            \
        one(call, plane, 8);                                                                                 \
      else if (call->in[0].block == 16)                                                                      \
        one(call, plane, 16);                                                                                \
      else                                                                                                   \
        one(call, plane, 1);                                                                                 \
  }                                                                                                          \
  static NwStatus name(const NwCall *call, void *state, NwError *error)                                      \
  {                                                                                                          \
    NwPlanes p = nw_planes(&call->value);                                                                    \
    nw_parallel(p.n *p.blocks, 1, name##_body, (void *)(uintptr_t)call);                                     \
    return NW_OK;                                                                                            \
  }

static inline NwPortRole nw_call_role(const NwCall *call, int port)
{
  const NwOp *op = call->op;
  return op->inputs[port < op->n_inputs ? port : op->n_inputs - 1].role;
}

/* A kernel that takes any float dtype in plain layout, whatever else its inputs are (u8, i64). */
static inline bool nw_supports_plain(const NwCall *call)
{
  for (int i = 0; i < call->n_in; i++)
    if (call->in[i].ndim >= 0 && call->in[i].block != 0 && nw_call_role(call, i) != NW_PORT_SHAPE)
      return false;
  for (int i = 0; i < call->n_out; i++)
    if (call->out[i].ndim >= 0 && call->out[i].block != 0)
      return false;
  return true;
}

static inline bool nw_supports_plain_f32(const NwCall *call)
{
  for (int i = 0; i < call->n_in; i++)
    if (call->in[i].ndim >= 0 && call->in[i].dtype == NW_F64)
      return false;
  return nw_supports_plain(call);
}

/* Layout wish and test of kernels that take any one block for all their 4-D values (whatever their dtype).
 * Blocks win over plain, also those of a value of which only the shape is read: a gradient should lie as its
 * value does. A value that is not f32 (the index of a pool) cannot be brought into another block, so it
 * decides. */
static inline bool nw_layout_one_block(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  int32_t block = 0;
  bool fixed = false;
  for (int i = 0; i < call->n_in; i++) {
    if (call->in[i].ndim != 4 || fixed)
      continue;
    fixed = call->in[i].dtype != NW_F32 && nw_call_role(call, i) != NW_PORT_SHAPE;
    if (fixed || call->in[i].block > block)
      block = call->in[i].block;
  }
  for (int i = 0; i < call->n_in; i++)
    in_block[i] = nw_call_role(call, i) == NW_PORT_SHAPE ? call->in[i].block
                  : call->in[i].ndim == 4                ? block
                                                         : 0;
  for (int i = 0; i < call->n_out; i++)
    out_block[i] = call->out[i].ndim == 4 ? block : 0;
  return true;
}

static inline bool nw_supports_one_block(const NwCall *call)
{
  int32_t block = -1;
  if (nw_call_wide(call))
    return false;
  for (int i = 0; i < call->n_in + call->n_out; i++) {
    const NwSpec *spec = i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
    if (spec->ndim != 4 || (i < call->n_in && nw_call_role(call, i) == NW_PORT_SHAPE))
      continue;
    if (block >= 0 && spec->block != block)
      return false;
    block = spec->block;
  }
  return true;
}

/* The last row of an op. */
#define NW_PLAIN(fn)                                                                                         \
  {                                                                                                          \
    .name = "plain", .device = NW_CPU, .flags = NW_KERNEL_EXACT | NW_KERNEL_F64,                             \
    .supports = nw_supports_plain, .run = fn                                                                 \
  }

/* A row for f32 that takes any one block. */
#define NW_ONE_BLOCK(title, fn)                                                                              \
  {                                                                                                          \
    .name = title, .device = NW_CPU, .flags = NW_KERNEL_EXACT, .layout = nw_layout_one_block,                \
    .supports = nw_supports_one_block, .run = fn                                                             \
  }

#define NW_PORTS_AND(i, o) NW_INPUTS(i), NW_OUTPUTS(o)

/* An internal op: no label, never shown. */
#define NW_INTERNAL(name, in_ports, out_ports)                                                               \
  .id = name, .version = 1, NW_INPUTS(in_ports), NW_OUTPUTS(out_ports)

/* The name that sentences use for an op: its label, or its id. */
static inline const char *nw_op_name(const NwOp *op)
{
  return op->label ? op->label : op->id;
}

/* "ReLU: the gradient is 2×3 but the value is 2×4" when two specs differ; for the infer of gradient ops. */
static inline NwStatus nw_need_same(const NwOp *op, const NwSpec *a, const NwSpec *b, NwError *error)
{
  if (a->ndim >= 0 && nw_spec_same_shape(a, b) && a->dtype == b->dtype)
    return NW_OK;
  char left[64], right[64];
  nw_spec_shape_text(a, false, left, sizeof left);
  nw_spec_shape_text(b, false, right, sizeof right);
  return nw_fail(error, NW_BAD_SHAPE, "%s needs values of the same size and type; these are %s and %s",
                 nw_op_name(op), left, right);
}

/* out = a spec of `like`'s dtype and device. */
static inline NwSpec nw_spec_like(const NwSpec *like, int ndim, const int64_t *dims)
{
  NwSpec spec = nw_spec(like->dtype, ndim, dims);
  spec.device = like->device;
  return spec;
}

static inline NwParamInfo nw_param_vector(const NwSpec *like, int64_t n, NwInitKind init, double value)
{
  return (NwParamInfo){true, nw_spec_like(like, 1, &n), init, value};
}

/* A name lookup that never fails for a built-in op; gives a sentence when the build lacks it. */
static inline NwStatus nw_emit_id(NwEmitter *emitter, const char *id, const void *attrs, const NwVal *in,
                                  int n_in, NwVal *out, NwError *error)
{
  const NwOp *op = nw_op_find(id);
  if (op == NULL)
    return nw_fail(error, NW_INTERNAL, "the operation %s is missing from this build", id);
  return nw_emit(emitter, op, attrs, in, n_in, out, error);
}
