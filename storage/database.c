#include "storage/database.h"
#include <glib/gi18n.h>

#include <math.h>
#include <stdarg.h>

/* In the reader's language: SQLite's own words are English, and say nothing of what to do. */
static NwStatus say(NwError *error, int code, const char *file, const char *words)
{
  switch (code & 0xff) {
  case SQLITE_FULL:
    return nw_fail(error, NW_NO_SPACE,
                   _("There is no space on the disk to write the history %s. Make room; what could not be "
                     "written is kept in memory and tried again"),
                   file);
  case SQLITE_NOTADB:
  case SQLITE_CORRUPT:
    return nw_fail(error, NW_BAD_FORMAT,
                   _("%s is no history of runs, or it is damaged. It was left alone: put a copy of it back, "
                     "or move it away to begin a new history"),
                   file);
  case SQLITE_NOMEM:
    return nw_fail(error, NW_NO_MEMORY, _("There is no memory to use the history %s"), file);
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return nw_fail(error, NW_IO, _("Another program keeps the history %s locked. End it and try again"),
                   file);
  case SQLITE_READONLY:
  case SQLITE_PERM:
    return nw_fail(error, NW_IO,
                   _("The history %s may not be written. Change its permissions, or choose another folder "
                     "with --history"),
                   file);
  case SQLITE_CANTOPEN:
    return nw_fail(error, NW_IO,
                   _("The history %s cannot be opened. Make sure that its folder may be written, or choose "
                     "another one with --history"),
                   file);
  case SQLITE_IOERR:
    return nw_fail(error, NW_IO, _("The disk of the history %s does not answer as it should (SQLite: %s)"),
                   file, words);
  default:
    return nw_fail(error, NW_INTERNAL, _("The history %s cannot take this (SQLite: %s)"), file, words);
  }
}

NwStatus nw_database_fail(sqlite3 *db, NwError *error)
{
  const char *file = sqlite3_db_filename(db, "main");
  return say(error, sqlite3_errcode(db), file != NULL ? file : "history.db", sqlite3_errmsg(db));
}

NwStatus nw_database_exec(sqlite3 *db, const char *sql, NwError *error)
{
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    return nw_database_fail(db, error);
  return NW_OK;
}

NwStatus nw_database_open(const char *path, gboolean writing, sqlite3 **out, NwError *error)
{
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (writing ? SQLITE_OPEN_CREATE : 0);
  *out = NULL;
  int code = sqlite3_open_v2(path, out, flags, NULL);
  if (code != SQLITE_OK) {
    say(error, code, path, sqlite3_errstr(code));
    goto failed;
  }
  sqlite3_busy_timeout(*out, 30000);
  /* FULL: a commit that has returned is on the disk, also after a power cut. */
  if (nw_database_exec(*out, "PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL;", error) == NW_OK)
    return NW_OK;
failed:
  sqlite3_close(*out);
  *out = NULL;
  return error != NULL ? error->status : NW_IO;
}

sqlite3_stmt *nw_database_prepare(sqlite3 *db, const char *sql, NwError *error)
{
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
    nw_database_fail(db, error);
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
  return code == SQLITE_DONE ? NW_OK : nw_database_fail(db, error);
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
