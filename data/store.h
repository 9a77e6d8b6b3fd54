/* Where the bytes of a set's pictures come from: a folder, an archive read in place, or a packed set in
 * memory. Private to data/. Reading is safe from many threads at once. */
#pragma once

#include "data/decoder.h"
#include "data/manifest.h"

typedef enum NwFoundKind {
  NW_FOUND_FILE,
  NW_FOUND_FOLDER,
  NW_FOUND_DANGLING,
  NW_FOUND_DENIED,
  NW_FOUND_LOOP,
  NW_FOUND_LINK,
  NW_FOUND_UNSAFE,
  NW_FOUND_ENCRYPTED,
  NW_FOUND_UNKNOWN_METHOD
} NwFoundKind;

/* A file or folder as listed, before anybody looked inside. */
typedef struct NwFound {
  NwFoundKind kind;
  char *path; /* relative, '/' between parts */
  guint64 size;
  guint32 record;
} NwFound;

typedef struct NwListing {
  GArray *found;    /* NwFound */
  guint ignored;    /* junk */
  gboolean recoded; /* names of an archive that were not in UTF-8 */
  gboolean (*progress)(gpointer owner, guint files, guint problems);
  gpointer owner;
} NwListing;

void nw_listing_init(NwListing *listing);
void nw_listing_clear(NwListing *listing);
void nw_listing_add(NwListing *listing, NwFoundKind kind, char *path, guint64 size,
                    guint32 record);             /* takes path */
gboolean nw_listing_goes_on(NwListing *listing); /* FALSE: cancelled */

/* Names that no data set means: hidden files, __MACOSX, Thumbs.db and such. */
gboolean nw_is_junk(const char *name);
gboolean nw_is_junk_path(const char *path);     /* any part of it */
gboolean nw_has_picture_name(const char *name); /* torchvision's extensions and .gif, any case */
/* A name from an archive: parts joined by '/', without "." parts; NULL: absolute, "..", a drive, nothing
 * left. */
char *nw_safe_name(const char *name);

typedef struct NwPacked {
  guint8 *pixels; /* NHWC */
  guint32 width, height, channels;
  guint64 count;
} NwPacked;

typedef struct NwZip NwZip;
typedef struct NwTar NwTar;

struct NwStore {
  _Atomic int others; /* manifests that share it, beside the first */
  NwDataKind kind;
  char *root; /* of a folder: where paths begin */
  NwZip *zip;
  NwTar *tar;
  NwPacked packed;
};

/* The last holder frees it. Nothing in it changes after the scan, so it may be read from many threads. */
NwStore *nw_store_share(NwStore *store);
void nw_store_free(NwStore *store);
/* All bytes of one picture; *bytes lies in room or in the store. NW_NOT_FOUND: it is gone; NW_IO: it cannot
 * be read. Not for packed sets. */
NwStatus nw_store_read(const NwStore *store, const NwPictureEntry *entry, NwBytes *room, const guint8 **bytes,
                       gsize *n, NwError *error);
/* FALSE when the root itself has gone. */
gboolean nw_store_is_there(const NwStore *store);
/* One picture of a packed set. */
const guint8 *nw_store_packed(const NwStore *store, const NwPictureEntry *entry);

NwStatus nw_walk(const char *root, NwListing *listing, NwError *error);
NwStatus nw_store_zip_open(const char *path, NwZip **out, NwListing *listing, NwError *error);
NwStatus nw_store_zip_read(const NwZip *zip, guint32 record, NwBytes *room, const guint8 **bytes, gsize *n,
                           NwError *error);
void nw_store_zip_free(NwZip *zip);
/* One pass over it; pictures of compressed archives are kept in memory. */
NwStatus nw_store_tar_open(const char *path, NwTar **out, NwListing *listing, NwError *error);
NwStatus nw_store_tar_read(const NwTar *tar, guint32 record, NwBytes *room, const guint8 **bytes, gsize *n,
                           NwError *error);
void nw_store_tar_free(NwTar *tar);
