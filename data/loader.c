/* Threads that fill batch slots. The work of an epoch is a list of batches; a thread takes the next few
 * pictures of the first batch that is not wholly taken. pthreads, not GLib's locks, so that the thread
 * sanitizer understands them. */
#include "data/loader.h"

#include <pthread.h>
#include <string.h>

#include "data/loader-set.h"
#include "data/words.h"
#include "engine/base/philox.h"
#include "engine/base/threads.h"

#define SLOTS 5
#define THREADS_MAX 64

typedef enum SlotState { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_TAKEN } SlotState;

typedef struct Slot {
  SlotState state;
  guint64 batch;
  guint n, claimed, done;
  guint8 *pixels;
  gint64 *labels;
  guint32 *index;
  NwStatus status;
  NwError error;
} Slot;

struct NwLoader {
  NwSet *set;
  NwBatchSource source;
  gboolean training;
  guint64 seed;
  guint n_threads, chunk;
  pthread_t threads[THREADS_MAX];
  guint32 *order; /* positions in the split, of the running epoch */

  pthread_mutex_t mutex;
  pthread_cond_t work, ready; /* ready: a batch is full, or a thread went idle */
  gboolean quit, running;     /* and all below: under the mutex */
  guint busy;
  guint64 epoch, batch_size, batches, fill, out; /* fill, out: next batch to claim from, to hand out */
  Slot slots[SLOTS];
  gsize slot_pictures; /* room in each slot */
};

static guint batch_length(const NwLoader *loader, guint64 batch)
{
  guint64 first = batch * loader->batch_size, count = (guint64)loader->source.count;
  return (guint)MIN(loader->batch_size, count - first);
}

/* Under the mutex: pictures [*first, *first + *n) of a slot; NULL when there is nothing to do now. */
static Slot *claim(NwLoader *loader, guint *first, guint *n)
{
  if (!loader->running || loader->fill >= loader->batches)
    return NULL;
  Slot *slot = &loader->slots[loader->fill % SLOTS];
  if (slot->state == SLOT_FREE) {
    slot->state = SLOT_FILLING;
    slot->batch = loader->fill;
    slot->n = batch_length(loader, loader->fill);
    slot->claimed = slot->done = 0;
    slot->status = NW_OK;
  } else if (slot->state != SLOT_FILLING || slot->batch != loader->fill) {
    return NULL;
  }
  *first = slot->claimed;
  *n = MIN(loader->chunk, slot->n - slot->claimed);
  slot->claimed += *n;
  if (slot->claimed == slot->n)
    loader->fill++;
  return slot;
}

static NwStatus fill(NwLoader *loader, NwFetch *fetch, Slot *slot, guint first, guint n, guint64 epoch,
                     guint64 start, NwError *error)
{
  gsize size = (gsize)(loader->source.channels * loader->source.height * loader->source.width);
  for (guint i = first; i < first + n; i++) {
    guint32 position = loader->order[start + i], shown = position;
    NW_TRY(nw_set_picture(loader->set, fetch, position, epoch, slot->pixels + i * size, &shown, error));
    slot->index[i] = shown;
    slot->labels[i] = nw_set_label(loader->set, shown);
  }
  return NW_OK;
}

static void *loader_thread(void *data)
{
  NwLoader *loader = data;
  NwFetch fetch = {0};
  pthread_mutex_lock(&loader->mutex);
  while (!loader->quit) {
    guint first, n;
    Slot *slot = claim(loader, &first, &n);
    if (!slot) {
      pthread_cond_wait(&loader->work, &loader->mutex);
      continue;
    }
    guint64 epoch = loader->epoch, start = slot->batch * loader->batch_size;
    loader->busy++;
    pthread_mutex_unlock(&loader->mutex);
    NwError error = {0};
    NwStatus status = fill(loader, &fetch, slot, first, n, epoch, start, &error);
    pthread_mutex_lock(&loader->mutex);
    loader->busy--;
    slot->done += n;
    if (status != NW_OK && slot->status == NW_OK) {
      slot->status = status;
      slot->error = error;
    }
    if (slot->done == slot->n)
      slot->state = SLOT_READY;
    pthread_cond_broadcast(&loader->ready);
  }
  pthread_mutex_unlock(&loader->mutex);
  nw_fetch_clear(&fetch);
  return NULL;
}

/* Under the mutex: no thread works on this epoch any more. */
static void stop_epoch(NwLoader *loader)
{
  loader->running = FALSE;
  nw_set_interrupt(loader->set, TRUE);
  while (loader->busy > 0)
    pthread_cond_wait(&loader->ready, &loader->mutex);
  nw_set_interrupt(loader->set, FALSE);
  for (int i = 0; i < SLOTS; i++)
    loader->slots[i].state = SLOT_FREE;
}

static void free_slots(NwLoader *loader)
{
  for (int i = 0; i < SLOTS; i++) {
    g_free(loader->slots[i].pixels);
    g_free(loader->slots[i].labels);
    g_free(loader->slots[i].index);
    memset(&loader->slots[i], 0, sizeof loader->slots[i]);
  }
  loader->slot_pictures = 0;
}

static NwStatus make_slots(NwLoader *loader, gsize pictures, NwError *error)
{
  gsize size = (gsize)(loader->source.channels * loader->source.height * loader->source.width);
  if (pictures <= loader->slot_pictures)
    return NW_OK;
  free_slots(loader);
  for (int i = 0; i < SLOTS; i++) {
    Slot *slot = &loader->slots[i];
    slot->pixels = g_try_malloc(pictures * size + 64);
    slot->labels = g_try_new(gint64, pictures);
    slot->index = g_try_new(guint32, pictures);
    if (!slot->pixels || !slot->labels || !slot->index) {
      free_slots(loader);
      return nw_fail(error, NW_NO_MEMORY,
                     _("No memory for batches of %zu pictures. Choose a smaller batch size."), pictures);
    }
  }
  loader->slot_pictures = pictures;
  return NW_OK;
}

/* --- the trainer's side --- */

static NwStatus source_begin(void *owner, int64_t epoch, int64_t batch_size, int64_t first_batch,
                             NwError *error)
{
  NwLoader *loader = owner;
  if (batch_size < 1 || batch_size > 1 << 24 || first_batch < 0 || epoch < 0)
    return nw_fail(error, NW_BAD_ARGUMENT, "an epoch cannot begin at batch %lld of %lld pictures",
                   (long long)first_batch, (long long)batch_size);
  pthread_mutex_lock(&loader->mutex);
  stop_epoch(loader);
  guint32 count = (guint32)loader->source.count;
  NwStatus status = make_slots(loader, (gsize)MIN(batch_size, (int64_t)count), error);
  if (status == NW_OK) {
    for (guint32 i = 0; i < count; i++)
      loader->order[i] = i;
    if (loader->training)
      nw_shuffle((NwPhilox){loader->seed, NW_STREAM_SHUFFLE}, (uint64_t)epoch, loader->order, count);
    loader->epoch = (guint64)epoch;
    loader->batch_size = (guint64)batch_size;
    loader->batches = (count + loader->batch_size - 1) / loader->batch_size;
    loader->fill = loader->out = (guint64)first_batch;
    /* Pictures in memory are copied in a moment; files are worth a lock each few. */
    loader->chunk = nw_set_is_quick(loader->set) ? (guint)MIN(loader->batch_size, 1024u) : 2;
    loader->running = TRUE;
    pthread_cond_broadcast(&loader->work);
  }
  pthread_mutex_unlock(&loader->mutex);
  return status;
}

static NwStatus source_next(void *owner, NwBatch *batch, NwError *error)
{
  NwLoader *loader = owner;
  memset(batch, 0, sizeof *batch);
  pthread_mutex_lock(&loader->mutex);
  if (!loader->running) {
    pthread_mutex_unlock(&loader->mutex);
    return nw_fail(error, NW_BAD_STATE, "no epoch was begun");
  }
  if (loader->out >= loader->batches) { /* n is 0: the epoch is over */
    pthread_mutex_unlock(&loader->mutex);
    return NW_OK;
  }
  Slot *slot = &loader->slots[loader->out % SLOTS];
  if (slot->state == SLOT_TAKEN) {
    pthread_mutex_unlock(&loader->mutex);
    return nw_fail(error, NW_BAD_STATE, "too many batches are held");
  }
  while (slot->state != SLOT_READY || slot->batch != loader->out)
    pthread_cond_wait(&loader->ready, &loader->mutex);
  NwStatus status = slot->status;
  if (status != NW_OK) {
    if (error)
      *error = slot->error;
  } else {
    slot->state = SLOT_TAKEN;
    *batch = (NwBatch){slot->n, slot->pixels, slot->labels, slot->index, slot};
    loader->out++;
  }
  pthread_mutex_unlock(&loader->mutex);
  return status;
}

static void source_release(void *owner, NwBatch *batch)
{
  NwLoader *loader = owner;
  Slot *slot = batch->slot;
  if (!slot)
    return;
  pthread_mutex_lock(&loader->mutex);
  if (slot->state == SLOT_TAKEN)
    slot->state = SLOT_FREE;
  pthread_cond_broadcast(&loader->work);
  pthread_mutex_unlock(&loader->mutex);
  memset(batch, 0, sizeof *batch);
}

static void source_end(void *owner)
{
  NwLoader *loader = owner;
  pthread_mutex_lock(&loader->mutex);
  stop_epoch(loader);
  pthread_mutex_unlock(&loader->mutex);
}

/* --- life --- */

NwStatus nw_loader_new(const NwManifest *manifest, NwSplit split, const NwPreprocessing *preprocessing,
                       gboolean training, guint64 seed, guint threads, NwLoader **out, NwError *error)
{
  NwSet *set;
  *out = NULL;
  NW_TRY(nw_set_new(manifest, split, preprocessing, training, seed, &set, error));
  NwLoader *loader = g_new0(NwLoader, 1);
  loader->set = set;
  loader->training = training;
  loader->seed = seed;
  loader->order = g_new(guint32, nw_set_count(set));
  pthread_mutex_init(&loader->mutex, NULL);
  pthread_cond_init(&loader->work, NULL);
  pthread_cond_init(&loader->ready, NULL);
  loader->source = (NwBatchSource){.owner = loader,
                                   .count = nw_set_count(set),
                                   .channels = preprocessing->channels,
                                   .height = preprocessing->height,
                                   .width = preprocessing->width,
                                   .classes = manifest->classes->len,
                                   .begin = source_begin,
                                   .next = source_next,
                                   .release = source_release,
                                   .end = source_end};
  guint wanted = threads ? threads : nw_set_is_quick(set) ? 1 : (guint)nw_threads_available();
  wanted = CLAMP(wanted, 1, THREADS_MAX);
  while (loader->n_threads < wanted &&
         pthread_create(&loader->threads[loader->n_threads], NULL, loader_thread, loader) == 0)
    loader->n_threads++;
  if (loader->n_threads == 0) {
    nw_loader_free(loader);
    return nw_fail(error, NW_NO_MEMORY, _("No thread could be started to load pictures."));
  }
  *out = loader;
  return NW_OK;
}

void nw_loader_free(NwLoader *loader)
{
  if (!loader)
    return;
  pthread_mutex_lock(&loader->mutex);
  loader->quit = TRUE;
  loader->running = FALSE;
  nw_set_interrupt(loader->set, TRUE);
  pthread_cond_broadcast(&loader->work);
  pthread_mutex_unlock(&loader->mutex);
  for (guint i = 0; i < loader->n_threads; i++)
    pthread_join(loader->threads[i], NULL);
  free_slots(loader);
  pthread_cond_destroy(&loader->work);
  pthread_cond_destroy(&loader->ready);
  pthread_mutex_destroy(&loader->mutex);
  nw_set_free(loader->set);
  g_free(loader->order);
  g_free(loader);
}

NwBatchSource *nw_loader_source(NwLoader *loader)
{
  return &loader->source;
}

guint nw_loader_replaced(NwLoader *loader)
{
  return nw_set_replaced(loader->set);
}

GPtrArray *nw_loader_replaced_texts(NwLoader *loader)
{
  return nw_set_replaced_texts(loader->set);
}

guint nw_loader_picture(NwLoader *loader, guint32 index)
{
  return nw_set_entry_index(loader->set, index);
}
