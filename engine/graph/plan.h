/* A compiled graph: kernels picked and prepared, one arena planned, run without allocating.
 *
 * Passes: dead code, fusion (from the rows), layout (blocked values with reorders where they differ), in
 * place, memory planning. With `exact` none of the numeric ones: the plan then runs the tape's kernels and
 * agrees bit for bit. */
#pragma once

#include "engine/graph/graph.h"

typedef struct NwPlanOptions {
  bool exact;         /* no fusion, no layout change, only NW_KERNEL_EXACT kernels */
  bool frozen_params; /* PARAM and STATE inputs keep their numbers until nw_plan_refresh: fold and cache */
  bool dry;           /* only measure: no arena is taken, the plan cannot run ("does this batch fit?") */
} NwPlanOptions;

typedef struct NwPlan NwPlan;

/* Compiles what is needed for keep[0..n_keep-1] and for ops with side effects. The graph is consumed (freed
 * by the plan, also on failure); its value handles stay valid for bind and data. Errors carry the block.
 * NW_NO_MEMORY names the bytes that the arena needs. */
NwStatus nw_plan_compile(NwGraph *graph, const NwVal *keep, int n_keep, const NwPlanOptions *options,
                         NwPlan **out, NwError *error);
void nw_plan_free(NwPlan *plan);

/* Gives an input its memory (borrowed; plain layout; 64-byte aligned is best). All used inputs must be bound.
 * May be called between runs, costs little, and refreshes when the memory of a PARAM or STATE input changes.
 */
NwStatus nw_plan_bind(NwPlan *plan, NwVal input, void *data, NwError *error);
/* Runs every step on the calling thread (kernels use nw_threads()). Allocates nothing after the first run. */
NwStatus nw_plan_run(NwPlan *plan, const NwRun *run, NwError *error);
/* Frozen parameters have changed. */
void nw_plan_refresh(NwPlan *plan);
/* A kept value after a run, in plain layout; valid until the next run. */
const void *nw_plan_data(const NwPlan *plan, NwVal value);

typedef struct NwPlanMemory {
  size_t arena; /* bytes planned */
  size_t naive; /* if every value had its own memory */
  size_t lower; /* most bytes alive at once */
} NwPlanMemory;
void nw_plan_memory(const NwPlan *plan, NwPlanMemory *memory);

/* The steps, for the profiler and tests: op, kernel, block; NULL op past the end. seconds: spent in the last
 * run when timing is on. */
typedef struct NwPlanStep {
  const NwOp *op;
  const char *kernel;
  uint32_t block;
  double seconds;
} NwPlanStep;
NwPlanStep nw_plan_step(const NwPlan *plan, int index);
void nw_plan_set_timing(NwPlan *plan, bool on);
