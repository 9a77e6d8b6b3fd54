/* Conv2d with what follows it: a ReLU; and in evaluation a BatchNorm2d, which only scales and shifts the
 * filters, then an addition and a ReLU. Plans make these from the single ops; the filters are scaled once
 * where they are frozen. */
#include "engine/ops/batch_norm2d.h"
#include "engine/ops/conv2d-own.h"

extern const NwOp nw_ops_conv2d_fused[];
enum { RELU, BN, BN_RELU, BN_ADD, BN_ADD_RELU };

/* Begins like NwConv2d, so that what the two share can be read as one. */
typedef struct NwConv2dBn {
  NwConv2d conv;
  double eps;
} NwConv2dBn;

bool nw_conv2d_bn_when(const void *attrs, const void *next_attrs, const NwSpec *in, const NwSpec *next_out)
{
  return !((const NwBatchNorm2d *)next_attrs)->training;
}

void nw_conv2d_bn_merge(const void *attrs, const void *next_attrs, void *into_attrs)
{
  NwConv2dBn *into = into_attrs;
  into->conv = *(const NwConv2d *)attrs;
  into->eps = ((const NwBatchNorm2d *)next_attrs)->eps;
}

static const NwAttr relu_attrs[] = {NW_CONV2D_ATTR_ROWS};
static const NwAttr bn_attrs[] = {NW_CONV2D_ATTR_ROWS,
                                  {"eps", N_("Epsilon"),
                                   N_("Added to the variance so that nothing is divided by zero."), NULL,
                                   NW_ATTR_REAL, 0, offsetof(NwConv2dBn, eps), 1e-5, 0, 1}};

#define CONV_PORTS                                                                                           \
  {"x", NW_PORT_DATA}, {"weight", NW_PORT_DATA},                                                             \
  {                                                                                                          \
    "bias", NW_PORT_DATA, NW_PORT_OPTIONAL                                                                   \
  }
#define BN_PORTS                                                                                             \
  {"bn_weight", NW_PORT_DATA, NW_PORT_OPTIONAL}, {"bn_bias", NW_PORT_DATA, NW_PORT_OPTIONAL},                \
      {"running_mean", NW_PORT_DATA}, {"running_var", NW_PORT_DATA},                                         \
  {                                                                                                          \
    "num_batches_tracked", NW_PORT_SHAPE                                                                     \
  }
enum { WEIGHT = 1, BIAS, BN_WEIGHT, BN_BIAS, BN_MEAN, BN_VAR, BN_COUNT, OTHER };
static const NwPort relu_in[] = {CONV_PORTS};
static const NwPort bn_in[] = {CONV_PORTS, BN_PORTS};
static const NwPort bn_add_in[] = {CONV_PORTS, BN_PORTS, {"other", NW_PORT_DATA}};
static const NwPort relu_out[] = {{"y", NW_PORT_DATA}};
static const NwPort bn_out[] = {
    {"y", NW_PORT_DATA}, {"save_mean", NW_PORT_AUX}, {"save_invstd", NW_PORT_AUX}};

static bool has_bn(const NwOp *op)
{
  return op != &nw_ops_conv2d_fused[RELU];
}

static bool has_add(const NwOp *op)
{
  return op == &nw_ops_conv2d_fused[BN_ADD] || op == &nw_ops_conv2d_fused[BN_ADD_RELU];
}

static bool has_relu(const NwOp *op)
{
  return op != &nw_ops_conv2d_fused[BN] && op != &nw_ops_conv2d_fused[BN_ADD];
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NW_TRY(nw_conv2d_infer_y(op, attrs, in, n_in, &out[0], error));
  if (!has_bn(op))
    return NW_OK;
  for (int i = BN_WEIGHT; i <= BN_VAR; i++) {
    bool needed = i >= BN_MEAN, there = nw_spec_is(in, n_in, i);
    if ((needed && !there) ||
        (there && (in[i].ndim != 1 || in[i].dims[0] != out[0].dims[1] || in[i].dtype != in[0].dtype)))
      return nw_fail(error, NW_BAD_SHAPE, "%s: %s needs one number for each of the %lld channels", op->id,
                     op->inputs[i].name, (long long)out[0].dims[1]);
  }
  if (has_add(op)) {
    if (!nw_spec_is(in, n_in, OTHER))
      return nw_fail(error, NW_BAD_SHAPE, "%s needs a value to add", op->id);
    NW_TRY(nw_need_same(op, &in[OTHER], &out[0], error));
  }
  out[1] = out[2] = nw_spec_absent();
  return NW_OK;
}

static NwCost cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out)
{
  double macs = (double)nw_spec_count(&out[0]) * (double)(in[1].dims[1] * in[1].dims[2] * in[1].dims[3]);
  return (NwCost){macs, 2 * macs + (double)nw_spec_count(&out[0])};
}

/* What BatchNorm2d makes of output channel o: y·scale + shift. */
NW_INLINE void scale_of(const NwCall *call, int64_t o, double *scale, double *shift, bool wide)
{
  const NwConv2dBn *a = call->attrs;
  double w = nw_call_has(call, BN_WEIGHT) ? nw_get(call->in_data[BN_WEIGHT], o, wide) : 1;
  double b = nw_call_has(call, BN_BIAS) ? nw_get(call->in_data[BN_BIAS], o, wide) : 0;
  *scale = w / sqrt(nw_get(call->in_data[BN_VAR], o, wide) + a->eps);
  *shift = b - nw_get(call->in_data[BN_MEAN], o, wide) * *scale;
}

/* ---- plain ---- */
static NwStatus plain_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  *workspace = has_bn(call->op) ? (size_t)call->in[1].dims[0] * 2 * sizeof(double) : 0;
  return NW_OK;
}

static NwStatus plain_run(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  int64_t co = call->in[1].dims[0];
  NwConvPlain job = {.shape = nw_conv_shape(call->attrs, &call->in[0], &call->in[1], &call->out[0]),
                     .x = call->in_data[0],
                     .weight = call->in_data[1],
                     .bias = nw_call_has(call, BIAS) ? call->in_data[BIAS] : NULL,
                     .other = has_add(call->op) ? call->in_data[OTHER] : NULL,
                     .y = call->out_data[0],
                     .relu = has_relu(call->op),
                     .wide = wide};
  if (has_bn(call->op)) {
    double *scale = call->workspace, *shift = scale + co;
    for (int64_t o = 0; o < co; o++)
      scale_of(call, o, &scale[o], &shift[o], wide);
    job.scale = scale;
    job.shift = shift;
  }
  nw_conv2d_plain(&job);
  return NW_OK;
}

/* ---- oneDNN and our own kernels, with scaled filters ---- */
typedef struct Folded {
  NwOnednn *conv;
  NwWinogradConv *winograd; /* instead of conv */
  int threads;              /* of our direct kernel, instead of both */
  float *weight, *bias;     /* NULL without BatchNorm2d */
  bool ready;
  uint64_t refresh;
} Folded;

static NwOnednnConv describe(const NwCall *call)
{
  bool bias = has_bn(call->op) || nw_call_has(call, BIAS);
  NwOnednnConv conv =
      nw_conv2d_describe(call->attrs, &call->in[0], &call->in[1], &call->out[0], NW_ONEDNN_FORWARD, bias);
  conv.add = has_add(call->op);
  conv.relu = has_relu(call->op);
  return conv;
}

static bool onednn_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  NwOnednnConv conv = describe(call);
  if (!nw_conv2d_layout(&conv, lanes))
    return false;
  for (int i = 0; i < call->n_in; i++)
    in_block[i] = 0;
  for (int i = 0; i < call->n_out; i++)
    out_block[i] = 0;
  in_block[0] = conv.src_block;
  out_block[0] = conv.dst_block;
  if (has_add(call->op))
    in_block[OTHER] = conv.dst_block;
  return true;
}

static bool onednn_supports(const NwCall *call)
{
  NwOnednnConv conv = describe(call);
  if (has_add(call->op) && call->in[OTHER].block != call->out[0].block)
    return false;
  return nw_conv2d_onednn_supports(call, &conv);
}

static void release(void *state)
{
  Folded *f = state;
  if (f == NULL)
    return;
  nw_onednn_free(f->conv);
  nw_winograd_conv_free(f->winograd);
  nw_free(f->weight);
  nw_free(f->bias);
  nw_free(f);
}

/* All values that the scaled filters are made of keep their numbers until `refresh` changes. */
static bool all_frozen(const NwCall *call)
{
  for (int i = WEIGHT; i <= BN_VAR; i++)
    if (nw_call_has(call, i) && !(call->frozen >> i & 1))
      return false;
  return true;
}

typedef enum Maker { BY_ONEDNN, BY_WINOGRAD, BY_DIRECT } Maker;

static NwStatus prepare_as(const NwCall *call, Maker maker, void **state, size_t *workspace, NwError *error)
{
  NwConvShape shape = nw_conv_shape(call->attrs, &call->in[0], &call->in[1], &call->out[0]);
  NwOnednnConv conv = describe(call);
  Folded *f = nw_alloc0(sizeof *f);
  if (f == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is not enough memory to prepare a convolution");
  NwStatus s = NW_OK;
  if (maker == BY_WINOGRAD)
    s = nw_winograd_conv_new(&shape, false, all_frozen(call), &f->winograd, workspace, error);
  else if (maker == BY_ONEDNN)
    s = nw_onednn_conv_new(&conv, &f->conv, workspace, error);
  else
    *workspace = nw_direct_forward_workspace(call, f->threads = nw_threads());
  if (s == NW_OK && has_bn(call->op)) {
    f->weight = nw_alloc(nw_spec_bytes(&call->in[1]));
    f->bias = nw_alloc((size_t)call->in[1].dims[0] * sizeof(float));
    if (f->weight == NULL || f->bias == NULL)
      s = nw_fail(error, NW_NO_MEMORY, "There is not enough memory to prepare a convolution");
  }
  if (s != NW_OK) {
    release(f);
    return s;
  }
  *state = f;
  return NW_OK;
}

static NwStatus onednn_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  return prepare_as(call, BY_ONEDNN, state, workspace, error);
}

static NwStatus winograd_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  return prepare_as(call, BY_WINOGRAD, state, workspace, error);
}

static NwStatus direct_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  return prepare_as(call, BY_DIRECT, state, workspace, error);
}

static void fold(const NwCall *call, Folded *f)
{
  const float *weight = call->in_data[1], *bias = nw_call_has(call, BIAS) ? call->in_data[BIAS] : NULL;
  int64_t co = call->in[1].dims[0], taps = nw_spec_count(&call->in[1]) / co;
  for (int64_t o = 0; o < co; o++) {
    double scale, shift;
    scale_of(call, o, &scale, &shift, false);
    for (int64_t i = 0; i < taps; i++)
      f->weight[o * taps + i] = (float)(weight[o * taps + i] * scale);
    f->bias[o] = (float)((bias ? bias[o] : 0) * scale + shift);
  }
}

/* The filters and biases of this run, scaled anew where they may have changed; tells whether they are kept.
 */
static bool filters_of(const NwCall *call, Folded *f, const float **weight, const float **bias)
{
  *weight = call->in_data[WEIGHT];
  *bias = nw_call_has(call, BIAS) ? call->in_data[BIAS] : NULL;
  if (!has_bn(call->op))
    return call->frozen >> WEIGHT & 1;
  bool frozen = all_frozen(call);
  if (!frozen || !f->ready || f->refresh != call->refresh)
    fold(call, f);
  f->ready = true;
  f->refresh = call->refresh;
  *weight = f->weight;
  *bias = f->bias;
  return frozen;
}

static NwStatus onednn_run(const NwCall *call, void *state, NwError *error)
{
  Folded *f = state;
  const float *weight, *bias;
  bool frozen = filters_of(call, f, &weight, &bias);
  NwOnednnData d = {.src = call->in_data[0],
                    .weights = weight,
                    .bias = bias,
                    .dst = call->out_data[0],
                    .other = has_add(call->op) ? call->in_data[OTHER] : NULL,
                    .workspace = call->workspace,
                    .frozen = frozen,
                    .refresh = call->refresh};
  return nw_onednn_run(f->conv, &d, error);
}

static NwStatus winograd_run(const NwCall *call, void *state, NwError *error)
{
  Folded *f = state;
  NwWinograd job = {.x = call->in_data[0],
                    .other = has_add(call->op) ? call->in_data[OTHER] : NULL,
                    .relu = has_relu(call->op),
                    .y = call->out_data[0]};
  bool frozen = filters_of(call, f, &job.weight, &job.bias);
  nw_winograd_conv_run(f->winograd, &job, call->workspace, frozen, call->refresh);
  return NW_OK;
}

static NwStatus direct_run(const NwCall *call, void *state, NwError *error)
{
  Folded *f = state;
  const float *weight, *bias;
  filters_of(call, f, &weight, &bias);
  nw_direct_forward(call, f->threads, weight, bias, has_relu(call->op));
  return NW_OK;
}

static bool direct_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  return !has_add(call->op) && nw_direct_forward_layout(call, lanes, in_block, out_block);
}

static bool direct_supports(const NwCall *call)
{
  return !has_add(call->op) && nw_direct_forward_supports(call);
}

static bool winograd_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  if (!nw_winograd_forward_layout(call, lanes, in_block, out_block))
    return false;
  if (has_add(call->op))
    in_block[OTHER] = lanes;
  return true;
}

static bool winograd_supports(const NwCall *call)
{
  return (!has_add(call->op) || call->in[OTHER].block == call->out[0].block) &&
         nw_winograd_forward_supports(call);
}

static const NwKernel kernels[] = {
    {.name = "winograd",
     .device = NW_CPU,
     .layout = winograd_layout,
     .supports = winograd_supports,
     .prepare = winograd_prepare,
     .run = winograd_run,
     .release = release},
    {.name = "direct",
     .device = NW_CPU,
     .layout = direct_layout,
     .supports = direct_supports,
     .prepare = direct_prepare,
     .run = direct_run,
     .release = release},
    {.name = "onednn",
     .device = NW_CPU,
     .layout = onednn_layout,
     .supports = onednn_supports,
     .prepare = onednn_prepare,
     .run = onednn_run,
     .release = release},
    {.name = "plain",
     .device = NW_CPU,
     .flags = NW_KERNEL_EXACT | NW_KERNEL_F64,
     .supports = nw_supports_plain,
     .prepare = plain_prepare,
     .run = plain_run},
};
static const NwFusion bn_fusions[] = {{"relu", "conv2d_bn_relu", NULL, NULL},
                                      {"add", "conv2d_bn_add", NULL, NULL}};
static const NwFusion bn_add_fusions[] = {{"relu", "conv2d_bn_add_relu", NULL, NULL}};

static const NwOpCase relu_cases[] = {
    {"out_channels=16 padding=1", "2x8x9x9 16x8x3x3 16"},
    {"out_channels=5 bias=false", "1x3x7x6 5x3x3x3 -"},
    {"out_channels=24 padding=1 groups=24", "2x24x8x9 24x1x3x3 24"},
    {"out_channels=48 padding=1", "3x32x9x6 48x32x3x3 48"},
};
static const NwOpCase bn_cases[] = {
    {"out_channels=16 padding=1", "2x8x9x9 16x8x3x3 16 16 16 16 16 1:i64<9"},
    {"out_channels=5 bias=false eps=1e-3", "1x3x7x6 5x3x3x3 - 5 5 5 5 1:i64<9"},
    {"out_channels=24 padding=1 groups=24 bias=false", "2x24x8x9 24x1x3x3 - - - 24 24 1:i64<9"},
    {"out_channels=32 padding=1 bias=false", "3x32x9x6 32x32x3x3 - 32 32 32 32 1:i64<9"},
};
static const NwOpCase bn_add_cases[] = {
    {"out_channels=16 padding=1", "2x8x9x9 16x8x3x3 16 16 16 16 16 1:i64<9 2x16x9x9"},
    {"out_channels=5 bias=false", "1x3x7x6 5x3x3x3 - 5 5 5 5 1:i64<9 1x5x5x4"},
    {"out_channels=32 padding=1 bias=false", "3x32x9x6 32x32x3x3 - 32 32 32 32 1:i64<9 3x32x9x6"},
};

#define SHARED .infer = infer, .cost = cost, NW_KERNELS(kernels)
const NwOp nw_ops_conv2d_fused[] = {
    {NW_INTERNAL("conv2d_relu", relu_in, relu_out), NW_ATTRS(NwConv2d, relu_attrs), SHARED,
     NW_CASES(relu_cases)},
    {NW_INTERNAL("conv2d_bn", bn_in, bn_out), NW_ATTRS(NwConv2dBn, bn_attrs), SHARED, NW_FUSIONS(bn_fusions),
     NW_CASES(bn_cases)},
    {NW_INTERNAL("conv2d_bn_relu", bn_in, bn_out), NW_ATTRS(NwConv2dBn, bn_attrs), SHARED,
     NW_CASES(bn_cases)},
    {NW_INTERNAL("conv2d_bn_add", bn_add_in, bn_out), NW_ATTRS(NwConv2dBn, bn_attrs), SHARED,
     NW_FUSIONS(bn_add_fusions), NW_CASES(bn_add_cases)},
    {NW_INTERNAL("conv2d_bn_add_relu", bn_add_in, bn_out), NW_ATTRS(NwConv2dBn, bn_attrs), SHARED,
     NW_CASES(bn_add_cases)},
};
NW_OPS_END(conv2d_fused);
