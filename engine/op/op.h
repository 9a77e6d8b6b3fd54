/* The op contract: one layer, declared once.
 *
 * A layer is one file in engine/ops that ends in rows of NwOp. From a row come the palette, the property
 * editor, wire checks, badges, the project file, exporters, the manual and the derived tests. No code outside
 * the file knows the layer's name. Rows are immutable; the registry is a generated list
 * (engine/ops/meson.build), never constructors.
 *
 * Backward is more ops: `grad` emits ops through an emitter; the tape runs them at once, the graph appends
 * them. */
#pragma once

#include "engine/op/attr.h"
#include "engine/tensor/spec.h"

/* Composites list the ports of all their parts, so there is room for an inverted residual with a gate. */
enum { NW_MAX_PORTS = 40, NW_OP_ABI = 1 };

/* ---- ports ---- */
typedef enum NwPortRole {
  NW_PORT_DATA,  /* a socket on the block */
  NW_PORT_PARAM, /* trainable, owned by the block: weight, bias */
  NW_PORT_STATE, /* owned by the block, changed in place by the kernel in training: running_mean; also what an
                    optimizer op updates (the parameter and its moments) */
  NW_PORT_SHAPE, /* only the spec is read, so it keeps no memory alive; in_data is NULL */
  NW_PORT_AUX    /* an output kept for backward; no socket */
} NwPortRole;

typedef enum NwPortFlags {
  NW_PORT_OPTIONAL = 1,
  NW_PORT_VARIADIC =
      2 /* the last data input: may be repeated (Add, Concat) up to NW_MAX_PORTS inputs in all */
} NwPortFlags;

typedef struct NwPort {
  const char *name; /* "x", "weight": torch's name where it has one */
  NwPortRole role;
  unsigned flags;
  const char *doc; /* N_() */
} NwPort;

/* ---- values and emitters ---- */
/* A value handle. Tape: an NwTensor (index 0). Graph: a node and the index of its output. p NULL: absent. */
typedef struct NwVal {
  void *p;
  int index;
} NwVal;

typedef struct NwEmitter NwEmitter;
struct NwEmitter {
  /* Runs or appends op. in[0..n_in-1] may hold absent values for optional ports. out has room for
   * op->n_outputs. Checks attributes and shapes. Tape: the emitter owns what it returns until the whole rule
   * is done. */
  NwStatus (*emit)(NwEmitter *self, const NwOp *op, const void *attrs, const NwVal *in, int n_in, NwVal *out,
                   NwError *error);
  /* The spec of a value (absent: nw_spec_absent()). */
  NwSpec (*spec)(NwEmitter *self, NwVal value);
  void *owner;
};
/* emitter->emit with one output. */
NwStatus nw_emit(NwEmitter *emitter, const NwOp *op, const void *attrs, const NwVal *in, int n_in, NwVal *out,
                 NwError *error);

/* What a gradient rule sees. It emits ops; it never touches memory. need[i]: is din[i] wanted? A din left
 * absent means zero. dout[i] is absent where nothing flowed back. */
typedef struct NwGrad {
  NwEmitter *emitter;
  const NwOp *op;
  const void *attrs;
  int n_in, n_out;
  NwVal in[NW_MAX_PORTS], out[NW_MAX_PORTS], dout[NW_MAX_PORTS], din[NW_MAX_PORTS];
  NwSpec in_spec[NW_MAX_PORTS], out_spec[NW_MAX_PORTS];
  bool need[NW_MAX_PORTS];
} NwGrad;

/* ---- kernels ---- */
/* Numbers that change from run to run of one plan. */
typedef struct NwRun {
  uint64_t seed; /* of the training run */
  uint64_t step; /* training step: keys the random numbers of ops */
} NwRun;

/* What a kernel sees, the same from tape and plan. In prepare, all data pointers and run are NULL. Blocked
 * values carry their block in the spec. */
typedef struct NwCall {
  const NwOp *op;
  const void *attrs;
  int n_in, n_out;
  NwSpec in[NW_MAX_PORTS], out[NW_MAX_PORTS];
  const void *in_data[NW_MAX_PORTS]; /* NULL: absent or SHAPE */
  void *out_data[NW_MAX_PORTS];
  void *workspace; /* as many bytes as prepare asked for, 64-byte aligned, contents undefined */
  const NwRun *run;
  /* Bit i: input i keeps its numbers from run to run until `refresh` changes (frozen weights), so the
   * kernel's state may keep what it derives from them (a transformed filter). */
  uint32_t frozen;
  uint64_t refresh;
} NwCall;

/* A STATE input, for writing. */
static inline void *nw_call_state(const NwCall *call, int port)
{
  return (void *)(uintptr_t)call->in_data[port];
}

typedef enum NwKernelFlags {
  /* May run in `exact` plans and on the tape: plain layouts, no approximation beyond float rounding. Every op
   * has at least one such row, its last: "plain". */
  NW_KERNEL_EXACT = 1,
  /* Works on f64 too (plain rows; for gradient checks). */
  NW_KERNEL_F64 = 2
} NwKernelFlags;

typedef struct NwKernel {
  const char *name; /* "plain", "onednn", "winograd" */
  NwDevice device;
  unsigned flags;
  /* Layout wishes for a plan that may change layouts: fills in_block[i], out_block[i] with 0, 8 or 16, given
   * shapes and the blocks its inputs have now (call->in[i].block). `lanes` is the block that suits this
   * machine. Returns false when this kernel cannot run these shapes at all. NULL: plain everywhere. */
  bool (*layout)(const NwCall *call, int lanes, int32_t *in_block, int32_t *out_block);
  /* Can it run this very call (dtypes, shapes, blocks)? NULL: any call with plain layouts and f32. */
  bool (*supports)(const NwCall *call);
  /* Makes *state (released by release) and asks for workspace bytes. NULL: nothing to prepare. */
  NwStatus (*prepare)(const NwCall *call, void **state, size_t *workspace, NwError *error);
  NwStatus (*run)(const NwCall *call, void *state, NwError *error);
  void (*release)(void *state);
} NwKernel;

/* ---- parameters ---- */
typedef enum NwInitKind {
  NW_INIT_CONSTANT, /* value */
  NW_INIT_UNIFORM,  /* in [-value, value] */
  NW_INIT_NORMAL    /* deviation value */
} NwInitKind;

/* Shape of a PARAM or STATE port and its first numbers (torch's default of the layer). */
typedef struct NwParamInfo {
  bool present; /* false: this block has no such parameter (bias=false) */
  NwSpec spec;
  NwInitKind init;
  double value;
} NwParamInfo;

typedef struct NwCost {
  double macs;  /* multiply-adds of one forward */
  double flops; /* 2 macs + the rest */
} NwCost;

/* ---- fusion ---- */
/* When the only reader of output 0 of this op is an op `next` (its input 0, or for commutative two-input ops
 * either), both become one `into` with this op's attributes: inputs are this op's (all its ports, absent ones
 * too), then the other inputs of `next`. Outputs: all of next's, then this op's outputs 1 and up (AUX). Only
 * plans with fusion use it. */
typedef struct NwFusion {
  const char *next, *into;
  /* May these two be fused (evaluation only, same sizes)? NULL: always. */
  bool (*when)(const void *attrs, const void *next_attrs, const NwSpec *in, const NwSpec *next_out);
  /* Attributes of `into`, zeroed before; NULL: a copy of this op's. */
  void (*merge)(const void *attrs, const void *next_attrs, void *into_attrs);
} NwFusion;

/* ---- the row ---- */
typedef enum NwGroup { /* palette section and colour; NW_GROUP_INTERNAL is never shown */
                       NW_GROUP_INTERNAL,
                       NW_GROUP_INPUT,
                       NW_GROUP_CONVOLUTION,
                       NW_GROUP_LINEAR,
                       NW_GROUP_POOLING,
                       NW_GROUP_NORM,
                       NW_GROUP_ACTIVATION,
                       NW_GROUP_REGULARISATION,
                       NW_GROUP_SHAPE,
                       NW_GROUP_MERGE,
                       NW_GROUP_COMPOSITE,
                       NW_GROUP_LOSS,
                       NW_GROUP_OPTIMIZER,
                       NW_GROUPS
} NwGroup;
const char *nw_group_label(NwGroup group); /* English, N_() */
const char *nw_group_key(NwGroup group);   /* "conv", "pool": for styles and icons */

typedef enum NwOpFlags {
  NW_OP_INPLACE = 1,     /* output 0 may lie on input 0 (all kernels of the op allow it) */
  NW_OP_SIDE_EFFECT = 2, /* kept though nobody reads its outputs (optimizers) */
  NW_OP_KEEPS_SHAPE = 4, /* drawn as a slim block */
  NW_OP_COMMUTATIVE = 8
} NwOpFlags;

/* A case of the derived tests: attributes as "key=text key=text", input shapes as "2x3x8x8 4x3x3x3 4"; a
 * shape may end in ":u8" or ":i64<10" (whole numbers below 10). Absent optional inputs are "-". */
typedef struct NwOpCase {
  const char *attrs, *shapes;
} NwOpCase;

/* What torchscript_write works with; engine/io/torchscript.c defines it. Variable name of data input k; path
 * of a parameter or "None"; an attribute as TorchScript text: borrowed until the next op. A line appends a
 * statement of its own; the op's result must be assigned to nw_torch_output. */
typedef struct NwTorchWriter NwTorchWriter;
const char *nw_torch_input(NwTorchWriter *writer, int k);
NwSpec nw_torch_spec(NwTorchWriter *writer, int k); /* of data input k, for a batch of one; ndim -1: absent */
const char *nw_torch_param(NwTorchWriter *writer, const char *port);
const char *nw_torch_attr(NwTorchWriter *writer, const char *key);
void nw_torch_line(NwTorchWriter *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *nw_torch_output(NwTorchWriter *writer);

/* What onnx_write works with; engine/io/onnx-code.c defines it. Spec of the value at an input port, for a
 * batch of one (ndim -1: absent); the version that is written; statements in the language of NwOp's `onnx`.
 */
typedef struct NwOnnxWriter NwOnnxWriter;
NwSpec nw_onnx_spec(NwOnnxWriter *writer, int port);
int nw_onnx_opset(NwOnnxWriter *writer);
/* "[0, 3, 8, 8]": a spec's sizes, the batch left as it is; returns text. */
const char *nw_onnx_sizes(const NwSpec *spec, char *text, size_t n);
NwStatus nw_onnx_put(NwOnnxWriter *writer, NwError *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct NwOp {
  const char *id; /* stable, in files: "conv2d" */
  int version;
  const char *label; /* torch's class name, "Conv2d"; NULL for internal ops */
  NwGroup group;
  const char *doc;      /* N_(): one sentence */
  const char *formula;  /* plain text for the manual, with the source */
  const char *keywords; /* for the palette's search */
  const char *torch;    /* "torch.nn.Conv2d" */
  unsigned flags;
  const NwPort *inputs, *outputs;
  int n_inputs, n_outputs;
  const NwAttr *attrs;
  int n_attrs;
  size_t attrs_size;
  /* Relations between attributes (groups divide channels). NULL: none. Errors with the property set. */
  NwStatus (*check)(const NwOp *op, const void *attrs, NwError *error);
  /* Output specs from input specs (n_in of them, absent ones with ndim -1); dtype, device and block included.
   * Fails in a sentence, with the property at fault where one is. Must not trust any shape. An output that
   * this call does not have (the bias gradient of a convolution without bias, saved statistics in evaluation)
   * is nw_spec_absent(): the tape returns NULL for it, and its out_data is NULL. */
  NwStatus (*infer)(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                    NwError *error);
  /* Parameter of input port `port`, from the DATA inputs in[] (indexed by port). NULL when there is none. */
  NwStatus (*param)(const NwOp *op, const void *attrs, const NwSpec *in, int port, NwParamInfo *info,
                    NwError *error);
  NwStatus (*grad)(NwGrad *grad, NwError *error); /* NULL: no gradient flows */
  /* A composite emits other ops instead of having kernels. */
  NwStatus (*expand)(NwEmitter *emitter, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                     NwVal *out, NwError *error);
  NwCost (*cost)(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, const NwSpec *out);
  const NwKernel *kernels; /* best first, plain last */
  int n_kernels;
  const NwFusion *fusions;
  int n_fusions;
  /* TorchScript: an expression with $x (input ports), $weight (parameter paths, None when absent), $key
   * (attributes; DIMS as [a, b]), $training; for a variadic port $x is "[a, b, c]". Or a function for the
   * irregular ones. NULL: cannot be exported (composites go through expand). */
  const char *torchscript;
  NwStatus (*torchscript_write)(NwTorchWriter *writer, const NwOp *op, const void *attrs, NwError *error);
  /* ONNX: statements "Type(inputs) name=value name=value", with "; " between them; "half = Type(...)" names a
   * value for those behind it, and the last one, without a name, is output 0. Inputs: $x (ports; "" when
   * absent, all values of a variadic one), a named value, a number with a point (a constant), [1, $key]
   * (whole numbers, attributes spread out). Values: a number, "text", [..], or $key (an attribute). "$x"
   * alone: nothing happens in evaluation. Or a function for the irregular ones. NULL: cannot be exported
   * (composites go through expand). */
  const char *onnx;
  NwStatus (*onnx_write)(NwOnnxWriter *writer, const NwOp *op, const void *attrs, NwError *error);
  const NwOpCase *cases;
  int n_cases;
};

/* Helpers for rows. */
#define NW_INPUTS(a) .inputs = a, .n_inputs = NW_COUNT(a)
#define NW_OUTPUTS(a) .outputs = a, .n_outputs = NW_COUNT(a)
#define NW_ATTRS(type, a) .attrs = a, .n_attrs = NW_COUNT(a), .attrs_size = sizeof(type)
#define NW_KERNELS(a) .kernels = a, .n_kernels = NW_COUNT(a)
#define NW_FUSIONS(a) .fusions = a, .n_fusions = NW_COUNT(a)
#define NW_CASES(a) .cases = a, .n_cases = NW_COUNT(a)
/* Ends an op file: `const int nw_ops_<file>_count`. */
#define NW_OPS_END(file) const int nw_ops_##file##_count = NW_COUNT(nw_ops_##file)

/* ---- registry (engine/op/registry.c) ---- */
const NwOp *nw_op_find(const char *id); /* hashed; NULL: unknown */
const NwOp *nw_op_at(size_t index);     /* in list order; NULL past the end */
/* Picks the first kernel for device that supports call; exact: only NW_KERNEL_EXACT rows. NULL: none. A name
 * forces one (tests). */
const NwKernel *nw_kernel_pick(const NwCall *call, bool exact, const char *name);
int nw_op_port(const NwOp *op, const char *input); /* index of an input port by name, -1 */
