#include "engine/graph/graph-internal.h"

#include "engine/base/memory.h"

NwStatus nw_program_add(NwProgram *program, NwNode *node, NwError *error)
{
  if (program->n == program->room) {
    int room = program->room > 0 ? program->room * 2 : 64;
    NwNode **nodes =
        nw_realloc(program->nodes, sizeof *nodes * (size_t)program->room, sizeof *nodes * (size_t)room);
    if (nodes == NULL)
      return nw_fail(error, NW_NO_MEMORY, "There is no memory for the plan's list of steps.");
    program->nodes = nodes;
    program->room = room;
  }
  node->place = program->n;
  program->nodes[program->n++] = node;
  return NW_OK;
}

void nw_program_tidy(NwProgram *program)
{
  for (int p = 0; p < program->n; p++) {
    NwNode *node = program->nodes[p];
    node->place = p;
    for (int i = 0; i < node->n_in; i++)
      if (nw_node_reads(node, i)) {
        /* SHAPE ports keep the value as it was: only its spec counts, and that may differ from the fused
         * one's */
        node->in[i] = nw_val_resolve(node->in[i]);
        if (nw_port_role(node->op, i) == NW_PORT_STATE)
          nw_slot_of(node->in[i])->mutable = true;
      }
  }
}
