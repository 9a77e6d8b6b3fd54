/* netwright eval RUN [--data FOLDER] [--json] */
#include <stdio.h>
#include <string.h>

#include "app/cli/load.h"
#include "data/loader.h"

/* The classes of another folder are matched by name: an index means nothing across folders. */
static NwStatus match_classes(NwManifest *manifest, const NwTrained *trained, NwError *error)
{
  g_autofree guint32 *to = g_new(guint32, MAX(manifest->classes->len, 1));
  for (guint i = 0; i < manifest->classes->len; i++) {
    /* as it stands in the checkpoint */
    g_autofree char *name = g_utf8_make_valid(g_ptr_array_index(manifest->classes, i), -1);
    guint k = 0;
    while (k < trained->classes->len && strcmp(g_ptr_array_index(trained->classes, k), name) != 0)
      k++;
    if (k == trained->classes->len)
      return nw_fail(error, NW_BAD_DATA,
                     _("The folder holds the class \"%s\", which the network does not know"), name);
    to[i] = k;
  }
  for (guint i = 0; i < manifest->pictures->len; i++) {
    NwPictureEntry *entry = &g_array_index(manifest->pictures, NwPictureEntry, i);
    entry->label = to[entry->label];
  }
  g_ptr_array_set_size(manifest->classes, 0);
  for (guint k = 0; k < trained->classes->len; k++)
    g_ptr_array_add(manifest->classes, g_strdup(g_ptr_array_index(trained->classes, k)));
  return NW_OK;
}

/* Without --data: the pictures the run was validated on. With it: the folder's validation part, or all of it.
 */
static NwStatus open_pictures(const NwTrained *trained, const char *data, NwManifest **out, NwSplit *split,
                              NwError *error)
{
  NwScanOptions options;
  nw_scan_options_init(&options);
  *split = NW_SPLIT_VAL;
  if (data == NULL) {
    if (trained->run == NULL)
      return nw_fail(error, NW_BAD_ARGUMENT, _("A file does not say where pictures are: give --data FOLDER"));
    NwJson *config = NULL;
    NW_TRY(nw_json_parse(trained->run->config, strlen(trained->run->config), "the run's settings", &config,
                         error));
    options.seed = (guint64)nw_json_get_int(nw_json_get(config, "dataset"), "split_seed", 42);
    options.val_share = nw_json_get_real(nw_json_get(config, "dataset"), "val_share", 0.2);
    nw_json_free(config);
    NW_TRY(nw_manifest_scan(trained->run->dataset_root, &options, out, error));
    if (g_strcmp0((*out)->digest, trained->run->dataset_digest) != 0)
      fprintf(stderr,
              _("netwright: The data set %s has changed since the run began: some of the pictures below may "
                "be ones it learned from.\n"),
              trained->run->dataset_root);
    return match_classes(*out, trained, error);
  }
  NW_TRY(nw_manifest_scan(data, &options, out, error));
  if (!(*out)->own_split)
    for (guint i = 0; i < (*out)->pictures->len; i++)
      g_array_index((*out)->pictures, NwPictureEntry, i).split = NW_SPLIT_VAL;
  return match_classes(*out, trained, error);
}

static void print_table(const NwTrained *trained, const int64_t *confusion, guint classes)
{
  printf("%-28s %9s %9s %9s\n", _("class"), _("pictures"), _("recall"), _("precision"));
  for (guint k = 0; k < classes; k++) {
    int64_t row = 0, column = 0, right = confusion[k * classes + k];
    for (guint j = 0; j < classes; j++) {
      row += confusion[k * classes + j];
      column += confusion[j * classes + k];
    }
    g_autofree char *name = nw_cli_fit(nw_trained_class(trained, k), 28, TRUE);
    printf("%s %9d %8.1f%% %8.1f%%\n", name, (int)row, row > 0 ? 100.0 * (double)right / (double)row : 0,
           column > 0 ? 100.0 * (double)right / (double)column : 0);
  }
}

static NwJson *confusion_json(const int64_t *confusion, guint classes)
{
  NwJson *rows = nw_json_array();
  for (guint i = 0; i < classes; i++) {
    NwJson *row = nw_json_array();
    for (guint j = 0; j < classes; j++)
      nw_json_append(row, nw_json_int(confusion[i * classes + j]));
    nw_json_append(rows, row);
  }
  return rows;
}

static int evaluate(const NwTrained *trained, const char *data, gboolean json)
{
  NwManifest *manifest = NULL;
  NwLoader *loader = NULL;
  NwSplit split;
  NwError error = {0};
  double loss = 0, accuracy = 0;
  guint classes = (guint)nw_model_classes(trained->model);
  g_autofree int64_t *confusion = g_new0(int64_t, (gsize)classes * classes);
  NwNormalization normalization = nw_trained_normalization(trained);
  NwStatus status = open_pictures(trained, data, &manifest, &split, &error);
  if (status == NW_OK)
    status = nw_loader_new(manifest, split, trained->preprocessing, FALSE, 0, 0, &loader, &error);
  if (status == NW_OK)
    status = nw_evaluate(trained->model, &normalization, nw_loader_source(loader), 64, &loss, &accuracy,
                         confusion, &error);
  gint64 pictures = status == NW_OK ? nw_loader_source(loader)->count : 0;
  nw_loader_free(loader);
  nw_manifest_free(manifest);
  if (status != NW_OK)
    return nw_cli_fail(status, &error);
  if (json) {
    NwJson *out = nw_json_object(), *names = nw_json_array();
    nw_json_set_int(out, "pictures", pictures);
    nw_json_set_real(out, "loss", loss);
    nw_json_set_real(out, "accuracy", accuracy);
    for (guint k = 0; k < classes; k++)
      nw_json_append(names, nw_json_string(nw_trained_class(trained, k)));
    nw_json_set(out, "classes", names);
    nw_json_set(out, "confusion", confusion_json(confusion, classes));
    nw_cli_print_json(out);
  } else {
    printf(_("%d pictures: loss %.4f, accuracy %.2f %%\n"), (int)pictures, loss, accuracy * 100);
    print_table(trained, confusion, classes);
  }
  return NW_EXIT_DONE;
}

int nw_cli_eval(int argc, char **argv)
{
  g_autofree char *data = NULL, *folder = NULL, *checkpoint = NULL;
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
      {"data", 'd', 0, G_OPTION_ARG_FILENAME, &data, N_("Other pictures with the same classes"),
       N_("FOLDER")},
      {"checkpoint", 'c', 0, G_OPTION_ARG_STRING, &checkpoint, N_("best (default) or last"), N_("NAME")},
      NW_CLI_HISTORY_OPTION(folder),
      NW_CLI_JSON_OPTION(json),
      {NULL}};
  int code;
  NwTrained trained;
  if (!nw_cli_parse("eval", entries, &argc, &argv, 1, 1, &code))
    return code;
  if ((code = nw_cli_check_checkpoint("eval", checkpoint)) != NW_EXIT_DONE)
    return code;
  NwHistory *history = nw_cli_history(folder, &code);
  if (history == NULL)
    return code;
  code = nw_cli_load(history, argv[1], checkpoint != NULL ? checkpoint : "best", &trained);
  if (code == NW_EXIT_DONE) {
    code = evaluate(&trained, data, json);
    nw_trained_clear(&trained);
  }
  nw_history_close(history);
  return code;
}
