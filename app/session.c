#include "app/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "app/environment.h"
#include "app/i18n.h"
#include "app/session-internal.h"
#include "engine/base/file.h"
#include "engine/base/memory.h"

G_DEFINE_FINAL_TYPE(NwSession, nw_session, G_TYPE_OBJECT)

static guint signals[NW_SESSION_SIGNALS];

void nw_session_emit(NwSession *self, NwSessionSignal which, const char *text)
{
  if (which == NW_SESSION_REMARK)
    g_signal_emit(self, signals[which], 0, text);
  else
    g_signal_emit(self, signals[which], 0);
}

/* ---- starting ---- */

NwStatus nw_session_refuse_active(NwSession *self, NwError *error)
{
  if (!nw_session_is_active(self))
    return NW_OK;
  return nw_fail(error, NW_BAD_STATE, "%s", _("A training is going on: stop it first"));
}

void nw_session_forget(NwSession *self)
{
  nw_run_info_free(self->info);
  self->info = NULL;
  g_hash_table_remove_all(self->series);
  self->progress =
      (NwSessionProgress){.best_val_accuracy = NAN, .loss = NAN, .accuracy = NAN, .seconds_left = NAN};
  self->error = self->result = (NwError){0};
  self->seconds_before = 0;
  self->resuming = FALSE;
  self->batches = 0;
}

#define NETWORK_WORDS "%d blocks, %d with weights"

/* The text of a document that it frees; NULL when there is no memory. */
static char *text_of(NwJson *json)
{
  char *text = json != NULL ? nw_json_print(json, false) : NULL, *out = g_strdup(text);
  nw_free(text);
  nw_json_free(json);
  return out;
}

static gboolean same_layers(const NwNetwork *a, const NwNetwork *b)
{
  if (nw_network_count(a) != nw_network_count(b))
    return FALSE;
  for (int i = 0; i < nw_network_count(a); i++)
    if (nw_network_at(a, i)->op != nw_network_at(b, i)->op)
      return FALSE;
  return TRUE;
}

/* The template whose layers these are, whatever their sizes; NULL: none. */
static const char *template_of(const NwNetwork *network)
{
  const NwTemplate *tmpl;
  for (size_t i = 0; (tmpl = nw_template_at(i)) != NULL; i++) {
    NwNetwork *drawn = NULL;
    NwStatus status = nw_template_build(tmpl, tmpl->channels, tmpl->height, tmpl->width, 10, &drawn, NULL);
    gboolean same = status == NW_OK && same_layers(network, drawn);
    nw_network_free(drawn);
    if (same)
      return tmpl->label;
  }
  return NULL;
}

/* The network's name for lists: its template, or its shape. Kept in the history, hence not in the person's
 * language of today (nw_session_network_words). */
static char *network_name(NwProject *project)
{
  const NwNetwork *network = nw_project_network(project);
  const char *name = template_of(network);
  int layers = 0;
  for (int i = 0; i < nw_network_count(network); i++)
    for (int p = 0; p < nw_network_at(network, i)->op->n_inputs; p++)
      if (nw_network_at(network, i)->op->inputs[p].role == NW_PORT_PARAM) {
        layers++;
        break;
      }
  return name != NULL ? g_strdup(name) : g_strdup_printf(NETWORK_WORDS, nw_network_count(network), layers);
}

char *nw_session_network_words(const char *stored)
{
  int blocks, layers;
  if (stored == NULL || sscanf(stored, NETWORK_WORDS, &blocks, &layers) != 2)
    return g_strdup(stored != NULL ? stored : "–");
  /* Translators: a network in a list: how many blocks it has, and how many of them have weights. */
  return g_strdup_printf(_("%d blocks, %d with weights"), blocks, layers);
}

static NwStatus write_run_json(NwRunInfo *info, NwError *error)
{
  g_autofree char *path = g_build_filename(info->folder, "run.json", NULL);
  g_autofree char *text = g_strdup_printf("{\"run\":\"%s\",\"config\":%s,\"environment\":%s}\n", info->id,
                                          info->config, info->environment);
  return nw_file_write(path, text, strlen(text), error);
}

static NwStatus register_run(NwSession *self, NwProject *project, const char *name, NwError *error)
{
  NwRunInfo *info = g_new0(NwRunInfo, 1);
  const NwTrainConfig *config = nw_project_config(project);
  info->name = g_strdup(name != NULL ? name : nw_project_name(project));
  info->project = g_strdup(nw_project_folder(project));
  info->network_name = network_name(project);
  info->state = NW_RUN_RUNNING;
  info->epochs_wanted = config->epochs;
  info->best_val_accuracy = info->best_val_loss = info->train_loss = info->train_accuracy = NAN;
  info->parameters = nw_project_report(project)->parameters;
  info->dataset_digest = g_strdup(nw_project_manifest(project)->digest);
  info->dataset_root = g_strdup(nw_project_dataset(project));
  info->config = text_of(nw_project_to_json(project));
  info->environment = text_of(nw_environment_json());
  NwStatus status = NW_OK;
  if (info->config == NULL || info->environment == NULL)
    status = nw_fail(error, NW_NO_MEMORY, _("There is no memory to begin a run."));
  if (status == NW_OK)
    status = nw_history_create_run(self->history, info, error);
  if (status == NW_OK)
    status = write_run_json(info, error);
  if (status != NW_OK) {
    nw_run_info_free(info);
    return status;
  }
  self->info = info;
  return NW_OK;
}

/* The worker has its own copy of everything, so that the project can be edited while it trains. */
NwStatus nw_session_copy_parts(NwSession *self, NwProject *project, NwError *error)
{
  const char *obstacle = nw_project_obstacle(project, NULL);
  if (obstacle != NULL) {
    const NwNetworkReport *report = nw_project_report(project);
    if (report->status == NW_OK || strcmp(obstacle, report->error.text) != 0)
      return nw_fail(error, NW_BAD_DATA, "%s", obstacle);
    if (error != NULL)
      *error = report->error; /* with the block and the property */
    return report->status;
  }
  self->work.manifest = nw_manifest_copy(nw_project_manifest(project));
  self->work.weights = g_strdup(nw_project_weights(project, &self->work.weights_by_order));
  self->work.preprocessing = nw_preprocessing_copy(nw_project_preprocessing(project));
  return nw_train_config_copy(nw_project_config(project), &self->work.config, error);
}

NwStatus nw_session_start(NwSession *session, NwProject *project, const char *name, NwError *error)
{
  NW_TRY(nw_session_refuse_active(session, error));
  nw_session_forget(session);
  NwRunObserver observer = nw_session_observer(session);
  NwStatus status = nw_session_copy_parts(session, project, error);
  if (status == NW_OK)
    status = register_run(session, project, name, error);
  if (status == NW_OK) {
    session->progress.epochs = session->work.config.epochs;
    status =
        nw_work_build(&session->work, nw_project_network(project), session->info->folder, &observer, error);
    if (status != NW_OK) { /* the run exists: it tells why it never began */
      session->result = error != NULL ? *error : (NwError){.status = status};
      nw_session_close_run(session, status);
    }
  }
  if (status != NW_OK) {
    nw_work_clear(&session->work);
    return status;
  }
  nw_session_launch(session);
  return NW_OK;
}

/* ---- commands and answers ---- */

void nw_session_pause(NwSession *session)
{
  if (session->thread != NULL && session->work.trainer != NULL)
    nw_trainer_pause(session->work.trainer);
}

void nw_session_continue(NwSession *session)
{
  if (session->thread != NULL && session->work.trainer != NULL)
    nw_trainer_continue(session->work.trainer);
}

void nw_session_stop(NwSession *session)
{
  if (session->thread != NULL && session->work.trainer != NULL)
    nw_trainer_stop(session->work.trainer);
}

void nw_session_set_lr(NwSession *session, double lr)
{
  if (session->thread != NULL && session->work.trainer != NULL)
    nw_trainer_set_lr(session->work.trainer, lr);
}

void nw_session_wait(NwSession *session)
{
  if (session->thread == NULL)
    return;
  /* The worker's last event is drained here, so that the answers below are right at once. */
  while (session->thread != NULL) {
    NwTrainerState state = atomic_load(&session->state);
    gboolean over = state == NW_TRAINER_FINISHED || state == NW_TRAINER_STOPPED || state == NW_TRAINER_FAILED;
    nw_session_drain(session);
    if (!over)
      g_usleep(2000);
  }
}

gboolean nw_session_is_active(NwSession *session)
{
  return session->thread != NULL;
}

NwTrainerState nw_session_state(NwSession *session)
{
  return session->shown;
}

const NwError *nw_session_error(NwSession *session)
{
  return session->error.status != NW_OK ? &session->error : NULL;
}

const char *nw_session_run(NwSession *session)
{
  return session->info != NULL ? session->info->id : NULL;
}

const NwSessionProgress *nw_session_progress(NwSession *session)
{
  return &session->progress;
}

const GArray *nw_session_series(NwSession *session, const char *metric)
{
  return g_hash_table_lookup(session->series, metric);
}

void nw_session_listen(NwSession *session, const NwSessionListener *listener, gpointer data)
{
  session->listener = listener != NULL ? *listener : (NwSessionListener){0};
  session->listener_data = data;
}

/* ---- object ---- */

/* The last owner has gone: the training stops, resumable. What the worker still tells is dropped. Here and
 * not in finalize, because the worker may be taking a reference right now. */
static void nw_session_dispose(GObject *object)
{
  NwSession *self = NW_SESSION(object);
  atomic_store(&self->deaf, TRUE);
  if (self->thread != NULL) {
    nw_trainer_stop(self->work.trainer);
    g_thread_join(self->thread);
    self->thread = NULL;
    nw_work_clear(&self->work);
  }
  G_OBJECT_CLASS(nw_session_parent_class)->dispose(object);
}

static void nw_session_finalize(GObject *object)
{
  NwSession *self = NW_SESSION(object);
  NwSessionEvent event;
  while (nw_ring_pop(self->ring, &event))
    g_free(event.text);
  nw_run_info_free(self->info);
  g_hash_table_unref(self->series);
  g_free(self->ring);
  g_main_context_unref(self->context);
  G_OBJECT_CLASS(nw_session_parent_class)->finalize(object);
}

static void nw_session_class_init(NwSessionClass *klass)
{
  static const char *const names[] = {"state-changed", "progress", "remark", "finished"};
  G_OBJECT_CLASS(klass)->dispose = nw_session_dispose;
  G_OBJECT_CLASS(klass)->finalize = nw_session_finalize;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    signals[i] = i == NW_SESSION_REMARK ? g_signal_new(names[i], NW_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL,
                                                       NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING)
                                        : g_signal_new(names[i], NW_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL,
                                                       NULL, NULL, G_TYPE_NONE, 0);
}

static void nw_session_init(NwSession *self)
{
  self->ring = g_new0(NwRing, 1);
  self->context = g_main_context_ref_thread_default();
  self->series = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
  self->progress =
      (NwSessionProgress){.best_val_accuracy = NAN, .loss = NAN, .accuracy = NAN, .seconds_left = NAN};
}

NwSession *nw_session_new(NwHistory *history)
{
  NwSession *self = g_object_new(NW_TYPE_SESSION, NULL);
  self->history = history;
  return self;
}
