/* reorder: the same value in another memory layout. Plans put it where a kernel wants channels in blocks. */
#include "engine/backend/onednn.h"
#include "engine/ops/common.h"

typedef struct Reorder {
  int64_t block;
} Reorder;

static const NwAttr attrs_rows[] = {{"block", N_("Block"), N_("Channels that lie side by side: 0, 8 or 16."),
                                     NULL, NW_ATTR_INT, 0, offsetof(Reorder, block), 0, 0, 16, 0, 16, 8}};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA}};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const Reorder *a = attrs;
  if (a->block != 0 && a->block != 8 && a->block != 16)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "block", "reorder: block must be 0, 8 or 16, not %lld",
                            (long long)a->block);
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  NW_TRY(nw_infer_need_float(op, &in[0], error));
  if (in[0].dtype != NW_F32)
    return nw_fail(error, NW_BAD_DTYPE, "reorder: only float32 values can lie in blocks");
  out[0] = in[0];
  out[0].block = (int32_t)a->block;
  return NW_OK;
}

static bool supports(const NwCall *call)
{
  return call->in[0].ndim == 4 && call->in[0].dtype == NW_F32 && call->out[0].dtype == NW_F32;
}

static bool onednn_supports(const NwCall *call)
{
  return nw_onednn_available() && supports(call) && call->in[0].block != call->out[0].block;
}

/* Where channel c of a picture lies, and the distance between two pixels of it. */
NW_INLINE int64_t place(const NwPlanes *p, int64_t n, int64_t c)
{
  return (n * p->blocks + c / p->lanes) * p->h * p->w * p->lanes + c % p->lanes;
}

/* A few rows of pixels at a time, so that the lines of a block are still in the cache when the next channel
 * comes. */
enum { PIXELS = 64 };

static void reorder_blocks(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  NwPlanes from = nw_planes(&call->in[0]), to = nw_planes(&call->out[0]);
  int64_t lanes = from.lanes > to.lanes ? from.lanes : to.lanes, area = from.h * from.w;
  int64_t groups = (from.c + lanes - 1) / lanes, room = to.blocks * to.lanes;
  const float *x = call->in_data[0];
  float *y = call->out_data[0];
  for (int64_t item = begin; item < end; item++) {
    int64_t n = item / groups, c0 = item % groups * lanes;
    for (int64_t i0 = 0; i0 < area; i0 += PIXELS) {
      int64_t i1 = i0 + PIXELS < area ? i0 + PIXELS : area;
      for (int64_t c = c0; c < c0 + lanes && c < room; c++) {
        float *out = y + place(&to, n, c);
        const float *in = c < from.c ? x + place(&from, n, c) : NULL;
        for (int64_t i = i0; i < i1; i++)
          out[i * to.lanes] = in ? in[i * from.lanes] : 0;
      }
    }
  }
}

static NwStatus plain_run(const NwCall *call, void *state, NwError *error)
{
  const NwSpec *x = &call->in[0], *y = &call->out[0];
  int64_t lanes = x->block > y->block ? x->block : y->block;
  lanes = lanes ? lanes : 1;
  nw_parallel(x->dims[0] * ((x->dims[1] + lanes - 1) / lanes), 1, reorder_blocks, (void *)(uintptr_t)call);
  return NW_OK;
}

static NwStatus onednn_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  return nw_onednn_reorder_new(call->in[0].dims, call->in[0].block, call->out[0].block, (NwOnednn **)state,
                               workspace, error);
}

static NwStatus onednn_run(const NwCall *call, void *state, NwError *error)
{
  NwOnednnData d = {.src = call->in_data[0], .dst = call->out_data[0], .workspace = call->workspace};
  return nw_onednn_run(state, &d, error);
}

static const NwKernel kernels[] = {
    {.name = "onednn",
     .device = NW_CPU,
     .flags = NW_KERNEL_EXACT,
     .supports = onednn_supports,
     .prepare = onednn_prepare,
     .run = onednn_run,
     .release = nw_onednn_free},
    {.name = "plain", .device = NW_CPU, .flags = NW_KERNEL_EXACT, .supports = supports, .run = plain_run},
};
static const NwOpCase cases[] = {{"block=8", "2x16x5x7"}, {"block=8", "1x3x4x4"}, {"block=16", "2x24x9x9"}};

const NwOp nw_ops_reorder[] = {
    {NW_INTERNAL("reorder", ports_in, ports_out), NW_ATTRS(Reorder, attrs_rows), .infer = infer,
     NW_KERNELS(kernels), NW_CASES(cases)},
};
NW_OPS_END(reorder);
