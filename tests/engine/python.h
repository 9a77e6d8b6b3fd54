/* Runs a script of tests/interop with Debian's Python and PyTorch. */
#pragma once

#include <glib.h>
#include <pwd.h>
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

static inline void nwt_python_one(const char *python, GPtrArray *words, const char *name)
{
  g_autofree char *out = NULL, *err = NULL;
  g_autoptr(GError) problem = NULL;
  g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), "OMP_NUM_THREADS", "1", TRUE);
  int status = 1;
  words->pdata[0] = (char *)python;
  /* a sanitizer's runtime in this process must not go into Python */
  environment = g_environ_unsetenv(environment, "LD_PRELOAD");
  environment = g_environ_setenv(environment, "PYTHONDONTWRITEBYTECODE", "1", TRUE);
  g_spawn_sync(NULL, (char **)words->pdata, environment, 0, NULL, NULL, &out, &err, &status, &problem);
  g_assert_no_error(problem);
  if (status != 0)
    g_error("%s failed:\n%s%s", name, out, err);
  g_auto(GStrv) lines = g_strsplit(out, "\n", -1);
  for (char **line = lines; *line; line++)
    if (**line)
      g_test_message("%s", *line);
}

/* Runs NAME of tests/interop with these words, by Debian's Python and by that of the peers where they are;
 * what it prints is part of the failure. */
static inline void nwt_python(const char *name, const char *first, ...)
{
  g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *peers = nwt_peers();
  va_list list;
  g_ptr_array_add(words, NULL); /* the interpreter's place */
  g_ptr_array_add(words, g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "tests/interop", name, NULL));
  va_start(list, first);
  for (const char *word = first; word != NULL; word = va_arg(list, const char *))
    g_ptr_array_add(words, g_strdup(word));
  va_end(list);
  g_ptr_array_add(words, NULL);
  nwt_python_one(NWT_PYTHON, words, name);
  if (peers != NULL)
    nwt_python_one(peers, words, name);
  words->pdata[0] = NULL;
}
