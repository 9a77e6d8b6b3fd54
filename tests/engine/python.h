/* Runs a script of tests/interop with Debian's Python and PyTorch. */
#pragma once

#include <glib.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NWT_PYTHON "/usr/bin/python3"

/* False when PyTorch is missing: the test is then skipped, or failed on the test machine (CI=true). */
static inline gboolean nwt_have_torch(void)
{
  static int have = -1;
  if (have < 0) {
    const char *command[] = {NWT_PYTHON, "-c", "import torch", NULL};
    int status = 1;
    have = g_spawn_sync(NULL, (char **)command, NULL, G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
                        NULL, NULL, NULL, NULL, &status, NULL) &&
           status == 0;
  }
  if (!have) {
    if (g_strcmp0(g_getenv("CI"), "true") == 0)
      g_error("PyTorch is missing (python3-torch), and on the test machine it must be there");
    g_test_skip("PyTorch is not installed (package python3-torch)");
  }
  return have;
}

/* PyTorch 2, where `./dev peers` has put it (the tests' own HOME is not the person's); NULL: it is not there.
 */
static inline char *nwt_peers(void)
{
  const char *cache = g_getenv("XDG_CACHE_HOME");
  const struct passwd *user = getpwuid(getuid());
  char *path = cache != NULL ? g_build_filename(cache, "netwright/peers/bin/python3", NULL) : NULL;
  if (path != NULL && g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
    return path;
  g_free(path);
  path = user != NULL ? g_build_filename(user->pw_dir, ".cache/netwright/peers/bin/python3", NULL) : NULL;
  if (path != NULL && g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
    return path;
  g_free(path);
  return NULL;
}

/* One process for all checks of a test program (tests/interop/serve.py): importing PyTorch takes seconds. */
typedef struct NwtPython {
  FILE *words, *answers; /* NULL: not started */
} NwtPython;

static inline void nwt_python_start(NwtPython *self, const char *python)
{
  g_autofree char *script = g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "tests/interop/serve.py", NULL);
  const char *command[] = {python, script, NULL};
  g_autoptr(GError) problem = NULL;
  g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), "OMP_NUM_THREADS", "1", TRUE);
  int in, out;
  /* a sanitizer's runtime in this process must not go into Python */
  environment = g_environ_unsetenv(environment, "LD_PRELOAD");
  environment = g_environ_setenv(environment, "PYTHONDONTWRITEBYTECODE", "1", TRUE);
  g_spawn_async_with_pipes(NULL, (char **)command, environment, 0, NULL, NULL, NULL, &in, &out, NULL,
                           &problem);
  g_assert_no_error(problem);
  self->words = fdopen(in, "w");
  self->answers = fdopen(out, "r");
}

static inline void nwt_python_ask(NwtPython *self, const char *line)
{
  char state[16] = "";
  unsigned long n = 0;
  fprintf(self->words, "%s\n", line);
  fflush(self->words);
  if (fscanf(self->answers, "%15s %lu", state, &n) != 2 || fgetc(self->answers) != '\n')
    g_error("%s: Python died", line);
  g_autofree char *text = g_malloc0(n + 1);
  g_assert_cmpint(fread(text, 1, n, self->answers), ==, n);
  if (!g_str_equal(state, "ok"))
    g_error("%s failed:\n%s", line, text);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **one = lines; *one; one++)
    if (**one)
      g_test_message("%s", *one);
}

/* Runs NAME of tests/interop with these words, by Debian's Python and by that of the peers where they are;
 * what it prints is part of the failure. */
static inline void nwt_python(const char *name, const char *first, ...)
{
  static NwtPython debian, newest;
  g_autofree char *peers = nwt_peers();
  g_autoptr(GString) line = g_string_new(name);
  va_list list;
  va_start(list, first);
  for (const char *word = first; word != NULL; word = va_arg(list, const char *))
    g_string_append_printf(line, "\t%s", word);
  va_end(list);
  if (debian.words == NULL)
    nwt_python_start(&debian, NWT_PYTHON);
  nwt_python_ask(&debian, line->str);
  if (peers == NULL)
    return;
  if (newest.words == NULL)
    nwt_python_start(&newest, peers);
  nwt_python_ask(&newest, line->str);
}
