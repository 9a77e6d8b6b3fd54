/* Writes zip files as PyTorch wants them: stored, every record's bytes aligned to 64, nothing that depends on
 * time.
 *
 * All records lie in one top folder. The file appears under its name only when commit succeeded. One thread
 * an object. */
#pragma once

#include <stddef.h>

#include "engine/base/status.h"

typedef struct NwZipWriter NwZipWriter;

/* folder is borrowed; NULL: records lie in none. Errors: those of nw_file_writer_open. */
NwStatus nw_zip_writer_open(const char *path, const char *folder, NwZipWriter **out, NwError *error);
/* Appends folder/name. NW_BAD_ARGUMENT for a name above 4000 bytes. */
NwStatus nw_zip_writer_add(NwZipWriter *writer, const char *name, const void *bytes, size_t n,
                           NwError *error);
/* Both free the writer. */
NwStatus nw_zip_writer_commit(NwZipWriter *writer, NwError *error);
void nw_zip_writer_cancel(NwZipWriter *writer); /* NULL is allowed */
