/* The recurrent part of RNN, LSTM and GRU over a sequence, one picture beside the other. What comes in is
 * already multiplied with weight_ih, so that the large products are one Linear; here each step adds what the
 * last one knew.
 *
 * Gates as torch orders them: LSTM i, f, g, o; GRU r, z, n. Kept for backward, a step: LSTM its four gates
 * and the cell; GRU its three gates and the recurrent half of n; RNN nothing, the output says it all. */
#include "engine/ops/scan.h"

#include "engine/backend/onednn.h"
#include "engine/ops/fast-exp.h"

extern const NwOp nw_ops_scan[];

static const NwPort scan_in[] = {
    {"pre", NW_PORT_DATA}, {"weight_hh", NW_PORT_DATA}, {"bias_hh", NW_PORT_DATA, NW_PORT_OPTIONAL}};
static const NwPort scan_out[] = {{"y", NW_PORT_DATA}, {"saved", NW_PORT_AUX}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA},
                                 {"y", NW_PORT_DATA},
                                 {"saved", NW_PORT_DATA, NW_PORT_OPTIONAL},
                                 {"weight_hh", NW_PORT_DATA},
                                 {"bias_hh", NW_PORT_DATA, NW_PORT_OPTIONAL}};
static const NwPort grad_out[] = {
    {"dpre", NW_PORT_DATA}, {"dweight_hh", NW_PORT_DATA}, {"dbias_hh", NW_PORT_DATA}};

static int64_t gates_of(const NwScan *a)
{
  return a->kind == NW_SCAN_LSTM ? 4 : a->kind == NW_SCAN_GRU ? 3 : 1;
}

static int64_t saved_of(const NwScan *a)
{
  return a->kind == NW_SCAN_LSTM ? 5 : a->kind == NW_SCAN_GRU ? 4 : 0;
}

/* ---- shapes ---- */
static NwStatus need(const NwOp *op, const NwScan *a, const NwSpec *w, const NwSpec *b, const NwSpec *like,
                     NwError *error)
{
  if (w->ndim != 2 || w->dims[1] < 1 || w->dims[1] > (1 << 20) || w->dims[0] != gates_of(a) * w->dims[1] ||
      w->dtype != like->dtype || like->ndim != 3 || nw_spec_count(like) < 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the weight does not fit the sequence", op->id);
  if (b->ndim >= 0 && (b->ndim != 1 || b->dims[0] != w->dims[0] || b->dtype != w->dtype))
    return nw_fail(error, NW_BAD_SHAPE, "%s: the bias does not fit the weight", op->id);
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const NwScan *a = attrs;
  NwSpec none = nw_spec_absent();
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs a weight", op->id);
  NW_TRY(need(op, a, &in[1], n_in > 2 ? &in[2] : &none, &in[0], error));
  if (in[0].dims[2] != in[1].dims[0])
    return nw_fail(error, NW_BAD_SHAPE, "%s: the sequence does not fit the weight", op->id);
  out[0].dims[2] = in[1].dims[1];
  out[1] = out[0];
  out[1].dims[2] *= saved_of(a);
  if (saved_of(a) == 0)
    out[1] = nw_spec_absent();
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  const NwScan *a = attrs;
  NwSpec none = nw_spec_absent();
  if (!nw_spec_is(in, n_in, 1) || !nw_spec_is(in, n_in, 3))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy, y and the weight", op->id);
  NW_TRY(nw_need_same(op, &in[0], &in[1], error));
  NW_TRY(need(op, a, &in[3], n_in > 4 ? &in[4] : &none, &in[1], error));
  if (in[1].dims[2] != in[3].dims[1] ||
      (saved_of(a) > 0 &&
       (!nw_spec_is(in, n_in, 2) || nw_spec_count(&in[2]) != nw_spec_count(&in[1]) * saved_of(a))))
    return nw_fail(error, NW_BAD_SHAPE, "%s: the values do not fit one another", op->id);
  out[0] = in[1];
  out[0].dims[2] = in[3].dims[0];
  out[1] = in[3];
  out[2] = n_in > 4 && in[4].ndim >= 0 ? in[4] : nw_spec_absent();
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  NwVal out[3], bias = g->n_in > 2 ? g->in[2] : (NwVal){0};
  NW_TRY(g->emitter->emit(g->emitter, &nw_ops_scan[1], g->attrs,
                          (NwVal[]){g->dout[0], g->out[0], g->out[1], g->in[1], bias}, 5, out, error));
  for (int i = 0; i < g->n_in; i++)
    if (g->need[i])
      g->din[i] = out[i];
  return NW_OK;
}

/* ---- kernels ---- */
/* Eight sums side by side, which the compiler computes at once. */
NW_INLINE double dot(const void *w, int64_t at, const double *h, int64_t n, bool wide)
{
  double sum[8] = {0};
  int64_t k = 0;
  for (; k + 8 <= n; k += 8)
    for (int l = 0; l < 8; l++)
      sum[l] += nw_get(w, at + k + l, wide) * h[k + l];
  for (; k < n; k++)
    sum[0] += nw_get(w, at + k, wide) * h[k];
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

NW_INLINE double sigmoid(double x)
{
  return 1 / (1 + exp(-x));
}

/* One picture's work: [begin, end) are pictures; a picture's workspace is h, c and the recurrent sums. */
NW_INLINE void forward_rows(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const NwScan *a = call->attrs;
  int64_t length = call->in[0].dims[1], size = call->in[1].dims[1], gates = gates_of(a), kept = saved_of(a);
  const void *bias = nw_call_has(call, 2) ? call->in_data[2] : NULL;
  for (int64_t n = begin; n < end; n++) {
    double *h = (double *)call->workspace + n * (2 + gates) * size, *c = h + size, *sum = c + size;
    memset(h, 0, (size_t)(2 * size) * sizeof *h);
    for (int64_t step = 0; step < length; step++) {
      int64_t t = a->reverse ? length - 1 - step : step, row = n * length + t;
      int64_t pre = row * gates * size, saved = row * kept * size;
      for (int64_t r = 0; r < gates * size; r++)
        sum[r] = dot(call->in_data[1], r * size, h, size, wide) + (bias ? nw_get(bias, r, wide) : 0);
      for (int64_t k = 0; k < size; k++) {
        double p[4], made;
        for (int g = 0; g < gates; g++)
          p[g] = nw_get(call->in_data[0], pre + g * size + k, wide);
        if (a->kind == NW_SCAN_LSTM) {
          double i = sigmoid(p[0] + sum[k]), f = sigmoid(p[1] + sum[size + k]),
                 m = tanh(p[2] + sum[2 * size + k]), o = sigmoid(p[3] + sum[3 * size + k]), all[5];
          c[k] = f * c[k] + i * m;
          made = o * tanh(c[k]);
          memcpy(all, (double[]){i, f, m, o, c[k]}, sizeof all);
          for (int g = 0; g < 5 && call->out_data[1]; g++)
            nw_put(call->out_data[1], saved + g * size + k, all[g], wide);
        } else if (a->kind == NW_SCAN_GRU) {
          double r = sigmoid(p[0] + sum[k]), z = sigmoid(p[1] + sum[size + k]), half = sum[2 * size + k];
          double m = tanh(p[2] + r * half), all[4] = {r, z, m, half};
          made = (1 - z) * m + z * h[k];
          for (int g = 0; g < 4 && call->out_data[1]; g++)
            nw_put(call->out_data[1], saved + g * size + k, all[g], wide);
        } else {
          double x = p[0] + sum[k];
          made = a->kind == NW_SCAN_RELU ? (x < 0 ? 0 : x) : tanh(x);
        }
        nw_put(call->out_data[0], row * size + k, made, wide);
      }
      for (int64_t k = 0; k < size; k++) /* all of them first needed the old ones */
        h[k] = nw_get(call->out_data[0], row * size + k, wide);
    }
  }
}
NW_WIDTHS(forward_rows)

/* Into dpre, and into the workspace what flows into the recurrent sums (for GRU's n it is r times as much).
 */
NW_INLINE void grad_rows(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const NwScan *a = call->attrs;
  int64_t length = call->in[1].dims[1], size = call->in[3].dims[1], gates = gates_of(a), kept = saved_of(a);
  int64_t pictures = call->in[1].dims[0];
  for (int64_t n = begin; n < end; n++) {
    double *flow = (double *)call->workspace + n * length * gates * size;
    double *dh = (double *)call->workspace + pictures * length * gates * size + n * 3 * size, *dc = dh + size,
           *next = dc + size;
    memset(dh, 0, (size_t)(2 * size) * sizeof *dh);
    for (int64_t step = length - 1; step >= 0; step--) {
      int64_t t = a->reverse ? length - 1 - step : step, before = a->reverse ? t + 1 : t - 1,
              row = n * length + t;
      int64_t saved = row * kept * size, at = row * gates * size;
      double *d = flow + t * gates * size;
      for (int64_t k = 0; k < size; k++) {
        double up = dh[k] + nw_get(call->in_data[0], row * size + k, wide), s[5], pre[4] = {0};
        for (int g = 0; g < kept; g++)
          s[g] = nw_get(call->in_data[2], saved + g * size + k, wide);
        next[k] = 0;
        if (a->kind == NW_SCAN_LSTM) {
          double bent = tanh(s[4]);
          double old =
              step > 0 ? nw_get(call->in_data[2], (n * length + before) * kept * size + 4 * size + k, wide)
                       : 0;
          double dcell = dc[k] + up * s[3] * (1 - bent * bent);
          pre[0] = dcell * s[2] * s[0] * (1 - s[0]);
          pre[1] = dcell * old * s[1] * (1 - s[1]);
          pre[2] = dcell * s[0] * (1 - s[2] * s[2]);
          pre[3] = up * bent * s[3] * (1 - s[3]);
          dc[k] = dcell * s[1];
        } else if (a->kind == NW_SCAN_GRU) {
          double old = step > 0 ? nw_get(call->in_data[1], (n * length + before) * size + k, wide) : 0;
          pre[2] = up * (1 - s[1]) * (1 - s[2] * s[2]);
          pre[1] = up * (old - s[2]) * s[1] * (1 - s[1]);
          pre[0] = pre[2] * s[3] * s[0] * (1 - s[0]);
          next[k] = up * s[1];
        } else {
          double y = nw_get(call->in_data[1], row * size + k, wide);
          pre[0] = a->kind == NW_SCAN_RELU ? (y > 0 ? up : 0) : up * (1 - y * y);
        }
        for (int g = 0; g < gates; g++) {
          nw_put(call->out_data[0], at + g * size + k, pre[g], wide);
          d[g * size + k] = a->kind == NW_SCAN_GRU && g == 2 ? pre[2] * s[0] : pre[g];
        }
      }
      for (int64_t r = 0; r < gates * size; r++)
        for (int64_t k = 0; k < size; k++)
          next[k] += d[r] * nw_get(call->in_data[3], r * size + k, wide);
      memcpy(dh, next, (size_t)size * sizeof *dh);
    }
  }
}
NW_WIDTHS(grad_rows)

/* Rows of the weight: Σ over pictures and steps of what flows in, times the last step's output. */
NW_INLINE void weight_rows(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const NwScan *a = call->attrs;
  int64_t pictures = call->in[1].dims[0], length = call->in[1].dims[1], size = call->in[3].dims[1],
          gates = gates_of(a);
  const double *flow = call->workspace;
  for (int64_t r = begin; r < end; r++) {
    double bias = 0;
    enum { TILE = 128 };
    for (int64_t k0 = 0; k0 < size; k0 += TILE) {
      double sum[TILE] = {0};
      int64_t tile = size - k0 < TILE ? size - k0 : TILE;
      for (int64_t n = 0; n < pictures; n++)
        for (int64_t t = 0; t < length; t++) {
          int64_t before = a->reverse ? t + 1 : t - 1;
          double d = flow[(n * length + t) * gates * size + r];
          bias += k0 == 0 ? d : 0;
          if (before < 0 || before >= length)
            continue;
          for (int64_t k = 0; k < tile; k++)
            sum[k] += d * nw_get(call->in_data[1], (n * length + before) * size + k0 + k, wide);
        }
      for (int64_t k = 0; k < tile && call->out_data[1]; k++)
        nw_put(call->out_data[1], r * size + k0 + k, sum[k], wide);
    }
    if (call->out_data[2])
      nw_put(call->out_data[2], r, bias, wide);
  }
}
NW_WIDTHS(weight_rows)

static NwStatus prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  int64_t size = call->in[1].dims[1], gates = gates_of(call->attrs);
  *workspace = (size_t)(call->in[0].dims[0] * (2 + gates) * size) * sizeof(double);
  return NW_OK;
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  forward_rows_run(call, call->in[0].dims[0], 1);
  return NW_OK;
}

static NwStatus grad_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  int64_t n = call->in[1].dims[0], length = call->in[1].dims[1], size = call->in[3].dims[1];
  *workspace = (size_t)(n * length * gates_of(call->attrs) * size + n * 3 * size) * sizeof(double);
  return NW_OK;
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  grad_rows_run(call, call->in[1].dims[0], 1);
  weight_rows_run(call, call->in[3].dims[0], 8);
  return NW_OK;
}

/* ---- oneDNN: f32, all pictures' step as one product ---- */
typedef struct Products {
  NwOnednn *step, *weights; /* backward has both */
  size_t step_bytes, weights_bytes;
} Products;

static size_t lines_of(size_t bytes)
{
  return (bytes + 63) / 64 * 64;
}

static void products_free(void *state)
{
  Products *p = state;
  if (p == NULL)
    return;
  nw_onednn_free(p->step);
  nw_onednn_free(p->weights);
  nw_free(p);
}

static bool onednn_supports(const NwCall *call)
{
  return nw_onednn_available() && nw_supports_plain_f32(call);
}

typedef struct Sizes {
  int64_t n, length, size, gates, kept;
} Sizes;

static Sizes sizes_of(const NwCall *call)
{
  const NwSpec *sequence = &call->in[call->op == &nw_ops_scan[0] ? 0 : 1];
  const NwSpec *weight = &call->in[call->op == &nw_ops_scan[0] ? 1 : 3];
  return (Sizes){sequence->dims[0], sequence->dims[1], weight->dims[1], gates_of(call->attrs),
                 saved_of(call->attrs)};
}

static NwStatus products_new(const NwOnednnLinear *step, const NwOnednnLinear *weights, Products **out,
                             NwError *error)
{
  Products *p = *out = nw_alloc0(sizeof *p);
  if (p == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for a recurrent layer");
  NwStatus status = nw_onednn_linear_new(step, &p->step, &p->step_bytes, error);
  if (status == NW_OK && weights != NULL)
    status = nw_onednn_linear_new(weights, &p->weights, &p->weights_bytes, error);
  p->step_bytes = lines_of(p->step_bytes);
  p->weights_bytes = lines_of(p->weights_bytes);
  if (status != NW_OK) {
    products_free(p);
    *out = NULL;
  }
  return status;
}

static NwStatus fast_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  Sizes z = sizes_of(call);
  NwOnednnLinear step = {.pass = NW_ONEDNN_FORWARD,
                         .rows = z.n,
                         .in = z.size,
                         .out = z.gates * z.size,
                         .bias = nw_call_has(call, 2)};
  NW_TRY(products_new(&step, NULL, (Products **)state, error));
  *workspace =
      ((Products *)*state)->step_bytes + (size_t)(z.n * z.size * (2 + z.gates)) * sizeof(float) + 128;
  return NW_OK;
}

/* One step of some pictures. */
typedef struct FastStep {
  const NwCall *call;
  Sizes z;
  int64_t t, before; /* before: the step that came before it in the order of reading; -1: none */
  float *h, *c, *sum, *flow, *extra;
} FastStep;

/* One picture: p came in, u came from the step before, s is what is kept (NULL: nothing). kind is a constant,
 * so each layer has a loop of its own. */
NW_INLINE void fast_row(int kind, int64_t size, const float *restrict p, const float *restrict u,
                        float *restrict h, float *restrict c, float *restrict y, float *restrict s)
{
  for (int64_t k = 0; k < size; k++) {
    if (kind == NW_SCAN_LSTM) {
      float i = nw_sigmoid_f(p[k] + u[k]), g = nw_sigmoid_f(p[size + k] + u[size + k]);
      float m = nw_tanh_f(p[2 * size + k] + u[2 * size + k]),
            o = nw_sigmoid_f(p[3 * size + k] + u[3 * size + k]);
      c[k] = g * c[k] + i * m;
      h[k] = o * nw_tanh_f(c[k]);
      if (s) {
        s[k] = i;
        s[size + k] = g;
        s[2 * size + k] = m;
        s[3 * size + k] = o;
        s[4 * size + k] = c[k];
      }
    } else if (kind == NW_SCAN_GRU) {
      float r = nw_sigmoid_f(p[k] + u[k]), z = nw_sigmoid_f(p[size + k] + u[size + k]),
            half = u[2 * size + k];
      float m = nw_tanh_f(p[2 * size + k] + r * half);
      h[k] = (1 - z) * m + z * h[k];
      if (s) {
        s[k] = r;
        s[size + k] = z;
        s[2 * size + k] = m;
        s[3 * size + k] = half;
      }
    } else {
      float x = p[k] + u[k];
      h[k] = kind == NW_SCAN_RELU ? (x < 0 ? 0 : x) : nw_tanh_f(x);
    }
    y[k] = h[k];
  }
}

static void fast_rows(void *context, int64_t begin, int64_t end, int thread)
{
  const FastStep *f = context;
  int64_t size = f->z.size, gates = f->z.gates, kept = f->z.kept;
  int kind = (int)((const NwScan *)f->call->attrs)->kind;
  for (int64_t n = begin; n < end; n++) {
    int64_t row = n * f->z.length + f->t;
    const float *p = (const float *)f->call->in_data[0] + row * gates * size, *u = f->sum + n * gates * size;
    float *y = (float *)f->call->out_data[0] + row * size, *h = f->h + n * size, *c = f->c + n * size;
    float *s = f->call->out_data[1] ? (float *)f->call->out_data[1] + row * kept * size : NULL;
    if (kind == NW_SCAN_LSTM)
      fast_row(NW_SCAN_LSTM, size, p, u, h, c, y, s);
    else if (kind == NW_SCAN_GRU)
      fast_row(NW_SCAN_GRU, size, p, u, h, c, y, s);
    else if (kind == NW_SCAN_RELU)
      fast_row(NW_SCAN_RELU, size, p, u, h, c, y, s);
    else
      fast_row(NW_SCAN_TANH, size, p, u, h, c, y, s);
  }
}

static NwStatus fast_run(const NwCall *call, void *state, NwError *error)
{
  const Products *p = state;
  Sizes z = sizes_of(call);
  FastStep f = {.call = call, .z = z, .h = (float *)((char *)call->workspace + p->step_bytes)};
  f.c = f.h + z.n * z.size;
  f.sum = f.c + z.n * z.size;
  memset(f.h, 0, (size_t)(2 * z.n * z.size) * sizeof *f.h);
  for (int64_t step = 0; step < z.length; step++) {
    NwOnednnData d = {.src = f.h,
                      .weights = call->in_data[1],
                      .bias = nw_call_has(call, 2) ? call->in_data[2] : NULL,
                      .dst = f.sum,
                      .workspace = call->workspace};
    NW_TRY(nw_onednn_run(p->step, &d, error));
    f.t = ((const NwScan *)call->attrs)->reverse ? z.length - 1 - step : step;
    nw_parallel(z.n, 1 + 4096 / z.size, fast_rows, &f);
  }
  return NW_OK;
}

static NwStatus fast_grad_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  Sizes z = sizes_of(call);
  NwOnednnLinear step = {.pass = NW_ONEDNN_BACKWARD_DATA, .rows = z.n, .in = z.size, .out = z.gates * z.size};
  NwOnednnLinear weights = {.pass = NW_ONEDNN_BACKWARD_WEIGHTS,
                            .rows = z.n * z.length,
                            .in = z.size,
                            .out = z.gates * z.size,
                            .bias = nw_call_has(call, 4)};
  NW_TRY(products_new(&step, &weights, (Products **)state, error));
  const Products *p = *state;
  *workspace = p->step_bytes + p->weights_bytes +
               (size_t)(z.n * z.length * z.size * (1 + z.gates) + 3 * z.n * z.size) * sizeof(float) + 128;
  return NW_OK;
}

/* f->h: what flows into this step's output; f->sum: the outputs before it, for the weights. */
static void fast_grad_rows(void *context, int64_t begin, int64_t end, int thread)
{
  const FastStep *f = context;
  const NwScan *a = f->call->attrs;
  int64_t size = f->z.size, gates = f->z.gates, kept = f->z.kept, length = f->z.length;
  for (int64_t n = begin; n < end; n++) {
    int64_t row = n * length + f->t, old_row = n * length + f->before;
    const float *dy = (const float *)f->call->in_data[0] + row * size, *y = f->call->in_data[1];
    const float *s = kept ? (const float *)f->call->in_data[2] + row * kept * size : NULL;
    const float *cells = f->before >= 0 && kept == 5
                             ? (const float *)f->call->in_data[2] + old_row * kept * size + 4 * size
                             : NULL;
    float *pre = (float *)f->call->out_data[0] + row * gates * size, *d = f->flow + n * gates * size;
    float *dc = f->c + n * size, *extra = f->extra + n * size, *last = f->sum + n * size;
    for (int64_t k = 0; k < size; k++) {
      float up = f->h[n * size + k] + dy[k], old = f->before >= 0 ? y[old_row * size + k] : 0;
      last[k] = old;
      extra[k] = 0;
      if (a->kind == NW_SCAN_LSTM) {
        float bent = nw_tanh_f(s[4 * size + k]), i = s[k], g = s[size + k], m = s[2 * size + k],
              o = s[3 * size + k];
        float dcell = dc[k] + up * o * (1 - bent * bent), was = cells != NULL ? cells[k] : 0;
        pre[k] = dcell * m * i * (1 - i);
        pre[size + k] = dcell * was * g * (1 - g);
        pre[2 * size + k] = dcell * i * (1 - m * m);
        pre[3 * size + k] = up * bent * o * (1 - o);
        dc[k] = dcell * g;
      } else if (a->kind == NW_SCAN_GRU) {
        float r = s[k], z = s[size + k], m = s[2 * size + k];
        pre[2 * size + k] = up * (1 - z) * (1 - m * m);
        pre[size + k] = up * (old - m) * z * (1 - z);
        pre[k] = pre[2 * size + k] * s[3 * size + k] * r * (1 - r);
        extra[k] = up * z;
      } else {
        float v = y[row * size + k];
        pre[k] = a->kind == NW_SCAN_RELU ? (v > 0 ? up : 0) : up * (1 - v * v);
      }
    }
    memcpy(d, pre, (size_t)(gates * size) * sizeof *d);
    for (int64_t k = 0; a->kind == NW_SCAN_GRU && k < size; k++)
      d[2 * size + k] = pre[2 * size + k] * s[k];
  }
}

static NwStatus fast_grad_run(const NwCall *call, void *state, NwError *error)
{
  const Products *p = state;
  Sizes z = sizes_of(call);
  int64_t picture = z.n * z.size;
  float *flows = (float *)((char *)call->workspace + p->step_bytes + p->weights_bytes);
  float *lasts = flows + picture * z.length * z.gates;
  FastStep f = {.call = call, .z = z, .h = lasts + picture * z.length};
  f.c = f.h + picture;
  f.extra = f.c + picture;
  memset(f.h, 0, (size_t)(2 * picture) * sizeof *f.h);
  for (int64_t step = z.length - 1; step >= 0; step--) {
    bool reverse = ((const NwScan *)call->attrs)->reverse;
    f.t = reverse ? z.length - 1 - step : step;
    f.before = step == 0 ? -1 : reverse ? f.t + 1 : f.t - 1;
    f.flow = flows + step * picture * z.gates;
    f.sum = lasts + step * picture;
    nw_parallel(z.n, 1 + 4096 / z.size, fast_grad_rows, &f);
    NwOnednnData d = {.src = f.h, .weights = call->in_data[3], .dst = f.flow, .workspace = call->workspace};
    NW_TRY(nw_onednn_run(p->step, &d, error));
    for (int64_t k = 0; k < picture; k++)
      f.h[k] += f.extra[k];
  }
  NwOnednnData d = {.src = lasts,
                    .dst = flows,
                    .weights = call->out_data[1],
                    .bias = call->out_data[2],
                    .workspace = (char *)call->workspace + p->step_bytes};
  return nw_onednn_run(p->weights, &d, error);
}

#define PLAIN                                                                                                \
  .name = "plain", .device = NW_CPU, .flags = NW_KERNEL_EXACT | NW_KERNEL_F64, .supports = nw_supports_plain
#define FAST                                                                                                 \
  .name = "onednn", .device = NW_CPU, .flags = NW_KERNEL_EXACT, .supports = onednn_supports,                 \
  .release = products_free
static const NwKernel kernels[] = {{FAST, .prepare = fast_prepare, .run = fast_run},
                                   {PLAIN, .prepare = prepare, .run = run}};
static const NwKernel grad_kernels[] = {{FAST, .prepare = fast_grad_prepare, .run = fast_grad_run},
                                        {PLAIN, .prepare = grad_prepare, .run = grad_run}};

static NwCost cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out)
{
  double macs = (double)nw_spec_count(&in[0]) * (double)in[1].dims[1];
  return (NwCost){macs, 2 * macs + 10 * (double)nw_spec_count(&in[0])};
}

static const NwOpCase cases[] = {{"", "2x3x4 4x4 4"}, {"", "3x1x7 7x7 -"}};

const NwOp nw_ops_scan[] = {
    {NW_INTERNAL("scan", scan_in, scan_out), .attrs_size = sizeof(NwScan), .infer = infer, .grad = rule,
     .cost = cost, NW_KERNELS(kernels), NW_CASES(cases)},
    {NW_INTERNAL("scan_grad", grad_in, grad_out), .attrs_size = sizeof(NwScan), .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
};
NW_OPS_END(scan);
