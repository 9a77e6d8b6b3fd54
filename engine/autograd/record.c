#include "engine/autograd/record.h"

#include <string.h>

#include "engine/base/memory.h"

static _Atomic uint64_t next_order;

/* Records go away one after the other, not inside one another: a chain of 100,000 ops must not need as deep a
 * stack. */
static _Thread_local NwRecord *free_list;
static _Thread_local bool freeing;

static void drop_tensors(NwRecord *record)
{
  for (int i = 0; i < record->n_in; i++) {
    nw_tensor_unref(record->in[i]);
    record->in[i] = NULL;
  }
  for (int i = 0; i < record->n_out; i++) {
    nw_tensor_unref(record->out[i]);
    nw_tensor_unref(record->dout[i]);
    record->out[i] = record->dout[i] = NULL;
  }
}

static void drain(void)
{
  if (freeing)
    return;
  freeing = true;
  while (free_list != NULL) {
    NwRecord *record = free_list;
    free_list = record->next_free;
    drop_tensors(record);
    nw_free(record->attrs);
    nw_free(record);
  }
  freeing = false;
}

void nw_record_unref(NwRecord *record)
{
  if (record == NULL || atomic_fetch_sub(&record->refs, 1) != 1)
    return;
  record->next_free = free_list;
  free_list = record;
  drain();
}

void nw_record_spend(NwRecord *record)
{
  record->spent = true;
  drop_tensors(record);
}

static void release(void *record)
{
  nw_record_unref(record);
}

static NwStatus save(NwRecord *record, NwTensor *const *in, NwTensor *const *out, NwError *error)
{
  for (int i = 0; i < record->n_in; i++) {
    if (in[i] == NULL)
      continue;
    record->in[i] = nw_tensor_ref(in[i]);
    record->in_version[i] = nw_tensor_version(in[i]);
    record->need[i] = in[i]->requires_grad || in[i]->record != NULL;
  }
  for (int i = 0; i < record->n_out; i++) {
    if (out[i] == NULL)
      continue;
    NW_TRY(nw_tensor_alias(out[i], &out[i]->spec, &record->out[i], error));
    record->out_version[i] = nw_tensor_version(out[i]);
  }
  return NW_OK;
}

NwStatus nw_record_new(const NwOp *op, const void *attrs, NwTensor *const *in, int n_in, const NwRun *run,
                       NwTensor *const *out, NwError *error)
{
  nw_tensor_record_release = release;
  NwRecord *record = nw_alloc0(sizeof *record);
  void *copy = record != NULL ? nw_alloc(op->attrs_size) : NULL;
  if (copy == NULL) {
    nw_free(record);
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to record %s", op->id);
  }
  if (op->attrs_size > 0)
    memcpy(copy, attrs, op->attrs_size);
  atomic_init(&record->refs, 1);
  record->op = op;
  record->attrs = copy;
  record->n_in = n_in;
  record->n_out = op->n_outputs;
  record->order = atomic_fetch_add(&next_order, 1);
  record->run = *run;
  NwStatus status = save(record, in, out, error);
  for (int i = 0; i < record->n_out && status == NW_OK; i++)
    if (out[i] != NULL && (out[i]->spec.dtype == NW_F32 || out[i]->spec.dtype == NW_F64)) {
      atomic_fetch_add(&record->refs, 1);
      out[i]->record = record;
      out[i]->record_output = i;
    }
  nw_record_unref(record);
  return status;
}
