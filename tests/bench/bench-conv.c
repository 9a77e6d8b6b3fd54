/* bench-conv [ROUNDS]: rows "winograd" against rows "onednn" on single 3×3 convolutions, run by turns, so
 * that a busy machine is unfair to neither. Prints the medians in milliseconds and their ratio. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/machine.h"
#include "engine/base/memory.h"
#include "engine/base/threads.h"
#include "engine/op/op.h"

enum { MOST_ROUNDS = 99 };

typedef struct Layer {
  const char *name;
  int64_t n, ci, co, size;
} Layer;

typedef struct Job {
  const NwKernel *kernel;
  NwCall call;
  void *state;
  double times[MOST_ROUNDS];
} Job;

static void *filled(size_t bytes)
{
  float *data = nw_alloc(bytes);
  for (size_t i = 0; data != NULL && i < bytes / sizeof(float); i++)
    data[i] = (float)(i * 2654435761u % 1024) / 512 - 1;
  return data;
}

/* Prepares row `name` of op with the layouts that it wishes; false: it cannot run. */
static bool open_job(Job *job, const char *name, const NwOp *op, const void *attrs, const NwSpec *in,
                     int n_in)
{
  int32_t in_block[NW_MAX_PORTS] = {0}, out_block[NW_MAX_PORTS] = {0};
  size_t workspace = 0;
  *job = (Job){.call = {.op = op, .attrs = attrs, .n_in = n_in, .n_out = op->n_outputs}};
  memcpy(job->call.in, in, sizeof *in * (size_t)n_in);
  if (op->infer(op, attrs, in, n_in, job->call.out, NULL) != NW_OK)
    return false;
  for (int i = 0; i < op->n_kernels; i++)
    if (strcmp(op->kernels[i].name, name) == 0)
      job->kernel = &op->kernels[i];
  int lanes = nw_isa_lanes(nw_isa());
  if (job->kernel == NULL || !job->kernel->layout(&job->call, lanes, in_block, out_block))
    return false;
  for (int i = 0; i < n_in; i++) {
    job->call.in[i].block = in_block[i];
    if (job->call.in[i].ndim >= 0 && (job->call.in_data[i] = filled(nw_spec_bytes(&job->call.in[i]))) == NULL)
      return false;
  }
  for (int i = 0; i < op->n_outputs; i++) {
    job->call.out[i].block = out_block[i];
    if (job->call.out[i].ndim >= 0 &&
        (job->call.out_data[i] = filled(nw_spec_bytes(&job->call.out[i]))) == NULL)
      return false;
  }
  if (!job->kernel->supports(&job->call) ||
      job->kernel->prepare(&job->call, &job->state, &workspace, NULL) != NW_OK)
    return false;
  return (job->call.workspace = nw_alloc(workspace)) != NULL;
}

static void close_job(Job *job)
{
  if (job->kernel != NULL && job->kernel->release != NULL)
    job->kernel->release(job->state);
  for (int i = 0; i < job->call.n_in; i++)
    nw_free((void *)(uintptr_t)job->call.in_data[i]);
  for (int i = 0; i < job->call.n_out; i++)
    nw_free(job->call.out_data[i]);
  nw_free(job->call.workspace);
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* False: a run failed. */
static bool time_once(Job *job, int round)
{
  double start = nw_clock();
  bool ok = job->kernel->run(&job->call, job->state, NULL) == NW_OK;
  if (round >= 0)
    job->times[round] = (nw_clock() - start) * 1e3;
  return ok;
}

static void measure(const Layer *l, const char *id, int rounds)
{
  const NwOp *op = nw_op_find(id);
  void *attrs = nw_alloc0(op->attrs_size);
  char channels[24];
  snprintf(channels, sizeof channels, "%lld", (long long)l->co);
  nw_attrs_init(op, attrs);
  nw_attr_set_text(op, attrs, "out_channels", channels, NULL);
  nw_attr_set_text(op, attrs, "padding", "1", NULL);
  NwSpec x = nw_spec(NW_F32, 4, (int64_t[]){l->n, l->ci, l->size, l->size});
  NwSpec y = nw_spec(NW_F32, 4, (int64_t[]){l->n, l->co, l->size, l->size});
  NwSpec weight = nw_spec(NW_F32, 4, (int64_t[]){l->co, l->ci, 3, 3}), bias = nw_spec(NW_F32, 1, &l->co);
  NwSpec forward[] = {x, weight, bias}, grad_x[] = {y, weight, x}, grad_w[] = {y, x, weight};
  const NwSpec *in = strcmp(id, "conv2d") == 0 ? forward : strcmp(id, "conv2d_grad_x") == 0 ? grad_x : grad_w;
  Job own, other;
  bool ok = open_job(&own, "winograd", op, attrs, in, 3),
       both = open_job(&other, "onednn", op, attrs, in, 3) && ok;
  for (int round = -1; both && round < rounds; round++)
    both = time_once(&own, round) && time_once(&other, round);
  if (both) {
    qsort(own.times, (size_t)rounds, sizeof(double), compare);
    qsort(other.times, (size_t)rounds, sizeof(double), compare);
    double a = other.times[rounds / 2], b = own.times[rounds / 2];
    printf("%-14s %-14s %8.2f %8.2f %6.2f\n", l->name, id, a, b, a / b);
  } else
    printf("%-14s %-14s cannot be compared\n", l->name, id);
  fflush(stdout);
  close_job(&own);
  close_job(&other);
  nw_free(attrs);
}

int main(int argc, char **argv)
{
  static const Layer layers[] = {{"64@56 b16", 16, 64, 64, 56},
                                 {"128@28 b16", 16, 128, 128, 28},
                                 {"256@14 b16", 16, 256, 256, 14},
                                 {"512@7 b16", 16, 512, 512, 7},
                                 {"32-64@14 b64", 64, 32, 64, 14}};
  static const char *const passes[] = {"conv2d", "conv2d_grad_x", "conv2d_grad_w"};
  int rounds = argc > 1 ? atoi(argv[1]) : 9;
  rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
  printf("%s, %s, %d threads, %d rounds\n", nw_machine_cpu(), nw_isa_name(nw_isa()), nw_threads(), rounds);
  printf("%-14s %-14s %8s %8s %6s\n", "layer", "pass", "onednn", "winograd", "ratio");
  for (int l = 0; l < NW_COUNT(layers); l++)
    for (int p = 0; p < 3; p++)
      measure(&layers[l], passes[p], rounds);
  return 0;
}
