#include "engine/nn/network-internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"

enum { MAX_NAME = 200 };

NwStatus nw_network_new(NwNetwork **out, NwError *error)
{
  *out = nw_alloc0(sizeof **out);
  if (*out == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for a network.");
  (*out)->next_id = 1;
  return NW_OK;
}

static void block_free(NwBlock *block)
{
  if (block == NULL)
    return;
  nw_free(block->name);
  nw_free(block->attrs);
  nw_free(block->from);
  nw_free(block);
}

void nw_network_free(NwNetwork *network)
{
  if (network == NULL)
    return;
  for (int i = 0; i < network->n; i++)
    block_free(network->blocks[i]);
  nw_free(network->blocks);
  nw_free(network);
}

int nw_network_count(const NwNetwork *network)
{
  return network->n;
}

const NwBlock *nw_network_at(const NwNetwork *network, int index)
{
  return index >= 0 && index < network->n ? network->blocks[index] : NULL;
}

/* Where a block of this id is, or would stand. */
static int position(const NwNetwork *network, uint32_t id)
{
  int low = 0, high = network->n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (network->blocks[middle]->id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int nw_network_index(const NwNetwork *network, uint32_t id)
{
  int i = position(network, id);
  return i < network->n && network->blocks[i]->id == id ? i : -1;
}

NwBlock *nw_network_block(const NwNetwork *network, uint32_t id, NwError *error)
{
  int i = nw_network_index(network, id);
  if (i < 0)
    nw_fail(error, NW_NOT_FOUND, "The network has no block with the number %" PRIu32 ".", id);
  return i < 0 ? NULL : network->blocks[i];
}

const NwBlock *nw_network_find(const NwNetwork *network, uint32_t id)
{
  int i = nw_network_index(network, id);
  return i < 0 ? NULL : network->blocks[i];
}

const NwBlock *nw_network_find_name(const NwNetwork *network, const char *name)
{
  for (int i = 0; i < network->n; i++)
    if (strcmp(network->blocks[i]->name, name) == 0)
      return network->blocks[i];
  return NULL;
}

/* ---- names ---- */

/* Names are torch module paths: letters, digits and '_', with dots between parts that are not empty. */
static NwStatus name_check_form(const char *name, NwError *error)
{
  size_t length = strlen(name);
  if (length == 0)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "name", "A block needs a name.");
  if (length > MAX_NAME)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "name", "A block's name may have at most %d characters.",
                            MAX_NAME);
  for (size_t i = 0; i < length; i++) {
    char c = name[i];
    bool dot = c == '.';
    if (!dot && c != '_' && !(isascii((unsigned char)c) && isalnum((unsigned char)c)))
      return nw_fail_property(
          error, NW_BAD_ARGUMENT, "name",
          "The name \"%s\" cannot be used: only letters, digits, '_' and dots may stand in it.", name);
    if (dot && (i == 0 || i + 1 == length || name[i - 1] == '.'))
      return nw_fail_property(error, NW_BAD_ARGUMENT, "name",
                              "The name \"%s\" cannot be used: a dot must stand between two parts.", name);
  }
  return NW_OK;
}

/* Is a the path of a module that would contain b? */
static bool name_contains(const char *a, const char *b)
{
  size_t n = strlen(a);
  return strncmp(a, b, n) == 0 && b[n] == '.';
}

static NwStatus name_check(const NwNetwork *network, const char *name, const NwBlock *self, NwError *error)
{
  NW_TRY(name_check_form(name, error));
  for (int i = 0; i < network->n; i++) {
    const NwBlock *other = network->blocks[i];
    if (other == self)
      continue;
    if (strcmp(other->name, name) == 0)
      return nw_fail_property(error, NW_EXISTS, "name",
                              "There is already a block called \"%s\": choose another name.", name);
    /* torch has no module that is a layer and a container at once */
    if (name_contains(other->name, name) || name_contains(name, other->name))
      return nw_fail_property(
          error, NW_EXISTS, "name",
          "\"%s\" and \"%s\" cannot both be blocks, since one path lies inside the other: choose "
          "another name.",
          name, other->name);
  }
  return NW_OK;
}

/* "conv1" from "conv2d": the id without its "2d", and the first number that is free. */
static void name_make(const NwNetwork *network, const NwOp *op, char *name, size_t n)
{
  char stem[64];
  snprintf(stem, sizeof stem, "%s", op->id);
  size_t length = strlen(stem);
  if (length > 2 && stem[length - 1] == 'd' && isdigit((unsigned char)stem[length - 2]))
    stem[length - 2] = 0;
  snprintf(name, n, "%s", stem);
  if (op->group == NW_GROUP_INPUT && name_check(network, name, NULL, NULL) == NW_OK)
    return;
  for (int i = 1; i <= network->n + 1; i++) {
    snprintf(name, n, "%s%d", stem, i);
    if (name_check(network, name, NULL, NULL) == NW_OK)
      return;
  }
}

/* ---- edits ---- */

int nw_op_sockets(const NwOp *op, bool *variadic)
{
  int n = 0;
  *variadic = false;
  for (int i = 0; i < op->n_inputs; i++)
    if (op->inputs[i].role == NW_PORT_DATA) {
      n++;
      *variadic = (op->inputs[i].flags & NW_PORT_VARIADIC) != 0;
    }
  return n;
}

static NwStatus op_may_be_block(const NwNetwork *network, const NwOp *op, NwError *error)
{
  if (op->label == NULL || op->group == NW_GROUP_INTERNAL || op->group == NW_GROUP_LOSS ||
      op->group == NW_GROUP_OPTIMIZER)
    return nw_fail(error, NW_BAD_ARGUMENT, "\"%s\" is not a layer that a network can hold.", op->id);
  for (int i = 0; op->group == NW_GROUP_INPUT && i < network->n; i++)
    if (network->blocks[i]->op->group == NW_GROUP_INPUT)
      return nw_fail(error, NW_EXISTS, "The network has its input already (\"%s\"); there can be only one.",
                     network->blocks[i]->name);
  return NW_OK;
}

static NwStatus room_for_one(NwNetwork *network, NwError *error)
{
  if (network->n < network->room)
    return NW_OK;
  int room = network->room > 0 ? network->room * 2 : 16;
  NwBlock **blocks =
      nw_realloc(network->blocks, sizeof *blocks * (size_t)network->room, sizeof *blocks * (size_t)room);
  if (blocks == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for another block.");
  network->blocks = blocks;
  network->room = room;
  return NW_OK;
}

static NwBlock *block_new(const NwOp *op, const char *name)
{
  bool variadic;
  NwBlock *block = nw_alloc0(sizeof *block);
  if (block == NULL)
    return NULL;
  block->op = op;
  block->n_from = nw_op_sockets(op, &variadic);
  block->name = nw_strdup(name);
  block->attrs = nw_alloc0(op->attrs_size);
  block->from = nw_alloc0(sizeof *block->from * NW_MAX_PORTS);
  if (block->name == NULL || block->attrs == NULL || block->from == NULL) {
    block_free(block);
    return NULL;
  }
  nw_attrs_init(op, block->attrs);
  return block;
}

/* Puts the block at its place; takes it over. There must be room. */
static void insert(NwNetwork *network, NwBlock *block)
{
  int at = position(network, block->id);
  memmove(network->blocks + at + 1, network->blocks + at,
          sizeof *network->blocks * (size_t)(network->n - at));
  network->blocks[at] = block;
  network->n++;
  if (block->id >= network->next_id)
    network->next_id = block->id + 1;
}

NwStatus nw_network_add(NwNetwork *network, const NwOp *op, const char *name, uint32_t id, uint32_t *out_id,
                        NwError *error)
{
  char made[MAX_NAME + 1];
  if (out_id != NULL)
    *out_id = 0;
  NW_TRY(op_may_be_block(network, op, error));
  if (name == NULL) {
    name_make(network, op, made, sizeof made);
    name = made;
  }
  NW_TRY(name_check(network, name, NULL, error));
  if (id == 0)
    id = network->next_id;
  if (id == UINT32_MAX || id == 0)
    return nw_fail(error, NW_BAD_ARGUMENT, "The network has no more block numbers.");
  if (nw_network_index(network, id) >= 0)
    return nw_fail(error, NW_EXISTS, "There is already a block with the number %" PRIu32 ".", id);
  NW_TRY(room_for_one(network, error));
  NwBlock *block = block_new(op, name);
  if (block == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for another block.");
  block->id = id;
  insert(network, block);
  if (out_id != NULL)
    *out_id = id;
  return NW_OK;
}

/* Unconnected sockets at the end of a repeating port fall away. */
static void trim(NwBlock *block)
{
  bool variadic;
  int base = nw_op_sockets(block->op, &variadic);
  while (variadic && block->n_from > base && block->from[block->n_from - 1] == 0)
    block->n_from--;
}

NwStatus nw_network_remove(NwNetwork *network, uint32_t id, NwError *error)
{
  NwBlock *block = nw_network_block(network, id, error);
  if (block == NULL)
    return NW_NOT_FOUND;
  for (int i = 0; i < network->n; i++) {
    for (int k = 0; k < network->blocks[i]->n_from; k++)
      if (network->blocks[i]->from[k] == id)
        network->blocks[i]->from[k] = 0;
    trim(network->blocks[i]);
  }
  int at = nw_network_index(network, id);
  memmove(network->blocks + at, network->blocks + at + 1,
          sizeof *network->blocks * (size_t)(network->n - at - 1));
  network->n--;
  block_free(block);
  return NW_OK;
}

NwStatus nw_network_rename(NwNetwork *network, uint32_t id, const char *name, NwError *error)
{
  NwBlock *block = nw_network_block(network, id, error);
  if (block == NULL)
    return NW_NOT_FOUND;
  NwStatus status = name_check(network, name, block, error);
  char *copy = status == NW_OK ? nw_strdup(name) : NULL;
  if (status == NW_OK && copy == NULL)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory for the name.");
  if (status != NW_OK) {
    if (error != NULL)
      error->block = id;
    return status;
  }
  nw_free(block->name);
  block->name = copy;
  return NW_OK;
}

NwStatus nw_network_move(NwNetwork *network, uint32_t id, double x, double y, NwError *error)
{
  NwBlock *block = nw_network_block(network, id, error);
  if (block == NULL)
    return NW_NOT_FOUND;
  if (!isfinite(x) || !isfinite(y))
    return nw_fail(error, NW_BAD_ARGUMENT, "A block's place must be two finite numbers.");
  block->x = x;
  block->y = y;
  return NW_OK;
}

NwStatus nw_network_set_frozen(NwNetwork *network, uint32_t id, bool frozen, NwError *error)
{
  NwBlock *block = nw_network_block(network, id, error);
  if (block == NULL)
    return NW_NOT_FOUND;
  block->frozen = frozen;
  return NW_OK;
}

static NwStatus attr_of(const NwBlock *block, const char *key, const NwAttr **attr, NwError *error)
{
  *attr = nw_attr_find(block->op, key);
  if (*attr == NULL || ((*attr)->flags & NW_ATTR_HIDDEN))
    return nw_fail_property(error, NW_NOT_FOUND, key, "%s has no property \"%s\".", block->op->label, key);
  return NW_OK;
}

static NwStatus at_block(const NwBlock *block, NwStatus status, NwError *error)
{
  if (status != NW_OK && error != NULL)
    error->block = block->id;
  return status;
}

NwStatus nw_network_set(NwNetwork *network, uint32_t id, const char *key, NwValue value, NwError *error)
{
  const NwAttr *attr;
  NwBlock *block = nw_network_block(network, id, error);
  if (block == NULL)
    return NW_NOT_FOUND;
  NwStatus status = attr_of(block, key, &attr, error);
  if (status == NW_OK)
    status = nw_attr_set(block->op, attr, block->attrs, value, error);
  return at_block(block, status, error);
}

NwStatus nw_network_set_text(NwNetwork *network, uint32_t id, const char *key, const char *text,
                             NwError *error)
{
  const NwAttr *attr;
  NwBlock *block = nw_network_block(network, id, error);
  if (block == NULL)
    return NW_NOT_FOUND;
  NwStatus status = attr_of(block, key, &attr, error);
  if (status == NW_OK)
    status = nw_attr_set_text(block->op, block->attrs, key, text, error);
  return at_block(block, status, error);
}

NwStatus nw_network_copy(const NwNetwork *network, NwNetwork **out, NwError *error)
{
  NwNetwork *copy;
  *out = NULL;
  NW_TRY(nw_network_new(&copy, error));
  for (int i = 0; i < network->n; i++) {
    const NwBlock *old = network->blocks[i];
    NwBlock *block = room_for_one(copy, error) == NW_OK ? block_new(old->op, old->name) : NULL;
    if (block == NULL) {
      nw_network_free(copy);
      return nw_fail(error, NW_NO_MEMORY, "There is no memory for a copy of the network.");
    }
    memcpy(block->attrs, old->attrs, old->op->attrs_size);
    memcpy(block->from, old->from, sizeof *old->from * NW_MAX_PORTS);
    block->id = old->id;
    block->n_from = old->n_from;
    block->frozen = old->frozen;
    block->x = old->x;
    block->y = old->y;
    insert(copy, block);
  }
  copy->next_id = network->next_id;
  *out = copy;
  return NW_OK;
}
