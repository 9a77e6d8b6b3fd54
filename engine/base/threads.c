#include "engine/base/threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

/* libgomp's stable C interface, declared here so that every compiler can use the same pool as oneDNN. */
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_in_parallel(void);
void omp_set_num_threads(int n);

static _Atomic int budget;

int nw_threads_available(void)
{
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return n > 0 ? n : 1;
}

int nw_threads(void)
{
  int n = atomic_load_explicit(&budget, memory_order_relaxed);
  if (n == 0) {
    n = nw_threads_available();
    atomic_store(&budget, n);
  }
  return n;
}

void nw_threads_set(int n)
{
  atomic_store(&budget, n > 0 ? n : 1);
}

typedef struct Loop {
  int64_t n, grain, piece;
  NwParallelBody body;
  void *context;
} Loop;

static void run_piece(void *data)
{
  Loop *loop = data;
  int thread = omp_get_thread_num();
  int64_t begin = thread * loop->piece, end = begin + loop->piece;
  if (begin < loop->n)
    loop->body(loop->context, begin, end < loop->n ? end : loop->n, thread);
}

void nw_parallel(int64_t n, int64_t grain, NwParallelBody body, void *context)
{
  if (n <= 0)
    return;
  grain = grain > 0 ? grain : 1;
  int64_t grains = (n + grain - 1) / grain;
  int threads = nw_threads();
  if (threads > grains)
    threads = (int)grains;
  if (threads <= 1 || omp_in_parallel()) {
    body(context, 0, n, 0);
    return;
  }
  Loop loop = {n, grain, (grains + threads - 1) / threads * grain, body, context};
  GOMP_parallel(run_piece, &loop, (unsigned)threads, 0);
}

double nw_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
