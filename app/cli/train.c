/* netwright train DIR …, netwright train --template simplecnn --data FOLDER …, netwright resume RUN */
#include <stdio.h>
#include <string.h>

#include "app/cli/new.h"
#include "app/cli/run.h"
#include "engine/base/threads.h"

typedef struct Options {
  char *template_id, *data, *size, *name, *history, *device;
  char *epochs, *batch_size, *lr, *optimizer, *schedule, *seed, *loss;
  char **set;
  gint threads;
  gboolean json, exact;
  NwCliWeights weights;
} Options;

static void options_clear(Options *o)
{
  char *texts[] = {o->template_id, o->data, o->size,      o->name,     o->history, o->device, o->epochs,
                   o->batch_size,  o->lr,   o->optimizer, o->schedule, o->seed,    o->loss};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    g_free(texts[i]);
  g_strfreev(o->set);
  nw_cli_weights_clear(&o->weights);
}

static NwStatus set_one(NwProject *project, const char *key, const char *value, NwError *error)
{
  return value != NULL ? nw_project_set_config(project, key, value, error) : NW_OK;
}

static NwStatus apply_settings(NwProject *project, const Options *o, NwError *error)
{
  /* Rows before their attributes, so that --set optimizer.momentum finds its optimizer. */
  NW_TRY(set_one(project, "optimizer", o->optimizer, error));
  NW_TRY(set_one(project, "schedule", o->schedule, error));
  NW_TRY(set_one(project, "loss", o->loss, error));
  NW_TRY(set_one(project, "epochs", o->epochs, error));
  NW_TRY(set_one(project, "batch_size", o->batch_size, error));
  NW_TRY(set_one(project, "lr", o->lr, error));
  NW_TRY(set_one(project, "seed", o->seed, error));
  NW_TRY(set_one(project, "exact", o->exact ? "true" : NULL, error));
  for (char **item = o->set; item != NULL && *item != NULL; item++) {
    const char *equals = strchr(*item, '=');
    if (equals == NULL)
      return nw_fail(error, NW_BAD_ARGUMENT,
                     _("--set is written as key=value, such as optimizer.momentum=0.9; \"%s\" is not"),
                     *item);
    g_autofree char *key = g_strndup(*item, (gsize)(equals - *item));
    NW_TRY(nw_project_set_config(project, key, equals + 1, error));
  }
  return NW_OK;
}

static NwStatus open_any(const Options *o, const char *folder, NwProject **project, NwError *error)
{
  if (folder != NULL) {
    NW_TRY(nw_project_open(folder, project, error));
    return o->data != NULL ? nw_project_set_dataset(*project, o->data, error)
                           : nw_project_scan(*project, error);
  }
  *project = nw_project_new();
  nw_project_set_name(*project, o->template_id);
  return nw_cli_fill_project(*project, nw_template_find(o->template_id), o->data, o->size, error);
}

static int train(const Options *o, NwProject *project, NwHistory *history)
{
  NwError error = {0};
  NwCliRun run = {.session = nw_session_new(history), .json = o->json, .history = o->history};
  nw_cli_run_prepare(&run);
  NwStatus status = nw_session_start(run.session, project, o->name, &error);
  int code;
  if (status != NW_OK) {
    code = nw_cli_fail(status, &error);
  } else {
    const NwManifest *m = nw_project_manifest(project);
    if (!o->json) {
      printf(_("Run %s: %u pictures to train, %u to validate, %u classes\n"), nw_session_run(run.session),
             nw_manifest_count(m, NW_SPLIT_TRAIN, -1), nw_manifest_count(m, NW_SPLIT_VAL, -1),
             m->classes->len);
      fflush(stdout);
    }
    code = nw_cli_run_wait(&run);
    if (!o->json)
      nw_cli_print_problems(m, stdout, 10);
    else if (m->left_out > 0)
      nw_cli_print_problems(m, stderr, 10);
  }
  g_object_unref(run.session);
  return code;
}

static int check_device(const char *device)
{
  if (device == NULL || g_str_equal(device, "cpu") || g_str_equal(device, "auto"))
    return NW_EXIT_DONE;
  return nw_cli_usage("train", _("this build trains on the processor only: --device cpu, not \"%s\""),
                      device);
}

static int check_threads(const char *command, gint threads)
{
  return threads >= 0 ? NW_EXIT_DONE
                      : nw_cli_usage(command, _("--threads must be at least 1, not %d"), threads);
}

/* "sgd, adam, adamw": what there is to choose from, for the help. */
static char *names_of(NwGroup group)
{
  GString *names = g_string_new(NULL);
  const NwOp *op;
  for (size_t i = 0; (op = nw_op_at(i)) != NULL; i++)
    if (op->group == group && op->label != NULL)
      g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", op->id);
  return g_string_free(names, FALSE);
}

static char *names_of_schedules(void)
{
  GString *names = g_string_new(NULL);
  const NwSchedule *schedule;
  for (size_t i = 0; (schedule = nw_schedule_at(i)) != NULL; i++)
    g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", schedule->row.id);
  return g_string_free(names, FALSE);
}

int nw_cli_train(int argc, char **argv)
{
  Options o = {0};
  g_autofree char *optimizers = names_of(NW_GROUP_OPTIMIZER), *losses = names_of(NW_GROUP_LOSS),
                  *schedules = names_of_schedules();
  const GOptionEntry entries[] = {
      {"epochs", 'e', 0, G_OPTION_ARG_STRING, &o.epochs, N_("How often every picture is seen"), N_("N")},
      {"batch-size", 'b', 0, G_OPTION_ARG_STRING, &o.batch_size, N_("Pictures in one step"), N_("N")},
      {"lr", 0, 0, G_OPTION_ARG_STRING, &o.lr, N_("Learning rate"), N_("X")},
      {"optimizer", 'o', 0, G_OPTION_ARG_STRING, &o.optimizer, optimizers, N_("NAME")},
      {"schedule", 0, 0, G_OPTION_ARG_STRING, &o.schedule, schedules, N_("NAME")},
      {"loss", 0, 0, G_OPTION_ARG_STRING, &o.loss, losses, N_("NAME")},
      {"seed", 0, 0, G_OPTION_ARG_STRING, &o.seed, N_("Seed of all random numbers of the run"), N_("N")},
      {"device", 0, 0, G_OPTION_ARG_STRING, &o.device, N_("cpu"), N_("NAME")},
      {"threads", 0, 0, G_OPTION_ARG_INT, &o.threads, N_("Processor cores to use (default: all)"), N_("N")},
      {"name", 'n', 0, G_OPTION_ARG_STRING, &o.name, N_("Name of the run in the history"), N_("TEXT")},
      {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.set, N_("Any setting, such as optimizer.momentum=0.9"),
       N_("KEY=VALUE")},
      {"exact", 0, 0, G_OPTION_ARG_NONE, &o.exact, N_("No approximating kernels, no fusion: slower"), NULL},
      {"template", 't', 0, G_OPTION_ARG_STRING, &o.template_id, N_("Train a template without a project"),
       N_("NAME")},
      {"data", 'd', 0, G_OPTION_ARG_FILENAME, &o.data, N_("Folder of pictures"), N_("FOLDER")},
      {"size", 's', 0, G_OPTION_ARG_STRING, &o.size, N_("Size of the pictures the network sees"),
       N_("HxWxC")},
      NW_CLI_WEIGHTS_OPTIONS(o.weights),
      NW_CLI_HISTORY_OPTION(o.history),
      NW_CLI_JSON_OPTION(o.json),
      {NULL}};
  int code;
  NwError error = {0};
  NwProject *project = NULL;
  NwHistory *history = NULL;
  if (!nw_cli_parse("train", entries, &argc, &argv, 0, 1, &code))
    goto out;
  /* Inside a project's folder nobody should have to name it. */
  const char *folder = argc > 1 ? argv[1] : NULL;
  if (folder == NULL && o.template_id == NULL && g_file_test("project.json", G_FILE_TEST_EXISTS))
    folder = ".";
  if ((folder == NULL) == (o.template_id == NULL)) {
    code = nw_cli_usage("train", _("give either a project's folder or --template with --data"));
    goto out;
  }
  if (o.template_id != NULL && nw_template_find(o.template_id) == NULL) {
    code = nw_cli_no_template("train", o.template_id);
    goto out;
  }
  if (o.template_id != NULL && o.data == NULL) {
    code = nw_cli_usage("train", _("--template needs --data FOLDER"));
    goto out;
  }
  if (folder != NULL && o.size != NULL) {
    code = nw_cli_usage("train", _("--size goes with --template; a project has its size already"));
    goto out;
  }
  if ((code = check_device(o.device)) != NW_EXIT_DONE ||
      (code = check_threads("train", o.threads)) != NW_EXIT_DONE)
    goto out;
  if (o.threads > 0)
    nw_threads_set(o.threads);
  if (o.weights.pretrained && o.size == NULL && folder == NULL)
    o.size = g_strdup("224x224x3");
  NwStatus status = open_any(&o, folder, &project, &error);
  if (status == NW_OK)
    status = nw_cli_use_weights(project, o.template_id != NULL ? nw_template_find(o.template_id) : NULL,
                                &o.weights, o.json, &error);
  if (status == NW_OK)
    status = apply_settings(project, &o, &error);
  if (status != NW_OK) {
    code = nw_cli_fail(status, &error);
    goto out;
  }
  history = nw_cli_history(o.history, &code);
  if (history != NULL)
    code = train(&o, project, history);
out:
  nw_history_close(history);
  g_clear_object(&project);
  options_clear(&o);
  return code;
}

/* The same sums in the same order need the same number of threads as before, unless somebody asks for
 * another. */
static void use_threads(const NwRunInfo *info, gint wanted)
{
  NwJson *environment = NULL;
  gint64 before = 0;
  if (info->environment != NULL && nw_json_parse(info->environment, strlen(info->environment),
                                                 "the run's environment", &environment, NULL) == NW_OK)
    before = nw_json_get_int(environment, "threads", 0);
  nw_json_free(environment);
  if (wanted > 0 || before > 0)
    nw_threads_set(wanted > 0 ? wanted : (int)MIN(before, 1024));
}

int nw_cli_resume(int argc, char **argv)
{
  g_autofree char *folder = NULL;
  gboolean json = FALSE;
  gint epochs = G_MININT, threads = 0; /* G_MININT: not given */
  const GOptionEntry entries[] = {
      {"epochs", 'e', 0, G_OPTION_ARG_INT, &epochs, N_("Train on until this many epochs are done"), N_("N")},
      {"threads", 0, 0, G_OPTION_ARG_INT, &threads, N_("Processor cores to use (default: as before)"),
       N_("N")},
      NW_CLI_HISTORY_OPTION(folder),
      NW_CLI_JSON_OPTION(json),
      {NULL}};
  int code;
  if (!nw_cli_parse("resume", entries, &argc, &argv, 1, 1, &code) ||
      (code = check_threads("resume", threads)) != NW_EXIT_DONE)
    return code;
  if (epochs != G_MININT && epochs < 1)
    return nw_cli_usage("resume", _("--epochs must be at least 1, not %d"), epochs);
  NwHistory *history = nw_cli_history(folder, &code);
  if (history == NULL)
    return code;
  NwError error = {0};
  NwRunInfo *info = NULL;
  NwCliRun run = {.session = nw_session_new(history), .json = json, .history = folder};
  nw_cli_run_prepare(&run);
  NwStatus status = nw_history_find(history, argv[1], &info, &error);
  /* Of a run that failed, the last epochs may not be in its checkpoint: that one is not finished. */
  if (status == NW_OK && epochs > 0 && epochs <= info->epochs_done && info->state == NW_RUN_FINISHED)
    status = nw_fail(&error, NW_BAD_ARGUMENT, _("Run %s has done %d epochs already; ask for more than that"),
                     info->id, (int)info->epochs_done);
  if (status == NW_OK) {
    use_threads(info, threads);
    status = nw_session_resume(run.session, info->id,
                               epochs > info->epochs_done ? epochs - info->epochs_done : 0, &error);
  }
  nw_run_info_free(info);
  code = status == NW_OK ? nw_cli_run_wait(&run) : nw_cli_fail(status, &error);
  g_object_unref(run.session);
  nw_history_close(history);
  return code;
}
