#include "app/cli/load.h"

#include <string.h>

#include "engine/io/weights.h"
#include "engine/train/checkpoint.h"

void nw_trained_clear(NwTrained *trained)
{
  nw_model_free(trained->model);
  nw_preprocessing_free(trained->preprocessing);
  g_clear_pointer(&trained->classes, g_ptr_array_unref);
  nw_run_info_free(trained->run);
  *trained = (NwTrained){0};
}

const char *nw_trained_class(const NwTrained *trained, guint index)
{
  static char number[16];
  if (index < trained->classes->len)
    return g_ptr_array_index(trained->classes, index);
  g_snprintf(number, sizeof number, "%u", index);
  return number;
}

NwNormalization nw_trained_normalization(const NwTrained *trained)
{
  NwNormalization out = {0};
  for (int c = 0; c < 4; c++) {
    out.mean[c] = trained->preprocessing->mean[c];
    out.deviation[c] = trained->preprocessing->deviation[c];
  }
  return out;
}

static NwStatus read_extra(const NwJson *json, NwTrained *out, NwError *error)
{
  const NwJson *extra = nw_json_get(json, "extra"), *classes = nw_json_get(extra, "classes");
  out->classes = g_ptr_array_new_with_free_func(g_free);
  for (size_t i = 0; i < nw_json_length(classes); i++)
    g_ptr_array_add(out->classes, g_strdup(nw_json_text(nw_json_at(classes, i))));
  return nw_preprocessing_from_json(nw_json_get(extra, "preprocessing"), &out->preprocessing, error);
}

static char *checkpoint_path(const NwRunInfo *info, const char *checkpoint)
{
  g_autofree char *file = g_strconcat(checkpoint, ".pth", NULL);
  char *path = g_build_filename(info->folder, file, NULL);
  if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
    g_free(path);
    path = g_build_filename(info->folder, "last.pth", NULL);
  }
  return path;
}

/* A file that is no checkpoint may be one of weights alone: that is worth saying. */
static NwStatus explain(const char *path, NwStatus status, NwError *error)
{
  NwWeights *weights = NULL;
  if (status != NW_BAD_FORMAT || nw_weights_open(path, &weights, NULL) != NW_OK)
    return status;
  nw_fail(
      error, status,
      _("%s is not a checkpoint of Netwright: it holds weights (%s), but no network. Give a run, or the file "
        "best.pth or last.pth of one; `netwright new --weights` begins a training with such weights."),
      path, nw_weights_format(weights));
  nw_weights_close(weights);
  return status;
}

int nw_cli_load(NwHistory *history, const char *word, const char *checkpoint, NwTrained *out)
{
  NwError error = {0};
  NwStatus status = NW_OK;
  g_autofree char *path = NULL;
  NwJson *json = NULL;
  *out = (NwTrained){0};
  if (g_file_test(word, G_FILE_TEST_IS_REGULAR)) {
    path = g_strdup(word);
  } else if (strchr(word, '/') != NULL || g_str_has_suffix(word, ".pth")) {
    status = nw_fail(&error, NW_NOT_FOUND, _("There is no file %s"), word);
  } else {
    status = nw_history_find(history, word, &out->run, &error);
    if (status == NW_OK)
      path = checkpoint_path(out->run, checkpoint);
  }
  if (status == NW_OK)
    status = explain(path, nw_checkpoint_read_model(path, &out->model, &json, &error), &error);
  if (status == NW_OK)
    status = read_extra(json, out, &error);
  nw_json_free(json);
  if (status == NW_OK)
    return NW_EXIT_DONE;
  nw_trained_clear(out);
  return nw_cli_fail(status, &error);
}
