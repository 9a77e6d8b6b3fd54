/* GRU: an LSTM with one gate less. */
#include "engine/ops/scan.h"

static const NwAttr attrs_rows[] = {NW_RECURRENT_ROWS, NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {NW_RECURRENT_PORTS};
static const NwPort ports_out[] = {
    {"y", NW_PORT_DATA, 0, N_("What is known after each step: batch × steps × size.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  return nw_recurrent_draw(s, attrs, NW_SCAN_GRU);
}
NW_COMPOSITE(draw)

static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  return nw_recurrent_write(writer, attrs, "gru", false);
}

static const NwOpCase cases[] = {
    {"hidden_size=3", "2x4x5 9x5 9x3 9 9"},
    {"hidden_size=2 bias=false bidirectional=true", "3x2x4 6x4 6x2 - - 6x4 6x2 - -"},
    {"hidden_size=3 num_layers=2", "2x3x4 9x4 9x3 9 9 - - - - 9x3 9x3 9 9"}};

const NwOp nw_ops_gru[] = {
    {.id = "gru",
     .version = 1,
     .label = "GRU",
     .group = NW_GROUP_LINEAR,
     .doc = N_("Reads a sequence step by step with two gates; lighter than LSTM."),
     .formula = N_("r, z = σ(W x + U h), n = tanh(W x + r·(U h)); h = (1 − z)·n + z·h (Cho et al. 2014)"),
     .keywords = "recurrent sequence memory steps gated unit",
     .torch = "torch.nn.GRU",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(NwRecurrent, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     .torchscript_write = write,
     NW_CASES(cases)},
};
NW_OPS_END(gru);
