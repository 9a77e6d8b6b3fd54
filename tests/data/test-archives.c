/* Archives read in place, and packed sets: MNIST's IDX files, CIFAR-10's binary files. */
#include "tests/data/corpus.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include "data/loader.h"

typedef struct Member {
  const char *name;
  const char *golden; /* NULL: a link, or a folder when the name ends in '/' */
} Member;

typedef struct Kind {
  const char *file;
  int (*format)(struct archive *);
  int (*filter)(struct archive *);
} Kind;

static const Kind kinds[] = {{"set.zip", archive_write_set_format_zip, NULL},
                             {"set.tar", archive_write_set_format_pax_restricted, NULL},
                             {"set.tar.gz", archive_write_set_format_gnutar, archive_write_add_filter_gzip},
                             {"set.tar.xz", archive_write_set_format_pax, archive_write_add_filter_xz}};

static char *pack(const char *root, const Kind *kind, const Member *members, guint n, const char *options)
{
  char *path = g_build_filename(root, kind->file, NULL);
  struct archive *a = archive_write_new();
  kind->format(a);
  if (kind->filter)
    kind->filter(a);
  if (options) {
    g_assert_cmpint(archive_write_set_options(a, options), ==, ARCHIVE_OK);
    g_assert_cmpint(archive_write_set_passphrase(a, "secret"), ==, ARCHIVE_OK);
  }
  g_assert_cmpint(archive_write_open_filename(a, path), ==, ARCHIVE_OK);
  for (guint i = 0; i < n; i++) {
    struct archive_entry *e = archive_entry_new();
    char *bytes = NULL;
    gsize length = 0;
    archive_entry_set_pathname(e, members[i].name);
    archive_entry_set_perm(e, 0644);
    if (members[i].golden) {
      golden_bytes(members[i].golden, &bytes, &length);
      archive_entry_set_filetype(e, AE_IFREG);
      archive_entry_set_size(e, (gint64)length);
    } else if (g_str_has_suffix(members[i].name, "/")) {
      archive_entry_set_filetype(e, AE_IFDIR);
    } else {
      archive_entry_set_filetype(e, AE_IFLNK);
      archive_entry_set_symlink(e, "/etc/passwd");
    }
    g_assert_cmpint(archive_write_header(a, e), >=, ARCHIVE_WARN);
    if (bytes)
      g_assert_cmpint(archive_write_data(a, bytes, length), ==, length);
    archive_entry_free(e);
    g_free(bytes);
  }
  g_assert_cmpint(archive_write_close(a), ==, ARCHIVE_OK);
  archive_write_free(a);
  return path;
}

static void same_picture(const NwManifest *m, guint index, const char *golden)
{
  NwPicture a, b;
  NwError error = {0};
  char *path = golden_path(golden);
  nw_manifest_picture(m, index, 3, &a, &error);
  g_assert_cmpstr(error.text, ==, "");
  g_assert_cmpint(nw_picture_read(path, 3, &b, &error), ==, NW_OK);
  gsize n = (gsize)a.width * a.height * 3;
  g_assert_cmpmem(a.pixels, n, b.pixels, (gsize)b.width * b.height * 3);
  nw_picture_clear(&a);
  nw_picture_clear(&b);
  g_free(path);
}

static void test_every_kind(void)
{
  static const Member members[] = {{"./set/", NULL},
                                   {"./set/a/", NULL},
                                   {"./set/a/2.png", "gray.png"},
                                   {"set/a/1.jpg", "photo.jpg"},
                                   {"set/猫/x.webp", "lossy.webp"},
                                   {"set/猫/deeper/y.png", "rgba.png"},
                                   {"set/empty/", NULL},
                                   {"__MACOSX/set/a/._1.jpg", "gray.png"},
                                   {"set/a/.DS_Store", "gray.png"},
                                   {"set/a/notes.txt", "gray.png"}};
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    char *root = corpus_new(), *path = pack(root, &kinds[k], members, G_N_ELEMENTS(members), NULL);
    NwManifest *m = scan_fine(path, 0.2);
    g_assert_cmpint(m->kind, ==, NW_DATA_ARCHIVE);
    g_assert_cmpuint(m->classes->len, ==, 3);
    g_assert_cmpstr(g_ptr_array_index(m->classes, 2), ==, "猫");
    g_assert_cmpuint(m->pictures->len, ==, 4);
    g_assert_cmpuint(m->ignored, ==, 2);
    g_assert_cmpstr(entry_at(m, 0)->path, ==, "set/a/1.jpg");
    same_picture(m, 0, "photo.jpg");
    same_picture(m, 1, "gray.png");
    same_picture(m, 2, "lossy.webp");
    same_picture(m, 3, "rgba.png");
    g_assert_nonnull(problem_of(m, "empty-class", 0));
    nw_manifest_free(m);
    g_free(path);
    corpus_free(root);
  }
}

static void test_tricks(void)
{
  static const Member members[] = {{"a/1.png", "gray.png"},           {"a/2.png", "gray.png"},
                                   {"b/1.png", "gray.png"},           {"../evil.png", "gray.png"},
                                   {"a/../../evil.png", "gray.png"},  {"/evil.png", "gray.png"},
                                   {"C:\\evil.png", "gray.png"},      {"a/link.png", NULL},
                                   {"b/..\\..\\evil.png", "gray.png"}};
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    char *outer = corpus_new(), *root = g_build_filename(outer, "inner", NULL);
    g_mkdir(root, 0755);
    char *path = pack(root, &kinds[k], members, G_N_ELEMENTS(members), NULL);
    NwManifest *m = scan_fine(path, 0.2);
    g_assert_cmpuint(m->pictures->len, ==, 3);
    g_assert_cmpuint(m->classes->len, ==, 2);
    const NwProblem *unsafe = problem_of(m, "unsafe-name", 0), *link = problem_of(m, "link", 0);
    g_assert_nonnull(unsafe);
    g_assert_cmpuint(unsafe->count, ==, 5);
    g_assert_true(unsafe->left_out);
    g_assert_nonnull(link);
    g_assert_cmpuint(link->count, ==, 1);
    /* Nothing was written anywhere. */
    GDir *dir = g_dir_open(outer, 0, NULL);
    g_assert_cmpstr(g_dir_read_name(dir), ==, "inner");
    g_assert_null(g_dir_read_name(dir));
    g_dir_close(dir);
    nw_manifest_free(m);
    g_free(path);
    g_free(root);
    corpus_free(outer);
  }
}

static void expect_bad(const char *path, const char *words)
{
  NwManifest *m = NULL;
  NwError error = {0};
  g_assert_cmpint(nw_manifest_scan(path, NULL, &m, &error), ==, NW_BAD_DATA);
  if (!strstr(error.text, words))
    g_test_message("“%s” does not say “%s”", error.text, words);
  g_assert_nonnull(strstr(error.text, words));
  g_assert_null(m);
}

static void test_cut_archives(void)
{
  static const Member members[] = {{"a/1.png", "rgb.png"}, {"a/2.png", "rgb16.png"}, {"b/1.png", "rgb.png"}};
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    char *root = corpus_new(), *path = pack(root, &kinds[k], members, G_N_ELEMENTS(members), NULL), *bytes;
    gsize n;
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    g_assert_true(g_file_set_contents(path, bytes, (gssize)(n / 2), NULL));
    expect_bad(path, "cut or broken");
    g_free(bytes);
    g_free(path);
    corpus_free(root);
  }
}

static void test_broken_member(void)
{
  static const Member members[] = {{"a/1.png", "rgb.png"}, {"a/2.png", "rgb16.png"}, {"b/1.png", "rgb.png"}};
  char *root = corpus_new(), *path = pack(root, &kinds[0], members, G_N_ELEMENTS(members), NULL), *bytes;
  gsize n;
  g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
  bytes[n / 2] ^= 0x55; /* inside the second, which is the largest */
  g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
  NwManifest *m = scan_fine(path, 0.2);
  g_assert_cmpuint(m->pictures->len, ==, 2);
  g_assert_cmpuint(m->left_out, ==, 1);
  g_assert_nonnull(problem_of(m, "corrupt", 0));
  nw_manifest_free(m);
  g_free(bytes);
  g_free(path);
  corpus_free(root);
}

static void test_encrypted(void)
{
  static const Member members[] = {{"a/1.png", "rgb.png"}, {"b/1.png", "rgb.png"}};
  char *root = corpus_new(), *path = pack(root, &kinds[0], members, 2, "zip:encryption=traditional");
  expect_bad(path, "encrypted");
  g_free(path);
  corpus_free(root);
}

/* An entry that claims 2 GB from a few bytes is left out, and no memory is asked for. */
static void test_dishonest_size(void)
{
  static const Member members[] = {
      {"a/1.png", "rgb.png"}, {"a/2.png", "gray.png"}, {"b/1.png", "rgb.png"}, {"b/2.png", "gray.png"}};
  char *root = corpus_new(),
       *path = pack(root, &kinds[0], members, G_N_ELEMENTS(members), "zip:compression=deflate");
  char *bytes;
  gsize n;
  g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
  char *record = memmem(bytes, n, "PK\1\2", 4);
  g_assert_nonnull(record);
  g_assert_cmpint(record[10], ==, 8);
  memcpy(record + 24, "\xf0\xff\xff\x7f", 4);
  g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
  NwManifest *m = scan_fine(path, 0.2);
  g_assert_cmpuint(m->pictures->len, ==, 3);
  const NwProblem *problem = problem_of(m, "corrupt", 0);
  g_assert_nonnull(problem);
  g_assert_cmpuint(problem->count, ==, 1);
  nw_manifest_free(m);
  g_free(bytes);
  g_free(path);
  corpus_free(root);
}

/* A class called 猫 in GBK, as Chinese Windows packs it. libarchive writes the bytes as they are. */
static void test_names_in_gbk(void)
{
  static const Member members[] = {{"\xc3\xa8\xb9\xb7/1.png", "rgb.png"}, {"b/1.png", "rgb.png"}};
  char *root = corpus_new();
  /* Made by hand: two stored members, names without the UTF-8 flag. */
  GByteArray *zip = g_byte_array_new(), *directory = g_byte_array_new();
  for (guint i = 0; i < 2; i++) {
    char *bytes;
    gsize n, name = strlen(members[i].name);
    golden_bytes(members[i].golden, &bytes, &n);
    guint32 at = zip->len, crc = (guint32)crc32(0, (guint8 *)bytes, (uInt)n), size = (guint32)n;
    guint16 v20 = 20, zero = 0, length = (guint16)name;
    guint32 zero4 = 0;
    for (int central = 0; central < 2; central++) {
      GByteArray *out = central ? directory : zip;
      g_byte_array_append(out, (const guint8 *)(central ? "PK\1\2" : "PK\3\4"), 4);
      if (central)
        g_byte_array_append(out, (guint8 *)&v20, 2);
      g_byte_array_append(out, (guint8 *)&v20, 2);
      g_byte_array_append(out, (guint8 *)&zero4, 4); /* flags, method */
      g_byte_array_append(out, (guint8 *)&zero4, 4); /* time */
      g_byte_array_append(out, (guint8 *)&crc, 4);
      g_byte_array_append(out, (guint8 *)&size, 4);
      g_byte_array_append(out, (guint8 *)&size, 4);
      g_byte_array_append(out, (guint8 *)&length, 2);
      g_byte_array_append(out, (guint8 *)&zero, 2);
      if (central) {
        g_byte_array_append(out, (guint8 *)&zero4, 4);
        g_byte_array_append(out, (guint8 *)&zero, 2);
        g_byte_array_append(out, (guint8 *)&zero4, 4);
        g_byte_array_append(out, (guint8 *)&at, 4);
      }
      g_byte_array_append(out, (const guint8 *)members[i].name, (guint)name);
    }
    g_byte_array_append(zip, (guint8 *)bytes, (guint)n);
    g_free(bytes);
  }
  guint32 at = zip->len, size = directory->len, zero4 = 0;
  guint16 two = 2, zero = 0;
  g_byte_array_append(zip, directory->data, directory->len);
  g_byte_array_append(zip, (const guint8 *)"PK\5\6", 4);
  g_byte_array_append(zip, (guint8 *)&zero4, 4);
  g_byte_array_append(zip, (guint8 *)&two, 2);
  g_byte_array_append(zip, (guint8 *)&two, 2);
  g_byte_array_append(zip, (guint8 *)&size, 4);
  g_byte_array_append(zip, (guint8 *)&at, 4);
  g_byte_array_append(zip, (guint8 *)&zero, 2);
  corpus_put(root, "gbk.zip", zip->data, zip->len);
  char *path = g_build_filename(root, "gbk.zip", NULL);
  NwManifest *m = scan_fine(path, 0.2);
  g_assert_cmpuint(m->pictures->len, ==, 2);
  g_assert_cmpstr(g_ptr_array_index(m->classes, 1), ==, "猫狗");
  g_assert_nonnull(problem_of(m, "names-charset", 0));
  same_picture(m, 1, "rgb.png");
  nw_manifest_free(m);
  g_byte_array_unref(zip);
  g_byte_array_unref(directory);
  g_free(path);
  corpus_free(root);
}

/* More members than 16 bits can count. */
static void test_large_zip(void)
{
  const guint n = 66000;
  char *root = corpus_new();
  Member *members = g_new0(Member, n);
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < n; i++) {
    g_ptr_array_add(names, g_strdup_printf("%c/%05u%s", 'a' + (int)(i % 2), i, i % 1000 ? ".txt" : ".png"));
    members[i] = (Member){g_ptr_array_index(names, i), i % 1000 ? "gray2.png" : "gray.png"};
  }
  char *path = pack(root, &kinds[0], members, n, NULL);
  NwManifest *m = NULL;
  NwError error = {0};
  nw_manifest_scan(path, NULL, &m, &error);
  g_assert_nonnull(strstr(error.text, "one class")); /* every picture has an even number */
  members[n - 1].name = "b/last.png";
  g_free(path);
  path = pack(root, &kinds[0], members, n, NULL);
  m = scan_fine(path, 0.2);
  g_assert_cmpuint(m->pictures->len, ==, 67);
  g_assert_cmpuint(problem_of(m, "ignored-type", 0)->count, ==, n - 67);
  nw_manifest_free(m);
  g_ptr_array_unref(names);
  g_free(members);
  g_free(path);
  corpus_free(root);
}

static void test_sample(void)
{
  char *path = g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "share/sample/clothes.zip", NULL);
  NwManifest *m = scan_fine(path, 0.2);
  g_assert_true(m->own_split);
  g_assert_true(m->all_gray);
  g_assert_cmpuint(m->classes->len, ==, 10);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_TRAIN, -1), ==, 2000);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_VAL, -1), ==, 500);
  g_assert_cmpuint(m->left_out, ==, 0);
  g_assert_cmpuint(m->min_width, ==, 28);
  g_assert_cmpuint(m->max_height, ==, 28);
  for (guint i = 0; i < 10; i++)
    g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_TRAIN, (int)i), ==, 200);
  nw_manifest_free(m);
  g_free(path);
}

/* --- packed sets --- */

static GByteArray *idx(guint dims, guint32 n, guint side, guint8 first)
{
  GByteArray *file = g_byte_array_new();
  guint32 head[4] = {GUINT32_TO_BE(0x800 + dims), GUINT32_TO_BE(n), GUINT32_TO_BE(side), GUINT32_TO_BE(side)};
  g_byte_array_append(file, (guint8 *)head, 4 + 4 * dims);
  gsize size = dims == 3 ? (gsize)n * side * side : n;
  for (gsize i = 0; i < size; i++) {
    guint8 value = dims == 3 ? (guint8)(i * 7 + first) : (guint8)((i + first) % 10);
    g_byte_array_append(file, &value, 1);
  }
  return file;
}

static void put_idx(const char *root, const char *path, GByteArray *file, gsize cut)
{
  char *full = g_build_filename(root, path, NULL), *folder = g_path_get_dirname(full);
  g_mkdir_with_parents(folder, 0755);
  if (g_str_has_suffix(path, ".gz")) {
    gzFile z = gzopen(full, "wb");
    g_assert_cmpint(gzwrite(z, file->data, file->len - (unsigned)cut), ==, file->len - cut);
    gzclose(z);
  } else {
    g_assert_true(g_file_set_contents(full, (char *)file->data, (gssize)(file->len - cut), NULL));
  }
  g_byte_array_unref(file);
  g_free(folder);
  g_free(full);
}

static void test_mnist(void)
{
  static const char *const places[] = {"", "MNIST/raw/", "raw/"};
  static const char *const ends[] = {"", ".gz"};
  static const char dots[] = {'-', '.'};
  char *digest = NULL;
  for (guint p = 0; p < 3; p++)
    for (guint e = 0; e < 2; e++)
      for (guint d = 0; d < 2; d++) {
        char *root = corpus_new();
        static const char *const parts[] = {"train", "t10k"};
        for (guint s = 0; s < 2; s++) {
          char *images = g_strdup_printf("%s%s-images%cidx3-ubyte%s", places[p], parts[s], dots[d], ends[e]);
          char *labels = g_strdup_printf("%s%s-labels%cidx1-ubyte%s", places[p], parts[s], dots[d], ends[e]);
          put_idx(root, images, idx(3, s ? 20 : 50, 6, (guint8)s), 0);
          put_idx(root, labels, idx(1, s ? 20 : 50, 0, 3), 0);
          g_free(images);
          g_free(labels);
        }
        NwManifest *m = scan_fine(root, 0.2);
        g_assert_cmpint(m->kind, ==, NW_DATA_MNIST);
        g_assert_true(m->own_split);
        g_assert_true(m->all_gray);
        g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_TRAIN, -1), ==, 50);
        g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_VAL, -1), ==, 20);
        g_assert_cmpuint(m->classes->len, ==, 10);
        g_assert_cmpuint(entry_at(m, 4)->label, ==, 7);
        NwPicture picture;
        g_assert_cmpint(nw_manifest_picture(m, 51, 1, &picture, NULL), ==, NW_OK); /* second of t10k */
        g_assert_cmpuint(picture.width, ==, 6);
        g_assert_cmpuint(picture.pixels[5], ==, (guint8)((36 + 5) * 7 + 1));
        nw_picture_clear(&picture);
        g_assert_cmpint(nw_manifest_picture(m, 51, 3, &picture, NULL), ==, NW_OK);
        g_assert_cmpuint(picture.pixels[3 * 5 + 2], ==, (guint8)((36 + 5) * 7 + 1));
        nw_picture_clear(&picture);
        if (digest)
          g_assert_cmpstr(digest, ==, m->digest); /* packed or not, wherever it lies */
        g_free(digest);
        digest = g_strdup(m->digest);
        nw_manifest_free(m);
        corpus_free(root);
      }
  g_free(digest);
}

static void test_bad_mnist(void)
{
  char *root = corpus_new();
  put_idx(root, "train-images-idx3-ubyte", idx(3, 50, 6, 0), 100);
  expect_bad(root, "train-labels-idx1-ubyte is missing");
  put_idx(root, "train-labels-idx1-ubyte", idx(1, 50, 0, 0), 0);
  expect_bad(root, "it needs 1816 bytes and has 1716");
  put_idx(root, "train-images-idx3-ubyte", idx(3, 49, 6, 0), 0);
  expect_bad(root, "49 pictures, 50 labels");
  corpus_put(root, "train-images-idx3-ubyte", "<!DOCTYPE html><html>", 21);
  expect_bad(root, "a web page");
  g_autofree char *gz = g_build_filename(root, "train-images-idx3-ubyte", NULL);
  put_idx(root, "train-images-idx3-ubyte.gz", idx(3, 5000, 6, 0), 0);
  g_remove(gz);
  g_autofree char *whole = g_build_filename(root, "train-images-idx3-ubyte.gz", NULL);
  char *bytes;
  gsize n;
  g_assert_true(g_file_get_contents(whole, &bytes, &n, NULL));
  g_assert_true(g_file_set_contents(whole, bytes, (gssize)(n / 2), NULL));
  expect_bad(root, "cut");
  g_free(bytes);
  corpus_free(root);
}

static GByteArray *cifar(guint n, guint seed)
{
  GByteArray *file = g_byte_array_new();
  for (guint i = 0; i < n; i++) {
    guint8 record[3073];
    record[0] = (guint8)((i + seed) % 10);
    for (guint k = 0; k < 3072; k++)
      record[1 + k] = (guint8)(k / 1024 * 50 + k % 1024 + i);
    g_byte_array_append(file, record, sizeof record);
  }
  return file;
}

static void test_cifar(void)
{
  char *root = corpus_new();
  for (guint i = 1; i <= 6; i++) {
    char *path = i < 6 ? g_strdup_printf("cifar-10-batches-bin/data_batch_%u.bin", i)
                       : g_strdup("cifar-10-batches-bin/test_batch.bin");
    GByteArray *file = cifar(i < 6 ? 12 : 7, i);
    corpus_put(root, path, file->data, file->len);
    g_byte_array_unref(file);
    g_free(path);
  }
  NwManifest *m = scan_fine(root, 0.2);
  g_assert_cmpint(m->kind, ==, NW_DATA_CIFAR10);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_TRAIN, -1), ==, 60);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_VAL, -1), ==, 7);
  g_assert_cmpstr(g_ptr_array_index(m->classes, 6), ==, "frog");
  NwPicture picture;
  g_assert_cmpint(nw_manifest_picture(m, 2, 3, &picture, NULL), ==, NW_OK);
  g_assert_cmpuint(picture.pixels[3 * 33 + 1], ==, 50 + 33 + 2); /* second row, second column, green */
  nw_picture_clear(&picture);
  nw_manifest_free(m);
  corpus_put(root, "cifar-10-batches-bin/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n", 21);
  m = scan_fine(root, 0.2);
  g_assert_cmpstr(g_ptr_array_index(m->classes, 6), ==, "g");
  nw_manifest_free(m);
  GByteArray *file = cifar(3, 0);
  file->data[3073] = 77;
  corpus_put(root, "cifar-10-batches-bin/data_batch_2.bin", file->data, file->len);
  m = scan_fine(root, 0.2);
  g_assert_cmpuint(m->left_out, ==, 1);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_TRAIN, -1), ==, 50);
  g_assert_nonnull(problem_of(m, "bad-label", 0));
  nw_manifest_free(m);
  corpus_put(root, "cifar-10-batches-bin/data_batch_3.bin", file->data, 4000);
  expect_bad(root, "not a whole number of records");
  g_byte_array_unref(file);
  corpus_free(root);
}

static void test_real_mnist(void)
{
  const char *set = g_getenv("NETWRIGHT_MNIST");
  char *path =
      set ? g_strdup(set) : g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "../shared/data/mnist", NULL);
  if (!g_file_test(path, G_FILE_TEST_IS_DIR)) {
    if (!g_strcmp0(g_getenv("CI"), "true"))
      g_test_fail_printf("MNIST is not in %s", path);
    else
      g_test_skip("MNIST is not in ../shared/data/mnist (or $NETWRIGHT_MNIST)");
    g_free(path);
    return;
  }
  NwManifest *m = scan_fine(path, 0.2);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_TRAIN, -1), ==, 60000);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_VAL, -1), ==, 10000);
  g_assert_cmpuint(nw_manifest_count(m, NW_SPLIT_TRAIN, 5), ==, 5421);
  NwPreprocessing *p = nw_preprocessing_new(1, 28, 28);
  double mean[4], deviation[4];
  g_assert_cmpint(nw_loader_statistics(m, p, mean, deviation, NULL), ==, NW_OK);
  g_assert_cmpfloat_with_epsilon(mean[0], 0.1307, 0.00005); /* the numbers everybody writes down */
  g_assert_cmpfloat_with_epsilon(deviation[0], 0.3081, 0.00005);
  nw_preprocessing_free(p);
  nw_manifest_free(m);
  g_free(path);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/archives/every-kind", test_every_kind);
  g_test_add_func("/archives/tricks", test_tricks);
  g_test_add_func("/archives/cut", test_cut_archives);
  g_test_add_func("/archives/broken-member", test_broken_member);
  g_test_add_func("/archives/encrypted", test_encrypted);
  g_test_add_func("/archives/names-in-gbk", test_names_in_gbk);
  g_test_add_func("/archives/dishonest-size", test_dishonest_size);
  g_test_add_func("/archives/large-zip", test_large_zip);
  g_test_add_func("/archives/sample", test_sample);
  g_test_add_func("/packed/mnist", test_mnist);
  g_test_add_func("/packed/bad-mnist", test_bad_mnist);
  g_test_add_func("/packed/cifar", test_cifar);
  g_test_add_func("/packed/real-mnist", test_real_mnist);
  return g_test_run();
}
