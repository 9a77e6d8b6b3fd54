/* PReLU: a leaky ReLU whose slope is learnt, one for all channels or one for each. */
#include "engine/ops/elementwise.h"

typedef struct Prelu {
  int64_t num_parameters;
} Prelu;

extern const NwOp nw_ops_prelu[];

static const NwAttr attrs_rows[] = {
    {"num_parameters", N_("Slopes"), N_("1 for all channels together, or as many as there are channels."),
     NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(Prelu, num_parameters), 1, 1, 65536, 1, 1024, 1},
};
static const NwPort prelu_in[] = {{"x", NW_PORT_DATA, 0, N_("Numbers with channels.")},
                                  {"weight", NW_PORT_PARAM, 0, N_("The slopes of negative numbers.")}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_DATA}, {"weight", NW_PORT_DATA}};
static const NwPort grad_out[] = {{"dx", NW_PORT_DATA}, {"dweight", NW_PORT_DATA}};

/* ---- shapes ---- */
static NwStatus need_slopes(const NwOp *op, const Prelu *a, const NwSpec *x, NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, x, 1, &(NwSpec){0}, error));
  if (x->ndim < 2)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs a batch of numbers with channels", nw_op_name(op));
  if (a->num_parameters != 1 && a->num_parameters != x->dims[1])
    return nw_fail_property(
        error, NW_BAD_SHAPE, "num_parameters",
        "%s: num_parameters is %lld, but the input has %lld channels; set it to that or to 1", nw_op_name(op),
        (long long)a->num_parameters, (long long)x->dims[1]);
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const Prelu *a = attrs;
  NW_TRY(need_slopes(op, a, &in[0], error));
  if (!nw_spec_is(in, n_in, 1) || in[1].ndim != 1 || in[1].dims[0] != a->num_parameters ||
      in[1].dtype != in[0].dtype)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs %lld slopes as its weight", nw_op_name(op),
                   (long long)a->num_parameters);
  out[0] = in[0];
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  if (n_in < 3)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy, x and weight", op->id);
  NW_TRY(infer(op, attrs, in + 1, 2, out, error));
  out[1] = in[2];
  return nw_need_same(op, &in[0], &in[1], error);
}

static NwStatus param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                      NwError *error)
{
  const Prelu *a = attrs;
  NW_TRY(need_slopes(op, a, &in[0], error));
  *info = nw_param_vector(&in[0], a->num_parameters, NW_INIT_CONSTANT, 0.25);
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  NwVal out[2];
  NW_TRY(g->emitter->emit(g->emitter, &nw_ops_prelu[1], g->attrs, (NwVal[]){g->dout[0], g->in[0], g->in[1]},
                          3, out, error));
  g->din[0] = out[0];
  g->din[1] = out[1];
  return NW_OK;
}

/* ---- kernels: planes of `lanes` channels ---- */
typedef struct Plane {
  int64_t first, inner, channel; /* first number, positions, first channel */
} Plane;

NW_INLINE Plane plane_of(const NwSpec *x, int64_t plane, int lanes)
{
  int64_t inner = 1, blocks = (x->dims[1] + lanes - 1) / lanes;
  for (int i = 2; i < x->ndim; i++)
    inner *= x->dims[i];
  return (Plane){plane * inner * lanes, inner, plane % blocks * lanes};
}

NW_INLINE int64_t planes(const NwSpec *x)
{
  int64_t lanes = x->block ? x->block : 1;
  return x->dims[0] * ((x->dims[1] + lanes - 1) / lanes);
}

/* The slopes of a block; those of padded channels are 0. */
NW_INLINE void slopes_of(const void *weight, const NwSpec *w, const NwSpec *x, int64_t channel, int lanes,
                         double *slope, bool wide)
{
  for (int l = 0; l < lanes; l++)
    slope[l] = channel + l >= x->dims[1] ? 0 : nw_get(weight, w->dims[0] == 1 ? 0 : channel + l, wide);
}

NW_INLINE void forward_plane(const NwCall *call, int64_t plane, const int lanes)
{
  Plane p = plane_of(&call->in[0], plane, lanes);
  const float *x = (const float *)call->in_data[0] + p.first;
  float *y = (float *)call->out_data[0] + p.first, slope[16];
  double wide[16];
  slopes_of(call->in_data[1], &call->in[1], &call->in[0], p.channel, lanes, wide, false);
  for (int l = 0; l < lanes; l++)
    slope[l] = (float)wide[l];
  for (int64_t i = 0; i < p.inner; i++)
    for (int l = 0; l < lanes; l++)
      y[i * lanes + l] = x[i * lanes + l] > 0 ? x[i * lanes + l] : x[i * lanes + l] * slope[l];
}

NW_INLINE void forward_planes(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  for (int64_t plane = begin; plane < end; plane++) {
    Plane p = plane_of(&call->in[0], plane, 1);
    double slope;
    slopes_of(call->in_data[1], &call->in[1], &call->in[0], p.channel, 1, &slope, wide);
    for (int64_t i = p.first; i < p.first + p.inner; i++) {
      double x = nw_get(call->in_data[0], i, wide);
      nw_put(call->out_data[0], i, x > 0 ? x : x * slope, wide);
    }
  }
}
NW_WIDTHS(forward_planes)

/* dx, and each plane's share of dweight into the workspace. */
NW_INLINE void grad_plane(const NwCall *call, int64_t plane, const int lanes)
{
  Plane p = plane_of(&call->in[1], plane, lanes);
  const float *dy = (const float *)call->in_data[0] + p.first, *x = (const float *)call->in_data[1] + p.first;
  float *dx = (float *)call->out_data[0] + p.first, slope[16];
  double wide[16], *sum = (double *)call->workspace + plane * lanes;
  slopes_of(call->in_data[2], &call->in[2], &call->in[1], p.channel, lanes, wide, false);
  for (int l = 0; l < lanes; l++) {
    slope[l] = (float)wide[l];
    sum[l] = 0;
  }
  for (int64_t i = 0; i < p.inner; i++)
    for (int l = 0; l < lanes; l++) {
      float d = dy[i * lanes + l], v = x[i * lanes + l];
      dx[i * lanes + l] = v > 0 ? d : d * slope[l];
      sum[l] += v > 0 ? 0.f : d * v;
    }
}

NW_INLINE void grad_planes(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  for (int64_t plane = begin; plane < end; plane++) {
    Plane p = plane_of(&call->in[1], plane, 1);
    double slope, sum = 0;
    slopes_of(call->in_data[2], &call->in[2], &call->in[1], p.channel, 1, &slope, wide);
    for (int64_t i = p.first; i < p.first + p.inner; i++) {
      double d = nw_get(call->in_data[0], i, wide), v = nw_get(call->in_data[1], i, wide);
      nw_put(call->out_data[0], i, v > 0 ? d : d * slope, wide);
      sum += v > 0 ? 0 : d * v;
    }
    ((double *)call->workspace)[plane] = sum;
  }
}
NW_WIDTHS(grad_planes)

static void sum_planes(const NwCall *call)
{
  const NwSpec *x = &call->in[1], *w = &call->in[2];
  int64_t lanes = x->block ? x->block : 1, blocks = (x->dims[1] + lanes - 1) / lanes;
  const double *share = call->workspace;
  bool wide = nw_call_wide(call), one = w->dims[0] == 1;
  double all = 0;
  for (int64_t c = 0; c < x->dims[1]; c++) {
    double sum = 0;
    for (int64_t n = 0; n < x->dims[0]; n++)
      sum += share[(n * blocks + c / lanes) * lanes + c % lanes];
    all += sum;
    if (!one)
      nw_put(call->out_data[1], c, sum, wide);
  }
  if (one)
    nw_put(call->out_data[1], 0, all, wide);
}

static void forward_body(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  for (int64_t plane = begin; plane < end; plane++)
    if (call->in[0].block == 8)
      forward_plane(call, plane, 8);
    else if (call->in[0].block == 16)
      forward_plane(call, plane, 16);
    else
      forward_plane(call, plane, 1);
}

static void grad_body(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  for (int64_t plane = begin; plane < end; plane++)
    if (call->in[1].block == 8)
      grad_plane(call, plane, 8);
    else if (call->in[1].block == 16)
      grad_plane(call, plane, 16);
    else
      grad_plane(call, plane, 1);
}

static NwStatus forward_simple(const NwCall *call, void *state, NwError *error)
{
  nw_parallel(planes(&call->in[0]), 1, forward_body, (void *)(uintptr_t)call);
  return NW_OK;
}

static NwStatus forward_plain(const NwCall *call, void *state, NwError *error)
{
  forward_planes_run(call, planes(&call->in[0]), 1);
  return NW_OK;
}

static NwStatus grad_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  int64_t lanes = call->in[1].block ? call->in[1].block : 1;
  *workspace = (size_t)(planes(&call->in[1]) * lanes) * sizeof(double);
  return NW_OK;
}

static NwStatus grad_simple(const NwCall *call, void *state, NwError *error)
{
  nw_parallel(planes(&call->in[1]), 1, grad_body, (void *)(uintptr_t)call);
  sum_planes(call);
  return NW_OK;
}

static NwStatus grad_plain(const NwCall *call, void *state, NwError *error)
{
  grad_planes_run(call, planes(&call->in[1]), 1);
  sum_planes(call);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_ONE_BLOCK("simple", forward_simple), NW_PLAIN(forward_plain)};
static const NwKernel grad_kernels[] = {
    {.name = "simple",
     .device = NW_CPU,
     .flags = NW_KERNEL_EXACT,
     .layout = nw_layout_one_block,
     .supports = nw_supports_one_block,
     .prepare = grad_prepare,
     .run = grad_simple},
    {.name = "plain",
     .device = NW_CPU,
     .flags = NW_KERNEL_EXACT | NW_KERNEL_F64,
     .supports = nw_supports_plain,
     .prepare = grad_prepare,
     .run = grad_plain},
};
static const NwOpCase cases[] = {
    {"", "2x8x5x7 1"}, {"num_parameters=6", "3x6x4x4 6"}, {"num_parameters=13", "3x13 13"}, {"", "2x3x5 1"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  return nw_onnx_put(
      writer, error, "%s",
      nw_onnx_spec(writer, 0).ndim == 4   ? "slope = Reshape($weight, [-1, 1, 1]); PRelu($x, slope)"
      : nw_onnx_spec(writer, 0).ndim == 3 ? "slope = Reshape($weight, [-1, 1]); PRelu($x, slope)"
                                          : "PRelu($x, $weight)");
}

const NwOp nw_ops_prelu[] = {
    {.id = "prelu",
     .version = 1,
     .label = "PReLU",
     .group = NW_GROUP_ACTIVATION,
     .doc = N_("A leaky ReLU that learns how much of the negative numbers it keeps."),
     .formula = N_("y = x where x > 0, else weight · x; the slopes start at 0.25 (He et al. 2015)"),
     .keywords = "parametric leaky rectified linear unit activation learnt slope",
     .torch = "torch.nn.PReLU",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_INPUTS(prelu_in),
     NW_OUTPUTS(nw_activation_out),
     NW_ATTRS(Prelu, attrs_rows),
     .infer = infer,
     .param = param,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript = "torch.prelu($x, $weight)",
     NW_CASES(cases)},
    {NW_INTERNAL("prelu_grad", grad_in, grad_out), NW_ATTRS(Prelu, attrs_rows), .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
};
NW_OPS_END(prelu);
