/* A whole file as memory: mapped, not read, so that large files cost one copy, into the network. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"

typedef struct NwMappedFile {
  const uint8_t *bytes; /* NULL: not open, or an empty file */
  size_t size;
} NwMappedFile;

/* Errors: NW_NOT_FOUND, NW_BAD_FORMAT (a folder, a device, a file shorter than `least` bytes: said to be no
 * `kind`), NW_IO. */
NwStatus nw_map_file(const char *path, size_t least, const char *kind, NwMappedFile *out, NwError *error);
void nw_unmap_file(NwMappedFile *file); /* one that is not open is allowed */
