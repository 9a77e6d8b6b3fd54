/* Backward is more nodes: the gradient rules of the rows, the same that the tape runs, append them. */
#include "engine/graph/graph-internal.h"

#include <string.h>

#include "engine/base/memory.h"

typedef struct Backward {
  NwGraph *graph;
  int top;     /* nodes before backward began */
  int *first;  /* by node: where its outputs stand in flow */
  NwVal *flow; /* gradient of each output so far */
  bool *leads; /* by node: does it depend on a value whose gradient is wanted? */
  const NwOp *add;
  void *add_attrs;
} Backward;

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for the gradients' graph.");
}

static NwVal *flow_of(Backward *b, NwVal value)
{
  return &b->flow[b->first[nw_node_of(value)->index] + value.index];
}

static NwStatus begin(Backward *b, const NwVal *wrt, int n, NwError *error)
{
  int outputs = 0;
  b->top = b->graph->n;
  b->first = nw_alloc(sizeof *b->first * (size_t)b->top);
  b->leads = nw_alloc0(sizeof *b->leads * (size_t)b->top);
  if (b->first == NULL || b->leads == NULL)
    return no_memory(error);
  for (int i = 0; i < b->top; i++) {
    b->first[i] = outputs;
    outputs += b->graph->nodes[i]->n_out;
  }
  b->flow = nw_alloc0(sizeof *b->flow * (size_t)outputs);
  b->add = nw_op_find("add");
  if (b->add == NULL)
    return nw_fail(error, NW_INTERNAL, "The operation that adds gradients is missing from this build.");
  b->add_attrs = nw_alloc0(b->add->attrs_size);
  if (b->flow == NULL || b->add_attrs == NULL)
    return no_memory(error);
  nw_attrs_init(b->add, b->add_attrs);

  for (int i = 0; i < n; i++)
    b->leads[nw_node_of(wrt[i])->index] = true;
  for (int i = 0; i < b->top; i++)
    for (int k = 0; k < b->graph->nodes[i]->n_in; k++) {
      NwVal in = b->graph->nodes[i]->in[k];
      if (in.p != NULL && b->leads[nw_node_of(in)->index])
        b->leads[i] = true;
    }
  return NW_OK;
}

static NwStatus accumulate(Backward *b, NwVal *slot, NwVal gradient, NwError *error)
{
  if (slot->p == NULL) {
    *slot = gradient;
    return NW_OK;
  }
  NwVal two[2] = {*slot, gradient};
  return nw_graph_emit(b->graph, b->add, b->add_attrs, two, 2, slot, error);
}

static bool reached(Backward *b, const NwNode *node)
{
  for (int i = 0; i < node->n_out; i++)
    if (flow_of(b, (NwVal){(void *)(uintptr_t)node, i})->p != NULL)
      return true;
  return false;
}

static void rule_fill(Backward *b, NwNode *node, NwGrad *grad)
{
  memset(grad, 0, sizeof *grad);
  grad->emitter = &b->graph->emitter;
  grad->op = node->op;
  grad->attrs = node->attrs;
  grad->n_in = node->n_in;
  grad->n_out = node->n_out;
  for (int i = 0; i < NW_MAX_PORTS; i++) {
    grad->in_spec[i] = grad->out_spec[i] = nw_spec_absent();
    if (i < node->n_in && node->in[i].p != NULL) {
      grad->in[i] = node->in[i];
      grad->in_spec[i] = nw_slot_of(node->in[i])->spec;
      grad->need[i] = b->leads[nw_node_of(node->in[i])->index];
    }
    if (i < node->n_out && nw_spec_present(&node->out[i].spec)) {
      grad->out[i] = (NwVal){node, i};
      grad->out_spec[i] = node->out[i].spec;
      grad->dout[i] = *flow_of(b, grad->out[i]);
    }
  }
}

static NwStatus node_back(Backward *b, NwNode *node, NwError *error)
{
  NwGrad grad;
  const char *name = node->op->label != NULL ? node->op->label : node->op->id;
  if (node->op->grad == NULL)
    return nw_fail(error, NW_UNSUPPORTED, "%s has no gradient, so nothing before it can be trained.", name);
  rule_fill(b, node, &grad);
  NW_TRY(node->op->grad(&grad, error));
  for (int i = 0; i < node->n_in; i++) {
    if (!grad.need[i] || grad.din[i].p == NULL)
      continue;
    NwSpec spec = nw_graph_spec(b->graph, grad.din[i]);
    if (!nw_spec_same_shape(&spec, &grad.in_spec[i]))
      return nw_fail(error, NW_INTERNAL, "The gradient of %s has not the shape of its input \"%s\".", name,
                     node->op->inputs[i < node->op->n_inputs ? i : node->op->n_inputs - 1].name);
    NW_TRY(accumulate(b, flow_of(b, node->in[i]), grad.din[i], error));
  }
  return NW_OK;
}

static NwStatus walk(Backward *b, NwVal loss, NwError *error)
{
  NwStatus status = nw_graph_one(b->graph, &nw_slot_of(loss)->spec, flow_of(b, loss), error);
  /* Newest first, as on the tape: whoever reads a value was made after it. */
  for (int i = nw_node_of(loss)->index; i >= 0 && status == NW_OK; i--) {
    NwNode *node = b->graph->nodes[i];
    if (node->op == NULL || !b->leads[i] || !reached(b, node))
      continue;
    b->graph->block = node->block;
    status = nw_at_block(node->block, node_back(b, node, error), error);
  }
  return status;
}

NwStatus nw_graph_grad(NwGraph *graph, NwVal loss, const NwVal *wrt, int n, NwVal *grads, NwError *error)
{
  if (n > 0)
    memset(grads, 0, sizeof *grads * (size_t)n);
  if (loss.p == NULL || nw_spec_count(&nw_slot_of(loss)->spec) != 1)
    return nw_fail(error, NW_BAD_SHAPE,
                   "Gradients can be taken of a single number only; the loss is not one.");
  for (int i = 0; i < n; i++) {
    NwNode *node = nw_node_of(wrt[i]);
    if (node == NULL)
      return nw_fail(error, NW_BAD_ARGUMENT, "A gradient is wanted for a value that is not there.");
    if (node->op == NULL && !node->wants_grad)
      return nw_fail(error, NW_BAD_STATE, "The input \"%s\" was not declared to want a gradient.",
                     node->name);
  }
  Backward b = {.graph = graph};
  uint32_t block = graph->block;
  NwStatus status = begin(&b, wrt, n, error);
  if (status == NW_OK)
    status = walk(&b, loss, error);
  for (int i = 0; i < n && status == NW_OK; i++)
    grads[i] = *flow_of(&b, wrt[i]);
  graph->block = block;
  nw_free(b.first);
  nw_free(b.flow);
  nw_free(b.leads);
  nw_free(b.add_attrs);
  return status;
}
