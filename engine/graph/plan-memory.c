/* One arena: when each value lives, which values may share memory in place, how many bytes that takes at
 * least. */
#include "engine/graph/graph-internal.h"

#include <string.h>

#include "engine/base/memory.h"

static size_t aligned(size_t bytes)
{
  return (bytes + 63) & ~(size_t)63;
}

static bool in_arena(NwVal value)
{
  return value.p != NULL && nw_node_of(value)->op != NULL;
}

static void find_lifetimes(NwProgram *program)
{
  for (int p = 0; p < program->n; p++) {
    NwNode *node = program->nodes[p];
    for (int i = 0; i < node->n_out; i++) {
      node->out[i].first = node->out[i].last = p;
      node->out[i].buffer = -1;
    }
    for (int i = 0; i < node->n_in; i++)
      if (nw_node_reads(node, i))
        nw_slot_of(node->in[i])->last = p;
  }
  for (int k = 0; k < program->n_keep; k++)
    nw_slot_of(program->keep[k])->last = program->n;
}

/* Does the value die here, and is this its only port on the node? Then output 0 may lie on it. */
static bool dies_at(const NwNode *node, int port)
{
  NwVal value = node->in[port];
  if (!in_arena(value) || !nw_node_reads(node, port) || nw_slot_of(value)->last != node->place ||
      nw_port_role(node->op, port) == NW_PORT_STATE)
    return false;
  for (int i = 0; i < node->n_in; i++)
    if (i != port && nw_node_reads(node, i) && nw_val_same(node->in[i], value))
      return false;
  const NwSpec *in = &nw_slot_of(value)->spec, *out = &node->out[0].spec;
  return nw_spec_present(out) && in->block == out->block && in->dtype == out->dtype &&
         nw_spec_bytes(in) == nw_spec_bytes(out);
}

static bool in_place(NwNode *node)
{
  if (!(node->op->flags & NW_OP_INPLACE) || node->n_in == 0 || node->n_out == 0)
    return false;
  if (dies_at(node, 0))
    return true;
  /* a + b is b + a to the last bit, so the operand that dies may come first, where both look alike to the
   * kernel */
  if (!(node->op->flags & NW_OP_COMMUTATIVE) || node->n_in != 2 || !in_arena(node->in[0]) ||
      !dies_at(node, 1) ||
      !nw_spec_same_shape(&nw_slot_of(node->in[0])->spec, &nw_slot_of(node->in[1])->spec) ||
      nw_slot_of(node->in[0])->spec.block != nw_slot_of(node->in[1])->spec.block)
    return false;
  NwVal first = node->in[0];
  node->in[0] = node->in[1];
  node->in[1] = first;
  return true;
}

static NwStatus add_buffer(NwMemory *memory, size_t bytes, int from, int to, int *index, NwError *error)
{
  if (memory->n == memory->room) {
    int room = memory->room > 0 ? memory->room * 2 : 128;
    NwBuffer *buffers =
        nw_realloc(memory->buffers, sizeof *buffers * (size_t)memory->room, sizeof *buffers * (size_t)room);
    if (buffers == NULL)
      return nw_fail(error, NW_NO_MEMORY, "There is no memory to plan the arena.");
    memory->buffers = buffers;
    memory->room = room;
  }
  *index = memory->n;
  memory->buffers[memory->n++] = (NwBuffer){.bytes = bytes, .from = from, .to = to};
  return NW_OK;
}

static NwStatus list_buffers(NwProgram *program, const size_t *workspaces, NwMemory *memory, NwError *error)
{
  for (int p = 0; p < program->n; p++) {
    NwNode *node = program->nodes[p];
    for (int i = 0; i < node->n_out; i++) {
      NwSlot *slot = &node->out[i];
      size_t bytes = aligned(nw_spec_bytes(&slot->spec));
      if (!nw_spec_present(&slot->spec))
        continue;
      if (bytes == 0)
        bytes = 64; /* an empty value still needs a place */
      memory->naive += bytes;
      if (i == 0 && in_place(node)) {
        slot->buffer = nw_slot_of(node->in[0])->buffer;
        memory->buffers[slot->buffer].to = slot->last;
        continue;
      }
      NW_TRY(add_buffer(memory, bytes, slot->first, slot->last, &slot->buffer, error));
    }
    memory->workspace[p] = -1;
    if (workspaces[p] > 0) {
      memory->naive += aligned(workspaces[p]);
      NW_TRY(add_buffer(memory, aligned(workspaces[p]), p, p, &memory->workspace[p], error));
    }
  }
  return NW_OK;
}

/* Most bytes that are alive in one step: no arena can be smaller. */
static NwStatus find_lower(NwMemory *memory, int steps, NwError *error)
{
  int64_t *change = nw_alloc0(sizeof *change * (size_t)(steps + 2)), live = 0;
  if (change == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to plan the arena.");
  for (int i = 0; i < memory->n; i++) {
    change[memory->buffers[i].from] += (int64_t)memory->buffers[i].bytes;
    change[memory->buffers[i].to + 1] -= (int64_t)memory->buffers[i].bytes;
  }
  for (int s = 0; s <= steps; s++) {
    live += change[s];
    if ((size_t)live > memory->lower)
      memory->lower = (size_t)live;
  }
  nw_free(change);
  return NW_OK;
}

NwStatus nw_memory_plan(NwProgram *program, const size_t *workspaces, NwMemory *memory, NwError *error)
{
  memset(memory, 0, sizeof *memory);
  memory->workspace = nw_alloc(sizeof *memory->workspace * (size_t)program->n);
  if (memory->workspace == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to plan the arena.");
  find_lifetimes(program);
  NwStatus status = list_buffers(program, workspaces, memory, error);
  if (status == NW_OK)
    status = find_lower(memory, program->n, error);
  if (status == NW_OK)
    status = nw_buffers_place(memory->buffers, memory->n, memory->lower, &memory->arena, error);
  if (status != NW_OK)
    nw_memory_clear(memory);
  return status;
}

void nw_memory_clear(NwMemory *memory)
{
  nw_free(memory->buffers);
  nw_free(memory->workspace);
  memset(memory, 0, sizeof *memory);
}
