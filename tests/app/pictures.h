/* A small set of pictures that can be learnt: each class has a stripe of its own, the rest is noise. */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

enum { NWT_SIDE = 12 };

static inline char *nwt_folder_new(void)
{
  GError *error = NULL;
  char *folder = g_dir_make_tmp("netwright-test-XXXXXX", &error);
  g_assert_no_error(error);
  return folder;
}

static inline void nwt_remove(const char *path)
{
  GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
    g_autofree char *below = g_build_filename(path, name, NULL);
    nwt_remove(below);
  }
  if (dir != NULL)
    g_dir_close(dir);
  g_remove(path);
}

static inline void nwt_folder_free(char *folder)
{
  nwt_remove(folder);
  g_free(folder);
}

static inline void nwt_put(const char *root, const char *path, const void *bytes, gsize n)
{
  g_autofree char *full = g_build_filename(root, path, NULL), *folder = g_path_get_dirname(full);
  GError *error = NULL;
  g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
  g_file_set_contents(full, bytes, (gssize)n, &error);
  g_assert_no_error(error);
}

/* An uncompressed colour bitmap. */
static inline void nwt_put_picture(const char *root, const char *path, guint class, guint number)
{
  enum { ROW = NWT_SIDE * 3, HEAD = 54 };
  guint8 bmp[HEAD + ROW * NWT_SIDE] = {'B', 'M'};
  guint32 heads[][2] = {{2, sizeof bmp},    {10, HEAD},          {14, 40}, {18, NWT_SIDE}, {22, NWT_SIDE},
                        {26, 1 | 24 << 16}, {34, ROW * NWT_SIDE}};
  guint32 noise = class * 7919u + number * 104729u + 1;
  for (guint i = 0; i < G_N_ELEMENTS(heads); i++)
    for (guint b = 0; b < 4; b++)
      bmp[heads[i][0] + b] = (guint8)(heads[i][1] >> 8 * b);
  for (guint i = 0; i < ROW * NWT_SIDE; i++) {
    noise = noise * 1664525u + 1013904223u;
    gboolean stripe = i / ROW / 3 == class;
    bmp[HEAD + i] = (guint8)((stripe ? 170 : 20) + (noise >> 24) / 4);
  }
  nwt_put(root, path, bmp, sizeof bmp);
}

/* classes × n pictures under root/name/. */
static inline char *nwt_set(const char *root, const char *name, guint classes, guint n)
{
  for (guint c = 0; c < classes; c++)
    for (guint i = 0; i < n; i++) {
      g_autofree char *path = g_strdup_printf("%s/class%u/%03u.bmp", name, c, i);
      nwt_put_picture(root, path, c, i);
    }
  return g_build_filename(root, name, NULL);
}

/* A picture from the golden ones of the transforms, its first `percent` hundredths, under another name. */
static inline void nwt_put_golden(const char *root, const char *path, const char *golden, guint percent)
{
  g_autofree char *from =
      g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "tests/golden/transforms", golden, NULL);
  g_autofree char *bytes = NULL;
  gsize n;
  g_assert_true(g_file_get_contents(from, &bytes, &n, NULL));
  nwt_put(root, path, bytes, n * percent / 100);
}

static inline void nwt_expect_same_file(const char *a, const char *b)
{
  g_autofree char *ours = NULL, *theirs = NULL;
  gsize n, m;
  g_assert_true(g_file_get_contents(a, &ours, &n, NULL));
  g_assert_true(g_file_get_contents(b, &theirs, &m, NULL));
  if (n != m || memcmp(ours, theirs, n) != 0)
    g_error("%s differs from %s", a, b);
}
