/* Sets of pictures made in a temporary folder, good and bad. */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "data/manifest.h"

static inline char *golden_path(const char *name)
{
  return g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "tests/golden/transforms", name, NULL);
}

static inline void golden_bytes(const char *name, char **bytes, gsize *n)
{
  char *path = golden_path(name);
  g_assert_true(g_file_get_contents(path, bytes, n, NULL));
  g_free(path);
}

static inline char *corpus_new(void)
{
  GError *error = NULL;
  char *folder = g_dir_make_tmp("netwright-test-XXXXXX", &error);
  g_assert_no_error(error);
  return folder;
}

static inline void corpus_put(const char *root, const char *path, const void *bytes, gsize n)
{
  char *full = g_build_filename(root, path, NULL), *folder = g_path_get_dirname(full);
  g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
  g_assert_true(g_file_set_contents(full, bytes, (gssize)n, NULL));
  g_free(folder);
  g_free(full);
}

static inline void corpus_folder(const char *root, const char *path)
{
  char *full = g_build_filename(root, path, NULL);
  g_assert_cmpint(g_mkdir_with_parents(full, 0755), ==, 0);
  g_free(full);
}

/* A copy of a golden picture; its first `keep` hundredths. */
static inline void corpus_copy_part(const char *root, const char *path, const char *golden, guint keep)
{
  char *bytes;
  gsize n;
  golden_bytes(golden, &bytes, &n);
  corpus_put(root, path, bytes, n * keep / 100);
  g_free(bytes);
}

static inline void corpus_copy(const char *root, const char *path, const char *golden)
{
  corpus_copy_part(root, path, golden, 100);
}

static inline void corpus_link(const char *root, const char *path, const char *target)
{
  char *full = g_build_filename(root, path, NULL);
  g_assert_cmpint(symlink(target, full), ==, 0);
  g_free(full);
}

static inline void corpus_remove(const char *path)
{
  GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name(dir))) {
    char *below = g_build_filename(path, name, NULL);
    corpus_remove(below);
    g_free(below);
  }
  if (dir)
    g_dir_close(dir);
  g_remove(path);
}

static inline void corpus_free(char *root)
{
  corpus_remove(root);
  g_free(root);
}

/* n pictures in each of the classes; every one is another golden picture, so that they differ. */
static inline void corpus_classes(const char *root, const char *const *classes, guint n, const char *golden)
{
  for (guint c = 0; classes[c]; c++)
    for (guint i = 0; i < n; i++) {
      char *path = g_strdup_printf("%s/%03u.%s", classes[c], i, strrchr(golden, '.') + 1);
      corpus_copy(root, path, golden);
      g_free(path);
    }
}

static inline NwManifest *scan_fine(const char *root, double share)
{
  NwManifest *manifest = NULL;
  NwScanOptions options;
  NwError error = {0};
  nw_scan_options_init(&options);
  options.seed = 11;
  options.val_share = share;
  nw_manifest_scan(root, &options, &manifest, &error);
  g_assert_cmpstr(error.text, ==, "");
  g_assert_nonnull(manifest);
  return manifest;
}

static inline const NwProblem *problem_of(const NwManifest *m, const char *kind, guint nth)
{
  for (guint i = 0; i < m->problems->len; i++) {
    const NwProblem *problem = g_ptr_array_index(m->problems, i);
    if (!strcmp(problem->kind, kind) && nth-- == 0)
      return problem;
  }
  return NULL;
}

static inline const NwPictureEntry *entry_at(const NwManifest *m, guint i)
{
  return &g_array_index(m->pictures, NwPictureEntry, i);
}
