/* Winograd gradient of the weights: for each of 36 points dU[c][o] = Σ over tiles V[tile][c]·D[tile][o], then
 * dweight = Gᵀ·dU·G. While all of dU is small, every worker has chunks of tiles and a dU of its own, summed
 * in the order of workers at the end; else V and D are shared, and blocks of dU divided. */
#include "engine/base/threads.h"
#include "engine/kernels/kernels-internal.h"
#include "engine/kernels/winograd-transform.h"

typedef struct Plan {
  const NwWinogradWeights *job;
  int64_t c_blocks, o_blocks, tiles;
  int64_t chunk, chunks;
  int64_t c_group, o_group, c_groups, o_groups; /* blocks of channels of a part of dU; parts */
  int64_t v_step, d_step, u_step;               /* floats between point planes */
  int64_t v_size, d_size, u_size;               /* floats of V, D and all of dU */
  bool own;
  int64_t at, tasks; /* shared chunk in work */
} Plan;

static Plan plan_of(const NwWinogradWeights *job)
{
  Plan p = {.job = job, .c_blocks = job->ci / VLEN, .o_blocks = job->co / VLEN};
  p.tiles = job->n * ((job->h + 3) / 4) * ((job->w + 3) / 4);
  p.own = POINTS * job->ci * job->co * job->threads <= 4 << 20;
  int64_t wish = (p.own ? 2 << 20 : 24 << 20) / (POINTS * (job->ci + job->co) * 4);
  wish = at_most(wish < 48 ? 48 : wish, p.tiles);
  p.chunks = (p.tiles + wish - 1) / wish;
  if (p.own)
    p.chunks = round_up(p.chunks, job->threads);
  p.chunk = (p.tiles + p.chunks - 1) / p.chunks;
  p.chunks = (p.tiles + p.chunk - 1) / p.chunk;
  p.c_group = at_most(64 / VLEN, p.c_blocks);
  p.o_group = at_most(32 / VLEN, p.o_blocks);
  p.c_groups = (p.c_blocks + p.c_group - 1) / p.c_group;
  p.o_groups = (p.o_blocks + p.o_group - 1) / p.o_group;
  p.v_step = job->ci * p.chunk + PAD;
  p.d_step = job->co * p.chunk + PAD;
  p.u_step = p.c_group * p.o_group * VLEN * VLEN + PAD;
  p.v_size = round_up(POINTS * p.v_step, 16) + 16;
  p.d_size = round_up(POINTS * p.d_step, 16) + 16;
  p.u_size = p.c_groups * p.o_groups * POINTS * p.u_step;
  return p;
}

/* Each worker's sums of dy come last. */
static int64_t each_size(const Plan *p)
{
  return p->v_size + p->d_size + p->u_size;
}

static int64_t sums_at(const Plan *p)
{
  return p->own ? p->job->threads * each_size(p) : each_size(p);
}

size_t VNAME(nw_winograd_weights_scratch)(const NwWinogradWeights *job)
{
  Plan p = plan_of(job);
  return (size_t)(sums_at(&p) + job->threads * job->co);
}

/* ---- transforms ---- */
/* One 4×4 piece of a gradient → 36 vectors; sum gathers its numbers. */
VINLINE void gradient_tile(const float *q, int64_t w, int64_t rows, int64_t columns, float *d, int64_t step,
                           vf *sum)
{
  vf in[16], half[24], row[6];
  if (rows >= 4 && columns >= 4) {
    VUNROLL(4)
    for (int i = 0; i < 4; i++)
      VUNROLL(4) for (int j = 0; j < 4; j++) in[4 * i + j] = vload(q + (i * w + j) * VLEN);
  } else {
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++)
        in[4 * i + j] = i < rows && j < columns ? vload(q + (i * w + j) * VLEN) : vzero();
  }
  VUNROLL(4) for (int j = 0; j < 4; j++)
  {
    transform_gradient(in + j, 4, half + j, 4);
    *sum = vadd(*sum, vadd(vadd(in[j], in[4 + j]), vadd(in[8 + j], in[12 + j])));
  }
  VUNROLL(6) for (int i = 0; i < 6; i++)
  {
    transform_gradient(half + 4 * i, 1, row, 1);
    VUNROLL(6) for (int j = 0; j < 6; j++) vstore(d + (6 * i + j) * step, row[j]);
  }
}

static void pictures_in(const Plan *p, float *v, int64_t at, int64_t low, int64_t high, int64_t block)
{
  const NwWinogradWeights *job = p->job;
  Walk walk = walk_from(job->h, job->w, at + low);
  v += (block * p->chunk + low) * VLEN;
  for (int64_t t = low; t < high; t++, v += VLEN, walk_on(&walk))
    input_tile(job->x + (walk.n * p->c_blocks + block) * job->h * job->w * VLEN, job->h, job->w,
               4 * walk.ty - 1, 4 * walk.tx - 1, v, p->v_step, v + 2 * VLEN);
}

static void gradients_in(const Plan *p, float *d, float *sums, int64_t at, int64_t low, int64_t high,
                         int64_t block)
{
  const NwWinogradWeights *job = p->job;
  Walk walk = walk_from(job->h, job->w, at + low);
  vf sum = vload(sums + block * VLEN);
  d += (block * p->chunk + low) * VLEN;
  for (int64_t t = low; t < high; t++, d += VLEN, walk_on(&walk)) {
    int64_t y = 4 * walk.ty, x = 4 * walk.tx;
    gradient_tile(job->dy + (((walk.n * p->o_blocks + block) * job->h + y) * job->w + x) * VLEN, job->w,
                  job->h - y, job->w - x, d, p->d_step, &sum);
  }
  vstore(sums + block * VLEN, sum);
}

/* ---- products ---- */
VINLINE void multiply(const float *v, const float *d, int64_t d_next, int64_t tiles, float *u, int64_t u_row,
                      bool more, const int blocks)
{
  vf sum[VROWS_W][2];
  for (int r = 0; r < VROWS_W; r++)
    for (int b = 0; b < blocks; b++)
      sum[r][b] = more ? vload(u + r * u_row + b * VLEN) : vzero();
  VUNROLL(2) for (int64_t t = 0; t < tiles; t++, v += VLEN, d += VLEN)
  {
    vf w[2];
    for (int b = 0; b < blocks; b++)
      w[b] = vload(d + b * d_next);
    VUNROLL(8) for (int r = 0; r < VROWS_W; r++)
    {
      vf s = vset(v[r]);
      for (int b = 0; b < blocks; b++)
        sum[r][b] = vfma(s, w[b], sum[r][b]);
    }
  }
  for (int r = 0; r < VROWS_W; r++)
    for (int b = 0; b < blocks; b++)
      vstore(u + r * u_row + b * VLEN, sum[r][b]);
}

/* Part `task` of dU for one point: u is its [channel in][channel out]. */
static void part(const Plan *p, const float *v, const float *d, float *u, int64_t task, int64_t tiles,
                 bool more)
{
  int64_t c0 = task % p->c_groups * p->c_group, c1 = at_most(c0 + p->c_group, p->c_blocks);
  int64_t o0 = task / p->c_groups * p->o_group, o1 = at_most(o0 + p->o_group, p->o_blocks),
          row = p->o_group * VLEN;
  int64_t next = p->chunk * VLEN;
  for (int64_t o = o0; o < o1; o += 2)
    for (int64_t c = c0; c < c1; c++)
      for (int r = 0; r < VLEN; r += VROWS_W) {
        const float *vv = v + c * next + r, *dd = d + o * next;
        float *uu = u + ((c - c0) * VLEN + r) * row + (o - o0) * VLEN;
        if (o + 1 < o1)
          multiply(vv, dd, next, tiles, uu, row, more, 2);
        else
          multiply(vv, dd, next, tiles, uu, row, more, 1);
      }
}

/* Part `task` of dU → weights in torch's layout. */
static void weights_out(const Plan *p, const float *u, int64_t task)
{
  int64_t c0 = task % p->c_groups * p->c_group, c1 = at_most(c0 + p->c_group, p->c_blocks);
  int64_t o0 = task / p->c_groups * p->o_group, o1 = at_most(o0 + p->o_group, p->o_blocks),
          row = p->o_group * VLEN;
  for (int64_t o = o0; o < o1; o++)
    for (int64_t c = c0 * VLEN; c < c1 * VLEN; c++) {
      vf d[6], half[18], taps[3];
      float lanes[9][VLEN];
      const float *uu = u + (c - c0 * VLEN) * row + (o - o0) * VLEN;
      for (int j = 0; j < 6; j++) {
        for (int k = 0; k < 6; k++)
          d[k] = vload(uu + (6 * k + j) * p->u_step);
        transform_filter_gradient(d, half + j, 6);
      }
      for (int i = 0; i < 3; i++) {
        transform_filter_gradient(half + 6 * i, taps, 1);
        for (int j = 0; j < 3; j++)
          vstore(lanes[3 * i + j], taps[j]);
      }
      for (int l = 0; l < VLEN; l++)
        for (int k = 0; k < 9; k++)
          p->job->dweight[((o * VLEN + l) * p->job->ci + c) * 9 + k] = lanes[k][l];
    }
}

/* ---- every worker on its own ---- */
static void own_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  (void)thread;
  for (int64_t worker = begin; worker < end; worker++) {
    float *v = p->job->scratch + worker * each_size(p), *d = v + p->v_size, *u = d + p->d_size;
    float *sums = p->job->scratch + sums_at(p) + worker * p->job->co;
    int64_t first = p->chunks * worker / p->job->threads, last = p->chunks * (worker + 1) / p->job->threads;
    if (first == last)
      memset(u, 0, (size_t)p->u_size * sizeof *u);
    for (int64_t chunk = first; chunk < last; chunk++) {
      int64_t at = chunk * p->chunk, tiles = at_most(p->chunk, p->tiles - at);
      for (int64_t b = 0; b < p->c_blocks; b++)
        pictures_in(p, v, at, 0, tiles, b);
      for (int64_t b = 0; b < p->o_blocks; b++)
        gradients_in(p, d, sums, at, 0, tiles, b);
      for (int point = 0; point < POINTS; point++)
        for (int64_t task = 0; task < p->c_groups * p->o_groups; task++)
          part(p, v + point * p->v_step, d + point * p->d_step, u + (task * POINTS + point) * p->u_step, task,
               tiles, chunk > first);
    }
  }
}

static void own_sum_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  float *u = p->job->scratch + p->v_size + p->d_size;
  (void)thread;
  for (int64_t task = begin; task < end; task++) {
    float *one = u + task * POINTS * p->u_step;
    for (int64_t i = 0; i < POINTS * p->u_step && p->job->threads > 1; i += VLEN) {
      vf sum = vload(one + i);
      for (int t = 1; t < p->job->threads; t++)
        sum = vadd(sum, vload(one + t * each_size(p) + i));
      vstore(one + i, sum);
    }
    weights_out(p, one, task);
  }
}

/* ---- chunks shared ---- */
enum { QUARTERS = 4 };

static void shared_in_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  float *v = p->job->scratch, *d = v + p->v_size;
  int64_t tiles = at_most(p->chunk, p->tiles - p->at), steps = (p->c_blocks + p->o_blocks) * QUARTERS;
  (void)thread;
  for (int64_t worker = begin; worker < end; worker++)
    for (int64_t k = steps * worker / p->job->threads; k < steps * (worker + 1) / p->job->threads; k++) {
      int64_t block = k / QUARTERS, low = tiles * (k % QUARTERS) / QUARTERS,
              high = tiles * (k % QUARTERS + 1) / QUARTERS;
      if (block < p->c_blocks)
        pictures_in(p, v, p->at, low, high, block);
      else
        gradients_in(p, d, p->job->scratch + sums_at(p) + worker * p->job->co, p->at, low, high,
                     block - p->c_blocks);
    }
}

static void shared_part_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  float *v = p->job->scratch, *d = v + p->v_size, *u = d + p->d_size;
  int64_t tiles = at_most(p->chunk, p->tiles - p->at);
  (void)thread;
  for (int64_t task = begin; task < end; task++) {
    float *one = u + task * POINTS * p->u_step;
    for (int point = 0; point < POINTS; point++)
      part(p, v + point * p->v_step, d + point * p->d_step, one + point * p->u_step, task, tiles, p->at > 0);
    if (p->at + p->chunk >= p->tiles)
      weights_out(p, one, task);
  }
}

void VNAME(nw_winograd_weights)(const NwWinogradWeights *job)
{
  Plan p = plan_of(job);
  float *sums = job->scratch + sums_at(&p);
  memset(sums, 0, (size_t)(job->threads * job->co) * sizeof *sums);
  if (p.own) {
    nw_parallel(job->threads, 1, own_body, &p);
    nw_parallel(p.c_groups * p.o_groups, 1, own_sum_body, &p);
  } else {
    for (p.at = 0; p.at < p.tiles; p.at += p.chunk) {
      nw_parallel(job->threads, 1, shared_in_body, &p);
      nw_parallel(p.c_groups * p.o_groups, 1, shared_part_body, &p);
    }
  }
  if (job->dbias == NULL)
    return;
  for (int64_t o = 0; o < job->co; o++) {
    float sum = 0;
    for (int t = 0; t < job->threads; t++)
      sum += sums[t * job->co + o];
    job->dbias[o] = sum;
  }
}
