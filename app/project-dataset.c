/* The data set of a project: scanning, and what follows from it: classes, picture size, normalisation, the
 * network's last layer. */
#include <math.h>

#include "app/i18n.h"
#include "app/project-internal.h"

#include <string.h>
#include "data/loader.h"
#include "engine/base/memory.h"

/* Pictures of one small size keep it; others are brought to the project's. */
enum { KEEP_SIZE_UP_TO = 64 };

/* What a scan brings; made off the main thread, so it touches no project. */
typedef struct Scanned {
  NwManifest *manifest;
  NwPreprocessing *preprocessing; /* NULL: the project's stays */
} Scanned;

typedef struct Wish {
  char *path;
  guint64 seed;
  double share;
  gboolean adopt; /* a new set: its size, channels and normalisation are taken over */
  NwPreprocessing *now;
} Wish;

static Wish wish_of(NwProject *project, const char *path)
{
  char *whole = g_canonicalize_filename(path, NULL);
  return (Wish){.path = whole,
                .seed = project->split_seed,
                .share = project->val_share,
                .adopt = project->dataset == NULL || g_strcmp0(project->dataset, whole) != 0,
                .now = nw_preprocessing_copy(project->preprocessing)};
}

static void wish_clear(Wish *wish)
{
  g_free(wish->path);
  nw_preprocessing_free(wish->now);
}

static void scanned_clear(Scanned *scanned)
{
  nw_manifest_free(scanned->manifest);
  nw_preprocessing_free(scanned->preprocessing);
}

static NwStatus measure(const NwManifest *manifest, NwPreprocessing *preprocessing, NwError *error)
{
  if (manifest->kind == NW_DATA_MNIST && preprocessing->channels == 1) {
    /* The figures every MNIST script uses, so that results can be compared. */
    preprocessing->mean[0] = 0.1307;
    preprocessing->deviation[0] = 0.3081;
    return NW_OK;
  }
  NW_TRY(nw_loader_statistics(manifest, preprocessing, preprocessing->mean, preprocessing->deviation, error));
  for (guint c = 0; c < preprocessing->channels; c++)
    if (!(preprocessing->deviation[c] > 1e-6))
      preprocessing->deviation[c] = 1; /* a set of one colour */
  return NW_OK;
}

static NwStatus adopt(const Wish *wish, const NwManifest *m, NwPreprocessing **out, NwError *error)
{
  guint height = wish->now->height, width = wish->now->width;
  if (m->min_width == m->max_width && m->min_height == m->max_height && m->max_width <= KEEP_SIZE_UP_TO &&
      m->max_height <= KEEP_SIZE_UP_TO && m->max_width > 0) {
    height = m->max_height;
    width = m->max_width;
  }
  *out = nw_preprocessing_new(m->all_gray ? 1 : 3, height, width);
  return measure(m, *out, error);
}

static NwStatus scan(const Wish *wish, gboolean (*progress)(gpointer, guint, guint), gpointer owner,
                     Scanned *out, NwError *error)
{
  NwScanOptions options;
  nw_scan_options_init(&options);
  options.seed = wish->seed;
  options.val_share = wish->share;
  options.progress = progress;
  options.owner = owner;
  *out = (Scanned){0};
  /* Project and run keep the path as text; one that text cannot hold would be lost. */
  if (!g_utf8_validate(wish->path, -1, NULL)) {
    g_autofree char *shown = g_filename_display_name(wish->path);
    return nw_fail(error, NW_BAD_DATA, _("The path %s is not valid UTF-8; rename the folder"), shown);
  }
  NW_TRY(nw_manifest_scan(wish->path, &options, &out->manifest, error));
  NwStatus status = wish->adopt ? adopt(wish, out->manifest, &out->preprocessing, error) : NW_OK;
  if (status != NW_OK)
    scanned_clear(out);
  return status;
}

/* The last block that has a number of outputs gets the number of classes. */
static NwStatus follow_classes(NwProject *project, NwError *error)
{
  gint64 classes = nw_project_classes(project);
  guint32 id = project->report.output;
  for (int hops = 0; id != 0 && hops < 4; hops++) {
    const NwBlock *block = nw_network_find(project->network, id);
    const NwAttr *attr = block != NULL ? nw_attr_find(block->op, "out_features") : NULL;
    if (attr != NULL)
      return nw_attr_get(attr, block->attrs).i == classes
                 ? NW_OK
                 : nw_network_set(project->network, id, "out_features",
                                  (NwValue){.type = NW_ATTR_INT, .i = classes}, error);
    id = block != NULL && block->n_from > 0 ? block->from[0] : 0;
  }
  return NW_OK;
}

static NwStatus take(NwProject *project, const Wish *wish, Scanned *scanned, NwError *error)
{
  nw_manifest_free(project->manifest);
  project->manifest = scanned->manifest;
  g_free(project->dataset);
  project->dataset = g_strdup(wish->path);
  if (scanned->preprocessing != NULL) {
    nw_preprocessing_free(project->preprocessing);
    project->preprocessing = scanned->preprocessing;
  }
  nw_project_check(project);
  NwStatus status = follow_classes(project, error);
  nw_project_check(project);
  /* Steps from before would bring sizes back that no longer fit. */
  if (wish->adopt)
    nw_undo_clear(project);
  nw_project_emit(project, NW_DATASET_CHANGED);
  nw_project_emit(project, NW_NETWORK_CHANGED);
  nw_project_emit(project, NW_HISTORY_CHANGED);
  return status;
}

NwStatus nw_project_set_dataset(NwProject *project, const char *path, NwError *error)
{
  Wish wish = wish_of(project, path);
  Scanned scanned;
  NwStatus status = scan(&wish, NULL, NULL, &scanned, error);
  if (status == NW_OK)
    status = take(project, &wish, &scanned, error);
  wish_clear(&wish);
  return status;
}

NwStatus nw_project_scan(NwProject *project, NwError *error)
{
  if (project->dataset == NULL)
    return nw_fail(error, NW_BAD_STATE, _("%s has no data set: give it one with --data FOLDER"),
                   project->name);
  g_autofree char *path = g_strdup(project->dataset);
  return nw_project_set_dataset(project, path, error);
}

/* ---- on a thread ---- */

typedef struct Job {
  NwProject *project;
  Wish wish;
  Scanned scanned;
  NwError error;
  GCancellable *cancellable;
  GMainContext *context;
  gint64 told; /* when progress was last passed on */
  void (*done)(NwProject *project, const NwError *error, gpointer data);
  gpointer data;
} Job;

static void job_free(gpointer data)
{
  Job *job = data;
  g_object_unref(job->project);
  g_clear_object(&job->cancellable);
  wish_clear(&job->wish);
  g_free(job);
}

typedef struct Told {
  NwProject *project;
  guint files, problems;
} Told;

static gboolean tell(gpointer data)
{
  Told *told = data;
  nw_project_emit_scan(told->project, told->files, told->problems);
  return G_SOURCE_REMOVE;
}

static void told_free(gpointer data)
{
  g_object_unref(((Told *)data)->project);
  g_free(data);
}

static gboolean on_progress(gpointer owner, guint files, guint problems)
{
  Job *job = owner;
  gint64 now = g_get_monotonic_time();
  if (now - job->told > 50 * 1000) {
    Told *told = g_new(Told, 1);
    *told = (Told){g_object_ref(job->project), files, problems};
    g_main_context_invoke_full(job->context, G_PRIORITY_DEFAULT, tell, told, told_free);
    job->told = now;
  }
  return !g_cancellable_is_cancelled(job->cancellable);
}

static void run_job(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Job *job = data;
  scan(&job->wish, on_progress, job, &job->scanned, &job->error);
  g_task_return_boolean(task, TRUE);
}

static void job_done(GObject *source, GAsyncResult *result, gpointer unused)
{
  Job *job = g_task_get_task_data(G_TASK(result));
  NwError error = job->error;
  if (error.status == NW_OK)
    take(job->project, &job->wish, &job->scanned, &error);
  if (job->done != NULL)
    job->done(job->project, error.status != NW_OK ? &error : NULL, job->data);
}

void nw_project_set_dataset_async(NwProject *project, const char *path, GCancellable *cancellable,
                                  void (*done)(NwProject *project, const NwError *error, gpointer data),
                                  gpointer data)
{
  Job *job = g_new0(Job, 1);
  job->project = g_object_ref(project);
  job->wish = wish_of(project, path);
  job->cancellable = cancellable != NULL ? g_object_ref(cancellable) : NULL;
  job->context = g_main_context_default();
  job->done = done;
  job->data = data;
  GTask *task = g_task_new(NULL, NULL, job_done, NULL);
  g_task_set_task_data(task, job, job_free);
  g_task_run_in_thread(task, run_job);
  g_object_unref(task);
}

/* ---- split and preprocessing ---- */

NwStatus nw_project_set_split(NwProject *project, guint64 seed, double val_share, NwError *error)
{
  if (!(val_share > 0 && val_share < 1))
    return nw_fail_property(error, NW_BAD_ARGUMENT, "val_share",
                            _("The validation share is %g; it must lie between 0 and 1"), val_share);
  project->split_seed = seed;
  project->val_share = val_share;
  if (project->manifest != NULL)
    nw_manifest_split(project->manifest, seed, val_share);
  nw_project_emit(project, NW_DATASET_CHANGED);
  nw_project_emit(project, NW_HISTORY_CHANGED);
  return NW_OK;
}

NwStatus nw_project_set_preprocessing(NwProject *project, const NwPreprocessing *preprocessing,
                                      NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  NwPreprocessing *copy = nw_preprocessing_copy(preprocessing);
  nw_preprocessing_free(project->preprocessing);
  project->preprocessing = copy;
  NwStatus status = nw_edit_end(project, &edit, NW_OK, _("Change the Preparation of Pictures"),
                                "preprocessing", NW_DATASET_CHANGED);
  nw_project_emit(project, NW_NETWORK_CHANGED);
  return status;
}

NwStatus nw_project_measure_normalization(NwProject *project, NwError *error)
{
  if (project->manifest == NULL)
    return nw_fail(error, NW_BAD_STATE, _("There is no data set to measure"));
  NwPreprocessing *copy = nw_preprocessing_copy(project->preprocessing);
  NwStatus status = measure(project->manifest, copy, error);
  if (status == NW_OK)
    status = nw_project_set_preprocessing(project, copy, error);
  nw_preprocessing_free(copy);
  return status;
}

typedef struct Measuring {
  NwManifest *manifest;
  NwPreprocessing *preprocessing;
  NwError error;
  NwStatus status;
  void (*done)(NwProject *project, const NwError *error, gpointer data);
  gpointer data;
} Measuring;

static void measuring_free(gpointer data)
{
  Measuring *job = data;
  nw_manifest_free(job->manifest);
  nw_preprocessing_free(job->preprocessing);
  g_free(job);
}

static void measuring_run(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Measuring *job = data;
  job->status = measure(job->manifest, job->preprocessing, &job->error);
  g_task_return_boolean(task, TRUE);
}

static void on_measured(GObject *source, GAsyncResult *result, gpointer data)
{
  NwProject *project = NW_PROJECT(source);
  Measuring *job = g_task_get_task_data(G_TASK(result));
  if (job->status == NW_OK) {
    /* Only the figures: the person may have turned other switches while it ran. */
    NwPreprocessing *now = nw_preprocessing_copy(project->preprocessing);
    if (now->channels == job->preprocessing->channels) {
      memcpy(now->mean, job->preprocessing->mean, sizeof now->mean);
      memcpy(now->deviation, job->preprocessing->deviation, sizeof now->deviation);
      job->status = nw_project_set_preprocessing(project, now, &job->error);
    }
    nw_preprocessing_free(now);
  }
  job->done(project, job->status == NW_OK ? NULL : &job->error, job->data);
}

void nw_project_measure_normalization_async(
    NwProject *project, void (*done)(NwProject *project, const NwError *error, gpointer data), gpointer data)
{
  NwError error = {0};
  if (project->manifest == NULL) {
    nw_fail(&error, NW_BAD_STATE, "%s", _("There is no data set to measure"));
    done(project, &error, data);
    return;
  }
  Measuring *job = g_new0(Measuring, 1);
  job->manifest = nw_manifest_copy(project->manifest);
  job->preprocessing = nw_preprocessing_copy(project->preprocessing);
  job->done = done;
  job->data = data;
  g_autoptr(GTask) task = g_task_new(project, NULL, on_measured, NULL);
  g_task_set_task_data(task, job, measuring_free);
  g_task_run_in_thread(task, measuring_run);
}
