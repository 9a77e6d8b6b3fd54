/* MaxPool2d. Beside the greatest value it keeps which place of the window won.
 *
 * The index counts row by row from the window's top left corner, padding included. A mark on it says that the
 * winner was not positive, so a ReLU before the pool can be undone from the index alone
 * (max_pool2d_relu_grad): the picture that went in need not be kept for backward. Indices are u8 with mark
 * 0x80; for windows of more than 127 places, i32 with mark 1 << 30. */
#include "engine/kernels/kernels.h"
#include "engine/ops/pool.h"

extern const NwOp nw_ops_max_pool2d[];
enum { POOL, GRAD, RELU_GRAD };

typedef struct MaxPool2d {
  NwDims kernel_size, stride, padding, dilation;
  bool ceil_mode;
} MaxPool2d;

#define A(member) offsetof(MaxPool2d, member)
static const NwAttr attrs_rows[] = {
    {"kernel_size", N_("Kernel size"), N_("Height and width of the window."), N_("pixels"), NW_ATTR_DIMS,
     NW_ATTR_ON_BLOCK, A(kernel_size), 2, 1, 255, 1, 15, 1, .count = 2},
    {"stride", N_("Stride"), N_("Step between two windows; as large as the window leaves no overlap."),
     N_("pixels"), NW_ATTR_DIMS, NW_ATTR_ON_BLOCK, A(stride), 2, 1, 255, 1, 8, 1, .count = 2},
    {"padding", N_("Padding"),
     N_("Rows and columns around the picture that never win; at most half the window."), N_("pixels"),
     NW_ATTR_DIMS, 0, A(padding), 0, 0, 127, 0, 7, 1, .count = 2},
    {"dilation", N_("Dilation"), N_("Distance between the places of a window; 1 leaves no gaps."),
     N_("pixels"), NW_ATTR_DIMS, 0, A(dilation), 1, 1, 255, 1, 8, 1, .count = 2},
    {"ceil_mode", N_("Round up"), N_("Keeps a last window that reaches over the edge."), NULL, NW_ATTR_BOOL,
     0, A(ceil_mode), 0, 0, 1, 0, 1, 1},
};
#undef A
static const NwPort pool_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")}};
static const NwPort pool_out[] = {{"y", NW_PORT_DATA, 0, N_("Smaller pictures.")},
                                  {"index", NW_PORT_AUX, 0, N_("Which place of each window won.")}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}, {"index", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort relu_grad_in[] = {
    {"dy", NW_PORT_DATA}, {"index", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}, {"y", NW_PORT_SHAPE}};
static const NwPort grad_out[] = {{"dx", NW_PORT_DATA}};

static NwDType index_dtype(const MaxPool2d *a)
{
  return a->kernel_size.v[0] * a->kernel_size.v[1] <= 127 ? NW_U8 : NW_I32;
}

static NwPool window_of(const MaxPool2d *a)
{
  return (NwPool){a->kernel_size, a->stride, a->padding, a->dilation, a->ceil_mode};
}

static NwStatus check(const NwOp *op, const void *attrs, NwError *error)
{
  NwPool p = window_of(attrs);
  return nw_pool_check(op, &p, error);
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NwPool p = window_of(attrs);
  NW_TRY(nw_pool_infer(op, &p, &in[0], &out[0], error));
  out[1] = out[0];
  out[1].dtype = index_dtype(attrs);
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  NwSpec y[2];
  if (!nw_spec_is(in, n_in, 2))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy, index and x", op->id);
  NW_TRY(infer(op, attrs, &in[2], 1, y, error));
  NW_TRY(nw_need_same(op, &in[0], &y[0], error));
  NW_TRY(nw_need_same(op, &in[1], &y[1], error));
  out[0] = in[2];
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_max_pool2d[GRAD], g->attrs, (NwVal[]){g->dout[0], g->out[1], g->in[0]},
                 3, &g->din[0], error);
}

static NwCost cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out)
{
  const MaxPool2d *a = attrs;
  return (NwCost){0, (double)nw_spec_count(&out[0]) * (double)(a->kernel_size.v[0] * a->kernel_size.v[1])};
}

/* ---- indices ---- */
NW_INLINE void put_index(const NwCall *call, int64_t at, int32_t index, bool mark)
{
  if (call->out_data[1] == NULL)
    return;
  if (call->out[1].dtype == NW_U8)
    ((uint8_t *)call->out_data[1])[at] = (uint8_t)(index | (mark ? 0x80 : 0));
  else
    ((int32_t *)call->out_data[1])[at] = index | (mark ? 1 << 30 : 0);
}

NW_INLINE int32_t get_index(const NwCall *call, int64_t at, bool *mark)
{
  if (call->in[1].dtype == NW_U8) {
    int32_t v = ((const uint8_t *)call->in_data[1])[at];
    *mark = v & 0x80;
    return v & 0x7f;
  }
  int32_t v = ((const int32_t *)call->in_data[1])[at];
  *mark = v >> 30 & 1;
  return v & ~(1 << 30);
}

/* ---- plain kernels ---- */
NW_INLINE void pool_planes(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  NwPool p = window_of(call->attrs);
  const int64_t *x = call->in[0].dims, *y = call->out[0].dims;
  for (int64_t plane = begin; plane < end; plane++)
    for (int64_t at = 0; at < y[2] * y[3]; at++) {
      NwPoolSpan v = nw_pool_span(&p, 0, at / y[3], x[2]), h = nw_pool_span(&p, 1, at % y[3], x[3]);
      double best = -INFINITY;
      int32_t index = (int32_t)(v.first * p.kernel.v[1] + h.first);
      for (int64_t a = v.first; a < v.last; a++)
        for (int64_t b = h.first; b < h.last; b++) {
          int64_t r = v.start + a * p.dilation.v[0], s = h.start + b * p.dilation.v[1];
          double value = nw_get(call->in_data[0], (plane * x[2] + r) * x[3] + s, wide);
          if (value > best || value != value) {
            best = value;
            index = (int32_t)(a * p.kernel.v[1] + b);
          }
        }
      nw_put(call->out_data[0], plane * y[2] * y[3] + at, best, wide);
      put_index(call, plane * y[2] * y[3] + at, index, !(best > 0));
    }
}
NW_WIDTHS(pool_planes)

static NwStatus pool_plain(const NwCall *call, void *state, NwError *error)
{
  pool_planes_run(call, call->in[0].dims[0] * call->in[0].dims[1], 1);
  return NW_OK;
}

NW_INLINE void grad_planes(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  NwPool p = window_of(call->attrs);
  const int64_t *x = call->in[2].dims, *y = call->in[0].dims;
  bool relu = call->op == &nw_ops_max_pool2d[RELU_GRAD];
  for (int64_t plane = begin; plane < end; plane++) {
    int64_t base = plane * x[2] * x[3];
    memset((char *)call->out_data[0] + base * (wide ? 8 : 4), 0, (size_t)(x[2] * x[3] * (wide ? 8 : 4)));
    for (int64_t at = 0; at < y[2] * y[3]; at++) {
      bool mark;
      int32_t index = get_index(call, plane * y[2] * y[3] + at, &mark);
      int64_t r = nw_pool_place(&p, 0, at / y[3], index / p.kernel.v[1]);
      int64_t s = nw_pool_place(&p, 1, at % y[3], index % p.kernel.v[1]);
      if ((relu && mark) || r < 0 || r >= x[2] || s < 0 || s >= x[3])
        continue;
      int64_t to = base + r * x[3] + s;
      double dy = nw_get(call->in_data[0], plane * y[2] * y[3] + at, wide);
      nw_put(call->out_data[0], to, nw_get(call->out_data[0], to, wide) + dy, wide);
    }
  }
}
NW_WIDTHS(grad_planes)

static NwStatus grad_plain(const NwCall *call, void *state, NwError *error)
{
  grad_planes_run(call, call->in[2].dims[0] * call->in[2].dims[1], 1);
  return NW_OK;
}

/* ---- simple kernels: f32, a block of channels side by side ---- */
NW_INLINE void put_indices(const NwCall *call, int64_t at, const int32_t *index, const float *best,
                           const int lanes)
{
  uint8_t *bytes = call->out_data[1];
  if (bytes == NULL)
    return;
  if (call->out[1].dtype == NW_U8)
    for (int l = 0; l < lanes; l++)
      bytes[at + l] = (uint8_t)(index[l] | (best[l] > 0 ? 0 : 0x80));
  else
    for (int l = 0; l < lanes; l++)
      put_index(call, at + l, index[l], !(best[l] > 0));
}

NW_INLINE void pool_block(const NwCall *call, int64_t plane, const int lanes)
{
  NwPool p = window_of(call->attrs);
  const int64_t *xd = call->in[0].dims, *yd = call->out[0].dims;
  const float *x = (const float *)call->in_data[0] + plane * xd[2] * xd[3] * lanes;
  float *y = (float *)call->out_data[0] + plane * yd[2] * yd[3] * lanes;
  int64_t at = plane * yd[2] * yd[3] * lanes;
  for (int64_t i = 0; i < yd[2]; i++) {
    NwPoolSpan v = nw_pool_span(&p, 0, i, xd[2]);
    for (int64_t j = 0; j < yd[3]; j++, at += lanes, y += lanes) {
      NwPoolSpan h = nw_pool_span(&p, 1, j, xd[3]);
      float best[16];
      int32_t index[16];
      for (int l = 0; l < lanes; l++) {
        best[l] = -INFINITY;
        index[l] = (int32_t)(v.first * p.kernel.v[1] + h.first);
      }
      for (int64_t a = v.first; a < v.last; a++)
        for (int64_t b = h.first; b < h.last; b++) {
          int64_t r = v.start + a * p.dilation.v[0], s = h.start + b * p.dilation.v[1];
          const float *from = x + (r * xd[3] + s) * lanes;
          int32_t place = (int32_t)(a * p.kernel.v[1] + b);
          for (int l = 0; l < lanes; l++) {
            bool wins = (from[l] > best[l]) | (from[l] != from[l]); /* a NaN wins, and stays */
            best[l] = wins ? from[l] : best[l];
            index[l] = wins ? place : index[l];
          }
        }
      for (int l = 0; l < lanes; l++)
        y[l] = best[l];
      put_indices(call, at, index, best, lanes);
    }
  }
}

static void pool_simple_body(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  for (int64_t plane = begin; plane < end; plane++)
    if (call->in[0].block == 8)
      pool_block(call, plane, 8);
    else if (call->in[0].block == 16)
      pool_block(call, plane, 16);
    else
      pool_block(call, plane, 1);
}

static NwStatus pool_simple(const NwCall *call, void *state, NwError *error)
{
  NwPlanes x = nw_planes(&call->in[0]);
  nw_parallel(x.n * x.blocks, 1, pool_simple_body, (void *)(uintptr_t)call);
  return NW_OK;
}

/* Windows without gaps have at least one place inside the picture, so every winner of theirs lies inside;
 * where it lies from the window's corner is read from a table. */
NW_INLINE void scatter_dense(const NwCall *call, const NwPool *p, float *dx, const float *dy, int64_t at,
                             bool relu, const int lanes)
{
  const int64_t *xd = call->in[2].dims, *yd = call->in[0].dims;
  const uint8_t *index = (const uint8_t *)call->in_data[1] + at;
  int64_t table[128] = {0};
  for (int64_t k = 0; k < p->kernel.v[0] * p->kernel.v[1]; k++)
    table[k] = (k / p->kernel.v[1] * xd[3] + k % p->kernel.v[1]) * lanes;
  for (int64_t i = 0; i < yd[2]; i++)
    for (int64_t j = 0; j < yd[3]; j++, index += lanes, dy += lanes) {
      int64_t r = i * p->stride.v[0] - p->padding.v[0], s = j * p->stride.v[1] - p->padding.v[1];
      int64_t corner = (r * xd[3] + s) * lanes;
      for (int l = 0; l < lanes; l++) {
        float d = relu && index[l] & 0x80 ? 0 : dy[l];
        dx[corner + table[index[l] & 0x7f] + l] += d;
      }
    }
}

NW_INLINE void scatter(const NwCall *call, const NwPool *p, float *dx, const float *dy, int64_t at, bool relu,
                       const int lanes)
{
  const int64_t *xd = call->in[2].dims, *yd = call->in[0].dims;
  for (int64_t i = 0; i < yd[2]; i++)
    for (int64_t j = 0; j < yd[3]; j++, at += lanes, dy += lanes)
      for (int l = 0; l < lanes; l++) {
        bool mark;
        int32_t index = get_index(call, at + l, &mark);
        int64_t r = nw_pool_place(p, 0, i, index / p->kernel.v[1]);
        int64_t s = nw_pool_place(p, 1, j, index % p->kernel.v[1]);
        if (!(relu && mark) && r >= 0 && r < xd[2] && s >= 0 && s < xd[3])
          dx[(r * xd[3] + s) * lanes + l] += dy[l];
      }
}

NW_INLINE void grad_block(const NwCall *call, int64_t plane, const int lanes)
{
  NwPool p = window_of(call->attrs);
  const int64_t *xd = call->in[2].dims, *yd = call->in[0].dims;
  float *dx = (float *)call->out_data[0] + plane * xd[2] * xd[3] * lanes;
  int64_t at = plane * yd[2] * yd[3] * lanes;
  const float *dy = (const float *)call->in_data[0] + at;
  bool relu = call->op == &nw_ops_max_pool2d[RELU_GRAD];
  memset(dx, 0, (size_t)(xd[2] * xd[3] * lanes) * sizeof *dx);
  if (call->in[1].dtype != NW_U8 || p.dilation.v[0] != 1 || p.dilation.v[1] != 1)
    scatter(call, &p, dx, dy, at, relu, lanes);
  else
    scatter_dense(call, &p, dx, dy, at, relu, lanes);
}

static void grad_simple_body(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  for (int64_t plane = begin; plane < end; plane++)
    if (call->in[0].block == 8)
      grad_block(call, plane, 8);
    else if (call->in[0].block == 16)
      grad_block(call, plane, 16);
    else
      grad_block(call, plane, 1);
}

static NwStatus grad_simple(const NwCall *call, void *state, NwError *error)
{
  NwPlanes y = nw_planes(&call->in[0]);
  nw_parallel(y.n * y.blocks, 1, grad_simple_body, (void *)(uintptr_t)call);
  return NW_OK;
}

/* ---- own kernels: the two usual windows ---- */
static bool vector_suits(const NwCall *call, const NwSpec *x, const NwSpec *y)
{
  const MaxPool2d *a = call->attrs;
  int64_t k = a->kernel_size.v[0], p = k == 2 ? 0 : 1;
  return (k == 2 || k == 3) && a->kernel_size.v[1] == k && a->stride.v[0] == 2 && a->stride.v[1] == 2 &&
         a->padding.v[0] == p && a->padding.v[1] == p && a->dilation.v[0] == 1 && a->dilation.v[1] == 1 &&
         y->dims[2] == (x->dims[2] + 2 * p - k) / 2 + 1 && y->dims[3] == (x->dims[3] + 2 * p - k) / 2 + 1;
}

static bool pool_vector_supports(const NwCall *call)
{
  return nw_supports_one_block(call) && call->in[0].dtype == NW_F32 &&
         call->in[0].block == nw_kernels()->lanes && vector_suits(call, &call->in[0], &call->out[0]);
}

static bool grad_vector_supports(const NwCall *call)
{
  return nw_supports_one_block(call) && call->in[0].dtype == NW_F32 &&
         call->in[0].block == nw_kernels()->lanes && vector_suits(call, &call->in[2], &call->in[0]);
}

static NwPooling pooling_of(const NwCall *call, const NwSpec *x, const NwSpec *y)
{
  NwPlanes planes = nw_planes(y);
  const MaxPool2d *a = call->attrs;
  return (NwPooling){.planes = planes.n * planes.blocks,
                     .h = x->dims[2],
                     .w = x->dims[3],
                     .oh = y->dims[2],
                     .ow = y->dims[3],
                     .kernel = a->kernel_size.v[0],
                     .x = call->in_data[0],
                     .y = call->out_data[0]};
}

static NwStatus pool_vector(const NwCall *call, void *state, NwError *error)
{
  NwPooling job = pooling_of(call, &call->in[0], &call->out[0]);
  job.index_out = call->out_data[1];
  nw_kernels()->pool(&job);
  return NW_OK;
}

static NwStatus grad_vector(const NwCall *call, void *state, NwError *error)
{
  NwPooling job = pooling_of(call, &call->in[2], &call->in[0]);
  job.index = call->in_data[1];
  job.relu = call->op == &nw_ops_max_pool2d[RELU_GRAD];
  nw_kernels()->pool_grad(&job);
  return NW_OK;
}

#define VECTOR_ROW(can, fn)                                                                                  \
  {                                                                                                          \
    .name = "vector", .device = NW_CPU, .flags = NW_KERNEL_EXACT, .layout = nw_layout_one_block,             \
    .supports = can, .run = fn                                                                               \
  }
static const NwKernel pool_kernels[] = {VECTOR_ROW(pool_vector_supports, pool_vector),
                                        NW_ONE_BLOCK("simple", pool_simple), NW_PLAIN(pool_plain)};
static const NwKernel grad_kernels[] = {VECTOR_ROW(grad_vector_supports, grad_vector),
                                        NW_ONE_BLOCK("simple", grad_simple), NW_PLAIN(grad_plain)};

static void keep_attrs(const void *attrs, const void *next_attrs, void *into_attrs)
{
  memcpy(into_attrs, attrs, sizeof(MaxPool2d));
}
/* The mark stands for "the ReLU let it through" only where y is what the pool read. */
static bool same_picture(const void *attrs, const void *next_attrs, const NwSpec *in, const NwSpec *next_out)
{
  return nw_spec_same_shape(&in[2], next_out);
}
static const NwFusion grad_fusions[] = {{"relu_grad", "max_pool2d_relu_grad", same_picture, keep_attrs}};

static const NwOpCase cases[] = {
    {"", "2x3x8x8"},
    {"", "1x8x7x9"},
    {"kernel_size=3 stride=2 padding=1", "2x5x11x10"},
    {"kernel_size=3 stride=2 padding=1", "1x16x8x9"},
    {"kernel_size=3x2 stride=1x2 padding=1x0 dilation=2x1", "1x16x9x8"},
    {"kernel_size=3 stride=2 ceil_mode=true", "2x4x8x8"},
    {"kernel_size=13 stride=7 padding=6", "1x2x20x20"},
};

const NwOp nw_ops_max_pool2d[] = {
    {.id = "max_pool2d",
     .version = 1,
     .label = "MaxPool2d",
     .group = NW_GROUP_POOLING,
     .doc = N_("Shrinks the picture by keeping the greatest number of each window."),
     .formula =
         N_("y[n,c,i,j] = max over p, q of x[n, c, i·stride − padding + p·dilation, j·stride − padding + "
            "q·dilation]"),
     .keywords = "maximum pooling downsample shrink subsample",
     .torch = "torch.nn.MaxPool2d",
     NW_PORTS_AND(pool_in, pool_out),
     NW_ATTRS(MaxPool2d, attrs_rows),
     .check = check,
     .infer = infer,
     .grad = rule,
     .cost = cost,
     NW_KERNELS(pool_kernels),
     .onnx = "MaxPool($x) kernel_shape=$kernel_size strides=$stride pads=[$padding, $padding] "
             "dilations=$dilation ceil_mode=$ceil_mode",
     .torchscript = "torch.max_pool2d($x, $kernel_size, $stride, $padding, $dilation, $ceil_mode)",
     NW_CASES(cases)},
    {NW_INTERNAL("max_pool2d_grad", grad_in, grad_out), NW_ATTRS(MaxPool2d, attrs_rows), .infer = grad_infer,
     NW_KERNELS(grad_kernels), NW_FUSIONS(grad_fusions)},
    {NW_INTERNAL("max_pool2d_relu_grad", relu_grad_in, grad_out), NW_ATTRS(MaxPool2d, attrs_rows),
     .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(max_pool2d);
