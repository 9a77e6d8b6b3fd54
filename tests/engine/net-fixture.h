/* Small networks, batches from Philox, and one training step on the tape and as a plan: shared by test-model
 * and test-plan. */
#pragma once

#include <glib.h>
#include <math.h>
#include <string.h>

#include "engine/autograd/autograd.h"
#include "engine/base/memory.h"
#include "engine/base/philox.h"
#include "engine/graph/plan.h"
#include "engine/nn/model.h"
#include "engine/nn/template.h"

static NwError fx_error;

__attribute__((unused)) static void fx_ok(NwStatus status)
{
  if (status != NW_OK)
    g_error("%s (block %u): %s", nw_status_text(status), fx_error.block, fx_error.text);
}

static inline const NwOp *fx_op(const char *id)
{
  const NwOp *op = nw_op_find(id);
  if (op == NULL)
    g_error("no op %s", id);
  return op;
}

static inline NwNetwork *fx_template(const char *id, int64_t channels, int64_t size, int64_t classes)
{
  NwNetwork *network;
  fx_ok(nw_template_build(nw_template_find(id), channels, size, size, classes, &network, &fx_error));
  return network;
}

static inline uint32_t fx_add(NwNetwork *network, const char *op, const char *name, const char *attrs,
                              uint32_t from)
{
  uint32_t id;
  fx_ok(nw_network_add(network, fx_op(op), name, 0, &id, &fx_error));
  if (from != 0)
    fx_ok(nw_network_connect(network, from, id, 0, &fx_error));
  char **pairs = g_strsplit(attrs, " ", -1);
  for (int i = 0; pairs[i] != NULL; i++) {
    char *equals = strchr(pairs[i], '=');
    if (equals == NULL)
      continue;
    *equals = 0;
    fx_ok(nw_network_set_text(network, id, pairs[i], equals + 1, &fx_error));
  }
  g_strfreev(pairs);
  return id;
}

/* One residual block; stride 2 has a convolution on its shortcut. */
static inline uint32_t fx_residual(NwNetwork *n, const char *path, uint32_t top, int width, bool halve)
{
  char name[64], attrs[96];
#define FX_NAME(part) (g_snprintf(name, sizeof name, "%s.%s", path, part), name)
  g_snprintf(attrs, sizeof attrs, "out_channels=%d kernel_size=3 padding=1 stride=%d bias=false", width,
             halve ? 2 : 1);
  uint32_t at = fx_add(n, "conv2d", FX_NAME("conv1"), attrs, top), shortcut = top;
  at = fx_add(n, "batch_norm2d", FX_NAME("bn1"), "", at);
  at = fx_add(n, "relu", FX_NAME("relu"), "", at);
  g_snprintf(attrs, sizeof attrs, "out_channels=%d kernel_size=3 padding=1 bias=false", width);
  at = fx_add(n, "conv2d", FX_NAME("conv2"), attrs, at);
  at = fx_add(n, "batch_norm2d", FX_NAME("bn2"), "", at);
  if (halve) {
    g_snprintf(attrs, sizeof attrs, "out_channels=%d kernel_size=1 stride=2 bias=false", width);
    shortcut = fx_add(n, "conv2d", FX_NAME("downsample.0"), attrs, top);
    shortcut = fx_add(n, "batch_norm2d", FX_NAME("downsample.1"), "", shortcut);
  }
  at = fx_add(n, "add", FX_NAME("add"), "", at);
  fx_ok(nw_network_connect(n, shortcut, at, 1, &fx_error));
  return fx_add(n, "relu", FX_NAME("relu2"), "", at);
#undef FX_NAME
}

/* Two residual blocks on small pictures, ending in a pooled and flattened linear layer. */
static inline NwNetwork *fx_residual_net(int64_t classes)
{
  NwNetwork *n;
  char attrs[32];
  fx_ok(nw_network_new(&n, &fx_error));
  uint32_t at = fx_add(n, "input", "input", "", 0);
  at = fx_add(n, "conv2d", "conv1", "out_channels=16 kernel_size=3 padding=1 bias=false", at);
  at = fx_add(n, "batch_norm2d", "bn1", "", at);
  at = fx_add(n, "relu", "relu", "", at);
  at = fx_residual(n, "layer1.0", at, 16, false);
  at = fx_residual(n, "layer2.0", at, 32, true);
  at = fx_add(n, "max_pool2d", "pool", "kernel_size=2 stride=2", at);
  at = fx_add(n, "flatten", "flatten", "", at);
  g_snprintf(attrs, sizeof attrs, "out_features=%d", (int)classes);
  fx_add(n, "linear", "fc", attrs, at);
  return n;
}

typedef struct FxBatch {
  int64_t n;
  NwSpec x_spec, y_spec;
  float *x;
  int64_t *y;
} FxBatch;

static inline FxBatch fx_batch(int64_t n, int64_t channels, int64_t size, int64_t classes, uint64_t seed)
{
  FxBatch b = {.n = n};
  b.x_spec = nw_spec(NW_F32, 4, (int64_t[]){n, channels, size, size});
  b.y_spec = nw_spec(NW_I64, 1, &n);
  int64_t count = nw_spec_count(&b.x_spec);
  b.x = nw_alloc(sizeof *b.x * (size_t)count);
  b.y = nw_alloc(sizeof *b.y * (size_t)n);
  NwPhilox key = {seed, 77};
  for (int64_t i = 0; i < count; i++)
    b.x[i] = (float)nw_normal(key, 0, (uint64_t)i);
  for (int64_t i = 0; i < n; i++)
    b.y[i] = nw_philox(key, 1, (uint64_t)i) % (uint32_t)classes;
  return b;
}

static inline void fx_batch_clear(FxBatch *b)
{
  nw_free(b->x);
  nw_free(b->y);
}

static inline NwModel *fx_model(const NwNetwork *network, int64_t channels, int64_t size, int64_t classes,
                                uint64_t seed)
{
  NwModel *model;
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, channels, size, size});
  fx_ok(nw_model_new(network, &input, classes, seed, &model, &fx_error));
  return model;
}

/* ---- one training step as a plan ---- */

enum { FX_MAX = 200, FX_SLOTS = 2 };

typedef struct FxPlan {
  NwPlan *plan;
  NwVal x, y, lr, step, loss, logits;
  NwVal params[FX_MAX], grads[FX_MAX], slots[FX_MAX][FX_SLOTS];
  float lr_value;
  int64_t step_value;
  void *slot_data[FX_MAX][FX_SLOTS];
} FxPlan;

typedef struct FxOptions {
  NwPlanOptions plan;
  bool training;
  const char *optimizer; /* NULL: none */
  bool keep_grads, keep_logits;
} FxOptions;

/* Slots of the optimizer: its STATE ports behind the parameter. */
static inline int fx_slots(const NwOp *optimizer)
{
  int n = 0;
  for (int i = 1; i < optimizer->n_inputs; i++)
    n += optimizer->inputs[i].role == NW_PORT_STATE;
  return n;
}

/* The graph of a step; nothing here allocates but the graph. Fails where the engine fails. */
static inline NwStatus fx_graph(NwModel *model, const FxBatch *batch, const FxOptions *o, FxPlan *p,
                                NwGraph *graph, NwVal *keep, int *n_keep)
{
  NwError *e = &fx_error;
  NwSpec one = nw_spec(NW_F32, 0, NULL), whole = nw_spec(NW_I64, 0, NULL);
  int n = nw_model_count(model), wanted = 0;
  char attrs[256];
  NwVal wrt[FX_MAX], grads[FX_MAX];
  *n_keep = 0;
  g_assert_cmpint(n, <=, FX_MAX);
  NW_TRY(nw_graph_input(graph, "x", &batch->x_spec, NW_INPUT_DATA, false, &p->x, e));
  NW_TRY(nw_graph_input(graph, "y", &batch->y_spec, NW_INPUT_DATA, false, &p->y, e));
  NW_TRY(nw_model_emit_graph(model, graph, p->x, o->training, p->params, &p->logits, e));
  if (o->keep_logits)
    keep[(*n_keep)++] = p->logits;
  const NwOp *loss = fx_op("cross_entropy");
  nw_attrs_init(loss, attrs);
  NwVal out[NW_MAX_PORTS];
  NW_TRY(nw_graph_emit(graph, loss, attrs, (NwVal[]){p->logits, p->y}, 2, out, e));
  p->loss = out[0];
  keep[(*n_keep)++] = p->loss;
  if (!o->training)
    return NW_OK;
  for (int i = 0; i < n; i++)
    if (!nw_model_at(model, i)->buffer)
      wrt[wanted++] = p->params[i];
  NW_TRY(nw_graph_grad(graph, p->loss, wrt, wanted, grads, e));
  for (int i = 0, k = 0; i < n; i++)
    if (!nw_model_at(model, i)->buffer) {
      p->grads[i] = grads[k++];
      if (o->keep_grads)
        keep[(*n_keep)++] = p->grads[i];
    }
  if (o->optimizer == NULL)
    return NW_OK;
  NW_TRY(nw_graph_input(graph, "lr", &one, NW_INPUT_DATA, false, &p->lr, e));
  NW_TRY(nw_graph_input(graph, "step", &whole, NW_INPUT_DATA, false, &p->step, e));
  const NwOp *op = fx_op(o->optimizer);
  nw_attrs_init(op, attrs);
  for (int i = 0; i < n; i++) {
    const NwParam *param = nw_model_at(model, i);
    if (param->buffer)
      continue;
    NwVal in[6] = {p->params[i], p->grads[i], p->lr, p->step};
    for (int s = 0; s < fx_slots(op); s++) {
      NW_TRY(nw_graph_input(graph, "slot", &param->spec, NW_INPUT_STATE, false, &p->slots[i][s], e));
      in[4 + s] = p->slots[i][s];
    }
    NW_TRY(nw_graph_emit(graph, op, attrs, in, 4 + fx_slots(op), out, e));
  }
  return NW_OK;
}

static inline NwStatus fx_compile(NwModel *model, const FxBatch *batch, const FxOptions *o, FxPlan *p)
{
  memset(p, 0, sizeof *p);
  NwGraph *graph;
  NwVal keep[FX_MAX + 2];
  int n_keep;
  NW_TRY(nw_graph_new(&graph, &fx_error));
  NwStatus status = fx_graph(model, batch, o, p, graph, keep, &n_keep);
  if (status != NW_OK) {
    nw_graph_free(graph);
    return status;
  }
  return nw_plan_compile(graph, keep, n_keep, &o->plan, &p->plan, &fx_error);
}

static inline void fx_bind(NwModel *model, const FxBatch *batch, const FxOptions *o, FxPlan *p)
{
  fx_ok(nw_plan_bind(p->plan, p->x, batch->x, &fx_error));
  fx_ok(nw_plan_bind(p->plan, p->y, batch->y, &fx_error));
  for (int i = 0; i < nw_model_count(model); i++)
    fx_ok(nw_plan_bind(p->plan, p->params[i], nw_model_at(model, i)->data, &fx_error));
  if (o->optimizer == NULL || !o->training)
    return;
  fx_ok(nw_plan_bind(p->plan, p->lr, &p->lr_value, &fx_error));
  fx_ok(nw_plan_bind(p->plan, p->step, &p->step_value, &fx_error));
  for (int i = 0; i < nw_model_count(model); i++)
    for (int s = 0; s < fx_slots(fx_op(o->optimizer)) && !nw_model_at(model, i)->buffer; s++) {
      p->slot_data[i][s] = nw_alloc0(nw_spec_bytes(&nw_model_at(model, i)->spec));
      fx_ok(nw_plan_bind(p->plan, p->slots[i][s], p->slot_data[i][s], &fx_error));
    }
}

static inline void fx_plan(NwModel *model, const FxBatch *batch, const FxOptions *o, FxPlan *p)
{
  fx_ok(fx_compile(model, batch, o, p));
  fx_bind(model, batch, o, p);
}

static inline void fx_plan_clear(FxPlan *p)
{
  nw_plan_free(p->plan);
  for (int i = 0; i < FX_MAX; i++)
    for (int s = 0; s < FX_SLOTS; s++)
      nw_free(p->slot_data[i][s]);
}

static inline float fx_run(FxPlan *p, uint64_t seed, int64_t step)
{
  NwRun run = {.seed = seed, .step = (uint64_t)step};
  p->step_value = step;
  fx_ok(nw_plan_run(p->plan, &run, &fx_error));
  return *(const float *)nw_plan_data(p->plan, p->loss);
}

/* ---- the same on the tape ---- */

typedef struct FxTape {
  NwTensor *x, *y, *lr;
  NwTensor *params[FX_MAX], *slots[FX_MAX][FX_SLOTS];
  float loss;
} FxTape;

static inline void fx_tape(NwModel *model, const FxBatch *batch, const char *optimizer, float lr, FxTape *t)
{
  memset(t, 0, sizeof *t);
  NwSpec one = nw_spec(NW_F32, 0, NULL);
  fx_ok(nw_tensor_from(&batch->x_spec, batch->x, &t->x, &fx_error));
  fx_ok(nw_tensor_from(&batch->y_spec, batch->y, &t->y, &fx_error));
  fx_ok(nw_tensor_from(&one, &lr, &t->lr, &fx_error));
  for (int i = 0; i < nw_model_count(model); i++) {
    const NwParam *param = nw_model_at(model, i);
    fx_ok(nw_tensor_from(&param->spec, param->data, &t->params[i], &fx_error));
    if (param->buffer)
      continue;
    fx_ok(nw_tensor_set_requires_grad(t->params[i], true, &fx_error));
    for (int s = 0; optimizer != NULL && s < fx_slots(fx_op(optimizer)); s++)
      fx_ok(nw_tensor_new(&param->spec, &t->slots[i][s], &fx_error));
  }
}

static inline void fx_tape_clear(FxTape *t)
{
  nw_tensor_unref(t->x);
  nw_tensor_unref(t->y);
  nw_tensor_unref(t->lr);
  for (int i = 0; i < FX_MAX; i++) {
    nw_tensor_unref(t->params[i]);
    for (int s = 0; s < FX_SLOTS; s++)
      nw_tensor_unref(t->slots[i][s]);
  }
}

/* Forward, backward, and one optimizer step (NULL: none) at step number `step`. */
static inline void fx_tape_step(NwModel *model, FxTape *t, const char *optimizer, uint64_t seed, int64_t step)
{
  NwEmitter emitter;
  NwVal params[FX_MAX], logits, out[NW_MAX_PORTS];
  char attrs[256];
  nw_manual_seed(seed);
  nw_tape_set_step(step);
  fx_ok(nw_tape_emitter_init(&emitter, &fx_error));
  for (int i = 0; i < nw_model_count(model); i++) {
    params[i] = (NwVal){t->params[i], 0};
    nw_tensor_zero_grad(t->params[i], true);
  }
  fx_ok(nw_model_emit(model, &emitter, (NwVal){t->x, 0}, params, true, &logits, &fx_error));
  const NwOp *loss = fx_op("cross_entropy");
  nw_attrs_init(loss, attrs);
  fx_ok(emitter.emit(&emitter, loss, attrs, (NwVal[]){logits, {t->y, 0}}, 2, out, &fx_error));
  t->loss = (float)nw_tensor_item(out[0].p);
  fx_ok(nw_backward(out[0].p, NULL, false, &fx_error));
  nw_tape_emitter_clear(&emitter);
  if (optimizer == NULL)
    return;
  bool old = nw_grad_mode_set(false);
  const NwOp *op = fx_op(optimizer);
  NwSpec whole = nw_spec(NW_I64, 0, NULL);
  NwTensor *number;
  fx_ok(nw_tensor_from(&whole, &step, &number, &fx_error));
  nw_attrs_init(op, attrs);
  for (int i = 0; i < nw_model_count(model); i++) {
    if (nw_model_at(model, i)->buffer)
      continue;
    NwTensor *in[6] = {t->params[i],  nw_tensor_grad(t->params[i]), t->lr, number, t->slots[i][0],
                       t->slots[i][1]};
    NwTensor *none[NW_MAX_PORTS];
    fx_ok(nw_apply(op, attrs, in, 4 + fx_slots(op), none, &fx_error));
  }
  nw_tensor_unref(number);
  nw_grad_mode_set(old);
}

/* ---- comparing ---- */

static inline double fx_distance(const float *a, const float *reference, int64_t n)
{
  double d = 0, r = 0;
  for (int64_t i = 0; i < n; i++) {
    d += ((double)a[i] - reference[i]) * ((double)a[i] - reference[i]);
    r += (double)reference[i] * reference[i];
  }
  return r > 0 ? sqrt(d / r) : sqrt(d);
}
