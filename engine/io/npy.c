#include "engine/io/npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/bytes.h"
#include "engine/io/zip-read.h"
#include "engine/io/zip-write.h"

/* type -1: known, but we have no such numbers */
static const struct {
  const char *descr, *dtype;
  unsigned size;
  int type;
} types[] = {{"f4", "float32", 4, NW_F32}, {"f8", "float64", 8, NW_F64}, {"f2", "float16", 2, NW_F16},
             {"i8", "int64", 8, NW_I64},   {"i4", "int32", 4, NW_I32},   {"u1", "uint8", 1, NW_U8},
             {"b1", "bool", 1, NW_BOOL},   {"i2", "int16", 2, -1},       {"i1", "int8", 1, -1},
             {"u2", "uint16", 2, -1},      {"u4", "uint32", 4, -1},      {"u8", "uint64", 8, -1},
             {"c8", "complex64", 8, -1},   {"c16", "complex128", 16, -1}};
enum { MAGIC = 6, MAX_AXES = 64 };

typedef struct Array {
  int type; /* index into types; -1: none of them */
  bool swapped, fortran;
  int ndim;
  int64_t dims[MAX_AXES];
  uint64_t count;
  const uint8_t *data;
  size_t left; /* bytes after the header */
} Array;

static NwStatus bad(NwError *error, const char *what)
{
  return nw_fail(error, NW_BAD_FORMAT, "This NumPy array is damaged: %s.", what);
}

/* The header is a Python dictionary of three fixed keys; it is looked through, not parsed. */
static const char *value_of(const char *header, const char *key)
{
  const char *at = strstr(header, key);
  if (at == NULL)
    return NULL;
  at += strlen(key);
  while (*at == ' ' || *at == ':')
    at++;
  return at;
}

static NwStatus read_descr(const char *at, Array *array, NwError *error)
{
  char word[16];
  size_t n = 0;
  if (at == NULL || (*at != '\'' && *at != '"'))
    return nw_fail(error, NW_UNSUPPORTED,
                   "This NumPy array has fields; plain arrays of numbers can be read.");
  for (at++; *at && *at != '\'' && *at != '"' && n < sizeof word - 1; at++)
    word[n++] = *at;
  word[n] = 0;
  const char *name = word[0] != 0 ? word + 1 : word;
  array->swapped = word[0] == '>';
  array->type = -1;
  for (int i = 0; i < NW_COUNT(types); i++)
    if (strcmp(types[i].descr, name) == 0 && strchr("<>|=", word[0]) != NULL)
      array->type = i;
  if (word[0] != 0 && name[0] == 'O')
    return nw_fail(error, NW_UNSUPPORTED,
                   "This NumPy array holds Python objects, which are not opened; save it as numbers.");
  return array->type >= 0 ? NW_OK
                          : nw_fail(error, NW_UNSUPPORTED,
                                    "This NumPy array has the type %s, which cannot be read.", word);
}

static NwStatus read_shape(const char *at, Array *array, NwError *error)
{
  unsigned __int128 count = 1;
  if (at == NULL || *at != '(')
    return bad(error, "it has no shape");
  at++;
  for (;;) {
    while (*at == ' ' || *at == ',')
      at++;
    if (*at == ')')
      break;
    if (*at < '0' || *at > '9' || array->ndim == MAX_AXES)
      return bad(error, "its shape is no list of sizes");
    uint64_t size = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
      size = size * 10 + (uint64_t)(*at - '0');
      if (size > (uint64_t)1 << 60)
        return bad(error, "it is larger than any file");
    }
    if (*at == 'L') /* Python 2 */
      at++;
    count *= size;
    if (count > (uint64_t)1 << 60)
      return bad(error, "it is larger than any file");
    array->dims[array->ndim++] = (int64_t)size;
  }
  array->count = (uint64_t)count;
  return NW_OK;
}

static NwStatus parse_header(char *header, Array *array, NwError *error)
{
  const char *order = value_of(header, "'fortran_order'");
  NW_TRY(read_descr(value_of(header, "'descr'"), array, error));
  NW_TRY(read_shape(value_of(header, "'shape'"), array, error));
  if (order == NULL)
    return bad(error, "its order is missing");
  array->fortran = *order == 'T' && array->ndim > 1;
  return NW_OK;
}

static NwStatus read_header(const uint8_t *bytes, size_t n, Array *array, NwError *error)
{
  *array = (Array){0};
  if (n < MAGIC + 4 || memcmp(bytes, "\x93NUMPY", MAGIC) != 0)
    return bad(error, "it does not begin like one");
  unsigned version = bytes[MAGIC];
  size_t start = version == 1 ? MAGIC + 4 : MAGIC + 6;
  if (version < 1 || version > 3 || n < start)
    return nw_fail(error, NW_TOO_NEW, "This NumPy array has format version %u; 1 to 3 can be read.", version);
  size_t length = version == 1 ? nw_get_u16(bytes + MAGIC + 2) : nw_get_u32(bytes + MAGIC + 2);
  if (length > n - start || length > 65536)
    return bad(error, "its header is cut off");
  char *header = nw_alloc(length + 1);
  if (header == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
  memcpy(header, bytes + start, length);
  header[length] = 0;
  NwStatus status = parse_header(header, array, error);
  nw_free(header);
  array->data = bytes + start + length;
  array->left = n - start - length;
  return status;
}

/* Into row-major order and this machine's byte order. */
static void rearrange(const Array *array, uint8_t *out)
{
  unsigned size = types[array->type].size;
  int64_t index[MAX_AXES] = {0}, strides[MAX_AXES], stride = 1;
  for (int k = 0; k < array->ndim; k++) {
    int i = array->fortran ? k : array->ndim - 1 - k;
    strides[i] = stride;
    stride *= array->dims[i];
  }
  for (uint64_t n = 0, at = 0; n < array->count; n++, out += size) {
    const uint8_t *from = array->data + at * size;
    for (unsigned b = 0; b < size; b++)
      out[b] = from[array->swapped ? size - 1 - b : b];
    for (int i = array->ndim - 1; i >= 0; i--) {
      at += (uint64_t)strides[i];
      if (++index[i] < array->dims[i])
        break;
      at -= (uint64_t)(strides[i] * array->dims[i]);
      index[i] = 0;
    }
  }
}

static NwStatus add_array(NwWeights *weights, const char *name, const uint8_t *bytes, size_t n,
                          NwError *error)
{
  Array array;
  NW_TRY(read_header(bytes, n, &array, error));
  unsigned size = types[array.type].size;
  if (array.count > array.left / size)
    return bad(error, "it has fewer numbers than its shape says, so it was cut off");
  NwWeight weight = {.name = name, .dtype = types[array.type].dtype, .data = array.data};
  int ndim = array.ndim <= NW_MAX_DIMS ? array.ndim : 0;
  weight.spec =
      nw_spec(types[array.type].type >= 0 ? (NwDType)types[array.type].type : NW_U8, ndim, array.dims);
  if (array.ndim > NW_MAX_DIMS)
    weight.reason = "it has too many dimensions";
  else if (types[array.type].type < 0)
    weight.reason = "its type of numbers is not supported";
  else if (array.count > 0 && (array.fortran || (array.swapped && size > 1))) {
    uint8_t *copy = nw_weights_alloc(weights, (size_t)array.count * size);
    if (copy == NULL)
      return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
    rearrange(&array, copy);
    weight.data = copy;
  }
  return nw_weights_add(weights, weight, error);
}

/* The name without folders and without ".npy". */
static NwStatus add_named(NwWeights *weights, const char *path, bool folders, const uint8_t *bytes, size_t n,
                          NwError *error)
{
  const char *slash = folders ? NULL : strrchr(path, '/');
  char *name = nw_strdup(slash != NULL ? slash + 1 : path);
  if (name == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
  size_t length = strlen(name);
  if (length > 4 && strcmp(name + length - 4, ".npy") == 0)
    name[length - 4] = 0;
  NwStatus status = add_array(weights, name, bytes, n, error);
  nw_free(name);
  return status;
}

NwStatus nw_npy_read(NwWeights *weights, NwError *error)
{
  NwMappedFile map = nw_weights_map(weights);
  nw_weights_set_format(weights, "NumPy array");
  return add_named(weights, nw_weights_path(weights), false, map.bytes, map.size, error);
}

bool nw_npz_is(const NwWeights *weights)
{
  /* the first local header tells; the list of records at the end is checked when they are read */
  NwMappedFile map = nw_weights_map(weights);
  if (map.size < 30)
    return false;
  size_t length = nw_get_u16(map.bytes + 26);
  return length >= 4 && length <= map.size - 30 && memcmp(map.bytes + 30 + length - 4, ".npy", 4) == 0;
}

static void close_zip(void *zip)
{
  nw_zip_close(zip);
}

NwStatus nw_npz_read(NwWeights *weights, NwError *error)
{
  NwMappedFile map = nw_weights_map(weights);
  NwZip *zip = NULL;
  nw_weights_set_format(weights, "NumPy arrays");
  NW_TRY(nw_zip_open(map.bytes, map.size, &zip, error));
  NW_TRY(nw_weights_keep(weights, zip, close_zip, error));
  for (size_t i = 0; i < nw_zip_count(zip); i++) {
    const char *name = nw_zip_name(zip, i);
    const uint8_t *bytes;
    size_t n, length = strlen(name);
    if (length < 4 || strcmp(name + length - 4, ".npy") != 0)
      continue;
    NW_TRY(nw_zip_get_at(zip, i, &bytes, &n, error));
    NwStatus status = add_named(weights, name, true, bytes, n, error);
    if (status != NW_OK)
      return nw_error_prefix(error, status, "The array %.100s", name);
  }
  return NW_OK;
}

/* ---- writing ---- */

static void put_header(NwText *out, const NwSpec *spec, const char *descr)
{
  NwText dict = {0};
  nw_text_printf(&dict, "{'descr': '%s%s', 'fortran_order': False, 'shape': (",
                 nw_dtype_size(spec->dtype) > 1 ? "<" : "|", descr);
  for (int i = 0; i < spec->ndim; i++)
    nw_text_printf(&dict, "%" PRId64 ", ", spec->dims[i]);
  nw_text_add(&dict, "), }");
  size_t pad = (64 - (MAGIC + 4 + dict.length + 1) % 64) % 64;
  nw_text_add(out, "\x93NUMPY");
  nw_put_u8(out, 1);
  nw_put_u8(out, 0);
  nw_put_u16(out, (uint16_t)(dict.length + pad + 1));
  nw_text_add_n(out, dict.data, dict.length);
  for (size_t i = 0; i < pad; i++)
    nw_text_add(out, " ");
  nw_text_add(out, "\n");
  out->failed = out->failed || dict.failed;
  nw_text_clear(&dict);
}

static NwStatus write_array(NwZipWriter *zip, const NwParam *param, NwError *error)
{
  const char *descr = NULL;
  for (int i = 0; i < NW_COUNT(types); i++)
    if (types[i].type == (int)param->spec.dtype)
      descr = types[i].descr;
  if (descr == NULL)
    return nw_fail(error, NW_UNSUPPORTED, "NumPy has no %s, the type of %s.",
                   nw_dtype_name(param->spec.dtype), param->name);
  NwText name = {0}, bytes = {0};
  nw_text_printf(&name, "%s.npy", param->name);
  put_header(&bytes, &param->spec, descr);
  nw_text_add_n(&bytes, param->data, nw_spec_bytes(&param->spec));
  NwStatus status = name.failed || bytes.failed
                        ? nw_fail(error, NW_NO_MEMORY, "There is no memory to write the weights.")
                        : nw_zip_writer_add(zip, name.data, bytes.data, bytes.length, error);
  nw_text_clear(&name);
  nw_text_clear(&bytes);
  return status;
}

NwStatus nw_npz_write(const char *path, NwModel *model, NwError *error)
{
  NwZipWriter *zip;
  NwStatus status = NW_OK;
  NW_TRY(nw_zip_writer_open(path, NULL, &zip, error));
  for (int i = 0; i < nw_model_count(model) && status == NW_OK; i++)
    status = write_array(zip, nw_model_at(model, i), error);
  if (status == NW_OK)
    return nw_zip_writer_commit(zip, error);
  nw_zip_writer_cancel(zip);
  return status;
}
