/* Events of the trainer: recorded in the history where they happen, and carried to the main thread. */
#include <math.h>
#include <time.h>

#include "app/i18n.h"
#include "app/session-internal.h"

/* ---- main thread: draining ---- */

GArray *nw_session_points(NwSession *self, const char *metric)
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
  g_array_append_val(nw_session_points(self, metric), point);
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

/* Seconds of work of this process on the run: a pause is none. */
static double seconds_here(NwSession *self)
{
  gint64 paused_at = atomic_load(&self->paused_at), now = paused_at != 0 ? paused_at : g_get_monotonic_time();
  return (double)(now - self->started - atomic_load(&self->paused_total)) / 1e6;
}

static void count_pause(NwSession *self, gboolean paused)
{
  gint64 since = atomic_load(&self->paused_at), now = g_get_monotonic_time();
  if (paused && since == 0)
    atomic_store(&self->paused_at, now);
  if (!paused && since != 0) {
    atomic_fetch_add(&self->paused_total, now - since);
    atomic_store(&self->paused_at, 0);
  }
}

static void fill_times(NwSession *self)
{
  NwSessionProgress *p = &self->progress;
  double here = seconds_here(self);
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
  self->error = self->result;
  fill_times(self);
  nw_work_clear(&self->work);
}

gboolean nw_session_drain(gpointer data)
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
      nw_session_emit(self, NW_SESSION_REMARK, event.text);
      g_free(event.text);
      break;
    case NW_EVENT_END:
      end = TRUE;
      break;
    }
  }
  if (end && self->thread != NULL)
    end_of_run(self);
  else if (self->thread != NULL)
    fill_times(self);
  if (news)
    nw_session_emit(self, NW_SESSION_PROGRESS, NULL);
  if (state || end)
    nw_session_emit(self, NW_SESSION_STATE_CHANGED, NULL);
  if (end)
    nw_session_emit(self, NW_SESSION_FINISHED, NULL);
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
  g_source_set_callback(source, nw_session_drain, g_object_ref(self), g_object_unref);
  g_source_attach(source, self->context);
  g_source_unref(source);
}

static void push(NwSession *self, const NwSessionEvent *event)
{
  /* A full ring means nobody has drained for thousands of steps: a step may go, nothing else. */
  while (!atomic_load(&self->deaf)) {
    if (nw_ring_push(self->ring, event)) {
      wake(self);
      return;
    }
    if (event->kind == NW_EVENT_STEP)
      return;
    g_usleep(1000);
  }
  g_free(event->text);
}

static void on_state(void *owner, NwTrainerState state)
{
  NwSession *self = owner;
  atomic_store(&self->state, (int)state);
  count_pause(self, state == NW_TRAINER_PAUSED);
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
  record(self, "train_loss", step->step, epoch, step->loss);
  record(self, "train_accuracy", step->step, epoch, step->accuracy);
  record(self, "lr", step->step, epoch, step->lr);
  push(self, &(NwSessionEvent){.kind = NW_EVENT_STEP, .step = *step});
  if (self->listener.step != NULL)
    self->listener.step(step, self->listener_data);
}

static double worked_seconds(NwSession *self)
{
  return self->seconds_before + seconds_here(self);
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

static void tell_remark(NwSession *self, const char *text)
{
  push(self, &(NwSessionEvent){.kind = NW_EVENT_REMARK, .text = g_strdup(text)});
  if (self->listener.remark != NULL)
    self->listener.remark(text, self->listener_data);
}

/* The curve up to here must be on disk before the checkpoint is: a run that goes on from it never draws these
 * points again. */
static void on_saving(void *owner)
{
  NwSession *self = owner;
  NwError error = {0};
  if (nw_history_flush(self->history, &error) != NW_OK)
    tell_remark(self, error.text);
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
  tell_remark(self, text);
}

NwRunObserver nw_session_observer(NwSession *self)
{
  return (NwRunObserver){.owner = self,
                         .state = on_state,
                         .step = on_step,
                         .epoch = on_epoch,
                         .saving = on_saving,
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

void nw_session_close_run(NwSession *self, NwStatus status)
{
  NwRunInfo *info = self->info;
  info->state = status == NW_OK ? NW_RUN_FINISHED : status == NW_CANCELLED ? NW_RUN_STOPPED : NW_RUN_FAILED;
  info->ended = time(NULL);
  count_pause(self, FALSE); /* stopped while it was paused */
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
  nw_session_close_run(self, status);
  NwError writing = {0};
  if (nw_history_flush(self->history, &writing) != NW_OK)
    tell_remark(self, writing.text);
  NwTrainerState last = status == NW_OK          ? NW_TRAINER_FINISHED
                        : status == NW_CANCELLED ? NW_TRAINER_STOPPED
                                                 : NW_TRAINER_FAILED;
  atomic_store(&self->state, (int)last);
  push(self, &(NwSessionEvent){.kind = NW_EVENT_STATE, .state = last});
  push(self, &(NwSessionEvent){.kind = NW_EVENT_END});
  return NULL;
}

static gint64 batches_of(const NwWork *work)
{
  gint64 size = MAX(work->config.batch_size, 1);
  return (nw_loader_source(work->train)->count + size - 1) / size;
}

void nw_session_launch(NwSession *self)
{
  self->batches = self->progress.batches = batches_of(&self->work);
  self->started = g_get_monotonic_time();
  atomic_store(&self->paused_at, 0);
  atomic_store(&self->paused_total, 0);
  atomic_store(&self->state, NW_TRAINER_RUNNING);
  self->shown = NW_TRAINER_RUNNING;
  self->thread = g_thread_new("trainer", worker, self);
  nw_session_emit(self, NW_SESSION_STATE_CHANGED, NULL);
}
