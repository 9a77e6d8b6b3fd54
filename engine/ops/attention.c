/* Scaled dot-product attention of several heads over one packed value (query, key and value side by side),
 * and its gradient. Each head of each picture is one piece of work. */
#include "engine/ops/fast-exp.h"

typedef struct Attention {
  int64_t heads;
} Attention;

extern const NwOp nw_ops_attention[];

static const NwAttr attrs_rows[] = {{"heads", N_("Heads"),
                                     N_("How many parts look at the sequence, each its own way."), NULL,
                                     NW_ATTR_INT, 0, offsetof(Attention, heads), 1, 1, 1024, 1, 64, 1}};
static const NwPort ports_in[] = {{"qkv", NW_PORT_DATA}};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA}, {"shares", NW_PORT_AUX}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}, {"qkv", NW_PORT_DATA}, {"shares", NW_PORT_DATA}};
static const NwPort grad_out[] = {{"dqkv", NW_PORT_DATA}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const Attention *a = attrs;
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  if (in[0].ndim != 3 || nw_spec_count(&in[0]) < 1 || in[0].dims[2] % (3 * a->heads) != 0 ||
      in[0].dims[1] > (1 << 20))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs batch × steps × three times the numbers of all %lld heads",
                   op->id, (long long)a->heads);
  out[0].dims[2] /= 3;
  out[1] = nw_spec_like(&in[0], 4, (int64_t[]){in[0].dims[0], a->heads, in[0].dims[1], in[0].dims[1]});
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  NwSpec made[2];
  if (!nw_spec_is(in, n_in, 2))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy, qkv and shares", op->id);
  NW_TRY(infer(op, attrs, &in[1], 1, made, error));
  NW_TRY(nw_need_same(op, &in[0], &made[0], error));
  NW_TRY(nw_need_same(op, &in[2], &made[1], error));
  out[0] = in[1];
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_attention[1], g->attrs, (NwVal[]){g->dout[0], g->in[0], g->out[1]}, 3,
                 &g->din[0], error);
}

/* Where one head of one picture lies. */
typedef struct Head {
  int64_t length, size, row, out_row; /* steps, numbers of a head, distance of steps in qkv and in y */
  int64_t q, k, v, y, shares;         /* first numbers */
  double scale;
} Head;

NW_INLINE Head head_of(const NwSpec *qkv, int64_t heads, int64_t at)
{
  int64_t length = qkv->dims[1], row = qkv->dims[2], all = row / 3, size = all / heads;
  int64_t n = at / heads, h = at % heads, first = n * length * row + h * size;
  return (Head){length,
                size,
                row,
                all,
                first,
                first + all,
                first + 2 * all,
                n * length * all + h * size,
                at * length * length,
                1 / sqrt((double)size)};
}

NW_INLINE double dot(const void *a, int64_t i, const void *b, int64_t j, int64_t n, bool wide)
{
  double sum[8] = {0};
  int64_t k = 0;
  for (; k + 8 <= n; k += 8)
    for (int l = 0; l < 8; l++)
      sum[l] += nw_get(a, i + k + l, wide) * nw_get(b, j + k + l, wide);
  for (; k < n; k++)
    sum[0] += nw_get(a, i + k, wide) * nw_get(b, j + k, wide);
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

NW_INLINE void add_scaled(void *to, int64_t i, const void *from, int64_t j, int64_t n, double factor,
                          bool wide)
{
  for (int64_t k = 0; k < n; k++)
    nw_put(to, i + k, nw_get(to, i + k, wide) + factor * nw_get(from, j + k, wide), wide);
}

NW_INLINE void forward_heads(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const void *x = call->in_data[0];
  void *y = call->out_data[0];
  for (int64_t at = begin; at < end; at++) {
    Head h = head_of(&call->in[0], ((const Attention *)call->attrs)->heads, at);
    double *line = (double *)call->workspace + at * h.length;
    for (int64_t i = 0; i < h.length; i++) {
      double top = -INFINITY, sum = 0;
      for (int64_t j = 0; j < h.length; j++) {
        line[j] = h.scale * dot(x, h.q + i * h.row, x, h.k + j * h.row, h.size, wide);
        top = line[j] > top || line[j] != line[j] ? line[j] : top;
      }
      for (int64_t j = 0; j < h.length; j++)
        sum += line[j] = exp(line[j] - top);
      for (int64_t k = 0; k < h.size; k++)
        nw_put(y, h.y + i * h.out_row + k, 0, wide);
      for (int64_t j = 0; j < h.length; j++) {
        double share = line[j] / sum;
        if (call->out_data[1])
          nw_put(call->out_data[1], h.shares + i * h.length + j, share, wide);
        add_scaled(y, h.y + i * h.out_row, x, h.v + j * h.row, h.size, share, wide);
      }
    }
  }
}
NW_WIDTHS(forward_heads)

/* ds = p · (dp − Σ dp·p) with dp = dy·v; then dq = ds·k, dk = ds·q (scaled), dv = p·dy. */
NW_INLINE void grad_heads(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const void *dy = call->in_data[0], *x = call->in_data[1], *p = call->in_data[2];
  void *dx = call->out_data[0];
  for (int64_t at = begin; at < end; at++) {
    Head h = head_of(&call->in[1], ((const Attention *)call->attrs)->heads, at);
    double *line = (double *)call->workspace + at * h.length;
    for (int64_t i = 0; i < h.length; i++)
      for (int64_t k = 0; k < h.size; k++) {
        nw_put(dx, h.q + i * h.row + k, 0, wide);
        nw_put(dx, h.k + i * h.row + k, 0, wide);
        nw_put(dx, h.v + i * h.row + k, 0, wide);
      }
    for (int64_t i = 0; i < h.length; i++) {
      double sum = 0;
      for (int64_t j = 0; j < h.length; j++) {
        line[j] = dot(dy, h.y + i * h.out_row, x, h.v + j * h.row, h.size, wide);
        sum += line[j] * nw_get(p, h.shares + i * h.length + j, wide);
      }
      for (int64_t j = 0; j < h.length; j++) {
        double share = nw_get(p, h.shares + i * h.length + j, wide), d = h.scale * share * (line[j] - sum);
        add_scaled(dx, h.q + i * h.row, x, h.k + j * h.row, h.size, d, wide);
        add_scaled(dx, h.k + j * h.row, x, h.q + i * h.row, h.size, d, wide);
        add_scaled(dx, h.v + j * h.row, dy, h.y + i * h.out_row, h.size, share, wide);
      }
    }
  }
}
NW_WIDTHS(grad_heads)

static NwStatus prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  const NwSpec *qkv = &call->in[call->n_in > 1];
  *workspace =
      (size_t)(qkv->dims[0] * ((const Attention *)call->attrs)->heads * qkv->dims[1]) * sizeof(double);
  return NW_OK;
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  forward_heads_run(call, call->in[0].dims[0] * ((const Attention *)call->attrs)->heads, 1);
  return NW_OK;
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  grad_heads_run(call, call->in[1].dims[0] * ((const Attention *)call->attrs)->heads, 1);
  return NW_OK;
}

/* ---- simple: f32, sums along the steps side by side ---- */
/* Columns of a head's part as rows: to[k][j]. */
NW_INLINE void turn(const float *from, int64_t row, const Head *h, float *to)
{
  for (int64_t j = 0; j < h->length; j++)
    for (int64_t k = 0; k < h->size; k++)
      to[k * h->length + j] = from[j * row + k];
}

/* line[j] = Σ a[k] · turned[k][j] */
NW_INLINE void products(const float *a, const float *turned, const Head *h, float factor, float *line)
{
  for (int64_t j = 0; j < h->length; j++)
    line[j] = 0;
  for (int64_t k = 0; k < h->size; k++) {
    float v = a[k] * factor;
    const float *t = turned + k * h->length;
    for (int64_t j = 0; j < h->length; j++)
      line[j] += v * t[j];
  }
}

NW_INLINE void add_to(float *to, const float *from, int64_t n, float factor)
{
  for (int64_t k = 0; k < n; k++)
    to[k] += factor * from[k];
}

/* Floats of the workspace for one head: a line and two turned parts. */
NW_INLINE int64_t room(const Head *h)
{
  return h->length * (1 + 2 * h->size);
}

static void forward_simple_heads(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  for (int64_t at = begin; at < end; at++) {
    Head h = head_of(&call->in[0], ((const Attention *)call->attrs)->heads, at);
    const float *x = call->in_data[0];
    float *y = (float *)call->out_data[0] + h.y, *line = (float *)call->workspace + at * room(&h),
          *keys = line + h.length;
    float *shares = call->out_data[1] ? (float *)call->out_data[1] + h.shares : NULL;
    turn(x + h.k, h.row, &h, keys);
    for (int64_t i = 0; i < h.length; i++, y += h.out_row) {
      float top = -INFINITY, sum = 0;
      products(x + h.q + i * h.row, keys, &h, (float)h.scale, line);
      for (int64_t j = 0; j < h.length; j++)
        top = line[j] > top || line[j] != line[j] ? line[j] : top;
      for (int64_t j = 0; j < h.length; j++)
        line[j] = nw_exp_f(line[j] - top);
      for (int64_t j = 0; j < h.length; j++)
        sum += line[j];
      for (int64_t j = 0; j < h.length; j++)
        line[j] /= sum;
      if (shares)
        memcpy(shares + i * h.length, line, (size_t)h.length * sizeof *line);
      memset(y, 0, (size_t)h.size * sizeof *y);
      for (int64_t j = 0; j < h.length; j++)
        add_to(y, x + h.v + j * h.row, h.size, line[j]);
    }
  }
}

static void grad_simple_heads(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  for (int64_t at = begin; at < end; at++) {
    Head h = head_of(&call->in[1], ((const Attention *)call->attrs)->heads, at);
    const float *x = call->in_data[1], *shares = (const float *)call->in_data[2] + h.shares;
    float *dx = call->out_data[0], *line = (float *)call->workspace + at * room(&h),
          *values = line + h.length;
    for (int64_t i = 0; i < h.length; i++) {
      memset(dx + h.q + i * h.row, 0, (size_t)h.size * sizeof *dx);
      memset(dx + h.k + i * h.row, 0, (size_t)h.size * sizeof *dx);
      memset(dx + h.v + i * h.row, 0, (size_t)h.size * sizeof *dx);
    }
    turn(x + h.v, h.row, &h, values);
    for (int64_t i = 0; i < h.length; i++) {
      const float *dy = (const float *)call->in_data[0] + h.y + i * h.out_row, *p = shares + i * h.length;
      float sum = 0;
      products(dy, values, &h, 1, line);
      for (int64_t j = 0; j < h.length; j++)
        sum += line[j] * p[j];
      for (int64_t j = 0; j < h.length; j++) {
        float d = (float)h.scale * p[j] * (line[j] - sum);
        add_to(dx + h.q + i * h.row, x + h.k + j * h.row, h.size, d);
        add_to(dx + h.k + j * h.row, x + h.q + i * h.row, h.size, d);
        add_to(dx + h.v + j * h.row, dy, h.size, p[j]);
      }
    }
  }
}

static NwStatus simple_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  const NwSpec *qkv = &call->in[call->n_in > 1];
  int64_t heads = ((const Attention *)call->attrs)->heads;
  Head h = head_of(qkv, heads, 0);
  *workspace = (size_t)(qkv->dims[0] * heads * room(&h)) * sizeof(float);
  return NW_OK;
}

static NwStatus simple_run(const NwCall *call, void *state, NwError *error)
{
  const NwSpec *qkv = &call->in[call->n_in > 1];
  nw_parallel(qkv->dims[0] * ((const Attention *)call->attrs)->heads, 1,
              call->n_in > 1 ? grad_simple_heads : forward_simple_heads, (void *)(uintptr_t)call);
  return NW_OK;
}

static NwCost cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out)
{
  double macs = 2 * (double)nw_spec_count(&out[0]) * (double)in[0].dims[1];
  return (NwCost){macs, 2 * macs};
}

static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  NwSpec qkv = nw_torch_spec(writer, 0);
  long long heads = ((const Attention *)attrs)->heads, size = qkv.dims[2] / 3 / heads;
  static const char *const parts[] = {"q", "k", "v"};
  nw_torch_line(
      writer,
      "%s_all = torch.permute(torch.reshape(%s, [torch.size(%s, 0), torch.size(%s, 1), 3, %lld, %lld]), "
      "[2, 0, 3, 1, 4])",
      y, x, x, x, heads, size);
  for (int i = 0; i < 3; i++)
    nw_torch_line(writer, "%s_%s = torch.select(%s_all, 0, %d)", y, parts[i], y, i);
  nw_torch_line(
      writer, "%s_p = torch.softmax(torch.mul(torch.matmul(%s_q, torch.transpose(%s_k, -2, -1)), %.17g), -1)",
      y, y, y, 1 / sqrt((double)size));
  nw_torch_line(writer,
                "%s = torch.reshape(torch.transpose(torch.matmul(%s_p, %s_v), 1, 2), [torch.size(%s, 0), "
                "torch.size(%s, 1), %lld])",
                y, y, y, x, x, heads * size);
  return NW_OK;
}

#define PLAIN                                                                                                \
  .name = "plain", .device = NW_CPU, .flags = NW_KERNEL_EXACT | NW_KERNEL_F64,                               \
  .supports = nw_supports_plain, .prepare = prepare
#define SIMPLE                                                                                               \
  {                                                                                                          \
    .name = "simple", .device = NW_CPU, .flags = NW_KERNEL_EXACT, .supports = nw_supports_plain_f32,         \
    .prepare = simple_prepare, .run = simple_run                                                             \
  }
static const NwKernel kernels[] = {SIMPLE, {PLAIN, .run = run}};
static const NwKernel grad_kernels[] = {SIMPLE, {PLAIN, .run = grad_run}};
static const NwOpCase cases[] = {{"heads=2", "2x5x24"}, {"", "1x3x30"}, {"heads=3", "2x1x9"}};

const NwOp nw_ops_attention[] = {
    {NW_INTERNAL("attention", ports_in, ports_out), NW_ATTRS(Attention, attrs_rows), .infer = infer,
     .grad = rule, .cost = cost, NW_KERNELS(kernels), .torchscript_write = write, NW_CASES(cases)},
    {NW_INTERNAL("attention_grad", grad_in, grad_out), NW_ATTRS(Attention, attrs_rows), .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
};
NW_OPS_END(attention);
