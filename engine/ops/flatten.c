/* Flatten: the same numbers as one list. Costs nothing where the plan lets output and input share memory. */
#include "engine/ops/common.h"

typedef struct Flatten {
  int64_t start_dim;
} Flatten;

extern const NwOp nw_ops_flatten[];

static const NwAttr attrs_rows[] = {
    {"start_dim", N_("First size"),
     N_("The first size that is merged; 1 keeps the pictures of a batch apart."), NULL, NW_ATTR_INT, 0,
     offsetof(Flatten, start_dim), 1, 0, 7, 1, 3, 1},
};
static const NwPort flatten_in[] = {{"x", NW_PORT_DATA, 0, N_("Numbers in any shape.")}};
static const NwPort flatten_out[] = {{"y", NW_PORT_DATA, 0, N_("A list of numbers for each picture.")}};
static const NwPort grad_in[] = {{"dy", NW_PORT_DATA}, {"x", NW_PORT_SHAPE}};
static const NwPort grad_out[] = {{"dx", NW_PORT_DATA}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const Flatten *a = attrs;
  if (n_in < 1 || in[0].ndim < 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s has no input", nw_op_name(op));
  if (in[0].ndim < 1 || a->start_dim >= in[0].ndim)
    return nw_fail_property(
        error, NW_BAD_SHAPE, "start_dim",
        "%s: the input has %d sizes, so merging cannot start at size %lld (the first is 0)", nw_op_name(op),
        in[0].ndim, (long long)a->start_dim);
  if (nw_spec_count(&in[0]) < 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the input has too many numbers", nw_op_name(op));
  int64_t merged = 1;
  NwSpec made = in[0];
  for (int i = (int)a->start_dim; i < in[0].ndim; i++)
    merged *= in[0].dims[i];
  made.ndim = (int32_t)a->start_dim + 1;
  made.dims[a->start_dim] = merged;
  made.block = 0;
  out[0] = made;
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
  out[0].block = 0;
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_flatten[1], g->attrs, (NwVal[]){g->dout[0], g->in[0]}, 2, &g->din[0],
                 error);
}

static void copy_bytes(void *context, int64_t begin, int64_t end, int thread)
{
  const NwCall *call = context;
  memcpy((char *)call->out_data[0] + begin, (const char *)call->in_data[0] + begin, (size_t)(end - begin));
}

static NwStatus copy(const NwCall *call, void *state, NwError *error)
{
  if (call->in_data[0] != call->out_data[0])
    nw_parallel((int64_t)nw_spec_bytes(&call->out[0]), 1 << 16, copy_bytes, (void *)(uintptr_t)call);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(copy)};
static const NwOpCase cases[] = {
    {"", "2x3x4x5"}, {"", "3x1x1x1"}, {"start_dim=2", "2x3x4x5"}, {"start_dim=0", "2x7"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  static const char *const zeros = "0, 0, 0, 0, 0, 0, 0, 0, ";
  int64_t start = ((const Flatten *)attrs)->start_dim;
  if (start == 1)
    return nw_onnx_put(writer, error, "Flatten($x) axis=1");
  return nw_onnx_put(writer, error, "Reshape($x, [%.*s-1])", (int)(start * 3), zeros);
}

const NwOp nw_ops_flatten[] = {
    {.id = "flatten",
     .version = 1,
     .label = "Flatten",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Turns a picture into one list of numbers, so that Linear can read it."),
     .formula = N_("y[n, (c·H + i)·W + j] = x[n,c,i,j]"),
     .keywords = "reshape view vector list",
     .torch = "torch.nn.Flatten",
     .flags = NW_OP_INPLACE,
     NW_PORTS_AND(flatten_in, flatten_out),
     NW_ATTRS(Flatten, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript = "torch.flatten($x, $start_dim)",
     NW_CASES(cases)},
    {NW_INTERNAL("flatten_grad", grad_in, grad_out), .flags = NW_OP_INPLACE, NW_ATTRS(Flatten, attrs_rows),
     .infer = grad_infer, NW_KERNELS(kernels)},
};
NW_OPS_END(flatten);
