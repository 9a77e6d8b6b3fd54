#include "engine/graph/graph-internal.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for the graph.");
}

static void node_free(NwNode *node)
{
  if (node == NULL)
    return;
  nw_free(node->attrs);
  nw_free(node->in);
  nw_free(node->out);
  nw_free(node->name);
  nw_free(node->constant);
  nw_free(node);
}

void nw_graph_free(NwGraph *graph)
{
  if (graph == NULL)
    return;
  for (int i = 0; i < graph->n; i++)
    node_free(graph->nodes[i]);
  nw_free(graph->nodes);
  nw_free(graph);
}

NwStatus nw_at_block(uint32_t block, NwStatus status, NwError *error)
{
  if (status != NW_OK && error != NULL && error->block == 0)
    error->block = block;
  return status;
}

static NwStatus emitter_emit(NwEmitter *self, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                             NwVal *out, NwError *error)
{
  return nw_graph_emit(self->owner, op, attrs, in, n_in, out, error);
}

static NwSpec emitter_spec(NwEmitter *self, NwVal value)
{
  return nw_graph_spec(self->owner, value);
}

NwStatus nw_graph_new(NwGraph **out, NwError *error)
{
  NwGraph *graph = *out = nw_alloc0(sizeof *graph);
  if (graph == NULL)
    return no_memory(error);
  graph->emitter = (NwEmitter){.emit = emitter_emit, .spec = emitter_spec, .owner = graph};
  return NW_OK;
}

void nw_graph_set_block(NwGraph *graph, uint32_t block)
{
  graph->block = block;
}

NwEmitter *nw_graph_emitter(NwGraph *graph)
{
  return &graph->emitter;
}

NwSpec nw_graph_spec(const NwGraph *graph, NwVal value)
{
  (void)graph;
  return value.p != NULL ? nw_slot_of(value)->spec : nw_spec_absent();
}

NwStatus nw_node_new(NwGraph *graph, const NwOp *op, const void *attrs, const NwVal *in, int n_in, int n_out,
                     NwNode **out, NwError *error)
{
  if (graph->n == graph->room) {
    int room = graph->room > 0 ? graph->room * 2 : 64;
    NwNode **nodes =
        nw_realloc(graph->nodes, sizeof *nodes * (size_t)graph->room, sizeof *nodes * (size_t)room);
    if (nodes == NULL)
      return no_memory(error);
    graph->nodes = nodes;
    graph->room = room;
  }
  size_t attrs_size = op != NULL ? op->attrs_size : 0;
  NwNode *node = nw_alloc0(sizeof *node);
  if (node == NULL)
    return no_memory(error);
  node->attrs = nw_alloc0(attrs_size);
  node->in = nw_alloc0(sizeof *node->in * (size_t)n_in);
  node->out = nw_alloc0(sizeof *node->out * (size_t)n_out);
  if (node->attrs == NULL || node->in == NULL || node->out == NULL) {
    node_free(node);
    return no_memory(error);
  }
  if (attrs_size > 0 && attrs != NULL)
    memcpy(node->attrs, attrs, attrs_size);
  if (n_in > 0)
    memcpy(node->in, in, sizeof *in * (size_t)n_in);
  node->graph = graph;
  node->op = op;
  node->n_in = n_in;
  node->n_out = n_out;
  node->block = graph->block;
  node->place = -1;
  node->index = graph->n;
  graph->nodes[graph->n++] = *out = node;
  return NW_OK;
}

NwStatus nw_graph_input(NwGraph *graph, const char *name, const NwSpec *spec, NwInputKind kind,
                        bool wants_grad, NwVal *out, NwError *error)
{
  NwNode *node;
  *out = (NwVal){0};
  if (!nw_spec_present(spec) || nw_spec_count(spec) < 0 || spec->block != 0)
    return nw_fail(error, NW_BAD_SHAPE, "The input \"%s\" has no valid shape.", name);
  NW_TRY(nw_node_new(graph, NULL, NULL, NULL, 0, 1, &node, error));
  node->name = nw_strdup(name);
  if (node->name == NULL)
    return no_memory(error);
  node->out[0].spec = *spec;
  node->kind = kind;
  node->wants_grad = wants_grad;
  *out = (NwVal){node, 0};
  return NW_OK;
}

NwStatus nw_graph_one(NwGraph *graph, const NwSpec *spec, NwVal *out, NwError *error)
{
  NW_TRY(nw_graph_input(graph, "one", spec, NW_INPUT_DATA, false, out, error));
  NwNode *node = nw_node_of(*out);
  node->constant = nw_alloc0(sizeof(double));
  if (node->constant == NULL)
    return no_memory(error);
  if (spec->dtype == NW_F32)
    *(float *)node->constant = 1;
  else if (spec->dtype == NW_F64)
    *(double *)node->constant = 1;
  else
    return nw_fail(error, NW_BAD_DTYPE, "Gradients start from a float32 or float64 number, not from %s.",
                   nw_dtype_name(spec->dtype));
  node->bound = node->constant;
  return NW_OK;
}

static NwStatus inputs_check(const NwGraph *graph, const NwOp *op, const NwVal *in, int n_in, NwError *error)
{
  const char *name = op->label != NULL ? op->label : op->id;
  bool variadic = op->n_inputs > 0 && (op->inputs[op->n_inputs - 1].flags & NW_PORT_VARIADIC);
  if (n_in < 0 || n_in > NW_MAX_PORTS || (n_in > op->n_inputs && !variadic))
    return nw_fail(error, NW_BAD_ARGUMENT, "%s takes at most %d inputs, not %d.", name,
                   variadic ? NW_MAX_PORTS : op->n_inputs, n_in);
  for (int i = 0; i < op->n_inputs; i++)
    if ((i >= n_in || in[i].p == NULL) && !(op->inputs[i].flags & NW_PORT_OPTIONAL))
      return nw_fail(error, NW_BAD_ARGUMENT, "%s: input \"%s\" is missing.", name, op->inputs[i].name);
  for (int i = 0; i < n_in; i++)
    if (in[i].p != NULL && nw_node_of(in[i])->graph != graph)
      return nw_fail(error, NW_BAD_ARGUMENT, "%s: input %d belongs to another graph.", name, i + 1);
  return NW_OK;
}

static NwStatus append(NwGraph *graph, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                       NwVal *out, NwError *error)
{
  NW_TRY(inputs_check(graph, op, in, n_in, error));
  NW_TRY(nw_attrs_check(op, attrs, error));
  if (op->expand != NULL)
    return op->expand(&graph->emitter, op, attrs, in, n_in, out, error);

  NwSpec in_spec[NW_MAX_PORTS], out_spec[NW_MAX_PORTS];
  for (int i = 0; i < NW_MAX_PORTS; i++) {
    in_spec[i] = i < n_in ? nw_graph_spec(graph, in[i]) : nw_spec_absent();
    out_spec[i] = nw_spec_absent();
  }
  NW_TRY(op->infer(op, attrs, in_spec, n_in, out_spec, error));
  NwNode *node;
  NW_TRY(nw_node_new(graph, op, attrs, in, n_in, op->n_outputs, &node, error));
  for (int i = 0; i < op->n_outputs; i++) {
    node->out[i].spec = out_spec[i];
    out[i] = nw_spec_present(&out_spec[i]) ? (NwVal){node, i} : (NwVal){0};
  }
  return NW_OK;
}

NwStatus nw_graph_emit(NwGraph *graph, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                       NwVal *out, NwError *error)
{
  for (int i = 0; i < op->n_outputs; i++)
    out[i] = (NwVal){0};
  return nw_at_block(graph->block, append(graph, op, attrs, in, n_in, out, error), error);
}

void nw_node_call(const NwNode *node, NwCall *call)
{
  memset(call, 0, sizeof *call);
  call->op = node->op;
  call->attrs = node->attrs;
  call->n_in = node->n_in;
  call->n_out = node->n_out;
  for (int i = 0; i < NW_MAX_PORTS; i++) {
    call->in[i] = i < node->n_in && node->in[i].p != NULL ? nw_slot_of(node->in[i])->spec : nw_spec_absent();
    call->out[i] = i < node->n_out ? node->out[i].spec : nw_spec_absent();
  }
}
