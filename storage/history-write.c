/* What is written to the history. */
#include <stdlib.h>
#include <glib/gi18n.h>
#include <string.h>
#include <time.h>

#include "engine/base/file.h"
#include "storage/history-internal.h"
#include "storage/owner.h"

/* Twelve hex digits from the system's random numbers: unique for every history that could be merged one day.
 */
static char *new_id(void)
{
  g_autofree char *uuid = g_uuid_string_random();
  char *id = g_malloc(13);
  guint n = 0;
  for (const char *p = uuid; n < 12; p++)
    if (*p != '-' && (p < uuid + 14 || p > uuid + 19)) /* not the version and variant digits */
      id[n++] = *p;
  id[12] = '\0';
  return id;
}

/* The texts of statements are constants, so there are few of them. */
NwStatus nw_history_run_sql(NwHistory *history, NwError *error, const char *sql, const char *types, ...)
{
  sqlite3_stmt *statement = g_hash_table_lookup(history->statements, sql);
  if (statement == NULL) {
    statement = nw_database_prepare(history->writing, sql, error);
    if (statement == NULL)
      return error != NULL ? error->status : NW_IO;
    g_hash_table_insert(history->statements, g_strdup(sql), statement);
  }
  va_list args;
  va_start(args, types);
  nw_database_bind_list(statement, types, args);
  va_end(args);
  NwStatus status = nw_database_finish(history->writing, statement, error);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return status;
}

static NwStatus run_create(NwHistory *history, NwWrite *write, NwError *error)
{
  NwRunInfo *info = write->result;
  g_autofree char *owner = nw_owner_self();
  gboolean alive = info->state == NW_RUN_RUNNING || info->state == NW_RUN_PAUSED;
  NW_TRY(nw_history_run_sql(
      history, error,
      "INSERT INTO runs (id, name, tags, project, network_name, state, message, created, "
      "epochs_wanted, best_val_accuracy,"
      " best_val_loss, train_loss, train_accuracy, parameters, dataset_digest, "
      "dataset_root, config, environment, folder,"
      " owner) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      "tttttttii"
      "dddd"
      "i"
      "tttttt",
      info->id, info->name, info->tags, info->project, info->network_name, nw_run_state_key(info->state),
      info->message, info->created, info->epochs_wanted, info->best_val_accuracy, info->best_val_loss,
      info->train_loss, info->train_accuracy, info->parameters, info->dataset_digest, info->dataset_root,
      info->config, info->environment, info->folder, alive ? owner : NULL));
  info->number = sqlite3_last_insert_rowid(history->writing);
  return NW_OK;
}

NwStatus nw_history_create_run(NwHistory *history, NwRunInfo *info, NwError *error)
{
  g_free(info->id);
  g_free(info->folder);
  info->id = new_id();
  info->created = time(NULL);
  info->folder = g_build_filename(history->folder, "runs", info->id, NULL);
  NW_TRY(nw_make_folders(info->folder, error));
  NwWrite *write = g_new0(NwWrite, 1);
  write->run = run_create;
  write->result = info;
  return nw_history_write_now(history, write, error);
}

#define RUN_NUMBER "(SELECT number FROM runs WHERE id = ?)"

static NwStatus run_metric(NwHistory *history, NwWrite *write, NwError *error)
{
  NW_TRY(nw_history_run_sql(history, error, "INSERT OR IGNORE INTO metric_names (name) VALUES (?)", "t",
                            write->texts[1]));
  return nw_history_run_sql(
      history, error,
      "INSERT OR REPLACE INTO metrics (run, metric, step, epoch, value) VALUES (" RUN_NUMBER
      ", (SELECT id FROM metric_names WHERE name = ?), ?, ?, ?)",
      "ttidd", write->texts[0], write->texts[1], write->ints[0], write->reals[0], write->reals[1]);
}

void nw_history_add_metric(NwHistory *history, const char *run, const char *metric, NwMetricPoint point)
{
  NwWrite *write = g_new0(NwWrite, 1);
  write->run = run_metric;
  write->texts[0] = g_strdup(run);
  write->texts[1] = g_strdup(metric);
  write->ints[0] = point.step;
  write->reals[0] = point.epoch;
  write->reals[1] = point.value;
  nw_history_queue(history, write);
}

static NwStatus run_event(NwHistory *history, NwWrite *write, NwError *error)
{
  return nw_history_run_sql(history, error,
                            "INSERT INTO events (run, time, kind, text) VALUES (" RUN_NUMBER ", ?, ?, ?)",
                            "titt", write->texts[0], write->ints[0], write->texts[1], write->texts[2]);
}

void nw_history_add_event(NwHistory *history, const char *run, const char *kind, const char *text)
{
  NwWrite *write = g_new0(NwWrite, 1);
  write->run = run_event;
  write->texts[0] = g_strdup(run);
  write->texts[1] = g_strdup(kind);
  write->texts[2] = g_strdup(text);
  write->ints[0] = time(NULL);
  nw_history_queue(history, write);
}

static NwStatus run_checkpoint(NwHistory *history, NwWrite *write, NwError *error)
{
  return nw_history_run_sql(
      history, error,
      "INSERT OR REPLACE INTO checkpoints (run, kind, path, epoch, step, time) VALUES (" RUN_NUMBER
      ", ?, ?, ?, ?, ?)",
      "tttiii", write->texts[0], write->texts[1], write->texts[2], write->ints[0], write->ints[1],
      write->ints[2]);
}

void nw_history_add_checkpoint(NwHistory *history, const char *run, const char *kind, const char *path,
                               gint64 epoch, gint64 step)
{
  NwWrite *write = g_new0(NwWrite, 1);
  write->run = run_checkpoint;
  write->texts[0] = g_strdup(run);
  write->texts[1] = g_strdup(kind);
  write->texts[2] = g_strdup(path);
  write->ints[0] = epoch;
  write->ints[1] = step;
  write->ints[2] = time(NULL);
  nw_history_queue(history, write);
}

static NwStatus run_update(NwHistory *history, NwWrite *write, NwError *error)
{
  const NwRunInfo *info = write->info;
  g_autofree char *owner = nw_owner_self();
  gboolean alive = info->state == NW_RUN_RUNNING || info->state == NW_RUN_PAUSED;
  return nw_history_run_sql(
      history, error,
      "UPDATE runs SET state = ?, message = ?, ended = ?, seconds = ?, epochs_done = ?,"
      " epochs_wanted = ?, best_epoch = ?, best_val_accuracy = ?, best_val_loss = ?, train_loss = ?,"
      " train_accuracy = ?, owner = ? WHERE id = ?",
      "ttidiiiddddtt", nw_run_state_key(info->state), info->message, info->ended, info->seconds,
      info->epochs_done, info->epochs_wanted, info->best_epoch, info->best_val_accuracy, info->best_val_loss,
      info->train_loss, info->train_accuracy, alive ? owner : NULL, info->id);
}

void nw_history_update_run(NwHistory *history, const NwRunInfo *info)
{
  NwWrite *write = g_new0(NwWrite, 1);
  write->run = run_update;
  NwRunInfo *copy = write->info = g_new0(NwRunInfo, 1);
  /* Only the fields that run_update reads. */
  *copy = *info;
  copy->id = g_strdup(info->id);
  copy->message = g_strdup(info->message);
  copy->name = copy->tags = copy->project = copy->network_name = copy->dataset_digest = copy->dataset_root =
      NULL;
  copy->config = copy->environment = copy->folder = NULL;
  nw_history_queue(history, write);
}

static NwStatus run_rewind(NwHistory *history, NwWrite *write, NwError *error)
{
  return nw_history_run_sql(history, error, "DELETE FROM metrics WHERE run = " RUN_NUMBER " AND step > ?",
                            "ti", write->texts[0], write->ints[0]);
}

void nw_history_rewind(NwHistory *history, const char *run, gint64 step)
{
  NwWrite *write = g_new0(NwWrite, 1);
  write->run = run_rewind;
  write->texts[0] = g_strdup(run);
  write->ints[0] = step;
  nw_history_queue(history, write);
}

/* ---- small edits, waited for ---- */

static NwStatus run_claim(NwHistory *history, NwWrite *write, NwError *error)
{
  sqlite3_stmt *row =
      nw_database_prepare(history->writing, "SELECT state, owner FROM runs WHERE id = ?", error);
  if (row == NULL)
    return error->status;
  nw_database_bind(row, "t", write->texts[0]);
  int code = sqlite3_step(row);
  g_autofree char *state = code == SQLITE_ROW ? nw_database_text(row, 0) : NULL;
  g_autofree char *owner = code == SQLITE_ROW ? nw_database_text(row, 1) : NULL;
  sqlite3_finalize(row);
  if (code == SQLITE_DONE)
    return nw_fail(error, NW_NOT_FOUND, _("There is no run %s"), write->texts[0]);
  if (code != SQLITE_ROW)
    return nw_database_fail(history->writing, error);
  NwRunState now = nw_run_state_find(state);
  if ((now == NW_RUN_RUNNING || now == NW_RUN_PAUSED) && nw_owner_alive(owner))
    return nw_fail(error, NW_BAD_STATE, _("Run %s is being trained at this moment (process %d)"),
                   write->texts[0], atoi(owner));
  g_autofree char *self = nw_owner_self();
  return nw_history_run_sql(history, error, "UPDATE runs SET state = 'running', owner = ? WHERE id = ?", "tt",
                            self, write->texts[0]);
}

NwStatus nw_history_claim_run(NwHistory *history, const char *run, NwError *error)
{
  NwWrite *write = g_new0(NwWrite, 1);
  write->run = run_claim;
  write->texts[0] = g_strdup(run);
  return nw_history_write_now(history, write, error);
}

static NwStatus changed_one(NwHistory *history, const char *run, NwError *error)
{
  if (sqlite3_changes(history->writing) == 1)
    return NW_OK;
  return nw_fail(error, NW_NOT_FOUND, _("There is no run %s"), run);
}

static NwStatus run_set(NwHistory *history, NwWrite *write, NwError *error)
{
  NW_TRY(nw_history_run_sql(history, error, write->texts[2], "tt", write->texts[1], write->texts[0]));
  return changed_one(history, write->texts[0], error);
}

static NwStatus set_now(NwHistory *history, const char *run, const char *value, const char *sql,
                        NwError *error)
{
  NwWrite *write = g_new0(NwWrite, 1);
  write->run = run_set;
  write->texts[0] = g_strdup(run);
  write->texts[1] = g_strdup(value);
  write->texts[2] = g_strdup(sql);
  return nw_history_write_now(history, write, error);
}

NwStatus nw_history_rename(NwHistory *history, const char *run, const char *name, NwError *error)
{
  return set_now(history, run, name, "UPDATE runs SET name = ? WHERE id = ?", error);
}

NwStatus nw_history_tag(NwHistory *history, const char *run, const char *tags, NwError *error)
{
  return set_now(history, run, tags, "UPDATE runs SET tags = ? WHERE id = ?", error);
}

NwStatus nw_history_trash(NwHistory *history, const char *run, gboolean trashed, NwError *error)
{
  return set_now(history, run, trashed ? "1" : "0",
                 "UPDATE runs SET trashed = CAST(? AS INTEGER) WHERE id = ?", error);
}
