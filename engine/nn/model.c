#include "engine/nn/model-internal.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"

void nw_model_free(NwModel *model)
{
  if (model == NULL)
    return;
  for (int i = 0; i < model->n_params; i++)
    nw_free((char *)model->params[i].name);
  nw_free(model->params);
  if (model->memory != NULL)
    nw_unmap(model->memory, model->bytes);
  nw_free(model->order);
  nw_free(model->first);
  nw_network_free(model->network);
  nw_free(model);
}

const NwNetwork *nw_model_network(const NwModel *model)
{
  return model->network;
}

NwSpec nw_model_input(const NwModel *model)
{
  return model->input;
}

int64_t nw_model_classes(const NwModel *model)
{
  return model->classes;
}

int nw_model_count(const NwModel *model)
{
  return model->n_params;
}

NwParam *nw_model_at(NwModel *model, int index)
{
  return index >= 0 && index < model->n_params ? &model->params[index] : NULL;
}

NwParam *nw_model_find(NwModel *model, const char *name)
{
  for (int i = 0; i < model->n_params; i++)
    if (strcmp(model->params[i].name, name) == 0)
      return &model->params[i];
  return NULL;
}

int64_t nw_model_parameters(const NwModel *model)
{
  int64_t n = 0;
  for (int i = 0; i < model->n_params; i++)
    if (!model->params[i].buffer)
      n += nw_spec_count(&model->params[i].spec);
  return n;
}

/* ---- making ---- */

static bool own_role(NwPortRole role)
{
  return role == NW_PORT_PARAM || role == NW_PORT_STATE;
}

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for the model.");
}

/* The report of a batch of one says first whether the network can be a model at all. */
static NwStatus check_network(const NwModel *model, NwSpec **outs, NwError *error)
{
  NwNetworkReport report;
  NW_TRY(nw_network_check(model->network, &model->input, model->classes, &report, error));
  NwStatus status = report.status;
  *outs = NULL;
  if (status != NW_OK) {
    if (error != NULL)
      *error = report.error;
  } else {
    *outs = nw_alloc(sizeof **outs * (size_t)model->network->n);
    if (*outs == NULL)
      status = no_memory(error);
    for (int i = 0; i < report.n_blocks && *outs != NULL; i++)
      (*outs)[i] = report.blocks[i].out;
  }
  nw_network_report_clear(&report);
  return status;
}

static NwStatus shape_of(const NwModel *model, int index, const NwSpec *outs, NwBlockShape *shape,
                         NwError *error)
{
  const NwBlock *block = model->network->blocks[index];
  NW_TRY(nw_block_wires(model->network, block, shape, error));
  for (int i = 0; i < shape->n_in; i++)
    if (shape->from[i] >= 0)
      shape->in[i] = outs[shape->from[i]];
  return nw_block_infer(block, shape, error);
}

static char *param_name(const NwBlock *block, int port)
{
  const char *leaf = block->op->inputs[port].name;
  size_t n = strlen(block->name) + strlen(leaf) + 2;
  char *name = nw_alloc(n);
  if (name != NULL)
    snprintf(name, n, "%s.%s", block->name, leaf);
  return name;
}

static NwStatus list_block(NwModel *model, int index, const NwSpec *outs, NwParamInfo *infos, NwError *error)
{
  const NwBlock *block = model->network->blocks[index];
  model->first[index] = model->n_params;
  if (block->op->group == NW_GROUP_INPUT)
    return NW_OK;
  NwBlockShape shape;
  NW_TRY(shape_of(model, index, outs, &shape, error));
  for (int port = 0; port < block->op->n_inputs; port++) {
    if (!shape.own[port])
      continue;
    NwParam *param = &model->params[model->n_params];
    param->name = param_name(block, port);
    if (param->name == NULL)
      return no_memory(error);
    infos[model->n_params++] = shape.param[port];
    param->spec = shape.param[port].spec;
    param->spec.block = 0;
    param->buffer = block->op->inputs[port].role == NW_PORT_STATE;
    param->frozen = block->frozen;
    param->block = block->id;
    param->port = port;
  }
  return NW_OK;
}

static NwStatus map_memory(NwModel *model, NwError *error)
{
  const size_t line = 64;
  for (int i = 0; i < model->n_params; i++)
    model->bytes += (nw_spec_bytes(&model->params[i].spec) + line - 1) / line * line;
  if (model->bytes == 0)
    model->bytes = line;
  model->memory = nw_map(model->bytes);
  if (model->memory == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the model's parameters (%zu bytes).",
                   model->bytes);
  size_t at = 0;
  for (int i = 0; i < model->n_params; i++) {
    model->params[i].data = (char *)model->memory + at;
    at += (nw_spec_bytes(&model->params[i].spec) + line - 1) / line * line;
  }
  return NW_OK;
}

static NwStatus build(NwModel *model, uint64_t seed, NwError *error)
{
  size_t n = (size_t)model->network->n, ports = 0;
  NwSpec *outs = NULL;
  for (size_t i = 0; i < n; i++)
    for (int port = 0; port < model->network->blocks[i]->op->n_inputs; port++)
      ports += own_role(model->network->blocks[i]->op->inputs[port].role);
  NwParamInfo *infos = nw_alloc0(sizeof *infos * ports);
  model->params = nw_alloc0(sizeof *model->params * ports);
  model->order = nw_alloc0(sizeof *model->order * n);
  model->first = nw_alloc0(sizeof *model->first * n);
  NwStatus status = NW_OK;
  if (infos == NULL || model->params == NULL || model->order == NULL || model->first == NULL)
    status = no_memory(error);
  if (status == NW_OK)
    status = check_network(model, &outs, error);
  if (status == NW_OK)
    status = nw_network_order(model->network, model->order, error);
  for (size_t i = 0; i < n && status == NW_OK; i++)
    status = list_block(model, (int)i, outs, infos, error);
  if (status == NW_OK)
    status = map_memory(model, error);
  if (status == NW_OK)
    nw_model_initialise(model, infos, seed);
  nw_free(infos);
  nw_free(outs);
  return status;
}

NwStatus nw_model_new(const NwNetwork *network, const NwSpec *input, int64_t classes, uint64_t seed,
                      NwModel **out, NwError *error)
{
  *out = NULL;
  NwModel *model = nw_alloc0(sizeof *model);
  if (model == NULL)
    return no_memory(error);
  model->input = *input;
  if (model->input.ndim == 4)
    model->input.dims[0] = 1;
  model->classes = classes;
  NwStatus status = nw_network_copy(network, &model->network, error);
  if (status == NW_OK)
    status = build(model, seed, error);
  if (status != NW_OK) {
    nw_model_free(model);
    return status;
  }
  *out = model;
  return NW_OK;
}

/* ---- emitting ---- */

typedef struct Emission {
  NwModel *model;
  NwEmitter *emitter;
  NwGraph *graph; /* NULL: not into a graph */
  const NwVal *params;
  bool training;
  NwVal *values; /* by block index: output 0 */
} Emission;

static NwStatus emit_block(Emission *emission, int index, NwError *error)
{
  NwModel *model = emission->model;
  const NwBlock *block = model->network->blocks[index];
  const NwOp *op = block->op;
  NwBlockShape shape;
  NW_TRY(nw_block_wires(model->network, block, &shape, error));
  NwVal in[NW_MAX_PORTS] = {{0}}, out[NW_MAX_PORTS] = {{0}};
  for (int i = 0; i < shape.n_in; i++)
    if (shape.from[i] >= 0)
      in[i] = emission->values[shape.from[i]];
  for (int p = model->first[index]; p < model->n_params && model->params[p].block == block->id; p++)
    in[model->params[p].port] = emission->params[p];

  void *attrs = nw_alloc(op->attrs_size);
  if (attrs == NULL)
    return no_memory(error);
  memcpy(attrs, block->attrs, op->attrs_size);
  /* What is frozen stays as it was learnt: the statistics of its norms, too, and nothing drops out of it. */
  nw_attrs_set_hidden(op, attrs, "training", emission->training && !block->frozen);
  nw_attrs_set_hidden(op, attrs, "stream", index);
  if (emission->graph != NULL)
    nw_graph_set_block(emission->graph, block->id);
  NwStatus status = emission->emitter->emit(emission->emitter, op, attrs, in, shape.n_in, out, error);
  nw_free(attrs);
  emission->values[index] = out[0];
  if (status != NW_OK && error != NULL && error->block == 0)
    error->block = block->id;
  return status;
}

static NwStatus emit_all(Emission *emission, NwVal input, NwVal *logits, NwError *error)
{
  NwModel *model = emission->model;
  int n = model->network->n;
  emission->values = nw_alloc0(sizeof *emission->values * (size_t)n);
  NwStatus status = emission->values != NULL ? NW_OK : no_memory(error);
  for (int i = 0; i < n && status == NW_OK; i++) {
    int index = model->order[i];
    if (model->network->blocks[index]->op->group == NW_GROUP_INPUT)
      emission->values[index] = input;
    else
      status = emit_block(emission, index, error);
    /* nothing stands behind the only output, so it is the last in the order of computation */
    *logits = emission->values[index];
  }
  nw_free(emission->values);
  if (emission->graph != NULL)
    nw_graph_set_block(emission->graph, 0);
  return status;
}

NwStatus nw_model_emit(NwModel *model, NwEmitter *emitter, NwVal input, const NwVal *params, bool training,
                       NwVal *logits, NwError *error)
{
  Emission emission = {.model = model, .emitter = emitter, .params = params, .training = training};
  return emit_all(&emission, input, logits, error);
}

NwStatus nw_model_emit_graph(NwModel *model, NwGraph *graph, NwVal input, bool training, NwVal *params,
                             NwVal *logits, NwError *error)
{
  for (int i = 0; i < model->n_params; i++) {
    const NwParam *param = &model->params[i];
    NW_TRY(nw_graph_input(graph, param->name, &param->spec, param->buffer ? NW_INPUT_STATE : NW_INPUT_PARAM,
                          !param->buffer, &params[i], error));
  }
  Emission emission = {.model = model,
                       .emitter = nw_graph_emitter(graph),
                       .graph = graph,
                       .params = params,
                       .training = training};
  return emit_all(&emission, input, logits, error);
}
