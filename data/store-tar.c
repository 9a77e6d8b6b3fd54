/* Tar archives, with any compression that libarchive knows, read in one pass. Pictures of plain tar files are
 * read again by offset; those of compressed ones stay in memory as they are (still JPEG or PNG). */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/store.h"
#include "data/words.h"
#include "engine/base/machine.h"

typedef struct TarEntry {
  guint64 at; /* in the file, or in the blob */
  gsize size;
  gboolean in_file;
} TarEntry;

struct NwTar {
  int fd;
  GArray *entries; /* TarEntry */
  guint8 *blob;
  gsize used, room, limit;
};

static gboolean blob_grow(NwTar *tar, gsize n)
{
  if (n > tar->limit || tar->used > tar->limit - n)
    return FALSE;
  if (tar->used + n <= tar->room)
    return TRUE;
  gsize room = MAX(tar->room * 2, tar->used + n);
  guint8 *blob = g_try_realloc(tar->blob, room);
  if (!blob)
    return FALSE;
  tar->blob = blob;
  tar->room = room;
  return TRUE;
}

static NwStatus too_large(NwError *error)
{
  return nw_fail(
      error, NW_BAD_DATA,
      _("The pictures of this compressed archive do not fit into memory. Unpack it and choose the folder."));
}

/* Where libarchive says that the data begins, if the bytes there are the ones it gave us. */
static gboolean stands_at(NwTar *tar, guint64 at, const guint8 *data, gsize n)
{
  guint8 there[4096];
  gsize done = 0;
  while (done < n) {
    gsize piece = MIN(n - done, sizeof there);
    if (pread(tar->fd, there, piece, (off_t)(at + done)) != (ssize_t)piece ||
        memcmp(there, data + done, piece) != 0)
      return FALSE;
    done += piece;
  }
  return TRUE;
}

static NwStatus take_data(NwTar *tar, struct archive *a, struct archive_entry *e, TarEntry *entry,
                          NwError *error)
{
  gint64 begins = archive_filter_bytes(a, 0);
  gsize before = tar->used;
  for (;;) {
    if (!blob_grow(tar, 65536))
      return too_large(error);
    la_ssize_t got = archive_read_data(a, tar->blob + tar->used, 65536);
    if (got < 0)
      return nw_fail(error, NW_BAD_DATA, _("The archive is cut or broken (%s). Download or pack it again."),
                     archive_error_string(a));
    if (got == 0)
      break;
    tar->used += (gsize)got;
  }
  entry->at = before;
  entry->size = tar->used - before;
  /* filter_bytes(-1) and (0) agree only where nothing is compressed. */
  if (archive_filter_count(a) == 1 && begins >= 0 &&
      stands_at(tar, (guint64)begins, tar->blob + before, entry->size)) {
    entry->at = (guint64)begins;
    entry->in_file = TRUE;
    tar->used = before;
  }
  return NW_OK;
}

static NwStatus take_entry(NwTar *tar, struct archive *a, struct archive_entry *e, NwListing *listing,
                           NwError *error)
{
  const char *name = archive_entry_pathname(e);
  if (!name)
    name = archive_entry_pathname_utf8(e);
  if (!name) {
    nw_listing_add(listing, NW_FOUND_UNSAFE, g_strdup("?"), 0, 0);
    return NW_OK;
  }
  char *safe = nw_safe_name(name);
  if (!safe) {
    gboolean itself = !strcmp(name, ".") || !strcmp(name, "./");
    if (!itself)
      nw_listing_add(listing, NW_FOUND_UNSAFE, g_utf8_make_valid(name, -1), 0, 0);
    return NW_OK;
  }
  if (nw_is_junk_path(safe)) {
    listing->ignored++;
    g_free(safe);
    return NW_OK;
  }
  if (!g_utf8_validate(safe, -1, NULL)) {
    char *utf8 = g_convert(safe, -1, "UTF-8", "GB18030", NULL, NULL, NULL);
    listing->recoded = TRUE;
    if (!utf8)
      utf8 = g_utf8_make_valid(safe, -1);
    g_free(safe);
    safe = utf8;
  }
  mode_t type = archive_entry_filetype(e);
  TarEntry entry = {0};
  NwFoundKind kind = NW_FOUND_FILE;
  NwStatus status = NW_OK;
  if (archive_entry_hardlink(e) || type == AE_IFLNK)
    kind = NW_FOUND_LINK;
  else if (type == AE_IFDIR)
    kind = NW_FOUND_FOLDER;
  else if (type != AE_IFREG)
    kind = NW_FOUND_LINK;
  else if (archive_entry_is_encrypted(e))
    kind = NW_FOUND_ENCRYPTED;
  else if (nw_has_picture_name(safe))
    status = take_data(tar, a, e, &entry, error);
  nw_listing_add(listing, kind, safe, entry.size ? entry.size : (guint64)archive_entry_size(e),
                 tar->entries->len);
  g_array_append_val(tar->entries, entry);
  return status;
}

static NwStatus read_all(NwTar *tar, NwListing *listing, NwError *error)
{
  struct archive *a = archive_read_new();
  struct archive_entry *e;
  archive_read_support_filter_all(a);
  archive_read_support_format_tar(a);
  archive_read_support_format_gnutar(a);
  NwStatus status = NW_OK;
  if (archive_read_open_fd(a, tar->fd, 1 << 16) != ARCHIVE_OK)
    status = nw_fail(error, NW_BAD_DATA, _("The archive is cut or broken (%s). Download or pack it again."),
                     archive_error_string(a));
  while (status == NW_OK) {
    int code = archive_read_next_header(a, &e);
    if (code == ARCHIVE_EOF)
      break;
    if (code < ARCHIVE_WARN)
      status = nw_fail(error, NW_BAD_DATA, _("The archive is cut or broken (%s). Download or pack it again."),
                       archive_error_string(a));
    else
      status = take_entry(tar, a, e, listing, error);
    if (status == NW_OK && listing->found->len % 64 == 0 && !nw_listing_goes_on(listing))
      status = nw_fail(error, NW_CANCELLED, _("The scan was stopped."));
  }
  archive_read_free(a);
  return status;
}

NwStatus nw_store_tar_open(const char *path, NwTar **out, NwListing *listing, NwError *error)
{
  NwTar *tar = g_new0(NwTar, 1);
  *out = NULL;
  tar->entries = g_array_new(FALSE, TRUE, sizeof(TarEntry));
  tar->limit = (gsize)(nw_machine_memory_free() / 2);
  tar->fd = open(path, O_RDONLY | O_CLOEXEC);
  NwStatus status;
  if (tar->fd < 0) {
    status = nw_fail_errno(error, errno, _("The archive cannot be opened"));
  } else {
    /* In the C locale libarchive gives no name at all for correct UTF-8. */
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
    status = read_all(tar, listing, error);
    if (utf8) {
      uselocale(before);
      freelocale(utf8);
    }
  }
  if (status == NW_OK)
    *out = tar;
  else
    nw_store_tar_free(tar);
  return status;
}

NwStatus nw_store_tar_read(const NwTar *tar, guint32 record, NwBytes *room, const guint8 **bytes, gsize *n,
                           NwError *error)
{
  const TarEntry *entry = &g_array_index(tar->entries, TarEntry, record);
  *n = entry->size;
  if (!entry->in_file) {
    *bytes = tar->blob + entry->at;
    return NW_OK;
  }
  if (!nw_bytes_need(room, entry->size))
    return nw_fail(error, NW_NO_MEMORY, _("no memory for a file of %zu bytes"), entry->size);
  for (gsize done = 0; done < entry->size;) {
    ssize_t got = pread(tar->fd, room->data + done, entry->size - done, (off_t)(entry->at + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return nw_fail(error, NW_IO, _("the archive cannot be read"));
    done += (gsize)got;
  }
  *bytes = room->data;
  return NW_OK;
}

void nw_store_tar_free(NwTar *tar)
{
  if (!tar)
    return;
  if (tar->fd >= 0)
    close(tar->fd);
  g_array_unref(tar->entries);
  g_free(tar->blob);
  g_free(tar);
}
