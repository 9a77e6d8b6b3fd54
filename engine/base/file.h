/* Files: whole reads, and writes that are either wholly there or not there at all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/status.h"

/* Reads a whole file; *data is terminated by one extra zero byte; free with nw_free. A file above `limit` bytes is
 * refused (NW_BAD_FORMAT). */
NwStatus nw_file_read(const char *path, size_t limit, char **data, size_t *length, NwError *error);

/* An atomic write: bytes go to "<path>.tmp-<pid>-<n>" in the same folder; commit does fsync, rename, fsync of the
 * folder. A crash at any instant leaves either the old file or the new one, and perhaps the temporary one, which the
 * next write to the same path removes. Not thread-safe per object. */
typedef struct NwFileWriter NwFileWriter;
NwStatus nw_file_writer_open(const char *path, NwFileWriter **out, NwError *error);
NwStatus nw_file_writer_write(NwFileWriter *writer, const void *bytes, size_t n, NwError *error);
size_t nw_file_writer_offset(const NwFileWriter *writer); /* bytes written so far */
/* Both free the writer. commit removes the temporary file when it fails; cancel always does. */
NwStatus nw_file_writer_commit(NwFileWriter *writer, NwError *error);
void nw_file_writer_cancel(NwFileWriter *writer); /* NULL is allowed */

/* Removes the temporary files that killed processes left beside `path`; those of living writers are locked, and stay.
 * Does nothing where the folder cannot be read. */
void nw_file_sweep(const char *path);

/* One-call form. */
NwStatus nw_file_write(const char *path, const void *bytes, size_t n, NwError *error);

/* mkdir -p with mode 0777 & ~umask. */
NwStatus nw_make_folders(const char *path, NwError *error);

/* Test hook: the process kills itself (SIGKILL) right after the n-th (1 = next) "write", "fsync", "rename" or
 * "dirsync" of a commit. Also set by the environment: NETWRIGHT_TEST_KILL_AFTER=fsync:2 counts from process start. */
void nw_file_kill_after(const char *moment, int n);
