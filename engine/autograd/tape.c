/* Running ops at once: kernels with plain layouts, recording where a gradient may be asked for. */
#include <string.h>

#include "engine/autograd/autograd.h"
#include "engine/autograd/record.h"
#include "engine/base/memory.h"

static _Thread_local bool grad_mode = true;
static _Thread_local uint64_t seed;
static _Thread_local uint64_t counter;
static _Thread_local int64_t fixed_step = -1;

bool nw_grad_mode_set(bool on)
{
  bool old = grad_mode;
  grad_mode = on;
  return old;
}

void nw_manual_seed(uint64_t new_seed)
{
  seed = new_seed;
  counter = 0;
}

void nw_tape_set_step(int64_t step)
{
  fixed_step = step;
}

static NwRun next_run(void)
{
  return (NwRun){.seed = seed, .step = fixed_step >= 0 ? (uint64_t)fixed_step : counter++};
}

static void drop(NwTensor **tensors, int n)
{
  for (int i = 0; i < n; i++) {
    nw_tensor_unref(tensors[i]);
    tensors[i] = NULL;
  }
}

/* Kernels change STATE inputs in place: whoever saved them must notice. */
static void count_changes(const NwOp *op, NwTensor *const *in, int n_in)
{
  for (int i = 0; i < n_in; i++) {
    const NwPort *port = &op->inputs[i < op->n_inputs ? i : op->n_inputs - 1];
    if (in[i] != NULL && port->role == NW_PORT_STATE)
      nw_tensor_write(in[i]);
  }
}

static NwStatus run_kernel(NwCall *call, NwError *error)
{
  const NwKernel *kernel = nw_kernel_pick(call, true, NULL);
  void *state = NULL, *workspace = NULL;
  size_t bytes = 0;
  if (kernel == NULL)
    return nw_fail(error, NW_UNSUPPORTED, "%s has no kernel for these inputs",
                   call->op->label != NULL ? call->op->label : call->op->id);
  const NwRun *run = call->run;
  const void *in_data[NW_MAX_PORTS];
  void *out_data[NW_MAX_PORTS];
  memcpy(in_data, call->in_data, sizeof in_data);
  memcpy(out_data, call->out_data, sizeof out_data);
  NwStatus status = NW_OK;
  if (kernel->prepare != NULL) {
    memset(call->in_data, 0, sizeof call->in_data);
    memset(call->out_data, 0, sizeof call->out_data);
    call->run = NULL;
    status = kernel->prepare(call, &state, &bytes, error);
  }
  if (status == NW_OK && bytes > 0 && (workspace = nw_alloc(bytes)) == NULL)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory for the workspace of %s (%zu bytes)",
                     call->op->id, bytes);
  if (status == NW_OK) {
    memcpy(call->in_data, in_data, sizeof in_data);
    memcpy(call->out_data, out_data, sizeof out_data);
    call->run = run;
    call->workspace = workspace;
    status = kernel->run(call, state, error);
  }
  if (kernel->release != NULL && state != NULL)
    kernel->release(state);
  nw_free(workspace);
  return status;
}

NwStatus nw_tape_run(const NwOp *op, const void *attrs, NwTensor *const *in, int n_in, const NwRun *run,
                     NwTensor **out, NwError *error)
{
  NwCall call = {.op = op, .attrs = attrs, .n_in = n_in, .n_out = op->n_outputs, .run = run};
  for (int i = 0; i < n_in; i++) {
    const NwPort *port = &op->inputs[i < op->n_inputs ? i : op->n_inputs - 1];
    call.in[i] = in[i] != NULL ? in[i]->spec : nw_spec_absent();
    if (in[i] != NULL && port->role != NW_PORT_SHAPE)
      call.in_data[i] = in[i]->storage->data;
  }
  NW_TRY(nw_attrs_check(op, attrs, error));
  NW_TRY(op->infer(op, attrs, call.in, n_in, call.out, error));
  NwStatus status = NW_OK;
  for (int i = 0; i < op->n_outputs && status == NW_OK; i++) {
    if (!nw_spec_present(&call.out[i]))
      continue;
    status = nw_tensor_new(&call.out[i], &out[i], error);
    call.out_data[i] = status == NW_OK ? out[i]->storage->data : NULL;
  }
  if (status == NW_OK)
    status = run_kernel(&call, error);
  if (status != NW_OK)
    drop(out, op->n_outputs);
  else
    count_changes(op, in, n_in);
  return status;
}

static NwStatus check_ports(const NwOp *op, NwTensor *const *in, int n_in, NwError *error)
{
  const char *name = op->label != NULL ? op->label : op->id;
  bool variadic = op->n_inputs > 0 && (op->inputs[op->n_inputs - 1].flags & NW_PORT_VARIADIC);
  if (n_in > NW_MAX_PORTS || (n_in > op->n_inputs && !variadic))
    return nw_fail(error, NW_BAD_ARGUMENT, "%s takes %d inputs, not %d", name, op->n_inputs, n_in);
  for (int i = 0; i < op->n_inputs; i++)
    if ((i >= n_in || in[i] == NULL) && !(op->inputs[i].flags & NW_PORT_OPTIONAL))
      return nw_fail(error, NW_BAD_ARGUMENT, "%s needs an input for %s", name, op->inputs[i].name);
  for (int i = op->n_inputs; i < n_in; i++)
    if (in[i] == NULL)
      return nw_fail(error, NW_BAD_ARGUMENT, "%s needs an input number %d", name, i + 1);
  return NW_OK;
}

static NwStatus apply_composite(const NwOp *op, const void *attrs, NwTensor *const *in, int n_in,
                                NwTensor **out, NwError *error)
{
  NwTape tape;
  NwEmitter emitter;
  NwVal values[NW_MAX_PORTS] = {{0}}, results[NW_MAX_PORTS] = {{0}};
  nw_tape_init(&tape, &emitter);
  for (int i = 0; i < n_in; i++)
    values[i].p = in[i];
  NwStatus status = nw_attrs_check(op, attrs, error);
  if (status == NW_OK)
    status = op->expand(&emitter, op, attrs, values, n_in, results, error);
  for (int i = 0; i < op->n_outputs && status == NW_OK; i++)
    out[i] = nw_tensor_ref(results[i].p);
  nw_tape_clear(&tape);
  return status;
}

static NwStatus apply_with(const NwOp *op, const void *attrs, NwTensor *const *in, int n_in, const NwRun *run,
                           NwTensor **out, NwError *error)
{
  memset(out, 0, sizeof *out * (size_t)op->n_outputs);
  NW_TRY(check_ports(op, in, n_in, error));
  if (op->expand != NULL)
    return apply_composite(op, attrs, in, n_in, out, error);
  NwRun own = run != NULL ? *run : next_run();
  NW_TRY(nw_tape_run(op, attrs, in, n_in, &own, out, error));
  bool wanted = false;
  for (int i = 0; i < n_in && grad_mode; i++)
    wanted = wanted || (in[i] != NULL && nw_tensor_requires_grad(in[i]));
  if (!wanted || (op->grad == NULL && (op->flags & NW_OP_SIDE_EFFECT)))
    return NW_OK;
  NwStatus status = nw_record_new(op, attrs, in, n_in, &own, out, error);
  if (status != NW_OK)
    drop(out, op->n_outputs);
  return status;
}

NwStatus nw_apply(const NwOp *op, const void *attrs, NwTensor *const *in, int n_in, NwTensor **out,
                  NwError *error)
{
  return apply_with(op, attrs, in, n_in, NULL, out, error);
}

/* "stride=2 padding=1" into an attribute struct that holds the initial values. */
static NwStatus parse_attrs(const NwOp *op, const char *text, void *attrs, NwError *error)
{
  char key[64], value[128];
  for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
    size_t word = strcspn(text, " "), equals = strcspn(text, "=");
    if (equals >= word || equals >= sizeof key || word - equals > sizeof value)
      return nw_fail(error, NW_BAD_ARGUMENT, "Attributes are written as key=value: \"%.*s\" is not",
                     (int)word, text);
    memcpy(key, text, equals);
    key[equals] = '\0';
    memcpy(value, text + equals + 1, word - equals - 1);
    value[word - equals - 1] = '\0';
    NW_TRY(nw_attr_set_text(op, attrs, key, value, error));
    text += word;
  }
  return NW_OK;
}

NwStatus nw_apply_text(const char *op_id, const char *text, NwTensor *const *in, int n_in, NwTensor **out,
                       NwError *error)
{
  const NwOp *op = nw_op_find(op_id);
  if (op == NULL)
    return nw_fail(error, NW_NOT_FOUND, "There is no layer or operation named %s", op_id);
  void *attrs = nw_alloc(op->attrs_size);
  if (attrs == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the attributes of %s", op_id);
  nw_attrs_init(op, attrs);
  NwStatus status = parse_attrs(op, text != NULL ? text : "", attrs, error);
  if (status == NW_OK)
    status = nw_apply(op, attrs, in, n_in, out, error);
  else
    memset(out, 0, sizeof *out * (size_t)op->n_outputs);
  nw_free(attrs);
  return status;
}

/* ---- the emitter ---- */

static NwStatus keep(NwTape *tape, NwTensor *tensor, NwError *error)
{
  if (tape->n == tape->room) {
    int room = tape->room > 0 ? tape->room * 2 : 16;
    NwTensor **grown =
        nw_realloc(tape->made, sizeof *grown * (size_t)tape->room, sizeof *grown * (size_t)room);
    if (grown == NULL)
      return nw_fail(error, NW_NO_MEMORY, "There is no memory for the tape");
    tape->made = grown;
    tape->room = room;
  }
  tape->made[tape->n++] = tensor;
  return NW_OK;
}

/* A gradient rule reads values that forward saved: they must still be what they were. */
static NwStatus check_saved(const NwRecord *record, const NwTensor *value, NwError *error)
{
  bool changed = false;
  for (int i = 0; i < record->n_in; i++)
    changed = changed ||
              (record->in[i] == value && value != NULL && nw_tensor_version(value) != record->in_version[i]);
  for (int i = 0; i < record->n_out; i++)
    changed = changed || (record->out[i] == value && value != NULL &&
                          nw_tensor_version(value) != record->out_version[i]);
  if (!changed)
    return NW_OK;
  return nw_fail(
      error, NW_BAD_STATE,
      "A tensor that the gradient of %s needs was changed in place after it was used; change a copy instead",
      record->op->label != NULL ? record->op->label : record->op->id);
}

static NwStatus tape_emit(NwEmitter *self, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                          NwVal *out, NwError *error)
{
  NwTape *tape = self->owner;
  NwTensor *inputs[NW_MAX_PORTS] = {NULL}, *outputs[NW_MAX_PORTS] = {NULL};
  if (n_in > NW_MAX_PORTS)
    return nw_fail(error, NW_INTERNAL, "%s was emitted with %d inputs", op->id, n_in);
  for (int i = 0; i < n_in; i++) {
    const NwPort *port = &op->inputs[i < op->n_inputs ? i : op->n_inputs - 1];
    inputs[i] = in[i].p;
    if (tape->record != NULL && port->role != NW_PORT_SHAPE)
      NW_TRY(check_saved(tape->record, inputs[i], error));
  }
  NW_TRY(apply_with(op, attrs, inputs, n_in, tape->run, outputs, error));
  NwStatus status = NW_OK;
  for (int i = 0; i < op->n_outputs; i++) {
    out[i] = (NwVal){outputs[i], 0};
    if (outputs[i] == NULL)
      continue;
    NwStatus kept = keep(tape, outputs[i], error);
    if (kept != NW_OK) {
      nw_tensor_unref(outputs[i]);
      out[i] = (NwVal){NULL, 0};
      status = kept;
    }
  }
  return status;
}

static NwSpec tape_spec(NwEmitter *self, NwVal value)
{
  return value.p != NULL ? ((NwTensor *)value.p)->spec : nw_spec_absent();
}

void nw_tape_init(NwTape *tape, NwEmitter *emitter)
{
  *tape = (NwTape){0};
  *emitter = (NwEmitter){.emit = tape_emit, .spec = tape_spec, .owner = tape};
}

void nw_tape_clear(NwTape *tape)
{
  drop(tape->made, tape->n);
  nw_free(tape->made);
  *tape = (NwTape){0};
}

NwStatus nw_tape_emitter_init(NwEmitter *emitter, NwError *error)
{
  NwTape *tape = nw_alloc(sizeof *tape);
  if (tape == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for a tape");
  nw_tape_init(tape, emitter);
  return NW_OK;
}

void nw_tape_emitter_clear(NwEmitter *emitter)
{
  if (emitter->owner != NULL)
    nw_tape_clear(emitter->owner);
  nw_free(emitter->owner);
  emitter->owner = NULL;
}
