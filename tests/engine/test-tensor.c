/* Tensors: what they are, their numbers, their handles. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/tensor/tensor.h"

static void ok(NwStatus status, const NwError *error)
{
  if (status != NW_OK)
    g_error("%s", error->text);
}

static NwSpec of(NwDType dtype, int ndim, int64_t a, int64_t b, int64_t c, int64_t d)
{
  return nw_spec(dtype, ndim, (int64_t[]){a, b, c, d});
}

static void test_types(void)
{
  static const char *const names[] = {"float64", "float32", "float16", "bfloat16",
                                      "int64",   "int32",   "uint8",   "bool"};
  static const size_t sizes[] = {8, 4, 2, 2, 8, 4, 1, 1};
  for (int i = 0; i < NW_DTYPES; i++) {
    NwDType found = NW_DTYPES;
    g_assert_cmpstr(nw_dtype_name((NwDType)i), ==, names[i]);
    g_assert_cmpint(nw_dtype_size((NwDType)i), ==, sizes[i]);
    g_assert_true(nw_dtype_find_storage(nw_dtype_storage((NwDType)i), &found));
    g_assert_cmpint(found, ==, i);
  }
  NwDType found;
  g_assert_false(nw_dtype_find_storage("QuantStorage", &found));
}

static void test_sizes(void)
{
  NwSpec scalar = nw_spec(NW_F32, 0, NULL), empty = of(NW_F32, 3, 2, 0, 5, 0), absent = nw_spec_absent();
  NwSpec huge = of(NW_F64, 4, 1 << 30, 1 << 30, 1 << 30, 1), negative = of(NW_F32, 2, 3, -1, 0, 0);
  NwSpec blocked = of(NW_F32, 4, 2, 9, 3, 5), edge = of(NW_F32, 4, 1, INT64_MAX, 1, 1);
  g_assert_cmpint(nw_spec_count(&scalar), ==, 1);
  g_assert_cmpint(nw_spec_bytes(&scalar), ==, 4);
  g_assert_cmpint(nw_spec_count(&empty), ==, 0);
  g_assert_cmpint(nw_spec_bytes(&empty), ==, 0);
  g_assert_false(nw_spec_present(&absent));
  g_assert_cmpint(nw_spec_bytes(&absent), ==, 0);
  g_assert_cmpint(nw_spec_count(&huge), ==, -1);
  g_assert_cmpint(nw_spec_count(&negative), ==, -1);
  g_assert_cmpuint(nw_spec_bytes(&huge), >, (size_t)1 << 60);
  blocked.block = 8; /* nine channels lie in two blocks of eight */
  g_assert_cmpint(nw_spec_bytes(&blocked), ==, 2 * 16 * 3 * 5 * 4);
  g_assert_cmpint(nw_spec_count(&blocked), ==, 2 * 9 * 3 * 5);
  edge.block = 16;
  g_assert_cmpuint(nw_spec_bytes(&edge), >, (size_t)1 << 60);
  g_assert_false(nw_spec_same_shape(&scalar, &empty));
  g_assert_true(nw_spec_same_shape(&blocked, &(NwSpec){.ndim = 4, .dims = {2, 9, 3, 5}}));
}

static void test_shape_text(void)
{
  char text[96];
  NwSpec spec = of(NW_F32, 4, 64, 3, 112, 112), absent = nw_spec_absent(), row = of(NW_F32, 1, 64, 0, 0, 0);
  nw_spec_shape_text(&spec, true, text, sizeof text);
  g_assert_cmpstr(text, ==, "3×112×112");
  nw_spec_shape_text(&spec, false, text, sizeof text);
  g_assert_cmpstr(text, ==, "64×3×112×112");
  nw_spec_shape_text(&absent, false, text, sizeof text);
  g_assert_cmpstr(text, ==, "nothing");
  nw_spec_shape_text(&row, true, text, sizeof text);
  g_assert_cmpstr(text, ==, "scalar");
  for (size_t n = 0; n < 16; n++) { /* never beyond the room, never half a letter */
    memset(text, '#', sizeof text);
    nw_spec_shape_text(&spec, false, text, n);
    g_assert_cmpint(text[n], ==, '#');
    if (n > 0)
      g_assert_true(g_utf8_validate(text, -1, NULL));
  }
}

static void test_numbers(void)
{
  static const NwDType types[] = {NW_F64, NW_F32, NW_I64, NW_I32, NW_U8, NW_BOOL};
  NwError error = {0};
  NwTensor *tensor = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
    NwSpec spec = of(types[i], 2, 1, 1, 0, 0), many = of(types[i], 1, 3, 0, 0, 0);
    ok(nw_tensor_full(&spec, 7, &tensor, &error), &error);
    g_assert_cmpfloat(nw_tensor_item(tensor), ==, types[i] == NW_BOOL ? 1 : 7);
    nw_tensor_unref(tensor);
    ok(nw_tensor_new(&many, &tensor, &error), &error);
    g_assert_true(isnan(nw_tensor_item(tensor)));
    for (size_t b = 0; b < nw_spec_bytes(&many); b++)
      g_assert_cmpint(((const char *)nw_tensor_data(tensor))[b], ==, 0);
    nw_tensor_unref(tensor);
  }
  const struct {
    NwDType dtype;
    double value;
  } bad[] = {{NW_U8, -1},   {NW_U8, 256},  {NW_U8, NAN},   {NW_I32, 0x1p31},
             {NW_I32, NAN}, {NW_I64, NAN}, {NW_I64, 1e19}, {NW_I64, INFINITY}};
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    NwSpec spec = of(bad[i].dtype, 1, 1, 0, 0, 0);
    tensor = (NwTensor *)&error;
    g_assert_cmpint(nw_tensor_full(&spec, bad[i].value, &tensor, &error), ==, NW_BAD_ARGUMENT);
    g_assert_null(tensor);
  }
  NwSpec half = of(NW_F16, 1, 1, 0, 0, 0);
  g_assert_cmpint(nw_tensor_full(&half, 1, &tensor, &error), ==, NW_BAD_DTYPE);
  NwSpec least = nw_spec(NW_I32, 0, NULL);
  ok(nw_tensor_full(&least, G_MININT32, &tensor, &error), &error);
  g_assert_cmpfloat(nw_tensor_item(tensor), ==, G_MININT32);
  nw_tensor_unref(tensor);
}

static void test_refused(void)
{
  NwError error = {0};
  NwTensor *tensor = NULL;
  NwSpec bad[] = {nw_spec_absent(),
                  of(NW_F32, 2, 3, -1, 0, 0),
                  of(NW_F64, 4, 1 << 30, 1 << 30, 1 << 30, 1),
                  {.ndim = NW_MAX_DIMS + 1}};
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    tensor = (NwTensor *)&error;
    g_assert_cmpint(nw_tensor_new(&bad[i], &tensor, &error), ==, NW_BAD_SHAPE);
    g_assert_null(tensor);
  }
  /* fits into a number, but into no memory */
  NwSpec large[] = {of(NW_F32, 3, 1 << 20, 1 << 20, 1 << 20, 0), of(NW_F64, 2, INT64_MAX / 4, 3, 0, 0)};
  for (guint i = 0; i < G_N_ELEMENTS(large); i++) {
    g_assert_cmpint(nw_tensor_new(&large[i], &tensor, &error), ==, NW_NO_MEMORY);
    g_assert_nonnull(strstr(error.text, "bytes"));
    g_assert_null(tensor);
  }
}

static void test_handles(void)
{
  int64_t live = nw_memory_live();
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  NwSpec spec = of(NW_F32, 2, 2, 3, 0, 0);
  NwError error = {0};
  NwTensor *a, *b, *c, *none = NULL;
  ok(nw_tensor_from(&spec, numbers, &a, &error), &error);
  ok(nw_tensor_reshape(a, 3, (int64_t[]){3, 1, 2}, &b, &error), &error);
  ok(nw_tensor_copy(a, &c, &error), &error);
  g_assert_cmpint(nw_tensor_spec(b)->ndim, ==, 3);
  g_assert_true(nw_tensor_data(a) == nw_tensor_data(b) && nw_tensor_data(a) != nw_tensor_data(c));
  uint32_t version = nw_tensor_version(a);
  ((float *)nw_tensor_write(b))[0] = 9; /* one storage, one count of changes */
  g_assert_cmpint(nw_tensor_version(a), ==, version + 1);
  g_assert_cmpint(nw_tensor_version(c), ==, 0);
  g_assert_cmpfloat(((const float *)nw_tensor_data(a))[0], ==, 9);
  g_assert_cmpfloat(((const float *)nw_tensor_data(c))[0], ==, 1);
  g_assert_cmpint(nw_tensor_reshape(a, 2, (int64_t[]){2, 2}, &none, &error), ==, NW_BAD_SHAPE);
  g_assert_nonnull(strstr(error.text, "2×3"));
  g_assert_nonnull(strstr(error.text, "2×2"));
  g_assert_cmpint(nw_tensor_reshape(a, 2, (int64_t[]){-2, -3}, &none, &error), ==, NW_BAD_SHAPE);
  g_assert_cmpint(nw_tensor_reshape(a, NW_MAX_DIMS + 1, (int64_t[NW_MAX_DIMS + 1]){0}, &none, &error), ==,
                  NW_BAD_SHAPE);
  g_assert_null(none);
  nw_tensor_unref(a); /* the storage lives on in b */
  g_assert_cmpfloat(((const float *)nw_tensor_data(b))[5], ==, 6);
  g_assert_true(nw_tensor_ref(b) == b);
  nw_tensor_unref(b);
  nw_tensor_unref(b);
  nw_tensor_unref(c);
  nw_tensor_unref(NULL);
  g_assert_null(nw_tensor_ref(NULL));
  g_assert_cmpint(nw_memory_live(), ==, live);
}

static NwStatus handles(NwError *error)
{
  const float numbers[] = {1, 2};
  NwSpec spec = of(NW_F32, 1, 2, 0, 0, 0);
  NwTensor *a = NULL, *b = NULL, *c = NULL;
  NwStatus status = nw_tensor_from(&spec, numbers, &a, error);
  if (status == NW_OK)
    status = nw_tensor_detach(a, &b, error);
  if (status == NW_OK)
    status = nw_tensor_copy(b, &c, error);
  nw_tensor_unref(a);
  nw_tensor_unref(b);
  nw_tensor_unref(c);
  return status;
}

static void test_each_allocation(void)
{
  int64_t live = nw_memory_live();
  for (int k = 0;; k++) {
    NwError error = {0};
    nw_memory_fail_after(k);
    NwStatus status = handles(&error);
    nw_memory_fail_after(-1);
    g_assert_cmpint(nw_memory_live(), ==, live);
    if (status == NW_OK) {
      g_assert_cmpint(k, ==, 7);
      break;
    }
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/tensor/types", test_types);
  g_test_add_func("/tensor/sizes", test_sizes);
  g_test_add_func("/tensor/shape-text", test_shape_text);
  g_test_add_func("/tensor/numbers", test_numbers);
  g_test_add_func("/tensor/refused", test_refused);
  g_test_add_func("/tensor/handles", test_handles);
  g_test_add_func("/tensor/each-allocation", test_each_allocation);
  return g_test_run();
}
