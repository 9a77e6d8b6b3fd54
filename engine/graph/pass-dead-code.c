#include "engine/graph/graph-internal.h"

void nw_pass_dead_code(NwProgram *program)
{
  nw_program_tidy(program);
  /* place -2 marks what is needed; every reader stands behind what it reads, so one walk from the end is
   * enough */
  for (int k = 0; k < program->n_keep; k++)
    if (nw_node_of(nw_val_resolve(program->keep[k]))->op != NULL)
      nw_node_of(nw_val_resolve(program->keep[k]))->place = -2;
  for (int p = program->n - 1; p >= 0; p--) {
    NwNode *node = program->nodes[p];
    if (node->place != -2 && !(node->op->flags & NW_OP_SIDE_EFFECT))
      continue;
    node->place = -2;
    for (int i = 0; i < node->n_in; i++)
      if (nw_node_reads(node, i))
        nw_node_of(node->in[i])->place = -2;
  }
  int n = 0;
  for (int p = 0; p < program->n; p++) {
    NwNode *node = program->nodes[p];
    if (node->place == -2)
      program->nodes[n++] = node;
    else
      node->place = -1;
  }
  program->n = n;
  nw_program_tidy(program);
}
