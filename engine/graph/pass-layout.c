/* Kernels and layouts: each node takes the first row that can run it, with its inputs in the blocks the row
 * asks for. */
#include "engine/graph/graph-internal.h"

#include <string.h>

#include "engine/base/machine.h"
#include "engine/base/memory.h"

typedef struct Layout {
  NwProgram *program;
  NwProgram made; /* the new list, reorders included */
  const NwOp *reorder;
  void *attrs; /* of a reorder */
  int lanes;
} Layout;

static int block_slot(int32_t block)
{
  return block == 0 ? 0 : block == 8 ? 1 : block == 16 ? 2 : -1;
}

/* input: the value exists, and only f32 can be brought from one block into another (an index of a pool
 * stays). */
static bool may_block(const NwSpec *spec, int32_t block, bool input)
{
  if (input && spec->dtype != NW_F32)
    return spec->block == block;
  return block == 0 || (block_slot(block) > 0 && nw_spec_present(spec) && spec->ndim == 4);
}

static const char *name_of(const NwNode *node)
{
  return node->op->label != NULL ? node->op->label : node->op->id;
}

static NwStatus pick_plain(NwNode *node, bool exact, NwError *error)
{
  NwCall call;
  nw_node_call(node, &call);
  node->kernel = nw_kernel_pick(&call, exact, NULL);
  if (node->kernel == NULL)
    return nw_at_block(node->block,
                       nw_fail(error, NW_UNSUPPORTED,
                               "%s cannot compute with numbers of these types and sizes.", name_of(node)),
                       error);
  return NW_OK;
}

/* Fills the blocks of call as the row wishes; false when it cannot run here. */
static bool row_suits(const NwNode *node, const NwKernel *kernel, int lanes, NwCall *call)
{
  int32_t in_block[NW_MAX_PORTS] = {0}, out_block[NW_MAX_PORTS] = {0};
  nw_node_call(node, call);
  if (kernel->layout != NULL && !kernel->layout(call, lanes, in_block, out_block))
    return false;
  for (int i = 0; i < call->n_in; i++) {
    if (!nw_spec_present(&call->in[i]))
      continue;
    /* state is changed in place, so it stays where and how the caller has it */
    if (!may_block(&call->in[i], in_block[i], true) ||
        (in_block[i] != 0 && nw_port_role(node->op, i) == NW_PORT_STATE))
      return false;
    call->in[i].block = in_block[i];
  }
  for (int i = 0; i < call->n_out; i++) {
    if (!nw_spec_present(&call->out[i]))
      continue;
    if (!may_block(&call->out[i], out_block[i], false))
      return false;
    call->out[i].block = out_block[i];
  }
  return nw_kernel_pick(call, false, kernel->name) == kernel;
}

static void forget_reorders(NwVal value)
{
  memset(nw_slot_of(value)->reordered, 0, sizeof nw_slot_of(value)->reordered);
}

/* The value in the wished block: itself, one that was made before, or a new reorder. */
static NwStatus in_block(Layout *layout, NwVal value, int32_t block, uint32_t at, NwVal *out, NwError *error)
{
  NwSlot *slot = nw_slot_of(value);
  *out = value;
  if (slot->spec.block == block)
    return NW_OK;
  NwVal *known = &slot->reordered[block_slot(block)];
  if (known->p != NULL) {
    *out = *known;
    return NW_OK;
  }
  const NwAttr *attr = layout->reorder != NULL ? nw_attr_find(layout->reorder, "block") : NULL;
  if (attr == NULL)
    return nw_fail(error, NW_INTERNAL, "The operation that changes layouts is missing from this build.");
  NW_TRY(
      nw_attr_set(layout->reorder, attr, layout->attrs, (NwValue){.type = NW_ATTR_INT, .i = block}, error));
  NwNode *node;
  NW_TRY(nw_node_new(layout->program->graph, layout->reorder, layout->attrs, &value, 1, 1, &node, error));
  node->block = at;
  node->out[0].spec = slot->spec;
  node->out[0].spec.block = block;
  /* the way back is the value itself */
  if (block_slot(slot->spec.block) >= 0)
    node->out[0].reordered[block_slot(slot->spec.block)] = value;
  NW_TRY(pick_plain(node, false, error));
  NW_TRY(nw_program_add(&layout->made, node, error));
  *out = *known = (NwVal){node, 0};
  return NW_OK;
}

static NwStatus lay_out(Layout *layout, NwNode *node, NwError *error)
{
  NwCall call;
  node->kernel = NULL;
  for (int i = 0; i < node->op->n_kernels && node->kernel == NULL; i++)
    if (row_suits(node, &node->op->kernels[i], layout->lanes, &call))
      node->kernel = &node->op->kernels[i];
  if (node->kernel == NULL)
    return nw_at_block(node->block,
                       nw_fail(error, NW_UNSUPPORTED,
                               "%s cannot compute with numbers of these types and sizes.", name_of(node)),
                       error);
  for (int i = 0; i < node->n_in; i++)
    if (nw_node_reads(node, i))
      NW_TRY(in_block(layout, node->in[i], call.in[i].block, node->block, &node->in[i], error));
    else
      node->in_block[i] = call.in[i].block; /* SHAPE: only said to the kernel */
  for (int i = 0; i < node->n_out; i++)
    node->out[i].spec.block = nw_spec_present(&call.out[i]) ? call.out[i].block : 0;
  NW_TRY(nw_program_add(&layout->made, node, error));
  for (int i = 0; i < node->n_in; i++)
    if (nw_node_reads(node, i) && nw_port_role(node->op, i) == NW_PORT_STATE)
      forget_reorders(node->in[i]); /* copies in another block are old now */
  return NW_OK;
}

/* Kept values are handed out in plain layout. */
static NwStatus keep_plain(Layout *layout, NwVal *keep, NwError *error)
{
  NwVal value = nw_val_resolve(*keep);
  return in_block(layout, value, 0, nw_node_of(value)->block, keep, error);
}

NwStatus nw_pass_layout(NwProgram *program, bool exact, NwError *error)
{
  if (exact) {
    for (int p = 0; p < program->n; p++)
      NW_TRY(pick_plain(program->nodes[p], true, error));
    return NW_OK;
  }
  Layout layout = {.program = program, .made = *program, .lanes = nw_isa_lanes(nw_isa())};
  layout.made.nodes = NULL;
  layout.made.n = layout.made.room = 0;
  layout.reorder = nw_op_find("reorder");
  NwStatus status = NW_OK;
  if (layout.reorder != NULL) {
    layout.attrs = nw_alloc0(layout.reorder->attrs_size);
    if (layout.attrs == NULL)
      status = nw_fail(error, NW_NO_MEMORY, "There is no memory for the plan.");
    else
      nw_attrs_init(layout.reorder, layout.attrs);
  }
  for (int p = 0; p < program->n && status == NW_OK; p++)
    status = lay_out(&layout, program->nodes[p], error);
  for (int k = 0; k < program->n_keep && status == NW_OK; k++)
    status = keep_plain(&layout, &program->keep[k], error);
  nw_free(layout.attrs);
  if (status != NW_OK) {
    nw_free(layout.made.nodes);
    return status;
  }
  nw_free(program->nodes);
  *program = layout.made;
  return NW_OK;
}
