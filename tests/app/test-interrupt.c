/* A training that is stopped or killed at any instant goes on, and ends with the same bytes. */
#include "tests/app/cli-run.h"

/* A program under a sanitizer is ten times slower, and it is looked at for its memory, not for its timing. */
#ifdef __SANITIZE_ADDRESS__
enum { KILLS = 4, WANTED = 2, EPOCHS = 5, MOMENTS = 1 };
#else
enum { KILLS = 20, WANTED = 15, EPOCHS = 14, MOMENTS = 3 };
#endif
enum { PICTURES = 3 * 24, STEPS = EPOCHS * PICTURES / 8 };

char *nwt_netwright;
static char *root, *pictures, *untouched; /* untouched: weights of the run that nobody stops */
static double full_seconds;

static char *train_words(int epochs)
{
  return g_strdup_printf(
      "train --template simplecnn --data '%s' --epochs %d --batch-size 8 --threads 1 --seed 3 "
      "--schedule cosine --set checkpoint_seconds=0.02",
      pictures, epochs);
}

static char *history_new(void)
{
  return g_build_filename(root, "history", NULL);
}

static void history_free(char *history)
{
  nwt_folder_free(history);
}

static GPid start(const char *history, const char *words, const char *kill_after)
{
  GError *error = NULL;
  GPid pid;
  g_auto(GStrv) argv = nwt_words(words), environment = nwt_environment(history);
  if (kill_after != NULL)
    environment = g_environ_setenv(environment, "NETWRIGHT_TEST_KILL_AFTER", kill_after, TRUE);
  g_spawn_async(NULL, argv, environment,
                G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                NULL, &pid, &error);
  g_assert_no_error(error);
  return pid;
}

static int finish(GPid pid)
{
  int status;
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  return nwt_code(status);
}

static gboolean has_run(const char *history)
{
  g_autofree char *out = nwt_expect(history, 0, NULL, "runs list --json");
  NwJson *runs = nwt_json(out);
  gboolean any = nw_json_length(runs) > 0;
  nw_json_free(runs);
  return any;
}

static void wait_for_run(const char *history)
{
  for (int i = 0; i < 500 && !has_run(history); i++)
    g_usleep(20 * 1000);
}

/* Last and best weights are those of the untouched run, and no step is missing in the curve or there twice.
 */
static void expect_untouched(const char *history)
{
  static const char *const kinds[] = {"last", "best"};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *mine = g_strdup_printf("%s/%s.weights", history, kinds[i]);
    g_autofree char *wanted = g_strdup_printf("%s/%s.weights", untouched, kinds[i]);
    nwt_expect_only(history, 0, "read back", "export latest --format weights --checkpoint %s --output '%s'",
                    kinds[i], mine);
    if (!g_str_equal(history, untouched))
      nwt_expect_same_file(mine, wanted);
  }
  g_autofree char *text = nwt_expect(history, 0, NULL, "runs show latest --json");
  NwJson *json = nwt_json(text);
  NwJson *points = nw_json_get(nw_json_get(json, "metrics"), "train_loss");
  g_assert_cmpstr(nw_json_get_string(json, "state", ""), ==, "finished");
  g_assert_cmpint(nw_json_length(points), ==, STEPS);
  for (size_t i = 0; i < nw_json_length(points); i++)
    g_assert_cmpint(nw_json_to_int(nw_json_at(nw_json_at(points, i), 0), 0), ==, i + 1);
  nw_json_free(json);
}

static double seconds_of(const char *history, const char *words)
{
  gint64 begin = g_get_monotonic_time();
  g_assert_cmpint(finish(start(history, words, NULL)), ==, 0);
  return (double)(g_get_monotonic_time() - begin) / 1e6;
}

static void test_untouched(void)
{
  g_autofree char *words = train_words(EPOCHS);
  untouched = g_build_filename(root, "untouched", NULL);
  g_autofree char *again = g_build_filename(root, "again", NULL);
  full_seconds = seconds_of(untouched, words);
  expect_untouched(untouched);
  /* twice the same, else the comparisons below mean nothing; other programs only make a run slower */
  full_seconds = MIN(full_seconds, seconds_of(again, words));
  expect_untouched(again);
  g_test_message("a run takes %.2f s", full_seconds);
}

static void test_kill_by_clock(void)
{
  int hit = 0, begun = 0;
  g_autofree char *words = train_words(EPOCHS);
  for (int i = 0; i < KILLS; i++) {
    char *history = history_new();
    gint64 begin = g_get_monotonic_time();
    GPid pid = start(history, words, NULL);
    g_usleep((gulong)(full_seconds * g_test_rand_double_range(0.05, 0.8) * 1e6));
    kill(pid, SIGKILL);
    int code = finish(pid);
    /* on a machine that is less busy by now a run is shorter than it was */
    if (code == 0)
      full_seconds = MIN(full_seconds, 0.8 * (double)(g_get_monotonic_time() - begin) / 1e6);
    hit += code == -SIGKILL;
    if (!has_run(history)) { /* killed before there was a run */
      g_assert_cmpint(finish(start(history, words, NULL)), ==, 0);
    } else if (code == -SIGKILL) {
      begun++;
      g_autofree char *run = nwt_latest(history), *state = nwt_state(history, run);
      if (!g_str_equal(state, "finished")) { /* all was written, only the process had not ended */
        g_assert_cmpstr(state, ==, "interrupted");
        nwt_expect_only(history, 0, "Finished", "resume latest");
      }
    }
    expect_untouched(history);
    history_free(history);
  }
  g_test_message("%d of %d kills by clock hit before the end, %d of them a run that had begun", hit, KILLS,
                 begun);
  g_assert_cmpint(hit, >=, WANTED);
}

/* Right after each step of a file's way to the disk: the first one ever (run.json), the first checkpoint,
 * later ones. */
static void test_kill_by_moment(void)
{
  static const char *const moments[] = {"write", "fsync", "rename", "dirsync"};
  static const int counts[] = {2, 1, 5};
  g_autofree char *words = train_words(EPOCHS);
  for (guint m = 0; m < G_N_ELEMENTS(moments); m++)
    for (guint k = 0; k < MOMENTS; k++) {
      char *history = history_new();
      g_autofree char *wish = g_strdup_printf("%s:%d", moments[m], counts[k]);
      g_assert_cmpint(finish(start(history, words, wish)), ==, -SIGKILL);
      g_autofree char *run = nwt_latest(history);
      nwt_expect_state(history, run, "interrupted");
      nwt_expect_only(history, 0, "Finished", "resume latest");
      expect_untouched(history);
      history_free(history);
    }
}

static void test_interrupt(void)
{
  g_autofree char *words = train_words(EPOCHS);
  int stopped = 0;
  for (int i = 0; i < 4; i++) {
    char *history = history_new();
    GPid pid = start(history, words, NULL);
    g_usleep((gulong)(full_seconds * (0.3 + 0.15 * i) * 1e6));
    kill(pid, SIGINT);
    int code = finish(pid);
    if (code == 4) {
      g_autofree char *run = nwt_latest(history);
      stopped++;
      nwt_expect_state(history, run, "stopped");
      nwt_expect_only(history, 0, "Finished", "resume %s", run);
    } else if (code == -SIGINT) { /* before anything was trained */
      nwt_expect_only(history, 0, "Finished", "%s", words);
    } else {
      g_assert_cmpint(code, ==, 0); /* it had finished */
    }
    expect_untouched(history);
    history_free(history);
  }
  g_test_message("%d of 4 interrupts stopped a training", stopped);
  g_assert_cmpint(stopped, >=, 1);
}

/* What a person sees, and what a second Ctrl+C does. */
static void test_interrupt_words(void)
{
  char *history = history_new();
  g_autofree char *words = train_words(100000), *out = NULL;
  g_auto(GStrv) argv = nwt_words(words), environment = nwt_environment(history);
  GPid pid;
  int fd, status;
  g_assert_true(g_spawn_async_with_pipes(NULL, argv, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid,
                                         NULL, &fd, NULL, NULL));
  wait_for_run(history);
  g_usleep(100 * 1000);
  gint64 asked = g_get_monotonic_time();
  kill(pid, SIGINT);
  g_autoptr(GIOChannel) channel = g_io_channel_unix_new(fd);
  g_assert_cmpint(g_io_channel_read_to_end(channel, &out, NULL, NULL), ==, G_IO_STATUS_NORMAL);
  waitpid(pid, &status, 0);
  g_assert_cmpint(nwt_code(status), ==, 4);
  g_assert_nonnull(strstr(out, "netwright resume "));
  g_assert_cmpint(g_get_monotonic_time() - asked, <, 2 * G_USEC_PER_SEC);
  close(fd);

  gboolean killed = FALSE;
  for (int i = 0; i < 20 && !killed; i++) {
    pid = start(history, "resume latest", NULL);
    g_usleep(200 * 1000);
    kill(pid, SIGINT);
    g_usleep(500);
    kill(pid, SIGINT);
    int code = finish(pid);
    killed = code == 130;
    g_assert_true(killed || code == 4 || code == -SIGINT);
  }
  g_assert_true(killed);
  g_autofree char *run = nwt_latest(history);
  nwt_expect_state(history, run, "interrupted");
  history_free(history);
}

/* A run belongs to one process at a time. */
static void test_two_at_once(void)
{
  char *history = history_new();
  g_autofree char *words = train_words(100000);
  GPid pid = start(history, words, NULL);
  wait_for_run(history);
  g_autofree char *run = nwt_latest(history);
  nwt_expect_state(history, run, "running");
  nwt_expect_only(history, 1, "is being trained", "resume %s", run);
  nwt_expect_state(history, run, "running");
  kill(pid, SIGKILL);
  g_assert_cmpint(finish(pid), ==, -SIGKILL);
  nwt_expect_state(history, run, "interrupted");

  GPid a = start(history, "resume latest", NULL), b = start(history, "resume latest", NULL);
  int status;
  GPid refused = waitpid(-1, &status, 0);
  g_assert_true(refused == a || refused == b);
  g_assert_cmpint(nwt_code(status), ==, 1);
  nwt_expect_state(history, run, "running");
  kill(refused == a ? b : a, SIGINT);
  g_assert_cmpint(finish(refused == a ? b : a), ==, 4);
  nwt_expect_state(history, run, "stopped");
  history_free(history);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_assert_cmpint(argc, ==, 2);
  nwt_netwright = argv[1];
  root = nwt_folder_new();
  pictures = nwt_set(root, "pictures", 3, 30);
  g_test_add_func("/interrupt/untouched", test_untouched);
  g_test_add_func("/interrupt/kill-by-clock", test_kill_by_clock);
  g_test_add_func("/interrupt/kill-by-moment", test_kill_by_moment);
  g_test_add_func("/interrupt/interrupt", test_interrupt);
  g_test_add_func("/interrupt/words", test_interrupt_words);
  g_test_add_func("/interrupt/two-at-once", test_two_at_once);
  int result = g_test_run();
  nwt_folder_free(root);
  return result;
}
