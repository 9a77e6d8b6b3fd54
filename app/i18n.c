#include "app/i18n.h"

#include <locale.h>

void nw_i18n_init(void)
{
  g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *folder = program != NULL ? g_path_get_dirname(program) : g_strdup(".");
  g_autofree char *built = g_build_filename(folder, "..", "po", NULL);
  g_autofree char *installed = g_build_filename(NW_PREFIX, "share", "locale", NULL);
  setlocale(LC_ALL, "");
  /* Numbers in files and on the command line are read alike everywhere. */
  setlocale(LC_NUMERIC, "C");
  bindtextdomain("netwright", g_file_test(built, G_FILE_TEST_IS_DIR) ? built : installed);
  bind_textdomain_codeset("netwright", "UTF-8");
  textdomain("netwright");
}
