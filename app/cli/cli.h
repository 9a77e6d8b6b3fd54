/* The command line: a table of commands, one file each, and what they share. */
#pragma once

#include <gio/gio.h>
#include <stdio.h>

#include "app/i18n.h"
#include "app/project.h"
#include "app/session.h"

/* Exit codes of every command. */
enum { NW_EXIT_DONE = 0, NW_EXIT_FAILED = 1, NW_EXIT_USAGE = 2, NW_EXIT_BAD_INPUT = 3, NW_EXIT_STOPPED = 4 };

typedef struct NwCommand {
  const char *name;
  const char *arguments;             /* N_(): "DIR" */
  const char *doc;                   /* N_(): one sentence */
  const char *help;                  /* N_(): more, below the options; may be NULL */
  int (*run)(int argc, char **argv); /* argv[0]: the command's name */
} NwCommand;
const NwCommand *nw_command_find(const char *name);
const NwCommand *nw_command_at(guint index); /* NULL past the end */

/* Parses options of a command. On failure prints a hint and gives FALSE; the command returns NW_EXIT_USAGE.
 * --help prints and exits with *exit_code 0. The words that are no options stay in argv[1] … argv[*argc-1].
 */
gboolean nw_cli_parse(const char *command, const GOptionEntry *entries, int *argc, char ***argv,
                      int min_words, int max_words, int *exit_code);

/* Prints "netwright: sentence" to stderr and gives the exit code of the status. */
int nw_cli_fail(NwStatus status, const NwError *error);
int nw_cli_usage(const char *command, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Prints JSON on one line, flushes, frees it. */
void nw_cli_print_json(NwJson *json);
gboolean nw_cli_is_terminal(void); /* stdout */
guint nw_cli_columns(void);        /* of the terminal at stdout; 0 where there is none */

/* Text that steers no terminal: names of files and classes may come from an archive of somebody else. Valid
 * UTF-8, control characters as "?", but for line ends. Caller: g_free. */
char *nw_cli_plain(const char *text);
/* nw_cli_plain, brought to a width in columns of a terminal, where 图 takes two and printf counts three
 * bytes: blanks are added, and what is longer loses its middle, unless longer_stays. Caller: g_free. */
char *nw_cli_fit(const char *text, guint columns, gboolean longer_stays);
/* The text itself, or in quotes where a shell would take it for several words. Caller: g_free. */
char *nw_cli_shell_word(const char *text);

/* The history of --history, else the usual one. The sentence is printed on failure. */
NwHistory *nw_cli_history(const char *folder, int *exit_code);
#define NW_CLI_HISTORY_OPTION(variable)                                                                      \
  {                                                                                                          \
    "history", 0, 0, G_OPTION_ARG_FILENAME, &variable, N_("Folder of the run history"), N_("DIR")            \
  }
#define NW_CLI_JSON_OPTION(variable)                                                                         \
  {                                                                                                          \
    "json", 0, 0, G_OPTION_ARG_NONE, &variable, N_("Print JSON instead of text"), NULL                       \
  }

/* "netwright COMMAND RUN", with --history DIR where it was given: a line to copy. Caller: g_free. */
char *nw_cli_line(const char *command, const char *run, const char *history);
/* checkpoint: of --checkpoint, NULL allowed. NW_EXIT_DONE, or the usage printed. */
int nw_cli_check_checkpoint(const char *command, const char *checkpoint);

/* A project by folder, read and with its data set scanned; problems are printed to stderr. */
int nw_cli_open_project(const char *folder, gboolean scan, NwProject **out);
/* Lists what was left out, and the counts of remarks, as the last lines of a scan. */
void nw_cli_print_problems(const NwManifest *manifest, FILE *to, guint most);
/* "28x28x1", "224x224x3", "32": height × width × channels. */
gboolean nw_cli_parse_size(const char *text, guint *height, guint *width, guint *channels);

int nw_cli_new(int argc, char **argv);
int nw_cli_info(int argc, char **argv);
int nw_cli_scan(int argc, char **argv);
int nw_cli_train(int argc, char **argv);
int nw_cli_resume(int argc, char **argv);
int nw_cli_eval(int argc, char **argv);
int nw_cli_predict(int argc, char **argv);
int nw_cli_export(int argc, char **argv);
int nw_cli_runs(int argc, char **argv);
int nw_cli_layers(int argc, char **argv);
