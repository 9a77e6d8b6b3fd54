/* PixelShuffle: channels become pixels, which makes a picture larger without inventing numbers. */
#include "engine/ops/move.h"

typedef struct Shuffle {
  int64_t upscale_factor;
} Shuffle;

extern const NwOp nw_ops_pixel_shuffle[];

static const NwAttr attrs_rows[] = {
    {"upscale_factor", N_("Factor"), N_("How many times higher and wider the picture becomes."), NULL,
     NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(Shuffle, upscale_factor), 2, 1, 64, 1, 8, 1},
};
static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Pictures with factor² times too many channels.")}};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("Larger pictures with fewer channels.")}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  int64_t r = ((const Shuffle *)attrs)->upscale_factor;
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  if (in[0].dims[1] % (r * r) != 0)
    return nw_fail_property(error, NW_BAD_SHAPE, "upscale_factor",
                            "%s: a factor of %lld needs channels that are a multiple of %lld; there are %lld",
                            nw_op_name(op), (long long)r, (long long)(r * r), (long long)in[0].dims[1]);
  if (nw_spec_count(&in[0]) < 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s: the input has too many numbers", nw_op_name(op));
  out[0].dims[1] /= r * r;
  out[0].dims[2] *= r;
  out[0].dims[3] *= r;
  out[0].block = 0;
  return NW_OK;
}

static NwStatus back_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                           NwError *error)
{
  int64_t r = ((const Shuffle *)attrs)->upscale_factor;
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  NW_TRY(nw_infer_need_ndim(op, &in[0], 4, error));
  if (in[0].dims[2] % r != 0 || in[0].dims[3] % r != 0 || in[0].dims[1] > (1LL << 40) / (r * r))
    return nw_fail(error, NW_BAD_SHAPE, "%s: the factor does not divide the picture", op->id);
  out[0].dims[1] *= r * r;
  out[0].dims[2] /= r;
  out[0].dims[3] /= r;
  out[0].block = 0;
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  return nw_emit(g->emitter, &nw_ops_pixel_shuffle[1], g->attrs, &g->dout[0], 1, &g->din[0], error);
}

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  int64_t r = ((const Shuffle *)call->attrs)->upscale_factor;
  const int64_t *x = call->in[0].dims;
  NwMove move =
      nw_move_new(call, 6, (int64_t[]){x[0], x[1] / (r * r), r, r, x[2], x[3]}, (int[]){0, 1, 4, 2, 5, 3});
  nw_move_run(&move);
  return NW_OK;
}

static NwStatus back_run(const NwCall *call, void *state, NwError *error)
{
  int64_t r = ((const Shuffle *)call->attrs)->upscale_factor;
  const int64_t *y = call->in[0].dims;
  NwMove move =
      nw_move_new(call, 6, (int64_t[]){y[0], y[1], y[2] / r, r, y[3] / r, r}, (int[]){0, 1, 3, 5, 2, 4});
  nw_move_run(&move);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwKernel back_kernels[] = {NW_PLAIN(back_run)};
static const NwOpCase cases[] = {
    {"", "2x8x3x4"}, {"upscale_factor=3", "1x18x2x5"}, {"upscale_factor=1", "2x3x2x2"}};
static const NwOpCase back_cases[] = {{"", "2x2x6x8"}};

const NwOp nw_ops_pixel_shuffle[] = {
    {.id = "pixel_shuffle",
     .version = 1,
     .label = "PixelShuffle",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Makes pictures larger by laying channels side by side as pixels."),
     .formula = N_("y[n, c, h·r + i, w·r + j] = x[n, (c·r + i)·r + j, h, w], r the factor (Shi et al. 2016)"),
     .keywords = "depth to space upscale super resolution subpixel",
     .torch = "torch.nn.PixelShuffle",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Shuffle, attrs_rows),
     .infer = infer,
     .grad = rule,
     NW_KERNELS(kernels),
     .onnx = "DepthToSpace($x) blocksize=$upscale_factor mode=\"CRD\"",
     .torchscript = "torch.pixel_shuffle($x, $upscale_factor)",
     NW_CASES(cases)},
    {NW_INTERNAL("pixel_shuffle_grad", ports_in, ports_out), NW_ATTRS(Shuffle, attrs_rows),
     .infer = back_infer, .grad = NULL, NW_KERNELS(back_kernels), NW_CASES(back_cases)},
};
NW_OPS_END(pixel_shuffle);
