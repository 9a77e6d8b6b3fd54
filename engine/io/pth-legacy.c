/* Files of PyTorch before 1.6. Where the numbers of a storage lie is told after the pickle that names it, so
 * the pickle is read twice: first for the storages and their types, then for the tensors. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/bytes.h"
#include "engine/io/pickle-read.h"

/* What a key stands for: a storage (bytes of the file), or in tars a finished tensor. */
typedef struct Thing {
  const char *key;
  NwStorage storage;
  NwPthNode *tensor;
} Thing;

typedef struct Legacy {
  NwUnpickle *context;
  const uint8_t *at, *end;
  Thing *things; /* sorted by key once `sorted` is set */
  size_t n, room;
  bool sorted;
  NwError *error;
} Legacy;

static NwStatus bad(Legacy *l, const char *what)
{
  return nw_fail(l->error, NW_BAD_FORMAT, "The file is damaged: %s.", what);
}

static NwStatus no_memory(Legacy *l)
{
  return nw_fail(l->error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
}

static NwStatus next_pickle(Legacy *l, NwPthNode **node)
{
  *node = NULL;
  NW_TRY(nw_unpickle(l->context, l->at, (size_t)(l->end - l->at), node, l->error));
  l->at += l->context->used;
  return NW_OK;
}

static NwStatus take(Legacy *l, uint64_t n, const uint8_t **bytes)
{
  *bytes = NULL;
  if (n > (uint64_t)(l->end - l->at))
    return bad(l, "it ends in the middle of its numbers, so it was cut off");
  *bytes = l->at;
  l->at += n;
  return NW_OK;
}

/* Keys are texts, or whole numbers in the oldest files. */
static NwStatus key_of(Legacy *l, const NwPthNode *node, const char **key)
{
  *key = NULL;
  if (node->kind == NW_NODE_TEXT) {
    *key = node->text;
    return NW_OK;
  }
  if (node->kind != NW_NODE_INT)
    return bad(l, "a tensor has no key");
  char *text = nw_pth_arena_alloc(l->context->arena, 24);
  if (text == NULL)
    return no_memory(l);
  snprintf(text, 24, "%" PRId64, node->number);
  *key = text;
  return NW_OK;
}

static int compare(const void *a, const void *b)
{
  return strcmp(((const Thing *)a)->key, ((const Thing *)b)->key);
}

static Thing *find(Legacy *l, const char *key)
{
  Thing wanted = {.key = key};
  if (l->n == 0)
    return NULL;
  return bsearch(&wanted, l->things, l->n, sizeof *l->things, compare);
}

static NwStatus add(Legacy *l, Thing thing)
{
  if (l->n == l->room) {
    size_t room = l->room ? 2 * l->room : 64;
    Thing *things = nw_realloc(l->things, l->room * sizeof *things, room * sizeof *things);
    if (things == NULL)
      return no_memory(l);
    l->things = things;
    l->room = room;
  }
  l->things[l->n++] = thing;
  return NW_OK;
}

/* Keys that were met more than once become one. */
static void sort(Legacy *l)
{
  size_t kept = 0;
  if (l->n > 0)
    qsort(l->things, l->n, sizeof *l->things, compare);
  for (size_t i = 0; i < l->n; i++)
    if (kept == 0 || strcmp(l->things[kept - 1].key, l->things[i].key) != 0)
      l->things[kept++] = l->things[i];
  l->n = kept;
  l->sorted = true;
}

static NwStatus storage_node(Legacy *l, NwStorage storage, NwPthNode **result)
{
  *result = nw_pth_node_new(l->context->arena, NW_NODE_STORAGE);
  if (*result == NULL)
    return no_memory(l);
  (*result)->storage = storage;
  return NW_OK;
}

/* ---- the stream ---- */

/* (view key, offset, number of elements): a part of the root storage. */
static NwStatus cut_view(Legacy *l, const NwPthNode *view, NwStorage *storage)
{
  if (view->kind == NW_NODE_NONE)
    return NW_OK;
  unsigned size = nw_storage_element(storage->type);
  uint64_t all = storage->size / size;
  if (view->kind != NW_NODE_TUPLE || view->count != 3 || view->items[1]->kind != NW_NODE_INT ||
      view->items[2]->kind != NW_NODE_INT)
    return bad(l, "a part of a storage is described wrongly");
  int64_t offset = view->items[1]->number, count = view->items[2]->number;
  if (storage->pending)
    return NW_OK;
  if (offset < 0 || count < 0 || (uint64_t)offset > all || (uint64_t)count > all - (uint64_t)offset)
    return bad(l, "a part of a storage lies outside of it");
  storage->bytes += (uint64_t)offset * size;
  storage->size = (uint64_t)count * size;
  return NW_OK;
}

/* ('storage', class, key, location, elements, view) or ('module', class, source file, source). */
static NwStatus stream_id(NwUnpickle *context, NwPthNode *id, NwPthNode **result, NwError *error)
{
  Legacy *l = context->owner;
  if (id->kind != NW_NODE_TUPLE || id->count < 2 || id->items[0]->kind != NW_NODE_TEXT)
    return nw_fail(error, NW_UNSUPPORTED, "The file refers to something that is not the data of a tensor.");
  if (strcmp(id->items[0]->text, "module") == 0) {
    *result = id->items[1];
    return NW_OK;
  }
  if (strcmp(id->items[0]->text, "storage") != 0 || id->count < 5)
    return nw_fail(error, NW_UNSUPPORTED, "The file refers to something that is not the data of a tensor.");
  int type = nw_storage_type(id->items[1]);
  if (type < 0)
    return nw_fail(error, NW_UNSUPPORTED, "The file holds a tensor of a kind that cannot be read.");
  Thing thing = {.storage = {.type = type, .pending = true}};
  NW_TRY(key_of(l, id->items[2], &thing.key));
  if (l->sorted) {
    const Thing *found = find(l, thing.key);
    if (found == NULL || found->storage.type != type || found->storage.pending)
      return bad(l, "the numbers of a tensor are missing");
    thing = *found;
  } else {
    thing.storage.key = thing.key;
    NW_TRY(add(l, thing));
  }
  if (id->count > 5)
    NW_TRY(cut_view(l, id->items[5], &thing.storage));
  return storage_node(l, thing.storage, result);
}

static NwStatus read_data(Legacy *l, const NwPthNode *keys)
{
  if (keys->kind != NW_NODE_LIST && keys->kind != NW_NODE_TUPLE)
    return bad(l, "the list of its storages is missing");
  for (size_t i = 0; i < keys->count; i++) {
    const char *key;
    const uint8_t *bytes;
    NW_TRY(key_of(l, keys->items[i], &key));
    Thing *thing = find(l, key);
    if (thing == NULL)
      return bad(l, "it holds numbers of an unknown type");
    NW_TRY(take(l, 8, &bytes));
    uint64_t count = nw_get_u64(bytes), size = nw_storage_element(thing->storage.type);
    if (count > (uint64_t)(l->end - l->at) / size)
      return bad(l, "it ends in the middle of its numbers, so it was cut off");
    NW_TRY(take(l, count * size, &bytes));
    thing->storage.bytes = bytes;
    thing->storage.size = count * size;
    thing->storage.pending = false;
  }
  return NW_OK;
}

static NwStatus check_head(Legacy *l)
{
  static const uint8_t magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
  NwPthNode *node;
  NW_TRY(next_pickle(l, &node));
  if (node->kind != NW_NODE_BYTES || node->length != sizeof magic ||
      memcmp(node->text, magic, sizeof magic) != 0)
    return nw_fail(l->error, NW_BAD_FORMAT, "This pickle is not a PyTorch file.");
  NW_TRY(next_pickle(l, &node));
  if (node->kind != NW_NODE_INT || node->number != 1001)
    return nw_fail(l->error, NW_TOO_NEW, "The file has a version of the old PyTorch format that is unknown.");
  return next_pickle(l, &node); /* byte order and sizes of the machine: data is little-endian all the same */
}

static NwStatus read_stream(Legacy *l, NwPthNode **root)
{
  NwPthNode *keys;
  NW_TRY(check_head(l));
  const uint8_t *body = l->at;
  NW_TRY(next_pickle(l, root));
  size_t length = (size_t)(l->at - body);
  NW_TRY(next_pickle(l, &keys));
  sort(l);
  NW_TRY(read_data(l, keys));
  return nw_unpickle(l->context, body, length, root, l->error);
}

static NwStatus with_legacy(NwUnpickle *context, const uint8_t *bytes, size_t n,
                            NwStatus (*persistent)(NwUnpickle *, NwPthNode *, NwPthNode **, NwError *),
                            NwStatus (*read)(Legacy *, NwPthNode **), NwPthNode **root, NwError *error)
{
  Legacy legacy = {.context = context, .at = bytes, .end = bytes + n, .error = error};
  context->persistent = persistent;
  context->owner = &legacy;
  NwStatus status = read(&legacy, root);
  context->persistent = NULL;
  context->owner = NULL;
  nw_free(legacy.things);
  return status;
}

NwStatus nw_pth_read_stream(NwUnpickle *context, const uint8_t *bytes, size_t n, NwPthNode **root,
                            NwError *error)
{
  return with_legacy(context, bytes, n, stream_id, read_stream, root, error);
}

/* ---- the tar ---- */

enum { TAR_BLOCK = 512 };

/* The member's bytes in l->at and l->end. */
static NwStatus enter(Legacy *l, const uint8_t *bytes, size_t n, const char *name)
{
  for (size_t at = 0; n - at >= TAR_BLOCK && bytes[at] != 0;) {
    const uint8_t *head = bytes + at;
    uint64_t size = 0;
    const char *path = (const char *)head + (head[0] == '.' && head[1] == '/' ? 2 : 0);
    for (int i = 124; i < 135 && head[i] >= '0' && head[i] <= '7'; i++)
      size = size * 8 + head[i] - '0';
    at += TAR_BLOCK;
    if (size > n - at)
      return bad(l, "it ends in the middle of a part, so it was cut off");
    if (strncmp(path, name, 90) == 0) {
      l->at = bytes + at;
      l->end = l->at + size;
      return NW_OK;
    }
    size_t step = (size_t)(size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    at = step > n - at ? n : at + step;
  }
  return nw_fail(l->error, NW_BAD_FORMAT, "This tar file is not a PyTorch file: it has no part \"%s\".",
                 name);
}

static NwStatus read_count(Legacy *l, uint64_t *n)
{
  NwPthNode *node;
  *n = 0;
  NW_TRY(next_pickle(l, &node));
  if (node->kind != NW_NODE_INT || node->number < 0 || node->number > l->end - l->at)
    return bad(l, "a number of tensors is wrong");
  *n = (uint64_t)node->number;
  return NW_OK;
}

static NwStatus read_tar_storage(Legacy *l)
{
  NwPthNode *node;
  const uint8_t *bytes;
  NW_TRY(next_pickle(l, &node));
  if (node->kind != NW_NODE_TUPLE || node->count < 3)
    return bad(l, "a storage is described wrongly");
  int type = nw_storage_type(node->items[2]);
  if (type < 0)
    return nw_fail(l->error, NW_UNSUPPORTED, "The file holds a tensor of a kind that cannot be read.");
  NW_TRY(take(l, 8, &bytes));
  uint64_t count = nw_get_u64(bytes), size = nw_storage_element(type);
  if (count > (uint64_t)(l->end - l->at) / size)
    return bad(l, "it ends in the middle of its numbers, so it was cut off");
  NW_TRY(take(l, count * size, &bytes));
  Thing thing = {.storage = {.bytes = bytes, .size = count * size, .type = type}};
  NW_TRY(key_of(l, node->items[0], &thing.key));
  return add(l, thing);
}

/* (key, root key, offset, elements) */
static NwStatus read_tar_view(Legacy *l, const NwPthNode *view, Thing *thing)
{
  const char *root;
  if (view->kind != NW_NODE_TUPLE || view->count != 4)
    return bad(l, "a part of a storage is described wrongly");
  NW_TRY(key_of(l, view->items[1], &root));
  const Thing *found = find(l, root);
  if (found == NULL)
    return bad(l, "a part belongs to no storage");
  NwPthNode cut = {.kind = NW_NODE_TUPLE, .items = view->items + 1, .count = 3};
  thing->storage = found->storage;
  NW_TRY(key_of(l, view->items[0], &thing->key));
  return cut_view(l, &cut, &thing->storage);
}

static NwStatus merge(Legacy *l, Legacy *more, NwStatus status)
{
  for (size_t i = 0; i < more->n && status == NW_OK; i++)
    status = add(l, more->things[i]);
  nw_free(more->things);
  if (status == NW_OK)
    sort(l);
  return status;
}

static NwStatus read_tar_storages(Legacy *l)
{
  uint64_t n;
  NwPthNode *views;
  NW_TRY(read_count(l, &n));
  for (uint64_t i = 0; i < n; i++)
    NW_TRY(read_tar_storage(l));
  NW_TRY(next_pickle(l, &views));
  sort(l);
  if (views->kind != NW_NODE_LIST)
    return NW_OK;
  /* gathered apart, because only a sorted list can be searched */
  Legacy cut = {.context = l->context, .error = l->error};
  NwStatus status = NW_OK;
  for (size_t i = 0; i < views->count && status == NW_OK; i++) {
    Thing thing = {0};
    status = read_tar_view(l, views->items[i], &thing);
    if (status == NW_OK)
      status = add(&cut, thing);
  }
  return merge(l, &cut, status);
}

static NwStatus int_node(Legacy *l, int64_t value, NwPthNode *list)
{
  NwPthNode *node = nw_pth_node_new(l->context->arena, NW_NODE_INT);
  if (node != NULL)
    node->number = value;
  return nw_pth_node_push(l->context->arena, list, node) ? NW_OK : no_memory(l);
}

static NwStatus read_tar_tensor(Legacy *l, Thing *thing)
{
  NwPthNode *node, *storage;
  NwPthNode args = {.kind = NW_NODE_TUPLE}, sizes = {.kind = NW_NODE_TUPLE},
            strides = {.kind = NW_NODE_TUPLE};
  const uint8_t *bytes;
  const char *key;
  NW_TRY(next_pickle(l, &node));
  if (node->kind != NW_NODE_TUPLE || node->count < 2)
    return bad(l, "a tensor is described wrongly");
  NW_TRY(key_of(l, node->items[0], &thing->key));
  NW_TRY(key_of(l, node->items[1], &key));
  const Thing *found = find(l, key);
  if (found == NULL)
    return bad(l, "the numbers of a tensor are missing");
  NW_TRY(storage_node(l, found->storage, &storage));
  NW_TRY(take(l, 8, &bytes));
  uint32_t ndim = nw_get_u32(bytes);
  if (ndim > 64)
    return bad(l, "a tensor has too many dimensions");
  for (int part = 0; part < 2; part++)
    for (uint32_t i = 0; i < ndim; i++) {
      NW_TRY(take(l, 8, &bytes));
      NW_TRY(int_node(l, (int64_t)nw_get_u64(bytes), part == 0 ? &sizes : &strides));
    }
  NW_TRY(take(l, 8, &bytes));
  if (!nw_pth_node_push(l->context->arena, &args, storage))
    return no_memory(l);
  NW_TRY(int_node(l, (int64_t)nw_get_u64(bytes), &args));
  if (!nw_pth_node_push(l->context->arena, &args, &sizes) ||
      !nw_pth_node_push(l->context->arena, &args, &strides))
    return no_memory(l);
  return nw_unpickle_tensor(l->context, &args, &thing->tensor, l->error);
}

/* A plain key, of a tensor or of a storage. */
static NwStatus tar_id(NwUnpickle *context, NwPthNode *id, NwPthNode **result, NwError *error)
{
  Legacy *l = context->owner;
  const char *key;
  NW_TRY(key_of(l, id, &key));
  const Thing *found = find(l, key);
  if (found == NULL)
    return bad(l, "the numbers of a tensor are missing");
  if (found->tensor == NULL)
    return storage_node(l, found->storage, result);
  *result = found->tensor;
  return NW_OK;
}

static NwStatus read_tar(Legacy *l, NwPthNode **root)
{
  const uint8_t *bytes = l->at;
  size_t n = (size_t)(l->end - l->at);
  NW_TRY(enter(l, bytes, n, "storages"));
  NW_TRY(read_tar_storages(l));
  NW_TRY(enter(l, bytes, n, "tensors"));
  uint64_t count;
  NW_TRY(read_count(l, &count));
  Legacy tensors = {.context = l->context, .error = l->error};
  NwStatus status = NW_OK;
  for (uint64_t i = 0; i < count && status == NW_OK; i++) {
    Thing thing = {0};
    status = read_tar_tensor(l, &thing);
    if (status == NW_OK)
      status = add(&tensors, thing);
  }
  NW_TRY(merge(l, &tensors, status));
  NW_TRY(enter(l, bytes, n, "pickle"));
  return next_pickle(l, root);
}

NwStatus nw_pth_read_tar(NwUnpickle *context, const uint8_t *bytes, size_t n, NwPthNode **root,
                         NwError *error)
{
  return with_legacy(context, bytes, n, tar_id, read_tar, root, error);
}
