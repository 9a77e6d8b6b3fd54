/* What the globals, calls and persistent ids of PyTorch's files stand for. Nothing is looked up or run. */
#include <string.h>

#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "engine/io/pickle-read.h"

/* Storage classes; UNTYPED is of bytes and takes its type from the tensor. dtype -1: known, but not usable
 * here. */
typedef struct StorageType {
  const char *storage, *dtype;
  unsigned size;
  int type;
} StorageType;
static const StorageType types[] = {
#define X(id, name, bytes, storage, number) {storage, name, bytes, NW_##id},
    NW_DTYPE_MAP(X)
#undef X
        {"ShortStorage", "int16", 2, -1},
    {"CharStorage", "int8", 1, -1},
    {"ComplexFloatStorage", "complex64", 8, -1},
    {"ComplexDoubleStorage", "complex128", 16, -1},
    {"QInt8Storage", "qint8", 1, -1},
    {"QUInt8Storage", "quint8", 1, -1},
    {"QInt32Storage", "qint32", 4, -1},
    {"UntypedStorage", "", 1, -1},
};

typedef enum Known {
  UNKNOWN,
  ORDERED_DICT,
  TENSOR, /* (storage, offset, sizes, strides, ...) */
  TENSOR_V3,
  PARAMETER, /* (tensor, ...) -> the tensor */
  FROM_TYPE, /* (function, type, args, state) -> function(*args) */
  FIRST,     /* (x, ...) -> x */
  SET,
  ENCODE,
  STORAGE,
  DTYPE
} Known;

static const struct {
  const char *module, *name;
  Known known;
} globals[] = {
    {"collections", "OrderedDict", ORDERED_DICT},
    {"torch._utils", "_rebuild_tensor", TENSOR},
    {"torch._utils", "_rebuild_tensor_v2", TENSOR},
    {"torch._utils", "_rebuild_tensor_v3", TENSOR_V3},
    {"torch._utils", "_rebuild_parameter", PARAMETER},
    {"torch._utils", "_rebuild_parameter_with_state", PARAMETER},
    {"torch.nn.parameter", "Parameter", PARAMETER},
    {"torch._tensor", "_rebuild_from_type_v2", FROM_TYPE},
    {"torch", "Size", FIRST},
    {"torch.jit._pickle", "build_intlist", FIRST},
    {"torch.jit._pickle", "build_tensorlist", FIRST},
    {"torch.jit._pickle", "build_doublelist", FIRST},
    {"torch.jit._pickle", "build_boollist", FIRST},
    {"torch.jit._pickle", "restore_type_tag", FIRST},
    {"__builtin__", "set", SET},
    {"builtins", "set", SET},
    {"_codecs", "encode", ENCODE},
};

static int find_storage(const char *name)
{
  for (int i = 0; i < NW_COUNT(types); i++)
    if (strcmp(types[i].storage, name) == 0)
      return i;
  return -1;
}

static int find_dtype(const char *name)
{
  for (int i = 0; i < NW_COUNT(types); i++)
    if (types[i].dtype[0] != 0 && strcmp(types[i].dtype, name) == 0)
      return i;
  return -1;
}

static Known what_is(const char *module, const char *name)
{
  for (int i = 0; i < NW_COUNT(globals); i++)
    if (strcmp(globals[i].module, module) == 0 && strcmp(globals[i].name, name) == 0)
      return globals[i].known;
  bool torch = strcmp(module, "torch") == 0;
  if ((torch || strcmp(module, "torch.storage") == 0 || strcmp(module, "torch.cuda") == 0) &&
      find_storage(name) >= 0)
    return STORAGE;
  return torch && find_dtype(name) >= 0 ? DTYPE : UNKNOWN;
}

NwPthNode *nw_unpickle_global(NwUnpickle *context, const char *module, const char *name)
{
  NwPthNode *node = nw_pth_node_new(context->arena, NW_NODE_GLOBAL);
  if (node != NULL) {
    node->module = module;
    node->name = name;
    node->known = what_is(module, name);
  }
  return node;
}

static NwStatus bad(NwError *error, const char *what)
{
  return nw_fail(error, NW_BAD_FORMAT, "The file's list of contents is damaged: %s.", what);
}

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
}

/* ---- storages ---- */

int nw_storage_type(const NwPthNode *global)
{
  return global->kind == NW_NODE_GLOBAL && global->known == STORAGE ? find_storage(global->name) : -1;
}

unsigned nw_storage_element(int type)
{
  return types[type].size;
}

const char *nw_storage_dtype(int type)
{
  return types[type].dtype;
}

static NwStatus record_of(NwUnpickle *context, NwPthNode *id, NwPthNode **result, NwError *error);

NwStatus nw_unpickle_persistent(NwUnpickle *context, NwPthNode *id, NwPthNode **result, NwError *error)
{
  return context->persistent != NULL ? context->persistent(context, id, result, error)
                                     : record_of(context, id, result, error);
}

static NwStatus record_of(NwUnpickle *context, NwPthNode *id, NwPthNode **result, NwError *error)
{
  /* ('storage', class, key, location, numel) */
  if (id->kind != NW_NODE_TUPLE || id->count < 5 || id->items[0]->kind != NW_NODE_TEXT ||
      strcmp(id->items[0]->text, "storage") != 0)
    return nw_fail(error, NW_UNSUPPORTED, "The file refers to something that is not the data of a tensor.");
  const NwPthNode *type = id->items[1], *key = id->items[2], *count = id->items[4];
  if (type->kind != NW_NODE_GLOBAL || type->known != STORAGE)
    return nw_fail(error, NW_UNSUPPORTED, "The file holds a tensor of a kind that cannot be read.");
  if (key->kind != NW_NODE_TEXT || count->kind != NW_NODE_INT || count->number < 0)
    return bad(error, "a tensor's data is described wrongly");
  int which = find_storage(type->name);
  NwText name = {0};
  const uint8_t *bytes = NULL;
  size_t n = 0;
  nw_text_printf(&name, "data/%s", key->text);
  NwStatus status = name.failed ? no_memory(error) : nw_zip_get(context->zip, name.data, &bytes, &n, error);
  nw_text_clear(&name);
  NW_TRY(status);
  if (bytes == NULL && count->number > 0)
    return nw_fail(error, NW_BAD_FORMAT, "The data of a tensor is missing (record data/%.40s).", key->text);
  if ((uint64_t)count->number > n / types[which].size)
    return nw_fail(error, NW_BAD_FORMAT, "The data of a tensor is too short (record data/%.40s).", key->text);
  NwPthNode *node = nw_pth_node_new(context->arena, NW_NODE_STORAGE);
  if (node == NULL)
    return no_memory(error);
  node->storage = (NwStorage){key->text, bytes, (uint64_t)count->number * types[which].size, which};
  *result = node;
  return NW_OK;
}

/* ---- tensors ---- */

enum { MAX_TORCH_DIMS = 16 };

typedef struct Geometry {
  int ndim;
  int64_t offset, sizes[MAX_TORCH_DIMS], strides[MAX_TORCH_DIMS];
  uint64_t count;
  bool contiguous;
} Geometry;

static bool sequence(const NwPthNode *node)
{
  return node->kind == NW_NODE_TUPLE || node->kind == NW_NODE_LIST;
}

/* Sizes, strides and offset, and that every element lies inside `elements`. */
static NwStatus read_geometry(const NwPthNode *args, uint64_t elements, Geometry *g, NwError *error)
{
  const NwPthNode *offset = args->items[1], *sizes = args->items[2], *strides = args->items[3];
  if (offset->kind != NW_NODE_INT || !sequence(sizes) || !sequence(strides) || sizes->count != strides->count)
    return bad(error, "a tensor is described wrongly");
  if (sizes->count > MAX_TORCH_DIMS)
    return bad(error, "a tensor has too many dimensions");
  *g = (Geometry){.ndim = (int)sizes->count, .offset = offset->number, .count = 1, .contiguous = true};
  if (g->offset < 0)
    return bad(error, "a tensor begins before its data");
  unsigned __int128 last = (uint64_t)g->offset, count = 1;
  for (int i = 0; i < g->ndim; i++) {
    const NwPthNode *size = sizes->items[i], *stride = strides->items[i];
    if (size->kind != NW_NODE_INT || stride->kind != NW_NODE_INT || size->number < 0 || stride->number < 0)
      return bad(error, "a tensor has a negative size");
    g->sizes[i] = size->number;
    g->strides[i] = stride->number;
    count *= (uint64_t)size->number;
    if (count > (uint64_t)1 << 60)
      return bad(error, "a tensor is too large");
    if (size->number > 0)
      last += (unsigned __int128)(uint64_t)(size->number - 1) * (uint64_t)stride->number;
  }
  g->count = (uint64_t)count;
  if (g->count > 0 && last >= elements)
    return bad(error, "a tensor reaches outside its data");
  int64_t dense = 1;
  for (int i = g->ndim - 1; i >= 0 && g->count > 0; i--) {
    if (g->sizes[i] != 1 && g->strides[i] != dense)
      g->contiguous = false;
    dense *= g->sizes[i];
  }
  return NW_OK;
}

static void copy_elements(const Geometry *g, const uint8_t *from, uint8_t *to, size_t size, bool swap)
{
  int64_t index[MAX_TORCH_DIMS] = {0};
  int64_t at = g->offset;
  for (uint64_t n = 0; n < g->count; n++, to += size) {
    const uint8_t *element = from + (size_t)at * size;
    for (size_t i = 0; i < size; i++)
      to[i] = element[swap ? size - 1 - i : i];
    for (int i = g->ndim - 1; i >= 0; i--) {
      at += g->strides[i];
      if (++index[i] < g->sizes[i])
        break;
      at -= g->strides[i] * g->sizes[i];
      index[i] = 0;
    }
  }
}

/* Fills node->data: into the file where the numbers lie as we need them, else a copy. */
static NwStatus place(NwUnpickle *context, const NwStorage *storage, const Geometry *g, size_t size,
                      NwPthNode *node, NwError *error)
{
  bool swap = context->big_endian && size > 1;
  if (g->count == 0 || (g->contiguous && !swap)) {
    node->data = storage->bytes != NULL ? storage->bytes + (g->count ? (size_t)g->offset * size : 0)
                                        : (const void *)"";
    return NW_OK;
  }
  if (g->count > context->copy_limit / size || context->copied > context->copy_limit - g->count * size) {
    node->reason = "it repeats its numbers too often";
    return NW_OK;
  }
  context->copied += g->count * size;
  /* the arena's cap is for small things; copies have their own */
  context->arena->limit += g->count * size + 64;
  uint8_t *copy = nw_pth_arena_alloc(context->arena, g->count * size);
  if (copy == NULL)
    return no_memory(error);
  copy_elements(g, storage->bytes, copy, size, swap);
  node->data = copy;
  return NW_OK;
}

static NwStatus make_tensor(NwUnpickle *context, const NwPthNode *args, int dtype, NwPthNode **result,
                            NwError *error)
{
  if (args->count < 4 || args->items[0]->kind != NW_NODE_STORAGE)
    return bad(error, "a tensor is described wrongly");
  const NwStorage *storage = &args->items[0]->storage;
  const StorageType *type = &types[dtype >= 0 ? dtype : storage->type];
  Geometry g;
  if (storage->pending) {
    *result = nw_pth_node_new(context->arena, NW_NODE_TENSOR);
    if (*result == NULL)
      return no_memory(error);
    (*result)->reason = "its numbers were not read";
    (*result)->dtype = type->dtype;
    return NW_OK;
  }
  NW_TRY(read_geometry(args, storage->size / type->size, &g, error));
  NwPthNode *node = nw_pth_node_new(context->arena, NW_NODE_TENSOR);
  if (node == NULL)
    return no_memory(error);
  *result = node;
  node->dtype = type->dtype;
  if (type->type < 0 || g.ndim > NW_MAX_DIMS) {
    node->reason = type->type < 0 ? "its type of numbers is not supported" : "it has too many dimensions";
    /* the shape is worth showing all the same */
    node->spec = nw_spec(NW_U8, g.ndim > NW_MAX_DIMS ? 0 : g.ndim, g.sizes);
    return NW_OK;
  }
  node->spec = nw_spec((NwDType)type->type, g.ndim, g.sizes);
  return place(context, storage, &g, type->size, node, error);
}

NwStatus nw_unpickle_tensor(NwUnpickle *context, const NwPthNode *args, NwPthNode **result, NwError *error)
{
  return make_tensor(context, args, -1, result, error);
}

/* ---- calls ---- */

static NwStatus make_ordered_dict(NwUnpickle *context, const NwPthNode *args, NwPthNode **result,
                                  NwError *error)
{
  NwPthNode *dict = nw_pth_node_new(context->arena, NW_NODE_DICT);
  if (dict == NULL)
    return no_memory(error);
  *result = dict;
  if (args->count != 1 || args->items[0]->kind != NW_NODE_LIST)
    return NW_OK;
  const NwPthNode *list = args->items[0];
  for (size_t i = 0; i < list->count; i++) {
    const NwPthNode *pair = list->items[i];
    if (!sequence(pair) || pair->count != 2)
      return bad(error, "an item of a dictionary is not a pair");
    if (!nw_pth_node_push(context->arena, dict, pair->items[0]) ||
        !nw_pth_node_push(context->arena, dict, pair->items[1]))
      return no_memory(error);
  }
  return NW_OK;
}

static NwStatus make_opaque(NwUnpickle *context, NwPthNode *function, NwPthNode *args, NwPthNode **result,
                            NwError *error)
{
  NwPthNode *object = nw_pth_node_new(context->arena, NW_NODE_OBJECT);
  if (object == NULL)
    return no_memory(error);
  object->type = function;
  object->args = args;
  *result = object;
  return NW_OK;
}

static NwStatus retag(NwUnpickle *context, const NwPthNode *from, NwNodeKind kind, NwPthNode **result,
                      NwError *error)
{
  NwPthNode *node = nw_pth_node_new(context->arena, kind);
  if (node == NULL)
    return no_memory(error);
  *node = *from;
  node->kind = kind;
  node->room = node->count; /* the items are shared with the list: growing must copy */
  *result = node;
  return NW_OK;
}

NwStatus nw_unpickle_call(NwUnpickle *context, NwPthNode *function, NwPthNode *args, NwPthNode **result,
                          NwError *error)
{
  NwPthNode **x = args->items;
  size_t n = args->count;
  if (function->kind == NW_NODE_GLOBAL && function->known == FROM_TYPE && n == 4 &&
      x[2]->kind == NW_NODE_TUPLE) {
    function = x[0]; /* once: a chain of these is not something torch writes */
    args = x[2];
    x = args->items;
    n = args->count;
  }
  switch (function->kind == NW_NODE_GLOBAL ? (Known)function->known : UNKNOWN) {
  case ORDERED_DICT:
    return make_ordered_dict(context, args, result, error);
  case TENSOR:
    return make_tensor(context, args, -1, result, error);
  case TENSOR_V3:
    if (n >= 7 && x[6]->kind == NW_NODE_GLOBAL && x[6]->known == DTYPE)
      return make_tensor(context, args, find_dtype(x[6]->name), result, error);
    break;
  case PARAMETER:
    if (n >= 1 && x[0]->kind == NW_NODE_TENSOR) {
      *result = x[0];
      return NW_OK;
    }
    break;
  case FIRST:
    if (n >= 1) {
      *result = x[0];
      return NW_OK;
    }
    break;
  case SET:
    if (n == 1 && x[0]->kind == NW_NODE_LIST)
      return retag(context, x[0], NW_NODE_SET, result, error);
    break;
  case ENCODE:
    if (n >= 1 && x[0]->kind == NW_NODE_TEXT) {
      NwStatus status = retag(context, x[0], NW_NODE_BYTES, result, error);
      return status;
    }
    break;
  default:
    break;
  }
  return make_opaque(context, function, args, result, error);
}
