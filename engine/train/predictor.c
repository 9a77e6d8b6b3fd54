#include "engine/train/predictor.h"

#include <string.h>

#include "engine/base/memory.h"
#include "engine/train/step-plan.h"

struct NwPredictor {
  int64_t batch_size, classes;
  NwStepPlans pixels, numbers; /* the same network behind two kinds of input */
};

NwStatus nw_predictor_new(NwModel *model, const NwNormalization *normalization, int64_t batch_size,
                          NwPredictor **out, NwError *error)
{
  *out = NULL;
  if (batch_size < 1)
    return nw_fail(error, NW_BAD_ARGUMENT, "The batch size is %lld; it must be at least 1.",
                   (long long)batch_size);
  NwPredictor *predictor = nw_alloc0(sizeof *predictor);
  if (predictor == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to predict.");
  predictor->batch_size = batch_size;
  predictor->classes = nw_model_classes(model);
  predictor->pixels.recipe = (NwRecipe){.model = model, .keep_logits = true};
  predictor->numbers.recipe = (NwRecipe){.model = model, .keep_logits = true, .f32_input = true};
  if (normalization != NULL)
    nw_recipe_set_normalization(&predictor->pixels.recipe, normalization);
  else
    nw_recipe_set_normalization(&predictor->pixels.recipe, &(NwNormalization){0});
  *out = predictor;
  return NW_OK;
}

void nw_predictor_free(NwPredictor *predictor)
{
  if (predictor == NULL)
    return;
  nw_step_plans_clear(&predictor->pixels);
  nw_step_plans_clear(&predictor->numbers);
  nw_free(predictor);
}

static NwStatus predict(NwPredictor *predictor, NwStepPlans *plans, const void *pictures, int64_t n,
                        float *logits, NwError *error)
{
  if (n < 1 || n > predictor->batch_size)
    return nw_fail(error, NW_BAD_ARGUMENT, "This predictor takes 1 to %lld pictures at once, not %lld.",
                   (long long)predictor->batch_size, (long long)n);
  NwStepPlan *plan;
  NwBatch batch = {.n = n, .pixels = pictures};
  NwRun run = {0};
  NW_TRY(nw_step_plans_get(plans, n, &plan, error));
  NW_TRY(nw_step_plan_run(plan, &batch, &run, NULL, NULL, error));
  memcpy(logits, nw_plan_data(plan->plan, plan->logits), (size_t)(n * predictor->classes) * sizeof *logits);
  return NW_OK;
}

NwStatus nw_predictor_run(NwPredictor *predictor, const uint8_t *pixels, int64_t n, float *logits,
                          NwError *error)
{
  return predict(predictor, &predictor->pixels, pixels, n, logits, error);
}

NwStatus nw_predictor_run_f32(NwPredictor *predictor, const float *input, int64_t n, float *logits,
                              NwError *error)
{
  return predict(predictor, &predictor->numbers, input, n, logits, error);
}
