/* Every kernel of every layer, loss and optimizer against the numbers that PyTorch wrote
 * (tests/golden/make_ops.py and make_layers.py).
 *
 * Kernels are called straight from the rows, each row in turn, in plain layout and with channels in blocks of
 * 8 and 16, on one and on several threads; gradients come from the op's own rule. Then the same from the
 * fused ops' side, and the properties of dropout, which has no golden numbers. */
#include "tests/engine/op-bench.h"

#include "engine/backend/onednn.h"

/* ---- the golden file ---- */
typedef struct Golden {
  char *name;
  NwSpec spec;
  double error; /* of torch's float32 */
  const void *data;
} Golden;

typedef struct Case {
  char *op, *attrs;
  Golden *tensors;
  guint32 n;
} Case;

static Case *cases;
static guint32 n_cases;

static const char *take(const char **at, const char *end, gsize n)
{
  const char *p = *at;
  g_assert_cmpuint((gsize)(end - p), >=, n);
  *at += n;
  return p;
}

static guint32 take_u32(const char **at, const char *end)
{
  guint32 v;
  memcpy(&v, take(at, end, 4), 4);
  return v;
}

static char *take_text(const char **at, const char *end)
{
  guint32 n = take_u32(at, end);
  return g_strndup(take(at, end, n), n);
}

/* Adds the cases of one file, whose bytes stay for good. */
static void read_cases(const char *name)
{
  static const NwDType types[] = {NW_F32, NW_I64, NW_U8};
  gsize length;
  g_autofree char *path = g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "tests", "golden", name, NULL);
  char *file_bytes;
  g_assert_true(g_file_get_contents(path, &file_bytes, &length, NULL));
  const char *at = file_bytes, *end = file_bytes + length;
  g_assert_cmpint(memcmp(take(&at, end, 8), "NWOPS1\0\0", 8), ==, 0);
  guint32 c = n_cases;
  n_cases += take_u32(&at, end);
  cases = g_renew(Case, cases, n_cases);
  for (; c < n_cases; c++) {
    cases[c].op = take_text(&at, end);
    cases[c].attrs = take_text(&at, end);
    cases[c].n = take_u32(&at, end);
    cases[c].tensors = g_new0(Golden, cases[c].n);
    for (guint32 t = 0; t < cases[c].n; t++) {
      Golden *g = &cases[c].tensors[t];
      int64_t dims[NW_MAX_DIMS];
      g->name = take_text(&at, end);
      int type = *take(&at, end, 1), ndim = *take(&at, end, 1);
      for (int i = 0; i < ndim; i++)
        dims[i] = take_u32(&at, end);
      memcpy(&g->error, take(&at, end, 8), 8);
      g->spec = nw_spec(types[type], ndim, dims);
      g->data = take(&at, end, nw_spec_bytes(&g->spec));
    }
  }
  g_assert_true(at == end);
}

static const Golden *find(const Case *c, const char *name, int k)
{
  g_autofree char *full = k < 0 ? g_strdup(name) : g_strdup_printf("%s%d", name, k);
  for (guint32 t = 0; t < c->n; t++)
    if (strcmp(c->tensors[t].name, full) == 0)
      return &c->tensors[t];
  return NULL;
}

static double number(const NwSpec *spec, const void *data, int64_t i)
{
  float f;
  int64_t n;
  if (spec->dtype == NW_F64)
    return ((const double *)data)[i];
  if (spec->dtype == NW_U8)
    return ((const uint8_t *)data)[i];
  if (spec->dtype == NW_I64) {
    memcpy(&n, (const char *)data + i * 8, 8); /* the file does not align */
    return (double)n;
  }
  memcpy(&f, (const char *)data + i * 4, 4);
  return f;
}

/* The golden numbers as a value, in f64 where wanted. */
static Value *load(Bench *bench, const Golden *g, gboolean wide)
{
  NwSpec spec = g->spec;
  if (wide && spec.dtype == NW_F32)
    spec.dtype = NW_F64;
  Value *value = value_new(bench, &spec);
  if (spec.dtype == g->spec.dtype)
    memcpy(value->data, g->data, nw_spec_bytes(&spec));
  else
    for (int64_t i = 0; i < nw_spec_count(&spec); i++)
      ((double *)value->data)[i] = number(&g->spec, g->data, i);
  return value;
}

static double worst;
static int blocked_runs;

static void compare(const Case *c, const Bench *bench, const Golden *want, const Value *got, double least)
{
  double sum = 0, norm = 0;
  g_assert_nonnull(got);
  g_assert_cmpint(nw_spec_count(&got->spec), ==, nw_spec_count(&want->spec));
  for (int64_t i = 0; i < nw_spec_count(&want->spec); i++) {
    double w = number(&want->spec, want->data, i), d = number(&got->spec, got->data, i) - w;
    sum += d * d;
    norm += w * w;
  }
  double error = norm > 0 ? sqrt(sum / norm) : sqrt(sum), bound = MAX(least, 2 * want->error);
  if (!(error <= bound)) {
    g_test_message("%s %s: %s is off by %.3g (bound %.3g), kernel %s, blocks of %d", c->op, c->attrs,
                   want->name, error, bound, bench->kernel, bench->lanes);
    g_test_fail();
  }
  worst = MAX(worst, error);
}

/* ---- layers and losses ---- */
static int count_inputs(const Case *c)
{
  int n = 0;
  for (int p = 0; p < NW_MAX_PORTS; p++)
    if (find(c, "in", p))
      n = p + 1;
  return n;
}

/* f64 runs against float32-rounded references, so its bound is their rounding. */
static void run_case(const Case *c, int row, int lanes, gboolean wide)
{
  const NwOp *op = nw_op_find(c->op);
  NwError error = {0};
  Bench bench;
  NwGrad grad = {.op = op, .n_in = count_inputs(c), .n_out = op->n_outputs};
  g_autofree void *attrs = parse_attrs(op, c->attrs);
  double least = wide ? 1e-7 : 1e-5;
  bench_init(&bench, row, lanes);
  for (int p = 0; p < grad.n_in; p++)
    if (find(c, "in", p))
      grad.in[p] = (NwVal){load(&bench, find(c, "in", p), wide), 0};
  NwStatus status = bench_emit(&bench.emitter, op, attrs, grad.in, grad.n_in, grad.out, &error);
  g_assert_cmpstr(error.text, ==, "");
  g_assert_cmpint(status, ==, NW_OK);
  compare(c, &bench, find(c, "out", 0), grad.out[0].p, least);
  for (int p = 0; p < grad.n_in; p++)
    if (find(c, "after", p))
      compare(c, &bench, find(c, "after", p), grad.in[p].p, least);
  if (find(c, "dout", 0)) {
    grad.emitter = &bench.emitter;
    grad.attrs = attrs;
    grad.dout[0] = (NwVal){load(&bench, find(c, "dout", 0), wide), 0};
    for (int p = 0; p < grad.n_in; p++) {
      grad.in_spec[p] = bench_spec(&bench.emitter, grad.in[p]);
      grad.need[p] = find(c, "din", p) != NULL;
    }
    for (int p = 0; p < grad.n_out; p++)
      grad.out_spec[p] = bench_spec(&bench.emitter, grad.out[p]);
    if (op->expand != NULL) {
      tape_gradients(&grad, grad.dout[0].p, &bench, &error);
    } else {
      status = op->grad(&grad, &error);
      g_assert_cmpstr(error.text, ==, "");
      g_assert_cmpint(status, ==, NW_OK);
    }
    for (int p = 0; p < grad.n_in; p++)
      if (grad.need[p])
        compare(c, &bench, find(c, "din", p), grad.din[p].p, least);
  }
  blocked_runs += bench.blocked;
  bench_clear(&bench);
}

static void test_op(const void *data)
{
  const char *id = data;
  const NwOp *op = nw_op_find(id);
  g_assert_nonnull(op);
  int runs = 0;
  for (guint32 k = 0; k < n_cases; k++) {
    if (strcmp(cases[k].op, id) != 0)
      continue;
    for (int threads = 1; threads <= 2; threads++) {
      nw_threads_set(threads);
      for (int row = 0; row < MAX(1, op->n_kernels); row++)
        for (int lanes = 0; lanes <= 16; lanes += 8)
          run_case(&cases[k], row, lanes, FALSE);
    }
    if (find(&cases[k], "in", 0)->spec.dtype != NW_U8)
      run_case(&cases[k], MAX(0, op->n_kernels - 1), 0, TRUE);
    runs++;
  }
  g_test_message("%s: %d cases, worst error %.2g, %d runs with blocks", id, runs, worst, blocked_runs);
  for (int row = 0; row < op->n_kernels; row++)
    g_assert_true(op->kernels[row].layout == NULL || blocked_runs > 0 || !nw_onednn_available());
  worst = 0;
  blocked_runs = 0;
  g_assert_cmpint(runs, >, 0);
}

/* ---- optimizers ---- */
static void run_optimizer(const Case *c, int row, gboolean wide)
{
  const NwOp *op = nw_op_find(c->op);
  NwError error = {0};
  Bench bench;
  NwVal in[NW_MAX_PORTS] = {0};
  g_autofree void *attrs = parse_attrs(op, c->attrs);
  bench_init(&bench, row, 0);
  Value *param = load(&bench, find(c, "in", 0), wide);
  const Golden *grads = find(c, "grads", -1);
  int64_t n = nw_spec_count(&param->spec), one = 1;
  NwSpec step = nw_spec(NW_I64, 1, &one);
  Value *grad = value_new(&bench, &param->spec), *t = value_new(&bench, &step);
  in[0] = (NwVal){param, 0};
  in[1] = (NwVal){grad, 0};
  in[2] = (NwVal){load(&bench, find(c, "lr", -1), FALSE), 0};
  in[3] = (NwVal){t, 0};
  for (int p = 4; p < op->n_inputs; p++) {
    NwParamInfo info = {0};
    NwSpec specs[NW_MAX_PORTS];
    for (int i = 0; i < NW_MAX_PORTS; i++)
      specs[i] = bench_spec(&bench.emitter, in[i]);
    g_assert_cmpint(op->param(op, attrs, specs, p, &info, &error), ==, NW_OK);
    g_assert_cmpint(info.present, ==, find(c, "after", p) != NULL);
    if (!info.present)
      continue;
    Value *slot = value_new(&bench, &info.spec);
    for (int64_t i = 0; i < nw_spec_count(&info.spec); i++)
      set_number(slot, i, info.value);
    in[p] = (NwVal){slot, 0};
  }
  for (int64_t s = 0; s < grads->spec.dims[0]; s++) {
    *(int64_t *)t->data = s + 1;
    for (int64_t i = 0; i < n; i++)
      if (wide)
        ((double *)grad->data)[i] = number(&grads->spec, grads->data, s * n + i);
      else
        ((float *)grad->data)[i] = (float)number(&grads->spec, grads->data, s * n + i);
    NwStatus status = bench_emit(&bench.emitter, op, attrs, in, op->n_inputs, NULL, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, NW_OK);
  }
  for (int p = 0; p < op->n_inputs; p++)
    if (find(c, "after", p))
      compare(c, &bench, find(c, "after", p), in[p].p, wide ? 1e-7 : 1e-6);
  bench_clear(&bench);
}

static void test_optimizer(const void *data)
{
  const NwOp *op = nw_op_find(data);
  int runs = 0;
  for (guint32 k = 0; k < n_cases; k++) {
    if (strcmp(cases[k].op, data) != 0)
      continue;
    for (int row = 0; row < op->n_kernels; row++)
      run_optimizer(&cases[k], row, FALSE);
    run_optimizer(&cases[k], op->n_kernels - 1, TRUE);
    runs++;
  }
  g_test_message("%s: %d cases, worst error after 50 steps %.2g", op->id, runs, worst);
  worst = 0;
  g_assert_cmpint(runs, >, 0);
}

/* No layer, loss or optimizer without PyTorch's numbers, but for those that draw lots. */
static void test_complete(void)
{
  static const char *const lots[] = {"dropout", "dropout2d", "stochastic_depth", NULL};
  const NwOp *op;
  int n = 0;
  for (size_t k = 0; (op = nw_op_at(k)) != NULL; k++) {
    gboolean found = op->label == NULL || op->group == NW_GROUP_INPUT || g_strv_contains(lots, op->id);
    for (guint32 c = 0; c < n_cases && !found; c++)
      found = strcmp(cases[c].op, op->id) == 0;
    if (!found)
      g_error("PyTorch has said nothing about %s: add it to tests/golden/make_layers.py", op->id);
    n += op->label != NULL;
  }
  g_test_message("%d layers, losses and optimizers, %u cases", n, n_cases);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  read_cases("ops.bin");
  read_cases("layers.bin");
  g_test_add_func("/ops/golden/complete", test_complete);
  read_cases("optimizers.bin");
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  for (guint32 k = 0; k < n_cases; k++) {
    if (!g_hash_table_add(seen, cases[k].op))
      continue;
    const NwOp *op = nw_op_find(cases[k].op);
    g_assert_nonnull(op);
    g_autofree char *path = g_strdup_printf("/ops/golden/%s", op->id);
    g_test_add_data_func(path, op->id, op->group == NW_GROUP_OPTIMIZER ? test_optimizer : test_op);
  }
  return g_test_run();
}
