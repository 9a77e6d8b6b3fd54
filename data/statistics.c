/* Mean and deviation of a set, and single pictures of it. */
#include <math.h>
#include <string.h>

#include "data/loader-set.h"
#include "data/loader.h"
#include "data/words.h"
#include "engine/base/threads.h"

#define SAMPLE 2000 /* files; pictures in memory are all looked at */

typedef struct Sum {
  NwSet *set;
  guint32 count, taken; /* of the split; looked at */
  guint channels;
  gsize pixels;
  gint next; /* atomic */
  gint failed;
} Sum;

typedef struct Part {
  Sum *sum;
  guint64 value[4], square[4], pixels;
} Part;

/* Whole numbers are summed, so the result does not depend on the threads. */
static gpointer sum_thread(gpointer data)
{
  Part *part = data;
  Sum *sum = part->sum;
  NwFetch fetch = {0};
  guint8 *pixels = g_malloc(sum->pixels * sum->channels + 64);
  for (;;) {
    guint32 i = (guint32)g_atomic_int_add(&sum->next, 1), shown;
    if (i >= sum->taken)
      break;
    guint32 position = (guint32)((guint64)i * sum->count / sum->taken);
    if (nw_set_picture(sum->set, &fetch, position, 0, pixels, &shown, NULL) != NW_OK) {
      g_atomic_int_inc(&sum->failed);
      continue;
    }
    for (gsize p = 0; p < sum->pixels; p++)
      for (guint c = 0; c < sum->channels; c++) {
        guint64 v = pixels[p * sum->channels + c];
        part->value[c] += v;
        part->square[c] += v * v;
      }
    part->pixels += sum->pixels;
  }
  g_free(pixels);
  nw_fetch_clear(&fetch);
  return NULL;
}

NwStatus nw_loader_statistics(const NwManifest *manifest, const NwPreprocessing *preprocessing,
                              double mean[4], double deviation[4], NwError *error)
{
  NwSet *set;
  NW_TRY(nw_set_new(manifest, NW_SPLIT_TRAIN, preprocessing, FALSE, 0, &set, error));
  guint32 count = nw_set_count(set), taken = manifest->store->packed.pixels ? count : MIN(count, SAMPLE);
  Sum sum = {set, count, taken, preprocessing->channels, (gsize)preprocessing->height * preprocessing->width,
             0,   0};
  guint n = MIN((guint)nw_threads_available(), 16u);
  Part parts[16] = {0}, all = {0};
  GThread *threads[16];
  for (guint i = 0; i < n; i++) {
    parts[i].sum = &sum;
    if (i > 0)
      threads[i] = g_thread_new("statistics", sum_thread, &parts[i]);
  }
  sum_thread(&parts[0]);
  for (guint i = 0; i < n; i++) {
    if (i > 0)
      g_thread_join(threads[i]);
    all.pixels += parts[i].pixels;
    for (guint c = 0; c < 4; c++) {
      all.value[c] += parts[i].value[c];
      all.square[c] += parts[i].square[c];
    }
  }
  nw_set_free(set);
  if (all.pixels == 0)
    return nw_fail(error, NW_BAD_DATA, _("None of the training pictures can be read."));
  for (guint c = 0; c < 4; c++) {
    double m = (double)all.value[c] / (double)all.pixels / 255.0;
    double q = (double)all.square[c] / (double)all.pixels / (255.0 * 255.0);
    mean[c] = c < sum.channels ? m : 0.5;
    deviation[c] = c < sum.channels ? sqrt(MAX(q - m * m, 0.0)) : 0.5;
    if (deviation[c] < 1e-6)
      deviation[c] = 1.0; /* a set of one colour: leave its scale alone */
  }
  return NW_OK;
}

NwStatus nw_manifest_picture(const NwManifest *manifest, guint index, guint channels, NwPicture *out,
                             NwError *error)
{
  NwFetch fetch = {0};
  NwFrame frame;
  gboolean mirror;
  memset(out, 0, sizeof *out);
  if (index >= manifest->pictures->len || (channels != 1 && channels != 3))
    return nw_fail(error, NW_BAD_ARGUMENT, "there is no picture %u with %u channels", index, channels);
  const NwPictureEntry *entry = &g_array_index(manifest->pictures, NwPictureEntry, index);
  NwOrder nothing = {NULL, 0, 0, {0, 0}, 0, 0};
  NwStatus status =
      nw_fetch_frame(&fetch, manifest->store, entry, channels, &nothing, &frame, &mirror, error);
  if (status == NW_OK)
    status = nw_frame_to_picture(&frame, out, error);
  nw_fetch_clear(&fetch);
  return status;
}
