#include "engine/io/torchscript-code.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/torchscript.h"

enum { MAX_PIECES = 64 };

/* A value of the text: a variable, or the path of a parameter. */
typedef struct Item {
  char *text;
  NwSpec spec;
  struct Item *next; /* of all items, for freeing */
} Item;

/* The op being written, a block's or one that a composite block is made of. */
typedef struct Part {
  const NwOp *op;
  const void *attrs;
  int n_in;
  NwVal in[NW_MAX_PORTS]; /* p: an Item */
  const char *output;
} Part;

struct NwTorchWriter {
  NwEmitter emitter; /* first: composites are expanded into it */
  NwModel *model;
  const NwNetwork *network;
  NwText *out;
  Item **values; /* by block index; NULL: not written yet */
  Item *items;
  Part part;
  const char *stem; /* variable of the block at hand; its parts' are numbered */
  int n_parts;
  char *pieces[MAX_PIECES]; /* texts handed out, until the next op */
  int n_pieces;
  bool failed; /* memory ran out */
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

/* Takes over the text. */
static NwStatus item_new(NwTorchWriter *writer, char *text, const NwSpec *spec, Item **out, NwError *error)
{
  Item *item = *out = nw_alloc0(sizeof *item);
  if (item == NULL || text == NULL) {
    nw_free(item);
    nw_free(text);
    *out = NULL;
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
  }
  *item = (Item){text, *spec, writer->items};
  writer->items = item;
  return NW_OK;
}

static int block_index(const NwTorchWriter *writer, uint32_t id)
{
  for (int i = 0; i < nw_network_count(writer->network); i++)
    if (nw_network_at(writer->network, i)->id == id)
      return i;
  return -1;
}

static const char *text_of(const NwTorchWriter *writer, int port)
{
  const Item *item = port >= 0 && port < writer->part.n_in ? writer->part.in[port].p : NULL;
  return item != NULL ? item->text : "None";
}

/* The port of the k-th DATA input; the last one, when variadic, takes all inputs that remain. */
static int data_port(const NwOp *op, int k)
{
  int last = -1, seen = 0;
  for (int port = 0; port < op->n_inputs; port++) {
    if (op->inputs[port].role != NW_PORT_DATA)
      continue;
    last = port;
    if (seen++ == k)
      return port;
  }
  return last >= 0 && (op->inputs[last].flags & NW_PORT_VARIADIC) ? last + k - (seen - 1) : -1;
}

const char *nw_torch_input(NwTorchWriter *writer, int k)
{
  return text_of(writer, data_port(writer->part.op, k));
}

NwSpec nw_torch_spec(NwTorchWriter *writer, int k)
{
  int port = data_port(writer->part.op, k);
  const Item *item = port >= 0 && port < writer->part.n_in ? writer->part.in[port].p : NULL;
  return item != NULL ? item->spec : nw_spec_absent();
}

const char *nw_torch_output(NwTorchWriter *writer)
{
  return writer->part.output;
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
  return text_of(writer, nw_op_port(writer->part.op, port));
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
  const NwAttr *attr = nw_attr_find(writer->part.op, key);
  NwText text = {0};
  if (attr == NULL)
    return "None";
  NwValue value = nw_attr_get(attr, writer->part.attrs);
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
  for (int port = first; port < writer->part.n_in; port++)
    nw_text_printf(text, "%s%s", port > first ? ", " : "", text_of(writer, port));
  nw_text_add(text, "]");
}

/* One $word: "training", an input port, or an attribute. */
static NwStatus put_word(NwTorchWriter *writer, NwText *text, const char *word)
{
  const NwOp *op = writer->part.op;
  int port = nw_op_port(op, word);
  if (strcmp(word, "training") == 0)
    nw_text_add(text, "training");
  else if (port >= 0 && (op->inputs[port].flags & NW_PORT_VARIADIC))
    put_variadic(writer, text, port);
  else if (port >= 0)
    nw_text_add(text, text_of(writer, port));
  else if (nw_attr_find(op, word) != NULL)
    nw_text_add(text, nw_torch_attr(writer, word));
  else
    return nw_fail(writer->error, NW_INTERNAL, "The TorchScript of %s names $%s, which it does not have.",
                   op->id, word);
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

/* ---- ops ---- */

static void forget_pieces(NwTorchWriter *writer)
{
  while (writer->n_pieces > 0)
    nw_free(writer->pieces[--writer->n_pieces]);
}

static bool has_text(const NwOp *op)
{
  return op->torchscript != NULL || op->torchscript_write != NULL;
}

/* Writes one op that has a text of its own; its value is called `output`. */
static NwStatus write_part(NwTorchWriter *writer, const NwOp *op, const void *attrs, const NwVal *in,
                           int n_in, const char *output, NwError *error)
{
  Part outer = writer->part;
  writer->part = (Part){.op = op, .attrs = attrs, .n_in = n_in, .output = output};
  memcpy(writer->part.in, in, sizeof *in * (size_t)n_in);
  NwStatus status = NW_OK;
  if (op->torchscript_write != NULL)
    status = op->torchscript_write(writer, op, attrs, error);
  else if (op->torchscript != NULL)
    status = put_template(writer, op->torchscript);
  else
    status = nw_fail(error, NW_UNSUPPORTED, "%s cannot be written as TorchScript yet.",
                     op->label != NULL ? op->label : op->id);
  forget_pieces(writer);
  writer->part = outer;
  return status;
}

static NwSpec emitter_spec(NwEmitter *self, NwVal value)
{
  (void)self;
  return value.p != NULL ? ((const Item *)value.p)->spec : nw_spec_absent();
}

/* What a composite block emits becomes statements with numbered variables. */
static NwStatus emitter_emit(NwEmitter *self, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                             NwVal *out, NwError *error)
{
  NwTorchWriter *writer = (NwTorchWriter *)self;
  NwSpec specs[NW_MAX_PORTS], made[NW_MAX_PORTS];
  NW_TRY(nw_attrs_check(op, attrs, error));
  if (!has_text(op) && op->expand != NULL)
    return op->expand(self, op, attrs, in, n_in, out, error);
  for (int i = 0; i < NW_MAX_PORTS; i++) {
    specs[i] = i < n_in ? emitter_spec(self, in[i]) : nw_spec_absent();
    made[i] = nw_spec_absent();
  }
  NW_TRY(op->infer(op, attrs, specs, n_in, made, error));
  NwText name = {0};
  Item *item;
  for (int i = 0; i < op->n_outputs; i++)
    out[i] = (NwVal){0};
  nw_text_printf(&name, "%s_%d", writer->stem, ++writer->n_parts);
  NW_TRY(item_new(writer, nw_text_steal(&name), &made[0], &item, error));
  out[0] = (NwVal){item, 0};
  return write_part(writer, op, attrs, in, n_in, item->text, error);
}

/* ---- blocks ---- */

static NwStatus gather_params(NwTorchWriter *writer, const NwBlock *block, NwVal *in, NwError *error)
{
  for (int i = 0; i < nw_model_count(writer->model); i++) {
    const NwParam *param = nw_model_at(writer->model, i);
    NwText path = {0};
    Item *item;
    if (param->block != block->id)
      continue;
    put_path(&path, param->name);
    NW_TRY(item_new(writer, nw_text_steal(&path), &param->spec, &item, error));
    in[param->port] = (NwVal){item, 0};
  }
  return NW_OK;
}

/* Values by port, as the op sees them. */
static NwStatus gather(NwTorchWriter *writer, const NwBlock *block, NwVal *in, int *n_in, NwError *error)
{
  *n_in = block->op->n_inputs;
  for (int k = 0; k < block->n_from; k++) {
    int port = data_port(block->op, k),
        index = block->from[k] != 0 ? block_index(writer, block->from[k]) : -1;
    if (port < 0 || port >= NW_MAX_PORTS || index < 0)
      continue;
    in[port] = (NwVal){writer->values[index], 0};
    *n_in = port + 1 > *n_in ? port + 1 : *n_in;
  }
  return gather_params(writer, block, in, error);
}

/* A composite's last variable gets the block's name. */
static NwStatus write_composite(NwTorchWriter *writer, const NwBlock *block, const NwVal *in, int n_in,
                                const char *output, NwError *error)
{
  NwVal out[NW_MAX_PORTS] = {{0}};
  writer->stem = output;
  writer->n_parts = 0;
  NW_TRY(block->op->expand(&writer->emitter, block->op, block->attrs, in, n_in, out, error));
  if (out[0].p != NULL)
    nw_torch_line(writer, "%s = %s", output, ((const Item *)out[0].p)->text);
  return NW_OK;
}

static NwStatus write_block(NwTorchWriter *writer, int index, const NwSpec *spec, NwError *error)
{
  const NwBlock *block = nw_network_at(writer->network, index);
  const NwOp *op = block->op;
  char name[24];
  int n_in;
  NwVal in[NW_MAX_PORTS] = {{0}};
  snprintf(name, sizeof name, op->group == NW_GROUP_INPUT ? "x" : "t%d", index);
  Item *value;
  NW_TRY(item_new(writer, nw_strdup(name), spec, &value, error));
  if (op->group == NW_GROUP_INPUT) {
    writer->values[index] = value;
    return NW_OK;
  }
  NwStatus status = gather(writer, block, in, &n_in, error);
  writer->values[index] = value;
  if (status == NW_OK && !has_text(op) && op->expand != NULL)
    status = write_composite(writer, block, in, n_in, name, error);
  else if (status == NW_OK)
    status = write_part(writer, op, block->attrs, in, n_in, name, error);
  if (status != NW_OK && error != NULL)
    error->block = block->id;
  return status;
}

static bool ready(const NwTorchWriter *writer, const NwBlock *block)
{
  for (int k = 0; k < block->n_from; k++) {
    int index = block->from[k] != 0 ? block_index(writer, block->from[k]) : -1;
    if (index >= 0 && writer->values[index] == NULL)
      return false;
  }
  return true;
}

/* Every block after those that feed it; the last one written is the output, for nothing reads it. */
static NwStatus write_blocks(NwTorchWriter *writer, const NwNetworkReport *report, NwError *error)
{
  int n = nw_network_count(writer->network), done = 0, last = -1;
  while (done < n) {
    int before = done;
    for (int i = 0; i < n; i++) {
      if (writer->values[i] != NULL || !ready(writer, nw_network_at(writer->network, i)))
        continue;
      NW_TRY(write_block(writer, i, &report->blocks[i].out, error));
      last = i;
      done++;
    }
    if (done == before)
      return nw_fail(error, NW_INTERNAL, "The network has a cycle.");
  }
  nw_torch_line(writer, "return %s", last >= 0 ? writer->values[last]->text : "x");
  return NW_OK;
}

static void writer_clear(NwTorchWriter *writer)
{
  while (writer->items != NULL) {
    Item *item = writer->items;
    writer->items = item->next;
    nw_free(item->text);
    nw_free(item);
  }
  nw_free(writer->values);
}

NwStatus nw_torchscript_forward(NwModel *model, NwText *out, NwError *error)
{
  NwTorchWriter writer = {.emitter = {.emit = emitter_emit, .spec = emitter_spec},
                          .model = model,
                          .network = nw_model_network(model),
                          .out = out,
                          .error = error};
  size_t n = (size_t)nw_network_count(writer.network);
  NwSpec input = nw_model_input(model);
  NwNetworkReport report;
  NW_TRY(nw_network_check(writer.network, &input, nw_model_classes(model), &report, error));
  writer.values = nw_alloc0((n + 1) * sizeof(Item *));
  NwStatus status =
      writer.values != NULL ? NW_OK : nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
  nw_torch_line(&writer, "training = self.training");
  if (status == NW_OK)
    status = write_blocks(&writer, &report, error);
  writer_clear(&writer);
  nw_network_report_clear(&report);
  if (status == NW_OK && (writer.failed || out->failed))
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
  return status;
}
