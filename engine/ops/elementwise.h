/* Rows for ops that work number by number: the formula is written once and built for three loops. */
#pragma once

#include <tgmath.h>

#include "engine/ops/common.h"

/* From an expression in x (input 0) and, for NW_BINARY, v (input 1), over the attributes a (of type A; void:
 * none): name_simple, in float, any layout; name_plain, in double, f32 and f64, plain layout. `real` is the
 * type at hand, and <tgmath.h> picks the function's width. */
#define NW_UNARY(name, A, expr)                                                                              \
  static inline float name##_f(const A *a, float x)                                                          \
  {                                                                                                          \
    typedef float real __attribute__((unused));                                                              \
    return (float)(expr);                                                                                    \
  }                                                                                                          \
  static inline double name##_d(const A *a, double x)                                                        \
  {                                                                                                          \
    typedef double real __attribute__((unused));                                                             \
    return (double)(expr);                                                                                   \
  }                                                                                                          \
  static void name##_floats(void *context, int64_t begin, int64_t end, int thread)                           \
  {                                                                                                          \
    const NwCall *call = context;                                                                            \
    const float *in = call->in_data[0];                                                                      \
    float *out = call->out_data[0];                                                                          \
    for (int64_t i = begin; i < end; i++)                                                                    \
      out[i] = name##_f(call->attrs, in[i]);                                                                 \
  }                                                                                                          \
  NW_INLINE void name##_each(const NwCall *call, int64_t begin, int64_t end, bool wide)                      \
  {                                                                                                          \
    for (int64_t i = begin; i < end; i++)                                                                    \
      nw_put(call->out_data[0], i, name##_d(call->attrs, nw_get(call->in_data[0], i, wide)), wide);          \
  }                                                                                                          \
  NW_ELEMENTWISE_RUNS(name)

#define NW_BINARY(name, A, expr)                                                                             \
  static inline float name##_f(const A *a, float x, float v)                                                 \
  {                                                                                                          \
    typedef float real __attribute__((unused));                                                              \
    return (float)(expr);                                                                                    \
  }                                                                                                          \
  static inline double name##_d(const A *a, double x, double v)                                              \
  {                                                                                                          \
    typedef double real __attribute__((unused));                                                             \
    return (double)(expr);                                                                                   \
  }                                                                                                          \
  static void name##_floats(void *context, int64_t begin, int64_t end, int thread)                           \
  {                                                                                                          \
    const NwCall *call = context;                                                                            \
    const float *in = call->in_data[0], *other = call->in_data[1];                                           \
    float *out = call->out_data[0];                                                                          \
    for (int64_t i = begin; i < end; i++)                                                                    \
      out[i] = name##_f(call->attrs, in[i], other[i]);                                                       \
  }                                                                                                          \
  NW_INLINE void name##_each(const NwCall *call, int64_t begin, int64_t end, bool wide)                      \
  {                                                                                                          \
    for (int64_t i = begin; i < end; i++) {                                                                  \
      double x = nw_get(call->in_data[0], i, wide), v = nw_get(call->in_data[1], i, wide);                   \
      nw_put(call->out_data[0], i, name##_d(call->attrs, x, v), wide);                                       \
    }                                                                                                        \
  }                                                                                                          \
  NW_ELEMENTWISE_RUNS(name)

#define NW_ELEMENTWISE_RUNS(name)                                                                            \
  NW_WIDTHS(name##_each)                                                                                     \
  static NwStatus name##_simple(const NwCall *call, void *state, NwError *error)                             \
  {                                                                                                          \
    nw_parallel(nw_spec_stored(&call->out[0]), NW_GRAIN, name##_floats, (void *)(uintptr_t)call);            \
    return NW_OK;                                                                                            \
  }                                                                                                          \
  static NwStatus name##_plain(const NwCall *call, void *state, NwError *error)                              \
  {                                                                                                          \
    name##_each_run(call, nw_spec_count(&call->out[0]), NW_GRAIN);                                           \
    return NW_OK;                                                                                            \
  }

/* Rows where f(0) = 0, so that padded channels of blocked layouts stay zero. */
#define NW_SIMPLE_ANY(fn)                                                                                    \
  {                                                                                                          \
    .name = "simple", .device = NW_CPU, .flags = NW_KERNEL_EXACT, .layout = nw_layout_one_block,             \
    .supports = nw_supports_same_block, .run = fn                                                            \
  }
/* Rows where it is not. */
#define NW_SIMPLE_PLAIN(fn)                                                                                  \
  {                                                                                                          \
    .name = "simple", .device = NW_CPU, .flags = NW_KERNEL_EXACT, .supports = nw_supports_plain_f32,         \
    .run = fn                                                                                                \
  }

/* Shapes of an activation (one float value in and out) and of its gradient (dy, and x or y of the same
 * shape). */
static inline NwStatus nw_infer_activation(const NwOp *op, const void *attrs, const NwSpec *in, int n_in,
                                           NwSpec *out, NwError *error)
{
  return nw_infer_same(op, attrs, in, n_in, out, error);
}

static inline NwStatus nw_infer_pair(const NwOp *op, const void *attrs, const NwSpec *in, int n_in,
                                     NwSpec *out, NwError *error)
{
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs two values", nw_op_name(op));
  return nw_need_same(op, &in[0], &in[1], error);
}

/* One or a few operations a number. */
static inline NwCost nw_cost_elements(const NwOp *op, const void *attrs, const NwSpec *in, int n_in,
                                      const NwSpec *out)
{
  return (NwCost){0, (double)nw_spec_count(&out[0])};
}

__attribute__((unused)) static const NwPort nw_activation_in[] = {{"x", NW_PORT_DATA, 0, N_("Any numbers.")}};
__attribute__((unused)) static const NwPort nw_activation_out[] = {
    {"y", NW_PORT_DATA, 0, N_("As many numbers, in the same shape.")}};
__attribute__((unused)) static const NwPort nw_activation_grad_in[] = {{"dy", NW_PORT_DATA},
                                                                       {"v", NW_PORT_DATA}};
__attribute__((unused)) static const NwPort nw_activation_grad_out[] = {{"dx", NW_PORT_DATA}};
__attribute__((unused)) static const NwOpCase nw_activation_cases[] = {
    {"", "2x8x5x7"}, {"", "3x13"}, {"", "1x3x4x4"}, {"", "2x16x9x9"}};
