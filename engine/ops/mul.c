/* Mul: number by number, or with a smaller second value that is repeated along sizes of 1, as gates of
 * channels (squeeze-and-excitation) and learnt scales need it. */
#include "engine/ops/elementwise.h"
#include "engine/ops/repeat.h"

extern const NwOp nw_ops_mul[];
enum { MUL, REDUCE };

NW_BINARY(mul, void, x *v)

static const NwPort mul_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Any numbers.")},
    {"other", NW_PORT_DATA, 0, N_("As many numbers, or fewer with sizes of 1, which are repeated.")}};
static const NwPort reduce_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_DATA}, {"other", NW_PORT_SHAPE}};
static const NwPort reduce_out[] = {{"dother", NW_PORT_DATA}};

/* ---- shapes ---- */
static NwStatus need_fit(const NwOp *op, const NwSpec *x, const NwSpec *other, NwError *error)
{
  if (nw_repeats(x, other))
    return NW_OK;
  char left[64], right[64];
  nw_spec_shape_text(x, true, left, sizeof left);
  nw_spec_shape_text(other, true, right, sizeof right);
  return nw_fail(
      error, NW_BAD_SHAPE,
      "%s: %s cannot be multiplied with %s; the second input needs the same sizes, or 1 where it is "
      "to be repeated",
      nw_op_name(op), left, right);
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "Mul needs two inputs; connect the second one");
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  return need_fit(op, &in[0], &in[1], error);
}

static NwStatus reduce_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                             NwError *error)
{
  NW_TRY(nw_infer_pair(op, attrs, in, n_in, out, error));
  if (!nw_spec_is(in, n_in, 2))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs the shape of its result", op->id);
  out[0] = in[2];
  return need_fit(op, &in[0], &in[2], error);
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  bool same = nw_spec_same_shape(&g->in_spec[0], &g->in_spec[1]);
  if (g->need[0])
    NW_TRY(
        nw_emit(g->emitter, &nw_ops_mul[MUL], NULL, (NwVal[]){g->dout[0], g->in[1]}, 2, &g->din[0], error));
  if (!g->need[1])
    return NW_OK;
  if (same)
    return nw_emit(g->emitter, &nw_ops_mul[MUL], NULL, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[1], error);
  return nw_emit(g->emitter, &nw_ops_mul[REDUCE], NULL, (NwVal[]){g->dout[0], g->in[0], g->in[1]}, 3,
                 &g->din[1], error);
}

/* ---- plain: any sizes ---- */
NW_INLINE void repeat_numbers(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  NW_REPEAT_EACH(&call->in[0], &call->in[1],
                 nw_put(call->out_data[0], i,
                        nw_get(call->in_data[0], i, wide) * nw_get(call->in_data[1], at, wide), wide));
}
NW_WIDTHS(repeat_numbers)

static NwStatus repeat_plain(const NwCall *call, void *state, NwError *error)
{
  if (nw_spec_same_shape(&call->in[0], &call->in[1]))
    return mul_plain(call, state, error);
  repeat_numbers_run(call, nw_spec_count(&call->out[0]), NW_GRAIN);
  return NW_OK;
}

static NwStatus reduce_prepare(const NwCall *call, void **state, size_t *workspace, NwError *error)
{
  *workspace = (size_t)nw_spec_count(&call->out[0]) * sizeof(double);
  return NW_OK;
}

NW_INLINE void reduce_numbers(const NwCall *call, double *sum, int64_t end, bool wide)
{
  int64_t begin = 0;
  NW_REPEAT_EACH(&call->in[0], &call->out[0],
                 sum[at] += nw_get(call->in_data[0], i, wide) * nw_get(call->in_data[1], i, wide));
}

/* One after the other: the sums do not depend on the number of threads. */
static NwStatus reduce_plain(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  double *sum = call->workspace;
  int64_t n = nw_spec_count(&call->out[0]);
  memset(sum, 0, (size_t)n * sizeof *sum);
  if (wide)
    reduce_numbers(call, sum, nw_spec_count(&call->in[0]), true);
  else
    reduce_numbers(call, sum, nw_spec_count(&call->in[0]), false);
  for (int64_t i = 0; i < n; i++)
    nw_put(call->out_data[0], i, sum[i], wide);
  return NW_OK;
}

/* ---- a factor for each channel of each picture, in any block ---- */
static bool is_gate(const NwSpec *x, const NwSpec *other)
{
  return x->ndim == 4 && other->ndim == 4 && other->dims[0] == x->dims[0] && other->dims[1] == x->dims[1] &&
         other->dims[2] == 1 && other->dims[3] == 1;
}

NW_INLINE void gate_plane(const NwCall *call, int64_t plane, const int lanes)
{
  int64_t area = call->in[0].dims[2] * call->in[0].dims[3];
  const float *x = (const float *)call->in_data[0] + plane * area * lanes;
  const float *gate = (const float *)call->in_data[1] + plane * lanes;
  float *y = (float *)call->out_data[0] + plane * area * lanes;
  for (int64_t i = 0; i < area; i++)
    for (int l = 0; l < lanes; l++)
      y[i * lanes + l] = x[i * lanes + l] * gate[l];
}
NW_PLANES_RUN(gate_run, gate_plane, in[0])

NW_INLINE void reduce_plane(const NwCall *call, int64_t plane, const int lanes)
{
  int64_t area = call->in[0].dims[2] * call->in[0].dims[3];
  const float *dy = (const float *)call->in_data[0] + plane * area * lanes;
  const float *x = (const float *)call->in_data[1] + plane * area * lanes;
  float *out = (float *)call->out_data[0] + plane * lanes;
  double sum[16] = {0};
  for (int64_t i = 0; i < area; i++)
    for (int l = 0; l < lanes; l++)
      sum[l] += (double)dy[i * lanes + l] * x[i * lanes + l];
  for (int l = 0; l < lanes; l++)
    out[l] = (float)sum[l];
}
NW_PLANES_RUN(reduce_run, reduce_plane, in[0])

static const NwSpec *small_of(const NwCall *call)
{
  return call->op == &nw_ops_mul[MUL] ? &call->in[1] : &call->out[0];
}

static bool gate_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  return is_gate(&call->in[0], small_of(call)) && nw_layout_one_block(call, lanes, in_block, out_block);
}

static bool gate_supports(const NwCall *call)
{
  return is_gate(&call->in[0], small_of(call)) && nw_supports_one_block(call);
}

static bool same_layout(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block)
{
  return nw_spec_same_shape(&call->in[0], &call->in[1]) &&
         nw_layout_one_block(call, lanes, in_block, out_block);
}

static bool same_supports(const NwCall *call)
{
  return nw_spec_same_shape(&call->in[0], &call->in[1]) && nw_supports_same_block(call);
}

#define EXACT .device = NW_CPU, .flags = NW_KERNEL_EXACT
static const NwKernel kernels[] = {
    {.name = "simple", EXACT, .layout = same_layout, .supports = same_supports, .run = mul_simple},
    {.name = "gate", EXACT, .layout = gate_layout, .supports = gate_supports, .run = gate_run},
    NW_PLAIN(repeat_plain)};
static const NwKernel reduce_kernels[] = {
    {.name = "gate", EXACT, .layout = gate_layout, .supports = gate_supports, .run = reduce_run},
    {.name = "plain",
     .device = NW_CPU,
     .flags = NW_KERNEL_EXACT | NW_KERNEL_F64,
     .supports = nw_supports_plain,
     .prepare = reduce_prepare,
     .run = reduce_plain}};
static const NwOpCase cases[] = {{"", "2x8x3x5 2x8x3x5"},
                                 {"", "7 7"},
                                 {"", "2x12x3x5 2x12x1x1"},
                                 {"", "2x3x4x5 3x1x1"},
                                 {"", "2x3x4 2x1x4"}};

const NwOp nw_ops_mul[] = {
    {.id = "mul",
     .version = 1,
     .label = "Mul",
     .group = NW_GROUP_MERGE,
     .doc = N_(
         "Multiplies two values number by number; a smaller one is repeated, as the gate of each channel."),
     .formula = N_("y = x · other, sizes of 1 in other repeated as PyTorch does"),
     .keywords = "multiply product gate scale attention squeeze excitation merge",
     .torch = "torch.mul",
     .flags = NW_OP_INPLACE,
     NW_INPUTS(mul_in),
     NW_OUTPUTS(nw_activation_out),
     .infer = infer,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "Mul($x, $other)",
     .torchscript = "torch.mul($x, $other)",
     NW_CASES(cases)},
    {NW_INTERNAL("mul_reduce", reduce_in, reduce_out), .infer = reduce_infer, NW_KERNELS(reduce_kernels)},
};
NW_OPS_END(mul);
