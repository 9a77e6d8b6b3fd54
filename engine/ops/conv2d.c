/* Conv2d: declaration, shapes, gradient rule, plain kernels, oneDNN rows. Weights are always in torch's
 * layout. */
#include "engine/ops/conv2d.h"
#include "engine/ops/conv2d-own.h"

extern const NwOp nw_ops_conv2d[];
enum { CONV, GRAD_X, GRAD_W };

static const NwAttr conv_attrs[] = {NW_CONV2D_ATTR_ROWS};

static const NwPort conv_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
    {"weight", NW_PORT_PARAM, 0, N_("Filters: channels out, channels in of a group, height, width.")},
    {"bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("One number for each channel out.")},
};
static const NwPort conv_out[] = {{"y", NW_PORT_DATA, 0, N_("Filtered pictures.")}};
static const NwPort grad_x_in[] = {{"dy", NW_PORT_DATA}, {"weight", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort grad_x_out[] = {{"dx", NW_PORT_DATA}};
static const NwPort grad_w_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_DATA}, {"weight", NW_PORT_SHAPE}};
static const NwPort grad_w_out[] = {{"dweight", NW_PORT_DATA}, {"dbias", NW_PORT_DATA}};

/* ---- shapes ---- */
NwConvShape nw_conv_shape(const NwConv2d *a, const NwSpec *x, const NwSpec *w, const NwSpec *y)
{
  return (NwConvShape){.n = x->dims[0],
                       .ci = x->dims[1],
                       .h = x->dims[2],
                       .w = x->dims[3],
                       .co = w->dims[0],
                       .oh = y->dims[2],
                       .ow = y->dims[3],
                       .kh = w->dims[2],
                       .kw = w->dims[3],
                       .sh = a->stride.v[0],
                       .sw = a->stride.v[1],
                       .ph = a->padding.v[0],
                       .pw = a->padding.v[1],
                       .dh = a->dilation.v[0],
                       .dw = a->dilation.v[1],
                       .groups = a->groups,
                       .ig = w->dims[1],
                       .og = w->dims[0] / a->groups};
}

static NwStatus conv_check(const NwOp *op, const void *attrs, NwError *error)
{
  const NwConv2d *a = attrs;
  if (a->groups < 1 || a->out_channels % a->groups != 0)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "groups",
                            "%s: %lld groups do not divide %lld channels out; choose numbers that do",
                            nw_op_name(op), (long long)a->groups, (long long)a->out_channels);
  return NW_OK;
}

NwStatus nw_conv2d_infer_y(const NwOp *op, const NwConv2d *a, const NwSpec *in, int n_in, NwSpec *y,
                           NwError *error)
{
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  NW_TRY(conv_check(op, a, error));
  if (in[0].dims[1] % a->groups != 0)
    return nw_fail_property(error, NW_BAD_SHAPE, "groups",
                            "%s: %lld groups do not divide the %lld channels that come in", nw_op_name(op),
                            (long long)a->groups, (long long)in[0].dims[1]);
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s has no weight", nw_op_name(op));
  const NwSpec *w = &in[1];
  if (w->ndim != 4 || w->dtype != in[0].dtype || w->dims[1] != in[0].dims[1] / a->groups ||
      w->dims[0] != a->out_channels || w->dims[2] != a->kernel_size.v[0] ||
      w->dims[3] != a->kernel_size.v[1]) {
    char text[64];
    nw_spec_shape_text(w, false, text, sizeof text);
    return nw_fail(error, NW_BAD_SHAPE, "%s: a weight of %s does not fit %lld channels in and %lld out",
                   nw_op_name(op), text, (long long)in[0].dims[1], (long long)a->out_channels);
  }
  if (nw_spec_is(in, n_in, 2) && (in[2].ndim != 1 || in[2].dims[0] != w->dims[0] || in[2].dtype != w->dtype))
    return nw_fail(error, NW_BAD_SHAPE, "%s: the bias needs %lld numbers", nw_op_name(op),
                   (long long)w->dims[0]);
  int64_t dims[4] = {in[0].dims[0], w->dims[0]};
  for (int i = 0; i < 2; i++)
    NW_TRY(nw_infer_window(op, i ? "width" : "height", in[0].dims[2 + i], w->dims[2 + i], a->stride.v[i],
                           a->padding.v[i], a->dilation.v[i], false, &dims[2 + i], error));
  *y = nw_spec_like(&in[0], 4, dims);
  return NW_OK;
}

static NwStatus conv_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  return nw_conv2d_infer_y(op, attrs, in, n_in, &out[0], error);
}

/* dy must be what the forward pass gives for x and weight. */
static NwStatus need_dy(const NwOp *op, const NwConv2d *a, const NwSpec *dy, const NwSpec *x, const NwSpec *w,
                        NwError *error)
{
  NwSpec y;
  NW_TRY(nw_conv2d_infer_y(op, a, (NwSpec[]){*x, *w}, 2, &y, error));
  return nw_need_same(op, dy, &y, error);
}

static NwStatus grad_x_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                             NwError *error)
{
  NW_TRY(need_dy(op, attrs, &in[0], &in[2], &in[1], error));
  out[0] = in[2];
  return NW_OK;
}

static NwStatus grad_w_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                             NwError *error)
{
  const NwConv2d *a = attrs;
  NW_TRY(need_dy(op, attrs, &in[0], &in[1], &in[2], error));
  out[0] = in[2];
  out[1] = a->bias ? nw_spec_like(&in[2], 1, &in[2].dims[0]) : nw_spec_absent();
  return NW_OK;
}

static NwStatus conv_param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                           NwError *error)
{
  const NwConv2d *a = attrs;
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  NW_TRY(conv_check(op, a, error));
  int64_t ci = in[0].dims[1];
  if (ci % a->groups != 0)
    return nw_fail_property(error, NW_BAD_SHAPE, "groups",
                            "%s: %lld groups do not divide the %lld channels that come in", nw_op_name(op),
                            (long long)a->groups, (long long)ci);
  int64_t dims[4] = {a->out_channels, ci / a->groups, a->kernel_size.v[0], a->kernel_size.v[1]};
  double bound = 1 / sqrt((double)(dims[1] * dims[2] * dims[3]));
  if (port == 1)
    *info = (NwParamInfo){true, nw_spec_like(&in[0], 4, dims), NW_INIT_UNIFORM, bound};
  else
    *info = nw_param_vector(&in[0], a->out_channels, NW_INIT_UNIFORM, bound);
  info->present = port == 1 || a->bias;
  return NW_OK;
}

static NwCost conv_cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out)
{
  const NwSpec *w = &in[1];
  double macs = (double)nw_spec_count(&out[0]) * (double)(w->dims[1] * w->dims[2] * w->dims[3]);
  return (NwCost){macs, 2 * macs + (nw_spec_is(in, n_in, 2) ? (double)nw_spec_count(&out[0]) : 0)};
}

/* ---- gradients ---- */
static NwStatus conv_grad(NwGrad *g, NwError *error)
{
  NwConv2d a = *(const NwConv2d *)g->attrs;
  a.bias = g->n_in > 2 && g->in[2].p != NULL && g->need[2];
  if (g->need[0])
    NW_TRY(nw_emit(g->emitter, &nw_ops_conv2d[GRAD_X], g->attrs, (NwVal[]){g->dout[0], g->in[1], g->in[0]}, 3,
                   &g->din[0], error));
  if (!g->need[1] && !a.bias)
    return NW_OK;
  NwVal out[2];
  NW_TRY(g->emitter->emit(g->emitter, &nw_ops_conv2d[GRAD_W], &a, (NwVal[]){g->dout[0], g->in[0], g->in[1]},
                          3, out, error));
  if (g->need[1])
    g->din[1] = out[0];
  if (a.bias)
    g->din[2] = out[1];
  return NW_OK;
}

/* The gradient of a gradient, and of the transposed convolution, which is the gradient of a convolution. */
static NwStatus grad_x_rule(NwGrad *g, NwError *error)
{
  NwConv2d a = *(const NwConv2d *)g->attrs;
  NwVal out[2];
  a.bias = false;
  if (g->need[0])
    NW_TRY(nw_emit(g->emitter, &nw_ops_conv2d[CONV], &a, (NwVal[]){g->dout[0], g->in[1], {0}}, 3, &g->din[0],
                   error));
  if (!g->need[1])
    return NW_OK;
  NW_TRY(g->emitter->emit(g->emitter, &nw_ops_conv2d[GRAD_W], &a, (NwVal[]){g->in[0], g->dout[0], g->in[1]},
                          3, out, error));
  g->din[1] = out[0];
  return NW_OK;
}

/* ---- plain kernels ---- */
/* Columns are summed in pieces that stay in registers and first-level cache. */
enum { TILE = 64 };

/* First and one past the last output column in [from, to) whose input column lies inside the picture. */
NW_INLINE void valid_columns(int64_t offset, int64_t stride, int64_t size, int64_t *from, int64_t *to)
{
  int64_t low = offset < 0 ? (-offset + stride - 1) / stride : 0;
  int64_t high = offset < size ? (size - 1 - offset) / stride + 1 : 0;
  if (low > *from)
    *from = low;
  if (high < *to)
    *to = high;
}

NW_INLINE void forward_row(const NwConvPlain *job, int64_t row, bool wide)
{
  const NwConvShape *s = &job->shape;
  int64_t i = row % s->oh, o = row / s->oh % s->co, n = row / s->oh / s->co, c0 = o / s->og * s->ig;
  for (int64_t j0 = 0; j0 < s->ow; j0 += TILE) {
    int64_t j1 = j0 + TILE < s->ow ? j0 + TILE : s->ow;
    double sum[TILE] = {0};
    for (int64_t c = 0; c < s->ig; c++)
      for (int64_t p = 0; p < s->kh; p++) {
        int64_t r = i * s->sh - s->ph + p * s->dh;
        if (r < 0 || r >= s->h)
          continue;
        int64_t x0 = ((n * s->ci + c0 + c) * s->h + r) * s->w;
        for (int64_t q = 0; q < s->kw; q++) {
          double weight = nw_get(job->weight, ((o * s->ig + c) * s->kh + p) * s->kw + q, wide);
          int64_t from = j0, to = j1, offset = q * s->dw - s->pw;
          valid_columns(offset, s->sw, s->w, &from, &to);
          for (int64_t j = from; j < to; j++)
            sum[j - j0] += weight * nw_get(job->x, x0 + j * s->sw + offset, wide);
        }
      }
    double bias = job->bias ? nw_get(job->bias, o, wide) : 0;
    double scale = job->scale ? job->scale[o] : 1, shift = job->shift ? job->shift[o] : 0;
    for (int64_t j = j0; j < j1; j++) {
      double y = (sum[j - j0] + bias) * scale + shift;
      if (job->other)
        y += nw_get(job->other, row * s->ow + j, wide);
      nw_put(job->y, row * s->ow + j, job->relu && y < 0 ? 0 : y, wide);
    }
  }
}

static void forward_body(void *context, int64_t begin, int64_t end, int thread)
{
  const NwConvPlain *job = context;
  (void)thread;
  for (int64_t row = begin; row < end; row++)
    if (job->wide)
      forward_row(job, row, true);
    else
      forward_row(job, row, false);
}

void nw_conv2d_plain(const NwConvPlain *job)
{
  nw_parallel(job->shape.n * job->shape.co * job->shape.oh, 1, forward_body, (void *)(uintptr_t)job);
}

static NwStatus conv_plain(const NwCall *call, void *state, NwError *error)
{
  NwConvPlain job = {.shape = nw_conv_shape(call->attrs, &call->in[0], &call->in[1], &call->out[0]),
                     .x = call->in_data[0],
                     .weight = call->in_data[1],
                     .bias = nw_call_has(call, 2) ? call->in_data[2] : NULL,
                     .y = call->out_data[0],
                     .wide = nw_call_wide(call)};
  nw_conv2d_plain(&job);
  return NW_OK;
}

NW_INLINE void grad_x_rows(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const NwConvShape s = nw_conv_shape(call->attrs, &call->in[2], &call->in[1], &call->in[0]);
  const void *dy = call->in_data[0], *weight = call->in_data[1];
  for (int64_t row = begin; row < end; row++) {
    int64_t r = row % s.h, ci = row / s.h % s.ci, n = row / s.h / s.ci;
    int64_t group = ci / s.ig, c = ci % s.ig;
    for (int64_t k0 = 0; k0 < s.w; k0 += TILE) {
      int64_t k1 = k0 + TILE < s.w ? k0 + TILE : s.w;
      double sum[TILE] = {0};
      for (int64_t o = group * s.og; o < (group + 1) * s.og; o++)
        for (int64_t p = 0; p < s.kh; p++) {
          int64_t t = r + s.ph - p * s.dh, i = t / s.sh;
          if (t < 0 || t % s.sh != 0 || i >= s.oh)
            continue;
          int64_t y0 = ((n * s.co + o) * s.oh + i) * s.ow;
          for (int64_t q = 0; q < s.kw; q++) {
            double w = nw_get(weight, ((o * s.ig + c) * s.kh + p) * s.kw + q, wide);
            /* input column k = j·stride + offset; columns [k0, k1) play the picture here */
            int64_t offset = q * s.dw - s.pw - k0, from = 0, to = s.ow;
            valid_columns(offset, s.sw, k1 - k0, &from, &to);
            for (int64_t j = from; j < to; j++)
              sum[j * s.sw + offset] += w * nw_get(dy, y0 + j, wide);
          }
        }
      for (int64_t k = k0; k < k1; k++)
        nw_put(call->out_data[0], row * s.w + k, sum[k - k0], wide);
    }
  }
}
NW_WIDTHS(grad_x_rows)

static NwStatus grad_x_plain(const NwCall *call, void *state, NwError *error)
{
  const NwSpec *x = &call->in[2];
  grad_x_rows_run(call, x->dims[0] * x->dims[1] * x->dims[2], 1);
  return NW_OK;
}

/* One filter tap of one pair of channels at a time: begin..end counts (o, c, p, q). */
NW_INLINE void grad_w_taps(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const NwConvShape s = nw_conv_shape(call->attrs, &call->in[1], &call->in[2], &call->in[0]);
  const void *dy = call->in_data[0], *x = call->in_data[1];
  for (int64_t tap = begin; tap < end; tap++) {
    int64_t q = tap % s.kw, p = tap / s.kw % s.kh, c = tap / s.kw / s.kh % s.ig, o = tap / s.kw / s.kh / s.ig;
    int64_t ci = o / s.og * s.ig + c, from = 0, to = s.ow, offset = q * s.dw - s.pw;
    double sum = 0;
    valid_columns(offset, s.sw, s.w, &from, &to);
    for (int64_t n = 0; n < s.n; n++)
      for (int64_t i = 0; i < s.oh; i++) {
        int64_t r = i * s.sh - s.ph + p * s.dh;
        if (r < 0 || r >= s.h)
          continue;
        int64_t y0 = ((n * s.co + o) * s.oh + i) * s.ow, x0 = ((n * s.ci + ci) * s.h + r) * s.w + offset;
        for (int64_t j = from; j < to; j++)
          sum += nw_get(dy, y0 + j, wide) * nw_get(x, x0 + j * s.sw, wide);
      }
    nw_put(call->out_data[0], tap, sum, wide);
  }
}
NW_WIDTHS(grad_w_taps)

NW_INLINE void grad_b_channels(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const NwSpec *y = &call->in[0];
  int64_t area = y->dims[2] * y->dims[3];
  for (int64_t o = begin; o < end; o++) {
    double sum = 0;
    for (int64_t n = 0; n < y->dims[0]; n++)
      for (int64_t i = 0; i < area; i++)
        sum += nw_get(call->in_data[0], (n * y->dims[1] + o) * area + i, wide);
    nw_put(call->out_data[1], o, sum, wide);
  }
}
NW_WIDTHS(grad_b_channels)

static NwStatus grad_w_plain(const NwCall *call, void *state, NwError *error)
{
  grad_w_taps_run(call, nw_spec_count(&call->out[0]), 1);
  if (call->out_data[1])
    grad_b_channels_run(call, call->in[0].dims[1], 1);
  return NW_OK;
}

/* ---- oneDNN ---- */
NwOnednnConv nw_conv2d_describe(const NwConv2d *a, const NwSpec *x, const NwSpec *w, const NwSpec *y,
                                NwOnednnPass pass, bool bias)
{
  NwConvShape s = nw_conv_shape(a, x, w, y);
  return (NwOnednnConv){.pass = pass,
                        .n = s.n,
                        .ci = s.ci,
                        .co = s.co,
                        .h = s.h,
                        .w = s.w,
                        .oh = s.oh,
                        .ow = s.ow,
                        .kh = s.kh,
                        .kw = s.kw,
                        .groups = s.groups,
                        .stride = {s.sh, s.sw},
                        .padding = {s.ph, s.pw},
                        .dilation = {s.dh, s.dw},
                        .src_block = x->block,
                        .dst_block = y->block,
                        .bias = bias};
}

bool nw_conv2d_layout(NwOnednnConv *conv, int lanes)
{
  if (!nw_onednn_available())
    return false;
  int64_t ig = conv->ci / conv->groups, og = conv->co / conv->groups;
  bool fits = conv->groups == 1 || (ig == 1 && og == 1) || (ig % lanes == 0 && og % lanes == 0);
  /* The first layer reads its one or three channels as they are: padding them to a block would waste most of
   * the work. */
  const int32_t tries[][2] = {{ig < 4 && conv->groups == 1 ? 0 : lanes, lanes}, {lanes, lanes}};
  for (int i = 0; fits && i < NW_COUNT(tries); i++) {
    conv->src_block = tries[i][0];
    conv->dst_block = tries[i][1];
    if (nw_onednn_conv_fast(conv))
      return true;
  }
  conv->src_block = conv->dst_block = 0;
  return true;
}

bool nw_conv2d_onednn_supports(const NwCall *call, const NwOnednnConv *conv)
{
  if (!nw_onednn_available() || call->in[0].dtype != NW_F32)
    return false;
  /* Plain on both sides always has an implementation (gemm), so the tape need not ask. */
  return (conv->src_block == 0 && conv->dst_block == 0) || nw_onednn_conv_fast(conv);
}

static NwOnednnConv describe(const NwCall *call)
{
  bool forward = call->op == &nw_ops_conv2d[CONV];
  if (forward)
    return nw_conv2d_describe(call->attrs, &call->in[0], &call->in[1], &call->out[0], NW_ONEDNN_FORWARD,
                              nw_call_has(call, 2));
  if (call->op == &nw_ops_conv2d[GRAD_X])
    return nw_conv2d_describe(call->attrs, &call->out[0], &call->in[1], &call->in[0], NW_ONEDNN_BACKWARD_DATA,
                              false);
  return nw_conv2d_describe(call->attrs, &call->in[1], &call->in[2], &call->in[0], NW_ONEDNN_BACKWARD_WEIGHTS,
                            call->out[1].ndim >= 0);
}

static bool onednn_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  NwOnednnConv conv = describe(call);
  if (!nw_conv2d_layout(&conv, lanes))
    return false;
  for (int i = 0; i < call->n_in; i++)
    in_block[i] = nw_call_role(call, i) == NW_PORT_SHAPE ? call->in[i].block : 0;
  for (int i = 0; i < call->n_out; i++)
    out_block[i] = 0;
  if (conv.pass == NW_ONEDNN_FORWARD) {
    in_block[0] = conv.src_block;
    out_block[0] = conv.dst_block;
  } else if (conv.pass == NW_ONEDNN_BACKWARD_DATA) {
    in_block[0] = conv.dst_block;
    out_block[0] = conv.src_block;
  } else {
    in_block[0] = conv.dst_block;
    in_block[1] = conv.src_block;
  }
  return true;
}

static bool onednn_supports(const NwCall *call)
{
  NwOnednnConv conv = describe(call);
  return nw_conv2d_onednn_supports(call, &conv);
}

static NwStatus onednn_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  NwOnednnConv conv = describe(call);
  return nw_onednn_conv_new(&conv, (NwOnednn **)state, workspace, error);
}

static NwStatus onednn_run(const NwCall *call, void *state, NwError *error)
{
  NwOnednnData d = {.workspace = call->workspace, .refresh = call->refresh, .frozen = call->frozen >> 1 & 1};
  if (call->op == &nw_ops_conv2d[CONV]) {
    d.src = call->in_data[0];
    d.weights = call->in_data[1];
    d.bias = nw_call_has(call, 2) ? call->in_data[2] : NULL;
    d.dst = call->out_data[0];
  } else if (call->op == &nw_ops_conv2d[GRAD_X]) {
    d.src = call->out_data[0];
    d.weights = call->in_data[1];
    d.dst = call->in_data[0];
  } else {
    d.src = call->in_data[1];
    d.dst = call->in_data[0];
    d.weights = call->out_data[0];
    d.bias = call->out_data[1];
    d.frozen = false;
  }
  return nw_onednn_run(state, &d, error);
}

#define ONEDNN_ROW                                                                                           \
  {                                                                                                          \
    .name = "onednn", .device = NW_CPU, .flags = NW_KERNEL_EXACT, .layout = onednn_layout,                   \
    .supports = onednn_supports, .prepare = onednn_prepare, .run = onednn_run, .release = nw_onednn_free     \
  }
static const NwKernel conv_kernels[] = {
    NW_OWN_CONV_ROW("winograd", nw_winograd_forward, nw_winograd_conv_free),
    NW_OWN_CONV_ROW("direct", nw_direct_forward, nw_free), ONEDNN_ROW, NW_PLAIN(conv_plain)};
static const NwKernel grad_x_kernels[] = {
    NW_OWN_CONV_ROW("winograd", nw_winograd_back, nw_winograd_conv_free),
    NW_OWN_CONV_ROW("direct", nw_direct_back, nw_free), ONEDNN_ROW, NW_PLAIN(grad_x_plain)};
static const NwKernel grad_w_kernels[] = {NW_OWN_CONV_ROW("winograd", nw_winograd_weights, nw_free),
                                          NW_OWN_CONV_ROW("first", nw_first_weights, nw_free), ONEDNN_ROW,
                                          NW_PLAIN(grad_w_plain)};

/* ---- fusions (conv2d_fused.c) ---- */
static const NwFusion conv_fusions[] = {
    {"relu", "conv2d_relu", NULL, NULL},
    {"batch_norm2d", "conv2d_bn", nw_conv2d_bn_when, nw_conv2d_bn_merge},
};

static const NwOpCase conv_cases[] = {
    {"out_channels=5", "2x3x7x6 5x3x3x3 5"},
    {"out_channels=8 kernel_size=1 bias=false", "1x16x5x5 8x16x1x1 -"},
    {"out_channels=16 padding=1", "3x8x9x9 16x8x3x3 16"},
    {"out_channels=12 kernel_size=5x3 stride=2x1 padding=2x1", "2x6x11x7 12x6x5x3 12"},
    {"out_channels=16 kernel_size=3 padding=2 dilation=2", "1x8x8x8 16x8x3x3 16"},
    {"out_channels=24 padding=1 groups=24 bias=false", "2x24x8x9 24x1x3x3 -"},
    {"out_channels=16 padding=1 stride=2 groups=4", "2x8x9x9 16x2x3x3 16"},
    {"out_channels=32 kernel_size=7 stride=2 padding=3", "1x3x21x21 32x3x7x7 32"},
    {"out_channels=48 padding=1", "3x32x9x6 48x32x3x3 48"},
    {"out_channels=6 kernel_size=5 padding=2", "3x3x12x10 6x3x5x5 6"},
    {"out_channels=16 kernel_size=5", "2x6x14x14 16x6x5x5 16"},
    {"out_channels=7 kernel_size=3x5 padding=1x3 bias=false", "1x5x9x3 7x5x3x5 -"},
    {"out_channels=40 kernel_size=3 stride=3", "2x1x10x31 40x1x3x3 40"},
};

const NwOp nw_ops_conv2d[] = {
    {.id = "conv2d",
     .version = 1,
     .label = "Conv2d",
     .group = NW_GROUP_CONVOLUTION,
     .doc = N_("Slides small learnt filters over the picture and tells how well each place matches."),
     .formula =
         N_("y[n,o] = bias[o] + Σ over c, p, q of weight[o,c,p,q] · x[n, c, i·stride − padding + p·dilation, "
            "j·stride − padding + q·dilation]; weights start uniform in ±1/√(channels in × kernel area) "
            "(He et al. 2015, as PyTorch does)."),
     .keywords = "convolution filter kernel cnn feature",
     .torch = "torch.nn.Conv2d",
     NW_PORTS_AND(conv_in, conv_out),
     NW_ATTRS(NwConv2d, conv_attrs),
     .check = conv_check,
     .infer = conv_infer,
     .param = conv_param,
     .grad = conv_grad,
     .cost = conv_cost,
     NW_KERNELS(conv_kernels),
     NW_FUSIONS(conv_fusions),
     .onnx = "Conv($x, $weight, $bias) kernel_shape=$kernel_size strides=$stride pads=[$padding, $padding] "
             "dilations=$dilation group=$groups",
     .torchscript = "torch.conv2d($x, $weight, $bias, $stride, $padding, $dilation, $groups)",
     NW_CASES(conv_cases)},
    {NW_INTERNAL("conv2d_grad_x", grad_x_in, grad_x_out), NW_ATTRS(NwConv2d, conv_attrs), .grad = grad_x_rule,
     .infer = grad_x_infer, NW_KERNELS(grad_x_kernels)},
    {NW_INTERNAL("conv2d_grad_w", grad_w_in, grad_w_out), NW_ATTRS(NwConv2d, conv_attrs),
     .infer = grad_w_infer, NW_KERNELS(grad_w_kernels)},
};
NW_OPS_END(conv2d);
