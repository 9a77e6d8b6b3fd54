/* Dropout. The mask is a function of (seed, stream, step, element), so backward makes it again instead of
 * keeping it: the gradient is the same op on dy. */
#include "engine/base/philox.h"
#include "engine/ops/elementwise.h"

typedef struct Dropout {
  double p;
  bool training;
  int64_t stream;
} Dropout;

extern const NwOp nw_ops_dropout[];

static const NwAttr attrs_rows[] = {
    {"p", N_("Probability"), N_("How likely each number is to be set to zero in training."), NULL,
     NW_ATTR_REAL, NW_ATTR_ON_BLOCK, offsetof(Dropout, p), 0.5, 0, 1, 0, 0.95, 0.05},
    {"training", N_("Training"), N_("Without it the numbers pass unchanged."), NULL, NW_ATTR_BOOL,
     NW_ATTR_HIDDEN, offsetof(Dropout, training), 0, 0, 1, 0, 1, 1},
    {"stream", N_("Stream"), N_("Keeps the random numbers of two layers apart."), NULL, NW_ATTR_INT,
     NW_ATTR_HIDDEN, offsetof(Dropout, stream), 0, 0, 1 << 30, 0, 1, 1},
};

static NwStatus rule(NwGrad *g, NwError *error)
{
  const Dropout *a = g->attrs;
  if (!a->training || a->p == 0) {
    g->din[0] = g->dout[0];
    return NW_OK;
  }
  return nw_emit(g->emitter, &nw_ops_dropout[0], a, &g->dout[0], 1, &g->din[0], error);
}

/* Element i stays when its uniform number (24 bits, in [0, 1)) is at least p. Pieces begin at multiples of 4,
 * the size of a Philox block. */
NW_INLINE void drop(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  const Dropout *a = call->attrs;
  NwPhilox key = {call->run->seed, (uint32_t)(NW_STREAM_OP + a->stream)};
  uint32_t limit = (uint32_t)ceil(a->p * 16777216.0);
  double scale = a->p < 1 ? 1 / (1 - a->p) : 0;
  for (int64_t i = begin; i < end; i += 4) {
    uint32_t bits[4];
    nw_philox4(key, call->run->step, (uint64_t)i / 4, bits);
    for (int64_t k = 0; k < 4 && i + k < end; k++) {
      bool stays = bits[k] >> 8 >= limit;
      nw_put(call->out_data[0], i + k, stays ? nw_get(call->in_data[0], i + k, wide) * scale : 0, wide);
    }
  }
}
NW_WIDTHS(drop)

NW_INLINE void pass(const NwCall *call, int64_t begin, int64_t end, bool wide)
{
  size_t size = wide ? 8 : 4;
  memcpy((char *)call->out_data[0] + (size_t)begin * size,
         (const char *)call->in_data[0] + (size_t)begin * size, (size_t)(end - begin) * size);
}
NW_WIDTHS(pass)

static NwStatus run(const NwCall *call, void *state, NwError *error)
{
  const Dropout *a = call->attrs;
  int64_t n = nw_spec_count(&call->out[0]);
  if (a->training && a->p > 0) {
    if (call->run == NULL)
      return nw_fail(error, NW_BAD_STATE, "Dropout needs the run's seed and step");
    drop_run(call, n, NW_GRAIN);
  } else if (call->in_data[0] != call->out_data[0]) {
    pass_run(call, n, NW_GRAIN);
  }
  return NW_OK;
}

static const NwKernel kernels[] = {NW_PLAIN(run)};
static const NwOpCase cases[] = {{"p=0.5 training=true stream=3", "3x37"},
                                 {"p=0.2 training=true", "2x3x5x5"},
                                 {"p=0 training=true", "4x4"},
                                 {"p=0.9", "2x9"}};

const NwOp nw_ops_dropout[] = {
    {.id = "dropout",
     .version = 1,
     .label = "Dropout",
     .group = NW_GROUP_REGULARISATION,
     .doc =
         N_("Sets random numbers to zero in training, so that the network does not lean on any single one."),
     .formula = N_("y = x · mask / (1 − p), mask 0 with probability p; evaluation passes x on (Srivastava et "
                   "al. 2014)."),
     .keywords = "regularization overfitting random",
     .torch = "torch.nn.Dropout",
     .flags = NW_OP_INPLACE | NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(nw_activation_in, nw_activation_out),
     NW_ATTRS(Dropout, attrs_rows),
     .infer = nw_infer_activation,
     .grad = rule,
     .cost = nw_cost_elements,
     NW_KERNELS(kernels),
     .onnx = "$x",
     .torchscript = "torch.dropout($x, $p, $training)",
     NW_CASES(cases)},
};
NW_OPS_END(dropout);
