/* netwright info DIR|FILE [--batch N] [--json], netwright info --machine */
#include <stdio.h>
#include <string.h>

#include "app/cli/cli.h"
#include "app/environment.h"
#include "engine/base/memory.h"
#include "engine/io/weights.h"
#include "engine/train/checkpoint.h"

static int machine(gboolean json)
{
  NwJson *environment = nw_environment_json();
  if (json) {
    nw_cli_print_json(environment);
    return NW_EXIT_DONE;
  }
  char *text = nw_json_print(environment, true);
  if (text != NULL)
    puts(text);
  nw_free(text);
  nw_json_free(environment);
  return NW_EXIT_DONE;
}

/* ---- a network ---- */

static void shape_text(const NwSpec *spec, char *text, gsize n)
{
  nw_spec_shape_text(spec, true, text, n);
}

static void print_block(const NwBlock *block, const NwBlockReport *report)
{
  char shape[96] = "-";
  if (report->reached && report->status == NW_OK)
    shape_text(&report->out, shape, sizeof shape);
  printf("  %-28s %-18s %-16s %12lld %14.0f\n", block->name, block->op->label, shape,
         (long long)report->parameters, report->macs);
  if (report->status != NW_OK)
    printf("    %s\n", report->error.text);
}

static NwJson *block_json(const NwBlock *block, const NwBlockReport *report)
{
  NwJson *json = nw_json_object();
  char shape[96] = "";
  if (report->reached && report->status == NW_OK)
    shape_text(&report->out, shape, sizeof shape);
  nw_json_set_string(json, "name", block->name);
  nw_json_set_string(json, "op", block->op->id);
  nw_json_set_string(json, "shape", shape);
  nw_json_set_int(json, "parameters", report->parameters);
  nw_json_set_real(json, "macs", report->macs);
  if (report->status != NW_OK)
    nw_json_set_string(json, "problem", report->error.text);
  return json;
}

static int print_network(const NwNetwork *network, const NwNetworkReport *report, gint64 batch, gboolean json)
{
  if (json) {
    NwJson *out = nw_json_object(), *blocks = nw_json_array();
    for (int i = 0; i < report->n_blocks; i++)
      nw_json_append(blocks, block_json(nw_network_at(network, i), &report->blocks[i]));
    nw_json_set(out, "blocks", blocks);
    nw_json_set_int(out, "parameters", report->parameters);
    nw_json_set_real(out, "macs", report->macs);
    nw_json_set_int(out, "batch", batch);
    nw_json_set_int(out, "training_bytes", report->training_bytes);
    nw_json_set_string(out, "problem", report->status != NW_OK ? report->error.text : NULL);
    nw_cli_print_json(out);
  } else {
    printf("  %-28s %-18s %-16s %12s %14s\n", _("block"), _("layer"), _("shape"), _("parameters"),
           _("multiply-adds"));
    for (int i = 0; i < report->n_blocks; i++)
      print_block(nw_network_at(network, i), &report->blocks[i]);
    printf(_("  in all: %lld parameters, %.0f multiply-adds a picture, about %.1f MB to train with batches "
             "of %d\n"),
           (long long)report->parameters, report->macs, (double)report->training_bytes / 1e6, (int)batch);
  }
  if (report->status == NW_OK)
    return NW_EXIT_DONE;
  return nw_cli_fail(report->status, &report->error);
}

static int check_and_print(const NwNetwork *network, NwSpec input, gint64 classes, gboolean json)
{
  NwNetworkReport report = {0};
  NwError error = {0};
  NwStatus status = nw_network_check(network, &input, classes, &report, &error);
  int code =
      status == NW_OK ? print_network(network, &report, input.dims[0], json) : nw_cli_fail(status, &error);
  nw_network_report_clear(&report);
  return code;
}

static int info_project(const char *folder, gint64 batch, gboolean json)
{
  NwProject *project = NULL;
  int code = nw_cli_open_project(folder, FALSE, &project);
  if (code != NW_EXIT_DONE)
    return code;
  const NwPreprocessing *p = nw_project_preprocessing(project);
  batch = batch > 0 ? batch : nw_project_config(project)->batch_size;
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){batch, p->channels, p->height, p->width});
  if (!json)
    printf(_("Project %s: pictures of %u×%u×%u, data set %s\n"), nw_project_name(project), p->channels,
           p->height, p->width,
           nw_project_dataset(project) != NULL ? nw_project_dataset(project) : _("none yet"));
  code = check_and_print(nw_project_network(project), input, 0, json);
  g_object_unref(project);
  return code;
}

/* ---- a file ---- */

static void print_weight(const NwWeight *weight, NwJson *out)
{
  char shape[96];
  /* names come from the file: no text perhaps, or one that steers a terminal */
  g_autofree char *valid = out == NULL ? nw_cli_plain(weight->name) : g_utf8_make_valid(weight->name, -1);
  nw_spec_shape_text(&weight->spec, false, shape, sizeof shape);
  if (out == NULL) {
    printf("  %-44s %-20s %s%s%s\n", valid, shape, weight->dtype, weight->reason != NULL ? "  " : "",
           weight->reason != NULL ? weight->reason : "");
    return;
  }
  NwJson *one = nw_json_object(), *dims = nw_json_array();
  nw_json_set_string(one, "name", valid);
  nw_json_set_string(one, "shape", shape);
  for (int i = 0; i < weight->spec.ndim; i++)
    nw_json_append(dims, nw_json_int(weight->spec.dims[i]));
  nw_json_set(one, "dims", dims);
  nw_json_set_string(one, "dtype", weight->dtype);
  if (weight->reason != NULL)
    nw_json_set_string(one, "problem", weight->reason);
  nw_json_append(out, one);
}

static int info_weights(const char *path, gboolean json)
{
  NwWeights *weights = NULL;
  NwError error = {0};
  NwStatus status = nw_weights_open(path, &weights, &error);
  if (status != NW_OK)
    return nw_cli_fail(status, &error);
  int n = nw_weights_count(weights);
  NwJson *out = json ? nw_json_array() : NULL;
  if (!json)
    printf(g_dngettext(NULL, "%s: %s, %d tensor\n", "%s: %s, %d tensors\n", (gulong)n), path,
           nw_weights_format(weights), n);
  for (int i = 0; i < n; i++)
    print_weight(nw_weights_at(weights, i), out);
  if (json)
    nw_cli_print_json(out);
  nw_weights_close(weights);
  return NW_EXIT_DONE;
}

static int info_file(const char *path, gint64 batch, gboolean json)
{
  NwModel *model = NULL;
  NwJson *about = NULL;
  NwError error = {0};
  /* One of our checkpoints knows its network; any other file shows its tensors. */
  if (nw_checkpoint_read_model(path, &model, &about, &error) != NW_OK)
    return info_weights(path, json);
  NwSpec input = nw_model_input(model);
  input.dims[0] = batch > 0 ? batch : 64;
  if (!json)
    printf(_("Checkpoint %s: epoch %d, step %d\n"), path,
           (int)nw_json_get_int(nw_json_get(about, "position"), "epoch", 0),
           (int)nw_json_get_int(nw_json_get(about, "position"), "step", 0));
  int code = check_and_print(nw_model_network(model), input, nw_model_classes(model), json);
  nw_json_free(about);
  nw_model_free(model);
  return code;
}

int nw_cli_info(int argc, char **argv)
{
  gboolean json = FALSE, of_machine = FALSE;
  gint batch = 0;
  const GOptionEntry entries[] = {
      {"batch", 'b', 0, G_OPTION_ARG_INT, &batch, N_("Batch size that memory is told for"), N_("N")},
      {"machine", 0, 0, G_OPTION_ARG_NONE, &of_machine,
       N_("This machine: processor, instruction set, libraries"), NULL},
      NW_CLI_JSON_OPTION(json),
      {NULL}};
  int code;
  if (!nw_cli_parse("info", entries, &argc, &argv, 0, 1, &code))
    return code;
  if (of_machine)
    return machine(json);
  if (argc < 2)
    return nw_cli_usage("info", _("a project's folder or a file is missing"));
  if (batch < 0)
    return nw_cli_usage("info", _("--batch must be at least 1"));
  return g_file_test(argv[1], G_FILE_TEST_IS_REGULAR) && !g_str_has_suffix(argv[1], "project.json")
             ? info_file(argv[1], batch, json)
             : info_project(argv[1], batch, json);
}
