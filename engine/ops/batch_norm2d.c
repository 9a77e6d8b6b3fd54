/* BatchNorm2d, alone and with an addition and a ReLU on its way out; and its gradient, alone and behind a
 * ReLU's.
 *
 * The simple kernels read a plane of one block of channels as a row of floats in pieces of 16, so one loop
 * serves blocks of 1, 8 and 16: lane k of a piece always belongs to the same channel. */
#include "engine/ops/batch_norm2d.h"

extern const NwOp nw_ops_batch_norm2d[];
enum { NORM, NORM_RELU, NORM_ADD, NORM_ADD_RELU, GRAD, RELU_GRAD };
enum { PIECE = 16, FLUSH = 64 };

#define A(member) offsetof(NwBatchNorm2d, member)
const NwAttr nw_batch_norm2d_attrs[NW_BATCH_NORM2D_ATTRS] = {
    {"eps", N_("Epsilon"), N_("Added to the variance so that nothing is divided by zero."), NULL,
     NW_ATTR_REAL, NW_ATTR_LOG, A(eps), 1e-5, 0, 1, 1e-8, 1e-1, 1e-5},
    {"momentum", N_("Momentum"), N_("How much each batch moves the running mean and variance."), NULL,
     NW_ATTR_REAL, 0, A(momentum), 0.1, 0, 1, 0, 1, 0.01},
    {"affine", N_("Scale and shift"), N_("Learns a factor and an offset for each channel."), NULL,
     NW_ATTR_BOOL, 0, A(affine), 1, 0, 1, 0, 1, 1},
    {"training", N_("Training"), N_("Uses the batch's own mean and variance instead of the running ones."),
     NULL, NW_ATTR_BOOL, NW_ATTR_HIDDEN, A(training), 0, 0, 1, 0, 1, 1},
};
#undef A

#define NORM_PORTS                                                                                           \
  {"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},                                   \
      {"weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("A factor for each channel.")},                         \
      {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("An offset for each channel.")},                          \
      {"running_mean", NW_PORT_STATE, 0, N_("Mean of each channel over past batches.")},                     \
      {"running_var", NW_PORT_STATE, 0, N_("Variance of each channel over past batches.")},                  \
  {                                                                                                          \
    "num_batches_tracked", NW_PORT_STATE, 0, N_("Batches seen in training.")                                 \
  }
static const NwPort norm_in[] = {NORM_PORTS};
static const NwPort norm_add_in[] = {NORM_PORTS, {"other", NW_PORT_DATA}};
static const NwPort norm_out[] = {
    {"y", NW_PORT_DATA, 0, N_("Pictures whose channels have mean 0 and deviation 1.")},
    {"save_mean", NW_PORT_AUX, 0, N_("Mean of this batch.")},
    {"save_invstd", NW_PORT_AUX, 0, N_("One over the deviation of this batch.")}};
/* mean and scale: the saved ones in training; in evaluation the running mean and variance. */
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA},
                                 {"x", NW_PORT_DATA},
                                 {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL},
                                 {"mean", NW_PORT_DATA},
                                 {"scale", NW_PORT_DATA}};
static const NwPort relu_grad_in[] = {{"dy", NW_PORT_DATA},   {"y", NW_PORT_DATA},
                                      {"x", NW_PORT_DATA},    {"weight", NW_PORT_DATA, NW_PORT_OPTIONAL},
                                      {"mean", NW_PORT_DATA}, {"scale", NW_PORT_DATA}};
static const NwPort grad_out[] = {{"dx", NW_PORT_DATA}, {"dweight", NW_PORT_DATA}, {"dbias", NW_PORT_DATA}};

/* ---- shapes ---- */
static NwStatus need_vector(const NwOp *op, const NwSpec *in, int n_in, int port, const char *name,
                            int64_t channels, bool required, NwError *error)
{
  if (!nw_spec_is(in, n_in, port))
    return required ? nw_fail(error, NW_BAD_SHAPE, "%s has no %s", nw_op_name(op), name) : NW_OK;
  if (in[port].ndim == 1 && in[port].dims[0] == channels && in[port].dtype == in[0].dtype)
    return NW_OK;
  return nw_fail(error, NW_BAD_SHAPE, "%s: %s needs one number for each of the %lld channels", nw_op_name(op),
                 name, (long long)channels);
}

static NwStatus norm_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  const NwBatchNorm2d *a = attrs;
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  int64_t c = in[0].dims[1];
  NW_TRY(need_vector(op, in, n_in, NW_BN_WEIGHT, "weight", c, false, error));
  NW_TRY(need_vector(op, in, n_in, NW_BN_BIAS, "bias", c, false, error));
  NW_TRY(need_vector(op, in, n_in, NW_BN_MEAN, "running_mean", c, true, error));
  NW_TRY(need_vector(op, in, n_in, NW_BN_VAR, "running_var", c, true, error));
  if (!nw_spec_is(in, n_in, NW_BN_COUNT) || in[NW_BN_COUNT].dtype != NW_I64 ||
      nw_spec_count(&in[NW_BN_COUNT]) != 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s: num_batches_tracked needs one whole number", nw_op_name(op));
  if (a->training && in[0].dims[0] == 1 && in[0].dims[2] == 1 && in[0].dims[3] == 1)
    return nw_fail(
        error, NW_BAD_SHAPE,
        "%s expected more than 1 value per channel when training; use a larger batch or larger pictures",
        nw_op_name(op));
  out[0] = in[0];
  out[1] = out[2] = a->training ? nw_spec_like(&in[0], 1, &c) : nw_spec_absent();
  return NW_OK;
}

static NwStatus norm_add_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                               NwError *error)
{
  if (!nw_spec_is(in, n_in, NW_BN_PORTS))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs a value to add", op->id);
  NW_TRY(nw_need_same(op, &in[0], &in[NW_BN_PORTS], error));
  return norm_infer(op, attrs, in, n_in, out, error);
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  int x = op == &nw_ops_batch_norm2d[RELU_GRAD] ? 2 : 1;
  if (!nw_spec_is(in, n_in, x))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy and x", op->id);
  NW_TRY(nw_infer_need_ndim(op, &in[x], 4, error));
  for (int i = 0; i < x; i++)
    NW_TRY(nw_need_same(op, &in[i], &in[x], error));
  int64_t c = in[x].dims[1];
  NW_TRY(need_vector(op, in, n_in, x + 1, "weight", c, false, error));
  NW_TRY(need_vector(op, in, n_in, x + 2, "mean", c, true, error));
  NW_TRY(need_vector(op, in, n_in, x + 3, "scale", c, true, error));
  out[0] = in[x];
  out[1] = out[2] = nw_spec_like(&in[x], 1, &c);
  return NW_OK;
}

static NwStatus norm_param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                           NwError *error)
{
  const NwBatchNorm2d *a = attrs;
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  double first = port == NW_BN_WEIGHT || port == NW_BN_VAR ? 1 : 0;
  *info = nw_param_vector(&in[0], in[0].dims[1], NW_INIT_CONSTANT, first);
  if (port == NW_BN_WEIGHT || port == NW_BN_BIAS)
    info->present = a->affine;
  if (port == NW_BN_COUNT) {
    info->spec = nw_spec(NW_I64, 0, NULL);
    info->spec.device = in[0].device;
  }
  return NW_OK;
}

static NwStatus norm_rule(NwGrad *g, NwError *error)
{
  const NwBatchNorm2d *a = g->attrs;
  NwVal out[3], weight = g->in[NW_BN_WEIGHT];
  NwVal mean = a->training ? g->out[1] : g->in[NW_BN_MEAN],
        scale = a->training ? g->out[2] : g->in[NW_BN_VAR];
  if (!g->need[NW_BN_X] && !g->need[NW_BN_WEIGHT] && !g->need[NW_BN_BIAS])
    return NW_OK;
  NW_TRY(g->emitter->emit(g->emitter, &nw_ops_batch_norm2d[GRAD], a,
                          (NwVal[]){g->dout[0], g->in[0], weight, mean, scale}, 5, out, error));
  g->din[NW_BN_X] = out[0];
  if (g->need[NW_BN_WEIGHT])
    g->din[NW_BN_WEIGHT] = out[1];
  if (g->need[NW_BN_BIAS])
    g->din[NW_BN_BIAS] = out[2];
  return NW_OK;
}

static NwCost norm_cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out)
{
  return (NwCost){0, 4 * (double)nw_spec_count(&out[0])};
}

/* ---- what all kernels share ---- */
typedef struct Norm {
  const NwCall *call;
  const NwBatchNorm2d *attrs;
  int64_t n, c, area;
  int x; /* port of x in gradients */
  bool add, relu;
} Norm;

static Norm norm_of(const NwCall *call)
{
  int kind = (int)(call->op - nw_ops_batch_norm2d);
  int x = kind == GRAD ? 1 : kind == RELU_GRAD ? 2 : 0;
  const NwSpec *s = &call->in[x];
  return (Norm){.call = call,
                .attrs = call->attrs,
                .n = s->dims[0],
                .c = s->dims[1],
                .area = s->dims[2] * s->dims[3],
                .x = x,
                .add = kind == NORM_ADD || kind == NORM_ADD_RELU,
                .relu = kind == NORM_RELU || kind == NORM_ADD_RELU || kind == RELU_GRAD};
}

/* Mean and 1/deviation that channel c is normalised with; in training they are kept, and the running ones
 * moved. */
NW_INLINE void settle(const Norm *m, int64_t c, double *mean, double *var, double *invstd, bool wide)
{
  const NwCall *call = m->call;
  void *running_mean = nw_call_state(call, NW_BN_MEAN), *running_var = nw_call_state(call, NW_BN_VAR);
  if (!m->attrs->training) {
    *mean = nw_get(running_mean, c, wide);
    *invstd = 1 / sqrt(nw_get(running_var, c, wide) + m->attrs->eps);
    return;
  }
  double count = (double)(m->n * m->area), k = m->attrs->momentum;
  *invstd = 1 / sqrt(*var + m->attrs->eps);
  nw_put(running_mean, c, (1 - k) * nw_get(running_mean, c, wide) + k * *mean, wide);
  nw_put(running_var, c,
         (1 - k) * nw_get(running_var, c, wide) + k * *var * (count > 1 ? count / (count - 1) : 1), wide);
  if (call->out_data[1])
    nw_put(call->out_data[1], c, *mean, wide);
  if (call->out_data[2])
    nw_put(call->out_data[2], c, *invstd, wide);
}

NW_INLINE double vector_at(const NwCall *call, int port, int64_t c, double otherwise, bool wide)
{
  return nw_call_has(call, port) ? nw_get(call->in_data[port], c, wide) : otherwise;
}

static void count_batch(const NwCall *call)
{
  const NwBatchNorm2d *a = call->attrs;
  if (a->training)
    ++*(int64_t *)nw_call_state(call, NW_BN_COUNT);
}

/* ---- plain kernels ---- */
NW_INLINE void norm_channels(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  Norm m = norm_of(call);
  for (int64_t c = begin; c < end; c++) {
    double mean = 0, var = 0, invstd, count = (double)(m.n * m.area);
    for (int64_t n = 0; m.attrs->training && n < m.n; n++)
      for (int64_t i = 0; i < m.area; i++)
        mean += nw_get(call->in_data[0], (n * m.c + c) * m.area + i, wide);
    mean /= count;
    for (int64_t n = 0; m.attrs->training && n < m.n; n++)
      for (int64_t i = 0; i < m.area; i++) {
        double d = nw_get(call->in_data[0], (n * m.c + c) * m.area + i, wide) - mean;
        var += d * d;
      }
    var /= count;
    settle(&m, c, &mean, &var, &invstd, wide);
    double w = vector_at(call, NW_BN_WEIGHT, c, 1, wide), b = vector_at(call, NW_BN_BIAS, c, 0, wide);
    for (int64_t n = 0; n < m.n; n++)
      for (int64_t i = 0; i < m.area; i++) {
        int64_t at = (n * m.c + c) * m.area + i;
        double y = (nw_get(call->in_data[0], at, wide) - mean) * invstd * w + b;
        if (m.add)
          y += nw_get(call->in_data[NW_BN_PORTS], at, wide);
        nw_put(call->out_data[0], at, m.relu && y < 0 ? 0 : y, wide);
      }
  }
}
NW_WIDTHS(norm_channels)

static NwStatus norm_plain(const NwCall *call, void *state, NwError *error)
{
  count_batch(call);
  norm_channels_run(call, call->in[0].dims[1], 1);
  return NW_OK;
}

/* dx = k·(dy − mean(dy) − x̂·mean(dy·x̂)) in training, k·dy in evaluation, with k = weight/deviation. */
NW_INLINE void grad_channels(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  Norm m = norm_of(call);
  const void *dy = call->in_data[0], *x = call->in_data[m.x], *y = m.relu ? call->in_data[1] : NULL;
  for (int64_t c = begin; c < end; c++) {
    double mean = nw_get(call->in_data[m.x + 2], c, wide), scale = nw_get(call->in_data[m.x + 3], c, wide);
    double invstd = m.attrs->training ? scale : 1 / sqrt(scale + m.attrs->eps), sum = 0, dot = 0;
    double count = (double)(m.n * m.area), w = vector_at(call, m.x + 1, c, 1, wide);
    for (int64_t n = 0; n < m.n; n++)
      for (int64_t i = 0; i < m.area; i++) {
        int64_t at = (n * m.c + c) * m.area + i;
        double d = y && !(nw_get(y, at, wide) > 0) ? 0 : nw_get(dy, at, wide);
        sum += d;
        dot += d * (nw_get(x, at, wide) - mean) * invstd;
      }
    nw_put(call->out_data[1], c, dot, wide);
    nw_put(call->out_data[2], c, sum, wide);
    if (!m.attrs->training)
      sum = dot = 0;
    for (int64_t n = 0; n < m.n; n++)
      for (int64_t i = 0; i < m.area; i++) {
        int64_t at = (n * m.c + c) * m.area + i;
        double d = y && !(nw_get(y, at, wide) > 0) ? 0 : nw_get(dy, at, wide);
        double xhat = (nw_get(x, at, wide) - mean) * invstd;
        nw_put(call->out_data[0], at, w * invstd * (d - (sum + xhat * dot) / count), wide);
      }
  }
}
NW_WIDTHS(grad_channels)

static NwStatus grad_plain(const NwCall *call, void *state, NwError *error)
{
  grad_channels_run(call, call->in[0].dims[1], 1);
  return NW_OK;
}

/* ---- simple kernels: f32, blocks of 1, 8 or 16 channels ---- */
/* Sums of pieces in float, moved to double often enough that rounding does not gather. */
typedef struct Sums {
  float a[PIECE], b[PIECE];
  double total_a[PIECE], total_b[PIECE];
} Sums;

NW_INLINE void flush(Sums *s)
{
  for (int k = 0; k < PIECE; k++) {
    s->total_a[k] += s->a[k];
    s->total_b[k] += s->b[k];
    s->a[k] = s->b[k] = 0;
  }
}

/* One piece more: x−shift and its square, or dy (where y > 0) and dy·(x−shift). */
NW_INLINE void add_piece(Sums *s, const float *x, const float *dy, const float *y, const float *shift, int n)
{
  for (int k = 0; k < n; k++) {
    float v = x[k] - shift[k], d = dy ? dy[k] : v;
    d = y && !(y[k] > 0) ? 0 : d;
    s->a[k] += d;
    s->b[k] += d * v;
  }
}

/* A plane of `length` floats. dy and y: NULL, or known not to be, where this is inlined. */
NW_INLINE void add_plane(Sums *s, const float *x, const float *dy, const float *y, const float *shift,
                         int64_t length)
{
  int64_t i = 0;
  int pieces = 0;
  for (; i + PIECE <= length; i += PIECE) {
    add_piece(s, x + i, dy ? dy + i : NULL, y ? y + i : NULL, shift, PIECE);
    if (++pieces == FLUSH) {
      flush(s);
      pieces = 0;
    }
  }
  add_piece(s, x + i, dy ? dy + i : NULL, y ? y + i : NULL, shift, (int)(length - i));
  flush(s);
}

/* The lanes of a piece that belong to one channel, together. */
static void gather(const Sums *s, int lanes, int lane, double *a, double *b)
{
  *a = *b = 0;
  for (int k = lane; k < PIECE; k += lanes) {
    *a += s->total_a[k];
    *b += s->total_b[k];
  }
}

static void spread(float *piece, int lanes, int lane, double value)
{
  for (int k = lane; k < PIECE; k += lanes)
    piece[k] = (float)value;
}

NW_INLINE void write_plane(float *y, const float *x, const float *other, const float *mean,
                           const float *scale, const float *bias, int64_t length, bool relu)
{
  for (int64_t i = 0; i < length; i += PIECE) {
    int64_t n = length - i < PIECE ? length - i : PIECE;
    if (n == PIECE) {
      for (int k = 0; k < PIECE; k++) {
        float v = (x[i + k] - mean[k]) * scale[k] + bias[k];
        v += other ? other[i + k] : 0.f;
        y[i + k] = relu && v < 0 ? 0 : v;
      }
      continue;
    }
    for (int k = 0; k < n; k++) {
      float v = (x[i + k] - mean[k]) * scale[k] + bias[k];
      v += other ? other[i + k] : 0.f;
      y[i + k] = relu && v < 0 ? 0 : v;
    }
  }
}

static void norm_blocks(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  Norm m = norm_of(call);
  NwPlanes p = nw_planes(&call->in[0]);
  int lanes = (int)p.lanes;
  int64_t length = m.area * lanes;
  const float *x = call->in_data[0], *other = m.add ? call->in_data[NW_BN_PORTS] : NULL;
  float *y = call->out_data[0];
  for (int64_t block = begin; block < end; block++) {
    float shift[PIECE], mean_of[PIECE] = {0}, scale_of[PIECE] = {0}, bias_of[PIECE] = {0};
    Sums sums = {0};
    for (int k = 0; k < PIECE; k++)
      shift[k] = x[block * length + k % lanes];
    for (int64_t n = 0; m.attrs->training && n < m.n; n++)
      add_plane(&sums, x + (n * p.blocks + block) * length, NULL, NULL, shift, length);
    for (int l = 0; l < lanes && block * lanes + l < m.c; l++) {
      double mean, var, invstd, count = (double)(m.n * m.area);
      int64_t c = block * lanes + l;
      gather(&sums, lanes, l, &mean, &var);
      mean /= count;
      var = var / count - mean * mean;
      var = var < 0 ? 0 : var;
      mean += shift[l];
      settle(&m, c, &mean, &var, &invstd, false);
      spread(mean_of, lanes, l, mean);
      spread(scale_of, lanes, l, invstd * vector_at(call, NW_BN_WEIGHT, c, 1, false));
      spread(bias_of, lanes, l, vector_at(call, NW_BN_BIAS, c, 0, false));
    }
    for (int64_t n = m.n - 1; n >= 0; n--) { /* backwards: the last planes are still in the cache */
      int64_t at = (n * p.blocks + block) * length;
      if (other)
        write_plane(y + at, x + at, other + at, mean_of, scale_of, bias_of, length, m.relu);
      else if (m.relu)
        write_plane(y + at, x + at, NULL, mean_of, scale_of, bias_of, length, true);
      else
        write_plane(y + at, x + at, NULL, mean_of, scale_of, bias_of, length, false);
    }
  }
}

static NwStatus norm_simple(const NwCall *call, void *state, NwError *error)
{
  count_batch(call);
  nw_parallel(nw_planes(&call->in[0]).blocks, 1, norm_blocks, (void *)(uintptr_t)call);
  return NW_OK;
}

/* dx = k·dy + p·(x − mean) + q, with what training takes away in p and q. */
NW_INLINE void grad_piece(float *restrict dx, const float *dy, const float *y, const float *x,
                          const float *mean, const float *k, const float *p, const float *q, int n)
{
  for (int j = 0; j < n; j++) {
    float d = dy[j];
    d = y && !(y[j] > 0) ? 0 : d;
    dx[j] = k[j] * d + (p[j] * (x[j] - mean[j]) + q[j]);
  }
}

NW_INLINE void grad_plane(float *restrict dx, const float *dy, const float *y, const float *x,
                          const float *mean, const float *k, const float *p, const float *q, int64_t length)
{
  int64_t i = 0;
  for (; i + PIECE <= length; i += PIECE)
    grad_piece(dx + i, dy + i, y ? y + i : NULL, x + i, mean, k, p, q, PIECE);
  grad_piece(dx + i, dy + i, y ? y + i : NULL, x + i, mean, k, p, q, (int)(length - i));
}

static void grad_blocks(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  Norm m = norm_of(call);
  NwPlanes planes = nw_planes(&call->in[m.x]);
  int lanes = (int)planes.lanes;
  int64_t length = m.area * lanes;
  const float *dy = call->in_data[0], *x = call->in_data[m.x], *y = m.relu ? call->in_data[1] : NULL;
  const float *means = call->in_data[m.x + 2], *scales = call->in_data[m.x + 3];
  float *dweight = call->out_data[1], *dbias = call->out_data[2];
  double count = (double)(m.n * m.area);
  for (int64_t block = begin; block < end; block++) {
    float mean_of[PIECE] = {0}, k_of[PIECE] = {0}, p_of[PIECE] = {0}, q_of[PIECE] = {0};
    Sums sums = {0};
    for (int l = 0; l < lanes && block * lanes + l < m.c; l++)
      spread(mean_of, lanes, l, means[block * lanes + l]);
    for (int64_t n = 0; n < m.n; n++) {
      int64_t at = (n * planes.blocks + block) * length;
      if (y)
        add_plane(&sums, x + at, dy + at, y + at, mean_of, length);
      else
        add_plane(&sums, x + at, dy + at, NULL, mean_of, length);
    }
    for (int l = 0; l < lanes && block * lanes + l < m.c; l++) {
      int64_t c = block * lanes + l;
      double sum, dot, scale = scales[c], invstd = m.attrs->training ? scale : 1 / sqrt(scale + m.attrs->eps);
      gather(&sums, lanes, l, &sum, &dot);
      dot *= invstd;
      dweight[c] = (float)dot;
      dbias[c] = (float)sum;
      double k = invstd * vector_at(call, m.x + 1, c, 1, false);
      spread(k_of, lanes, l, k);
      if (m.attrs->training) {
        spread(p_of, lanes, l, -k * invstd * dot / count);
        spread(q_of, lanes, l, -k * sum / count);
      }
    }
    for (int64_t n = m.n - 1; n >= 0; n--) {
      int64_t at = (n * planes.blocks + block) * length;
      float *dx = (float *)call->out_data[0] + at;
      if (y)
        grad_plane(dx, dy + at, y + at, x + at, mean_of, k_of, p_of, q_of, length);
      else
        grad_plane(dx, dy + at, NULL, x + at, mean_of, k_of, p_of, q_of, length);
    }
  }
}

static NwStatus grad_simple(const NwCall *call, void *state, NwError *error)
{
  nw_parallel(nw_planes(&call->in[0]).blocks, 1, grad_blocks, (void *)(uintptr_t)call);
  return NW_OK;
}

/* In training the exported network counts batches too, as torch.nn.BatchNorm2d does. */
static NwStatus norm_write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  nw_torch_line(writer, "if training:");
  nw_torch_line(writer, "  _%s = torch.add_(%s, 1)", y, nw_torch_param(writer, "num_batches_tracked"));
  nw_torch_line(writer, "else:");
  nw_torch_line(writer, "  pass");
  nw_torch_line(writer, "%s = torch.batch_norm(%s, %s, %s, %s, %s, training, %s, %s, True)", y, x,
                nw_torch_param(writer, "weight"), nw_torch_param(writer, "bias"),
                nw_torch_param(writer, "running_mean"), nw_torch_param(writer, "running_var"),
                nw_torch_attr(writer, "momentum"), nw_torch_attr(writer, "eps"));
  return NW_OK;
}

/* ---- rows ---- */
static const NwKernel norm_kernels[] = {NW_ONE_BLOCK("simple", norm_simple), NW_PLAIN(norm_plain)};
static const NwKernel grad_kernels[] = {NW_ONE_BLOCK("simple", grad_simple), NW_PLAIN(grad_plain)};
static const NwFusion norm_fusions[] = {{"add", "batch_norm2d_add", NULL, NULL},
                                        {"relu", "batch_norm2d_relu", NULL, NULL}};
static const NwFusion norm_add_fusions[] = {{"relu", "batch_norm2d_add_relu", NULL, NULL}};

static const NwOpCase norm_cases[] = {
    {"training=true", "3x5x4x7 5 5 5 5 1:i64<9"},
    {"training=true", "2x16x9x9 16 16 16 16 1:i64<9"},
    {"training=true affine=false momentum=0.3", "4x3x5x5 - - 3 3 1:i64<9"},
    {"training=false eps=1e-3", "2x8x3x3 8 8 8 8 1:i64<9"},
    {"training=true", "16x24x1x1 24 24 24 24 1:i64<9"},
};

#define ATTRS                                                                                                \
  .attrs = nw_batch_norm2d_attrs, .n_attrs = NW_BATCH_NORM2D_ATTRS, .attrs_size = sizeof(NwBatchNorm2d)

/* ONNX knows no norm without scale and offset. */
static NwStatus norm_onnx(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  NwSpec weight = nw_onnx_spec(writer, NW_BN_WEIGHT);
  if (nw_spec_present(&weight))
    return nw_onnx_put(writer, error,
                       "BatchNormalization($x, $weight, $bias, $running_mean, $running_var) epsilon=$eps");
  return nw_onnx_put(writer, error,
                     "mean = Unsqueeze($running_mean, [1, 2]); middle = Sub($x, mean); "
                     "var = Unsqueeze($running_var, [1, 2]); sum = Add(var, $eps); root = Sqrt(sum); "
                     "Div(middle, root)");
}

const NwOp nw_ops_batch_norm2d[] = {
    {.id = "batch_norm2d",
     .version = 1,
     .label = "BatchNorm2d",
     .group = NW_GROUP_NORM,
     .doc = N_("Brings each channel to mean 0 and deviation 1 over the batch, which makes deep networks "
               "train faster."),
     .formula =
         N_("y = (x − mean) / √(variance + eps) · weight + bias, per channel; running statistics are used in "
            "evaluation (Ioffe and Szegedy 2015)."),
     .keywords = "batch normalization normalisation bn",
     .torch = "torch.nn.BatchNorm2d",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(norm_in, norm_out),
     ATTRS,
     .infer = norm_infer,
     .param = norm_param,
     .grad = norm_rule,
     .cost = norm_cost,
     NW_KERNELS(norm_kernels),
     NW_FUSIONS(norm_fusions),
     .onnx_write = norm_onnx,
     .torchscript_write = norm_write,
     NW_CASES(norm_cases)},
    {NW_INTERNAL("batch_norm2d_relu", norm_in, norm_out), ATTRS, .infer = norm_infer, .cost = norm_cost,
     NW_KERNELS(norm_kernels)},
    {NW_INTERNAL("batch_norm2d_add", norm_add_in, norm_out), ATTRS, .infer = norm_add_infer,
     .cost = norm_cost, NW_KERNELS(norm_kernels), NW_FUSIONS(norm_add_fusions)},
    {NW_INTERNAL("batch_norm2d_add_relu", norm_add_in, norm_out), ATTRS, .infer = norm_add_infer,
     .cost = norm_cost, NW_KERNELS(norm_kernels)},
    {NW_INTERNAL("batch_norm2d_grad", grad_in, grad_out), ATTRS, .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
    {NW_INTERNAL("batch_norm2d_relu_grad", relu_grad_in, grad_out), ATTRS, .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
};
NW_OPS_END(batch_norm2d);
