#include "app/cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine/base/memory.h"

static const NwCommand commands[] = {
    {"new", N_("DIR"), N_("Make a project from a template"), NULL, nw_cli_new},
    {"info", N_("DIR|FILE"), N_("Show a network: shapes, parameters, cost, memory"), NULL, nw_cli_info},
    {"scan", N_("FOLDER"), N_("List what is in a folder of pictures, and what is wrong with it"), NULL,
     nw_cli_scan},
    {"train", N_("[DIR]"), N_("Train a project, or a template on a folder"), NULL, nw_cli_train},
    {"resume", N_("RUN"), N_("Go on with a run exactly where its last checkpoint stands"), NULL,
     nw_cli_resume},
    {"eval", N_("RUN"), N_("Measure a run on its validation pictures, or on a folder"), NULL, nw_cli_eval},
    {"predict", N_("RUN|FILE PICTURE…"), N_("Say what is on pictures"), NULL, nw_cli_predict},
    {"export", N_("RUN"), N_("Write a trained network for PyTorch"), NULL, nw_cli_export},
    {"runs", N_("list|show|compare|…"), N_("Look through the history of runs"),
     N_("  list                    all runs, newest first\n"
        "  show RUN                settings, events, results\n"
        "  compare RUN RUN…        settings that differ, and results\n"
        "  rename RUN NAME         another name\n"
        "  tag RUN TEXT            words to find it by\n"
        "  delete RUN              into the trash; its files stay\n"
        "  restore RUN             out of the trash"),
     nw_cli_runs},
    {"layers", N_("[NAME]"), N_("The manual of all layers, or of one"), NULL, nw_cli_layers},
};

const NwCommand *nw_command_at(guint index)
{
  return index < G_N_ELEMENTS(commands) ? &commands[index] : NULL;
}

const NwCommand *nw_command_find(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
    if (strcmp(commands[i].name, name) == 0)
      return &commands[i];
  return NULL;
}

int nw_cli_usage(const char *command, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *text = g_strdup_vprintf(format, args);
  va_end(args);
  fprintf(stderr, _("netwright %s: %s\n`netwright %s --help` shows how it is used.\n"), command, text,
          command);
  return NW_EXIT_USAGE;
}

gboolean nw_cli_parse(const char *command, const GOptionEntry *entries, int *argc, char ***argv,
                      int min_words, int max_words, int *exit_code)
{
  const NwCommand *row = nw_command_find(command);
  g_autoptr(GError) error = NULL;
  g_autofree char *whole = g_strdup_printf("netwright %s", command);
  GOptionContext *context = g_option_context_new(row != NULL ? _(row->arguments) : "");
  *exit_code = NW_EXIT_DONE;
  g_set_prgname(whole);
  if (row != NULL)
    g_option_context_set_summary(context, _(row->doc));
  if (row != NULL && row->help != NULL)
    g_option_context_set_description(context, _(row->help));
  g_option_context_add_main_entries(context, entries, "netwright");
  gboolean ok = g_option_context_parse(context, argc, argv, &error);
  g_option_context_free(context);
  if (!ok) {
    *exit_code = nw_cli_usage(command, "%s", error->message);
    return FALSE;
  }
  /* "--" ends options; GOption leaves it. */
  for (int i = 1; i < *argc; i++)
    if (strcmp((*argv)[i], "--") == 0) {
      memmove(&(*argv)[i], &(*argv)[i + 1], sizeof(char *) * (size_t)(*argc - i));
      (*argc)--;
      break;
    }
  int words = *argc - 1;
  if (words < min_words) {
    *exit_code = nw_cli_usage(command, _("%s is missing"), row != NULL ? _(row->arguments) : _("a word"));
    return FALSE;
  }
  if (max_words >= 0 && words > max_words) {
    *exit_code = nw_cli_usage(command, _("\"%s\" is one word too many"), (*argv)[1 + max_words]);
    return FALSE;
  }
  return TRUE;
}

static int exit_code_of(NwStatus status)
{
  switch (status) {
  case NW_OK:
    return NW_EXIT_DONE;
  case NW_CANCELLED:
    return NW_EXIT_STOPPED;
  case NW_BAD_FORMAT:
  case NW_BAD_DATA:
  case NW_NOT_FOUND:
  case NW_TOO_NEW:
  case NW_BAD_SHAPE:
    return NW_EXIT_BAD_INPUT;
  case NW_BAD_ARGUMENT:
    return NW_EXIT_USAGE;
  default:
    return NW_EXIT_FAILED;
  }
}

char *nw_cli_plain(const char *text)
{
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  GString *out = g_string_new(NULL);
  for (const char *p = valid; *p != '\0'; p = g_utf8_next_char(p)) {
    gunichar c = g_utf8_get_char(p);
    g_string_append_unichar(out, g_unichar_iscntrl(c) && c != '\n' ? '?' : c);
  }
  return g_string_free(out, FALSE);
}

int nw_cli_fail(NwStatus status, const NwError *error)
{
  g_autofree char *text = nw_cli_plain(error->text[0] != '\0' ? error->text : nw_status_text(status));
  fflush(stdout);
  fprintf(stderr, "netwright: %s\n", text);
  return exit_code_of(status);
}

void nw_cli_print_json(NwJson *json)
{
  char *text = nw_json_print(json, false);
  if (text != NULL)
    puts(text);
  fflush(stdout);
  nw_free(text);
  nw_json_free(json);
}

gboolean nw_cli_is_terminal(void)
{
  return isatty(STDOUT_FILENO);
}

guint nw_cli_columns(void)
{
  struct winsize size;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static guint columns_of(gunichar c)
{
  return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

static guint columns_of_text(const char *text)
{
  guint columns = 0;
  for (const char *p = text; *p != '\0'; p = g_utf8_next_char(p))
    columns += columns_of(g_utf8_get_char(p));
  return columns;
}

/* The end of a path tells most, so the middle goes: a third stays at the front. */
static void drop_middle(GString *out, const char *text, guint columns)
{
  guint front = 0, back = 0;
  const char *head = text, *tail = text + strlen(text);
  while (front + columns_of(g_utf8_get_char(head)) <= (columns - 1) / 3) {
    front += columns_of(g_utf8_get_char(head));
    head = g_utf8_next_char(head);
  }
  for (const char *p = g_utf8_prev_char(tail);; p = g_utf8_prev_char(p)) {
    back += columns_of(g_utf8_get_char(p));
    if (front + 1 + back > columns)
      break;
    tail = p;
  }
  g_string_append_len(out, text, head - text);
  g_string_append(out, "…");
  g_string_append(out, tail);
}

char *nw_cli_fit(const char *text, guint columns, gboolean longer_stays)
{
  g_autofree char *valid = nw_cli_plain(text);
  GString *out = g_string_new(NULL);
  if (columns_of_text(valid) <= columns || longer_stays || columns < 2)
    g_string_append(out, valid);
  else
    drop_middle(out, valid, columns);
  for (guint n = columns_of_text(out->str); n < columns; n++)
    g_string_append_c(out, ' ');
  return g_string_free(out, FALSE);
}

char *nw_cli_shell_word(const char *text)
{
  for (const char *p = text; *p != '\0'; p++)
    if (!g_ascii_isalnum(*p) && strchr("/._-+:,@%=", *p) == NULL && (guchar)*p < 128)
      return g_shell_quote(text);
  return *text == '\0' || *text == '-' ? g_shell_quote(text) : g_strdup(text);
}

NwHistory *nw_cli_history(const char *folder, int *exit_code)
{
  NwHistory *history = NULL;
  NwError error = {0};
  NwStatus status = nw_history_open(folder, &history, &error);
  *exit_code = status == NW_OK ? NW_EXIT_DONE : nw_cli_fail(status, &error);
  return history;
}

char *nw_cli_line(const char *command, const char *run, const char *history)
{
  g_autofree char *folder = history != NULL ? nw_cli_shell_word(history) : NULL;
  return g_strdup_printf("netwright %s %s%s%s", command, run, folder != NULL ? " --history " : "",
                         folder != NULL ? folder : "");
}

int nw_cli_check_checkpoint(const char *command, const char *checkpoint)
{
  if (checkpoint == NULL || g_str_equal(checkpoint, "best") || g_str_equal(checkpoint, "last"))
    return NW_EXIT_DONE;
  return nw_cli_usage(command, _("--checkpoint must be best or last, not \"%s\""), checkpoint);
}

int nw_cli_open_project(const char *folder, gboolean scan, NwProject **out)
{
  NwError error = {0};
  NwStatus status = nw_project_open(folder, out, &error);
  if (status == NW_OK && scan) {
    status = nw_project_scan(*out, &error);
    if (status != NW_OK)
      g_clear_object(out);
  }
  return status == NW_OK ? NW_EXIT_DONE : nw_cli_fail(status, &error);
}

void nw_cli_print_problems(const NwManifest *manifest, FILE *to, guint most)
{
  guint shown = 0;
  for (guint i = 0; i < manifest->problems->len; i++) {
    const NwProblem *problem = g_ptr_array_index(manifest->problems, i);
    if (shown++ == most) {
      fprintf(to, _("  … and %u more; `netwright scan` lists them all\n"), manifest->problems->len - most);
      break;
    }
    g_autofree char *text = nw_cli_plain(problem->text);
    fprintf(to, "  %s %s\n", problem->left_out ? _("left out:") : _("note:"), text);
  }
  if (manifest->left_out > 0)
    fprintf(
        to,
        g_dngettext(NULL, "%u picture was left out.\n", "%u pictures were left out.\n", manifest->left_out),
        manifest->left_out);
}

gboolean nw_cli_parse_size(const char *text, guint *height, guint *width, guint *channels)
{
  g_auto(GStrv) parts = g_strsplit(text, "x", 4);
  guint n = g_strv_length(parts);
  guint64 values[3] = {0, 0, *channels};
  for (guint i = 0; i < n && i < 3; i++)
    if (!g_ascii_string_to_unsigned(parts[i], 10, 1, 65536, &values[i], NULL))
      return FALSE;
  if (n < 1 || n > 3)
    return FALSE;
  *height = (guint)values[0];
  *width = n > 1 ? (guint)values[1] : *height;
  *channels = (guint)values[2];
  return *channels == 1 || *channels == 3;
}
