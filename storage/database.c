#include "storage/database.h"
#include <glib/gi18n.h>

#include <math.h>
#include <stdarg.h>

NwStatus nw_database_fail(sqlite3 *db, NwError *error, const char *what)
{
  int code = db != NULL ? sqlite3_errcode(db) : SQLITE_NOMEM;
  const char *words = db != NULL ? sqlite3_errmsg(db) : "out of memory";
  NwStatus status = code == SQLITE_FULL                               ? NW_NO_SPACE
                    : code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? NW_BAD_FORMAT
                    : code == SQLITE_NOMEM                            ? NW_NO_MEMORY
                                                                      : NW_IO;
  return nw_fail(error, status, _("Cannot %s: %s"), what, words);
}

NwStatus nw_database_exec(sqlite3 *db, const char *sql, NwError *error)
{
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    return nw_database_fail(db, error, "use the history");
  return NW_OK;
}

NwStatus nw_database_open(const char *path, gboolean writing, sqlite3 **out, NwError *error)
{
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (writing ? SQLITE_OPEN_CREATE : 0);
  *out = NULL;
  if (sqlite3_open_v2(path, out, flags, NULL) != SQLITE_OK) {
    NwStatus status = nw_database_fail(*out, error, "open the history");
    sqlite3_close(*out);
    *out = NULL;
    return nw_error_prefix(error, status, "%s", path);
  }
  sqlite3_busy_timeout(*out, 30000);
  /* FULL: a commit that has returned is on the disk, also after a power cut. */
  NwStatus status = nw_database_exec(*out, "PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL;", error);
  if (status == NW_OK)
    return NW_OK;
  sqlite3_close(*out);
  *out = NULL;
  return nw_error_prefix(error, status, _("%s (it was left alone; move it away to begin a new history)"),
                         path);
}

sqlite3_stmt *nw_database_prepare(sqlite3 *db, const char *sql, NwError *error)
{
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
    nw_database_fail(db, error, "use the history");
  return statement;
}

void nw_database_bind_list(sqlite3_stmt *statement, const char *types, va_list args)
{
  for (int i = 1; *types != '\0'; types++, i++) {
    if (*types == 't') {
      const char *text = va_arg(args, const char *);
      sqlite3_bind_text(statement, i, text, -1, SQLITE_TRANSIENT);
    } else if (*types == 'i') {
      sqlite3_bind_int64(statement, i, va_arg(args, gint64));
    } else {
      double value = va_arg(args, double);
      if (isnan(value))
        sqlite3_bind_null(statement, i);
      else
        sqlite3_bind_double(statement, i, value);
    }
  }
}

void nw_database_bind(sqlite3_stmt *statement, const char *types, ...)
{
  va_list args;
  va_start(args, types);
  nw_database_bind_list(statement, types, args);
  va_end(args);
}

NwStatus nw_database_finish(sqlite3 *db, sqlite3_stmt *statement, NwError *error)
{
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW)
    ;
  return code == SQLITE_DONE ? NW_OK : nw_database_fail(db, error, "write the history");
}

NwStatus nw_database_run(sqlite3 *db, NwError *error, const char *sql, const char *types, ...)
{
  sqlite3_stmt *statement = nw_database_prepare(db, sql, error);
  if (statement == NULL)
    return error != NULL ? error->status : NW_IO;
  va_list args;
  va_start(args, types);
  nw_database_bind_list(statement, types, args);
  va_end(args);
  NwStatus status = nw_database_finish(db, statement, error);
  sqlite3_finalize(statement);
  return status;
}

char *nw_database_text(sqlite3_stmt *statement, int column)
{
  return g_strdup((const char *)sqlite3_column_text(statement, column));
}

double nw_database_double(sqlite3_stmt *statement, int column)
{
  return sqlite3_column_type(statement, column) == SQLITE_NULL ? NAN
                                                               : sqlite3_column_double(statement, column);
}
