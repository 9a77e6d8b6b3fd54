/* Small operations that gradient rules, losses and tests are made of. */
#include "engine/ops/elementwise.h"

extern const NwOp nw_ops_basic[];
enum { SCALE, SUM, EXPAND, FILL_LIKE };

typedef struct Factor {
  double factor;
} Factor;
typedef struct Fill {
  double value;
} Fill;

static const NwAttr factor_attrs[] = {{"factor", N_("Factor"), N_("What every number is multiplied with."),
                                       NULL, NW_ATTR_REAL, 0, offsetof(Factor, factor), 1, -1e30, 1e30}};
static const NwAttr fill_attrs[] = {{"value", N_("Value"), N_("What every number becomes."), NULL,
                                     NW_ATTR_REAL, 0, offsetof(Fill, value), 1, -1e30, 1e30}};
static const NwPort one_in[] = {{"x", NW_PORT_DATA}};
static const NwPort shape_in[] = {{"x", NW_PORT_SHAPE}};
static const NwPort expand_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort one_out[] = {{"y", NW_PORT_DATA}};

NW_UNARY(scale, Factor, (real)a->factor *x)

static NwStatus scale_rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_basic[SCALE], g->attrs, &g->dout[0], 1, &g->din[0], error);
}

static NwStatus sum_rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_basic[EXPAND], NULL, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0],
                 error);
}

static NwStatus expand_rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_basic[SUM], NULL, &g->dout[0], 1, &g->din[0], error);
}

static NwStatus sum_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                          NwError *error)
{
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  out[0] = nw_spec_like(&in[0], 0, NULL);
  return NW_OK;
}

static NwStatus expand_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                             NwError *error)
{
  if (!nw_spec_is(in, n_in, 1) || nw_spec_count(&in[0]) != 1 || in[0].dtype != in[1].dtype)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs one number and the value whose shape it takes", op->id);
  out[0] = in[1];
  out[0].block = 0;
  return NW_OK;
}

static NwStatus fill_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  out[0].block = 0;
  return NW_OK;
}

/* One after the other: the sum does not depend on the number of threads. */
static NwStatus sum_run(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  double sum = 0;
  for (int64_t i = 0, n = nw_spec_count(&call->in[0]); i < n; i++)
    sum += nw_get(call->in_data[0], i, wide);
  nw_put(call->out_data[0], 0, sum, wide);
  return NW_OK;
}

static NwStatus expand_run(const NwCall *call, void *state, NwError *error)
{
  bool wide = nw_call_wide(call);
  double value = nw_get(call->in_data[0], 0, wide);
  for (int64_t i = 0, n = nw_spec_count(&call->out[0]); i < n; i++)
    nw_put(call->out_data[0], i, value, wide);
  return NW_OK;
}

static NwStatus fill_run(const NwCall *call, void *state, NwError *error)
{
  const Fill *a = call->attrs;
  bool wide = call->out[0].dtype == NW_F64;
  for (int64_t i = 0, n = nw_spec_count(&call->out[0]); i < n; i++)
    nw_put(call->out_data[0], i, a->value, wide);
  return NW_OK;
}

static const NwKernel scale_kernels[] = {NW_SIMPLE_ANY(scale_simple), NW_PLAIN(scale_plain)};
static const NwKernel sum_kernels[] = {NW_PLAIN(sum_run)};
static const NwKernel expand_kernels[] = {NW_PLAIN(expand_run)};
static const NwKernel fill_kernels[] = {NW_PLAIN(fill_run)};
static const NwOpCase scale_cases[] = {{"factor=-2.5", "3x9"}};
static const NwOpCase sum_cases[] = {{"", "3x4x5"}, {"", "1"}};
static const NwOpCase fill_cases[] = {{"value=3", "2x3"}};

const NwOp nw_ops_basic[] = {
    {NW_INTERNAL("scale", one_in, one_out), .flags = NW_OP_INPLACE, NW_ATTRS(Factor, factor_attrs),
     .infer = nw_infer_activation, .grad = scale_rule, NW_KERNELS(scale_kernels), NW_CASES(scale_cases)},
    {NW_INTERNAL("sum", one_in, one_out), .infer = sum_infer, .grad = sum_rule, NW_KERNELS(sum_kernels),
     NW_CASES(sum_cases)},
    {NW_INTERNAL("expand", expand_in, one_out), .infer = expand_infer, .grad = expand_rule,
     NW_KERNELS(expand_kernels)},
    {NW_INTERNAL("fill_like", shape_in, one_out), NW_ATTRS(Fill, fill_attrs), .infer = fill_infer,
     NW_KERNELS(fill_kernels), NW_CASES(fill_cases)},
};
NW_OPS_END(basic);
