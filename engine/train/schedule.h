/* Learning-rate schedules: torch's closed forms, with a linear warm-up in front (nw_train_config_lr).
 *
 * A schedule is a row like an op: attributes drive the editor, the project file and the command line. As in
 * torch, the rate changes between epochs; a schedule with per_step moves within them too. */
#pragma once

#include "engine/op/attr.h"
#include "engine/op/op.h"

typedef struct NwSchedule {
  NwOp row; /* id "cosine", label "CosineAnnealingLR", attrs; no ports, no kernels */
  /* Factor on the base rate at `epoch` (whole epochs done, fractional inside one) of `epochs`. */
  double (*factor)(const void *attrs, double base, double epoch, double epochs);
} NwSchedule;

const NwSchedule *nw_schedule_find(const char *id); /* "constant", "step", "cosine"; NULL: unknown */
const NwSchedule *nw_schedule_at(size_t index);     /* NULL past the end */
