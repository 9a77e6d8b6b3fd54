/* What the files of the project share. */
#pragma once

#include "app/project.h"

enum { NW_PROJECT_VERSION = 1 };

struct _NwProject {
  GObject parent;
  char *folder, *name;
  char *saved;  /* text of the project as it was last saved; NULL: never */
  char *opened; /* its state when it was opened, until the version before is kept; NULL: a new one */
  NwNetwork *network;
  NwNetworkReport report;
  char *dataset;
  char *weights; /* what a training begins with; NULL: numbers drawn anew */
  gboolean weights_by_order;
  NwManifest *manifest;
  guint64 split_seed;
  double val_share;
  NwPreprocessing *preprocessing;
  NwTrainConfig config;
  /* undo */
  GPtrArray *undo, *redo; /* NwUndoStep */
  guint group_depth;
  char *group_label;
  gboolean group_taken; /* the group's step is on the stack */
  char *obstacle;       /* what nw_project_obstacle last said */
};

typedef enum NwProjectSignal {
  NW_NETWORK_CHANGED,
  NW_DATASET_CHANGED,
  NW_SETTINGS_CHANGED,
  NW_HISTORY_CHANGED,
  NW_SCAN_PROGRESS,
  NW_PROJECT_SIGNALS
} NwProjectSignal;
void nw_project_emit(NwProject *project, NwProjectSignal which);
void nw_project_emit_scan(NwProject *project, guint files, guint problems);

/* Number of classes the network must tell apart; 0: no data set yet. */
gint64 nw_project_classes(NwProject *project);
/* Infers everything anew. */
void nw_project_check(NwProject *project);

/* Undo: begin takes the state before a change; end keeps it as a step when the change was made (status
 * NW_OK), else puts it back. merge: changes in a row with the same word are one step (NULL: never). */
typedef struct NwEdit {
  char *before;
} NwEdit;
NwEdit nw_edit_begin(NwProject *project);
NwStatus nw_edit_end(NwProject *project, NwEdit *edit, NwStatus status, const char *label, const char *merge,
                     NwProjectSignal what);
void nw_undo_step_free(gpointer step);
void nw_undo_clear(NwProject *project);

/* Network, preprocessing and training settings as text and back: what undo keeps. */
char *nw_project_state_text(NwProject *project);
gboolean nw_project_restore_text(NwProject *project, const char *text);
/* Everything, as it is saved; nw_free. */
char *nw_project_text(NwProject *project);

/* project-previous.c: opening remembers, saving keeps. */
void nw_project_remember_opened(NwProject *project);
NwStatus nw_project_keep_previous(NwProject *project, NwError *error);
