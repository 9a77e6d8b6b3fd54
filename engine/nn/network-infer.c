/* One block among its neighbours: which value stands at which port of its op, and what comes out. */
#include "engine/nn/network-internal.h"

#include <stdio.h>
#include <string.h>

static NwStatus not_connected(const NwBlock *block, int port, int sockets, NwError *error)
{
  NwStatus status =
      sockets == 1
          ? nw_fail(error, NW_BAD_STATE, "Nothing feeds \"%s\": draw a wire to its input.", block->name)
          : nw_fail(error, NW_BAD_STATE, "Input \"%s\" of \"%s\" is not connected: draw a wire to it.",
                    block->op->inputs[port].name, block->name);
  if (error != NULL)
    error->block = block->id;
  return status;
}

NwStatus nw_block_wires(const NwNetwork *network, const NwBlock *block, NwBlockShape *shape, NwError *error)
{
  bool variadic;
  const NwOp *op = block->op;
  int sockets = nw_op_sockets(op, &variadic), socket = 0;
  shape->n_in = op->n_inputs;
  for (int i = 0; i < NW_MAX_PORTS; i++) {
    shape->from[i] = -1;
    shape->own[i] = false;
    shape->in[i] = nw_spec_absent();
  }
  for (int port = 0; port < op->n_inputs; port++) {
    if (op->inputs[port].role != NW_PORT_DATA)
      continue;
    bool repeats = variadic && socket == sockets - 1;
    int at = port;
    /* the wires of a repeating port lie side by side, its empty sockets are passed over */
    for (int k = socket; k < (repeats ? block->n_from : socket + 1) && at < NW_MAX_PORTS; k++)
      if (block->from[k] != 0)
        shape->from[at++] = nw_network_index(network, block->from[k]);
    if (at == port && !(op->inputs[port].flags & NW_PORT_OPTIONAL))
      return not_connected(block, port, sockets, error);
    if (at > shape->n_in)
      shape->n_in = at;
    socket++;
  }
  return NW_OK;
}

static NwStatus own_specs(const NwBlock *block, NwBlockShape *shape, NwError *error)
{
  const NwOp *op = block->op;
  for (int port = 0; port < op->n_inputs; port++) {
    NwPortRole role = op->inputs[port].role;
    if (role != NW_PORT_PARAM && role != NW_PORT_STATE)
      continue;
    NwParamInfo *info = &shape->param[port];
    memset(info, 0, sizeof *info);
    if (op->param != NULL)
      NW_TRY(op->param(op, block->attrs, shape->in, port, info, error));
    shape->own[port] = info->present;
    if (!info->present)
      continue;
    if (nw_spec_count(&info->spec) < 0)
      return nw_fail(error, NW_BAD_SHAPE, "%s: its parameter \"%s\" would be too large.", op->label,
                     op->inputs[port].name);
    shape->in[port] = info->spec;
  }
  return NW_OK;
}

NwStatus nw_block_infer(const NwBlock *block, NwBlockShape *shape, NwError *error)
{
  const NwOp *op = block->op;
  NwStatus status = nw_attrs_check(op, block->attrs, error);
  if (status == NW_OK)
    status = own_specs(block, shape, error);
  if (status == NW_OK)
    status = op->infer(op, block->attrs, shape->in, shape->n_in, shape->out, error);
  if (status == NW_OK && nw_spec_count(&shape->out[0]) < 0)
    status = nw_fail(error, NW_BAD_SHAPE, "%s: its output would be too large.", op->label);
  if (status != NW_OK && error != NULL)
    error->block = block->id;
  return status;
}
