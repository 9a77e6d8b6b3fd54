/* The schema, as the steps that made it. Never change a step that was released: add one. */
#include "storage/database.h"
#include <glib/gi18n.h>

static const char *const steps[] = {
    /* 1 */
    "CREATE TABLE runs ("
    " number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT, tags TEXT, project TEXT,"
    " network_name TEXT, state TEXT NOT NULL, message TEXT, created INTEGER NOT NULL, ended INTEGER NOT NULL "
    "DEFAULT 0,"
    " seconds REAL NOT NULL DEFAULT 0, epochs_done INTEGER NOT NULL DEFAULT 0, epochs_wanted INTEGER NOT "
    "NULL DEFAULT 0,"
    " best_epoch INTEGER NOT NULL DEFAULT 0, best_val_accuracy REAL, best_val_loss REAL, train_loss REAL,"
    " train_accuracy REAL, parameters INTEGER NOT NULL DEFAULT 0, dataset_digest TEXT, dataset_root TEXT, "
    "config TEXT,"
    " environment TEXT, folder TEXT, trashed INTEGER NOT NULL DEFAULT 0, owner TEXT);"
    "CREATE INDEX runs_by_name ON runs (name);"
    "CREATE TABLE metric_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "CREATE TABLE metrics ("
    " run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE, metric INTEGER NOT NULL REFERENCES "
    "metric_names (id),"
    " step INTEGER NOT NULL, epoch REAL NOT NULL, value REAL, PRIMARY KEY (run, metric, step)) WITHOUT ROWID;"
    "CREATE TABLE events ("
    " run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE, time INTEGER NOT NULL, kind TEXT NOT "
    "NULL, text TEXT);"
    "CREATE INDEX events_by_run ON events (run, time);"
    "CREATE TABLE checkpoints ("
    " run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE, kind TEXT NOT NULL, path TEXT NOT "
    "NULL,"
    " epoch INTEGER NOT NULL, step INTEGER NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (run, kind)) WITHOUT "
    "ROWID;",
    /* 2: the list of a large history is read newest first, without the trash */
    "CREATE INDEX runs_shown ON runs (trashed, number DESC);",
};

/* "Netwright" in the file's header, so that a history can be told from any other SQLite file. */
enum { APPLICATION_ID = 0x4e57524b };

int nw_database_version(void)
{
  return (int)G_N_ELEMENTS(steps);
}

static NwStatus read_int(sqlite3 *db, const char *sql, int *value, NwError *error)
{
  sqlite3_stmt *statement = nw_database_prepare(db, sql, error);
  if (statement == NULL)
    return error != NULL && error->status != NW_OK ? error->status : NW_IO;
  int code = sqlite3_step(statement);
  *value = code == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
  NwStatus status = code == SQLITE_ROW ? NW_OK : nw_database_fail(db, error);
  sqlite3_finalize(statement);
  return status;
}

static NwStatus check_ours(sqlite3 *db, const char *path, int version, NwError *error)
{
  int application = 0, tables = 0;
  NW_TRY(read_int(db, "PRAGMA application_id", &application, error));
  NW_TRY(read_int(db, "SELECT count(*) FROM sqlite_master", &tables, error));
  if (application != APPLICATION_ID && tables > 0)
    return nw_fail(
        error, NW_BAD_FORMAT,
        _("%s is a database of another program; it was left alone. Move it away or choose another folder"),
        path);
  if (version > nw_database_version())
    return nw_fail(
        error, NW_TOO_NEW,
        _("%s was written by a newer Netwright (schema %d, this one knows %d). Use that version, or another "
          "history folder"),
        path, version, nw_database_version());
  return NW_OK;
}

static NwStatus migrate_one(sqlite3 *db, int version, NwError *error)
{
  char set[80];
  g_snprintf(set, sizeof set, "PRAGMA application_id=%d; PRAGMA user_version=%d;", APPLICATION_ID,
             version + 1);
  NW_TRY(nw_database_exec(db, "BEGIN IMMEDIATE", error));
  int now = 0;
  NwStatus status = read_int(db, "PRAGMA user_version", &now, error);
  if (status == NW_OK && now == version) { /* else another process was faster */
    status = nw_database_exec(db, steps[version], error);
    if (status == NW_OK)
      status = nw_database_exec(db, set, error);
  }
  if (status == NW_OK)
    return nw_database_exec(db, "COMMIT", error);
  sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

NwStatus nw_database_migrate(sqlite3 *db, const char *path, NwError *error)
{
  int version = 0;
  NwStatus status = read_int(db, "PRAGMA user_version", &version, error);
  if (status == NW_OK)
    status = check_ours(db, path, version, error);
  /* Readers and the writer beside each other, a crash never leaves half a commit. Not before it is known to
   * be ours. */
  if (status == NW_OK)
    status = nw_database_exec(db, "PRAGMA journal_mode=WAL;", error);
  while (status == NW_OK && version < nw_database_version()) {
    status = migrate_one(db, version, error);
    if (status == NW_OK)
      status = read_int(db, "PRAGMA user_version", &version, error);
  }
  return status;
}
