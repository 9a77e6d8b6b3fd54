/* Small settings of the program and window in $XDG_CONFIG_HOME/netwright/settings.ini: recent projects,
 * window size, theme, language, threads. Written atomically; a broken file is set aside, never fatal. */
#pragma once

#include <glib.h>

typedef struct NwSettings NwSettings;
NwSettings *nw_settings_open(const char *path); /* NULL: the default path */
void nw_settings_close(NwSettings *settings);   /* saves when changed */
char *nw_settings_get(NwSettings *settings, const char *key, const char *fallback); /* g_free */
void nw_settings_set(NwSettings *settings, const char *key, const char *value);
gint64 nw_settings_get_int(NwSettings *settings, const char *key, gint64 fallback);
void nw_settings_set_int(NwSettings *settings, const char *key, gint64 value);
char **nw_settings_recent(NwSettings *settings); /* project folders, newest first; g_strfreev */
void nw_settings_add_recent(NwSettings *settings, const char *folder);
void nw_settings_remove_recent(NwSettings *settings, const char *folder);
