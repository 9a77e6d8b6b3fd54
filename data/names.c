/* What names tell: junk, pictures, and tricks. */
#include <string.h>

#include "data/store.h"

gboolean nw_is_junk(const char *name)
{
  static const char *const junk[] = {"__MACOSX", "Thumbs.db",    "desktop.ini",
                                     "@eaDir",   "$RECYCLE.BIN", "lost+found"};
  if (name[0] == '.')
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(junk); i++)
    if (!g_ascii_strcasecmp(name, junk[i]))
      return TRUE;
  return FALSE;
}

gboolean nw_is_junk_path(const char *path)
{
  char **parts = g_strsplit(path, "/", -1);
  gboolean junk = FALSE;
  for (guint i = 0; parts[i] && !junk; i++)
    junk = parts[i][0] != '\0' && nw_is_junk(parts[i]);
  g_strfreev(parts);
  return junk;
}

gboolean nw_has_picture_name(const char *name)
{
  static const char *const ends[] = {".jpg", ".jpeg", ".png",  ".ppm",  ".bmp",
                                     ".pgm", ".tif",  ".tiff", ".webp", ".gif"};
  gsize n = strlen(name);
  for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
    gsize m = strlen(ends[i]);
    if (n > m && !g_ascii_strcasecmp(name + n - m, ends[i]))
      return TRUE;
  }
  return FALSE;
}

char *nw_safe_name(const char *name)
{
  gboolean drive = g_ascii_isalpha(name[0]) && name[1] == ':';
  if (name[0] == '/' || name[0] == '\\' || drive)
    return NULL;
  /* Some Windows programs write backslashes. */
  char **parts = g_strsplit_set(name, strchr(name, '/') ? "/" : "/\\", -1);
  GString *path = g_string_new(NULL);
  gboolean safe = TRUE;
  for (guint i = 0; parts[i]; i++) {
    if (!strcmp(parts[i], "..") || strstr(parts[i], "..\\") || strstr(parts[i], "\\.."))
      safe = FALSE;
    if (parts[i][0] == '\0' || !strcmp(parts[i], "."))
      continue;
    if (path->len)
      g_string_append_c(path, '/');
    g_string_append(path, parts[i]);
  }
  g_strfreev(parts);
  return g_string_free(path, !safe || path->len == 0);
}

void nw_listing_init(NwListing *listing)
{
  memset(listing, 0, sizeof *listing);
  listing->found = g_array_new(FALSE, TRUE, sizeof(NwFound));
}

void nw_listing_clear(NwListing *listing)
{
  for (guint i = 0; listing->found && i < listing->found->len; i++)
    g_free(g_array_index(listing->found, NwFound, i).path);
  g_clear_pointer(&listing->found, g_array_unref);
}

void nw_listing_add(NwListing *listing, NwFoundKind kind, char *path, guint64 size, guint32 record)
{
  NwFound found = {kind, path, size, record};
  g_array_append_val(listing->found, found);
}

gboolean nw_listing_goes_on(NwListing *listing)
{
  return !listing->progress || listing->progress(listing->owner, listing->found->len, 0);
}
