/* What follows from the rows alone, for every op: the row is complete, every kernel agrees with the plain one
 * on the row's cases, every gradient agrees with differences in f64, no shape makes infer stumble, and a
 * failed allocation is a status and no leak. A new layer is tested here without a word in this file. */
#include "tests/engine/op-bench.h"

#include "engine/backend/onednn.h"

static gboolean is_float(const Value *value)
{
  return value && (value->spec.dtype == NW_F32 || value->spec.dtype == NW_F64);
}

static void check_attrs(const NwOp *op)
{
  g_autofree void *attrs = g_malloc0(op->attrs_size + 1);
  NwError error = {0};
  for (int i = 0; i < op->n_attrs; i++) {
    const NwAttr *a = &op->attrs[i];
    g_assert_nonnull(a->label);
    g_assert_nonnull(a->doc);
    g_assert_true(g_str_has_suffix(a->doc, "."));
    nw_attrs_init(op, attrs);
    if (a->type == NW_ATTR_BOOL || a->type == NW_ATTR_ENUM)
      continue;
    g_assert_cmpfloat(a->initial, >=, a->min);
    g_assert_cmpfloat(a->initial, <=, a->max);
    g_assert_cmpfloat(a->ui_min, >=, a->min);
    g_assert_cmpfloat(a->ui_max, <=, a->max);
    NwValue value = {.type = a->type == NW_ATTR_REAL ? NW_ATTR_REAL : NW_ATTR_INT};
    for (int side = 0; side < 4; side++) {
      double number = side < 2 ? a->min - (side == 1) : a->max + (side == 3);
      if (a->type == NW_ATTR_REAL)
        value.r = side == 1 ? a->min - fabs(a->min) - 1 : side == 3 ? a->max + fabs(a->max) + 1 : number;
      else
        value.i = (int64_t)number;
      NwStatus status = nw_attr_set(op, a, attrs, value, &error);
      if (side % 2 == 0) {
        g_assert_cmpint(status, ==, NW_OK);
      } else {
        g_assert_cmpint(status, !=, NW_OK);
        g_assert_cmpstr(error.property, ==, a->key);
      }
    }
  }
}

static void test_rows(void)
{
  const NwOp *op;
  int shown = 0;
  g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
  for (size_t k = 0; (op = nw_op_at(k)) != NULL; k++) {
    g_assert_true(g_hash_table_add(ids, (gpointer)op->id));
    g_assert_true(nw_op_find(op->id) == op);
    g_assert_cmpint(op->version, >, 0);
    g_assert_nonnull(op->infer);
    check_attrs(op);
    for (int i = 0; i < op->n_fusions; i++)
      g_assert_nonnull(nw_op_find(op->fusions[i].into));
    if (op->group != NW_GROUP_INPUT && op->expand == NULL) {
      g_assert_cmpint(op->n_kernels, >, 0);
      g_assert_cmpstr(op->kernels[op->n_kernels - 1].name, ==, "plain");
      g_assert_true(op->kernels[op->n_kernels - 1].flags & NW_KERNEL_EXACT);
    }
    if (op->group == NW_GROUP_INTERNAL) {
      g_assert_null(op->label);
      continue;
    }
    shown++;
    g_assert_nonnull(op->label);
    g_assert_true(g_str_has_suffix(op->doc, "."));
    g_assert_nonnull(op->formula);
    g_assert_nonnull(op->keywords);
    g_assert_nonnull(op->torch);
    for (int i = 0; i < op->n_inputs; i++)
      g_assert_nonnull(op->inputs[i].doc);
    for (int i = 0; i < op->n_outputs; i++)
      g_assert_nonnull(op->outputs[i].doc);
    if (op->group == NW_GROUP_INPUT)
      continue;
    g_assert_cmpint(op->n_cases, >, 0);
    g_assert_true(op->group == NW_GROUP_LOSS || op->group == NW_GROUP_OPTIMIZER || op->torchscript != NULL ||
                  op->torchscript_write != NULL || op->expand != NULL);
  }
  g_test_message("%d ops, %d shown", (int)g_hash_table_size(ids), shown);
}

/* ---- kernels ---- */
typedef struct Ran {
  Bench bench;
  NwVal in[NW_MAX_PORTS], out[NW_MAX_PORTS];
  int n_in;
} Ran;

static NwStatus run_case(const NwOp *op, const NwOpCase *c, int row, int lanes, gboolean wide,
                         int64_t fail_after, Ran *ran)
{
  NwError error = {0};
  g_autoptr(GRand) rand = g_rand_new_with_seed(21);
  g_autofree void *attrs = parse_attrs(op, c->attrs);
  memset(ran, 0, sizeof *ran);
  bench_init(&ran->bench, row, lanes);
  ran->n_in = case_inputs(&ran->bench, rand, op, c->shapes, wide, ran->in);
  ran->bench.fail_after = fail_after;
  NwStatus status = bench_emit(&ran->bench.emitter, op, attrs, ran->in, ran->n_in, ran->out, &error);
  if (status != NW_OK && fail_after < 0)
    g_error("%s %s %s: %s", op->id, c->attrs, c->shapes, error.text);
  return status;
}

static void compare(const NwOp *op, const NwOpCase *c, const Ran *ran, NwVal got, NwVal want)
{
  const Value *x = got.p, *y = want.p;
  double sum = 0, norm = 0;
  g_assert_cmpint(x == NULL, ==, y == NULL);
  if (!is_float(x) || !is_float(y))
    return;
  for (int64_t i = 0; i < nw_spec_count(&x->spec); i++) {
    double d = get_number(x, i) - get_number(y, i);
    sum += d * d;
    norm += get_number(y, i) * get_number(y, i);
  }
  double error = norm > 0 ? sqrt(sum / norm) : sqrt(sum);
  if (error <= 1e-5)
    return;
  /* rows that approximate (Winograd) may be off by more */
  const NwKernel *kernel = op->expand ? NULL : &op->kernels[MIN(ran->bench.row, op->n_kernels - 1)];
  if ((kernel == NULL || !(kernel->flags & NW_KERNEL_EXACT)) && error <= 1e-4)
    return;
  g_test_message("%s %s %s: row %d (%s), blocks of %d: off by %.3g", op->id, c->attrs, c->shapes,
                 ran->bench.row, ran->bench.kernel, ran->bench.lanes, error);
  g_test_fail();
}

static gboolean has_layout_case(const NwOp *op)
{
  return strcmp(op->id, "reorder") == 0; /* its blocks are what it is about; test-ops-fused.c tests them */
}

static void test_kernels(void)
{
  const NwOp *op;
  int runs = 0;
  nw_threads_set(2);
  for (size_t k = 0; (op = nw_op_at(k)) != NULL; k++)
    for (int c = 0; c < op->n_cases && !has_layout_case(op); c++) {
      Ran plain;
      /* a composite's parts have rows of their own; what they give together is held against f64 */
      run_case(op, &op->cases[c], MAX(0, op->n_kernels - 1), 0, op->expand != NULL, -1, &plain);
      for (int row = 0; row < MAX(1, op->n_kernels); row++)
        for (int lanes = 0; lanes <= 16; lanes += 8) {
          Ran ran;
          run_case(op, &op->cases[c], row, lanes, FALSE, -1, &ran);
          for (int i = 0; i < op->n_outputs; i++)
            compare(op, &op->cases[c], &ran, ran.out[i], plain.out[i]);
          for (int i = 0; i < ran.n_in; i++)
            compare(op, &op->cases[c], &ran, ran.in[i], plain.in[i]);
          bench_clear(&ran.bench);
          runs++;
        }
      bench_clear(&plain.bench);
    }
  g_test_message("%d runs", runs);
  g_assert_cmpint(runs, >, 300);
}

/* ---- gradients ---- */
/* Σ r·y of output 0, in f64 with the plain kernels. */
static double project(Bench *bench, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                      const Value *r)
{
  NwVal out[NW_MAX_PORTS] = {0};
  double sum = 0;
  g_assert_cmpint(bench_emit(&bench->emitter, op, attrs, in, n_in, out, NULL), ==, NW_OK);
  for (int64_t i = 0; i < nw_spec_count(&r->spec); i++)
    sum += get_number(out[0].p, i) * get_number(r, i);
  return sum;
}

static int check_gradient(const NwOp *op, const NwOpCase *c)
{
  const double h = 1e-6;
  NwError error = {0};
  Bench bench;
  g_autoptr(GRand) rand = g_rand_new_with_seed(31);
  g_autofree void *attrs = parse_attrs(op, c->attrs);
  bench_init(&bench, MAX(0, op->n_kernels - 1), 0);
  NwGrad g = {.emitter = &bench.emitter, .op = op, .attrs = attrs, .n_out = op->n_outputs};
  g.n_in = case_inputs(&bench, rand, op, c->shapes, TRUE, g.in);
  g_assert_cmpint(bench_emit(&bench.emitter, op, attrs, g.in, g.n_in, g.out, &error), ==, NW_OK);
  Value *r = random_like(&bench, rand, &((Value *)g.out[0].p)->spec);
  g.dout[0] = (NwVal){r, 0};
  for (int i = 0; i < g.n_in; i++) {
    g.in_spec[i] = bench_spec(&bench.emitter, g.in[i]);
    g.need[i] =
        is_float(g.in[i].p) && role_of(op, i) != NW_PORT_STATE && !(op->group == NW_GROUP_LOSS && i > 0);
  }
  for (int i = 0; i < g.n_out; i++)
    g.out_spec[i] = bench_spec(&bench.emitter, g.out[i]);
  if (op->grad == NULL) {
    tape_gradients(&g, r, &bench, &error);
  } else {
    NwStatus status = op->grad(&g, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, NW_OK);
  }
  int checked = 0;
  for (int i = 0; i < g.n_in; i++) {
    if (!g.need[i])
      continue;
    Value *x = g.in[i].p, *d = random_like(&bench, rand, &x->spec), *saved = value_new(&bench, &x->spec);
    double slope = 0, sides[2];
    memcpy(saved->data, x->data, nw_spec_bytes(&x->spec));
    for (int64_t k = 0; g.din[i].p && k < nw_spec_count(&x->spec); k++)
      slope += get_number(g.din[i].p, k) * get_number(d, k);
    for (int side = 0; side < 2; side++) {
      for (int64_t k = 0; k < nw_spec_count(&x->spec); k++)
        set_number(x, k, get_number(saved, k) + (side ? h : -h) * get_number(d, k));
      sides[side] = project(&bench, op, attrs, g.in, g.n_in, r);
    }
    memcpy(x->data, saved->data, nw_spec_bytes(&x->spec));
    double difference = (sides[1] - sides[0]) / (2 * h);
    if (!(fabs(difference - slope) <= 1e-6 * MAX(1, fabs(difference)))) {
      g_test_message("%s %s %s, input %d: the rule gives %.9g, differences %.9g", op->id, c->attrs, c->shapes,
                     i, slope, difference);
      g_test_fail();
    }
    checked++;
  }
  bench_clear(&bench);
  return checked;
}

static void test_gradients(void)
{
  const NwOp *op;
  int checked = 0;
  for (size_t k = 0; (op = nw_op_at(k)) != NULL; k++)
    for (int c = 0; c < op->n_cases && (op->grad || op->expand); c++)
      checked += check_gradient(op, &op->cases[c]);
  g_test_message("%d gradients", checked);
  g_assert_cmpint(checked, >, 80);
}

/* ---- infer ---- */
static void stumble(const NwOp *op, const void *attrs, NwSpec *in, int n_in)
{
  NwSpec out[NW_MAX_PORTS];
  NwError error = {0};
  for (int i = 0; i < NW_MAX_PORTS; i++)
    out[i] = nw_spec_absent();
  if (op->infer(op, attrs, in, n_in, out, &error) != NW_OK)
    g_assert_cmpint(strlen(error.text), >, 5);
}

static void test_infer(void)
{
  static const int64_t sizes[] = {0, 1, 7, INT64_MAX / 3, -5};
  const NwOp *op;
  for (size_t k = 0; (op = nw_op_at(k)) != NULL; k++)
    for (int c = 0; c < op->n_cases; c++) {
      Bench bench;
      NwVal values[NW_MAX_PORTS] = {0};
      NwSpec in[NW_MAX_PORTS];
      g_autoptr(GRand) rand = g_rand_new_with_seed(1);
      g_autofree void *attrs = parse_attrs(op, op->cases[c].attrs);
      bench_init(&bench, 0, 0);
      int n = case_inputs(&bench, rand, op, op->cases[c].shapes, FALSE, values);
      for (int i = 0; i < NW_MAX_PORTS; i++)
        in[i] = i < n ? bench_spec(&bench.emitter, values[i]) : nw_spec_absent();
      for (int i = 0; i < n; i++) {
        NwSpec right = in[i];
        in[i] = nw_spec_absent();
        stumble(op, attrs, in, n);
        for (int ndim = 0; ndim <= NW_MAX_DIMS; ndim++)
          for (int s = 0; s < NW_COUNT(sizes); s++) {
            in[i] = right;
            in[i].ndim = ndim;
            for (int d = 0; d < NW_MAX_DIMS; d++)
              in[i].dims[d] = s == 0 && d < right.ndim ? right.dims[d] : sizes[s];
            stumble(op, attrs, in, n);
          }
        for (int dtype = 0; dtype < NW_DTYPES; dtype++) {
          in[i] = right;
          in[i].dtype = (NwDType)dtype;
          stumble(op, attrs, in, n);
        }
        in[i] = right;
      }
      bench_clear(&bench);
    }
}

/* ---- memory ---- */
static void test_memory(void)
{
  const NwOp *op;
  int failed = 0;
  for (size_t k = 0; (op = nw_op_at(k)) != NULL; k++)
    for (int row = 0; row < op->n_kernels && op->n_cases > 0 && !has_layout_case(op); row++)
      for (int64_t at = 0;; at++) {
        Ran ran;
        int64_t live = nw_memory_live();
        NwStatus status = run_case(op, &op->cases[0], row, 8, FALSE, at, &ran);
        bench_clear(&ran.bench);
        g_assert_cmpint(nw_memory_live(), ==, live);
        if (status == NW_OK)
          break;
        g_assert_cmpint(status, ==, NW_NO_MEMORY);
        failed++;
      }
  g_test_message("%d allocations failed", failed);
  if (nw_onednn_available()) /* the plain kernels allocate nothing */
    g_assert_cmpint(failed, >, 5);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/ops/derived/rows", test_rows);
  g_test_add_func("/ops/derived/kernels", test_kernels);
  g_test_add_func("/ops/derived/gradients", test_gradients);
  g_test_add_func("/ops/derived/infer", test_infer);
  g_test_add_func("/ops/derived/memory", test_memory);
  return g_test_run();
}
