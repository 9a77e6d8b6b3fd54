/* Our side of the comparison with PyTorch: one network, trained on made-up pictures in memory exactly as the
 * trainer does it (AdamW), or run as the predictor does.
 *
 *   bench-net NET BATCH [--infer] [--threads N] [--steps N] [--profile]   one JSON line
 *   bench-net NET BATCH [--infer] [--threads N] --serve    "run N" on standard input: a JSON list of N times
 * in ms; "info": first step and memory; "quit" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/machine.h"
#include "engine/base/memory.h"
#include "engine/base/philox.h"
#include "engine/base/threads.h"
#include "engine/nn/template.h"
#include "engine/train/predictor.h"
#include "engine/train/step-plan.h"

typedef struct Bench {
  const char *net;
  int64_t n, channels, side, classes;
  bool infer, serve, profile, cpu;
  int steps;
  NwNetwork *network;
  NwModel *model;
  NwStepPlans plans;
  NwMoments moments;
  void *loss_attrs, *optimizer_attrs;
  NwPredictor *predictor;
  uint8_t *pixels;
  float *input, *logits;
  int64_t *labels;
  double first, loss, floor; /* seconds of the first step, plans included; bytes at start */
} Bench;

static const struct {
  const char *net;
  int64_t channels, side, classes;
} shapes[] = {{"mlp", 1, 28, 10},
              {"simplecnn", 1, 28, 10},
              {"lenet", 3, 32, 10},
              {"simpleclassifier", 3, 224, 10},
              {"resnet18", 3, 224, 1000}};

static NwStatus make_data(Bench *b, NwError *error)
{
  size_t count = (size_t)(b->n * b->channels * b->side * b->side);
  b->pixels = nw_alloc0(count);
  b->input = nw_alloc0(count * sizeof *b->input);
  b->labels = nw_alloc0((size_t)b->n * sizeof *b->labels);
  b->logits = nw_alloc0((size_t)(b->n * b->classes) * sizeof *b->logits);
  if (b->pixels == NULL || b->input == NULL || b->labels == NULL || b->logits == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the pictures.");
  uint32_t state = 12345;
  for (size_t i = 0; i < count; i++) {
    state = state * 1664525 + 1013904223;
    b->pixels[i] = (uint8_t)(state >> 24);
    b->input[i] = (float)(state >> 8) / 8388608.f - 1;
  }
  for (int64_t i = 0; i < b->n; i++)
    b->labels[i] = i * 7 % b->classes;
  return NW_OK;
}

static NwStatus make_training(Bench *b, NwError *error)
{
  NwNormalization normalization = {{.5, .5, .5, .5}, {.25, .25, .25, .25}};
  NwRecipe *recipe = &b->plans.recipe;
  *recipe = (NwRecipe){.model = b->model,
                       .training = true,
                       .loss = nw_op_find("cross_entropy"),
                       .optimizer = nw_op_find("adamw"),
                       .moments = &b->moments,
                       .lr = 1e-3f};
  if (recipe->loss == NULL || recipe->optimizer == NULL)
    return nw_fail(error, NW_INTERNAL, "This build has no cross_entropy or adamw.");
  nw_recipe_set_normalization(recipe, &normalization);
  recipe->loss_attrs = b->loss_attrs = nw_alloc0(recipe->loss->attrs_size + 1);
  recipe->optimizer_attrs = b->optimizer_attrs = nw_alloc0(recipe->optimizer->attrs_size + 1);
  if (b->loss_attrs == NULL || b->optimizer_attrs == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for the training.");
  nw_attrs_init(recipe->loss, b->loss_attrs);
  nw_attrs_init(recipe->optimizer, b->optimizer_attrs);
  return nw_moments_new(b->model, recipe->optimizer, b->optimizer_attrs, &b->moments, error);
}

static NwStatus make(Bench *b, NwError *error)
{
  const NwTemplate *tmpl = nw_template_find(b->net);
  if (tmpl == NULL)
    return nw_fail(error, NW_BAD_ARGUMENT, "There is no template \"%s\".", b->net);
  NW_TRY(nw_template_build(tmpl, b->channels, b->side, b->side, b->classes, &b->network, error));
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, b->channels, b->side, b->side});
  NW_TRY(nw_model_new(b->network, &input, b->classes, 1, &b->model, error));
  NW_TRY(make_data(b, error));
  return b->infer ? nw_predictor_new(b->model, NULL, b->n, &b->predictor, error) : make_training(b, error);
}

static NwStatus step(Bench *b, NwError *error)
{
  if (b->infer)
    return nw_predictor_run_f32(b->predictor, b->input, b->n, b->logits, error);
  NwStepPlan *plan;
  NwBatch batch = {.n = b->n, .pixels = b->pixels, .labels = b->labels};
  NwRun run = {.seed = 1, .step = (uint64_t)b->plans.recipe.step++};
  int64_t correct;
  NW_TRY(nw_step_plans_get(&b->plans, b->n, &plan, error));
  return nw_step_plan_run(plan, &batch, &run, &b->loss, &correct, error);
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Seconds on the wall clock or, on a machine that others use too, of this process's own work. */
static double now(const Bench *b)
{
  struct timespec t;
  if (!b->cpu)
    return nw_clock();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Times of n steps in ms, into a new list. */
static NwStatus run_steps(Bench *b, int n, double **out, NwError *error)
{
  double *times = nw_alloc0((size_t)n * sizeof *times);
  NwStatus status = times != NULL ? NW_OK : nw_fail(error, NW_NO_MEMORY, "There is no memory.");
  for (int i = 0; i < n && status == NW_OK; i++) {
    double start = now(b);
    status = step(b, error);
    times[i] = (now(b) - start) * 1e3;
  }
  *out = times;
  return status;
}

static void print_info(const Bench *b)
{
  printf("\"first_ms\":%.3f,\"rss_mb\":%.1f,\"bare_mb\":%.1f,\"loss\":%.6f,\"threads\":%d,\"isa\":\"%s\"",
         b->first * 1e3, (double)nw_process_memory_peak() / 1e6, b->floor / 1e6, b->loss, nw_threads(),
         nw_isa_name(nw_isa()));
}

/* Best time of each step of the plan. */
static NwStatus print_profile(Bench *b, NwError *error)
{
  enum { MOST = 2048, ROUNDS = 15 };
  static struct {
    NwPlanStep step;
    double times[ROUNDS], best;
  } steps[MOST];
  NwStepPlan *plan = NULL;
  NW_TRY(nw_step_plans_get(&b->plans, b->n, &plan, error));
  int n = 0;
  nw_plan_set_timing(plan->plan, true);
  for (int round = 0; round < ROUNDS; round++) {
    NW_TRY(step(b, error));
    for (n = 0; n < MOST && (steps[n].step = nw_plan_step(plan->plan, n)).op != NULL; n++)
      steps[n].times[round] = steps[n].step.seconds * 1e3;
  }
  nw_plan_set_timing(plan->plan, false);
  for (int i = 0; i < n; i++) {
    qsort(steps[i].times, ROUNDS, sizeof(double), compare);
    steps[i].best = steps[i].times[0]; /* the least disturbed */
    const NwBlock *block = nw_network_find(b->network, steps[i].step.block);
    fprintf(stderr, "%8.3f ms  %-28s %-10s %s\n", steps[i].best, steps[i].step.op->id, steps[i].step.kernel,
            block != NULL ? block->name : "");
  }
  return NW_OK;
}

static NwStatus serve(Bench *b, NwError *error)
{
  char line[256];
  while (fgets(line, sizeof line, stdin) != NULL && strncmp(line, "quit", 4) != 0) {
    int n = 0;
    if (strncmp(line, "info", 4) == 0) {
      printf("{");
      print_info(b);
      printf("}\n");
    } else if (sscanf(line, "run %d", &n) == 1 && n > 0) {
      double *times = NULL;
      NwStatus status = run_steps(b, n, &times, error);
      for (int i = 0; i < n && status == NW_OK; i++)
        printf("%c%.4f", i == 0 ? '[' : ',', times[i]);
      nw_free(times);
      NW_TRY(status);
      printf("]\n");
    }
    fflush(stdout);
  }
  return NW_OK;
}

static NwStatus once(Bench *b, NwError *error)
{
  double *times = NULL;
  NwStatus status = run_steps(b, b->steps, &times, error);
  if (status == NW_OK) {
    qsort(times, (size_t)b->steps, sizeof *times, compare);
    printf("{\"net\":\"%s\",\"batch\":%lld,\"median_ms\":%.4f,\"min_ms\":%.4f,", b->net, (long long)b->n,
           times[b->steps / 2], times[0]);
    print_info(b);
    printf("}\n");
  }
  nw_free(times);
  return status;
}

static NwStatus bench(Bench *b, NwError *error)
{
  b->floor = (double)nw_process_memory();
  b->plans.recipe.step = 1;
  NW_TRY(make(b, error));
  b->plans.recipe.step = 1;
  double start = nw_clock();
  NW_TRY(step(b, error));
  b->first = nw_clock() - start;
  if (b->profile && !b->infer)
    NW_TRY(print_profile(b, error));
  return b->serve ? serve(b, error) : once(b, error);
}

int main(int argc, char **argv)
{
  Bench b = {.steps = 30};
  NwError error = {0};
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--infer") == 0)
      b.infer = true;
    else if (strcmp(argv[i], "--serve") == 0)
      b.serve = true;
    else if (strcmp(argv[i], "--cpu") == 0)
      b.cpu = true;
    else if (strcmp(argv[i], "--profile") == 0)
      b.profile = true;
    else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      nw_threads_set(atoi(argv[++i]));
    else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
      b.steps = atoi(argv[++i]);
    else if (b.net == NULL)
      b.net = argv[i];
    else
      b.n = atoll(argv[i]);
  for (int i = 0; i < NW_COUNT(shapes) && b.net != NULL; i++)
    if (strcmp(shapes[i].net, b.net) == 0) {
      b.channels = shapes[i].channels;
      b.side = shapes[i].side;
      b.classes = shapes[i].classes;
    }
  if (b.channels == 0 || b.n < 1 || b.steps < 1) {
    fprintf(stderr, "usage: bench-net mlp|simplecnn|lenet|simpleclassifier|resnet18 BATCH [--infer] "
                    "[--serve] [--profile] "
                    "[--threads N] [--steps N]\n");
    return 2;
  }
  NwStatus status = bench(&b, &error);
  if (status != NW_OK)
    fprintf(stderr, "%s\n", error.text);
  nw_predictor_free(b.predictor);
  nw_step_plans_clear(&b.plans);
  nw_moments_clear(&b.moments);
  nw_free(b.loss_attrs);
  nw_free(b.optimizer_attrs);
  nw_model_free(b.model);
  nw_network_free(b.network);
  nw_free(b.pixels);
  nw_free(b.input);
  nw_free(b.labels);
  nw_free(b.logits);
  return status == NW_OK ? 0 : 1;
}
