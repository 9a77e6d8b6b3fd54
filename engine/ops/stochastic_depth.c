/* StochasticDepth: a branch is left out for single pictures, or for the whole batch; it stands before the
 * addition of a residual block. */
#include "engine/ops/chance.h"

enum { ROW, BATCH };

static const NwEnumItem modes[] = {{ROW, "row", N_("Each picture for itself")},
                                   {BATCH, "batch", N_("The whole batch")}};
static const NwAttr attrs_rows[] = {
    NW_CHANCE_ROWS(N_("How likely the branch is to be left out in training."), 0.1),
    {"mode", N_("Together"), N_("What is left out together."), NULL, NW_ATTR_ENUM, 0,
     offsetof(NwChance, mode), ROW, .items = modes, .n_items = NW_COUNT(modes)},
};

static NwStatus infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                      NwError *error)
{
  NW_TRY(nw_infer_same(op, attrs, in, n_in, out, error));
  return in[0].ndim > 0 ? NW_OK : nw_fail(error, NW_BAD_SHAPE, "%s needs a batch", nw_op_name(op));
}

NW_INLINE void drop_rows(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const NwChance *a = call->attrs;
  int64_t n = call->in[0].dims[0] ? nw_spec_stored(&call->in[0]) / call->in[0].dims[0] : 0;
  for (int64_t row = begin; row < end; row++) {
    double factor = nw_chance_factor(call, a->mode == ROW ? row : 0);
    for (int64_t i = row * n; i < (row + 1) * n; i++)
      nw_put(call->out_data[0], i, factor == 0 ? 0 : nw_get(call->in_data[0], i, wide) * factor, wide);
  }
}
NW_WIDTHS(drop_rows)

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  const NwChance *a = call->attrs;
  if (!a->training || a->p == 0)
    return nw_chance_pass(call);
  if (call->run == NULL)
    return nw_fail(error, NW_BAD_STATE, "StochasticDepth needs the run's seed and step");
  drop_rows_run(call, call->in[0].dims[0], 1);
  return NW_OK;
}

/* A dropout of one number a picture is the same; torchvision's own op would need torchvision to load. */
static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  const NwChance *a = attrs;
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer), *p = nw_torch_attr(writer, "p");
  nw_torch_line(writer, "if training:");
  nw_torch_line(
      writer,
      "  %s_ones = torch.ones([%s%s%s], dtype=ops.prim.dtype(%s), layout=None, device=ops.prim.device(%s))",
      y, a->mode == ROW ? "torch.size(" : "1", a->mode == ROW ? x : "", a->mode == ROW ? ", 0)" : "", x, x);
  nw_torch_line(writer, "  %s_keep = torch.dropout(%s_ones, %s, True)", y, y, p);
  nw_torch_line(writer, "  %s = torch.transpose(torch.mul(torch.transpose(%s, 0, -1), %s_keep), 0, -1)", y, x,
                y);
  nw_torch_line(writer, "else:");
  nw_torch_line(writer, "  %s = %s", y, x);
  return NW_OK;
}

static const NwKernel kernels[] = {NW_ONE_BLOCK("simple", run), NW_PLAIN(run)};
static const NwOpCase cases[] = {{"p=0.5 training=true stream=5", "6x12x2x3"},
                                 {"p=0.3 training=true", "5x7"},
                                 {"p=0.5 mode=batch training=true", "3x4x5"},
                                 {"p=0.5", "2x3x2x2"}};

const NwOp nw_ops_stochastic_depth[] = {
    {.id = "stochastic_depth",
     .version = 1,
     .label = "StochasticDepth",
     .group = NW_GROUP_REGULARISATION,
     .doc = N_("Leaves a whole branch out at random in training; it stands before the Add of a shortcut."),
     .formula = N_(
         "y = x · mask / (1 − p), mask 0 with probability p for each picture (or for all); evaluation passes "
         "x on (Huang et al. 2016)."),
     .keywords = "drop path residual regularization random branch survival",
     .torch = "torchvision.ops.StochasticDepth",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     NW_ATTRS(NwChance, attrs_rows),
     .infer = infer,
     .grad = nw_chance_rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "$x",
     .torchscript_write = write,
     NW_CASES(cases)},
};
NW_OPS_END(stochastic_depth);
