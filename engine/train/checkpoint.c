/* Writing checkpoints: a dict that torch.load opens, with our own data as one JSON text. */
#include "engine/train/checkpoint.h"

#include <math.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "engine/base/threads.h"
#include "engine/io/pth.h"
#include "engine/train/checkpoint-internal.h"
#include "engine/train/trainer-internal.h"

/* ---- the JSON text ---- */

static NwJson *numbers(const double *values, int64_t n)
{
  NwJson *array = nw_json_array();
  for (int64_t i = 0; i < n; i++)
    if (!nw_json_append(array, nw_json_real(values[i]))) {
      nw_json_free(array);
      return NULL;
    }
  return array;
}

static NwJson *plateau_to_json(const NwPlateau *plateau)
{
  NwJson *json = nw_json_object();
  if (nw_json_set_real(json, "factor", plateau->factor) && nw_json_set_real(json, "best", plateau->best) &&
      nw_json_set_int(json, "bad", plateau->bad) && nw_json_set_int(json, "cooldown", plateau->cooldown))
    return json;
  nw_json_free(json);
  return NULL;
}

static bool set_position(NwJson *json, const NwTrainer *trainer)
{
  const NwPosition *at = &trainer->position;
  NwJson *p = nw_json_object(), *best = nw_json_object();
  bool ok = nw_json_set_int(p, "epoch", at->epoch) && nw_json_set_int(p, "batch", at->batch) &&
            nw_json_set_int(p, "step", at->step) && nw_json_set_real(p, "loss_sum", at->loss_sum) &&
            nw_json_set_int(p, "correct", at->correct) && nw_json_set_int(p, "pictures", at->pictures) &&
            nw_json_set_real(p, "lr", trainer->config.lr);
  /* the sampler's position only means something for the same pictures in batches of the same size */
  ok = ok && nw_json_set_int(p, "batch_size", trainer->config.batch_size) &&
       nw_json_set_int(p, "count", trainer->train->count) &&
       nw_json_set_int(p, "seed", (int64_t)trainer->config.seed);
  ok = ok && nw_json_set_real(best, "value", at->best_value) &&
       nw_json_set_real(best, "loss", at->best_loss) && nw_json_set_int(best, "epoch", at->best_epoch);
  if (!nw_json_set(p, "best", best) || !nw_json_set(p, "plateau", plateau_to_json(&at->plateau)))
    ok = false;
  return nw_json_set(json, "position", p) && ok;
}

static bool set_input(NwJson *json, const NwTrainer *trainer)
{
  NwSpec input = nw_model_input(trainer->model);
  NwJson *size = nw_json_object(), *normal = nw_json_object();
  bool ok = nw_json_set_int(size, "channels", input.dims[1]) &&
            nw_json_set_int(size, "height", input.dims[2]) && nw_json_set_int(size, "width", input.dims[3]);
  ok = ok && nw_json_set(normal, "mean", numbers(trainer->normalization.mean, input.dims[1])) &&
       nw_json_set(normal, "deviation", numbers(trainer->normalization.deviation, input.dims[1]));
  if (!nw_json_set(json, "input", size))
    ok = false;
  return nw_json_set(json, "normalization", normal) && ok &&
         nw_json_set_int(json, "classes", nw_model_classes(trainer->model));
}

static char *print_state(const NwTrainer *trainer)
{
  NwJson *json = nw_json_object();
  bool ok =
      nw_json_set_int(json, "format", NW_CHECKPOINT_FORMAT) &&
      nw_json_set_string(json, "version", NW_VERSION) &&
      nw_json_set(json, "network", nw_network_to_json(nw_model_network(trainer->model))) &&
      set_input(json, trainer) && nw_json_set(json, "config", nw_train_config_to_json(&trainer->config)) &&
      set_position(json, trainer) &&
      nw_json_set(json, "extra", trainer->extra != NULL ? nw_json_copy(trainer->extra) : nw_json_null());
  char *text = ok ? nw_json_print(json, false) : NULL;
  nw_json_free(json);
  return text;
}

/* ---- the optimizer as torch.optim.*.load_state_dict wants it ---- */

static NwPickle *param_state(const NwTrainer *trainer, int param, const float *step)
{
  const NwSpec scalar = nw_spec(NW_F32, 0, NULL);
  NwPickle *state = nw_pickle_dict();
  nw_pickle_set(state, "step", nw_pickle_tensor(&scalar, step));
  for (int slot = 0; slot < trainer->moments.n_slots; slot++) {
    NwSpec spec = nw_moments_spec(&trainer->moments, &nw_model_at(trainer->model, param)->spec, slot);
    nw_pickle_set(state, nw_moments_name(&trainer->moments, trainer->config.optimizer, slot),
                  nw_pickle_tensor(&spec, nw_moments_at(&trainer->moments, param, slot)));
  }
  return state;
}

static NwPickle *attr_value(const NwAttr *attr, const void *attrs)
{
  NwValue value = nw_attr_get(attr, attrs);
  switch (attr->type) {
  case NW_ATTR_REAL:
    return nw_pickle_real(value.r);
  case NW_ATTR_BOOL:
    return nw_pickle_bool(value.b);
  default:
    return nw_pickle_int(value.i);
  }
}

/* Attributes under torch's names; numbered ones ("beta1", "beta2") are a tuple there ("betas"). */
static void put_group_attrs(NwPickle *group, const NwOp *optimizer, const void *attrs)
{
  for (int i = 0; i < optimizer->n_attrs; i++) {
    const NwAttr *attr = &optimizer->attrs[i];
    size_t n = strlen(attr->key);
    if (attr->flags & NW_ATTR_HIDDEN)
      continue;
    if (attr->key[n - 1] != '1') {
      nw_pickle_set(group, attr->key, attr_value(attr, attrs));
      continue;
    }
    char name[48] = "";
    NwPickle *tuple = nw_pickle_tuple();
    for (int k = i; k < optimizer->n_attrs && strncmp(optimizer->attrs[k].key, attr->key, n - 1) == 0;
         k++, i = k - 1)
      nw_pickle_append(tuple, attr_value(&optimizer->attrs[k], attrs));
    strncat(name, attr->key, n - 1 < sizeof name - 2 ? n - 1 : sizeof name - 2);
    strcat(name, "s");
    nw_pickle_set(group, name, tuple);
  }
}

static NwPickle *optimizer_state(const NwTrainer *trainer, const float *step)
{
  NwPickle *root = nw_pickle_dict(), *state = nw_pickle_dict(), *group = nw_pickle_dict(),
           *groups = nw_pickle_list();
  NwPickle *params = nw_pickle_list();
  int index = 0; /* torch counts parameters, not buffers */
  for (int i = 0; i < nw_model_count(trainer->model); i++) {
    const NwParam *param = nw_model_at(trainer->model, i);
    if (param->buffer)
      continue;
    if (!param->frozen && trainer->position.step > 0)
      nw_pickle_set_int(state, index, param_state(trainer, i, step));
    nw_pickle_append(params, nw_pickle_int(index++));
  }
  nw_pickle_set(group, "lr", nw_pickle_real(nw_trainer_lr(trainer)));
  put_group_attrs(group, trainer->config.optimizer, trainer->config.optimizer_attrs);
  nw_pickle_set(group, "params", params);
  nw_pickle_append(groups, group);
  nw_pickle_set(root, "state", state);
  nw_pickle_set(root, "param_groups", groups);
  return root;
}

/* ---- writing ---- */

static NwStatus write_file(const NwTrainer *trainer, const char *path, NwError *error)
{
  float step = (float)trainer->position.step;
  char *text = print_state(trainer);
  if (text == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the checkpoint.");
  NwPickle *root = nw_pickle_dict();
  nw_pickle_set(root, "epoch", nw_pickle_int(trainer->position.epoch));
  nw_pickle_set(root, "model_state_dict", nw_pickle_state_dict(trainer->model));
  nw_pickle_set(root, "optimizer_state_dict", optimizer_state(trainer, &step));
  nw_pickle_set(root, "netwright", nw_pickle_string(text));
  nw_free(text);
  NwStatus status = nw_pth_write(path, root, error);
  nw_pickle_free(root);
  return status;
}

static NwStatus check_finite(const NwTrainer *trainer, NwError *error)
{
  for (int i = 0; i < nw_model_count(trainer->model); i++) {
    const NwParam *param = nw_model_at(trainer->model, i);
    const float *numbers = param->data;
    int64_t n = param->spec.dtype == NW_F32 ? nw_spec_count(&param->spec) : 0;
    float sum = 0;
    for (int64_t k = 0; k < n; k++)
      sum += numbers[k] * 0; /* 0, unless a number is not finite */
    if (!(sum == 0))
      return nw_fail(error, NW_BAD_DATA,
                     "The weights of %s are no longer finite numbers, so the checkpoint before stays. Lower "
                     "the learning "
                     "rate.",
                     param->name);
  }
  return NW_OK;
}

NwStatus nw_trainer_save(NwTrainer *trainer, const char *kind, NwError *error)
{
  NwText path = {0};
  trainer->checkpoint_time = nw_clock();
  NW_TRY(check_finite(trainer, error));
  nw_text_printf(&path, "%s/%s.pth", trainer->folder, kind);
  if (path.failed) {
    nw_text_clear(&path);
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the checkpoint.");
  }
  bool last = strcmp(kind, "last") == 0;
  if (last && trainer->observer.saving != NULL)
    trainer->observer.saving(trainer->observer.owner);
  NwStatus status = nw_make_folders(trainer->folder, error);
  if (status == NW_OK)
    status = write_file(trainer, path.data, error);
  if (status == NW_OK) {
    if (last)
      trainer->unsaved = false;
    if (trainer->observer.checkpoint != NULL)
      trainer->observer.checkpoint(trainer->observer.owner, kind, path.data, trainer->position.epoch,
                                   trainer->position.step);
  }
  nw_text_clear(&path);
  return status;
}

void nw_trainer_sweep(NwTrainer *trainer)
{
  static const char *const names[] = {"last", "best"};
  for (int i = 0; trainer->folder != NULL && i < NW_COUNT(names); i++) {
    NwText path = {0};
    nw_text_printf(&path, "%s/%s.pth", trainer->folder, names[i]);
    if (!path.failed)
      nw_file_sweep(path.data);
    nw_text_clear(&path);
  }
}

void nw_trainer_save_last(NwTrainer *trainer)
{
  NwError error;
  if (trainer->folder != NULL && nw_trainer_save(trainer, "last", &error) != NW_OK)
    nw_trainer_remark(trainer, "The checkpoint could not be written, and will be tried again: %s",
                      error.text);
}
