/* Which tensor of a file goes into which parameter of a network: worked out and shown before anything
 * changes.
 *
 * By name; by name behind a prefix that training wrappers add ("module.", "_orig_mod.", "model.", "net.", one
 * after the other); or, with the person's consent, by order and shape. What has the right name and another
 * shape (the head of a network for other classes) is left as it is, and said. */
#pragma once

#include "engine/base/text.h"
#include "engine/io/weights.h"
#include "engine/nn/model.h"

typedef enum NwMatchState {
  NW_MATCH_MISSING, /* the file has nothing for it */
  NW_MATCH_FOUND,   /* item fits */
  NW_MATCH_MISFIT,  /* item has its name, but another shape or a type that cannot become this one */
  NW_MATCH_DEFAULT  /* a count of batches that old files lack: it stays 0 */
} NwMatchState;

typedef struct NwWeightMatch {
  NwMatchState state;
  int item; /* of the weights; -1: none */
} NwWeightMatch;

typedef struct NwWeightPlan {
  const NwWeights *weights; /* borrowed */
  NwModel *model;           /* borrowed */
  NwWeightMatch *params;    /* by index of nw_model_at */
  bool *used;               /* by item */
  char prefix[64];          /* taken off the names in the file; "": none */
  bool by_order;
  int found, missing, misfit, unused;
} NwWeightPlan;

/* by_order: pair the tensors that names do not pair, in their order, where shapes agree. Errors:
 * NW_NO_MEMORY. */
NwStatus nw_weight_plan_new(const NwWeights *weights, NwModel *model, bool by_order, NwWeightPlan **out,
                            NwError *error);
void nw_weight_plan_free(NwWeightPlan *plan); /* NULL is allowed */
/* Sentences: how many match, then a line for each that does not, at most `most` of each kind. */
void nw_weight_plan_report(const NwWeightPlan *plan, int most, NwText *out);
/* Copies the numbers, from the mapped file into the model, with the type made what the model wants.
 * NW_BAD_SHAPE when nothing matches at all; then nothing was changed. */
NwStatus nw_weight_plan_apply(const NwWeightPlan *plan, NwError *error);

/* All of it: open, plan, report (may be NULL), apply. */
NwStatus nw_weights_load(const char *path, NwModel *model, bool by_order, NwText *report, NwError *error);
