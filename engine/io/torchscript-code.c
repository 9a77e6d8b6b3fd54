#include "engine/io/torchscript-code.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/torchscript.h"

enum { MAX_PIECES = 64 };

struct NwTorchWriter {
  NwModel *model;
  const NwNetwork *network;
  const NwBlock *block;
  NwText *out;
  char **variables;         /* by block index; NULL: not written yet */
  char *pieces[MAX_PIECES]; /* texts handed out, until the next op */
  int n_pieces;
  bool failed; /* memory ran out */
  NwStatus status;
  NwError *error;
};

static const char *keep(NwTorchWriter *writer, NwText *text)
{
  char *piece = text->length > 0 || text->failed ? nw_text_steal(text) : nw_strdup("");
  if (piece == NULL || writer->n_pieces == MAX_PIECES) {
    writer->failed = true;
    nw_free(piece);
    return "None";
  }
  writer->pieces[writer->n_pieces++] = piece;
  return piece;
}

static int block_index(const NwTorchWriter *writer, uint32_t id)
{
  for (int i = 0; i < nw_network_count(writer->network); i++)
    if (nw_network_at(writer->network, i)->id == id)
      return i;
  return -1;
}

static const char *variable(const NwTorchWriter *writer, int k)
{
  int index = k < writer->block->n_from ? block_index(writer, writer->block->from[k]) : -1;
  return index >= 0 && writer->variables[index] != NULL ? writer->variables[index] : "None";
}

/* The k-th DATA port; the last one, when variadic, takes all inputs that remain. */
static int data_port(const NwOp *op, int k)
{
  int last = -1;
  for (int port = 0, seen = 0; port < op->n_inputs; port++) {
    if (op->inputs[port].role != NW_PORT_DATA)
      continue;
    last = port;
    if (seen++ == k)
      return port;
  }
  return last >= 0 && (op->inputs[last].flags & NW_PORT_VARIADIC) ? last : -1;
}

const char *nw_torch_input(NwTorchWriter *writer, int k)
{
  return variable(writer, k);
}

const char *nw_torch_output(NwTorchWriter *writer)
{
  return writer->variables[block_index(writer, writer->block->id)];
}

static void put_path(NwText *text, const char *path)
{
  int depth = 1;
  for (const char *at = path; *at; at++)
    depth += *at == '.';
  for (int i = 0; i < depth; i++)
    nw_text_add(text, "getattr(");
  nw_text_add(text, "self");
  while (*path) {
    size_t n = strcspn(path, ".");
    nw_text_add(text, ", \"");
    nw_text_add_n(text, path, n);
    nw_text_add(text, "\")");
    path += n + (path[n] == '.');
  }
}

const char *nw_torch_param(NwTorchWriter *writer, const char *port)
{
  int wanted = nw_op_port(writer->block->op, port);
  for (int i = 0; i < nw_model_count(writer->model) && wanted >= 0; i++) {
    const NwParam *param = nw_model_at(writer->model, i);
    if (param->block != writer->block->id || param->port != wanted)
      continue;
    NwText text = {0};
    put_path(&text, param->name);
    return keep(writer, &text);
  }
  return "None";
}

/* TorchScript tells numbers apart by their text: a float needs a point or an exponent. */
static void put_real(NwText *text, double value)
{
  size_t before = text->length;
  nw_text_double(text, value);
  if (!text->failed && strpbrk(text->data + before, ".eni") == NULL)
    nw_text_add(text, ".");
}

const char *nw_torch_attr(NwTorchWriter *writer, const char *key)
{
  const NwAttr *attr = nw_attr_find(writer->block->op, key);
  NwText text = {0};
  if (attr == NULL)
    return "None";
  NwValue value = nw_attr_get(attr, writer->block->attrs);
  switch (attr->type) {
  case NW_ATTR_INT:
    nw_text_printf(&text, "%lld", (long long)value.i);
    break;
  case NW_ATTR_REAL:
    put_real(&text, value.r);
    break;
  case NW_ATTR_BOOL:
    nw_text_add(&text, value.b ? "True" : "False");
    break;
  case NW_ATTR_ENUM:
    for (int i = 0; i < attr->n_items; i++)
      if (attr->items[i].value == value.i)
        nw_text_printf(&text, "\"%s\"", attr->items[i].key);
    break;
  case NW_ATTR_DIMS:
    for (int i = 0; i < attr->count; i++)
      nw_text_printf(&text, "%s%lld", i ? ", " : "[", (long long)value.d.v[i]);
    nw_text_add(&text, "]");
    break;
  }
  return keep(writer, &text);
}

void nw_torch_line(NwTorchWriter *writer, const char *format, ...)
{
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  int n = vsnprintf(NULL, 0, format, list);
  char *line = n >= 0 ? nw_alloc((size_t)n + 1) : NULL;
  if (line == NULL) {
    writer->failed = true;
  } else {
    vsnprintf(line, (size_t)n + 1, format, again);
    nw_text_add(writer->out, "    ");
    nw_text_add_n(writer->out, line, (size_t)n);
    nw_text_add(writer->out, "\n");
    nw_free(line);
  }
  va_end(again);
  va_end(list);
}

/* ---- templates ---- */

static void put_variadic(NwTorchWriter *writer, NwText *text, int first)
{
  nw_text_add(text, "[");
  for (int k = first; k < writer->block->n_from; k++)
    nw_text_printf(text, "%s%s", k > first ? ", " : "", variable(writer, k));
  nw_text_add(text, "]");
}

/* One $word: "training", an input port, or an attribute. */
static NwStatus put_word(NwTorchWriter *writer, NwText *text, const char *word)
{
  const NwOp *op = writer->block->op;
  int port = nw_op_port(op, word);
  if (strcmp(word, "training") == 0) {
    nw_text_add(text, "training");
  } else if (port >= 0 && op->inputs[port].role == NW_PORT_DATA) {
    int k = 0;
    while (data_port(op, k) != port)
      k++;
    if (op->inputs[port].flags & NW_PORT_VARIADIC)
      put_variadic(writer, text, k);
    else
      nw_text_add(text, variable(writer, k));
  } else if (port >= 0) {
    nw_text_add(text, nw_torch_param(writer, word));
  } else if (nw_attr_find(op, word) != NULL) {
    nw_text_add(text, nw_torch_attr(writer, word));
  } else {
    return nw_fail(writer->error, NW_INTERNAL, "The TorchScript of %s names $%s, which it does not have.",
                   op->id, word);
  }
  return NW_OK;
}

static NwStatus put_template(NwTorchWriter *writer, const char *from)
{
  NwText text = {0};
  NwStatus status = NW_OK;
  while (*from && status == NW_OK) {
    size_t plain = strcspn(from, "$");
    nw_text_add_n(&text, from, plain);
    from += plain;
    if (*from == 0)
      break;
    char word[64];
    size_t n = 0;
    for (from++; (isalnum((unsigned char)*from) || *from == '_') && n < sizeof word - 1; from++)
      word[n++] = *from;
    word[n] = 0;
    status = put_word(writer, &text, word);
  }
  if (status == NW_OK && !text.failed)
    nw_torch_line(writer, "%s = %s", nw_torch_output(writer), text.data);
  writer->failed = writer->failed || text.failed;
  nw_text_clear(&text);
  return status;
}

/* ---- blocks ---- */

static void forget_pieces(NwTorchWriter *writer)
{
  while (writer->n_pieces > 0)
    nw_free(writer->pieces[--writer->n_pieces]);
}

static NwStatus write_block(NwTorchWriter *writer, int index, NwError *error)
{
  const NwBlock *block = nw_network_at(writer->network, index);
  const NwOp *op = block->op;
  char name[24];
  writer->block = block;
  snprintf(name, sizeof name, op->group == NW_GROUP_INPUT ? "x" : "t%d", index);
  writer->variables[index] = nw_strdup(name);
  if (writer->variables[index] == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
  NwStatus status = NW_OK;
  if (op->group == NW_GROUP_INPUT)
    return NW_OK;
  if (op->torchscript_write != NULL)
    status = op->torchscript_write(writer, op, block->attrs, error);
  else if (op->torchscript != NULL)
    status = put_template(writer, op->torchscript);
  else
    status = nw_fail(error, NW_UNSUPPORTED, "The block %s (%s) cannot be written as TorchScript yet.",
                     block->name, op->label != NULL ? op->label : op->id);
  forget_pieces(writer);
  if (status != NW_OK && error != NULL)
    error->block = block->id;
  return status;
}

static bool ready(const NwTorchWriter *writer, const NwBlock *block)
{
  for (int k = 0; k < block->n_from; k++) {
    int index = block->from[k] != 0 ? block_index(writer, block->from[k]) : -1;
    if (index >= 0 && writer->variables[index] == NULL)
      return false;
  }
  return true;
}

/* Every block after those that feed it; the last one written is the output, for nothing reads it. */
static NwStatus write_blocks(NwTorchWriter *writer, NwError *error)
{
  int n = nw_network_count(writer->network), done = 0, last = -1;
  while (done < n) {
    int before = done;
    for (int i = 0; i < n; i++) {
      if (writer->variables[i] != NULL || !ready(writer, nw_network_at(writer->network, i)))
        continue;
      NW_TRY(write_block(writer, i, error));
      last = i;
      done++;
    }
    if (done == before)
      return nw_fail(error, NW_INTERNAL, "The network has a cycle.");
  }
  nw_torch_line(writer, "return %s", last >= 0 ? writer->variables[last] : "x");
  return NW_OK;
}

NwStatus nw_torchscript_forward(NwModel *model, NwText *out, NwError *error)
{
  NwTorchWriter writer = {.model = model, .network = nw_model_network(model), .out = out, .error = error};
  size_t n = (size_t)nw_network_count(writer.network);
  writer.variables = nw_alloc0((n + 1) * sizeof *writer.variables);
  if (writer.variables == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
  nw_torch_line(&writer, "training = self.training");
  NwStatus status = write_blocks(&writer, error);
  for (size_t i = 0; i < n; i++)
    nw_free(writer.variables[i]);
  nw_free(writer.variables);
  if (status == NW_OK && (writer.failed || out->failed))
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
  return status;
}
