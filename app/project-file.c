/* The project as text: what is saved, what undo keeps, and how it is read again. */
#include <string.h>
#include "app/i18n.h"

#include "app/project-internal.h"
#include "engine/base/file.h"
#include "engine/base/memory.h"

static NwJson *state_json(NwProject *project)
{
  NwJson *json = nw_json_object();
  if (nw_json_set(json, "network", nw_network_to_json(project->network)) &&
      nw_json_set(json, "preprocessing", nw_preprocessing_to_json(project->preprocessing)) &&
      nw_json_set(json, "training", nw_train_config_to_json(&project->config)))
    return json;
  nw_json_free(json); /* half a project must not be saved as a whole one */
  return NULL;
}

static char *print_and_free(NwJson *json, bool pretty)
{
  char *text = nw_json_print(json, pretty);
  nw_json_free(json);
  return text;
}

char *nw_project_state_text(NwProject *project)
{
  return print_and_free(state_json(project), false);
}

NwJson *nw_project_to_json(NwProject *project)
{
  NwJson *json = nw_json_object(), *dataset = nw_json_object(), *state = state_json(project);
  static const char *const parts[] = {"preprocessing", "training", "network"};
  bool whole = state != NULL && nw_json_set_int(json, "netwright", NW_PROJECT_VERSION) &&
               nw_json_set_string(json, "name", project->name) &&
               nw_json_set_string(dataset, "path", project->dataset) &&
               nw_json_set_int(dataset, "split_seed", (gint64)project->split_seed) &&
               nw_json_set_real(dataset, "val_share", project->val_share) &&
               nw_json_set(json, "dataset", nw_json_copy(dataset));
  for (guint i = 0; i < G_N_ELEMENTS(parts) && whole; i++)
    whole = nw_json_set(json, parts[i], nw_json_copy(nw_json_get(state, parts[i])));
  if (whole && project->weights != NULL) {
    NwJson *weights = nw_json_object();
    whole = nw_json_set_string(weights, "path", project->weights) &&
            nw_json_set_bool(weights, "by_order", project->weights_by_order) &&
            nw_json_set(json, "weights", nw_json_copy(weights));
    nw_json_free(weights);
  }
  nw_json_free(state);
  nw_json_free(dataset);
  if (whole)
    return json;
  nw_json_free(json);
  return NULL;
}

char *nw_project_text(NwProject *project)
{
  return print_and_free(nw_project_to_json(project), true);
}

/* ---- reading ---- */

/* Reads all parts before it changes any. */
static NwStatus restore_json(NwProject *project, const NwJson *json, NwError *error)
{
  NwNetwork *network = NULL;
  NwPreprocessing *preprocessing = NULL;
  NwTrainConfig config = {0};
  NwStatus status = nw_network_from_json(nw_json_get(json, "network"), &network, error);
  if (status == NW_OK)
    status = nw_preprocessing_from_json(nw_json_get(json, "preprocessing"), &preprocessing, error);
  if (status == NW_OK)
    status = nw_train_config_from_json(nw_json_get(json, "training"), &config, error);
  if (status != NW_OK) {
    nw_network_free(network);
    nw_preprocessing_free(preprocessing);
    return status;
  }
  nw_network_free(project->network);
  nw_preprocessing_free(project->preprocessing);
  nw_train_config_clear(&project->config);
  project->network = network;
  project->preprocessing = preprocessing;
  project->config = config;
  return NW_OK;
}

gboolean nw_project_restore_text(NwProject *project, const char *text)
{
  NwJson *json = NULL;
  NwStatus status = nw_json_parse(text, strlen(text), "an undo step", &json, NULL);
  if (status == NW_OK)
    status = restore_json(project, json, NULL);
  nw_json_free(json);
  return status == NW_OK;
}

static NwStatus check_file(const NwJson *json, const char *path, NwError *error)
{
  gint64 version = nw_json_get_int(json, "netwright", 0);
  if (!nw_json_is_object(json) || version <= 0)
    return nw_fail(error, NW_BAD_FORMAT, _("%s is not a Netwright project"), path);
  if (version > NW_PROJECT_VERSION)
    return nw_fail(
        error, NW_TOO_NEW,
        _("%s was written by a newer Netwright (version %d, this one reads up to %d). It was left as it is"),
        path, (int)version, NW_PROJECT_VERSION);
  double share = nw_json_get_real(nw_json_get(json, "dataset"), "val_share", 0.2);
  if (!(share > 0 && share < 1))
    return nw_fail(error, NW_BAD_FORMAT, _("%s: the validation share is %g; it must lie between 0 and 1"),
                   path, share);
  if (!nw_json_is_object(nw_json_get(json, "network")))
    return nw_fail(error, NW_BAD_FORMAT, _("%s has no network: the file is not whole"), path);
  return NW_OK;
}

/* A path inside the project folder is kept relative to it, so that the folder can be moved. */
static char *resolve(const char *folder, const char *path)
{
  return path == NULL               ? NULL
         : g_path_is_absolute(path) ? g_strdup(path)
                                    : g_canonicalize_filename(path, folder);
}

static NwStatus load_json(NwProject *project, const NwJson *json, const char *folder, const char *what,
                          NwError *error)
{
  NW_TRY(check_file(json, what, error));
  NwStatus status = restore_json(project, json, error);
  if (status != NW_OK)
    return nw_error_prefix(error, status, "%s", what);
  const NwJson *dataset = nw_json_get(json, "dataset");
  g_autofree char *base = g_path_get_basename(folder != NULL ? folder : ".");
  g_free(project->name);
  project->name = g_strdup(nw_json_get_string(json, "name", base));
  project->dataset = resolve(folder != NULL ? folder : ".", nw_json_get_string(dataset, "path", NULL));
  const NwJson *weights = nw_json_get(json, "weights");
  const char *path = nw_json_get_string(weights, "path", NULL);
  g_free(project->weights);
  project->weights = path != NULL && g_str_has_prefix(path, "shipped:")
                         ? g_strdup(path)
                         : resolve(folder != NULL ? folder : ".", path);
  project->weights_by_order = nw_json_get_bool(weights, "by_order", false);
  project->split_seed = (guint64)nw_json_get_int(dataset, "split_seed", 42);
  project->val_share = nw_json_get_real(dataset, "val_share", 0.2);
  nw_project_check(project);
  return NW_OK;
}

static NwStatus load(NwProject *project, const char *folder, const char *path, NwError *error)
{
  NwJson *json = NULL;
  NwStatus status = nw_json_read(path, &json, error);
  if (status == NW_OK)
    status = load_json(project, json, folder, path, error);
  if (status == NW_OK) {
    project->folder = g_strdup(folder);
    project->saved = nw_project_text(project);
    nw_project_remember_opened(project);
  }
  nw_json_free(json);
  return status;
}

NwStatus nw_project_open_text(const char *text, const char *folder, NwProject **out, NwError *error)
{
  NwProject *project = nw_project_new();
  NwJson *json = NULL;
  NwStatus status = nw_json_parse(text, strlen(text), "the run's settings", &json, error);
  if (status == NW_OK)
    status = load_json(project, json, folder, "The run's settings", error);
  nw_json_free(json);
  *out = status == NW_OK ? project : NULL;
  if (status != NW_OK)
    g_object_unref(project);
  return status;
}

/* Whatever is wrong inside a project file, or keeps it from being read: it is the file that cannot be used.
 */
static NwStatus unreadable(NwStatus status, NwError *error)
{
  if (status == NW_OK || status == NW_TOO_NEW || status == NW_NOT_FOUND || status == NW_NO_MEMORY)
    return status;
  if (error != NULL)
    error->status = NW_BAD_FORMAT;
  return NW_BAD_FORMAT;
}

NwStatus nw_project_open(const char *folder, NwProject **out, NwError *error)
{
  g_autofree char *whole = g_canonicalize_filename(folder, NULL);
  /* The file itself serves as well as its folder. */
  if (g_str_has_suffix(whole, "/project.json")) {
    char *parent = g_path_get_dirname(whole);
    g_free(whole);
    whole = parent;
  }
  g_autofree char *path = g_build_filename(whole, "project.json", NULL);
  *out = NULL;
  if (!g_file_test(path, G_FILE_TEST_EXISTS))
    return nw_fail(error, NW_NOT_FOUND,
                   _("%s is not a project: it holds no project.json. `netwright new %s` makes one"), folder,
                   folder);
  NwProject *project = nw_project_new();
  NwStatus status = load(project, whole, path, error);
  if (status == NW_OK)
    *out = project;
  else
    g_object_unref(project);
  return unreadable(status, error);
}

static NwStatus write_to(NwProject *project, const char *folder, NwError *error)
{
  g_autofree char *path = g_build_filename(folder, "project.json", NULL);
  char *text = nw_project_text(project);
  if (text == NULL)
    return nw_fail(error, NW_NO_MEMORY, _("There is no memory to save the project"));
  NwStatus status = nw_make_folders(folder, error);
  if (status == NW_OK)
    status = nw_file_write(path, text, strlen(text), error);
  if (status != NW_OK) {
    nw_free(text);
    return status;
  }
  nw_free(project->saved);
  project->saved = text;
  return NW_OK;
}

NwStatus nw_project_save(NwProject *project, NwError *error)
{
  if (project->folder == NULL)
    return nw_fail(error, NW_BAD_STATE, _("The project has no folder yet: save it under a name first"));
  NW_TRY(nw_project_keep_previous(project, error));
  NW_TRY(write_to(project, project->folder, error));
  nw_project_emit(project, NW_HISTORY_CHANGED);
  return NW_OK;
}

NwStatus nw_project_save_as(NwProject *project, const char *folder, NwError *error)
{
  g_autofree char *whole = g_canonicalize_filename(folder, NULL);
  g_autofree char *file = g_build_filename(whole, "project.json", NULL);
  gboolean same = g_strcmp0(whole, project->folder) == 0;
  if (!same && g_file_test(file, G_FILE_TEST_EXISTS))
    return nw_fail(error, NW_EXISTS, _("%s holds a project already; choose another folder"), folder);
  NW_TRY(write_to(project, whole, error));
  if (!same) {
    g_free(project->folder);
    project->folder = g_steal_pointer(&whole);
  }
  nw_project_emit(project, NW_HISTORY_CHANGED);
  return NW_OK;
}
