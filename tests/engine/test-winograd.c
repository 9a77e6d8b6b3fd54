/* The rows named "winograd" against the plain rows: sizes that do not fill tiles, every schedule, folded
 * normalisation, filters kept while they are frozen, numbers that are none. Buffers end, or begin, at pages
 * that nobody may touch. Built twice: on the machine's own kernels, and on plain ones of 16 lanes, which are
 * the code of AVX-512 without its instructions. */
#include <sys/mman.h>

#include "engine/kernels/kernels.h"
#include "tests/engine/op-bench.h"

#ifdef TEST_SIXTEEN
/* Stands in for the engine's own choice, whose object is then not taken from the library. */
extern const NwKernels nw_kernels_plain16;
const NwKernels *nw_kernels(void)
{
  return &nw_kernels_plain16;
}
#endif

enum { PAGE = 4096 };

typedef struct Guarded {
  char *map;
  size_t size;
  void *data;
} Guarded;

/* at_end: the byte after the data cannot be touched; else the byte before. */
static void *guarded(GPtrArray *all, size_t bytes, gboolean at_end)
{
  Guarded *g = g_new0(Guarded, 1);
  size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
  g->size = room + 2 * PAGE;
  g->map = mmap(NULL, g->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_assert_true(g->map != MAP_FAILED);
  g_assert_cmpint(mprotect(g->map + PAGE, room, PROT_READ | PROT_WRITE), ==, 0);
  g->data = g->map + PAGE + (at_end ? room - bytes : 0);
  memset(g->data, 0x7f, bytes); /* a number, but a huge one */
  g_ptr_array_add(all, g);
  return g->data;
}

static void guarded_free(void *data)
{
  Guarded *g = data;
  munmap(g->map, g->size);
  g_free(g);
}

static const NwKernel *row_of(const NwOp *op, const char *name)
{
  for (int i = 0; i < op->n_kernels; i++)
    if (strcmp(op->kernels[i].name, name) == 0)
      return &op->kernels[i];
  g_error("%s has no row %s", op->id, name);
}

/* One prepared call of a winograd row whose inputs can be changed. */
typedef struct Prepared {
  const NwKernel *kernel;
  NwCall call;
  void *state;
  GPtrArray *buffers;
} Prepared;

static gboolean is_picture(const NwPort *port)
{
  return strcmp(port->name, "weight") != 0 && strcmp(port->name, "dweight") != 0;
}

static void set_input(Bench *bench, Prepared *p, int port, Value *value)
{
  if (value == NULL || role_of(p->call.op, port) == NW_PORT_SHAPE)
    return;
  if (p->call.in[port].block)
    value = to_block(bench, value, p->call.in[port].block);
  memcpy((void *)(uintptr_t)p->call.in_data[port], value->data, nw_spec_bytes(&value->spec));
}

static void prepare(Bench *bench, Prepared *p, const NwOp *op, const void *attrs, const NwVal *in, int block,
                    uint32_t frozen, gboolean at_end)
{
  NwError error = {0};
  size_t workspace = 0;
  *p = (Prepared){.kernel = row_of(op, "winograd"), .buffers = g_ptr_array_new_with_free_func(guarded_free)};
  p->call = (NwCall){.op = op,
                     .attrs = attrs,
                     .n_in = op->n_inputs,
                     .n_out = op->n_outputs,
                     .frozen = frozen,
                     .run = &bench->run};
  for (int i = 0; i < op->n_inputs; i++)
    p->call.in[i] = bench_spec(&bench->emitter, in[i]);
  g_assert_cmpint(op->infer(op, attrs, p->call.in, op->n_inputs, p->call.out, &error), ==, NW_OK);
  g_assert_false(p->kernel->supports(&p->call)); /* plain values are not for it */
  for (int i = 0; i < op->n_inputs; i++)
    if (p->call.in[i].ndim == 4 && is_picture(&op->inputs[i]))
      p->call.in[i].block = block;
  for (int i = 0; i < op->n_outputs; i++)
    p->call.out[i].block = p->call.out[i].ndim == 4 && is_picture(&op->outputs[i]) ? block : 0;
  g_assert_true(p->kernel->supports(&p->call));
  g_assert_cmpint(p->kernel->prepare(&p->call, &p->state, &workspace, &error), ==, NW_OK);
  for (int i = 0; i < op->n_inputs; i++)
    if (in[i].p && role_of(op, i) != NW_PORT_SHAPE) {
      p->call.in_data[i] = guarded(p->buffers, nw_spec_bytes(&p->call.in[i]), at_end);
      set_input(bench, p, i, in[i].p);
    }
  for (int i = 0; i < op->n_outputs; i++)
    if (p->call.out[i].ndim >= 0)
      p->call.out_data[i] = guarded(p->buffers, nw_spec_bytes(&p->call.out[i]), at_end);
  p->call.workspace = guarded(p->buffers, workspace, at_end);
}

static void run(Prepared *p)
{
  NwError error = {0};
  g_assert_cmpint(p->kernel->run(&p->call, p->state, &error), ==, NW_OK);
}

static void release(Prepared *p)
{
  p->kernel->release(p->state);
  g_ptr_array_unref(p->buffers);
}

static Value *output(Bench *bench, const Prepared *p, int port)
{
  Value *value = value_new(bench, &p->call.out[port]);
  memcpy(value->data, p->call.out_data[port], nw_spec_bytes(&value->spec));
  return value->spec.block ? to_plain(bench, value) : value;
}

static double error_of(const Value *got, const Value *want)
{
  double worst = 0, largest = 1e-30;
  for (int64_t i = 0; i < nw_spec_count(&want->spec); i++) {
    double difference = fabs(get_number(got, i) - get_number(want, i));
    worst = difference <= worst ? worst : difference; /* what is not a number becomes the worst */
    largest = MAX(largest, fabs(get_number(want, i)));
  }
  return worst / largest;
}

static double worst_error;

static void compare(Bench *bench, const Prepared *p, const NwVal *want, const char *what)
{
  for (int i = 0; i < p->call.n_out; i++) {
    if (want[i].p == NULL)
      continue;
    double error = error_of(output(bench, p, i), want[i].p);
    worst_error = MAX(worst_error, error);
    if (!(error <= 1e-4)) {
      g_test_message("%s %s, blocks of %d, %d threads: output %d is off by %.3g", p->call.op->id, what,
                     p->call.out[0].block, nw_threads(), i, error);
      g_test_fail();
    }
  }
}

/* What the plain row of op makes of in. */
static void plain(Bench *bench, const NwOp *op, const void *attrs, const NwVal *in, NwVal *want)
{
  NwError error = {0};
  bench->row = op->n_kernels - 1;
  g_assert_cmpint(bench_emit(&bench->emitter, op, attrs, in, op->n_inputs, want, &error), ==, NW_OK);
}

static void check(const NwOp *op, const char *attrs_text, const char *shapes, int threads)
{
  Bench bench;
  NwVal in[NW_MAX_PORTS] = {0}, want[NW_MAX_PORTS] = {0};
  g_autofree void *attrs = parse_attrs(op, attrs_text);
  g_autoptr(GRand) rand = g_rand_new_with_seed(17);
  bench_init(&bench, 0, 0);
  case_inputs(&bench, rand, op, shapes, FALSE, in);
  nw_threads_set(2);
  plain(&bench, op, attrs, in, want);
  const NwSpec *weight = NULL;
  for (int i = 0; i < op->n_inputs; i++)
    if (strcmp(op->inputs[i].name, "weight") == 0)
      weight = &((Value *)in[i].p)->spec;
  int block = nw_kernels()->lanes;
  g_assert_cmpint(weight->dims[0] % block + weight->dims[1] % block, ==, 0);
  for (int half = 0; half < 2; half++) { /* one part, guards behind; then in parts, guards before */
    Prepared p;
    nw_threads_set(half ? threads : 1);
    prepare(&bench, &p, op, attrs, in, block, 0, !half);
    run(&p);
    compare(&bench, &p, want, shapes);
    gsize bytes = nw_spec_bytes(&p.call.out[0]);
    g_autofree void *first = g_memdup2(p.call.out_data[0], bytes);
    nw_threads_set(1); /* fewer threads than parts: the same numbers */
    run(&p);
    g_assert_cmpmem(first, bytes, p.call.out_data[0], bytes);
    release(&p);
  }
  bench_clear(&bench);
}

/* All three passes. */
static void check_passes(int n, int ci, int co, int h, int w, int threads, gboolean bias)
{
  g_autofree char *attrs = g_strdup_printf("out_channels=%d padding=1 bias=%s", co, bias ? "true" : "false");
  g_autofree char *x = g_strdup_printf("%dx%dx%dx%d", n, ci, h, w),
                  *y = g_strdup_printf("%dx%dx%dx%d", n, co, h, w);
  g_autofree char *weight = g_strdup_printf("%dx%dx3x3", co, ci), *b = g_strdup_printf(bias ? "%d" : "-", co);
  g_autofree char *forward = g_strdup_printf("%s %s %s", x, weight, b);
  g_autofree char *grad_x = g_strdup_printf("%s %s %s", y, weight, x);
  g_autofree char *grad_w = g_strdup_printf("%s %s %s", y, x, weight);
  check(nw_op_find("conv2d"), attrs, forward, threads);
  check(nw_op_find("conv2d_grad_x"), attrs, grad_x, threads);
  check(nw_op_find("conv2d_grad_w"), attrs, grad_w, threads);
}

static void test_sizes(void)
{
  static const int sizes[][2] = {{3, 3}, {4, 4}, {3, 9}, {5, 7}, {8, 8}, {9, 6}, {13, 14}, {33, 17}};
  static const int channels[][2] = {{32, 32}, {32, 48}, {64, 32}, {48, 80}};
  worst_error = 0;
  for (int s = 0; s < NW_COUNT(sizes); s++)
    for (int c = 0; c < NW_COUNT(channels); c++)
      check_passes(1 + (s + c) % 3, channels[c][0], channels[c][1], sizes[s][0], sizes[s][1], 2, c % 2);
  g_test_message("worst error %.3g of the largest number", worst_error);
}

/* What the row must leave to others. */
static void test_refused(void)
{
  static const char *const cases[][2] = {
      {"out_channels=32 padding=1 stride=2", "1x32x8x8 32x32x3x3 -"},
      {"out_channels=32", "1x32x8x8 32x32x3x3 -"},
      {"out_channels=32 padding=2 dilation=2", "1x32x8x8 32x32x3x3 -"},
      {"out_channels=32 padding=1 groups=2", "1x32x8x8 32x16x3x3 -"},
      {"out_channels=32 padding=2 kernel_size=5", "1x32x8x8 32x32x5x5 -"},
      {"out_channels=36 padding=1", "1x32x8x8 36x32x3x3 -"},
      {"out_channels=32 padding=1", "1x36x8x8 32x36x3x3 -"},
  };
  const NwOp *op = nw_op_find("conv2d");
  const NwKernel *kernel = row_of(op, "winograd");
  g_autoptr(GRand) rand = g_rand_new_with_seed(1);
  for (int c = 0; c < NW_COUNT(cases); c++) {
    Bench bench;
    NwError error = {0};
    NwVal in[NW_MAX_PORTS] = {0};
    g_autofree void *attrs = parse_attrs(op, cases[c][0]);
    NwCall call = {.op = op, .attrs = attrs, .n_in = 3, .n_out = 1};
    bench_init(&bench, 0, 0);
    case_inputs(&bench, rand, op, cases[c][1], FALSE, in);
    for (int i = 0; i < 3; i++)
      call.in[i] = bench_spec(&bench.emitter, in[i]);
    g_assert_cmpint(op->infer(op, attrs, call.in, 3, call.out, &error), ==, NW_OK);
    call.in[0].block = call.out[0].block = nw_kernels()->lanes;
    g_assert_false(kernel->supports(&call));
    bench_clear(&bench);
  }
}

/* A ReLU at the end must not hide that numbers have gone astray. */
static void test_not_a_number(void)
{
  const NwOp *op = nw_op_find("conv2d_relu");
  Bench bench;
  Prepared p;
  NwVal in[NW_MAX_PORTS] = {0}, want[NW_MAX_PORTS] = {0};
  g_autofree void *attrs = parse_attrs(op, "out_channels=32 padding=1");
  g_autoptr(GRand) rand = g_rand_new_with_seed(2);
  bench_init(&bench, 0, 0);
  case_inputs(&bench, rand, op, "1x32x9x9 32x32x3x3 32", FALSE, in);
  set_number(in[0].p, 40, NAN);
  plain(&bench, op, attrs, in, want);
  prepare(&bench, &p, op, attrs, in, nw_kernels()->lanes, 0, TRUE);
  run(&p);
  Value *got = output(&bench, &p, 0);
  int lost = 0, astray = 0;
  for (int64_t i = 0; i < nw_spec_count(&got->spec); i++) {
    gboolean expected = isnan(get_number(want[0].p, i)) != 0;
    astray += expected;
    lost += expected && !isnan(get_number(got, i));
  }
  g_assert_cmpint(astray, ==, 9 * 32);
  g_assert_cmpint(lost, ==, 0);
  release(&p);
  bench_clear(&bench);
}

/* Filters so large, and parts so many, that each way of sharing the work out is taken. */
static void test_schedules(void)
{
  worst_error = 0;
  check_passes(2, 128, 192, 5, 5, 8, TRUE);
  check_passes(1, 1024, 32, 48, 47, 2, FALSE);
  check_passes(1, 512, 32, 73, 73, 16, TRUE);
  g_test_message("worst error %.3g of the largest number", worst_error);
}

/* What plans make of a convolution and what follows it. */
static void test_fused(void)
{
  static const char *const names[] = {"conv2d_relu", "conv2d_bn", "conv2d_bn_relu", "conv2d_bn_add",
                                      "conv2d_bn_add_relu"};
  static const char *const pictures[][3] = {{"2x32x9x6", "48x32x3x3", "2x48x9x6"},
                                            {"1x32x5x5", "32x32x3x3", "1x32x5x5"},
                                            {"3x64x8x8", "32x64x3x3", "3x32x8x8"}};
  static const char *const attrs[] = {"out_channels=48 padding=1", "out_channels=32 padding=1 bias=false",
                                      "out_channels=32 padding=1"};
  for (int k = 0; k < NW_COUNT(names); k++)
    for (int c = 0; c < NW_COUNT(pictures); c++) {
      int co = atoi(pictures[c][1]);
      g_autoptr(GString) shapes = g_string_new(NULL);
      g_string_append_printf(shapes, "%s %s ", pictures[c][0], pictures[c][1]);
      g_string_append_printf(shapes, c == 1 ? "-" : "%d", co);
      if (k > 0) /* once without the weight and bias of the normalisation */
        g_string_append_printf(shapes, c == 1 ? " - - %d %d 1:i64<9" : " %d %d %d %d 1:i64<9", co, co, co,
                               co);
      if (k > 2)
        g_string_append_printf(shapes, " %s", pictures[c][2]);
      check(nw_op_find(names[k]), attrs[c], shapes->str, 2);
    }
}

/* ---- frozen filters ---- */
static void test_frozen(void)
{
  static const char *const names[] = {"conv2d", "conv2d_relu"};
  nw_threads_set(2);
  for (int k = 0; k < NW_COUNT(names); k++) {
    const NwOp *op = nw_op_find(names[k]);
    Bench bench;
    Prepared p;
    NwVal in[NW_MAX_PORTS] = {0}, first[1], second[1];
    g_autofree void *attrs = parse_attrs(op, "out_channels=64 padding=1");
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    bench_init(&bench, 0, 0);
    case_inputs(&bench, rand, op, "2x32x6x6 64x32x3x3 64", FALSE, in);
    plain(&bench, op, attrs, in, first);
    prepare(&bench, &p, op, attrs, in, nw_kernels()->lanes, 1u << 1 | 1u << 2, TRUE);
    run(&p);
    compare(&bench, &p, first, "first");
    NwVal other[3] = {in[0], {random_like(&bench, rand, &((Value *)in[1].p)->spec), 0}, in[2]};
    plain(&bench, op, attrs, other, second);
    set_input(&bench, &p, 1, other[1].p);
    run(&p); /* the caller broke its word, so the kept filter shows */
    compare(&bench, &p, first, "kept");
    p.call.refresh++;
    run(&p);
    compare(&bench, &p, second, "refreshed");
    release(&p);
    bench_clear(&bench);
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_message("kernels %s, %d lanes", nw_kernels()->name, nw_kernels()->lanes);
  g_test_add_func("/winograd/sizes", test_sizes);
  g_test_add_func("/winograd/refused", test_refused);
  g_test_add_func("/winograd/not-a-number", test_not_a_number);
  g_test_add_func("/winograd/schedules", test_schedules);
  g_test_add_func("/winograd/fused", test_fused);
  g_test_add_func("/winograd/frozen", test_frozen);
  return g_test_run();
}
