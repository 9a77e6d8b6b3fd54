/* Recurrent layers: what LSTM, GRU and RNN share. */
#pragma once

#include <stdio.h>

#include "engine/op/composite.h"
#include "engine/ops/view.h"

typedef enum NwScanKind { NW_SCAN_TANH, NW_SCAN_RELU, NW_SCAN_LSTM, NW_SCAN_GRU } NwScanKind;

/* Attributes of the internal op "scan". */
typedef struct NwScan {
  int64_t kind;
  bool reverse;
} NwScan;

/* Attributes of the layers. */
typedef struct NwRecurrent {
  NwCompositeHidden hidden;
  int64_t hidden_size, num_layers, nonlinearity;
  bool bias, bidirectional;
  double dropout;
} NwRecurrent;

enum { NW_RECURRENT_LAYERS = 4 };

#define NW_RECURRENT_ROWS                                                                                    \
  {"hidden_size",                                                                                            \
   N_("Size"),                                                                                               \
   N_("How many numbers are kept from step to step, in each direction."),                                    \
   NULL,                                                                                                     \
   NW_ATTR_INT,                                                                                              \
   NW_ATTR_ON_BLOCK | NW_ATTR_LOG,                                                                           \
   offsetof(NwRecurrent, hidden_size),                                                                       \
   64,                                                                                                       \
   1,                                                                                                        \
   65536,                                                                                                    \
   1,                                                                                                        \
   1024,                                                                                                     \
   1},                                                                                                       \
      {"num_layers",                                                                                         \
       N_("Layers"),                                                                                         \
       N_("How many of them are stacked."),                                                                  \
       NULL,                                                                                                 \
       NW_ATTR_INT,                                                                                          \
       NW_ATTR_ON_BLOCK,                                                                                     \
       offsetof(NwRecurrent, num_layers),                                                                    \
       1,                                                                                                    \
       1,                                                                                                    \
       NW_RECURRENT_LAYERS,                                                                                  \
       1,                                                                                                    \
       NW_RECURRENT_LAYERS,                                                                                  \
       1},                                                                                                   \
      {"bias",                                                                                               \
       N_("Bias"),                                                                                           \
       N_("Adds learnt numbers."),                                                                           \
       NULL,                                                                                                 \
       NW_ATTR_BOOL,                                                                                         \
       0,                                                                                                    \
       offsetof(NwRecurrent, bias),                                                                          \
       1,                                                                                                    \
       0,                                                                                                    \
       1,                                                                                                    \
       0,                                                                                                    \
       1,                                                                                                    \
       1},                                                                                                   \
      {"bidirectional",                                                                                      \
       N_("Both directions"),                                                                                \
       N_("Reads the sequence from its end, too."),                                                          \
       NULL,                                                                                                 \
       NW_ATTR_BOOL,                                                                                         \
       0,                                                                                                    \
       offsetof(NwRecurrent, bidirectional),                                                                 \
       0,                                                                                                    \
       0,                                                                                                    \
       1,                                                                                                    \
       0,                                                                                                    \
       1,                                                                                                    \
       1},                                                                                                   \
  {                                                                                                          \
    "dropout", N_("Dropout"), N_("Between the layers, in training."), NULL, NW_ATTR_REAL, 0,                 \
        offsetof(NwRecurrent, dropout), 0, 0, 1, 0, 0.95, 0.05                                               \
  }

#define NW_RECURRENT_DIRECTION(tail)                                                                         \
  {"weight_ih_" tail, NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("From what comes in.")},                           \
      {"weight_hh_" tail, NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("From the step before.")},                     \
      {"bias_ih_" tail, NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("Offsets of what comes in.")},                   \
  {                                                                                                          \
    "bias_hh_" tail, NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("Offsets of the step before.")                      \
  }
#define NW_RECURRENT_LAYER(k) NW_RECURRENT_DIRECTION("l" #k), NW_RECURRENT_DIRECTION("l" #k "_reverse")
#define NW_RECURRENT_PORTS                                                                                   \
  {"x", NW_PORT_DATA, 0, N_("Batch × steps × numbers.")}, NW_RECURRENT_LAYER(0), NW_RECURRENT_LAYER(1),      \
      NW_RECURRENT_LAYER(2), NW_RECURRENT_LAYER(3)

/* One direction of one layer. */
static inline NwVal nw_recurrent_part(NwSketch *s, const NwRecurrent *a, NwScanKind kind, int layer,
                                      bool reverse, NwVal x)
{
  static const char *const leaves[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
  int64_t gates = kind == NW_SCAN_LSTM ? 4 : kind == NW_SCAN_GRU ? 3 : 1, rows = gates * a->hidden_size;
  NwSpec like = nw_drawn(s, x);
  NwVal own[4];
  for (int i = 0; i < 4; i++) {
    char port[40];
    int64_t dims[2] = {rows, i == 0 ? like.dims[2] : a->hidden_size};
    snprintf(port, sizeof port, "%s_l%d%s", leaves[i], layer, reverse ? "_reverse" : "");
    NwParamInfo info = {i < 2 || a->bias, nw_spec_like(&like, i < 2 ? 2 : 1, dims), NW_INIT_UNIFORM,
                        1 / sqrt((double)a->hidden_size)};
    own[i] = nw_own_param(s, port, &info);
  }
  NwVal pre = nw_part_ports(s, "linear", (NwVal[]){x, own[0], own[2]}, 3, "out_features=%lld bias=%s",
                            (long long)rows, a->bias ? "true" : "false");
  NwScan scan = {kind, reverse};
  return nw_part_attrs(s, "scan", (NwVal[]){pre, own[1], own[3]}, 3, &scan);
}

static inline NwVal nw_recurrent_draw(NwSketch *s, const NwRecurrent *a, NwScanKind kind)
{
  NwVal x = s->in[0];
  NwSpec spec = nw_drawn(s, x);
  if (spec.ndim != 3 || nw_spec_count(&spec) < 1)
    nw_sketch_fail(
        s, NULL,
        "%s needs batch × steps × numbers; this input has %d sizes: put a Reshape before it, such as one row "
        "of the picture a step",
        s->op->label, spec.ndim > 0 ? spec.ndim : 0);
  for (int layer = 0; layer < a->num_layers && s->status == NW_OK; layer++) {
    if (layer > 0 && a->dropout > 0)
      x = nw_part(s, NULL, "dropout", x, "p=%.17g", a->dropout);
    NwVal y = nw_recurrent_part(s, a, kind, layer, false, x);
    if (a->bidirectional) { /* the two lie side by side in each step */
      NwVal back = nw_recurrent_part(s, a, kind, layer, true, x);
      NwView flat = {2, {spec.dims[0] * spec.dims[1], a->hidden_size}};
      NwView steps = {3, {spec.dims[0], spec.dims[1], 2 * a->hidden_size}};
      y = nw_part_attrs(s, "view", &y, 1, &flat);
      y = nw_join(s, "concat", y, nw_part_attrs(s, "view", &back, 1, &flat));
      y = nw_part_attrs(s, "view", &y, 1, &steps);
    }
    x = y;
  }
  return x;
}

/* TorchScript of torch.lstm and its kind. call: "lstm", "gru", "rnn_tanh"; cell: LSTM starts with two states.
 */
static inline NwStatus nw_recurrent_write(NwTorchWriter *writer, const NwRecurrent *a, const char *call,
                                          bool cell)
{
  static const char *const leaves[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
  const char *x = nw_torch_input(writer, 0), *y = nw_torch_output(writer);
  char weights[8192] = "";
  size_t used = 0;
  for (int layer = 0; layer < a->num_layers; layer++)
    for (int side = 0; side <= a->bidirectional; side++)
      for (int i = 0; i < (a->bias ? 4 : 2); i++) {
        char port[40];
        snprintf(port, sizeof port, "%s_l%d%s", leaves[i], layer, side ? "_reverse" : "");
        used += (size_t)snprintf(weights + used, sizeof weights - used, "%s%s", used ? ", " : "",
                                 nw_torch_param(writer, port));
        if (used >= sizeof weights)
          return nw_fail(NULL, NW_INTERNAL, "too many weights");
      }
  nw_torch_line(writer,
                "%s_h = torch.zeros([%lld, torch.size(%s, 0), %lld], dtype=ops.prim.dtype(%s), layout=None, "
                "device=ops.prim.device(%s))",
                y, (long long)(a->num_layers * (1 + a->bidirectional)), x, (long long)a->hidden_size, x, x);
  const char *bias = a->bias ? "True" : "False", *both = a->bidirectional ? "True" : "False",
             *dropout = nw_torch_attr(writer, "dropout");
  if (cell)
    nw_torch_line(writer,
                  "%s, %s_n, %s_c = torch.%s(%s, [%s_h, %s_h], [%s], %s, %lld, %s, training, %s, True)", y, y,
                  y, call, x, y, y, weights, bias, (long long)a->num_layers, dropout, both);
  else
    nw_torch_line(writer, "%s, %s_n = torch.%s(%s, %s_h, [%s], %s, %lld, %s, training, %s, True)", y, y, call,
                  x, y, weights, bias, (long long)a->num_layers, dropout, both);
  return NW_OK;
}
