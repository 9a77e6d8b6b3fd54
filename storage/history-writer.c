/* The writer: one thread, one connection, writes gathered into transactions so that a metric a step costs no
 * sync a step. */
#include "storage/history-internal.h"

enum { GATHER_MICROSECONDS = 100 * 1000, GATHER_MAX = 512, KEPT_MAX = 200 * 1000 };

/* NULL is allowed: a write that was moved elsewhere. */
static void write_free(gpointer data)
{
  NwWrite *write = data;
  if (write == NULL)
    return;
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

static gboolean urgent(const NwWrite *write)
{
  return write->finished != NULL || write->last;
}

static void answer(NwHistory *history, guint n, GPtrArray *writes)
{
  g_mutex_lock(&history->lock);
  history->answered += n;
  for (guint i = 0; i < writes->len; i++) {
    NwWrite *write = g_ptr_array_index(writes, i);
    if (write != NULL && write->finished != NULL)
      *write->finished = TRUE;
  }
  g_cond_broadcast(&history->done);
  g_mutex_unlock(&history->lock);
}

static gboolean may_pass(NwStatus status)
{
  return status == NW_NO_SPACE || status == NW_IO || status == NW_NO_MEMORY;
}

/* A statement that fails undoes itself and takes no neighbour with it, unless the disk is at fault or SQLite
 * gave the whole transaction up: then nothing of the batch is on disk. */
static NwStatus run_one(NwHistory *history, NwWrite *write, NwError *error)
{
  NwError own = {0};
  if (write->run == NULL || write->run(history, write, &own) == NW_OK)
    return NW_OK;
  if (may_pass(own.status) || sqlite3_get_autocommit(history->writing)) {
    *error = own;
    return own.status;
  }
  if (write->error != NULL)
    *write->error = own;
  else
    remember_failure(history, &own);
  return NW_OK;
}

/* One transaction. When it fails nothing of it is on disk. */
static NwStatus run_batch(NwHistory *history, GPtrArray *batch, NwError *error)
{
  NwStatus status = nw_database_exec(history->writing, "BEGIN IMMEDIATE", error);
  for (guint i = 0; i < batch->len && status == NW_OK; i++)
    status = run_one(history, g_ptr_array_index(batch, i), error);
  if (status == NW_OK)
    status = nw_database_exec(history->writing, "COMMIT", error);
  if (status != NW_OK)
    sqlite3_exec(history->writing, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

/* What could not be written waits in memory and is tried again with the next writes, in order: a disk that
 * was full for a while leaves no gap in a curve. Who waits for a write is told that it failed, and that write
 * is not repeated behind their back. */
static void keep_for_later(NwHistory *history, GPtrArray *writes, const NwError *error)
{
  remember_failure(history, error);
  GPtrArray *kept = history->kept;
  for (guint i = 0; i < writes->len; i++) {
    NwWrite *write = g_ptr_array_index(writes, i);
    if (write->error != NULL && write->error->status == NW_OK)
      *write->error = *error;
    if (urgent(write))
      continue;
    g_ptr_array_add(kept, write);
    writes->pdata[i] = NULL;
  }
  /* Memory has an end too: then the oldest go. */
  if (kept->len > KEPT_MAX)
    g_ptr_array_remove_range(kept, 0, kept->len - KEPT_MAX);
}

/* The writes kept from before, in pieces, oldest first. */
static NwStatus run_kept(NwHistory *history, NwError *error)
{
  while (history->kept->len > 0) {
    g_autoptr(GPtrArray) piece = g_ptr_array_new();
    guint n = MIN(history->kept->len, GATHER_MAX);
    for (guint i = 0; i < n; i++)
      g_ptr_array_add(piece, g_ptr_array_index(history->kept, i));
    NW_TRY(run_batch(history, piece, error));
    g_ptr_array_remove_range(history->kept, 0, n);
  }
  return NW_OK;
}

static void run_all(NwHistory *history, GPtrArray *batch)
{
  NwError error = {0};
  guint n = batch->len;
  NwStatus status = run_kept(history, &error);
  if (status == NW_OK)
    status = run_batch(history, batch, &error);
  if (status != NW_OK)
    keep_for_later(history, batch, &error);
  answer(history, n, batch);
}

static gpointer writer_main(gpointer data)
{
  NwHistory *history = data;
  gboolean last = FALSE;
  while (!last) {
    g_autoptr(GPtrArray) batch = g_ptr_array_new_with_free_func(write_free);
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
    run_all(history, batch);
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
  history->kept = g_ptr_array_new_with_free_func(write_free);
  history->writer = g_thread_new("history", writer_main, history);
}

void nw_history_writer_stop(NwHistory *history)
{
  NwWrite *write = g_new0(NwWrite, 1);
  write->last = TRUE;
  nw_history_queue(history, write);
  g_thread_join(history->writer);
  g_async_queue_unref(history->queue);
  g_ptr_array_unref(history->kept);
}
