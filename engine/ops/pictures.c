/* Pictures at the edge of the network: where they come in, how bytes become normalised numbers, how right
 * guesses are counted. */
#include "engine/ops/common.h"

/* ---- input ---- */
static const NwPort input_out[] = {
    {"pictures", NW_PORT_DATA, 0, N_("Normalised pictures: batch, channels, height, width.")}};

static NwStatus input_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                            NwError *error)
{
  return nw_fail(error, NW_BAD_STATE,
                 "The size of the pictures comes from the data set, not from the network");
}

/* ---- normalize_u8 ---- */
static const NwPort normalize_in[] = {
    {"pictures", NW_PORT_DATA, 0, N_("Bytes: batch, height, width, channels.")},
    {"mean", NW_PORT_DATA, 0, N_("One number for each channel, of 0…1.")},
    {"deviation", NW_PORT_DATA, 0, N_("One number for each channel.")}};
static const NwPort normalize_out[] = {{"y", NW_PORT_DATA, 0, N_("Batch, channels, height, width.")}};

static NwStatus normalize_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                                NwError *error)
{
  if (in[0].ndim != 4 || in[0].dtype != NW_U8)
    return nw_fail(error, NW_BAD_SHAPE,
                   "normalize_u8 needs pictures of bytes: batch, height, width, channels");
  for (int i = 1; i < 3; i++)
    if (!nw_spec_is(in, n_in, i) || in[i].ndim != 1 || in[i].dims[0] != in[0].dims[3] ||
        in[i].dtype != NW_F32)
      return nw_fail(error, NW_BAD_SHAPE, "normalize_u8 needs one %s for each of the %lld channels",
                     i == 1 ? "mean" : "deviation", (long long)in[0].dims[3]);
  int64_t dims[4] = {in[0].dims[0], in[0].dims[3], in[0].dims[1], in[0].dims[2]};
  out[0] = nw_spec(NW_F32, 4, dims);
  out[0].device = in[0].device;
  return NW_OK;
}

/* A channel has only 256 different values: a table of them, in torchvision's order of operations, serves all
 * pixels. */
static void normalize_planes(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  int64_t channels = call->in[0].dims[3], area = call->in[0].dims[1] * call->in[0].dims[2];
  const float *mean = call->in_data[1], *deviation = call->in_data[2];
  for (int64_t plane = begin; plane < end; plane++) {
    int64_t n = plane / channels, c = plane % channels;
    const uint8_t *from = (const uint8_t *)call->in_data[0] + n * area * channels + c;
    float table[256], *to = (float *)call->out_data[0] + plane * area;
    for (int v = 0; v < 256; v++)
      table[v] = ((float)v / 255.f - mean[c]) / deviation[c];
    for (int64_t i = 0; i < area; i++)
      to[i] = table[from[i * channels]];
  }
}

static NwStatus normalize_run(const NwCall *call, void *state, NwError *error)
{
  nw_parallel(call->in[0].dims[0] * call->in[0].dims[3], 1, normalize_planes, (void *)(uintptr_t)call);
  return NW_OK;
}

/* ---- count_correct ---- */
static const NwPort count_in[] = {
    {"logits", NW_PORT_DATA, 0, N_("Batch × classes.")},
    {"target", NW_PORT_DATA, 0, N_("Number of the right class of each picture.")}};
static const NwPort count_out[] = {
    {"count", NW_PORT_DATA, 0, N_("Pictures whose greatest logit is the right one.")}};

static NwStatus count_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                            NwError *error)
{
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  if (in[0].ndim != 2 || !nw_spec_is(in, n_in, 1) || in[1].ndim != 1 || in[1].dims[0] != in[0].dims[0] ||
      in[1].dtype != NW_I64)
    return nw_fail(error, NW_BAD_SHAPE,
                   "count_correct needs batch × classes and one class number for each picture");
  out[0] = nw_spec(NW_I64, 0, NULL);
  out[0].device = in[0].device;
  return NW_OK;
}

/* The first of equal logits counts, as in torch.argmax; a row with a NaN is never right. */
static NwStatus count_run(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  int64_t right = 0, classes = call->in[0].dims[1];
  const int64_t *target = call->in_data[1];
  for (int64_t n = 0; n < call->in[0].dims[0]; n++) {
    int64_t best = 0;
    bool nan = false;
    for (int64_t c = 0; c < classes; c++) {
      double v = nw_get(call->in_data[0], n * classes + c, wide);
      nan |= v != v;
      if (v > nw_get(call->in_data[0], n * classes + best, wide))
        best = c;
    }
    right += !nan && best == target[n];
  }
  *(int64_t *)call->out_data[0] = right;
  return NW_OK;
}

static const NwKernel normalize_kernels[] = {NW_PLAIN(normalize_run)};
static const NwKernel count_kernels[] = {NW_PLAIN(count_run)};
static const NwOpCase normalize_cases[] = {{"", "2x5x7x3:u8 3 3"}, {"", "1x28x28x1:u8 1 1"}};
static const NwOpCase count_cases[] = {{"", "9x4 9:i64<4"}};

const NwOp nw_ops_pictures[] = {
    {.id = "input",
     .version = 1,
     .label = "Input",
     .group = NW_GROUP_INPUT,
     .doc = N_("The pictures of the data set, normalised."),
     .formula = N_("(byte / 255 − mean) / deviation, per channel."),
     .keywords = "pictures images data source",
     .torch = "the x of forward(x)",
     NW_OUTPUTS(input_out),
     .infer = input_infer,
     .onnx = "$x",
     .torchscript = "x"},
    {NW_INTERNAL("normalize_u8", normalize_in, normalize_out), .infer = normalize_infer,
     NW_KERNELS(normalize_kernels), NW_CASES(normalize_cases)},
    {NW_INTERNAL("count_correct", count_in, count_out), .infer = count_infer, NW_KERNELS(count_kernels),
     NW_CASES(count_cases)},
};
NW_OPS_END(pictures);
