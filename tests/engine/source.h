/* A small set of pictures in memory as a batch source: the order depends on seed and epoch only. */
#pragma once

#include <glib.h>
#include <string.h>

#include "engine/base/philox.h"
#include "engine/train/source.h"

typedef struct NwtSource {
  NwBatchSource source;
  uint8_t *pixels; /* count × area */
  int64_t *labels;
  uint32_t *order;
  gboolean shuffle;
  uint64_t seed;
  int64_t area, at, batch_size;
  uint8_t *batch_pixels;
  int64_t *batch_labels;
  int64_t begins, ends, batches, open; /* open: batches taken and not released */
  void (*hook)(void *owner);           /* called before each batch; may be NULL */
  void *hook_owner;
  int64_t fail_at; /* batch number (from 1, over all) that fails; 0: never */
} NwtSource;

static inline NwStatus nwt_source_begin(void *owner, int64_t epoch, int64_t batch_size, int64_t first_batch,
                                        NwError *error)
{
  NwtSource *s = owner;
  for (uint32_t i = 0; i < s->source.count; i++)
    s->order[i] = i;
  if (s->shuffle)
    nw_shuffle((NwPhilox){s->seed, NW_STREAM_SHUFFLE}, (uint64_t)epoch, s->order, (uint32_t)s->source.count);
  s->at = first_batch * batch_size;
  s->batch_size = batch_size;
  s->batch_pixels = g_realloc(s->batch_pixels, (gsize)(batch_size * s->area));
  s->batch_labels = g_realloc(s->batch_labels, (gsize)batch_size * sizeof *s->batch_labels);
  s->begins++;
  return NW_OK;
}

static inline NwStatus nwt_source_next(void *owner, NwBatch *batch, NwError *error)
{
  NwtSource *s = owner;
  int64_t n = MIN(s->batch_size, s->source.count - s->at);
  g_assert_cmpint(s->open, ==, 0);
  *batch = (NwBatch){0};
  if (n <= 0)
    return NW_OK;
  s->batches++;
  if (s->hook != NULL)
    s->hook(s->hook_owner);
  if (s->fail_at == s->batches)
    return nw_fail(error, NW_IO, "The disk with the pictures is gone.");
  for (int64_t i = 0; i < n; i++) {
    int64_t from = s->order[s->at + i];
    memcpy(s->batch_pixels + i * s->area, s->pixels + from * s->area, (gsize)s->area);
    s->batch_labels[i] = s->labels[from];
  }
  s->at += n;
  s->open++;
  *batch = (NwBatch){.n = n, .pixels = s->batch_pixels, .labels = s->batch_labels};
  return NW_OK;
}

static inline void nwt_source_release(void *owner, NwBatch *batch)
{
  ((NwtSource *)owner)->open--;
}

static inline void nwt_source_end(void *owner)
{
  ((NwtSource *)owner)->ends++;
}

/* Bright squares: the class is where the square lies. Easy, but not in one step. */
static inline NwtSource *nwt_source_new(int64_t count, int64_t size, int64_t classes, uint64_t seed,
                                        gboolean shuffle)
{
  NwtSource *s = g_new0(NwtSource, 1);
  s->area = size * size;
  s->seed = seed;
  s->shuffle = shuffle;
  s->source = (NwBatchSource){s,
                              count,
                              1,
                              size,
                              size,
                              classes,
                              nwt_source_begin,
                              nwt_source_next,
                              nwt_source_release,
                              nwt_source_end};
  s->pixels = g_malloc((gsize)(count * s->area));
  s->labels = g_new(int64_t, count);
  s->order = g_new(uint32_t, count);
  for (int64_t i = 0; i < count; i++) {
    int64_t label = s->labels[i] = i % classes, side = size / 2;
    for (int64_t p = 0; p < s->area; p++) {
      int64_t y = p / size, x = p % size;
      gboolean inside = (y / side) * 2 + x / side == label % 4;
      uint32_t noise = nw_philox((NwPhilox){seed, 90}, (uint64_t)i, (uint64_t)p) % 120;
      s->pixels[i * s->area + p] = (uint8_t)(noise + (inside ? 100 : 0));
    }
  }
  return s;
}

static inline void nwt_source_free(NwtSource *s)
{
  g_free(s->pixels);
  g_free(s->labels);
  g_free(s->order);
  g_free(s->batch_pixels);
  g_free(s->batch_labels);
  g_free(s);
}
