/* The tape: torch's eager semantics over the op table.
 *
 * An output requires grad iff some input does and grad mode is on. Leaves accumulate into grad. Everything
 * runs on the calling thread with exact kernels. A tensor's history may be used by one thread at a time. */
#pragma once

#include "engine/op/op.h"
#include "engine/tensor/tensor.h"

/* Runs op on in[0..n_in-1] (NULL: absent), records it when needed, and gives op->n_outputs new references. */
NwStatus nw_apply(const NwOp *op, const void *attrs, NwTensor *const *in, int n_in, NwTensor **out,
                  NwError *error);
/* The same with attributes as text: nw_apply_text("conv2d", "stride=2", ...). NW_NOT_FOUND for an unknown op.
 */
NwStatus nw_apply_text(const char *op_id, const char *attrs, NwTensor *const *in, int n_in, NwTensor **out,
                       NwError *error);

/* Leaves only: NW_BAD_STATE for a tensor with history; NW_BAD_DTYPE for one that is not floating. */
NwStatus nw_tensor_set_requires_grad(NwTensor *tensor, bool on, NwError *error);
bool nw_tensor_requires_grad(const NwTensor *tensor);
NwTensor *nw_tensor_grad(const NwTensor *tensor); /* borrowed; NULL: none yet */
/* to_none: drop the gradient, else fill with zeros. */
void nw_tensor_zero_grad(NwTensor *tensor, bool to_none);

/* Thread-local; returns the old value. */
bool nw_grad_mode_set(bool on);

/* Backward from root. dout: the initial gradient (borrowed), NULL for a one-element root. Errors:
 * NW_BAD_STATE without history, on a second backward without retain_graph, or when a tensor that backward
 * still needs was changed in place; NW_BAD_SHAPE for a non-scalar without dout; NW_UNSUPPORTED with the op's
 * name where it has no gradient. */
NwStatus nw_backward(NwTensor *root, NwTensor *dout, bool retain_graph, NwError *error);

/* Seed of random ops on this thread's tape (dropout); each application takes the next step number, kept in
 * its record so that backward sees the same numbers. */
void nw_manual_seed(uint64_t seed);
/* Fixes the step number for comparisons with a plan; -1 returns to counting. */
void nw_tape_set_step(int64_t step);
/* An emitter that runs ops on the tape (values are NwTensor, owned by the emitter until
 * nw_tape_emitter_clear). */
NwStatus nw_tape_emitter_init(NwEmitter *emitter, NwError *error);
void nw_tape_emitter_clear(NwEmitter *emitter);
