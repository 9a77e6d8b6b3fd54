#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "engine/io/pickle-read.h"
#include "engine/io/pth.h"

/* Cap of what a list of contents may need, and of the copies of tensors that cannot be used where they lie.
 */
static const size_t ARENA_LIMIT = (size_t)1 << 30, COPY_SLACK = (size_t)64 << 20;
enum { MAX_VERSION = 10, MAX_MODULE_DEPTH = 200 };

struct NwPthFile {
  void *map;
  size_t size;
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
  if (file->map != NULL)
    munmap(file->map, file->size);
  nw_free(file);
}

static NwStatus map_file(NwPthFile *file, const char *path, NwError *error)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return nw_fail_errno(error, errno, "The file %s cannot be opened", path);
  struct stat info;
  NwStatus status = NW_OK;
  if (fstat(fd, &info) != 0)
    status = nw_fail_errno(error, errno, "The file %s cannot be read", path);
  else if (!S_ISREG(info.st_mode))
    status = nw_fail(error, NW_BAD_FORMAT, "%s is not a file.", path);
  else if (info.st_size < 4)
    status = nw_fail(error, NW_BAD_FORMAT, "%s is not a PyTorch file: it is %s.", path,
                     info.st_size == 0 ? "empty" : "too short");
  if (status == NW_OK) {
    void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
      status = nw_fail_errno(error, errno, "The file %s cannot be read", path);
    else {
      file->map = map;
      file->size = (size_t)info.st_size;
    }
  }
  close(fd);
  return status;
}

static NwStatus check_kind(const NwPthFile *file, const char *path, NwError *error)
{
  const uint8_t *bytes = file->map;
  if (memcmp(bytes, "PK\3\4", 4) == 0)
    return NW_OK;
  bool tar = file->size > 262 && memcmp(bytes + 257, "ustar", 5) == 0;
  if (bytes[0] == 0x80 || tar)
    return nw_fail(
        error, NW_UNSUPPORTED,
        "%s is in the format PyTorch used before 1.6; open it with torch.load in PyTorch and save it again "
        "with torch.save.",
        path);
  return nw_fail(error, NW_BAD_FORMAT, "%s is not a PyTorch file.", path);
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

/* TorchScript: attributes of the objects are parameters, buffers and submodules, in state_dict order. */
static NwStatus flatten(NwPthFile *file, const NwPthNode *object, const char *prefix, int depth,
                        NwPthNode *dict, NwError *error)
{
  if (depth > MAX_MODULE_DEPTH)
    return nw_fail(error, NW_BAD_FORMAT, "The file's modules are nested too deeply.");
  const NwPthNode *state = object->state;
  for (size_t i = 0; state != NULL && state->kind == NW_NODE_DICT && i + 1 < state->count; i += 2) {
    const NwPthNode *key = state->items[i];
    NwPthNode *value = state->items[i + 1];
    if (key->kind != NW_NODE_TEXT || (value->kind != NW_NODE_TENSOR && value->kind != NW_NODE_OBJECT))
      continue;
    size_t n = strlen(prefix) + key->length + 2;
    char *name = nw_pth_arena_alloc(&file->arena, n);
    if (name == NULL)
      return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
    strcpy(name, prefix);
    strcat(name, key->text);
    if (value->kind == NW_NODE_OBJECT) {
      strcat(name, ".");
      NW_TRY(flatten(file, value, name, depth + 1, dict, error));
      continue;
    }
    NwPthNode *text = nw_pth_node_new(&file->arena, NW_NODE_TEXT);
    if (text == NULL)
      return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
    text->text = name;
    text->length = strlen(name);
    if (!nw_pth_node_push(&file->arena, dict, text) || !nw_pth_node_push(&file->arena, dict, value))
      return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
  }
  return NW_OK;
}

static NwStatus find_weights(NwPthFile *file, NwError *error)
{
  const NwPthNode *root = file->root;
  if (root->kind != NW_NODE_OBJECT) {
    file->weights = find_state_dict(root);
    const NwPthNode *model = dict_get(root, "model");
    if (file->weights == NULL && model != NULL && model->kind == NW_NODE_OBJECT)
      root = model;
    else
      return NW_OK;
  }
  const NwPthNode *type = root->type;
  const char *module = type->kind == NW_NODE_GLOBAL ? type->module : "";
  if (strncmp(module, "__torch__", 9) != 0) {
    file->whole_model = type->kind == NW_NODE_GLOBAL ? type->name : "unknown";
    return NW_OK;
  }
  NwPthNode *dict = nw_pth_node_new(&file->arena, NW_NODE_DICT);
  if (dict == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
  NW_TRY(flatten(file, root, "", 0, dict, error));
  file->weights = dict->count > 0 ? dict : NULL;
  return NW_OK;
}

static NwStatus parse(NwPthFile *file, NwError *error)
{
  const uint8_t *list;
  size_t n;
  NwUnpickle context = {.arena = &file->arena};
  NW_TRY(nw_zip_open(file->map, file->size, &file->zip, error));
  NW_TRY(check_version(file, error));
  NW_TRY(read_order(file, &context.big_endian, error));
  NW_TRY(nw_zip_get(file->zip, "data.pkl", &list, &n, error));
  if (list == NULL)
    return nw_fail(error, NW_BAD_FORMAT, "This zip file is not a PyTorch file: it has no data.pkl.");
  file->arena.limit = ARENA_LIMIT;
  context.zip = file->zip;
  context.copy_limit = file->size + COPY_SLACK;
  NW_TRY(nw_unpickle(&context, list, n, &file->root, error));
  return find_weights(file, error);
}

static NwStatus load(NwPthFile *file, const char *path, NwError *error)
{
  NW_TRY(map_file(file, path, error));
  NW_TRY(check_kind(file, path, error));
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

const NwPthNode *nw_pth_state_dict(const NwPthFile *file)
{
  return file->weights;
}

/* ---- weights into a model ---- */

static NwStatus no_weights(const NwPthFile *file, const char *path, NwError *error)
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
      file->weights == NULL ? no_weights(file, path, error) : load_all(file->weights, model, error);
  nw_pth_close(file);
  return status;
}
