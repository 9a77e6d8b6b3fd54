/* Runs ops kernel by kernel, for tests: any row, plain or with channels in blocks, outputs filled with
 * rubbish before. The bench is an emitter, so gradient rules run on it too. */
#pragma once

#include <glib.h>
#include <math.h>
#include <string.h>

#include "engine/autograd/autograd.h"
#include "engine/base/memory.h"
#include "engine/base/threads.h"
#include "engine/op/op.h"

typedef struct Value {
  NwSpec spec;
  void *data;
} Value;

typedef struct Bench {
  NwEmitter emitter; /* first: the rule's emitter is the bench */
  GPtrArray *values;
  int row;          /* preferred kernel row; an op with fewer takes its first that can */
  int lanes;        /* 0, or the block that 4-D values are brought to where the kernel allows it */
  gboolean blocked; /* some kernel did run with blocks */
  const char *kernel;
  int64_t fail_after; /* the allocation of prepare or run that fails; -1: none */
  NwRun run;
} Bench;

static void value_free(void *p)
{
  Value *value = p;
  nw_free(value->data);
  g_free(value);
}

G_GNUC_UNUSED static Value *value_new(Bench *bench, const NwSpec *spec)
{
  Value *value = g_new0(Value, 1);
  value->spec = *spec;
  value->data = nw_alloc0(nw_spec_bytes(spec));
  g_assert_nonnull(value->data);
  g_ptr_array_add(bench->values, value);
  return value;
}

G_GNUC_UNUSED static NwSpec bench_spec(NwEmitter *emitter, NwVal value)
{
  return value.p ? ((Value *)value.p)->spec : nw_spec_absent();
}

/* A block layout beside the plain one, written apart from the engine's. */
G_GNUC_UNUSED static Value *to_block(Bench *bench, const Value *from, int block)
{
  NwSpec spec = from->spec;
  g_assert_cmpint(from->spec.block, ==, 0);
  spec.block = block;
  Value *to = value_new(bench, &spec);
  int64_t c = spec.dims[1], area = spec.dims[2] * spec.dims[3], blocks = (c + block - 1) / block;
  for (int64_t n = 0; n < spec.dims[0]; n++)
    for (int64_t k = 0; k < c; k++)
      for (int64_t i = 0; i < area; i++)
        ((float *)to->data)[((n * blocks + k / block) * area + i) * block + k % block] =
            ((const float *)from->data)[(n * c + k) * area + i];
  return to;
}

/* Back again; also checks that the padding holds zeros. */
G_GNUC_UNUSED static Value *to_plain(Bench *bench, const Value *from)
{
  NwSpec spec = from->spec;
  int64_t block = spec.block, c = spec.dims[1], area = spec.dims[2] * spec.dims[3],
          blocks = (c + block - 1) / block;
  spec.block = 0;
  Value *to = value_new(bench, &spec);
  for (int64_t n = 0; n < spec.dims[0]; n++)
    for (int64_t k = 0; k < blocks * block; k++)
      for (int64_t i = 0; i < area; i++) {
        float v = ((const float *)from->data)[((n * blocks + k / block) * area + i) * block + k % block];
        if (k < c)
          ((float *)to->data)[(n * c + k) * area + i] = v;
        else
          g_assert_cmpfloat(v, ==, 0);
      }
  return to;
}

G_GNUC_UNUSED static NwPortRole role_of(const NwOp *op, int port)
{
  return op->inputs[MIN(port, op->n_inputs - 1)].role;
}

G_GNUC_UNUSED static void set_plain(NwCall *call, const NwSpec *in, const NwSpec *out)
{
  memcpy(call->in, in, sizeof call->in);
  memcpy(call->out, out, sizeof call->out);
}

G_GNUC_UNUSED static gboolean can(const NwKernel *kernel, const NwCall *call, gboolean wide)
{
  if (wide && !(kernel->flags & NW_KERNEL_F64))
    return FALSE;
  return kernel->supports == NULL || kernel->supports(call);
}

/* Asks the row for blocks; false: it runs plain. */
G_GNUC_UNUSED static gboolean try_blocks(Bench *bench, const NwKernel *kernel, NwCall *call)
{
  int32_t in_block[NW_MAX_PORTS] = {0}, out_block[NW_MAX_PORTS] = {0};
  if (bench->lanes == 0 || kernel->layout == NULL)
    return FALSE;
  for (int i = 0; i < call->n_in; i++)
    if (call->in[i].ndim == 4 && call->in[i].block == 0 && call->in[i].dtype == NW_F32)
      call->in[i].block = bench->lanes;
  if (!kernel->layout(call, bench->lanes, in_block, out_block))
    return FALSE;
  for (int i = 0; i < call->n_in; i++)
    call->in[i].block = in_block[i];
  for (int i = 0; i < call->n_out; i++)
    call->out[i].block = out_block[i];
  return can(kernel, call, FALSE);
}

G_GNUC_UNUSED static const NwKernel *choose(Bench *bench, NwCall *call, const NwSpec *in, const NwSpec *out,
                                            gboolean wide)
{
  const NwOp *op = call->op;
  for (int k = 0; k <= op->n_kernels; k++) {
    int row = k == 0 ? bench->row : k - 1;
    if (row >= op->n_kernels)
      continue;
    set_plain(call, in, out);
    if (!wide && try_blocks(bench, &op->kernels[row], call)) {
      bench->blocked = TRUE;
      return &op->kernels[row];
    }
    set_plain(call, in, out);
    if (can(&op->kernels[row], call, wide))
      return &op->kernels[row];
  }
  g_error("no kernel of %s can run", op->id);
}

G_GNUC_UNUSED static NwStatus bench_emit(NwEmitter *emitter, const NwOp *op, const void *attrs,
                                         const NwVal *in, int n_in, NwVal *out, NwError *error)
{
  Bench *bench = (Bench *)emitter;
  if (op->expand != NULL)
    return op->expand(emitter, op, attrs, in, n_in, out, error);
  NwCall call = {.op = op, .attrs = attrs, .n_in = n_in, .n_out = op->n_outputs};
  NwSpec in_spec[NW_MAX_PORTS], out_spec[NW_MAX_PORTS], plain[NW_MAX_PORTS];
  gboolean wide = FALSE;
  for (int i = 0; i < NW_MAX_PORTS; i++) {
    in_spec[i] = i < n_in ? bench_spec(emitter, in[i]) : nw_spec_absent();
    plain[i] = in_spec[i];
    plain[i].block = 0;
    out_spec[i] = nw_spec_absent();
    wide |= in_spec[i].ndim >= 0 && in_spec[i].dtype == NW_F64;
  }
  NW_TRY(op->infer(op, attrs, plain, n_in, out_spec, error));
  const NwKernel *kernel = choose(bench, &call, in_spec, out_spec, wide);
  if (bench->kernel == NULL)
    bench->kernel = kernel->name;
  void *state = NULL;
  size_t workspace = 0;
  nw_memory_fail_after(bench->fail_after);
  NwStatus status = kernel->prepare ? kernel->prepare(&call, &state, &workspace, error) : NW_OK;
  nw_memory_fail_after(-1);
  if (status != NW_OK)
    return status;
  for (int i = 0; i < n_in; i++) {
    Value *value = in[i].p;
    if (value == NULL || role_of(op, i) == NW_PORT_SHAPE)
      continue;
    if (value->spec.block != call.in[i].block) {
      g_assert_cmpint(value->spec.dtype, ==, NW_F32);
      value = value->spec.block ? to_plain(bench, value) : to_block(bench, value, call.in[i].block);
    }
    call.in_data[i] = value->data;
  }
  Value *made[NW_MAX_PORTS] = {0};
  for (int i = 0; i < op->n_outputs; i++)
    if (call.out[i].ndim >= 0) {
      made[i] = value_new(bench, &call.out[i]);
      memset(made[i]->data, 0x7f, nw_spec_bytes(&call.out[i])); /* a kernel must write all of it */
      call.out_data[i] = made[i]->data;
    }
  call.workspace = nw_alloc(workspace + 64);
  memset(call.workspace, 0x7f, workspace + 64);
  call.run = &bench->run;
  status = kernel->run(&call, state, error);
  if (kernel->release)
    kernel->release(state);
  nw_free(call.workspace);
  for (int i = 0; i < op->n_outputs; i++) {
    if (made[i] && made[i]->spec.block && made[i]->spec.dtype == NW_F32)
      made[i] = to_plain(bench, made[i]);
    if (out)
      out[i] = (NwVal){made[i], 0};
  }
  return status;
}

G_GNUC_UNUSED static void bench_init(Bench *bench, int row, int lanes)
{
  *bench = (Bench){
      .emitter = {bench_emit, bench_spec, NULL}, .row = row, .lanes = lanes, .fail_after = -1, .run = {7, 3}};
  bench->values = g_ptr_array_new_with_free_func(value_free);
}

G_GNUC_UNUSED static void bench_clear(Bench *bench)
{
  g_ptr_array_unref(bench->values);
}

G_GNUC_UNUSED static void *parse_attrs(const NwOp *op, const char *text)
{
  NwError error = {0};
  void *attrs = g_malloc0(op->attrs_size + 1);
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  nw_attrs_init(op, attrs);
  for (char **w = words; *w; w++) {
    char *value = strchr(*w, '=');
    if (value == NULL)
      continue;
    *value++ = 0;
    if (nw_attr_set_text(op, attrs, *w, value, &error) != NW_OK)
      g_error("%s: %s", op->id, error.text);
  }
  return attrs;
}

/* ---- values of the rows' cases ---- */
G_GNUC_UNUSED static double uniform(GRand *rand)
{
  return g_rand_double_range(rand, -1, 1);
}

G_GNUC_UNUSED static void set_number(Value *value, int64_t i, double number)
{
  if (value->spec.dtype == NW_F64)
    ((double *)value->data)[i] = number;
  else if (value->spec.dtype == NW_F32)
    ((float *)value->data)[i] = (float)number;
  else if (value->spec.dtype == NW_I64)
    ((int64_t *)value->data)[i] = (int64_t)number;
  else
    ((uint8_t *)value->data)[i] = (uint8_t)number;
}

G_GNUC_UNUSED static double get_number(const Value *value, int64_t i)
{
  if (value->spec.dtype == NW_F64)
    return ((const double *)value->data)[i];
  if (value->spec.dtype == NW_F32)
    return ((const float *)value->data)[i];
  if (value->spec.dtype == NW_I64)
    return (double)((const int64_t *)value->data)[i];
  return ((const uint8_t *)value->data)[i];
}

/* A value as a case of a row describes it: "2x3x8x8", "5", "1:i64<9", "2x5x7x3:u8", "-". */
G_GNUC_UNUSED static Value *random_value(Bench *bench, GRand *rand, const char *text, gboolean wide)
{
  if (strcmp(text, "-") == 0)
    return NULL;
  int64_t dims[NW_MAX_DIMS];
  int ndim = 0;
  const char *type = strchr(text, ':'), *below = strchr(text, '<');
  for (const char *at = text; g_ascii_isdigit(*at);) {
    char *end;
    dims[ndim++] = g_ascii_strtoll(at, &end, 10);
    at = *end == 'x' ? end + 1 : "";
  }
  NwDType dtype = type == NULL ? (wide ? NW_F64 : NW_F32) : type[1] == 'u' ? NW_U8 : NW_I64;
  int limit = below ? atoi(below + 1) : 256;
  NwSpec spec = nw_spec(dtype, ndim, dims);
  Value *value = value_new(bench, &spec);
  for (int64_t i = 0; i < nw_spec_count(&spec); i++)
    set_number(value, i, type ? g_rand_int_range(rand, 0, limit) : uniform(rand));
  return value;
}

G_GNUC_UNUSED static Value *random_like(Bench *bench, GRand *rand, const NwSpec *spec)
{
  Value *value = value_new(bench, spec);
  for (int64_t i = 0; i < nw_spec_count(spec); i++)
    set_number(value, i, uniform(rand));
  return value;
}

/* Variances and what stands for them must be positive. */
G_GNUC_UNUSED static void make_positive(Value *value)
{
  for (int64_t i = 0; i < nw_spec_count(&value->spec); i++)
    set_number(value, i, fabs(get_number(value, i)) + 0.5);
}

/* Inputs of a case of `op`; what must be positive is. Returns how many. */
G_GNUC_UNUSED static int case_inputs(Bench *bench, GRand *rand, const NwOp *op, const char *shapes,
                                     gboolean wide, NwVal *in)
{
  g_auto(GStrv) words = g_strsplit(shapes, " ", -1);
  int n = (int)g_strv_length(words);
  for (int i = 0; i < n; i++) {
    Value *value = random_value(bench, rand, words[i], wide);
    const char *name = op->inputs[MIN(i, op->n_inputs - 1)].name;
    gboolean rate = op->group == NW_GROUP_OPTIMIZER || (op->group == NW_GROUP_LOSS && i == 2);
    if (value && value->spec.dtype != NW_U8 && value->spec.dtype != NW_I64 &&
        (g_str_has_suffix(name, "running_var") || strcmp(name, "exp_avg_sq") == 0 ||
         strcmp(name, "square_avg") == 0 || strcmp(name, "sum") == 0 || strcmp(name, "deviation") == 0 ||
         (rate && i == 2)))
      make_positive(value);
    for (int64_t k = 0; value && strcmp(name, "probability") == 0 && k < nw_spec_count(&value->spec); k++)
      set_number(value, k, 0.5 + 0.4 * get_number(value, k));
    if (value && strcmp(name, "step") == 0)
      set_number(value, 0, 3);
    in[i] = (NwVal){value, 0};
  }
  return n;
}

/* Slopes of a composite come from the tape, which runs the rules of its parts. */
G_GNUC_UNUSED static void tape_gradients(NwGrad *g, const Value *r, Bench *bench, NwError *error)
{
  NwTensor *in[NW_MAX_PORTS] = {NULL}, *out[NW_MAX_PORTS] = {NULL}, *dout;
  nw_manual_seed(bench->run.seed);
  nw_tape_set_step((int64_t)bench->run.step);
  for (int i = 0; i < g->n_in; i++) {
    Value *x = g->in[i].p;
    if (x == NULL)
      continue;
    g_assert_cmpint(nw_tensor_from(&x->spec, x->data, &in[i], error), ==, NW_OK);
    if (g->need[i])
      g_assert_cmpint(nw_tensor_set_requires_grad(in[i], true, error), ==, NW_OK);
  }
  if (nw_apply(g->op, g->attrs, in, g->n_in, out, error) != NW_OK)
    g_error("%s: %s", g->op->id, error->text);
  g_assert_cmpint(nw_tensor_from(&r->spec, r->data, &dout, error), ==, NW_OK);
  if (nw_backward(out[0], dout, false, error) != NW_OK)
    g_error("%s: %s", g->op->id, error->text);
  for (int i = 0; i < g->n_in; i++) {
    if (g->need[i] && nw_tensor_grad(in[i]) != NULL) {
      Value *d = value_new(bench, &((Value *)g->in[i].p)->spec);
      memcpy(d->data, nw_tensor_data(nw_tensor_grad(in[i])), nw_spec_bytes(&d->spec));
      g->din[i] = (NwVal){d, 0};
    }
    nw_tensor_unref(in[i]);
  }
  nw_tensor_unref(out[0]);
  nw_tensor_unref(dout);
  nw_tape_set_step(-1);
}
