/* The engine's allocator: 64-byte aligned, counted, and able to fail on demand (tests fail every allocation once). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* All return NULL when there is no memory; size 0 is allowed and gives a block. Thread-safe. Free with nw_free. */
void *nw_alloc(size_t size);
void *nw_alloc0(size_t size);
void *nw_realloc(void *block, size_t old_size, size_t new_size); /* on failure the old block stays valid */
char *nw_strdup(const char *text);
void nw_free(void *block); /* NULL is allowed */

/* Large planned memory: mmap with huge pages advised; zeroed. Free with nw_unmap and the same size. */
void *nw_map(size_t size);
void nw_unmap(void *block, size_t size);

/* Test hook: the allocation number `countdown` from now (0: the next) fails once; < 0 switches the hook off. */
void nw_memory_fail_after(int64_t countdown);
/* Number of blocks that are allocated now, for leak checks. */
int64_t nw_memory_live(void);
