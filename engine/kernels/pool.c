/* Max pooling 2×2 stride 2 and 3×3 stride 2 padding 1 over blocks of channels, and its gradient. */
#include "engine/base/threads.h"
#include "engine/kernels/kernels-internal.h"

typedef int32_t vi __attribute__((vector_size(4 * VLEN)));
typedef uint8_t vb __attribute__((vector_size(VLEN)));
typedef uint8_t vb_anywhere __attribute__((vector_size(VLEN), aligned(1), may_alias));

VINLINE vi choose(vi yes, vi a, vi b) /* yes: all bits or none */
{
  return (yes & a) | (~yes & b);
}

VINLINE void consider(const float *x, int place, vf *best, vi *index)
{
  vf v = vload(x);
  vi wins = (v > *best) | (v != v); /* a NaN wins, and stays */
  *best = (vf)choose(wins, (vi)v, (vi)*best);
  *index = choose(wins, (vi){0} + place, *index);
}

/* Rows [v0, v1) and columns [h0, h1) of the window whose first place lies at x. */
VINLINE void window(const float *x, int64_t row, int v0, int v1, int h0, int h1, const int kernel, float *y,
                    uint8_t *index_out)
{
  vf best = vset(-__builtin_inff());
  vi index = (vi){0} + (v0 * kernel + h0);
  for (int a = v0; a < v1; a++)
    for (int b = h0; b < h1; b++)
      consider(x + (a * row + b) * VLEN, a * kernel + b, &best, &index);
  vstore(y, best);
  if (index_out == NULL)
    return;
  index |= ~(best > vzero()) & 0x80;
  *(vb_anywhere *)index_out = __builtin_convertvector(index, vb);
}

VINLINE void forward_planes(const NwPooling *job, int64_t begin, int64_t end, const int kernel,
                            const int padding)
{
  for (int64_t plane = begin; plane < end; plane++) {
    const float *x = job->x + plane * job->h * job->w * VLEN;
    int64_t at = plane * job->oh * job->ow * VLEN;
    for (int64_t i = 0; i < job->oh; i++) {
      int64_t r = 2 * i - padding;
      int v0 = r < 0 ? (int)-r : 0, v1 = r + kernel > job->h ? (int)(job->h - r) : kernel;
      for (int64_t j = 0; j < job->ow; j++, at += VLEN) {
        int64_t s = 2 * j - padding;
        const float *from = x + (r * job->w + s) * VLEN;
        uint8_t *index = job->index_out != NULL ? job->index_out + at : NULL;
        if (v0 == 0 && v1 == kernel && s >= 0 && s + kernel <= job->w)
          window(from, job->w, 0, kernel, 0, kernel, kernel, job->y + at, index);
        else
          window(from, job->w, v0, v1, s < 0 ? (int)-s : 0, s + kernel > job->w ? (int)(job->w - s) : kernel,
                 kernel, job->y + at, index);
      }
    }
  }
}

static void forward_body(void *context, int64_t begin, int64_t end, int thread)
{
  const NwPooling *job = context;
  (void)thread;
  if (job->kernel == 2)
    forward_planes(job, begin, end, 2, 0);
  else
    forward_planes(job, begin, end, 3, 1);
}

void VNAME(nw_pool)(const NwPooling *job)
{
  nw_parallel(job->planes, 1, forward_body, (void *)(uintptr_t)job);
}

/* ---- gradient ---- */
/* dy where place `place` won, else zero. */
VINLINE vf share(const NwPooling *job, int64_t at, int place, const bool relu)
{
  vi index = __builtin_convertvector(*(const vb_anywhere *)(job->index + at), vi);
  /* the mark makes the byte another than any place: nothing passes */
  vi wins = (relu ? index : index & 0x7f) == place;
  return (vf)(wins & (vi)vload(job->x + at));
}

/* Windows of 2×2 do not overlap: each writes its own four places. */
VINLINE void grad_2(const NwPooling *job, int64_t begin, int64_t end, const bool relu)
{
  for (int64_t plane = begin; plane < end; plane++) {
    float *dx = job->y + plane * job->h * job->w * VLEN;
    int64_t at = plane * job->oh * job->ow * VLEN, row = job->w * VLEN;
    if (job->h > 2 * job->oh || job->w > 2 * job->ow)
      memset(dx, 0, (size_t)(job->h * row) * sizeof *dx);
    for (int64_t i = 0; i < job->oh; i++) {
      float *d = dx + 2 * i * row;
      for (int64_t j = 0; j < job->ow; j++, at += VLEN, d += 2 * VLEN) {
        vstore(d, share(job, at, 0, relu));
        vstore(d + VLEN, share(job, at, 1, relu));
        vstore(d + row, share(job, at, 2, relu));
        vstore(d + row + VLEN, share(job, at, 3, relu));
      }
    }
  }
}

/* A window's winner and dy; a window beyond the edge wins nowhere. */
typedef struct Window {
  vi index;
  vf dy;
} Window;

VINLINE Window window_at(const NwPooling *job, int64_t at, bool there, const bool relu)
{
  if (!there)
    return (Window){(vi){0} - 1, vzero()};
  vi index = __builtin_convertvector(*(const vb_anywhere *)(job->index + at), vi);
  return (Window){relu ? index : index & 0x7f, vload(job->x + at)};
}

VINLINE vf won(Window w, int place)
{
  return (vf)((w.index == place) & (vi)w.dy);
}

/* Windows of 3×3 with padding 1: window (i, j) has its middle at (2i, 2j), so the four places (2i, 2j) to
 * (2i+1, 2j+1) gather from the windows (i, j) to (i+1, j+1). */
VINLINE void grad_3(const NwPooling *job, int64_t begin, int64_t end, const bool relu)
{
  int64_t row = job->w * VLEN;
  for (int64_t plane = begin; plane < end; plane++) {
    int64_t base = plane * job->oh * job->ow * VLEN;
    float *dx = job->y + plane * job->h * row;
    for (int64_t i = 0; 2 * i < job->h; i++) {
      bool below = i + 1 < job->oh, second = 2 * i + 1 < job->h;
      int64_t at = base + i * job->ow * VLEN, under = at + job->ow * VLEN;
      float *d = dx + 2 * i * row;
      Window a = window_at(job, at, true, relu), c = window_at(job, under, below, relu);
      for (int64_t j = 0; 2 * j < job->w; j++, d += 2 * VLEN) {
        bool right = j + 1 < job->ow, next = 2 * j + 1 < job->w;
        at += VLEN;
        under += VLEN;
        Window b = window_at(job, at, right, relu), e = window_at(job, under, below && right, relu);
        vstore(d, won(a, 4));
        if (next)
          vstore(d + VLEN, vadd(won(a, 5), won(b, 3)));
        if (second)
          vstore(d + row, vadd(won(a, 7), won(c, 1)));
        if (next && second)
          vstore(d + row + VLEN, vadd(vadd(won(a, 8), won(b, 6)), vadd(won(c, 2), won(e, 0))));
        a = b;
        c = e;
      }
    }
  }
}

static void grad_body(void *context, int64_t begin, int64_t end, int thread)
{
  const NwPooling *job = context;
  (void)thread;
  if (job->kernel == 2 && job->relu)
    grad_2(job, begin, end, true);
  else if (job->kernel == 2)
    grad_2(job, begin, end, false);
  else if (job->relu)
    grad_3(job, begin, end, true);
  else
    grad_3(job, begin, end, false);
}

void VNAME(nw_pool_grad)(const NwPooling *job)
{
  nw_parallel(job->planes, 1, grad_body, (void *)(uintptr_t)job);
}
