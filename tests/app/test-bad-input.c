/* Bad input: each gives a sentence and the right exit code, what can be left out is left out and counted, and
 * nothing is lost. */
#include <archive.h>
#include <archive_entry.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "tests/app/cli-run.h"

char *nwt_netwright;
static char *root, *history;

#define TRAIN "train --template simplecnn --epochs 1 --batch-size 8 --data '%s'"

static char *fresh(const char *name)
{
  char *set = nwt_set(root, name, 3, 12);
  return set;
}

/* ---- nothing to train on ---- */

static void test_unusable_sets(void)
{
  g_autofree char *empty = g_build_filename(root, "empty", NULL), *one = nwt_set(root, "one", 1, 12);
  g_autofree char *flat = g_build_filename(root, "flat", NULL),
                  *file = g_build_filename(root, "file.txt", NULL);
  g_autofree char *bad = g_build_filename(root, "bad.zip", NULL);
  g_mkdir(empty, 0755);
  nwt_put_picture(root, "flat/a.bmp", 0, 0);
  nwt_put(root, "file.txt", "no pictures", 11);
  nwt_put(root, "bad.zip", "PK\003\004 not really", 16);
  const char *const sets[] = {empty, one, flat, file, bad, "/nowhere/at/all"};
  for (guint i = 0; i < G_N_ELEMENTS(sets); i++) {
    g_autofree char *project = g_strdup_printf("%s/p%u", root, i);
    nwt_expect_only(history, 3, "netwright: ", "scan '%s'", sets[i]);
    nwt_expect_only(history, 3, "netwright: ", TRAIN, sets[i]);
    nwt_expect_only(history, 3, "netwright: ", "new '%s' --template simplecnn --data '%s'", project, sets[i]);
    g_assert_false(g_file_test(project, G_FILE_TEST_EXISTS));
  }
  g_autofree char *runs = nwt_expect(history, 0, NULL, "runs list --json");
  g_assert_cmpstr(g_strstrip(runs), ==, "[]"); /* no run was begun for them */
}

/* ---- pictures that are left out ---- */

static void expect_left_out(const char *set, guint left_out, const char *kind)
{
  g_autofree char *text = nwt_expect(history, 0, NULL, "scan '%s' --json", set);
  NwJson *json = nwt_json(text), *problems = nw_json_get(json, "problems");
  gboolean found = FALSE;
  for (size_t i = 0; i < nw_json_length(problems); i++)
    found = found || g_str_equal(nw_json_get_string(nw_json_at(problems, i), "kind", ""), kind);
  if (!found)
    g_error("no problem \"%s\" in %s", kind, text);
  nw_json_free(json);
  g_autofree char *counted =
      left_out > 0 ? g_strdup_printf("%u picture%s left out", left_out, left_out == 1 ? " was" : "s were")
                   : NULL;
  nwt_expect_only(history, 0, counted, TRAIN, set);
}

static void test_odd_pictures(void)
{
  g_autofree char *truncated = fresh("truncated"), *renamed = fresh("renamed"), *empty = fresh("empty-file");
  g_autofree char *hidden = fresh("hidden"), *text = fresh("text");
  nwt_put_golden(truncated, "class1/cut.jpg", "photo.jpg", 40);
  expect_left_out(truncated, 1, "truncated");
  nwt_put_golden(renamed, "class1/png.jpg", "rgb.png", 100);
  expect_left_out(renamed, 0, "wrong-extension");
  nwt_put(empty, "class0/nothing.jpg", "", 0);
  nwt_put(empty, "class2/nothing.png", "", 0);
  expect_left_out(empty, 2, "empty-file");
  nwt_put_picture(hidden, ".thumbnails/a.bmp", 0, 0);
  nwt_put(hidden, ".DS_Store", "x", 1);
  expect_left_out(hidden, 0, "ignored");
  nwt_put(text, "class0/words.jpg", "these are words", 15);
  expect_left_out(text, 1, "not-a-picture");
  g_autofree char *scan = nwt_expect(history, 0, NULL, "scan '%s'", hidden);
  g_assert_null(strstr(scan, "thumbnails  ")); /* no class */
  g_assert_nonnull(strstr(scan, "3 classes"));
}

static void test_different_classes(void)
{
  g_autofree char *set = g_build_filename(root, "split", NULL);
  for (guint i = 0; i < 12; i++)
    for (guint c = 0; c < 4; c++) {
      g_autofree char *train = g_strdup_printf("split/train/class%u/%u.bmp", c, i);
      g_autofree char *val = g_strdup_printf("split/val/class%u/%u.bmp", c == 3 ? 9 : c, 100 + i);
      nwt_put_picture(root, train, c, i);
      nwt_put_picture(root, val, c, 100 + i);
    }
  expect_left_out(set, 12, "class-only-in-val");
  expect_left_out(set, 12, "class-missing-in-val");
}

static void test_archive_with_tricks(void)
{
  g_autofree char *path = g_build_filename(root, "tricks.zip", NULL),
                  *beside = g_build_filename(root, "..", "evil.bmp", NULL);
  g_autofree char *set = fresh("in-archive"), *bytes = NULL;
  gsize n;
  struct archive *zip = archive_write_new();
  archive_write_set_format_zip(zip);
  g_assert_cmpint(archive_write_open_filename(zip, path), ==, ARCHIVE_OK);
  g_autofree char *one = g_build_filename(set, "class0/000.bmp", NULL);
  g_assert_true(g_file_get_contents(one, &bytes, &n, NULL));
  for (guint i = 0; i < 3 * 12 + 2; i++) {
    g_autofree char *name = i < 36 ? g_strdup_printf("class%u/%03u.bmp", i / 12, i % 12)
                                   : g_strdup(i == 36 ? "../evil.bmp" : "class0/../../evil.bmp");
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, name);
    archive_entry_set_size(entry, (la_int64_t)n);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    g_assert_cmpint(archive_write_header(zip, entry), ==, ARCHIVE_OK);
    g_assert_cmpint(archive_write_data(zip, bytes, n), ==, (la_ssize_t)n);
    archive_entry_free(entry);
  }
  archive_write_close(zip);
  archive_write_free(zip);
  expect_left_out(path, 2, "unsafe-name");
  g_assert_false(g_file_test(beside, G_FILE_TEST_EXISTS));
}

/* ---- project files ---- */

static void test_projects(void)
{
  g_autofree char *set = fresh("for-projects"), *project = g_build_filename(root, "project", NULL);
  g_autofree char *path = g_build_filename(project, "project.json", NULL), *whole = NULL;
  gsize n;
  nwt_expect_only(history, 0, NULL, "new '%s' --template simplecnn --data '%s'", project, set);
  g_assert_true(g_file_get_contents(path, &whole, &n, NULL));
  struct {
    char *text;
    const char *part;
  } cases[] = {{g_strndup(whole, n / 2), "not valid JSON"},
               {g_strdup(""), "project.json"},
               {g_strdup("[1, 2]"), "not a Netwright project"},
               {g_strdup("{\"netwright\": 99, \"magic\": true}"), "newer Netwright"},
               {g_strdup("{\"netwright\": 1}"), "no network"},
               {NULL, "warp2d"}};
  g_auto(GStrv) parts = g_strsplit(whole, "\"conv2d\"", 2);
  g_assert_cmpint(g_strv_length(parts), ==, 2);
  cases[5].text = g_strconcat(parts[0], "\"warp2d\"", parts[1], NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *after = NULL;
    g_assert_true(g_file_set_contents(path, cases[i].text, -1, NULL));
    nwt_expect_only(history, 3, cases[i].part, "info '%s'", project);
    nwt_expect_only(history, 3, cases[i].part, "train '%s'", project);
    g_assert_true(g_file_get_contents(path, &after, NULL, NULL)); /* left as it was */
    g_assert_cmpstr(after, ==, cases[i].text);
    g_free(cases[i].text);
  }
  nwt_expect_only(history, 3, "not a project", "info '%s'", set);
  nwt_expect_only(history, 3, "not a project", "train /nowhere/at/all");
  /* the set has gone since */
  g_assert_true(g_file_set_contents(path, whole, -1, NULL));
  nwt_remove(set);
  nwt_expect_only(history, 3, "netwright: ", "train '%s'", project);
}

static void test_files(void)
{
  g_autofree char *junk = g_build_filename(root, "junk.pth", NULL),
                  *cut = g_build_filename(root, "cut.pth", NULL);
  g_autofree char *set = fresh("for-files"), *run = NULL, *last = NULL, *bytes = NULL;
  gsize n;
  nwt_put(root, "junk.pth", "junk", 4);
  nwt_expect_only(history, 3, "junk.pth", "info '%s'", junk);
  nwt_expect_only(history, 3, "junk.pth", "predict '%s' '%s/class0/000.bmp'", junk, set);
  nwt_expect_only(history, 0, "Finished", TRAIN, set);
  run = nwt_latest(history);
  last = g_build_filename(history, "runs", run, "last.pth", NULL);
  g_assert_true(g_file_get_contents(last, &bytes, &n, NULL));
  nwt_put(root, "cut.pth", bytes, n / 2);
  nwt_expect_only(history, 3, "cut.pth", "info '%s'", cut);
  /* a run whose checkpoint is damaged says so, and stays what it is */
  g_assert_true(g_file_set_contents(last, bytes, (gssize)n / 2, NULL));
  nwt_expect_only(history, 3, "last.pth", "resume %s --epochs 3", run);
  nwt_expect_state(history, run, "finished");
  g_assert_true(g_file_set_contents(last, bytes, (gssize)n, NULL));
  nwt_expect_only(history, 0, "Finished", "resume %s --epochs 3", run);
  /* other pictures than the run began with */
  nwt_put_picture(set, "class0/more.bmp", 0, 77);
  nwt_expect_only(history, 3, "has changed", "resume %s --epochs 5", run);
  nwt_expect_state(history, run, "finished");
}

static void test_histories(void)
{
  g_autofree char *other = g_build_filename(root, "other-history", NULL), *set = fresh("for-history");
  g_autofree char *path = g_build_filename(other, "history.db", NULL), *after = NULL;
  nwt_put(other, "history.db", "this is no database, but somebody's notes about one", 51);
  nwt_expect_only(other, 3, "left alone", "runs list");
  nwt_expect_only(other, 3, "left alone", TRAIN, set);
  g_assert_true(g_file_get_contents(path, &after, NULL, NULL));
  g_assert_true(g_str_has_prefix(after, "this is no database"));
}

/* ---- a full disk ---- */

static void small_files(gpointer data)
{
  struct rlimit limit = {300 * 1000, 300 * 1000}; /* the history fits, a checkpoint does not */
  setrlimit(RLIMIT_FSIZE, &limit);
}

static void test_file_limit(void)
{
  g_autofree char *set = fresh("limited"), *other = g_build_filename(root, "limited-history", NULL);
  g_autofree char *words = g_strdup_printf(TRAIN, set);
  NwtOutput output = nwt_run_with(other, NULL, NULL, small_files, words);
  g_assert_cmpint(output.code, ==, 1);
  g_assert_nonnull(strstr(output.err, "netwright: "));
  nwt_output_clear(&output);
  g_autofree char *run = nwt_latest(other);
  nwt_expect_state(other, run, "failed");
  /* with room again it goes on */
  nwt_expect_only(other, 0, "Finished", "resume %s", run);
}

/* A disk that fills up in the middle: what was on it stays whole, and the run goes on when there is room. */
static void test_full_disk(void)
{
  g_autofree char *disk = g_build_filename(root, "disk", NULL), *set = fresh("for-disk");
  g_autofree char *other = g_build_filename(disk, "history", NULL),
                  *filler = g_build_filename(disk, "filler", NULL);
  g_mkdir(disk, 0755);
  /* in a mount namespace of its own, so that nothing stays mounted whatever happens */
  if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tmpfs", disk, "tmpfs", 0, "size=12m") != 0) {
    g_test_skip("a small disk can only be mounted by root");
    return;
  }
  nwt_expect_only(other, 0, "Finished", TRAIN " --name whole", set);
  g_autofree char *run = nwt_latest(other), *before = NULL, *after = NULL;
  g_autofree char *last = g_build_filename(other, "runs", run, "last.pth", NULL);
  gsize n, m;
  g_assert_true(g_file_get_contents(last, &before, &n, NULL));
  /* fill it, but for some room for the history's own pages */
  FILE *file = fopen(filler, "w");
  char block[65536] = {0};
  while (fwrite(block, 1, sizeof block, file) == sizeof block && fflush(file) == 0)
    ;
  g_assert_cmpint(ftruncate(fileno(file), MAX(0, ftell(file) - 600 * 1024)), ==, 0);
  fclose(file);
  NwtOutput output = nwt_run(other, "resume %s --epochs 4", run);
  g_assert_cmpint(output.code, ==, 1);
  g_assert_nonnull(strstr(output.err, "space"));
  nwt_output_clear(&output);
  g_assert_true(g_file_get_contents(last, &after, &m, NULL)); /* the old checkpoint is whole */
  g_assert_cmpmem(before, n, after, m);
  g_remove(filler);
  nwt_expect_state(other, run, "failed");
  nwt_expect_only(other, 0, "epoch 4/4", "resume %s --epochs 4", run);
  umount(disk);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_assert_cmpint(argc, ==, 2);
  nwt_netwright = argv[1];
  root = nwt_folder_new();
  history = g_build_filename(root, "history", NULL);
  g_test_add_func("/bad-input/unusable-sets", test_unusable_sets);
  g_test_add_func("/bad-input/odd-pictures", test_odd_pictures);
  g_test_add_func("/bad-input/different-classes", test_different_classes);
  g_test_add_func("/bad-input/archive-with-tricks", test_archive_with_tricks);
  g_test_add_func("/bad-input/projects", test_projects);
  g_test_add_func("/bad-input/files", test_files);
  g_test_add_func("/bad-input/histories", test_histories);
  g_test_add_func("/bad-input/file-limit", test_file_limit);
  g_test_add_func("/bad-input/full-disk", test_full_disk);
  int result = g_test_run();
  nwt_folder_free(root);
  return result;
}
