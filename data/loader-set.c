#include "data/loader-set.h"

#include <pthread.h>
#include <string.h>

#include "data/words.h"
#include "engine/base/machine.h"

#define KEPT_SIDE 64
#define KEPT_BYTES ((guint64)2 << 30)
#define STRIPES 16

struct NwSet {
  const NwManifest *manifest;
  const GArray *list; /* transforms */
  guint channels, height, width;
  NwPhilox key;
  guint32 count, *entries;                            /* position → index of manifest->pictures */
  guint32 *class_first, *class_members, *class_place; /* members by class; place of a position in its class */
  guint fixed;                                        /* transforms at the front that are not random */
  guint8 *kept; /* pixels behind the fixed ones; NULL: not small enough */
  gsize *kept_at;
  guint16 *kept_size;        /* width, height */
  gint *kept_state, *failed; /* atomic */
  gint interrupted;
  pthread_mutex_t stripes[STRIPES], mutex;
  GPtrArray *texts; /* under mutex */
  guint replaced;
};

static const NwPictureEntry *entry_of(const NwSet *set, guint32 position)
{
  return &g_array_index(set->manifest->pictures, NwPictureEntry, set->entries[position]);
}

static gboolean is_packed(const NwSet *set)
{
  return set->manifest->store->packed.pixels != NULL;
}

/* --- making it --- */

/* A crop that is larger than a picture, or a list that ends at another size, is found here and not in the
 * run. */
static NwStatus check_sizes(const NwSet *set, NwError *error)
{
  NwStep steps[NW_STEPS_MAX];
  for (guint32 i = 0; i < set->count; i++) {
    const NwPictureEntry *entry = entry_of(set, i);
    guint n, w, h;
    NwStatus status =
        nw_transform_draw(set->list, entry->width, entry->height, set->key, 0, i, steps, &n, &w, &h, error);
    if (status != NW_OK)
      return entry->path ? nw_error_prefix(error, status, "%s", entry->path) : status;
    if (w != set->width || h != set->height)
      return nw_fail(error, NW_BAD_ARGUMENT,
                     _("The transforms turn a picture of %u × %u into %u × %u; the network wants %u × %u. "
                       "End the list with "
                       "a Resize or a crop to that size."),
                     entry->width, entry->height, w, h, set->width, set->height);
    if (is_packed(set))
      return NW_OK; /* all have one size */
  }
  return NW_OK;
}

static void group_by_class(NwSet *set)
{
  guint classes = set->manifest->classes->len;
  set->class_first = g_new0(guint32, classes + 1);
  set->class_members = g_new(guint32, set->count);
  set->class_place = g_new(guint32, set->count);
  guint32 *filled = g_new0(guint32, classes + 1);
  for (guint32 i = 0; i < set->count; i++)
    set->class_first[entry_of(set, i)->label + 1]++;
  for (guint c = 0; c < classes; c++)
    set->class_first[c + 1] += set->class_first[c];
  for (guint32 i = 0; i < set->count; i++) {
    guint label = entry_of(set, i)->label;
    set->class_place[i] = filled[label];
    set->class_members[set->class_first[label] + filled[label]++] = i;
  }
  g_free(filled);
}

/* Pictures that are small behind the fixed transforms get a place in memory. */
static void plan_memory(NwSet *set)
{
  NwStep steps[NW_STEPS_MAX];
  guint64 total = 0, budget = MIN(KEPT_BYTES, nw_machine_memory_free() / 4);
  while (set->fixed < set->list->len &&
         !nw_transform_is_random(g_array_index(set->list, NwTransform, set->fixed).kind))
    set->fixed++;
  gsize *at = g_new(gsize, set->count);
  guint16 *size = g_new(guint16, 2 * (gsize)set->count);
  gboolean small = TRUE, same = TRUE;
  for (guint32 i = 0; i < set->count && small; i++) {
    const NwPictureEntry *entry = entry_of(set, i);
    guint n, w, h;
    small = nw_transform_draw_range(set->list, 0, set->fixed, entry->width, entry->height, set->key, 0, i,
                                    steps, &n, &w, &h, NULL) == NW_OK &&
            w <= KEPT_SIDE && h <= KEPT_SIDE;
    same = same && n == 0;
    at[i] = total;
    size[2 * (gsize)i] = (guint16)w;
    size[2 * (gsize)i + 1] = (guint16)h;
    total += (guint64)w * h * set->channels;
  }
  /* A packed set that is not changed lies in memory already. */
  gboolean there = is_packed(set) && same && set->manifest->store->packed.channels == set->channels;
  if (small && !there && total <= budget)
    set->kept = g_try_malloc(total + 64);
  if (set->kept) {
    set->kept_at = at;
    set->kept_size = size;
    set->kept_state = g_new0(gint, set->count);
  } else {
    g_free(at);
    g_free(size);
  }
}

NwStatus nw_set_new(const NwManifest *manifest, NwSplit split, const NwPreprocessing *preprocessing,
                    gboolean training, guint64 seed, NwSet **out, NwError *error)
{
  NwSet *set = g_new0(NwSet, 1);
  *out = NULL;
  set->manifest = manifest;
  set->list = training ? preprocessing->train : preprocessing->eval;
  set->channels = preprocessing->channels;
  set->height = preprocessing->height;
  set->width = preprocessing->width;
  set->key = (NwPhilox){seed, NW_STREAM_AUGMENT};
  set->entries = g_new(guint32, manifest->pictures->len + 1);
  set->texts = g_ptr_array_new_with_free_func(g_free);
  pthread_mutex_init(&set->mutex, NULL);
  for (int i = 0; i < STRIPES; i++)
    pthread_mutex_init(&set->stripes[i], NULL);
  for (guint i = 0; i < manifest->pictures->len; i++)
    if (g_array_index(manifest->pictures, NwPictureEntry, i).split == split)
      set->entries[set->count++] = i;
  NwStatus status = NW_OK;
  if (set->channels != 1 && set->channels != 3)
    status = nw_fail(error, NW_BAD_ARGUMENT, "pictures have 1 or 3 channels, not %u", set->channels);
  else if (set->count == 0)
    status = nw_fail(error, NW_BAD_DATA,
                     split == NW_SPLIT_TRAIN ? _("There are no training pictures.")
                                             : _("There are no validation pictures."));
  else
    status = check_sizes(set, error);
  if (status != NW_OK) {
    nw_set_free(set);
    return status;
  }
  set->failed = g_new0(gint, set->count);
  group_by_class(set);
  plan_memory(set);
  *out = set;
  return NW_OK;
}

void nw_set_free(NwSet *set)
{
  if (!set)
    return;
  for (int i = 0; i < STRIPES; i++)
    pthread_mutex_destroy(&set->stripes[i]);
  pthread_mutex_destroy(&set->mutex);
  g_ptr_array_unref(set->texts);
  g_free(set->entries);
  g_free(set->class_first);
  g_free(set->class_members);
  g_free(set->class_place);
  g_free(set->kept);
  g_free(set->kept_at);
  g_free(set->kept_size);
  g_free(set->kept_state);
  g_free(set->failed);
  g_free(set);
}

guint32 nw_set_count(const NwSet *set)
{
  return set->count;
}

guint nw_set_entry_index(const NwSet *set, guint32 position)
{
  return position < set->count ? set->entries[position] : G_MAXUINT;
}

gint64 nw_set_label(const NwSet *set, guint32 position)
{
  return entry_of(set, position)->label;
}

gboolean nw_set_is_quick(const NwSet *set)
{
  return set->kept || is_packed(set);
}

void nw_set_interrupt(NwSet *set, gboolean interrupt)
{
  g_atomic_int_set(&set->interrupted, interrupt);
}

/* --- one picture --- */

/* A disk that stumbles gets three more chances. */
static NwStatus fetch_patiently(NwSet *set, NwFetch *fetch, const NwPictureEntry *entry, const NwOrder *order,
                                NwFrame *frame, gboolean *mirror, NwError *error)
{
  static const guint waits[] = {20, 100, 400};
  for (guint attempt = 0;; attempt++) {
    NwStatus status =
        nw_fetch_frame(fetch, set->manifest->store, entry, set->channels, order, frame, mirror, error);
    if (status != NW_IO || attempt == G_N_ELEMENTS(waits))
      return status;
    for (guint ms = 0; ms < waits[attempt]; ms += 10) {
      if (g_atomic_int_get(&set->interrupted))
        return nw_fail(error, NW_CANCELLED, _("stopped"));
      g_usleep(10000);
    }
  }
}

static NwStatus keep(NwSet *set, NwFetch *fetch, guint32 position, NwError *error)
{
  if (g_atomic_int_get(&set->kept_state[position]))
    return NW_OK;
  pthread_mutex_t *stripe = &set->stripes[position % STRIPES];
  NwStatus status = NW_OK;
  pthread_mutex_lock(stripe);
  if (!g_atomic_int_get(&set->kept_state[position])) {
    NwOrder order = {set->list, 0, set->fixed, set->key, 0, position};
    NwFrame frame;
    gboolean mirror;
    status = fetch_patiently(set, fetch, entry_of(set, position), &order, &frame, &mirror, error);
    if (status == NW_OK) {
      nw_frame_pack(&frame, mirror, set->kept + set->kept_at[position]);
      g_atomic_int_set(&set->kept_state[position], 1);
    }
  }
  pthread_mutex_unlock(stripe);
  return status;
}

/* drawn_as: whose random numbers are used; a substitute takes those of the picture it stands for. */
static NwStatus take(NwSet *set, NwFetch *fetch, guint32 position, guint32 drawn_as, guint64 epoch,
                     guint8 *out, NwError *error)
{
  const NwPictureEntry *entry = entry_of(set, position);
  NwOrder order = {set->list, 0, set->list->len, set->key, epoch, drawn_as};
  const guint8 *pixels = NULL;
  guint width = 0, height = 0;
  NwFrame frame;
  gboolean mirror;
  if (set->kept) {
    NW_TRY(keep(set, fetch, position, error));
    pixels = set->kept + set->kept_at[position];
    width = set->kept_size[2 * (gsize)position];
    height = set->kept_size[2 * (gsize)position + 1];
    order.first = set->fixed;
  } else if (is_packed(set) && set->manifest->store->packed.channels == set->channels) {
    pixels = nw_store_packed(set->manifest->store, entry);
    width = entry->width;
    height = entry->height;
    if (width == set->width && height == set->height && set->fixed == set->list->len)
      order.first = set->fixed;
  }
  if (pixels && order.first == order.last) {
    memcpy(out, pixels, (gsize)width * height * set->channels);
    return NW_OK;
  }
  if (pixels)
    NW_TRY(nw_fetch_packed(fetch, pixels, width, height, set->channels, set->channels, &order, &frame,
                           &mirror, error));
  else
    NW_TRY(fetch_patiently(set, fetch, entry, &order, &frame, &mirror, error));
  if (frame.width != set->width || frame.height != set->height)
    return nw_fail(error, NW_INTERNAL, "the transforms made %u × %u pixels", frame.width, frame.height);
  nw_frame_pack(&frame, mirror, out);
  return NW_OK;
}

static gboolean is_the_pictures_fault(NwStatus status)
{
  return status == NW_BAD_FORMAT || status == NW_UNSUPPORTED || status == NW_NOT_FOUND || status == NW_IO;
}

static void note_failure(NwSet *set, guint32 position, const NwError *error)
{
  if (!g_atomic_int_compare_and_exchange(&set->failed[position], 0, 1))
    return;
  char *path = g_utf8_make_valid(entry_of(set, position)->path, -1);
  pthread_mutex_lock(&set->mutex);
  set->replaced++;
  g_ptr_array_add(set->texts, g_strdup_printf(_("%s: %s. Another picture of its class takes its place."),
                                              path, error->text));
  pthread_mutex_unlock(&set->mutex);
  g_free(path);
}

NwStatus nw_set_picture(NwSet *set, NwFetch *fetch, guint32 position, guint64 epoch, guint8 *out,
                        guint32 *shown, NwError *error)
{
  guint label = entry_of(set, position)->label;
  guint32 first = set->class_first[label], members = set->class_first[label + 1] - first;
  NwError last = {0};
  for (guint32 i = 0; i < members; i++) {
    guint32 candidate = set->class_members[first + (set->class_place[position] + i) % members];
    if (g_atomic_int_get(&set->failed[candidate]))
      continue;
    NwError local = {0};
    NwStatus status = take(set, fetch, candidate, position, epoch, out, &local);
    *shown = candidate;
    if (status == NW_OK)
      return NW_OK;
    if (!is_the_pictures_fault(status)) {
      if (error)
        *error = local;
      return status;
    }
    if (!nw_store_is_there(set->manifest->store))
      return nw_fail(
          error, NW_NOT_FOUND,
          _("The folder %s has gone. Connect its drive again, or put it back, and resume the run."),
          set->manifest->root);
    note_failure(set, candidate, &local);
    last = local;
  }
  return nw_fail(error, NW_BAD_DATA, _("No picture of the class “%s” can be read any more. The last one: %s"),
                 (const char *)g_ptr_array_index(set->manifest->classes, label),
                 last.text[0] ? last.text : _("it was refused before"));
}

guint nw_set_replaced(NwSet *set)
{
  pthread_mutex_lock(&set->mutex);
  guint n = set->replaced;
  pthread_mutex_unlock(&set->mutex);
  return n;
}

GPtrArray *nw_set_replaced_texts(NwSet *set)
{
  GPtrArray *copy = g_ptr_array_new_with_free_func(g_free);
  pthread_mutex_lock(&set->mutex);
  for (guint i = 0; i < set->texts->len; i++)
    g_ptr_array_add(copy, g_strdup(g_ptr_array_index(set->texts, i)));
  pthread_mutex_unlock(&set->mutex);
  return copy;
}
