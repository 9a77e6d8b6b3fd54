#include "storage/settings.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/file.h"

enum { RECENT_MAX = 12 };

struct NwSettings {
  char *path;
  GKeyFile *file;
  gboolean changed;
};

NwSettings *nw_settings_open(const char *path)
{
  NwSettings *settings = g_new0(NwSettings, 1);
  g_autoptr(GError) error = NULL;
  settings->path = path != NULL
                       ? g_strdup(path)
                       : g_build_filename(g_get_user_config_dir(), "netwright", "settings.ini", NULL);
  settings->file = g_key_file_new();
  if (g_key_file_load_from_file(settings->file, settings->path, G_KEY_FILE_KEEP_COMMENTS, &error) ||
      g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
    return settings;
  /* Never lose what somebody wrote by hand: the broken file is set aside. */
  g_autofree char *aside = g_strconcat(settings->path, ".broken", NULL);
  if (rename(settings->path, aside) != 0)
    g_clear_error(&error);
  g_key_file_unref(settings->file);
  settings->file = g_key_file_new();
  return settings;
}

static void save(NwSettings *settings)
{
  gsize n = 0;
  g_autofree char *text = g_key_file_to_data(settings->file, &n, NULL);
  g_autofree char *folder = g_path_get_dirname(settings->path);
  /* Settings that cannot be kept are no reason to bother anybody: the next start has the old ones. */
  if (nw_make_folders(folder, NULL) == NW_OK && nw_file_write(settings->path, text, n, NULL) == NW_OK)
    settings->changed = FALSE;
}

void nw_settings_close(NwSettings *settings)
{
  if (settings == NULL)
    return;
  if (settings->changed)
    save(settings);
  g_key_file_unref(settings->file);
  g_free(settings->path);
  g_free(settings);
}

char *nw_settings_get(NwSettings *settings, const char *key, const char *fallback)
{
  char *value = g_key_file_get_string(settings->file, "netwright", key, NULL);
  return value != NULL ? value : g_strdup(fallback);
}

void nw_settings_set(NwSettings *settings, const char *key, const char *value)
{
  g_key_file_set_string(settings->file, "netwright", key, value);
  settings->changed = TRUE;
}

gint64 nw_settings_get_int(NwSettings *settings, const char *key, gint64 fallback)
{
  g_autoptr(GError) error = NULL;
  gint64 value = g_key_file_get_int64(settings->file, "netwright", key, &error);
  return error == NULL ? value : fallback;
}

void nw_settings_set_int(NwSettings *settings, const char *key, gint64 value)
{
  g_key_file_set_int64(settings->file, "netwright", key, value);
  settings->changed = TRUE;
}

char **nw_settings_recent(NwSettings *settings)
{
  char **list = g_key_file_get_string_list(settings->file, "recent", "projects", NULL, NULL);
  return list != NULL ? list : g_new0(char *, 1);
}

static void set_recent(NwSettings *settings, const char *first, const char *without)
{
  g_auto(GStrv) old = nw_settings_recent(settings);
  g_autoptr(GPtrArray) list = g_ptr_array_new();
  if (first != NULL)
    g_ptr_array_add(list, (gpointer)first);
  for (char **folder = old; *folder != NULL && list->len < RECENT_MAX; folder++)
    if (!g_str_equal(*folder, without))
      g_ptr_array_add(list, *folder);
  g_key_file_set_string_list(settings->file, "recent", "projects", (const char *const *)list->pdata,
                             list->len);
  settings->changed = TRUE;
  save(settings);
}

void nw_settings_add_recent(NwSettings *settings, const char *folder)
{
  set_recent(settings, folder, folder);
}

void nw_settings_remove_recent(NwSettings *settings, const char *folder)
{
  set_recent(settings, NULL, folder);
}
