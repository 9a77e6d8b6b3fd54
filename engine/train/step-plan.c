#include "engine/train/step-plan.h"

#include <string.h>

#include "engine/base/memory.h"

void nw_recipe_set_normalization(NwRecipe *recipe, const NwNormalization *normalization)
{
  for (int c = 0; c < 4; c++) {
    recipe->mean[c] = (float)normalization->mean[c];
    recipe->deviation[c] = normalization->deviation[c] != 0 ? (float)normalization->deviation[c] : 1;
  }
}

/* A plan under construction. */
typedef struct Builder {
  NwRecipe *recipe;
  NwStepPlan *step;
  NwGraph *graph;
  NwVal *params; /* by parameter index */
  NwVal *grads;
  NwVal mean, deviation, weights, lr, number;
  NwVal (*slots)[NW_MAX_PORTS]; /* by parameter index, then slot */
  int n_params;
} Builder;

static NwStatus data_input(Builder *b, const char *name, NwDType dtype, int ndim, const int64_t *dims,
                           NwVal *out, NwError *error)
{
  NwSpec spec = nw_spec(dtype, ndim, dims);
  return nw_graph_input(b->graph, name, &spec, NW_INPUT_DATA, false, out, error);
}

static NwStatus emit(Builder *b, const char *id, const void *attrs, const NwVal *in, int n, NwVal *out,
                     NwError *error)
{
  const NwOp *op = nw_op_find(id);
  if (op == NULL)
    return nw_fail(error, NW_INTERNAL, "The operation %s is missing from this build.", id);
  return nw_graph_emit(b->graph, op, attrs, in, n, out, error);
}

static NwStatus emit_pictures(Builder *b, NwVal *x, NwError *error)
{
  NwSpec input = nw_model_input(b->recipe->model);
  int64_t n = b->step->n, c = input.dims[1], h = input.dims[2], w = input.dims[3];
  if (input.ndim != 4 || c > 4)
    return nw_fail(error, NW_BAD_SHAPE, "Pictures have 1 to 4 channels; this network wants %lld.",
                   (long long)c);
  if (b->recipe->f32_input) {
    NW_TRY(data_input(b, "input", NW_F32, 4, (int64_t[]){n, c, h, w}, x, error));
    b->step->pictures = *x;
    return NW_OK;
  }
  NW_TRY(data_input(b, "pictures", NW_U8, 4, (int64_t[]){n, h, w, c}, &b->step->pictures, error));
  NW_TRY(data_input(b, "mean", NW_F32, 1, &c, &b->mean, error));
  NW_TRY(data_input(b, "deviation", NW_F32, 1, &c, &b->deviation, error));
  return emit(b, "normalize_u8", NULL, (NwVal[]){b->step->pictures, b->mean, b->deviation}, 3, x, error);
}

static NwStatus emit_loss(Builder *b, NwError *error)
{
  int64_t classes = nw_model_classes(b->recipe->model);
  NwVal out[NW_MAX_PORTS] = {{0}};
  NW_TRY(data_input(b, "labels", NW_I64, 1, &b->step->n, &b->step->labels, error));
  if (b->recipe->class_weights != NULL)
    NW_TRY(data_input(b, "class_weights", NW_F32, 1, &classes, &b->weights, error));
  NW_TRY(nw_graph_emit(b->graph, b->recipe->loss, b->recipe->loss_attrs,
                       (NwVal[]){b->step->logits, b->step->labels, b->weights}, 3, out, error));
  b->step->loss = out[0];
  return emit(b, "count_correct", NULL, (NwVal[]){b->step->logits, b->step->labels}, 2, &b->step->correct,
              error);
}

/* Gradients of the trained parameters, by parameter index; absent ones stay absent. */
static NwStatus emit_gradients(Builder *b, NwError *error)
{
  NwVal *wrt = nw_alloc0((size_t)b->n_params * 2 * sizeof *wrt);
  int *index = nw_alloc0((size_t)b->n_params * sizeof *index);
  NwStatus status = NW_OK;
  int n = 0;
  if (wrt == NULL || index == NULL)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory for the training step.");
  for (int i = 0; i < b->n_params && status == NW_OK; i++) {
    const NwParam *param = nw_model_at(b->recipe->model, i);
    if (param->buffer || param->frozen)
      continue;
    wrt[n] = b->params[i];
    index[n++] = i;
  }
  if (status == NW_OK)
    status = nw_graph_grad(b->graph, b->step->loss, wrt, n, wrt + b->n_params, error);
  for (int i = 0; i < n && status == NW_OK; i++)
    b->grads[index[i]] = wrt[b->n_params + i];
  nw_free(wrt);
  nw_free(index);
  return status;
}

static NwStatus emit_update(Builder *b, int i, NwError *error)
{
  const NwRecipe *recipe = b->recipe;
  const NwOp *op = recipe->optimizer;
  const NwParam *param = nw_model_at(recipe->model, i);
  NwVal in[NW_MAX_PORTS] = {{0}}, out[NW_MAX_PORTS];
  in[nw_op_port(op, "param")] = b->params[i];
  in[nw_op_port(op, "grad")] = b->grads[i];
  in[nw_op_port(op, "lr")] = b->lr;
  in[nw_op_port(op, "step")] = b->number;
  for (int slot = 0; slot < recipe->moments->n_slots; slot++) {
    NwSpec spec = nw_moments_spec(recipe->moments, &param->spec, slot);
    NW_TRY(nw_graph_input(b->graph, op->inputs[recipe->moments->ports[slot]].name, &spec, NW_INPUT_STATE,
                          false, &b->slots[i][slot], error));
    in[recipe->moments->ports[slot]] = b->slots[i][slot];
  }
  nw_graph_set_block(b->graph, param->block);
  NwStatus status = nw_graph_emit(b->graph, op, recipe->optimizer_attrs, in, op->n_inputs, out, error);
  nw_graph_set_block(b->graph, 0);
  return status;
}

static NwStatus emit_training(Builder *b, NwError *error)
{
  static const char *const ports[] = {"param", "grad", "lr", "step"};
  const int64_t one = 1;
  for (int i = 0; i < NW_COUNT(ports); i++)
    if (nw_op_port(b->recipe->optimizer, ports[i]) < 0)
      return nw_fail(error, NW_UNSUPPORTED, "The optimizer %s has no port \"%s\".", b->recipe->optimizer->id,
                     ports[i]);
  NW_TRY(data_input(b, "lr", NW_F32, 1, &one, &b->lr, error));
  NW_TRY(data_input(b, "step", NW_I64, 1, &one, &b->number, error));
  NW_TRY(emit_gradients(b, error));
  for (int i = 0; i < b->n_params; i++)
    if (b->grads[i].p != NULL)
      NW_TRY(emit_update(b, i, error));
  return NW_OK;
}

static NwStatus emit_all(Builder *b, NwError *error)
{
  NwVal x = {0};
  NW_TRY(emit_pictures(b, &x, error));
  NW_TRY(nw_model_emit_graph(b->recipe->model, b->graph, x, b->recipe->training, b->params, &b->step->logits,
                             error));
  if (b->recipe->loss != NULL)
    NW_TRY(emit_loss(b, error));
  return b->recipe->training ? emit_training(b, error) : NW_OK;
}

static NwStatus compile(Builder *b, NwError *error)
{
  NwVal keep[3];
  int n = 0;
  if (b->recipe->loss != NULL) {
    keep[n++] = b->step->loss;
    keep[n++] = b->step->correct;
  }
  if (b->recipe->keep_logits)
    keep[n++] = b->step->logits;
  NwPlanOptions options = {.exact = b->recipe->exact, .frozen_params = !b->recipe->training};
  NwGraph *graph = b->graph;
  b->graph = NULL; /* the plan's from here on */
  return nw_plan_compile(graph, keep, n, &options, &b->step->plan, error);
}

static NwStatus bind(Builder *b, NwVal input, void *data, NwError *error)
{
  return input.p != NULL ? nw_plan_bind(b->step->plan, input, data, error) : NW_OK;
}

static NwStatus bind_all(Builder *b, NwError *error)
{
  NwRecipe *recipe = b->recipe;
  NW_TRY(bind(b, b->mean, recipe->mean, error));
  NW_TRY(bind(b, b->deviation, recipe->deviation, error));
  NW_TRY(bind(b, b->weights, (void *)(uintptr_t)recipe->class_weights, error));
  NW_TRY(bind(b, b->lr, &recipe->lr, error));
  NW_TRY(bind(b, b->number, &recipe->step, error));
  for (int i = 0; i < b->n_params; i++) {
    NW_TRY(bind(b, b->params[i], nw_model_at(recipe->model, i)->data, error));
    for (int slot = 0; recipe->training && slot < recipe->moments->n_slots; slot++)
      NW_TRY(bind(b, b->slots[i][slot], nw_moments_at(recipe->moments, i, slot), error));
  }
  return NW_OK;
}

static NwStatus build(NwRecipe *recipe, int64_t n, NwStepPlan *out, NwError *error)
{
  *out = (NwStepPlan){.n = n};
  Builder b = {.recipe = recipe, .step = out, .n_params = nw_model_count(recipe->model)};
  size_t room = (size_t)b.n_params + 1;
  b.params = nw_alloc0(room * sizeof *b.params);
  b.grads = nw_alloc0(room * sizeof *b.grads);
  b.slots = nw_alloc0(room * sizeof *b.slots);
  NwStatus status = NW_OK;
  if (b.params == NULL || b.grads == NULL || b.slots == NULL)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory for the training step.");
  if (status == NW_OK)
    status = nw_graph_new(&b.graph, error);
  if (status == NW_OK)
    status = emit_all(&b, error);
  if (status == NW_OK)
    status = compile(&b, error);
  if (status == NW_OK)
    status = bind_all(&b, error);
  nw_graph_free(b.graph);
  nw_free(b.params);
  nw_free(b.grads);
  nw_free(b.slots);
  if (status != NW_OK) {
    nw_plan_free(out->plan);
    *out = (NwStepPlan){0};
  }
  return status;
}

NwStatus nw_step_plans_get(NwStepPlans *plans, int64_t n, NwStepPlan **out, NwError *error)
{
  *out = NULL;
  for (int i = 0; i < NW_STEP_PLANS; i++)
    if (plans->plans[i].n == n) {
      *out = &plans->plans[i];
      return NW_OK;
    }
  NwStepPlan fresh;
  NW_TRY(build(&plans->recipe, n, &fresh, error));
  NwStepPlan *place = &plans->plans[plans->next];
  nw_plan_free(place->plan);
  *place = fresh;
  plans->next = (plans->next + 1) % NW_STEP_PLANS;
  *out = place;
  return NW_OK;
}

void nw_step_plans_refresh(NwStepPlans *plans)
{
  for (int i = 0; i < NW_STEP_PLANS; i++)
    if (plans->plans[i].plan != NULL)
      nw_plan_refresh(plans->plans[i].plan);
}

void nw_step_plans_clear(NwStepPlans *plans)
{
  for (int i = 0; i < NW_STEP_PLANS; i++) {
    nw_plan_free(plans->plans[i].plan);
    plans->plans[i] = (NwStepPlan){0};
  }
}

NwStatus nw_step_plan_run(NwStepPlan *step, const NwBatch *batch, const NwRun *run, double *loss,
                          int64_t *correct, NwError *error)
{
  NW_TRY(nw_plan_bind(step->plan, step->pictures, (void *)(uintptr_t)batch->pixels, error));
  if (step->labels.p != NULL)
    NW_TRY(nw_plan_bind(step->plan, step->labels, (void *)(uintptr_t)batch->labels, error));
  NW_TRY(nw_plan_run(step->plan, run, error));
  if (loss != NULL)
    *loss = *(const float *)nw_plan_data(step->plan, step->loss);
  if (correct != NULL)
    *correct = *(const int64_t *)nw_plan_data(step->plan, step->correct);
  return NW_OK;
}
