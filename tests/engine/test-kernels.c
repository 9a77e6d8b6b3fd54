/* Own kernels against loops that anyone can check by eye, each instruction set that this machine has and the
 * 16-wide code in plain C (Winograd: test-winograd.c). Every buffer ends (or begins) at a page that may not
 * be touched, outputs and scratch memory begin as NaN, and padding channels hold NaN: what is read or left
 * out by mistake shows. */
#include <glib.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/machine.h"
#include "engine/kernels/kernels.h"

extern const NwKernels nw_kernels_plain16;

/* ---- memory ---- */
typedef struct Guarded {
  void *map;
  size_t size;
} Guarded;

static GArray *maps;
static gboolean at_end = TRUE; /* where the data meet the forbidden page */

static void *guarded(size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (bytes + page - 1) / page * page;
  Guarded g = {.size = body + 2 * page};
  g.map = mmap(NULL, g.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_assert_true(g.map != MAP_FAILED);
  char *data = (char *)g.map + page;
  g_assert_cmpint(mprotect(g.map, page, PROT_NONE), ==, 0);
  g_assert_cmpint(mprotect(data + body, page, PROT_NONE), ==, 0);
  g_array_append_val(maps, g);
  return at_end ? data + body - bytes : data;
}

static float *floats(size_t n)
{
  float *f = guarded(n * sizeof *f);
  for (size_t i = 0; i < n; i++)
    f[i] = NAN;
  return f;
}

static void forget(void)
{
  for (guint i = 0; i < maps->len; i++)
    munmap(g_array_index(maps, Guarded, i).map, g_array_index(maps, Guarded, i).size);
  g_array_set_size(maps, 0);
}

/* ---- numbers ---- */
static GRand *dice;

static float *random_floats(int64_t n)
{
  float *f = g_new(float, n);
  for (int64_t i = 0; i < n; i++)
    f[i] = (float)g_rand_double_range(dice, -1, 1);
  return f;
}

/* n × c × area plain → blocks of lanes, padding NaN; into guarded memory. */
static float *to_blocks(const float *plain, int64_t n, int64_t c, int64_t area, int lanes)
{
  int64_t blocks = (c + lanes - 1) / lanes;
  float *to = floats((size_t)(n * blocks * area * lanes));
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < c; k++)
      for (int64_t a = 0; a < area; a++)
        to[((i * blocks + k / lanes) * area + a) * lanes + k % lanes] = plain[(i * c + k) * area + a];
  return to;
}

static float *from_blocks(const float *blocked, int64_t n, int64_t c, int64_t area, int lanes)
{
  int64_t blocks = (c + lanes - 1) / lanes;
  float *to = g_new(float, n *c *area);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < c; k++)
      for (int64_t a = 0; a < area; a++)
        to[(i * c + k) * area + a] = blocked[((i * blocks + k / lanes) * area + a) * lanes + k % lanes];
  return to;
}

static float *copy(const float *from, int64_t n)
{
  float *to = floats((size_t)n);
  memcpy(to, from, (size_t)n * sizeof *to);
  return to;
}

/* Both the whole and the worst number: a single wrong tile must not drown in the sum. */
static void assert_near(const float *ours, const double *reference, int64_t n, double most, const char *what)
{
  double wrong = 0, all = 0, worst = 0, greatest = 0;
  for (int64_t i = 0; i < n; i++) {
    double d = ours[i] - reference[i];
    if (!isfinite(d))
      g_error("%s: number %lld of %lld is %g", what, (long long)i, (long long)n, (double)ours[i]);
    wrong += d * d;
    all += reference[i] * reference[i];
    worst = fmax(worst, fabs(d));
    greatest = fmax(greatest, fabs(reference[i]));
  }
  if (sqrt(wrong) > most * sqrt(all) || worst > 4 * most * greatest)
    g_error("%s: error %g, worst %g", what, sqrt(wrong / all), worst / greatest);
}

/* ---- the loops ---- */
typedef struct Shape {
  int64_t n, ci, co, h, w, kernel, stride, padding, oh, ow;
} Shape;

static Shape shape_of(int64_t n, int64_t ci, int64_t co, int64_t h, int64_t w, int64_t kernel, int64_t stride,
                      int64_t padding)
{
  return (Shape){n,
                 ci,
                 co,
                 h,
                 w,
                 kernel,
                 stride,
                 padding,
                 (h + 2 * padding - kernel) / stride + 1,
                 (w + 2 * padding - kernel) / stride + 1};
}

static double *weight_gradient(const Shape *s, const float *x, const float *dy)
{
  double *sum = g_new0(double, s->co * s->ci * s->kernel * s->kernel);
  for (int64_t n = 0; n < s->n; n++)
    for (int64_t o = 0; o < s->co; o++)
      for (int64_t c = 0; c < s->ci; c++)
        for (int64_t tap = 0; tap < s->kernel * s->kernel; tap++)
          for (int64_t at = 0; at < s->oh * s->ow; at++) {
            int64_t r = at / s->ow * s->stride - s->padding + tap / s->kernel;
            int64_t l = at % s->ow * s->stride - s->padding + tap % s->kernel;
            if (r >= 0 && r < s->h && l >= 0 && l < s->w)
              sum[(o * s->ci + c) * s->kernel * s->kernel + tap] +=
                  (double)dy[(n * s->co + o) * s->oh * s->ow + at] *
                  x[((n * s->ci + c) * s->h + r) * s->w + l];
          }
  return sum;
}

static double *sum_channels(const Shape *s, const float *dy)
{
  double *sum = g_new0(double, s->co);
  for (int64_t i = 0; i < s->n * s->co; i++)
    for (int64_t a = 0; a < s->oh * s->ow; a++)
      sum[i % s->co] += dy[i * s->oh * s->ow + a];
  return sum;
}

/* ---- first layer ---- */
/* Every table this machine can run, and the 16-wide code in plain C. */
static const NwKernels *table_at(int i)
{
  return i < 3 ? nw_kernels_of((NwIsa)i) : i == 3 ? &nw_kernels_plain16 : NULL;
}
enum { TABLES = 4 };

static void check_first(const NwKernels *k, const Shape *s, const float *x, const float *dy,
                        const double *reference, const double *bias_reference)
{
  int64_t count = s->co * s->ci * s->kernel * s->kernel;
  float *dweight[3], *dbias[3];
  for (int run = 0; run < 3; run++) { /* 1, 2 and 3 workers: the same numbers, bit for bit */
    at_end = run != 1;
    NwFirstWeights job = {s->n,  s->ci,     s->co,     s->h,       s->w,   s->oh,
                          s->ow, s->kernel, s->stride, s->padding, run + 1};
    job.x = copy(x, s->n * s->ci * s->h * s->w);
    job.dy = to_blocks(dy, s->n, s->co, s->oh * s->ow, k->lanes);
    job.dweight = dweight[run] = floats((size_t)count);
    job.dbias = dbias[run] = floats((size_t)s->co);
    job.scratch = floats(k->first_weights_scratch(&job));
    k->first_weights(&job);
    g_assert_cmpmem(dweight[0], (size_t)count * 4, dweight[run], (size_t)count * 4);
    g_assert_cmpmem(dbias[0], (size_t)s->co * 4, dbias[run], (size_t)s->co * 4);
  }
  g_autofree char *what =
      g_strdup_printf("%s, first layer, %lld × %lld→%lld @ %lld×%lld, kernel %lld, stride %lld, padding %lld",
                      k->name, (long long)s->n, (long long)s->ci, (long long)s->co, (long long)s->h,
                      (long long)s->w, (long long)s->kernel, (long long)s->stride, (long long)s->padding);
  assert_near(dweight[0], reference, count, 1e-5, what);
  assert_near(dbias[0], bias_reference, s->co, 1e-5, what);
  forget();
}

static void test_first(void)
{
  /* n, ci, co, h, w, kernel, stride, padding */
  static const int64_t sizes[][8] = {
      {1, 1, 1, 1, 1, 1, 1, 0},    {2, 1, 32, 28, 28, 3, 1, 1}, {3, 3, 6, 11, 13, 5, 1, 2},
      {2, 3, 35, 17, 16, 7, 2, 3}, {2, 6, 16, 14, 14, 5, 1, 0}, {1, 7, 40, 9, 8, 3, 1, 1},
      {1, 4, 16, 9, 10, 3, 2, 1},  {2, 2, 64, 8, 7, 3, 1, 0},   {1, 3, 17, 1, 1, 3, 1, 1},
      {2, 1, 10, 7, 7, 7, 1, 0},   {1, 4, 96, 7, 31, 5, 2, 0},  {1, 3, 12, 70, 90, 3, 1, 1}};
  for (size_t at = 0; at < G_N_ELEMENTS(sizes); at++) {
    const int64_t *z = sizes[at];
    Shape s = shape_of(z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7]);
    g_autofree float *x = random_floats(s.n * s.ci * s.h * s.w),
                     *dy = random_floats(s.n * s.co * s.oh * s.ow);
    g_autofree double *reference = weight_gradient(&s, x, dy), *bias = sum_channels(&s, dy);
    for (int i = 0; i < TABLES; i++)
      if (table_at(i) != NULL)
        check_first(table_at(i), &s, x, dy, reference, bias);
  }
}

/* ---- few channels ---- */
static double *convolved(const Shape *s, const float *x, const float *weight, const float *bias,
                         gboolean relu)
{
  double *y = g_new0(double, s->n * s->co * s->oh * s->ow);
  for (int64_t i = 0; i < s->n * s->co * s->oh * s->ow; i++) {
    int64_t j = i % s->ow, r = i / s->ow % s->oh, o = i / s->ow / s->oh % s->co,
            n = i / s->ow / s->oh / s->co;
    double sum = bias != NULL ? bias[o] : 0;
    for (int64_t c = 0; c < s->ci; c++)
      for (int64_t tap = 0; tap < s->kernel * s->kernel; tap++) {
        int64_t a = r * s->stride - s->padding + tap / s->kernel,
                b = j * s->stride - s->padding + tap % s->kernel;
        if (a >= 0 && a < s->h && b >= 0 && b < s->w)
          sum += (double)weight[(o * s->ci + c) * s->kernel * s->kernel + tap] *
                 x[((n * s->ci + c) * s->h + a) * s->w + b];
      }
    y[i] = relu && sum < 0 ? 0 : sum;
  }
  return y;
}

/* dx of a stride of 1, tap by tap from where each number went. */
static double *picture_gradient(const Shape *s, const float *dy, const float *weight)
{
  double *dx = g_new0(double, s->n * s->ci * s->h * s->w);
  for (int64_t i = 0; i < s->n * s->co * s->oh * s->ow; i++) {
    int64_t j = i % s->ow, r = i / s->ow % s->oh, o = i / s->ow / s->oh % s->co,
            n = i / s->ow / s->oh / s->co;
    for (int64_t c = 0; c < s->ci; c++)
      for (int64_t tap = 0; tap < s->kernel * s->kernel; tap++) {
        int64_t a = r - s->padding + tap / s->kernel, b = j - s->padding + tap % s->kernel;
        if (a >= 0 && a < s->h && b >= 0 && b < s->w)
          dx[((n * s->ci + c) * s->h + a) * s->w + b] +=
              (double)weight[(o * s->ci + c) * s->kernel * s->kernel + tap] * dy[i];
      }
  }
  return dx;
}

/* 1 and 3 workers, x plain and in blocks: the same numbers, bit for bit; channels past the last are zero. */
static void check_direct(const NwKernels *k, const NwDirect *like, const float *x, const double *reference,
                         const char *kind)
{
  int64_t area = like->oh * like->ow, count = like->n * like->co * area;
  int64_t blocks = (like->co + k->lanes - 1) / k->lanes;
  g_autofree char *what =
      g_strdup_printf("%s, %s, %lld × %lld→%lld @ %lld×%lld", k->name, kind, (long long)like->n,
                      (long long)like->ci, (long long)like->co, (long long)like->h, (long long)like->w);
  g_autofree float *first = NULL;
  for (int run = 0; run < 4; run++) {
    at_end = run != 1;
    NwDirect job = *like;
    job.threads = run % 2 == 0 ? 1 : 3;
    job.blocked = run >= 2;
    job.x = job.blocked ? to_blocks(x, job.n, job.ci, job.h * job.w, k->lanes)
                        : copy(x, job.n * job.ci * job.h * job.w);
    job.y = floats((size_t)(job.n * blocks * area * k->lanes));
    job.scratch = floats(k->direct_scratch(&job));
    k->direct(&job);
    for (int64_t i = 0; i < job.n * blocks * area * k->lanes; i++)
      if (i / k->lanes / area % blocks * k->lanes + i % k->lanes >= job.co)
        g_assert_cmpfloat(job.y[i], ==, 0);
    g_autofree float *y = from_blocks(job.y, job.n, job.co, area, k->lanes);
    assert_near(y, reference, count, 1e-5, what);
    if (first == NULL)
      first = g_memdup2(y, (gsize)count * sizeof *y);
    g_assert_cmpmem(first, (size_t)count * 4, y, (size_t)count * 4);
  }
  forget();
}

static void test_direct(void)
{
  /* n, ci, co, h, w, kernel, stride, padding */
  static const int64_t sizes[][8] = {
      {1, 1, 1, 1, 1, 1, 1, 0},   {2, 6, 16, 14, 14, 5, 1, 0}, {3, 3, 6, 11, 13, 5, 1, 2},
      {1, 7, 35, 9, 25, 3, 1, 1}, {2, 5, 40, 8, 7, 3, 1, 2},   {4, 2, 17, 1, 3, 3, 1, 1},
      {1, 4, 96, 7, 31, 5, 2, 0}, {2, 3, 64, 19, 22, 7, 2, 3}, {1, 1, 12, 12, 30, 3, 3, 0}};
  for (size_t at = 0; at < G_N_ELEMENTS(sizes); at++) {
    const int64_t *z = sizes[at];
    Shape s = shape_of(z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7]);
    g_autofree float *x = random_floats(s.n * s.ci * s.h * s.w),
                     *dy = random_floats(s.n * s.co * s.oh * s.ow);
    g_autofree float *weight = random_floats(s.co * s.ci * s.kernel * s.kernel), *bias = random_floats(s.co);
    g_autofree double *y = convolved(&s, x, weight, bias, TRUE), *dx = picture_gradient(&s, dy, weight);
    NwDirect forward = {s.n,  s.ci,     s.co,     s.h,       s.w,       s.oh,
                        s.ow, s.kernel, s.kernel, s.padding, s.padding, s.stride};
    int64_t back_padding = s.kernel - 1 - s.padding;
    NwDirect back = {s.n, s.co,     s.ci,     s.oh,         s.ow,         s.h,
                     s.w, s.kernel, s.kernel, back_padding, back_padding, 1};
    forward.relu = back.back = true;
    forward.weight = back.weight = weight;
    forward.bias = bias;
    for (int i = 0; i < TABLES; i++)
      if (table_at(i) != NULL) {
        check_direct(table_at(i), &forward, x, y, "few channels");
        if (s.stride == 1)
          check_direct(table_at(i), &back, dy, dx, "few channels, gradient");
      }
  }
}

/* ---- pooling ---- */
/* Window (i, j)'s winner by a plain loop: the first of the greatest, a NaN before all. */
static float winner(const float *x, int64_t h, int64_t w, int64_t i, int64_t j, int64_t kernel, int *index)
{
  int64_t padding = kernel == 3;
  float best = -INFINITY;
  *index = -1;
  for (int64_t a = 0; a < kernel; a++)
    for (int64_t b = 0; b < kernel; b++) {
      int64_t r = 2 * i - padding + a, s = 2 * j - padding + b;
      if (r < 0 || s < 0 || r >= h || s >= w)
        continue;
      float v = x[r * w + s];
      if (*index < 0 || v > best || isnan(v)) {
        best = v;
        *index = (int)(a * kernel + b);
      }
    }
  return best;
}

static void check_pool(const NwKernels *k, int64_t h, int64_t w, int64_t kernel, gboolean relu)
{
  enum { PLANES = 5 };
  int lanes = k->lanes;
  int64_t p = kernel == 3, oh = (h + 2 * p - kernel) / 2 + 1, ow = (w + 2 * p - kernel) / 2 + 1,
          c = PLANES * lanes;
  g_autofree float *x = random_floats(c * h * w), *dy = random_floats(c * oh * ow);
  for (int64_t i = 0; i < c * h * w; i++) /* ties, and planes without a positive number */
    x[i] = roundf(x[i] * 4) / 4 - (i / (h * w) % 3 == 0 ? 1 : 0);
  x[h * w / 2] = -INFINITY;
  x[(c - 1) * h * w] = NAN;
  g_autofree double *dx = g_new0(double, c *h *w);
  NwPooling job = {PLANES, h, w, oh, ow, kernel};
  job.x = to_blocks(x, 1, c, h * w, lanes);
  float *y = job.y = floats((size_t)(c * oh * ow));
  uint8_t *index = job.index_out = guarded((size_t)(c * oh * ow));
  k->pool(&job);
  job.index_out = NULL; /* inference keeps none */
  job.y = floats((size_t)(c * oh * ow));
  k->pool(&job);
  g_assert_cmpmem(y, (size_t)(c * oh * ow) * 4, job.y, (size_t)(c * oh * ow) * 4);
  for (int64_t plane = 0; plane < c; plane++)
    for (int64_t i = 0; i < oh; i++)
      for (int64_t j = 0; j < ow; j++) {
        int place, lane = (int)(plane % lanes);
        int64_t at = ((plane / lanes * oh + i) * ow + j) * lanes + lane;
        float best = winner(x + plane * h * w, h, w, i, j, kernel, &place);
        g_assert_true(y[at] == best || (isnan(y[at]) && isnan(best)));
        g_assert_cmpint(index[at] & 0x7f, ==, place);
        g_assert_cmpint(index[at] >> 7, ==, !(best > 0));
        if (!relu || best > 0)
          dx[(plane * h + 2 * i - p + place / kernel) * w + 2 * j - p + place % kernel] +=
              dy[(plane * oh + i) * ow + j];
      }
  job = (NwPooling){PLANES, h, w, oh, ow, kernel, relu};
  job.x = to_blocks(dy, 1, c, oh * ow, lanes);
  job.y = floats((size_t)(c * h * w));
  job.index = index;
  k->pool_grad(&job);
  g_autofree float *plain = from_blocks(job.y, 1, c, h * w, lanes);
  g_autofree char *what = g_strdup_printf("%s, gradient of pooling %lld, %lld×%lld", k->name,
                                          (long long)kernel, (long long)h, (long long)w);
  assert_near(plain, dx, c * h * w, 1e-6, what);
  forget();
}

static void test_pool(void)
{
  static const int64_t sizes[][2] = {{2, 2},   {3, 3},   {2, 5}, {5, 2}, {8, 8}, {7, 9},
                                     {12, 11}, {28, 28}, {1, 1}, {1, 6}, {4, 1}};
  for (int i = 0; i < TABLES; i++)
    for (size_t at = 0; at < G_N_ELEMENTS(sizes) && table_at(i) != NULL; at++)
      for (int way = 0; way < 4; way++) {
        int64_t h = sizes[at][0], w = sizes[at][1], kernel = 2 + way / 2;
        at_end = (at + (size_t)way) % 2 == 0;
        if (kernel == 3 || (h > 1 && w > 1))
          check_pool(table_at(i), h, w, kernel, way % 2 == 1);
      }
}

/* ---- Adam ---- */
static void test_adam(void)
{
  enum { MOST = 67 };
  for (int i = 0; i < TABLES; i++)
    for (int64_t n = 1; n < MOST && table_at(i) != NULL; n++) {
      g_autofree float *param = random_floats(n), *grad = random_floats(n), *mean = random_floats(n);
      g_autofree float *square = random_floats(n);
      g_autofree double *reference = g_new(double, 3 * n);
      float *ours = floats((size_t)(3 * n)), *p = copy(param, n), *m = copy(mean, n), *v;
      for (int64_t k = 0; k < n; k++)
        square[k] = fabsf(square[k]);
      v = copy(square, n);
      NwAdamStep s = {.999f, .01f, .9f, .999f, .1f, .001f, .02f, .3f, 1e-8f, p, m, v, copy(grad, n)};
      int64_t begin = n / 3, end = n - n / 5; /* a thread's piece; the rest stays as it is */
      table_at(i)->adam(&s, begin, end);
      for (int64_t k = 0; k < n; k++) {
        double shrunk = param[k] * (double)s.shrink, g = grad[k] + s.decay * shrunk;
        double m1 = s.beta1 * (double)mean[k] + s.rest1 * g,
               v1 = s.beta2 * (double)square[k] + s.rest2 * g * g;
        gboolean inside = k >= begin && k < end;
        reference[k] = inside ? shrunk - s.size * m1 / (sqrt(v1) / s.root + s.eps) : param[k];
        reference[n + k] = inside ? m1 : mean[k];
        reference[2 * n + k] = inside ? v1 : square[k];
        ours[k] = p[k];
        ours[n + k] = m[k];
        ours[2 * n + k] = v[k];
      }
      for (int part = 0; part < 3; part++)
        assert_near(ours + part * n, reference + part * n, n, 1e-6, "Adam");
      forget();
    }
}

/* ---- which table ---- */
static void test_choice(void)
{
  static const int lanes[] = {8, 8, 16};
  g_assert_nonnull(nw_kernels_of(NW_ISA_PLAIN));
  g_assert_true(nw_kernels() == nw_kernels_of(nw_isa()));
  for (int isa = NW_ISA_PLAIN; isa <= NW_ISA_AVX512; isa++) {
    const NwKernels *k = nw_kernels_of((NwIsa)isa);
    if (isa > (int)nw_isa()) {
      g_assert_null(k); /* never one that the processor cannot run */
      continue;
    }
    g_assert_nonnull(k);
    g_assert_cmpint(k->lanes, ==, lanes[isa]);
    g_assert_cmpint(k->lanes, ==, nw_isa_lanes((NwIsa)isa));
    g_assert_cmpstr(k->name, ==, nw_isa_name((NwIsa)isa));
  }
}

static void test_all_sets(void)
{
  if (nw_kernels_of(NW_ISA_AVX512) == NULL)
    g_test_skip(
        "This processor has no AVX-512 (or NETWRIGHT_ISA forbids it): its kernels were compiled, and their "
        "16-wide code was run in plain C only");
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  maps = g_array_new(FALSE, FALSE, sizeof(Guarded));
  dice = g_rand_new_with_seed(3);
  g_test_add_func("/kernels/choice", test_choice);
  g_test_add_func("/kernels/first-layer", test_first);
  g_test_add_func("/kernels/few-channels", test_direct);
  g_test_add_func("/kernels/pooling", test_pool);
  g_test_add_func("/kernels/adam", test_adam);
  g_test_add_func("/kernels/avx512", test_all_sets);
  int status = g_test_run();
  g_rand_free(dice);
  g_array_free(maps, TRUE);
  return status;
}
