/* Lists of weights: files that NumPy and the safetensors package wrote, our own read by them, numbers turned
 * into other types, and thousands of damaged files. */
#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/npy.h"
#include "engine/io/onnx.h"
#include "engine/io/pth.h"
#include "engine/io/safetensors.h"
#include "engine/io/weight-plan.h"
#include "tests/engine/nets.h"
#include "tests/engine/python.h"

static char *folder;

static char *golden(const char *name)
{
  return g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "tests/golden/weights", name, NULL);
}

static char *place(const char *name)
{
  return g_build_filename(folder, name, NULL);
}

static const NwWeight *find(const NwWeights *weights, const char *name)
{
  for (int i = 0; i < nw_weights_count(weights); i++)
    if (g_str_equal(nw_weights_at(weights, i)->name, name))
      return nw_weights_at(weights, i);
  g_error("%s: there is no %s", nw_weights_path(weights), name);
}

/* ---- files of others ---- */

static guint64 fnv(const void *data, gsize n)
{
  guint64 hash = 14695981039346656037u;
  for (gsize i = 0; i < n; i++)
    hash = (hash ^ ((const guint8 *)data)[i]) * 1099511628211u;
  return hash;
}

static void check_line(const NwWeights *weights, char **words)
{
  const NwWeight *weight = find(weights, words[1]);
  char shape[96] = "";
  for (int i = 0; i < weight->spec.ndim; i++)
    g_snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%d", i ? "x" : "",
               (int)weight->spec.dims[i]);
  g_assert_cmpstr(weight->spec.ndim ? shape : "scalar", ==, words[3]);
  if (g_str_equal(words[2], "-")) {
    g_assert_nonnull(weight->reason);
    return;
  }
  g_assert_null(weight->reason);
  g_assert_cmpstr(weight->dtype, ==, words[2]);
  g_assert_cmpstr(nw_dtype_name(weight->spec.dtype), ==, words[2]);
  if (fnv(weight->data, nw_spec_bytes(&weight->spec)) != g_ascii_strtoull(words[4], NULL, 16))
    g_error("%s: the numbers of %s differ", words[0], words[1]);
}

static void test_files(void)
{
  NwError error;
  g_autofree char *list = golden("tensors.txt"), *text = NULL;
  g_assert_true(g_file_get_contents(list, &text, NULL, NULL));
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  int n = 0;
  for (char **line = lines; **line; line++, n++) {
    g_auto(GStrv) words = g_strsplit(*line, " ", 5);
    g_autofree char *path = golden(words[0]);
    NwWeights *weights;
    nwt_ok(nw_weights_open(path, &weights, &error));
    check_line(weights, words);
    nw_weights_close(weights);
  }
  g_test_message("%d tensors", n);
  g_assert_cmpint(n, >, 40);
}

/* ---- our own ---- */

static void expect_equal(NwModel *model, const char *path, NwDType dtype, gboolean ordered)
{
  NwError error;
  NwWeights *weights;
  nwt_ok(nw_weights_open(path, &weights, &error));
  g_assert_cmpint(nw_weights_count(weights), ==, nw_model_count(model));
  for (int i = 0; i < nw_model_count(model); i++) {
    const NwParam *param = nw_model_at(model, i);
    const NwWeight *weight = ordered ? nw_weights_at(weights, i) : find(weights, param->name);
    g_assert_cmpstr(weight->name, ==, param->name);
    g_assert_true(nw_spec_same_shape(&weight->spec, &param->spec));
    gsize n = nw_spec_bytes(&param->spec);
    if (param->spec.dtype != NW_F32 || dtype == NW_F32) {
      g_assert_cmpmem(weight->data, n, param->data, n);
      continue;
    }
    g_assert_cmpint(weight->spec.dtype, ==, dtype);
    g_autofree float *back = g_malloc(n);
    g_assert_true(nw_convert(dtype, weight->data, NW_F32, back, nw_spec_count(&param->spec)));
    for (int64_t k = 0; k < nw_spec_count(&param->spec); k++)
      g_assert_cmpfloat_with_epsilon(back[k], ((const float *)param->data)[k],
                                     fabsf(((const float *)param->data)[k]) / 2000 + 1e-7f);
  }
  nw_weights_close(weights);
}

static void test_round_trip(void)
{
  NwError error;
  NwModel *model = nwt_model("residual", 3, 16, 5, 3);
  g_autofree char *pth = place("w.pth"), *safe = place("w.safetensors"), *npz = place("w.npz"),
                  *half = place("half.safetensors"), *again = place("again.safetensors");
  nwt_ok(nw_pth_write_weights(pth, model, &error));
  nwt_ok(nw_safetensors_write(safe, model, NW_F32, &error));
  nwt_ok(nw_safetensors_write(again, model, NW_F32, &error));
  nwt_ok(nw_safetensors_write(half, model, NW_F16, &error));
  nwt_ok(nw_npz_write(npz, model, &error));
  expect_equal(model, pth, NW_F32, TRUE);
  expect_equal(model, safe, NW_F32, TRUE);
  expect_equal(model, half, NW_F16, TRUE);
  expect_equal(model, npz, NW_F32, TRUE);
  g_autofree char *a = NULL, *b = NULL;
  gsize n, m = 0;
  g_assert_true(g_file_get_contents(safe, &a, &n, NULL) && g_file_get_contents(again, &b, &m, NULL));
  g_assert_cmpmem(a, n, b, m);
  if (nwt_have_torch()) {
    nwt_python("check_tensors.py", pth, safe, NULL);
    nwt_python("check_tensors.py", pth, npz, NULL);
  }
  nw_model_free(model);
}

/* ---- into a network ---- */

static NwWeightPlan *plan_for(const char *path, NwModel *model, gboolean by_order, NwWeights **weights)
{
  NwError error;
  NwWeightPlan *plan;
  NwText text = {0};
  nwt_ok(nw_weights_open(path, weights, &error));
  nwt_ok(nw_weight_plan_new(*weights, model, by_order, &plan, &error));
  nw_weight_plan_report(plan, 3, &text);
  g_assert_false(text.failed);
  g_test_message("%s", text.data);
  nw_text_clear(&text);
  return plan;
}

/* The numbers of every tensor but the last Linear's. */
static void expect_body(NwModel *a, NwModel *b)
{
  for (int i = 0; i < nw_model_count(a); i++) {
    const NwParam *x = nw_model_at(a, i), *y = nw_model_at(b, i);
    gsize n = nw_spec_bytes(&x->spec);
    if (!g_str_has_prefix(x->name, "fc."))
      g_assert_cmpmem(x->data, n, y->data, n);
  }
}

static void test_plan(void)
{
  NwError error;
  NwModel *from = nwt_model("residual", 3, 16, 5, 3), *to = nwt_model("residual", 3, 16, 4, 9),
          *other = nwt_model("mlp", 1, 4, 3, 1);
  int all = nw_model_count(to);
  NwWeights *weights;
  g_autofree char *plain = place("plain.pth"), *wrapped = place("wrapped.pth"),
                  *renamed = place("renamed.pth");
  nwt_ok(nw_pth_write_weights(plain, from, &error));
  NwPickle *dict = nw_pickle_ordered_dict(), *list = nw_pickle_ordered_dict();
  for (int i = 0; i < all; i++) {
    const NwParam *param = nw_model_at(from, i);
    g_autofree char *name = g_strconcat("module._orig_mod.", param->name, NULL),
                    *number = g_strdup_printf("tensor%d", i);
    nw_pickle_set(dict, name, nw_pickle_tensor(&param->spec, param->data));
    nw_pickle_set(list, number, nw_pickle_tensor(&param->spec, param->data));
  }
  nwt_ok(nw_pth_write(wrapped, dict, &error));
  nwt_ok(nw_pth_write(renamed, list, &error));
  nw_pickle_free(dict);
  nw_pickle_free(list);

  /* another number of classes: all but the head */
  NwWeightPlan *plan = plan_for(plain, to, FALSE, &weights);
  g_assert_cmpint(plan->found, ==, all - 2);
  g_assert_cmpint(plan->misfit, ==, 2);
  g_assert_cmpint(plan->missing + plan->unused, ==, 0);
  float before = *(const float *)nw_model_find(to, "fc.weight")->data;
  nwt_ok(nw_weight_plan_apply(plan, &error));
  g_assert_true(before == *(const float *)nw_model_find(to, "fc.weight")->data);
  expect_body(from, to);
  nw_weight_plan_free(plan);
  nw_weights_close(weights);
  nw_model_free(to);

  /* names behind the prefixes of wrappers */
  to = nwt_model("residual", 3, 16, 5, 9);
  plan = plan_for(wrapped, to, FALSE, &weights);
  g_assert_cmpstr(plan->prefix, ==, "module._orig_mod.");
  g_assert_cmpint(plan->found, ==, all);
  nwt_ok(nw_weight_plan_apply(plan, &error));
  expect_body(from, to);
  nw_weight_plan_free(plan);
  nw_weights_close(weights);
  nw_model_free(to);

  /* other names: nothing without consent, all of it by order */
  to = nwt_model("residual", 3, 16, 5, 9);
  plan = plan_for(renamed, to, FALSE, &weights);
  g_assert_cmpint(plan->found, ==, 0);
  g_assert_cmpint(nw_weight_plan_apply(plan, &error), ==, NW_BAD_SHAPE);
  nw_weight_plan_free(plan);
  nw_weights_close(weights);
  plan = plan_for(renamed, to, TRUE, &weights);
  for (int i = 0; i < all; i++)
    g_assert_true(plan->params[i].item == i || plan->params[i].state == NW_MATCH_DEFAULT);
  nwt_ok(nw_weight_plan_apply(plan, &error));
  expect_body(from, to);
  nw_weight_plan_free(plan);
  nw_weights_close(weights);
  g_assert_cmpint(nw_weights_load(plain, other, FALSE, NULL, &error), ==, NW_BAD_SHAPE);
  g_test_message("%s", error.text);
  nw_model_free(from);
  nw_model_free(to);
  nw_model_free(other);
}

/* ---- numbers ---- */

/* Every half there is, to float and back; and numbers between two halves go to the nearer, ties to the even.
 */
static void test_halves(void)
{
  for (guint bits = 0; bits < 0x10000; bits++) {
    guint16 half = (guint16)bits, back;
    float value;
    double wide;
    g_assert_true(nw_convert(NW_F16, &half, NW_F32, &value, 1));
    g_assert_true(nw_convert(NW_F16, &half, NW_F64, &wide, 1));
    g_assert_true(nw_convert(NW_F32, &value, NW_F16, &back, 1));
    if ((bits & 0x7fff) > 0x7c00) {
      g_assert_true(isnan(value) && (back & 0x7fff) > 0x7c00);
      continue;
    }
    g_assert_cmpint(back, ==, half);
    g_assert_true((double)value == wide);
    guint exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    double expected = exponent == 31 ? INFINITY
                      : exponent     ? ldexp(1024 + mantissa, (int)exponent - 25)
                                     : ldexp(mantissa, -24);
    g_assert_true(fabs(wide) == expected && signbit(wide) == (bits >> 15 != 0));
    if ((bits & 0x7fff) >= 0x7bff)
      continue;
    guint16 next = half + 1;
    float above;
    nw_convert(NW_F16, &next, NW_F32, &above, 1);
    double middle = ((double)value + (double)above) / 2, near = middle + (wide - middle) / 4;
    nw_convert(NW_F64, &middle, NW_F16, &back, 1);
    g_assert_cmpint(back, ==, bits & 1 ? next : half);
    nw_convert(NW_F64, &near, NW_F16, &back, 1);
    g_assert_cmpint(back, ==, half);
  }
  static const struct {
    float value;
    guint16 brain;
  } cases[] = {{1, 0x3f80}, {1.00390625f, 0x3f80}, {1.01171875f, 0x3f82}, {-2.5f, 0xc020}, {3.4e38f, 0x7f80}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    guint16 brain;
    nw_convert(NW_F32, &cases[i].value, NW_BF16, &brain, 1);
    g_assert_cmpint(brain, ==, cases[i].brain);
  }
  gint32 narrow = -5;
  gint64 whole = 0;
  float real;
  g_assert_true(nw_convert(NW_I32, &narrow, NW_I64, &whole, 1) && whole == -5);
  g_assert_false(nw_convert(NW_I32, &narrow, NW_F32, &real, 1));
}

/* ---- hostile files ---- */

static void refuse(const char *bytes, gsize n, const char *part)
{
  NwError error = {0};
  NwWeights *weights;
  g_autofree char *path = place("bad");
  g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
  if (nw_weights_open(path, &weights, &error) == NW_OK)
    g_error("a file was read that should say \"%s\"", part);
  g_test_message("%s", error.text);
  if (strstr(error.text, part) == NULL)
    g_error("%s: expected \"%s\"", error.text, part);
}

static void refuse_safetensors(const char *header, gsize data, const char *part)
{
  g_autoptr(GByteArray) bytes = g_byte_array_new();
  guint64 n = strlen(header);
  g_byte_array_append(bytes, (const guint8 *)&n, 8);
  g_byte_array_append(bytes, (const guint8 *)header, (guint)n);
  g_byte_array_set_size(bytes, (guint)(8 + n + data));
  refuse((const char *)bytes->data, bytes->len, part);
}

static void test_refused(void)
{
#define T(name, shape, from, to)                                                                             \
  "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"
  refuse_safetensors("{" T("a", "[2]", "0", "8") "}", 4, "outside of the file");
  refuse_safetensors("{" T("a", "[2]", "0", "8") "}", 12, "longer than its tensors");
  refuse_safetensors("{" T("a", "[3]", "0", "8") "}", 8, "more or fewer");
  refuse_safetensors("{" T("a", "[2]", "0", "8") "," T("b", "[2]", "4", "12") "}", 12, "overlaps");
  refuse_safetensors("{" T("a", "[2]", "0", "8") "," T("b", "[1]", "12", "16") "}", 16, "gap");
  refuse_safetensors("{" T("a", "[4294967296,4294967296,4294967296]", "0", "0") "}", 0, "larger than any");
  refuse_safetensors("{" T("a", "[-2]", "0", "8") "}", 8, "no list of sizes");
  refuse_safetensors("{" T("a", "[2]", "8", "0") "}", 8, "outside");
  refuse_safetensors("{\"a\":3}", 0, "described wrongly");
  refuse_safetensors("{\"a\":", 0, "header");
  refuse("\xff\xff\xff\xff\0\0\0\0{}", 10, "longer than the file");
#define NPY(head)                                                                                            \
  "\x93NUMPY\1\0\x50\0" head "                                                                   \n"
  refuse(NPY("{'descr': '<f4', 'fortran_order': False, 'shape': (999,), }"),
         sizeof(NPY("{'descr': '<f4', 'fortran_order': False, 'shape': (999,), }")) - 1, "cut off");
  refuse(NPY("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
         sizeof(NPY("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }")) - 1, "Python objects");
  refuse(NPY("{'descr': [('a', '<f4')], 'shape': (1,), }"),
         sizeof(NPY("{'descr': [('a', '<f4')], 'shape': (1,), }")) - 1, "fields");
  refuse(NPY("{'descr': '<f4', 'shape': (99999999999999999999,)}"),
         sizeof(NPY("{'descr': '<f4', 'shape': (99999999999999999999,)}")) - 1, "larger");
  refuse("PK\3\4 and nothing else that a zip file has",
         sizeof("PK\3\4 and nothing else that a zip file has") - 1, "damaged");
  refuse("\x1f\x8b\x08 some gzip file", sizeof("\x1f\x8b\x08 some gzip file") - 1, "not a PyTorch file");
  static const char escape[] =
      "\x08\x08\x12\1x\x3a\x1e\x2a\x1c\x08\2\x10\1\x42\1w\x6a\x11\n\x08location\x12\x05../ab";
  g_autoptr(GByteArray) model = g_byte_array_new();
  g_byte_array_append(model, (const guint8 *)escape, sizeof escape - 1);
  g_byte_array_append(model, (const guint8 *)"\x70\1", 2);
  model->data[6] = (guint8)(model->len - 7);
  model->data[8] = (guint8)(model->len - 9);
  refuse((const char *)model->data, model->len, "outside of its own folder");
}

static gboolean try_bytes(const char *path, const char *bytes, gsize n)
{
  NwError error;
  NwWeights *weights;
  unsigned sum = 0;
  g_assert_true(g_file_set_contents_full(path, bytes, (gssize)n, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  if (nw_weights_open(path, &weights, &error) != NW_OK) {
    g_assert_cmpint((int)strlen(error.text), >, 10);
    g_assert_true(g_utf8_validate(error.text, -1, NULL));
    return FALSE;
  }
  for (int i = 0; i < nw_weights_count(weights); i++) { /* touch all that it claims to hold */
    const NwWeight *weight = nw_weights_at(weights, i);
    for (gsize k = 0; weight->reason == NULL && k < nw_spec_bytes(&weight->spec); k++)
      sum += ((const guint8 *)weight->data)[k];
  }
  nw_weights_close(weights);
  return sum != 12345;
}

static void mutate(const char *path, const char *bytes, gsize n, guint64 seed, int rounds, int *opened)
{
  static const guint8 edges[] = {0,   1,   0x7f, 0x80, 0xff, '(', ')', '{',
                                 '}', '[', ']',  '"',  ',',  '9', '-', 0x2a};
  g_autofree char *copy = g_malloc(n);
  gsize head = MIN(n, 700);
  for (int round = 0; round < rounds; round++) {
    NwPhilox key = {seed, 81};
    guint32 kind = nw_philox(key, (guint64)round, 0) % 10,
            changes = 1 + nw_philox(key, (guint64)round, 1) % 6;
    memcpy(copy, bytes, n);
    gsize length = kind == 0 ? nw_philox(key, (guint64)round, 2) % n : n;
    for (guint32 i = 0; i < changes && kind > 0; i++) {
      /* headers and lists stand in front and at the end */
      guint32 at = nw_philox(key, (guint64)round, 10 + 2 * i),
              what = nw_philox(key, (guint64)round, 11 + 2 * i);
      gsize where = kind < 4 ? at % n : kind < 8 ? at % head : n - 1 - at % head;
      copy[where] = (char)(kind % 2 ? (guint8)what : edges[what % sizeof edges]);
    }
    *opened += try_bytes(path, copy, length);
  }
}

static void test_mutations(void)
{
  static const char *const names[] = {"torch.safetensors", "stored.npz", "deflated.npz", "fortran.npy"};
  gboolean full = g_strcmp0(g_getenv("NETWRIGHT_TEST_FULL"), "yes") == 0;
  g_autofree char *path = place("mutated");
  int opened = 0, rounds = full ? 50000 : 2500;
  int64_t live = nw_memory_live();
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *from = golden(names[i]), *bytes = NULL;
    gsize n;
    g_assert_true(g_file_get_contents(from, &bytes, &n, NULL));
    mutate(path, bytes, n, i + 1, rounds, &opened);
  }
  g_test_message("%d damaged files, %d of them still opened", (int)G_N_ELEMENTS(names) * rounds, opened);
  g_assert_cmpint(nw_memory_live(), ==, live);
}

static void test_no_memory(void)
{
  static const char *const names[] = {"torch.safetensors", "deflated.npz", "big.npy"};
  NwError error;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = golden(names[i]);
    int64_t live = nw_memory_live();
    int failures = 0;
    for (;; failures++) {
      NwWeights *weights;
      nw_memory_fail_after(failures);
      NwStatus status = nw_weights_open(path, &weights, &error);
      nw_memory_fail_after(-1);
      if (status == NW_OK) {
        nw_weights_close(weights);
        break;
      }
      g_assert_cmpint(status, ==, NW_NO_MEMORY);
      g_assert_cmpint(nw_memory_live(), ==, live);
    }
    g_assert_cmpint(nw_memory_live(), ==, live);
    g_assert_cmpint(failures, >, 3);
  }
}

static void remove_folder(void)
{
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name(dir)) != NULL) {
    g_autofree char *path = place(name);
    g_unlink(path);
  }
  g_dir_close(dir);
  g_rmdir(folder);
  g_free(folder);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("netwright-weights-XXXXXX", NULL);
  g_test_add_func("/weights/files", test_files);
  g_test_add_func("/weights/round-trip", test_round_trip);
  g_test_add_func("/weights/plan", test_plan);
  g_test_add_func("/weights/halves", test_halves);
  g_test_add_func("/weights/refused", test_refused);
  g_test_add_func("/weights/mutations", test_mutations);
  g_test_add_func("/weights/no-memory", test_no_memory);
  int result = g_test_run();
  remove_folder();
  return result;
}
