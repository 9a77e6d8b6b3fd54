/* RNN: the plain recurrent layer. */
#include "engine/ops/scan.h"

enum { TANH, RELU };
static const NwEnumItem forms[] = {{TANH, "tanh", N_("Tanh")}, {RELU, "relu", N_("ReLU")}};
static const NwAttr attrs_rows[] = {NW_RECURRENT_ROWS,
                                    {"nonlinearity", N_("Activation"), N_("What bends each step."), NULL,
                                     NW_ATTR_ENUM, 0, offsetof(NwRecurrent, nonlinearity), TANH,
                                     .items = forms, .n_items = NW_COUNT(forms)},
                                    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {NW_RECURRENT_PORTS};
static const NwPort ports_out[] = {
    {"y", NW_PORT_DATA, 0, N_("What is known after each step: batch × steps × size.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  return nw_recurrent_draw(s, attrs,
                           ((const NwRecurrent *)attrs)->nonlinearity == RELU ? NW_SCAN_RELU : NW_SCAN_TANH);
}
NW_COMPOSITE(draw)

static NwStatus write(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error)
{
  return nw_recurrent_write(
      writer, attrs, ((const NwRecurrent *)attrs)->nonlinearity == RELU ? "rnn_relu" : "rnn_tanh", false);
}

static const NwOpCase cases[] = {
    {"hidden_size=3", "2x4x5 3x5 3x3 3 3"},
    {"hidden_size=2 bias=false bidirectional=true", "3x2x4 2x4 2x2 - - 2x4 2x2 - -"},
    {"hidden_size=3 num_layers=2", "2x3x4 3x4 3x3 3 3 - - - - 3x3 3x3 3 3"}};

const NwOp nw_ops_rnn[] = {
    {.id = "rnn",
     .version = 1,
     .label = "RNN",
     .group = NW_GROUP_LINEAR,
     .doc = N_("Reads a sequence step by step, each step with what the last one left."),
     .formula = N_("h = tanh(W x + U h), or with ReLU (Elman 1990)"),
     .keywords = "recurrent sequence memory steps elman",
     .torch = "torch.nn.RNN",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(NwRecurrent, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     .torchscript_write = write,
     NW_CASES(cases)},
};
NW_OPS_END(rnn);
