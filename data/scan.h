/* The parts of a scan. Private to data/. */
#pragma once

#include "data/store.h"

/* Bits of what is odd about a picture that is used all the same. */
enum {
  NW_NOTE_EXTENSION = 1 << 0, /* the name says another format */
  NW_NOTE_NO_END = 1 << 1,
  NW_NOTE_ROTATED = 1 << 2,
  NW_NOTE_ALPHA = 1 << 3,
  NW_NOTE_SIXTEEN = 1 << 4,
  NW_NOTE_ANIMATED = 1 << 5
};

typedef struct NwFinding {
  const char *kind; /* of the problem; NULL: the picture can be used */
  char *text;       /* why not; g_free */
  guint notes;
  NwPictureInfo info;
} NwFinding;

typedef struct NwInspector {
  NwDecoder *decoder;
  NwBytes head, tail;
} NwInspector;

/* Looks into one picture: its header and its end, or all of it when these tell too little or decode_all says
 * so. */
void nw_inspect(NwInspector *inspector, const NwStore *store, const NwPictureEntry *entry,
                gboolean decode_all, NwFinding *finding);
/* What a file that is no picture looks like ("a web page"); translated. */
const char *nw_looks_like(const guint8 *bytes, gsize n);

/* Adds a problem; path (bytes, may be NULL) is copied and made valid UTF-8. Sentences about a file begin with
 * its name. */
void nw_problem_add(NwManifest *manifest, const char *kind, gboolean left_out, guint count, const char *path,
                    const char *format, ...) G_GNUC_PRINTF(6, 7);

/* Sorts what was found into classes and splits: fills classes, pictures (in torchvision's order, not yet
 * inspected), own_split, and the problems of the layout. NW_BAD_DATA when nothing can be trained on. */
NwStatus nw_layout(NwManifest *manifest, NwListing *listing, const char *shown_root, NwError *error);

/* After the pictures were looked into: still two classes? */
NwStatus nw_layout_check(NwManifest *manifest, const char *shown_root, NwError *error);

/* MNIST and CIFAR-10, when the folder holds one of them; *found tells. */
NwStatus nw_packed_mnist(const char *folder, NwManifest *manifest, gboolean *found, NwError *error);
NwStatus nw_packed_cifar(const char *folder, NwManifest *manifest, gboolean *found, NwError *error);

NwManifest *nw_manifest_new(const char *root);
void nw_entry_clear(gpointer entry);
void nw_manifest_finish(NwManifest *manifest); /* sizes, all_gray, digest */
