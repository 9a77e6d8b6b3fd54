/* Dropout2d: whole channels of single pictures are dropped. Which ones depends on (seed, stream, step,
 * channel), so backward draws them again. */
#include "engine/ops/chance.h"

static const NwAttr attrs_rows[] = {
    NW_CHANCE_ROWS(N_("How likely each channel of a picture is to be set to zero in training."), 0.5)};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")}};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  return nw_infer_need_ndim(op, &in[0], 4, error);
}

NW_INLINE void drop_plane(const NwCall *call, int64_t plane, const int lanes)
{
  NwPlanes p = nw_planes(&call->in[0]);
  int64_t area = p.h * p.w, first = plane / p.blocks * p.c + plane % p.blocks * lanes;
  const float *x = (const float *)call->in_data[0] + plane * area * lanes;
  float *y = (float *)call->out_data[0] + plane * area * lanes, factor[16];
  for (int l = 0; l < lanes; l++)
    factor[l] = (float)nw_chance_factor(call, first + l);
  for (int64_t i = 0; i < area; i++)
    for (int l = 0; l < lanes; l++)
      y[i * lanes + l] = factor[l] == 0 ? 0 : x[i * lanes + l] * factor[l];
}
NW_PLANES_RUN(drop_planes, drop_plane, in[0])

NW_INLINE void drop_numbers(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  int64_t area = call->in[0].dims[2] * call->in[0].dims[3];
  for (int64_t plane = begin; plane < end; plane++) {
    double factor = nw_chance_factor(call, plane);
    for (int64_t i = plane * area; i < (plane + 1) * area; i++)
      nw_put(call->out_data[0], i, factor == 0 ? 0 : nw_get(call->in_data[0], i, wide) * factor, wide);
  }
}
NW_WIDTHS(drop_numbers)

static NwStatus start(const NwCall *call, bool *passes, NwError *error)
{
  const NwChance *a = call->attrs;
  *passes = !a->training || a->p == 0;
  if (*passes)
    return nw_chance_pass(call);
  return call->run != NULL ? NW_OK : nw_fail(error, NW_BAD_STATE, "Dropout2d needs the run's seed and step");
}

static NwStatus simple(const NwCall *call, void *state, NwError *error)
{
  bool passes;
  NW_TRY(start(call, &passes, error));
  return passes ? NW_OK : drop_planes(call, state, error);
}

static NwStatus plain(const NwCall *call, void *state, NwError *error)
{
  bool passes;
  NW_TRY(start(call, &passes, error));
  if (!passes)
    drop_numbers_run(call, call->in[0].dims[0] * call->in[0].dims[1], 1);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_ONE_BLOCK("simple", simple), NW_PLAIN(plain)};
static const NwOpCase cases[] = {{"training=true stream=3", "3x12x3x5"},
                                 {"p=0.2 training=true", "2x16x2x2"},
                                 {"p=0 training=true", "1x3x2x2"},
                                 {"p=0.9", "2x3x2x3"}};

const NwOp nw_ops_dropout2d[] = {
    {.id = "dropout2d",
     .version = 1,
     .label = "Dropout2d",
     .group = NW_GROUP_REGULARISATION,
     .doc = N_("Sets whole channels to zero in training, since neighbouring pixels tell the same."),
     .formula =
         N_("y = x · mask / (1 − p), mask 0 with probability p for each channel of each picture; evaluation "
            "passes x on (Tompson et al. 2015)."),
     .keywords = "regularization overfitting random spatial feature channel",
     .torch = "torch.nn.Dropout2d",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(ports_in, nw_activation_out),
     NW_ATTRS(NwChance, attrs_rows),
     .infer = infer,
     .grad = nw_chance_rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "$x",
     .torchscript = "torch.feature_dropout($x, $p, $training)",
     NW_CASES(cases)},
};
NW_OPS_END(dropout2d);
