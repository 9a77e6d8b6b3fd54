/* Learning-rate schedules: torch's closed forms, with a linear warm-up in front (nw_train_config_lr).
 *
 * A schedule is a row like an op: attributes drive the editor, the project file and the command line. As in
 * torch, the rate changes between epochs; a schedule with per_step moves within them too. */
#pragma once

#include "engine/op/attr.h"
#include "engine/op/op.h"

/* Where a training stands, as a schedule sees it. */
typedef struct NwScheduleTime {
  double base;   /* the rate that was set */
  double epoch;  /* whole epochs done, fractional inside one */
  double epochs; /* that there will be */
  double steps;  /* in each epoch */
} NwScheduleTime;

/* What ReduceLROnPlateau remembers; begins as NW_PLATEAU_NEW. */
typedef struct NwPlateau {
  double factor; /* on the base rate */
  double best;   /* NaN: none yet */
  int64_t bad, cooldown;
} NwPlateau;
#define NW_PLATEAU_NEW ((NwPlateau){.factor = 1, .best = NAN})

/* What the watcher of an epoch may look at. */
typedef struct NwEpochValues {
  double train_loss, train_accuracy, val_loss, val_accuracy; /* NaN without validation */
} NwEpochValues;

typedef struct NwSchedule {
  NwOp row; /* id "cosine", label "CosineAnnealingLR", attrs; no ports, no kernels */
  /* Factor on the base rate. Allocates nothing. */
  double (*factor)(const void *attrs, const NwScheduleTime *time);
  /* Called after each epoch; NULL for schedules that follow time alone. A value that is missing (no
   * validation) is replaced by that of the training. */
  void (*watch)(const void *attrs, double base, const NwEpochValues *values, NwPlateau *plateau);
} NwSchedule;

const NwSchedule *nw_schedule_find(const char *id); /* "constant", "step", "cosine", …; NULL: unknown */
const NwSchedule *nw_schedule_at(size_t index);     /* NULL past the end */
