/* The object: its parts, its signals, what it says about itself. */
#include "app/project.h"

#include <string.h>

#include "app/i18n.h"
#include "app/project-internal.h"
#include "engine/base/memory.h"

G_DEFINE_FINAL_TYPE(NwProject, nw_project, G_TYPE_OBJECT)

static guint signals[NW_PROJECT_SIGNALS];

void nw_project_emit(NwProject *project, NwProjectSignal which)
{
  g_signal_emit(project, signals[which], 0);
}

void nw_project_emit_scan(NwProject *project, guint files, guint problems)
{
  g_signal_emit(project, signals[NW_SCAN_PROGRESS], 0, files, problems);
}

static void nw_project_finalize(GObject *object)
{
  NwProject *self = NW_PROJECT(object);
  g_free(self->folder);
  g_free(self->name);
  nw_free(self->saved);
  nw_free(self->opened);
  nw_network_report_clear(&self->report);
  nw_network_free(self->network);
  g_free(self->dataset);
  g_free(self->weights);
  nw_manifest_free(self->manifest);
  nw_preprocessing_free(self->preprocessing);
  nw_train_config_clear(&self->config);
  g_ptr_array_unref(self->undo);
  g_ptr_array_unref(self->redo);
  g_free(self->group_label);
  g_free(self->obstacle);
  G_OBJECT_CLASS(nw_project_parent_class)->finalize(object);
}

static void nw_project_class_init(NwProjectClass *klass)
{
  static const char *const names[] = {"network-changed", "dataset-changed", "settings-changed",
                                      "history-changed"};
  G_OBJECT_CLASS(klass)->finalize = nw_project_finalize;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    signals[i] =
        g_signal_new(names[i], NW_TYPE_PROJECT, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[NW_SCAN_PROGRESS] = g_signal_new("scan-progress", NW_TYPE_PROJECT, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                           NULL, G_TYPE_NONE, 2, G_TYPE_UINT, G_TYPE_UINT);
}

static void nw_project_init(NwProject *self)
{
  /* GLib ends the program when a few bytes cannot be had; the engine's objects answer, but an empty network
   * is as small. */
  if (nw_network_new(&self->network, NULL) != NW_OK)
    g_error("no memory for an empty project");
  self->name = g_strdup(_("Untitled"));
  self->split_seed = 42;
  self->val_share = 0.2;
  self->preprocessing = nw_preprocessing_new(3, 64, 64);
  nw_train_config_init(&self->config);
  self->undo = g_ptr_array_new_with_free_func(nw_undo_step_free);
  self->redo = g_ptr_array_new_with_free_func(nw_undo_step_free);
  nw_project_check(self);
}

NwProject *nw_project_new(void)
{
  return g_object_new(NW_TYPE_PROJECT, NULL);
}

/* ---- parts ---- */

const char *nw_project_folder(NwProject *project)
{
  return project->folder;
}

const char *nw_project_name(NwProject *project)
{
  return project->name;
}

void nw_project_set_name(NwProject *project, const char *name)
{
  g_free(project->name);
  project->name = g_strdup(name);
  nw_project_emit(project, NW_HISTORY_CHANGED);
}

const NwNetwork *nw_project_network(NwProject *project)
{
  return project->network;
}

const NwNetworkReport *nw_project_report(NwProject *project)
{
  return &project->report;
}

const NwBlockReport *nw_project_block_report(NwProject *project, guint32 block)
{
  for (int i = 0; i < project->report.n_blocks; i++)
    if (project->report.blocks[i].id == block)
      return &project->report.blocks[i];
  return NULL;
}

const char *nw_project_dataset(NwProject *project)
{
  return project->dataset;
}

const NwManifest *nw_project_manifest(NwProject *project)
{
  return project->manifest;
}

const NwPreprocessing *nw_project_preprocessing(NwProject *project)
{
  return project->preprocessing;
}

const NwTrainConfig *nw_project_config(NwProject *project)
{
  return &project->config;
}

gint64 nw_project_classes(NwProject *project)
{
  return project->manifest != NULL ? (gint64)project->manifest->classes->len : 0;
}

gboolean nw_project_is_dirty(NwProject *project)
{
  char *now = nw_project_text(project);
  gboolean dirty = project->saved == NULL || now == NULL || strcmp(now, project->saved) != 0;
  nw_free(now);
  return dirty;
}

/* ---- what it says about itself ---- */

void nw_project_check(NwProject *project)
{
  const NwPreprocessing *p = project->preprocessing;
  NwSpec input =
      nw_spec(NW_F32, 4, (int64_t[]){MAX(project->config.batch_size, 1), p->channels, p->height, p->width});
  nw_network_report_clear(&project->report);
  memset(&project->report, 0, sizeof project->report);
  NwError error = {0};
  NwStatus status =
      nw_network_check(project->network, &input, nw_project_classes(project), &project->report, &error);
  if (status != NW_OK && project->report.status == NW_OK) {
    project->report.status = status;
    project->report.error = error;
    project->report.n_errors = 1;
  }
}

const char *nw_project_obstacle(NwProject *project, guint32 *block)
{
  const char *text = NULL;
  if (block != NULL)
    *block = 0;
  if (project->dataset == NULL)
    text = _("Choose a folder of pictures first");
  else if (project->manifest == NULL)
    text = _("The data set has not been read yet");
  else if (nw_network_count(project->network) == 0)
    text = _("The network is empty: choose a template or drag layers onto the canvas");
  else if (project->report.status != NW_OK) {
    if (block != NULL)
      *block = project->report.error.block;
    text = project->report.error.text;
  }
  g_free(project->obstacle);
  project->obstacle = g_strdup(text);
  return project->obstacle;
}

/* ---- training settings ---- */

NwStatus nw_project_set_config(NwProject *project, const char *key, const char *value, NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  NwStatus status = nw_train_config_set(&project->config, key, value, error);
  return nw_edit_end(project, &edit, status, _("Change Training Settings"), key, NW_SETTINGS_CHANGED);
}
