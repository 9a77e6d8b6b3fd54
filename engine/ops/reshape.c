/* Reshape: other sizes for each picture; and view, the same for gradient rules and composites, batch
 * included. */
#include <stdio.h>

#include "engine/ops/view.h"

typedef struct Reshape {
  NwDims shape;
} Reshape;

static const NwAttr attrs_rows[] = {
    {"shape", N_("Sizes"),
     N_("Up to three sizes of what comes out, without the batch; one may be −1 (what remains), 0 leaves a "
        "size "
        "out, all 0 give one list."),
     NULL, NW_ATTR_DIMS, NW_ATTR_ON_BLOCK, offsetof(Reshape, shape), 0, -1, 1 << 30, -1, 4096, 1, .count = 3},
};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Numbers in any shape.")}};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("The same numbers in the new shape.")}};

static NwStatus check(const NwOp *op, const void *attrs, NwError *error)
{
  const Reshape *a = attrs;
  int open = 0;
  bool ended = false;
  for (int i = 0; i < 3; i++) {
    if (ended && a->shape.v[i] != 0)
      return nw_fail_property(error, NW_BAD_ARGUMENT, "shape",
                              "%s: a size stands behind one that is left out (0)", nw_op_name(op));
    ended = ended || a->shape.v[i] == 0;
    open += a->shape.v[i] < 0;
  }
  if (open > 1)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "shape", "%s: only one size can be −1 (what remains)",
                            nw_op_name(op));
  return NW_OK;
}

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const Reshape *a = attrs;
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  NW_TRY(check(op, attrs, error));
  int64_t count = 1, known = 1, open = -1;
  if (in[0].ndim < 1 || nw_spec_count(&in[0]) < 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs a batch of numbers", nw_op_name(op));
  for (int i = 1; i < in[0].ndim; i++)
    count *= in[0].dims[i];
  NwSpec made = in[0];
  made.ndim = 1;
  made.block = 0;
  for (int i = 0; i < 3 && a->shape.v[i] != 0; i++) {
    made.dims[made.ndim++] = a->shape.v[i];
    if (a->shape.v[i] < 0)
      open = made.ndim - 1;
    else if (a->shape.v[i] > (1LL << 40) / known)
      return nw_fail_property(error, NW_BAD_SHAPE, "shape", "%s: these sizes are too large", nw_op_name(op));
    else
      known *= a->shape.v[i];
  }
  if (made.ndim == 1) {
    made.dims[made.ndim++] = count;
    known = count;
  }
  if (open > 0) {
    made.dims[open] = count / known;
    known *= made.dims[open];
  }
  if (known != count) {
    char text[64];
    nw_spec_shape_text(&in[0], true, text, sizeof text);
    return nw_fail_property(error, NW_BAD_SHAPE, "shape",
                            "%s: an input of %s has %lld numbers, which do not fit these sizes",
                            nw_op_name(op), text, (long long)count);
  }
  out[0] = made;
  return NW_OK;
}

static NwStatus view_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  const NwView *a = attrs;
  if (n_in < 1 || in[0].ndim < 0 || a->ndim < 0 || a->ndim > NW_MAX_DIMS)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs a value and its sizes", op->id);
  NwSpec made = nw_spec_like(&in[0], (int)a->ndim, a->dims);
  if (nw_spec_count(&made) < 0 || nw_spec_count(&made) != nw_spec_count(&in[0]))
    return nw_fail(error, NW_BAD_SHAPE, "%s: the sizes do not hold as many numbers as the value", op->id);
  out[0] = made;
  return NW_OK;
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

/* The batch stays whatever it is. */
static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const Reshape *a = attrs;
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  char sizes[96] = ", -1";
  size_t used = 0;
  for (int i = 0; i < 3 && a->shape.v[i] != 0; i++)
    used += (size_t)snprintf(sizes + used, sizeof sizes - used, ", %lld", (long long)a->shape.v[i]);
  nw_torch_line(writer, "%s = torch.reshape(%s, [torch.size(%s, 0)%s])", y, x, x, sizes);
  return NW_OK;
}

/* The first size is left open: it is the batch, or counts with it. */
static NwStatus view_write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const NwView *a = attrs;
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  char sizes[200] = "";
  size_t used = 0;
  for (int i = 1; i < a->ndim; i++)
    used += (size_t)snprintf(sizes + used, sizeof sizes - used, ", %lld", (long long)a->dims[i]);
  nw_torch_line(writer, "%s = torch.reshape(%s, [-1%s])", y, x, sizes);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(copy)};
static const NwOpCase cases[] = {
    {"", "2x3x4x5"}, {"shape=5x12x0", "2x3x4x5"}, {"shape=4x-1x3", "3x24"}, {"shape=-1x0x0", "2x3x1x4"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const Reshape *a = attrs;
  char sizes[96] = ", -1";
  size_t used = 0;
  for (int i = 0; i < 3 && a->shape.v[i] != 0; i++)
    used += (size_t)snprintf(sizes + used, sizeof sizes - used, ", %lld", (long long)a->shape.v[i]);
  return nw_onnx_put(writer, error, "Reshape($x, [0%s])", sizes);
}

/* The first size is left open: it is the batch, or counts with it. */
static NwStatus onnx_view(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const NwView *a = attrs;
  char sizes[200] = "";
  size_t used = 0;
  for (int i = 1; i < a->ndim; i++)
    used += (size_t)snprintf(sizes + used, sizeof sizes - used, ", %lld", (long long)a->dims[i]);
  return nw_onnx_put(writer, error, "Reshape($x, [-1%s])", sizes);
}

const NwOp nw_ops_reshape[] = {
    {.id = "reshape",
     .version = 1,
     .label = "Reshape",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Reads the numbers of each picture in another shape, without moving them."),
     .formula = N_("y holds the numbers of x in the same order, each picture in the sizes given."),
     .keywords = "view unflatten shape size list",
     .torch = "torch.reshape",
     .flags = NW_OP_INPLACE,
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Reshape, attrs_rows),
     .check = check,
     .infer = infer,
     .grad = nw_view_back,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript_write = write,
     NW_CASES(cases)},
    {NW_INTERNAL("view", ports_in, ports_out), .flags = NW_OP_INPLACE, .attrs_size = sizeof(NwView),
     .infer = view_infer, .grad = nw_view_back, NW_KERNELS(kernels), .onnx_write = onnx_view,
     .torchscript_write = view_write},
};
NW_OPS_END(reshape);
