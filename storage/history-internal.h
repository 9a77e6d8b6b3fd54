/* What the files of the history share. Private to storage/. */
#pragma once

#include "storage/database.h"
#include "storage/history.h"

struct NwHistory {
  char *folder, *path;
  sqlite3 *writing;       /* used by the writer thread alone */
  GHashTable *statements; /* of the same: SQL text → prepared statement */
  GMutex reading_lock;
  sqlite3 *reading; /* used under the lock */
  GThread *writer;
  GAsyncQueue *queue; /* NwWrite */
  GPtrArray *kept;    /* NwWrite, of the writer thread: what could not be written yet, oldest first */
  GMutex lock;        /* of what follows */
  GCond done;
  guint64 asked, answered; /* writes that were queued, and are on disk */
  NwError failure;         /* the first since the last flush */
};

/* One thing to be written. It runs on the writer's connection, inside a transaction with its neighbours. */
typedef struct NwWrite NwWrite;
struct NwWrite {
  NwStatus (*run)(NwHistory *history, NwWrite *write, NwError *error);
  char *texts[6];
  gint64 ints[4];
  double reals[2];
  NwRunInfo *info;
  gpointer result; /* of a write somebody waits for */
  NwError *error;  /* of the same */
  gboolean *finished;
  gboolean last; /* the writer ends */
};

void nw_history_queue(NwHistory *history, NwWrite *write); /* takes write */
/* Queues and waits until it is on disk. */
NwStatus nw_history_write_now(NwHistory *history, NwWrite *write, NwError *error);
void nw_history_writer_start(NwHistory *history);
void nw_history_writer_stop(NwHistory *history);

/* On the writer thread: nw_database_run with the statement kept for the next time. sql is a constant. */
NwStatus nw_history_run_sql(NwHistory *history, NwError *error, const char *sql, const char *types, ...);

NwRunInfo *nw_run_info_read(sqlite3_stmt *statement); /* columns of NW_RUN_COLUMNS */
#define NW_RUN_COLUMNS                                                                                       \
  "id, number, name, tags, project, network_name, state, message, created, ended, seconds, epochs_done, "    \
  "epochs_wanted, best_epoch, best_val_accuracy, best_val_loss, train_loss, train_accuracy, parameters, "    \
  "dataset_digest, dataset_root, config, environment, folder, trashed, owner"
NwRunState nw_run_state_find(const char *key);
