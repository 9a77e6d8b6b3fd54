#include "engine/base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

static _Atomic int64_t live;
static _Atomic int64_t countdown = -1;

/* True when the hook says that this allocation fails. */
static int fails_now(void)
{
  int64_t left = atomic_load_explicit(&countdown, memory_order_relaxed);
  while (left >= 0)
    if (atomic_compare_exchange_weak(&countdown, &left, left - 1))
      return left == 0;
  return 0;
}

void nw_memory_fail_after(int64_t n)
{
  atomic_store(&countdown, n);
}

int64_t nw_memory_live(void)
{
  return atomic_load(&live);
}

void *nw_alloc(size_t size)
{
  if (size > SIZE_MAX - ALIGNMENT || fails_now())
    return NULL;
  size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *block = aligned_alloc(ALIGNMENT, rounded > 0 ? rounded : ALIGNMENT);
  if (block != NULL)
    atomic_fetch_add(&live, 1);
  return block;
}

void *nw_alloc0(size_t size)
{
  void *block = nw_alloc(size);
  if (block != NULL)
    memset(block, 0, size);
  return block;
}

void *nw_realloc(void *block, size_t old_size, size_t new_size)
{
  void *grown = nw_alloc(new_size);
  if (grown != NULL && block != NULL) {
    memcpy(grown, block, old_size < new_size ? old_size : new_size);
    nw_free(block);
  }
  return grown;
}

char *nw_strdup(const char *text)
{
  size_t n = strlen(text) + 1;
  char *copy = nw_alloc(n);
  if (copy != NULL)
    memcpy(copy, text, n);
  return copy;
}

void nw_free(void *block)
{
  if (block == NULL)
    return;
  atomic_fetch_sub(&live, 1);
  free(block);
}

void *nw_map(size_t size)
{
  if (size == 0 || fails_now())
    return NULL;
  void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED)
    return NULL;
  if (size >= HUGE_PAGE)
    madvise(block, size, MADV_HUGEPAGE);
  atomic_fetch_add(&live, 1);
  return block;
}

void nw_unmap(void *block, size_t size)
{
  if (block == NULL)
    return;
  atomic_fetch_sub(&live, 1);
  munmap(block, size);
}
