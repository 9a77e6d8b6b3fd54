/* The network as a person draws it: blocks with attributes, wires between their ports. No numbers, only the document.
 *
 * Block ids are stable and never reused. There is exactly one block of op "input" (the pictures) and, in a network that
 * can be trained, exactly one output: the only block whose output nobody reads. Edits come one by one; nothing here
 * keeps history (app's undo does). Not thread-safe. */
#pragma once

#include "engine/op/op.h"

typedef struct NwBlock {
  uint32_t id;
  char *name; /* unique; torch path: parameters are "<name>.weight" */
  const NwOp *op;
  void *attrs;
  double x, y;   /* on the canvas, top left */
  uint32_t *from; /* for DATA input k: id of the block whose output 0 feeds it; 0: not connected */
  int n_from;     /* DATA ports in use (variadic ports grow) */
  bool frozen;    /* parameters are not trained */
} NwBlock;

typedef struct NwNetwork NwNetwork;

NwStatus nw_network_new(NwNetwork **out, NwError *error); /* empty */
void nw_network_free(NwNetwork *network);
NwStatus nw_network_copy(const NwNetwork *network, NwNetwork **out, NwError *error);

int nw_network_count(const NwNetwork *network);
const NwBlock *nw_network_at(const NwNetwork *network, int index); /* in order of creation */
const NwBlock *nw_network_find(const NwNetwork *network, uint32_t id);
const NwBlock *nw_network_find_name(const NwNetwork *network, const char *name);

/* name NULL: a free one is made from the op ("conv1"). Names have letters, digits, '_', and dots between parts; no name may
 * lie inside another's path ("features" beside "features.0"). id 0: the next free one; the number of a removed block puts
 * it back at its old place. Refused: ops that are no layers, a second input. */
NwStatus nw_network_add(NwNetwork *network, const NwOp *op, const char *name, uint32_t id, uint32_t *out_id,
                        NwError *error);
NwStatus nw_network_remove(NwNetwork *network, uint32_t id, NwError *error); /* and its wires */
NwStatus nw_network_rename(NwNetwork *network, uint32_t id, const char *name, NwError *error);
NwStatus nw_network_move(NwNetwork *network, uint32_t id, double x, double y, NwError *error);
NwStatus nw_network_set_frozen(NwNetwork *network, uint32_t id, bool frozen, NwError *error);
/* Checked by the attribute's row; the rest of the network may become wrong, which nw_network_check tells. */
NwStatus nw_network_set(NwNetwork *network, uint32_t id, const char *key, NwValue value, NwError *error);
NwStatus nw_network_set_text(NwNetwork *network, uint32_t id, const char *key, const char *text, NwError *error);
/* Wire: output 0 of `from` into data input `port` of `to`, replacing what was there; from 0 disconnects. Refused:
 * cycles, ports that do not exist. port == n_from of a variadic block adds one. */
NwStatus nw_network_connect(NwNetwork *network, uint32_t from, uint32_t to, int port, NwError *error);

/* {"blocks":[{"id","name","op","version","attrs","x","y","from":[...],"frozen"}],"next_id"}. Reading refuses in a sentence
 * that names it: unknown ops, attributes and fields, newer versions (NW_TOO_NEW), bad names, numbers and wires, loops. */
NwJson *nw_network_to_json(const NwNetwork *network);
NwStatus nw_network_from_json(const NwJson *json, NwNetwork **out, NwError *error);

/* What one block does to a batch: for badges, errors and totals. */
typedef struct NwBlockReport {
  uint32_t id;
  bool reached;   /* its inputs could be inferred */
  NwSpec in, out; /* of data input 0 and output 0 */
  int64_t parameters;
  double macs;        /* per picture */
  int64_t bytes_out;  /* output of one batch */
  NwStatus status;    /* of this block alone */
  NwError error;      /* with block and property */
} NwBlockReport;

typedef struct NwNetworkReport {
  NwBlockReport *blocks; /* in the order of nw_network_at */
  int n_blocks;
  int n_errors;
  NwError error; /* the first one, or of the whole ("no output", "two outputs") */
  NwStatus status;
  uint32_t output;    /* block id, 0: none */
  NwSpec out;         /* logits: batch × classes */
  int64_t parameters; /* up to the problem */
  double macs;
  int64_t training_bytes; /* estimate, 0.9 to 1.6 times what a plan needs: parameters, two moments, activations */
} NwNetworkReport;

/* Infers everything for pictures of `input` (batch, channels, height, width; f32). classes > 0: the output must be
 * batch × classes. Never fails but for memory: mistakes are in the report. Free with nw_network_report_clear. */
NwStatus nw_network_check(const NwNetwork *network, const NwSpec *input, int64_t classes, NwNetworkReport *report,
                          NwError *error);
void nw_network_report_clear(NwNetworkReport *report);
