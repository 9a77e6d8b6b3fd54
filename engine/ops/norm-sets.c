#include "engine/ops/norm-sets.h"

const NwPort nw_sets_out[3] = {{"y", NW_PORT_DATA, 0, N_("Numbers of mean 0 and deviation 1.")},
                               {"save_mean", NW_PORT_AUX, 0, N_("Mean of each set.")},
                               {"save_invstd", NW_PORT_AUX, 0, N_("One over the deviation of each set.")}};
const NwPort nw_sets_grad_in[5] = {{"dy", NW_PORT_DATA},
                                   {"x", NW_PORT_DATA},
                                   {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL},
                                   {"mean", NW_PORT_DATA},
                                   {"invstd", NW_PORT_DATA}};
const NwPort nw_sets_grad_out[3] = {{"dx", NW_PORT_DATA}, {"dweight", NW_PORT_DATA}, {"dbias", NW_PORT_DATA}};

static NwStatus need_affine(const NwOp *op, const NwSets *sets, const NwSpec *spec, const NwSpec *x,
                            const char *name, NwError *error)
{
  if (nw_spec_count(spec) == sets->affine && spec->dtype == x->dtype)
    return NW_OK;
  return nw_fail(error, NW_BAD_SHAPE, "%s: %s needs %lld numbers", nw_op_name(op), name,
                 (long long)sets->affine);
}

NwStatus nw_sets_infer(const NwOp *op, const NwSets *sets, const NwSpec *in, int n_in, NwSpec *out,
                       NwError *error)
{
  if (nw_spec_is(in, n_in, NW_SETS_WEIGHT))
    NW_TRY(need_affine(op, sets, &in[NW_SETS_WEIGHT], &in[0], "weight", error));
  if (nw_spec_is(in, n_in, NW_SETS_BIAS))
    NW_TRY(need_affine(op, sets, &in[NW_SETS_BIAS], &in[0], "bias", error));
  out[0] = in[0];
  out[0].block = 0;
  out[1] = out[2] = nw_spec_like(&in[0], 1, &sets->count);
  return NW_OK;
}

NwStatus nw_sets_grad_infer(const NwOp *op, const NwSets *sets, const NwSpec *in, int n_in, NwSpec *out,
                            NwError *error)
{
  if (!nw_spec_is(in, n_in, 3) || !nw_spec_is(in, n_in, 4) || nw_spec_count(&in[3]) != sets->count ||
      nw_spec_count(&in[4]) != sets->count)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs mean and deviation of each of the %lld sets", op->id,
                   (long long)sets->count);
  NW_TRY(nw_need_same(op, &in[0], &in[1], error));
  bool affine = nw_spec_is(in, n_in, 2);
  if (affine)
    NW_TRY(need_affine(op, sets, &in[2], &in[1], "weight", error));
  out[0] = in[1];
  out[0].block = 0;
  out[1] = out[2] = affine ? in[2] : nw_spec_absent();
  return NW_OK;
}

NwStatus nw_sets_rule(NwGrad *g, NwError *error)
{
  NwVal out[3], weight = g->n_in > NW_SETS_WEIGHT ? g->in[NW_SETS_WEIGHT] : (NwVal){0};
  NW_TRY(g->emitter->emit(g->emitter, g->op + 1, g->attrs,
                          (NwVal[]){g->dout[0], g->in[0], weight, g->out[1], g->out[2]}, 5, out, error));
  for (int i = 0; i < g->n_in; i++)
    if (g->need[i])
      g->din[i] = out[i];
  return NW_OK;
}

/* ---- kernels ---- */
enum { WAYS = 8, PARTS = 16 };

NW_INLINE int64_t first_of(const NwSets *sets, int64_t s)
{
  return sets->step == 1 ? s * sets->size : s / sets->step * sets->step * sets->size + s % sets->step;
}

NW_INLINE int64_t affine_of(const NwSets *sets, int64_t s, int64_t i)
{
  return s % sets->repeat * sets->per + i / sets->run;
}

/* Σ (x − shift)^power over a set, in sums side by side so that the compiler can compute them at once. */
NW_INLINE double moment(const void *x, const NwSets *sets, int64_t first, double shift, bool square,
                        bool wide)
{
  double sum[WAYS] = {0};
  int64_t i = 0, n = sets->size, step = sets->step;
  for (; i + WAYS <= n; i += WAYS)
    for (int k = 0; k < WAYS; k++) {
      double v = nw_get(x, first + (i + k) * step, wide) - shift;
      sum[k] += square ? v * v : v;
    }
  for (; i < n; i++) {
    double v = nw_get(x, first + i * step, wide) - shift;
    sum[0] += square ? v * v : v;
  }
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

typedef struct Job {
  const NwCall *call;
  const NwSets *sets;
  double eps;
} Job;

NW_INLINE void forward_sets(const Job *job, int64_t begin, int64_t end, bool wide)
{
  const NwCall *call = job->call;
  const NwSets *sets = job->sets;
  const void *x = call->in_data[0], *weight = nw_call_has(call, 1) ? call->in_data[1] : NULL,
             *bias = nw_call_has(call, 2) ? call->in_data[2] : NULL;
  for (int64_t s = begin; s < end; s++) {
    int64_t first = first_of(sets, s), n = sets->size;
    double mean = moment(x, sets, first, 0, false, wide) / (double)n;
    double var = moment(x, sets, first, mean, true, wide) / (double)n, invstd = 1 / sqrt(var + job->eps);
    if (call->out_data[1])
      nw_put(call->out_data[1], s, mean, wide);
    if (call->out_data[2])
      nw_put(call->out_data[2], s, invstd, wide);
    for (int64_t i0 = 0; i0 < n; i0 += sets->run) /* one factor serves a run of numbers */
      if (sets->run == 1) {
        int64_t a0 = affine_of(sets, s, 0);
        for (int64_t i = 0; i < n; i++)
          nw_put(call->out_data[0], first + i * sets->step,
                 (nw_get(x, first + i * sets->step, wide) - mean) * invstd *
                         (weight ? nw_get(weight, a0 + i, wide) : 1) +
                     (bias ? nw_get(bias, a0 + i, wide) : 0),
                 wide);
        break;
      } else {
        int64_t a = affine_of(sets, s, i0), last = i0 + sets->run < n ? i0 + sets->run : n;
        double scale = invstd * (weight ? nw_get(weight, a, wide) : 1),
               shift = bias ? nw_get(bias, a, wide) : 0;
        for (int64_t i = i0; i < last; i++)
          nw_put(call->out_data[0], first + i * sets->step,
                 (nw_get(x, first + i * sets->step, wide) - mean) * scale + shift, wide);
      }
  }
}

static void forward_f32(void *job, int64_t begin, int64_t end, int thread)
{
  forward_sets(job, begin, end, false);
}

static void forward_f64(void *job, int64_t begin, int64_t end, int thread)
{
  forward_sets(job, begin, end, true);
}

void nw_sets_forward(const NwCall *call, const NwSets *sets)
{
  Job job = {call, sets, ((const NwSetsAttrs *)call->attrs)->eps};
  nw_parallel(sets->count, 1 + NW_GRAIN / (sets->size + 1), nw_call_wide(call) ? forward_f64 : forward_f32,
              &job);
}

/* The sets are split into a fixed number of parts, each with sums of its own, so that the number of threads
 * does not change a bit. */
size_t nw_sets_workspace(const NwSets *sets, const NwSpec *weight)
{
  return weight->ndim >= 0 ? (size_t)(2 * PARTS * sets->affine) * sizeof(double) : 0;
}

/* dx = invstd · (dy·w − mean(dy·w) − x̂ · mean(dy·w·x̂)) */
NW_INLINE void grad_set(const Job *job, int64_t s, double *dweight, double *dbias, bool wide)
{
  const NwCall *call = job->call;
  const NwSets *sets = job->sets;
  const void *dy = call->in_data[0], *x = call->in_data[1],
             *weight = nw_call_has(call, 2) ? call->in_data[2] : NULL;
  int64_t first = first_of(sets, s), n = sets->size;
  double mean = nw_get(call->in_data[3], s, wide), invstd = nw_get(call->in_data[4], s, wide), sum = 0,
         dot = 0;
  for (int64_t i = 0, a = affine_of(sets, s, 0), left = sets->run; i < n; i++) {
    int64_t at = first + i * sets->step;
    double d = nw_get(dy, at, wide), hat = (nw_get(x, at, wide) - mean) * invstd;
    if (weight) {
      dweight[a] += d * hat;
      dbias[a] += d;
      d *= nw_get(weight, a, wide);
    }
    sum += d;
    dot += d * hat;
    if (--left == 0) {
      left = sets->run;
      a++;
    }
  }
  sum /= (double)n;
  dot /= (double)n;
  for (int64_t i = 0, a = affine_of(sets, s, 0), left = sets->run; i < n; i++) {
    int64_t at = first + i * sets->step;
    double d = nw_get(dy, at, wide) * (weight ? nw_get(weight, a, wide) : 1);
    double hat = (nw_get(x, at, wide) - mean) * invstd;
    nw_put(call->out_data[0], at, invstd * (d - sum - hat * dot), wide);
    if (--left == 0) {
      left = sets->run;
      a++;
    }
  }
}

static void grad_parts(void *context, int64_t begin, int64_t end, int thread)
{
  const Job *job = context;
  const NwSets *sets = job->sets;
  bool wide = nw_call_wide(job->call), affine = nw_call_has(job->call, 2);
  for (int64_t part = begin; part < end; part++) {
    double *dweight = affine ? (double *)job->call->workspace + 2 * part * sets->affine : NULL;
    double *dbias = affine ? dweight + sets->affine : NULL;
    if (affine)
      memset(dweight, 0, (size_t)(2 * sets->affine) * sizeof *dweight);
    for (int64_t s = sets->count * part / PARTS; s < sets->count * (part + 1) / PARTS; s++)
      if (wide)
        grad_set(job, s, dweight, dbias, true);
      else
        grad_set(job, s, dweight, dbias, false);
  }
}

void nw_sets_grad(const NwCall *call, const NwSets *sets)
{
  Job job = {call, sets, 0};
  bool wide = nw_call_wide(call);
  const double *sums = call->workspace;
  nw_parallel(PARTS, 1, grad_parts, &job);
  for (int k = 0; k < 2; k++)
    for (int64_t a = 0; call->out_data[1 + k] != NULL && a < sets->affine; a++) {
      double sum = 0;
      for (int part = 0; part < PARTS; part++)
        sum += sums[(2 * part + k) * sets->affine + a];
      nw_put(call->out_data[1 + k], a, sum, wide);
    }
}
