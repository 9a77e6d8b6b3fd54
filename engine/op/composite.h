/* Composite layers: one block made of other layers, drawn once.
 *
 * A composite's row has a port for every parameter of its parts, named by torch's path inside the module
 * ("conv1.weight"), and one function that draws the parts. From that function come the shapes, the parameters
 * with their first numbers, the cost, and the ops that are emitted; gradients, kernels and exporters are
 * those of the parts.
 *
 *   static NwVal draw(NwSketch *s, const void *attrs)
 *   {
 *     NwVal y = nw_part(s, "conv1", "conv2d", s->in[0], "out_channels=%lld kernel_size=3 padding=1", ...);
 *     return nw_join(s, "add", nw_part(s, NULL, "relu", y, " "), s->in[0]);
 *   }
 *   NW_COMPOSITE(draw)
 *   ... NW_COMPOSITE_ROW(draw), NW_CASES(cases) ...
 *
 * Errors stick in the sketch: after the first one every part is absent and nothing more is emitted. */
#pragma once

#include "engine/op/infer.h"

enum { NW_MAX_PARTS = 160 };

typedef struct NwSketch NwSketch;
typedef NwVal (*NwDraw)(NwSketch *sketch, const void *attrs);

struct NwSketch {
  NwVal in[NW_MAX_PORTS]; /* by port of the composite */
  int n_in;
  const NwOp *op;
  const void *attrs;
  NwEmitter *emitter;
  NwStatus status;
  NwError *error;
  int parts;
  /* when nothing is emitted, only specs are worked out */
  NwSpec *specs;
  int n_specs;
  int wanted; /* the port whose parameter is asked for; -1: none */
  NwParamInfo *info;
  bool own_params; /* the parameters are not there yet: the parts say what they will be */
  NwCost cost;
};

/* Draws one part that reads `x` and gives its first output. path: where its parameters stand inside the
 * composite
 * ("conv1"); "" when they are the composite's own, NULL when it has none. format: its attributes, "key=text
 * key=text". */
NwVal nw_part(NwSketch *sketch, const char *path, const char *op, NwVal x, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The same for a part with several data inputs (at most 8; absent ones allowed). */
NwVal nw_part_of(NwSketch *sketch, const char *path, const char *op, const NwVal *x, int n,
                 const char *format, ...) __attribute__((format(printf, 6, 7)));
/* A part all of whose inputs are given, parameters too, each at its port (at most 8). */
NwVal nw_part_ports(NwSketch *sketch, const char *op, const NwVal *in, int n, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* A part of two inputs without attributes: "add", "mul". */
NwVal nw_join(NwSketch *sketch, const char *op, NwVal x, NwVal other);
/* A part whose attributes stand in a struct (internal ops such as view); inputs by port. */
NwVal nw_part_attrs(NwSketch *sketch, const char *op, const NwVal *x, int n, const void *attrs);
/* A parameter of the composite's own ("class_token"): its value. Where parameters are not there yet it takes
 * the shape and first numbers given. */
NwVal nw_own_param(NwSketch *sketch, const char *port, const NwParamInfo *info);
/* Spec of a drawn value; of ndim -1 after a mistake. */
NwSpec nw_drawn(const NwSketch *sketch, NwVal value);
/* Channels of a drawn value (size 1), 1 after a mistake. */
int64_t nw_drawn_channels(const NwSketch *sketch, NwVal value);
/* Sticks an error of the composite itself; property NULL: none. */
void nw_sketch_fail(NwSketch *sketch, const char *property, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

NwStatus nw_composite_infer(NwDraw draw, const NwOp *op, const void *attrs, const NwSpec *in, int n_in,
                            NwSpec *out, NwError *error);
NwStatus nw_composite_param(NwDraw draw, const NwOp *op, const void *attrs, const NwSpec *in, int port,
                            NwParamInfo *info, NwError *error);
NwStatus nw_composite_expand(NwDraw draw, NwEmitter *emitter, const NwOp *op, const void *attrs,
                             const NwVal *in, int n_in, NwVal *out, NwError *error);
NwCost nw_composite_cost(NwDraw draw, const NwOp *op, const void *attrs, const NwSpec *in, int n_in);

/* The four functions of a row, from `draw`. */
#define NW_COMPOSITE(draw)                                                                                   \
  static NwStatus draw##_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,   \
                               NwError *error)                                                               \
  {                                                                                                          \
    return nw_composite_infer(draw, op, attrs, in, n_in, out, error);                                        \
  }                                                                                                          \
  static NwStatus draw##_param(const NwOp *op, const void *attrs, const NwSpec *in, int port,                \
                               NwParamInfo *info, NwError *error)                                            \
  {                                                                                                          \
    return nw_composite_param(draw, op, attrs, in, port, info, error);                                       \
  }                                                                                                          \
  static NwStatus draw##_expand(NwEmitter *emitter, const NwOp *op, const void *attrs, const NwVal *in,      \
                                int n_in, NwVal *out, NwError *error)                                        \
  {                                                                                                          \
    return nw_composite_expand(draw, emitter, op, attrs, in, n_in, out, error);                              \
  }                                                                                                          \
  static NwCost draw##_cost(const NwOp *op, const void *attrs, const NwSpec *in, int n_in,                   \
                            const NwSpec *out)                                                               \
  {                                                                                                          \
    return nw_composite_cost(draw, op, attrs, in, n_in);                                                     \
  }
#define NW_COMPOSITE_ROW(draw)                                                                               \
  .infer = draw##_infer, .param = draw##_param, .expand = draw##_expand, .cost = draw##_cost

/* What every composite's attributes begin with: handed on to the parts. */
typedef struct NwCompositeHidden {
  bool training;
  int64_t stream;
} NwCompositeHidden;
#define NW_COMPOSITE_ATTRS                                                                                   \
  {"training",                                                                                               \
   N_("Training"),                                                                                           \
   N_("Handed on to the parts."),                                                                            \
   NULL,                                                                                                     \
   NW_ATTR_BOOL,                                                                                             \
   NW_ATTR_HIDDEN,                                                                                           \
   offsetof(NwCompositeHidden, training),                                                                    \
   0,                                                                                                        \
   0,                                                                                                        \
   1,                                                                                                        \
   0,                                                                                                        \
   1,                                                                                                        \
   1},                                                                                                       \
  {                                                                                                          \
    "stream", N_("Stream"), N_("Keeps the random numbers of two layers apart."), NULL, NW_ATTR_INT,          \
        NW_ATTR_HIDDEN, offsetof(NwCompositeHidden, stream), 0, 0, 1 << 30, 0, 1, 1                          \
  }

/* Ports of usual parts, by path. */
#define NW_PORTS_WEIGHT(path)                                                                                \
  {                                                                                                          \
    path ".weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("Weights of this part.")                             \
  }
#define NW_PORTS_LINEAR(path)                                                                                \
  NW_PORTS_WEIGHT(path),                                                                                     \
  {                                                                                                          \
    path ".bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("Offsets of this part.")                               \
  }
#define NW_PORTS_NORM(path)                                                                                  \
  NW_PORTS_LINEAR(path),                                                                                     \
      {path ".running_mean", NW_PORT_STATE, NW_PORT_OPTIONAL, N_("Means over past batches.")},               \
      {path ".running_var", NW_PORT_STATE, NW_PORT_OPTIONAL, N_("Variances over past batches.")},            \
  {                                                                                                          \
    path ".num_batches_tracked", NW_PORT_STATE, NW_PORT_OPTIONAL, N_("Batches seen in training.")            \
  }
