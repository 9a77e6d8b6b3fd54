/* Optimizer steps are appended after the whole backward; run there, every gradient of the network would be
 * alive at once. Each is moved up to right behind the last of: what makes its inputs, and whoever reads or
 * changes the parameter. */
#include "engine/graph/graph-internal.h"

#include "engine/base/memory.h"

typedef struct Schedule {
  NwProgram *program;
  int *key;  /* by place: the place behind which the node runs; its own for those that stay */
  int *head; /* by place + 1: the first moved node that runs behind it, -1: none */
  int *last; /* by place + 1: the last one */
  int *next; /* by place: the following moved node of the same key */
} Schedule;

static int later(int a, int b)
{
  return a > b ? a : b;
}

static int earliest(const Schedule *s, const NwNode *node)
{
  int key = -1;
  for (int i = 0; i < node->n_in; i++) {
    if (!nw_node_reads(node, i))
      continue;
    const NwSlot *slot = nw_slot_of(node->in[i]);
    if (nw_node_of(node->in[i])->op != NULL)
      key = later(key, s->key[nw_node_of(node->in[i])->place]);
    key = later(key, nw_port_role(node->op, i) == NW_PORT_STATE ? slot->access : slot->written);
  }
  return key;
}

static void record(const NwNode *node, int key)
{
  for (int i = 0; i < node->n_in; i++) {
    if (!nw_node_reads(node, i))
      continue;
    NwSlot *slot = nw_slot_of(node->in[i]);
    slot->access = later(slot->access, key);
    if (nw_port_role(node->op, i) == NW_PORT_STATE)
      slot->written = later(slot->written, key);
  }
}

static void choose(Schedule *s)
{
  NwProgram *program = s->program;
  for (int p = 0; p < program->n; p++)
    for (int i = 0; i < program->nodes[p]->n_in; i++)
      if (nw_node_reads(program->nodes[p], i))
        nw_slot_of(program->nodes[p]->in[i])->access = nw_slot_of(program->nodes[p]->in[i])->written = -1;
  for (int p = 0; p < program->n; p++) {
    NwNode *node = program->nodes[p];
    bool moves = node->op->flags & NW_OP_SIDE_EFFECT;
    s->key[p] = moves ? earliest(s, node) : p;
    record(node, s->key[p]);
    if (!moves)
      continue;
    int at = s->key[p] + 1;
    if (s->head[at] < 0)
      s->head[at] = p;
    else
      s->next[s->last[at]] = p;
    s->last[at] = p;
  }
}

NwStatus nw_pass_schedule(NwProgram *program, NwError *error)
{
  size_t n = (size_t)program->n;
  nw_program_tidy(program);
  Schedule s = {.program = program};
  int *numbers = nw_alloc((4 * n + 2) * sizeof *numbers);
  NwNode **nodes = nw_alloc(sizeof *nodes * n);
  if (numbers == NULL || nodes == NULL) {
    nw_free(numbers);
    nw_free(nodes);
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the plan.");
  }
  s.key = numbers;
  s.next = numbers + n;
  s.head = numbers + 2 * n;
  s.last = numbers + 3 * n + 1;
  for (size_t i = 0; i < n; i++)
    s.next[i] = -1;
  for (size_t i = 0; i <= n; i++)
    s.head[i] = -1;
  choose(&s);
  int count = 0;
  for (int p = -1; p < program->n; p++) {
    if (p >= 0 && !(program->nodes[p]->op->flags & NW_OP_SIDE_EFFECT))
      nodes[count++] = program->nodes[p];
    for (int m = s.head[p + 1]; m >= 0; m = s.next[m])
      nodes[count++] = program->nodes[m];
  }
  nw_free(numbers);
  nw_free(program->nodes);
  program->nodes = nodes;
  program->room = program->n;
  nw_program_tidy(program);
  return NW_OK;
}
