/* Select: one step of a sequence, such as the last of an LSTM or the class token of a transformer. */
#include "engine/ops/common.h"

typedef struct Select {
  int64_t index;
} Select;

extern const NwOp nw_ops_select[];

static const NwAttr attrs_rows[] = {
    {"index", N_("Step"), N_("Which step; 0 is the first, −1 the last."), NULL, NW_ATTR_INT, NW_ATTR_ON_BLOCK,
     offsetof(Select, index), -1, -(1 << 20), 1 << 20, -1, 64, 1},
};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Batch × steps × numbers.")}};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("The numbers of one step.")}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort grad_out[] = {{"dx", NW_PORT_DATA}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  int64_t index = ((const Select *)attrs)->index;
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  if (in[0].ndim != 3 || nw_spec_count(&in[0]) < 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs batch × steps × numbers; this input has %d sizes",
                   nw_op_name(op), in[0].ndim);
  if (index >= in[0].dims[1] || index < -in[0].dims[1])
    return nw_fail_property(error, NW_BAD_SHAPE, "index", "%s: there is no step %lld; the sequence has %lld",
                            nw_op_name(op), (long long)index, (long long)in[0].dims[1]);
  out[0] = nw_spec_like(&in[0], 2, (int64_t[]){in[0].dims[0], in[0].dims[2]});
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  NwSpec y;
  if (!nw_spec_is(in, n_in, 1))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy and x", op->id);
  NW_TRY(infer(op, attrs, &in[1], 1, &y, error));
  NW_TRY(nw_need_same(op, &in[0], &y, error));
  out[0] = in[1];
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_select[1], g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0],
                 error);
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  const int64_t *x = call->in[0].dims, index = ((const Select *)call->attrs)->index;
  size_t bytes = (size_t)x[2] * nw_dtype_size(call->in[0].dtype);
  for (int64_t n = 0; n < x[0]; n++)
    memcpy((char *)call->out_data[0] + (size_t)n * bytes,
           (const char *)call->in_data[0] + (size_t)(n * x[1] + (index < 0 ? index + x[1] : index)) * bytes,
           bytes);
  return NW_OK;
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  const int64_t *x = call->out[0].dims, index = ((const Select *)call->attrs)->index;
  size_t bytes = (size_t)x[2] * nw_dtype_size(call->in[0].dtype);
  memset(call->out_data[0], 0, nw_spec_bytes(&call->out[0]));
  for (int64_t n = 0; n < x[0]; n++)
    memcpy((char *)call->out_data[0] + (size_t)(n * x[1] + (index < 0 ? index + x[1] : index)) * bytes,
           (const char *)call->in_data[0] + (size_t)n * bytes, bytes);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwKernel grad_kernels[] = {NW_PLAIN(grad_run)};
static const NwOpCase cases[] = {{"", "2x3x5"}, {"index=0", "1x4x7"}, {"index=1", "3x2x1"}};

const NwOp nw_ops_select[] = {
    {.id = "select",
     .version = 1,
     .label = "Select",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Takes one step out of a sequence, such as the last one or the class token."),
     .formula = N_("y[n] = x[n, index]"),
     .keywords = "slice last first step token sequence index",
     .torch = "torch.select(x, 1, index)",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Select, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(kernels),
     .torchscript = "torch.select($x, 1, $index)",
     NW_CASES(cases)},
    {NW_INTERNAL("select_grad", grad_in, grad_out), NW_ATTRS(Select, attrs_rows), .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
};
NW_OPS_END(select);
