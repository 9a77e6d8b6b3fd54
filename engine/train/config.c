#include "engine/train/trainer.h"

#include <math.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/base/text.h"

/* ---- rows with attributes ---- */

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for the training settings.");
}

/* A fresh attribute struct of op; a copy of `from` when that is given. */
static NwStatus make_attrs(const NwOp *op, const void *from, void **out, NwError *error)
{
  *out = nw_alloc0(op->attrs_size);
  if (*out == NULL)
    return no_memory(error);
  if (from != NULL)
    memcpy(*out, from, op->attrs_size);
  else
    nw_attrs_init(op, *out);
  return NW_OK;
}

static NwStatus replace(const NwOp *row, void **attrs, NwError *error)
{
  void *fresh;
  NW_TRY(make_attrs(row, NULL, &fresh, error));
  nw_free(*attrs);
  *attrs = fresh;
  return NW_OK;
}

NwStatus nw_train_config_set_optimizer(NwTrainConfig *config, const NwOp *optimizer, NwError *error)
{
  if (optimizer == NULL || optimizer->group != NW_GROUP_OPTIMIZER)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "optimizer", "This is not an optimizer.");
  NW_TRY(replace(optimizer, &config->optimizer_attrs, error));
  config->optimizer = optimizer;
  return NW_OK;
}

NwStatus nw_train_config_set_loss(NwTrainConfig *config, const NwOp *loss, NwError *error)
{
  if (loss == NULL || loss->group != NW_GROUP_LOSS)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "loss", "This is not a loss.");
  NW_TRY(replace(loss, &config->loss_attrs, error));
  config->loss = loss;
  return NW_OK;
}

NwStatus nw_train_config_set_schedule(NwTrainConfig *config, const NwSchedule *schedule, NwError *error)
{
  if (schedule == NULL)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "schedule", "This is not a schedule.");
  NW_TRY(replace(&schedule->row, &config->schedule_attrs, error));
  config->schedule = schedule;
  return NW_OK;
}

void nw_train_config_init(NwTrainConfig *config)
{
  *config = (NwTrainConfig){
      .epochs = 10, .batch_size = 64, .seed = 1, .lr = 1e-3, .warmup_factor = 0.01, .checkpoint_seconds = 60};
  /* without memory the rows stay NULL, and nw_trainer_new says so */
  nw_train_config_set_optimizer(config, nw_op_find("adamw"), NULL);
  nw_train_config_set_loss(config, nw_op_find("cross_entropy"), NULL);
  nw_train_config_set_schedule(config, nw_schedule_find("constant"), NULL);
}

void nw_train_config_clear(NwTrainConfig *config)
{
  nw_free(config->optimizer_attrs);
  nw_free(config->loss_attrs);
  nw_free(config->schedule_attrs);
  *config = (NwTrainConfig){0};
}

NwStatus nw_train_config_copy(const NwTrainConfig *config, NwTrainConfig *out, NwError *error)
{
  *out = *config;
  out->optimizer_attrs = out->loss_attrs = out->schedule_attrs = NULL;
  NwStatus status = NW_OK;
  if (config->optimizer == NULL || config->loss == NULL || config->schedule == NULL)
    status =
        nw_fail(error, NW_BAD_ARGUMENT, "The training settings lack an optimizer, a loss or a schedule.");
  if (status == NW_OK)
    status = make_attrs(config->optimizer, config->optimizer_attrs, &out->optimizer_attrs, error);
  if (status == NW_OK)
    status = make_attrs(config->loss, config->loss_attrs, &out->loss_attrs, error);
  if (status == NW_OK)
    status = make_attrs(&config->schedule->row, config->schedule_attrs, &out->schedule_attrs, error);
  if (status != NW_OK)
    nw_train_config_clear(out);
  return status;
}

/* ---- learning rate ---- */

/* torch's SequentialLR: the warm-up alone first, then the schedule counted from the warm-up's end. */
double nw_train_config_lr_at(const NwTrainConfig *config, double epoch, double steps)
{
  double warm = config->warmup_epochs;
  if (epoch < warm)
    return config->lr * (config->warmup_factor + (1 - config->warmup_factor) * epoch / warm);
  if (config->schedule == NULL)
    return config->lr;
  NwScheduleTime time = {config->lr, epoch - warm, (double)config->epochs - warm, steps};
  return config->lr * config->schedule->factor(config->schedule_attrs, &time);
}

double nw_train_config_lr(const NwTrainConfig *config, double epoch)
{
  return nw_train_config_lr_at(config, epoch, 100);
}

/* ---- plain settings, one row each ---- */

typedef enum Kind { WHOLE, SEED, REAL, FLAG } Kind;
static const struct Setting {
  const char *key;
  Kind kind;
  size_t offset;
  double min, max;
} settings[] = {
    {"epochs", WHOLE, offsetof(NwTrainConfig, epochs), 1, 1e6},
    {"batch_size", WHOLE, offsetof(NwTrainConfig, batch_size), 1, 1e6},
    {"seed", SEED, offsetof(NwTrainConfig, seed), 0, 0},
    {"lr", REAL, offsetof(NwTrainConfig, lr), 1e-12, 1e3},
    {"warmup_epochs", REAL, offsetof(NwTrainConfig, warmup_epochs), 0, 1e6},
    {"warmup_factor", REAL, offsetof(NwTrainConfig, warmup_factor), 0, 1},
    {"class_weights", FLAG, offsetof(NwTrainConfig, class_weights), 0, 1},
    {"exact", FLAG, offsetof(NwTrainConfig, exact), 0, 1},
    {"checkpoint_seconds", REAL, offsetof(NwTrainConfig, checkpoint_seconds), 0.001, 1e9},
};

/* 1000000 reads better than 1e+06. */
static void put_bound(NwText *text, double bound)
{
  if (bound == floor(bound))
    nw_text_printf(text, "%.0f", bound);
  else
    nw_text_double(text, bound);
}

static NwStatus out_of_range(const struct Setting *setting, const char *value, NwError *error)
{
  NwText min = {0}, max = {0};
  put_bound(&min, setting->min);
  put_bound(&max, setting->max);
  NwStatus status =
      nw_fail_property(error, NW_BAD_ARGUMENT, setting->key, "%s is %s; it must be %s from %s to %s.",
                       setting->key, value, setting->kind == WHOLE ? "a whole number" : "a number",
                       min.failed ? "?" : min.data, max.failed ? "?" : max.data);
  nw_text_clear(&min);
  nw_text_clear(&max);
  return status;
}

static NwStatus set_flag(const struct Setting *setting, bool *at, const char *value, NwError *error)
{
  if (strcmp(value, "true") == 0 || strcmp(value, "1") == 0)
    *at = true;
  else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)
    *at = false;
  else
    return nw_fail_property(error, NW_BAD_ARGUMENT, setting->key, "%s is %s; it must be true or false.",
                            setting->key, value);
  return NW_OK;
}

static NwStatus set_plain(const struct Setting *setting, NwTrainConfig *config, const char *value,
                          NwError *error)
{
  void *at = (char *)config + setting->offset;
  long long whole;
  double real;
  switch (setting->kind) {
  case FLAG:
    return set_flag(setting, at, value, error);
  case SEED:
    if (!nw_parse_int(value, &whole))
      return nw_fail_property(error, NW_BAD_ARGUMENT, setting->key, "seed is %s; it must be a whole number.",
                              value);
    *(uint64_t *)at = (uint64_t)whole;
    return NW_OK;
  case WHOLE:
    if (!nw_parse_int(value, &whole) || (double)whole < setting->min || (double)whole > setting->max)
      return out_of_range(setting, value, error);
    *(int64_t *)at = whole;
    return NW_OK;
  default:
    if (!nw_parse_double(value, &real) || !(real >= setting->min && real <= setting->max))
      return out_of_range(setting, value, error);
    *(double *)at = real;
    return NW_OK;
  }
}

/* ---- by text ---- */

/* The names of all rows of a group, for sentences. */
static void list_ops(NwGroup group, NwText *out)
{
  const NwOp *op;
  for (size_t i = 0; (op = nw_op_at(i)) != NULL; i++)
    if (op->group == group && op->label != NULL)
      nw_text_printf(out, "%s%s", out->length ? ", " : "", op->id);
}

static NwStatus unknown_choice(const char *key, const char *value, NwText *known, NwError *error)
{
  NwStatus status = nw_fail_property(error, NW_BAD_ARGUMENT, key, "There is no %s \"%s\"; choose one of %s.",
                                     key, value, known->data != NULL ? known->data : "none");
  nw_text_clear(known);
  return status;
}

static NwStatus set_op(NwTrainConfig *config, const char *key, const char *value, NwGroup group,
                       NwError *error)
{
  const NwOp *op = nw_op_find(value);
  if (op == NULL || op->group != group) {
    NwText known = {0};
    list_ops(group, &known);
    return unknown_choice(key, value, &known, error);
  }
  return group == NW_GROUP_LOSS ? nw_train_config_set_loss(config, op, error)
                                : nw_train_config_set_optimizer(config, op, error);
}

static NwStatus set_schedule(NwTrainConfig *config, const char *value, NwError *error)
{
  const NwSchedule *schedule = nw_schedule_find(value), *other;
  if (schedule != NULL)
    return nw_train_config_set_schedule(config, schedule, error);
  NwText known = {0};
  for (size_t i = 0; (other = nw_schedule_at(i)) != NULL; i++)
    nw_text_printf(&known, "%s%s", i ? ", " : "", other->row.id);
  return unknown_choice("schedule", value, &known, error);
}

/* Also the relations between attributes, and nothing is changed when they do not hold. */
static NwStatus set_attr(const NwOp *row, void *attrs, const char *key, const char *value, NwError *error)
{
  void *trial;
  if (row == NULL || attrs == NULL)
    return nw_fail_property(error, NW_BAD_STATE, key, "Choose the row that %s belongs to first.", key);
  NW_TRY(make_attrs(row, attrs, &trial, error));
  NwStatus status = nw_attr_set_text(row, trial, key, value, error);
  if (status == NW_OK)
    memcpy(attrs, trial, row->attrs_size);
  nw_free(trial);
  return status;
}

NwStatus nw_train_config_set(NwTrainConfig *config, const char *key, const char *value, NwError *error)
{
  for (int i = 0; i < NW_COUNT(settings); i++)
    if (strcmp(settings[i].key, key) == 0)
      return set_plain(&settings[i], config, value, error);
  if (strcmp(key, "optimizer") == 0)
    return set_op(config, key, value, NW_GROUP_OPTIMIZER, error);
  if (strcmp(key, "loss") == 0)
    return set_op(config, key, value, NW_GROUP_LOSS, error);
  if (strcmp(key, "schedule") == 0)
    return set_schedule(config, value, error);
  if (strncmp(key, "optimizer.", 10) == 0)
    return set_attr(config->optimizer, config->optimizer_attrs, key + 10, value, error);
  if (strncmp(key, "loss.", 5) == 0)
    return set_attr(config->loss, config->loss_attrs, key + 5, value, error);
  if (strncmp(key, "schedule.", 9) == 0 && config->schedule != NULL)
    return set_attr(&config->schedule->row, config->schedule_attrs, key + 9, value, error);
  return nw_fail_property(
      error, NW_BAD_ARGUMENT, key,
      "There is no training setting \"%s\"; there are epochs, batch_size, seed, lr, optimizer, "
      "optimizer.KEY, loss, loss.KEY, schedule, schedule.KEY, warmup_epochs, warmup_factor, "
      "class_weights, exact and checkpoint_seconds.",
      key);
}

/* ---- JSON ---- */

static NwJson *row_to_json(const NwOp *row, const void *attrs)
{
  NwJson *json = nw_json_object();
  if (row == NULL || !nw_json_set_string(json, "id", row->id) ||
      !nw_json_set_int(json, "version", row->version) ||
      !nw_json_set(json, "attrs", nw_attrs_to_json(row, attrs))) {
    nw_json_free(json);
    return NULL;
  }
  return json;
}

static NwJson *plain_to_json(const struct Setting *setting, const NwTrainConfig *config)
{
  const void *at = (const char *)config + setting->offset;
  switch (setting->kind) {
  case FLAG:
    return nw_json_bool(*(const bool *)at);
  case REAL:
    return nw_json_real(*(const double *)at);
  case SEED:
    return nw_json_int((int64_t) * (const uint64_t *)at);
  default:
    return nw_json_int(*(const int64_t *)at);
  }
}

NwJson *nw_train_config_to_json(const NwTrainConfig *config)
{
  NwJson *json = nw_json_object();
  bool ok = json != NULL;
  for (int i = 0; i < NW_COUNT(settings) && ok; i++)
    ok = nw_json_set(json, settings[i].key, plain_to_json(&settings[i], config));
  ok = ok && nw_json_set(json, "optimizer", row_to_json(config->optimizer, config->optimizer_attrs));
  ok = ok && nw_json_set(json, "loss", row_to_json(config->loss, config->loss_attrs));
  ok = ok && config->schedule != NULL &&
       nw_json_set(json, "schedule", row_to_json(&config->schedule->row, config->schedule_attrs));
  if (ok)
    return json;
  nw_json_free(json);
  return NULL;
}

static NwStatus plain_from_json(const struct Setting *setting, const NwJson *json, NwTrainConfig *config,
                                NwError *error)
{
  const NwJson *value = nw_json_get(json, setting->key);
  void *at = (char *)config + setting->offset;
  double real = nw_json_to_real(value, NAN);
  if (value == NULL)
    return NW_OK; /* older files lack newer settings */
  if (setting->kind == FLAG   ? !nw_json_is_bool(value)
      : setting->kind == REAL ? !nw_json_is_number(value)
                              : !nw_json_is_int(value))
    return nw_fail_property(error, NW_BAD_FORMAT, setting->key, "The training setting %s has the wrong type.",
                            setting->key);
  if (setting->kind != FLAG && setting->kind != SEED && !(real >= setting->min && real <= setting->max))
    return out_of_range(setting, "out of range", error);
  if (setting->kind == FLAG)
    *(bool *)at = nw_json_get_bool(json, setting->key, false);
  else if (setting->kind == REAL)
    *(double *)at = real;
  else /* SEED is 64 bits of either sign */
    *(int64_t *)at = nw_json_to_int(value, 0);
  return NW_OK;
}

static NwStatus row_from_json(NwTrainConfig *config, const NwJson *json, const char *key, NwError *error)
{
  const NwJson *row = nw_json_get(json, key), *attrs = nw_json_get(row, "attrs");
  if (row == NULL)
    return NW_OK;
  const char *id = nw_json_get_string(row, "id", NULL);
  if (id == NULL)
    return nw_fail_property(error, NW_BAD_FORMAT, key, "The training setting %s has no id.", key);
  NW_TRY(nw_train_config_set(config, key, id, error));
  if (attrs == NULL)
    return NW_OK;
  if (strcmp(key, "optimizer") == 0)
    return nw_attrs_from_json(config->optimizer, attrs, config->optimizer_attrs, error);
  if (strcmp(key, "loss") == 0)
    return nw_attrs_from_json(config->loss, attrs, config->loss_attrs, error);
  return nw_attrs_from_json(&config->schedule->row, attrs, config->schedule_attrs, error);
}

NwStatus nw_train_config_from_json(const NwJson *json, NwTrainConfig *out, NwError *error)
{
  static const char *const rows[] = {"optimizer", "loss", "schedule"};
  nw_train_config_init(out);
  NwStatus status =
      nw_json_is_object(json) ? NW_OK : nw_fail(error, NW_BAD_FORMAT, "The training settings are missing.");
  for (int i = 0; i < NW_COUNT(settings) && status == NW_OK; i++)
    status = plain_from_json(&settings[i], json, out, error);
  for (int i = 0; i < NW_COUNT(rows) && status == NW_OK; i++)
    status = row_from_json(out, json, rows[i], error);
  if (status != NW_OK)
    nw_train_config_clear(out);
  return status;
}
