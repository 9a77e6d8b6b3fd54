/* Our side of the feeding benchmark: JPEG files through the loader (RandomResizedCrop 224, flip) to
 * normalised f32, as the trainer gets them. Driven by feed.py over standard input: "epoch N" runs one epoch
 * and answers "pictures seconds" of CPU time; "dump N BOXES PIXELS" writes the crop boxes and bytes of an
 * epoch, for the check against torchvision; "quit". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data/loader.h"

#define SIDE 224
#define BATCH 64
#define SEED 5

static double cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};

/* (byte / 255 - mean) / deviation in torchvision's order of operations: 256 values a channel. */
static void normalize(const guint8 *in, gint64 n, float (*table)[256], float *out)
{
  for (gint64 i = 0; i < n; i++, in += 3 * SIDE * SIDE, out += 3 * SIDE * SIDE)
    for (int p = 0; p < SIDE * SIDE; p++) {
      out[p] = table[0][in[3 * p]];
      out[SIDE * SIDE + p] = table[1][in[3 * p + 1]];
      out[2 * SIDE * SIDE + p] = table[2][in[3 * p + 2]];
    }
}

static void run_epoch(NwLoader *loader, gint64 epoch, FILE *pixels, FILE *boxes, const NwManifest *m,
                      const NwPreprocessing *p)
{
  static float table[3][256], out[BATCH * 3 * SIDE * SIDE]; /* one for all batches, as the trainer has it */
  NwBatchSource *s = nw_loader_source(loader);
  NwError error = {0};
  gint64 count = 0;
  for (int c = 0; c < 3; c++)
    for (int v = 0; v < 256; v++)
      table[c][v] = ((float)v / 255.f - mean[c]) / deviation[c];
  double start = cpu_seconds();
  NwStatus status = s->begin(s->owner, epoch, BATCH, 0, &error);
  while (status == NW_OK) {
    NwBatch batch;
    status = s->next(s->owner, &batch, &error);
    if (status != NW_OK || batch.n == 0)
      break;
    normalize(batch.pixels, batch.n, table, out);
    count += batch.n;
    for (gint64 i = 0; pixels && i < batch.n; i++) {
      const NwPictureEntry *entry =
          &g_array_index(m->pictures, NwPictureEntry, nw_loader_picture(loader, batch.index[i]));
      NwStep steps[NW_STEPS_MAX];
      guint n = 0;
      nw_transform_draw(p->train, entry->width, entry->height, (NwPhilox){SEED, NW_STREAM_AUGMENT},
                        (guint64)epoch, batch.index[i], steps, &n, NULL, NULL, NULL);
      NwStep box = n && steps[0].kind == NW_STEP_CROP
                       ? steps[0]
                       : (NwStep){NW_STEP_CROP, 0, 0, (int)entry->width, (int)entry->height, 0};
      fprintf(boxes, "%d %d %d %d %d %s\n", box.y, box.x, box.height, box.width,
              steps[n - 1].kind == NW_STEP_MIRROR, entry->path);
    }
    if (pixels)
      fwrite(out, sizeof(float) * 3 * SIDE * SIDE, (size_t)batch.n, pixels);
    s->release(s->owner, &batch);
  }
  double seconds = cpu_seconds() - start;
  if (status != NW_OK)
    fprintf(stderr, "%s\n", error.text);
  printf("%lld %.6f\n", (long long)(status == NW_OK ? count : 0), seconds);
  fflush(stdout);
}

int main(int argc, char **argv)
{
  NwManifest *m = NULL;
  NwLoader *loader = NULL;
  NwScanOptions options;
  NwError error = {0};
  char line[4096], boxes_path[2000], pixels_path[2000];
  if (argc != 2) {
    fprintf(stderr, "usage: bench-feed FOLDER\n");
    return 2;
  }
  nw_scan_options_init(&options);
  options.val_share = 0;
  NwPreprocessing *p = nw_preprocessing_new(3, SIDE, SIDE);
  g_array_index(p->train, NwTransform, 0) = nw_transform_default(NW_RANDOM_RESIZED_CROP, SIDE, SIDE);
  NwTransform flip = nw_transform_default(NW_RANDOM_HORIZONTAL_FLIP, 0, 0);
  g_array_append_val(p->train, flip);
  if (nw_manifest_scan(argv[1], &options, &m, &error) != NW_OK ||
      nw_loader_new(m, NW_SPLIT_TRAIN, p, TRUE, SEED, 1, &loader, &error) != NW_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  while (fgets(line, sizeof line, stdin) && strncmp(line, "quit", 4) != 0) {
    int epoch = 0;
    if (sscanf(line, "dump %d %1999s %1999s", &epoch, boxes_path, pixels_path) == 3) {
      FILE *boxes = fopen(boxes_path, "w"), *pixels = fopen(pixels_path, "wb");
      if (boxes && pixels)
        run_epoch(loader, epoch, pixels, boxes, m, p);
      if (boxes)
        fclose(boxes);
      if (pixels)
        fclose(pixels);
    } else if (sscanf(line, "epoch %d", &epoch) == 1) {
      run_epoch(loader, epoch, NULL, NULL, m, p);
    }
  }
  nw_loader_free(loader);
  nw_preprocessing_free(p);
  nw_manifest_free(m);
  return 0;
}
