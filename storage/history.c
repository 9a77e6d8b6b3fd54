/* Opening, closing, and the rows of runs. */
#include "storage/history.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "engine/base/file.h"
#include "storage/history-internal.h"
#include "storage/owner.h"

static const char *const state_keys[] = {"running", "paused", "finished", "stopped", "interrupted", "failed"};

const char *nw_run_state_key(NwRunState state)
{
  return state_keys[state];
}

NwRunState nw_run_state_find(const char *key)
{
  for (guint i = 0; i < G_N_ELEMENTS(state_keys); i++)
    if (g_strcmp0(state_keys[i], key) == 0)
      return (NwRunState)i;
  return NW_RUN_FAILED;
}

void nw_run_info_free(NwRunInfo *info)
{
  if (info == NULL)
    return;
  char *texts[] = {info->id,           info->name,        info->tags,           info->project,
                   info->network_name, info->message,     info->dataset_digest, info->dataset_root,
                   info->config,       info->environment, info->folder};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    g_free(texts[i]);
  g_free(info);
}

NwRunInfo *nw_run_info_read(sqlite3_stmt *row)
{
  NwRunInfo *info = g_new0(NwRunInfo, 1);
  int c = 0;
  info->id = nw_database_text(row, c++);
  info->number = sqlite3_column_int64(row, c++);
  info->name = nw_database_text(row, c++);
  info->tags = nw_database_text(row, c++);
  info->project = nw_database_text(row, c++);
  info->network_name = nw_database_text(row, c++);
  info->state = nw_run_state_find((const char *)sqlite3_column_text(row, c++));
  info->message = nw_database_text(row, c++);
  info->created = sqlite3_column_int64(row, c++);
  info->ended = sqlite3_column_int64(row, c++);
  info->seconds = sqlite3_column_double(row, c++);
  info->epochs_done = sqlite3_column_int64(row, c++);
  info->epochs_wanted = sqlite3_column_int64(row, c++);
  info->best_epoch = sqlite3_column_int64(row, c++);
  info->best_val_accuracy = nw_database_double(row, c++);
  info->best_val_loss = nw_database_double(row, c++);
  info->train_loss = nw_database_double(row, c++);
  info->train_accuracy = nw_database_double(row, c++);
  info->parameters = sqlite3_column_int64(row, c++);
  info->dataset_digest = nw_database_text(row, c++);
  info->dataset_root = nw_database_text(row, c++);
  info->config = nw_database_text(row, c++);
  info->environment = nw_database_text(row, c++);
  info->folder = nw_database_text(row, c++);
  info->trashed = sqlite3_column_int(row, c++) != 0;
  if ((info->state == NW_RUN_RUNNING || info->state == NW_RUN_PAUSED) &&
      !nw_owner_alive((const char *)sqlite3_column_text(row, c++)))
    info->state = NW_RUN_INTERRUPTED;
  return info;
}

/* A run that is said to go on but whose process is gone was interrupted. Its checkpoint stands; it can be
 * resumed. */
static NwStatus mark_interrupted(NwHistory *history, NwError *error)
{
  g_autoptr(GPtrArray) dead = g_ptr_array_new_with_free_func(g_free);
  sqlite3_stmt *rows = nw_database_prepare(
      history->writing, "SELECT id, owner FROM runs WHERE state IN ('running', 'paused')", error);
  if (rows == NULL)
    return NW_IO;
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW)
    if (!nw_owner_alive((const char *)sqlite3_column_text(rows, 1)))
      g_ptr_array_add(dead, nw_database_text(rows, 0));
  sqlite3_finalize(rows);
  if (code != SQLITE_DONE)
    return nw_database_fail(history->writing, error);
  for (guint i = 0; i < dead->len; i++) {
    const char *id = g_ptr_array_index(dead, i);
    NW_TRY(nw_database_run(history->writing, error,
                           "UPDATE runs SET state = 'interrupted', owner = NULL, ended = ? WHERE id = ?",
                           "it", (gint64)time(NULL), id));
    NW_TRY(nw_database_run(history->writing, error,
                           "INSERT INTO events (run, time, kind, text) SELECT number, ?, 'interrupted',"
                           " 'the process that trained it ended' FROM runs WHERE id = ?",
                           "it", (gint64)time(NULL), id));
  }
  return NW_OK;
}

static char *default_folder(void)
{
  const char *wish = g_getenv("NETWRIGHT_HISTORY");
  return wish != NULL && *wish != '\0' ? g_strdup(wish)
                                       : g_build_filename(g_get_user_data_dir(), "netwright", NULL);
}

static void history_free(NwHistory *history)
{
  g_hash_table_unref(history->statements);
  sqlite3_close(history->writing);
  sqlite3_close(history->reading);
  g_mutex_clear(&history->reading_lock);
  g_mutex_clear(&history->lock);
  g_cond_clear(&history->done);
  g_free(history->folder);
  g_free(history->path);
  g_free(history);
}

static void finalize(gpointer statement)
{
  sqlite3_finalize(statement);
}

static NwStatus open_all(NwHistory *history, NwError *error)
{
  NW_TRY(nw_make_folders(history->folder, error));
  NW_TRY(nw_database_open(history->path, TRUE, &history->writing, error));
  NW_TRY(nw_database_migrate(history->writing, history->path, error));
  NW_TRY(mark_interrupted(history, error));
  return nw_database_open(history->path, FALSE, &history->reading, error);
}

NwStatus nw_history_open(const char *folder, NwHistory **out, NwError *error)
{
  NwHistory *history = g_new0(NwHistory, 1);
  *out = NULL;
  history->statements = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, finalize);
  g_mutex_init(&history->reading_lock);
  g_mutex_init(&history->lock);
  g_cond_init(&history->done);
  history->folder = folder != NULL ? g_strdup(folder) : default_folder();
  if (!g_path_is_absolute(history->folder)) {
    char *whole = g_canonicalize_filename(history->folder, NULL);
    g_free(history->folder);
    history->folder = whole;
  }
  history->path = g_build_filename(history->folder, "history.db", NULL);
  NwStatus status = open_all(history, error);
  if (status != NW_OK) {
    history_free(history);
    return status;
  }
  nw_history_writer_start(history);
  *out = history;
  return NW_OK;
}

void nw_history_close(NwHistory *history)
{
  if (history == NULL)
    return;
  nw_history_writer_stop(history);
  history_free(history);
}

const char *nw_history_folder(const NwHistory *history)
{
  return history->folder;
}
