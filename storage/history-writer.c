/* The writer: one thread, one connection, writes gathered into transactions so that a metric a step costs no
 * sync a step. */
#include "storage/history-internal.h"
#include <glib/gi18n.h>

enum { GATHER_MICROSECONDS = 100 * 1000, GATHER_MAX = 512 };

static void write_free(NwWrite *write)
{
  for (guint i = 0; i < G_N_ELEMENTS(write->texts); i++)
    g_free(write->texts[i]);
  nw_run_info_free(write->info);
  g_free(write);
}

static void remember_failure(NwHistory *history, const NwError *error)
{
  g_mutex_lock(&history->lock);
  if (history->failure.status == NW_OK)
    history->failure = *error;
  g_mutex_unlock(&history->lock);
}

static void answer(NwHistory *history, GPtrArray *batch)
{
  g_mutex_lock(&history->lock);
  history->answered += batch->len;
  for (guint i = 0; i < batch->len; i++) {
    NwWrite *write = g_ptr_array_index(batch, i);
    if (write->finished != NULL)
      *write->finished = TRUE;
  }
  g_cond_broadcast(&history->done);
  g_mutex_unlock(&history->lock);
}

/* A statement that fails undoes itself and takes no neighbour with it, unless SQLite gave the whole
 * transaction up (a full disk): then nothing of the batch is on disk. */
static NwStatus run_one(NwHistory *history, NwWrite *write)
{
  NwError error = {0};
  if (write->run == NULL || write->run(history, write, &error) == NW_OK)
    return NW_OK;
  if (write->error != NULL)
    *write->error = error;
  else
    remember_failure(history, &error);
  return sqlite3_get_autocommit(history->writing) ? error.status : NW_OK;
}

static void run_batch(NwHistory *history, GPtrArray *batch)
{
  NwError error = {0};
  NwStatus status = nw_database_exec(history->writing, "BEGIN IMMEDIATE", &error);
  for (guint i = 0; i < batch->len && status == NW_OK; i++) {
    status = run_one(history, g_ptr_array_index(batch, i));
    if (status != NW_OK)
      nw_fail(&error, status, _("Cannot write the history %s"), history->path);
  }
  if (status == NW_OK)
    status = nw_database_exec(history->writing, "COMMIT", &error);
  if (status != NW_OK) {
    sqlite3_exec(history->writing, "ROLLBACK", NULL, NULL, NULL);
    remember_failure(history, &error);
    for (guint i = 0; i < batch->len; i++) {
      NwWrite *write = g_ptr_array_index(batch, i);
      if (write->error != NULL && write->error->status == NW_OK)
        *write->error = error;
    }
  }
}

static gboolean urgent(const NwWrite *write)
{
  return write->finished != NULL || write->last;
}

static gpointer writer_main(gpointer data)
{
  NwHistory *history = data;
  gboolean last = FALSE;
  while (!last) {
    g_autoptr(GPtrArray) batch = g_ptr_array_new_with_free_func((GDestroyNotify)write_free);
    NwWrite *write = g_async_queue_pop(history->queue);
    gint64 until = g_get_monotonic_time() + GATHER_MICROSECONDS;
    for (;;) {
      g_ptr_array_add(batch, write);
      last = last || write->last;
      if (urgent(write) || batch->len >= GATHER_MAX)
        break;
      gint64 left = until - g_get_monotonic_time();
      if (left <= 0 || (write = g_async_queue_timeout_pop(history->queue, (guint64)left)) == NULL)
        break;
    }
    run_batch(history, batch);
    answer(history, batch);
  }
  return NULL;
}

void nw_history_queue(NwHistory *history, NwWrite *write)
{
  g_mutex_lock(&history->lock);
  history->asked++;
  g_mutex_unlock(&history->lock);
  g_async_queue_push(history->queue, write);
}

NwStatus nw_history_write_now(NwHistory *history, NwWrite *write, NwError *error)
{
  gboolean finished = FALSE;
  NwError own = {0};
  write->finished = &finished;
  write->error = &own;
  nw_history_queue(history, write);
  g_mutex_lock(&history->lock);
  while (!finished)
    g_cond_wait(&history->done, &history->lock);
  g_mutex_unlock(&history->lock);
  if (own.status != NW_OK && error != NULL)
    *error = own;
  return own.status;
}

NwStatus nw_history_flush(NwHistory *history, NwError *error)
{
  NwStatus status = nw_history_write_now(history, g_new0(NwWrite, 1), error);
  g_mutex_lock(&history->lock);
  if (status == NW_OK && history->failure.status != NW_OK) {
    status = history->failure.status;
    if (error != NULL)
      *error = history->failure;
  }
  history->failure = (NwError){0};
  g_mutex_unlock(&history->lock);
  return status;
}

void nw_history_writer_start(NwHistory *history)
{
  history->queue = g_async_queue_new();
  history->writer = g_thread_new("history", writer_main, history);
}

void nw_history_writer_stop(NwHistory *history)
{
  NwWrite *write = g_new0(NwWrite, 1);
  write->last = TRUE;
  nw_history_queue(history, write);
  g_thread_join(history->writer);
  g_async_queue_unref(history->queue);
}
