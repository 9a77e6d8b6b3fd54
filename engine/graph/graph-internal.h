/* What the files of engine/graph share: nodes, and the list of nodes that passes work on. */
#pragma once

#include "engine/graph/graph.h"
#include "engine/graph/plan.h"

typedef struct NwNode NwNode;

/* One value: an output of a node. */
typedef struct NwSlot {
  NwSpec spec;
  NwVal alias;  /* a pass moved the value there; p NULL: it is still here */
  bool kept;    /* the caller reads it after a run */
  bool mutable; /* some op of the program changes it in place (STATE port) */
  /* scratch of passes */
  int readers,
      reader_sum; /* nodes that read it, and the sum of their places: one reader's place when there is one */
  NwVal reordered[3];  /* the same numbers in block 0, 8, 16 */
  int access, written; /* schedule: latest node that reads or writes, that writes */
  int first, last;     /* memory: steps between which it lives */
  int buffer;          /* memory: which buffer it lies in; -1: none */
} NwSlot;

struct NwNode {
  NwGraph *graph;
  const NwOp *op; /* NULL: an input */
  void *attrs;
  uint32_t block;
  int index; /* in graph->nodes */
  int place; /* in the program's list; -1: not in it */
  int n_in, n_out;
  NwVal *in;
  NwSlot *out;
  const NwKernel *kernel;
  int32_t in_block[NW_MAX_PORTS]; /* the layout pass: what the kernel reads */
  /* inputs only */
  char *name;
  NwInputKind kind;
  bool wants_grad;
  void *constant; /* a number of the graph's own, owned */
  void *bound;
  int first_use, n_uses; /* in the plan's list of places to patch */
};

struct NwGraph {
  NwNode **nodes; /* every node ever made; freed with the graph */
  int n, room;
  uint32_t block;
  NwEmitter emitter;
};

static inline NwNode *nw_node_of(NwVal value)
{
  return value.p;
}

static inline NwSlot *nw_slot_of(NwVal value)
{
  return &((NwNode *)value.p)->out[value.index];
}

static inline bool nw_val_same(NwVal a, NwVal b)
{
  return a.p == b.p && a.index == b.index;
}

/* Where the value is now. */
static inline NwVal nw_val_resolve(NwVal value)
{
  while (value.p != NULL && nw_slot_of(value)->alias.p != NULL)
    value = nw_slot_of(value)->alias;
  return value;
}

/* Role of input i, also of the repeated ones of a variadic port. */
static inline NwPortRole nw_port_role(const NwOp *op, int i)
{
  return op->inputs[i < op->n_inputs ? i : op->n_inputs - 1].role;
}

/* Is input i there and are its numbers read? A SHAPE port reads only the spec. */
static inline bool nw_node_reads(const NwNode *node, int i)
{
  return node->in[i].p != NULL && nw_port_role(node->op, i) != NW_PORT_SHAPE;
}

/* A node with copies of attrs and in; output specs are left to the caller. The graph owns it. */
NwStatus nw_node_new(NwGraph *graph, const NwOp *op, const void *attrs, const NwVal *in, int n_in, int n_out,
                     NwNode **out, NwError *error);
/* An input that holds the number one, for the start of a backward. */
NwStatus nw_graph_one(NwGraph *graph, const NwSpec *spec, NwVal *out, NwError *error);
/* The specs of a node as its kernel sees them; data pointers NULL. */
void nw_node_call(const NwNode *node, NwCall *call);
/* Sets error->block when it is not set yet; returns status. */
NwStatus nw_at_block(uint32_t block, NwStatus status, NwError *error);

/* The part of a graph that will run: nodes in order of execution, without inputs. */
typedef struct NwProgram {
  NwGraph *graph;
  NwNode **nodes;
  int n, room;
  NwVal *keep; /* where the kept values are now */
  int n_keep;
} NwProgram;

NwStatus nw_program_add(NwProgram *program, NwNode *node, NwError *error);
/* Follows aliases in the inputs of all nodes, numbers places, and marks what STATE ports change. */
void nw_program_tidy(NwProgram *program);

/* Drops nodes that neither kept values nor side effects need. */
void nw_pass_dead_code(NwProgram *program);
/* Joins pairs of nodes as the fusions of their rows say, until nothing changes. */
NwStatus nw_pass_fuse(NwProgram *program, NwError *error);
/* Picks each node's kernel; exact: plain layouts and exact rows, else layouts as the rows wish, with reorders
 * between. */
NwStatus nw_pass_layout(NwProgram *program, bool exact, NwError *error);
/* Moves ops with side effects (optimizer steps) up to where their inputs are ready and nobody needs the old
 * numbers. */
NwStatus nw_pass_schedule(NwProgram *program, NwError *error);

/* ---- memory ---- */
typedef struct NwBuffer {
  size_t bytes;  /* a multiple of 64 */
  int from, to;  /* steps, both included */
  size_t offset; /* filled by nw_buffers_place */
} NwBuffer;

typedef struct NwMemory {
  NwBuffer *buffers;
  int n, room;
  int *workspace; /* by place: the buffer of its workspace, -1: none */
  size_t arena, naive, lower;
} NwMemory;

/* Lifetimes, values that share memory in place, workspaces (bytes by place), offsets. */
NwStatus nw_memory_plan(NwProgram *program, const size_t *workspaces, NwMemory *memory, NwError *error);
void nw_memory_clear(NwMemory *memory);
/* Gives every buffer an offset such that no two that live at one time overlap; returns the bytes needed. */
NwStatus nw_buffers_place(NwBuffer *buffers, int n, size_t lower, size_t *arena, NwError *error);
