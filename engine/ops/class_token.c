/* ClassToken: a learnt step in front of the sequence, in which a transformer gathers what it knows. */
#include "engine/ops/common.h"

extern const NwOp nw_ops_class_token[];

static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Batch × steps × numbers.")},
                                  {"class_token", NW_PORT_PARAM, 0, N_("The numbers of the new step.")}};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("The sequence, one step longer.")}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}};
static const NwPort grad_out[] = {{"dx", NW_PORT_DATA}, {"dclass_token", NW_PORT_DATA}};

static NwStatus need(const NwOp *op, const NwSpec *x, NwError *error)
{
  NW_TRY(nw_infer_same(op, NULL, x, 1, &(NwSpec){0}, error));
  if (x->ndim != 3 || nw_spec_count(x) < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs batch × steps × numbers; this input has %d sizes",
                   nw_op_name(op), x->ndim);
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NW_TRY(need(op, &in[0], error));
  if (!nw_spec_is(in, n_in, 1) || nw_spec_count(&in[1]) != in[0].dims[2] || in[1].dtype != in[0].dtype)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the token needs %lld numbers", nw_op_name(op),
                   (long long)in[0].dims[2]);
  out[0] = in[0];
  out[0].dims[1]++;
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  NW_TRY(need(op, &in[0], error));
  out[0] = in[0];
  out[0].dims[1]--;
  out[1] = nw_spec_like(&in[0], 3, (int64_t[]){1, 1, in[0].dims[2]});
  return NW_OK;
}

static NwStatus param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                      NwError *error)
{
  NW_TRY(need(op, &in[0], error));
  *info = (NwParamInfo){true, nw_spec_like(&in[0], 3, (int64_t[]){1, 1, in[0].dims[2]}), NW_INIT_CONSTANT, 0};
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  NwVal out[2];
  NW_TRY(g->emitter->emit(g->emitter, &nw_ops_class_token[1], NULL, &g->dout[0], 1, out, error));
  g->din[0] = out[0];
  g->din[1] = out[1];
  return NW_OK;
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  const int64_t *x = call->in[0].dims;
  size_t step = (size_t)x[2] * nw_dtype_size(call->in[0].dtype), all = step * (size_t)x[1];
  for (int64_t n = 0; n < x[0]; n++) {
    char *y = (char *)call->out_data[0] + (size_t)n * (all + step);
    memcpy(y, call->in_data[1], step);
    memcpy(y + step, (const char *)call->in_data[0] + (size_t)n * all, all);
  }
  return NW_OK;
}

static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  const int64_t *y = call->in[0].dims;
  bool wide = nw_call_wide(call);
  size_t step = (size_t)y[2] * nw_dtype_size(call->in[0].dtype), all = step * (size_t)(y[1] - 1);
  for (int64_t n = 0; n < y[0]; n++)
    memcpy((char *)call->out_data[0] + (size_t)n * all,
           (const char *)call->in_data[0] + (size_t)n * (all + step) + step, all);
  for (int64_t k = 0; k < y[2]; k++) {
    double sum = 0;
    for (int64_t n = 0; n < y[0]; n++)
      sum += nw_get(call->in_data[0], n * y[1] * y[2] + k, wide);
    nw_put(call->out_data[1], k, sum, wide);
  }
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwKernel grad_kernels[] = {NW_PLAIN(grad_run)};
static const NwOpCase cases[] = {{"", "2x3x5 1x1x5"}, {"", "1x1x4 1x1x4"}};

const NwOp nw_ops_class_token[] = {
    {.id = "class_token",
     .version = 1,
     .label = "ClassToken",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Puts a learnt step in front of a sequence, from which the class is read at the end."),
     .formula = N_("y = [class_token, x] along the steps (Dosovitskiy et al. 2021)"),
     .keywords = "vision transformer vit cls token sequence",
     .torch = "class_token of torchvision.models.VisionTransformer",
     NW_PORTS_AND(ports_in, ports_out),
     .infer = infer,
     .param = param,
     .grad = rule,
     NW_KERNELS(kernels),
     .torchscript = "torch.cat([torch.expand($class_token, [torch.size($x, 0), -1, -1]), $x], 1)",
     NW_CASES(cases)},
    {NW_INTERNAL("class_token_grad", grad_in, grad_out), .infer = grad_infer, NW_KERNELS(grad_kernels)},
};
NW_OPS_END(class_token);
