/* Weights that a training begins with: chosen, tried, and kept by their path. */
#include <string.h>

#include "app/i18n.h"
#include "app/project-internal.h"
#include "app/shipped.h"
#include "engine/base/memory.h"
#include "engine/io/weight-plan.h"

char *nw_project_weights_file(const char *weights, NwError *error)
{
  static const char shipped[] = "shipped:";
  if (!g_str_has_prefix(weights, shipped))
    return g_strdup(weights);
  char *file = nw_shipped_file(weights + strlen(shipped));
  if (file == NULL)
    nw_fail(
        error, NW_NOT_FOUND,
        _("The weights %s that come with this program are not there; install its share folder, or name it in "
          "NETWRIGHT_SHARE"),
        weights + strlen(shipped));
  return file;
}

const char *nw_project_weights(NwProject *project, gboolean *by_order)
{
  if (by_order != NULL)
    *by_order = project->weights_by_order;
  return project->weights;
}

/* Into a model of this network that is thrown away. */
static NwStatus try_weights(NwProject *project, const char *file, gboolean by_order, char **report,
                            NwError *error)
{
  const NwPreprocessing *p = project->preprocessing;
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, p->channels, p->height, p->width});
  NwModel *model = NULL;
  NwText text = {0};
  NW_TRY(nw_model_new(project->network, &input, nw_project_classes(project), 0, &model, error));
  NwStatus status = nw_weights_load(file, model, by_order, &text, error);
  if (report != NULL && text.data != NULL)
    *report = g_strdup(text.data);
  nw_text_clear(&text);
  nw_model_free(model);
  return status;
}

NwStatus nw_project_set_weights(NwProject *project, const char *path, gboolean by_order, char **report,
                                NwError *error)
{
  g_autofree char *kept = NULL, *file = NULL;
  if (report != NULL)
    *report = NULL;
  if (path != NULL) {
    kept = g_str_has_prefix(path, "shipped:") ? g_strdup(path) : g_canonicalize_filename(path, NULL);
    file = nw_project_weights_file(kept, error);
    if (file == NULL)
      return NW_NOT_FOUND;
    NW_TRY(try_weights(project, file, by_order, report, error));
  }
  g_free(project->weights);
  project->weights = g_steal_pointer(&kept);
  project->weights_by_order = by_order;
  nw_project_emit(project, NW_SETTINGS_CHANGED);
  return NW_OK;
}
