/* ChannelShuffle: deals the channels of groups out in turn, so that the next grouped convolution sees all of
 * them. */
#include "engine/ops/elementwise.h"
#include "engine/ops/move.h"

typedef struct Shuffle {
  int64_t groups;
} Shuffle;

extern const NwOp nw_ops_channel_shuffle[];

static const NwAttr attrs_rows[] = {
    {"groups", N_("Groups"), N_("How many groups the channels came from; it must divide their number."), NULL,
     NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(Shuffle, groups), 2, 1, 65536, 1, 64, 1},
};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  const Shuffle *a = attrs;
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  if (in[0].dims[1] % a->groups != 0)
    return nw_fail_property(error, NW_BAD_SHAPE, "groups", "%s: %lld groups do not divide the %lld channels",
                            nw_op_name(op), (long long)a->groups, (long long)in[0].dims[1]);
  out[0].block = 0;
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  Shuffle back = {g->in_spec[0].dims[1] / ((const Shuffle *)g->attrs)->groups};
  return nw_emit(g->emitter, &nw_ops_channel_shuffle[0], &back, &g->dout[0], 1, &g->din[0], error);
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  const int64_t *x = call->in[0].dims, groups = ((const Shuffle *)call->attrs)->groups;
  NwMove move =
      nw_move_new(call, 4, (int64_t[]){x[0], groups, x[1] / groups, x[2] * x[3]}, (int[]){0, 2, 1, 3});
  nw_move_run(&move);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwOpCase cases[] = {{"", "2x8x3x3"}, {"groups=3", "1x12x2x5"}, {"groups=1", "2x3x2x2"}};

static NwStatus onnx_write(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  long long groups = ((const Shuffle *)attrs)->groups, channels = nw_onnx_spec(writer, 0).dims[1],
            height = nw_onnx_spec(writer, 0).dims[2], width = nw_onnx_spec(writer, 0).dims[3];
  return nw_onnx_put(
      writer, error,
      "split = Reshape($x, [0, %lld, %lld, %lld]); dealt = Transpose(split) perm=[0, 2, 1, 3]; "
      "Reshape(dealt, [0, %lld, %lld, %lld])",
      groups, channels / groups, height * width, channels, height, width);
}

const NwOp nw_ops_channel_shuffle[] = {
    {.id = "channel_shuffle",
     .version = 1,
     .label = "ChannelShuffle",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Mixes the order of channels, so that groups of them exchange what they know."),
     .formula = N_("channel k·groups + g of y is channel g·(C/groups) + k of x (Zhang et al. 2018)"),
     .keywords = "shuffle channels groups shufflenet mix",
     .torch = "torch.nn.ChannelShuffle",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     NW_ATTRS(Shuffle, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(kernels),
     .onnx_write = onnx_write,
     .torchscript = "torch.channel_shuffle($x, $groups)",
     NW_CASES(cases)},
};
NW_OPS_END(channel_shuffle);
