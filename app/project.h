/* The document: a network, a data set, training settings; with undo. No screen is needed.
 *
 * A project is a folder that holds project.json (written atomically). All edits go through the functions
 * here, so every one can be undone and every listener hears of it. Belongs to the main thread. */
#pragma once

#include <gio/gio.h>

#include "data/manifest.h"
#include "data/transform.h"
#include "engine/nn/network.h"
#include "engine/nn/template.h"
#include "engine/train/trainer.h"

#define NW_TYPE_PROJECT (nw_project_get_type())
G_DECLARE_FINAL_TYPE(NwProject, nw_project, NW, PROJECT, GObject)
/* Signals (no arguments): "network-changed" (blocks, wires, attributes, report), "dataset-changed",
 * "settings-changed", "history-changed" (undo, redo or saved state), "scan-progress" (guint files, guint
 * problems). */

NwProject *nw_project_new(void); /* empty, without a folder */
NwStatus nw_project_open(const char *folder, NwProject **out, NwError *error);
/* A project from the text frozen with a run; folder (may be NULL) is where relative paths count from. It has
 * no folder of its own. */
NwStatus nw_project_open_text(const char *text, const char *folder, NwProject **out, NwError *error);
/* save writes to the project's folder; save_as makes folder and moves there. */
NwStatus nw_project_save(NwProject *project, NwError *error);
NwStatus nw_project_save_as(NwProject *project, const char *folder, NwError *error);
const char *nw_project_folder(NwProject *project); /* NULL: never saved */
const char *nw_project_name(NwProject *project);
void nw_project_set_name(NwProject *project, const char *name);
gboolean nw_project_is_dirty(NwProject *project);
NwJson *nw_project_to_json(NwProject *project);

/* --- network --- */
const NwNetwork *nw_project_network(NwProject *project);
/* Always up to date with the network; the picture size of the data set, or of settings before one is chosen.
 */
const NwNetworkReport *nw_project_report(NwProject *project);
const NwBlockReport *nw_project_block_report(NwProject *project, guint32 block);

/* Edits; each is one undo step unless inside a group. Errors leave everything as it was. */
NwStatus nw_project_add_block(NwProject *project, const NwOp *op, double x, double y, guint32 *block,
                              NwError *error);
/* Adds behind `after` (0: at the end) and rewires: after → new → what followed after. */
NwStatus nw_project_insert_block(NwProject *project, const NwOp *op, guint32 after, guint32 *block,
                                 NwError *error);
NwStatus nw_project_remove_blocks(NwProject *project, const guint32 *blocks, guint n, gboolean heal,
                                  NwError *error); /* heal: join neighbours */
NwStatus nw_project_move_blocks(NwProject *project, const guint32 *blocks, guint n, double dx, double dy,
                                NwError *error);
NwStatus nw_project_connect(NwProject *project, guint32 from, guint32 to, int port, NwError *error);
NwStatus nw_project_rename_block(NwProject *project, guint32 block, const char *name, NwError *error);
NwStatus nw_project_set_attr(NwProject *project, guint32 block, const char *key, NwValue value,
                             NwError *error);
NwStatus nw_project_set_attr_text(NwProject *project, guint32 block, const char *key, const char *text,
                                  NwError *error);
NwStatus nw_project_set_frozen(NwProject *project, guint32 block, gboolean frozen, NwError *error);
NwStatus nw_project_arrange(NwProject *project, NwError *error);
NwStatus nw_project_use_template(NwProject *project, const NwTemplate *tmpl, NwError *error);
/* Clipboard: JSON text of the chosen blocks; paste gives new ids (g_free the array). */
char *nw_project_copy_blocks(NwProject *project, const guint32 *blocks, guint n);
NwStatus nw_project_paste_blocks(NwProject *project, const char *json, double x, double y, GArray **blocks,
                                 NwError *error);

/* The version before: network and settings as they were when the project was last opened and changed. Going back is an
 * edit that undo takes back. Errors: NW_NOT_FOUND, NW_BAD_FORMAT (the project stays as it is). */
gboolean nw_project_has_previous(NwProject *project);
NwStatus nw_project_restore_previous(NwProject *project, NwError *error);

void nw_project_begin_group(NwProject *project, const char *label); /* label: translated, for the menu */
void nw_project_end_group(NwProject *project);
gboolean nw_project_undo(NwProject *project);
gboolean nw_project_redo(NwProject *project);
const char *nw_project_undo_label(NwProject *project); /* NULL: nothing to undo */
const char *nw_project_redo_label(NwProject *project);

/* --- data --- */
const char *nw_project_dataset(NwProject *project);        /* path, NULL: none */
const NwManifest *nw_project_manifest(NwProject *project); /* NULL: not scanned (yet) */
/* Scans and takes the set: classes, picture size and normalisation follow it, the network's last Linear too.
 * Blocking. */
NwStatus nw_project_set_dataset(NwProject *project, const char *path, NwError *error);
/* The same on a thread; "dataset-changed" comes when done; callback gets NULL or the error, on the main
 * context. */
void nw_project_set_dataset_async(NwProject *project, const char *path, GCancellable *cancellable,
                                  void (*done)(NwProject *project, const NwError *error, gpointer data),
                                  gpointer data);
/* Reads the set that the project already names (after opening it). Blocking. */
NwStatus nw_project_scan(NwProject *project, NwError *error);
const NwPreprocessing *nw_project_preprocessing(NwProject *project);
NwStatus nw_project_set_preprocessing(NwProject *project, const NwPreprocessing *preprocessing,
                                      NwError *error);
/* Mean and deviation anew from the training pictures, for the size as it is now. Blocking. */
NwStatus nw_project_measure_normalization(NwProject *project, NwError *error);
/* The same on a thread, from a copy of the set; done comes on the main context. Settings that changed
 * meanwhile are kept. */
void nw_project_measure_normalization_async(
    NwProject *project, void (*done)(NwProject *project, const NwError *error, gpointer data), gpointer data);
NwStatus nw_project_set_split(NwProject *project, guint64 seed, double val_share, NwError *error);

/* --- weights that a training begins with --- */
/* A file of them (engine/io/weight-plan.h), or "shipped:NAME", one that comes with the program; NULL: numbers
 * drawn anew. Tried at once: *report (may be NULL, g_free) says what matches; where nothing does, the project
 * is left as it was. */
NwStatus nw_project_set_weights(NwProject *project, const char *path, gboolean by_order, char **report,
                                NwError *error);
const char *nw_project_weights(NwProject *project, gboolean *by_order); /* by_order may be NULL */
/* The file itself (g_free); NULL with the error where a shipped one is not there. */
char *nw_project_weights_file(const char *weights, NwError *error);

/* --- training settings --- */
const NwTrainConfig *nw_project_config(NwProject *project);
NwStatus nw_project_set_config(NwProject *project, const char *key, const char *value,
                               NwError *error); /* keys of nw_train_config_set */

/* Everything that stops Train, first one first: NULL when it can start; else a translated sentence, and the
 * block in *block. */
const char *nw_project_obstacle(NwProject *project, guint32 *block);
