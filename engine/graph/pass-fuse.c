/* Fusion, driven by the tables in the rows: a node and the only reader of its output 0 become one node. */
#include "engine/graph/graph-internal.h"

#include <string.h>

#include "engine/base/memory.h"

static void count(NwNode *node, int sign)
{
  for (int i = 0; i < node->n_in; i++)
    if (nw_node_reads(node, i)) {
      NwSlot *slot = nw_slot_of(nw_val_resolve(node->in[i]));
      slot->readers += sign;
      slot->reader_sum += sign * node->place;
    }
}

static void count_all(NwProgram *program)
{
  for (int p = 0; p < program->n; p++) {
    NwNode *node = program->nodes[p];
    for (int i = 0; i < node->n_in; i++)
      if (node->in[i].p != NULL)
        nw_slot_of(node->in[i])->readers = nw_slot_of(node->in[i])->reader_sum = 0;
    for (int i = 0; i < node->n_out; i++)
      node->out[i].readers = node->out[i].reader_sum = 0;
  }
  for (int p = 0; p < program->n; p++)
    count(program->nodes[p], 1);
}

/* Which input of next reads the value; -1: none that a fusion may take. */
static int reading_port(const NwNode *next, NwVal value)
{
  int ports = (next->op->flags & NW_OP_COMMUTATIVE) && next->n_in == 2 ? 2 : 1;
  for (int i = 0; i < ports && i < next->n_in; i++)
    if (nw_node_reads(next, i) && nw_val_same(nw_val_resolve(next->in[i]), value))
      return i;
  return -1;
}

/* Does node read (or, writes_only, change) something that other changes, or the other way round? */
static bool touches(const NwNode *node, const NwNode *other)
{
  for (int i = 0; i < node->n_in; i++) {
    if (!nw_node_reads(node, i) || !nw_slot_of(nw_val_resolve(node->in[i]))->mutable)
      continue;
    for (int k = 0; k < other->n_in; k++)
      if (nw_node_reads(other, k) && nw_val_same(nw_val_resolve(other->in[k]), nw_val_resolve(node->in[i])) &&
          (nw_port_role(node->op, i) == NW_PORT_STATE || nw_port_role(other->op, k) == NW_PORT_STATE))
        return true;
  }
  return false;
}

/* May a compute at the place of next? Nothing between them may read its other outputs, or share changing
 * state. */
static bool may_move(const NwProgram *program, const NwNode *a, const NwNode *next)
{
  for (int p = a->place + 1; p < next->place; p++) {
    const NwNode *between = program->nodes[p];
    if (between == NULL)
      continue;
    if (touches(a, between))
      return false;
    for (int i = 0; i < between->n_in; i++)
      if (nw_node_reads(between, i) && nw_node_of(nw_val_resolve(between->in[i])) == a)
        return false;
  }
  for (int i = 0; i < next->n_in; i++)
    if (nw_node_reads(next, i) && nw_node_of(nw_val_resolve(next->in[i])) == a &&
        nw_val_resolve(next->in[i]).index != 0)
      return false;
  return true;
}

/* Inputs of the fused node: all ports of a, absent ones too, then the other ports of next. -1: too many. */
static int join_inputs(const NwNode *a, const NwNode *next, int port, NwVal *in)
{
  int n_a = a->n_in > a->op->n_inputs ? a->n_in : a->op->n_inputs;
  int n_next = next->n_in > next->op->n_inputs ? next->n_in : next->op->n_inputs;
  if (n_a + n_next - 1 > NW_MAX_PORTS)
    return -1;
  int n = 0;
  for (int i = 0; i < n_a; i++)
    in[n++] = i < a->n_in ? a->in[i] : (NwVal){0};
  for (int i = 0; i < n_next; i++)
    if (i != port)
      in[n++] = i < next->n_in ? next->in[i] : (NwVal){0};
  return n;
}

static bool kernel_exists(const NwNode *node)
{
  NwCall call;
  nw_node_call(node, &call);
  return nw_kernel_pick(&call, false, NULL) != NULL;
}

/* The outputs that the row promises must be those that the two nodes had. */
static bool outputs_agree(const NwNode *fused, const NwNode *a, const NwNode *next)
{
  for (int i = 0; i < fused->n_out; i++) {
    const NwSlot *old = i < next->n_out ? &next->out[i] : &a->out[i - next->n_out + 1];
    const NwSpec *spec = &fused->out[i].spec;
    if (nw_spec_present(spec) ? !nw_spec_same_shape(spec, &old->spec) || spec->dtype != old->spec.dtype
                              : old->readers > 0 || old->kept)
      return false;
  }
  return true;
}

static void move_slot(NwNode *from, int index, NwNode *to, int to_index)
{
  NwSlot *old = &from->out[index], *slot = &to->out[to_index];
  old->alias = (NwVal){to, to_index};
  slot->readers = old->readers;
  slot->reader_sum = old->reader_sum;
  slot->kept = old->kept;
  slot->mutable = old->mutable;
}

static void replace(NwProgram *program, NwNode *a, NwNode *next, NwNode *fused)
{
  count(a, -1);
  count(next, -1);
  program->nodes[a->place] = NULL;
  program->nodes[next->place] = fused;
  fused->place = next->place;
  a->place = next->place = -1;
  for (int i = 0; i < next->n_out; i++)
    move_slot(next, i, fused, i);
  for (int i = 1; i < a->n_out; i++)
    move_slot(a, i, fused, next->n_out + i - 1);
  count(fused, 1);
}

/* *fused NULL: this pair does not suit. A candidate that turns out wrong stays in the graph, unused. */
static NwStatus fused_node(NwProgram *program, const NwNode *a, const NwNode *next, const NwFusion *fusion,
                           int port, NwNode **fused, NwError *error)
{
  *fused = NULL;
  const NwOp *into = nw_op_find(fusion->into);
  NwVal in[NW_MAX_PORTS];
  NwSpec in_spec[NW_MAX_PORTS], out_spec[NW_MAX_PORTS];
  int n_in = into != NULL ? join_inputs(a, next, port, in) : -1;
  if (n_in < 0 || into->n_outputs != next->n_out + a->n_out - 1)
    return NW_OK;
  for (int i = 0; i < NW_MAX_PORTS; i++) {
    in_spec[i] = i < n_in && in[i].p != NULL ? nw_slot_of(in[i])->spec : nw_spec_absent();
    out_spec[i] = nw_spec_absent();
  }
  if (fusion->when != NULL && !fusion->when(a->attrs, next->attrs, in_spec, &next->out[0].spec))
    return NW_OK;
  void *attrs = nw_alloc0(into->attrs_size);
  if (attrs == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to join two operations.");
  if (fusion->merge != NULL)
    fusion->merge(a->attrs, next->attrs, attrs);
  else
    memcpy(attrs, a->attrs, into->attrs_size < a->op->attrs_size ? into->attrs_size : a->op->attrs_size);
  NwStatus status = NW_OK;
  NwNode *node = NULL;
  if (into->infer(into, attrs, in_spec, n_in, out_spec, NULL) == NW_OK)
    status = nw_node_new(program->graph, into, attrs, in, n_in, into->n_outputs, &node, error);
  nw_free(attrs);
  if (status != NW_OK || node == NULL)
    return status;
  node->block = a->block != 0 ? a->block : next->block;
  for (int i = 0; i < node->n_out; i++)
    node->out[i].spec = out_spec[i];
  if (outputs_agree(node, a, next) && kernel_exists(node))
    *fused = node;
  return NW_OK;
}

static NwStatus fuse_at(NwProgram *program, int place, bool *changed, NwError *error)
{
  NwNode *a = program->nodes[place];
  if (a == NULL || a->n_out == 0 || a->out[0].kept || a->out[0].readers != 1)
    return NW_OK;
  NwNode *next = program->nodes[a->out[0].reader_sum];
  for (int i = 0; i < a->op->n_fusions; i++) {
    const NwFusion *fusion = &a->op->fusions[i];
    if (next->op != nw_op_find(fusion->next))
      continue;
    int port = reading_port(next, (NwVal){a, 0});
    if (port < 0 || !may_move(program, a, next))
      continue;
    NwNode *fused;
    NW_TRY(fused_node(program, a, next, fusion, port, &fused, error));
    if (fused == NULL)
      continue;
    replace(program, a, next, fused);
    *changed = true;
    return NW_OK;
  }
  return NW_OK;
}

NwStatus nw_pass_fuse(NwProgram *program, NwError *error)
{
  /* A fused node stands where `next` stood, so a chain closes in one sweep; the loop is for rows whose result
   * enables an earlier pair. */
  for (bool changed = true; changed;) {
    changed = false;
    nw_program_tidy(program);
    count_all(program);
    for (int p = 0; p < program->n; p++)
      NW_TRY(fuse_at(program, p, &changed, error));
    int n = 0;
    for (int p = 0; p < program->n; p++)
      if (program->nodes[p] != NULL)
        program->nodes[n++] = program->nodes[p];
    program->n = n;
  }
  nw_program_tidy(program);
  return NW_OK;
}
