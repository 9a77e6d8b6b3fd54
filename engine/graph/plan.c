#include "engine/graph/plan.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/base/threads.h"
#include "engine/graph/graph-internal.h"

typedef struct Step {
  NwStatus (*run)(const NwCall *call, void *state, NwError *error);
  void *state;
  const NwKernel *kernel;
  uint32_t block;
  bool prepared;
  double seconds;
  NwCall call;
} Step;

struct NwPlan {
  NwGraph *graph;
  Step *steps;
  int n_steps;
  NwVal *handles;   /* kept values as the caller knows them */
  NwVal *kept;      /* where they are */
  void **kept_data; /* and their memory; NULL for inputs */
  int n_keep;
  const void ***uses; /* places in calls that hold an input's data; an input's own lie side by side */
  int unbound;        /* inputs in use that have no memory yet */
  void *arena;
  size_t arena_bytes; /* mapped */
  NwPlanMemory memory;
  NwRun run;
  uint64_t refresh;
  bool timing;
};

void nw_plan_free(NwPlan *plan)
{
  if (plan == NULL)
    return;
  for (int i = 0; i < plan->n_steps; i++)
    if (plan->steps[i].prepared && plan->steps[i].kernel->release != NULL)
      plan->steps[i].kernel->release(plan->steps[i].state);
  nw_free(plan->steps);
  nw_free(plan->handles);
  nw_free(plan->kept);
  nw_free(plan->kept_data);
  nw_free(plan->uses);
  if (plan->arena != NULL)
    nw_unmap(plan->arena, plan->arena_bytes);
  nw_graph_free(plan->graph);
  nw_free(plan);
}

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for the plan.");
}

/* ---- compiling ---- */

static NwStatus start(NwPlan *plan, NwProgram *program, const NwVal *keep, int n_keep, NwError *error)
{
  for (int i = 0; i < n_keep; i++)
    if (keep[i].p == NULL || nw_node_of(keep[i])->graph != plan->graph)
      return nw_fail(error, NW_BAD_ARGUMENT, "A value to be kept does not belong to this graph.");
  plan->handles = nw_alloc(sizeof *keep * (size_t)n_keep);
  plan->kept = nw_alloc(sizeof *keep * (size_t)n_keep);
  plan->kept_data = nw_alloc0(sizeof *plan->kept_data * (size_t)n_keep);
  if (plan->handles == NULL || plan->kept == NULL || plan->kept_data == NULL)
    return no_memory(error);
  plan->n_keep = n_keep;
  for (int i = 0; i < n_keep; i++) {
    plan->handles[i] = plan->kept[i] = keep[i];
    nw_slot_of(keep[i])->kept = true;
  }
  *program = (NwProgram){.graph = plan->graph, .keep = plan->kept, .n_keep = n_keep};
  for (int i = 0; i < plan->graph->n; i++)
    if (plan->graph->nodes[i]->op != NULL)
      NW_TRY(nw_program_add(program, plan->graph->nodes[i], error));
  return NW_OK;
}

static NwStatus passes(NwProgram *program, const NwPlanOptions *options, NwError *error)
{
  nw_pass_dead_code(program);
  if (!options->exact) {
    NW_TRY(nw_pass_fuse(program, error));
    nw_pass_dead_code(program);
  }
  for (int k = 0; k < program->n_keep; k++)
    program->keep[k] = nw_val_resolve(program->keep[k]);
  NW_TRY(nw_pass_layout(program, options->exact, error));
  return nw_pass_schedule(program, error);
}

/* Numbers that the caller promised not to change. The rows call running statistics STATE in evaluation too,
 * where nobody writes them, so the ports do not tell; the promise does. */
static bool is_frozen(NwVal value)
{
  const NwNode *node = nw_node_of(value);
  return node->op == NULL && node->constant == NULL && node->kind != NW_INPUT_DATA;
}

static NwStatus prepare(NwPlan *plan, NwProgram *program, const NwPlanOptions *options, size_t *workspaces,
                        NwError *error)
{
  for (int p = 0; p < program->n; p++) {
    const NwNode *node = program->nodes[p];
    Step *step = &plan->steps[p];
    step->block = node->block;
    step->kernel = node->kernel;
    step->run = node->kernel->run;
    nw_node_call(node, &step->call);
    for (int i = 0; i < node->n_in; i++) {
      if (!nw_spec_present(&step->call.in[i]))
        continue;
      if (!nw_node_reads(node, i))
        step->call.in[i].block = node->in_block[i];
      else if (options->frozen_params && i < 32 && is_frozen(node->in[i]))
        step->call.frozen |= 1u << i;
    }
    if (step->kernel->prepare != NULL)
      NW_TRY(nw_at_block(node->block, step->kernel->prepare(&step->call, &step->state, &workspaces[p], error),
                         error));
    step->prepared = true;
  }
  return NW_OK;
}

static NwStatus map_arena(NwPlan *plan, const NwMemory *memory, bool dry, NwError *error)
{
  plan->memory.arena = memory->arena;
  plan->memory.naive = memory->naive;
  plan->memory.lower = memory->lower;
  if (dry || memory->arena == 0)
    return NW_OK;
  plan->arena = nw_map(memory->arena);
  if (plan->arena == NULL)
    return nw_fail(error, NW_NO_MEMORY,
                   "The network needs %zu bytes (%.1f MiB) to compute a batch, and there is not so much "
                   "memory: choose a "
                   "smaller batch.",
                   memory->arena, (double)memory->arena / (1024 * 1024));
  plan->arena_bytes = memory->arena;
  return NW_OK;
}

/* The input whose data stands at port i of the node; NULL: something else. */
static NwNode *input_at(const NwNode *node, int i)
{
  NwNode *input = nw_node_reads(node, i) ? nw_node_of(node->in[i]) : NULL;
  return input != NULL && input->op == NULL ? input : NULL;
}

static NwStatus list_uses(NwPlan *plan, const NwProgram *program, NwError *error)
{
  int n = 0;
  for (int p = 0; p < program->n; p++)
    for (int i = 0; i < program->nodes[p]->n_in; i++) {
      NwNode *input = input_at(program->nodes[p], i);
      if (input != NULL) {
        input->n_uses++;
        n++;
      }
    }
  plan->uses = nw_alloc(sizeof *plan->uses * (size_t)n);
  if (plan->uses == NULL)
    return no_memory(error);
  n = 0;
  for (int i = 0; i < plan->graph->n; i++) {
    NwNode *node = plan->graph->nodes[i];
    node->first_use = n;
    n += node->n_uses;
    plan->unbound += node->n_uses > 0 && node->bound == NULL;
    node->n_uses = 0;
  }
  for (int p = 0; p < program->n; p++)
    for (int i = 0; i < program->nodes[p]->n_in; i++) {
      NwNode *input = input_at(program->nodes[p], i);
      if (input != NULL)
        plan->uses[input->first_use + input->n_uses++] = &plan->steps[p].call.in_data[i];
    }
  return NW_OK;
}

static void patch(NwPlan *plan, const NwNode *input)
{
  for (int i = 0; i < input->n_uses; i++)
    *plan->uses[input->first_use + i] = input->bound;
}

/* Points every call at its memory. */
static void connect(NwPlan *plan, NwProgram *program, const NwMemory *memory)
{
  char *arena = plan->arena;
  for (int p = 0; p < program->n && arena != NULL; p++) {
    const NwNode *node = program->nodes[p];
    NwCall *call = &plan->steps[p].call;
    call->run = &plan->run;
    for (int i = 0; i < node->n_in; i++)
      if (nw_node_reads(node, i) && nw_node_of(node->in[i])->op != NULL)
        call->in_data[i] = arena + memory->buffers[nw_slot_of(node->in[i])->buffer].offset;
    for (int i = 0; i < node->n_out; i++)
      if (node->out[i].buffer >= 0)
        call->out_data[i] = arena + memory->buffers[node->out[i].buffer].offset;
    if (memory->workspace[p] >= 0)
      call->workspace = arena + memory->buffers[memory->workspace[p]].offset;
  }
  for (int k = 0; k < plan->n_keep && arena != NULL; k++)
    if (nw_node_of(plan->kept[k])->op != NULL)
      plan->kept_data[k] = arena + memory->buffers[nw_slot_of(plan->kept[k])->buffer].offset;
  for (int i = 0; i < plan->graph->n; i++)
    if (plan->graph->nodes[i]->constant != NULL)
      patch(plan, plan->graph->nodes[i]);
}

static NwStatus compile(NwPlan *plan, NwProgram *program, NwMemory *memory, const NwPlanOptions *options,
                        NwError *error)
{
  NW_TRY(passes(program, options, error));
  plan->steps = nw_alloc0(sizeof *plan->steps * (size_t)program->n);
  size_t *workspaces = nw_alloc0(sizeof *workspaces * (size_t)program->n);
  NwStatus status = plan->steps != NULL && workspaces != NULL ? NW_OK : no_memory(error);
  if (status == NW_OK) {
    plan->n_steps = program->n;
    status = prepare(plan, program, options, workspaces, error);
  }
  if (status == NW_OK)
    status = nw_memory_plan(program, workspaces, memory, error);
  nw_free(workspaces);
  NW_TRY(status);
  NW_TRY(map_arena(plan, memory, options->dry, error));
  NW_TRY(list_uses(plan, program, error));
  connect(plan, program, memory);
  nw_plan_refresh(plan);
  return NW_OK;
}

NwStatus nw_plan_compile(NwGraph *graph, const NwVal *keep, int n_keep, const NwPlanOptions *options,
                         NwPlan **out, NwError *error)
{
  static const NwPlanOptions standard;
  *out = NULL;
  NwPlan *plan = nw_alloc0(sizeof *plan);
  if (plan == NULL) {
    nw_graph_free(graph);
    return no_memory(error);
  }
  plan->graph = graph;
  NwProgram program = {0};
  NwMemory memory = {0};
  NwStatus status = start(plan, &program, keep, n_keep, error);
  if (status == NW_OK)
    status = compile(plan, &program, &memory, options != NULL ? options : &standard, error);
  nw_free(program.nodes);
  nw_memory_clear(&memory);
  if (status != NW_OK) {
    nw_plan_free(plan);
    return status;
  }
  *out = plan;
  return NW_OK;
}

/* ---- running ---- */

NwStatus nw_plan_bind(NwPlan *plan, NwVal input, void *data, NwError *error)
{
  NwNode *node = nw_node_of(input);
  if (node == NULL || node->graph != plan->graph || node->op != NULL || node->constant != NULL)
    return nw_fail(error, NW_BAD_ARGUMENT, "Memory can be given only to an input of the plan.");
  if (data == NULL)
    return nw_fail(error, NW_BAD_ARGUMENT, "The input \"%s\" was given no memory.", node->name);
  if (node->bound == data)
    return NW_OK;
  if (node->bound == NULL && node->n_uses > 0)
    plan->unbound--;
  node->bound = data;
  patch(plan, node);
  if (node->kind != NW_INPUT_DATA)
    nw_plan_refresh(plan);
  return NW_OK;
}

static NwStatus not_ready(const NwPlan *plan, NwError *error)
{
  if (plan->arena == NULL)
    return nw_fail(error, NW_BAD_STATE, "The plan was made without memory, to measure only.");
  for (int i = 0; i < plan->graph->n; i++) {
    const NwNode *node = plan->graph->nodes[i];
    if (node->op == NULL && node->n_uses > 0 && node->bound == NULL)
      return nw_fail(error, NW_BAD_STATE, "The input \"%s\" has no memory yet: bind it before the run.",
                     node->name);
  }
  return nw_fail(error, NW_INTERNAL, "The plan lost count of its inputs.");
}

static NwStatus run_timed(NwPlan *plan, NwError *error)
{
  double before = nw_clock();
  for (int i = 0; i < plan->n_steps; i++) {
    Step *step = &plan->steps[i];
    NwStatus status = step->run(&step->call, step->state, error);
    if (status != NW_OK)
      return nw_at_block(step->block, status, error);
    double now = nw_clock();
    step->seconds = now - before;
    before = now;
  }
  return NW_OK;
}

NwStatus nw_plan_run(NwPlan *plan, const NwRun *run, NwError *error)
{
  if (plan->unbound > 0 || (plan->arena == NULL && plan->n_steps > 0))
    return not_ready(plan, error);
  plan->run = run != NULL ? *run : (NwRun){0};
  if (plan->timing)
    return run_timed(plan, error);
  for (int i = 0; i < plan->n_steps; i++) {
    Step *step = &plan->steps[i];
    NwStatus status = step->run(&step->call, step->state, error);
    if (status != NW_OK)
      return nw_at_block(step->block, status, error);
  }
  return NW_OK;
}

void nw_plan_refresh(NwPlan *plan)
{
  /* starts at 1, so that a kernel's state that begins with 0 knows nothing */
  plan->refresh++;
  for (int i = 0; i < plan->n_steps; i++)
    plan->steps[i].call.refresh = plan->refresh;
}

const void *nw_plan_data(const NwPlan *plan, NwVal value)
{
  for (int k = 0; k < plan->n_keep; k++)
    if (nw_val_same(plan->handles[k], value)) {
      const NwNode *node = nw_node_of(plan->kept[k]);
      return node->op == NULL ? node->bound : plan->kept_data[k];
    }
  return NULL;
}

void nw_plan_memory(const NwPlan *plan, NwPlanMemory *memory)
{
  *memory = plan->memory;
}

NwPlanStep nw_plan_step(const NwPlan *plan, int index)
{
  if (index < 0 || index >= plan->n_steps)
    return (NwPlanStep){0};
  const Step *step = &plan->steps[index];
  return (NwPlanStep){
      .op = step->call.op, .kernel = step->kernel->name, .block = step->block, .seconds = step->seconds};
}

void nw_plan_set_timing(NwPlan *plan, bool on)
{
  plan->timing = on;
}
