/* What a training is made of: loaders, model, trainer. */
#include "app/session-internal.h"
#include "engine/io/weight-plan.h"

void nw_work_clear(NwWork *work)
{
  nw_trainer_free(work->trainer);
  nw_loader_free(work->train);
  nw_loader_free(work->validation);
  nw_model_free(work->model);
  nw_train_config_clear(&work->config);
  nw_preprocessing_free(work->preprocessing);
  nw_manifest_free(work->manifest);
  nw_json_free(work->extra);
  g_free(work->class_counts);
  g_free(work->weights);
  *work = (NwWork){0};
}

static NwJson *make_extra(const NwManifest *manifest, const NwPreprocessing *preprocessing)
{
  NwJson *extra = nw_json_object(), *classes = nw_json_array(), *dataset = nw_json_object();
  for (guint i = 0; i < manifest->classes->len; i++) {
    g_autofree char *name = g_utf8_make_valid(g_ptr_array_index(manifest->classes, i), -1);
    nw_json_append(classes, nw_json_string(name));
  }
  nw_json_set(extra, "classes", classes);
  nw_json_set(extra, "preprocessing", nw_preprocessing_to_json(preprocessing));
  nw_json_set_string(dataset, "digest", manifest->digest);
  nw_json_set_int(dataset, "pictures", (gint64)manifest->pictures->len);
  nw_json_set(extra, "dataset", dataset);
  return extra;
}

static NwStatus build_loaders(NwWork *work, NwError *error)
{
  guint64 seed = work->config.seed;
  NW_TRY(
      nw_loader_new(work->manifest, NW_SPLIT_TRAIN, work->preprocessing, TRUE, seed, 0, &work->train, error));
  if (nw_manifest_count(work->manifest, NW_SPLIT_VAL, -1) == 0)
    return NW_OK;
  return nw_loader_new(work->manifest, NW_SPLIT_VAL, work->preprocessing, FALSE, seed, 0, &work->validation,
                       error);
}

NwStatus nw_work_build(NwWork *work, const NwNetwork *network, const char *folder,
                       const NwRunObserver *observer, NwError *error)
{
  const NwPreprocessing *p = work->preprocessing;
  guint classes = work->manifest->classes->len;
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, p->channels, p->height, p->width});
  NW_TRY(nw_model_new(network, &input, classes, work->config.seed, &work->model, error));
  if (work->weights != NULL) {
    g_autofree char *file = nw_project_weights_file(work->weights, error);
    if (file == NULL)
      return NW_NOT_FOUND;
    NW_TRY(nw_weights_load(file, work->model, work->weights_by_order, NULL, error));
  }
  NW_TRY(build_loaders(work, error));
  work->class_counts = g_new0(gint64, classes);
  for (guint c = 0; c < classes; c++)
    work->class_counts[c] = nw_manifest_count(work->manifest, NW_SPLIT_TRAIN, (int)c);
  work->extra = make_extra(work->manifest, p);
  NwTrainerSetup setup = {.model = work->model,
                          .config = &work->config,
                          .class_counts = work->class_counts,
                          .train = nw_loader_source(work->train),
                          .validation = work->validation != NULL ? nw_loader_source(work->validation) : NULL,
                          .observer = *observer,
                          .folder = folder,
                          .extra = work->extra};
  for (int c = 0; c < 4; c++) {
    setup.normalization.mean[c] = p->mean[c];
    setup.normalization.deviation[c] = p->deviation[c];
  }
  return nw_trainer_new(&setup, &work->trainer, error);
}
