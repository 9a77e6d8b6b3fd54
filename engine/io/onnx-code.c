#include "engine/io/onnx-code.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/protobuf.h"

enum { MAX_NAME = 128, MAX_TEMPS = 24, MAX_INPUTS = NW_MAX_PORTS + 8, MAX_LIST = 64 };
enum { ATTR_FLOAT = 1, ATTR_INT, ATTR_STRING, ATTR_FLOATS = 6, ATTR_INTS };

typedef struct Value {
  struct Value *next;
  NwSpec spec;
  char name[MAX_NAME];
} Value;

struct NwOnnxWriter {
  NwEmitter emitter;
  NwOnnxCode *code;
  int opset;
  Value *values; /* all that were made */
  int count;     /* of names made up */
  /* the op being written */
  const NwOp *op;
  const void *attrs;
  const NwVal *in;
  int n_in;
  char result[MAX_NAME]; /* output 0; "": not written yet */
  struct {
    char word[32], name[MAX_NAME];
  } temps[MAX_TEMPS];
  int n_temps;
  NwError *error;
};

static Value *value_new(NwOnnxWriter *w, const NwSpec *spec, const char *name)
{
  Value *value = nw_alloc0(sizeof *value);
  if (value == NULL)
    return NULL;
  value->spec = *spec;
  value->next = w->values;
  w->values = value;
  snprintf(value->name, sizeof value->name, "%s", name);
  return value;
}

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
}

static NwStatus wrong(NwOnnxWriter *w, const char *at)
{
  return nw_fail(w->error, NW_INTERNAL, "The ONNX of %s cannot be understood at \"%.40s\".", w->op->id, at);
}

NwSpec nw_onnx_spec(NwOnnxWriter *writer, int port)
{
  const Value *value = port < writer->n_in ? writer->in[port].p : NULL;
  return value != NULL ? value->spec : nw_spec_absent();
}

int nw_onnx_opset(NwOnnxWriter *writer)
{
  return writer->opset;
}

const char *nw_onnx_sizes(const NwSpec *spec, char *text, size_t n)
{
  size_t used = (size_t)snprintf(text, n, "[0");
  for (int i = 1; i < spec->ndim && used < n; i++)
    used += (size_t)snprintf(text + used, n - used, ", %" PRId64, spec->dims[i]);
  if (used + 1 < n)
    strcpy(text + used, "]");
  return text;
}

/* ---- the language of the rows ---- */

/* Numbers of a list or of one attribute. */
typedef struct List {
  int64_t whole[MAX_LIST];
  double real[MAX_LIST];
  int n;
  bool is_real, is_list;
  char text[48]; /* a text instead of numbers; "": none */
} List;

static void skip_blanks(const char **at)
{
  while (**at == ' ' || **at == '\n')
    (*at)++;
}

static size_t word_length(const char *at)
{
  size_t n = 0;
  while (isalnum((unsigned char)at[n]) || at[n] == '_')
    n++;
  return n;
}

static NwStatus push(NwOnnxWriter *w, List *list, int64_t whole, double real)
{
  if (list->n == MAX_LIST)
    return wrong(w, "a list that is too long");
  list->whole[list->n] = whole;
  list->real[list->n++] = real;
  return NW_OK;
}

static NwStatus push_attr(NwOnnxWriter *w, const char *key, List *list)
{
  const NwAttr *attr = nw_attr_find(w->op, key);
  if (attr == NULL)
    return wrong(w, key);
  NwValue value = nw_attr_get(attr, w->attrs);
  switch (attr->type) {
  case NW_ATTR_INT:
    return push(w, list, value.i, (double)value.i);
  case NW_ATTR_BOOL:
    return push(w, list, value.b, value.b);
  case NW_ATTR_REAL:
    list->is_real = true;
    return push(w, list, 0, value.r);
  case NW_ATTR_DIMS:
    list->is_list = true;
    for (int i = 0; i < attr->count; i++)
      NW_TRY(push(w, list, value.d.v[i], (double)value.d.v[i]));
    return NW_OK;
  default:
    return wrong(w, key);
  }
}

/* One number, "$key", or a list of them in brackets. */
static NwStatus read_item(NwOnnxWriter *w, const char **at, List *list)
{
  if (**at == '$') {
    char key[48];
    size_t n = word_length(++*at);
    snprintf(key, sizeof key, "%.*s", (int)n, *at);
    *at += n;
    return push_attr(w, key, list);
  }
  char number[48];
  size_t n = strspn(*at, "+-.0123456789eE");
  double real;
  snprintf(number, sizeof number, "%.*s", (int)n, *at);
  if (n == 0 || !nw_parse_double(number, &real))
    return wrong(w, *at);
  list->is_real = list->is_real || strpbrk(number, ".eE") != NULL;
  *at += n;
  return push(w, list, list->is_real ? 0 : (int64_t)real, real);
}

static NwStatus read_list(NwOnnxWriter *w, const char **at, List *list)
{
  *list = (List){0};
  if (**at == '"') {
    size_t n = strcspn(++*at, "\"");
    snprintf(list->text, sizeof list->text, "%.*s", (int)n, *at);
    *at += n + 1;
    return NW_OK;
  }
  if (**at != '[')
    return read_item(w, at, list);
  list->is_list = true;
  for (++*at;; skip_blanks(at)) {
    skip_blanks(at);
    if (**at == ',')
      ++*at;
    skip_blanks(at);
    if (**at == ']')
      break;
    NW_TRY(read_item(w, at, list));
  }
  ++*at;
  return NW_OK;
}

/* A constant of the graph: whole numbers as a list, real ones as a list or a single number. */
static void put_constant(NwOnnxWriter *w, const List *list, char *name)
{
  NwText tensor = {0}, data = {0};
  snprintf(name, MAX_NAME, "constant%d", w->count++);
  if (list->is_list)
    nw_proto_put_int(&tensor, 1, list->n);
  nw_proto_put_int(&tensor, 2, list->is_real ? 1 : 7);
  nw_proto_put_text(&tensor, 8, name);
  for (int i = 0; i < list->n; i++) {
    float real = (float)list->real[i];
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    if (list->is_real)
      nw_put_u32(&data, bits);
    else
      nw_put_u64(&data, (uint64_t)list->whole[i]);
  }
  nw_proto_put_message(&tensor, 9, &data);
  nw_proto_put_message(&w->code->constants, 5, &tensor);
}

static const char *value_name(const NwOnnxWriter *w, int port)
{
  const Value *value = port < w->n_in ? w->in[port].p : NULL;
  return value != NULL ? value->name : "";
}

typedef struct Names {
  char name[MAX_INPUTS][MAX_NAME];
  int n;
} Names;

static NwStatus add_name(NwOnnxWriter *w, Names *names, const char *name)
{
  if (names->n == MAX_INPUTS)
    return wrong(w, name);
  snprintf(names->name[names->n++], MAX_NAME, "%s", name);
  return NW_OK;
}

/* "$x": a port; of a variadic one, and of all data ports where it is the only one that repeats, its values.
 */
static NwStatus read_port(NwOnnxWriter *w, const char **at, Names *names)
{
  char word[48];
  size_t n = word_length(++*at);
  snprintf(word, sizeof word, "%.*s", (int)n, *at);
  int port = nw_op_port(w->op, word);
  if (port < 0) { /* an attribute as a constant */
    List list;
    char name[MAX_NAME];
    --*at;
    NW_TRY(read_list(w, at, &list));
    put_constant(w, &list, name);
    return add_name(w, names, name);
  }
  *at += n;
  bool repeats = (w->op->inputs[port].flags & NW_PORT_VARIADIC) != 0;
  for (int i = port; i < (repeats ? w->n_in : port + 1); i++)
    NW_TRY(add_name(w, names, value_name(w, i)));
  return NW_OK;
}

static NwStatus read_input(NwOnnxWriter *w, const char **at, Names *names)
{
  List list;
  char name[MAX_NAME];
  if (**at == '$')
    return read_port(w, at, names);
  if (**at == ',' || **at == ')')
    return add_name(w, names, "");
  size_t n = word_length(*at);
  if (n > 0 && isalpha((unsigned char)**at)) {
    for (int i = 0; i < w->n_temps; i++)
      if (strlen(w->temps[i].word) == n && strncmp(w->temps[i].word, *at, n) == 0) {
        *at += n;
        return add_name(w, names, w->temps[i].name);
      }
    return wrong(w, *at);
  }
  NW_TRY(read_list(w, at, &list));
  put_constant(w, &list, name);
  return add_name(w, names, name);
}

static void put_attribute(NwText *node, const char *key, const List *list)
{
  NwText attribute = {0};
  nw_proto_put_text(&attribute, 1, key);
  if (list->text[0] != 0)
    nw_proto_put_text(&attribute, 4, list->text);
  else if (!list->is_list && list->is_real)
    nw_proto_put_float(&attribute, 2, (float)list->real[0]);
  else if (!list->is_list)
    nw_proto_put_int(&attribute, 3, list->whole[0]);
  else
    for (int i = 0; i < list->n; i++)
      if (list->is_real)
        nw_proto_put_float(&attribute, 7, (float)list->real[i]);
      else
        nw_proto_put_int(&attribute, 8, list->whole[i]);
  nw_proto_put_int(&attribute, 20,
                   list->text[0]   ? ATTR_STRING
                   : list->is_list ? (list->is_real ? ATTR_FLOATS : ATTR_INTS)
                   : list->is_real ? ATTR_FLOAT
                                   : ATTR_INT);
  nw_proto_put_message(node, 5, &attribute);
}

/* "Type(inputs) key=value ..." up to ';' or the end; output: its name. */
static NwStatus read_node(NwOnnxWriter *w, const char **at, const char *output)
{
  NwText node = {0};
  char type[48];
  size_t n = word_length(*at);
  Names *names = nw_alloc0(sizeof *names);
  if (names == NULL)
    return no_memory(w->error);
  snprintf(type, sizeof type, "%.*s", (int)n, *at);
  *at += n;
  NwStatus status = n > 0 && **at == '(' ? NW_OK : wrong(w, *at);
  while (status == NW_OK && **at != ')') {
    ++*at; /* the bracket or a comma */
    skip_blanks(at);
    status = read_input(w, at, names);
    skip_blanks(at);
    if (status == NW_OK && **at != ',' && **at != ')')
      status = wrong(w, *at);
  }
  while (names->n > 0 && names->name[names->n - 1][0] == 0)
    names->n--; /* absent ones at the end need no place */
  for (int i = 0; i < names->n; i++)
    nw_proto_put_text(&node, 1, names->name[i]);
  nw_free(names);
  nw_proto_put_text(&node, 2, output);
  nw_proto_put_text(&node, 4, type);
  *at += status == NW_OK;
  for (skip_blanks(at); status == NW_OK && **at != 0 && **at != ';'; skip_blanks(at)) {
    char key[48];
    List list;
    n = word_length(*at);
    snprintf(key, sizeof key, "%.*s", (int)n, *at);
    *at += n;
    status = n > 0 && **at == '=' ? NW_OK : wrong(w, *at);
    if (status == NW_OK) {
      ++*at;
      status = read_list(w, at, &list);
    }
    if (status == NW_OK)
      put_attribute(&node, key, &list);
  }
  if (status == NW_OK)
    nw_proto_put_message(&w->code->nodes, 1, &node);
  nw_text_clear(&node);
  return status;
}

static NwStatus read_statement(NwOnnxWriter *w, const char **at)
{
  size_t n = word_length(*at);
  const char *after = *at + n;
  skip_blanks(&after);
  char name[MAX_NAME];
  snprintf(name, sizeof name, "t%d", w->count++);
  if (*after != '=') {
    snprintf(w->result, sizeof w->result, "%s", name);
    return read_node(w, at, name);
  }
  if (w->n_temps == MAX_TEMPS)
    return wrong(w, *at);
  char word[32];
  snprintf(word, sizeof word, "%.*s", (int)n, *at);
  *at = after + 1;
  skip_blanks(at);
  NW_TRY(read_node(w, at, name));
  snprintf(w->temps[w->n_temps].word, sizeof w->temps[0].word, "%s", word);
  snprintf(w->temps[w->n_temps++].name, MAX_NAME, "%s", name);
  return NW_OK;
}

static NwStatus read_all(NwOnnxWriter *w, const char *text)
{
  if (strcmp(text, "$x") == 0) {
    snprintf(w->result, sizeof w->result, "%s", value_name(w, 0));
    return NW_OK;
  }
  for (const char *at = text; *at;) {
    NW_TRY(read_statement(w, &at));
    if (*at == ';')
      at++;
    skip_blanks(&at);
  }
  return NW_OK;
}

NwStatus nw_onnx_put(NwOnnxWriter *writer, NwError *error, const char *format, ...)
{
  char text[1024];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof text)
    return nw_fail(error, NW_INTERNAL, "The ONNX of %s is too long.", writer->op->id);
  return read_all(writer, text);
}

/* ---- emitting ---- */

static NwStatus write_op(NwOnnxWriter *w, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                         const NwSpec *out_spec, NwVal *out, NwError *error)
{
  w->op = op;
  w->attrs = attrs;
  w->in = in;
  w->n_in = n_in;
  w->n_temps = 0;
  w->result[0] = 0;
  w->error = error;
  NW_TRY(op->onnx_write != NULL ? op->onnx_write(w, op, attrs, error) : read_all(w, op->onnx));
  if (w->result[0] == 0)
    return nw_fail(error, NW_INTERNAL, "The ONNX of %s gives nothing.", op->id);
  out[0] = (NwVal){value_new(w, out_spec, w->result), 0};
  return out[0].p != NULL ? NW_OK : no_memory(error);
}

static NwStatus emit(NwEmitter *self, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                     NwVal *out, NwError *error)
{
  NwOnnxWriter *w = self->owner;
  NwSpec specs[NW_MAX_PORTS], made[NW_MAX_PORTS];
  for (int i = 0; i < n_in; i++)
    specs[i] = self->spec(self, in[i]);
  for (int i = 0; i < op->n_outputs; i++)
    out[i] = (NwVal){NULL, 0};
  NW_TRY(nw_attrs_check(op, attrs, error));
  if (op->onnx == NULL && op->onnx_write == NULL && op->expand != NULL)
    return op->expand(self, op, attrs, in, n_in, out, error);
  if (op->onnx == NULL && op->onnx_write == NULL)
    return nw_fail(error, NW_UNSUPPORTED, "%s cannot be written as ONNX yet.",
                   op->label != NULL ? op->label : op->id);
  NW_TRY(op->infer(op, attrs, specs, n_in, made, error));
  return write_op(w, op, attrs, in, n_in, &made[0], out, error);
}

static NwSpec spec_of(NwEmitter *self, NwVal value)
{
  return value.p != NULL ? ((const Value *)value.p)->spec : nw_spec_absent();
}

static NwStatus emit_model(NwOnnxWriter *w, NwModel *model, NwError *error)
{
  NwSpec input = nw_model_input(model);
  Value *x = value_new(w, &input, "input");
  NwVal logits = {0}, *params = nw_alloc0(((size_t)nw_model_count(model) + 1) * sizeof *params);
  NwStatus status = x != NULL && params != NULL ? NW_OK : no_memory(error);
  for (int i = 0; i < nw_model_count(model) && status == NW_OK; i++) {
    const NwParam *param = nw_model_at(model, i);
    params[i].p = value_new(w, &param->spec, param->name);
    if (params[i].p == NULL)
      status = no_memory(error);
    else if (strlen(param->name) >= MAX_NAME)
      status = nw_fail(error, NW_BAD_ARGUMENT, "The name %.60s... is too long for this export.", param->name);
  }
  if (status == NW_OK)
    status = nw_model_emit(model, &w->emitter, (NwVal){x, 0}, params, false, &logits, error);
  if (status == NW_OK) {
    NwText node = {0};
    nw_proto_put_text(&node, 1, ((const Value *)logits.p)->name);
    nw_proto_put_text(&node, 2, "logits");
    nw_proto_put_text(&node, 4, "Identity");
    nw_proto_put_message(&w->code->nodes, 1, &node);
  }
  nw_free(params);
  return status;
}

NwStatus nw_onnx_code_make(NwModel *model, int opset, NwOnnxCode *code, NwError *error)
{
  *code = (NwOnnxCode){.logits = "logits"};
  NwOnnxWriter *w = nw_alloc0(sizeof *w);
  if (w == NULL)
    return no_memory(error);
  w->emitter = (NwEmitter){.emit = emit, .spec = spec_of, .owner = w};
  w->code = code;
  w->opset = opset;
  NwStatus status = emit_model(w, model, error);
  for (Value *value = w->values, *next; value != NULL; value = next) {
    next = value->next;
    nw_free(value);
  }
  nw_free(w);
  if (status == NW_OK && (code->nodes.failed || code->constants.failed))
    status = no_memory(error);
  return status;
}

void nw_onnx_code_clear(NwOnnxCode *code)
{
  nw_text_clear(&code->nodes);
  nw_text_clear(&code->constants);
}
