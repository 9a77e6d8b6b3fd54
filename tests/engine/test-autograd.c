/* The tape: torch's eager semantics, each sentence of engine/autograd/autograd.h. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "engine/autograd/autograd.h"
#include "engine/base/memory.h"

static void ok(NwStatus status, const NwError *error)
{
  if (status != NW_OK)
    g_error("%s", error->text);
}

static NwTensor *leaf(const float *numbers, int64_t n, bool wanted)
{
  NwSpec spec = nw_spec(NW_F32, 1, &n);
  NwTensor *tensor = NULL;
  NwError error = {0};
  ok(nw_tensor_from(&spec, numbers, &tensor, &error), &error);
  ok(nw_tensor_set_requires_grad(tensor, wanted, &error), &error);
  return tensor;
}

static NwTensor *apply(const char *op, NwTensor *a, NwTensor *b)
{
  NwTensor *in[] = {a, b}, *out[NW_MAX_PORTS];
  NwError error = {0};
  ok(nw_apply_text(op, "", in, b != NULL ? 2 : 1, out, &error), &error);
  return out[0];
}

static NwTensor *ones(int64_t n)
{
  NwSpec spec = nw_spec(NW_F32, 1, &n);
  NwTensor *tensor = NULL;
  NwError error = {0};
  ok(nw_tensor_full(&spec, 1, &tensor, &error), &error);
  return tensor;
}

static float at(const NwTensor *tensor, int i)
{
  g_assert_nonnull(tensor);
  return ((const float *)nw_tensor_data(tensor))[i];
}

static void backward(NwTensor *root, bool retain)
{
  NwError error = {0};
  ok(nw_backward(root, NULL, retain, &error), &error);
}

static void test_requires(void)
{
  const float x[] = {1};
  NwTensor *plain = leaf(x, 1, false), *wanted = leaf(x, 1, true), *seen = NULL;
  NwTensor *quiet = apply("sigmoid", plain, NULL), *loud = apply("add", plain, wanted);
  NwError error = {0};
  g_assert_false(nw_tensor_requires_grad(quiet));
  g_assert_true(nw_tensor_requires_grad(loud));
  g_assert_cmpint(nw_tensor_set_requires_grad(loud, false, &error), ==, NW_BAD_STATE);
  ok(nw_tensor_detach(loud, &seen, &error), &error);
  g_assert_false(nw_tensor_requires_grad(seen));
  g_assert_true(nw_tensor_data(seen) == nw_tensor_data(loud));
  g_assert_cmpint(nw_backward(quiet, NULL, false, &error), ==, NW_BAD_STATE);
  g_assert_cmpint(nw_backward(seen, NULL, false, &error), ==, NW_BAD_STATE);
  /* grad mode */
  g_assert_true(nw_grad_mode_set(false));
  NwTensor *off = apply("sigmoid", wanted, NULL);
  g_assert_false(nw_grad_mode_set(true));
  g_assert_false(nw_tensor_requires_grad(off));
  /* a number that is not floating has no gradient */
  NwTensor *whole = NULL;
  NwSpec spec = nw_spec(NW_I64, 0, NULL);
  ok(nw_tensor_new(&spec, &whole, &error), &error);
  g_assert_cmpint(nw_tensor_set_requires_grad(whole, true, &error), ==, NW_BAD_DTYPE);
  /* a leaf may be the root */
  backward(wanted, false);
  g_assert_cmpfloat(at(nw_tensor_grad(wanted), 0), ==, 1);
  NwTensor *all[] = {plain, wanted, seen, quiet, loud, off, whole};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    nw_tensor_unref(all[i]);
}

/* y = s(x) + x with s the sigmoid: one value read twice. */
static void test_values(void)
{
  const float x0[] = {0.3f};
  NwTensor *x = leaf(x0, 1, true), *s = apply("sigmoid", x, NULL), *y = apply("add", s, x);
  float sigmoid = 1 / (1 + expf(-0.3f)), slope = sigmoid * (1 - sigmoid) + 1;
  backward(y, true);
  g_assert_cmpfloat_with_epsilon(at(nw_tensor_grad(x), 0), slope, 1e-6);
  g_assert_null(nw_tensor_grad(s)); /* leaves only */
  /* kept graphs go again, and gradients add up */
  backward(y, true);
  g_assert_cmpfloat_with_epsilon(at(nw_tensor_grad(x), 0), 2 * slope, 1e-6);
  backward(y, false);
  g_assert_cmpfloat_with_epsilon(at(nw_tensor_grad(x), 0), 3 * slope, 1e-6);
  NwError error = {0};
  g_assert_cmpint(nw_backward(y, NULL, false, &error), ==, NW_BAD_STATE);
  g_assert_nonnull(strstr(error.text, "second time"));
  g_assert_nonnull(strstr(error.text, "retain_graph"));
  g_assert_cmpfloat_with_epsilon(at(nw_tensor_grad(x), 0), 3 * slope, 1e-6);
  nw_tensor_zero_grad(x, false);
  g_assert_cmpfloat(at(nw_tensor_grad(x), 0), ==, 0);
  nw_tensor_zero_grad(x, true);
  g_assert_null(nw_tensor_grad(x));
  nw_tensor_zero_grad(x, true);
  nw_tensor_unref(x);
  nw_tensor_unref(s);
  nw_tensor_unref(y);
}

static void test_initial(void)
{
  const float numbers[] = {1, -1, 2}, first[] = {10, 20, 30};
  NwTensor *x = leaf(numbers, 3, true), *y = apply("relu", x, NULL), *d = leaf(first, 3, false);
  NwTensor *other = leaf(first, 2, false), *wide = NULL;
  NwError error = {0};
  int64_t three = 3;
  NwSpec spec = nw_spec(NW_F64, 1, &three);
  ok(nw_tensor_new(&spec, &wide, &error), &error);
  g_assert_cmpint(nw_backward(y, NULL, false, &error), ==, NW_BAD_SHAPE);
  g_assert_cmpint(nw_backward(y, other, false, &error), ==, NW_BAD_SHAPE);
  g_assert_cmpint(nw_backward(y, wide, false, &error), ==, NW_BAD_SHAPE);
  ok(nw_backward(y, d, false, &error), &error); /* what was refused has spent nothing */
  g_assert_cmpfloat(at(nw_tensor_grad(x), 0), ==, 10);
  g_assert_cmpfloat(at(nw_tensor_grad(x), 1), ==, 0);
  g_assert_cmpfloat(at(nw_tensor_grad(x), 2), ==, 30);
  /* what the caller lends never becomes a leaf's gradient: zeroing that would change it */
  NwTensor *sum = apply("add", x, x);
  nw_tensor_zero_grad(x, true);
  ok(nw_backward(sum, d, false, &error), &error);
  g_assert_cmpfloat(at(nw_tensor_grad(x), 1), ==, 40);
  NwTensor *z = leaf(numbers, 3, true);
  ok(nw_backward(z, d, false, &error), &error);
  nw_tensor_zero_grad(z, false);
  nw_tensor_zero_grad(x, false);
  g_assert_cmpfloat(at(d, 1), ==, 20);
  NwTensor *all[] = {x, y, d, other, wide, sum, z};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    nw_tensor_unref(all[i]);
}

/* Two leaves of one sum get memory of their own each. */
static void test_apart(void)
{
  const float one[] = {1};
  NwTensor *a = leaf(one, 1, true), *b = leaf(one, 1, true), *y = apply("add", a, b);
  backward(y, false);
  g_assert_true(nw_tensor_data(nw_tensor_grad(a)) != nw_tensor_data(nw_tensor_grad(b)));
  nw_tensor_zero_grad(a, false);
  g_assert_cmpfloat(at(nw_tensor_grad(b), 0), ==, 1);
  nw_tensor_unref(a);
  nw_tensor_unref(b);
  nw_tensor_unref(y);
}

static void test_in_place(void)
{
  const float x0[] = {0.5f};
  NwTensor *x = leaf(x0, 1, true), *s = apply("sigmoid", x, NULL), *y = apply("sigmoid", s, NULL);
  NwError error = {0};
  /* sigmoid's gradient reads its output */
  *(float *)nw_tensor_write(s) = 7;
  g_assert_cmpint(nw_backward(y, NULL, true, &error), ==, NW_BAD_STATE);
  g_assert_nonnull(strstr(error.text, "Sigmoid"));
  g_assert_nonnull(strstr(error.text, "in place"));
  g_assert_null(nw_tensor_grad(x));
  nw_tensor_unref(s);
  nw_tensor_unref(y);
  /* through another handle on the same storage, too */
  NwTensor *seen = NULL;
  s = apply("sigmoid", x, NULL);
  ok(nw_tensor_detach(s, &seen, &error), &error);
  *(float *)nw_tensor_write(seen) = 7;
  g_assert_cmpint(nw_backward(s, NULL, false, &error), ==, NW_BAD_STATE);
  nw_tensor_unref(s);
  nw_tensor_unref(seen);
  /* what no gradient reads may change: sigmoid's input, a sum */
  s = apply("sigmoid", x, NULL);
  y = apply("add", s, s);
  *(float *)nw_tensor_write(x) = 9;
  *(float *)nw_tensor_write(y) = 9;
  backward(y, false);
  float sigmoid = 1 / (1 + expf(-0.5f));
  g_assert_cmpfloat_with_epsilon(at(nw_tensor_grad(x), 0), 2 * sigmoid * (1 - sigmoid), 1e-6);
  nw_tensor_unref(x);
  nw_tensor_unref(s);
  nw_tensor_unref(y);
}

/* Two roots over one spent middle: the second one is refused, not answered with half of the sum. */
static void test_shared_middle(void)
{
  const float x0[] = {0.5f};
  NwTensor *x = leaf(x0, 1, true), *m = apply("sigmoid", x, NULL);
  NwTensor *a = apply("tanh", m, NULL), *b = apply("relu", m, NULL);
  NwError error = {0};
  backward(a, false);
  float first = at(nw_tensor_grad(x), 0);
  g_assert_cmpint(nw_backward(b, NULL, false, &error), ==, NW_BAD_STATE);
  g_assert_cmpfloat(at(nw_tensor_grad(x), 0), ==, first);
  NwTensor *all[] = {x, m, a, b};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    nw_tensor_unref(all[i]);
}

/* The history lives as long as something reads it, however the handles go. */
static void test_handles(void)
{
  const float x0[] = {0.5f};
  int64_t live = nw_memory_live();
  NwTensor *x = leaf(x0, 1, true), *y = nw_tensor_ref(x);
  for (int i = 0; i < 5; i++) {
    NwTensor *next = apply("tanh", y, NULL);
    nw_tensor_unref(y);
    y = next;
  }
  backward(y, false);
  g_assert_true(at(nw_tensor_grad(x), 0) > 0);
  nw_tensor_unref(x);
  nw_tensor_unref(y);
  g_assert_cmpint(nw_memory_live(), ==, live);
}

/* A program's stack of 8 MB is no limit for the number of ops. */
static void test_long_chain(void)
{
  const float x0[] = {1, 2};
  enum { OPS = 100000 };
  int64_t live = nw_memory_live();
  NwTensor *d = ones(2);
  for (int way = 0; way < 2; way++) { /* backward, and thrown away unused */
    NwTensor *x = leaf(x0, 2, true), *y = nw_tensor_ref(x);
    for (int i = 0; i < OPS; i++) {
      NwTensor *next = apply("relu", y, NULL);
      nw_tensor_unref(y);
      y = next;
    }
    NwError error = {0};
    if (way == 0) {
      ok(nw_backward(y, d, false, &error), &error);
      g_assert_cmpfloat(at(nw_tensor_grad(x), 1), ==, 1);
    }
    nw_tensor_unref(y);
    nw_tensor_unref(x);
  }
  nw_tensor_unref(d);
  g_assert_cmpint(nw_memory_live(), ==, live);
}

/* A diamond of diamonds: 2^40 paths, each record asked once. */
static void test_diamonds(void)
{
  const float x0[] = {1};
  NwTensor *x = leaf(x0, 1, true), *y = nw_tensor_ref(x);
  for (int i = 0; i < 40; i++) {
    NwTensor *next = apply("add", y, y);
    nw_tensor_unref(y);
    y = next;
  }
  backward(y, false);
  g_assert_cmpfloat(at(nw_tensor_grad(x), 0), ==, 0x1p40f);
  nw_tensor_unref(x);
  nw_tensor_unref(y);
}

static void test_no_gradient(void)
{
  const float x0[] = {1};
  NwTensor *x = leaf(x0, 1, true), *y = apply("sigmoid_grad", x, x); /* gradients of gradients do not exist */
  NwError error = {0};
  g_assert_true(nw_tensor_requires_grad(y));
  g_assert_cmpint(nw_backward(y, NULL, false, &error), ==, NW_UNSUPPORTED);
  g_assert_nonnull(strstr(error.text, "sigmoid_grad"));
  g_assert_null(nw_tensor_grad(x));
  nw_tensor_unref(x);
  nw_tensor_unref(y);
}

static void test_wrong_calls(void)
{
  const float x0[] = {1, 2};
  NwTensor *x = leaf(x0, 2, true), *short_one = leaf(x0, 1, true), *out[NW_MAX_PORTS];
  NwTensor *many[NW_MAX_PORTS + 4];
  NwError error = {0};
  for (guint i = 0; i < G_N_ELEMENTS(many); i++)
    many[i] = x;
  const struct {
    const char *op, *attrs;
    NwTensor *in[3];
    int n;
    NwStatus wanted;
  } rows[] = {
      {"no such", "", {x}, 1, NW_NOT_FOUND},
      {"relu", "", {NULL}, 0, NW_BAD_ARGUMENT},
      {"relu", "", {NULL}, 1, NW_BAD_ARGUMENT},
      {"relu", "", {x, x}, 2, NW_BAD_ARGUMENT},
      {"add", "", {x, short_one}, 2, NW_BAD_SHAPE},
      {"add", "", {x, NULL}, 2, NW_BAD_ARGUMENT},
      {"relu", "slope=1", {x}, 1, NW_BAD_ARGUMENT},
      {"relu", "slope", {x}, 1, NW_BAD_ARGUMENT},
      {"leaky_relu", "negative_slope=nan", {x}, 1, NW_BAD_ARGUMENT},
      {"leaky_relu", "negative_slope=", {x}, 1, NW_BAD_ARGUMENT},
      {"concat", "dim=0", {x, NULL}, 2, NW_BAD_ARGUMENT},
      {"conv2d", "", {x}, 1, NW_BAD_ARGUMENT},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    memset(out, 0xff, sizeof out);
    error = (NwError){0};
    NwStatus status = nw_apply_text(rows[i].op, rows[i].attrs, rows[i].in, rows[i].n, out, &error);
    if (status != rows[i].wanted)
      g_error("row %u: %s (%s)", i, nw_status_text(status), error.text);
    g_assert_cmpint(strlen(error.text), >, 10);
    if (status != NW_NOT_FOUND)
      g_assert_null(out[0]);
  }
  g_assert_cmpint(nw_apply_text("concat", "", many, NW_MAX_PORTS + 1, out, &error), ==, NW_BAD_ARGUMENT);
  nw_tensor_unref(x);
  nw_tensor_unref(short_one);
}

/* ---- random ops ---- */

static NwTensor *drop(NwTensor *x)
{
  const NwOp *op = nw_op_find("dropout");
  g_autofree char *attrs = g_malloc(op->attrs_size);
  NwTensor *out[NW_MAX_PORTS];
  NwError error = {0};
  nw_attrs_init(op, attrs);
  nw_attrs_set_hidden(op, attrs, "training", 1);
  ok(nw_apply(op, attrs, &x, 1, out, &error), &error);
  for (int i = 1; i < op->n_outputs; i++)
    nw_tensor_unref(out[i]);
  return out[0];
}

static gboolean same(const NwTensor *a, const NwTensor *b)
{
  return memcmp(nw_tensor_data(a), nw_tensor_data(b), nw_spec_bytes(nw_tensor_spec(a))) == 0;
}

static void test_random(void)
{
  enum { N = 256 };
  NwTensor *x = ones(N), *d = ones(N), *y[5];
  NwError error = {0};
  ok(nw_tensor_set_requires_grad(x, true, &error), &error);
  nw_manual_seed(5);
  y[0] = drop(x);
  y[1] = drop(x);
  nw_manual_seed(5);
  y[2] = drop(x);
  g_assert_false(same(y[0], y[1])); /* each application takes the next numbers */
  g_assert_true(same(y[0], y[2]));
  nw_tape_set_step(9);
  y[3] = drop(x);
  y[4] = drop(x);
  nw_tape_set_step(-1);
  g_assert_true(same(y[3], y[4]));
  for (int i = 0; i < 5; i++) {
    nw_tensor_zero_grad(x, true);
    nw_manual_seed(77); /* what came later does not change what backward sees */
    ok(nw_backward(y[i], d, false, &error), &error);
    g_assert_true(same(nw_tensor_grad(x), y[i])); /* of ones: the mask is the output */
    nw_tensor_unref(y[i]);
  }
  nw_tensor_unref(x);
  nw_tensor_unref(d);
}

/* ---- every allocation fails once ---- */

static NwStatus whole_step(NwTensor *x, NwTensor *w, NwTensor *d, NwError *error)
{
  NwTensor *out[NW_MAX_PORTS] = {NULL}, *sum[NW_MAX_PORTS] = {NULL}, *last[NW_MAX_PORTS] = {NULL};
  NwTensor *one[] = {x}, *two[] = {NULL, w};
  NwStatus status = nw_apply_text("sigmoid", "", one, 1, out, error);
  if (status == NW_OK) {
    two[0] = out[0];
    status = nw_apply_text("add", "", two, 2, sum, error);
  }
  if (status == NW_OK) {
    NwTensor *both[] = {sum[0], out[0]};
    status = nw_apply_text("add", "", both, 2, last, error);
  }
  if (status == NW_OK)
    status = nw_backward(last[0], d, true, error);
  if (status == NW_NO_MEMORY && last[0] != NULL) {
    /* a failed backward leaves nothing behind that the next one would count */
    NwError again = {0};
    nw_tensor_zero_grad(x, true);
    nw_tensor_zero_grad(w, true);
    ok(nw_backward(last[0], d, false, &again), &again);
    float s = 1 / (1 + expf(-0.25f));
    g_assert_cmpfloat_with_epsilon(at(nw_tensor_grad(x), 0), 2 * s * (1 - s), 1e-6);
    g_assert_cmpfloat(at(nw_tensor_grad(w), 0), ==, 1);
  }
  nw_tensor_unref(out[0]);
  nw_tensor_unref(sum[0]);
  nw_tensor_unref(last[0]);
  return status;
}

static void test_each_allocation(void)
{
  const float x0[] = {0.25f};
  NwTensor *x = leaf(x0, 1, true), *w = leaf(x0, 1, true), *d = ones(1);
  int64_t live = nw_memory_live();
  int k = 0;
  for (;; k++) {
    NwError error = {0};
    nw_memory_fail_after(k);
    NwStatus status = whole_step(x, w, d, &error);
    nw_memory_fail_after(-1);
    nw_tensor_zero_grad(x, true);
    nw_tensor_zero_grad(w, true);
    g_assert_cmpint(nw_memory_live(), ==, live);
    if (status == NW_OK)
      break;
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
    g_assert_cmpint(strlen(error.text), >, 10);
    g_assert_cmpint(k, <, 1000);
  }
  g_test_message("%d allocations failed once each", k);
  g_assert_cmpint(k, >, 20);
  nw_tensor_unref(x);
  nw_tensor_unref(w);
  nw_tensor_unref(d);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/autograd/requires", test_requires);
  g_test_add_func("/autograd/values", test_values);
  g_test_add_func("/autograd/initial", test_initial);
  g_test_add_func("/autograd/apart", test_apart);
  g_test_add_func("/autograd/in-place", test_in_place);
  g_test_add_func("/autograd/shared-middle", test_shared_middle);
  g_test_add_func("/autograd/handles", test_handles);
  g_test_add_func("/autograd/long-chain", test_long_chain);
  g_test_add_func("/autograd/diamonds", test_diamonds);
  g_test_add_func("/autograd/no-gradient", test_no_gradient);
  g_test_add_func("/autograd/wrong-calls", test_wrong_calls);
  g_test_add_func("/autograd/random", test_random);
  g_test_add_func("/autograd/each-allocation", test_each_allocation);
  return g_test_run();
}
