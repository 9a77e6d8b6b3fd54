/* Pictures whose every pixel is made of up to two rows and two columns of another: resizing and reflecting.
 * `tap` says which; forward reads through it, backward adds up through it, in any block, f32 or f64. */
#pragma once

#include "engine/ops/common.h"

typedef struct NwTap {
  int64_t first, second; /* rows (or columns) read */
  double weight;         /* of the second; the first has the rest */
} NwTap;

/* Row (axis 0) or column (axis 1) `at` of the output, of `made` in all, from `size` of the input. */
typedef NwTap (*NwTapOf)(const void *attrs, int axis, int64_t at, int64_t size, int64_t made);

/* x: the smaller side's spec as forward has it; y: what forward makes. */
static inline size_t nw_taps_bytes(const NwSpec *y)
{
  return (size_t)(y->dims[2] + y->dims[3]) * sizeof(NwTap);
}

static inline void nw_taps_fill(NwTap *taps, NwTapOf of, const void *attrs, const NwSpec *x, const NwSpec *y)
{
  for (int axis = 0; axis < 2; axis++)
    for (int64_t at = 0; at < y->dims[2 + axis]; at++)
      *taps++ = of(attrs, axis, at, x->dims[2 + axis], y->dims[2 + axis]);
}

NW_INLINE void nw_taps_read(const void *in, void *out, const NwTap *taps, const NwSpec *x, const NwSpec *y,
                            int64_t plane, const int lanes, const bool wide)
{
  const NwTap *rows = taps, *columns = taps + y->dims[2];
  int64_t from = plane * x->dims[2] * x->dims[3], to = plane * y->dims[2] * y->dims[3];
  for (int64_t i = 0; i < y->dims[2]; i++)
    for (int64_t j = 0; j < y->dims[3]; j++, to++) {
      const NwTap *r = &rows[i], *c = &columns[j];
      int64_t a = from + r->first * x->dims[3], b = from + r->second * x->dims[3];
      double wa = 1 - r->weight, wb = r->weight, wc = 1 - c->weight, wd = c->weight;
      if (wb == 0 && wd == 0) {
        for (int l = 0; l < lanes; l++)
          nw_put(out, to * lanes + l, nw_get(in, (a + c->first) * lanes + l, wide), wide);
        continue;
      }
      for (int l = 0; l < lanes; l++) {
        double top = wc * nw_get(in, (a + c->first) * lanes + l, wide) +
                     wd * nw_get(in, (a + c->second) * lanes + l, wide);
        double bottom = wc * nw_get(in, (b + c->first) * lanes + l, wide) +
                        wd * nw_get(in, (b + c->second) * lanes + l, wide);
        nw_put(out, to * lanes + l, wa * top + wb * bottom, wide);
      }
    }
}

NW_INLINE void nw_taps_add(const void *dy, void *dx, const NwTap *taps, const NwSpec *x, const NwSpec *y,
                           int64_t plane, const int lanes, const bool wide)
{
  const NwTap *rows = taps, *columns = taps + y->dims[2];
  int64_t base = plane * x->dims[2] * x->dims[3], at = plane * y->dims[2] * y->dims[3];
  for (int64_t i = 0; i < x->dims[2] * x->dims[3] * lanes; i++)
    nw_put(dx, base * lanes + i, 0, wide);
  for (int64_t i = 0; i < y->dims[2]; i++)
    for (int64_t j = 0; j < y->dims[3]; j++, at++)
      for (int k = 0; k < 4; k++) {
        double w = (k & 2 ? rows[i].weight : 1 - rows[i].weight) *
                   (k & 1 ? columns[j].weight : 1 - columns[j].weight);
        int64_t row = k & 2 ? rows[i].second : rows[i].first;
        int64_t to = base + row * x->dims[3] + (k & 1 ? columns[j].second : columns[j].first);
        for (int l = 0; l < lanes && w != 0; l++)
          nw_put(dx, to * lanes + l, nw_get(dx, to * lanes + l, wide) + w * nw_get(dy, at * lanes + l, wide),
                 wide);
      }
}

NW_INLINE void nw_taps_plane(const NwCall *call, bool back, const NwSpec *x, const NwSpec *y, int64_t plane,
                             const int lanes, const bool wide)
{
  if (back)
    nw_taps_add(call->in_data[0], call->out_data[0], call->workspace, x, y, plane, lanes, wide);
  else
    nw_taps_read(call->in_data[0], call->out_data[0], call->workspace, x, y, plane, lanes, wide);
}

/* From a function `of` makes name_kernels, for both ways. Forward: input 0 is x. Backward: input 0
 * is dy, input 1 the shape of x. */
#define NW_TAPS(id, of)                                                                                      \
  static NwStatus id##_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)          \
  {                                                                                                          \
    *workspace = nw_taps_bytes(call->n_in > 1 ? &call->in[0] : &call->out[0]);                               \
    return NW_OK;                                                                                            \
  }                                                                                                          \
  static void id##_body(void *context, int64_t begin, int64_t end, int thread)                               \
  {                                                                                                          \
    const NwCall *c = context;                                                                               \
    bool back = c->n_in > 1;                                                                                 \
    const NwSpec *x = back ? &c->in[1] : &c->in[0], *y = back ? &c->in[0] : &c->out[0];                      \
    for (int64_t p = begin; p < end; p++)                                                                    \
      if (nw_call_wide(c))                                                                                   \
        nw_taps_plane(c, back, x, y, p, 1, true);                                                            \
      else if (c->in[0].block == 8)                                                                          \
        nw_taps_plane(c, back, x, y, p, 8, false);                                                           \
      else if (c->in[0].block == 16)                                                                         \
        nw_taps_plane(c, back, x, y, p, 16, false);                                                          \
      else                                                                                                   \
        nw_taps_plane(c, back, x, y, p, 1, false);                                                           \
  }                                                                                                          \
  static NwStatus id##_run(const NwCall *call, void *state, NwError *error)                                  \
  {                                                                                                          \
    bool back = call->n_in > 1;                                                                              \
    NwPlanes p = nw_planes(&call->in[0]);                                                                    \
    nw_taps_fill(call->workspace, of, call->attrs, back ? &call->in[1] : &call->in[0],                       \
                 back ? &call->in[0] : &call->out[0]);                                                       \
    nw_parallel(p.n *p.blocks, 1, id##_body, (void *)(uintptr_t)call);                                       \
    return NW_OK;                                                                                            \
  }                                                                                                          \
  static const NwKernel id##_kernels[] = {{.name = "simple",                                                 \
                                           .device = NW_CPU,                                                 \
                                           .flags = NW_KERNEL_EXACT,                                         \
                                           .layout = nw_layout_one_block,                                    \
                                           .supports = nw_supports_one_block,                                \
                                           .prepare = id##_prepare,                                          \
                                           .run = id##_run},                                                 \
                                          {.name = "plain",                                                  \
                                           .device = NW_CPU,                                                 \
                                           .flags = NW_KERNEL_EXACT | NW_KERNEL_F64,                         \
                                           .supports = nw_supports_plain,                                    \
                                           .prepare = id##_prepare,                                          \
                                           .run = id##_run}};

__attribute__((unused)) static const NwPort nw_taps_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")}};
__attribute__((unused)) static const NwPort nw_taps_out[] = {{"y", NW_PORT_DATA, 0, N_("Larger pictures.")}};
__attribute__((unused)) static const NwPort nw_taps_grad_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
__attribute__((unused)) static const NwPort nw_taps_grad_out[] = {{"dx", NW_PORT_DATA}};
