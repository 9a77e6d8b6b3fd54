/* A data set as found on disk: classes, pictures, splits, and everything odd about it. Nothing is ever
 * written beside the user's files. Facts: order and file filter follow torchvision's ImageFolder; junk is
 * ignored and counted. */
#pragma once

#include <glib.h>

#include "data/picture.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

typedef enum NwSplit { NW_SPLIT_TRAIN, NW_SPLIT_VAL, NW_SPLIT_NONE /* left out */ } NwSplit;

typedef enum NwDataKind { NW_DATA_FOLDER, NW_DATA_ARCHIVE, NW_DATA_MNIST, NW_DATA_CIFAR10 } NwDataKind;

typedef struct NwPictureEntry {
  char *path;     /* bytes, relative to the root; archive: entry name in UTF-8; packed sets: NULL */
  guint32 label;  /* class index */
  guint32 record; /* packed sets: record number; archive: entry number */
  NwSplit split;
  guint16 format; /* NwPictureFormat by content */
  guint32 width, height;
  guint64 bytes;
} NwPictureEntry;

typedef struct NwProblem {
  const char *kind;  /* stable key: "truncated", "empty-file", "wrong-extension", "class-only-in-val", ... */
  gboolean left_out; /* this picture or class is not used */
  guint count;       /* pictures or files it is about */
  char *path;        /* the first of them, relative to the root, valid UTF-8; may be NULL */
  char *text;        /* translated sentence: what, where, what was done, what to do */
} NwProblem;

/* Kinds that leave something out: empty-file, not-a-picture, truncated, corrupt, too-large, unsupported,
 * unreadable (permission, or the disk), dangling-link, link (in an archive), unsafe-name, encrypted,
 * link-loop, wrong-level, class-only-in-val, bad-label. Kinds that are remarks: wrong-extension,
 * no-end-marker, exif-rotated, transparent, sixteen-bit, animated, ignored, ignored-type, empty-class,
 * class-missing-in-val, number-classes, test-folder, missing-batch, names-charset. Remarks about many
 * pictures are one problem with a count. */

typedef struct NwStore NwStore; /* where the bytes come from; private to data/ */

/* Pictures that cannot be used are not in `pictures`; they are in `problems`. The n-th picture of a split (as
 * loaders count) is the n-th one of `pictures` with that split. */
typedef struct NwManifest {
  char *root;
  NwDataKind kind;
  GPtrArray *classes;  /* char *, valid UTF-8, sorted bytewise */
  GArray *pictures;    /* NwPictureEntry */
  GPtrArray *problems; /* NwProblem *, what was left out first */
  guint ignored;       /* junk files and folders */
  guint left_out;      /* pictures that are not used because something is wrong with them */
  gboolean own_split;  /* train/ and val/ (or test/) were found */
  guint64 split_seed;
  double val_share;
  guint32 min_width, min_height, max_width, max_height;
  gboolean all_gray;
  char digest[65]; /* SHA-256 over classes, paths, sizes: what a run is tied to */
  NwStore *store;
} NwManifest;

typedef struct NwScanOptions {
  guint64 seed;        /* split seed */
  double val_share;    /* when the folder has no split of its own; stratified; default 0.2 */
  gboolean decode_all; /* decode every picture, not only headers */
  guint threads;       /* 0: all cores */
  /* Progress, any thread: files seen so far, problems so far; return FALSE to cancel. May be NULL. */
  gboolean (*progress)(gpointer owner, guint files, guint problems);
  gpointer owner;
} NwScanOptions;

void nw_scan_options_init(NwScanOptions *options);
/* Finds out what `root` is (ImageFolder, archive of one, MNIST IDX, CIFAR-10 binary, torchvision's layouts of
 * them) and lists it. NW_BAD_DATA with a sentence when there is nothing to train on: no pictures, one class,
 * not a folder. NW_NOT_FOUND: no such place. NW_CANCELLED: progress said so. */
NwStatus nw_manifest_scan(const char *root, const NwScanOptions *options, NwManifest **out, NwError *error);
void nw_manifest_free(NwManifest *manifest);
/* A copy that can be split otherwise while this one is being trained on; what is open stays shared. */
NwManifest *nw_manifest_copy(const NwManifest *manifest);                      /* NULL is allowed */
guint nw_manifest_count(const NwManifest *manifest, NwSplit split, int label); /* label -1: all */
NwJson *nw_manifest_to_json(const NwManifest *manifest); /* the form of `netwright scan --json` */
/* Splits again with another seed or share (no effect when own_split). */
void nw_manifest_split(NwManifest *manifest, guint64 seed, double val_share);
