/* Ops that plans make of two others, against those two; layouts there and back; and what dropout promises. */
#include "tests/engine/op-bench.h"

#include "engine/backend/onednn.h"
#include "engine/base/philox.h"

static NwVal copy(Bench *bench, NwVal from)
{
  Value *value = from.p;
  if (value == NULL)
    return from;
  Value *made = value_new(bench, &value->spec);
  memcpy(made->data, value->data, nw_spec_bytes(&value->spec));
  return (NwVal){made, 0};
}

static void check_same(const char *what, const Bench *bench, NwVal a, NwVal b, double bound)
{
  const Value *x = a.p, *y = b.p;
  g_assert_cmpint(x == NULL, ==, y == NULL);
  if (x == NULL || x->spec.dtype != NW_F32)
    return;
  double sum = 0, norm = 0;
  g_assert_cmpint(nw_spec_count(&x->spec), ==, nw_spec_count(&y->spec));
  for (int64_t i = 0; i < nw_spec_count(&x->spec); i++) {
    double d = ((const float *)x->data)[i] - (double)((const float *)y->data)[i];
    sum += d * d;
    norm += (double)((const float *)y->data)[i] * ((const float *)y->data)[i];
  }
  double error = norm > 0 ? sqrt(sum / norm) : sqrt(sum);
  if (!(error <= bound)) {
    g_test_message("%s: off by %.3g, row %d, blocks of %d, kernel %s", what, error, bench->row, bench->lanes,
                   bench->kernel);
    g_test_fail();
  }
}

static void emit(Bench *bench, const NwOp *op, const void *attrs, const NwVal *in, int n_in, NwVal *out)
{
  NwError error = {0};
  NwStatus status = bench_emit(&bench->emitter, op, attrs, in, n_in, out, &error);
  g_assert_cmpstr(error.text, ==, "");
  g_assert_cmpint(status, ==, NW_OK);
}

/* op then next, against `into`; extra inputs of next are made here. Plain rows are the reference. */
static int compare_pair(const NwOp *op, const char *attrs_text, const char *shapes, const NwFusion *fusion,
                        const char *next_attrs_text, int row, int lanes)
{
  const NwOp *next = nw_op_find(fusion->next), *into = nw_op_find(fusion->into);
  g_assert_nonnull(next);
  g_assert_nonnull(into);
  g_assert_cmpint(into->n_inputs, ==, op->n_inputs + next->n_inputs - 1);
  g_assert_cmpint(into->n_outputs, ==, op->n_outputs + next->n_outputs - 1);
  g_autofree void *attrs = parse_attrs(op, attrs_text), *next_attrs = parse_attrs(next, next_attrs_text);
  g_autofree void *into_attrs = g_malloc0(into->attrs_size + 1);
  g_autoptr(GRand) rand = g_rand_new_with_seed(11);
  Bench plain, bench;
  NwVal in[NW_MAX_PORTS] = {0}, mid[NW_MAX_PORTS] = {0}, want[NW_MAX_PORTS] = {0}, got[NW_MAX_PORTS] = {0};
  NwVal next_in[NW_MAX_PORTS] = {0}, into_in[NW_MAX_PORTS] = {0};
  bench_init(&plain, 99, 0); /* no such row: the last that can is plain, below */
  bench_init(&bench, row, lanes);
  plain.row = op->n_kernels - 1;
  case_inputs(&plain, rand, op, shapes, FALSE, in);
  for (int i = 0; i < op->n_inputs; i++)
    into_in[i] = copy(&bench, in[i]);
  emit(&plain, op, attrs, in, op->n_inputs, mid);
  next_in[0] = mid[0];
  const NwSpec *y = &((Value *)mid[0].p)->spec;
  for (int i = 1; i < next->n_inputs; i++) {
    const char *name = next->inputs[i].name;
    NwSpec spec = nw_spec(NW_F32, 1, &y->dims[1]);
    if (strcmp(name, "other") == 0 || strcmp(name, "x") == 0 || strcmp(name, "v") == 0)
      spec = *y;
    else if (strcmp(name, "num_batches_tracked") == 0)
      spec = nw_spec(NW_I64, 0, NULL);
    Value *value = spec.dtype == NW_I64 ? value_new(&plain, &spec) : random_like(&plain, rand, &spec);
    if (strcmp(name, "running_var") == 0 || strcmp(name, "scale") == 0)
      make_positive(value);
    next_in[i] = (NwVal){value, 0};
    into_in[op->n_inputs + i - 1] = copy(&bench, next_in[i]);
  }
  plain.row = next->n_kernels - 1;
  emit(&plain, next, next_attrs, next_in, next->n_inputs, want);
  if (fusion->merge)
    fusion->merge(attrs, next_attrs, into_attrs);
  else
    memcpy(into_attrs, attrs, MIN(into->attrs_size, op->attrs_size));
  emit(&bench, into, into_attrs, into_in, into->n_inputs, got);
  g_autofree char *what = g_strdup_printf("%s of case %s %s", into->id, attrs_text, shapes);
  for (int i = 0; i < next->n_outputs; i++)
    check_same(what, &bench, got[i], want[i], 1e-5);
  for (int i = 1; i < op->n_outputs; i++)
    check_same(what, &bench, got[next->n_outputs + i - 1], mid[i], 1e-5);
  int blocked = bench.blocked;
  bench_clear(&plain);
  bench_clear(&bench);
  return blocked;
}

static int compare_rows(const NwOp *op, const char *attrs, const char *shapes, const NwFusion *fusion,
                        const char *next_attrs)
{
  const NwOp *into = nw_op_find(fusion->into);
  int blocked = 0;
  for (int row = 0; row < into->n_kernels; row++)
    for (int lanes = 0; lanes <= 16; lanes += 8)
      blocked += compare_pair(op, attrs, shapes, fusion, next_attrs, row, lanes);
  return blocked;
}

/* Every fusion of every op that has cases, which is all but those of gradients. */
static void test_fusions(void)
{
  const NwOp *op;
  int pairs = 0, blocked = 0;
  nw_threads_set(2);
  for (size_t k = 0; (op = nw_op_at(k)) != NULL; k++)
    for (int f = 0; f < op->n_fusions; f++)
      for (int c = 0; c < op->n_cases; c++) {
        blocked += compare_rows(op, op->cases[c].attrs, op->cases[c].shapes, &op->fusions[f], "");
        pairs++;
      }
  g_test_message("%d pairs", pairs);
  g_assert_cmpint(pairs, >, 30);
  g_assert_cmpint(blocked, >, nw_onednn_available() ? 30 : 10);
}

static void test_relu_before_norm_gradient(void)
{
  const NwOp *op = nw_op_find("relu_grad");
  for (int training = 0; training < 2; training++)
    for (int c = 0; c < 3; c++) {
      static const char *shapes[] = {"2x16x5x5 2x16x5x5", "3x5x4x7 3x5x4x7", "16x24x1x1 16x24x1x1"};
      compare_rows(op, "", shapes[c], &op->fusions[0], training ? "training=true" : "training=false");
    }
}

/* The picture that a ReLU made, pooled: the marked index must stand for the ReLU's mask. */
static void test_relu_before_pool_gradient(void)
{
  const NwOp *pool = nw_op_find("max_pool2d"), *grad = nw_op_find("max_pool2d_grad"),
             *relu = nw_op_find("relu");
  const NwOp *relu_grad = nw_op_find("relu_grad"), *fused = nw_op_find("max_pool2d_relu_grad");
  g_autoptr(GRand) rand = g_rand_new_with_seed(5);
  for (int c = 0; c < pool->n_cases; c++)
    for (int row = 0; row < pool->n_kernels; row++)
      for (int lanes = 0; lanes <= 16; lanes += 8) {
        Bench bench;
        NwVal x[2] = {0}, y[2] = {0}, p[2] = {0}, d[2] = {0}, want[2] = {0}, got[2] = {0};
        g_autofree void *attrs = parse_attrs(pool, pool->cases[c].attrs);
        bench_init(&bench, row, lanes);
        x[0].p = random_value(&bench, rand, pool->cases[c].shapes, FALSE);
        float *first = ((Value *)x[0].p)->data;
        for (int i = 0; i < nw_spec_count(&((Value *)x[0].p)->spec); i++)
          first[i] -= 0.7f; /* so that many windows hold nothing positive */
        emit(&bench, relu, NULL, x, 1, y);
        emit(&bench, pool, attrs, y, 1, p);
        NwVal dy = {random_like(&bench, rand, &((Value *)p[0].p)->spec), 0};
        emit(&bench, grad, attrs, (NwVal[]){dy, p[1], y[0]}, 3, d);
        emit(&bench, relu_grad, NULL, (NwVal[]){d[0], y[0]}, 2, want);
        emit(&bench, fused, attrs, (NwVal[]){dy, p[1], y[0], y[0]}, 4, got);
        check_same("max_pool2d_relu_grad", &bench, got[0], want[0], 0);
        bench_clear(&bench);
      }
}

static void test_reorder(void)
{
  const NwOp *op = nw_op_find("reorder");
  static const int blocks[] = {0, 8, 16};
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  static const char *shapes[] = {"2x16x5x7", "1x3x4x4", "2x24x9x9", "3x1x1x1", "1x17x30x11"};
  for (int s = 0; s < NW_COUNT(shapes); s++)
    for (int from = 0; from < 3; from++)
      for (int to = 0; to < 3; to++)
        for (int row = 0; row < op->n_kernels; row++) {
          Bench bench;
          bench_init(&bench, row, 0);
          Value *x = random_value(&bench, rand, shapes[s], FALSE);
          Value *start = blocks[from] ? to_block(&bench, x, blocks[from]) : x;
          NwCall call = {.op = op, .n_in = 1, .n_out = 1, .in = {start->spec}, .out = {x->spec}};
          call.out[0].block = blocks[to];
          if (!op->kernels[row].supports(&call)) {
            bench_clear(&bench);
            continue;
          }
          Value *end = value_new(&bench, &call.out[0]);
          memset(end->data, 0x7f, nw_spec_bytes(&end->spec));
          size_t workspace = 0;
          void *state = NULL;
          if (op->kernels[row].prepare)
            g_assert_cmpint(op->kernels[row].prepare(&call, &state, &workspace, NULL), ==, NW_OK);
          call.in_data[0] = start->data;
          call.out_data[0] = end->data;
          call.workspace = nw_alloc(workspace + 64);
          g_assert_cmpint(op->kernels[row].run(&call, state, NULL), ==, NW_OK);
          nw_free(call.workspace);
          if (op->kernels[row].release)
            op->kernels[row].release(state);
          Value *back = blocks[to] ? to_plain(&bench, end) : end;
          check_same("reorder", &bench, (NwVal){back, 0}, (NwVal){x, 0}, 0);
          bench_clear(&bench);
        }
}

static Value *drop(Bench *bench, Value *x, const char *attrs_text)
{
  const NwOp *op = nw_op_find("dropout");
  g_autofree void *attrs = parse_attrs(op, attrs_text);
  NwVal out[1];
  emit(bench, op, attrs, (NwVal[]){{x, 0}}, 1, out);
  return out[0].p;
}

static void test_dropout(void)
{
  Bench bench;
  int64_t n = 40001;
  NwSpec spec = nw_spec(NW_F32, 1, &n);
  bench_init(&bench, 0, 0);
  Value *x = value_new(&bench, &spec);
  for (int64_t i = 0; i < n; i++)
    ((float *)x->data)[i] = 1;
  nw_threads_set(1);
  Value *one = drop(&bench, x, "p=0.2 training=true stream=4");
  nw_threads_set(2);
  Value *two = drop(&bench, x, "p=0.2 training=true stream=4");
  g_assert_cmpmem(one->data, (gsize)n * 4, two->data, (gsize)n * 4); /* the threads do not show */
  NwPhilox key = {bench.run.seed, NW_STREAM_OP + 4};
  int64_t dropped = 0;
  for (int64_t i = 0; i < n; i++) {
    float v = ((float *)one->data)[i];
    gboolean stays = nw_uniform(key, bench.run.step, (uint64_t)i) >= 0.2f;
    g_assert_cmpfloat(v, ==, stays ? 1.25f : 0);
    dropped += v == 0;
  }
  g_assert_cmpfloat(fabs((double)dropped / (double)n - 0.2), <, 0.01);
  Value *other = drop(&bench, x, "p=0.2 training=true stream=5");
  g_assert_cmpint(memcmp(one->data, other->data, (gsize)n * 4), !=, 0);
  bench.run.step++;
  other = drop(&bench, x, "p=0.2 training=true stream=4");
  g_assert_cmpint(memcmp(one->data, other->data, (gsize)n * 4), !=, 0);
  other = drop(&bench, x, "p=0.2"); /* evaluation */
  g_assert_cmpmem(x->data, (gsize)n * 4, other->data, (gsize)n * 4);
  other = drop(&bench, x, "p=1 training=true");
  for (int64_t i = 0; i < n; i++)
    g_assert_cmpfloat(((float *)other->data)[i], ==, 0);
  bench_clear(&bench);
}

/* A shape that does not fit gives a sentence, and the property where one is at fault. */
static void check_refused(const char *id, const char *attrs_text, const char *shapes, const char *property)
{
  const NwOp *op = nw_op_find(id);
  Bench bench;
  NwError error = {0};
  NwVal in[NW_MAX_PORTS] = {0};
  NwSpec specs[NW_MAX_PORTS], out[NW_MAX_PORTS];
  g_autoptr(GRand) rand = g_rand_new_with_seed(1);
  g_autofree void *attrs = parse_attrs(op, attrs_text);
  bench_init(&bench, 0, 0);
  int n = case_inputs(&bench, rand, op, shapes, FALSE, in);
  for (int i = 0; i < NW_MAX_PORTS; i++)
    specs[i] = i < n ? bench_spec(&bench.emitter, in[i]) : nw_spec_absent();
  g_assert_cmpint(op->infer(op, attrs, specs, n, out, &error), !=, NW_OK);
  g_assert_cmpint(strlen(error.text), >, 10);
  g_assert_cmpstr(error.property, ==, property);
  bench_clear(&bench);
}

static void test_refusals(void)
{
  check_refused("conv2d", "out_channels=4", "2x3 4x3x3x3 4", "");
  check_refused("conv2d", "out_channels=4", "2x3x2x8 4x3x3x3 4", "kernel_size");
  check_refused("conv2d", "out_channels=4 groups=2", "2x3x8x8 4x3x3x3 4", "groups");
  check_refused("conv2d", "out_channels=4", "2x3x8x8 4x2x3x3 4", "");
  check_refused("linear", "out_features=4", "2x3x8x8 4x3 4", "");
  check_refused("max_pool2d", "padding=2", "2x3x8x8", "padding");
  check_refused("max_pool2d", "kernel_size=9", "2x3x8x8", "kernel_size");
  check_refused("batch_norm2d", "training=true", "1x3x1x1 3 3 3 3 1:i64<9", "");
  check_refused("batch_norm2d", "", "2x3x4x4 3 3 4 3 1:i64<9", "");
  check_refused("add", "", "2x3 2x4", "");
  check_refused("add", "", "2x3 -", "");
  check_refused("concat", "", "2x3x4x4 2x3x4x5", "");
  check_refused("flatten", "start_dim=4", "2x3", "start_dim");
  check_refused("softmax", "dim=3", "2x3", "dim");
  check_refused("cross_entropy", "", "2x3x4x4 2:i64<3 -", "");
  check_refused("cross_entropy", "", "2x3 3:i64<3 -", "");
}

static void test_target_out_of_range(void)
{
  const NwOp *op = nw_op_find("cross_entropy");
  Bench bench;
  NwError error = {0};
  NwVal out[2];
  g_autofree void *attrs = parse_attrs(op, "");
  g_autoptr(GRand) rand = g_rand_new_with_seed(1);
  bench_init(&bench, 0, 0);
  Value *logits = random_value(&bench, rand, "3x4", FALSE),
        *target = random_value(&bench, rand, "3:i64<4", FALSE);
  ((int64_t *)target->data)[1] = 4;
  g_assert_cmpint(
      bench_emit(&bench.emitter, op, attrs, (NwVal[]){{logits, 0}, {target, 0}, {NULL, 0}}, 3, out, &error),
      ==, NW_BAD_DATA);
  g_assert_nonnull(strstr(error.text, "Picture 1"));
  bench_clear(&bench);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/ops/fused/pairs", test_fusions);
  g_test_add_func("/ops/fused/relu-before-norm-gradient", test_relu_before_norm_gradient);
  g_test_add_func("/ops/fused/relu-before-pool-gradient", test_relu_before_pool_gradient);
  g_test_add_func("/ops/reorder", test_reorder);
  g_test_add_func("/ops/dropout", test_dropout);
  g_test_add_func("/ops/refusals", test_refusals);
  g_test_add_func("/ops/target-out-of-range", test_target_out_of_range);
  return g_test_run();
}
