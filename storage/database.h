/* Small helpers over SQLite that every file of storage/ uses. Private to storage/. */
#pragma once

#include <stdarg.h>

#include <glib.h>
#include <sqlite3.h>

#include "engine/base/status.h"

/* Opens with full sync of commits, foreign keys, a patient lock. Changes nothing in the file. */
NwStatus nw_database_open(const char *path, gboolean writing, sqlite3 **out, NwError *error);
NwStatus nw_database_exec(sqlite3 *db, const char *sql, NwError *error);
/* The last failure of db as a sentence: what, where, what to do. NW_NO_SPACE for a full disk, NW_BAD_FORMAT
 * for what is no database, NW_NO_MEMORY, NW_IO for what may pass (locked, not writable, a disk's error);
 * NW_INTERNAL where trying again is no use. */
NwStatus nw_database_fail(sqlite3 *db, NwError *error);
/* Brings the schema to the version this program knows, step by step, each in a transaction. NW_TOO_NEW when
 * the file is ahead. */
NwStatus nw_database_migrate(sqlite3 *db, const char *path, NwError *error);
int nw_database_version(void); /* the newest schema */

/* Prepares; NULL on failure (the error is set). */
sqlite3_stmt *nw_database_prepare(sqlite3 *db, const char *sql, NwError *error);
/* Binds by type letter: t text (NULL allowed), i gint64, d double (NaN becomes NULL). */
void nw_database_bind(sqlite3_stmt *statement, const char *types, ...);
void nw_database_bind_list(sqlite3_stmt *statement, const char *types, va_list args);
NwStatus nw_database_finish(sqlite3 *db, sqlite3_stmt *statement, NwError *error); /* steps to the end */
/* Prepares, binds, steps to the end. */
NwStatus nw_database_run(sqlite3 *db, NwError *error, const char *sql, const char *types, ...);
char *nw_database_text(sqlite3_stmt *statement, int column);    /* g_free; NULL for NULL */
double nw_database_double(sqlite3_stmt *statement, int column); /* NaN for NULL */
