/* The small transforms of F(4×4, 3×3), one dimension at a time over vectors of channels; s and q are the
 * steps between their numbers. */
#pragma once

#include "engine/kernels/vec.h"

enum {
  POINTS = 36,
  PAD = 16 /* floats between point planes: power-of-two steps would alias in the caches */
};

VINLINE int64_t round_up(int64_t a, int64_t b)
{
  return (a + b - 1) / b * b;
}

VINLINE int64_t at_most(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* Bᵀ, 6 → 6 in place: pictures. */
VINLINE void transform_input(vf *d)
{
  vf a = d[0], b = d[1], c = d[2], e = d[3], f = d[4], g = d[5], four = vset(4), five = vset(5);
  vf t0 = vfnma(four, b, e), t1 = vfnma(four, c, f), t2 = vsub(f, c), t3 = vsub(e, b);
  t3 = vadd(t3, t3);
  d[0] = vfnma(five, c, vfma(four, a, f));
  d[1] = vadd(t0, t1);
  d[2] = vsub(t1, t0);
  d[3] = vadd(t2, t3);
  d[4] = vsub(t2, t3);
  d[5] = vfnma(five, e, vfma(four, b, g));
}

/* Aᵀ, 6 → 4: products back to pictures. */
VINLINE void transform_output(const vf *d, vf *o, int q)
{
  vf a = vadd(d[1], d[2]), b = vsub(d[1], d[2]), c = vadd(d[3], d[4]), e = vsub(d[3], d[4]);
  o[0] = vadd(vadd(d[0], a), c);
  o[q] = vfma(vset(2), e, b);
  o[2 * q] = vfma(vset(4), c, a);
  o[3 * q] = vadd(vfma(vset(8), e, b), d[5]);
}

/* A, 4 → 6: gradients of pictures. */
VINLINE void transform_gradient(const vf *d, int s, vf *o, int q)
{
  vf a = d[0], b = d[s], c = d[2 * s], e = d[3 * s];
  vf p = vadd(a, c), m = vadd(b, e), p2 = vfma(vset(4), c, a), m2 = vfma(vset(8), e, vadd(b, b));
  o[0] = a;
  o[q] = vadd(p, m);
  o[2 * q] = vsub(p, m);
  o[3 * q] = vadd(p2, m2);
  o[4 * q] = vsub(p2, m2);
  o[5 * q] = e;
}

/* G, 3 → 6: filters. */
VINLINE void transform_filter(const vf *g, int s, vf *o, int q)
{
  vf a = g[0], b = g[s], c = g[2 * s];
  vf t = vmul(vset(-1.f / 6), vadd(a, c)), u = vmul(vset(1.f / 6), b);
  vf v = vfma(vset(1.f / 24), a, vmul(vset(1.f / 6), c)), w = vmul(vset(1.f / 12), b);
  o[0] = vmul(vset(.25f), a);
  o[q] = vsub(t, u);
  o[2 * q] = vadd(t, u);
  o[3 * q] = vadd(v, w);
  o[4 * q] = vsub(v, w);
  o[5 * q] = c;
}

/* Gᵀ, 6 → 3: gradients of filters. */
VINLINE void transform_filter_gradient(const vf *d, vf *o, int q)
{
  vf p = vadd(d[1], d[2]), m = vsub(d[2], d[1]), p2 = vadd(d[3], d[4]), m2 = vsub(d[3], d[4]);
  vf n6 = vset(-1.f / 6), s6 = vset(1.f / 6);
  o[0] = vfma(vset(.25f), d[0], vfma(n6, p, vmul(vset(1.f / 24), p2)));
  o[q] = vfma(s6, m, vmul(vset(1.f / 12), m2));
  o[2 * q] = vadd(vfma(n6, p, vmul(s6, p2)), d[5]);
}

/* One 6×6 piece of VLEN channels of a picture → 36 vectors at distance `step`. Pieces at the border go
 * through a copy with zeros around, so the transform has no branches. next: where a later piece will go,
 * fetched for writing, since the 36 stores go to 36 distant lines. */
VINLINE void input_tile(const float *x, int64_t h, int64_t w, int64_t y0, int64_t x0, float *v, int64_t step,
                        const float *next)
{
  float padded[36 * VLEN];
  const float *p = x + (y0 * w + x0) * VLEN;
  int64_t row = w * VLEN;
  if (y0 < 0 || x0 < 0 || y0 + 6 > h || x0 + 6 > w) {
    for (int64_t i = 0; i < 6; i++)
      for (int64_t j = 0; j < 6; j++) {
        bool inside = y0 + i >= 0 && y0 + i < h && x0 + j >= 0 && x0 + j < w;
        vstore(padded + (i * 6 + j) * VLEN, inside ? vload(x + ((y0 + i) * w + x0 + j) * VLEN) : vzero());
      }
    p = padded;
    row = 6 * VLEN;
  }
  vf d[36];
  VUNROLL(6) for (int j = 0; j < 6; j++)
  {
    vf c[6];
    VUNROLL(6) for (int i = 0; i < 6; i++) c[i] = vload(p + i * row + j * VLEN);
    transform_input(c);
    VUNROLL(6) for (int i = 0; i < 6; i++) d[6 * i + j] = c[i];
  }
  VUNROLL(6) for (int i = 0; i < 6; i++)
  {
    transform_input(d + 6 * i);
    VUNROLL(6) for (int j = 0; j < 6; j++)
    {
      vstore(v + (6 * i + j) * step, d[6 * i + j]);
      __builtin_prefetch(next + (6 * i + j) * step, 1);
    }
  }
}

/* Tiles in order, without divisions. */
typedef struct Walk {
  int64_t down, across; /* tiles of a picture */
  int64_t n, ty, tx;
} Walk;

VINLINE Walk walk_from(int64_t h, int64_t w, int64_t tile)
{
  Walk walk = {.down = (h + 3) / 4, .across = (w + 3) / 4};
  int64_t each = walk.down * walk.across, rest = tile % each;
  walk.n = tile / each;
  walk.ty = rest / walk.across;
  walk.tx = rest % walk.across;
  return walk;
}

VINLINE void walk_on(Walk *walk)
{
  if (++walk->tx < walk->across)
    return;
  walk->tx = 0;
  if (++walk->ty < walk->down)
    return;
  walk->ty = 0;
  walk->n++;
}
