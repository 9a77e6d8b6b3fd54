/* Wires: connecting, cycles, and the order in which blocks compute. */
#include "engine/nn/network-internal.h"

#include <inttypes.h>
#include <string.h>

#include "engine/base/memory.h"

bool nw_network_path(const NwNetwork *network, int from, int to, NwStatus *status)
{
  /* Walks upwards from `to`. seen doubles as the visited set, stack holds what is still to be looked at. */
  bool *seen = nw_alloc0(sizeof *seen * (size_t)network->n);
  int *stack = nw_alloc(sizeof *stack * (size_t)network->n);
  bool found = false;
  *status = seen != NULL && stack != NULL ? NW_OK : NW_NO_MEMORY;
  int n = 0;
  if (*status == NW_OK) {
    stack[n++] = to;
    seen[to] = true;
  }
  while (n > 0 && !found) {
    const NwBlock *block = network->blocks[stack[--n]];
    found = block == network->blocks[from];
    for (int k = 0; k < block->n_from && !found; k++) {
      int above = block->from[k] != 0 ? nw_network_index(network, block->from[k]) : -1;
      if (above >= 0 && !seen[above]) {
        seen[above] = true;
        stack[n++] = above;
      }
    }
  }
  nw_free(seen);
  nw_free(stack);
  return found;
}

NwStatus nw_network_connect(NwNetwork *network, uint32_t from, uint32_t to, int port, NwError *error)
{
  NwBlock *target = nw_network_block(network, to, error);
  if (target == NULL)
    return NW_NOT_FOUND;
  bool variadic;
  int sockets = nw_op_sockets(target->op, &variadic);
  int limit = variadic ? (target->n_from < NW_MAX_PORTS - 1 ? target->n_from + 1 : NW_MAX_PORTS) : sockets;
  if (port < 0 || port >= limit) {
    NwStatus status = sockets == 0
                          ? nw_fail(error, NW_BAD_ARGUMENT, "%s has no inputs to connect.", target->op->label)
                          : nw_fail(error, NW_BAD_ARGUMENT, "%s \"%s\" has no input number %d.",
                                    target->op->label, target->name, port + 1);
    if (error != NULL)
      error->block = to;
    return status;
  }
  if (from == 0) {
    if (port < target->n_from)
      target->from[port] = 0;
    while (variadic && target->n_from > sockets && target->from[target->n_from - 1] == 0)
      target->n_from--;
    return NW_OK;
  }
  NwBlock *source = nw_network_block(network, from, error);
  if (source == NULL)
    return NW_NOT_FOUND;
  NwStatus status;
  bool cycle =
      nw_network_path(network, nw_network_index(network, to), nw_network_index(network, from), &status);
  if (status != NW_OK)
    return nw_fail(error, status, "There is no memory to check the wire.");
  if (cycle) {
    status = nw_fail(error, NW_BAD_ARGUMENT,
                     "\"%s\" cannot feed \"%s\": the wire would close a loop, and data must flow one way.",
                     source->name, target->name);
    if (error != NULL)
      error->block = to;
    return status;
  }
  target->from[port] = from;
  if (port == target->n_from)
    target->n_from++;
  return NW_OK;
}

NwStatus nw_network_order(const NwNetwork *network, int *order, NwError *error)
{
  int n = network->n;
  int *waits = nw_alloc0(sizeof *waits * (size_t)n); /* wires that have not been served yet */
  bool *done = nw_alloc0(sizeof *done * (size_t)n);
  if (waits == NULL || done == NULL) {
    nw_free(waits);
    nw_free(done);
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to sort the network.");
  }
  for (int i = 0; i < n; i++)
    for (int k = 0; k < network->blocks[i]->n_from; k++)
      waits[i] += network->blocks[i]->from[k] != 0;
  /* Each round takes the first block in order of creation that waits for nothing. Networks have tens to
   * hundreds of blocks, mostly created in the order of the flow, so the search starts where the last one
   * ended. */
  for (int count = 0, from = 0; count < n; count++) {
    int next = from;
    while (next < n && (done[next] || waits[next] > 0))
      next++;
    if (next == n)
      break; /* cannot happen: connect and from_json refuse loops */
    order[count] = next;
    done[next] = true;
    from = next + 1;
    for (int i = 0; i < n; i++)
      for (int k = 0; k < network->blocks[i]->n_from; k++)
        if (network->blocks[i]->from[k] == network->blocks[next]->id && --waits[i] == 0 && i < from)
          from = i;
    /* blocks skipped before must be looked at again */
    for (int i = 0; i < from; i++)
      if (!done[i] && waits[i] == 0)
        from = i;
  }
  nw_free(waits);
  nw_free(done);
  return NW_OK;
}
