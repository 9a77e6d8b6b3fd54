/* The history: rows and points come back, files of other versions and programs are treated right, nothing
 * that was written is lost when the writer is killed. */
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/history.h"
#include "tests/app/pictures.h"

static char *self_path;

static void ok(NwStatus status, const NwError *error)
{
  if (status != NW_OK)
    g_error("%s", error->text);
}

static NwHistory *open_fine(const char *folder)
{
  NwHistory *history = NULL;
  NwError error = {0};
  ok(nw_history_open(folder, &history, &error), &error);
  return history;
}

static NwRunInfo *run_new(NwHistory *history, const char *name, NwRunState state)
{
  NwRunInfo *info = g_new0(NwRunInfo, 1);
  NwError error = {0};
  info->name = g_strdup(name);
  info->state = state;
  info->epochs_wanted = 3;
  info->parameters = 421642;
  info->best_val_accuracy = info->best_val_loss = info->train_loss = info->train_accuracy = NAN;
  info->config = g_strdup("{\"training\":{\"lr\":0.001}}");
  ok(nw_history_create_run(history, info, &error), &error);
  return info;
}

static NwRunInfo *find_fine(NwHistory *history, const char *word)
{
  NwRunInfo *info = NULL;
  NwError error = {0};
  ok(nw_history_find(history, word, &info, &error), &error);
  return info;
}

static guint count_points(NwHistory *history, const char *run, const char *metric)
{
  GArray *points = NULL;
  NwError error = {0};
  ok(nw_history_metrics(history, run, metric, &points, &error), &error);
  guint n = points->len;
  g_array_unref(points);
  return n;
}

static void sql(const char *path, const char *text)
{
  sqlite3 *db;
  char *words = NULL;
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  if (sqlite3_exec(db, text, NULL, NULL, &words) != SQLITE_OK)
    g_error("%s", words);
  sqlite3_close(db);
}

static int sql_int(const char *path, const char *text)
{
  sqlite3 *db;
  sqlite3_stmt *row;
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  g_assert_cmpint(sqlite3_prepare_v2(db, text, -1, &row, NULL), ==, SQLITE_OK);
  g_assert_cmpint(sqlite3_step(row), ==, SQLITE_ROW);
  int value = sqlite3_column_int(row, 0);
  sqlite3_finalize(row);
  sqlite3_close(db);
  return value;
}

/* ---- rows ---- */

static void test_run(void)
{
  char *folder = nwt_folder_new();
  NwHistory *history = open_fine(folder);
  NwError error = {0};
  NwRunInfo *info = run_new(history, "one", NW_RUN_RUNNING);
  g_assert_cmpint(strlen(info->id), ==, 12);
  g_assert_cmpint(info->number, ==, 1);
  g_assert_true(g_file_test(info->folder, G_FILE_TEST_IS_DIR));
  info->best_val_accuracy = 0.875;
  info->best_epoch = 2;
  info->epochs_done = 2;
  info->seconds = 12.5;
  nw_history_update_run(history, info);
  NwRunInfo *back = find_fine(history, "latest");
  g_assert_cmpstr(back->id, ==, info->id);
  g_assert_cmpint(back->state, ==, NW_RUN_RUNNING); /* this process is alive */
  g_assert_cmpfloat(back->best_val_accuracy, ==, 0.875);
  g_assert_true(isnan(back->best_val_loss));
  g_assert_cmpint(back->epochs_wanted, ==, 3);
  g_assert_cmpstr(back->config, ==, info->config);
  nw_run_info_free(back);

  for (int step = 1; step <= 1000; step++) {
    nw_history_add_metric(history, info->id, "train_loss", (NwMetricPoint){step, step / 100.0, 1.0 / step});
    nw_history_add_metric(history, info->id, "lr", (NwMetricPoint){step, step / 100.0, 0.001});
  }
  nw_history_add_metric(history, info->id, "val_loss", (NwMetricPoint){1000, 10, NAN});
  g_assert_cmpint(count_points(history, info->id, "train_loss"), ==, 1000);
  nw_history_rewind(history, info->id, 400);
  g_assert_cmpint(count_points(history, info->id, "train_loss"), ==, 400);
  GArray *points = NULL;
  ok(nw_history_metrics(history, info->id, "lr", &points, &error), &error);
  NwMetricPoint last = g_array_index(points, NwMetricPoint, points->len - 1);
  g_assert_cmpint(last.step, ==, 400);
  g_assert_cmpfloat(last.epoch, ==, 4.0);
  g_assert_cmpfloat(last.value, ==, 0.001);
  g_array_unref(points);

  nw_history_add_event(history, info->id, "remark", "the first loss is far from log(classes)");
  nw_history_add_checkpoint(history, info->id, "last", "/a", 1, 100);
  nw_history_add_checkpoint(history, info->id, "last", "/b", 2, 200);
  GPtrArray *list = NULL;
  ok(nw_history_events(history, info->id, &list, &error), &error);
  g_assert_cmpint(list->len, ==, 1);
  g_ptr_array_unref(list);
  ok(nw_history_checkpoints(history, info->id, &list, &error), &error);
  g_assert_cmpint(list->len, ==, 1); /* the newer one in the older one's place */
  g_assert_cmpstr(((NwRunCheckpoint *)g_ptr_array_index(list, 0))->path, ==, "/b");
  g_ptr_array_unref(list);
  ok(nw_history_flush(history, &error), &error);
  nw_run_info_free(info);
  nw_history_close(history);
  nwt_folder_free(folder);
}

static void test_find(void)
{
  char *folder = nwt_folder_new();
  NwHistory *history = open_fine(folder);
  NwError error = {0};
  NwRunInfo *none = NULL, *runs[4];
  g_assert_cmpint(nw_history_find(history, "latest", &none, &error), ==, NW_NOT_FOUND);
  for (int i = 0; i < 4; i++)
    runs[i] = run_new(history, i < 2 ? "twin" : i == 2 ? "alone" : NULL, NW_RUN_FINISHED);
  g_autofree char *prefix = g_strndup(runs[2]->id, 9);
  const char *words[] = {"alone", prefix, runs[2]->id, "3"};
  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    NwRunInfo *info = find_fine(history, words[i]);
    g_assert_cmpstr(info->id, ==, runs[2]->id);
    nw_run_info_free(info);
  }
  g_assert_cmpint(nw_history_find(history, "twin", &none, &error), ==, NW_BAD_ARGUMENT);
  g_assert_nonnull(strstr(error.text, runs[0]->id)); /* both are named */
  g_assert_nonnull(strstr(error.text, runs[1]->id));
  g_assert_cmpint(nw_history_find(history, "", &none, &error), ==, NW_NOT_FOUND);
  g_assert_cmpint(nw_history_find(history, "%", &none, &error), ==, NW_NOT_FOUND);
  g_assert_cmpint(nw_history_rename(history, "no such", "x", &error), ==, NW_NOT_FOUND);
  /* the trash keeps runs, but the list and names do not see them */
  GPtrArray *list = NULL;
  ok(nw_history_trash(history, runs[3]->id, TRUE, &error), &error);
  ok(nw_history_list(history, FALSE, &list, &error), &error);
  g_assert_cmpint(list->len, ==, 3);
  g_assert_cmpstr(((NwRunInfo *)g_ptr_array_index(list, 0))->id, ==, runs[2]->id); /* newest first */
  g_ptr_array_unref(list);
  ok(nw_history_list(history, TRUE, &list, &error), &error);
  g_assert_cmpint(list->len, ==, 4);
  g_ptr_array_unref(list);
  for (int i = 0; i < 4; i++)
    nw_run_info_free(runs[i]);
  nw_history_close(history);
  nwt_folder_free(folder);
}

/* A write that cannot be done is not swallowed, and takes no other with it. */
static void test_failure(void)
{
  char *folder = nwt_folder_new();
  NwHistory *history = open_fine(folder);
  NwError error = {0};
  NwRunInfo *info = run_new(history, "x", NW_RUN_RUNNING);
  nw_history_add_metric(history, info->id, "loss", (NwMetricPoint){1, 1, 1});
  nw_history_add_metric(history, "no such run", "loss", (NwMetricPoint){1, 1, 1});
  nw_history_add_metric(history, info->id, "loss", (NwMetricPoint){2, 1, 1});
  g_assert_cmpint(nw_history_flush(history, &error), !=, NW_OK);
  g_assert_cmpint(nw_history_flush(history, &error), ==, NW_OK); /* told once */
  g_assert_cmpint(count_points(history, info->id, "loss"), ==, 2);
  nw_run_info_free(info);
  nw_history_close(history);
  nwt_folder_free(folder);
}

/* While no file may grow, as on a full disk, points wait in memory; with room again they are on disk, in the
 * order in which they were told. */
static void test_no_room(void)
{
  char *folder = nwt_folder_new();
  NwHistory *history = open_fine(folder);
  NwError error = {0};
  NwRunInfo *info = run_new(history, "x", NW_RUN_RUNNING);
  nw_history_add_metric(history, info->id, "loss", (NwMetricPoint){1, 1, 0.5});
  ok(nw_history_flush(history, &error), &error);
  g_autofree char *wal = g_build_filename(folder, "history.db-wal", NULL);
  struct stat st;
  g_assert_cmpint(stat(wal, &st), ==, 0);
  struct rlimit before, limit;
  getrlimit(RLIMIT_FSIZE, &before);
  limit = (struct rlimit){(rlim_t)st.st_size, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  for (int i = 2; i <= 1500; i++)
    nw_history_add_metric(history, info->id, "loss", (NwMetricPoint){i, i, 0.5});
  nw_history_rewind(history, info->id, 1000);
  NwStatus full = nw_history_flush(history, &error), named = nw_history_rename(history, info->id, "y", NULL);
  gint64 then = count_points(history, info->id, "loss");
  for (int i = 1001; i <= 1200; i++)
    nw_history_add_metric(history, info->id, "loss", (NwMetricPoint){i, i, 0.25});
  setrlimit(RLIMIT_FSIZE, &before);
  g_assert_cmpint(full, !=, NW_OK);
  g_assert_nonnull(strstr(error.text, "history.db"));
  g_assert_cmpint(named, !=, NW_OK); /* who waits is told, and it is not done later all the same */
  g_assert_cmpint(then, ==, 1);
  nw_history_flush(history, NULL); /* perhaps a failure from before there was room */
  ok(nw_history_flush(history, &error), &error);
  g_assert_cmpint(count_points(history, info->id, "loss"), ==, 1200);
  GArray *points = NULL;
  ok(nw_history_metrics(history, info->id, "loss", &points, &error), &error);
  for (guint i = 0; i < points->len; i++)
    g_assert_cmpfloat(g_array_index(points, NwMetricPoint, i).value, ==, i < 1000 ? 0.5 : 0.25);
  g_array_unref(points);
  NwRunInfo *found = find_fine(history, info->id);
  g_assert_cmpstr(found->name, ==, "x");
  nw_run_info_free(found);
  nw_run_info_free(info);
  nw_history_close(history);
  nwt_folder_free(folder);
}

/* ---- files of other versions and programs ---- */

/* The schema as version 1 of it was: never changed again. */
static const char version_1[] =
    "PRAGMA application_id=1314345547; PRAGMA user_version=1;"
    "CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT, tags "
    "TEXT,"
    " project TEXT, network_name TEXT, state TEXT NOT NULL, message TEXT, created INTEGER NOT NULL,"
    " ended INTEGER NOT NULL DEFAULT 0, seconds REAL NOT NULL DEFAULT 0, epochs_done INTEGER NOT NULL "
    "DEFAULT 0,"
    " epochs_wanted INTEGER NOT NULL DEFAULT 0, best_epoch INTEGER NOT NULL DEFAULT 0, best_val_accuracy "
    "REAL,"
    " best_val_loss REAL, train_loss REAL, train_accuracy REAL, parameters INTEGER NOT NULL DEFAULT 0,"
    " dataset_digest TEXT, dataset_root TEXT, config TEXT, environment TEXT, folder TEXT,"
    " trashed INTEGER NOT NULL DEFAULT 0, owner TEXT);"
    "CREATE INDEX runs_by_name ON runs (name);"
    "CREATE TABLE metric_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "CREATE TABLE metrics (run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,"
    " metric INTEGER NOT NULL REFERENCES metric_names (id), step INTEGER NOT NULL, epoch REAL NOT NULL, "
    "value REAL,"
    " PRIMARY KEY (run, metric, step)) WITHOUT ROWID;"
    "CREATE TABLE events (run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE, time INTEGER NOT "
    "NULL,"
    " kind TEXT NOT NULL, text TEXT);"
    "CREATE INDEX events_by_run ON events (run, time);"
    "CREATE TABLE checkpoints (run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE, kind TEXT "
    "NOT NULL,"
    " path TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL, time INTEGER NOT NULL,"
    " PRIMARY KEY (run, kind)) WITHOUT ROWID;"
    "INSERT INTO runs (id, name, state, created, folder) VALUES ('0123456789ab', 'old', 'finished', "
    "1700000000, '/x');"
    "INSERT INTO metric_names VALUES (1, 'train_loss');"
    "INSERT INTO metrics VALUES (1, 1, 1, 0.5, 2.25);";

static void test_migrate(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *path = g_build_filename(folder, "history.db", NULL);
  sql(path, version_1);
  NwHistory *history = open_fine(folder);
  NwRunInfo *old = find_fine(history, "old"), *new_run = run_new(history, "new", NW_RUN_FINISHED);
  g_assert_cmpint(old->created, ==, 1700000000);
  g_assert_cmpint(count_points(history, old->id, "train_loss"), ==, 1);
  g_assert_cmpint(new_run->number, ==, 2);
  nw_run_info_free(old);
  nw_run_info_free(new_run);
  nw_history_close(history);
  g_assert_cmpint(sql_int(path, "PRAGMA user_version"), >=, 2);
  g_assert_cmpint(sql_int(path, "SELECT count(*) FROM sqlite_master WHERE name = 'runs_shown'"), ==, 1);
  nw_history_close(open_fine(folder)); /* again: nothing to do */
  nwt_folder_free(folder);
}

static void expect_refused(const char *folder, NwStatus wanted)
{
  g_autofree char *path = g_build_filename(folder, "history.db", NULL), *before = NULL, *after = NULL;
  gsize n, m;
  NwHistory *history = NULL;
  NwError error = {0};
  g_assert_true(g_file_get_contents(path, &before, &n, NULL));
  g_assert_cmpint(nw_history_open(folder, &history, &error), ==, wanted);
  g_assert_null(history);
  g_assert_nonnull(strstr(error.text, path));
  g_assert_true(g_file_get_contents(path, &after, &m, NULL));
  g_assert_cmpmem(before, n, after, m); /* left alone */
}

static void test_other_files(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *path = g_build_filename(folder, "history.db", NULL), *bytes = NULL;
  gsize n;
  sql(path, "CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('Lullaby');");
  expect_refused(folder, NW_BAD_FORMAT);
  g_unlink(path);
  nw_history_close(open_fine(folder));
  sql(path, "PRAGMA user_version=99");
  expect_refused(folder, NW_TOO_NEW);
  nwt_put(folder, "history.db", "shopping list", 13);
  expect_refused(folder, NW_BAD_FORMAT);
  g_unlink(path);
  /* a real one, damaged in its first page */
  nw_history_close(open_fine(folder));
  g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
  memset(bytes + 100, 0xee, 400);
  nwt_put(folder, "history.db", bytes, n);
  expect_refused(folder, NW_BAD_FORMAT);
  nwt_folder_free(folder);
}

/* ---- several processes ---- */

/* The other side: `test-history --writer FOLDER METRICS` makes a running run, writes points, and after each
 * flush says on stdout how many are safe. */
static int writer(const char *folder, int points)
{
  NwHistory *history = open_fine(folder);
  NwRunInfo *info = run_new(history, "child", NW_RUN_RUNNING);
  NwError error = {0};
  printf("%s\n", info->id);
  fflush(stdout);
  for (int i = 1; i <= points; i++) {
    nw_history_add_metric(history, info->id, "train_loss", (NwMetricPoint){i, i, i});
    if (i % 50 == 0) {
      ok(nw_history_flush(history, &error), &error);
      printf("%d\n", i);
      fflush(stdout);
    }
  }
  info->state = NW_RUN_FINISHED;
  nw_history_update_run(history, info);
  nw_run_info_free(info);
  nw_history_close(history);
  return 0;
}

static GPid start_writer(const char *folder, int points, int *out)
{
  GError *error = NULL;
  GPid pid;
  g_autofree char *number = g_strdup_printf("%d", points);
  const char *argv[] = {self_path, "--writer", folder, number, NULL};
  g_spawn_async_with_pipes(NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, NULL, out,
                           NULL, &error);
  g_assert_no_error(error);
  return pid;
}

static char **read_lines(int fd)
{
  g_autoptr(GIOChannel) channel = g_io_channel_unix_new(fd);
  g_autofree char *text = NULL;
  g_assert_cmpint(g_io_channel_read_to_end(channel, &text, NULL, NULL), ==, G_IO_STATUS_NORMAL);
  close(fd);
  return g_strsplit(g_strchomp(text), "\n", -1);
}

static void test_killed_writer(void)
{
  guint in_the_middle = 0;
  for (int i = 0; i < 12; i++) {
    char *folder = nwt_folder_new();
    g_autofree char *path = g_build_filename(folder, "history.db", NULL);
    int fd;
    GPid pid = start_writer(folder, 1000000, &fd);
    g_usleep((gulong)g_test_rand_int_range(20, 250) * 1000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    g_auto(GStrv) lines = read_lines(fd);
    guint said = g_strv_length(lines);
    NwHistory *history = open_fine(folder);
    if (said > 0 && *lines[0] != '\0') {
      NwRunInfo *info = find_fine(history, lines[0]);
      int safe = said > 1 ? atoi(lines[said - 1]) : 0;
      g_assert_cmpint(info->state, ==, NW_RUN_INTERRUPTED);
      g_assert_cmpint(count_points(history, info->id, "train_loss"), >=, safe);
      in_the_middle += safe > 0;
      nw_run_info_free(info);
    }
    nw_history_close(history);
    g_assert_cmpint(sql_int(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
                    ==, 1);
    nwt_folder_free(folder);
  }
  g_test_message("%u of 12 kills hit a writer that had written", in_the_middle);
  g_assert_cmpint(in_the_middle, >=, 6);
}

/* Three processes write while this one reads; runs of living processes are not called interrupted. */
static void test_together(void)
{
  enum { WRITERS = 3, POINTS = 2000 };
  char *folder = nwt_folder_new();
  NwHistory *history = open_fine(folder);
  GPid pids[WRITERS];
  int fds[WRITERS];
  for (int i = 0; i < WRITERS; i++)
    pids[i] = start_writer(folder, POINTS, &fds[i]);
  NwError error = {0};
  for (int i = 0; i < 20; i++) {
    GPtrArray *list = NULL;
    ok(nw_history_list(history, TRUE, &list, &error), &error);
    for (guint k = 0; k < list->len; k++)
      g_assert_cmpint(((NwRunInfo *)g_ptr_array_index(list, k))->state, !=, NW_RUN_INTERRUPTED);
    g_ptr_array_unref(list);
    nw_history_close(open_fine(folder)); /* opening beside them does not either */
  }
  for (int i = 0; i < WRITERS; i++) {
    int status;
    g_auto(GStrv) lines = read_lines(fds[i]);
    waitpid(pids[i], &status, 0);
    g_assert_cmpint(status, ==, 0);
    g_assert_cmpint(count_points(history, lines[0], "train_loss"), ==, POINTS);
  }
  g_autofree char *path = g_build_filename(folder, "history.db", NULL);
  g_assert_cmpint(sql_int(path, "SELECT count(*) FROM runs WHERE state = 'finished'"), ==, WRITERS);
  nw_history_close(history);
  nwt_folder_free(folder);
}

/* Of two that want to train a run on, one gets it; a dead owner holds nothing. */
static void test_claim(void)
{
  char *folder = nwt_folder_new();
  NwHistory *history = open_fine(folder);
  NwError error = {0};
  NwRunInfo *info = run_new(history, "x", NW_RUN_STOPPED);
  ok(nw_history_claim_run(history, info->id, &error), &error);
  g_assert_cmpint(nw_history_claim_run(history, info->id, &error), ==, NW_BAD_STATE);
  g_assert_cmpint(nw_history_claim_run(history, "no such run", &error), ==, NW_NOT_FOUND);
  nw_history_close(history);
  /* the same number of process, but started at another time: not the owner */
  g_autofree char *path = g_build_filename(folder, "history.db", NULL);
  g_autofree char *other =
      g_strdup_printf("UPDATE runs SET owner = '%d/1/x', state = 'running'", (int)getpid());
  sql(path, other);
  history = open_fine(folder);
  NwRunInfo *back = find_fine(history, info->id);
  g_assert_cmpint(back->state, ==, NW_RUN_INTERRUPTED);
  ok(nw_history_claim_run(history, info->id, &error), &error);
  nw_run_info_free(back);
  nw_run_info_free(info);
  nw_history_close(history);
  nwt_folder_free(folder);
}

/* ---- size ---- */

static void test_many_runs(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *path = g_build_filename(folder, "history.db", NULL);
  nw_history_close(open_fine(folder));
  sql(path,
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
      "INSERT INTO runs (id, name, state, created, config, environment, folder, best_val_accuracy)"
      " SELECT printf('%012x', i * 7919), 'run ' || i, 'finished', 1700000000 + i, printf('%.3000c', 'x'),"
      " printf('%.400c', 'y'), '/x', i / 10000.0 FROM n");
  NwHistory *history = open_fine(folder);
  NwError error = {0};
  GPtrArray *list = NULL;
  double best = INFINITY, found = INFINITY;
  for (int i = 0; i < 3; i++) {
    gint64 begin = g_get_monotonic_time();
    ok(nw_history_list(history, FALSE, &list, &error), &error);
    best = MIN(best, (double)(g_get_monotonic_time() - begin) / 1e3);
    g_assert_cmpint(list->len, ==, 10000);
    g_ptr_array_unref(list);
    begin = g_get_monotonic_time();
    nw_run_info_free(find_fine(history, "run 77"));
    nw_run_info_free(find_fine(history, "latest"));
    found = MIN(found, (double)(g_get_monotonic_time() - begin) / 1e3);
  }
  g_test_message("10,000 runs: list %.1f ms, two finds %.1f ms", best, found);
  nw_history_close(history);
  nwt_folder_free(folder);
}

int main(int argc, char **argv)
{
  if (argc == 4 && g_str_equal(argv[1], "--writer"))
    return writer(argv[2], atoi(argv[3]));
  g_test_init(&argc, &argv, NULL);
  self_path = g_file_read_link("/proc/self/exe", NULL);
  g_test_add_func("/history/run", test_run);
  g_test_add_func("/history/find", test_find);
  g_test_add_func("/history/failure", test_failure);
  g_test_add_func("/history/no-room", test_no_room);
  g_test_add_func("/history/migrate", test_migrate);
  g_test_add_func("/history/other-files", test_other_files);
  g_test_add_func("/history/killed-writer", test_killed_writer);
  g_test_add_func("/history/together", test_together);
  g_test_add_func("/history/claim", test_claim);
  g_test_add_func("/history/many-runs", test_many_runs);
  return g_test_run();
}
