/* The network as it stands in project files, runs and checkpoints. */
#include "engine/nn/network-internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"

static NwJson *block_to_json(const NwBlock *block)
{
  NwJson *json = nw_json_object(), *from = nw_json_array();
  bool ok = nw_json_set_int(json, "id", block->id) && nw_json_set_string(json, "name", block->name) &&
            nw_json_set_string(json, "op", block->op->id) &&
            nw_json_set_int(json, "version", block->op->version) &&
            nw_json_set(json, "attrs", nw_attrs_to_json(block->op, block->attrs)) &&
            nw_json_set_real(json, "x", block->x) && nw_json_set_real(json, "y", block->y);
  for (int k = 0; k < block->n_from && ok; k++)
    ok = nw_json_append(from, nw_json_int(block->from[k]));
  if (!ok) {
    nw_json_free(from);
    nw_json_free(json);
    return NULL;
  }
  if (!nw_json_set(json, "from", from) || !nw_json_set_bool(json, "frozen", block->frozen)) {
    nw_json_free(json);
    return NULL;
  }
  return json;
}

NwJson *nw_network_to_json(const NwNetwork *network)
{
  NwJson *json = nw_json_object(), *blocks = nw_json_array();
  bool ok = json != NULL && blocks != NULL;
  for (int i = 0; i < network->n && ok; i++)
    ok = nw_json_append(blocks, block_to_json(network->blocks[i]));
  if (!ok) {
    nw_json_free(blocks);
    nw_json_free(json);
    return NULL;
  }
  if (!nw_json_set(json, "blocks", blocks) || !nw_json_set_int(json, "next_id", network->next_id)) {
    nw_json_free(json);
    return NULL;
  }
  return json;
}

/* ---- reading ---- */

static NwStatus read_op(const NwJson *json, const char *name, const NwOp **op, NwError *error)
{
  const char *id = nw_json_get_string(json, "op", NULL);
  if (id == NULL)
    return nw_fail(error, NW_BAD_FORMAT, "Block \"%s\" of the network does not say which layer it is.", name);
  *op = nw_op_find(id);
  if (*op == NULL)
    return nw_fail(
        error, NW_BAD_FORMAT,
        "Block \"%s\" is a layer called \"%s\", which this program does not know: it may come from a newer "
        "version or from a plugin that is missing.",
        name, id);
  int64_t version = nw_json_get_int(json, "version", 0);
  if (version > (*op)->version)
    return nw_fail(error, NW_TOO_NEW,
                   "Block \"%s\" is %s of version %" PRId64
                   ", and this program knows version %d: open it with a newer "
                   "program.",
                   name, (*op)->label != NULL ? (*op)->label : id, version, (*op)->version);
  if (version < 1)
    return nw_fail(error, NW_BAD_FORMAT, "Block \"%s\" of the network has no valid version number.", name);
  return NW_OK;
}

static bool only_known_keys(const NwJson *json, const char **unknown)
{
  static const char *const known[] = {"id", "name", "op", "version", "attrs", "x", "y", "from", "frozen"};
  for (void *it = nw_json_first(json); it != NULL; it = nw_json_next(json, it)) {
    bool found = false;
    for (int i = 0; i < NW_COUNT(known) && !found; i++)
      found = strcmp(known[i], nw_json_key(it)) == 0;
    if (!found) {
      *unknown = nw_json_key(it);
      return false;
    }
  }
  return true;
}

static NwStatus read_block(NwNetwork *network, const NwJson *json, NwError *error)
{
  const char *name = nw_json_get_string(json, "name", NULL), *unknown = NULL;
  int64_t id = nw_json_get_int(json, "id", 0);
  const NwOp *op = NULL;
  if (!nw_json_is_object(json) || name == NULL || id < 1 || id >= UINT32_MAX)
    return nw_fail(error, NW_BAD_FORMAT, "A block of the network has no valid name or number.");
  if (!only_known_keys(json, &unknown))
    return nw_fail(error, NW_BAD_FORMAT,
                   "Block \"%s\" of the network has a field \"%s\", which this program does not "
                   "know.",
                   name, unknown);
  NW_TRY(read_op(json, name, &op, error));
  NwStatus status = nw_network_add(network, op, name, (uint32_t)id, NULL, error);
  if (status != NW_OK)
    return nw_error_prefix(error, status == NW_NO_MEMORY ? status : NW_BAD_FORMAT, "Block \"%s\"", name);
  NwBlock *block = nw_network_block(network, (uint32_t)id, error);
  const NwJson *attrs = nw_json_get(json, "attrs");
  if (attrs != NULL)
    status = nw_attrs_from_json(op, attrs, block->attrs, error);
  if (status != NW_OK)
    return nw_error_prefix(error, status, "Block \"%s\"", name);
  double x = nw_json_get_real(json, "x", 0), y = nw_json_get_real(json, "y", 0);
  block->x = isfinite(x) ? x : 0;
  block->y = isfinite(y) ? y : 0;
  block->frozen = nw_json_get_bool(json, "frozen", false);
  return NW_OK;
}

static NwStatus read_wires(NwNetwork *network, const NwJson *json, NwError *error)
{
  const char *name = nw_json_get_string(json, "name", "");
  uint32_t id = (uint32_t)nw_json_get_int(json, "id", 0);
  const NwJson *from = nw_json_get(json, "from");
  if (from == NULL)
    return NW_OK;
  if (!nw_json_is_array(from) || nw_json_length(from) > NW_MAX_PORTS)
    return nw_fail(error, NW_BAD_FORMAT, "The wires of block \"%s\" are not a list of block numbers.", name);
  for (size_t k = 0; k < nw_json_length(from); k++) {
    const NwJson *item = nw_json_at(from, k);
    int64_t source = nw_json_to_int(item, -1);
    if (!nw_json_is_int(item) || source < 0 || source >= UINT32_MAX)
      return nw_fail(error, NW_BAD_FORMAT, "The wires of block \"%s\" are not a list of block numbers.",
                     name);
    /* An empty socket in the middle of a repeating port is kept: sockets have places. */
    NwBlock *block = nw_network_block(network, id, error);
    bool variadic;
    int sockets = nw_op_sockets(block->op, &variadic);
    if (source == 0 && variadic && (int)k >= sockets && (int)k == block->n_from) {
      block->n_from++;
      continue;
    }
    NwStatus status = nw_network_connect(network, (uint32_t)source, id, (int)k, error);
    if (status != NW_OK)
      return nw_error_prefix(error, status == NW_NO_MEMORY ? status : NW_BAD_FORMAT, "Block \"%s\"", name);
  }
  return NW_OK;
}

static NwStatus read_all(NwNetwork *network, const NwJson *json, NwError *error)
{
  const NwJson *blocks = nw_json_get(json, "blocks");
  if (!nw_json_is_object(json) || !nw_json_is_array(blocks))
    return nw_fail(error, NW_BAD_FORMAT, "The network is not an object with a list of blocks.");
  for (size_t i = 0; i < nw_json_length(blocks); i++)
    NW_TRY(read_block(network, nw_json_at(blocks, i), error));
  for (size_t i = 0; i < nw_json_length(blocks); i++)
    NW_TRY(read_wires(network, nw_json_at(blocks, i), error));
  int64_t next = nw_json_get_int(json, "next_id", 0);
  if (next > network->next_id && next < UINT32_MAX)
    network->next_id = (uint32_t)next;
  return NW_OK;
}

NwStatus nw_network_from_json(const NwJson *json, NwNetwork **out, NwError *error)
{
  NwNetwork *network;
  *out = NULL;
  NW_TRY(nw_network_new(&network, error));
  NwStatus status = read_all(network, json, error);
  if (status != NW_OK) {
    nw_network_free(network);
    return status;
  }
  *out = network;
  return NW_OK;
}
