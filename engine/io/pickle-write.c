#include "engine/io/pickle-write.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/bytes.h"
#include "engine/io/pth.h"

/* ---- opcodes ---- */

void nw_pickle_put_start(NwText *out)
{
  nw_put_u8(out, 0x80);
  nw_put_u8(out, 2);
}

void nw_pickle_put_text(NwText *out, const char *text)
{
  size_t n = strlen(text);
  nw_put_u8(out, 'X');
  nw_put_u32(out, (uint32_t)n);
  nw_text_add_n(out, text, n);
}

void nw_pickle_put_int(NwText *out, int64_t value)
{
  if (value >= 0 && value < 256) {
    nw_put_u8(out, 'K');
    nw_put_u8(out, (unsigned)value);
  } else if (value >= 0 && value < 65536) {
    nw_put_u8(out, 'M');
    nw_put_u16(out, (uint16_t)value);
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    nw_put_u8(out, 'J');
    nw_put_u32(out, (uint32_t)(int32_t)value);
  } else {
    nw_put_u8(out, 0x8a);
    nw_put_u8(out, 8);
    nw_put_u64(out, (uint64_t)value);
  }
}

void nw_pickle_put_real(NwText *out, double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  nw_put_u8(out, 'G');
  for (int shift = 56; shift >= 0; shift -= 8) /* the one big-endian number of the format */
    nw_put_u8(out, (unsigned)(bits >> shift & 255));
}

void nw_pickle_put_global(NwText *out, const char *module, const char *name)
{
  nw_text_add(out, "c");
  nw_text_add(out, module);
  nw_text_add(out, "\n");
  nw_text_add(out, name);
  nw_text_add(out, "\n");
}

void nw_pickle_put_ordered_dict(NwText *out)
{
  nw_pickle_put_global(out, "collections", "OrderedDict");
  nw_text_add(out, ")R");
}

static void put_sizes(NwText *out, const int64_t *sizes, int n)
{
  nw_text_add(out, n == 0 ? ")" : "(");
  for (int i = 0; i < n; i++)
    nw_pickle_put_int(out, sizes[i]);
  if (n > 0)
    nw_text_add(out, "t");
}

void nw_pickle_put_tensor(NwText *out, const NwSpec *spec, int key, bool requires_grad)
{
  int64_t strides[NW_MAX_DIMS], count = 1;
  char name[16];
  for (int i = spec->ndim - 1; i >= 0; i--) {
    strides[i] = count;
    count *= spec->dims[i];
  }
  snprintf(name, sizeof name, "%d", key);
  nw_pickle_put_global(out, "torch._utils", "_rebuild_tensor_v2");
  nw_text_add(out, "((");
  nw_pickle_put_text(out, "storage");
  nw_pickle_put_global(out, "torch", nw_dtype_storage(spec->dtype));
  nw_pickle_put_text(out, name);
  nw_pickle_put_text(out, "cpu");
  nw_pickle_put_int(out, count);
  nw_text_add(out, "tQ");
  nw_pickle_put_int(out, 0);
  put_sizes(out, spec->dims, spec->ndim);
  put_sizes(out, strides, spec->ndim);
  nw_put_u8(out, requires_grad ? 0x88 : 0x89);
  nw_pickle_put_ordered_dict(out); /* backward hooks: None is refused by some versions */
  nw_text_add(out, "tR");
}

NwStatus nw_pickle_add_data(NwZipWriter *zip, int key, const NwSpec *spec, const void *data, NwError *error)
{
  char name[24];
  snprintf(name, sizeof name, "data/%d", key);
  return nw_zip_writer_add(zip, name, data, (size_t)nw_spec_count(spec) * nw_dtype_size(spec->dtype), error);
}

/* ---- the tree ---- */

typedef enum Kind { DICT, ORDERED_DICT, LIST, TUPLE, STRING, INT, REAL, BOOL, NONE, TENSOR } Kind;

struct NwPickle {
  Kind kind;
  bool failed; /* memory ran out while something was added */
  char *text;
  int64_t number;
  double real;
  NwSpec spec;
  const void *data;
  NwPickle **items; /* dicts: key, value, key, value */
  size_t count, room;
};

static NwPickle *make(Kind kind)
{
  NwPickle *value = nw_alloc0(sizeof *value);
  if (value != NULL)
    value->kind = kind;
  return value;
}

NwPickle *nw_pickle_dict(void)
{
  return make(DICT);
}

NwPickle *nw_pickle_ordered_dict(void)
{
  return make(ORDERED_DICT);
}

NwPickle *nw_pickle_list(void)
{
  return make(LIST);
}

NwPickle *nw_pickle_tuple(void)
{
  return make(TUPLE);
}

NwPickle *nw_pickle_none(void)
{
  return make(NONE);
}

NwPickle *nw_pickle_string(const char *text)
{
  NwPickle *value = make(STRING);
  if (value != NULL && (value->text = nw_strdup(text)) == NULL) {
    nw_free(value);
    return NULL;
  }
  return value;
}

NwPickle *nw_pickle_int(int64_t number)
{
  NwPickle *value = make(INT);
  if (value != NULL)
    value->number = number;
  return value;
}

NwPickle *nw_pickle_real(double number)
{
  NwPickle *value = make(REAL);
  if (value != NULL)
    value->real = number;
  return value;
}

NwPickle *nw_pickle_bool(bool flag)
{
  NwPickle *value = make(BOOL);
  if (value != NULL)
    value->number = flag;
  return value;
}

NwPickle *nw_pickle_tensor(const NwSpec *spec, const void *data)
{
  NwPickle *value = make(TENSOR);
  if (value != NULL) {
    value->spec = *spec;
    value->data = data;
  }
  return value;
}

void nw_pickle_free(NwPickle *value)
{
  if (value == NULL)
    return;
  for (size_t i = 0; i < value->count; i++)
    nw_pickle_free(value->items[i]);
  nw_free(value->items);
  nw_free(value->text);
  nw_free(value);
}

void nw_pickle_append(NwPickle *list, NwPickle *value)
{
  if (list == NULL || value == NULL) {
    if (list != NULL)
      list->failed = true;
    nw_pickle_free(value);
    return;
  }
  if (list->count == list->room) {
    size_t room = list->room ? 2 * list->room : 8;
    NwPickle **items = nw_realloc(list->items, list->room * sizeof *items, room * sizeof *items);
    if (items == NULL) {
      list->failed = true;
      nw_pickle_free(value);
      return;
    }
    list->items = items;
    list->room = room;
  }
  list->items[list->count++] = value;
}

static void set(NwPickle *dict, NwPickle *key, NwPickle *value)
{
  if (key == NULL || value == NULL) {
    if (dict != NULL)
      dict->failed = true;
    nw_pickle_free(key);
    nw_pickle_free(value);
    return;
  }
  size_t before = dict != NULL ? dict->count : 0;
  nw_pickle_append(dict, key);
  nw_pickle_append(dict, value);
  if (dict != NULL &&
      dict->count == before + 1) /* the key alone got in; a later pair must not be shifted by it */
    nw_pickle_free(dict->items[--dict->count]);
}

void nw_pickle_set(NwPickle *dict, const char *key, NwPickle *value)
{
  set(dict, nw_pickle_string(key), value);
}

void nw_pickle_set_int(NwPickle *dict, int64_t key, NwPickle *value)
{
  set(dict, nw_pickle_int(key), value);
}

/* ---- writing the tree ---- */

typedef struct Writer {
  NwText text;
  const NwPickle **tensors; /* record number -> tensor */
  int count, room;
  bool failed;
} Writer;

static void put_tree_tensor(Writer *writer, const NwPickle *value)
{
  if (writer->count == writer->room) {
    int room = writer->room ? 2 * writer->room : 64;
    const NwPickle **tensors =
        nw_realloc(writer->tensors, (size_t)writer->room * sizeof *tensors, (size_t)room * sizeof *tensors);
    if (tensors == NULL) {
      writer->failed = true;
      return;
    }
    writer->tensors = tensors;
    writer->room = room;
  }
  nw_pickle_put_tensor(&writer->text, &value->spec, writer->count, false);
  writer->tensors[writer->count++] = value;
}

static void put_tree(Writer *writer, const NwPickle *value)
{
  NwText *out = &writer->text;
  if (value == NULL || value->failed) {
    writer->failed = true;
    return;
  }
  switch (value->kind) {
  case STRING:
    nw_pickle_put_text(out, value->text);
    return;
  case INT:
    nw_pickle_put_int(out, value->number);
    return;
  case REAL:
    nw_pickle_put_real(out, value->real);
    return;
  case BOOL:
    nw_put_u8(out, value->number ? 0x88 : 0x89);
    return;
  case NONE:
    nw_put_u8(out, 'N');
    return;
  case TENSOR:
    put_tree_tensor(writer, value);
    return;
  case DICT:
    nw_put_u8(out, '}');
    break;
  case ORDERED_DICT:
    nw_pickle_put_ordered_dict(out);
    break;
  case LIST:
    nw_put_u8(out, ']');
    break;
  case TUPLE:
    break;
  }
  if (value->count == 0 && value->kind != TUPLE)
    return;
  nw_put_u8(out, '(');
  for (size_t i = 0; i < value->count; i++)
    put_tree(writer, value->items[i]);
  nw_put_u8(out, value->kind == TUPLE ? 't' : value->kind == LIST ? 'e' : 'u');
}

static NwStatus write_records(const Writer *writer, NwZipWriter *zip, NwError *error)
{
  NW_TRY(nw_zip_writer_add(zip, "data.pkl", writer->text.data, writer->text.length, error));
  NW_TRY(nw_zip_writer_add(zip, "byteorder", "little", 6, error));
  for (int i = 0; i < writer->count; i++)
    NW_TRY(nw_pickle_add_data(zip, i, &writer->tensors[i]->spec, writer->tensors[i]->data, error));
  return nw_zip_writer_add(zip, "version", "3\n", 2, error);
}

NwStatus nw_pth_write(const char *path, const NwPickle *root, NwError *error)
{
  Writer writer = {0};
  NwZipWriter *zip = NULL;
  nw_pickle_put_start(&writer.text);
  put_tree(&writer, root);
  nw_put_u8(&writer.text, '.');
  NwStatus status = NW_OK;
  if (writer.failed || writer.text.failed)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory to write %s.", path);
  if (status == NW_OK)
    status = nw_zip_writer_open(path, "archive", &zip, error);
  if (status == NW_OK) {
    status = write_records(&writer, zip, error);
    if (status == NW_OK)
      status = nw_zip_writer_commit(zip, error);
    else
      nw_zip_writer_cancel(zip);
  }
  nw_text_clear(&writer.text);
  nw_free(writer.tensors);
  return status;
}
