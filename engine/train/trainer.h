/* The training loop: epochs of training and validation over compiled plans, checkpoints, commands, events.
 *
 * One thread runs nw_trainer_run; commands may come from any thread and take effect within one mini-batch.
 * Events are called on the trainer's thread and must be quick. */
#pragma once

#include "engine/nn/model.h"
#include "engine/train/schedule.h"
#include "engine/train/source.h"

/* What is trained and how; saved with the run as JSON. */
typedef struct NwTrainConfig {
  int64_t epochs, batch_size;
  uint64_t seed;
  double lr;
  const NwOp *optimizer; /* a row of NW_GROUP_OPTIMIZER */
  void *optimizer_attrs;
  const NwOp *loss; /* a row of NW_GROUP_LOSS */
  void *loss_attrs;
  const NwSchedule *schedule;
  void *schedule_attrs;
  double warmup_epochs; /* linear from warmup_factor × lr */
  double warmup_factor; /* default 0.01 */
  bool class_weights;   /* weigh the loss by inverse class counts */
  bool exact;
  double checkpoint_seconds; /* in long epochs; default 60 */
} NwTrainConfig;

void nw_train_config_init(
    NwTrainConfig *config); /* adamw, cross_entropy, constant, lr 1e-3, 10 epochs, batch 64 */
void nw_train_config_clear(NwTrainConfig *config);
NwStatus nw_train_config_copy(const NwTrainConfig *config, NwTrainConfig *out, NwError *error);
NwStatus nw_train_config_set_optimizer(NwTrainConfig *config, const NwOp *optimizer,
                                       NwError *error); /* its defaults */
NwStatus nw_train_config_set_loss(NwTrainConfig *config, const NwOp *loss, NwError *error);
NwStatus nw_train_config_set_schedule(NwTrainConfig *config, const NwSchedule *schedule, NwError *error);
NwJson *nw_train_config_to_json(const NwTrainConfig *config);
NwStatus nw_train_config_from_json(const NwJson *json, NwTrainConfig *out, NwError *error);
/* "lr=0.1", "optimizer=sgd", "optimizer.momentum=0.9", "loss.label_smoothing=0.1", "schedule=cosine",
 * "epochs=3": the command line's --set. Errors name the key and the legal range. */
NwStatus nw_train_config_set(NwTrainConfig *config, const char *key, const char *value, NwError *error);
/* Learning rate after `epoch` (fractional) epochs, warm-up included. */
double nw_train_config_lr(const NwTrainConfig *config, double epoch);
/* The same where the number of steps in an epoch is known, which OneCycleLR counts. What ReduceLROnPlateau
 * did comes on top. */
double nw_train_config_lr_at(const NwTrainConfig *config, double epoch, double steps);

/* How pictures become numbers: (v/255 - mean) / deviation per channel, on the device. */
typedef struct NwNormalization {
  double mean[4], deviation[4];
} NwNormalization;

typedef struct NwStepEvent {
  int64_t epoch, batch, batches, step; /* epoch from 0; batch done, of batches; step since the run's start */
  int64_t pictures;                    /* in this batch */
  double loss, accuracy;               /* of this batch */
  double lr, seconds;    /* wall time since the step before, waiting for data too, without pauses */
  double pictures_per_s; /* over the last ten steps or so */
} NwStepEvent;

typedef struct NwEpochEvent {
  int64_t epoch; /* from 1: epochs done */
  double train_loss, train_accuracy;
  double val_loss, val_accuracy; /* NaN without validation */
  double lr;
  double pictures_per_s; /* of training: what this process learned from in this epoch, over the time of its
                            steps */
  double seconds;        /* of this process in this epoch, validation too, without pauses */
  bool best;
} NwEpochEvent;

typedef enum NwTrainerState {
  NW_TRAINER_NEW,
  NW_TRAINER_RUNNING,
  NW_TRAINER_PAUSED,
  NW_TRAINER_STOPPING,
  NW_TRAINER_STOPPED, /* by the user, resumable */
  NW_TRAINER_FINISHED,
  NW_TRAINER_FAILED
} NwTrainerState;

/* Any may be NULL. saving: last.pth is about to be written; what the observer recorded of the steps so far
 * must be on disk when it returns, since a run that goes on from that file never tells them again.
 * checkpoint: a file was written (kind "last" or "best"). remark: a sentence for the log. */
typedef struct NwRunObserver {
  void *owner;
  void (*state)(void *owner, NwTrainerState state);
  void (*step)(void *owner, const NwStepEvent *event);
  void (*epoch)(void *owner, const NwEpochEvent *event);
  void (*checkpoint)(void *owner, const char *kind, const char *path, int64_t epoch, int64_t step);
  void (*remark)(void *owner, const char *text);
  void (*saving)(void *owner);
} NwRunObserver;

typedef struct NwTrainer NwTrainer;

typedef struct NwTrainerSetup {
  NwModel *model;              /* borrowed */
  const NwTrainConfig *config; /* copied */
  NwNormalization normalization;
  const int64_t *class_counts;       /* for class_weights; may be NULL */
  NwBatchSource *train, *validation; /* borrowed; validation may be NULL */
  NwRunObserver observer;            /* copied */
  const char *folder; /* checkpoints go to folder/last.pth, folder/best.pth; NULL: none are written */
  const NwJson
      *extra; /* kept in the checkpoint's JSON under "netwright": classes, preprocessing, dataset digest */
} NwTrainerSetup;

NwStatus nw_trainer_new(const NwTrainerSetup *setup, NwTrainer **out, NwError *error);
void nw_trainer_free(NwTrainer *trainer);
/* Loads a checkpoint written by a trainer of the same network: weights, moments, counters, sampler position,
 * running sums, best value. Then nw_trainer_run goes on exactly where it stood. */
NwStatus nw_trainer_resume(NwTrainer *trainer, const char *path, NwError *error);
/* Trains to the end. Returns NW_OK when finished, NW_CANCELLED when stopped, else the failure. */
NwStatus nw_trainer_run(NwTrainer *trainer, NwError *error);

void nw_trainer_pause(NwTrainer *trainer); /* writes a checkpoint, then waits */
void nw_trainer_continue(NwTrainer *trainer);
void nw_trainer_stop(NwTrainer *trainer);              /* writes a checkpoint, then nw_trainer_run returns */
void nw_trainer_set_lr(NwTrainer *trainer, double lr); /* new base rate */
NwTrainerState nw_trainer_state(const NwTrainer *trainer);

/* Loss and accuracy over a whole source; per_class (classes × classes, row: truth, column: prediction) may be
 * NULL. */
NwStatus nw_evaluate(NwModel *model, const NwNormalization *normalization, NwBatchSource *source,
                     int64_t batch_size, double *loss, double *accuracy, int64_t *confusion, NwError *error);
