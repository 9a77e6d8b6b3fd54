#include <math.h>

#include "engine/train/trainer-internal.h"

NwStatus nw_check_fit(NwModel *model, const NwBatchSource *source, const char *what, NwError *error)
{
  NwSpec input = nw_model_input(model);
  if (source->channels != input.dims[1] || source->height != input.dims[2] || source->width != input.dims[3])
    return nw_fail(error, NW_BAD_SHAPE,
                   "The %s pictures are %lld×%lld with %lld channels; the network wants %lld×%lld with %lld.",
                   what, (long long)source->width, (long long)source->height, (long long)source->channels,
                   (long long)input.dims[3], (long long)input.dims[2], (long long)input.dims[1]);
  if (source->classes != nw_model_classes(model))
    return nw_fail(error, NW_BAD_SHAPE, "The %s pictures have %lld classes; the network has %lld outputs.",
                   what, (long long)source->classes, (long long)nw_model_classes(model));
  if (source->count < 1)
    return nw_fail(error, NW_BAD_DATA, "There are no %s pictures.", what);
  return NW_OK;
}

/* Rows: truth, columns: the first of the greatest logits; a row with a NaN counts as class 0. */
static void count_confusion(const float *logits, const NwBatch *batch, int64_t classes, int64_t *confusion)
{
  for (int64_t i = 0; i < batch->n; i++, logits += classes) {
    int64_t best = 0, label = batch->labels[i];
    for (int64_t c = 1; c < classes; c++)
      if (logits[c] > logits[best])
        best = c;
    if (label >= 0 && label < classes)
      confusion[label * classes + best]++;
  }
}

static NwStatus check_batch(NwStepPlans *plans, const NwBatch *batch, NwCheckSums *sums, int64_t *confusion,
                            NwError *error)
{
  NwStepPlan *plan;
  double loss;
  int64_t correct;
  NwRun run = {0};
  NW_TRY(nw_step_plans_get(plans, batch->n, &plan, error));
  NW_TRY(nw_step_plan_run(plan, batch, &run, &loss, &correct, error));
  sums->loss += loss * (double)batch->n;
  sums->correct += correct;
  sums->pictures += batch->n;
  if (confusion != NULL)
    count_confusion(nw_plan_data(plan->plan, plan->logits), batch, nw_model_classes(plans->recipe.model),
                    confusion);
  return NW_OK;
}

NwStatus nw_check_source(NwStepPlans *plans, NwBatchSource *source, int64_t batch_size, NwTrainer *poll,
                         NwCheckSums *sums, int64_t *confusion, NwError *error)
{
  *sums = (NwCheckSums){0};
  nw_step_plans_refresh(plans);
  NW_TRY(source->begin(source->owner, 0, batch_size, 0, error));
  NwStatus status = NW_OK;
  while (status == NW_OK) {
    NwBatch batch = {0};
    if (poll != NULL)
      status = nw_trainer_obey(poll, error);
    if (status == NW_OK)
      status = source->next(source->owner, &batch, error);
    if (status != NW_OK || batch.n == 0)
      break;
    status = check_batch(plans, &batch, sums, confusion, error);
    source->release(source->owner, &batch);
  }
  source->end(source->owner);
  return status;
}

NwStatus nw_evaluate(NwModel *model, const NwNormalization *normalization, NwBatchSource *source,
                     int64_t batch_size, double *loss, double *accuracy, int64_t *confusion, NwError *error)
{
  NwStepPlans plans = {.recipe = {.model = model, .keep_logits = confusion != NULL}};
  NwTrainConfig config;
  NwCheckSums sums = {0};
  NW_TRY(nw_check_fit(model, source, "evaluation", error));
  nw_train_config_init(&config);
  plans.recipe.loss = config.loss;
  plans.recipe.loss_attrs = config.loss_attrs;
  nw_recipe_set_normalization(&plans.recipe, normalization);
  int64_t classes = nw_model_classes(model);
  for (int64_t i = 0; confusion != NULL && i < classes * classes; i++)
    confusion[i] = 0;
  NwStatus status =
      config.loss != NULL ? NW_OK : nw_fail(error, NW_NO_MEMORY, "There is no memory to evaluate.");
  if (status == NW_OK)
    status = nw_check_source(&plans, source, batch_size, NULL, &sums, confusion, error);
  if (status == NW_OK && loss != NULL)
    *loss = sums.pictures > 0 ? sums.loss / (double)sums.pictures : NAN;
  if (status == NW_OK && accuracy != NULL)
    *accuracy = sums.pictures > 0 ? (double)sums.correct / (double)sums.pictures : NAN;
  nw_step_plans_clear(&plans);
  nw_train_config_clear(&config);
  return status;
}
