/* One entry of the tape: an op that ran, and what its gradient needs. Internal to engine/autograd. */
#pragma once

#include <stdatomic.h>

#include "engine/op/op.h"
#include "engine/tensor/tensor-private.h"

typedef struct NwRecord NwRecord;
struct NwRecord {
  _Atomic int refs;
  const NwOp *op;
  void *attrs;
  int n_in, n_out;
  uint64_t order;               /* a consumer is always newer than what it consumes */
  NwRun run;                    /* so that backward sees the random numbers of forward */
  NwTensor *in[NW_MAX_PORTS];   /* owned, kept whole: leaves need their identity */
  NwTensor *out[NW_MAX_PORTS];  /* owned aliases without history, so that no cycle leads through the record */
  NwTensor *dout[NW_MAX_PORTS]; /* gradients that arrived in the running backward */
  uint32_t in_version[NW_MAX_PORTS], out_version[NW_MAX_PORTS];
  bool need[NW_MAX_PORTS];
  bool spent, queued;
  NwRecord *next_free; /* list of records being released */
};

/* Runs op on tensors without recording. Gives op->n_outputs references (NULL: absent). */
NwStatus nw_tape_run(const NwOp *op, const void *attrs, NwTensor *const *in, int n_in, const NwRun *run,
                     NwTensor **out, NwError *error);
/* Makes the record of a run that needs one and hangs it onto the outputs. */
NwStatus nw_record_new(const NwOp *op, const void *attrs, NwTensor *const *in, int n_in, const NwRun *run,
                       NwTensor *const *out, NwError *error);
void nw_record_unref(NwRecord *record);
/* Lets go of the saved tensors: after a backward that does not keep the graph. */
void nw_record_spend(NwRecord *record);

/* An emitter that runs on the tape and owns what it made. record: whose rule is running (its saved values are
 * checked for changes in place); NULL: none. */
typedef struct NwTape {
  NwTensor **made;
  int n, room;
  const NwRecord *record;
  const NwRun *run; /* NULL: count steps */
} NwTape;
void nw_tape_init(NwTape *tape, NwEmitter *emitter);
void nw_tape_clear(NwTape *tape);
