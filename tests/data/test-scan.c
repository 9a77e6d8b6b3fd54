/* Folders as people have them: layouts, order, splits, and everything that can be wrong with a picture or a
 * folder. */
#include "tests/data/corpus.h"

#include "engine/base/memory.h"

static const char *const two[] = {"cat", "dog", NULL};

static void expect_bad(const char *root, NwStatus wanted, const char *words)
{
  NwManifest *manifest = NULL;
  NwError error = {0};
  NwStatus status = nw_manifest_scan(root, NULL, &manifest, &error);
  if (!strstr(error.text, words))
    g_test_message("“%s” does not say “%s”", error.text, words);
  g_assert_cmpint(status, ==, wanted);
  g_assert_nonnull(strstr(error.text, words));
  g_assert_null(manifest);
}

static void expect_problem(const NwManifest *m, const char *kind, gboolean left_out, guint count,
                           const char *words)
{
  const NwProblem *problem = problem_of(m, kind, 0);
  if (!problem)
    g_test_message("no problem of kind %s", kind);
  g_assert_nonnull(problem);
  g_assert_cmpint(problem->left_out, ==, left_out);
  g_assert_cmpuint(problem->count, ==, count);
  if (!strstr(problem->text, words))
    g_test_message("“%s” does not say “%s”", problem->text, words);
  g_assert_nonnull(strstr(problem->text, words));
  g_assert_true(g_utf8_validate(problem->text, -1, NULL));
}

/* torchvision's order, bytewise: 10 before 2, B before a, é and 猫 last; folders by their whole path. */
static void test_order(void)
{
  static const char *const classes[] = {"10", "2", "B", "a", "a b", "é", "猫", NULL};
  char *root = corpus_new();
  for (guint i = 0; classes[i]; i++) {
    char *path = g_strdup_printf("%s/x.PNG", classes[i]);
    corpus_copy(root, path, "rgb.png");
    g_free(path);
  }
  corpus_copy(root, "a/10.jpg", "420.jpg");
  corpus_copy(root, "a/2.jpg", "420.jpg");
  corpus_copy(root, "a/b/1.jpg", "420.jpg");
  corpus_copy(root, "a/b-c/1.jpg", "420.jpg");
  corpus_copy(root, "a/b/z/1.jpg", "420.jpg");
  NwManifest *m = scan_fine(root, 0.2);
  g_assert_cmpuint(m->classes->len, ==, 7);
  for (guint i = 0; classes[i]; i++)
    g_assert_cmpstr(g_ptr_array_index(m->classes, i), ==, classes[i]);
  static const char *const order[] = {"a/10.jpg",  "a/2.jpg",     "a/x.PNG",
                                      "a/b/1.jpg", "a/b-c/1.jpg", "a/b/z/1.jpg"};
  for (guint i = 0; i < G_N_ELEMENTS(order); i++)
    g_assert_cmpstr(entry_at(m, 3 + i)->path, ==, order[i]);
  g_assert_cmpuint(entry_at(m, 3)->label, ==, 3);
  g_assert_cmpuint(entry_at(m, 3)->format, ==, NW_FORMAT_JPEG);
  g_assert_cmpuint(entry_at(m, 3)->width, ==, 61);
  g_assert_cmpuint(entry_at(m, 3)->height, ==, 47);
  nw_manifest_free(m);
  corpus_free(root);
}

static void test_split(void)
{
  char *root = corpus_new();
  corpus_classes(root, two, 20, "gray.png");
  corpus_copy(root, "bird/1.png", "gray.png"); /* one picture: stays for training */
  NwManifest *a = scan_fine(root, 0.25), *b = scan_fine(root, 0.25);
  g_assert_false(a->own_split);
  g_assert_true(a->all_gray);
  g_assert_cmpuint(nw_manifest_count(a, NW_SPLIT_VAL, 1), ==, 5);
  g_assert_cmpuint(nw_manifest_count(a, NW_SPLIT_VAL, 2), ==, 5);
  g_assert_cmpuint(nw_manifest_count(a, NW_SPLIT_VAL, 0), ==, 0);
  g_assert_cmpuint(nw_manifest_count(a, NW_SPLIT_TRAIN, -1), ==, 31);
  guint moved = 0;
  for (guint i = 0; i < a->pictures->len; i++)
    g_assert_cmpint(entry_at(a, i)->split, ==, entry_at(b, i)->split);
  g_assert_cmpstr(a->digest, ==, b->digest);
  nw_manifest_split(b, 12, 0.25);
  for (guint i = 0; i < a->pictures->len; i++)
    moved += entry_at(a, i)->split != entry_at(b, i)->split;
  g_assert_cmpuint(moved, >, 0);
  g_assert_cmpstr(a->digest, ==, b->digest); /* the set is the same */
  nw_manifest_free(b);
  corpus_copy(root, "cat/new.png", "gray.png");
  b = scan_fine(root, 0.25);
  g_assert_cmpstr(a->digest, !=, b->digest);
  nw_manifest_free(a);
  nw_manifest_free(b);
  corpus_free(root);
}

static void test_nothing_to_train_on(void)
{
  char *root = corpus_new(), *path;
  expect_bad(root, NW_BAD_DATA, "no pictures");
  corpus_copy(root, "a.png", "gray.png");
  expect_bad(root, NW_BAD_DATA, "lie directly in it");
  corpus_remove(root);
  corpus_classes(root, (const char *const[]){"cat", NULL}, 3, "gray.png");
  expect_bad(root, NW_BAD_DATA, "one class only (cat)");
  corpus_folder(root, "dog");
  expect_bad(root, NW_BAD_DATA, "one class only (cat)");
  corpus_copy_part(root, "dog/cut.png", "gray.png", 50);
  expect_bad(root, NW_BAD_DATA, "one class only (cat)");
  path = g_build_filename(root, "none", NULL);
  expect_bad(path, NW_NOT_FOUND, "none");
  g_free(path);
  path = golden_path("rgb.png");
  expect_bad(path, NW_BAD_DATA, "single picture");
  g_free(path);
  corpus_put(root, "page.zip", "<!DOCTYPE html><p>404", 21);
  path = g_build_filename(root, "page.zip", NULL);
  expect_bad(path, NW_BAD_DATA, "a web page");
  g_free(path);
  corpus_put(root, "empty.zip", "", 0);
  path = g_build_filename(root, "empty.zip", NULL);
  expect_bad(path, NW_BAD_DATA, "empty file");
  g_free(path);
  corpus_free(root);
}

static void test_bad_pictures(void)
{
  char *root = corpus_new();
  corpus_classes(root, two, 5, "420.jpg");
  corpus_copy_part(root, "cat/cut.jpg", "photo.jpg", 50);
  corpus_copy_part(root, "cat/cut.png", "rgb.png", 60);
  corpus_put(root, "cat/empty.jpg", "", 0);
  corpus_put(root, "cat/page.jpg", "<html>not found", 15);
  corpus_put(root, "cat/head.jpg", "\xff\xd8\xff\xe0", 4);
  corpus_copy(root, "dog/png-called.jpg", "rgb.png");
  corpus_copy(root, "dog/webp-called.jpg", "lossy.webp");
  corpus_copy(root, "dog/transparent.png", "rgba.png");
  corpus_copy(root, "dog/moving.webp", "animated.webp");
  corpus_copy(root, "dog/cmyk.jpeg", "cmyk.jpg");
  corpus_copy(root, "dog/a.gif", "palette.gif");
  corpus_copy(root, "dog/a.BMP", "rgb.bmp");
  corpus_put(root, "dog/notes.txt", "x", 1);
  corpus_put(root, "dog/photo.heic", "x", 1);
  char *bytes;
  gsize n;
  golden_bytes("420.jpg", &bytes, &n);
  corpus_put(root, "dog/no-end.jpg", bytes, n - 2);
  char *more = g_malloc0(n + 9000); /* zeros behind the end are harmless */
  memcpy(more, bytes, n);
  corpus_put(root, "dog/trailing.jpg", more, n + 9000);
  g_free(more);
  /* EXIF orientation 6, put behind the start marker. */
  static const guint8 exif[] = {0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0,    0,    'M', 'M',
                                0,    42,   0, 0,  0,   8,   0,   1,   0x01, 0x12, 0,   3,
                                0,    0,    0, 1,  0,   6,   0,   0,   0,    0,    0,   0};
  GByteArray *turned = g_byte_array_new();
  g_byte_array_append(turned, (guint8 *)bytes, 2);
  g_byte_array_append(turned, exif, sizeof exif);
  g_byte_array_append(turned, (guint8 *)bytes + 2, (guint)n - 2);
  corpus_put(root, "dog/turned.jpg", turned->data, turned->len);
  g_byte_array_unref(turned);
  g_free(bytes);

  for (int decode_all = 0; decode_all < 2; decode_all++) {
    NwManifest *m = NULL;
    NwScanOptions options;
    NwError error = {0};
    nw_scan_options_init(&options);
    options.decode_all = decode_all;
    g_assert_cmpint(nw_manifest_scan(root, &options, &m, &error), ==, NW_OK);
    g_assert_cmpuint(m->pictures->len, ==, 20);
    g_assert_cmpuint(m->left_out, ==, 5);
    expect_problem(m, "truncated", TRUE, 1, "cut after row");
    g_assert_nonnull(problem_of(m, "truncated", 2)); /* cut.jpg, cut.png, head.jpg */
    expect_problem(m, "empty-file", TRUE, 1, "cat/empty.jpg: the file is empty. It is left out");
    expect_problem(m, "not-a-picture", TRUE, 1, "it looks like a web page");
    expect_problem(m, "wrong-extension", FALSE, 2, "content decides");
    expect_problem(m, "transparent", FALSE, 1, "transparency");
    expect_problem(m, "animated", FALSE, 1, "first frame");
    expect_problem(m, "exif-rotated", FALSE, 1, "EXIF");
    expect_problem(m, "no-end-marker", FALSE, 1, "end marker");
    expect_problem(m, "ignored-type", FALSE, 2, ".heic 1, .txt 1");
    g_assert_true(((NwProblem *)g_ptr_array_index(m->problems, 0))->left_out);
    nw_manifest_free(m);
  }
  corpus_free(root);
}

static void test_bad_folders(void)
{
  char *root = corpus_new(), *outside = corpus_new();
  corpus_classes(root, two, 4, "gray.png");
  corpus_copy(root, ".ipynb_checkpoints/a.png", "gray.png");
  corpus_copy(root, "__MACOSX/cat/._000.png", "gray.png");
  corpus_copy(root, "cat/._000.png", "gray.png");
  corpus_put(root, "cat/.DS_Store", "x", 1);
  corpus_put(root, "Thumbs.db", "x", 1);
  corpus_folder(root, "empty");
  corpus_copy(root, "loose.png", "gray.png");
  corpus_link(root, "cat/nowhere.png", "does-not-exist.png");
  corpus_link(root, "cat/again", "../cat");
  corpus_link(root, "dog/up", "..");
  corpus_copy(outside, "pictures/1.png", "gray.png");
  char *linked = g_build_filename(outside, "pictures", NULL);
  corpus_link(root, "horse", linked); /* a class that is a link is followed */
  NwManifest *m = scan_fine(root, 0.2);
  g_assert_cmpuint(m->classes->len, ==, 4); /* cat, dog, empty, horse */
  g_assert_cmpuint(m->pictures->len, ==, 9);
  g_assert_cmpuint(m->ignored, ==, 5);
  g_assert_cmpuint(m->left_out, ==, 2);
  expect_problem(m, "ignored", FALSE, 5, "torchvision");
  expect_problem(m, "dangling-link", TRUE, 1, "cat/nowhere.png: the link leads nowhere");
  g_assert_nonnull(problem_of(m, "link-loop", 1));
  expect_problem(m, "wrong-level", TRUE, 1, "outside of any class folder");
  expect_problem(m, "empty-class", FALSE, 0, "empty: ");
  nw_manifest_free(m);
  g_free(linked);
  corpus_free(outside);
  corpus_free(root);
}

static void test_permission(void)
{
  char *root = corpus_new();
  g_chmod(root, 0755);
  corpus_classes(root, two, 4, "gray.png");
  char *file = g_build_filename(root, "cat/000.png", NULL), *folder = g_build_filename(root, "dog/sub", NULL);
  corpus_copy(root, "dog/sub/1.png", "gray.png");
  g_chmod(file, 0);
  g_chmod(folder, 0);
  gboolean all_mighty = geteuid() == 0; /* root may read everything: be nobody for a moment */
  if (all_mighty)
    g_assert_cmpint(seteuid(65534), ==, 0);
  NwManifest *m = scan_fine(root, 0.2);
  if (all_mighty)
    g_assert_cmpint(seteuid(0), ==, 0);
  g_assert_cmpuint(m->pictures->len, ==, 7);
  g_assert_nonnull(problem_of(m, "unreadable", 1));
  nw_manifest_free(m);
  g_chmod(folder, 0755);
  g_free(file);
  g_free(folder);
  corpus_free(root);
}

static void test_own_split(void)
{
  char *root = corpus_new();
  static const char *const train[] = {"set/train/cat", "set/train/dog", "set/train/owl", NULL};
  static const char *const val[] = {"set/val/cat", "set/val/dog", "set/val/zebra", NULL};
  corpus_classes(root, train, 3, "gray.png");
  corpus_classes(root, val, 2, "gray.png");
  corpus_copy(root, "set/test/cat/1.png", "gray.png");
  corpus_put(root, "set/readme.md", "x", 1);
  NwManifest *m = scan_fine(root, 0.2);
  g_assert_true(m->own_split);
  g_assert_cmpuint(m->classes->len, ==, 3);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_TRAIN, -1), ==, 9);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_VAL, -1), ==, 4);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_VAL, 1), ==, 2);
  g_assert_cmpstr(entry_at(m, 0)->path, ==, "set/train/cat/000.png");
  expect_problem(m, "class-only-in-val", TRUE, 2, "zebra: the class is only among the validation pictures");
  expect_problem(m, "class-missing-in-val", FALSE, 0, "owl");
  expect_problem(m, "test-folder", FALSE, 0, "test");
  g_assert_cmpuint(m->left_out, ==, 2);
  nw_manifest_split(m, 5, 0.5); /* no effect */
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_VAL, -1), ==, 4);
  nw_manifest_free(m);
  corpus_free(root);
  /* Classes may be called train and test. */
  root = corpus_new();
  corpus_classes(root, (const char *const[]){"plane", "test", "train", NULL}, 3, "gray.png");
  m = scan_fine(root, 0.2);
  g_assert_false(m->own_split);
  g_assert_cmpuint(m->classes->len, ==, 3);
  nw_manifest_free(m);
  corpus_free(root);
}

static void test_numbers_and_wrapper(void)
{
  char *root = corpus_new();
  static const char *const numbers[] = {"w/x/0", "w/x/1", "w/x/10", "w/x/2", NULL};
  corpus_classes(root, numbers, 2, "gray.png");
  NwManifest *m = scan_fine(root, 0.5);
  g_assert_cmpuint(m->classes->len, ==, 4);
  g_assert_cmpstr(g_ptr_array_index(m->classes, 2), ==, "10");
  expect_problem(m, "number-classes", FALSE, 4, "10 comes before 2");
  nw_manifest_free(m);
  corpus_free(root);
}

/* Names that are not UTF-8 are listed, shown and read. */
static void test_odd_names(void)
{
  char *root = corpus_new();
  corpus_classes(root, two, 2, "gray.png");
  corpus_copy(root, "cat/\xff\xfe.png", "gray.png");
  corpus_copy(root, "cat/with space & \"quote\"\n.png", "gray.png");
  corpus_copy_part(root, "dog/\xe8.png", "gray.png", 40);
  NwManifest *m = scan_fine(root, 0.2);
  g_assert_cmpuint(m->pictures->len, ==, 6);
  g_assert_true(g_utf8_validate(problem_of(m, "truncated", 0)->path, -1, NULL));
  NwJson *json = nw_manifest_to_json(m);
  char *text = nw_json_print(json, TRUE);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "\"left_out\""));
  nw_free(text);
  nw_json_free(json);
  nw_manifest_free(m);
  corpus_free(root);
}

static gboolean stop_soon(gpointer owner, guint files, guint problems)
{
  return --*(int *)owner > 0;
}

static void test_cancel(void)
{
  char *root = corpus_new();
  corpus_classes(root, two, 300, "gray.png");
  for (int calls = 1; calls < 6; calls++) {
    int left = calls;
    NwManifest *m = NULL;
    NwScanOptions options;
    NwError error = {0};
    nw_scan_options_init(&options);
    options.progress = stop_soon;
    options.owner = &left;
    options.threads = 1;
    g_assert_cmpint(nw_manifest_scan(root, &options, &m, &error), ==, NW_CANCELLED);
    g_assert_null(m);
  }
  corpus_free(root);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/scan/order", test_order);
  g_test_add_func("/scan/split", test_split);
  g_test_add_func("/scan/nothing-to-train-on", test_nothing_to_train_on);
  g_test_add_func("/scan/bad-pictures", test_bad_pictures);
  g_test_add_func("/scan/bad-folders", test_bad_folders);
  g_test_add_func("/scan/permission", test_permission);
  g_test_add_func("/scan/own-split", test_own_split);
  g_test_add_func("/scan/numbers-and-wrapper", test_numbers_and_wrapper);
  g_test_add_func("/scan/odd-names", test_odd_names);
  g_test_add_func("/scan/cancel", test_cancel);
  return g_test_run();
}
