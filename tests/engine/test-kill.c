/* A training is killed at any instant, goes on, and ends with the same bytes as one that was left alone. */
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <glib.h>

/* A program under a sanitizer is ten times slower, and it is looked at for its memory, not for its timing. */
#ifdef __SANITIZE_ADDRESS__
enum { KILLS = 4, WANTED = 2, MOMENTS = 1 };
#else
enum { KILLS = 20, WANTED = 15, MOMENTS = 2 };
#endif

static char *program;
static char *untouched; /* folder of the run that nobody kills */
static double full_seconds;

static char *folder_new(void)
{
  char *folder = g_dir_make_tmp("netwright-XXXXXX", NULL);
  g_assert_nonnull(folder);
  return folder;
}

static void folder_free(char *folder)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_unlink(path);
  }
  g_rmdir(folder);
  g_free(folder);
}

static GPid start(const char *folder, const char *kill_after)
{
  g_autoptr(GError) problem = NULL;
  const char *command[] = {program, folder, NULL};
  g_auto(GStrv) environment = g_get_environ();
  GPid pid;
  if (kill_after != NULL)
    environment = g_environ_setenv(environment, "NETWRIGHT_TEST_KILL_AFTER", kill_after, TRUE);
  g_spawn_async(NULL, (char **)command, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &problem);
  g_assert_no_error(problem);
  return pid;
}

/* True: ended by itself; false: killed. Anything else is a failure of the program. */
static gboolean finish(GPid pid)
{
  int status;
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  if (WIFSIGNALED(status)) {
    g_assert_cmpint(WTERMSIG(status), ==, SIGKILL);
    return FALSE;
  }
  g_assert_cmpint(WEXITSTATUS(status), ==, 0);
  return TRUE;
}

static void expect_same_file(const char *folder, const char *name)
{
  g_autofree char *a = g_build_filename(folder, name, NULL), *b = g_build_filename(untouched, name, NULL);
  g_autofree char *ours = NULL, *theirs = NULL;
  gsize n, m;
  g_assert_true(g_file_get_contents(a, &ours, &n, NULL));
  g_assert_true(g_file_get_contents(b, &theirs, &m, NULL));
  if (n != m || memcmp(ours, theirs, n) != 0)
    g_error("%s differs from that of the run that was not killed", name);
}

/* Nothing half-written stays, and every file is what an uninterrupted run leaves. */
static void expect_untouched(const char *folder)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  int files = 0;
  for (const char *name; (name = g_dir_read_name(dir)) != NULL; files++)
    expect_same_file(folder, name);
  g_assert_cmpint(files, ==, 3); /* last, best, weights */
}

static double seconds_of(const char *folder)
{
  gint64 begin = g_get_monotonic_time();
  g_assert_true(finish(start(folder, NULL)));
  return (double)(g_get_monotonic_time() - begin) / 1e6;
}

static void test_untouched(void)
{
  char *again = folder_new();
  untouched = folder_new();
  /* twice the same, else the comparisons below mean nothing; the faster one, since other programs only slow a
   * run down */
  double first = seconds_of(untouched), second = seconds_of(again);
  full_seconds = MIN(first, second);
  g_test_message("a run takes %.2f s", full_seconds);
  expect_untouched(again);
  folder_free(again);
}

static void test_clock(void)
{
  int hit = 0;
  for (int i = 0; i < KILLS; i++) {
    char *folder = folder_new();
    double moment = full_seconds * g_test_rand_double_range(0.02, 0.85);
    GPid pid = start(folder, NULL);
    g_usleep((gulong)(moment * 1e6));
    kill(pid, SIGKILL);
    gboolean killed = !finish(pid);
    hit += killed;
    if (killed)
      g_assert_true(finish(start(folder, NULL)));
    else /* the machine has become quicker since the runs that were timed */
      full_seconds = MIN(full_seconds, moment);
    expect_untouched(folder);
    folder_free(folder);
  }
  g_test_message("%d of %d kills by clock hit before the end", hit, KILLS);
  g_assert_cmpint(hit, >=, WANTED);
}

/* Right after each step of a checkpoint's way to the disk: the first one ever, and later ones. */
static void test_moments(void)
{
  static const char *const moments[] = {"write", "fsync", "rename", "dirsync"};
  static const int counts[MOMENTS + 1] = {1, 7};
  for (gsize i = 0; i < G_N_ELEMENTS(moments); i++)
    for (int k = 0; k < MOMENTS; k++) {
      char *folder = folder_new();
      g_autofree char *wish = g_strdup_printf("%s:%d", moments[i], counts[k]);
      g_assert_false(finish(start(folder, wish)));
      g_assert_true(finish(start(folder, NULL)));
      expect_untouched(folder);
      folder_free(folder);
      g_test_message("killed right after %s, resumed, same bytes", wish);
    }
}

/* Killed again and again: every attempt gets a little further. */
static void test_again_and_again(void)
{
  char *folder = folder_new();
  int kills = 0;
  for (int attempt = 0;; attempt++) {
    g_assert_cmpint(attempt, <, 200);
    GPid pid = start(folder, attempt % 2 ? "fsync:7" : "rename:4");
    if (finish(pid))
      break;
    kills++;
  }
  g_test_message("%d kills in one run", kills);
  g_assert_cmpint(kills, >=, 3);
  expect_untouched(folder);
  folder_free(folder);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_assert_cmpint(argc, ==, 2);
  program = argv[1];
  g_test_add_func("/kill/untouched", test_untouched);
  g_test_add_func("/kill/clock", test_clock);
  g_test_add_func("/kill/moments", test_moments);
  g_test_add_func("/kill/again-and-again", test_again_and_again);
  int result = g_test_run();
  if (untouched != NULL)
    folder_free(untouched);
  return result;
}
