#include "app/shipped.h"

char *nw_shipped_file(const char *name)
{
  g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *folder = program != NULL ? g_path_get_dirname(program) : g_strdup(".");
  const char *chosen = g_getenv("NETWRIGHT_SHARE");
  char *places[] = {chosen != NULL ? g_build_filename(chosen, name, NULL) : NULL,
                    g_build_filename(NW_PREFIX, "share", "netwright", name, NULL),
                    g_build_filename(folder, "..", "..", "share", name, NULL),
                    g_build_filename(folder, "..", "..", "..", "share", name, NULL)};
  char *found = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
    if (found == NULL && places[i] != NULL && g_file_test(places[i], G_FILE_TEST_IS_REGULAR))
      found = g_canonicalize_filename(places[i], NULL);
    g_free(places[i]);
  }
  return found;
}
