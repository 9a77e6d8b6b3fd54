/* netwright runs list [--json] | show RUN | compare RUN RUN... | rename | tag | delete | restore */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/cli/cli.h"
#include "app/run-settings.h"

static char *when(gint64 seconds)
{
  g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(seconds);
  return time != NULL ? g_date_time_format(time, "%Y-%m-%d %H:%M") : g_strdup("-");
}

static char *share(double value)
{
  return isnan(value) ? g_strdup("-") : g_strdup_printf("%.2f %%", value * 100);
}

static NwJson *info_json(const NwRunInfo *info)
{
  NwJson *json = nw_json_object();
  nw_json_set_string(json, "run", info->id);
  nw_json_set_int(json, "number", info->number);
  nw_json_set_string(json, "name", info->name);
  nw_json_set_string(json, "tags", info->tags);
  nw_json_set_string(json, "state", nw_run_state_key(info->state));
  nw_json_set_string(json, "message", info->message);
  nw_json_set_int(json, "created", info->created);
  nw_json_set_real(json, "seconds", info->seconds);
  nw_json_set_int(json, "epochs_done", info->epochs_done);
  nw_json_set_int(json, "epochs_wanted", info->epochs_wanted);
  nw_json_set_int(json, "best_epoch", info->best_epoch);
  nw_json_set_real(json, "best_val_accuracy", info->best_val_accuracy);
  nw_json_set_real(json, "best_val_loss", info->best_val_loss);
  nw_json_set_real(json, "train_loss", info->train_loss);
  nw_json_set_real(json, "train_accuracy", info->train_accuracy);
  nw_json_set_int(json, "parameters", info->parameters);
  nw_json_set_string(json, "dataset", info->dataset_root);
  nw_json_set_string(json, "dataset_digest", info->dataset_digest);
  nw_json_set_string(json, "folder", info->folder);
  nw_json_set_bool(json, "trashed", info->trashed);
  return json;
}

static int list(NwHistory *history, gboolean all, gboolean json)
{
  g_autoptr(GPtrArray) runs = NULL;
  NwError error = {0};
  NwStatus status = nw_history_list(history, all, &runs, &error);
  if (status != NW_OK)
    return nw_cli_fail(status, &error);
  if (json) {
    NwJson *out = nw_json_array();
    for (guint i = 0; i < runs->len; i++)
      nw_json_append(out, info_json(g_ptr_array_index(runs, i)));
    nw_cli_print_json(out);
    return NW_EXIT_DONE;
  }
  if (runs->len == 0) {
    printf(_("No runs yet in %s\n"), nw_history_folder(history));
    return NW_EXIT_DONE;
  }
  printf("%4s  %-12s  %-11s  %-9s  %9s  %-16s  %s\n", "#", _("run"), _("state"), _("epochs"), _("best val"),
         _("started"), _("name"));
  for (guint i = 0; i < runs->len; i++) {
    const NwRunInfo *info = g_ptr_array_index(runs, i);
    g_autofree char *best = share(info->best_val_accuracy), *started = when(info->created);
    g_autofree char *epochs = g_strdup_printf("%d/%d", (int)info->epochs_done, (int)info->epochs_wanted);
    gboolean tagged = info->tags != NULL && info->tags[0] != '\0';
    printf("%4d  %-12s  %-11s  %-9s  %9s  %-16s  %s%s%s%s%s\n", (int)info->number, info->id,
           nw_run_state_key(info->state), epochs, best, started, info->name != NULL ? info->name : "",
           tagged ? "  [" : "", tagged ? info->tags : "", tagged ? "]" : "",
           info->trashed ? _("  (in the trash)") : "");
  }
  return NW_EXIT_DONE;
}

static void print_events(NwHistory *history, const char *run)
{
  g_autoptr(GPtrArray) events = NULL;
  if (nw_history_events(history, run, &events, NULL) != NW_OK)
    return;
  for (guint i = 0; i < events->len; i++) {
    const NwRunEvent *event = g_ptr_array_index(events, i);
    g_autofree char *time = when(event->time);
    printf("  %s  %s %s\n", time, event->kind, event->text != NULL ? event->text : "");
  }
}

static NwJson *show_json(NwHistory *history, const NwRunInfo *info)
{
  NwJson *json = info_json(info), *parsed = NULL;
  if (info->config != NULL &&
      nw_json_parse(info->config, strlen(info->config), "config", &parsed, NULL) == NW_OK)
    nw_json_set(json, "config", parsed);
  if (info->environment != NULL &&
      nw_json_parse(info->environment, strlen(info->environment), "environment", &parsed, NULL) == NW_OK)
    nw_json_set(json, "environment", parsed);
  g_autoptr(GPtrArray) names = NULL;
  NwJson *metrics = nw_json_object();
  if (nw_history_metric_names(history, info->id, &names, NULL) == NW_OK)
    for (guint i = 0; i < names->len; i++) {
      g_autoptr(GArray) points = NULL;
      NwJson *list_json = nw_json_array();
      if (nw_history_metrics(history, info->id, g_ptr_array_index(names, i), &points, NULL) == NW_OK)
        for (guint k = 0; k < points->len; k++) {
          NwMetricPoint point = g_array_index(points, NwMetricPoint, k);
          NwJson *pair = nw_json_array();
          nw_json_append(pair, nw_json_int(point.step));
          nw_json_append(pair, nw_json_real(point.value));
          nw_json_append(list_json, pair);
        }
      nw_json_set(metrics, g_ptr_array_index(names, i), list_json);
    }
  nw_json_set(json, "metrics", metrics);
  return json;
}

static int show(NwHistory *history, const NwRunInfo *info, gboolean json)
{
  if (json) {
    nw_cli_print_json(show_json(history, info));
    return NW_EXIT_DONE;
  }
  g_autofree char *best = share(info->best_val_accuracy), *started = when(info->created);
  printf(_("Run %s (number %d) \"%s\": %s\n"), info->id, (int)info->number,
         info->name != NULL ? info->name : "", nw_run_state_key(info->state));
  if (info->message != NULL)
    printf("  %s\n", info->message);
  printf(_("  started %s, %.1f s of training, epoch %d of %d\n"), started, info->seconds,
         (int)info->epochs_done, (int)info->epochs_wanted);
  printf(_("  best validation accuracy %s in epoch %d\n"), best, (int)info->best_epoch);
  printf(_("  data set %s\n  files in %s\n"), info->dataset_root != NULL ? info->dataset_root : "-",
         info->folder);
  g_autoptr(GHashTable) settings = nw_run_settings(info);
  GList *keys = g_list_sort(g_hash_table_get_keys(settings), (GCompareFunc)g_strcmp0);
  for (GList *it = keys; it != NULL; it = it->next)
    printf("  %-36s %s\n", (char *)it->data, (char *)g_hash_table_lookup(settings, it->data));
  g_list_free(keys);
  print_events(history, info->id);
  return NW_EXIT_DONE;
}

/* ---- compare ---- */

static gboolean all_alike(GPtrArray *tables, const char *key)
{
  for (guint i = 1; i < tables->len; i++)
    if (g_strcmp0(g_hash_table_lookup(g_ptr_array_index(tables, 0), key),
                  g_hash_table_lookup(g_ptr_array_index(tables, i), key)) != 0)
      return FALSE;
  return TRUE;
}

static void add_results(GHashTable *table, const NwRunInfo *info)
{
  g_hash_table_insert(table, g_strdup("= best_val_accuracy"), share(info->best_val_accuracy));
  g_hash_table_insert(table, g_strdup("= best_epoch"), g_strdup_printf("%d", (int)info->best_epoch));
  g_hash_table_insert(table, g_strdup("= train_loss"),
                      isnan(info->train_loss) ? g_strdup("-") : g_strdup_printf("%.4f", info->train_loss));
  g_hash_table_insert(table, g_strdup("= seconds"), g_strdup_printf("%.1f", info->seconds));
  g_hash_table_insert(table, g_strdup("= parameters"), g_strdup_printf("%d", (int)info->parameters));
}

/* A cell of the table: whole in a pipe, as wide as the terminal leaves room for elsewhere. */
static void print_cell(const char *text, guint runs)
{
  guint columns = nw_cli_columns(), width = columns > 36 ? (columns - 36) / runs : 0;
  g_autofree char *cell = nw_cli_fit(text, MAX(width, 22) - 2, columns == 0);
  printf("  %s", cell);
}

static int compare(NwHistory *history, char **words, int n, gboolean json)
{
  g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)nw_run_info_free);
  g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func((GDestroyNotify)g_hash_table_unref);
  g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
  for (int i = 0; i < n; i++) {
    NwRunInfo *info = NULL;
    NwError error = {0};
    NwStatus status = nw_history_find(history, words[i], &info, &error);
    if (status != NW_OK)
      return nw_cli_fail(status, &error);
    GHashTable *table = nw_run_settings(info);
    GHashTableIter it;
    gpointer key;
    add_results(table, info);
    g_hash_table_iter_init(&it, table);
    while (g_hash_table_iter_next(&it, &key, NULL))
      g_hash_table_add(keys, key);
    g_ptr_array_add(runs, info);
    g_ptr_array_add(tables, table);
  }
  GList *sorted = g_list_sort(g_hash_table_get_keys(keys), (GCompareFunc)g_strcmp0);
  NwJson *out = nw_json_object(), *ids = nw_json_array(), *rows = nw_json_object();
  if (!json)
    printf("%-36s", "");
  for (guint i = 0; i < runs->len; i++) {
    const NwRunInfo *info = g_ptr_array_index(runs, i);
    nw_json_append(ids, nw_json_string(info->id));
    if (!json)
      print_cell(info->name != NULL ? info->name : info->id, runs->len);
  }
  if (!json)
    puts("");
  for (GList *it = sorted; it != NULL; it = it->next) {
    const char *key = it->data;
    gboolean result = key[0] == '=';
    if (!result && all_alike(tables, key))
      continue;
    NwJson *row = nw_json_array();
    if (!json)
      printf("%-36s", result ? key + 2 : key);
    for (guint i = 0; i < tables->len; i++) {
      const char *text = g_hash_table_lookup(g_ptr_array_index(tables, i), key);
      nw_json_append(row, nw_json_string(text));
      if (!json)
        print_cell(text != NULL ? text : "-", runs->len);
    }
    if (!json)
      puts("");
    nw_json_set(rows, result ? key + 2 : key, row);
  }
  g_list_free(sorted);
  nw_json_set(out, "runs", ids);
  nw_json_set(out, "differences", rows);
  if (json)
    nw_cli_print_json(out);
  else
    nw_json_free(out);
  return NW_EXIT_DONE;
}

/* ---- one run ---- */

static int edit(NwHistory *history, const char *verb, const NwRunInfo *info, const char *value,
                const char *folder)
{
  NwError error = {0};
  NwStatus status = strcmp(verb, "rename") == 0   ? nw_history_rename(history, info->id, value, &error)
                    : strcmp(verb, "tag") == 0    ? nw_history_tag(history, info->id, value, &error)
                    : strcmp(verb, "delete") == 0 ? nw_history_trash(history, info->id, TRUE, &error)
                                                  : nw_history_trash(history, info->id, FALSE, &error);
  if (status != NW_OK)
    return nw_cli_fail(status, &error);
  if (strcmp(verb, "delete") == 0) {
    g_autofree char *line = nw_cli_line("runs restore", info->id, folder);
    printf(_("Run %s is in the trash; `%s` takes it back. Its files stay in %s\n"), info->id, line,
           info->folder);
  }
  return NW_EXIT_DONE;
}

/* Words that a verb needs behind it. */
static int words_of(const char *verb)
{
  static const struct {
    const char *verb;
    int words;
  } verbs[] = {{"list", 0}, {"show", 1},   {"compare", 2}, {"rename", 2},
               {"tag", 2},  {"delete", 1}, {"restore", 1}};
  for (guint i = 0; i < G_N_ELEMENTS(verbs); i++)
    if (strcmp(verbs[i].verb, verb) == 0)
      return verbs[i].words;
  return -1;
}

int nw_cli_runs(int argc, char **argv)
{
  g_autofree char *folder = NULL;
  gboolean json = FALSE, all = FALSE;
  const GOptionEntry entries[] = {{"all", 'a', 0, G_OPTION_ARG_NONE, &all, N_("Runs in the trash too"), NULL},
                                  NW_CLI_HISTORY_OPTION(folder),
                                  NW_CLI_JSON_OPTION(json),
                                  {NULL}};
  int code;
  if (!nw_cli_parse("runs", entries, &argc, &argv, 0, -1, &code))
    return code;
  const char *verb = argc > 1 ? argv[1] : "list";
  int words = argc > 1 ? argc - 2 : 0, wanted = words_of(verb);
  if (wanted < 0)
    return nw_cli_usage("runs", _("\"%s\" is none of list, show, compare, rename, tag, delete, restore"),
                        verb);
  if (words < wanted || (words > wanted && strcmp(verb, "compare") != 0))
    return nw_cli_usage("runs", _("%s takes %d words, not %d"), verb, wanted, words);
  NwHistory *history = nw_cli_history(folder, &code);
  if (history == NULL)
    return code;
  if (wanted == 0) {
    code = list(history, all, json);
  } else if (strcmp(verb, "compare") == 0) {
    code = compare(history, argv + 2, words, json);
  } else {
    NwRunInfo *info = NULL;
    NwError error = {0};
    NwStatus status = nw_history_find(history, argv[2], &info, &error);
    if (status != NW_OK)
      code = nw_cli_fail(status, &error);
    else
      code =
          strcmp(verb, "show") == 0 ? show(history, info, json) : edit(history, verb, info, argv[3], folder);
    nw_run_info_free(info);
  }
  nw_history_close(history);
  return code;
}
