/* The one budget of compute threads and the loop that uses it. OpenMP's pool stands behind it, shared with oneDNN, so
 * that the process never holds two pools that fight for the cores. */
#pragma once

#include <stdint.h>

/* Number of threads that kernels use; at least 1. Default: the cores this process may run on. Set before the first
 * plan runs on a thread; a later change takes effect at the next parallel region. Thread-safe. */
void nw_threads_set(int n);
int nw_threads(void);
/* Cores available to this process (sched_getaffinity). */
int nw_threads_available(void);

/* Calls body(context, begin, end, thread) for a fixed split of [0, n) into at most nw_threads() pieces whose
 * boundaries are multiples of `grain`. The split depends only on n, grain and the number of threads. With one piece it
 * runs on the calling thread. body must not fail. */
typedef void (*NwParallelBody)(void *context, int64_t begin, int64_t end, int thread);
void nw_parallel(int64_t n, int64_t grain, NwParallelBody body, void *context);

/* Seconds on the monotonic clock. */
double nw_clock(void);
