/* The loader: the same bytes for any number of threads, from any batch on, whatever happens to the files. */
#include "tests/data/corpus.h"

#include <math.h>

#include "data/loader.h"

static const char *const three[] = {"cat", "dog", "owl", NULL};

/* Golden pictures of many kinds, under three classes. */
static char *mixed_folder(void)
{
  static const char *const kinds[] = {"420.jpg",    "422.jpg",   "444.jpg",     "progressive.jpg",
                                      "gray.jpg",   "cmyk.jpg",  "rgb.png",     "rgba.png",
                                      "lossy.webp", "photo.jpg", "palette.png", "rgb.bmp"};
  char *root = corpus_new();
  for (guint c = 0; three[c]; c++)
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
      char *path = g_strdup_printf("%s/%02u-%s", three[c], i, kinds[i]);
      corpus_copy(root, path, kinds[i]);
      g_free(path);
    }
  return root;
}

static NwPreprocessing *augmented(guint channels, guint side)
{
  NwPreprocessing *p = nw_preprocessing_new(channels, side, side);
  NwTransform crop = nw_transform_default(NW_RANDOM_RESIZED_CROP, (int)side, (int)side);
  NwTransform flip = nw_transform_default(NW_RANDOM_HORIZONTAL_FLIP, 0, 0);
  NwTransform jitter = nw_transform_default(NW_COLOR_JITTER, 0, 0);
  jitter.brightness = jitter.contrast = jitter.saturation = 0.4;
  jitter.hue = 0.1;
  g_array_set_size(p->train, 0);
  g_array_append_val(p->train, crop);
  g_array_append_val(p->train, flip);
  g_array_append_val(p->train, jitter);
  g_array_set_size(p->eval, 0);
  NwTransform shorter = nw_transform_default(NW_RESIZE, (int)side * 5 / 4, 0);
  NwTransform center = nw_transform_default(NW_CENTER_CROP, (int)side, (int)side);
  g_array_append_val(p->eval, shorter);
  g_array_append_val(p->eval, center);
  return p;
}

typedef struct Taken {
  GByteArray *pixels;
  GArray *labels, *index; /* gint64, guint32 */
} Taken;

static void taken_clear(Taken *t)
{
  g_byte_array_unref(t->pixels);
  g_array_unref(t->labels);
  g_array_unref(t->index);
}

static Taken take_epoch(NwLoader *loader, gint64 epoch, gint64 batch_size, gint64 first)
{
  NwBatchSource *s = nw_loader_source(loader);
  Taken t = {g_byte_array_new(), g_array_new(FALSE, FALSE, 8), g_array_new(FALSE, FALSE, 4)};
  NwError error = {0};
  NwBatch batch;
  g_assert_cmpint(s->begin(s->owner, epoch, batch_size, first, &error), ==, NW_OK);
  for (;;) {
    g_assert_cmpint(s->next(s->owner, &batch, &error), ==, NW_OK);
    if (batch.n == 0)
      break;
    g_byte_array_append(t.pixels, batch.pixels, (guint)(batch.n * s->channels * s->height * s->width));
    g_array_append_vals(t.labels, batch.labels, (guint)batch.n);
    g_array_append_vals(t.index, batch.index, (guint)batch.n);
    s->release(s->owner, &batch);
  }
  return t;
}

static NwLoader *loader_of(const NwManifest *m, NwSplit split, const NwPreprocessing *p, gboolean training,
                           guint threads)
{
  NwLoader *loader = NULL;
  NwError error = {0};
  nw_loader_new(m, split, p, training, 77, threads, &loader, &error);
  g_assert_cmpstr(error.text, ==, "");
  return loader;
}

static void same(const Taken *a, const Taken *b)
{
  g_assert_cmpmem(a->index->data, a->index->len * 4, b->index->data, b->index->len * 4);
  g_assert_cmpmem(a->labels->data, a->labels->len * 8, b->labels->data, b->labels->len * 8);
  g_assert_cmpmem(a->pixels->data, a->pixels->len, b->pixels->data, b->pixels->len);
}

static void test_threads_do_not_matter(void)
{
  char *root = mixed_folder();
  NwManifest *m = scan_fine(root, 0.25);
  for (guint channels = 1; channels <= 3; channels += 2) {
    NwPreprocessing *p = augmented(channels, 24);
    NwLoader *one = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, 1);
    for (guint threads = 2; threads <= 7; threads += 5) {
      NwLoader *many = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, threads);
      for (gint64 epoch = 0; epoch < 3; epoch++) {
        Taken a = take_epoch(one, epoch, 8, 0), b = take_epoch(many, epoch, 5, 0);
        g_assert_cmpuint(a.index->len, ==, nw_manifest_count(m, NW_SPLIT_TRAIN, -1));
        same(&a, &b);
        taken_clear(&a);
        taken_clear(&b);
      }
      nw_loader_free(many);
    }
    nw_loader_free(one);
    nw_preprocessing_free(p);
  }
  nw_manifest_free(m);
  corpus_free(root);
}

/* Decoding only the crop gives the very pixels of decoding everything and cropping then. */
static void test_region_decoding_is_exact(void)
{
  char *root = mixed_folder();
  NwManifest *m = scan_fine(root, 0.25);
  for (guint channels = 1; channels <= 3; channels += 2) {
    NwPreprocessing *p = augmented(channels, 20);
    for (int training = 0; training < 2; training++) {
      NwLoader *loader = loader_of(m, NW_SPLIT_TRAIN, p, training, 2);
      for (gint64 epoch = 0; epoch < (training ? 12 : 1); epoch++) {
        Taken t = take_epoch(loader, epoch, 7, 0);
        for (guint i = 0; i < t.index->len; i++) {
          guint32 index = g_array_index(t.index, guint32, i);
          guint entry = nw_loader_picture(loader, index);
          NwPicture picture;
          g_assert_cmpint(nw_manifest_picture(m, entry, channels, &picture, NULL), ==, NW_OK);
          g_assert_cmpint(nw_transform_apply(training ? p->train : p->eval, &picture,
                                             (NwPhilox){77, NW_STREAM_AUGMENT}, (guint64)epoch, index, NULL),
                          ==, NW_OK);
          gsize n = 20 * 20 * channels;
          if (memcmp(picture.pixels, t.pixels->data + i * n, n))
            g_test_message("%s differs", entry_at(m, entry)->path);
          g_assert_cmpmem(picture.pixels, n, t.pixels->data + i * n, n);
          g_assert_cmpint(g_array_index(t.labels, gint64, i), ==, entry_at(m, entry)->label);
          nw_picture_clear(&picture);
        }
        taken_clear(&t);
      }
      nw_loader_free(loader);
    }
    nw_preprocessing_free(p);
  }
  nw_manifest_free(m);
  corpus_free(root);
}

static void test_order_and_resume(void)
{
  char *root = mixed_folder();
  NwManifest *m = scan_fine(root, 0.25);
  NwPreprocessing *p = augmented(3, 16);
  NwLoader *loader = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, 3),
           *other = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, 1);
  guint n = nw_manifest_count(m, NW_SPLIT_TRAIN, -1);
  Taken first = take_epoch(loader, 0, 4, 0), second = take_epoch(loader, 1, 4, 0);
  g_assert_cmpint(memcmp(first.index->data, second.index->data, n * 4), !=, 0);
  gboolean *seen = g_new0(gboolean, n);
  for (guint i = 0; i < n; i++) {
    guint32 index = g_array_index(first.index, guint32, i);
    g_assert_cmpuint(index, <, n);
    g_assert_false(seen[index]); /* every picture once */
    seen[index] = TRUE;
  }
  g_free(seen);
  for (gint64 batch = 0; batch <= 7; batch++) { /* 27 pictures: 7 batches, the last of 3; 7 is the end */
    Taken rest = take_epoch(other, 1, 4, batch);
    guint from = MIN((guint)batch * 4, n);
    g_assert_cmpuint(rest.index->len, ==, n - from);
    g_assert_cmpmem(rest.index->data, rest.index->len * 4, second.index->data + 4 * from, (n - from) * 4);
    g_assert_cmpmem(rest.pixels->data, rest.pixels->len, second.pixels->data + from * 768, (n - from) * 768);
    taken_clear(&rest);
  }
  /* Evaluation goes in order. */
  NwLoader *eval = loader_of(m, NW_SPLIT_VAL, p, FALSE, 2);
  Taken e = take_epoch(eval, 5, 4, 0);
  for (guint i = 0; i < e.index->len; i++)
    g_assert_cmpuint(g_array_index(e.index, guint32, i), ==, i);
  taken_clear(&e);
  nw_loader_free(eval);
  taken_clear(&first);
  taken_clear(&second);
  nw_loader_free(loader);
  nw_loader_free(other);
  nw_preprocessing_free(p);
  nw_manifest_free(m);
  corpus_free(root);
}

/* From memory or from files, the same. */
static void test_small_sets_in_memory(void)
{
  char *path = g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "share/sample/clothes.zip", NULL);
  NwManifest *m = scan_fine(path, 0.2);
  NwPreprocessing *p = nw_preprocessing_new(1, 28, 28);
  NwTransform crop = nw_transform_default(NW_RANDOM_CROP, 28, 28),
              flip = nw_transform_default(NW_RANDOM_HORIZONTAL_FLIP, 0, 0);
  crop.padding = 3;
  g_array_append_val(p->train, crop);
  g_array_append_val(p->train, flip);
  for (guint threads = 1; threads <= 4; threads += 3) {
    NwLoader *loader = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, threads);
    for (gint64 epoch = 0; epoch < 2; epoch++) {
      Taken t = take_epoch(loader, epoch, 64, 0);
      g_assert_cmpuint(t.index->len, ==, 2000);
      for (guint i = 0; i < t.index->len; i += 37) {
        guint32 index = g_array_index(t.index, guint32, i);
        NwPicture picture;
        g_assert_cmpint(nw_manifest_picture(m, nw_loader_picture(loader, index), 1, &picture, NULL), ==,
                        NW_OK);
        g_assert_cmpint(nw_transform_apply(p->train, &picture, (NwPhilox){77, NW_STREAM_AUGMENT},
                                           (guint64)epoch, index, NULL),
                        ==, NW_OK);
        g_assert_cmpmem(picture.pixels, 784, t.pixels->data + i * 784, 784);
        nw_picture_clear(&picture);
      }
      taken_clear(&t);
    }
    nw_loader_free(loader);
  }
  nw_preprocessing_free(p);
  nw_manifest_free(m);
  g_free(path);
}

static void test_unreadable_pictures_are_replaced(void)
{
  char *root = corpus_new();
  corpus_classes(root, three, 6, "photo.jpg");
  NwManifest *m = scan_fine(root, 0);
  NwPreprocessing *p = augmented(3, 80);
  char *gone = g_build_filename(root, "cat/002.jpg", NULL);
  g_assert_cmpint(g_remove(gone), ==, 0);
  corpus_copy_part(root, "dog/001.jpg", "photo.jpg",
                   8); /* cut after the scan, within its header or soon after */
  corpus_put(root, "dog/005.jpg", "oh no", 5);
  Taken before = {0};
  for (guint threads = 1; threads <= 3; threads++) {
    NwLoader *loader = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, threads);
    g_assert_cmpuint(nw_loader_replaced(loader), ==, 0);
    Taken t = take_epoch(loader, 0, 4, 0), again = take_epoch(loader, 0, 4, 0);
    same(&t, &again);
    g_assert_cmpuint(nw_loader_replaced(loader), ==, 3); /* each is counted once */
    GPtrArray *texts = nw_loader_replaced_texts(loader);
    g_assert_cmpuint(texts->len, ==, 3);
    for (guint i = 0; i < texts->len; i++)
      g_assert_nonnull(strstr(g_ptr_array_index(texts, i), "Another picture of its class takes its place"));
    g_ptr_array_unref(texts);
    guint count[3] = {0};
    for (guint i = 0; i < t.labels->len; i++)
      count[g_array_index(t.labels, gint64, i)]++;
    for (guint c = 0; c < 3; c++)
      g_assert_cmpuint(count[c], ==, 6); /* of the same class */
    for (guint i = 0; i < t.index->len; i++)
      g_assert_cmpstr(entry_at(m, nw_loader_picture(loader, g_array_index(t.index, guint32, i)))->path, !=,
                      "cat/002.jpg");
    if (before.pixels) {
      same(&before, &t);
      taken_clear(&before);
    }
    before = t;
    taken_clear(&again);
    nw_loader_free(loader);
  }
  taken_clear(&before);
  g_free(gone);
  nw_preprocessing_free(p);
  nw_manifest_free(m);
  corpus_free(root);
}

static NwStatus first_failure(NwLoader *loader, NwError *error)
{
  NwBatchSource *s = nw_loader_source(loader);
  NwBatch batch;
  NwStatus status = s->begin(s->owner, 0, 4, 0, error);
  while (status == NW_OK) {
    status = s->next(s->owner, &batch, error);
    if (status == NW_OK && batch.n == 0)
      break;
    if (status == NW_OK)
      s->release(s->owner, &batch);
  }
  s->end(s->owner);
  return status;
}

static void test_nothing_left_to_read(void)
{
  char *root = corpus_new(), *class_folder = g_build_filename(root, "dog", NULL),
       *moved = g_strconcat(root, "-moved", NULL);
  corpus_classes(root, three, 4, "photo.jpg");
  NwManifest *m = scan_fine(root, 0);
  NwPreprocessing *p = augmented(3, 80);
  NwError error = {0};
  NwLoader *loader = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, 2);
  corpus_remove(class_folder);
  g_assert_cmpint(first_failure(loader, &error), ==, NW_BAD_DATA);
  g_assert_nonnull(strstr(error.text, "dog"));
  nw_loader_free(loader);
  loader = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, 2);
  g_assert_cmpint(g_rename(root, moved), ==, 0);
  g_assert_cmpint(first_failure(loader, &error), ==, NW_NOT_FOUND);
  g_assert_nonnull(strstr(error.text, "has gone"));
  g_assert_cmpuint(nw_loader_replaced(loader), ==, 0); /* nobody is to blame but the drive */
  g_assert_cmpint(g_rename(moved, root), ==, 0);
  nw_loader_free(loader);
  nw_preprocessing_free(p);
  nw_manifest_free(m);
  g_free(class_folder);
  g_free(moved);
  corpus_free(root);
}

/* begin, end and free come at any moment; nothing hangs, nothing is freed under a thread's feet. */
static void test_stopping(void)
{
  char *root = mixed_folder();
  NwManifest *m = scan_fine(root, 0.25);
  NwPreprocessing *p = augmented(3, 16);
  GRand *rand = g_rand_new_with_seed(3);
  for (guint round = 0; round < 60; round++) {
    NwLoader *loader = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, 1 + round % 5);
    NwBatchSource *s = nw_loader_source(loader);
    NwBatch batch, held[3];
    guint epochs = (guint)g_rand_int_range(rand, 0, 4);
    for (guint epoch = 0; epoch < epochs; epoch++) {
      g_assert_cmpint(s->begin(s->owner, epoch, g_rand_int_range(rand, 1, 12), 0, NULL), ==, NW_OK);
      for (gint32 i = g_rand_int_range(rand, 0, 5); i > 0; i--) {
        g_assert_cmpint(s->next(s->owner, &batch, NULL), ==, NW_OK);
        if (batch.n)
          s->release(s->owner, &batch);
      }
      if (g_rand_boolean(rand))
        s->end(s->owner);
    }
    if (epochs && round % 3 == 0) { /* with batches held */
      g_assert_cmpint(s->begin(s->owner, 9, 2, 0, NULL), ==, NW_OK);
      for (guint i = 0; i < 3; i++)
        g_assert_cmpint(s->next(s->owner, &held[i], NULL), ==, NW_OK);
      g_assert_true(held[0].pixels != held[1].pixels && held[1].pixels != held[2].pixels);
      if (round % 2)
        s->release(s->owner, &held[1]);
    }
    nw_loader_free(loader);
  }
  NwLoader *loader = loader_of(m, NW_SPLIT_TRAIN, p, TRUE, 1);
  NwBatchSource *s = nw_loader_source(loader);
  NwBatch batch;
  NwError error = {0};
  g_assert_cmpint(s->next(s->owner, &batch, &error), ==, NW_BAD_STATE);
  s->end(s->owner); /* without a begin */
  nw_loader_free(loader);
  nw_loader_free(NULL);
  g_rand_free(rand);
  nw_preprocessing_free(p);
  nw_manifest_free(m);
  corpus_free(root);
}

static void test_refusals(void)
{
  char *root = mixed_folder();
  NwManifest *m = scan_fine(root, 0.25);
  NwPreprocessing *p = nw_preprocessing_new(3, 100, 100);
  NwLoader *loader = NULL;
  NwError error = {0};
  NwTransform crop = nw_transform_default(NW_RANDOM_CROP, 100, 100);
  g_array_index(p->train, NwTransform, 0) = crop; /* larger than the 61×47 pictures */
  g_assert_cmpint(nw_loader_new(m, NW_SPLIT_TRAIN, p, TRUE, 1, 1, &loader, &error), ==, NW_BAD_DATA);
  g_assert_null(loader);
  g_assert_nonnull(strstr(error.text, "larger than the picture"));
  g_array_index(p->train, NwTransform, 0) = nw_transform_default(NW_RESIZE, 90, 100);
  g_assert_cmpint(nw_loader_new(m, NW_SPLIT_TRAIN, p, TRUE, 1, 1, &loader, &error), ==, NW_BAD_ARGUMENT);
  g_assert_nonnull(strstr(error.text, "End the list with"));
  nw_manifest_split(m, 1, 0);
  g_assert_cmpint(nw_loader_new(m, NW_SPLIT_VAL, p, FALSE, 1, 1, &loader, &error), ==, NW_BAD_DATA);
  g_assert_nonnull(strstr(error.text, "no validation pictures"));
  nw_preprocessing_free(p);
  nw_manifest_free(m);
  corpus_free(root);
}

static void test_statistics(void)
{
  char *root = mixed_folder();
  NwManifest *m = scan_fine(root, 0.25);
  NwPreprocessing *p = augmented(3, 32);
  double mean[4], deviation[4], sum[3] = {0}, square[3] = {0}, n = 0;
  g_assert_cmpint(nw_loader_statistics(m, p, mean, deviation, NULL), ==, NW_OK);
  NwLoader *loader = loader_of(m, NW_SPLIT_TRAIN, p, FALSE, 1);
  Taken t = take_epoch(loader, 0, 16, 0);
  for (guint i = 0; i + 2 < t.pixels->len; i += 3, n++)
    for (guint c = 0; c < 3; c++) {
      sum[c] += t.pixels->data[i + c] / 255.0;
      square[c] += t.pixels->data[i + c] / 255.0 * (t.pixels->data[i + c] / 255.0);
    }
  for (guint c = 0; c < 3; c++) {
    g_assert_cmpfloat_with_epsilon(mean[c], sum[c] / n, 1e-9);
    g_assert_cmpfloat_with_epsilon(deviation[c], sqrt(square[c] / n - sum[c] / n * (sum[c] / n)), 1e-9);
  }
  taken_clear(&t);
  nw_loader_free(loader);
  nw_preprocessing_free(p);
  nw_manifest_free(m);
  corpus_free(root);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/loader/threads-do-not-matter", test_threads_do_not_matter);
  g_test_add_func("/loader/region-decoding-is-exact", test_region_decoding_is_exact);
  g_test_add_func("/loader/order-and-resume", test_order_and_resume);
  g_test_add_func("/loader/small-sets-in-memory", test_small_sets_in_memory);
  g_test_add_func("/loader/unreadable-pictures-are-replaced", test_unreadable_pictures_are_replaced);
  g_test_add_func("/loader/nothing-left-to-read", test_nothing_left_to_read);
  g_test_add_func("/loader/stopping", test_stopping);
  g_test_add_func("/loader/refusals", test_refusals);
  g_test_add_func("/loader/statistics", test_statistics);
  return g_test_run();
}
