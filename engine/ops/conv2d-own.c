#include "engine/ops/conv2d-own.h"

/* ---- Winograd with its filters ---- */
struct NwWinogradConv {
  NwWinograd job;
  float *filters; /* NULL: they are made anew in the workspace at each run */
  bool ready;
  uint64_t refresh;
  size_t scratch; /* floats of the workspace before the filters */
};

bool nw_winograd_suits(const NwConvShape *s, int lanes)
{
  return s->kh == 3 && s->kw == 3 && s->sh == 1 && s->sw == 1 && s->ph == 1 && s->pw == 1 && s->dh == 1 &&
         s->dw == 1 && s->groups == 1 && s->ci % lanes == 0 && s->co % lanes == 0 && s->ci >= 32 &&
         s->co >= 32 && s->h >= 3 && s->w >= 3;
}

NwStatus nw_winograd_conv_new(const NwConvShape *s, bool back, bool frozen, NwWinogradConv **out,
                              size_t *workspace, NwError *error)
{
  NwWinogradConv *conv = nw_alloc0(sizeof *conv);
  *out = conv;
  if (conv == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is not enough memory to prepare a convolution");
  conv->job = (NwWinograd){
      .n = s->n, .ci = s->ci, .co = s->co, .h = s->h, .w = s->w, .threads = nw_threads(), .back = back};
  size_t filters = nw_kernels()->winograd_filters(&conv->job);
  conv->scratch = (nw_kernels()->winograd_scratch(&conv->job) + 15) / 16 * 16;
  *workspace = (conv->scratch + (frozen ? 0 : filters)) * sizeof(float);
  if (!frozen)
    return NW_OK;
  conv->filters = nw_alloc(filters * sizeof(float));
  if (conv->filters != NULL)
    return NW_OK;
  nw_free(conv);
  *out = NULL;
  return nw_fail(error, NW_NO_MEMORY, "There is not enough memory to prepare a convolution");
}

void nw_winograd_conv_run(NwWinogradConv *conv, const NwWinograd *with, void *workspace, bool frozen,
                          uint64_t refresh)
{
  NwWinograd job = conv->job;
  job.x = with->x;
  job.weight = with->weight;
  job.bias = with->bias;
  job.other = with->other;
  job.relu = with->relu;
  job.y = with->y;
  job.scratch = workspace;
  job.filters = conv->filters != NULL ? conv->filters : job.scratch + conv->scratch;
  job.ready = conv->filters != NULL && frozen && conv->ready && conv->refresh == refresh;
  if (conv->filters != NULL && frozen && !job.ready) {
    nw_kernels()->winograd_transform(&job);
    job.ready = conv->ready = true;
    conv->refresh = refresh;
  }
  nw_kernels()->winograd(&job);
}

void nw_winograd_conv_free(void *state)
{
  NwWinogradConv *conv = state;
  if (conv == NULL)
    return;
  nw_free(conv->filters);
  nw_free(conv);
}

/* ---- rows ---- */
/* Blocks of the two pictures; what is only looked at keeps its own. */
static void wish(const NwCall *call, int32_t *in_block, int32_t *out_block)
{
  for (int i = 0; i < call->n_in; i++)
    in_block[i] = nw_call_role(call, i) == NW_PORT_SHAPE ? call->in[i].block : 0;
  for (int i = 0; i < call->n_out; i++)
    out_block[i] = 0;
}

static bool is_f32(const NwCall *call)
{
  return call->in[0].dtype == NW_F32;
}

static NwConvShape forward_shape(const NwCall *call)
{
  return nw_conv_shape(call->attrs, &call->in[0], &call->in[1], &call->out[0]);
}

bool nw_winograd_forward_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  NwConvShape s = forward_shape(call);
  wish(call, in_block, out_block);
  in_block[0] = out_block[0] = lanes;
  return lanes == nw_kernels()->lanes && nw_winograd_suits(&s, lanes);
}

bool nw_winograd_forward_supports(const NwCall *call)
{
  NwConvShape s = forward_shape(call);
  int lanes = nw_kernels()->lanes;
  return is_f32(call) && call->in[0].block == lanes && call->out[0].block == lanes &&
         nw_winograd_suits(&s, lanes);
}

NwStatus nw_winograd_forward_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  NwConvShape s = forward_shape(call);
  return nw_winograd_conv_new(&s, false, call->frozen >> 1 & 1, (NwWinogradConv **)state, workspace, error);
}

NwStatus nw_winograd_forward_run(const NwCall *call, void *state, NwError *error)
{
  NwWinograd job = {.x = call->in_data[0],
                    .weight = call->in_data[1],
                    .bias = nw_call_has(call, 2) ? call->in_data[2] : NULL,
                    .y = call->out_data[0]};
  nw_winograd_conv_run(state, &job, call->workspace, call->frozen >> 1 & 1, call->refresh);
  return NW_OK;
}

static NwConvShape back_shape(const NwCall *call)
{
  return nw_conv_shape(call->attrs, &call->in[2], &call->in[1], &call->in[0]);
}

bool nw_winograd_back_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  NwConvShape s = back_shape(call);
  wish(call, in_block, out_block);
  in_block[0] = out_block[0] = lanes;
  return lanes == nw_kernels()->lanes && nw_winograd_suits(&s, lanes);
}

bool nw_winograd_back_supports(const NwCall *call)
{
  NwConvShape s = back_shape(call);
  int lanes = nw_kernels()->lanes;
  return is_f32(call) && call->in[0].block == lanes && call->out[0].block == lanes &&
         nw_winograd_suits(&s, lanes);
}

NwStatus nw_winograd_back_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  NwConvShape s = back_shape(call);
  return nw_winograd_conv_new(&s, true, false, (NwWinogradConv **)state, workspace, error);
}

NwStatus nw_winograd_back_run(const NwCall *call, void *state, NwError *error)
{
  NwWinograd job = {.x = call->in_data[0], .weight = call->in_data[1], .y = call->out_data[0]};
  nw_winograd_conv_run(state, &job, call->workspace, false, 0);
  return NW_OK;
}

static NwConvShape weights_shape(const NwCall *call)
{
  return nw_conv_shape(call->attrs, &call->in[1], &call->in[2], &call->in[0]);
}

bool nw_winograd_weights_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  NwConvShape s = weights_shape(call);
  wish(call, in_block, out_block);
  in_block[0] = in_block[1] = lanes;
  return lanes == nw_kernels()->lanes && nw_winograd_suits(&s, lanes);
}

bool nw_winograd_weights_supports(const NwCall *call)
{
  NwConvShape s = weights_shape(call);
  int lanes = nw_kernels()->lanes;
  return is_f32(call) && call->in[0].block == lanes && call->in[1].block == lanes &&
         nw_winograd_suits(&s, lanes);
}

NwStatus nw_keep_threads(void **state, int threads, NwError *error)
{
  int *kept = nw_alloc(sizeof *kept);
  if (kept == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is not enough memory to prepare a convolution");
  *kept = threads;
  *state = kept;
  return NW_OK;
}

static NwWinogradWeights weights_job(const NwCall *call, int threads)
{
  NwConvShape s = weights_shape(call);
  return (NwWinogradWeights){.n = s.n,
                             .ci = s.ci,
                             .co = s.co,
                             .h = s.h,
                             .w = s.w,
                             .threads = threads,
                             .x = call->in_data[1],
                             .dy = call->in_data[0],
                             .dweight = call->out_data[0],
                             .dbias = call->out_data[1],
                             .scratch = call->workspace};
}

NwStatus nw_winograd_weights_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  NwWinogradWeights job = weights_job(call, nw_threads());
  *workspace = nw_kernels()->winograd_weights_scratch(&job) * sizeof(float);
  return nw_keep_threads(state, job.threads, error);
}

NwStatus nw_winograd_weights_run(const NwCall *call, void *state, NwError *error)
{
  NwWinogradWeights job = weights_job(call, *(const int *)state);
  nw_kernels()->winograd_weights(&job);
  return NW_OK;
}

/* ---- first layer ---- */
static bool first_suits(const NwCall *call)
{
  NwConvShape s = weights_shape(call);
  return s.groups == 1 && s.ci < 8 && s.kh == s.kw && s.kh <= 7 && s.sh == s.sw && s.ph == s.pw &&
         s.dh == 1 && s.dw == 1;
}

bool nw_first_weights_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  wish(call, in_block, out_block);
  in_block[0] = lanes;
  return lanes == nw_kernels()->lanes && first_suits(call);
}

bool nw_first_weights_supports(const NwCall *call)
{
  return is_f32(call) && call->in[0].block == nw_kernels()->lanes && call->in[1].block == 0 &&
         first_suits(call);
}

static NwFirstWeights first_job(const NwCall *call, int threads)
{
  NwConvShape s = weights_shape(call);
  return (NwFirstWeights){.n = s.n,
                          .ci = s.ci,
                          .co = s.co,
                          .h = s.h,
                          .w = s.w,
                          .oh = s.oh,
                          .ow = s.ow,
                          .kernel = s.kh,
                          .stride = s.sh,
                          .padding = s.ph,
                          .threads = threads,
                          .x = call->in_data[1],
                          .dy = call->in_data[0],
                          .dweight = call->out_data[0],
                          .dbias = call->out_data[1],
                          .scratch = call->workspace};
}

NwStatus nw_first_weights_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  NwFirstWeights job = first_job(call, nw_threads());
  *workspace = nw_kernels()->first_weights_scratch(&job) * sizeof(float);
  return nw_keep_threads(state, job.threads, error);
}

NwStatus nw_first_weights_run(const NwCall *call, void *state, NwError *error)
{
  NwFirstWeights job = first_job(call, *(const int *)state);
  nw_kernels()->first_weights(&job);
  return NW_OK;
}
