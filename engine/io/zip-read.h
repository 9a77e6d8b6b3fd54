/* Reads zip files that lie in memory: stored records are pointers into it, deflated ones are inflated on
 * demand.
 *
 * The bytes may be hostile: everything is checked, sizes are capped. A wrong checksum is only a warning in
 * the log, because PyTorch itself writes and accepts files without. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"

typedef struct NwZip NwZip;

/* bytes are borrowed and must outlive the zip. Errors: NW_BAD_FORMAT with what is wrong, NW_UNSUPPORTED
 * (encryption, other compression), NW_NO_MEMORY. */
NwStatus nw_zip_open(const void *bytes, size_t n, NwZip **out, NwError *error);
void nw_zip_close(NwZip *zip); /* NULL is allowed */
/* The folder that holds all records; "": the first record lies in none. */
const char *nw_zip_folder(const NwZip *zip);
/* All records in the order of the file's list, by their whole names. */
size_t nw_zip_count(const NwZip *zip);
const char *nw_zip_name(const NwZip *zip, size_t index);
NwStatus nw_zip_get_at(NwZip *zip, size_t index, const uint8_t **bytes, size_t *n, NwError *error);
/* Record folder/name; *bytes NULL when there is none. They live as long as the zip. */
NwStatus nw_zip_get(NwZip *zip, const char *name, const uint8_t **bytes, size_t *n, NwError *error);
