#include "engine/op/composite.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"

enum { MAX_ATTRS = 512, MAX_TEXT = 512, MAX_DATA = 8, STREAM_STEP = 1 << 16 };

void nw_sketch_fail(NwSketch *sketch, const char *property, const char *format, ...)
{
  char text[MAX_TEXT];
  va_list list;
  if (sketch->status != NW_OK)
    return;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  sketch->status = property != NULL ? nw_fail_property(sketch->error, NW_BAD_SHAPE, property, "%s", text)
                                    : nw_fail(sketch->error, NW_BAD_SHAPE, "%s", text);
}

/* ---- working out specs ---- */

static NwSpec spec_of(NwEmitter *self, NwVal value)
{
  return value.p != NULL ? *(const NwSpec *)value.p : nw_spec_absent();
}

static NwVal spec_keep(NwSketch *sketch, const NwSpec *spec)
{
  if (!nw_spec_present(spec))
    return (NwVal){0};
  if (sketch->n_specs == NW_MAX_PARTS) {
    nw_sketch_fail(sketch, NULL, "%s has too many parts", sketch->op->label);
    return (NwVal){0};
  }
  NwSpec *kept = &sketch->specs[sketch->n_specs++];
  *kept = *spec;
  kept->block = 0; /* only what is computed lies in blocks */
  return (NwVal){kept, 0};
}

static NwStatus spec_emit(NwEmitter *self, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                          NwVal *out, NwError *error)
{
  NwSketch *sketch = self->owner;
  NwSpec specs[NW_MAX_PORTS], made[NW_MAX_PORTS];
  for (int i = 0; i < NW_MAX_PORTS; i++) {
    specs[i] = i < n_in ? spec_of(self, in[i]) : nw_spec_absent();
    made[i] = nw_spec_absent();
  }
  NW_TRY(nw_attrs_check(op, attrs, error));
  NW_TRY(op->infer(op, attrs, specs, n_in, made, error));
  if (op->cost != NULL && !sketch->own_params) {
    NwCost cost = op->cost(op, attrs, specs, n_in, made);
    sketch->cost.macs += cost.macs;
    sketch->cost.flops += cost.flops;
  }
  for (int i = 0; i < op->n_outputs; i++)
    out[i] = i == 0 ? spec_keep(sketch, &made[i]) : (NwVal){0};
  return sketch->status;
}

/* ---- drawing ---- */

static int port_of(const NwOp *op, const char *path, const char *leaf)
{
  char name[96];
  snprintf(name, sizeof name, "%s%s%s", path, path[0] ? "." : "", leaf);
  return nw_op_port(op, name);
}

/* Value of the composite's port, or what the part says it will be. */
static NwVal take_param(NwSketch *sketch, int port, NwParamInfo *info)
{
  if (port < 0 && !(sketch->own_params && info->present))
    return (NwVal){0}; /* an optional one that this composite never has */
  if (port < 0) {
    nw_sketch_fail(sketch, NULL, "%s lacks a port for a parameter of its parts", sketch->op->label);
    return (NwVal){0};
  }
  if (!sketch->own_params)
    return sketch->in[port];
  if (port == sketch->wanted)
    *sketch->info = *info;
  return info->present ? spec_keep(sketch, &info->spec) : (NwVal){0};
}

static void gather_params(NwSketch *sketch, const char *path, const NwOp *op, const void *attrs, NwVal *in)
{
  NwSpec specs[NW_MAX_PORTS];
  for (int i = 0; i < NW_MAX_PORTS; i++)
    specs[i] = sketch->emitter->spec(sketch->emitter, in[i]);
  for (int port = 0; port < op->n_inputs && sketch->status == NW_OK; port++) {
    NwPortRole role = op->inputs[port].role;
    NwParamInfo info = {0};
    if (role != NW_PORT_PARAM && role != NW_PORT_STATE)
      continue;
    if (sketch->own_params && op->param != NULL)
      sketch->status = op->param(op, attrs, specs, port, &info, sketch->error);
    if (sketch->status == NW_OK)
      in[port] =
          take_param(sketch, path != NULL ? port_of(sketch->op, path, op->inputs[port].name) : -1, &info);
  }
}

/* A mistake of a part is the composite's: its sentence stays, its property only where the composite has it
 * too. */
static void own_error(NwSketch *sketch, const char *path)
{
  NwError *error = sketch->error;
  if (error == NULL)
    return;
  if (error->property[0] != 0 && nw_attr_find(sketch->op, error->property) == NULL)
    error->property[0] = 0;
  nw_error_prefix(error, error->status, "%s%s%s", sketch->op->label, path != NULL ? ", " : "",
                  path != NULL ? path : "");
}

static void hand_on(const NwSketch *sketch, const NwOp *op, void *attrs)
{
  const NwAttr *training = nw_attr_find(sketch->op, "training"), *stream = nw_attr_find(sketch->op, "stream");
  if (training != NULL)
    nw_attrs_set_hidden(op, attrs, "training", nw_attr_get(training, sketch->attrs).b);
  if (stream != NULL) /* blocks count up from 0, so parts count in large steps */
    nw_attrs_set_hidden(op, attrs, "stream",
                        nw_attr_get(stream, sketch->attrs).i + (int64_t)sketch->parts * STREAM_STEP);
}

/* x are the data inputs in turn; by_port: every input, at its port. */
static NwVal emit_part(NwSketch *sketch, const char *path, const NwOp *op, const void *attrs, const NwVal *x,
                       int n, bool by_port)
{
  NwVal in[NW_MAX_PORTS] = {{0}}, out[NW_MAX_PORTS] = {{0}};
  int port = 0, last = by_port ? n : op->n_inputs;
  for (int k = 0; k < n; k++, port++) {
    while (!by_port && port < op->n_inputs && op->inputs[port].role != NW_PORT_DATA)
      port++;
    if (port >= NW_MAX_PORTS)
      break;
    in[port] = x[k];
    last = port + 1 > last ? port + 1 : last;
  }
  if (!by_port)
    gather_params(sketch, path, op, attrs, in);
  if (sketch->status == NW_OK)
    sketch->status = sketch->emitter->emit(sketch->emitter, op, attrs, in, last, out, sketch->error);
  if (sketch->status != NW_OK) {
    own_error(sketch, path);
    return (NwVal){0};
  }
  return out[0];
}

static NwStatus read_attrs(const NwOp *op, char *text, void *attrs, NwError *error)
{
  char *rest = NULL;
  for (char *pair = strtok_r(text, " ", &rest); pair != NULL; pair = strtok_r(NULL, " ", &rest)) {
    char *equals = strchr(pair, '=');
    if (equals == NULL)
      return nw_fail(error, NW_INTERNAL, "\"%s\" has no value", pair);
    *equals = 0;
    NW_TRY(nw_attr_set_text(op, attrs, pair, equals + 1, error));
  }
  return NW_OK;
}

static NwVal part_text(NwSketch *sketch, const char *path, const char *id, const NwVal *x, int n,
                       bool by_port, const char *format, va_list list)
{
  union {
    char bytes[MAX_ATTRS];
    double align;
  } attrs;
  char text[MAX_TEXT];
  const NwOp *op = nw_op_find(id);
  sketch->parts++;
  if (sketch->status != NW_OK)
    return (NwVal){0};
  if (op == NULL || op->attrs_size > sizeof attrs || n > MAX_DATA) {
    nw_sketch_fail(sketch, NULL, "%s: its part %s is missing from this build", sketch->op->label, id);
    return (NwVal){0};
  }
  vsnprintf(text, sizeof text, format, list);
  nw_attrs_init(op, attrs.bytes);
  sketch->status = read_attrs(op, text, attrs.bytes, sketch->error);
  if (sketch->status != NW_OK) {
    own_error(sketch, path);
    return (NwVal){0};
  }
  hand_on(sketch, op, attrs.bytes);
  return emit_part(sketch, path, op, attrs.bytes, x, n, by_port);
}

NwVal nw_part(NwSketch *sketch, const char *path, const char *op, NwVal x, const char *format, ...)
{
  va_list list;
  va_start(list, format);
  NwVal made = part_text(sketch, path, op, &x, 1, false, format, list);
  va_end(list);
  return made;
}

NwVal nw_part_of(NwSketch *sketch, const char *path, const char *op, const NwVal *x, int n,
                 const char *format, ...)
{
  va_list list;
  va_start(list, format);
  NwVal made = part_text(sketch, path, op, x, n, false, format, list);
  va_end(list);
  return made;
}

NwVal nw_part_ports(NwSketch *sketch, const char *id, const NwVal *in, int n, const char *format, ...)
{
  va_list list;
  va_start(list, format);
  NwVal made = part_text(sketch, NULL, id, in, n, true, format, list);
  va_end(list);
  return made;
}

NwVal nw_join(NwSketch *sketch, const char *op, NwVal x, NwVal other)
{
  return nw_part_of(sketch, NULL, op, (NwVal[]){x, other}, 2, "%s", "");
}

NwVal nw_part_attrs(NwSketch *sketch, const char *id, const NwVal *x, int n, const void *attrs)
{
  const NwOp *op = nw_op_find(id);
  sketch->parts++;
  if (op == NULL)
    nw_sketch_fail(sketch, NULL, "%s: its part %s is missing from this build", sketch->op->label, id);
  return sketch->status == NW_OK ? emit_part(sketch, NULL, op, attrs, x, n, true) : (NwVal){0};
}

NwVal nw_own_param(NwSketch *sketch, const char *port, const NwParamInfo *info)
{
  NwParamInfo copy = *info;
  return sketch->status == NW_OK ? take_param(sketch, nw_op_port(sketch->op, port), &copy) : (NwVal){0};
}

NwSpec nw_drawn(const NwSketch *sketch, NwVal value)
{
  return sketch->status == NW_OK ? sketch->emitter->spec(sketch->emitter, value) : nw_spec_absent();
}

int64_t nw_drawn_channels(const NwSketch *sketch, NwVal value)
{
  NwSpec spec = nw_drawn(sketch, value);
  return spec.ndim >= 2 && spec.dims[1] > 0 && spec.dims[1] < (1 << 24) ? spec.dims[1] : 1;
}

/* ---- rows ---- */

/* Draws on specs alone; the first output's spec in *out. */
static NwStatus draw_specs(NwDraw draw, NwSketch *sketch, const NwSpec *in, int n_in, NwSpec *out)
{
  NwEmitter emitter = {.emit = spec_emit, .spec = spec_of, .owner = sketch};
  NwError unread = {0};
  sketch->specs = nw_alloc(sizeof *sketch->specs * NW_MAX_PARTS);
  if (sketch->specs == NULL)
    return nw_fail(sketch->error, NW_NO_MEMORY, "There is no memory for the parts of %s", sketch->op->label);
  sketch->emitter = &emitter;
  if (sketch->error == NULL)
    sketch->error = &unread;
  for (int i = 0; i < n_in; i++)
    sketch->in[i] = spec_keep(sketch, &in[i]);
  sketch->n_in = n_in;
  for (int port = 0; port < n_in && port < sketch->op->n_inputs; port++)
    if (sketch->op->inputs[port].role == NW_PORT_DATA && sketch->in[port].p == NULL &&
        !(sketch->op->inputs[port].flags & NW_PORT_OPTIONAL))
      nw_sketch_fail(sketch, NULL, "%s has no input", sketch->op->label);
  NwVal value = sketch->status == NW_OK ? draw(sketch, sketch->attrs) : (NwVal){0};
  if (sketch->status == NW_OK && out != NULL)
    *out = spec_of(&emitter, value);
  nw_free(sketch->specs);
  return sketch->status;
}

NwStatus nw_composite_infer(NwDraw draw, const NwOp *op, const void *attrs, const NwSpec *in, int n_in,
                            NwSpec *out, NwError *error)
{
  NwSketch sketch = {.op = op, .attrs = attrs, .error = error, .wanted = -1};
  return draw_specs(draw, &sketch, in, n_in, &out[0]);
}

NwStatus nw_composite_param(NwDraw draw, const NwOp *op, const void *attrs, const NwSpec *in, int port,
                            NwParamInfo *info, NwError *error)
{
  NwSketch sketch = {
      .op = op, .attrs = attrs, .error = error, .wanted = port, .info = info, .own_params = true};
  NwSpec data[NW_MAX_PORTS];
  info->present = false;
  for (int i = 0; i < op->n_inputs; i++)
    data[i] = op->inputs[i].role == NW_PORT_DATA ? in[i] : nw_spec_absent();
  return draw_specs(draw, &sketch, data, op->n_inputs, NULL);
}

NwCost nw_composite_cost(NwDraw draw, const NwOp *op, const void *attrs, const NwSpec *in, int n_in)
{
  NwSketch sketch = {.op = op, .attrs = attrs, .wanted = -1};
  return draw_specs(draw, &sketch, in, n_in, NULL) == NW_OK ? sketch.cost : (NwCost){0};
}

NwStatus nw_composite_expand(NwDraw draw, NwEmitter *emitter, const NwOp *op, const void *attrs,
                             const NwVal *in, int n_in, NwVal *out, NwError *error)
{
  NwError unread = {0};
  NwSketch sketch = {.op = op,
                     .attrs = attrs,
                     .emitter = emitter,
                     .error = error != NULL ? error : &unread,
                     .wanted = -1,
                     .n_in = n_in};
  memcpy(sketch.in, in, sizeof *in * (size_t)n_in);
  out[0] = draw(&sketch, attrs);
  return sketch.status;
}
