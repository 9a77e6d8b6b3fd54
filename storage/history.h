/* The history: every run, every metric point, events, checkpoints, in one SQLite file in WAL mode.
 *
 * One writer thread owns the writing connection; the write functions queue and return at once, in order.
 * Readers use their own connection on the calling thread. Opening marks runs whose process is gone as
 * interrupted. Sentences are in NwError. */
#pragma once

#include <glib.h>

#include "engine/base/json.h"
#include "engine/base/status.h"

typedef struct NwHistory NwHistory;

typedef enum NwRunState {
  NW_RUN_RUNNING,
  NW_RUN_PAUSED,
  NW_RUN_FINISHED,
  NW_RUN_STOPPED,
  NW_RUN_INTERRUPTED,
  NW_RUN_FAILED
} NwRunState;
const char *nw_run_state_key(NwRunState state); /* "running" ... */

typedef struct NwRunInfo {
  char *id;      /* 12 hex digits, unique */
  gint64 number; /* 1, 2, 3 … in this history */
  char *name, *tags, *project, *network_name;
  NwRunState state;
  char *message;         /* of a failure */
  gint64 created, ended; /* Unix seconds; ended 0: not yet */
  double seconds;        /* of training */
  gint64 epochs_done, epochs_wanted, best_epoch;
  double best_val_accuracy, best_val_loss, train_loss, train_accuracy; /* NaN: unknown */
  gint64 parameters;
  char *dataset_digest, *dataset_root;
  char *config;      /* JSON text: network, training settings, preprocessing — frozen at the start */
  char *environment; /* JSON text: version, cpu, isa, threads, libraries */
  char *folder;      /* of checkpoints */
  gboolean trashed;
} NwRunInfo;
void nw_run_info_free(NwRunInfo *info);

typedef struct NwMetricPoint {
  gint64 step;
  double epoch; /* fractional: x of the charts */
  double value;
} NwMetricPoint;

/* folder NULL: $NETWRIGHT_HISTORY, else $XDG_DATA_HOME/netwright. Makes it. The file is folder/history.db;
 * runs' folders are folder/runs/<id>. Errors: NW_TOO_NEW for a newer schema; NW_BAD_FORMAT for a file that is
 * no history (it is left alone). */
NwStatus nw_history_open(const char *folder, NwHistory **out, NwError *error);
void nw_history_close(NwHistory *history); /* waits for the writer */
const char *nw_history_folder(const NwHistory *history);
/* Blocks until everything queued is on disk, or was tried; the first failure of the writer since the last
 * call. What a full disk kept from being written stays in memory, in order, and is tried again with the next
 * write, flush or close. */
NwStatus nw_history_flush(NwHistory *history, NwError *error);

/* Writing. create: id, number, created and folder are filled in; the row is on disk when it returns. */
NwStatus nw_history_create_run(NwHistory *history, NwRunInfo *info, NwError *error);
/* Before a run is trained on: it belongs to this process from now on. NW_BAD_STATE while a living process
 * trains it; of two that ask at once, one is refused. On disk when it returns. */
NwStatus nw_history_claim_run(NwHistory *history, const char *run, NwError *error);
void nw_history_add_metric(NwHistory *history, const char *run, const char *metric, NwMetricPoint point);
void nw_history_add_event(NwHistory *history, const char *run, const char *kind, const char *text);
void nw_history_add_checkpoint(NwHistory *history, const char *run, const char *kind, const char *path,
                               gint64 epoch, gint64 step);
void nw_history_update_run(NwHistory *history,
                           const NwRunInfo *info); /* state, counters, best values, message, seconds */
/* Drops metric points after `step`: a run resumed from its checkpoint writes them again. */
void nw_history_rewind(NwHistory *history, const char *run, gint64 step);
NwStatus nw_history_rename(NwHistory *history, const char *run, const char *name, NwError *error);
NwStatus nw_history_tag(NwHistory *history, const char *run, const char *tags, NwError *error);
NwStatus nw_history_trash(NwHistory *history, const char *run, gboolean trashed, NwError *error);

/* Reading. Arrays are the caller's. A run whose process is gone reads as interrupted, also when that happened
 * after the opening. */
NwStatus nw_history_list(NwHistory *history, gboolean with_trash, GPtrArray **out,
                         NwError *error); /* NwRunInfo, newest first */
/* By id, name, number, unique beginning of an id (looked for in this order), or "latest". NW_NOT_FOUND, or
 * NW_BAD_ARGUMENT when several match (they are named). */
NwStatus nw_history_find(NwHistory *history, const char *word, NwRunInfo **out, NwError *error);
NwStatus nw_history_metrics(NwHistory *history, const char *run, const char *metric, GArray **out,
                            NwError *error);
NwStatus nw_history_metric_names(NwHistory *history, const char *run, GPtrArray **out, NwError *error);
typedef struct NwRunEvent {
  gint64 time;
  char *kind, *text;
} NwRunEvent;
NwStatus nw_history_events(NwHistory *history, const char *run, GPtrArray **out, NwError *error);
typedef struct NwRunCheckpoint {
  char *kind, *path;
  gint64 epoch, step, time;
} NwRunCheckpoint;
NwStatus nw_history_checkpoints(NwHistory *history, const char *run, GPtrArray **out, NwError *error);
