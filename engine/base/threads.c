#include "engine/base/threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

/* libgomp's stable C interface, declared here so that every compiler can use the same pool as oneDNN. */
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_in_parallel(void);
void omp_set_num_threads(int n);

/* libgomp's fork and join order memory, but it is not built with the thread sanitizer, which is told here. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define ACQUIRE(address) __tsan_acquire(address)
#define RELEASE(address) __tsan_release(address)
#else
#define ACQUIRE(address) ((void)0)
#define RELEASE(address) ((void)0)
#endif

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
  int64_t n, piece;
  int pieces;
  NwParallelBody body;
  void *context;
} Loop;

static void run_piece(void *data)
{
  Loop *loop = data;
  ACQUIRE(loop);
  /* The pool may be smaller than asked for (OMP_THREAD_LIMIT): then a thread takes several pieces. */
  for (int k = omp_get_thread_num(); k < loop->pieces; k += omp_get_num_threads()) {
    int64_t begin = k * loop->piece, end = begin + loop->piece;
    if (begin < loop->n)
      loop->body(loop->context, begin, end < loop->n ? end : loop->n, k);
  }
  RELEASE(loop);
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
  Loop loop = {n, (grains + threads - 1) / threads * grain, threads, body, context};
  RELEASE(&loop);
  GOMP_parallel(run_piece, &loop, (unsigned)threads, 0);
  ACQUIRE(&loop);
}

double nw_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
