/* Runs the built netwright as a person or a script would, and looks at what comes back. */
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/json.h"
#include "tests/app/pictures.h"

/* Path of the program: the test's only argument. */
extern char *nwt_netwright;

typedef struct NwtOutput {
  int code; /* exit code; minus the signal when it was killed */
  char *out, *err;
} NwtOutput;

static inline void nwt_output_clear(NwtOutput *output)
{
  g_free(output->out);
  g_free(output->err);
}

/* A world of its own: no history, no settings, no display. */
static inline char **nwt_environment(const char *history)
{
  char **list = g_get_environ();
  list = g_environ_setenv(list, "NETWRIGHT_HISTORY", history, TRUE);
  list = g_environ_setenv(list, "LC_ALL", "C.UTF-8", TRUE);
  list = g_environ_unsetenv(list, "DISPLAY");
  list = g_environ_unsetenv(list, "WAYLAND_DISPLAY");
  return g_environ_unsetenv(list, "LANGUAGE");
}

/* words: arguments in one text, split as a shell would. */
static inline char **nwt_words(const char *words)
{
  GError *error = NULL;
  g_autofree char *line = g_strdup_printf("'%s' %s", nwt_netwright, words);
  char **argv = NULL;
  g_shell_parse_argv(line, NULL, &argv, &error);
  g_assert_no_error(error);
  return argv;
}

static inline int nwt_code(int status)
{
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline NwtOutput nwt_run_with(const char *history, const char *key, const char *value,
                                     GSpawnChildSetupFunc setup, const char *words)
{
  NwtOutput output = {0};
  GError *error = NULL;
  int status = 0;
  g_auto(GStrv) argv = nwt_words(words), environment = nwt_environment(history);
  if (key != NULL)
    environment = g_environ_setenv(environment, key, value, TRUE);
  g_spawn_sync(NULL, argv, environment, G_SPAWN_DEFAULT, setup, NULL, &output.out, &output.err, &status,
               &error);
  g_assert_no_error(error);
  output.code = nwt_code(status);
  return output;
}

G_GNUC_PRINTF(2, 3) static inline NwtOutput nwt_run(const char *history, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *words = g_strdup_vprintf(format, args);
  va_end(args);
  return nwt_run_with(history, NULL, NULL, NULL, words);
}

/* Runs and expects an exit code; a part that must be in the output (either stream; NULL: any). */
G_GNUC_PRINTF(4, 5)
static inline char *nwt_expect(const char *history, int code, const char *part, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *words = g_strdup_vprintf(format, args);
  va_end(args);
  NwtOutput output = nwt_run_with(history, NULL, NULL, NULL, words);
  if (output.code != code)
    g_error("netwright %s: exit code %d, expected %d\n%s%s", words, output.code, code, output.out,
            output.err);
  if (part != NULL && strstr(output.out, part) == NULL && strstr(output.err, part) == NULL)
    g_error("netwright %s: \"%s\" is not in\n%s%s", words, part, output.out, output.err);
  g_free(output.err);
  return output.out;
}
#define nwt_expect_only(...) g_free(nwt_expect(__VA_ARGS__))

static inline NwJson *nwt_json(const char *text)
{
  NwJson *json = NULL;
  NwError error = {0};
  nw_json_parse(text, strlen(text), "the output", &json, &error);
  g_assert_cmpstr(error.text, ==, "");
  return json;
}

/* The run's id in the only, or newest, row of the history. */
static inline char *nwt_latest(const char *history)
{
  g_autofree char *out = nwt_expect(history, 0, NULL, "runs list --json");
  NwJson *runs = nwt_json(out);
  char *id = g_strdup(nw_json_get_string(nw_json_at(runs, 0), "run", ""));
  nw_json_free(runs);
  g_assert_cmpint(strlen(id), ==, 12);
  return id;
}

static inline char *nwt_state(const char *history, const char *run)
{
  g_autofree char *out = nwt_expect(history, 0, NULL, "runs show %s --json", run);
  NwJson *json = nwt_json(out);
  char *state = g_strdup(nw_json_get_string(json, "state", ""));
  nw_json_free(json);
  return state;
}
#define nwt_expect_state(history, run, wanted)                                                               \
  do {                                                                                                       \
    g_autofree char *nwt_state_ = nwt_state(history, run);                                                   \
    g_assert_cmpstr(nwt_state_, ==, wanted);                                                                 \
  } while (0)
