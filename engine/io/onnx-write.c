#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/memory.h"
#include "engine/io/onnx-code.h"
#include "engine/io/onnx.h"
#include "engine/io/protobuf.h"

/* Protobuf allows no message of 2 GiB. */
static const uint64_t WHOLE_LIMIT = 1900000000u;
enum { DATA_ALIGNMENT = 4096, FIELD_INITIALIZER = 5, FIELD_RAW = 9 };

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
}

/* ---- what things are ---- */

static unsigned type_number(NwDType dtype)
{
  switch (dtype) {
  case NW_F32:
    return 1;
  case NW_F64:
    return 11;
  case NW_F16:
    return 10;
  case NW_BF16:
    return 16;
  case NW_I64:
    return 7;
  case NW_I32:
    return 6;
  case NW_U8:
    return 2;
  default:
    return 9;
  }
}

/* ValueInfo; the first size is the free N. */
static void put_value_info(NwText *graph, unsigned field, const char *name, const NwSpec *spec)
{
  NwText info = {0}, type = {0}, tensor = {0}, shape = {0};
  for (int i = 0; i < spec->ndim; i++) {
    NwText dim = {0};
    if (i == 0)
      nw_proto_put_text(&dim, 2, "N");
    else
      nw_proto_put_int(&dim, 1, spec->dims[i]);
    nw_proto_put_message(&shape, 1, &dim);
  }
  nw_proto_put_int(&tensor, 1, type_number(spec->dtype));
  nw_proto_put_message(&tensor, 2, &shape);
  nw_proto_put_message(&type, 1, &tensor);
  nw_proto_put_text(&info, 1, name);
  nw_proto_put_message(&info, 2, &type);
  nw_proto_put_message(graph, field, &info);
}

static void put_entry(NwText *out, unsigned field, const char *key, const char *value)
{
  NwText entry = {0};
  nw_proto_put_text(&entry, 1, key);
  nw_proto_put_text(&entry, 2, value);
  nw_proto_put_message(out, field, &entry);
}

/* ---- numbers ---- */

/* TensorProto up to its numbers; these follow it inside the file, or lie in the data file. */
static void put_tensor_head(NwText *out, const NwParam *param, const char *data_name, uint64_t offset)
{
  char number[32];
  for (int i = 0; i < param->spec.ndim; i++)
    nw_proto_put_int(out, 1, param->spec.dims[i]);
  nw_proto_put_int(out, 2, type_number(param->spec.dtype));
  nw_proto_put_text(out, 8, param->name);
  if (data_name == NULL)
    return;
  put_entry(out, 13, "location", data_name);
  snprintf(number, sizeof number, "%" PRIu64, offset);
  put_entry(out, 13, "offset", number);
  snprintf(number, sizeof number, "%zu", nw_spec_bytes(&param->spec));
  put_entry(out, 13, "length", number);
  nw_proto_put_int(out, 14, 1);
}

static uint64_t varint_size(uint64_t value)
{
  uint64_t n = 1;
  for (; value >= 0x80; value >>= 7)
    n++;
  return n;
}

/* BatchNorm's count of batches is not part of what ONNX computes. */
static bool is_used(const NwParam *param)
{
  return param->spec.dtype == NW_F32;
}

typedef struct Writer {
  NwModel *model;
  NwText *heads; /* of every tensor */
  const char *data_name;
  uint64_t graph_size;
  NwText before,
      after; /* of the model's fields, around the graph; of the graph, what stands behind tensors */
  NwText graph;
} Writer;

static uint64_t tensor_size(const Writer *w, int i)
{
  uint64_t bytes = nw_spec_bytes(&nw_model_at(w->model, i)->spec);
  return w->heads[i].length + (w->data_name == NULL ? 1 + varint_size(bytes) + bytes : 0);
}

static NwStatus make_heads(Writer *w, NwError *error)
{
  uint64_t offset = 0;
  w->heads = nw_alloc0(((size_t)nw_model_count(w->model) + 1) * sizeof *w->heads);
  if (w->heads == NULL)
    return no_memory(error);
  for (int i = 0; i < nw_model_count(w->model); i++) {
    const NwParam *param = nw_model_at(w->model, i);
    if (!is_used(param))
      continue;
    put_tensor_head(&w->heads[i], param, w->data_name, offset);
    if (w->heads[i].failed)
      return no_memory(error);
    offset += (nw_spec_bytes(&param->spec) + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    w->graph_size += 1 + varint_size(tensor_size(w, i)) + tensor_size(w, i);
  }
  return NW_OK;
}

static NwStatus write_text(NwFileWriter *file, NwText *text, NwError *error)
{
  NwStatus status = text->failed       ? no_memory(error)
                    : text->length > 0 ? nw_file_writer_write(file, text->data, text->length, error)
                                       : NW_OK;
  nw_text_clear(text);
  return status;
}

/* Straight from the model's memory: large networks are not copied to be written. */
static NwStatus write_tensor(Writer *w, NwFileWriter *file, int i, NwError *error)
{
  const NwParam *param = nw_model_at(w->model, i);
  size_t bytes = nw_spec_bytes(&param->spec);
  NwText head = {0};
  nw_proto_put_varint(&head, FIELD_INITIALIZER << 3 | 2);
  nw_proto_put_varint(&head, tensor_size(w, i));
  nw_text_add_n(&head, w->heads[i].data, w->heads[i].length);
  if (w->data_name == NULL) {
    nw_proto_put_varint(&head, FIELD_RAW << 3 | 2);
    nw_proto_put_varint(&head, bytes);
  }
  NW_TRY(write_text(file, &head, error));
  return w->data_name == NULL ? nw_file_writer_write(file, param->data, bytes, error) : NW_OK;
}

static NwStatus write_model(Writer *w, NwFileWriter *file, NwError *error)
{
  NwText head = {0};
  NW_TRY(write_text(file, &w->before, error));
  nw_proto_put_varint(&head, 7 << 3 | 2);
  nw_proto_put_varint(&head, w->graph_size + w->graph.length);
  NW_TRY(write_text(file, &head, error));
  for (int i = 0; i < nw_model_count(w->model); i++)
    if (is_used(nw_model_at(w->model, i)))
      NW_TRY(write_tensor(w, file, i, error));
  NW_TRY(write_text(file, &w->graph, error));
  return write_text(file, &w->after, error);
}

static NwStatus write_data(Writer *w, const char *path, NwError *error)
{
  static const char zeros[DATA_ALIGNMENT];
  NwFileWriter *file;
  NwStatus status = NW_OK;
  NW_TRY(nw_file_writer_open(path, &file, error));
  for (int i = 0; i < nw_model_count(w->model) && status == NW_OK; i++) {
    const NwParam *param = nw_model_at(w->model, i);
    size_t bytes = nw_spec_bytes(&param->spec), rest = bytes % DATA_ALIGNMENT;
    if (!is_used(param))
      continue;
    status = nw_file_writer_write(file, param->data, bytes, error);
    if (status == NW_OK && rest != 0)
      status = nw_file_writer_write(file, zeros, DATA_ALIGNMENT - rest, error);
  }
  if (status == NW_OK)
    return nw_file_writer_commit(file, error);
  nw_file_writer_cancel(file);
  return status;
}

/* ---- the whole ---- */

static void put_model_fields(Writer *w, const NwOnnxOptions *options, int opset)
{
  NwText set = {0};
  nw_proto_put_int(&w->before, 1, opset >= 17 ? 8 : 7); /* the oldest format version with this opset */
  nw_proto_put_text(&w->before, 2, "netwright");
  nw_proto_put_text(&set, 1, "");
  nw_proto_put_int(&set, 2, opset);
  nw_proto_put_message(&w->after, 8, &set);
  for (const char *const *note = options->notes; note != NULL && note[0] != NULL; note += 2)
    put_entry(&w->after, 14, note[0], note[1]);
}

static void put_graph_fields(Writer *w, NwOnnxCode *code)
{
  NwSpec input = nw_model_input(w->model);
  NwSpec logits = nw_spec(NW_F32, 2, (int64_t[]){1, nw_model_classes(w->model)});
  nw_text_add_n(&w->graph, code->nodes.data, code->nodes.length);
  nw_proto_put_text(&w->graph, 2, "netwright");
  nw_text_add_n(&w->graph, code->constants.data, code->constants.length);
  put_value_info(&w->graph, 11, "input", &input);
  put_value_info(&w->graph, 12, code->logits, &logits);
}

static NwStatus write_files(Writer *w, const char *path, NwError *error)
{
  NwFileWriter *file;
  /* the numbers first: a model is never there without them */
  if (w->data_name != NULL) {
    NwText data = {0};
    nw_text_printf(&data, "%s.data", path);
    NwStatus status = data.failed ? no_memory(error) : write_data(w, data.data, error);
    nw_text_clear(&data);
    NW_TRY(status);
  }
  NW_TRY(nw_file_writer_open(path, &file, error));
  NwStatus status = write_model(w, file, error);
  if (status == NW_OK)
    return nw_file_writer_commit(file, error);
  nw_file_writer_cancel(file);
  return status;
}

NwStatus nw_onnx_write(const char *path, NwModel *model, const NwOnnxOptions *options, NwError *error)
{
  static const NwOnnxOptions usual = {0};
  options = options != NULL ? options : &usual;
  int opset = options->opset != 0 ? options->opset : 17;
  uint64_t bytes = 0, limit = options->external_at_least ? options->external_at_least : WHOLE_LIMIT;
  if (opset != 13 && opset != 17)
    return nw_fail(error, NW_BAD_ARGUMENT, "ONNX is written for opset 13 or 17, not %d.", opset);
  Writer w = {.model = model};
  NwOnnxCode code;
  NwText data_name = {0};
  for (int i = 0; i < nw_model_count(model); i++)
    bytes += nw_spec_bytes(&nw_model_at(model, i)->spec);
  if (bytes >= limit) {
    const char *slash = strrchr(path, '/');
    nw_text_printf(&data_name, "%s.data", slash != NULL ? slash + 1 : path);
    w.data_name = data_name.data;
    if (data_name.failed)
      return no_memory(error);
  }
  NwStatus status = nw_onnx_code_make(model, opset, &code, error);
  if (status == NW_OK)
    status = make_heads(&w, error);
  if (status == NW_OK) {
    put_model_fields(&w, options, opset);
    put_graph_fields(&w, &code);
    status =
        w.graph.failed || w.before.failed || w.after.failed ? no_memory(error) : write_files(&w, path, error);
  }
  for (int i = 0; w.heads != NULL && i < nw_model_count(model); i++)
    nw_text_clear(&w.heads[i]);
  nw_free(w.heads);
  nw_text_clear(&w.before);
  nw_text_clear(&w.after);
  nw_text_clear(&w.graph);
  nw_text_clear(&data_name);
  nw_onnx_code_clear(&code);
  return status;
}
