/* add_repeat adds a smaller value over and over (offsets of channels, positions of a sequence); sum_repeat is
 * how its gradient comes together. blank is a shape without numbers, for ops that ask for one. */
#include "engine/ops/elementwise.h"
#include "engine/ops/repeat.h"
#include "engine/ops/view.h"

extern const NwOp nw_ops_repeat[];
enum { ADD, SUM, BLANK };

static const NwPort add_in[] = {{"x", NW_PORT_DATA}, {"other", NW_PORT_DATA}};
static const NwPort sum_in[] = {{"x", NW_PORT_DATA}, {"other", NW_PORT_SHAPE}};
static const NwPort blank_in[] = {{"like", NW_PORT_SHAPE}};
static const NwPort one_out[] = {{"y", NW_PORT_DATA}};

static NwStatus need_fit(const NwOp *op, const NwSpec *in, int n_in, NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, in, n_in, &(NwSpec){0}, error));
  if (!nw_spec_is(in, n_in, 1) || !nw_repeats(&in[0], &in[1]) || nw_spec_count(&in[0]) < 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the second value does not fit the first", op->id);
  return NW_OK;
}

static NwStatus add_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                          NwError *error)
{
  NW_TRY(need_fit(op, in, n_in, error));
  out[0] = in[0];
  out[0].block = 0;
  return NW_OK;
}

static NwStatus sum_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                          NwError *error)
{
  NW_TRY(need_fit(op, in, n_in, error));
  out[0] = in[1];
  out[0].block = 0;
  return NW_OK;
}

static NwStatus blank_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                            NwError *error)
{
  const NwView *a = attrs;
  NW_TRY(nw_infer_same(op, NULL, in, n_in, &(NwSpec){0}, error));
  if (a->ndim < 0 || a->ndim > NW_MAX_DIMS)
    return nw_fail(error, NW_BAD_SHAPE, "%s has no shape", op->id);
  out[0] = nw_spec_like(&in[0], (int)a->ndim, a->dims);
  return nw_spec_count(&out[0]) >= 0 ? NW_OK : nw_fail(error, NW_BAD_SHAPE, "%s is too large", op->id);
}

static NwStatus add_rule(NwGrad *g, NwError *error)
{
  g->din[0] = g->dout[0];
  if (!g->need[1])
    return NW_OK;
  return nw_emit(g->emitter, &nw_ops_repeat[SUM], NULL, (NwVal[]){g->dout[0], g->in[1]}, 2, &g->din[1],
                 error);
}

NW_INLINE void add_numbers(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  NW_REPEAT_EACH(&call->in[0], &call->in[1],
                 nw_put(call->out_data[0], i,
                        nw_get(call->in_data[0], i, wide) + nw_get(call->in_data[1], at, wide), wide));
}
NW_WIDTHS(add_numbers)

static NwStatus add_run(const NwCall *call, void *state, NwError *error)
{
  add_numbers_run(call, nw_spec_count(&call->out[0]), NW_GRAIN);
  return NW_OK;
}

static NwStatus sum_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  *workspace = (size_t)nw_spec_count(&call->out[0]) * sizeof(double);
  return NW_OK;
}

NW_INLINE void sum_numbers(const NwCall *call, double *sum, int64_t end, bool wide)
{
  int64_t begin = 0;
  NW_REPEAT_EACH(&call->in[0], &call->out[0], sum[at] += nw_get(call->in_data[0], i, wide));
}

/* One after the other: the sums do not depend on the number of threads. */
static NwStatus sum_run(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  double *sum = call->workspace;
  int64_t n = nw_spec_count(&call->out[0]);
  memset(sum, 0, (size_t)n * sizeof *sum);
  if (wide)
    sum_numbers(call, sum, nw_spec_count(&call->in[0]), true);
  else
    sum_numbers(call, sum, nw_spec_count(&call->in[0]), false);
  for (int64_t i = 0; i < n; i++)
    nw_put(call->out_data[0], i, sum[i], wide);
  return NW_OK;
}

static NwStatus blank_run(const NwCall *call, void *state, NwError *error)
{
  memset(call->out_data[0], 0, nw_spec_bytes(&call->out[0]));
  return NW_OK;
}

static const NwKernel add_kernels[] = {NW_PLAIN(add_run)};
static const NwKernel sum_kernels[] = {{.name = "plain",
                                        .device = NW_CPU,
                                        .flags = NW_KERNEL_EXACT | NW_KERNEL_F64,
                                        .supports = nw_supports_plain,
                                        .prepare = sum_prepare,
                                        .run = sum_run}};
static const NwKernel blank_kernels[] = {NW_PLAIN(blank_run)};
static const NwOpCase add_cases[] = {{"", "2x3x4x5 3x1x1"}, {"", "2x4x5 1x4x5"}, {"", "3x7 7"}};

const NwOp nw_ops_repeat[] = {
    {NW_INTERNAL("add_repeat", add_in, one_out), .flags = NW_OP_INPLACE, .infer = add_infer, .grad = add_rule,
     .onnx = "Add($x, $other)", .cost = nw_cost_elements, NW_KERNELS(add_kernels),
     .torchscript = "torch.add($x, $other)", NW_CASES(add_cases)},
    {NW_INTERNAL("sum_repeat", sum_in, one_out), .infer = sum_infer, NW_KERNELS(sum_kernels)},
    {NW_INTERNAL("blank", blank_in, one_out), .attrs_size = sizeof(NwView), .infer = blank_infer,
     NW_KERNELS(blank_kernels)},
};
NW_OPS_END(repeat);
