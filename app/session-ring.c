#include "app/session-internal.h"

gboolean nw_ring_push(NwRing *ring, const NwSessionEvent *event)
{
  guint head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  if (head - atomic_load_explicit(&ring->tail, memory_order_acquire) == NW_RING_SIZE)
    return FALSE;
  ring->events[head % NW_RING_SIZE] = *event;
  atomic_store_explicit(&ring->head, head + 1, memory_order_release);
  return TRUE;
}

gboolean nw_ring_pop(NwRing *ring, NwSessionEvent *event)
{
  guint tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  if (tail == atomic_load_explicit(&ring->head, memory_order_acquire))
    return FALSE;
  *event = ring->events[tail % NW_RING_SIZE];
  atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
  return TRUE;
}
