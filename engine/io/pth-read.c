#include <string.h>

#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "engine/io/map-file.h"
#include "engine/io/pickle-read.h"
#include "engine/io/pth.h"

/* Cap of what a list of contents may need, and of the copies of tensors that cannot be used where they lie.
 */
static const size_t ARENA_LIMIT = (size_t)1 << 30, COPY_SLACK = (size_t)64 << 20;
/* A pickle can share its parts, so that few bytes stand for a tree without end: walking it has a budget. */
enum { MAX_VERSION = 10, MAX_MODULE_DEPTH = 200, MAX_MODULES = 1000000 };

struct NwPthFile {
  NwMappedFile map;
  const char *format;
  int budget; /* modules and tensors that may still be walked */
  NwZip *zip;
  NwNodeArena arena;
  NwPthNode *root;
  const NwPthNode *weights; /* NULL: none */
  const char *whole_model;  /* class of a pickled model that the file is, NULL: it is none */
};

void nw_pth_close(NwPthFile *file)
{
  if (file == NULL)
    return;
  nw_pth_arena_clear(&file->arena);
  nw_zip_close(file->zip);
  nw_unmap_file(&file->map);
  nw_free(file);
}

static NwStatus check_version(NwPthFile *file, NwError *error)
{
  const uint8_t *text;
  size_t n;
  NW_TRY(nw_zip_get(file->zip, "version", &text, &n, error));
  if (text == NULL)
    NW_TRY(nw_zip_get(file->zip, ".data/version", &text, &n, error));
  if (text == NULL)
    return nw_fail(error, NW_BAD_FORMAT, "This zip file is not a PyTorch file: it has no version record.");
  int version = 0;
  for (size_t i = 0; i < n && text[i] >= '0' && text[i] <= '9' && version < 1000; i++)
    version = version * 10 + text[i] - '0';
  if (version < 1 || version > MAX_VERSION)
    return nw_fail(error, NW_TOO_NEW, "The file has the PyTorch format version %d; 1 to %d can be read.",
                   version, MAX_VERSION);
  return NW_OK;
}

static NwStatus read_order(NwPthFile *file, bool *big, NwError *error)
{
  const uint8_t *text;
  size_t n;
  *big = false;
  NW_TRY(nw_zip_get(file->zip, "byteorder", &text, &n, error));
  if (text == NULL || (n == 6 && memcmp(text, "little", 6) == 0))
    return NW_OK;
  if (n != 3 || memcmp(text, "big", 3) != 0)
    return nw_fail(error, NW_BAD_FORMAT, "The file's byte order is neither little nor big.");
  *big = true;
  return NW_OK;
}

/* ---- where the weights are ---- */

static const NwPthNode *dict_get(const NwPthNode *dict, const char *key)
{
  if (dict == NULL || dict->kind != NW_NODE_DICT)
    return NULL;
  for (size_t i = dict->count; i >= 2; i -= 2) /* the last one wins, as in Python */
    if (dict->items[i - 2]->kind == NW_NODE_TEXT && strcmp(dict->items[i - 2]->text, key) == 0)
      return dict->items[i - 1];
  return NULL;
}

static bool is_state_dict(const NwPthNode *node)
{
  if (node == NULL || node->kind != NW_NODE_DICT || node->count == 0)
    return false;
  size_t tensors = 0;
  for (size_t i = 0; i + 1 < node->count; i += 2) {
    if (node->items[i]->kind != NW_NODE_TEXT)
      return false;
    tensors += node->items[i + 1]->kind == NW_NODE_TENSOR;
  }
  return tensors > 0 && tensors * 2 >= node->count / 2;
}

static const NwPthNode *find_state_dict(const NwPthNode *root)
{
  static const char *const usual[] = {"state_dict", "model_state_dict", "model", "net",   "weights",
                                      "params",     "model_ema",        "ema",   "module"};
  if (is_state_dict(root))
    return root;
  if (root->kind != NW_NODE_DICT)
    return NULL;
  for (int i = 0; i < NW_COUNT(usual); i++)
    if (is_state_dict(dict_get(root, usual[i])))
      return dict_get(root, usual[i]);
  for (size_t i = 1; i < root->count; i += 2)
    if (is_state_dict(root->items[i]))
      return root->items[i];
  return NULL;
}

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
}

/* One member of a module: a tensor is noted under its path, another module is walked. */
typedef struct Walk {
  NwPthFile *file;
  NwPthNode *dict; /* path → tensor */
  NwStatus (*enter)(struct Walk *walk, const NwPthNode *object, const char *prefix, int depth,
                    NwError *error);
} Walk;

static NwStatus walk_member(Walk *walk, const NwPthNode *key, NwPthNode *value, const char *prefix, int depth,
                            NwError *error)
{
  NwNodeArena *arena = &walk->file->arena;
  if (key->kind != NW_NODE_TEXT || (value->kind != NW_NODE_TENSOR && value->kind != NW_NODE_OBJECT))
    return NW_OK;
  if (walk->file->budget-- <= 0 || depth > MAX_MODULE_DEPTH)
    return nw_fail(error, NW_BAD_FORMAT, "The file's modules are nested without end.");
  size_t before = strlen(prefix);
  char *name = nw_pth_arena_alloc(arena, before + key->length + 2);
  if (name == NULL)
    return no_memory(error);
  memcpy(name, prefix, before);
  strcpy(name + before, key->text);
  if (value->kind == NW_NODE_OBJECT) {
    strcat(name, ".");
    return walk->enter(walk, value, name, depth + 1, error);
  }
  NwPthNode *text = nw_pth_node_new(arena, NW_NODE_TEXT);
  if (text == NULL)
    return no_memory(error);
  text->text = name;
  text->length = strlen(name);
  return nw_pth_node_push(arena, walk->dict, text) && nw_pth_node_push(arena, walk->dict, value)
             ? NW_OK
             : no_memory(error);
}

/* TorchScript: attributes of the objects are parameters, buffers and submodules, in state_dict order. */
static NwStatus enter_script(Walk *walk, const NwPthNode *object, const char *prefix, int depth,
                             NwError *error)
{
  const NwPthNode *state = object->state;
  for (size_t i = 0; state != NULL && state->kind == NW_NODE_DICT && i + 1 < state->count; i += 2)
    NW_TRY(walk_member(walk, state->items[i], state->items[i + 1], prefix, depth, error));
  return NW_OK;
}

static bool lists(const NwPthNode *set, const NwPthNode *key)
{
  for (size_t i = 0; set != NULL && set->kind == NW_NODE_SET && i < set->count; i++)
    if (set->items[i]->kind == NW_NODE_TEXT && strcmp(set->items[i]->text, key->text) == 0)
      return true;
  return false;
}

/* A pickled torch.nn.Module keeps its tensors and children in dictionaries of these names; that is all that
 * its state_dict() would ask. */
static NwStatus enter_module(Walk *walk, const NwPthNode *object, const char *prefix, int depth,
                             NwError *error)
{
  static const char *const parts[] = {"_parameters", "_buffers", "_modules"};
  const NwPthNode *fleeting = dict_get(object->state, "_non_persistent_buffers_set");
  for (int p = 0; p < NW_COUNT(parts); p++) {
    const NwPthNode *part = dict_get(object->state, parts[p]);
    for (size_t i = 0; part != NULL && part->kind == NW_NODE_DICT && i + 1 < part->count; i += 2)
      if (p != 1 || part->items[i]->kind != NW_NODE_TEXT || !lists(fleeting, part->items[i]))
        NW_TRY(walk_member(walk, part->items[i], part->items[i + 1], prefix, depth, error));
  }
  return NW_OK;
}

static NwStatus find_weights(NwPthFile *file, NwError *error)
{
  static const char *const usual[] = {"model", "net", "module", "state_dict"};
  const NwPthNode *root = file->root;
  if (root->kind != NW_NODE_OBJECT) {
    file->weights = find_state_dict(root);
    const NwPthNode *model = NULL;
    for (int i = 0; i < NW_COUNT(usual) && (model == NULL || model->kind != NW_NODE_OBJECT); i++)
      model = dict_get(root, usual[i]);
    if (file->weights != NULL || model == NULL || model->kind != NW_NODE_OBJECT)
      return NW_OK;
    root = model;
  }
  const NwPthNode *type = root->type;
  const char *module = type->kind == NW_NODE_GLOBAL ? type->module : "";
  bool script = strncmp(module, "__torch__", 9) == 0;
  Walk walk = {.file = file, .enter = script ? enter_script : enter_module};
  walk.dict = nw_pth_node_new(&file->arena, NW_NODE_DICT);
  if (walk.dict == NULL)
    return no_memory(error);
  file->budget = MAX_MODULES;
  NW_TRY(walk.enter(&walk, root, "", 0, error));
  file->weights = walk.dict->count > 0 ? walk.dict : NULL;
  if (script)
    file->format = "TorchScript";
  else if (file->weights == NULL)
    file->whole_model = type->kind == NW_NODE_GLOBAL ? type->name : "unknown";
  else
    file->format = "PyTorch, a whole pickled model";
  return NW_OK;
}

static NwStatus parse_zip(NwPthFile *file, NwUnpickle *context, NwError *error)
{
  const uint8_t *list;
  size_t n;
  file->format = "PyTorch";
  NW_TRY(nw_zip_open(file->map.bytes, file->map.size, &file->zip, error));
  if (nw_zip_folder(file->zip)[0] == 0)
    return nw_fail(error, NW_BAD_FORMAT,
                   "This zip file is not a PyTorch file: its records are not in a folder.");
  NW_TRY(check_version(file, error));
  NW_TRY(read_order(file, &context->big_endian, error));
  NW_TRY(nw_zip_get(file->zip, "data.pkl", &list, &n, error));
  if (list == NULL)
    return nw_fail(error, NW_BAD_FORMAT, "This zip file is not a PyTorch file: it has no data.pkl.");
  context->zip = file->zip;
  return nw_unpickle(context, list, n, &file->root, error);
}

static NwStatus parse(NwPthFile *file, NwError *error)
{
  const uint8_t *bytes = file->map.bytes;
  size_t n = file->map.size;
  NwUnpickle context = {.arena = &file->arena, .copy_limit = n + COPY_SLACK};
  file->arena.limit = ARENA_LIMIT;
  if (memcmp(bytes, "PK\3\4", 4) == 0) {
    NW_TRY(parse_zip(file, &context, error));
  } else if (n > 262 && memcmp(bytes + 257, "ustar", 5) == 0) {
    file->format = "PyTorch before 0.2 (tar)";
    NW_TRY(nw_pth_read_tar(&context, bytes, n, &file->root, error));
  } else if (bytes[0] == 0x80) {
    file->format = "PyTorch before 1.6";
    NW_TRY(nw_pth_read_stream(&context, bytes, n, &file->root, error));
  } else {
    return nw_fail(error, NW_BAD_FORMAT, "This is not a PyTorch file.");
  }
  return find_weights(file, error);
}

static NwStatus load(NwPthFile *file, const char *path, NwError *error)
{
  NW_TRY(nw_map_file(path, 4, "a PyTorch file", &file->map, error));
  NwStatus status = parse(file, error);
  return status == NW_OK ? NW_OK : nw_error_prefix(error, status, "%s", path);
}

NwStatus nw_pth_open(const char *path, NwPthFile **out, NwError *error)
{
  *out = NULL;
  NwPthFile *file = nw_alloc0(sizeof *file);
  if (file == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to read %s.", path);
  NwStatus status = load(file, path, error);
  if (status != NW_OK) {
    nw_pth_close(file);
    return status;
  }
  *out = file;
  return NW_OK;
}

/* ---- accessors ---- */

const NwPthNode *nw_pth_root(const NwPthFile *file)
{
  return file->root;
}

const NwPthNode *nw_pth_get(const NwPthNode *dict, const char *key)
{
  return dict_get(dict, key);
}

const NwPthNode *nw_pth_get_int(const NwPthNode *dict, int64_t key)
{
  if (dict == NULL || dict->kind != NW_NODE_DICT)
    return NULL;
  for (size_t i = dict->count; i >= 2; i -= 2)
    if (dict->items[i - 2]->kind == NW_NODE_INT && dict->items[i - 2]->number == key)
      return dict->items[i - 1];
  return NULL;
}

const char *nw_pth_text(const NwPthNode *node)
{
  return node != NULL && node->kind == NW_NODE_TEXT ? node->text : NULL;
}

bool nw_pth_int(const NwPthNode *node, int64_t *value)
{
  if (node == NULL || (node->kind != NW_NODE_INT && node->kind != NW_NODE_BOOL))
    return false;
  *value = node->number;
  return true;
}

bool nw_pth_real(const NwPthNode *node, double *value)
{
  int64_t number;
  if (node != NULL && node->kind == NW_NODE_REAL)
    *value = node->real;
  else if (nw_pth_int(node, &number))
    *value = (double)number;
  else
    return false;
  return true;
}

bool nw_pth_is_tensor(const NwPthNode *node, NwSpec *spec, const char **dtype, const char **reason)
{
  if (node == NULL || node->kind != NW_NODE_TENSOR)
    return false;
  *spec = node->spec;
  *dtype = node->dtype;
  *reason = node->reason;
  return true;
}

bool nw_pth_tensor(const NwPthNode *node, NwPthTensor *tensor)
{
  if (node == NULL || node->kind != NW_NODE_TENSOR || node->reason != NULL)
    return false;
  *tensor = (NwPthTensor){NULL, node->spec, node->data};
  return true;
}

int nw_pth_length(const NwPthNode *container)
{
  if (container == NULL || container->kind < NW_NODE_TUPLE || container->kind > NW_NODE_DICT)
    return 0;
  return (int)(container->kind == NW_NODE_DICT ? container->count / 2 : container->count);
}

const NwPthNode *nw_pth_at(const NwPthNode *container, int index, const char **key)
{
  if (key != NULL)
    *key = NULL;
  if (index < 0 || index >= nw_pth_length(container))
    return NULL;
  if (container->kind != NW_NODE_DICT)
    return container->items[index];
  if (key != NULL)
    *key = nw_pth_text(container->items[2 * index]);
  return container->items[2 * index + 1];
}

const char *nw_pth_format(const NwPthFile *file)
{
  return file->format;
}

const NwPthNode *nw_pth_state_dict(const NwPthFile *file)
{
  return file->weights;
}

/* ---- weights into a model ---- */

NwStatus nw_pth_no_weights(const NwPthFile *file, const char *path, NwError *error)
{
  if (file->whole_model != NULL)
    return nw_fail(
        error, NW_UNSUPPORTED,
        "%s is a whole pickled model (class %.60s), which needs its Python code; save model.state_dict() "
        "instead.",
        path, file->whole_model);
  return nw_fail(error, NW_BAD_FORMAT, "%s holds no weights.", path);
}

NwStatus nw_pth_load_param(const NwPthNode *dict, const NwParam *param, NwError *error)
{
  const NwPthNode *node = dict_get(dict, param->name);
  NwPthTensor tensor;
  if (node == NULL || node->kind != NW_NODE_TENSOR)
    return nw_fail(error, NW_BAD_FORMAT, "The weights of %s are missing.", param->name);
  if (!nw_pth_tensor(node, &tensor))
    return nw_fail(error, NW_UNSUPPORTED, "The weights of %s cannot be used: %s.", param->name, node->reason);
  if (!nw_spec_same_shape(&tensor.spec, &param->spec) || tensor.spec.dtype != param->spec.dtype) {
    char have[96], want[96];
    nw_spec_shape_text(&tensor.spec, false, have, sizeof have);
    nw_spec_shape_text(&param->spec, false, want, sizeof want);
    return nw_fail(error, NW_BAD_SHAPE, "The weights of %s are %s %s in the file; this network needs %s %s.",
                   param->name, have, nw_dtype_name(tensor.spec.dtype), want,
                   nw_dtype_name(param->spec.dtype));
  }
  memcpy(param->data, tensor.data, nw_spec_bytes(&param->spec));
  return NW_OK;
}

static NwStatus load_all(const NwPthNode *weights, NwModel *model, NwError *error)
{
  for (int i = 0; i < nw_pth_length(weights); i++) {
    const char *name;
    const NwPthNode *node = nw_pth_at(weights, i, &name);
    if (node->kind == NW_NODE_TENSOR && nw_model_find(model, name) == NULL)
      return nw_fail(error, NW_BAD_SHAPE,
                     "The file has weights for %.100s, which this network does not have.", name);
  }
  for (int i = 0; i < nw_model_count(model); i++)
    NW_TRY(nw_pth_load_param(weights, nw_model_at(model, i), error));
  return NW_OK;
}

NwStatus nw_pth_read_weights(const char *path, NwModel *model, NwError *error)
{
  NwPthFile *file;
  NW_TRY(nw_pth_open(path, &file, error));
  NwStatus status =
      file->weights == NULL ? nw_pth_no_weights(file, path, error) : load_all(file->weights, model, error);
  nw_pth_close(file);
  return status;
}
