/* Graphs and plans: the tape's numbers bit for bit in `exact`, near them with every pass on, one tight arena,
 * no allocation when running, and no leak when any allocation fails. */
#include "engine/backend/onednn.h"
#include "tests/engine/net-fixture.h"

typedef struct Net {
  const char *name;
  int64_t channels, size, classes, batch;
} Net;

static const Net nets[] = {
    {"mlp", 1, 28, 10, 16},     {"simplecnn", 1, 28, 10, 8},       {"lenet", 3, 32, 10, 8},
    {"residual", 3, 16, 10, 6}, {"simpleclassifier", 3, 32, 5, 4},
};

static NwNetwork *network_of(const Net *net)
{
  if (strcmp(net->name, "residual") == 0)
    return fx_residual_net(net->classes);
  return fx_template(net->name, net->channels, net->size, net->classes);
}

typedef struct Case {
  NwNetwork *network;
  NwModel *model;
  FxBatch batch;
} Case;

static Case case_of(const Net *net)
{
  Case c = {.network = network_of(net)};
  c.model = fx_model(c.network, net->channels, net->size, net->classes, 11);
  c.batch = fx_batch(net->batch, net->channels, net->size, net->classes, 21);
  return c;
}

static void case_clear(Case *c)
{
  fx_batch_clear(&c->batch);
  nw_model_free(c->model);
  nw_network_free(c->network);
}

static void assert_bits(const char *what, const char *name, const void *a, const void *b, size_t bytes)
{
  if (memcmp(a, b, bytes) != 0)
    g_error("%s of %s differs between tape and plan: distance %g", what, name,
            fx_distance(a, b, (int64_t)(bytes / sizeof(float))));
}

/* ---- exact: bit for bit ---- */

static void check_exact(const Net *net, const char *optimizer, bool keep_grads)
{
  Case c = case_of(net);
  FxOptions o = {.plan = {.exact = true}, .training = true, .optimizer = optimizer, .keep_grads = keep_grads};
  FxTape tape;
  FxPlan plan;
  fx_tape(c.model, &c.batch, optimizer, 0.01f, &tape);
  fx_plan(c.model, &c.batch, &o, &plan);
  plan.lr_value = 0.01f;
  for (int64_t step = 1; step <= 3; step++) {
    fx_tape_step(c.model, &tape, optimizer, 99, step);
    float loss = fx_run(&plan, 99, step);
    assert_bits("loss", net->name, &loss, &tape.loss, sizeof loss);
    g_assert_true(isfinite(loss));
    for (int i = 0; i < nw_model_count(c.model); i++) {
      const NwParam *param = nw_model_at(c.model, i);
      size_t bytes = nw_spec_bytes(&param->spec);
      if (keep_grads && !param->buffer)
        assert_bits("gradient", param->name, nw_plan_data(plan.plan, plan.grads[i]),
                    nw_tensor_data(nw_tensor_grad(tape.params[i])), bytes);
      assert_bits("value", param->name, param->data, nw_tensor_data(tape.params[i]), bytes);
      for (int s = 0; optimizer != NULL && s < fx_slots(fx_op(optimizer)) && !param->buffer; s++)
        assert_bits("moment", param->name, plan.slot_data[i][s], nw_tensor_data(tape.slots[i][s]), bytes);
    }
  }
  nw_tape_set_step(-1);
  fx_plan_clear(&plan);
  fx_tape_clear(&tape);
  case_clear(&c);
}

static void test_exact_sgd(gconstpointer net)
{
  check_exact(net, "sgd", true);
  check_exact(net, "sgd", false);
}

static void test_exact_adamw(gconstpointer net)
{
  check_exact(net, "adamw", false);
}

/* ---- all passes on: near ---- */

static void test_optimised(gconstpointer data)
{
  const Net *net = data;
  Case c = case_of(net);
  FxOptions exact = {.plan = {.exact = true}, .training = true, .keep_grads = true, .keep_logits = true};
  FxOptions fast = exact;
  fast.plan.exact = false;
  FxPlan a, b;
  fx_plan(c.model, &c.batch, &exact, &a);
  fx_plan(c.model, &c.batch, &fast, &b);
  for (int64_t step = 1; step <= 2; step++) { /* twice: nothing may be left over from the first */
    double x = fx_run(&a, 5, step), y = fx_run(&b, 5, step);
    g_assert_cmpfloat(fabs(x - y), <=, 1e-5 * fabs(x));
    double worst = fx_distance(nw_plan_data(b.plan, b.logits), nw_plan_data(a.plan, a.logits),
                               net->batch * net->classes);
    g_assert_cmpfloat(worst, <=, 1e-4);
    for (int i = 0; i < nw_model_count(c.model); i++) {
      const NwParam *param = nw_model_at(c.model, i);
      if (param->buffer)
        continue;
      double d = fx_distance(nw_plan_data(b.plan, b.grads[i]), nw_plan_data(a.plan, a.grads[i]),
                             nw_spec_count(&param->spec));
      worst = MAX(worst, d);
      if (d > 5e-4)
        g_error("gradient of %s: %g", param->name, d);
    }
    g_test_message("%s: worst distance %.2g", net->name, worst);
  }
  fx_plan_clear(&a);
  fx_plan_clear(&b);
  case_clear(&c);
}

/* Evaluation: with and without frozen parameters, and after the parameters changed. */
static void test_frozen(gconstpointer data)
{
  const Net *net = data;
  Case c = case_of(net);
  FxOptions exact = {.plan = {.exact = true}, .keep_logits = true}, plain = {.keep_logits = true};
  FxOptions frozen = {.plan = {.frozen_params = true}, .keep_logits = true};
  FxPlan a, b, f;
  fx_plan(c.model, &c.batch, &exact, &a);
  fx_plan(c.model, &c.batch, &plain, &b);
  fx_plan(c.model, &c.batch, &frozen, &f);
  int64_t n = net->batch * net->classes;
  for (int round = 0; round < 3; round++) {
    fx_run(&a, 0, 0);
    fx_run(&b, 0, 0);
    fx_run(&f, 0, 0);
    g_assert_cmpfloat(fx_distance(nw_plan_data(b.plan, b.logits), nw_plan_data(a.plan, a.logits), n), <,
                      1e-4);
    g_assert_cmpfloat(fx_distance(nw_plan_data(f.plan, f.logits), nw_plan_data(a.plan, a.logits), n), <,
                      1e-4);
    for (int i = 0; i < nw_model_count(c.model); i++) {
      NwParam *param = nw_model_at(c.model, i);
      for (int64_t k = 0; param->spec.dtype == NW_F32 && k < nw_spec_count(&param->spec); k++)
        ((float *)param->data)[k] *= 1.25f;
    }
    nw_plan_refresh(f.plan);
  }
  fx_plan_clear(&a);
  fx_plan_clear(&b);
  fx_plan_clear(&f);
  case_clear(&c);
}

/* ---- passes ---- */

static int steps_of(const NwPlan *plan)
{
  int n = 0;
  while (nw_plan_step(plan, n).op != NULL)
    n++;
  return n;
}

static int count_op(const NwPlan *plan, const char *id)
{
  int n = 0;
  for (int i = 0; nw_plan_step(plan, i).op != NULL; i++)
    n += strcmp(nw_plan_step(plan, i).op->id, id) == 0;
  return n;
}

static int place_of(const NwPlan *plan, const char *id, int nth)
{
  for (int i = 0; nw_plan_step(plan, i).op != NULL; i++)
    if (strcmp(nw_plan_step(plan, i).op->id, id) == 0 && nth-- == 0)
      return i;
  return -1;
}

static void test_fusion(void)
{
  Case c = case_of(&nets[3]);
  FxPlan p;
  FxOptions eval = {0}, train = {.training = true}, exact = {.plan = {.exact = true}};
  fx_plan(c.model, &c.batch, &exact, &p);
  int unfused = steps_of(p.plan);
  g_assert_cmpint(count_op(p.plan, "batch_norm2d"), ==, 6);
  g_assert_cmpint(count_op(p.plan, "reorder"), ==, 0);
  fx_plan_clear(&p);
  /* evaluation: every batch norm goes into its convolution, and the ReLU with it */
  fx_plan(c.model, &c.batch, &eval, &p);
  for (int i = 0; nw_plan_step(p.plan, i).op != NULL; i++)
    g_test_message("%s %s block %u", nw_plan_step(p.plan, i).op->id, nw_plan_step(p.plan, i).kernel,
                   nw_plan_step(p.plan, i).block);
  g_assert_cmpint(count_op(p.plan, "batch_norm2d"), ==, 0);
  g_assert_cmpint(count_op(p.plan, "relu"), ==, 0);
  g_assert_cmpint(steps_of(p.plan) - count_op(p.plan, "reorder"), <, unfused - 8);
  fx_plan_clear(&p);
  /* training: ReLUs go into batch norms, forward and backward */
  fx_plan(c.model, &c.batch, &train, &p);
  for (int i = 0; nw_plan_step(p.plan, i).op != NULL; i++)
    g_test_message("%s %s block %u", nw_plan_step(p.plan, i).op->id, nw_plan_step(p.plan, i).kernel,
                   nw_plan_step(p.plan, i).block);
  g_assert_cmpint(count_op(p.plan, "relu"), ==, 0);
  fx_plan_clear(&p);
  case_clear(&c);
}

/* A kept value is not fused away, and is handed out in plain layout. */
static void test_kept(void)
{
  NwGraph *graph;
  NwPlan *plan;
  NwError *e = &fx_error;
  Case c = case_of(&nets[3]);
  NwVal params[FX_MAX], x, logits, out[NW_MAX_PORTS], copy[NW_MAX_PORTS];
  char attrs[256];
  fx_ok(nw_graph_new(&graph, e));
  fx_ok(nw_graph_input(graph, "x", &c.batch.x_spec, NW_INPUT_DATA, false, &x, e));
  fx_ok(nw_model_emit_graph(c.model, graph, x, false, params, &logits, e));
  /* conv → relu → conv by hand: the value between is kept */
  const NwOp *conv = fx_op("conv2d"), *relu = fx_op("relu");
  nw_attrs_init(conv, attrs);
  fx_ok(nw_attr_set_text(conv, attrs, "out_channels", "16", e));
  fx_ok(nw_attr_set_text(conv, attrs, "bias", "false", e));
  fx_ok(nw_graph_emit(graph, conv, attrs, (NwVal[]){x, params[0]}, 2, out, e));
  fx_ok(nw_graph_emit(graph, relu, NULL, out, 1, copy, e));
  NwVal keep[4] = {out[0], copy[0], x, params[0]};
  fx_ok(nw_plan_compile(graph, keep, 4, NULL, &plan, e));
  g_assert_cmpint(count_op(plan, "relu"), ==, 1);
  g_assert_cmpint(count_op(plan, "linear"), ==, 0); /* dead: nobody keeps the logits */
  g_assert_null(nw_plan_data(plan, logits));
  fx_ok(nw_plan_bind(plan, x, c.batch.x, e));
  fx_ok(nw_plan_bind(plan, params[0], nw_model_at(c.model, 0)->data, e));
  fx_ok(nw_plan_run(plan, NULL, e));
  g_assert_true(nw_plan_data(plan, x) == c.batch.x);
  g_assert_true(nw_plan_data(plan, params[0]) == nw_model_at(c.model, 0)->data);
  const float *before = nw_plan_data(plan, out[0]), *after = nw_plan_data(plan, copy[0]);
  const float *w = nw_model_at(c.model, 0)->data, *pixels = c.batch.x;
  NwSpec spec = nw_spec(NW_F32, 4, (int64_t[]){c.batch.n, 16, 14, 14});
  int negative = 0;
  for (int64_t i = 0; i < nw_spec_count(&spec); i++) {
    negative += before[i] < 0;
    g_assert_cmpfloat(after[i], ==, MAX(before[i], 0));
  }
  g_assert_cmpint(negative, >, 0);
  /* picture 1, channel 3, pixel (2, 5), in plain layout */
  double sum = 0;
  for (int ch = 0; ch < 3; ch++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        sum += (double)pixels[((3 + ch) * 16 + 2 + i) * 16 + 5 + j] * w[((3 * 3 + ch) * 3 + i) * 3 + j];
  g_assert_cmpfloat(fabs(sum - before[((16 + 3) * 14 + 2) * 14 + 5]), <, 1e-4);
  nw_plan_free(plan);
  case_clear(&c);
}

/* Optimizer steps run as soon as they may: the last layer's before the first layer's gradient is there. */
static void test_schedule(void)
{
  Case c = case_of(&nets[1]);
  FxOptions o = {.training = true, .optimizer = "adamw"};
  FxPlan p;
  NwPlanMemory with, without;
  fx_plan(c.model, &c.batch, &o, &p);
  g_assert_cmpint(count_op(p.plan, "adamw"), ==, 8);
  g_assert_cmpint(place_of(p.plan, "adamw", 0), <, place_of(p.plan, "conv2d_grad_w", 0));
  nw_plan_memory(p.plan, &with);
  fx_plan_clear(&p);
  o.keep_grads = true;
  fx_plan(c.model, &c.batch, &o, &p);
  nw_plan_memory(p.plan, &without);
  g_assert_cmpuint(with.arena, <, without.arena);
  fx_plan_clear(&p);
  case_clear(&c);
}

/* ---- memory ---- */

static void check_memory(const char *tmpl, int64_t channels, int64_t size, int64_t batch, bool training,
                         bool exact)
{
  NwNetwork *network = fx_template(tmpl, channels, size, 10);
  NwModel *model = fx_model(network, channels, size, 10, 1);
  FxBatch b = {.n = batch};
  b.x_spec = nw_spec(NW_F32, 4, (int64_t[]){batch, channels, size, size});
  b.y_spec = nw_spec(NW_I64, 1, &batch);
  FxOptions o = {.plan = {.dry = true, .exact = exact}, .training = training, .optimizer = "adamw"};
  FxPlan p;
  NwPlanMemory m;
  gint64 before = g_get_monotonic_time();
  fx_ok(fx_compile(model, &b, &o, &p));
  double ms = (double)(g_get_monotonic_time() - before) / 1000;
  nw_plan_memory(p.plan, &m);
  g_test_message(
      "%s batch %d %s%s: arena %.2f MiB = %.4f x lower bound, naive %.2f MiB, %d steps, compiled in %.1f ms",
      tmpl, (int)batch, training ? "training" : "evaluation", exact ? " exact" : "",
      (double)m.arena / 1048576, (double)m.arena / (double)m.lower, (double)m.naive / 1048576,
      steps_of(p.plan), ms);
  if (training && !exact) { /* the badge's estimate must not be far from the truth */
    NwNetworkReport report;
    fx_ok(nw_network_check(network, &b.x_spec, 10, &report, &fx_error));
    double real = (double)m.arena + 12.0 * (double)report.parameters;
    g_test_message("%s: estimate %.2f of %.2f MiB", tmpl, (double)report.training_bytes / real,
                   real / 1048576);
    /* without oneDNN more values are turned from one layout into the other on the way */
    g_assert_cmpfloat((double)report.training_bytes / real, >, nw_onednn_available() ? 0.9 : 0.8);
    g_assert_cmpfloat((double)report.training_bytes / real, <, 1.6);
    nw_network_report_clear(&report);
  }
  g_assert_cmpuint(m.arena, >=, m.lower);
  /* the bound cannot always be reached, which shows where a few large values are all there is (LeNet) */
  g_assert_cmpfloat((double)m.arena, <=, 1.05 * (double)m.lower + 512 * 1024);
  g_assert_cmpuint(m.arena, <, m.naive);
  /* a dry plan cannot run, and says so */
  g_assert_cmpint(nw_plan_run(p.plan, NULL, &fx_error), ==, NW_BAD_STATE);
  nw_plan_free(p.plan);
  nw_model_free(model);
  nw_network_free(network);
}

static void test_memory(void)
{
  for (int training = 0; training < 2; training++) {
    check_memory("mlp", 1, 28, 128, training, false);
    check_memory("simplecnn", 1, 28, 64, training, false);
    check_memory("simplecnn", 1, 28, 64, training, true);
    check_memory("lenet", 3, 32, 64, training, false);
    check_memory("simpleclassifier", 3, 224, 32, training, false);
    check_memory("resnet-small", 3, 32, 64, training, false);
    check_memory("resnet-small", 3, 32, 64, training, true);
    check_memory("resnet18", 3, 224, 16, training, false);
  }
}

/* glibc's allocator, counted, so that libraries beneath the engine are seen too. The sanitizers bring their
 * own. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FOREIGN_MALLOC
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define FOREIGN_MALLOC
#endif
static _Atomic int64_t mallocs;
#ifndef FOREIGN_MALLOC
extern void *__libc_malloc(size_t size), *__libc_calloc(size_t n, size_t size),
    *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
  mallocs++;
  return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
  mallocs++;
  return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
  mallocs++;
  return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
  mallocs++;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
  mallocs++;
  *p = __libc_memalign(alignment, size);
  return *p != NULL ? 0 : 12; /* ENOMEM */
}
#endif

/* The first allocation of a later run would fail; the run succeeds, and the trap is still set. */
static void test_no_allocation(void)
{
  for (size_t i = 0; i < G_N_ELEMENTS(nets); i++) {
    Case c = case_of(&nets[i]);
    FxOptions o = {.training = true, .optimizer = "adamw"};
    FxPlan p;
    fx_plan(c.model, &c.batch, &o, &p);
    p.lr_value = 0.001f;
    fx_run(&p, 1, 1);
    int64_t live = nw_memory_live(), before = mallocs;
    nw_memory_fail_after(0);
    for (int64_t step = 2; step < 5; step++)
      fx_run(&p, 1, step);
    before = mallocs - before;
    g_assert_null(nw_alloc(1));
    nw_memory_fail_after(-1);
    g_assert_cmpint(nw_memory_live(), ==, live);
    g_test_message("%s: %d calls of malloc in three runs, %d in all", nets[i].name, (int)before,
                   (int)mallocs);
    /* dnnl_primitive_execute builds a small map of its arguments each time (about 8 calls); nothing else may
     * allocate */
    int foreign = 0;
    for (int k = 0; nw_plan_step(p.plan, k).op != NULL; k++)
      foreign += strcmp(nw_plan_step(p.plan, k).kernel, "onednn") == 0;
    g_assert_cmpint(before, <=, 3 * 12 * foreign);
    fx_plan_clear(&p);
    case_clear(&c);
  }
}

static void check_fault(const Net *net, FxOptions o)
{
  Case c = case_of(net);
  int64_t live = nw_memory_live();
  int failures = 0;
  for (int64_t n = 0;; n++) {
    FxPlan p;
    nw_memory_fail_after(n);
    NwStatus status = fx_compile(c.model, &c.batch, &o, &p);
    nw_memory_fail_after(-1);
    if (status == NW_OK)
      nw_plan_free(p.plan);
    else
      g_assert_null(p.plan);
    if (nw_memory_live() != live)
      g_error("%s: allocation %d failed and %d blocks were left", net->name, (int)n,
              (int)(nw_memory_live() - live));
    if (status == NW_OK)
      break;
    failures++;
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
  }
  g_test_message("%s: %d allocations failed in turn", net->name, failures);
  g_assert_cmpint(failures, >, 100);
  case_clear(&c);
}

static void test_fault(void)
{
  check_fault(&nets[3], (FxOptions){.training = true, .optimizer = "sgd", .keep_grads = true});
  check_fault(&nets[3], (FxOptions){.plan = {.frozen_params = true}, .keep_logits = true});
  check_fault(&nets[2], (FxOptions){.plan = {.exact = true}, .training = true, .optimizer = "adamw"});
}

/* ---- graphs ---- */

typedef struct Small {
  NwGraph *graph;
  NwVal x, out[NW_MAX_PORTS];
} Small;

static Small small_graph(bool wants_grad)
{
  Small s;
  NwSpec spec = nw_spec(NW_F32, 1, (int64_t[]){3});
  fx_ok(nw_graph_new(&s.graph, &fx_error));
  fx_ok(nw_graph_input(s.graph, "x", &spec, NW_INPUT_DATA, wants_grad, &s.x, &fx_error));
  return s;
}

/* d(sum(x·x + x·x))/dx = 4x: the value fans out, so its gradients come together. */
static void test_fan_out(void)
{
  for (int exact = 0; exact < 2; exact++) {
    Small s = small_graph(true);
    NwError *e = &fx_error;
    NwVal a, b, sum, total, grad;
    char add[64] = {0};
    NwVal xx[2] = {s.x, s.x};
    fx_ok(nw_graph_emit(s.graph, fx_op("mul"), NULL, xx, 2, &a, e));
    fx_ok(nw_graph_emit(s.graph, fx_op("mul"), NULL, xx, 2, &b, e));
    fx_ok(nw_graph_emit(s.graph, fx_op("add"), add, (NwVal[]){a, b}, 2, &sum, e));
    fx_ok(nw_graph_emit(s.graph, fx_op("sum"), NULL, &sum, 1, &total, e));
    fx_ok(nw_graph_grad(s.graph, total, &s.x, 1, &grad, e));
    NwVal keep[] = {total, grad, total};
    NwPlanOptions options = {.exact = exact};
    NwPlan *plan;
    fx_ok(nw_plan_compile(s.graph, keep, 3, &options, &plan, e));
    float x[3] = {1, -2, 3}, y[3] = {0.5f, 0, 0};
    g_assert_cmpint(nw_plan_run(plan, NULL, e), ==, NW_BAD_STATE); /* nothing bound */
    g_assert_nonnull(strstr(e->text, "\"x\""));
    fx_ok(nw_plan_bind(plan, s.x, x, e));
    fx_ok(nw_plan_run(plan, NULL, e));
    g_assert_cmpfloat(*(const float *)nw_plan_data(plan, total), ==, 28);
    for (int i = 0; i < 3; i++)
      g_assert_cmpfloat(((const float *)nw_plan_data(plan, grad))[i], ==, 4 * x[i]);
    fx_ok(nw_plan_bind(plan, s.x, y, e)); /* other memory between runs */
    fx_ok(nw_plan_run(plan, NULL, e));
    g_assert_cmpfloat(*(const float *)nw_plan_data(plan, total), ==, 0.5);
    g_assert_cmpint(nw_plan_bind(plan, total, y, e), ==, NW_BAD_ARGUMENT);
    g_assert_cmpint(nw_plan_bind(plan, s.x, NULL, e), ==, NW_BAD_ARGUMENT);
    nw_plan_free(plan);
  }
}

static void test_graph_errors(void)
{
  NwError *e = &fx_error;
  Small s = small_graph(false), other = small_graph(true);
  NwVal sum, grad, out[NW_MAX_PORTS];
  nw_graph_set_block(s.graph, 42);
  *e = (NwError){0};
  /* the block of the moment is in the error */
  char conv[256];
  nw_attrs_init(fx_op("conv2d"), conv);
  g_assert_cmpint(nw_graph_emit(s.graph, fx_op("conv2d"), conv, (NwVal[]){s.x, s.x}, 2, out, e), ==,
                  NW_BAD_SHAPE);
  g_assert_cmpuint(e->block, ==, 42);
  g_assert_cmpint(nw_graph_emit(s.graph, fx_op("conv2d"), conv, &s.x, 1, out, e), ==, NW_BAD_ARGUMENT);
  g_assert_nonnull(strstr(e->text, "weight"));
  g_assert_cmpint(nw_graph_emit(s.graph, fx_op("relu"), NULL, &other.x, 1, out, e), ==, NW_BAD_ARGUMENT);
  g_assert_cmpint(nw_graph_emit(s.graph, fx_op("mul"), NULL, (NwVal[]){s.x, s.x, s.x}, 3, out, e), ==,
                  NW_BAD_ARGUMENT);
  /* gradients: of one number, and of what was declared */
  g_assert_cmpint(nw_graph_grad(other.graph, other.x, &other.x, 1, &grad, e), ==, NW_BAD_SHAPE);
  fx_ok(nw_graph_emit(s.graph, fx_op("sum"), NULL, &s.x, 1, &sum, e));
  g_assert_cmpint(nw_graph_grad(s.graph, sum, &s.x, 1, &grad, e), ==, NW_BAD_STATE);
  g_assert_nonnull(strstr(e->text, "\"x\""));
  /* a value of another graph cannot be kept; the graph is gone all the same */
  NwPlan *plan;
  g_assert_cmpint(nw_plan_compile(s.graph, &other.x, 1, NULL, &plan, e), ==, NW_BAD_ARGUMENT);
  g_assert_null(plan);
  nw_graph_free(other.graph);
}

/* A parameter is read, changed by an optimizer step, and read again: each reader sees its own time, though
 * the step is moved up, and though a convolution reads a copy in another layout. */
static void test_order(void)
{
  NwError *e = &fx_error;
  NwSpec shape = nw_spec(NW_F32, 4, (int64_t[]){2, 16, 6, 6}),
         filter = nw_spec(NW_F32, 4, (int64_t[]){16, 16, 3, 3});
  NwSpec one = nw_spec(NW_F32, 0, NULL), whole = nw_spec(NW_I64, 0, NULL);
  int64_t n = nw_spec_count(&shape), m = nw_spec_count(&filter), n_out = 2 * 16 * 4 * 4, step = 1;
  float *param = nw_alloc(sizeof(float) * (size_t)n), *gradient = nw_alloc(sizeof(float) * (size_t)n);
  float *weight = nw_alloc(sizeof(float) * (size_t)m), *first[3] = {0}, lr = 0.5f;
  NwPhilox key = {3, 3};
  for (int64_t i = 0; i < n; i++)
    gradient[i] = (float)nw_normal(key, 1, (uint64_t)i);
  for (int64_t i = 0; i < m; i++)
    weight[i] = (float)nw_normal(key, 2, (uint64_t)i);
  for (int exact = 1; exact >= 0; exact--) {
    NwGraph *graph;
    NwVal in[5], keep[4], none[NW_MAX_PORTS];
    char attrs[256], sgd[256];
    fx_ok(nw_graph_new(&graph, e));
    fx_ok(nw_graph_input(graph, "param", &shape, NW_INPUT_PARAM, true, &in[0], e));
    fx_ok(nw_graph_input(graph, "gradient", &shape, NW_INPUT_DATA, false, &in[1], e));
    fx_ok(nw_graph_input(graph, "lr", &one, NW_INPUT_DATA, false, &in[2], e));
    fx_ok(nw_graph_input(graph, "step", &whole, NW_INPUT_DATA, false, &in[3], e));
    fx_ok(nw_graph_input(graph, "weight", &filter, NW_INPUT_PARAM, false, &in[4], e));
    nw_attrs_init(fx_op("conv2d"), attrs);
    fx_ok(nw_attr_set_text(fx_op("conv2d"), attrs, "out_channels", "16", e));
    fx_ok(nw_attr_set_text(fx_op("conv2d"), attrs, "bias", "false", e));
    nw_attrs_init(fx_op("sgd"), sgd);
    fx_ok(nw_attr_set_text(fx_op("sgd"), sgd, "momentum", "0", e));
    NwVal conv[2] = {in[0], in[4]};
    /* another reader stands between, so that moving the step up by one place too many shows */
    fx_ok(nw_graph_emit(graph, fx_op("conv2d"), attrs, conv, 2, &keep[0], e));
    fx_ok(nw_graph_emit(graph, fx_op("sigmoid"), NULL, in, 1, &keep[1], e));
    fx_ok(nw_graph_emit(graph, fx_op("sgd"), sgd, in, 4, none, e));
    fx_ok(nw_graph_emit(graph, fx_op("sigmoid"), NULL, in, 1, &keep[2], e));
    fx_ok(nw_graph_emit(graph, fx_op("conv2d"), attrs, conv, 2, &keep[3], e));
    NwPlanOptions options = {.exact = exact};
    NwPlan *plan;
    fx_ok(nw_plan_compile(graph, keep, 4, &options, &plan, e));
    for (int64_t i = 0; i < n; i++)
      param[i] = (float)nw_normal(key, 0, (uint64_t)i);
    void *data[5] = {param, gradient, &lr, &step, weight};
    for (int i = 0; i < 5; i++)
      fx_ok(nw_plan_bind(plan, in[i], data[i], e));
    fx_ok(nw_plan_run(plan, NULL, e));
    const float *before = nw_plan_data(plan, keep[1]), *after = nw_plan_data(plan, keep[2]);
    for (int64_t i = 0; i < n; i++) {
      double old = nw_normal(key, 0, (uint64_t)i), fresh = old - lr * gradient[i];
      g_assert_cmpfloat(fabs(param[i] - fresh), <, 1e-5);
      g_assert_cmpfloat(fabs(before[i] - 1 / (1 + exp(-old))), <, 1e-5);
      g_assert_cmpfloat(fabs(after[i] - 1 / (1 + exp(-fresh))), <, 1e-5);
    }
    for (int k = 0; k < 2; k++) {
      const float *y = nw_plan_data(plan, keep[k * 3]);
      if (exact)
        first[k] = g_memdup2(y, sizeof(float) * (size_t)n_out);
      else
        g_assert_cmpfloat(fx_distance(y, first[k], n_out), <, 1e-4);
    }
    if (!exact && nw_onednn_available())
      g_assert_cmpint(count_op(plan, "reorder"), >, 0);
    nw_plan_free(plan);
  }
  g_assert_cmpfloat(fx_distance(first[1], first[0], n_out), >, 0.1);
  g_free(first[0]);
  g_free(first[1]);
  nw_free(param);
  nw_free(gradient);
  nw_free(weight);
}

/* No gradient: the value does not depend on it. */
static void test_no_flow(void)
{
  Small s = small_graph(true);
  NwVal y, sum, grads[2];
  NwSpec spec = nw_spec(NW_F32, 1, (int64_t[]){3});
  fx_ok(nw_graph_input(s.graph, "y", &spec, NW_INPUT_PARAM, true, &y, &fx_error));
  fx_ok(nw_graph_emit(s.graph, fx_op("sum"), NULL, &s.x, 1, &sum, &fx_error));
  NwVal wrt[] = {s.x, y};
  fx_ok(nw_graph_grad(s.graph, sum, wrt, 2, grads, &fx_error));
  g_assert_nonnull(grads[0].p);
  g_assert_null(grads[1].p);
  nw_graph_free(s.graph);
}

/* An op with no gradient on the way is named. */
static void test_no_gradient(void)
{
  NwGraph *graph;
  NwVal x, y[NW_MAX_PORTS], z[NW_MAX_PORTS], sum, grad;
  NwSpec spec = nw_spec(NW_F32, 4, (int64_t[]){1, 8, 2, 2});
  fx_ok(nw_graph_new(&graph, &fx_error));
  fx_ok(nw_graph_input(graph, "x", &spec, NW_INPUT_DATA, true, &x, &fx_error));
  nw_graph_set_block(graph, 7);
  char attrs[64];
  nw_attrs_init(fx_op("reorder"), attrs);
  fx_ok(nw_graph_emit(graph, fx_op("reorder"), attrs, &x, 1, y, &fx_error));
  nw_graph_set_block(graph, 8);
  fx_ok(nw_graph_emit(graph, fx_op("relu"), NULL, y, 1, z, &fx_error));
  fx_ok(nw_graph_emit(graph, fx_op("sum"), NULL, z, 1, &sum, &fx_error));
  fx_error = (NwError){0};
  g_assert_cmpint(nw_graph_grad(graph, sum, &x, 1, &grad, &fx_error), ==, NW_UNSUPPORTED);
  g_assert_nonnull(strstr(fx_error.text, "reorder"));
  g_assert_cmpuint(fx_error.block, ==, 7);
  nw_graph_free(graph);
}

/* ---- composites ---- */

/* y = relu(x + x) · x, of other ops only; a row that only this test knows. */
static NwStatus twice_infer(const NwOp *op, const void *attrs, const NwSpec *in, int n_in, NwSpec *out,
                            NwError *error)
{
  out[0] = in[0];
  return NW_OK;
}

static NwStatus twice_expand(NwEmitter *emitter, const NwOp *op, const void *attrs, const NwVal *in, int n_in,
                             NwVal *out, NwError *error)
{
  NwVal sum, positive;
  NW_TRY(nw_emit(emitter, fx_op("add"), NULL, (NwVal[]){in[0], in[0]}, 2, &sum, error));
  NW_TRY(nw_emit(emitter, fx_op("relu"), NULL, &sum, 1, &positive, error));
  return nw_emit(emitter, fx_op("mul"), NULL, (NwVal[]){positive, in[0]}, 2, out, error);
}

static const NwPort twice_in[] = {{"x", NW_PORT_DATA, 0, "numbers"}},
                    twice_out[] = {{"y", NW_PORT_DATA, 0, "numbers"}};
static const NwOp twice = {.id = "twice",
                           .version = 1,
                           NW_INPUTS(twice_in),
                           NW_OUTPUTS(twice_out),
                           .infer = twice_infer,
                           .expand = twice_expand};

static void test_composite(void)
{
  NwError *e = &fx_error;
  float x[3] = {1, -2, 3};
  NwSpec spec = nw_spec(NW_F32, 1, (int64_t[]){3});
  Small s = small_graph(true);
  NwVal y, sum, grad;
  nw_graph_set_block(s.graph, 5);
  fx_ok(nw_graph_emit(s.graph, &twice, NULL, &s.x, 1, &y, e));
  fx_ok(nw_graph_emit(s.graph, fx_op("sum"), NULL, &y, 1, &sum, e));
  fx_ok(nw_graph_grad(s.graph, sum, &s.x, 1, &grad, e));
  NwPlan *plan;
  NwVal keep[] = {sum, grad};
  fx_ok(nw_plan_compile(s.graph, keep, 2, &(NwPlanOptions){.exact = true}, &plan, e));
  g_assert_cmpint(count_op(plan, "twice"), ==, 0);
  g_assert_cmpuint(nw_plan_step(plan, 0).block, ==, 5);
  fx_ok(nw_plan_bind(plan, s.x, x, e));
  fx_ok(nw_plan_run(plan, NULL, e));
  /* the same on the tape */
  NwTensor *leaf, *out, *total;
  fx_ok(nw_tensor_from(&spec, x, &leaf, e));
  fx_ok(nw_tensor_set_requires_grad(leaf, true, e));
  fx_ok(nw_apply(&twice, NULL, &leaf, 1, &out, e));
  fx_ok(nw_apply(fx_op("sum"), NULL, &out, 1, &total, e));
  fx_ok(nw_backward(total, NULL, false, e));
  g_assert_cmpfloat(*(const float *)nw_plan_data(plan, sum), ==, 20);
  g_assert_cmpfloat(nw_tensor_item(total), ==, 20);
  const float want[3] = {4, 0, 12};
  g_assert_cmpmem(nw_plan_data(plan, grad), sizeof want, want, sizeof want);
  g_assert_cmpmem(nw_tensor_data(nw_tensor_grad(leaf)), sizeof want, want, sizeof want);
  nw_tensor_unref(leaf);
  nw_tensor_unref(out);
  nw_tensor_unref(total);
  nw_plan_free(plan);
}

static void test_timing(void)
{
  Case c = case_of(&nets[1]);
  FxOptions o = {.training = true};
  FxPlan p;
  fx_plan(c.model, &c.batch, &o, &p);
  nw_plan_set_timing(p.plan, true);
  fx_run(&p, 1, 1);
  double total = 0;
  uint32_t conv = nw_network_find_name(c.network, "features.3")->id;
  bool seen = false;
  for (int i = 0; nw_plan_step(p.plan, i).op != NULL; i++) {
    total += nw_plan_step(p.plan, i).seconds;
    seen |= nw_plan_step(p.plan, i).block == conv;
    g_assert_nonnull(nw_plan_step(p.plan, i).kernel);
  }
  g_assert_cmpfloat(total, >, 0);
  g_assert_true(seen);
  fx_plan_clear(&p);
  case_clear(&c);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  char path[64];
  static const struct {
    const char *name;
    GTestDataFunc run;
  } kinds[] = {{"exact-sgd", test_exact_sgd},
               {"exact-adamw", test_exact_adamw},
               {"optimised", test_optimised},
               {"frozen", test_frozen}};
  for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
    for (size_t i = 0; i < G_N_ELEMENTS(nets); i++) {
      g_snprintf(path, sizeof path, "/plan/%s/%s", kinds[k].name, nets[i].name);
      g_test_add_data_func(path, &nets[i], kinds[k].run);
    }
  g_test_add_func("/plan/fusion", test_fusion);
  g_test_add_func("/plan/kept", test_kept);
  g_test_add_func("/plan/schedule", test_schedule);
  g_test_add_func("/plan/memory", test_memory);
  g_test_add_func("/plan/no-allocation", test_no_allocation);
  g_test_add_func("/plan/fault", test_fault);
  g_test_add_func("/plan/timing", test_timing);
  g_test_add_func("/graph/fan-out", test_fan_out);
  g_test_add_func("/graph/order", test_order);
  g_test_add_func("/graph/composite", test_composite);
  g_test_add_func("/graph/errors", test_graph_errors);
  g_test_add_func("/graph/no-flow", test_no_flow);
  g_test_add_func("/graph/no-gradient", test_no_gradient);
  return g_test_run();
}
