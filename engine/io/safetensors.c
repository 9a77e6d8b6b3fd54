#include "engine/io/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/base/memory.h"
#include "engine/io/bytes.h"

enum { PREFIX = 8, MAX_HEADER = 100000000, MAX_NAMED_DIMS = 64 };
static const char order_key[] = "netwright.order";

/* type -1: known, but we have no such numbers */
static const struct {
  const char *name, *dtype;
  unsigned size;
  int type;
} types[] = {
    {"F32", "float32", 4, NW_F32},    {"F16", "float16", 2, NW_F16}, {"BF16", "bfloat16", 2, NW_BF16},
    {"F64", "float64", 8, NW_F64},    {"I64", "int64", 8, NW_I64},   {"I32", "int32", 4, NW_I32},
    {"U8", "uint8", 1, NW_U8},        {"BOOL", "bool", 1, NW_BOOL},  {"I16", "int16", 2, -1},
    {"U16", "uint16", 2, -1},         {"I8", "int8", 1, -1},         {"U32", "uint32", 4, -1},
    {"U64", "uint64", 8, -1},         {"C64", "complex64", 8, -1},   {"F8_E4M3", "float8_e4m3fn", 1, -1},
    {"F8_E5M2", "float8_e5m2", 1, -1}};

static NwStatus bad(NwError *error, const char *name, const char *what)
{
  return nw_fail(error, NW_BAD_FORMAT, "This safetensors file is damaged: %.100s %s.", name, what);
}

/* ---- reading ---- */

typedef struct Span {
  uint64_t begin, end;
} Span;

static NwStatus read_shape(const NwJson *shape, const char *name, NwWeight *weight, uint64_t *count,
                           NwError *error)
{
  size_t ndim = nw_json_length(shape);
  unsigned __int128 product = 1;
  int64_t dims[NW_MAX_DIMS] = {0};
  if (!nw_json_is_array(shape) || ndim > MAX_NAMED_DIMS)
    return bad(error, name, "has no shape");
  for (size_t i = 0; i < ndim; i++) {
    int64_t size = nw_json_to_int(nw_json_at(shape, i), -1);
    if (size < 0)
      return bad(error, name, "has a shape that is no list of sizes");
    product *= (uint64_t)size;
    if (product > (uint64_t)1 << 60)
      return bad(error, name, "is larger than any file");
    if (i < NW_MAX_DIMS)
      dims[i] = size;
  }
  *count = (uint64_t)product;
  weight->spec = nw_spec(NW_U8, ndim > NW_MAX_DIMS ? 0 : (int)ndim, dims);
  if (ndim > NW_MAX_DIMS)
    weight->reason = "it has too many dimensions";
  return NW_OK;
}

static NwStatus read_tensor(NwWeights *weights, const char *name, const NwJson *json, uint64_t data_size,
                            Span *span, NwError *error)
{
  NwMappedFile map = nw_weights_map(weights);
  const NwJson *offsets = nw_json_get(json, "data_offsets");
  const char *type = nw_json_get_string(json, "dtype", NULL);
  NwWeight weight = {.name = name};
  uint64_t count = 0;
  int t = 0;
  while (t < NW_COUNT(types) && (type == NULL || strcmp(types[t].name, type) != 0))
    t++;
  if (type == NULL || nw_json_length(offsets) != 2)
    return bad(error, name, "is described wrongly");
  int64_t begin = nw_json_to_int(nw_json_at(offsets, 0), -1),
          end = nw_json_to_int(nw_json_at(offsets, 1), -1);
  if (begin < 0 || end < begin || (uint64_t)end > data_size)
    return bad(error, name, "lies outside of the file, which may have been cut off");
  NW_TRY(read_shape(nw_json_get(json, "shape"), name, &weight, &count, error));
  *span = (Span){(uint64_t)begin, (uint64_t)end};
  weight.data = map.bytes + (map.size - data_size) + begin;
  weight.dtype = t < NW_COUNT(types) ? types[t].dtype : type;
  if (t == NW_COUNT(types) || types[t].type < 0)
    weight.reason = "its type of numbers is not supported";
  else
    weight.spec.dtype = (NwDType)types[t].type;
  if (t < NW_COUNT(types) && count * types[t].size != (uint64_t)(end - begin))
    return bad(error, name, "has more or fewer numbers than its shape says");
  return nw_weights_add(weights, weight, error);
}

static int compare_spans(const void *a, const void *b)
{
  const Span *x = a, *y = b;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

/* They must tile the data: what could hide between them would be somebody else's file. */
static NwStatus check_tiling(Span *spans, size_t n, uint64_t data_size, NwError *error)
{
  uint64_t at = 0;
  if (n > 0)
    qsort(spans, n, sizeof *spans, compare_spans);
  for (size_t i = 0; i < n; at = spans[i++].end)
    if (spans[i].begin != at)
      return bad(error, "the data", spans[i].begin < at ? "overlaps" : "has a gap");
  return at == data_size ? NW_OK
                         : bad(error, "the data", "is longer than its tensors, or the file is cut off");
}

static void restore_order(NwWeights *weights, const NwJson *header)
{
  const char *text = nw_json_get_string(nw_json_get(header, "__metadata__"), order_key, NULL);
  NwJson *list = NULL;
  if (text == NULL || nw_json_parse(text, strlen(text), "the order", &list, NULL) != NW_OK)
    return;
  size_t n = nw_json_length(list);
  const char **names = n == (size_t)nw_weights_count(weights) ? nw_alloc0(n * sizeof *names) : NULL;
  for (size_t i = 0; i < n && names != NULL; i++)
    names[i] = nw_json_text(nw_json_at(list, i));
  if (names != NULL)
    nw_weights_sort(weights, names, (int)n);
  nw_free(names);
  nw_json_free(list);
}

static NwStatus read_tensors(NwWeights *weights, const NwJson *header, uint64_t data_size, NwError *error)
{
  size_t n = 0;
  if (!nw_json_is_object(header))
    return bad(error, "the header", "is no list of tensors");
  Span *spans = nw_alloc0((nw_json_length(header) + 1) * sizeof *spans);
  if (spans == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
  NwStatus status = NW_OK;
  for (void *it = nw_json_first(header); it != NULL && status == NW_OK; it = nw_json_next(header, it))
    if (strcmp(nw_json_key(it), "__metadata__") != 0)
      status = read_tensor(weights, nw_json_key(it), nw_json_value(it), data_size, &spans[n++], error);
  if (status == NW_OK)
    status = check_tiling(spans, n, data_size, error);
  nw_free(spans);
  if (status == NW_OK)
    restore_order(weights, header);
  return status;
}

NwStatus nw_safetensors_read(NwWeights *weights, NwError *error)
{
  NwMappedFile map = nw_weights_map(weights);
  NwJson *header = NULL;
  nw_weights_set_format(weights, "safetensors");
  uint64_t length = map.size >= PREFIX ? nw_get_u64(map.bytes) : 0;
  if (map.size < PREFIX || length > MAX_HEADER || length > map.size - PREFIX)
    return bad(error, "the header", "is longer than the file, which may have been cut off");
  NW_TRY(nw_json_parse((const char *)map.bytes + PREFIX, (size_t)length,
                       "the header of this safetensors file", &header, error));
  NwStatus status = read_tensors(weights, header, map.size - PREFIX - length, error);
  nw_json_free(header);
  return status;
}

/* ---- writing ---- */

typedef struct Out {
  const NwParam *param;
  NwDType dtype; /* as written */
} Out;

/* The reference writer's order: large elements first, so that every tensor is aligned by itself. */
static int compare_out(const void *a, const void *b)
{
  const Out *x = a, *y = b;
  size_t p = nw_dtype_size(x->dtype), q = nw_dtype_size(y->dtype);
  if (p != q)
    return p < q ? 1 : -1;
  return strcmp(x->param->name, y->param->name);
}

static const char *type_name(NwDType dtype)
{
  for (int i = 0; i < NW_COUNT(types); i++)
    if (types[i].type == (int)dtype)
      return types[i].name;
  return NULL;
}

static NwJson *order_of(NwModel *model)
{
  NwJson *order = nw_json_array();
  for (int i = 0; i < nw_model_count(model); i++)
    nw_json_append(order, nw_json_string(nw_model_at(model, i)->name));
  return order;
}

static NwJson *make_header(NwModel *model, const Out *list)
{
  NwJson *header = nw_json_object(), *about = nw_json_object(), *order = order_of(model);
  char *text = nw_json_print(order, false);
  nw_json_free(order);
  nw_json_set_string(about, "format", "pt");
  bool whole = text != NULL && nw_json_set_string(about, order_key, text);
  nw_free(text);
  whole = nw_json_set(header, "__metadata__", about) && whole;
  int64_t at = 0;
  for (int i = 0; i < nw_model_count(model) && whole; i++) {
    const NwSpec *spec = &list[i].param->spec;
    NwJson *one = nw_json_object(), *shape = nw_json_array(), *offsets = nw_json_array();
    for (int d = 0; d < spec->ndim; d++)
      whole = nw_json_append(shape, nw_json_int(spec->dims[d])) && whole;
    int64_t end = at + nw_spec_count(spec) * (int64_t)nw_dtype_size(list[i].dtype);
    whole = nw_json_append(offsets, nw_json_int(at)) && whole;
    whole = nw_json_append(offsets, nw_json_int(end)) && whole;
    whole = nw_json_set_string(one, "dtype", type_name(list[i].dtype)) && whole;
    whole = nw_json_set(one, "shape", shape) && whole;
    whole = nw_json_set(one, "data_offsets", offsets) && whole;
    whole = nw_json_set(header, list[i].param->name, one) && whole;
    at = end;
  }
  if (whole)
    return header;
  nw_json_free(header);
  return NULL;
}

static NwStatus write_data(NwFileWriter *file, const Out *out, NwError *error)
{
  const NwSpec *spec = &out->param->spec;
  if (out->dtype == spec->dtype)
    return nw_file_writer_write(file, out->param->data, nw_spec_bytes(spec), error);
  int64_t n = nw_spec_count(spec);
  size_t bytes = (size_t)n * nw_dtype_size(out->dtype);
  void *copy = nw_alloc(bytes);
  if (copy == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the weights.");
  nw_convert(spec->dtype, out->param->data, out->dtype, copy, n);
  NwStatus status = nw_file_writer_write(file, copy, bytes, error);
  nw_free(copy);
  return status;
}

static NwStatus write_all(NwFileWriter *file, NwModel *model, const Out *list, NwError *error)
{
  NwJson *header = make_header(model, list);
  char *text = header != NULL ? nw_json_print(header, false) : NULL;
  nw_json_free(header);
  if (text == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the weights.");
  NwText head = {0};
  size_t length = strlen(text), pad = (8 - length % 8) % 8;
  nw_put_u64(&head, length + pad);
  nw_text_add_n(&head, text, length);
  nw_text_add_n(&head, "        ", pad);
  NwStatus status = head.failed ? nw_fail(error, NW_NO_MEMORY, "There is no memory to write the weights.")
                                : nw_file_writer_write(file, head.data, head.length, error);
  nw_text_clear(&head);
  nw_free(text);
  for (int i = 0; i < nw_model_count(model) && status == NW_OK; i++)
    status = write_data(file, &list[i], error);
  return status;
}

NwStatus nw_safetensors_write(const char *path, NwModel *model, NwDType dtype, NwError *error)
{
  int n = nw_model_count(model);
  NwFileWriter *file = NULL;
  Out *list = nw_alloc0(((size_t)n + 1) * sizeof *list);
  if (list == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the weights.");
  for (int i = 0; i < n; i++) {
    const NwParam *param = nw_model_at(model, i);
    list[i] = (Out){param, param->spec.dtype == NW_F32 ? dtype : param->spec.dtype};
  }
  qsort(list, (size_t)n, sizeof *list, compare_out);
  NwStatus status = nw_file_writer_open(path, &file, error);
  if (status == NW_OK) {
    status = write_all(file, model, list, error);
    if (status == NW_OK)
      status = nw_file_writer_commit(file, error);
    else
      nw_file_writer_cancel(file);
  }
  nw_free(list);
  return status;
}
