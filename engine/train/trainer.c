/* The loop: epochs of training and validation. Everything it must remember is in trainer->position. */
#include <math.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/base/threads.h"
#include "engine/train/trainer-internal.h"

/* ---- making ---- */

void nw_trainer_free(NwTrainer *trainer)
{
  if (trainer == NULL)
    return;
  nw_step_plans_clear(&trainer->steps);
  nw_step_plans_clear(&trainer->checks);
  nw_moments_clear(&trainer->moments);
  nw_train_config_clear(&trainer->config);
  nw_free(trainer->class_weights);
  nw_free(trainer->folder);
  nw_json_free(trainer->extra);
  pthread_mutex_destroy(&trainer->lock);
  pthread_cond_destroy(&trainer->wake);
  nw_free(trainer);
}

/* n_total / (classes × count), as scikit-learn's "balanced"; a class without pictures weighs nothing. */
static NwStatus weigh_classes(NwTrainer *trainer, const int64_t *counts, NwError *error)
{
  int64_t classes = nw_model_classes(trainer->model), total = 0;
  if (!trainer->config.class_weights)
    return NW_OK;
  if (counts == NULL)
    return nw_fail(error, NW_BAD_ARGUMENT, "Class weights need the number of pictures of each class.");
  trainer->class_weights = nw_alloc0((size_t)classes * sizeof *trainer->class_weights);
  if (trainer->class_weights == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the training.");
  for (int64_t c = 0; c < classes; c++)
    total += counts[c];
  for (int64_t c = 0; c < classes; c++)
    if (counts[c] > 0)
      trainer->class_weights[c] = (float)((double)total / ((double)classes * (double)counts[c]));
  return NW_OK;
}

static void make_recipes(NwTrainer *trainer)
{
  NwRecipe recipe = {.model = trainer->model,
                     .exact = trainer->config.exact,
                     .loss = trainer->config.loss,
                     .loss_attrs = trainer->config.loss_attrs,
                     .class_weights = trainer->class_weights};
  nw_recipe_set_normalization(&recipe, &trainer->normalization);
  trainer->checks.recipe = recipe;
  recipe.training = true;
  recipe.optimizer = trainer->config.optimizer;
  recipe.optimizer_attrs = trainer->config.optimizer_attrs;
  recipe.moments = &trainer->moments;
  trainer->steps.recipe = recipe;
}

static int64_t smaller(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* The plan of the full batches, and that of what is left at an epoch's end. */
static NwStatus compile_for(NwStepPlans *plans, const NwBatchSource *source, int64_t size, NwError *error)
{
  NwStepPlan *plan;
  NW_TRY(nw_step_plans_get(plans, smaller(size, source->count), &plan, error));
  if (source->count > size && source->count % size != 0)
    NW_TRY(nw_step_plans_get(plans, source->count % size, &plan, error));
  return NW_OK;
}

/* Before the first step, so that what does not fit is said at once. */
static NwStatus compile(NwTrainer *trainer, NwError *error)
{
  int64_t size = trainer->config.batch_size;
  NW_TRY(compile_for(&trainer->steps, trainer->train, size, error));
  if (trainer->validation != NULL)
    NW_TRY(compile_for(&trainer->checks, trainer->validation, size, error));
  return NW_OK;
}

static NwStatus prepare(NwTrainer *trainer, const NwTrainerSetup *setup, NwError *error)
{
  NW_TRY(nw_train_config_copy(setup->config, &trainer->config, error));
  NW_TRY(nw_attrs_check(trainer->config.optimizer, trainer->config.optimizer_attrs, error));
  NW_TRY(nw_attrs_check(trainer->config.loss, trainer->config.loss_attrs, error));
  NW_TRY(nw_check_fit(setup->model, setup->train, "training", error));
  if (setup->validation != NULL)
    NW_TRY(nw_check_fit(setup->model, setup->validation, "validation", error));
  NW_TRY(weigh_classes(trainer, setup->class_counts, error));
  if (setup->folder != NULL && (trainer->folder = nw_strdup(setup->folder)) == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the training.");
  if (setup->extra != NULL && (trainer->extra = nw_json_copy(setup->extra)) == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the training.");
  NW_TRY(nw_moments_new(trainer->model, trainer->config.optimizer, trainer->config.optimizer_attrs,
                        &trainer->moments, error));
  make_recipes(trainer);
  return compile(trainer, error);
}

NwStatus nw_trainer_new(const NwTrainerSetup *setup, NwTrainer **out, NwError *error)
{
  *out = NULL;
  NwTrainer *trainer = nw_alloc0(sizeof *trainer);
  if (trainer == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the training.");
  pthread_mutex_init(&trainer->lock, NULL);
  pthread_cond_init(&trainer->wake, NULL);
  trainer->model = setup->model;
  trainer->normalization = setup->normalization;
  trainer->train = setup->train;
  trainer->validation = setup->validation;
  trainer->observer = setup->observer;
  trainer->position.plateau = NW_PLATEAU_NEW;
  trainer->position.best_value = trainer->position.best_loss = NAN;
  NwStatus status = prepare(trainer, setup, error);
  if (status != NW_OK) {
    nw_trainer_free(trainer);
    return status;
  }
  *out = trainer;
  return NW_OK;
}

/* ---- one step ---- */

int64_t nw_trainer_batches(const NwTrainer *trainer)
{
  return (trainer->train->count + trainer->config.batch_size - 1) / trainer->config.batch_size;
}

double nw_trainer_lr(const NwTrainer *trainer)
{
  const NwPosition *at = &trainer->position;
  double steps = (double)nw_trainer_batches(trainer);
  return at->plateau.factor *
         nw_train_config_lr_at(&trainer->config, (double)at->epoch + (double)at->batch / steps, steps);
}

static NwStatus lost(NwTrainer *trainer, double loss, double lr, NwError *error)
{
  NwStatus status = nw_fail(error, NW_BAD_DATA,
                            "The loss became %s in epoch %lld, batch %lld, at a learning rate of %g. Lower "
                            "the learning rate, or look "
                            "for pictures that are all one colour and for a normalisation that does not fit; "
                            "the last checkpoint is "
                            "from before.",
                            isnan(loss) ? "not a number" : "infinite", (long long)trainer->position.epoch + 1,
                            (long long)trainer->position.batch + 1, lr);
  if (error != NULL)
    nw_trainer_remark(trainer, "%s", error->text);
  return status;
}

/* An untrained network guesses evenly, so its loss is near log(classes). */
static void judge_first_loss(NwTrainer *trainer, double loss)
{
  double usual = log((double)nw_model_classes(trainer->model));
  if (trainer->position.step == 0 && !(loss <= 2 * usual))
    nw_trainer_remark(
        trainer,
        "The first loss is %.3g; a network that knows nothing of %lld classes begins near %.3g. Look at the "
        "normalisation of the pictures and at the last layers: there should be no activation after the last "
        "Linear.",
        loss, (long long)nw_model_classes(trainer->model), usual);
}

static NwStatus train_batch(NwTrainer *trainer, const NwBatch *batch, double *loss, int64_t *correct,
                            NwError *error)
{
  NwStepPlan *plan;
  NwPosition *at = &trainer->position;
  double lr = nw_trainer_lr(trainer);
  NwRun run = {.seed = trainer->config.seed, .step = (uint64_t)at->step};
  trainer->steps.recipe.lr = (float)lr;
  trainer->steps.recipe.step = at->step + 1;
  NW_TRY(nw_step_plans_get(&trainer->steps, batch->n, &plan, error));
  NW_TRY(nw_step_plan_run(plan, batch, &run, loss, correct, error));
  judge_first_loss(trainer, *loss);
  if (!isfinite(*loss))
    return lost(trainer, *loss, lr, error);
  at->loss_sum += *loss * (double)batch->n;
  at->correct += *correct;
  at->pictures += batch->n;
  at->batch++;
  at->step++;
  trainer->unsaved = true;
  return NW_OK;
}

/* Pictures over seconds, both fading: a mean of single rates would let the quick steps count too much. */
static double recent_rate(NwTrainer *trainer, int64_t pictures, double seconds)
{
  trainer->recent_pictures = 0.9 * trainer->recent_pictures + (double)pictures;
  trainer->recent_seconds = 0.9 * trainer->recent_seconds + seconds;
  return trainer->recent_pictures / (trainer->recent_seconds > 0 ? trainer->recent_seconds : 1e-9);
}

static void tell_step(NwTrainer *trainer, const NwBatch *batch, double loss, int64_t correct, double lr)
{
  const NwPosition *at = &trainer->position;
  double now = nw_clock(), seconds = now - trainer->step_clock;
  trainer->step_clock = now;
  trainer->epoch_seconds += seconds;
  trainer->epoch_pictures += batch->n;
  NwStepEvent event = {.epoch = at->epoch,
                       .batch = at->batch,
                       .batches = nw_trainer_batches(trainer),
                       .step = at->step,
                       .pictures = batch->n,
                       .loss = loss,
                       .accuracy = (double)correct / (double)batch->n,
                       .lr = lr,
                       .seconds = seconds,
                       .pictures_per_s = recent_rate(trainer, batch->n, seconds)};
  if (trainer->observer.step != NULL)
    trainer->observer.step(trainer->observer.owner, &event);
}

/* Takes one batch from the source and learns from it; *more false when the epoch is over. */
static NwStatus step(NwTrainer *trainer, bool *more, NwError *error)
{
  NwBatchSource *source = trainer->train;
  NwBatch batch = {0};
  double loss = 0, lr = nw_trainer_lr(trainer);
  int64_t correct = 0;
  NwStatus status = source->next(source->owner, &batch, error);
  if (status != NW_OK && trainer->unsaved)
    nw_trainer_save_last(trainer); /* the pictures are gone, what was learnt from them need not be */
  *more = status == NW_OK && batch.n > 0;
  if (!*more)
    return status;
  status = train_batch(trainer, &batch, &loss, &correct, error);
  if (status == NW_OK)
    tell_step(trainer, &batch, loss, correct, lr);
  source->release(source->owner, &batch);
  return status;
}

/* ---- epochs ---- */

static NwStatus train_epoch(NwTrainer *trainer, NwError *error)
{
  NwBatchSource *source = trainer->train;
  NwPosition *at = &trainer->position;
  NwStatus status = NW_OK;
  bool more = true;
  if (at->batch >= nw_trainer_batches(trainer))
    return NW_OK; /* stopped during its validation */
  NW_TRY(source->begin(source->owner, at->epoch, trainer->config.batch_size, at->batch, error));
  trainer->step_clock = nw_clock();
  while (status == NW_OK && more) {
    double before = nw_clock();
    status = nw_trainer_obey(trainer, error);
    trainer->step_clock += nw_clock() - before; /* a pause is no time of training */
    if (status == NW_OK)
      status = step(trainer, &more, error);
    if (status == NW_OK && trainer->folder != NULL &&
        nw_clock() - trainer->checkpoint_time >= trainer->config.checkpoint_seconds)
      nw_trainer_save_last(trainer);
  }
  source->end(source->owner);
  if (status == NW_OK && at->pictures == 0)
    return nw_fail(error, NW_BAD_DATA, "There was not a single picture to train on in epoch %lld.",
                   (long long)at->epoch + 1);
  return status;
}

static NwStatus validate(NwTrainer *trainer, NwEpochEvent *event, NwError *error)
{
  event->val_loss = event->val_accuracy = NAN;
  if (trainer->validation == NULL)
    return NW_OK;
  NwCheckSums sums;
  NW_TRY(nw_check_source(&trainer->checks, trainer->validation, trainer->config.batch_size, trainer, &sums,
                         NULL, error));
  if (sums.pictures > 0) {
    event->val_loss = sums.loss / (double)sums.pictures;
    event->val_accuracy = (double)sums.correct / (double)sums.pictures;
  }
  return NW_OK;
}

/* Higher accuracy wins; the loss decides between equals. */
static bool is_best(const NwPosition *at, double value, double loss)
{
  return isnan(at->best_value) || value > at->best_value || (value == at->best_value && loss < at->best_loss);
}

/* best.pth is written before last.pth: a crash in between only repeats the end of the epoch. When it cannot
 * be written, the old one stays the best. */
static void keep_best(NwTrainer *trainer, NwEpochEvent *event)
{
  NwPosition *at = &trainer->position, before = *at;
  bool validated = !isnan(event->val_accuracy);
  double value = validated ? event->val_accuracy : event->train_accuracy;
  double loss = validated ? event->val_loss : event->train_loss;
  event->best = is_best(at, value, loss);
  if (!event->best)
    return;
  at->best_value = value;
  at->best_loss = loss;
  at->best_epoch = at->epoch;
  NwError error;
  if (trainer->folder == NULL || nw_trainer_save(trainer, "best", &error) == NW_OK)
    return;
  nw_trainer_remark(trainer, "The best network so far could not be saved: %s", error.text);
  at->best_value = before.best_value;
  at->best_loss = before.best_loss;
  at->best_epoch = before.best_epoch;
  event->best = false;
}

static NwStatus run_epoch(NwTrainer *trainer, NwError *error)
{
  NwPosition *at = &trainer->position;
  NwEpochEvent event = {0};
  double lr = at->plateau.factor *
              nw_train_config_lr_at(&trainer->config, (double)at->epoch, (double)nw_trainer_batches(trainer));
  trainer->epoch_seconds = 0;
  trainer->epoch_pictures = 0;
  NW_TRY(train_epoch(trainer, error));
  double start = nw_clock();
  NwStatus status = validate(trainer, &event, error);
  if (status != NW_OK) {
    if (status != NW_CANCELLED && trainer->unsaved)
      nw_trainer_save_last(trainer);
    return status;
  }
  event.train_loss = at->loss_sum / (double)at->pictures;
  event.train_accuracy = (double)at->correct / (double)at->pictures;
  event.lr = lr;
  event.pictures_per_s =
      trainer->epoch_seconds > 0 ? (double)trainer->epoch_pictures / trainer->epoch_seconds : 0;
  event.seconds = trainer->epoch_seconds + nw_clock() - start;
  at->epoch++;
  at->batch = 0;
  at->loss_sum = 0;
  at->correct = at->pictures = 0;
  event.epoch = at->epoch;
  if (trainer->config.schedule->watch != NULL && (double)at->epoch > trainer->config.warmup_epochs)
    trainer->config.schedule->watch(
        trainer->config.schedule_attrs, trainer->config.lr,
        &(NwEpochValues){event.train_loss, event.train_accuracy, event.val_loss, event.val_accuracy},
        &at->plateau);
  trainer->unsaved = true;
  keep_best(trainer, &event);
  if (trainer->observer.epoch != NULL)
    trainer->observer.epoch(trainer->observer.owner, &event);
  nw_trainer_save_last(trainer);
  return NW_OK;
}

static NwStatus run_all(NwTrainer *trainer, NwError *error)
{
  /* before anything was learnt, a folder that cannot be written is better said than remarked */
  trainer->checkpoint_time = nw_clock();
  nw_trainer_sweep(trainer);
  if (trainer->folder != NULL && trainer->position.step == 0)
    NW_TRY(nw_trainer_save(trainer, "last", error));
  while (trainer->position.epoch < trainer->config.epochs)
    NW_TRY(run_epoch(trainer, error));
  if (trainer->folder != NULL && trainer->unsaved)
    return nw_trainer_save(trainer, "last", error);
  return NW_OK;
}

NwStatus nw_trainer_run(NwTrainer *trainer, NwError *error)
{
  NwTrainerState state = nw_trainer_state(trainer);
  if (state != NW_TRAINER_NEW && state != NW_TRAINER_STOPPED)
    return nw_fail(error, NW_BAD_STATE, "This training has run already.");
  NwError own;
  nw_trainer_set_state(trainer, NW_TRAINER_RUNNING);
  NwStatus status = run_all(trainer, error != NULL ? error : &own);
  if (status == NW_CANCELLED) {
    pthread_mutex_lock(&trainer->lock);
    trainer->stop = trainer->pause = false;
    pthread_mutex_unlock(&trainer->lock);
  }
  nw_trainer_set_state(trainer, status == NW_OK          ? NW_TRAINER_FINISHED
                                : status == NW_CANCELLED ? NW_TRAINER_STOPPED
                                                         : NW_TRAINER_FAILED);
  return status;
}
