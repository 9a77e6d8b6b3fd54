/* Zip archives read in place: the central directory is the index, each picture is read by pread and inflated
 * alone. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "data/store.h"
#include "data/words.h"

#define ENTRY_MAX ((guint64)1 << 31)
enum { DEFLATE_BEST = 1040 }; /* deflate cannot pack better than about 1032:1 */

typedef struct ZipEntry {
  guint64 at, packed, size; /* at: of the local header */
  guint32 crc;
  guint16 method;
} ZipEntry;

struct NwZip {
  int fd;
  guint64 length, shift; /* shift: bytes somebody put before the archive */
  GArray *entries;       /* ZipEntry */
};

static guint32 u16(const guint8 *p)
{
  return (guint32)p[0] | (guint32)p[1] << 8;
}

static guint32 u32(const guint8 *p)
{
  return u16(p) | u16(p + 2) << 16;
}

static guint64 u64(const guint8 *p)
{
  return u32(p) | (guint64)u32(p + 4) << 32;
}

static gboolean read_at(int fd, guint64 at, guint8 *out, gsize n)
{
  gsize done = 0;
  while (done < n) {
    ssize_t got = pread(fd, out + done, n - done, (off_t)(at + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return FALSE;
    done += (gsize)got;
  }
  return TRUE;
}

static NwStatus broken(NwError *error)
{
  return nw_fail(error, NW_BAD_DATA, _("The zip archive is cut or broken. Download or pack it again."));
}

typedef struct Directory {
  guint64 at, size;
} Directory;

static gboolean find_directory(NwZip *zip, Directory *directory)
{
  gsize n = (gsize)MIN(zip->length, 65557u);
  guint8 *tail = g_malloc(n + 1);
  guint64 base = zip->length - n;
  gboolean found = FALSE;
  if (n >= 22 && read_at(zip->fd, base, tail, n))
    for (gsize i = n - 22 + 1; i-- > 0 && !found;) {
      if (memcmp(tail + i, "PK\5\6", 4) != 0)
        continue;
      found = TRUE;
      guint64 end = base + i;
      directory->size = u32(tail + i + 12);
      directory->at = u32(tail + i + 16);
      guint8 locator[20], record[56];
      if (end >= 20 && read_at(zip->fd, end - 20, locator, 20) && !memcmp(locator, "PK\6\7", 4) &&
          read_at(zip->fd, u64(locator + 8), record, 56) && !memcmp(record, "PK\6\6", 4)) {
        directory->size = u64(record + 40);
        directory->at = u64(record + 48);
        end = u64(locator + 8);
      }
      if (directory->size > end || directory->at > end - directory->size)
        found = FALSE;
      else
        zip->shift = end - directory->size - directory->at;
    }
  g_free(tail);
  return found;
}

/* Sizes above 4 GB stand in an extra field, in this order, only where the short one is full. */
static void read_zip64(const guint8 *extra, gsize n, ZipEntry *entry)
{
  for (gsize i = 0; i + 4 <= n;) {
    gsize length = u16(extra + i + 2);
    if (i + 4 + length > n)
      return;
    if (u16(extra + i) == 1) {
      const guint8 *p = extra + i + 4, *end = p + length;
      guint64 *fields[3] = {&entry->size, &entry->packed, &entry->at};
      for (int f = 0; f < 3; f++)
        if (*fields[f] == 0xffffffffu && p + 8 <= end) {
          *fields[f] = u64(p);
          p += 8;
        }
    }
    i += 4 + length;
  }
}

/* The name in UTF-8; *recoded when it had to be guessed. */
static char *name_of(const guint8 *bytes, gsize n, gboolean *recoded)
{
  char *name = g_strndup((const char *)bytes, n);
  if (strlen(name) != n) { /* a zero byte inside */
    g_free(name);
    return g_strdup("..");
  }
  if (g_utf8_validate(name, -1, NULL))
    return name;
  *recoded = TRUE;
  char *utf8 = g_convert(name, -1, "UTF-8", "GB18030", NULL, NULL, NULL);
  if (!utf8)
    utf8 = g_convert(name, -1, "UTF-8", "CP437", NULL, NULL, NULL);
  if (!utf8)
    utf8 = g_utf8_make_valid(name, -1);
  g_free(name);
  return utf8;
}

static void add_entry(NwZip *zip, NwListing *listing, const guint8 *p, gsize name_length, gsize extra_length)
{
  ZipEntry entry = {u32(p + 42), u32(p + 20), u32(p + 24), u32(p + 16), (guint16)u16(p + 10)};
  read_zip64(p + 46 + name_length, extra_length, &entry);
  char *name = name_of(p + 46, name_length, &listing->recoded), *safe = nw_safe_name(name);
  guint32 mode = u32(p + 38) >> 16;
  gboolean unix_made = p[5] == 3,
           folder = name_length > 0 && (p[46 + name_length - 1] == '/' || p[46 + name_length - 1] == '\\');
  NwFoundKind kind = NW_FOUND_FILE;
  if (!safe)
    kind = NW_FOUND_UNSAFE;
  else if (unix_made && S_ISLNK(mode))
    kind = NW_FOUND_LINK;
  else if (folder)
    kind = NW_FOUND_FOLDER;
  else if (u16(p + 8) & 1)
    kind = NW_FOUND_ENCRYPTED;
  else if ((entry.method != 0 && entry.method != 8) || entry.size > ENTRY_MAX || entry.packed > ENTRY_MAX)
    kind = NW_FOUND_UNKNOWN_METHOD;
  if (kind != NW_FOUND_UNSAFE && nw_is_junk_path(safe)) {
    listing->ignored++;
    g_free(safe);
    g_free(name);
    return;
  }
  nw_listing_add(listing, kind, safe ? safe : g_strdup(name), entry.size, zip->entries->len);
  g_array_append_val(zip->entries, entry);
  g_free(name);
}

static NwStatus read_directory(NwZip *zip, const Directory *directory, NwListing *listing, NwError *error)
{
  guint8 *bytes = directory->size < ENTRY_MAX ? g_try_malloc(directory->size + 1) : NULL;
  NwStatus status = NW_OK;
  if (!bytes)
    return nw_fail(error, NW_NO_MEMORY, _("no memory for the directory of the archive"));
  if (!read_at(zip->fd, directory->at + zip->shift, bytes, directory->size))
    status = broken(error);
  for (gsize i = 0; status == NW_OK && i + 46 <= directory->size;) {
    gsize name = u16(bytes + i + 28), extra = u16(bytes + i + 30), comment = u16(bytes + i + 32);
    if (memcmp(bytes + i, "PK\1\2", 4) != 0 || i + 46 + name + extra + comment > directory->size) {
      status = broken(error);
      break;
    }
    add_entry(zip, listing, bytes + i, name, extra);
    i += 46 + name + extra + comment;
    if (listing->found->len % 256 == 0 && !nw_listing_goes_on(listing))
      status = nw_fail(error, NW_CANCELLED, _("The scan was stopped."));
  }
  g_free(bytes);
  return status;
}

NwStatus nw_store_zip_open(const char *path, NwZip **out, NwListing *listing, NwError *error)
{
  NwZip *zip = g_new0(NwZip, 1);
  Directory directory = {0};
  struct stat st;
  *out = NULL;
  zip->entries = g_array_new(FALSE, TRUE, sizeof(ZipEntry));
  zip->fd = open(path, O_RDONLY | O_CLOEXEC);
  NwStatus status = NW_OK;
  if (zip->fd < 0 || fstat(zip->fd, &st) != 0) {
    status = nw_fail_errno(error, errno, _("The archive cannot be opened"));
  } else {
    zip->length = (guint64)st.st_size;
    status =
        find_directory(zip, &directory) ? read_directory(zip, &directory, listing, error) : broken(error);
  }
  if (status == NW_OK)
    *out = zip;
  else
    nw_store_zip_free(zip);
  return status;
}

static NwStatus unpack(const guint8 *in, gsize packed, guint8 *out, gsize size, NwError *error)
{
  z_stream z = {.next_in = (Bytef *)in, .avail_in = (uInt)packed, .next_out = out, .avail_out = (uInt)size};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
    return nw_fail(error, NW_NO_MEMORY, _("no memory to unpack a picture"));
  int code = inflate(&z, Z_FINISH);
  gsize made = z.total_out;
  inflateEnd(&z);
  if (code != Z_STREAM_END || made != size)
    return nw_fail(error, NW_BAD_FORMAT, _("its compressed data in the archive is broken"));
  return NW_OK;
}

NwStatus nw_store_zip_read(const NwZip *zip, guint32 record, NwBytes *room, const guint8 **bytes, gsize *n,
                           NwError *error)
{
  const ZipEntry *entry = &g_array_index(zip->entries, ZipEntry, record);
  guint8 header[30];
  guint64 at = entry->at + zip->shift;
  gsize size = (gsize)entry->size, packed = (gsize)entry->packed;
  if (!read_at(zip->fd, at, header, sizeof header) || memcmp(header, "PK\3\4", 4) != 0)
    return nw_fail(error, NW_IO, _("the archive is cut or broken here, or has changed since it was scanned"));
  at += 30 + u16(header + 26) + u16(header + 28);
  if (packed > zip->length || at > zip->length - packed || (entry->method == 0 && packed != size))
    return nw_fail(error, NW_BAD_FORMAT, _("its data lies beyond the end of the archive"));
  if (entry->method == 8 && size / DEFLATE_BEST > packed)
    return nw_fail(error, NW_BAD_FORMAT, _("its %zu packed bytes cannot hold the %zu that it claims"), packed,
                   size);
  gsize behind = entry->method == 8 ? packed + 64 : 0; /* the packed bytes stand behind the unpacked ones */
  if (!nw_bytes_need(room, size + behind))
    return nw_fail(error, NW_NO_MEMORY, _("no memory for a file of %zu bytes"), size);
  guint8 *in = entry->method == 8 ? room->data + size + 64 : room->data;
  if (!read_at(zip->fd, at, in, packed))
    return nw_fail(error, NW_IO, _("the archive cannot be read"));
  if (entry->method == 8)
    NW_TRY(unpack(in, packed, room->data, size, error));
  if (crc32(crc32(0, NULL, 0), room->data, (uInt)size) != entry->crc)
    return nw_fail(error, NW_BAD_FORMAT, _("its checksum in the archive is wrong"));
  *bytes = room->data;
  *n = size;
  return NW_OK;
}

void nw_store_zip_free(NwZip *zip)
{
  if (!zip)
    return;
  if (zip->fd >= 0)
    close(zip->fd);
  g_array_unref(zip->entries);
  g_free(zip);
}
