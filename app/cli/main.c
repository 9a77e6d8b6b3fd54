/* netwright: finds the command, or opens the workbench. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/cli.h"
#include "engine/base/log.h"

static void print_log(NwLogLevel level, const char *text, void *owner)
{
  if (level >= NW_LOG_WARNING)
    fprintf(stderr, "netwright: %s\n", text);
}

static void print_help(FILE *to)
{
  const NwCommand *command;
  fprintf(to, "%s\n\n", _("Usage: netwright COMMAND [OPTION…]"));
  fprintf(
      to, "%s\n",
      _("Builds, trains, compares and exports image classifiers. Without a command it opens the workbench."));
  fprintf(to, "\n%s\n", _("Commands:"));
  for (guint i = 0; (command = nw_command_at(i)) != NULL; i++) {
    g_autofree char *arguments = nw_cli_fit(_(command->arguments), 20, TRUE);
    fprintf(to, "  %-9s %s %s\n", command->name, arguments, _(command->doc));
  }
  fprintf(to, "\n%s\n",
          _("`netwright COMMAND --help` tells the options of a command. RUN is an id, the beginning of one, "
            "its number, a name, or \"latest\"."));
  fprintf(to, "%s\n",
          _("Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 stopped by you and resumable."));
}

/* The workbench lies beside this program when built, or in the same folder when installed. */
static void open_workbench(void)
{
  static const char *const places[] = {"netwright-workbench", "../ui/netwright-workbench"};
  g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *folder = self != NULL ? g_path_get_dirname(self) : g_strdup(".");
  for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
    g_autofree char *path = g_build_filename(folder, places[i], NULL);
    if (access(path, X_OK) == 0)
      execl(path, path, (char *)NULL);
  }
}

static gboolean has_display(void)
{
  const char *x = g_getenv("DISPLAY"), *wayland = g_getenv("WAYLAND_DISPLAY");
  return (x != NULL && *x != '\0') || (wayland != NULL && *wayland != '\0');
}

int main(int argc, char **argv)
{
  nw_i18n_init();
  nw_log_set_sink(print_log, NULL);
  /* A limit of file size is told by the write that fails, not by a signal that ends everything. */
  signal(SIGXFSZ, SIG_IGN);
  if (argc < 2) {
    if (has_display())
      open_workbench();
    print_help(stdout);
    return NW_EXIT_DONE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    print_help(stdout);
    return NW_EXIT_DONE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("netwright %s\n", NW_VERSION);
    return NW_EXIT_DONE;
  }
  const NwCommand *command = nw_command_find(argv[1]);
  if (command == NULL) {
    fprintf(stderr, _("netwright: there is no command \"%s\"; `netwright --help` lists them\n"), argv[1]);
    return NW_EXIT_USAGE;
  }
  return command->run(argc - 1, argv + 1);
}
