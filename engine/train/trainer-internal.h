/* What the files of the trainer share. */
#pragma once

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "engine/train/step-plan.h"

/* Where a run stands: with the parameters, buffers and moments, all that a resumed run needs. */
typedef struct NwPosition {
  int64_t epoch;                /* whole epochs done */
  int64_t batch;                /* batches done in this epoch */
  int64_t step;                 /* optimizer steps done */
  double loss_sum;              /* over the pictures of this epoch so far */
  int64_t correct, pictures;    /* the same */
  double best_value, best_loss; /* NaN: none yet */
  int64_t best_epoch;           /* from 1; 0: none yet */
  NwPlateau plateau;            /* what the schedule has seen */
} NwPosition;

struct NwTrainer {
  NwModel *model;
  NwTrainConfig config;
  NwNormalization normalization;
  NwBatchSource *train, *validation;
  NwRunObserver observer;
  char *folder; /* NULL: no checkpoints */
  NwJson *extra;
  float *class_weights;
  NwMoments moments;
  NwStepPlans steps, checks; /* training, validation */
  NwPosition position;
  bool unsaved;           /* steps were done since last.pth was written */
  double checkpoint_time; /* clock of the last attempt to write one */
  double step_clock;      /* when the step began: the end of the one before, pauses left out */
  double epoch_seconds;   /* spent on training in this epoch by this process */
  int64_t epoch_pictures; /* learned from in these seconds */
  double recent_pictures, recent_seconds; /* of the last steps, fading */

  pthread_mutex_t lock; /* guards the commands */
  pthread_cond_t wake;
  bool pause, stop, has_lr;
  double new_lr;
  _Atomic int state;
};

void nw_trainer_set_state(NwTrainer *trainer, NwTrainerState state);
void nw_trainer_remark(NwTrainer *trainer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Learning rate at the trainer's position. */
double nw_trainer_lr(const NwTrainer *trainer);
int64_t nw_trainer_batches(const NwTrainer *trainer);

/* Between two batches: a new rate is taken over; a pause writes a checkpoint and waits; a stop writes one and
 * returns NW_CANCELLED. */
NwStatus nw_trainer_obey(NwTrainer *trainer, NwError *error);

/* Writes folder/<kind>.pth. Refuses (NW_BAD_DATA) when a parameter is not finite: a good file is worth more.
 */
NwStatus nw_trainer_save(NwTrainer *trainer, const char *kind, NwError *error);
/* last.pth; a failure becomes a remark, and the next moment tries again. */
void nw_trainer_save_last(NwTrainer *trainer);

/* Removes half-written files that a killed process left in the run's folder. */
void nw_trainer_sweep(NwTrainer *trainer);

/* Runs a plan over a source: sums over the pictures. poll (may be NULL) is asked before each batch. */
typedef struct NwCheckSums {
  double loss;
  int64_t correct, pictures;
} NwCheckSums;
NwStatus nw_check_source(NwStepPlans *plans, NwBatchSource *source, int64_t batch_size, NwTrainer *poll,
                         NwCheckSums *sums, int64_t *confusion, NwError *error);
/* The source's pictures fit the model's input. */
NwStatus nw_check_fit(NwModel *model, const NwBatchSource *source, const char *what, NwError *error);
