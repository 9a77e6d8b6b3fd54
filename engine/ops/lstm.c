/* LSTM: a cell that learns what to keep and what to forget. */
#include "engine/ops/scan.h"

static const NwAttr attrs_rows[] = {NW_RECURRENT_ROWS, NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {NW_RECURRENT_PORTS};
static const NwPort ports_out[] = {
    {"y", NW_PORT_DATA, 0, N_("What is known after each step: batch × steps × size.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  return nw_recurrent_draw(s, attrs, NW_SCAN_LSTM);
}
NW_COMPOSITE(draw)

static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  return nw_recurrent_write(writer, attrs, "lstm", true);
}

static const NwOpCase cases[] = {
    {"hidden_size=3", "2x4x5 12x5 12x3 12 12"},
    {"hidden_size=2 bias=false bidirectional=true", "3x2x4 8x4 8x2 - - 8x4 8x2 - -"},
    {"hidden_size=3 num_layers=2", "2x3x4 12x4 12x3 12 12 - - - - 12x3 12x3 12 12"}};

const NwOp nw_ops_lstm[] = {
    {.id = "lstm",
     .version = 1,
     .label = "LSTM",
     .group = NW_GROUP_LINEAR,
     .doc = N_("Reads a sequence step by step, and learns what to remember and what to forget."),
     .formula = N_("i, f, o = σ(W x + U h), g = tanh(W x + U h); c = f·c + i·g, h = o·tanh(c) (Hochreiter "
                   "and Schmidhuber 1997)"),
     .keywords = "recurrent sequence memory steps long short term",
     .torch = "torch.nn.LSTM",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(NwRecurrent, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     .torchscript_write = write,
     NW_CASES(cases)},
};
NW_OPS_END(lstm);
