#include "app/run-settings.h"

#include "engine/base/json.h"
#include "engine/base/memory.h"

static void put(GHashTable *table, const char *key, char *text)
{
  g_hash_table_insert(table, g_strdup(key), text);
}

/* Objects become dotted keys; lists and plain values stay as they are written. The network itself is not a
 * setting. */
static void flatten(GHashTable *table, const char *prefix, const NwJson *object)
{
  for (void *it = nw_json_first(object); it != NULL; it = nw_json_next(object, it)) {
    const char *name = nw_json_key(it);
    NwJson *value = nw_json_value(it);
    g_autofree char *key = *prefix != '\0' ? g_strconcat(prefix, ".", name, NULL) : g_strdup(name);
    if (g_str_equal(name, "network") || g_str_equal(name, "blocks"))
      continue;
    if (nw_json_is_object(value))
      flatten(table, key, value);
    else if (nw_json_is_string(value))
      put(table, key, g_strdup(nw_json_text(value)));
    else if (nw_json_is_bool(value))
      put(table, key, g_strdup(nw_json_get_bool(object, name, FALSE) ? "true" : "false"));
    else if (nw_json_is_int(value))
      put(table, key, g_strdup_printf("%" G_GINT64_FORMAT, nw_json_to_int(value, 0)));
    else if (nw_json_is_number(value))
      put(table, key, g_strdup_printf("%.6g", nw_json_to_real(value, 0)));
    else if (!nw_json_is_null(value)) {
      char *text = nw_json_print(value, false);
      put(table, key, g_strdup(text != NULL ? text : ""));
      nw_free(text);
    }
  }
}

GHashTable *nw_run_settings(const NwRunInfo *info)
{
  GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  NwJson *json = NULL;
  const char *text = info->config;
  if (text != NULL && nw_json_parse(text, strlen(text), "the run's settings", &json, NULL) == NW_OK)
    flatten(table, "", json);
  nw_json_free(json);
  return table;
}
