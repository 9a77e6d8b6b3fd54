/* Rows of our kernel for convolutions of few channels (engine/kernels/direct.c). */
#include "engine/ops/conv2d-own.h"

/* oneDNN reads such pictures by way of a matrix of all windows, or in blocks that are mostly padding. */
enum { FEW = 8 };

static bool simple(const NwConvShape *s)
{
  return s->groups == 1 && s->dh == 1 && s->dw == 1 && s->sh == s->sw;
}

static NwConvShape forward_shape(const NwCall *call)
{
  return nw_conv_shape(call->attrs, &call->in[0], &call->in[1], &call->out[0]);
}

/* Only whole blocks out of one to three plain channels does oneDNN make as fast as we do. */
static bool forward_suits(const NwConvShape *s)
{
  bool theirs = nw_onednn_available() && s->ci < 4 && s->co % nw_kernels()->lanes == 0;
  return simple(s) && s->ci < FEW && !theirs;
}

static NwDirect forward_job(const NwCall *call, int threads)
{
  NwConvShape s = forward_shape(call);
  return (NwDirect){.n = s.n,
                    .ci = s.ci,
                    .co = s.co,
                    .h = s.h,
                    .w = s.w,
                    .oh = s.oh,
                    .ow = s.ow,
                    .kh = s.kh,
                    .kw = s.kw,
                    .ph = s.ph,
                    .pw = s.pw,
                    .stride = s.sh,
                    .threads = threads,
                    .blocked = call->in[0].block != 0,
                    .x = call->in_data[0],
                    .y = call->out_data[0],
                    .scratch = call->workspace};
}

bool nw_direct_forward_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  NwConvShape s = forward_shape(call);
  for (int i = 0; i < call->n_in; i++)
    in_block[i] = 0;
  for (int i = 0; i < call->n_out; i++)
    out_block[i] = 0;
  in_block[0] = call->in[0].block == lanes ? lanes : 0; /* it reads both; whoever made x need not turn it */
  out_block[0] = lanes;
  return lanes == nw_kernels()->lanes && forward_suits(&s);
}

bool nw_direct_forward_supports(const NwCall *call)
{
  NwConvShape s = forward_shape(call);
  int lanes = nw_kernels()->lanes;
  return call->in[0].dtype == NW_F32 && (call->in[0].block == 0 || call->in[0].block == lanes) &&
         call->out[0].block == lanes && forward_suits(&s);
}

size_t nw_direct_forward_workspace(const NwCall *call, int threads)
{
  NwDirect job = forward_job(call, threads);
  return nw_kernels()->direct_scratch(&job) * sizeof(float);
}

void nw_direct_forward(const NwCall *call, int threads, const float *weight, const float *bias, bool relu)
{
  NwDirect job = forward_job(call, threads);
  job.weight = weight;
  job.bias = bias;
  job.relu = relu;
  nw_kernels()->direct(&job);
}

NwStatus nw_direct_forward_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  int threads = nw_threads();
  *workspace = nw_direct_forward_workspace(call, threads);
  return nw_keep_threads(state, threads, error);
}

NwStatus nw_direct_forward_run(const NwCall *call, void *state, NwError *error)
{
  const float *bias = nw_call_has(call, 2) ? call->in_data[2] : NULL;
  nw_direct_forward(call, *(const int *)state, call->in_data[1], bias, false);
  return NW_OK;
}

/* ---- gradient of the picture: a convolution of dy by the turned filters ---- */

static NwConvShape back_shape(const NwCall *call)
{
  return nw_conv_shape(call->attrs, &call->in[2], &call->in[1], &call->in[0]);
}

static bool back_suits(const NwConvShape *s)
{
  return simple(s) && s->sh == 1 && s->ci < FEW && s->ph < s->kh && s->pw < s->kw;
}

static NwDirect back_job(const NwCall *call, int threads)
{
  NwConvShape s = back_shape(call);
  return (NwDirect){.n = s.n,
                    .ci = s.co,
                    .co = s.ci,
                    .h = s.oh,
                    .w = s.ow,
                    .oh = s.h,
                    .ow = s.w,
                    .kh = s.kh,
                    .kw = s.kw,
                    .ph = s.kh - 1 - s.ph,
                    .pw = s.kw - 1 - s.pw,
                    .stride = 1,
                    .threads = threads,
                    .blocked = call->in[0].block != 0,
                    .back = true,
                    .x = call->in_data[0],
                    .weight = call->in_data[1],
                    .y = call->out_data[0],
                    .scratch = call->workspace};
}

bool nw_direct_back_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  NwConvShape s = back_shape(call);
  for (int i = 0; i < call->n_in; i++)
    in_block[i] = nw_call_role(call, i) == NW_PORT_SHAPE ? call->in[i].block : 0;
  in_block[0] = call->in[0].block == lanes ? lanes : 0;
  out_block[0] = lanes;
  return lanes == nw_kernels()->lanes && back_suits(&s);
}

bool nw_direct_back_supports(const NwCall *call)
{
  NwConvShape s = back_shape(call);
  int lanes = nw_kernels()->lanes;
  return call->in[0].dtype == NW_F32 && (call->in[0].block == 0 || call->in[0].block == lanes) &&
         call->out[0].block == lanes && back_suits(&s);
}

NwStatus nw_direct_back_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  NwDirect job = back_job(call, nw_threads());
  *workspace = nw_kernels()->direct_scratch(&job) * sizeof(float);
  return nw_keep_threads(state, job.threads, error);
}

NwStatus nw_direct_back_run(const NwCall *call, void *state, NwError *error)
{
  NwDirect job = back_job(call, *(const int *)state);
  nw_kernels()->direct(&job);
  return NW_OK;
}
