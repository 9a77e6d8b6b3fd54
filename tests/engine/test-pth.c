/* PyTorch's files: those that torch wrote read bit for bit, our own written and read again, and thousands of
 * damaged ones refused without a crash. */
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/pth.h"
#include "engine/io/torchscript.h"
#include "tests/engine/nets.h"

static char *golden(const char *name)
{
  return g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "tests/golden/pth", name, NULL);
}

static char *temporary(void)
{
  char *path = g_build_filename(g_get_tmp_dir(), "netwright-XXXXXX", NULL);
  int fd = g_mkstemp(path);
  g_assert_cmpint(fd, >=, 0);
  g_assert_true(g_close(fd, NULL));
  return path;
}

/* ---- files of torch ---- */

static uint64_t fnv(const void *data, size_t n)
{
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ ((const uint8_t *)data)[i]) * 1099511628211u;
  return hash;
}

static void check_tensor(const NwPthNode *weights, char **words)
{
  NwPthTensor tensor;
  char shape[96] = "";
  const NwPthNode *node = nw_pth_get(weights, words[1]);
  if (!nw_pth_tensor(node, &tensor))
    g_error("%s: %s cannot be read", words[0], words[1]);
  for (int i = 0; i < tensor.spec.ndim; i++)
    g_snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%d", i ? "x" : "",
               (int)tensor.spec.dims[i]);
  g_assert_cmpstr(nw_dtype_name(tensor.spec.dtype), ==, words[2]);
  g_assert_cmpstr(tensor.spec.ndim ? shape : "scalar", ==, words[3]);
  if (fnv(tensor.data, nw_spec_bytes(&tensor.spec)) != g_ascii_strtoull(words[4], NULL, 16))
    g_error("%s: the numbers of %s differ", words[0], words[1]);
}

static void check_refused(char **words)
{
  NwError error;
  NwPthFile *file;
  g_autofree char *path = golden(words[0]);
  NwStatus status = nw_pth_open(path, &file, &error);
  if (status == NW_OK) {
    nw_pth_close(file);
    NwModel *model = nwt_model("mlp", 1, 4, 2, 1);
    status = nw_pth_read_weights(path, model, &error);
    nw_model_free(model);
  }
  g_assert_cmpint(status, ==, NW_UNSUPPORTED);
  g_test_message("%s", error.text);
  g_assert_nonnull(strstr(error.text, words[2]));
}

static void test_torch_files(void)
{
  NwError error;
  g_autofree char *list = golden("tensors.txt"), *text = NULL;
  int tensors = 0;
  g_assert_true(g_file_get_contents(list, &text, NULL, NULL));
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  g_autofree char *open = NULL;
  NwPthFile *file = NULL;
  for (char **line = lines; **line; line++) {
    g_auto(GStrv) words = g_strsplit(*line, " ", 5);
    if (g_str_equal(words[1], "refused")) {
      check_refused(words);
      continue;
    }
    if (g_strcmp0(open, words[0]) != 0) {
      g_autofree char *path = golden(words[0]);
      nw_pth_close(file);
      nwt_ok(nw_pth_open(path, &file, &error));
      g_free(open);
      open = g_strdup(words[0]);
      g_assert_nonnull(nw_pth_state_dict(file));
    }
    check_tensor(nw_pth_state_dict(file), words);
    tensors++;
  }
  nw_pth_close(file);
  g_test_message("%d tensors", tensors);
  g_assert_cmpint(tensors, >, 100);
  g_assert_false(
      g_file_test("/tmp/netwright-was-here", G_FILE_TEST_EXISTS)); /* nothing in a file is ever run */
}

static void test_values(void)
{
  NwError error;
  NwPthFile *file;
  int64_t number;
  double real;
  const char *key;
  g_autofree char *path = golden("checkpoint.pth");
  nwt_ok(nw_pth_open(path, &file, &error));
  const NwPthNode *root = nw_pth_root(file), *args = nw_pth_get(root, "args");
  g_assert_true(nw_pth_int(nw_pth_get(root, "epoch"), &number) && number == 3);
  g_assert_true(nw_pth_real(nw_pth_get(root, "best"), &real) && real == 0.25);
  g_assert_true(nw_pth_real(nw_pth_get(args, "lr"), &real) && real == 1e-3);
  g_assert_cmpint(nw_pth_length(nw_pth_get(args, "names")), ==, 2);
  g_assert_cmpstr(nw_pth_text(nw_pth_at(nw_pth_get(args, "names"), 1, NULL)), ==, "b");
  g_assert_null(nw_pth_text(nw_pth_get(args, "none")));
  g_assert_null(nw_pth_get(args, "missing"));
  nw_pth_at(root, 0, &key);
  g_assert_cmpstr(key, ==, "epoch");
  const NwPthNode *groups = nw_pth_get(nw_pth_get(root, "optimizer"), "param_groups");
  g_assert_true(nw_pth_real(nw_pth_at(nw_pth_get(nw_pth_at(groups, 0, NULL), "betas"), 1, NULL), &real) &&
                real == 0.999);
  const NwPthNode *state = nw_pth_get(nw_pth_get(root, "optimizer"), "state");
  NwPthTensor tensor;
  g_assert_true(nw_pth_tensor(nw_pth_get(nw_pth_get_int(state, 1), "exp_avg"), &tensor));
  g_assert_cmpint(tensor.spec.dims[0], ==, 2);
  nw_pth_close(file);
}

/* ---- our own ---- */

static void test_round_trip(void)
{
  NwError error;
  NwPthFile *file;
  NwPthTensor tensor;
  double real;
  static const int64_t numbers[] = {0, 255, 256, 65535, 65536, -1, INT32_MIN, INT64_MAX, INT64_MIN};
  static const float data[6] = {1, 2, 3, 4, 5, 6};
  NwSpec spec = nw_spec(NW_F32, 2, (int64_t[]){2, 3}), scalar = nw_spec(NW_F32, 0, NULL);
  NwSpec empty = nw_spec(NW_F32, 2, (int64_t[]){0, 7});
  g_autofree char *path = temporary();
  NwPickle *root = nw_pickle_dict(), *list = nw_pickle_list(), *tuple = nw_pickle_tuple();
  for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
    nw_pickle_append(list, nw_pickle_int(numbers[i]));
  for (int i = 0; i < 5; i++)
    nw_pickle_append(tuple, nw_pickle_real(i / 3.0));
  nw_pickle_set(root, "numbers", list);
  nw_pickle_set(root, "tuple", tuple);
  nw_pickle_set(root, "empty list", nw_pickle_list());
  nw_pickle_set(root, "ähm", nw_pickle_string("größer"));
  nw_pickle_set(root, "none", nw_pickle_none());
  nw_pickle_set(root, "yes", nw_pickle_bool(true));
  nw_pickle_set(root, "tensor", nw_pickle_tensor(&spec, data));
  nw_pickle_set(root, "scalar", nw_pickle_tensor(&scalar, data + 3));
  nw_pickle_set(root, "empty", nw_pickle_tensor(&empty, data));
  nw_pickle_set_int(root, 7, nw_pickle_ordered_dict());
  nwt_ok(nw_pth_write(path, root, &error));
  nw_pickle_free(root);
  nwt_ok(nw_pth_open(path, &file, &error));
  const NwPthNode *tree = nw_pth_root(file);
  for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++) {
    int64_t number;
    g_assert_true(nw_pth_int(nw_pth_at(nw_pth_get(tree, "numbers"), (int)i, NULL), &number));
    g_assert_cmpint(number, ==, numbers[i]);
  }
  for (int i = 0; i < 5; i++)
    g_assert_true(nw_pth_real(nw_pth_at(nw_pth_get(tree, "tuple"), i, NULL), &real) && real == i / 3.0);
  g_assert_cmpstr(nw_pth_text(nw_pth_get(tree, "ähm")), ==, "größer");
  g_assert_true(nw_pth_tensor(nw_pth_get(tree, "tensor"), &tensor));
  g_assert_cmpmem(tensor.data, 24, data, 24);
  g_assert_cmpuint((guintptr)tensor.data % 64, ==, 0); /* every record is aligned */
  g_assert_true(nw_pth_tensor(nw_pth_get(tree, "scalar"), &tensor) && *(const float *)tensor.data == 4);
  g_assert_true(nw_pth_tensor(nw_pth_get(tree, "empty"), &tensor) && tensor.spec.dims[1] == 7);
  g_assert_nonnull(nw_pth_get_int(tree, 7));
  nw_pth_close(file);
  g_unlink(path);
}

static void test_strict(void)
{
  NwError error;
  g_autofree char *path = temporary();
  NwModel *model = nwt_model("mlp", 1, 4, 3, 1), *other = nwt_model("mlp", 1, 4, 2, 1),
          *same = nwt_model("mlp", 1, 4, 3, 2);
  nwt_ok(nw_pth_write_weights(path, model, &error));
  nwt_ok(nw_pth_read_weights(path, same, &error));
  for (int i = 0; i < nw_model_count(model); i++) {
    size_t n = nw_spec_bytes(&nw_model_at(model, i)->spec);
    g_assert_cmpmem(nw_model_at(model, i)->data, n, nw_model_at(same, i)->data, n);
  }
  g_assert_cmpint(nw_pth_read_weights(path, other, &error), ==, NW_BAD_SHAPE);
  g_test_message("%s", error.text);
  NwModel *wrong = nwt_model("simplecnn", 1, 8, 3, 1);
  g_assert_cmpint(nw_pth_read_weights(path, wrong, &error), !=, NW_OK);
  g_test_message("%s", error.text);
  nw_model_free(wrong);
  nw_model_free(same);
  nw_model_free(other);
  nw_model_free(model);
  g_unlink(path);
}

/* ---- hostile files ---- */

static gboolean try_bytes(const char *path, const char *bytes, gsize n)
{
  NwError error;
  NwPthFile *file;
  g_assert_true(g_file_set_contents_full(path, bytes, (gssize)n, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  if (nw_pth_open(path, &file, &error) != NW_OK) {
    g_assert_cmpint((int)strlen(error.text), >, 10);
    return FALSE;
  }
  /* touch everything that the file claims to hold */
  const NwPthNode *weights = nw_pth_state_dict(file);
  unsigned sum = 0;
  for (int i = 0; i < nw_pth_length(weights); i++) {
    NwPthTensor tensor;
    const char *key;
    if (!nw_pth_tensor(nw_pth_at(weights, i, &key), &tensor))
      continue;
    for (size_t k = 0; k < nw_spec_bytes(&tensor.spec); k++)
      sum += ((const uint8_t *)tensor.data)[k];
  }
  nw_pth_close(file);
  return sum != 12345;
}

static void mutate(const char *path, const char *bytes, gsize n, uint64_t seed, int rounds, int *opened)
{
  g_autofree char *copy = g_malloc(n);
  for (int round = 0; round < rounds; round++) {
    NwPhilox key = {seed, 80};
    gsize length = n;
    memcpy(copy, bytes, n);
    uint32_t kind = nw_philox(key, (uint64_t)round, 0) % 10,
             changes = 1 + nw_philox(key, (uint64_t)round, 1) % 8;
    if (kind == 0) {
      length = nw_philox(key, (uint64_t)round, 2) % n;
    } else {
      for (uint32_t i = 0; i < changes; i++) {
        uint32_t where = nw_philox(key, (uint64_t)round, 10 + 2 * i) % (uint32_t)n;
        uint32_t what = nw_philox(key, (uint64_t)round, 11 + 2 * i);
        static const uint8_t edges[] = {0,   1,   0x7f, 0x80, 0xff, '(',  't',  'R',
                                        'u', 'q', 'h',  '.',  'Q',  0x8a, 0x94, 0x95};
        copy[where] = (char)(kind < 5   ? (uint8_t)what
                             : kind < 8 ? edges[what % sizeof edges]
                                        : copy[where] ^ 1 << what % 8);
      }
    }
    *opened += try_bytes(path, copy, length);
  }
}

/* The list of contents and the zip's own records are where damage matters; the numbers between them are not.
 */
static void test_mutations(void)
{
  static const char *const names[] = {"protocol2.pth", "protocol4.pth", "checkpoint.pth",
                                      "script.pt",     "deflated.pth",  "evil.pth",
                                      "legacy.pth",    "old.tar.pth",   "whole.pth"};
  g_autofree char *path = temporary();
  int opened = 0,
      rounds =
          g_getenv("NETWRIGHT_TEST_FULL") && g_str_equal(g_getenv("NETWRIGHT_TEST_FULL"), "yes") ? 5000 : 700;
  int64_t live = nw_memory_live();
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *from = golden(names[i]), *bytes = NULL;
    gsize n;
    g_assert_true(g_file_get_contents(from, &bytes, &n, NULL));
    mutate(path, bytes, n, i + 1, rounds, &opened);
  }
  g_test_message("%d damaged files, %d of them still opened", (int)G_N_ELEMENTS(names) * rounds, opened);
  g_assert_cmpint(nw_memory_live(), ==, live);
  g_unlink(path);
}

static void test_no_memory(void)
{
  NwError error;
  NwPthFile *file;
  g_autofree char *path = golden("checkpoint.pth");
  int64_t live = nw_memory_live();
  int failures = 0;
  for (int64_t n = 0;; n++) {
    nw_memory_fail_after(n);
    NwStatus status = nw_pth_open(path, &file, &error);
    nw_memory_fail_after(-1);
    if (status == NW_OK)
      break;
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
    g_assert_null(file);
    failures++;
  }
  nw_pth_close(file);
  g_test_message("%d allocations failed, one at a time", failures);
  g_assert_cmpint(failures, >, 5);
  g_assert_cmpint(nw_memory_live(), ==, live);
}

static void test_write_no_memory(void)
{
  NwError error;
  g_autofree char *path = temporary(), *before = NULL, *after = NULL;
  gsize n, m;
  NwModel *model = nwt_model("residual", 3, 8, 3, 1);
  nwt_ok(nw_torchscript_write(path, model, NULL, &error));
  g_assert_true(g_file_get_contents(path, &before, &n, NULL));
  int64_t live = nw_memory_live();
  int failures = 0;
  for (int64_t at = 0;; at++, failures++) {
    nw_memory_fail_after(at);
    NwStatus status = nw_torchscript_write(path, model, NULL, &error);
    nw_memory_fail_after(-1);
    g_assert_cmpint(nw_memory_live(), ==, live);
    if (status == NW_OK)
      break;
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
  }
  g_assert_true(g_file_get_contents(path, &after, &m, NULL));
  g_assert_cmpmem(before, n, after, m);
  g_test_message("%d allocations failed, one at a time; the file stayed", failures);
  g_assert_cmpint(failures, >, 20);
  nw_model_free(model);
  g_unlink(path);
}

static void test_not_files(void)
{
  NwError error;
  NwPthFile *file;
  g_autofree char *path = temporary();
  g_assert_cmpint(nw_pth_open("/does/not/exist.pth", &file, &error), ==, NW_NOT_FOUND);
  g_assert_cmpint(nw_pth_open("/tmp", &file, &error), ==, NW_BAD_FORMAT);
  g_assert_cmpint(nw_pth_open(path, &file, &error), ==, NW_BAD_FORMAT);
  g_test_message("%s", error.text);
  g_assert_nonnull(strstr(error.text, "empty"));
  g_unlink(path);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/pth/torch-files", test_torch_files);
  g_test_add_func("/pth/values", test_values);
  g_test_add_func("/pth/round-trip", test_round_trip);
  g_test_add_func("/pth/strict", test_strict);
  g_test_add_func("/pth/mutations", test_mutations);
  g_test_add_func("/pth/no-memory", test_no_memory);
  g_test_add_func("/pth/write-no-memory", test_write_no_memory);
  g_test_add_func("/pth/not-files", test_not_files);
  return g_test_run();
}
