/* Winograd convolution and its gradient with respect to the picture.
 *
 *   V[point][tile/VROWS][channel block][VROWS][VLEN]   pieces of the picture: one product reads one
 * contiguous run U[block out][point][channel in][VLEN]              filters: one plane of a block stays in
 * the first-level cache M[point][block pair][tile][2][VLEN]                a worker's products, turned into
 * output at once
 *
 * Three schedules, by size (measured with 512 KiB of second-level cache a core): every worker its own small
 * chunks of tiles; big filters: chunks shared by all, output blocks divided; few tiles and big filters: one
 * chunk, and filters transformed block by block just before they are used. */
#include "engine/base/threads.h"
#include "engine/kernels/kernels-internal.h"
#include "engine/kernels/winograd-transform.h"

enum { PRIVATE, SHARED, FUSED };

typedef struct Plan {
  const NwWinograd *job;
  int64_t n, c, o, h, w; /* c channels in, o out: of this pass */
  int64_t in_blocks, out_blocks, tiles;
  int64_t chunk, chunks, pass,
      group; /* tiles of a chunk; chunks; tiles of a product pass; output blocks of one */
  int64_t v_step, u_step, m_step; /* floats between point planes */
  int64_t v_size, own_size;       /* floats of V; of a worker's M and, FUSED, U */
  int schedule;
  int64_t at; /* first tile of the shared chunk in work */
} Plan;

static Plan plan_of(const NwWinograd *job)
{
  Plan p = {.job = job, .n = job->n, .h = job->h, .w = job->w};
  p.c = job->back ? job->co : job->ci;
  p.o = job->back ? job->ci : job->co;
  p.in_blocks = p.c / VLEN;
  p.out_blocks = p.o / VLEN;
  p.tiles = p.n * ((p.h + 3) / 4) * ((p.w + 3) / 4);
  p.schedule = POINTS * p.c * p.o * 4 <= 3 << 20 ? PRIVATE : p.tiles <= 128 && !job->ready ? FUSED : SHARED;
  int64_t bytes = p.schedule != PRIVATE ? 12 << 20 : p.c <= 64 ? 320 << 10 : 512 << 10;
  int64_t wish = round_up(bytes / (POINTS * p.c * 4), VROWS);
  wish = wish < VROWS ? VROWS : wish;
  p.chunks = p.schedule == FUSED ? 1 : (p.tiles + wish - 1) / wish;
  if (p.schedule == PRIVATE)
    p.chunks = round_up(p.chunks, job->threads);
  p.chunk = round_up((p.tiles + p.chunks - 1) / p.chunks, VROWS);
  p.chunks = (p.tiles + p.chunk - 1) / p.chunk;
  p.group = at_most(2, p.out_blocks);
  p.pass = at_most(round_up(p.schedule == PRIVATE ? 48 : 72, VROWS), p.chunk);
  p.v_step = p.c * p.chunk + PAD;
  p.u_step = p.c * VLEN + PAD;
  p.m_step = p.pass * 2 * VLEN + PAD;
  p.v_size = round_up(POINTS * p.v_step, 16) + 16;
  p.own_size = round_up(POINTS * p.m_step + (p.schedule == FUSED ? p.group * POINTS * p.u_step : 0), 16) + 16;
  return p;
}

size_t VNAME(nw_winograd_filters)(const NwWinograd *job)
{
  Plan p = plan_of(job);
  return (size_t)(p.out_blocks * POINTS * p.u_step);
}

size_t VNAME(nw_winograd_scratch)(const NwWinograd *job)
{
  size_t most = 0;
  /* with filters at hand the schedule may be another */
  for (int ready = 0; ready < 2; ready++) {
    NwWinograd one = *job;
    one.ready = ready;
    Plan p = plan_of(&one);
    size_t size = (size_t)(p.schedule == PRIVATE ? job->threads * (p.v_size + p.own_size)
                                                 : p.v_size + job->threads * p.own_size);
    most = size > most ? size : most;
  }
  return most;
}

/* ---- filters ---- */
/* Nine taps for each of VLEN channels out, seen from channel in c: forward out is co, back it is ci and the
 * taps turn. */
VINLINE void load_taps(const Plan *p, int64_t block, int64_t c, vf *taps)
{
  const NwWinograd *job = p->job;
  float lanes[9][VLEN];
  for (int l = 0; l < VLEN; l++) {
    int64_t o = block * VLEN + l;
    const float *w = job->weight + (job->back ? c * job->ci + o : o * job->ci + c) * 9;
    if (job->back)
      for (int k = 0; k < 9; k++)
        lanes[8 - k][l] = w[k];
    else
      for (int k = 0; k < 9; k++)
        lanes[k][l] = w[k];
  }
  for (int k = 0; k < 9; k++)
    taps[k] = vload(lanes[k]);
}

static void transform_block(const Plan *p, int64_t block, float *u)
{
  for (int64_t c = 0; c < p->c; c++) {
    vf taps[9], half[18], row[6];
    load_taps(p, block, c, taps);
    for (int j = 0; j < 3; j++)
      transform_filter(taps + j, 3, half + j, 3);
    for (int i = 0; i < 6; i++) {
      transform_filter(half + 3 * i, 1, row, 1);
      for (int j = 0; j < 6; j++)
        vstore(u + (6 * i + j) * p->u_step + c * VLEN, row[j]);
    }
  }
}

static void filters_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  (void)thread;
  for (int64_t b = begin; b < end; b++)
    transform_block(p, b, p->job->filters + b * POINTS * p->u_step);
}

/* ---- pictures in ---- */
/* Tiles [low, high) of the chunk that starts at tile `at`, of one block of channels. */
static void pictures_in(const Plan *p, float *v, int64_t at, int64_t low, int64_t high, int64_t block)
{
  Walk walk = walk_from(p->h, p->w, at + low);
  float *q = v + (low / VROWS * p->in_blocks + block) * VROWS * VLEN;
  int row = (int)(low % VROWS);
  for (int64_t t = low; t < high; t++, walk_on(&walk)) {
    const float *x = p->job->x + (walk.n * p->in_blocks + block) * p->h * p->w * VLEN;
    const float *next = row + 2 < VROWS ? q + (row + 2) * VLEN : q + p->c * VROWS + (row + 2 - VROWS) * VLEN;
    input_tile(x, p->h, p->w, 4 * walk.ty - 1, 4 * walk.tx - 1, q + row * VLEN, p->v_step, next);
    if (++row == VROWS) {
      row = 0;
      q += p->c * VROWS;
    }
  }
}

/* ---- products ---- */
/* VROWS tiles × `blocks` blocks out, summed over all channels in. */
VINLINE void multiply(const float *v, const float *u, int64_t u_next, int64_t c, float *m, const int blocks)
{
  vf sum[VROWS][2];
  for (int r = 0; r < VROWS; r++)
    for (int b = 0; b < blocks; b++)
      sum[r][b] = vzero();
  for (int64_t i = 0; i < c; i += VLEN, v += VROWS * VLEN)
    VUNROLL(8) for (int k = 0; k < VLEN; k++, u += VLEN)
    {
      vf w[2];
      for (int b = 0; b < blocks; b++)
        w[b] = vload(u + b * u_next);
      VUNROLL(16) for (int r = 0; r < VROWS; r++)
      {
        vf s = vset(v[r * VLEN + k]);
        for (int b = 0; b < blocks; b++)
          sum[r][b] = vfma(s, w[b], sum[r][b]);
      }
    }
  for (int r = 0; r < VROWS; r++)
    for (int b = 0; b < blocks; b++)
      vstore(m + (r * 2 + b) * VLEN, sum[r][b]);
}

static void products(const Plan *p, const float *v, const float *u, float *m, int64_t low, int64_t high,
                     int64_t blocks)
{
  for (int point = 0; point < POINTS; point++) {
    const float *filters = u + point * p->u_step, *tiles = v + point * p->v_step;
    float *out = m + point * p->m_step;
    if (blocks == 2)
      for (int64_t t = low; t < high; t += VROWS)
        multiply(tiles + t * p->c, filters, POINTS * p->u_step, p->c, out + (t - low) * 2 * VLEN, 2);
    else
      for (int64_t t = low; t < high; t += VROWS)
        multiply(tiles + t * p->c, filters, 0, p->c, out + (t - low) * 2 * VLEN, 1);
  }
}

/* ---- pictures out ---- */
VINLINE void finish(float *y, const float *other, vf v, vf bias, const bool add, const bool relu)
{
  v = vadd(v, bias);
  if (add)
    v = vadd(v, vload(other));
  if (relu)
    v = vmax(vzero(), v); /* in this order what is not a number stays so, and a net gone astray is seen */
  vstore(y, v);
}

VINLINE void output_tile(const Plan *p, const float *m, int64_t at, int64_t rows, int64_t columns, vf bias,
                         const bool add, const bool relu)
{
  vf half[24], o[16];
  float *y = p->job->y + at;
  const float *other = add ? p->job->other + at : NULL;
  VUNROLL(6) for (int j = 0; j < 6; j++)
  {
    vf d[6];
    VUNROLL(6) for (int i = 0; i < 6; i++) d[i] = vload(m + (6 * i + j) * p->m_step);
    transform_output(d, half + j, 6);
  }
  VUNROLL(4) for (int i = 0; i < 4; i++) transform_output(half + 6 * i, o + 4 * i, 1);
  for (int64_t i = 0; i < 4; i++) { /* lines of the tile after the next */
    __builtin_prefetch(y + (i * p->w + 8) * VLEN, 1);
    __builtin_prefetch(y + (i * p->w + 10) * VLEN, 1);
  }
  if (rows == 4 && columns == 4) {
    VUNROLL(4)
    for (int i = 0; i < 4; i++)
      VUNROLL(4)
    for (int j = 0; j < 4; j++)
      finish(y + (i * p->w + j) * VLEN, add ? other + (i * p->w + j) * VLEN : NULL, o[4 * i + j], bias, add,
             relu);
    return;
  }
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      finish(y + (i * p->w + j) * VLEN, add ? other + (i * p->w + j) * VLEN : NULL, o[4 * i + j], bias, add,
             relu);
}

VINLINE void pictures_out_as(const Plan *p, const float *m, int64_t at, int64_t low, int64_t high,
                             int64_t block, const bool add, const bool relu)
{
  Walk walk = walk_from(p->h, p->w, at + low);
  vf bias = p->job->bias != NULL ? vload(p->job->bias + block * VLEN) : vzero();
  for (int64_t t = low; t < high; t++, m += 2 * VLEN, walk_on(&walk)) {
    int64_t y = 4 * walk.ty, x = 4 * walk.tx;
    output_tile(p, m, (((walk.n * p->out_blocks + block) * p->h + y) * p->w + x) * VLEN, at_most(p->h - y, 4),
                at_most(p->w - x, 4), bias, add, relu);
  }
}

static void pictures_out(const Plan *p, const float *m, int64_t at, int64_t low, int64_t high, int64_t block)
{
  if (p->job->other != NULL && p->job->relu)
    pictures_out_as(p, m, at, low, high, block, true, true);
  else if (p->job->other != NULL)
    pictures_out_as(p, m, at, low, high, block, true, false);
  else if (p->job->relu)
    pictures_out_as(p, m, at, low, high, block, false, true);
  else
    pictures_out_as(p, m, at, low, high, block, false, false);
}

/* Blocks out [block, block + group) of all `tiles` tiles of a chunk; u: filters of the first of them. */
static void chunk_out(const Plan *p, const float *v, const float *u, float *m, int64_t at, int64_t tiles,
                      int64_t block)
{
  int64_t blocks = at_most(p->group, p->out_blocks - block);
  for (int64_t low = 0; low < tiles; low += p->pass) {
    int64_t high = at_most(low + p->pass, tiles);
    products(p, v, u, m, low, high, blocks);
    for (int64_t b = 0; b < blocks; b++)
      pictures_out(p, m + b * VLEN, at, low, high, block + b);
  }
}

/* ---- schedules: workers are numbered, whichever thread runs them ---- */
static void private_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  (void)thread;
  for (int64_t worker = begin; worker < end; worker++) {
    float *v = p->job->scratch + worker * (p->v_size + p->own_size), *m = v + p->v_size;
    int64_t last = p->chunks * (worker + 1) / p->job->threads;
    for (int64_t chunk = p->chunks * worker / p->job->threads; chunk < last; chunk++) {
      int64_t at = chunk * p->chunk, tiles = at_most(p->chunk, p->tiles - at);
      for (int64_t b = 0; b < p->in_blocks; b++)
        pictures_in(p, v, at, 0, tiles, b);
      for (int64_t b = 0; b < p->out_blocks; b += p->group)
        chunk_out(p, v, p->job->filters + b * POINTS * p->u_step, m, at, tiles, b);
    }
  }
}

enum { PIECE = 24 }; /* tiles that one step of the shared input transform takes; a multiple of VROWS */

static void shared_in_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  (void)thread;
  int64_t tiles = at_most(p->chunk, p->tiles - p->at);
  for (int64_t k = begin; k < end; k++) {
    int64_t low = k / p->in_blocks * PIECE;
    pictures_in(p, p->job->scratch, p->at, low, at_most(low + PIECE, tiles), k % p->in_blocks);
  }
}

static void shared_out_body(void *context, int64_t begin, int64_t end, int thread)
{
  const Plan *p = context;
  (void)thread;
  int64_t tiles = at_most(p->chunk, p->tiles - p->at), groups = (p->out_blocks + p->group - 1) / p->group;
  for (int64_t worker = begin; worker < end; worker++) {
    float *m = p->job->scratch + p->v_size + worker * p->own_size, *own = m + POINTS * p->m_step;
    int64_t last = groups * (worker + 1) / p->job->threads;
    for (int64_t g = groups * worker / p->job->threads; g < last; g++) {
      int64_t block = g * p->group;
      const float *u = own;
      if (p->schedule == FUSED)
        for (int64_t b = 0; b < p->group && block + b < p->out_blocks; b++)
          transform_block(p, block + b, own + b * POINTS * p->u_step);
      else
        u = p->job->filters + block * POINTS * p->u_step;
      chunk_out(p, p->job->scratch, u, m, p->at, tiles, block);
    }
  }
}

void VNAME(nw_winograd_transform)(const NwWinograd *job)
{
  Plan p = plan_of(job);
  nw_parallel(p.out_blocks, 1, filters_body, &p);
}

void VNAME(nw_winograd)(const NwWinograd *job)
{
  Plan p = plan_of(job);
  if (!job->ready && p.schedule != FUSED)
    nw_parallel(p.out_blocks, 1, filters_body, &p);
  if (p.schedule == PRIVATE) {
    nw_parallel(job->threads, 1, private_body, &p);
    return;
  }
  for (p.at = 0; p.at < p.tiles; p.at += p.chunk) {
    int64_t tiles = at_most(p.chunk, p.tiles - p.at);
    nw_parallel((tiles + PIECE - 1) / PIECE * p.in_blocks, 1, shared_in_body, &p);
    nw_parallel(job->threads, 1, shared_out_body, &p);
  }
}
