/* netwright new DIR --template simplecnn [--data FOLDER] [--size 28x28x1] */
#include <stdio.h>
#include <string.h>

#include "app/cli/new.h"

static void print_templates(void)
{
  const NwTemplate *tmpl;
  for (size_t i = 0; (tmpl = nw_template_at(i)) != NULL; i++)
    printf("%-18s %s\n", tmpl->id, _(tmpl->doc));
}

int nw_cli_no_template(const char *command, const char *name)
{
  GString *names = g_string_new(NULL);
  const NwTemplate *tmpl;
  for (size_t i = 0; (tmpl = nw_template_at(i)) != NULL; i++)
    g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", tmpl->id);
  int code = nw_cli_usage(command, _("there is no template \"%s\"; there are %s"), name, names->str);
  g_string_free(names, TRUE);
  return code;
}

NwStatus nw_cli_fill_project(NwProject *project, const NwTemplate *tmpl, const char *data, const char *size,
                             NwError *error)
{
  guint channels = (guint)tmpl->channels, height = (guint)tmpl->height, width = (guint)tmpl->width;
  if (size != NULL && !nw_cli_parse_size(size, &height, &width, &channels))
    return nw_fail(error, NW_BAD_ARGUMENT,
                   _("--size is written as HEIGHTxWIDTHxCHANNELS, such as 28x28x1; \"%s\" is not"), size);
  NwPreprocessing *preprocessing = nw_preprocessing_new(channels, height, width);
  NwStatus status = nw_project_set_preprocessing(project, preprocessing, error);
  nw_preprocessing_free(preprocessing);
  if (status == NW_OK && data != NULL)
    status = nw_project_set_dataset(project, data, error);
  /* A size that was asked for stands, whatever size the pictures have; channels that were not asked for are
   * theirs: "--size 64" must not make colour pictures grey. */
  if (status == NW_OK && data != NULL && size != NULL) {
    channels = nw_project_preprocessing(project)->channels;
    nw_cli_parse_size(size, &height, &width, &channels);
    preprocessing = nw_preprocessing_new(channels, height, width);
    status = nw_project_set_preprocessing(project, preprocessing, error);
    nw_preprocessing_free(preprocessing);
    if (status == NW_OK)
      status = nw_project_measure_normalization(project, error);
  }
  return status == NW_OK ? nw_project_use_template(project, tmpl, error) : status;
}

void nw_cli_weights_clear(NwCliWeights *weights)
{
  g_free(weights->file);
  g_free(weights->match);
}

/* Pictures as these weights have seen them, and all but the new head frozen. */
static NwStatus prepare_lite0(NwProject *project, NwError *error)
{
  static const char text[] =
      "{\"channels\":3,\"height\":224,\"width\":224,"
      "\"train\":[{\"name\":\"Resize\",\"size\":256},{\"name\":\"CenterCrop\",\"size\":[224,224]}],"
      "\"eval\":[{\"name\":\"Resize\",\"size\":256},{\"name\":\"CenterCrop\",\"size\":[224,224]}],"
      "\"normalize\":{\"mean\":[0.5,0.5,0.5],\"std\":[0.5,0.5,0.5]}}";
  NwJson *json = NULL;
  NwPreprocessing *preprocessing = NULL;
  NW_TRY(nw_json_parse(text, strlen(text), "the preprocessing", &json, error));
  NwStatus status = nw_preprocessing_from_json(json, &preprocessing, error);
  nw_json_free(json);
  if (status == NW_OK)
    status = nw_project_set_preprocessing(project, preprocessing, error);
  nw_preprocessing_free(preprocessing);
  const NwNetwork *network = nw_project_network(project);
  for (int i = 0; i < nw_network_count(network) && status == NW_OK; i++) {
    const NwBlock *block = nw_network_at(network, i);
    if (!g_str_equal(block->name, "_fc") && block->op->group != NW_GROUP_INPUT)
      status = nw_project_set_frozen(project, block->id, TRUE, error);
  }
  return status;
}

NwStatus nw_cli_use_weights(NwProject *project, const NwTemplate *tmpl, const NwCliWeights *weights,
                            gboolean quiet, NwError *error)
{
  g_autofree char *report = NULL;
  const char *file = weights->file;
  gboolean by_order = g_strcmp0(weights->match, "order") == 0;
  if (weights->match != NULL && !by_order && !g_str_equal(weights->match, "name"))
    return nw_fail(error, NW_BAD_ARGUMENT, _("--match must be name or order, not \"%s\""), weights->match);
  if (weights->pretrained && file != NULL)
    return nw_fail(error, NW_BAD_ARGUMENT, _("give either --weights or --pretrained"));
  if (weights->pretrained) {
    if (tmpl == NULL || !g_str_equal(tmpl->id, "efficientnet-lite0"))
      return nw_fail(error, NW_BAD_ARGUMENT,
                     _("--pretrained is for efficientnet-lite0: only its weights come with this program"));
    NW_TRY(prepare_lite0(project, error));
    file = "shipped:efficientnet-lite0/efficientnet-lite0.safetensors";
  }
  if (file == NULL)
    return NW_OK;
  NwStatus status = nw_project_set_weights(project, file, by_order, &report, error);
  if (report != NULL && !quiet)
    fputs(report, stdout);
  return status;
}

int nw_cli_new(int argc, char **argv)
{
  NwCliWeights weights = {0};
  g_autofree char *template_id = NULL, *data = NULL, *size = NULL;
  gboolean list = FALSE;
  const GOptionEntry entries[] = {
      {"from", 'f', 0, G_OPTION_ARG_STRING, &template_id, N_("The same as --template"), N_("NAME")},
      NW_CLI_WEIGHTS_OPTIONS(weights),
      {"template", 't', 0, G_OPTION_ARG_STRING, &template_id, N_("What to begin with (default: simplecnn)"),
       N_("NAME")},
      {"data", 'd', 0, G_OPTION_ARG_FILENAME, &data,
       N_("Folder of pictures, archive of one, MNIST or CIFAR-10"), N_("FOLDER")},
      {"size", 's', 0, G_OPTION_ARG_STRING, &size, N_("Size of the pictures the network sees"), N_("HxWxC")},
      {"list", 'l', 0, G_OPTION_ARG_NONE, &list, N_("List the templates"), NULL},
      {NULL}};
  int code;
  if (!nw_cli_parse("new", entries, &argc, &argv, 0, 1, &code))
    return code;
  if (list) {
    print_templates();
    return NW_EXIT_DONE;
  }
  if (argc < 2)
    return nw_cli_usage("new", _("the project's folder is missing"));
  const NwTemplate *tmpl = nw_template_find(template_id != NULL ? template_id : "simplecnn");
  if (tmpl == NULL)
    return nw_cli_no_template("new", template_id);
  g_autoptr(NwProject) project = nw_project_new();
  g_autofree char *name = g_path_get_basename(argv[1]);
  NwError error = {0};
  nw_project_set_name(project, name);
  if (weights.pretrained && size == NULL) /* as these weights have seen pictures, whatever size the set has */
    size = g_strdup("224x224x3");
  NwStatus status = nw_cli_fill_project(project, tmpl, data, size, &error);
  if (status == NW_OK)
    status = nw_cli_use_weights(project, tmpl, &weights, FALSE, &error);
  nw_cli_weights_clear(&weights);
  if (status == NW_OK)
    status = nw_project_save_as(project, argv[1], &error);
  if (status != NW_OK)
    return nw_cli_fail(status, &error);
  const NwPreprocessing *seen = nw_project_preprocessing(project);
  g_autofree char *word = nw_cli_shell_word(argv[1]);
  printf(_("Made %s: %s"), argv[1], tmpl->label);
  printf(" (%u×%u×%u)", (guint)seen->height, (guint)seen->width, (guint)seen->channels);
  if (nw_project_manifest(project) != NULL) {
    const NwManifest *m = nw_project_manifest(project);
    printf(_(", %u classes, %u pictures to train, %u to validate"), m->classes->len,
           nw_manifest_count(m, NW_SPLIT_TRAIN, -1), nw_manifest_count(m, NW_SPLIT_VAL, -1));
    puts("");
    nw_cli_print_problems(m, stdout, 5);
  } else {
    puts("");
  }
  printf(_("Next: netwright train %s\n"), word);
  return NW_EXIT_DONE;
}
