/* Convolutions of few channels, where blocks of channels in would be mostly padding: any filter and stride, x
 * plain or in blocks, y in blocks; also the gradient of the picture where the stride is 1, which is such a
 * convolution of dy with turned filters. Each picture is copied once into planes with zeros around them, so
 * no loop knows borders or layouts. Numbers are summed in one fixed order: results do not depend on the
 * number of threads. */
#include "engine/base/threads.h"
#include "engine/kernels/kernels-internal.h"

enum { MOST = 12 }; /* columns of a tile × blocks of channels: sums that stay in registers */

typedef struct Plan {
  const NwDirect *job;
  int64_t row, plane, taps, blocks, slices; /* of the padded picture; pieces of rows a picture is cut into */
  float *filters, *bias, *padded;
} Plan;

static Plan plan_of(const NwDirect *job)
{
  Plan p = {.job = job};
  int64_t wide = job->w + 2 * job->pw, tile = (MOST - 1) * job->stride + job->kw;
  p.row = wide > tile ? wide : tile; /* the only tile of a narrow picture reads past it */
  p.plane = p.row * (job->h + 2 * job->ph);
  p.taps = job->ci * job->kh * job->kw;
  p.blocks = (job->co + VLEN - 1) / VLEN;
  p.slices = job->n >= job->threads ? 1 : job->threads;
  p.filters = job->scratch;
  p.bias = p.filters + p.blocks * p.taps * VLEN;
  p.padded = p.bias + p.blocks * VLEN;
  return p;
}

size_t VNAME(nw_direct_scratch)(const NwDirect *job)
{
  Plan p = plan_of(job);
  return (size_t)(p.blocks * (p.taps + 1) * VLEN + job->threads * job->ci * p.plane);
}

/* Filters as the tiles read them: block, tap, channel of the block; channels past the last are zero. */
static void pack(const Plan *p)
{
  const NwDirect *job = p->job;
  int64_t area = job->kh * job->kw;
  memset(p->filters, 0, (size_t)(p->blocks * (p->taps + 1) * VLEN) * sizeof(float));
  for (int64_t o = 0; o < job->co; o++) {
    float *to = p->filters + o / VLEN * p->taps * VLEN + o % VLEN;
    for (int64_t c = 0; c < job->ci; c++)
      for (int64_t k = 0; k < area; k++)
        to[(c * area + k) * VLEN] = job->back ? job->weight[(c * job->co + o) * area + area - 1 - k]
                                              : job->weight[(o * job->ci + c) * area + k];
    p->bias[o] = job->bias != NULL ? job->bias[o] : 0;
  }
}

/* Rows [from, to) of the padded picture n into planes. */
static void pad(const Plan *p, int64_t n, int64_t from, int64_t to, float *planes)
{
  const NwDirect *job = p->job;
  for (int64_t c = 0; c < job->ci; c++)
    for (int64_t r = from; r < to; r++) {
      float *line = planes + c * p->plane + r * p->row;
      int64_t i = r - job->ph, blocks = (job->ci + VLEN - 1) / VLEN;
      memset(line, 0, (size_t)p->row * sizeof *line);
      if (i < 0 || i >= job->h)
        continue;
      line += job->pw;
      if (!job->blocked) {
        memcpy(line, job->x + ((n * job->ci + c) * job->h + i) * job->w, (size_t)job->w * sizeof *line);
        continue;
      }
      const float *x = job->x + (((n * blocks + c / VLEN) * job->h + i) * job->w) * VLEN + c % VLEN;
      for (int64_t j = 0; j < job->w; j++)
        line[j] = x[j * VLEN];
    }
}

/* `columns` columns × `blocks` blocks of row r from column j on. */
VINLINE void tile(const Plan *p, const float *planes, int64_t block, int64_t r, int64_t j, float *y,
                  const int columns, const int blocks, const int64_t stride)
{
  const NwDirect *job = p->job;
  int64_t next = job->oh * job->ow * VLEN, filter = p->taps * VLEN;
  const float *f = p->filters + block * filter;
  vf sum[MOST][2];
  for (int b = 0; b < blocks; b++)
    for (int q = 0; q < columns; q++)
      sum[q][b] = vload(p->bias + (block + b) * VLEN);
  for (int64_t c = 0; c < job->ci; c++)
    for (int64_t k = 0; k < job->kh; k++) {
      const float *x = planes + c * p->plane + (r * stride + k) * p->row + j * stride;
      for (int64_t l = 0; l < job->kw; l++, x++, f += VLEN) {
        vf w[2];
        for (int b = 0; b < blocks; b++)
          w[b] = vload(f + b * filter);
        VUNROLL(12) for (int q = 0; q < columns; q++)
        {
          vf s = vset(x[q * stride]);
          for (int b = 0; b < blocks; b++)
            sum[q][b] = vfma(s, w[b], sum[q][b]);
        }
      }
    }
  int64_t there = job->ow - j < columns ? job->ow - j : columns;
  for (int b = 0; b < blocks; b++)
    for (int q = 0; q < columns; q++)
      if (q < there)
        vstore(y + b * next + (j + q) * VLEN, job->relu ? vmax(vzero(), sum[q][b]) : sum[q][b]);
}

/* A row in tiles; the last one reaches back over numbers that are there already, rather than past the end. */
VINLINE void row_tiles(const Plan *p, const float *planes, int64_t block, int64_t r, float *y,
                       const int columns, const int blocks)
{
  int64_t ow = p->job->ow;
  for (int64_t j = 0; j < ow; j += columns) {
    int64_t at = j + columns > ow && ow >= columns ? ow - columns : j;
    if (p->job->stride == 1)
      tile(p, planes, block, r, at, y, columns, blocks, 1);
    else if (p->job->stride == 2)
      tile(p, planes, block, r, at, y, columns, blocks, 2);
    else
      tile(p, planes, block, r, at, y, columns, blocks, p->job->stride);
  }
}

/* Columns of a tile of one block: as few as possible computed twice, and enough sums to hide an addition's
 * latency. */
static int columns_for(int64_t ow, const int *choices, int count, int blocks)
{
  int64_t best = 0;
  int chosen = 0;
  for (int i = 0; i < count; i++) {
    int64_t work = (ow + choices[i] - 1) / choices[i] * (choices[i] * blocks < 8 ? 8 : choices[i] * blocks);
    if (chosen == 0 || work < best) {
      best = work;
      chosen = choices[i];
    }
  }
  return chosen;
}

static void rows_of_one(const Plan *p, const float *planes, int64_t block, int64_t r, float *y)
{
  static const int choices[] = {12, 10, 8, 7};
  switch (columns_for(p->job->ow, choices, 4, 1)) {
  case 12:
    row_tiles(p, planes, block, r, y, 12, 1);
    break;
  case 10:
    row_tiles(p, planes, block, r, y, 10, 1);
    break;
  case 8:
    row_tiles(p, planes, block, r, y, 8, 1);
    break;
  default:
    row_tiles(p, planes, block, r, y, 7, 1);
  }
}

static void rows_of_two(const Plan *p, const float *planes, int64_t block, int64_t r, float *y)
{
  static const int choices[] = {6, 5, 4};
  switch (columns_for(p->job->ow, choices, 3, 2)) {
  case 6:
    row_tiles(p, planes, block, r, y, 6, 2);
    break;
  case 5:
    row_tiles(p, planes, block, r, y, 5, 2);
    break;
  default:
    row_tiles(p, planes, block, r, y, 4, 2);
  }
}

static void body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  const NwDirect *job = p->job;
  int64_t units = job->n * p->slices, next = job->oh * job->ow * VLEN;
  (void)thread;
  for (int64_t worker = begin; worker < end; worker++) {
    float *planes = p->padded + worker * job->ci * p->plane;
    for (int64_t u = units * worker / job->threads; u < units * (worker + 1) / job->threads; u++) {
      int64_t n = u / p->slices, slice = u % p->slices;
      int64_t from = job->oh * slice / p->slices, to = job->oh * (slice + 1) / p->slices;
      if (from == to)
        continue;
      pad(p, n, from * job->stride, (to - 1) * job->stride + job->kh, planes);
      for (int64_t r = from; r < to; r++) {
        float *y = job->y + n * p->blocks * next + r * job->ow * VLEN;
        int64_t b = 0;
        for (; b + 2 <= p->blocks; b += 2)
          rows_of_two(p, planes, b, r, y + b * next);
        for (; b < p->blocks; b++)
          rows_of_one(p, planes, b, r, y + b * next);
      }
    }
  }
}

void VNAME(nw_direct)(const NwDirect *job)
{
  Plan p = plan_of(job);
  pack(&p);
  nw_parallel(job->threads, 1, body, &p);
}
