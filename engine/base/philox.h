/* Philox4x32-10, a counter-based random generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
 * Every random number of a run is a function of (seed, stream, step, element), so results depend on neither the number
 * of threads nor the order of work, and resume needs no saved state but the counters. */
#pragma once

#include <stdint.h>

/* Streams keep users of one seed apart; add at the end, never renumber. Ops use NW_STREAM_OP + their own number. */
enum {
  NW_STREAM_INIT = 1,    /* parameter initialisation; step = parameter index */
  NW_STREAM_SPLIT = 2,   /* train/validation split */
  NW_STREAM_SHUFFLE = 3, /* order of pictures; step = epoch */
  NW_STREAM_AUGMENT = 4, /* transforms; step = epoch, element = picture */
  NW_STREAM_OP = 1000    /* dropout and such; step = training step */
};

typedef struct NwPhilox {
  uint64_t seed;
  uint32_t stream;
} NwPhilox;

/* Four 32-bit numbers for block `index` (elements 4*index .. 4*index+3) of `step`. */
void nw_philox4(NwPhilox key, uint64_t step, uint64_t index, uint32_t out[4]);
/* One number of the sequence: out[element % 4] of block element / 4. */
uint32_t nw_philox(NwPhilox key, uint64_t step, uint64_t element);
/* Uniform in [0, 1), 24 bits; uniform double with 53 bits uses two numbers of block `element`. */
float nw_uniform(NwPhilox key, uint64_t step, uint64_t element);
double nw_uniform_double(NwPhilox key, uint64_t step, uint64_t element);
/* Standard normal by Box-Muller from block `element`. */
double nw_normal(NwPhilox key, uint64_t step, uint64_t element);
/* Fisher-Yates over items[0..n-1] with the numbers of (key, step). */
void nw_shuffle(NwPhilox key, uint64_t step, uint32_t *items, uint32_t n);
