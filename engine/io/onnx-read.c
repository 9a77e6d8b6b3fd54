#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/onnx.h"
#include "engine/io/protobuf.h"

/* ONNX's numbers of types; type -1: known, but we have no such numbers. */
static const struct {
  unsigned number, size;
  const char *dtype;
  int type;
} types[] = {{1, 4, "float32", NW_F32},    {11, 8, "float64", NW_F64}, {10, 2, "float16", NW_F16},
             {16, 2, "bfloat16", NW_BF16}, {7, 8, "int64", NW_I64},    {6, 4, "int32", NW_I32},
             {2, 1, "uint8", NW_U8},       {9, 1, "bool", NW_BOOL},    {3, 1, "int8", -1},
             {4, 2, "uint16", -1},         {5, 2, "int16", -1},        {12, 4, "uint32", -1},
             {13, 8, "uint64", -1}};
enum { MAX_AXES = 64, MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5 };

typedef struct Tensor {
  int type; /* index into types, -1: none of them */
  int ndim;
  int64_t dims[MAX_AXES];
  NwProto name, raw, floats, int32s, int64s, location;
  uint64_t offset, length;
  bool has_length, external;
} Tensor;

typedef struct Reader {
  NwWeights *weights;
  char *folder; /* of the model, with its slash */
  char *data;   /* path of the data file that is open */
  NwMappedFile map;
} Reader;

static NwStatus bad(NwError *error, const char *what)
{
  return nw_fail(error, NW_BAD_FORMAT, "This ONNX file is damaged: %s.", what);
}

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for the contents of the file.");
}

bool nw_onnx_is(const uint8_t *bytes, size_t n)
{
  NwProto in = {bytes, bytes + n};
  NwProtoField field;
  bool wrong = false, version = false, graph = false;
  while (nw_proto_next(&in, &field, &wrong)) {
    version = version || (field.number == 1 && field.wire == 0);
    graph = graph || (field.number == MODEL_GRAPH && field.wire == 2);
    if (field.number > 64)
      return false;
  }
  /* a file that was cut off is still best called a damaged ONNX file */
  return version && (graph || (wrong && bytes[0] == 8 && n > 16 && bytes[2] == 0x12));
}

static char *text_of(NwProto in)
{
  size_t n = nw_proto_size(in);
  char *text = nw_alloc(n + 1);
  if (text != NULL) {
    if (n > 0)
      memcpy(text, in.at, n);
    text[n] = 0;
  }
  return text;
}

static NwStatus add_dim(Tensor *tensor, uint64_t value, NwError *error)
{
  if (tensor->ndim == MAX_AXES || value > (uint64_t)1 << 60)
    return bad(error, "a tensor has an absurd shape");
  tensor->dims[tensor->ndim++] = (int64_t)value;
  return NW_OK;
}

static bool number_of(NwProto in, uint64_t *value)
{
  *value = 0;
  for (; in.at < in.end; in.at++) {
    if (*in.at < '0' || *in.at > '9' || *value > (uint64_t)1 << 60)
      return false;
    *value = *value * 10 + (uint64_t)(*in.at - '0');
  }
  return true;
}

/* {1 key, 2 value} */
static NwStatus read_external(Tensor *tensor, NwProto in, NwError *error)
{
  NwProto key = {0}, value = {0};
  NwProtoField field;
  bool wrong = false, fine = true;
  while (nw_proto_next(&in, &field, &wrong)) {
    if (field.number == 1)
      key = field.bytes;
    else if (field.number == 2)
      value = field.bytes;
  }
  if (nw_proto_is(key, "location")) {
    tensor->location = value;
  } else if (nw_proto_is(key, "offset")) {
    fine = number_of(value, &tensor->offset);
  } else if (nw_proto_is(key, "length")) {
    fine = number_of(value, &tensor->length);
    tensor->has_length = true;
  }
  return wrong || !fine ? bad(error, "where a tensor lies is written wrongly") : NW_OK;
}

static NwStatus parse_tensor(NwProto in, Tensor *tensor, NwError *error)
{
  NwProtoField field;
  bool wrong = false;
  *tensor = (Tensor){.type = -1};
  while (nw_proto_next(&in, &field, &wrong)) {
    uint64_t value;
    switch (field.number) {
    case 1:
      if (field.wire == 0) {
        NW_TRY(add_dim(tensor, field.value, error));
        break;
      }
      while (field.bytes.at < field.bytes.end) {
        if (!nw_proto_varint(&field.bytes, &value))
          return bad(error, "a tensor has no whole shape");
        NW_TRY(add_dim(tensor, value, error));
      }
      break;
    case 2:
      for (int i = 0; i < NW_COUNT(types); i++)
        if (types[i].number == field.value)
          tensor->type = i;
      break;
    case 4:
      tensor->floats = field.bytes;
      break;
    case 5:
      tensor->int32s = field.bytes;
      break;
    case 7:
      tensor->int64s = field.bytes;
      break;
    case 8:
      tensor->name = field.bytes;
      break;
    case 9:
      tensor->raw = field.bytes;
      break;
    case 13:
      NW_TRY(read_external(tensor, field.bytes, error));
      break;
    case 14:
      tensor->external = field.value == 1;
      break;
    default:
      break;
    }
  }
  return wrong ? bad(error, "a tensor is cut off") : NW_OK;
}

/* A data file lies beside the model: a name without folders, or in folders below it. */
static bool stays_beside(const char *location)
{
  if (location[0] == 0 || location[0] == '/' || strchr(location, '\\') != NULL)
    return false;
  for (const char *part = location; part != NULL;) {
    size_t n = strcspn(part, "/");
    if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
      return false;
    part = part[n] == '/' ? part + n + 1 : NULL;
  }
  return true;
}

static void close_map(void *thing)
{
  NwMappedFile *map = thing;
  nw_unmap_file(map);
  nw_free(map);
}

static NwStatus open_data(Reader *reader, const char *location, NwError *error)
{
  NwText path = {0};
  if (!stays_beside(location))
    return nw_fail(
        error, NW_BAD_FORMAT,
        "This ONNX file keeps its numbers at \"%.80s\", outside of its own folder; it is not opened.",
        location);
  nw_text_printf(&path, "%s%s", reader->folder, location);
  char *whole = nw_text_steal(&path);
  if (whole == NULL)
    return no_memory(error);
  if (reader->data != NULL && strcmp(reader->data, whole) == 0) {
    nw_free(whole);
    return NW_OK;
  }
  nw_free(reader->data);
  reader->data = whole;
  NwMappedFile *map = nw_alloc0(sizeof *map);
  if (map == NULL)
    return no_memory(error);
  NwStatus status = nw_map_file(whole, 0, "a data file", map, error);
  reader->map = *map;
  if (status != NW_OK) {
    nw_free(map);
    return status;
  }
  return nw_weights_keep(reader->weights, map, close_map, error);
}

static NwStatus find_external(Reader *reader, const Tensor *tensor, NwProto *data, NwError *error)
{
  char *location = text_of(tensor->location);
  if (location == NULL)
    return no_memory(error);
  NwStatus status = open_data(reader, location, error);
  nw_free(location);
  NW_TRY(status);
  size_t n = reader->map.size;
  uint64_t length = tensor->has_length ? tensor->length : tensor->offset < n ? n - tensor->offset : 0;
  if (tensor->offset > n || length > n - tensor->offset)
    return bad(error, "its data file is shorter than it says");
  data->at = reader->map.bytes + tensor->offset;
  data->end = data->at + length;
  return NW_OK;
}

/* Numbers that are no bytes but protobuf values. */
static NwStatus unpack(Reader *reader, const Tensor *tensor, uint64_t count, NwProto *data, NwError *error)
{
  NwProto in = tensor->int64s.at != NULL ? tensor->int64s : tensor->int32s;
  unsigned size = types[tensor->type].size;
  if (count > nw_proto_size(in))
    return bad(error, "a tensor has fewer numbers than its shape says");
  uint8_t *copy = nw_weights_alloc(reader->weights, (size_t)count * size);
  if (copy == NULL)
    return no_memory(error);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t value;
    if (!nw_proto_varint(&in, &value))
      return bad(error, "a tensor has fewer numbers than its shape says");
    memcpy(copy + i * size, &value, size);
  }
  *data = (NwProto){copy, copy + count * size};
  return NW_OK;
}

static NwStatus find_data(Reader *reader, const Tensor *tensor, uint64_t count, NwProto *data, NwError *error)
{
  *data = tensor->raw;
  if (tensor->external)
    return find_external(reader, tensor, data, error);
  if (tensor->raw.at != NULL)
    return NW_OK;
  if (tensor->floats.at != NULL && types[tensor->type].type == NW_F32)
    *data = tensor->floats; /* packed fixed32 are the numbers themselves */
  else if (tensor->int64s.at != NULL || tensor->int32s.at != NULL)
    return unpack(reader, tensor, count, data, error);
  return NW_OK;
}

static NwStatus add_tensor(Reader *reader, NwProto in, NwError *error)
{
  Tensor tensor;
  NwProto data = {0};
  unsigned __int128 count = 1;
  NW_TRY(parse_tensor(in, &tensor, error));
  for (int i = 0; i < tensor.ndim; i++) {
    count *= (uint64_t)tensor.dims[i];
    if (count > (uint64_t)1 << 60)
      return bad(error, "a tensor is larger than any file");
  }
  NwWeight weight = {.dtype = tensor.type >= 0 ? types[tensor.type].dtype : "unknown"};
  weight.spec = nw_spec(NW_U8, tensor.ndim > NW_MAX_DIMS ? 0 : tensor.ndim, tensor.dims);
  if (tensor.ndim > NW_MAX_DIMS)
    weight.reason = "it has too many dimensions";
  else if (tensor.type < 0 || types[tensor.type].type < 0)
    weight.reason = "its type of numbers is not supported";
  else {
    weight.spec.dtype = (NwDType)types[tensor.type].type;
    NW_TRY(find_data(reader, &tensor, (uint64_t)count, &data, error));
    if (nw_proto_size(data) / types[tensor.type].size < (uint64_t)count)
      return bad(error, "a tensor has fewer numbers than its shape says");
    weight.data = data.at != NULL ? (const void *)data.at : "";
  }
  char *name = text_of(tensor.name);
  if (name == NULL)
    return no_memory(error);
  weight.name = name;
  NwStatus status = nw_weights_add(reader->weights, weight, error);
  nw_free(name);
  return status;
}

static NwStatus read_graph(Reader *reader, NwProto in, NwError *error)
{
  NwProtoField field;
  bool wrong = false;
  while (nw_proto_next(&in, &field, &wrong))
    if (field.number == GRAPH_INITIALIZER && field.wire == 2)
      NW_TRY(add_tensor(reader, field.bytes, error));
  return wrong ? bad(error, "its graph is cut off") : NW_OK;
}

NwStatus nw_onnx_read(NwWeights *weights, NwError *error)
{
  NwMappedFile map = nw_weights_map(weights);
  NwProto in = {map.bytes, map.bytes + map.size};
  NwProtoField field;
  bool wrong = false;
  Reader reader = {.weights = weights, .folder = nw_strdup(nw_weights_path(weights))};
  if (reader.folder == NULL)
    return no_memory(error);
  char *slash = strrchr(reader.folder, '/');
  slash = slash != NULL ? slash + 1 : reader.folder;
  *slash = 0;
  nw_weights_set_format(weights, "ONNX");
  NwStatus status = NW_OK;
  while (status == NW_OK && nw_proto_next(&in, &field, &wrong))
    if (field.number == MODEL_GRAPH && field.wire == 2)
      status = read_graph(&reader, field.bytes, error);
  if (status == NW_OK && wrong)
    status = bad(error, "it is cut off");
  nw_free(reader.folder);
  nw_free(reader.data);
  return status;
}
