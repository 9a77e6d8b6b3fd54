/* Permute: the sizes of each picture change places; the batch stays in front. */
#include "engine/ops/move.h"

typedef struct Permute {
  int64_t first, second, third;
} Permute;

extern const NwOp nw_ops_permute[];

#define ROW(key, label, at)                                                                                  \
  {                                                                                                          \
#key, N_(label), N_("Which size of the input comes here; 1 is the first behind the batch."), NULL,       \
        NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(Permute, key), at, 1, 3, 1, 3, 1                             \
  }
static const NwAttr attrs_rows[] = {ROW(first, "First size", 2), ROW(second, "Second size", 3),
                                    ROW(third, "Third size", 1)};
#undef ROW
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Pictures, or a list of lists for each picture.")}};
static const NwPort ports_out[] = {
    {"y", NW_PORT_DATA, 0, N_("The same numbers, their sizes in the new order.")}};

static NwStatus order_of(const NwOp *op, const Permute *a, const NwSpec *x, int *order, NwError *error)
{
  static const char *const keys[] = {"first", "second", "third"};
  int64_t wanted[] = {a->first, a->second, a->third};
  if (x->ndim != 3 && x->ndim != 4)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs two or three sizes behind the batch; this input has %d",
                   nw_op_name(op), x->ndim > 0 ? x->ndim - 1 : 0);
  bool taken[4] = {false};
  order[0] = 0;
  for (int i = 0; i + 1 < x->ndim; i++) {
    if (wanted[i] >= x->ndim || taken[wanted[i]])
      return nw_fail_property(
          error, NW_BAD_SHAPE, keys[i],
          "%s: %s is %lld; with %d sizes behind the batch, each of 1 to %d must stand in one "
          "place",
          nw_op_name(op), keys[i], (long long)wanted[i], x->ndim - 1, x->ndim - 1);
    taken[wanted[i]] = true;
    order[i + 1] = (int)wanted[i];
  }
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  int order[4];
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  NW_TRY(order_of(op, attrs, &in[0], order, error));
  for (int i = 0; i < in[0].ndim; i++)
    out[0].dims[i] = in[0].dims[order[i]];
  out[0].block = 0;
  return NW_OK;
}

/* The way back. */
static NwStatus rule(NwGrad *g, NwError *error)
{
  int order[4];
  int64_t back[4] = {0, 1, 2, 3};
  NW_TRY(order_of(g->op, g->attrs, &g->in_spec[0], order, error));
  for (int i = 0; i < g->in_spec[0].ndim; i++)
    back[order[i]] = i;
  Permute inverse = {back[1], back[2], back[3]};
  return nw_emit(g->emitter, &nw_ops_permute[0], &inverse, &g->dout[0], 1, &g->din[0], error);
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  int order[4];
  NW_TRY(order_of(call->op, call->attrs, &call->in[0], order, error));
  NwMove move = nw_move_new(call, call->in[0].ndim, call->in[0].dims, order);
  nw_move_run(&move);
  return NW_OK;
}

static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const Permute *a = attrs;
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  if (nw_torch_spec(writer, 0).ndim == 4)
    nw_torch_line(writer, "%s = torch.permute(%s, [0, %lld, %lld, %lld])", y, x, (long long)a->first,
                  (long long)a->second, (long long)a->third);
  else
    nw_torch_line(writer, "%s = torch.permute(%s, [0, %lld, %lld])", y, x, (long long)a->first,
                  (long long)a->second);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwOpCase cases[] = {{"", "2x3x4x5"},
                                 {"first=3 second=1 third=2", "2x3x4x5"},
                                 {"first=2 second=1", "2x5x3"},
                                 {"first=1 second=3 third=2", "1x2x3x4"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  return nw_onnx_put(writer, error, "%s",
                     nw_onnx_spec(writer, 0).ndim == 4 ? "Transpose($x) perm=[0, $first, $second, $third]"
                                                       : "Transpose($x) perm=[0, $first, $second]");
}

const NwOp nw_ops_permute[] = {
    {.id = "permute",
     .version = 1,
     .label = "Permute",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Lets the sizes of each picture change places, such as channels to the end."),
     .formula =
         N_("size k of y is the size of x whose number is given; first=2, second=3, third=1 puts channels "
            "last"),
     .keywords = "transpose swap axes dimensions channels last order",
     .torch = "torch.permute",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Permute, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript_write = write,
     NW_CASES(cases)},
};
NW_OPS_END(permute);
