/* Compiled steps: pictures → normalise → model → loss and right guesses, and in training gradients and
 * optimizer.
 *
 * One plan a batch size; all of them share the parameters, buffers and moments, which are bound and never
 * copied. */
#pragma once

#include "engine/graph/plan.h"
#include "engine/nn/model.h"
#include "engine/train/trainer.h"

/* What an optimizer remembers about every parameter: exp_avg and such. */
typedef struct NwMoments {
  int n_slots;
  int ports[NW_MAX_PORTS];   /* of the optimizer op */
  bool single[NW_MAX_PORTS]; /* by slot: one number a parameter (mu_product), not one for each of its numbers
                              */
  void **data;               /* parameter × slot; NULL for buffers, frozen parameters */
  void *memory;
  size_t bytes;
} NwMoments;
/* Sized for the trained parameters, filled with the optimizer's first numbers. */
NwStatus nw_moments_new(NwModel *model, const NwOp *optimizer, const void *attrs, NwMoments *out,
                        NwError *error);
void nw_moments_clear(NwMoments *moments);
void *nw_moments_at(const NwMoments *moments, int param, int slot);
/* Shape of a slot of a parameter. */
NwSpec nw_moments_spec(const NwMoments *moments, const NwSpec *param, int slot);
static inline const char *nw_moments_name(const NwMoments *moments, const NwOp *optimizer, int slot)
{
  return optimizer->inputs[moments->ports[slot]].name;
}

/* Everything but the batch size. Pointers are borrowed. The plans read lr and step from here at each run. */
typedef struct NwRecipe {
  NwModel *model;
  bool f32_input; /* normalised numbers come in instead of pixels */
  bool training, exact;
  bool keep_logits;
  float mean[4], deviation[4];
  const NwOp *loss; /* NULL: only logits */
  const void *loss_attrs;
  const float *class_weights; /* NULL: none */
  const NwOp *optimizer;      /* training */
  const void *optimizer_attrs;
  const NwMoments *moments;
  float lr;
  int64_t step; /* from 1 */
} NwRecipe;
void nw_recipe_set_normalization(NwRecipe *recipe, const NwNormalization *normalization);

typedef struct NwStepPlan {
  int64_t n; /* pictures; 0: an empty place */
  NwPlan *plan;
  NwVal pictures, labels, loss, correct, logits;
} NwStepPlan;

enum { NW_STEP_PLANS = 4 };
typedef struct NwStepPlans {
  NwRecipe recipe;
  NwStepPlan plans[NW_STEP_PLANS];
  int next; /* place that the next new plan takes */
} NwStepPlans;
/* The plan for batches of n pictures, compiled when it is new; valid until NW_STEP_PLANS others were asked
 * for. */
NwStatus nw_step_plans_get(NwStepPlans *plans, int64_t n, NwStepPlan **out, NwError *error);
void nw_step_plans_refresh(NwStepPlans *plans); /* frozen parameters have changed */
void nw_step_plans_clear(NwStepPlans *plans);

/* Runs one batch. loss and correct may be NULL. */
NwStatus nw_step_plan_run(NwStepPlan *step, const NwBatch *batch, const NwRun *run, double *loss,
                          int64_t *correct, NwError *error);
