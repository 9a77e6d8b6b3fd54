#include "engine/train/checkpoint.h"

#include <math.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/pth.h"
#include "engine/train/checkpoint-internal.h"
#include "engine/train/trainer-internal.h"

/* ---- without a trainer ---- */

static NwStatus parse_json(const NwPthFile *file, const char *path, NwJson **out, NwError *error)
{
  *out = NULL;
  const char *text = nw_pth_text(nw_pth_get(nw_pth_root(file), "netwright"));
  if (text == NULL)
    return nw_fail(error, NW_BAD_FORMAT,
                   "%s is not a checkpoint of Netwright: it holds weights, but no network. Give a run, "
                   "or best.pth or last.pth of its folder.",
                   path);
  NW_TRY(nw_json_parse(text, strlen(text), path, out, error));
  int64_t format = nw_json_get_int(*out, "format", 0);
  if (format >= 1 && format <= NW_CHECKPOINT_FORMAT)
    return NW_OK;
  nw_json_free(*out);
  *out = NULL;
  if (format > NW_CHECKPOINT_FORMAT)
    return nw_fail(error, NW_TOO_NEW, "%s was written by a newer Netwright; update to open it.", path);
  return nw_fail(error, NW_BAD_FORMAT, "%s is damaged: its format number is missing.", path);
}

NwStatus nw_checkpoint_read_json(const char *path, NwJson **out, NwError *error)
{
  NwPthFile *file;
  *out = NULL;
  NW_TRY(nw_pth_open(path, &file, error));
  NwStatus status = parse_json(file, path, out, error);
  nw_pth_close(file);
  return status;
}

static NwStatus load_weights(const NwPthFile *file, NwModel *model, NwError *error)
{
  const NwPthNode *weights = nw_pth_get(nw_pth_root(file), "model_state_dict");
  if (weights == NULL)
    return nw_fail(error, NW_BAD_FORMAT, "The checkpoint holds no weights.");
  for (int i = 0; i < nw_model_count(model); i++)
    NW_TRY(nw_pth_load_param(weights, nw_model_at(model, i), error));
  return NW_OK;
}

static NwStatus make_model(const NwPthFile *file, const NwJson *json, NwModel **out, NwError *error)
{
  const NwJson *size = nw_json_get(json, "input");
  int64_t dims[4] = {1, nw_json_get_int(size, "channels", 0), nw_json_get_int(size, "height", 0),
                     nw_json_get_int(size, "width", 0)};
  int64_t classes = nw_json_get_int(json, "classes", 0);
  for (int i = 1; i < 4; i++)
    if (dims[i] < 1 || dims[i] > 65536)
      return nw_fail(error, NW_BAD_FORMAT, "The checkpoint is damaged: the size of its pictures is missing.");
  if (classes < 1 || classes > (1 << 24))
    return nw_fail(error, NW_BAD_FORMAT, "The checkpoint is damaged: its number of classes is missing.");
  NwNetwork *network;
  NwSpec input = nw_spec(NW_F32, 4, dims);
  NW_TRY(nw_network_from_json(nw_json_get(json, "network"), &network, error));
  NwStatus status = nw_model_new(network, &input, classes, 0, out, error);
  nw_network_free(network);
  NW_TRY(status);
  status = load_weights(file, *out, error);
  if (status != NW_OK) {
    nw_model_free(*out);
    *out = NULL;
  }
  return status;
}

NwStatus nw_checkpoint_read_model(const char *path, NwModel **out, NwJson **json, NwError *error)
{
  NwPthFile *file;
  NwJson *state = NULL;
  *out = NULL;
  if (json != NULL)
    *json = NULL;
  NW_TRY(nw_pth_open(path, &file, error));
  NwStatus status = parse_json(file, path, &state, error);
  if (status == NW_OK) {
    status = make_model(file, state, out, error);
    if (status != NW_OK)
      nw_error_prefix(error, status, "%s", path);
  }
  nw_pth_close(file);
  if (status == NW_OK && json != NULL)
    *json = state;
  else
    nw_json_free(state);
  return status;
}

/* ---- resuming ---- */

static NwStatus read_position(const NwTrainer *trainer, const NwJson *json, NwPosition *at, NwError *error)
{
  const NwJson *p = nw_json_get(json, "position"), *best = nw_json_get(p, "best");
  const NwJson *plateau = nw_json_get(p, "plateau"); /* older files have none */
  *at = (NwPosition){.epoch = nw_json_get_int(p, "epoch", -1),
                     .batch = nw_json_get_int(p, "batch", -1),
                     .step = nw_json_get_int(p, "step", -1),
                     .loss_sum = nw_json_get_real(p, "loss_sum", NAN),
                     .correct = nw_json_get_int(p, "correct", -1),
                     .pictures = nw_json_get_int(p, "pictures", -1),
                     .best_value = nw_json_get_real(best, "value", NAN),
                     .best_loss = nw_json_get_real(best, "loss", NAN),
                     .best_epoch = nw_json_get_int(best, "epoch", 0),
                     .plateau = {.factor = nw_json_get_real(plateau, "factor", 1),
                                 .best = nw_json_get_real(plateau, "best", NAN),
                                 .bad = nw_json_get_int(plateau, "bad", 0),
                                 .cooldown = nw_json_get_int(plateau, "cooldown", 0)}};
  if (at->epoch < 0 || at->batch < 0 || at->step < 0 || at->correct < 0 || at->pictures < 0 ||
      !isfinite(at->loss_sum) || !(at->plateau.factor > 0 && at->plateau.factor <= 1e6))
    return nw_fail(error, NW_BAD_FORMAT,
                   "The checkpoint is damaged: the position in the training is missing.");
  if (at->batch > 0 && nw_json_get_int(p, "batch_size", 0) != trainer->config.batch_size)
    return nw_fail_property(
        error, NW_BAD_STATE, "batch_size",
        "The run stopped within an epoch with batches of %lld; go on with the same batch size.",
        (long long)nw_json_get_int(p, "batch_size", 0));
  if (at->batch > 0 && nw_json_get_int(p, "count", 0) != trainer->train->count)
    return nw_fail(
        error, NW_BAD_DATA,
        "The run stopped within an epoch of %lld pictures; now there are %lld. Restore the data set.",
        (long long)nw_json_get_int(p, "count", 0), (long long)trainer->train->count);
  return NW_OK;
}

static NwStatus load_slot(const NwTrainer *trainer, const NwPthNode *state, int param, int slot,
                          NwError *error)
{
  const NwParam *of = nw_model_at(trainer->model, param);
  NwParam view = *of;
  view.spec = nw_moments_spec(&trainer->moments, &of->spec, slot);
  view.name = nw_moments_name(&trainer->moments, trainer->config.optimizer, slot);
  view.data = nw_moments_at(&trainer->moments, param, slot);
  NwStatus status = nw_pth_load_param(state, &view, error);
  return status == NW_OK ? NW_OK : nw_error_prefix(error, status, "Optimizer state of %s", of->name);
}

static NwStatus load_moments(NwTrainer *trainer, const NwPthFile *file, NwError *error)
{
  const NwPthNode *states = nw_pth_get(nw_pth_get(nw_pth_root(file), "optimizer_state_dict"), "state");
  int index = 0;
  for (int i = 0; i < nw_model_count(trainer->model); i++) {
    const NwParam *param = nw_model_at(trainer->model, i);
    if (param->buffer)
      continue;
    const NwPthNode *state = nw_pth_get_int(states, index++);
    for (int slot = 0; slot < trainer->moments.n_slots && !param->frozen; slot++)
      NW_TRY(load_slot(trainer, state, i, slot, error));
  }
  return NW_OK;
}

static NwStatus check_optimizer(const NwTrainer *trainer, const NwJson *json, NwError *error)
{
  const char *id = nw_json_get_string(nw_json_get(nw_json_get(json, "config"), "optimizer"), "id", "");
  const NwOp *before = nw_op_find(id);
  if (before == trainer->config.optimizer)
    return NW_OK;
  return nw_fail_property(error, NW_BAD_STATE, "optimizer",
                          "The checkpoint was trained with %s, so it cannot go on with %s.",
                          before != NULL && before->label != NULL ? before->label : "another optimizer",
                          trainer->config.optimizer->label);
}

static NwStatus resume(NwTrainer *trainer, const NwPthFile *file, const NwJson *json, NwError *error)
{
  NwPosition at;
  NW_TRY(read_position(trainer, json, &at, error));
  NW_TRY(check_optimizer(trainer, json, error));
  NW_TRY(load_weights(file, trainer->model, error));
  if (at.step > 0)
    NW_TRY(load_moments(trainer, file, error));
  const NwJson *position = nw_json_get(json, "position");
  double lr = nw_json_get_real(position, "lr", trainer->config.lr);
  if (isfinite(lr) && lr > 0)
    trainer->config.lr = lr;
  trainer->config.seed = (uint64_t)nw_json_get_int(position, "seed", (int64_t)trainer->config.seed);
  trainer->position = at;
  trainer->unsaved = false;
  return NW_OK;
}

NwStatus nw_trainer_resume(NwTrainer *trainer, const char *path, NwError *error)
{
  NwPthFile *file;
  NwJson *json = NULL;
  if (nw_trainer_state(trainer) != NW_TRAINER_NEW)
    return nw_fail(error, NW_BAD_STATE, "Only a new trainer can take over a checkpoint.");
  NW_TRY(nw_pth_open(path, &file, error));
  NwStatus status = parse_json(file, path, &json, error);
  if (status == NW_OK) {
    status = resume(trainer, file, json, error);
    if (status != NW_OK)
      nw_error_prefix(error, status, "%s", path);
  }
  nw_json_free(json);
  nw_pth_close(file);
  return status;
}
