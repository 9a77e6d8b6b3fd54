#include <pthread.h>
#include <string.h>

#include "engine/op/op.h"

#define NW_OP_FILE(name)                                                                                     \
  extern const NwOp nw_ops_##name[];                                                                         \
  extern const int nw_ops_##name##_count;
#include "nw-op-list.inc"
#undef NW_OP_FILE

static const struct {
  const NwOp *ops;
  const int *count;
} files[] = {
#define NW_OP_FILE(name) {nw_ops_##name, &nw_ops_##name##_count},
#include "nw-op-list.inc"
#undef NW_OP_FILE
};

const NwOp *nw_op_at(size_t index)
{
  for (int i = 0; i < NW_COUNT(files); i++) {
    if (index < (size_t)*files[i].count)
      return &files[i].ops[index];
    index -= (size_t)*files[i].count;
  }
  return NULL;
}

/* Open addressing over the ids, filled once; a table of the list's size would have to grow with it. */
enum { SLOTS = 1024 };
static const NwOp *slots[SLOTS];

static uint32_t hash(const char *id)
{
  uint32_t h = 2166136261u;
  for (; *id != '\0'; id++)
    h = (h ^ (unsigned char)*id) * 16777619u;
  return h % SLOTS;
}

static void fill_slots(void)
{
  const NwOp *op;
  for (size_t i = 0; (op = nw_op_at(i)) != NULL && i < SLOTS / 2; i++) {
    uint32_t at = hash(op->id);
    while (slots[at] != NULL)
      at = (at + 1) % SLOTS;
    slots[at] = op;
  }
}

const NwOp *nw_op_find(const char *id)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fill_slots);
  for (uint32_t at = hash(id); slots[at] != NULL; at = (at + 1) % SLOTS)
    if (strcmp(slots[at]->id, id) == 0)
      return slots[at];
  return NULL;
}

static bool supports(const NwKernel *kernel, const NwCall *call)
{
  for (int i = 0; i < call->n_in; i++)
    if (nw_spec_present(&call->in[i]) && call->in[i].dtype == NW_F64 && !(kernel->flags & NW_KERNEL_F64))
      return false;
  if (kernel->supports != NULL)
    return kernel->supports(call);
  for (int i = 0; i < call->n_in; i++)
    if (nw_spec_present(&call->in[i]) && call->in[i].block != 0)
      return false;
  for (int i = 0; i < call->n_out; i++)
    if (call->out[i].block != 0)
      return false;
  return true;
}

const NwKernel *nw_kernel_pick(const NwCall *call, bool exact, const char *name)
{
  NwDevice device = call->n_out > 0 ? call->out[0].device : call->in[0].device;
  for (int i = 0; i < call->op->n_kernels; i++) {
    const NwKernel *kernel = &call->op->kernels[i];
    if (kernel->device != device || (exact && !(kernel->flags & NW_KERNEL_EXACT)) ||
        (name != NULL && strcmp(name, kernel->name) != 0))
      continue;
    if (supports(kernel, call))
      return kernel;
  }
  return NULL;
}

NwStatus nw_emit(NwEmitter *emitter, const NwOp *op, const void *attrs, const NwVal *in, int n_in, NwVal *out,
                 NwError *error)
{
  NwVal outputs[NW_MAX_PORTS] = {{0}};
  NW_TRY(emitter->emit(emitter, op, attrs, in, n_in, outputs, error));
  *out = outputs[0];
  return NW_OK;
}

int nw_op_port(const NwOp *op, const char *input)
{
  for (int i = 0; i < op->n_inputs; i++)
    if (strcmp(op->inputs[i].name, input) == 0)
      return i;
  return -1;
}

const char *nw_group_label(NwGroup group)
{
  static const char *const labels[NW_GROUPS] = {
      N_("Internal"),  N_("Input"),      N_("Convolution"),    N_("Linear"), N_("Pooling"),
      N_("Norm"),      N_("Activation"), N_("Regularisation"), N_("Shape"),  N_("Merge"),
      N_("Composite"), N_("Loss"),       N_("Optimizer")};
  return labels[group];
}

const char *nw_group_key(NwGroup group)
{
  static const char *const keys[NW_GROUPS] = {"internal",  "input", "conv",     "linear", "pool",
                                              "norm",      "act",   "reg",      "shape",  "merge",
                                              "composite", "loss",  "optimizer"};
  return keys[group];
}
