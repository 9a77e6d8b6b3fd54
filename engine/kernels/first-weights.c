/* Weight gradient of a layer that reads 1 to 8 plain channels. Pictures are copied once with zeros around
 * them, so no loop knows borders. Each picture sums on its own and pictures are added in order: the result
 * does not depend on the number of threads. */
#include "engine/base/threads.h"
#include "engine/kernels/kernels-internal.h"

/* Taps × blocks of a register tile: 12 sums, enough to hide the latency of an addition. */
enum { MOST_TAPS = 8 * 7 * 7, MOST = 12, FEW = 3 };

typedef struct Plan {
  const NwFirstWeights *job;
  int64_t row, rows, plane, taps, blocks, each; /* of the padded picture; floats of sums of a picture */
  float *padded, *sums;
} Plan;

static Plan plan_of(const NwFirstWeights *job)
{
  Plan p = {.job = job};
  p.row = job->w + 2 * job->padding + job->stride;
  p.rows = job->h + 2 * job->padding;
  p.plane = p.row * p.rows;
  p.taps = job->kernel * job->kernel * job->ci;
  p.blocks = (job->co + VLEN - 1) / VLEN;
  p.each = (p.taps + 1) * p.blocks * VLEN; /* the last tap is a constant one: the bias */
  p.padded = job->scratch;
  p.sums = job->scratch + (job->threads * job->ci * p.plane + 15) / 16 * 16;
  return p;
}

size_t VNAME(nw_first_weights_scratch)(const NwFirstWeights *job)
{
  Plan p = plan_of(job);
  return (size_t)((job->threads * job->ci * p.plane + 15) / 16 * 16 + job->n * p.each);
}

static void pad(const Plan *p, int64_t n, float *to)
{
  const NwFirstWeights *job = p->job;
  for (int64_t c = 0; c < job->ci; c++)
    for (int64_t i = 0; i < job->h; i++)
      memcpy(to + c * p->plane + (i + job->padding) * p->row + job->padding,
             job->x + ((n * job->ci + c) * job->h + i) * job->w, (size_t)job->w * sizeof *to);
}

/* `taps` taps × `blocks` blocks out over rows [0, rows) of dy. */
VINLINE void sum_taps(const Plan *p, const float *x, const int64_t *offset, const float *dy, int64_t rows,
                      float *sums, const int taps, const int blocks)
{
  const NwFirstWeights *job = p->job;
  int64_t next = job->oh * job->ow * VLEN, stride = job->stride;
  vf sum[MOST][4];
  for (int t = 0; t < taps; t++)
    for (int b = 0; b < blocks; b++)
      sum[t][b] = vload(sums + (b * (p->taps + 1) + t) * VLEN);
  for (int64_t r = 0; r < rows; r++, x += stride * p->row, dy += job->ow * VLEN) {
    const float *d = dy;
    for (int64_t j = 0; j < job->ow; j++, d += VLEN) {
      vf e[4];
      for (int b = 0; b < blocks; b++)
        e[b] = vload(d + b * next);
      VUNROLL(12) for (int t = 0; t < taps; t++)
      {
        vf s = vset(x[offset[t] + j * stride]);
        for (int b = 0; b < blocks; b++)
          sum[t][b] = vfma(s, e[b], sum[t][b]);
      }
    }
  }
  for (int t = 0; t < taps; t++)
    for (int b = 0; b < blocks; b++)
      vstore(sums + (b * (p->taps + 1) + t) * VLEN, sum[t][b]);
}

VINLINE void sum_bias(const float *dy, int64_t count, float *sums)
{
  vf sum = vload(sums);
  for (int64_t i = 0; i < count; i++, dy += VLEN)
    sum = vadd(sum, vload(dy));
  vstore(sums, sum);
}

/* Sums of `blocks` blocks over a picture, in pieces of rows that stay in the first-level cache. */
VINLINE void sum_blocks(const Plan *p, const float *x, const int64_t *offset, const float *dy, float *sums,
                        const int blocks)
{
  const NwFirstWeights *job = p->job;
  int64_t next = job->oh * job->ow * VLEN, step = 16384 / (job->ow * VLEN * blocks * 4);
  step = step < 1 ? 1 : step;
  for (int64_t y = 0; y < job->oh; y += step) {
    int64_t rows = job->oh - y < step ? job->oh - y : step, t = 0;
    const float *from = x + y * job->stride * p->row, *d = dy + y * job->ow * VLEN;
    for (; t + MOST / blocks <= p->taps; t += MOST / blocks)
      sum_taps(p, from, offset + t, d, rows, sums + t * VLEN, MOST / blocks, blocks);
    for (; blocks < 4 && t + FEW <= p->taps; t += FEW)
      sum_taps(p, from, offset + t, d, rows, sums + t * VLEN, FEW, blocks);
    for (; t < p->taps; t++)
      sum_taps(p, from, offset + t, d, rows, sums + t * VLEN, 1, blocks);
    for (int b = 0; b < blocks && job->dbias != NULL; b++)
      sum_bias(d + b * next, rows * job->ow, sums + (b * (p->taps + 1) + p->taps) * VLEN);
  }
}

static void pictures_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  const NwFirstWeights *job = p->job;
  int64_t offset[MOST_TAPS], dy_block = job->oh * job->ow * VLEN;
  (void)thread;
  for (int64_t t = 0; t < p->taps; t++) { /* in torch's order */
    int64_t k = t % (job->kernel * job->kernel);
    offset[t] = t / (job->kernel * job->kernel) * p->plane + k / job->kernel * p->row + k % job->kernel;
  }
  for (int64_t worker = begin; worker < end; worker++) {
    float *x = p->padded + worker * job->ci * p->plane;
    memset(x, 0, (size_t)(job->ci * p->plane) * sizeof *x);
    for (int64_t n = job->n * worker / job->threads; n < job->n * (worker + 1) / job->threads; n++) {
      float *sums = p->sums + n * p->each;
      const float *dy = job->dy + n * p->blocks * dy_block;
      memset(sums, 0, (size_t)p->each * sizeof *sums);
      pad(p, n, x);
      int64_t b = 0;
      for (; b + 4 <= p->blocks; b += 4)
        sum_blocks(p, x, offset, dy + b * dy_block, sums + b * (p->taps + 1) * VLEN, 4);
      for (; b + 2 <= p->blocks; b += 2)
        sum_blocks(p, x, offset, dy + b * dy_block, sums + b * (p->taps + 1) * VLEN, 2);
      for (; b < p->blocks; b++)
        sum_blocks(p, x, offset, dy + b * dy_block, sums + b * (p->taps + 1) * VLEN, 1);
    }
  }
}

static void add_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  (void)thread;
  for (int64_t b = begin; b < end; b++)
    for (int64_t t = 0; t <= p->taps; t++) {
      int64_t at = (b * (p->taps + 1) + t) * VLEN;
      float lanes[VLEN];
      vf sum = vzero();
      for (int64_t n = 0; n < p->job->n; n++)
        sum = vadd(sum, vload(p->sums + n * p->each + at));
      vstore(lanes, sum);
      for (int l = 0; l < VLEN && b * VLEN + l < p->job->co; l++)
        if (t < p->taps)
          p->job->dweight[(b * VLEN + l) * p->taps + t] = lanes[l];
        else if (p->job->dbias != NULL)
          p->job->dbias[b * VLEN + l] = lanes[l];
    }
}

void VNAME(nw_first_weights)(const NwFirstWeights *job)
{
  Plan p = plan_of(job);
  nw_parallel(job->threads, 1, pictures_body, &p);
  nw_parallel(p.blocks, 1, add_body, &p);
}
