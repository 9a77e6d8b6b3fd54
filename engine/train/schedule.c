#include "engine/train/schedule.h"

#include <math.h>
#include <string.h>

typedef struct StepAttrs {
  int64_t step_size;
  double gamma;
} StepAttrs;

typedef struct CosineAttrs {
  double eta_min;
  int64_t t_max;
  bool per_step;
} CosineAttrs;

static const NwAttr step_attrs[] = {
    {.key = "step_size",
     .label = N_("Step size"),
     .doc = N_("After so many epochs the rate is multiplied by gamma."),
     .unit = N_("epochs"),
     .type = NW_ATTR_INT,
     .offset = offsetof(StepAttrs, step_size),
     .initial = 10,
     .min = 1,
     .max = 1e6,
     .ui_min = 1,
     .ui_max = 100,
     .step = 1},
    {.key = "gamma",
     .label = N_("Gamma"),
     .doc = N_("Factor on the rate at each step."),
     .type = NW_ATTR_REAL,
     .offset = offsetof(StepAttrs, gamma),
     .initial = 0.1,
     .min = 1e-6,
     .max = 10,
     .ui_min = 0.01,
     .ui_max = 1,
     .step = 0.05},
};

static const NwAttr cosine_attrs[] = {
    {.key = "eta_min",
     .label = N_("Lowest rate"),
     .doc = N_("The rate at the bottom of the cosine."),
     .type = NW_ATTR_REAL,
     .flags = NW_ATTR_LOG,
     .offset = offsetof(CosineAttrs, eta_min),
     .initial = 0,
     .min = 0,
     .max = 100,
     .ui_min = 0,
     .ui_max = 0.1,
     .step = 1e-5},
    {.key = "T_max",
     .label = N_("Half period"),
     .doc = N_("Epochs from the highest to the lowest rate; 0: all epochs after the warm-up."),
     .unit = N_("epochs"),
     .type = NW_ATTR_INT,
     .offset = offsetof(CosineAttrs, t_max),
     .initial = 0,
     .min = 0,
     .max = 1e6,
     .ui_min = 0,
     .ui_max = 300,
     .step = 1},
    {.key = "per_step",
     .label = N_("Every step"),
     .doc = N_("Follows the curve within the epoch, too, instead of once an epoch as PyTorch's scheduler."),
     .type = NW_ATTR_BOOL,
     .offset = offsetof(CosineAttrs, per_step),
     .initial = 0,
     .min = 0,
     .max = 1,
     .step = 1},
};

static double constant_factor(const void *attrs, double base, double epoch, double epochs)
{
  return 1;
}

static double step_factor(const void *attrs, double base, double epoch, double epochs)
{
  const StepAttrs *a = attrs;
  return pow(a->gamma, floor(floor(epoch) / (double)a->step_size));
}

static double cosine_factor(const void *attrs, double base, double epoch, double epochs)
{
  const CosineAttrs *a = attrs;
  double at = a->per_step ? epoch : floor(epoch), period = a->t_max > 0 ? (double)a->t_max : epochs;
  if (base <= 0 || period <= 0)
    return 1;
  return (a->eta_min + (base - a->eta_min) * (1 + cos(M_PI * at / period)) / 2) / base;
}

static const NwSchedule schedules[] = {
    {.row = {.id = "constant",
             .version = 1,
             .label = "ConstantLR",
             .doc = N_("The same learning rate from beginning to end."),
             .formula = N_("lr"),
             .keywords = "fixed none"},
     .factor = constant_factor},
    {.row = {.id = "step",
             .version = 1,
             .label = "StepLR",
             .doc = N_("Multiplies the learning rate by gamma every step_size epochs."),
             .formula = N_("lr·gamma^floor(epoch / step_size)"),
             .keywords = "decay staircase",
             .torch = "torch.optim.lr_scheduler.StepLR",
             NW_ATTRS(StepAttrs, step_attrs)},
     .factor = step_factor},
    {.row = {.id = "cosine",
             .version = 1,
             .label = "CosineAnnealingLR",
             .doc = N_("Lets the learning rate fall along half a cosine, slowly, fast, and slowly again."),
             .formula =
                 N_("eta_min + (lr − eta_min)·(1 + cos(π·epoch / T_max)) / 2 (Loshchilov and Hutter 2017)"),
             .keywords = "anneal decay",
             .torch = "torch.optim.lr_scheduler.CosineAnnealingLR",
             NW_ATTRS(CosineAttrs, cosine_attrs)},
     .factor = cosine_factor},
};

const NwSchedule *nw_schedule_find(const char *id)
{
  for (int i = 0; i < NW_COUNT(schedules); i++)
    if (strcmp(schedules[i].row.id, id) == 0)
      return &schedules[i];
  return NULL;
}

const NwSchedule *nw_schedule_at(size_t index)
{
  return index < (size_t)NW_COUNT(schedules) ? &schedules[index] : NULL;
}
