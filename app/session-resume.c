/* Going on with a run exactly where its last checkpoint stands. */
#include <math.h>

#include "app/i18n.h"
#include "app/session-internal.h"
#include "engine/train/checkpoint.h"

/* Where a run stands: its last checkpoint. */
typedef struct Standing {
  char *path;
  NwJson *json; /* NULL: it was killed before the first one was written, and begins anew */
  gint64 step;
} Standing;

static NwStatus find_checkpoint(const NwRunInfo *info, Standing *at, NwError *error)
{
  at->path = g_build_filename(info->folder, "last.pth", NULL);
  if (!g_file_test(at->path, G_FILE_TEST_EXISTS) && info->epochs_done == 0)
    return NW_OK;
  NW_TRY(nw_checkpoint_read_json(at->path, &at->json, error));
  at->step = nw_json_get_int(nw_json_get(at->json, "position"), "step", 0);
  return NW_OK;
}

static NwStatus open_frozen(const NwRunInfo *info, NwProject **project, NwError *error)
{
  return nw_project_open_text(info->config, info->project, project, error);
}

static NwStatus refuse_running(const NwRunInfo *info, gint64 extra_epochs, NwError *error)
{
  if (info->state == NW_RUN_RUNNING || info->state == NW_RUN_PAUSED)
    return nw_fail(error, NW_BAD_STATE, _("Run %s is being trained by another process"), info->id);
  if (info->state == NW_RUN_FINISHED && extra_epochs <= 0)
    return nw_fail(error, NW_BAD_STATE, _("Run %s is finished; --epochs N trains it on to N epochs"),
                   info->id);
  return NW_OK;
}

static NwStatus check_same_data(const NwRunInfo *info, NwProject *project, NwError *error)
{
  if (g_strcmp0(nw_project_manifest(project)->digest, info->dataset_digest) == 0)
    return NW_OK;
  return nw_fail(error, NW_BAD_DATA,
                 _("The data set %s has changed since run %s began, so it cannot go on exactly. Start a new "
                   "training, or put the "
                   "pictures back"),
                 info->dataset_root, info->id);
}

/* The curves up to the checkpoint, so that the chart goes on where it stood. */
static void load_series(NwSession *self, gint64 step)
{
  static const char *const metrics[] = {"train_loss",       "train_accuracy",       "lr",
                                        "epoch_train_loss", "epoch_train_accuracy", "val_loss",
                                        "val_accuracy"};
  for (guint i = 0; i < G_N_ELEMENTS(metrics); i++) {
    GArray *points = NULL;
    if (nw_history_metrics(self->history, self->info->id, metrics[i], &points, NULL) != NW_OK)
      continue;
    for (guint k = 0; k < points->len; k++) {
      NwMetricPoint point = g_array_index(points, NwMetricPoint, k);
      if (point.step <= step)
        g_array_append_val(nw_session_points(self, metrics[i]), point);
    }
    g_array_unref(points);
  }
}

static NwStatus prepare_resume(NwSession *self, const char *word, gint64 extra_epochs, NwProject **project,
                               Standing *at, NwError *error)
{
  NW_TRY(nw_history_find(self->history, word, &self->info, error));
  NW_TRY(refuse_running(self->info, extra_epochs, error));
  NW_TRY(find_checkpoint(self->info, at, error));
  NW_TRY(open_frozen(self->info, project, error));
  NW_TRY(nw_project_scan(*project, error));
  NW_TRY(check_same_data(self->info, *project, error));
  return nw_session_copy_parts(self, *project, error);
}

/* What the row of the run says may be ahead of the checkpoint: the process died in between. */
static void step_back(NwRunInfo *info, const NwJson *position)
{
  const NwJson *best = nw_json_get(position, "best");
  info->epochs_done = nw_json_get_int(position, "epoch", 0);
  if (info->best_epoch > info->epochs_done) {
    info->best_epoch = nw_json_get_int(best, "epoch", 0);
    info->best_val_accuracy = nw_json_get_real(best, "value", NAN);
    info->best_val_loss = nw_json_get_real(best, "loss", NAN);
  }
}

static void show_position(NwSession *self, gint64 step)
{
  NwSessionProgress *p = &self->progress;
  const NwRunInfo *info = self->info;
  p->epochs = info->epochs_wanted;
  p->epoch = info->epochs_done;
  p->step = step;
  p->best_epoch = info->best_epoch;
  p->best_val_accuracy = info->best_val_accuracy;
}

static NwStatus go_on(NwSession *self, NwProject *project, const Standing *at, gint64 extra_epochs,
                      NwError *error)
{
  NwRunInfo *info = self->info;
  NwRunObserver observer = nw_session_observer(self);
  self->work.config.epochs =
      extra_epochs > 0 ? MAX(info->epochs_done, 0) + extra_epochs : info->epochs_wanted;
  if (at->json != NULL) /* the checkpoint has them all */
    g_clear_pointer(&self->work.weights, g_free);
  NW_TRY(nw_work_build(&self->work, nw_project_network(project), info->folder, &observer, error));
  if (at->json != NULL)
    NW_TRY(nw_trainer_resume(self->work.trainer, at->path, error));
  step_back(info, nw_json_get(at->json, "position"));
  info->epochs_wanted = self->work.config.epochs;
  info->state = NW_RUN_RUNNING;
  info->ended = 0;
  g_clear_pointer(&info->message, g_free);
  self->seconds_before = info->seconds;
  self->resuming = TRUE;
  show_position(self, at->step);
  load_series(self, at->step);
  nw_history_rewind(self->history, info->id, at->step);
  nw_history_update_run(self->history, info);
  nw_history_add_event(self->history, info->id, "resumed", NULL);
  nw_session_launch(self);
  return NW_OK;
}

/* The run belongs to this process while it is tried; when that fails it is what it was before. */
static NwStatus claim_and_go_on(NwSession *self, NwProject *project, const Standing *at, gint64 extra_epochs,
                                NwError *error)
{
  NwRunState before = self->info->state;
  NW_TRY(nw_history_claim_run(self->history, self->info->id, error));
  NwStatus status = go_on(self, project, at, extra_epochs, error);
  if (status != NW_OK) {
    self->info->state = before;
    nw_history_update_run(self->history, self->info);
    nw_history_flush(self->history, NULL);
  }
  return status;
}

NwStatus nw_session_resume(NwSession *session, const char *run, gint64 extra_epochs, NwError *error)
{
  NwProject *project = NULL;
  Standing at = {0};
  NW_TRY(nw_session_refuse_active(session, error));
  nw_session_forget(session);
  NwStatus status = prepare_resume(session, run, extra_epochs, &project, &at, error);
  if (status == NW_OK)
    status = claim_and_go_on(session, project, &at, extra_epochs, error);
  if (status != NW_OK)
    nw_work_clear(&session->work);
  g_free(at.path);
  nw_json_free(at.json);
  g_clear_object(&project);
  return status;
}
