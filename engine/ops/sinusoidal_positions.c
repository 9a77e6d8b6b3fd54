/* SinusoidalPositions: fixed waves of each place are added, since attention knows no order; any length will
 * do. */
#include "engine/ops/elementwise.h"

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  if (in[0].ndim != 3 || nw_spec_count(&in[0]) < 1)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs batch × steps × numbers; this input has %d sizes",
                   nw_op_name(op), in[0].ndim);
  if (in[0].dims[2] % 2 != 0)
    return nw_fail(error, NW_BAD_SHAPE, "%s needs an even count of numbers for each step; there are %lld",
                   nw_op_name(op), (long long)in[0].dims[2]);
  return NW_OK;
}

static NwStatus rule(NwGrad *g, NwError *error)
{
  g->din[0] = g->dout[0];
  return NW_OK;
}

NW_INLINE void wave_steps(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const int64_t *x = call->in[0].dims;
  for (int64_t row = begin; row < end; row++)
    for (int64_t k = 0; k < x[2]; k++) {
      double angle = (double)(row % x[1]) * exp((double)(k / 2 * 2) * (-log(10000.0) / (double)x[2]));
      nw_put(call->out_data[0], row * x[2] + k,
             nw_get(call->in_data[0], row * x[2] + k, wide) + (k % 2 ? cos(angle) : sin(angle)), wide);
    }
}
NW_WIDTHS(wave_steps)

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  wave_steps_run(call, call->in[0].dims[0] * call->in[0].dims[1], 16);
  return NW_OK;
}

static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  long long size = nw_torch_spec(writer, 0).dims[2];
  nw_torch_line(writer,
                "%s_rate = torch.exp(torch.mul(torch.arange(0, %lld, 2, dtype=6, layout=None, "
                "device=ops.prim.device(%s)), %.17g))",
                y, size, x, -log(10000.0) / (double)size);
  nw_torch_line(
      writer, "%s_place = torch.arange(torch.size(%s, 1), dtype=6, layout=None, device=ops.prim.device(%s))",
      y, x, x);
  nw_torch_line(writer, "%s_angle = torch.mul(torch.unsqueeze(%s_place, 1), %s_rate)", y, y, y);
  nw_torch_line(
      writer,
      "%s = torch.add(%s, torch.reshape(torch.stack([torch.sin(%s_angle), torch.cos(%s_angle)], 2), "
      "[torch.size(%s, 1), %lld]))",
      y, x, y, y, x, size);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwOpCase cases[] = {{"", "2x3x6"}, {"", "1x7x4"}};

const NwOp nw_ops_sinusoidal_positions[] = {
    {.id = "sinusoidal_positions",
     .version = 1,
     .label = "SinusoidalPositions",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Adds waves that tell the places of a sequence apart, with nothing to learn."),
     .formula = N_("y[n, t, 2k] = x + sin(t / 10000^(2k/E)), y[n, t, 2k + 1] = x + cos(t / 10000^(2k/E)) "
                   "(Vaswani et al. "
                   "2017)"),
     .keywords = "position encoding transformer order sequence sine",
     .torch = "none; torch.add with the formula",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     .infer = infer,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .torchscript_write = write,
     NW_CASES(cases)},
};
NW_OPS_END(sinusoidal_positions);
