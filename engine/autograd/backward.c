/* Backward: records from the newest to the oldest, each asked once, when everything that reads it has
 * answered. */
#include <string.h>

#include "engine/autograd/autograd.h"
#include "engine/autograd/record.h"
#include "engine/base/memory.h"

/* ---- the heap of records that wait, newest on top ---- */

typedef struct Queue {
  NwRecord **items; /* one reference each */
  int n, room;
} Queue;

static void swap(NwRecord **a, NwRecord **b)
{
  NwRecord *kept = *a;
  *a = *b;
  *b = kept;
}

static NwStatus queue_add(Queue *queue, NwRecord *record, NwError *error)
{
  if (record->queued)
    return NW_OK;
  if (queue->n == queue->room) {
    int room = queue->room > 0 ? queue->room * 2 : 64;
    NwRecord **grown =
        nw_realloc(queue->items, sizeof *grown * (size_t)queue->room, sizeof *grown * (size_t)room);
    if (grown == NULL)
      return nw_fail(error, NW_NO_MEMORY, "There is no memory for backward");
    queue->items = grown;
    queue->room = room;
  }
  record->queued = true;
  atomic_fetch_add(&record->refs, 1);
  int at = queue->n++;
  queue->items[at] = record;
  for (; at > 0 && queue->items[(at - 1) / 2]->order < queue->items[at]->order; at = (at - 1) / 2)
    swap(&queue->items[at], &queue->items[(at - 1) / 2]);
  return NW_OK;
}

static NwRecord *queue_take(Queue *queue)
{
  if (queue->n == 0)
    return NULL;
  NwRecord *top = queue->items[0];
  queue->items[0] = queue->items[--queue->n];
  for (int at = 0;;) {
    int big = at;
    for (int child = 2 * at + 1; child <= 2 * at + 2; child++)
      if (child < queue->n && queue->items[child]->order > queue->items[big]->order)
        big = child;
    if (big == at)
      break;
    swap(&queue->items[at], &queue->items[big]);
    at = big;
  }
  top->queued = false;
  return top;
}

static void clear_douts(NwRecord *record)
{
  for (int i = 0; i < record->n_out; i++) {
    nw_tensor_unref(record->dout[i]);
    record->dout[i] = NULL;
  }
}

static void queue_free(Queue *queue)
{
  NwRecord *record;
  while ((record = queue_take(queue)) != NULL) {
    clear_douts(record);
    nw_record_unref(record);
  }
  nw_free(queue->items);
}

/* ---- adding up ---- */

/* sum = sum + term, in new memory: either may be held by others. */
static NwStatus add_to(NwTensor **sum, NwTensor *term, NwError *error)
{
  const NwOp *add = nw_op_find("add");
  NwTensor *total = NULL;
  if (add == NULL)
    return nw_fail(error, NW_INTERNAL, "The operation add is missing");
  NwTensor *in[2] = {*sum, term};
  NwRun run = {0};
  void *attrs = nw_alloc0(add->attrs_size);
  if (attrs == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to add gradients");
  nw_attrs_init(add, attrs);
  NwStatus status = nw_tape_run(add, attrs, in, 2, &run, &total, error);
  nw_free(attrs);
  NW_TRY(status);
  nw_tensor_unref(*sum);
  *sum = total;
  return NW_OK;
}

static NwStatus arrive(NwTensor **slot, NwTensor *gradient, NwError *error)
{
  if (*slot != NULL)
    return add_to(slot, gradient, error);
  *slot = nw_tensor_ref(gradient);
  return NW_OK;
}

/* A leaf keeps its gradient: the first one is taken over when nobody else holds it (owned: by the rule's
 * emitter). */
static NwStatus arrive_at_leaf(NwTensor *leaf, NwTensor *gradient, NwError *error)
{
  if (leaf->grad != NULL)
    return add_to(&leaf->grad, gradient, error);
  bool sole = atomic_load(&gradient->refs) == 1 && atomic_load(&gradient->storage->refs) == 1;
  if (!sole)
    return nw_tensor_copy(gradient, &leaf->grad, error);
  leaf->grad = nw_tensor_ref(gradient);
  return NW_OK;
}

/* ---- one record ---- */

static NwStatus hand_on(NwRecord *record, const NwGrad *grad, Queue *queue, NwError *error)
{
  for (int i = 0; i < record->n_in; i++) {
    NwTensor *input = record->in[i], *gradient = grad->din[i].p;
    if (!record->need[i] || gradient == NULL)
      continue;
    if (input->record != NULL) {
      NwRecord *from = input->record;
      NW_TRY(arrive(&from->dout[input->record_output], gradient, error));
      NwStatus status = queue_add(queue, from, error);
      if (status != NW_OK) {
        clear_douts(from); /* what waits outside the queue would be counted by the next backward */
        return status;
      }
    } else {
      NW_TRY(arrive_at_leaf(input, gradient, error));
    }
  }
  return NW_OK;
}

static NwStatus ask(NwRecord *record, Queue *queue, NwError *error)
{
  if (record->spent)
    return nw_fail(
        error, NW_BAD_STATE,
        "Backward through %s a second time: what it saved is gone; give the first backward retain_graph",
        record->op->label != NULL ? record->op->label : record->op->id);
  if (record->op->grad == NULL)
    return nw_fail(error, NW_UNSUPPORTED, "%s has no gradient; detach its input or train without it",
                   record->op->label != NULL ? record->op->label : record->op->id);
  NwTape tape;
  NwEmitter emitter;
  nw_tape_init(&tape, &emitter);
  tape.record = record;
  tape.run = &record->run;
  NwGrad grad = {.emitter = &emitter,
                 .op = record->op,
                 .attrs = record->attrs,
                 .n_in = record->n_in,
                 .n_out = record->n_out};
  for (int i = 0; i < record->n_in; i++) {
    grad.in[i] = (NwVal){record->in[i], 0};
    grad.in_spec[i] = record->in[i] != NULL ? record->in[i]->spec : nw_spec_absent();
    grad.need[i] = record->need[i];
  }
  for (int i = 0; i < record->n_out; i++) {
    grad.out[i] = (NwVal){record->out[i], 0};
    grad.out_spec[i] = record->out[i] != NULL ? record->out[i]->spec : nw_spec_absent();
    grad.dout[i] = (NwVal){record->dout[i], 0};
  }
  NwStatus status = record->op->grad(&grad, error);
  if (status == NW_OK)
    status = hand_on(record, &grad, queue, error);
  nw_tape_clear(&tape);
  return status;
}

static NwStatus first_gradient(NwTensor *root, NwTensor *dout, NwTensor **out, NwError *error)
{
  if (dout == NULL) {
    if (nw_spec_count(&root->spec) != 1)
      return nw_fail(error, NW_BAD_SHAPE,
                     "Backward from a tensor of more than one number needs an initial gradient");
    return nw_tensor_full(&root->spec, 1, out, error);
  }
  if (!nw_spec_same_shape(&dout->spec, &root->spec) || dout->spec.dtype != root->spec.dtype)
    return nw_fail(error, NW_BAD_SHAPE, "The initial gradient must have the shape and type of the tensor");
  *out = nw_tensor_ref(dout);
  return NW_OK;
}

NwStatus nw_backward(NwTensor *root, NwTensor *dout, bool retain_graph, NwError *error)
{
  NwTensor *first = NULL;
  Queue queue = {0};
  if (root->record == NULL && !root->requires_grad)
    return nw_fail(error, NW_BAD_STATE, "The tensor depends on nothing that requires a gradient");
  NW_TRY(first_gradient(root, dout, &first, error));
  bool old = nw_grad_mode_set(false);
  NwStatus status = NW_OK;
  if (root->record == NULL)
    status = arrive_at_leaf(root, first, error);
  else {
    NwRecord *record = root->record;
    status = arrive(&record->dout[root->record_output], first, error);
    if (status == NW_OK)
      status = queue_add(&queue, record, error);
    if (status != NW_OK)
      clear_douts(record);
  }
  nw_tensor_unref(first);
  NwRecord *record;
  while (status == NW_OK && (record = queue_take(&queue)) != NULL) {
    status = ask(record, &queue, error);
    clear_douts(record);
    if (status == NW_OK && !retain_graph)
      nw_record_spend(record);
    nw_record_unref(record);
  }
  queue_free(&queue);
  nw_grad_mode_set(old);
  return status;
}

/* ---- leaves ---- */

NwStatus nw_tensor_set_requires_grad(NwTensor *tensor, bool on, NwError *error)
{
  if (tensor->record != NULL)
    return nw_fail(error, NW_BAD_STATE, "requires_grad can be set on leaves only; detach the tensor first");
  if (tensor->spec.dtype != NW_F32 && tensor->spec.dtype != NW_F64)
    return nw_fail(error, NW_BAD_DTYPE, "Only floating tensors can require a gradient, not %s",
                   nw_dtype_name(tensor->spec.dtype));
  tensor->requires_grad = on;
  return NW_OK;
}

bool nw_tensor_requires_grad(const NwTensor *tensor)
{
  return tensor->requires_grad || tensor->record != NULL;
}

NwTensor *nw_tensor_grad(const NwTensor *tensor)
{
  return tensor->grad;
}

void nw_tensor_zero_grad(NwTensor *tensor, bool to_none)
{
  if (tensor->grad == NULL)
    return;
  if (to_none) {
    nw_tensor_unref(tensor->grad);
    tensor->grad = NULL;
  } else {
    memset(nw_tensor_write(tensor->grad), 0, tensor->grad->storage->bytes);
  }
}
