/* What the files of engine/nn share about networks. */
#pragma once

#include "engine/nn/network.h"

struct NwNetwork {
  NwBlock *
      *blocks; /* sorted by id, which is the order of creation: undoing a removal restores the old place */
  int n, room;
  uint32_t next_id;
};

int nw_network_index(const NwNetwork *network, uint32_t id); /* -1: none */
NwBlock *nw_network_block(const NwNetwork *network, uint32_t id,
                          NwError *error); /* NULL: no such block, error set */

/* Sockets of an op: number of DATA input ports, and whether the last one repeats. */
int nw_op_sockets(const NwOp *op, bool *variadic);

/* order[0..n-1]: indices of blocks such that every block stands behind those that feed it; among free choices
 * the order of creation. Networks have no cycles, so it always succeeds. order has room for all blocks;
 * NW_NO_MEMORY. */
NwStatus nw_network_order(const NwNetwork *network, int *order, NwError *error);
/* Is there a way along wires from block `from` to block `to` (indices)? NW_NO_MEMORY through *status. */
bool nw_network_path(const NwNetwork *network, int from, int to, NwStatus *status);

/* One block with the specs around it, as its op sees them. */
typedef struct NwBlockShape {
  int n_in;
  int from[NW_MAX_PORTS]; /* DATA: index of the feeding block; -1 otherwise */
  bool own[NW_MAX_PORTS]; /* PARAM and STATE ports that are there */
  NwParamInfo param[NW_MAX_PORTS];
  NwSpec in[NW_MAX_PORTS], out[NW_MAX_PORTS];
} NwBlockShape;

/* Fills n_in, from and own=false; fails where a wire is missing (block id and port name in the sentence). */
NwStatus nw_block_wires(const NwNetwork *network, const NwBlock *block, NwBlockShape *shape, NwError *error);
/* Then, with shape->in set for DATA inputs: parameters and outputs. Errors carry the block and the property.
 */
NwStatus nw_block_infer(const NwBlock *block, NwBlockShape *shape, NwError *error);
