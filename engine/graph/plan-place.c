/* Offsets for buffers with lifetimes (the "dynamic storage allocation" problem, which is hard to solve
 * exactly): greedy best fit in a few orders, then in shaken ones, the best kept. The first order that
 * comes close to the lower bound ends the search. */
#include "engine/graph/graph-internal.h"

#include <stdlib.h>

#include "engine/base/memory.h"

typedef struct Item {
  NwBuffer *buffer;
  double rank;
} Item;

typedef double (*Rank)(const NwBuffer *buffer);

static double by_size(const NwBuffer *b)
{
  return (double)b->bytes;
}

static double by_area(const NwBuffer *b)
{
  return (double)b->bytes * (double)(b->to - b->from + 1);
}

static double by_length(const NwBuffer *b)
{
  return (double)(b->to - b->from + 1);
}

static double by_time(const NwBuffer *b)
{
  return -(double)b->from;
}

static int compare(const void *a, const void *b)
{
  const Item *x = a, *y = b;
  if (x->rank != y->rank)
    return x->rank > y->rank ? -1 : 1;
  if (x->buffer->from != y->buffer->from)
    return x->buffer->from < y->buffer->from ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

/* The lowest tightest gap among the buffers placed so far that live at the same time; placed is sorted by
 * offset. */
static size_t best_gap(NwBuffer *const *placed, int n, const NwBuffer *buffer)
{
  size_t end = 0, best = 0, best_size = SIZE_MAX;
  for (int i = 0; i < n; i++) {
    const NwBuffer *other = placed[i];
    if (other->from > buffer->to || buffer->from > other->to)
      continue;
    if (other->offset > end) {
      size_t gap = other->offset - end;
      if (gap >= buffer->bytes && gap < best_size) {
        best_size = gap;
        best = end;
      }
    }
    if (other->offset + other->bytes > end)
      end = other->offset + other->bytes;
  }
  return best_size != SIZE_MAX ? best : end;
}

static void insert(NwBuffer **placed, int n, NwBuffer *buffer)
{
  int at = n;
  while (at > 0 && placed[at - 1]->offset > buffer->offset) {
    placed[at] = placed[at - 1];
    at--;
  }
  placed[at] = buffer;
}

static size_t place(Item *items, NwBuffer **placed, int n)
{
  size_t arena = 0;
  for (int i = 0; i < n; i++) {
    NwBuffer *buffer = items[i].buffer;
    buffer->offset = best_gap(placed, i, buffer);
    insert(placed, i, buffer);
    if (buffer->offset + buffer->bytes > arena)
      arena = buffer->offset + buffer->bytes;
  }
  return arena;
}

enum { TRIES = 100 };

/* Rank of a buffer in the k-th order. Shaken orders are always shaken the same way: a plan must not depend on
 * chance. */
static double rank_of(const NwBuffer *buffer, int k, uint32_t *state)
{
  static const Rank ranks[] = {by_size, by_area, by_time, by_length};
  if (k < NW_COUNT(ranks))
    return ranks[k](buffer);
  *state = *state * 1664525u + 1013904223u;
  return ranks[k % 2](buffer) * (0.5 + (double)(*state >> 8) / (1 << 24));
}

NwStatus nw_buffers_place(NwBuffer *buffers, int n, size_t lower, size_t *arena, NwError *error)
{
  uint32_t state = 1;
  Item *items = nw_alloc(sizeof *items * (size_t)n);
  NwBuffer **placed = nw_alloc(sizeof *placed * (size_t)n);
  size_t *best = nw_alloc(sizeof *best * (size_t)n);
  NwStatus status = NW_OK;
  *arena = SIZE_MAX;
  if (items == NULL || placed == NULL || best == NULL)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory to plan the arena.");
  for (int k = 0; k < TRIES && status == NW_OK && *arena > lower + lower / 100; k++) {
    for (int i = 0; i < n; i++)
      items[i] = (Item){&buffers[i], rank_of(&buffers[i], k, &state)};
    qsort(items, (size_t)n, sizeof *items, compare);
    size_t need = place(items, placed, n);
    if (need >= *arena)
      continue;
    *arena = need;
    for (int i = 0; i < n; i++)
      best[i] = buffers[i].offset;
  }
  for (int i = 0; i < n && status == NW_OK; i++)
    buffers[i].offset = best[i];
  nw_free(items);
  nw_free(placed);
  nw_free(best);
  return status;
}
