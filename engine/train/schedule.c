#include "engine/train/schedule.h"

#include <math.h>
#include <string.h>

typedef struct StepAttrs {
  int64_t step_size;
  double gamma;
} StepAttrs;

typedef struct ExponentialAttrs {
  double gamma;
  bool per_step;
} ExponentialAttrs;

typedef struct CosineAttrs {
  double eta_min;
  int64_t t_max;
  bool per_step;
} CosineAttrs;

typedef struct RestartAttrs {
  int64_t t_0, t_mult;
  double eta_min;
  bool per_step;
} RestartAttrs;

typedef struct CycleAttrs {
  int64_t total_steps, anneal;
  double pct_start, div_factor, final_div_factor;
  bool three_phase, per_step;
} CycleAttrs;

typedef struct PolynomialAttrs {
  int64_t total_iters;
  double power;
  bool per_step;
} PolynomialAttrs;

typedef struct LinearAttrs {
  double start, end;
  int64_t total_iters;
  bool per_step;
} LinearAttrs;

typedef struct PlateauAttrs {
  int64_t metric, patience, cooldown, threshold_mode;
  double factor, threshold, min_lr, eps;
} PlateauAttrs;

/* ---- attributes ---- */

#define EPOCHS(member, type_, name, title, text, first, low, top)                                            \
  {                                                                                                          \
    .key = name, .label = title, .doc = text, .unit = N_("epochs"), .type = NW_ATTR_INT,                     \
    .offset = offsetof(type_, member), .initial = first, .min = low, .max = 1e6, .ui_min = low,              \
    .ui_max = top, .step = 1                                                                                 \
  }
#define REAL(member, type_, name, title, text, first, low, high)                                             \
  {                                                                                                          \
    .key = name, .label = title, .doc = text, .type = NW_ATTR_REAL, .offset = offsetof(type_, member),       \
    .initial = first, .min = low, .max = high, .ui_min = low, .ui_max = high, .step = 0.05                   \
  }
#define FLAG(member, type_, name, title, text, first)                                                        \
  {                                                                                                          \
    .key = name, .label = title, .doc = text, .type = NW_ATTR_BOOL, .offset = offsetof(type_, member),       \
    .initial = first, .min = 0, .max = 1, .step = 1                                                          \
  }
#define PER_STEP(type_)                                                                                      \
  FLAG(per_step, type_, "per_step", N_("Every step"),                                                        \
       N_("Follows the curve within the epoch, too, instead of once an epoch as PyTorch's scheduler."), 0)

static const NwAttr step_attrs[] = {
    EPOCHS(step_size, StepAttrs, "step_size", N_("Step size"),
           N_("After so many epochs the rate is multiplied by gamma."), 10, 1, 100),
    REAL(gamma, StepAttrs, "gamma", N_("Gamma"), N_("Factor on the rate at each step."), 0.1, 1e-6, 10),
};

static const NwAttr exponential_attrs[] = {
    REAL(gamma, ExponentialAttrs, "gamma", N_("Gamma"), N_("Factor on the rate in each epoch."), 0.95, 1e-6,
         10),
    PER_STEP(ExponentialAttrs),
};

static const NwAttr cosine_attrs[] = {
    {.key = "eta_min",
     .label = N_("Lowest rate"),
     .doc = N_("The rate at the bottom of the cosine."),
     .type = NW_ATTR_REAL,
     .flags = NW_ATTR_LOG,
     .offset = offsetof(CosineAttrs, eta_min),
     .max = 100,
     .ui_max = 0.1,
     .step = 1e-5},
    EPOCHS(t_max, CosineAttrs, "T_max", N_("Half period"),
           N_("Epochs from the highest to the lowest rate; 0: all epochs after the warm-up."), 0, 0, 300),
    PER_STEP(CosineAttrs),
};

static const NwAttr restart_attrs[] = {
    EPOCHS(t_0, RestartAttrs, "T_0", N_("First period"), N_("Epochs until the first restart."), 10, 1, 100),
    {.key = "T_mult",
     .label = N_("Growth"),
     .doc = N_("Every period is so many times as long as the one before."),
     .type = NW_ATTR_INT,
     .offset = offsetof(RestartAttrs, t_mult),
     .initial = 1,
     .min = 1,
     .max = 100,
     .ui_min = 1,
     .ui_max = 10,
     .step = 1},
    {.key = "eta_min",
     .label = N_("Lowest rate"),
     .doc = N_("The rate at the bottom of the cosine."),
     .type = NW_ATTR_REAL,
     .flags = NW_ATTR_LOG,
     .offset = offsetof(RestartAttrs, eta_min),
     .max = 100,
     .ui_max = 0.1,
     .step = 1e-5},
    PER_STEP(RestartAttrs),
};

enum { ANNEAL_COS, ANNEAL_LINEAR };
static const NwEnumItem anneals[] = {{ANNEAL_COS, "cos", N_("Cosine")},
                                     {ANNEAL_LINEAR, "linear", N_("Linear")}};
static const NwAttr cycle_attrs[] = {
    {.key = "total_steps",
     .label = N_("Length"),
     .doc = N_("Steps of the whole cycle (epochs, unless it moves with every step); 0: the whole training."),
     .type = NW_ATTR_INT,
     .offset = offsetof(CycleAttrs, total_steps),
     .max = 1e9,
     .ui_max = 1e6,
     .step = 100},
    REAL(pct_start, CycleAttrs, "pct_start", N_("Rising share"),
         N_("Share of the cycle in which the rate rises."), 0.3, 0, 1),
    {.key = "anneal_strategy",
     .label = N_("Curve"),
     .doc = N_("How the rate goes from one end to the other."),
     .type = NW_ATTR_ENUM,
     .offset = offsetof(CycleAttrs, anneal),
     .items = anneals,
     .n_items = NW_COUNT(anneals)},
    {.key = "div_factor",
     .label = N_("First divisor"),
     .doc = N_("The cycle begins at the learning rate divided by this."),
     .type = NW_ATTR_REAL,
     .offset = offsetof(CycleAttrs, div_factor),
     .initial = 25,
     .min = 1e-3,
     .max = 1e9,
     .ui_min = 1,
     .ui_max = 100,
     .step = 1},
    {.key = "final_div_factor",
     .label = N_("Last divisor"),
     .doc = N_("The cycle ends at its first rate divided by this."),
     .type = NW_ATTR_REAL,
     .flags = NW_ATTR_LOG,
     .offset = offsetof(CycleAttrs, final_div_factor),
     .initial = 1e4,
     .min = 1e-3,
     .max = 1e12,
     .ui_min = 1,
     .ui_max = 1e6,
     .step = 1},
    FLAG(three_phase, CycleAttrs, "three_phase", N_("Three phases"),
         N_("Falls back to the first rate as it rose, and to the last one only then."), 0),
    FLAG(per_step, CycleAttrs, "per_step", N_("Every step"),
         N_("Moves with every step instead of every epoch."), 1),
};

static const NwAttr polynomial_attrs[] = {
    EPOCHS(total_iters, PolynomialAttrs, "total_iters", N_("Length"),
           N_("Epochs until the rate is zero; 0: all epochs after the warm-up."), 0, 0, 300),
    REAL(power, PolynomialAttrs, "power", N_("Power"),
         N_("1 is a straight line; more falls faster at first."), 1, 0, 100),
    PER_STEP(PolynomialAttrs),
};

static const NwAttr linear_attrs[] = {
    REAL(start, LinearAttrs, "start_factor", N_("First factor"), N_("Factor on the rate in the beginning."),
         1.0 / 3, 1e-9, 1),
    REAL(end, LinearAttrs, "end_factor", N_("Last factor"), N_("Factor on the rate in the end."), 1, 0, 1),
    EPOCHS(total_iters, LinearAttrs, "total_iters", N_("Length"),
           N_("Epochs from the first factor to the last."), 5, 1, 300),
    PER_STEP(LinearAttrs),
};

enum { WATCH_VAL_LOSS, WATCH_VAL_ACCURACY, WATCH_TRAIN_LOSS, WATCH_TRAIN_ACCURACY };
static const NwEnumItem metrics[] = {{WATCH_VAL_LOSS, "val_loss", N_("Validation loss")},
                                     {WATCH_VAL_ACCURACY, "val_accuracy", N_("Validation accuracy")},
                                     {WATCH_TRAIN_LOSS, "train_loss", N_("Training loss")},
                                     {WATCH_TRAIN_ACCURACY, "train_accuracy", N_("Training accuracy")}};
enum { RELATIVE, ABSOLUTE };
static const NwEnumItem threshold_modes[] = {{RELATIVE, "rel", N_("Relative")},
                                             {ABSOLUTE, "abs", N_("Absolute")}};
static const NwAttr plateau_attrs[] = {
    {.key = "metric",
     .label = N_("Watched value"),
     .doc = N_("What has to get better; without validation pictures the training's value stands in."),
     .type = NW_ATTR_ENUM,
     .offset = offsetof(PlateauAttrs, metric),
     .items = metrics,
     .n_items = NW_COUNT(metrics)},
    REAL(factor, PlateauAttrs, "factor", N_("Factor"), N_("Factor on the rate when nothing gets better."),
         0.1, 0, 0.999999),
    EPOCHS(patience, PlateauAttrs, "patience", N_("Patience"),
           N_("So many epochs in a row may bring nothing before the rate falls."), 10, 0, 100),
    {.key = "threshold",
     .label = N_("Threshold"),
     .doc = N_("What counts as better."),
     .type = NW_ATTR_REAL,
     .flags = NW_ATTR_LOG,
     .offset = offsetof(PlateauAttrs, threshold),
     .initial = 1e-4,
     .max = 1e6,
     .ui_max = 1,
     .step = 1e-4},
    {.key = "threshold_mode",
     .label = N_("Threshold's kind"),
     .doc = N_("Is the threshold a share of the best value or a difference from it?"),
     .type = NW_ATTR_ENUM,
     .offset = offsetof(PlateauAttrs, threshold_mode),
     .items = threshold_modes,
     .n_items = NW_COUNT(threshold_modes)},
    EPOCHS(cooldown, PlateauAttrs, "cooldown", N_("Rest"),
           N_("Epochs after a fall in which nothing is counted."), 0, 0, 100),
    {.key = "min_lr",
     .label = N_("Lowest rate"),
     .doc = N_("The rate never falls below this."),
     .type = NW_ATTR_REAL,
     .flags = NW_ATTR_LOG,
     .offset = offsetof(PlateauAttrs, min_lr),
     .max = 100,
     .ui_max = 0.1,
     .step = 1e-6},
    {.key = "eps",
     .label = N_("Smallest fall"),
     .doc = N_("A fall by less than this is not made."),
     .type = NW_ATTR_REAL,
     .flags = NW_ATTR_LOG,
     .offset = offsetof(PlateauAttrs, eps),
     .initial = 1e-8,
     .max = 1,
     .ui_max = 1e-3,
     .step = 1e-8},
};

/* ---- formulas ---- */

static double at_of(bool per_step, const NwScheduleTime *time)
{
  return per_step ? time->epoch : floor(time->epoch);
}

static double constant_factor(const void *attrs, const NwScheduleTime *time)
{
  return 1;
}

static double step_factor(const void *attrs, const NwScheduleTime *time)
{
  const StepAttrs *a = attrs;
  return pow(a->gamma, floor(floor(time->epoch) / (double)a->step_size));
}

static double exponential_factor(const void *attrs, const NwScheduleTime *time)
{
  const ExponentialAttrs *a = attrs;
  return pow(a->gamma, at_of(a->per_step, time));
}

/* From the base rate down to low, along half a cosine; share from 0 to 1. */
static double half_cosine(double base, double low, double share)
{
  return base > 0 ? (low + (base - low) * (1 + cos(M_PI * share)) / 2) / base : 1;
}

static double cosine_factor(const void *attrs, const NwScheduleTime *time)
{
  const CosineAttrs *a = attrs;
  double period = a->t_max > 0 ? (double)a->t_max : time->epochs;
  return period > 0 ? half_cosine(time->base, a->eta_min, at_of(a->per_step, time) / period) : 1;
}

static double restart_factor(const void *attrs, const NwScheduleTime *time)
{
  const RestartAttrs *a = attrs;
  double at = at_of(a->per_step, time), period = (double)a->t_0;
  if (a->t_mult == 1)
    at = fmod(at, period);
  else
    for (; at >= period; period *= (double)a->t_mult)
      at -= period;
  return half_cosine(time->base, a->eta_min, at / period);
}

static double anneal(const CycleAttrs *a, double start, double end, double share)
{
  return a->anneal == ANNEAL_LINEAR ? (end - start) * share + start
                                    : end + (start - end) / 2 * (cos(M_PI * share) + 1);
}

static double cycle_factor(const void *attrs, const NwScheduleTime *time)
{
  const CycleAttrs *a = attrs;
  double steps = a->per_step ? time->steps : 1;
  double total = a->total_steps > 0 ? (double)a->total_steps : time->epochs * steps;
  /* the epoch comes from whole steps, so rounding takes only the error of the division back */
  double at = a->per_step ? floor(time->epoch * steps + 1e-6) : floor(time->epoch);
  double first = 1 / a->div_factor, last = first / a->final_div_factor;
  double ends[3] = {a->pct_start * total - 1, a->three_phase ? 2 * a->pct_start * total - 2 : total - 1,
                    total - 1};
  double rates[4] = {first, 1, a->three_phase ? first : last, last}, begin = 0;
  int phases = a->three_phase ? 3 : 2;
  at = at < total - 1 ? at : total - 1;
  for (int i = 0; i < phases; i++) {
    if (at <= ends[i] || i == phases - 1)
      return ends[i] > begin ? anneal(a, rates[i], rates[i + 1], (at - begin) / (ends[i] - begin))
                             : rates[i + 1];
    begin = ends[i];
  }
  return last;
}

static double polynomial_factor(const void *attrs, const NwScheduleTime *time)
{
  const PolynomialAttrs *a = attrs;
  double total = a->total_iters > 0 ? (double)a->total_iters : time->epochs;
  double at = at_of(a->per_step, time);
  return total > 0 ? pow(1 - (at < total ? at : total) / total, a->power) : 1;
}

static double linear_factor(const void *attrs, const NwScheduleTime *time)
{
  const LinearAttrs *a = attrs;
  double at = at_of(a->per_step, time), total = (double)a->total_iters;
  return a->start + (a->end - a->start) * (at < total ? at : total) / total;
}

/* ---- ReduceLROnPlateau: what it does happens between epochs ---- */

static double watched(const PlateauAttrs *a, const NwEpochValues *values)
{
  bool loss = a->metric == WATCH_VAL_LOSS || a->metric == WATCH_TRAIN_LOSS;
  bool validated = a->metric == WATCH_VAL_LOSS || a->metric == WATCH_VAL_ACCURACY;
  double value = loss ? values->val_loss : values->val_accuracy;
  return validated && !isnan(value) ? value : loss ? values->train_loss : values->train_accuracy;
}

static bool better(const PlateauAttrs *a, double value, double best)
{
  double sign = a->metric == WATCH_VAL_LOSS || a->metric == WATCH_TRAIN_LOSS ? -1 : 1;
  if (isnan(best))
    return true;
  return sign * value > sign * (a->threshold_mode == RELATIVE ? best * (1 + sign * a->threshold)
                                                              : best + sign * a->threshold);
}

static void plateau_watch(const void *attrs, double base, const NwEpochValues *values, NwPlateau *plateau)
{
  const PlateauAttrs *a = attrs;
  double value = watched(a, values);
  if (better(a, value, plateau->best)) {
    plateau->best = value;
    plateau->bad = 0;
  } else {
    plateau->bad++;
  }
  if (plateau->cooldown > 0) {
    plateau->cooldown--;
    plateau->bad = 0;
  }
  if (plateau->bad <= a->patience)
    return;
  double before = base * plateau->factor, after = before * a->factor;
  after = after > a->min_lr ? after : a->min_lr;
  if (before - after > a->eps)
    plateau->factor = after / base;
  plateau->cooldown = a->cooldown;
  plateau->bad = 0;
}

/* ---- rows ---- */

#define ROW(name, title, type_, rows, text, math, words)                                                     \
  .row = {.id = name,                                                                                        \
          .version = 1,                                                                                      \
          .label = title,                                                                                    \
          .doc = text,                                                                                       \
          .formula = math,                                                                                   \
          .keywords = words,                                                                                 \
          .torch = "torch.optim.lr_scheduler." title,                                                        \
          NW_ATTRS(type_, rows)}

static const NwSchedule schedules[] = {
    {.row = {.id = "constant",
             .version = 1,
             .label = "ConstantLR",
             .doc = N_("The same learning rate from beginning to end."),
             .formula = N_("lr"),
             .keywords = "fixed none"},
     .factor = constant_factor},
    {ROW("step", "StepLR", StepAttrs, step_attrs,
         N_("Multiplies the learning rate by gamma every step_size epochs."),
         N_("lr·gamma^floor(epoch / step_size)"), "decay staircase"),
     .factor = step_factor},
    {ROW("exponential", "ExponentialLR", ExponentialAttrs, exponential_attrs,
         N_("Multiplies the learning rate by gamma in every epoch."), N_("lr·gamma^epoch"), "decay"),
     .factor = exponential_factor},
    {ROW("cosine", "CosineAnnealingLR", CosineAttrs, cosine_attrs,
         N_("Lets the learning rate fall along half a cosine, slowly, fast, and slowly again."),
         N_("eta_min + (lr − eta_min)·(1 + cos(π·epoch / T_max)) / 2 (Loshchilov and Hutter 2017)"),
         "anneal decay"),
     .factor = cosine_factor},
    {ROW("cosine_restarts", "CosineAnnealingWarmRestarts", RestartAttrs, restart_attrs,
         N_("Falls along half a cosine and begins again, each period T_mult times as long as the one "
            "before."),
         N_("eta_min + (lr − eta_min)·(1 + cos(π·T_cur / T_i)) / 2 (Loshchilov and Hutter 2017)"),
         "anneal sgdr warm restarts"),
     .factor = restart_factor},
    {ROW("onecycle", "OneCycleLR", CycleAttrs, cycle_attrs,
         N_("Rises to the learning rate and falls to almost nothing, once; the momentum stays as it is."),
         N_("lr/div_factor → lr → lr/div_factor/final_div_factor, by cosines or lines (Smith and Topin "
            "2018); "
            "as PyTorch's with cycle_momentum=False."),
         "one cycle super convergence"),
     .factor = cycle_factor},
    {ROW("polynomial", "PolynomialLR", PolynomialAttrs, polynomial_attrs,
         N_("Lets the learning rate fall to zero along a power of the epochs that are left."),
         N_("lr·(1 − epoch / total_iters)^power"), "decay poly"),
     .factor = polynomial_factor},
    {ROW("linear", "LinearLR", LinearAttrs, linear_attrs,
         N_("Goes from one factor to another along a straight line; as a first part, a warm-up."),
         N_("lr·(start_factor + (end_factor − start_factor)·min(epoch, total_iters) / total_iters)"),
         "warmup warm-up"),
     .factor = linear_factor},
    {ROW("plateau", "ReduceLROnPlateau", PlateauAttrs, plateau_attrs,
         N_("Lowers the learning rate whenever a value has not got better for a while."),
         N_("lr·factor after more than `patience` epochs without improvement, at least min_lr"),
         "reduce adaptive patience"),
     .factor = constant_factor, .watch = plateau_watch},
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
