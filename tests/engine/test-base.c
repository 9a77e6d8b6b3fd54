/* The ground everything stands on: sentences, numbers as text, JSON, random numbers, threads, files. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/base/machine.h"
#include "engine/base/memory.h"
#include "engine/base/philox.h"
#include "engine/base/text.h"
#include "engine/base/threads.h"
#include "tests/app/pictures.h"

/* ---- sentences ---- */

static void test_sentences(void)
{
  NwError error = {0};
  g_assert_cmpint(nw_fail_property(&error, NW_BAD_ARGUMENT, "stride", "stride is %d", 0), ==,
                  NW_BAD_ARGUMENT);
  g_assert_cmpstr(error.property, ==, "stride");
  error.block = 7;
  g_assert_cmpint(nw_fail(&error, NW_IO, "plain"), ==, NW_IO);
  g_assert_cmpstr(error.property, ==, "");
  g_assert_cmpint(error.block, ==, 0);
  g_assert_cmpint(nw_error_prefix(&error, error.status, "%s", "/a/b"), ==, NW_IO);
  g_assert_cmpstr(error.text, ==, "/a/b: plain");
  g_assert_cmpint(nw_fail_errno(&error, ENOSPC, "Cannot write %s", "x"), ==, NW_NO_SPACE);
  g_assert_cmpstr(error.text, ==, "Cannot write x: No space left on device");
  g_assert_cmpint(nw_fail_errno(NULL, ENOENT, "x"), ==, NW_NOT_FOUND);
  g_assert_cmpint(nw_fail_errno(NULL, EFBIG, "x"), ==, NW_NO_SPACE);
  g_assert_cmpint(nw_fail_errno(NULL, EACCES, "x"), ==, NW_IO);
  for (int i = 0; i <= NW_INTERNAL; i++)
    g_assert_cmpstr(nw_status_text((NwStatus)i), !=, "unknown status");
  g_assert_cmpstr(nw_status_text((NwStatus)1000), ==, "unknown status");
}

/* A sentence that is cut never ends within a character. */
static void test_long_sentences(void)
{
  for (int from = 480; from < 520; from++) {
    static const char *const letters[] = {"é", "漢", "😀"};
    NwError error = {0};
    g_autofree char *start = g_strnfill((gsize)from, 'a');
    for (guint i = 0; i < G_N_ELEMENTS(letters); i++) {
      nw_fail(&error, NW_IO, "%s%s%s%s%s", start, letters[i], letters[i], letters[i], letters[i]);
      g_assert_true(g_utf8_validate(error.text, -1, NULL));
      g_assert_cmpint(strlen(error.text), >=, MIN(from, 508));
      nw_fail_errno(&error, ENOENT, "%s%s%s", start, letters[i], letters[i]);
      g_assert_true(g_utf8_validate(error.text, -1, NULL));
      nw_error_prefix(&error, NW_IO, "%s", letters[i]);
      g_assert_true(g_utf8_validate(error.text, -1, NULL));
    }
  }
}

/* ---- numbers as text ---- */

static void test_text(void)
{
  static const double values[] = {
      0,    -0.0,    0.1,     1.0 / 3, 1e22,       1e-308, 5e-324, 1.7976931348623157e308,
      3e-5, 123456., 0.00123, -2.5,    4294967296.};
  for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
    NwText text = {0};
    double back;
    nw_text_double(&text, values[i]);
    g_assert_true(nw_parse_double(text.data, &back));
    g_assert_cmpmem(&back, sizeof back, &values[i], sizeof back);
    nw_text_clear(&text);
  }
  static const char *const bad[] = {"", " 1", "1 ", "1,5", "0x10", "1e999", "-1e999", "1.5f", "--1", "one"};
  double real;
  long long whole;
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    if (nw_parse_double(bad[i], &real))
      g_error("\"%s\" was taken for a number", bad[i]);
    if (nw_parse_int(bad[i], &whole))
      g_error("\"%s\" was taken for a whole number", bad[i]);
  }
  g_assert_false(nw_parse_int("9223372036854775808", &whole));
  g_assert_true(nw_parse_int("-9223372036854775808", &whole));
  g_assert_cmpint(whole, ==, G_MININT64);
  NwText text = {0};
  for (int i = 0; i < 1000; i++)
    nw_text_printf(&text, "%d ", i);
  g_assert_cmpint(text.length, ==, strlen(text.data));
  nw_text_clear(&text);
  char *empty = nw_text_steal(&text);
  g_assert_cmpstr(empty, ==, "");
  nw_free(empty);
}

/* A person whose locale has a comma reads and writes the same files. */
static void test_comma(void)
{
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "ru_RU.UTF-8"};
  gboolean found = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(names) && !found; i++)
    found = setlocale(LC_NUMERIC, names[i]) != NULL;
  if (!found) {
    g_test_skip("no locale with a decimal comma is installed");
    return;
  }
  NwText text = {0};
  double back;
  nw_text_double(&text, 0.5);
  g_assert_cmpstr(text.data, ==, "0.5");
  g_assert_true(nw_parse_double("0.5", &back));
  nw_text_clear(&text);
  setlocale(LC_NUMERIC, "C");
}

static void test_no_memory(void)
{
  NwText text = {0};
  nw_memory_fail_after(0);
  nw_text_add(&text, "a");
  nw_text_add(&text, "b"); /* the failure sticks, though memory is there again */
  g_assert_true(text.failed);
  g_assert_null(nw_text_steal(&text));
  NwText long_one = {0};
  nw_text_add(&long_one, "kept");
  nw_memory_fail_after(0);
  nw_text_printf(&long_one, "%0200d", 1);
  g_assert_null(nw_text_steal(&long_one));
  g_assert_null(nw_alloc(SIZE_MAX));
  g_assert_null(nw_alloc(SIZE_MAX - 100));
  char *block = nw_alloc(0);
  g_assert_nonnull(block);
  g_assert_cmpint((gintptr)block % 64, ==, 0);
  nw_free(block);
}

/* ---- JSON ---- */

static NwJson *parse(const char *text)
{
  NwJson *json = NULL;
  NwError error = {0};
  if (nw_json_parse(text, strlen(text), "the test", &json, &error) != NW_OK)
    g_error("%s", error.text);
  return json;
}

static void test_json(void)
{
  NwJson *object = nw_json_object(), *list = nw_json_array();
  g_assert_true(nw_json_set_string(object, "text", "a \"b\" \\ \n \x01 / é 漢 😀"));
  g_assert_true(nw_json_set_int(object, "least", G_MININT64));
  g_assert_true(nw_json_set_int(object, "most", G_MAXINT64));
  g_assert_true(nw_json_set_real(object, "real", 0.1));
  g_assert_true(nw_json_set_real(object, "whole", 3));
  g_assert_true(nw_json_set_real(object, "large", 1e300));
  g_assert_true(nw_json_set_real(object, "nan", NAN));
  g_assert_true(nw_json_set_string(object, "nothing", NULL));
  g_assert_true(nw_json_set_bool(object, "yes", true));
  g_assert_true(nw_json_append(list, nw_json_int(1)));
  g_assert_true(nw_json_append(list, nw_json_object()));
  g_assert_true(nw_json_append(list, nw_json_array()));
  g_assert_true(nw_json_set(object, "list", list));
  for (int pretty = 0; pretty < 2; pretty++) {
    char *text = nw_json_print(object, pretty);
    NwJson *back = parse(text);
    g_assert_true(nw_json_equal(object, back));
    char *again = nw_json_print(back, pretty);
    g_assert_cmpstr(text, ==, again); /* order kept, too */
    nw_free(text);
    nw_free(again);
    nw_json_free(back);
  }
  g_assert_cmpint(nw_json_get_int(object, "real", 5), ==, 5);
  g_assert_cmpfloat(nw_json_get_real(object, "most", 5), ==, (double)G_MAXINT64);
  g_assert_true(nw_json_is_null(nw_json_get(object, "nan")));
  g_assert_true(nw_json_is_null(nw_json_get(object, "absent")));
  g_assert_false(nw_json_is_int(nw_json_get(object, "whole"))); /* a real stays one */
  g_assert_cmpstr(nw_json_get_string(object, "yes", "other"), ==, "other");
  int members = 0;
  for (void *it = nw_json_first(object); it != NULL; it = nw_json_next(object, it), members++)
    g_assert_true(nw_json_get(object, nw_json_key(it)) == nw_json_value(it));
  g_assert_cmpint(members, ==, nw_json_length(object));
  NwJson *copy = nw_json_copy(object);
  nw_json_set_int(nw_json_at(nw_json_get(copy, "list"), 1), "deep", 1);
  g_assert_false(nw_json_equal(copy, object));
  nw_json_free(copy);
  /* calls can be nested: a missing value or container makes the setter fail */
  g_assert_false(nw_json_set(object, "x", NULL));
  g_assert_false(nw_json_set(NULL, "x", nw_json_int(1)));
  g_assert_false(nw_json_append(nw_json_get(object, "text"), nw_json_int(1)));
  g_assert_null(nw_json_get(NULL, "x"));
  g_assert_null(nw_json_at(NULL, 0));
  g_assert_cmpint(nw_json_length(NULL), ==, 0);
  nw_json_free(object);
}

static void test_bad_json(void)
{
  static const char *const bad[] = {"",
                                    "{",
                                    "{\"a\":1",
                                    "{\"a\":1,\"a\":2}",
                                    "[1,]",
                                    "[1] 2",
                                    "nul",
                                    "\"\xff\"",
                                    "\"a\\u0000b\"",
                                    "01",
                                    "1e99999",
                                    "{\"a\" 1}",
                                    "[\"\\ud800\"]",
                                    "'a'",
                                    "//c\n1",
                                    "[1\n,\n",
                                    "99999999999999999999"};
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    NwJson *json = NULL;
    NwError error = {0};
    if (nw_json_parse(bad[i], strlen(bad[i]), "project file /a/b", &json, &error) != NW_BAD_FORMAT)
      g_error("\"%s\" was taken for JSON", bad[i]);
    g_assert_null(json);
    g_assert_true(g_str_has_prefix(error.text, "project file /a/b is not valid JSON: line "));
    g_assert_true(g_utf8_validate(error.text, -1, NULL));
  }
  /* so deep that a recursion would end the program */
  g_autofree char *deep = g_strnfill(1 << 20, '[');
  NwJson *json = NULL;
  NwError error = {0};
  g_assert_cmpint(nw_json_parse(deep, strlen(deep), "x", &json, &error), ==, NW_BAD_FORMAT);
}

/* ---- random numbers ---- */

/* Known answers of Random123's kat_vectors (philox4x32, 10 rounds). */
static void test_philox(void)
{
  static const struct {
    uint32_t counter[4], key[2], wanted[4];
  } rows[] = {
      {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const uint32_t *c = rows[i].counter;
    NwPhilox key = {(uint64_t)rows[i].key[1] << 32 | rows[i].key[0], c[1]};
    uint32_t out[4];
    nw_philox4(key, (uint64_t)c[3] << 32 | c[2], c[0], out);
    g_assert_cmpmem(out, sizeof out, rows[i].wanted, sizeof out);
    for (uint64_t e = 0; e < 4; e++)
      g_assert_cmphex(nw_philox(key, (uint64_t)c[3] << 32 | c[2], (uint64_t)c[0] * 4 + e), ==, out[e]);
  }
  /* seeds, streams, steps and blocks beyond 32 bits all count */
  uint32_t a[4], b[4];
  nw_philox4((NwPhilox){1, 2}, 3, 4, a);
  const struct {
    NwPhilox key;
    uint64_t step, index;
  } others[] = {
      {{1ull << 32 | 1, 2}, 3, 4}, {{1, 3}, 3, 4}, {{1, 2}, 1ull << 32 | 3, 4}, {{1, 2}, 3, 1ull << 32 | 4}};
  for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
    nw_philox4(others[i].key, others[i].step, others[i].index, b);
    g_assert_cmpint(memcmp(a, b, sizeof a), !=, 0);
  }
}

static void test_distributions(void)
{
  enum { N = 100000 };
  NwPhilox key = {42, NW_STREAM_INIT};
  double sum = 0, square = 0, normal = 0, normal_square = 0;
  for (uint64_t i = 0; i < N; i++) {
    float u = nw_uniform(key, 1, i);
    double d = nw_uniform_double(key, 2, i), z = nw_normal(key, 3, i);
    g_assert_true(u >= 0 && u < 1 && d >= 0 && d < 1 && isfinite(z));
    sum += u;
    square += d * d;
    normal += z;
    normal_square += z * z;
  }
  g_assert_cmpfloat_with_epsilon(sum / N, 0.5, 0.005);
  g_assert_cmpfloat_with_epsilon(square / N, 1.0 / 3, 0.005);
  g_assert_cmpfloat_with_epsilon(normal / N, 0, 0.015);
  g_assert_cmpfloat_with_epsilon(normal_square / N, 1, 0.02);
  /* each order of three equally often */
  int counts[27] = {0};
  for (uint64_t step = 0; step < 6000; step++) {
    uint32_t items[3] = {0, 1, 2};
    nw_shuffle(key, step, items, 3);
    g_assert_cmpint(1 << items[0] | 1 << items[1] | 1 << items[2], ==, 7);
    counts[items[0] * 9 + items[1] * 3 + items[2]]++;
  }
  for (int i = 0; i < 27; i++)
    g_assert_true(counts[i] == 0 || (counts[i] > 850 && counts[i] < 1150));
  nw_shuffle(key, 0, NULL, 0);
}

/* ---- threads ---- */

typedef struct Pieces {
  int64_t n, grain;
  _Atomic int calls;
  unsigned char *seen;
  int most; /* highest thread number that may be told */
} Pieces;

static void piece(void *context, int64_t begin, int64_t end, int thread)
{
  Pieces *p = context;
  g_assert_true(begin < end && end <= p->n && thread >= 0 && thread < p->most);
  g_assert_true(begin % p->grain == 0 && (end % p->grain == 0 || end == p->n));
  p->calls++;
  for (int64_t i = begin; i < end; i++)
    p->seen[i]++;
}

/* Every element once, whatever the number of threads, and at most so many pieces. */
static void check_parallel(void)
{
  static const int64_t sizes[] = {0, 1, 2, 7, 64, 1000}, grains[] = {1, 3, 16, 5000};
  for (int threads = 1; threads <= 5; threads++)
    for (guint s = 0; s < G_N_ELEMENTS(sizes); s++)
      for (guint g = 0; g < G_N_ELEMENTS(grains); g++) {
        unsigned char seen[1000] = {0};
        Pieces p = {sizes[s], grains[g], 0, seen, threads};
        nw_threads_set(threads);
        nw_parallel(p.n, p.grain, piece, &p);
        g_assert_cmpint(p.calls, <=, threads);
        for (int64_t i = 0; i < 1000; i++)
          g_assert_cmpint(seen[i], ==, i < p.n);
      }
  nw_threads_set(nw_threads_available());
}

static void nest(void *context, int64_t begin, int64_t end, int thread)
{
  check_parallel(); /* a loop within a loop runs on its own thread */
}

static void test_parallel(void)
{
  nw_threads_set(0);
  g_assert_cmpint(nw_threads(), ==, 1);
  check_parallel();
  nw_threads_set(1);
  nw_parallel(1, 1, nest, NULL);
}

/* OpenMP may give fewer threads than asked for; no piece is lost then. */
static void test_small_pool(void)
{
  if (g_test_subprocess()) {
    check_parallel();
    return;
  }
  g_setenv("OMP_THREAD_LIMIT", "2", TRUE);
  g_test_trap_subprocess(NULL, 0, 0);
  g_unsetenv("OMP_THREAD_LIMIT");
  g_test_trap_assert_passed();
}

static void test_machine(void)
{
  g_assert_cmpint(strlen(nw_machine_cpu()), >, 0);
  g_assert_cmpint(nw_threads_available(), >=, 1);
  g_assert_true(nw_machine_memory() > 1 << 20 && nw_machine_memory_free() <= nw_machine_memory());
  g_assert_true(nw_process_memory() > 0 && nw_process_memory_peak() >= nw_process_memory() / 2);
  g_assert_cmpint(nw_isa_lanes(NW_ISA_AVX512), ==, 16);
}

/* ---- files ---- */

static char *folder;

static char *in_folder(const char *name)
{
  return g_build_filename(folder, name, NULL);
}

static guint files_in_folder(void)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  guint n = 0;
  while (g_dir_read_name(dir) != NULL)
    n++;
  return n;
}

static void expect_content(const char *path, char letter, gsize size)
{
  char *bytes = NULL;
  size_t n;
  NwError error = {0};
  if (nw_file_read(path, 1 << 24, &bytes, &n, &error) != NW_OK)
    g_error("%s", error.text);
  g_assert_cmpint(n, ==, size);
  g_assert_cmpint(bytes[n], ==, 0);
  for (size_t i = 0; i < n; i++)
    g_assert_cmpint(bytes[i], ==, letter);
  nw_free(bytes);
}

static void write_letters(const char *path, char letter, gsize size)
{
  g_autofree char *bytes = g_strnfill(size, letter);
  NwError error = {0};
  if (nw_file_write(path, bytes, size, &error) != NW_OK)
    g_error("%s", error.text);
}

static void test_files(void)
{
  static const gsize sizes[] = {0, 1, 65535, 65536, 65537, 200000};
  g_autofree char *path = in_folder("file"), *fifo = in_folder("fifo"), *absent = in_folder("no/such");
  NwError error = {0};
  char *bytes = NULL;
  size_t n;
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    write_letters(path, (char)('a' + i), sizes[i]);
    expect_content(path, (char)('a' + i), sizes[i]);
  }
  /* in pieces around the buffer's size */
  NwFileWriter *writer = NULL;
  g_autofree char *letters = g_strnfill(70000, 'q');
  gsize written = 0;
  g_assert_cmpint(nw_file_writer_open(path, &writer, &error), ==, NW_OK);
  for (gsize piece_size = 1; piece_size < 70000; piece_size = piece_size * 3 + 1) {
    g_assert_cmpint(nw_file_writer_write(writer, letters, piece_size, &error), ==, NW_OK);
    written += piece_size;
    g_assert_cmpint(nw_file_writer_offset(writer), ==, written);
  }
  expect_content(path, 'f', 200000); /* not before commit */
  g_assert_cmpint(nw_file_writer_commit(writer, &error), ==, NW_OK);
  expect_content(path, 'q', written);
  g_assert_cmpint(nw_file_writer_open(path, &writer, &error), ==, NW_OK);
  nw_file_writer_cancel(writer);
  nw_file_writer_cancel(NULL);
  expect_content(path, 'q', written);
  g_assert_cmpint(files_in_folder(), ==, 1);

  g_assert_cmpint(nw_file_read(path, 10, &bytes, &n, &error), ==, NW_BAD_FORMAT);
  g_assert_cmpint(nw_file_read(absent, 10, &bytes, &n, &error), ==, NW_NOT_FOUND);
  g_assert_cmpint(nw_file_read(folder, 10, &bytes, &n, &error), ==, NW_IO);
  g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
  g_assert_cmpint(nw_file_read(fifo, 10, &bytes, &n, &error), ==, NW_BAD_FORMAT); /* and does not wait */
  g_assert_null(bytes);
  g_unlink(fifo);
  g_assert_cmpint(nw_file_write(absent, "x", 1, &error), ==, NW_NOT_FOUND);
  g_assert_cmpint(nw_file_write(folder, "x", 1, &error), !=, NW_OK); /* a folder is never replaced */
  g_assert_true(g_file_test(folder, G_FILE_TEST_IS_DIR));
  g_autofree char *beside = g_strdup_printf("%s.tmp-%ld-0", folder, (long)getpid());
  g_assert_false(g_file_test(beside, G_FILE_TEST_EXISTS));
  g_unlink(path);
}

/* What a killed writer left is gone with the next write; what a living one is writing, and other files, stay.
 */
static void test_sweep(void)
{
  g_autofree char *path = in_folder("swept"), *dead = in_folder("swept.tmp-1-0"),
                  *other = in_folder("swept.tmpl");
  NwFileWriter *living = NULL;
  NwError error = {0};
  write_letters(dead, 'd', 10);
  write_letters(other, 'o', 10);
  g_assert_cmpint(nw_file_writer_open(path, &living, &error), ==, NW_OK);
  g_assert_false(g_file_test(dead, G_FILE_TEST_EXISTS));
  g_assert_cmpint(nw_file_write(path, "xyz", 3, &error), ==, NW_OK);
  g_assert_cmpint(nw_file_writer_write(living, "pq", 2, &error), ==, NW_OK);
  g_assert_cmpint(nw_file_writer_commit(living, &error), ==, NW_OK);
  expect_content(other, 'o', 10);
  g_assert_cmpint(files_in_folder(), ==, 2);
  g_unlink(path);
  g_unlink(other);
}

static void test_folders(void)
{
  g_autofree char *deep = in_folder("a//b/c/"), *file = in_folder("a/file"), *below = in_folder("a/file/d");
  NwError error = {0};
  g_assert_cmpint(nw_make_folders(deep, &error), ==, NW_OK);
  g_assert_cmpint(nw_make_folders(deep, &error), ==, NW_OK);
  g_assert_true(g_file_test(deep, G_FILE_TEST_IS_DIR));
  write_letters(file, 'x', 1);
  g_assert_cmpint(nw_make_folders(below, &error), ==, NW_EXISTS);
  g_assert_nonnull(strstr(error.text, "a/file is in the way"));
}

static void test_each_allocation(void)
{
  g_autofree char *path = in_folder("memory");
  int64_t live = nw_memory_live();
  write_letters(path, 'o', 10);
  for (int k = 0;; k++) {
    NwError error = {0};
    nw_memory_fail_after(k);
    NwStatus status = nw_file_write(path, "new", 3, &error);
    nw_memory_fail_after(-1);
    g_assert_cmpint(nw_memory_live(), ==, live);
    if (status == NW_OK)
      break;
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
    expect_content(path, 'o', 10);
    g_assert_cmpint(k, <, 20);
  }
  g_unlink(path);
}

/* In a process of its own, so that it may be killed: exits 0 when the write worked, 1 when it failed. */
static int write_elsewhere(const char *path, const char *moment, rlim_t limit)
{
  pid_t pid = fork();
  int status;
  if (pid == 0) {
    struct rlimit room = {limit, limit};
    NwError error = {0};
    char *bytes = g_strnfill(300000, 'n');
    signal(SIGXFSZ, SIG_IGN);
    if (limit > 0)
      setrlimit(RLIMIT_FSIZE, &room);
    if (moment != NULL)
      nw_file_kill_after(moment, 1);
    status = nw_file_write(path, bytes, 300000, &error);
    _exit(status == NW_OK ? 0 : status == NW_NO_SPACE && strstr(error.text, "Cannot write") ? 1 : 2);
  }
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Killed at any moment, the file is wholly the old one or wholly the new one. */
static void test_kill(void)
{
  static const struct {
    const char *moment;
    char left;
  } rows[] = {{"write", 'o'}, {"fsync", 'o'}, {"rename", 'n'}, {"dirsync", 'n'}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *path = in_folder("killed");
    write_letters(path, 'o', 300000);
    g_assert_cmpint(write_elsewhere(path, rows[i].moment, 0), ==, -SIGKILL);
    expect_content(path, rows[i].left, 300000);
  }
}

static void test_full(void)
{
  g_autofree char *path = in_folder("full");
  guint before = files_in_folder();
  write_letters(path, 'o', 1000);
  for (rlim_t limit = 1; limit < 300000; limit = limit * 7 + 1) {
    g_assert_cmpint(write_elsewhere(path, NULL, limit), ==, 1);
    expect_content(path, 'o', 1000);
    g_assert_cmpint(files_in_folder(), ==, before + 1); /* no half-written file stays */
  }
  g_assert_cmpint(write_elsewhere(path, NULL, 300000), ==, 0);
  expect_content(path, 'n', 300000);
}

/* A caller that overlooks a failed write does not put the rest in the good file's place. */
static void test_commit_after_failure(void)
{
  g_autofree char *path = in_folder("overlooked");
  write_letters(path, 'o', 1000);
  pid_t pid = fork();
  int status;
  if (pid == 0) {
    struct rlimit room = {100000, 100000};
    NwFileWriter *writer = NULL;
    NwError error = {0};
    char *bytes = g_strnfill(90000, 'n');
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &room);
    nw_file_writer_open(path, &writer, &error);
    bool fine = nw_file_writer_write(writer, bytes, 90000, &error) == NW_OK &&
                nw_file_writer_write(writer, bytes, 90000, &error) == NW_NO_SPACE &&
                nw_file_writer_write(writer, bytes, 1, &error) == NW_NO_SPACE &&
                nw_file_writer_commit(writer, &error) == NW_NO_SPACE;
    _exit(fine ? 0 : 1);
  }
  waitpid(pid, &status, 0);
  g_assert_cmpint(status, ==, 0);
  expect_content(path, 'o', 1000);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = nwt_folder_new();
  g_test_add_func("/base/sentences", test_sentences);
  g_test_add_func("/base/long-sentences", test_long_sentences);
  g_test_add_func("/base/text", test_text);
  g_test_add_func("/base/comma", test_comma);
  g_test_add_func("/base/no-memory", test_no_memory);
  g_test_add_func("/base/json", test_json);
  g_test_add_func("/base/bad-json", test_bad_json);
  g_test_add_func("/base/philox", test_philox);
  g_test_add_func("/base/distributions", test_distributions);
  g_test_add_func("/base/files", test_files);
  g_test_add_func("/base/sweep", test_sweep);
  g_test_add_func("/base/folders", test_folders);
  g_test_add_func("/base/each-allocation", test_each_allocation);
  g_test_add_func("/base/kill", test_kill);
  g_test_add_func("/base/full", test_full);
  g_test_add_func("/base/commit-after-failure", test_commit_after_failure);
  /* last: a process with a pool of threads should not fork */
  g_test_add_func("/base/machine", test_machine);
  g_test_add_func("/base/small-pool", test_small_pool);
  g_test_add_func("/base/parallel", test_parallel);
  int result = g_test_run();
  nwt_folder_free(folder);
  return result;
}
