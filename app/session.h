/* A project being trained: the only place where data, storage and trainer meet. GUI and command line drive
 * one of these.
 *
 * The trainer runs on a worker thread. Its events go through a lock-free ring; the listener is called on the
 * main context that was the thread-default one when the session was made, at most once a frame, with
 * everything that is new. */
#pragma once

#include <gio/gio.h>

#include "app/project.h"
#include "storage/history.h"

#define NW_TYPE_SESSION (nw_session_get_type())
G_DECLARE_FINAL_TYPE(NwSession, nw_session, NW, SESSION, GObject)
/* Signals: "state-changed", "progress" (new steps or epochs were drained), "remark" (const char *text),
 * "finished". */

NwSession *nw_session_new(NwHistory *history);
/* What a run's network_name is in the language of today; g_free. */
char *nw_session_network_words(const char *stored);
/* A new run of the project as it stands now (copied). name may be NULL. */
NwStatus nw_session_start(NwSession *session, NwProject *project, const char *name, NwError *error);
/* Goes on with an interrupted, stopped or paused run from its last checkpoint; extra_epochs > 0 also trains a
 * finished one on. */
NwStatus nw_session_resume(NwSession *session, const char *run, gint64 extra_epochs, NwError *error);
void nw_session_pause(NwSession *session);
void nw_session_continue(NwSession *session);
void nw_session_stop(NwSession *session);              /* keeps everything, resumable */
void nw_session_set_lr(NwSession *session, double lr); /* new base rate of the running training */
void nw_session_wait(NwSession *session);              /* blocks until the worker has ended */
gboolean nw_session_is_active(NwSession *session);     /* running, paused or stopping */
NwTrainerState nw_session_state(NwSession *session);
const NwError *nw_session_error(NwSession *session); /* of a failed run */
const char *nw_session_run(NwSession *session);      /* id, NULL before the first start */

/* What was drained so far; valid until the next main-context turn. */
typedef struct NwSessionProgress {
  gint64 epoch, epochs, batch, batches, step;
  double loss, accuracy, lr, pictures_per_s, seconds, seconds_left;
  double best_val_accuracy;
  gint64 best_epoch; /* NaN, 0: none yet */
  guint replaced;    /* pictures that could not be read */
} NwSessionProgress;
const NwSessionProgress *nw_session_progress(NwSession *session);
/* Points of "train_loss", "train_accuracy" (per step, with fractional epoch as x), "val_loss",
 * "val_accuracy", "epoch_train_loss", "epoch_train_accuracy" (per epoch), "lr". Array of NwMetricPoint, owned
 * by the session, append-only. */
const GArray *nw_session_series(NwSession *session, const char *metric);

/* For a program without a main loop: called at once on the worker's thread; must be quick. Set before the
 * start. */
typedef struct NwSessionListener {
  void (*step)(const NwStepEvent *step, gpointer data);
  void (*epoch)(const NwEpochEvent *epoch, gpointer data);
  void (*remark)(const char *text, gpointer data);
} NwSessionListener;
void nw_session_listen(NwSession *session, const NwSessionListener *listener, gpointer data);
