/* Decoders and transforms against what Pillow and torchvision made of the same pictures: not one byte may
 * differ. */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "data/transform.h"

typedef struct Case {
  char name[48], file[48], steps_text[400];
  guint channels, width, height;
  gsize offset;
} Case;

static GArray *cases;
static guint8 *pixels;

static char *golden(const char *name)
{
  return g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "tests/golden/transforms", name, NULL);
}

static void load_golden(void)
{
  char *path = golden("index.tsv"), *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  char **lines = g_strsplit(text, "\n", -1);
  cases = g_array_new(FALSE, TRUE, sizeof(Case));
  for (guint i = 0; lines[i] && *lines[i]; i++) {
    Case c = {0};
    g_assert_cmpint(sscanf(lines[i], "%47[^\t]\t%47[^\t]\t%u\t%399[^\t]\t%u\t%u\t%zu", c.name, c.file,
                           &c.channels, c.steps_text, &c.width, &c.height, &c.offset),
                    ==, 7);
    g_array_append_val(cases, c);
  }
  g_strfreev(lines);
  g_free(text);
  g_free(path);
  path = golden("pixels.bin.gz");
  gzFile z = gzopen(path, "rb");
  g_assert_nonnull(z);
  const Case *last = &g_array_index(cases, Case, cases->len - 1);
  gsize n = last->offset + (gsize)last->width * last->height * last->channels;
  pixels = g_malloc(n);
  g_assert_cmpint(gzread(z, pixels, (unsigned)n), ==, n);
  gzclose(z);
  g_free(path);
}

static guint read_steps(const char *text, NwStep *steps)
{
  guint n = 0;
  char **parts = g_strsplit(strcmp(text, "-") ? text : "", ";", -1);
  for (; parts[n]; n++) {
    char **f = g_strsplit(parts[n], ":", 6);
    g_assert_cmpuint(g_strv_length(f), ==, 6);
    steps[n] = (NwStep){(NwStepKind)atoi(f[0]),    atoi(f[1]), atoi(f[2]), atoi(f[3]), atoi(f[4]),
                        g_ascii_strtod(f[5], NULL)};
    g_strfreev(f);
  }
  g_strfreev(parts);
  return n;
}

static void check(const Case *c, const NwPicture *picture)
{
  g_assert_cmpuint(picture->width, ==, c->width);
  g_assert_cmpuint(picture->height, ==, c->height);
  g_assert_cmpuint(picture->channels, ==, c->channels);
  gsize n = (gsize)c->width * c->height * c->channels, differ = 0;
  int worst = 0;
  for (gsize i = 0; i < n; i++) {
    int d = ABS((int)picture->pixels[i] - (int)pixels[c->offset + i]);
    worst = MAX(worst, d);
    differ += d > 0;
  }
  if (worst)
    g_test_message("%s of %s, %u channels: %zu of %zu bytes differ, by at most %d", c->name, c->file,
                   c->channels, differ, n, worst);
  g_assert_cmpint(worst, ==, 0);
}

static NwPicture read_picture(const char *file, guint channels)
{
  NwPicture picture;
  NwError error = {0};
  char *path = golden(file);
  nw_picture_read(path, channels, &picture, &error);
  g_assert_cmpstr(error.text, ==, "");
  g_free(path);
  return picture;
}

static void test_decoders(void)
{
  guint n = 0;
  for (guint i = 0; i < cases->len; i++) {
    const Case *c = &g_array_index(cases, Case, i);
    if (strcmp(c->name, "decode"))
      continue;
    NwPicture picture = read_picture(c->file, c->channels);
    check(c, &picture);
    nw_picture_clear(&picture);
    n++;
  }
  g_assert_cmpuint(n, >=, 46);
}

static void test_steps(void)
{
  guint n = 0;
  for (guint i = 0; i < cases->len; i++) {
    const Case *c = &g_array_index(cases, Case, i);
    NwStep steps[NW_STEPS_MAX];
    NwError error = {0};
    guint m = read_steps(c->steps_text, steps);
    if (m == 0)
      continue;
    NwPicture picture = read_picture(c->file, c->channels);
    g_assert_cmpint(nw_steps_apply(steps, m, &picture, &error), ==, NW_OK);
    check(c, &picture);
    nw_picture_clear(&picture);
    n++;
  }
  g_assert_cmpuint(n, >=, 50);
}

static void test_lists(void)
{
  guint n = 0;
  for (guint i = 0; i < cases->len; i++) {
    const Case *c = &g_array_index(cases, Case, i);
    int shorter, height, width;
    NwError error = {0};
    if (sscanf(c->name, "list %d %d %d", &shorter, &height, &width) != 3)
      continue;
    GArray *list = g_array_new(FALSE, TRUE, sizeof(NwTransform));
    NwTransform resize = nw_transform_default(NW_RESIZE, shorter, 0),
                crop = nw_transform_default(NW_CENTER_CROP, height, width);
    g_array_append_val(list, resize);
    g_array_append_val(list, crop);
    NwPicture picture = read_picture(c->file, c->channels);
    g_assert_cmpint(nw_transform_apply(list, &picture, (NwPhilox){1, NW_STREAM_AUGMENT}, 0, 0, &error), ==,
                    NW_OK);
    check(c, &picture);
    nw_picture_clear(&picture);
    g_array_unref(list);
    n++;
  }
  g_assert_cmpuint(n, ==, 4);
}

/* 16-bit grey is ours: high byte, where Pillow clips. */
static void test_sixteen_bit_gray(void)
{
  static const guint8 png[] = {
      0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0, 13, 'I',  'H',  'D',  'R',  0,
      0,    0,   2,   0,   0,  0,  1,  16, 0, 0, 0, 0,  0x81, 0x99, 0x4b, 0xc5, /* CRC */
  };
  /* A 2×1 picture of values 0x1234 and 0xfedc, put together with zlib. */
  guint8 row[5] = {0, 0x12, 0x34, 0xfe, 0xdc}, packed[64];
  uLongf packed_n = sizeof packed;
  g_assert_cmpint(compress(packed, &packed_n, row, sizeof row), ==, Z_OK);
  GByteArray *file = g_byte_array_new();
  g_byte_array_append(file, png, 29);
  guint32 crc = GUINT32_TO_BE((guint32)crc32(0, png + 12, 17));
  g_byte_array_append(file, (guint8 *)&crc, 4);
  guint32 length = GUINT32_TO_BE((guint32)packed_n);
  g_byte_array_append(file, (guint8 *)&length, 4);
  gsize at = file->len;
  g_byte_array_append(file, (const guint8 *)"IDAT", 4);
  g_byte_array_append(file, packed, (guint)packed_n);
  crc = GUINT32_TO_BE((guint32)crc32(0, file->data + at, (uInt)packed_n + 4));
  g_byte_array_append(file, (guint8 *)&crc, 4);
  static const guint8 end[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
  g_byte_array_append(file, end, sizeof end);
  for (guint channels = 1; channels <= 3; channels += 2) {
    NwPicture picture;
    NwError error = {0};
    nw_picture_decode(file->data, file->len, channels, &picture, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpuint(picture.pixels[0], ==, 0x12);
    g_assert_cmpuint(picture.pixels[channels], ==, 0xfe);
    nw_picture_clear(&picture);
  }
  g_byte_array_unref(file);
}

/* --- broken pictures --- */

static void expect_refusal(const guint8 *bytes, gsize n, const char *words)
{
  NwPicture picture;
  NwError error = {0};
  NwStatus status = nw_picture_decode(bytes, n, 3, &picture, &error);
  g_assert_cmpint(status, !=, NW_OK);
  g_assert_null(picture.pixels);
  if (!strstr(error.text, words))
    g_test_message("“%s” does not say “%s”", error.text, words);
  g_assert_nonnull(strstr(error.text, words));
}

static void test_cut_files(void)
{
  static const char *const names[] = {"420.jpg", "444.jpg", "gray.jpg", "rgb.png", "gray.png", "lossy.webp"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    char *path = golden(names[i]), *bytes;
    gsize n;
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    expect_refusal((guint8 *)bytes, n * 3 / 5, "cut");
    expect_refusal((guint8 *)bytes, 0, "empty");
    expect_refusal((guint8 *)bytes, 20, g_str_has_suffix(names[i], "webp") ? "" : "cut");
    g_free(bytes);
    g_free(path);
  }
  char *path = golden("420.jpg"), *bytes;
  gsize n;
  g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
  NwPicture picture;
  /* Only the end marker is missing: everything is there, so it is read. */
  g_assert_cmpint(nw_picture_decode((guint8 *)bytes, n - 2, 3, &picture, NULL), ==, NW_OK);
  nw_picture_clear(&picture);
  expect_refusal((guint8 *)bytes, n / 2, "of 47");
  g_free(bytes);
  g_free(path);
  path = golden("progressive.jpg");
  g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
  expect_refusal((guint8 *)bytes, n / 2, "progressive");
  g_free(bytes);
  g_free(path);
  expect_refusal((const guint8 *)"<html><body>404", 15, "not a picture");
}

/* Whatever bytes are damaged, decoding ends, with a picture or a sentence. Run under the sanitizers. */
static void test_damaged_files(void)
{
  GRand *rand = g_rand_new_with_seed(7);
  for (guint i = 0; i < cases->len; i++) {
    const Case *c = &g_array_index(cases, Case, i);
    if (strcmp(c->name, "decode") || c->channels != 3)
      continue;
    char *path = golden(c->file), *bytes;
    gsize n;
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    for (guint round = 0; round < 40; round++) {
      guint8 *copy = g_memdup2(bytes, n);
      for (guint k = 0; k < 4; k++)
        copy[g_rand_int_range(rand, 0, (gint32)n)] = (guint8)g_rand_int(rand);
      NwPicture picture;
      NwError error = {0};
      if (nw_picture_decode(copy, n, 3, &picture, &error) == NW_OK)
        nw_picture_clear(&picture);
      else
        g_assert_cmpstr(error.text, !=, "");
      g_free(copy);
    }
    g_free(bytes);
    g_free(path);
  }
  g_rand_free(rand);
}

/* --- drawing random numbers --- */

static gboolean same_step(const NwStep *a, const NwStep *b)
{
  return a->kind == b->kind && a->x == b->x && a->y == b->y && a->width == b->width &&
         a->height == b->height && a->factor == b->factor;
}

static void test_draws(void)
{
  GArray *list = g_array_new(FALSE, TRUE, sizeof(NwTransform));
  NwTransform crop = nw_transform_default(NW_RANDOM_RESIZED_CROP, 24, 32),
              flip = nw_transform_default(NW_RANDOM_HORIZONTAL_FLIP, 0, 0);
  NwPhilox key = {42, NW_STREAM_AUGMENT};
  guint flips = 0, changed = 0;
  double area = 0;
  g_array_append_val(list, crop);
  g_array_append_val(list, flip);
  for (guint i = 0; i < 2000; i++) {
    NwStep a[NW_STEPS_MAX], b[NW_STEPS_MAX];
    guint n, m, w, h;
    g_assert_cmpint(nw_transform_draw(list, 200, 150, key, 3, i, a, &n, &w, &h, NULL), ==, NW_OK);
    g_assert_cmpint(nw_transform_draw(list, 200, 150, key, 3, i, b, &m, &w, &h, NULL), ==, NW_OK);
    g_assert_cmpuint(n, ==, m);
    for (guint k = 0; k < n; k++)
      g_assert_true(same_step(&a[k], &b[k]));
    g_assert_cmpuint(w, ==, 32);
    g_assert_cmpuint(h, ==, 24);
    g_assert_true(a[0].x >= 0 && a[0].y >= 0 && a[0].x + a[0].width <= 200 && a[0].y + a[0].height <= 150);
    double ratio = (double)a[0].width / a[0].height;
    g_assert_cmpfloat(ratio, >, 0.7);
    g_assert_cmpfloat(ratio, <, 1.43);
    area += (double)a[0].width * a[0].height / (200.0 * 150.0);
    flips += a[n - 1].kind == NW_STEP_MIRROR;
    g_assert_cmpint(nw_transform_draw(list, 200, 150, key, 4, i, b, &m, &w, &h, NULL), ==, NW_OK);
    changed += !same_step(&a[0], &b[0]);
  }
  g_assert_cmpuint(flips, >, 900);
  g_assert_cmpuint(flips, <, 1100);
  g_assert_cmpuint(changed, >, 1950); /* another epoch, other crops */
  g_assert_cmpfloat(area / 2000, >,
                    0.40); /* U(.08, 1) has mean .54; large crops of a wrong shape are drawn again */
  g_assert_cmpfloat(area / 2000, <, 0.56);
  g_array_unref(list);
}

static void test_crop_too_large(void)
{
  GArray *list = g_array_new(FALSE, TRUE, sizeof(NwTransform));
  NwTransform crop = nw_transform_default(NW_RANDOM_CROP, 32, 32);
  NwStep steps[NW_STEPS_MAX];
  NwError error = {0};
  guint n;
  g_array_append_val(list, crop);
  NwPhilox key = {1, NW_STREAM_AUGMENT};
  g_assert_cmpint(nw_transform_draw(list, 28, 28, key, 0, 0, steps, &n, NULL, NULL, &error), ==, NW_BAD_DATA);
  g_assert_nonnull(strstr(error.text, "larger than the picture"));
  g_array_index(list, NwTransform, 0).padding = 4;
  g_assert_cmpint(nw_transform_draw(list, 28, 28, key, 0, 0, steps, &n, NULL, NULL, &error), ==, NW_OK);
  g_array_unref(list);
}

static void test_json(void)
{
  NwPreprocessing *p = nw_preprocessing_new(3, 24, 32), *q = NULL;
  NwError error = {0};
  NwTransform list[] = {
      nw_transform_default(NW_RANDOM_CROP, 30, 40), nw_transform_default(NW_RANDOM_RESIZED_CROP, 24, 32),
      nw_transform_default(NW_RANDOM_HORIZONTAL_FLIP, 0, 0), nw_transform_default(NW_COLOR_JITTER, 0, 0)};
  list[0].padding = 4;
  list[3].brightness = 0.4;
  list[3].hue = 0.1;
  g_array_append_vals(p->train, list, G_N_ELEMENTS(list));
  NwTransform shorter = nw_transform_default(NW_RESIZE, 40, 0),
              center = nw_transform_default(NW_CENTER_CROP, 24, 32);
  g_array_prepend_val(p->eval, shorter);
  g_array_append_val(p->eval, center);
  p->mean[1] = 0.25;
  NwJson *json = nw_preprocessing_to_json(p);
  g_assert_cmpint(nw_preprocessing_from_json(json, &q, &error), ==, NW_OK);
  NwJson *again = nw_preprocessing_to_json(q);
  g_assert_true(nw_json_equal(json, again));
  g_assert_cmpuint(q->train->len, ==, 5);
  g_assert_cmpint(g_array_index(q->eval, NwTransform, 0).width, ==, 0);
  nw_json_free(again);
  nw_preprocessing_free(q);
  NwJson *copy = nw_json_copy(json);
  nw_json_set_string(nw_json_at(nw_json_get(copy, "train"), 1), "name", "RandomErasing");
  g_assert_cmpint(nw_preprocessing_from_json(copy, &q, &error), ==, NW_BAD_FORMAT);
  g_assert_nonnull(strstr(error.text, "RandomErasing"));
  g_assert_null(q);
  nw_json_free(copy);
  copy = nw_json_copy(json);
  nw_json_set(copy, "eval", nw_json_copy(nw_json_get(json, "train")));
  g_assert_cmpint(nw_preprocessing_from_json(copy, &q, &error), ==, NW_BAD_ARGUMENT);
  g_assert_nonnull(strstr(error.text, "random"));
  nw_json_free(copy);
  nw_json_free(json);
  nw_preprocessing_free(p);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  load_golden();
  g_test_add_func("/transforms/decoders-equal-pillow", test_decoders);
  g_test_add_func("/transforms/steps-equal-torchvision", test_steps);
  g_test_add_func("/transforms/lists-equal-torchvision", test_lists);
  g_test_add_func("/transforms/sixteen-bit-gray", test_sixteen_bit_gray);
  g_test_add_func("/transforms/cut-files-are-refused", test_cut_files);
  g_test_add_func("/transforms/damaged-files", test_damaged_files);
  g_test_add_func("/transforms/draws", test_draws);
  g_test_add_func("/transforms/crop-too-large", test_crop_too_large);
  g_test_add_func("/transforms/json", test_json);
  int code = g_test_run();
  g_array_unref(cases);
  g_free(pixels);
  return code;
}
