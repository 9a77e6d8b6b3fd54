/* Settings come back; a broken file is set aside, never fatal. */
#include "storage/settings.h"
#include "tests/app/pictures.h"

static void test_round_trip(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *path = g_build_filename(folder, "deep/settings.ini", NULL);
  NwSettings *settings = nw_settings_open(path);
  g_autofree char *none = nw_settings_get(settings, "theme", "system");
  g_assert_cmpstr(none, ==, "system");
  nw_settings_set(settings, "theme", "dark; or = not");
  nw_settings_set_int(settings, "width", G_MAXINT64);
  nw_settings_close(settings);
  settings = nw_settings_open(path);
  g_autofree char *theme = nw_settings_get(settings, "theme", "system");
  g_assert_cmpstr(theme, ==, "dark; or = not");
  g_assert_cmpint(nw_settings_get_int(settings, "width", 0), ==, G_MAXINT64);
  g_assert_cmpint(nw_settings_get_int(settings, "height", 900), ==, 900);
  nw_settings_close(settings);
  nwt_folder_free(folder);
}

static void test_recent(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *path = g_build_filename(folder, "settings.ini", NULL);
  NwSettings *settings = nw_settings_open(path);
  for (int i = 0; i < 20; i++) {
    g_autofree char *project = g_strdup_printf("/home/päul; x/%d", i);
    nw_settings_add_recent(settings, project);
  }
  nw_settings_add_recent(settings, "/home/päul; x/15");
  nw_settings_remove_recent(settings, "/home/päul; x/18");
  nw_settings_close(settings);
  settings = nw_settings_open(path);
  g_auto(GStrv) list = nw_settings_recent(settings);
  g_assert_cmpint(g_strv_length(list), <=, 12);
  g_assert_cmpstr(list[0], ==, "/home/päul; x/15");
  g_assert_cmpstr(list[1], ==, "/home/päul; x/19");
  g_assert_cmpstr(list[2], ==, "/home/päul; x/17");
  for (guint i = 1; list[i] != NULL; i++)
    g_assert_cmpstr(list[i], !=, list[0]);
  nw_settings_close(settings);
  nwt_folder_free(folder);
}

static void test_broken(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *path = g_build_filename(folder, "settings.ini", NULL);
  g_autofree char *aside = g_build_filename(folder, "settings.ini.broken", NULL), *text = NULL;
  nwt_put(folder, "settings.ini", "not [ a key file\n\n", 18);
  NwSettings *settings = nw_settings_open(path);
  g_assert_cmpint(nw_settings_get_int(settings, "width", 7), ==, 7);
  nw_settings_set_int(settings, "width", 8);
  nw_settings_close(settings);
  g_assert_true(g_file_get_contents(aside, &text, NULL, NULL));
  g_assert_cmpstr(text, ==, "not [ a key file\n\n");
  settings = nw_settings_open(path);
  g_assert_cmpint(nw_settings_get_int(settings, "width", 7), ==, 8);
  nw_settings_close(settings);
  nwt_folder_free(folder);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/settings/round-trip", test_round_trip);
  g_test_add_func("/settings/recent", test_recent);
  g_test_add_func("/settings/broken", test_broken);
  return g_test_run();
}
