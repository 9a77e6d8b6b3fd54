#include "engine/io/weights.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/npy.h"
#include "engine/io/onnx.h"
#include "engine/io/pth.h"
#include "engine/io/safetensors.h"

typedef struct Kept {
  void *thing;
  void (*close)(void *thing);
} Kept;

struct NwWeights {
  NwMappedFile map;
  char *path;
  const char *format;
  NwWeight *items;
  int n, room;
  Kept *kept;
  int n_kept;
};

void nw_weights_close(NwWeights *weights)
{
  if (weights == NULL)
    return;
  for (int i = weights->n_kept; i > 0; i--)
    weights->kept[i - 1].close(weights->kept[i - 1].thing);
  nw_free(weights->kept);
  nw_free(weights->items);
  nw_free(weights->path);
  nw_unmap_file(&weights->map);
  nw_free(weights);
}

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
}

const char *nw_weights_path(const NwWeights *weights)
{
  return weights->path;
}

const char *nw_weights_format(const NwWeights *weights)
{
  return weights->format;
}

int nw_weights_count(const NwWeights *weights)
{
  return weights->n;
}

const NwWeight *nw_weights_at(const NwWeights *weights, int index)
{
  return index >= 0 && index < weights->n ? &weights->items[index] : NULL;
}

NwMappedFile nw_weights_map(const NwWeights *weights)
{
  return weights->map;
}

void nw_weights_set_format(NwWeights *weights, const char *format)
{
  weights->format = format;
}

NwStatus nw_weights_keep(NwWeights *weights, void *thing, void (*close)(void *thing), NwError *error)
{
  size_t n = (size_t)weights->n_kept;
  Kept *kept = thing != NULL ? nw_realloc(weights->kept, n * sizeof *kept, (n + 1) * sizeof *kept) : NULL;
  if (kept == NULL) {
    if (thing != NULL)
      close(thing);
    return no_memory(error);
  }
  weights->kept = kept;
  weights->kept[weights->n_kept++] = (Kept){thing, close};
  return NW_OK;
}

void *nw_weights_alloc(NwWeights *weights, size_t size)
{
  void *block = nw_alloc(size);
  return nw_weights_keep(weights, block, nw_free, NULL) == NW_OK ? block : NULL;
}

static char *copy_text(NwWeights *weights, const char *text)
{
  size_t n = strlen(text) + 1;
  char *copy = nw_weights_alloc(weights, n);
  if (copy != NULL)
    memcpy(copy, text, n);
  return copy;
}

NwStatus nw_weights_add(NwWeights *weights, NwWeight weight, NwError *error)
{
  if (weights->n == weights->room) {
    int room = weights->room ? 2 * weights->room : 64;
    NwWeight *items =
        nw_realloc(weights->items, (size_t)weights->room * sizeof *items, (size_t)room * sizeof *items);
    if (items == NULL)
      return no_memory(error);
    weights->items = items;
    weights->room = room;
  }
  weight.name = copy_text(weights, weight.name);
  weight.dtype = copy_text(weights, weight.dtype);
  if (weight.name == NULL || weight.dtype == NULL)
    return no_memory(error);
  weights->items[weights->n++] = weight;
  return NW_OK;
}

static int by_name(const void *a, const void *b)
{
  return strcmp(((const NwWeight *)a)->name, ((const NwWeight *)b)->name);
}

void nw_weights_sort(NwWeights *weights, const char *const *names, int n)
{
  if (n != weights->n || n == 0)
    return;
  size_t bytes = (size_t)n * sizeof *weights->items;
  NwWeight *sorted = nw_alloc(bytes), *out = nw_alloc(bytes);
  bool whole = sorted != NULL && out != NULL;
  if (whole) {
    memcpy(sorted, weights->items, bytes);
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
  }
  for (int i = 0; i < n && whole; i++) {
    NwWeight key = {.name = names[i]}, *found = NULL;
    if (names[i] != NULL)
      found = bsearch(&key, sorted, (size_t)n, sizeof *sorted, by_name);
    whole = found != NULL && found->dtype != NULL;
    if (!whole)
      break;
    out[i] = *found;
    found->dtype = NULL; /* a name twice: not an order of these tensors */
  }
  if (whole)
    memcpy(weights->items, out, bytes);
  nw_free(sorted);
  nw_free(out);
}

/* ---- PyTorch's own ---- */

static void close_pth(void *file)
{
  nw_pth_close(file);
}

static NwStatus read_pth(NwWeights *weights, NwError *error)
{
  NwPthFile *file = NULL;
  NW_TRY(nw_pth_open(weights->path, &file, error));
  NW_TRY(nw_weights_keep(weights, file, close_pth, error));
  const NwPthNode *state = nw_pth_state_dict(file);
  if (state == NULL)
    return nw_pth_no_weights(file, weights->path, error);
  weights->format = nw_pth_format(file);
  for (int i = 0; i < nw_pth_length(state); i++) {
    const char *name;
    NwWeight weight = {0};
    const NwPthNode *node = nw_pth_at(state, i, &name);
    NwPthTensor tensor;
    if (name == NULL || !nw_pth_is_tensor(node, &weight.spec, &weight.dtype, &weight.reason))
      continue;
    weight.name = name;
    if (nw_pth_tensor(node, &tensor))
      weight.data = tensor.data;
    NW_TRY(nw_weights_add(weights, weight, error));
  }
  return NW_OK;
}

/* ---- opening ---- */

static NwStatus read_any(NwWeights *weights, NwError *error)
{
  const uint8_t *bytes = weights->map.bytes;
  size_t n = weights->map.size;
  bool zip = n >= 4 && memcmp(bytes, "PK\3\4", 4) == 0, prefixed = true;
  NwStatus status;
  if (n >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0)
    status = nw_npy_read(weights, error);
  else if (zip && nw_npz_is(weights))
    status = nw_npz_read(weights, error);
  else if (n >= 9 && bytes[8] == '{')
    status = nw_safetensors_read(weights, error);
  else if (nw_onnx_is(bytes, n))
    status = nw_onnx_read(weights, error);
  else {
    status = read_pth(weights, error);
    prefixed = false; /* its errors say the path themselves */
  }
  return status == NW_OK || !prefixed ? status : nw_error_prefix(error, status, "%s", weights->path);
}

/* Sentences name what the file names; its bytes may be no text at all, or steer a terminal. */
static void make_printable(char *text)
{
  for (unsigned char *at = (unsigned char *)text; *at;) {
    int more = *at < 0x80                  ? 0
               : *at >= 0xc2 && *at < 0xe0 ? 1
               : *at >= 0xe0 && *at < 0xf0 ? 2
               : *at >= 0xf0 && *at < 0xf5 ? 3
                                           : -1;
    bool fine = more >= 0 && *at >= ' ' && *at != 0x7f;
    if (more >= 2) /* overlong forms, surrogates, beyond U+10FFFF */
      fine = !(*at == 0xe0 && at[1] < 0xa0) && !(*at == 0xed && at[1] >= 0xa0) &&
             !(*at == 0xf0 && at[1] < 0x90) && !(*at == 0xf4 && at[1] >= 0x90);
    for (int i = 1; i <= more && fine; i++)
      fine = (at[i] & 0xc0) == 0x80;
    if (fine) {
      at += more + 1;
      continue;
    }
    *at++ = '?';
  }
}

NwStatus nw_weights_open(const char *path, NwWeights **out, NwError *error)
{
  *out = NULL;
  NwWeights *weights = nw_alloc0(sizeof *weights);
  if (weights == NULL)
    return no_memory(error);
  weights->path = nw_strdup(path);
  NwStatus status = weights->path != NULL ? nw_map_file(path, 8, "a file of weights", &weights->map, error)
                                          : no_memory(error);
  if (status == NW_OK)
    status = read_any(weights, error);
  if (status == NW_OK && weights->n == 0)
    status = nw_fail(error, NW_BAD_FORMAT, "%s holds no weights.", path);
  if (status != NW_OK) {
    nw_weights_close(weights);
    if (error != NULL)
      make_printable(error->text);
    return status;
  }
  *out = weights;
  return NW_OK;
}
