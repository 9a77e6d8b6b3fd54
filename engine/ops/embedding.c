/* Embedding: whole numbers are looked up in a table of learnt lists. */
#include "engine/ops/common.h"

typedef struct Embedding {
  int64_t num_embeddings, embedding_dim, padding_idx;
} Embedding;

extern const NwOp nw_ops_embedding[];

static const NwAttr attrs_rows[] = {
    {"num_embeddings", N_("Entries"), N_("How many different numbers there are, from 0 on."), NULL,
     NW_ATTR_INT, NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(Embedding, num_embeddings), 256, 1, 1 << 24, 1,
     65536, 1},
    {"embedding_dim", N_("Numbers"), N_("How many numbers stand for an entry."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(Embedding, embedding_dim), 64, 1, 65536, 1, 1024, 1},
    {"padding_idx", N_("Padding"), N_("An entry that never learns; −1 for none."), NULL, NW_ATTR_INT, 0,
     offsetof(Embedding, padding_idx), -1, -1, 1 << 24, -1, 65536, 1},
};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Whole numbers, in any shape.")},
                                  {"weight", NW_PORT_PARAM, 0, N_("Entries × numbers.")}};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("A list of numbers for each number.")}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_DATA}, {"weight", NW_PORT_SHAPE}};
static const NwPort grad_out[] = {{"dweight", NW_PORT_DATA}};

static NwStatus need(const NwOp *op, const NwSpec *x, NwError *error)
{
  if (x->ndim < 1 || x->ndim >= NW_MAX_DIMS || nw_spec_count(x) < 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs a batch of whole numbers", nw_op_name(op));
  if (x->dtype != NW_I64 && x->dtype != NW_F32 && x->dtype != NW_F64)
    return nw_fail(error, NW_BAD_DTYPE, "%s needs whole numbers, not %s", nw_op_name(op),
                   nw_dtype_name(x->dtype));
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const Embedding *a = attrs;
  if (n_in < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s has no input", nw_op_name(op));
  NW_TRY(need(op, &in[0], error));
  if (!nw_spec_is(in, n_in, 1) || in[1].ndim != 2 || in[1].dims[0] != a->num_embeddings ||
      in[1].dims[1] != a->embedding_dim || (in[1].dtype != NW_F32 && in[1].dtype != NW_F64) ||
      (in[0].dtype != NW_I64 && in[0].dtype != in[1].dtype))
    return nw_fail(error, NW_BAD_SHAPE, "%s: the weight must hold %lld entries of %lld numbers",
                   nw_op_name(op), (long long)a->num_embeddings, (long long)a->embedding_dim);
  out[0] = in[1];
  memcpy(out[0].dims, in[0].dims, sizeof in[0].dims);
  out[0].ndim = in[0].ndim + 1;
  out[0].dims[in[0].ndim] = a->embedding_dim;
  return NW_OK;
}

static NwStatus grad_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  NwSpec y;
  if (!nw_spec_is(in, n_in, 2))
    return nw_fail(error, NW_BAD_SHAPE, "%s needs dy, x and weight", op->id);
  NW_TRY(infer(op, attrs, &in[1], 2, &y, error));
  NW_TRY(nw_need_same(op, &in[0], &y, error));
  out[0] = in[2];
  return NW_OK;
}

static NwStatus param(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                      NwError *error)
{
  const Embedding *a = attrs;
  NW_TRY(need(op, &in[0], error));
  NwSpec spec =
      nw_spec(in[0].dtype == NW_F64 ? NW_F64 : NW_F32, 2, (int64_t[]){a->num_embeddings, a->embedding_dim});
  spec.device = in[0].device;
  *info = (NwParamInfo){true, spec, NW_INIT_NORMAL, 1};
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  if (!g->need[1]) /* whole numbers have no gradient */
    return NW_OK;
  return nw_emit(g->emitter, &nw_ops_embedding[1], g->attrs, (NwVal[]){g->dout[0], g->in[0], g->in[1]}, 3,
                 &g->din[1], error);
}

/* Entry number i, or -1 where there is none such. */
static int64_t entry(const NwCall *call, int port, int64_t i)
{
  const NwSpec *x = &call->in[port];
  double v = x->dtype == NW_I64 ? (double)((const int64_t *)call->in_data[port])[i]
                                : nw_get(call->in_data[port], i, x->dtype == NW_F64);
  return v > -1 && v < (double)((const Embedding *)call->attrs)->num_embeddings ? (int64_t)v : -1;
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  const Embedding *a = call->attrs;
  size_t bytes = (size_t)a->embedding_dim * nw_dtype_size(call->out[0].dtype);
  for (int64_t i = 0; i < nw_spec_count(&call->in[0]); i++) {
    int64_t at = entry(call, 0, i);
    if (at < 0)
      return nw_fail(error, NW_BAD_DATA,
                     "Embedding has entries 0 to %lld, but number %lld of what comes in is another",
                     (long long)a->num_embeddings - 1, (long long)i);
    memcpy((char *)call->out_data[0] + (size_t)i * bytes, (const char *)call->in_data[1] + (size_t)at * bytes,
           bytes);
  }
  return NW_OK;
}

/* One after the other, so that sums do not depend on the number of threads. */
static NwStatus grad_run(const NwCall *call, void *state, NwError *error)
{
  const Embedding *a = call->attrs;
  bool wide = call->out[0].dtype == NW_F64;
  memset(call->out_data[0], 0, nw_spec_bytes(&call->out[0]));
  for (int64_t i = 0; i < nw_spec_count(&call->in[1]); i++) {
    int64_t at = entry(call, 1, i);
    for (int64_t k = 0; at >= 0 && at != a->padding_idx && k < a->embedding_dim; k++) {
      int64_t to = at * a->embedding_dim + k;
      nw_put(call->out_data[0], to,
             nw_get(call->out_data[0], to, wide) + nw_get(call->in_data[0], i * a->embedding_dim + k, wide),
             wide);
    }
  }
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwKernel grad_kernels[] = {NW_PLAIN(grad_run)};
static const NwOpCase cases[] = {{"num_embeddings=7 embedding_dim=3", "2x5:i64<7 7x3"},
                                 {"num_embeddings=4 embedding_dim=7", "9:i64<4 4x7"}};

const NwOp nw_ops_embedding[] = {
    {.id = "embedding",
     .version = 1,
     .label = "Embedding",
     .group = NW_GROUP_LINEAR,
     .doc = N_("Looks whole numbers up in a table of learnt lists."),
     .formula = N_("y[…, k] = weight[x[…], k]; the table starts normal with deviation 1"),
     .keywords = "lookup table token word vector",
     .torch = "torch.nn.Embedding",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Embedding, attrs_rows),
     .infer = infer,
     .param = param,
     .grad = rule,
     NW_KERNELS(kernels),
     .torchscript = "torch.embedding($weight, torch.to($x, 4), -1, False, False)",
     NW_CASES(cases)},
    {NW_INTERNAL("embedding_grad", grad_in, grad_out), NW_ATTRS(Embedding, attrs_rows), .infer = grad_infer,
     NW_KERNELS(grad_kernels)},
};
NW_OPS_END(embedding);
