/* netwright export RUN --format weights|torchscript --output FILE [--checkpoint best|last] */
#include <stdio.h>
#include <string.h>

#include "app/cli/cli.h"
#include "app/export.h"

static int no_format(const char *name)
{
  GString *names = g_string_new(name == NULL ? "--format " : NULL);
  const NwExportFormat *format;
  for (guint i = 0; (format = nw_export_format_at(i)) != NULL; i++)
    g_string_append_printf(names, "%s%s", i == 0 ? "" : name == NULL ? "|" : ", ", format->id);
  int code = name == NULL
                 ? nw_cli_usage("export", _("%s is missing"), names->str)
                 : nw_cli_usage("export", _("--format must be one of %s, not \"%s\""), names->str, name);
  g_string_free(names, TRUE);
  return code;
}

static const char *format_of_name(const char *output)
{
  const NwExportFormat *format;
  const char *dot = strrchr(output, '.');
  for (guint i = 0; dot != NULL && (format = nw_export_format_at(i)) != NULL; i++)
    if (g_str_equal(dot + 1, format->extension))
      return format->id;
  return g_strcmp0(dot, ".ts") == 0 ? "torchscript" : NULL;
}

int nw_cli_export(int argc, char **argv)
{
  g_autofree char *format_id = NULL, *output = NULL, *checkpoint = NULL, *folder = NULL, *report = NULL;
  const GOptionEntry entries[] = {
      {"format", 'f', 0, G_OPTION_ARG_STRING, &format_id,
       N_("weights (state_dict), torchscript, onnx, safetensors or npz"), N_("NAME")},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, N_("File to write"), N_("FILE")},
      {"checkpoint", 'c', 0, G_OPTION_ARG_STRING, &checkpoint, N_("best (default) or last"), N_("NAME")},
      NW_CLI_HISTORY_OPTION(folder),
      {NULL}};
  int code;
  if (!nw_cli_parse("export", entries, &argc, &argv, 1, 1, &code))
    return code;
  /* Without --format the file's name tells: PyTorch's habit is .pt or .ts for TorchScript, .pth for weights.
   */
  if (format_id == NULL && output != NULL)
    format_id = g_strdup(format_of_name(output));
  const NwExportFormat *format = nw_export_format_find(format_id);
  if (output == NULL)
    return nw_cli_usage("export", _("--output FILE is missing"));
  if (format == NULL)
    return no_format(format_id);
  if ((code = nw_cli_check_checkpoint("export", checkpoint)) != NW_EXIT_DONE)
    return code;
  NwHistory *history = nw_cli_history(folder, &code);
  if (history == NULL)
    return code;
  NwError error = {0};
  NwStatus status = nw_export_run(history, argv[1], checkpoint != NULL ? checkpoint : "best", format, output,
                                  &report, &error);
  if (status == NW_OK)
    printf("%s\n%s\n", output, report);
  nw_history_close(history);
  return status == NW_OK ? NW_EXIT_DONE : nw_cli_fail(status, &error);
}
