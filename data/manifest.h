/* A data set as found on disk: classes, pictures, splits, and everything odd about it. Nothing is ever written beside the
 * user's files. Facts: order and file filter follow torchvision's ImageFolder; junk is ignored and counted. */
#pragma once

#include <glib.h>

#include "engine/base/json.h"
#include "engine/base/status.h"

typedef enum NwSplit { NW_SPLIT_TRAIN, NW_SPLIT_VAL, NW_SPLIT_NONE /* left out */ } NwSplit;

typedef enum NwDataKind { NW_DATA_FOLDER, NW_DATA_ARCHIVE, NW_DATA_MNIST, NW_DATA_CIFAR10 } NwDataKind;

typedef struct NwPictureEntry {
  char *path;      /* bytes, relative to the root; archive: entry name; packed sets: NULL */
  guint32 label;   /* class index */
  guint32 record;  /* packed sets: record number; archive: entry number */
  NwSplit split;
  guint16 format;  /* NwPictureFormat by content */
  guint32 width, height;
  guint64 bytes;
} NwPictureEntry;

typedef struct NwProblem {
  const char *kind; /* stable key: "truncated", "empty-file", "wrong-extension", "class-only-in-val", ... */
  gboolean left_out; /* this picture or class is not used */
  char *path;       /* may be NULL */
  char *text;       /* translated sentence: what, where, what was done, what to do */
} NwProblem;

typedef struct NwManifest {
  char *root;
  NwDataKind kind;
  GPtrArray *classes;  /* char *, sorted bytewise */
  GArray *pictures;    /* NwPictureEntry */
  GPtrArray *problems; /* NwProblem * */
  guint ignored;       /* junk files and folders */
  gboolean own_split;  /* train/ and val/ (or test/) were found */
  guint64 split_seed;
  double val_share;
  guint32 min_width, min_height, max_width, max_height;
  gboolean all_gray;
  char digest[65];     /* SHA-256 over classes, paths, sizes: what a run is tied to */
} NwManifest;

typedef struct NwScanOptions {
  guint64 seed;      /* split seed */
  double val_share;  /* when the folder has no split of its own; stratified; default 0.2 */
  gboolean decode_all; /* decode every picture, not only headers */
  /* Progress, any thread: files seen so far, problems so far; return FALSE to cancel. May be NULL. */
  gboolean (*progress)(gpointer owner, guint files, guint problems);
  gpointer owner;
} NwScanOptions;

void nw_scan_options_init(NwScanOptions *options);
/* Finds out what `root` is (ImageFolder, archive of one, MNIST IDX, CIFAR-10 binary, torchvision's layouts of them) and
 * lists it. NW_BAD_DATA with a sentence when there is nothing to train on: no pictures, one class, not a folder. */
NwStatus nw_manifest_scan(const char *root, const NwScanOptions *options, NwManifest **out, NwError *error);
void nw_manifest_free(NwManifest *manifest);
guint nw_manifest_count(const NwManifest *manifest, NwSplit split, int label); /* label -1: all */
NwJson *nw_manifest_to_json(const NwManifest *manifest); /* the form of `netwright scan --json` */
/* Splits again with another seed or share (no effect when own_split). */
void nw_manifest_split(NwManifest *manifest, guint64 seed, double val_share);
