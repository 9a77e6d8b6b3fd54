/* What is read from the history: on the caller's thread, through the reading connection. What this process
 * has queued is written first, so that a reader sees its own writes. */
#include <string.h>
#include <glib/gi18n.h>

#include "storage/history-internal.h"

/* Walks the rows of a query under the lock. */
typedef void (*RowFunc)(sqlite3_stmt *row, gpointer data);

static NwStatus each_row(NwHistory *history, sqlite3_stmt *statement, RowFunc func, gpointer data,
                         NwError *error)
{
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW)
    func(statement, data);
  NwStatus status = code == SQLITE_DONE ? NW_OK : nw_database_fail(history->reading, error);
  sqlite3_finalize(statement);
  return status;
}

static NwStatus query(NwHistory *history, const char *sql, const char *text, const char *second, RowFunc func,
                      gpointer data, NwError *error)
{
  g_mutex_lock(&history->reading_lock);
  sqlite3_stmt *statement = nw_database_prepare(history->reading, sql, error);
  NwStatus status = NW_IO;
  if (statement != NULL) {
    if (text != NULL)
      sqlite3_bind_text(statement, 1, text, -1, SQLITE_TRANSIENT);
    if (second != NULL)
      sqlite3_bind_text(statement, 2, second, -1, SQLITE_TRANSIENT);
    status = each_row(history, statement, func, data, error);
  }
  g_mutex_unlock(&history->reading_lock);
  return status;
}

/* Waits for what was queued, without taking the writer's failures away from nw_history_flush. */
static void settle(NwHistory *history)
{
  nw_history_write_now(history, g_new0(NwWrite, 1), NULL);
}

static void add_run(sqlite3_stmt *row, gpointer runs)
{
  g_ptr_array_add(runs, nw_run_info_read(row));
}

NwStatus nw_history_list(NwHistory *history, gboolean with_trash, GPtrArray **out, NwError *error)
{
  settle(history);
  *out = g_ptr_array_new_with_free_func((GDestroyNotify)nw_run_info_free);
  NwStatus status =
      query(history,
            with_trash ? "SELECT " NW_RUN_COLUMNS " FROM runs ORDER BY number DESC"
                       : "SELECT " NW_RUN_COLUMNS " FROM runs WHERE trashed = 0 ORDER BY number DESC",
            NULL, NULL, add_run, *out, error);
  if (status != NW_OK)
    g_clear_pointer(out, g_ptr_array_unref);
  return status;
}

static NwStatus several(const char *word, GPtrArray *runs, NwError *error)
{
  GString *names = g_string_new(NULL);
  for (guint i = 0; i < runs->len && i < 5; i++) {
    const NwRunInfo *info = g_ptr_array_index(runs, i);
    g_string_append_printf(names, "%s%s%s%s", i > 0 ? ", " : "", info->id, info->name != NULL ? " " : "",
                           info->name != NULL ? info->name : "");
  }
  nw_fail(error, NW_BAD_ARGUMENT, _("\"%s\" could be %u runs: %s%s. Give more of the id"), word, runs->len,
          names->str, runs->len > 5 ? ", …" : "");
  g_string_free(names, TRUE);
  return NW_BAD_ARGUMENT;
}

static const char *const searches[] = {
    "SELECT " NW_RUN_COLUMNS " FROM runs WHERE id = ?1",
    "SELECT " NW_RUN_COLUMNS " FROM runs WHERE name = ?1 AND trashed = 0 ORDER BY number DESC",
    "SELECT " NW_RUN_COLUMNS " FROM runs WHERE CAST(number AS TEXT) = ?1",
    "SELECT " NW_RUN_COLUMNS " FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number DESC",
};

NwStatus nw_history_find(NwHistory *history, const char *word, NwRunInfo **out, NwError *error)
{
  *out = NULL;
  settle(history);
  gboolean latest = g_str_equal(word, "latest");
  for (guint i = 0; i < (latest ? 1 : G_N_ELEMENTS(searches)) && *word != '\0'; i++) {
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)nw_run_info_free);
    NW_TRY(query(history,
                 latest ? "SELECT " NW_RUN_COLUMNS " FROM runs WHERE trashed = 0 ORDER BY number DESC LIMIT 1"
                        : searches[i],
                 latest ? NULL : word, NULL, add_run, runs, error));
    if (runs->len > 1)
      return several(word, runs, error);
    if (runs->len == 1) {
      *out = g_ptr_array_steal_index(runs, 0);
      return NW_OK;
    }
  }
  if (latest)
    return nw_fail(error, NW_NOT_FOUND, _("There is no run yet in %s"), history->folder);
  return nw_fail(error, NW_NOT_FOUND, _("There is no run \"%s\" in %s; `netwright runs list` shows them all"),
                 word, history->folder);
}

static void add_point(sqlite3_stmt *row, gpointer points)
{
  NwMetricPoint point = {.step = sqlite3_column_int64(row, 0),
                         .epoch = sqlite3_column_double(row, 1),
                         .value = nw_database_double(row, 2)};
  g_array_append_val(points, point);
}

NwStatus nw_history_metrics(NwHistory *history, const char *run, const char *metric, GArray **out,
                            NwError *error)
{
  settle(history);
  *out = g_array_new(FALSE, FALSE, sizeof(NwMetricPoint));
  NwStatus status =
      query(history,
            "SELECT step, epoch, value FROM metrics WHERE run = (SELECT number FROM runs WHERE id = ?)"
            " AND metric = (SELECT id FROM metric_names WHERE name = ?) ORDER BY step",
            run, metric, add_point, *out, error);
  if (status != NW_OK)
    g_clear_pointer(out, g_array_unref);
  return status;
}

static void add_text(sqlite3_stmt *row, gpointer texts)
{
  g_ptr_array_add(texts, nw_database_text(row, 0));
}

NwStatus nw_history_metric_names(NwHistory *history, const char *run, GPtrArray **out, NwError *error)
{
  settle(history);
  *out = g_ptr_array_new_with_free_func(g_free);
  NwStatus status =
      query(history,
            "SELECT name FROM metric_names WHERE id IN (SELECT DISTINCT metric FROM metrics WHERE run ="
            " (SELECT number FROM runs WHERE id = ?)) ORDER BY name",
            run, NULL, add_text, *out, error);
  if (status != NW_OK)
    g_clear_pointer(out, g_ptr_array_unref);
  return status;
}

static void event_free(gpointer data)
{
  NwRunEvent *event = data;
  g_free(event->kind);
  g_free(event->text);
  g_free(event);
}

static void add_event(sqlite3_stmt *row, gpointer events)
{
  NwRunEvent *event = g_new0(NwRunEvent, 1);
  event->time = sqlite3_column_int64(row, 0);
  event->kind = nw_database_text(row, 1);
  event->text = nw_database_text(row, 2);
  g_ptr_array_add(events, event);
}

NwStatus nw_history_events(NwHistory *history, const char *run, GPtrArray **out, NwError *error)
{
  settle(history);
  *out = g_ptr_array_new_with_free_func(event_free);
  NwStatus status =
      query(history,
            "SELECT time, kind, text FROM events WHERE run = (SELECT number FROM runs WHERE id = ?)"
            " ORDER BY time, rowid",
            run, NULL, add_event, *out, error);
  if (status != NW_OK)
    g_clear_pointer(out, g_ptr_array_unref);
  return status;
}

static void checkpoint_free(gpointer data)
{
  NwRunCheckpoint *checkpoint = data;
  g_free(checkpoint->kind);
  g_free(checkpoint->path);
  g_free(checkpoint);
}

static void add_checkpoint(sqlite3_stmt *row, gpointer checkpoints)
{
  NwRunCheckpoint *checkpoint = g_new0(NwRunCheckpoint, 1);
  checkpoint->kind = nw_database_text(row, 0);
  checkpoint->path = nw_database_text(row, 1);
  checkpoint->epoch = sqlite3_column_int64(row, 2);
  checkpoint->step = sqlite3_column_int64(row, 3);
  checkpoint->time = sqlite3_column_int64(row, 4);
  g_ptr_array_add(checkpoints, checkpoint);
}

NwStatus nw_history_checkpoints(NwHistory *history, const char *run, GPtrArray **out, NwError *error)
{
  settle(history);
  *out = g_ptr_array_new_with_free_func(checkpoint_free);
  NwStatus status = query(history,
                          "SELECT kind, path, epoch, step, time FROM checkpoints WHERE run ="
                          " (SELECT number FROM runs WHERE id = ?) ORDER BY kind",
                          run, NULL, add_checkpoint, *out, error);
  if (status != NW_OK)
    g_clear_pointer(out, g_ptr_array_unref);
  return status;
}
