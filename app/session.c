#include "app/session.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "app/environment.h"
#include "app/i18n.h"
#include "app/session-internal.h"
#include "engine/base/file.h"
#include "engine/base/memory.h"
#include "engine/train/checkpoint.h"

G_DEFINE_FINAL_TYPE(NwSession, nw_session, G_TYPE_OBJECT)

enum { STATE_CHANGED, PROGRESS, REMARK, FINISHED, SIGNALS };
static guint signals[SIGNALS];

/* ---- main thread: draining ---- */

static GArray *series_of(NwSession *self, const char *metric)
{
  GArray *points = g_hash_table_lookup(self->series, metric);
  if (points == NULL) {
    points = g_array_new(FALSE, FALSE, sizeof(NwMetricPoint));
    g_hash_table_insert(self->series, (gpointer)metric, points);
  }
  return points;
}

static void add_point(NwSession *self, const char *metric, gint64 step, double epoch, double value)
{
  NwMetricPoint point = {step, epoch, value};
  g_array_append_val(series_of(self, metric), point);
}

static double epoch_of(const NwStepEvent *step)
{
  return (double)step->epoch + (step->batches > 0 ? (double)step->batch / (double)step->batches : 0);
}

static void drain_step(NwSession *self, const NwStepEvent *step)
{
  NwSessionProgress *p = &self->progress;
  double epoch = epoch_of(step);
  p->epoch = step->epoch;
  p->batch = step->batch;
  p->batches = step->batches;
  p->step = step->step;
  p->loss = step->loss;
  p->accuracy = step->accuracy;
  p->lr = step->lr;
  p->pictures_per_s = step->pictures_per_s;
  add_point(self, "train_loss", step->step, epoch, step->loss);
  add_point(self, "train_accuracy", step->step, epoch, step->accuracy);
  add_point(self, "lr", step->step, epoch, step->lr);
}

static void drain_epoch(NwSession *self, const NwEpochEvent *epoch)
{
  NwSessionProgress *p = &self->progress;
  double x = (double)epoch->epoch;
  p->epoch = epoch->epoch;
  p->batch = 0;
  if (epoch->best) {
    p->best_val_accuracy = epoch->val_accuracy;
    p->best_epoch = epoch->epoch;
  }
  add_point(self, "epoch_train_loss", p->step, x, epoch->train_loss);
  add_point(self, "epoch_train_accuracy", p->step, x, epoch->train_accuracy);
  if (!isnan(epoch->val_loss)) {
    add_point(self, "val_loss", p->step, x, epoch->val_loss);
    add_point(self, "val_accuracy", p->step, x, epoch->val_accuracy);
  }
}

static void fill_times(NwSession *self)
{
  NwSessionProgress *p = &self->progress;
  double here = (double)(g_get_monotonic_time() - self->started) / 1e6;
  double done = (double)p->epoch + (p->batches > 0 ? (double)p->batch / (double)p->batches : 0);
  double before = self->resuming ? self->seconds_before : 0;
  p->seconds = before + here;
  p->seconds_left = done > 0.01 ? p->seconds / done * ((double)p->epochs - done) : NAN;
  p->replaced = self->work.train != NULL ? nw_loader_replaced(self->work.train) : p->replaced;
}

static void end_of_run(NwSession *self)
{
  g_thread_join(self->thread);
  self->thread = NULL;
  self->ended = TRUE;
  self->error = self->result;
  fill_times(self);
  nw_work_clear(&self->work);
}

static gboolean drain(gpointer data)
{
  NwSession *self = data;
  NwSessionEvent event;
  gboolean news = FALSE, state = FALSE, end = FALSE;
  atomic_store(&self->wake_pending, FALSE);
  g_object_ref(self);
  while (nw_ring_pop(self->ring, &event)) {
    switch (event.kind) {
    case NW_EVENT_STEP:
      drain_step(self, &event.step);
      news = TRUE;
      break;
    case NW_EVENT_EPOCH:
      drain_epoch(self, &event.epoch);
      news = TRUE;
      break;
    case NW_EVENT_STATE:
      self->shown = event.state;
      state = TRUE;
      break;
    case NW_EVENT_REMARK:
      g_signal_emit(self, signals[REMARK], 0, event.text);
      g_free(event.text);
      break;
    case NW_EVENT_END:
      end = TRUE;
      break;
    }
  }
  if (end)
    end_of_run(self);
  else
    fill_times(self);
  if (news)
    g_signal_emit(self, signals[PROGRESS], 0);
  if (state || end)
    g_signal_emit(self, signals[STATE_CHANGED], 0);
  if (end)
    g_signal_emit(self, signals[FINISHED], 0);
  g_object_unref(self);
  return G_SOURCE_REMOVE;
}

/* ---- worker thread: telling ---- */

static void wake(NwSession *self)
{
  if (atomic_exchange(&self->wake_pending, TRUE))
    return;
  GSource *source = g_idle_source_new();
  /* Above GTK's redraw, else a busy window would never hear of it. */
  g_source_set_priority(source, G_PRIORITY_DEFAULT);
  g_source_set_callback(source, drain, g_object_ref(self), g_object_unref);
  g_source_attach(source, self->context);
  g_source_unref(source);
}

static void push(NwSession *self, const NwSessionEvent *event)
{
  /* A full ring means nobody has drained for thousands of steps: a step may go, nothing else. */
  while (!nw_ring_push(self->ring, event)) {
    if (event->kind == NW_EVENT_STEP)
      return;
    g_usleep(1000);
  }
  wake(self);
}

static void on_state(void *owner, NwTrainerState state)
{
  NwSession *self = owner;
  atomic_store(&self->state, (int)state);
  if (state == NW_TRAINER_RUNNING || state == NW_TRAINER_PAUSED) {
    self->info->state = state == NW_TRAINER_PAUSED ? NW_RUN_PAUSED : NW_RUN_RUNNING;
    nw_history_update_run(self->history, self->info);
  }
  push(self, &(NwSessionEvent){.kind = NW_EVENT_STATE, .state = state});
}

static void record(NwSession *self, const char *metric, gint64 step, double epoch, double value)
{
  nw_history_add_metric(self->history, self->info->id, metric, (NwMetricPoint){step, epoch, value});
}

static void on_step(void *owner, const NwStepEvent *step)
{
  NwSession *self = owner;
  double epoch = epoch_of(step);
  self->batches = step->batches;
  record(self, "train_loss", step->step, epoch, step->loss);
  record(self, "train_accuracy", step->step, epoch, step->accuracy);
  record(self, "lr", step->step, epoch, step->lr);
  push(self, &(NwSessionEvent){.kind = NW_EVENT_STEP, .step = *step});
  if (self->listener.step != NULL)
    self->listener.step(step, self->listener_data);
}

static double worked_seconds(NwSession *self)
{
  return self->seconds_before + (double)(g_get_monotonic_time() - self->started) / 1e6;
}

static void on_epoch(void *owner, const NwEpochEvent *epoch)
{
  NwSession *self = owner;
  NwRunInfo *info = self->info;
  gint64 step = epoch->epoch * MAX(self->batches, 1);
  double x = (double)epoch->epoch;
  info->epochs_done = epoch->epoch;
  info->train_loss = epoch->train_loss;
  info->train_accuracy = epoch->train_accuracy;
  info->seconds = worked_seconds(self);
  if (epoch->best) {
    info->best_epoch = epoch->epoch;
    info->best_val_accuracy = epoch->val_accuracy;
    info->best_val_loss = epoch->val_loss;
  }
  record(self, "epoch_train_loss", step, x, epoch->train_loss);
  record(self, "epoch_train_accuracy", step, x, epoch->train_accuracy);
  if (!isnan(epoch->val_loss)) {
    record(self, "val_loss", step, x, epoch->val_loss);
    record(self, "val_accuracy", step, x, epoch->val_accuracy);
  }
  nw_history_update_run(self->history, info);
  push(self, &(NwSessionEvent){.kind = NW_EVENT_EPOCH, .epoch = *epoch});
  if (self->listener.epoch != NULL)
    self->listener.epoch(epoch, self->listener_data);
}

static void on_checkpoint(void *owner, const char *kind, const char *path, int64_t epoch, int64_t step)
{
  NwSession *self = owner;
  nw_history_add_checkpoint(self->history, self->info->id, kind, path, epoch, step);
}

static void on_remark(void *owner, const char *text)
{
  NwSession *self = owner;
  nw_history_add_event(self->history, self->info->id, "remark", text);
  push(self, &(NwSessionEvent){.kind = NW_EVENT_REMARK, .text = g_strdup(text)});
  if (self->listener.remark != NULL)
    self->listener.remark(text, self->listener_data);
}

static NwRunObserver observer_of(NwSession *self)
{
  return (NwRunObserver){.owner = self,
                         .state = on_state,
                         .step = on_step,
                         .epoch = on_epoch,
                         .checkpoint = on_checkpoint,
                         .remark = on_remark};
}

/* ---- worker thread: the run ---- */

static void report_replaced(NwSession *self)
{
  guint n = nw_loader_replaced(self->work.train) +
            (self->work.validation != NULL ? nw_loader_replaced(self->work.validation) : 0);
  if (n == 0)
    return;
  g_autofree char *text = g_strdup_printf(
      g_dngettext(NULL, "%u picture could not be read and was replaced by another of its class",
                  "%u pictures could not be read and were replaced by others of their class", n),
      n);
  on_remark(self, text);
}

static void close_run(NwSession *self, NwStatus status)
{
  NwRunInfo *info = self->info;
  info->state = status == NW_OK ? NW_RUN_FINISHED : status == NW_CANCELLED ? NW_RUN_STOPPED : NW_RUN_FAILED;
  info->ended = time(NULL);
  info->seconds = worked_seconds(self);
  g_free(info->message);
  info->message = info->state == NW_RUN_FAILED ? g_strdup(self->result.text) : NULL;
  nw_history_update_run(self->history, info);
  nw_history_add_event(self->history, info->id, nw_run_state_key(info->state), info->message);
}

static gpointer worker(gpointer data)
{
  NwSession *self = data;
  NwError error = {0};
  NwStatus status = nw_trainer_run(self->work.trainer, &error);
  if (status != NW_OK)
    self->result = error;
  report_replaced(self);
  close_run(self, status);
  NwError writing = {0};
  if (nw_history_flush(self->history, &writing) != NW_OK && self->listener.remark != NULL)
    self->listener.remark(writing.text, self->listener_data);
  NwTrainerState last = status == NW_OK          ? NW_TRAINER_FINISHED
                        : status == NW_CANCELLED ? NW_TRAINER_STOPPED
                                                 : NW_TRAINER_FAILED;
  atomic_store(&self->state, (int)last);
  push(self, &(NwSessionEvent){.kind = NW_EVENT_STATE, .state = last});
  push(self, &(NwSessionEvent){.kind = NW_EVENT_END});
  return NULL;
}

static void launch(NwSession *self)
{
  self->started = g_get_monotonic_time();
  self->ended = FALSE;
  atomic_store(&self->state, NW_TRAINER_RUNNING);
  self->shown = NW_TRAINER_RUNNING;
  self->thread = g_thread_new("trainer", worker, self);
  g_signal_emit(self, signals[STATE_CHANGED], 0);
}

/* ---- starting ---- */

static NwStatus refuse_active(NwSession *self, NwError *error)
{
  if (!nw_session_is_active(self))
    return NW_OK;
  return nw_fail(error, NW_BAD_STATE, "%s", _("A training is going on: stop it first"));
}

static void forget_last(NwSession *self)
{
  nw_run_info_free(self->info);
  self->info = NULL;
  g_hash_table_remove_all(self->series);
  self->progress =
      (NwSessionProgress){.best_val_accuracy = NAN, .loss = NAN, .accuracy = NAN, .seconds_left = NAN};
  self->error = self->result = (NwError){0};
  self->seconds_before = 0;
  self->resuming = FALSE;
  self->batches = 0;
}

static char *text_of(NwJson *json)
{
  char *text = nw_json_print(json, false), *out = g_strdup(text);
  nw_free(text);
  nw_json_free(json);
  return out;
}

/* What is frozen with a run: everything that is needed to train it again. */
static char *frozen_config(NwProject *project)
{
  NwJson *json = nw_project_to_json(project);
  return text_of(json);
}

/* The network's name for lists: its template has none after edits, so its shape speaks. */
static char *network_name(NwProject *project)
{
  const NwNetwork *network = nw_project_network(project);
  int layers = 0;
  for (int i = 0; i < nw_network_count(network); i++)
    for (int p = 0; p < nw_network_at(network, i)->op->n_inputs; p++)
      if (nw_network_at(network, i)->op->inputs[p].role == NW_PORT_PARAM) {
        layers++;
        break;
      }
  /* Translators: a network in a list: how many blocks it has, and how many of them have weights. */
  return g_strdup_printf(_("%d blocks, %d with weights"), nw_network_count(network), layers);
}

static NwStatus write_run_json(NwRunInfo *info, NwError *error)
{
  g_autofree char *path = g_build_filename(info->folder, "run.json", NULL);
  g_autofree char *text = g_strdup_printf("{\"run\":\"%s\",\"config\":%s,\"environment\":%s}\n", info->id,
                                          info->config, info->environment);
  return nw_file_write(path, text, strlen(text), error);
}

static NwStatus register_run(NwSession *self, NwProject *project, const char *name, NwError *error)
{
  NwRunInfo *info = g_new0(NwRunInfo, 1);
  const NwTrainConfig *config = nw_project_config(project);
  info->name = g_strdup(name != NULL ? name : nw_project_name(project));
  info->project = g_strdup(nw_project_folder(project));
  info->network_name = network_name(project);
  info->state = NW_RUN_RUNNING;
  info->epochs_wanted = config->epochs;
  info->best_val_accuracy = info->best_val_loss = info->train_loss = info->train_accuracy = NAN;
  info->parameters = nw_project_report(project)->parameters;
  info->dataset_digest = g_strdup(nw_project_manifest(project)->digest);
  info->dataset_root = g_strdup(nw_project_dataset(project));
  info->config = frozen_config(project);
  info->environment = text_of(nw_environment_json());
  NwStatus status = nw_history_create_run(self->history, info, error);
  if (status == NW_OK)
    status = write_run_json(info, error);
  if (status != NW_OK) {
    nw_run_info_free(info);
    return status;
  }
  self->info = info;
  return NW_OK;
}

/* The worker has its own copy of everything, so that the project can be edited while it trains. */
static NwStatus copy_parts(NwSession *self, NwProject *project, NwError *error)
{
  const char *obstacle = nw_project_obstacle(project, NULL);
  if (obstacle != NULL) {
    const NwNetworkReport *report = nw_project_report(project);
    NwStatus status = report->status != NW_OK ? report->status : NW_BAD_DATA;
    nw_fail(error, status, "%s", obstacle);
    if (error != NULL && report->status != NW_OK)
      *error = report->error;
    return status;
  }
  self->work.manifest = nw_manifest_copy(nw_project_manifest(project));
  self->work.preprocessing = nw_preprocessing_copy(nw_project_preprocessing(project));
  return nw_train_config_copy(nw_project_config(project), &self->work.config, error);
}

NwStatus nw_session_start(NwSession *session, NwProject *project, const char *name, NwError *error)
{
  NW_TRY(refuse_active(session, error));
  forget_last(session);
  NwRunObserver observer = observer_of(session);
  NwStatus status = copy_parts(session, project, error);
  if (status == NW_OK)
    status = register_run(session, project, name, error);
  if (status == NW_OK) {
    session->progress.epochs = session->work.config.epochs;
    status =
        nw_work_build(&session->work, nw_project_network(project), session->info->folder, &observer, error);
    if (status != NW_OK) { /* the run exists: it tells why it never began */
      session->result = error != NULL ? *error : (NwError){.status = status};
      close_run(session, status);
    }
  }
  if (status != NW_OK) {
    nw_work_clear(&session->work);
    return status;
  }
  launch(session);
  return NW_OK;
}

/* ---- resuming ---- */

static NwStatus find_checkpoint(NwSession *self, const NwRunInfo *info, char **path, gint64 *step,
                                NwError *error)
{
  *path = g_build_filename(info->folder, "last.pth", NULL);
  NwJson *json = NULL;
  NwStatus status = nw_checkpoint_read_json(*path, &json, error);
  if (status == NW_OK)
    *step = nw_json_get_int(nw_json_get(json, "position"), "step", 0);
  nw_json_free(json);
  return status;
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
        g_array_append_val(series_of(self, metrics[i]), point);
    }
    g_array_unref(points);
  }
}

static NwStatus prepare_resume(NwSession *self, const char *word, gint64 extra_epochs, NwProject **project,
                               char **path, gint64 *step, NwError *error)
{
  NW_TRY(nw_history_find(self->history, word, &self->info, error));
  NW_TRY(refuse_running(self->info, extra_epochs, error));
  NW_TRY(find_checkpoint(self, self->info, path, step, error));
  NW_TRY(open_frozen(self->info, project, error));
  NW_TRY(nw_project_scan(*project, error));
  NW_TRY(check_same_data(self->info, *project, error));
  return copy_parts(self, *project, error);
}

static NwStatus go_on(NwSession *self, NwProject *project, const char *path, gint64 step, gint64 extra_epochs,
                      NwError *error)
{
  NwRunInfo *info = self->info;
  NwRunObserver observer = observer_of(self);
  if (extra_epochs > 0)
    self->work.config.epochs = MAX(info->epochs_done, 0) + extra_epochs;
  else
    self->work.config.epochs = info->epochs_wanted;
  NW_TRY(nw_work_build(&self->work, nw_project_network(project), info->folder, &observer, error));
  NW_TRY(nw_trainer_resume(self->work.trainer, path, error));
  info->epochs_wanted = self->work.config.epochs;
  info->state = NW_RUN_RUNNING;
  info->ended = 0;
  g_clear_pointer(&info->message, g_free);
  self->seconds_before = info->seconds;
  self->resuming = TRUE;
  self->progress.epochs = info->epochs_wanted;
  self->progress.epoch = info->epochs_done;
  self->progress.best_epoch = info->best_epoch;
  self->progress.best_val_accuracy = info->best_val_accuracy;
  nw_history_rewind(self->history, info->id, step);
  nw_history_update_run(self->history, info);
  nw_history_add_event(self->history, info->id, "resumed", NULL);
  load_series(self, step);
  launch(self);
  return NW_OK;
}

NwStatus nw_session_resume(NwSession *session, const char *run, gint64 extra_epochs, NwError *error)
{
  NwProject *project = NULL;
  char *path = NULL;
  gint64 step = 0;
  NW_TRY(refuse_active(session, error));
  forget_last(session);
  NwStatus status = prepare_resume(session, run, extra_epochs, &project, &path, &step, error);
  if (status == NW_OK)
    status = go_on(session, project, path, step, extra_epochs, error);
  if (status != NW_OK)
    nw_work_clear(&session->work);
  g_free(path);
  g_clear_object(&project);
  return status;
}

/* ---- commands and answers ---- */

void nw_session_pause(NwSession *session)
{
  if (session->thread != NULL && session->work.trainer != NULL)
    nw_trainer_pause(session->work.trainer);
}

void nw_session_continue(NwSession *session)
{
  if (session->thread != NULL && session->work.trainer != NULL)
    nw_trainer_continue(session->work.trainer);
}

void nw_session_stop(NwSession *session)
{
  if (session->thread != NULL && session->work.trainer != NULL)
    nw_trainer_stop(session->work.trainer);
}

void nw_session_set_lr(NwSession *session, double lr)
{
  if (session->thread != NULL && session->work.trainer != NULL)
    nw_trainer_set_lr(session->work.trainer, lr);
}

void nw_session_wait(NwSession *session)
{
  if (session->thread == NULL)
    return;
  /* The worker's last event is drained here, so that the answers below are right at once. */
  while (session->thread != NULL) {
    NwTrainerState state = atomic_load(&session->state);
    gboolean over = state == NW_TRAINER_FINISHED || state == NW_TRAINER_STOPPED || state == NW_TRAINER_FAILED;
    drain(session);
    if (!over)
      g_usleep(2000);
  }
}

gboolean nw_session_is_active(NwSession *session)
{
  return session->thread != NULL;
}

NwTrainerState nw_session_state(NwSession *session)
{
  return session->shown;
}

const NwError *nw_session_error(NwSession *session)
{
  return session->error.status != NW_OK ? &session->error : NULL;
}

const char *nw_session_run(NwSession *session)
{
  return session->info != NULL ? session->info->id : NULL;
}

const NwSessionProgress *nw_session_progress(NwSession *session)
{
  return &session->progress;
}

const GArray *nw_session_series(NwSession *session, const char *metric)
{
  return g_hash_table_lookup(session->series, metric);
}

void nw_session_listen(NwSession *session, const NwSessionListener *listener, gpointer data)
{
  session->listener = listener != NULL ? *listener : (NwSessionListener){0};
  session->listener_data = data;
}

/* ---- object ---- */

static void nw_session_finalize(GObject *object)
{
  NwSession *self = NW_SESSION(object);
  if (self->thread != NULL) {
    nw_trainer_stop(self->work.trainer);
    g_thread_join(self->thread);
    nw_work_clear(&self->work);
  }
  nw_run_info_free(self->info);
  g_hash_table_unref(self->series);
  g_free(self->ring);
  g_main_context_unref(self->context);
  G_OBJECT_CLASS(nw_session_parent_class)->finalize(object);
}

static void nw_session_class_init(NwSessionClass *klass)
{
  static const char *const names[] = {"state-changed", "progress", "remark", "finished"};
  G_OBJECT_CLASS(klass)->finalize = nw_session_finalize;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    signals[i] = i == REMARK ? g_signal_new(names[i], NW_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                            G_TYPE_NONE, 1, G_TYPE_STRING)
                             : g_signal_new(names[i], NW_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                            G_TYPE_NONE, 0);
}

static void nw_session_init(NwSession *self)
{
  self->ring = g_new0(NwRing, 1);
  self->context = g_main_context_ref_thread_default();
  self->series = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
  self->progress =
      (NwSessionProgress){.best_val_accuracy = NAN, .loss = NAN, .accuracy = NAN, .seconds_left = NAN};
}

NwSession *nw_session_new(NwHistory *history)
{
  NwSession *self = g_object_new(NW_TYPE_SESSION, NULL);
  self->history = history;
  return self;
}
