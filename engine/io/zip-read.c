#include "engine/io/zip-read.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/io/bytes.h"

enum { END_RECORD = 22, END_SEARCH = 65557, CENTRAL = 46, LOCAL = 30, DEFLATED = 8 };
/* deflate cannot do better than about 1032:1; what claims more is not honest */
static const uint64_t MAX_RATIO = 1100, MAX_INFLATED = (uint64_t)1 << 31, MAX_TOTAL = (uint64_t)1 << 32;

typedef struct Entry {
  char *name;
  uint64_t packed, size;
  const uint8_t *at; /* packed bytes in the file */
  uint32_t crc;
  bool deflated, checked;
  uint8_t *inflated;
  size_t place; /* in the file's list */
} Entry;

struct NwZip {
  const uint8_t *bytes;
  size_t n;
  Entry *entries; /* sorted by name */
  size_t *order;  /* of the file's list: indices of entries */
  size_t count;
  char *folder;
  uint64_t inflated; /* in all */
  uint64_t checked;  /* bytes whose checksum was computed: overlapping records could ask for it without end */
};

static NwStatus bad(NwError *error, const char *what)
{
  return nw_fail(error, NW_BAD_FORMAT, "The file is damaged: %s.", what);
}

void nw_zip_close(NwZip *zip)
{
  if (zip == NULL)
    return;
  for (size_t i = 0; i < zip->count; i++) {
    nw_free(zip->entries[i].name);
    nw_free(zip->entries[i].inflated);
  }
  nw_free(zip->entries);
  nw_free(zip->order);
  nw_free(zip->folder);
  nw_free(zip);
}

const char *nw_zip_folder(const NwZip *zip)
{
  return zip->folder;
}

typedef struct Directory {
  uint64_t count, size, offset;
} Directory;

/* The end record is found from the back, because a comment may follow it; a zip64 one takes precedence. */
static NwStatus find_directory(const NwZip *zip, Directory *dir, NwError *error)
{
  const uint8_t *p = zip->bytes;
  if (zip->n < END_RECORD)
    return bad(error, "it is too short");
  size_t lowest = zip->n > END_SEARCH ? zip->n - END_SEARCH : 0, at = zip->n - END_RECORD;
  while (nw_get_u32(p + at) != 0x06054b50) {
    if (at == lowest)
      return bad(error, "its end is missing, so it was cut off or never finished");
    at--;
  }
  *dir = (Directory){nw_get_u16(p + at + 10), nw_get_u32(p + at + 12), nw_get_u32(p + at + 16)};
  if (at >= 20 && nw_get_u32(p + at - 20) == 0x07064b50) {
    uint64_t end64 = nw_get_u64(p + at - 12);
    if (end64 > zip->n || zip->n - end64 < 56 || nw_get_u32(p + end64) != 0x06064b50)
      return bad(error, "its zip64 record is wrong");
    *dir = (Directory){nw_get_u64(p + end64 + 32), nw_get_u64(p + end64 + 40), nw_get_u64(p + end64 + 48)};
  }
  if (dir->offset > zip->n || dir->size > zip->n - dir->offset || dir->count > dir->size / CENTRAL)
    return bad(error, "its list of records lies outside of it");
  return dir->count > 0 ? NW_OK : bad(error, "it holds no records");
}

/* The sizes and the offset that did not fit into 32 bits. */
static NwStatus read_zip64(const uint8_t *extra, const uint8_t *end, Entry *entry, uint64_t *offset,
                           NwError *error)
{
  uint64_t *fields[] = {&entry->size, &entry->packed, offset};
  for (; end - extra >= 4; extra += 4 + nw_get_u16(extra + 2)) {
    size_t length = nw_get_u16(extra + 2);
    if ((size_t)(end - extra - 4) < length)
      break;
    if (nw_get_u16(extra) != 1)
      continue;
    const uint8_t *at = extra + 4, *stop = at + length;
    for (int i = 0; i < 3; i++) {
      if (*fields[i] != 0xffffffffu)
        continue;
      if (stop - at < 8)
        return bad(error, "a zip64 field is too short");
      *fields[i] = nw_get_u64(at);
      at += 8;
    }
    return NW_OK;
  }
  return NW_OK;
}

static NwStatus check_local(const NwZip *zip, Entry *entry, uint64_t offset, NwError *error)
{
  if (offset > zip->n || zip->n - offset < LOCAL || nw_get_u32(zip->bytes + offset) != 0x04034b50)
    return bad(error, "a record is not where its list says");
  const uint8_t *local = zip->bytes + offset;
  uint64_t data = offset + LOCAL + nw_get_u16(local + 26) + nw_get_u16(local + 28);
  if (data > zip->n || entry->packed > zip->n - data)
    return bad(error, "a record runs past its end");
  if (!entry->deflated && entry->packed != entry->size)
    return bad(error, "a record has two sizes");
  entry->at = zip->bytes + data;
  return NW_OK;
}

static NwStatus read_entry(NwZip *zip, const uint8_t **at, const uint8_t *end, NwError *error)
{
  const uint8_t *c = *at;
  if (end - c < CENTRAL || nw_get_u32(c) != 0x02014b50)
    return bad(error, "its list of records is broken");
  size_t name = nw_get_u16(c + 28), extra = nw_get_u16(c + 30), comment = nw_get_u16(c + 32);
  if ((size_t)(end - c) < CENTRAL + name + extra + comment)
    return bad(error, "its list of records is cut off");
  unsigned method = nw_get_u16(c + 10);
  if (nw_get_u16(c + 8) & 1)
    return nw_fail(error, NW_UNSUPPORTED, "The file is encrypted; save it without a password.");
  if (method != 0 && method != DEFLATED)
    return nw_fail(error, NW_UNSUPPORTED,
                   "The file uses compression method %u; only stored and deflated records can be read.",
                   method);
  if (memchr(c + CENTRAL, 0, name) != NULL)
    return bad(error, "a record's name holds a zero byte");
  Entry *entry = &zip->entries[zip->count];
  *entry = (Entry){.crc = nw_get_u32(c + 16),
                   .packed = nw_get_u32(c + 20),
                   .size = nw_get_u32(c + 24),
                   .deflated = method == DEFLATED,
                   .place = zip->count};
  uint64_t offset = nw_get_u32(c + 42);
  entry->name = nw_alloc(name + 1);
  if (entry->name == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to read the file.");
  memcpy(entry->name, c + CENTRAL, name);
  entry->name[name] = 0;
  zip->count++;
  NW_TRY(read_zip64(c + CENTRAL + name, c + CENTRAL + name + extra, entry, &offset, error));
  NW_TRY(check_local(zip, entry, offset, error));
  *at = c + CENTRAL + name + extra + comment;
  return NW_OK;
}

static int compare_entries(const void *a, const void *b)
{
  return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

static NwStatus read_directory(NwZip *zip, NwError *error)
{
  Directory dir = {0};
  NW_TRY(find_directory(zip, &dir, error));
  zip->entries = nw_alloc0(dir.count * sizeof *zip->entries);
  zip->order = nw_alloc0(dir.count * sizeof *zip->order);
  if (zip->entries == NULL || zip->order == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to read the file.");
  const uint8_t *at = zip->bytes + dir.offset, *end = at + dir.size;
  for (uint64_t i = 0; i < dir.count; i++)
    NW_TRY(read_entry(zip, &at, end, error));
  const char *slash = strchr(zip->entries[0].name, '/');
  size_t length = slash != NULL ? (size_t)(slash - zip->entries[0].name) : 0;
  zip->folder = nw_alloc(length + 1);
  if (zip->folder == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to read the file.");
  memcpy(zip->folder, zip->entries[0].name, length);
  zip->folder[length] = 0;
  qsort(zip->entries, zip->count, sizeof *zip->entries, compare_entries);
  for (size_t i = 0; i < zip->count; i++)
    zip->order[zip->entries[i].place] = i;
  return NW_OK;
}

NwStatus nw_zip_open(const void *bytes, size_t n, NwZip **out, NwError *error)
{
  *out = NULL;
  NwZip *zip = nw_alloc0(sizeof *zip);
  if (zip == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to read the file.");
  zip->bytes = bytes;
  zip->n = n;
  NwStatus status = read_directory(zip, error);
  if (status != NW_OK) {
    nw_zip_close(zip);
    return status;
  }
  *out = zip;
  return NW_OK;
}

static NwStatus inflate_entry(NwZip *zip, Entry *entry, NwError *error)
{
  if (entry->size > MAX_INFLATED || entry->packed > MAX_INFLATED || entry->size / MAX_RATIO > entry->packed ||
      zip->inflated + entry->size > MAX_TOTAL)
    return bad(error, "a record claims to inflate to more than it can");
  uint8_t *inflated = nw_alloc(entry->size);
  if (inflated == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to inflate the record %s.", entry->name);
  z_stream stream = {.next_in = (Bytef *)(uintptr_t)entry->at,
                     .avail_in = (uInt)entry->packed,
                     .next_out = inflated,
                     .avail_out = (uInt)entry->size};
  int result = inflateInit2(&stream, -MAX_WBITS);
  if (result == Z_OK) {
    result = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
  }
  if (result != Z_STREAM_END || stream.total_out != entry->size) {
    nw_free(inflated);
    return bad(error, "a deflated record is corrupt");
  }
  zip->inflated += entry->size;
  entry->inflated = inflated;
  return NW_OK;
}

static void check_crc(NwZip *zip, Entry *entry, const uint8_t *bytes)
{
  if (zip->checked / 4 > zip->n + zip->inflated)
    return;
  zip->checked += entry->size;
  uLong crc = crc32(0, NULL, 0);
  for (uint64_t done = 0; done < entry->size;) {
    uint64_t piece = entry->size - done;
    if (piece > (1u << 30))
      piece = 1u << 30;
    crc = crc32(crc, bytes + done, (uInt)piece);
    done += piece;
  }
  if ((uint32_t)crc != entry->crc)
    nw_log(NW_LOG_WARNING, "The checksum of the record %s does not fit; its numbers may be damaged.",
           entry->name);
  entry->checked = true;
}

static NwStatus get_entry(NwZip *zip, Entry *entry, const uint8_t **bytes, size_t *n, NwError *error)
{
  if (entry->deflated && entry->inflated == NULL)
    NW_TRY(inflate_entry(zip, entry, error));
  *bytes = entry->deflated ? entry->inflated : entry->at;
  *n = (size_t)entry->size;
  if (!entry->checked)
    check_crc(zip, entry, *bytes);
  return NW_OK;
}

size_t nw_zip_count(const NwZip *zip)
{
  return zip->count;
}

const char *nw_zip_name(const NwZip *zip, size_t index)
{
  return zip->entries[zip->order[index]].name;
}

NwStatus nw_zip_get_at(NwZip *zip, size_t index, const uint8_t **bytes, size_t *n, NwError *error)
{
  *bytes = NULL;
  *n = 0;
  return get_entry(zip, &zip->entries[zip->order[index]], bytes, n, error);
}

NwStatus nw_zip_get(NwZip *zip, const char *name, const uint8_t **bytes, size_t *n, NwError *error)
{
  *bytes = NULL;
  *n = 0;
  NwText path = {0};
  nw_text_printf(&path, "%s%s%s", zip->folder, zip->folder[0] ? "/" : "", name);
  if (path.failed) {
    nw_text_clear(&path);
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to read the file.");
  }
  Entry key = {.name = path.data};
  Entry *entry = bsearch(&key, zip->entries, zip->count, sizeof *zip->entries, compare_entries);
  nw_text_clear(&path);
  return entry == NULL ? NW_OK : get_entry(zip, entry, bytes, n, error);
}
