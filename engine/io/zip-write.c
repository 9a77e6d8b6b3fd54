#include "engine/io/zip-write.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/file.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "engine/io/bytes.h"

enum {
  ALIGNMENT = 64, /* torch maps records and reads them with vector loads */
  LOCAL_HEADER = 30,
  PAD_EXTRA = 4,
  ZIP64_EXTRA = 20,
  FLAG_UTF8 = 0x0800,
  DATE_1980 = 0x0021, /* equal contents give equal bytes */
  PAD_ID = 0x4246,    /* torch's own padding field, "FB" */
  MAX_NAME = 4000
};
static const uint64_t LIMIT32 = 0xffffffffu;

struct NwZipWriter {
  NwFileWriter *file;
  const char *folder;
  NwText central; /* the central directory, as it grows */
  uint64_t count;
};

NwStatus nw_zip_writer_open(const char *path, const char *folder, NwZipWriter **out, NwError *error)
{
  *out = NULL;
  NwZipWriter *writer = nw_alloc0(sizeof *writer);
  if (writer == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write %s.", path);
  writer->folder = folder;
  NwStatus status = nw_file_writer_open(path, &writer->file, error);
  if (status != NW_OK) {
    nw_free(writer);
    return status;
  }
  *out = writer;
  return NW_OK;
}

static uint32_t checksum(const void *bytes, size_t n)
{
  const unsigned char *at = bytes;
  uLong crc = crc32(0, NULL, 0);
  while (n > 0) {
    uInt piece = n > (1u << 30) ? 1u << 30 : (uInt)n;
    crc = crc32(crc, at, piece);
    at += piece;
    n -= piece;
  }
  return (uint32_t)crc;
}

/* What local header and central entry have in common. */
typedef struct Entry {
  uint32_t crc;
  uint64_t size, offset;
  const char *path;
  size_t path_length;
} Entry;

static void put_common(NwText *out, const Entry *entry, bool big, size_t extra)
{
  nw_put_u16(out, big ? 45 : 20); /* version needed */
  nw_put_u16(out, FLAG_UTF8);
  nw_put_u16(out, 0); /* stored */
  nw_put_u16(out, 0);
  nw_put_u16(out, DATE_1980);
  nw_put_u32(out, entry->crc);
  nw_put_u32(out, entry->size >= LIMIT32 ? (uint32_t)LIMIT32 : (uint32_t)entry->size);
  nw_put_u32(out, entry->size >= LIMIT32 ? (uint32_t)LIMIT32 : (uint32_t)entry->size);
  nw_put_u16(out, (uint16_t)entry->path_length);
  nw_put_u16(out, (uint16_t)extra);
}

static void put_local(NwText *out, const Entry *entry)
{
  bool big = entry->size >= LIMIT32;
  size_t zip64 = big ? ZIP64_EXTRA : 0;
  uint64_t start = entry->offset + LOCAL_HEADER + entry->path_length + zip64 + PAD_EXTRA;
  size_t pad = (size_t)((ALIGNMENT - start % ALIGNMENT) % ALIGNMENT);
  nw_put_u32(out, 0x04034b50);
  put_common(out, entry, big, zip64 + PAD_EXTRA + pad);
  nw_text_add_n(out, entry->path, entry->path_length);
  if (big) {
    nw_put_u16(out, 1);
    nw_put_u16(out, 16);
    nw_put_u64(out, entry->size);
    nw_put_u64(out, entry->size);
  }
  nw_put_u16(out, PAD_ID);
  nw_put_u16(out, (uint16_t)pad);
  for (size_t i = 0; i < pad; i++)
    nw_put_u8(out, 'Z');
}

static void put_central(NwText *out, const Entry *entry)
{
  bool big = entry->size >= LIMIT32, far = entry->offset >= LIMIT32;
  size_t zip64 = (big ? 16 : 0) + (far ? 8 : 0);
  nw_put_u32(out, 0x02014b50);
  nw_put_u16(out, big || far ? 45 : 20); /* made by */
  put_common(out, entry, big || far, zip64 ? zip64 + 4 : 0);
  nw_put_u16(out, 0); /* comment */
  nw_put_u16(out, 0); /* disk */
  nw_put_u16(out, 0);
  nw_put_u32(out, 0);
  nw_put_u32(out, far ? (uint32_t)LIMIT32 : (uint32_t)entry->offset);
  nw_text_add_n(out, entry->path, entry->path_length);
  if (zip64) {
    nw_put_u16(out, 1);
    nw_put_u16(out, (uint16_t)zip64);
    if (big) {
      nw_put_u64(out, entry->size);
      nw_put_u64(out, entry->size);
    }
    if (far)
      nw_put_u64(out, entry->offset);
  }
}

NwStatus nw_zip_writer_add(NwZipWriter *writer, const char *name, const void *bytes, size_t n, NwError *error)
{
  NwText path = {0}, header = {0};
  if (writer->folder != NULL)
    nw_text_printf(&path, "%s/", writer->folder);
  nw_text_add(&path, name);
  if (path.failed || path.length > MAX_NAME) {
    bool failed = path.failed;
    nw_text_clear(&path);
    if (failed)
      return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the record %s.", name);
    return nw_fail(error, NW_BAD_ARGUMENT, "The name of the record %.60s... is too long.", name);
  }
  Entry entry = {.crc = checksum(bytes, n),
                 .size = n,
                 .offset = nw_file_writer_offset(writer->file),
                 .path = path.data,
                 .path_length = path.length};
  put_local(&header, &entry);
  put_central(&writer->central, &entry);
  writer->count++;
  NwStatus status = NW_OK;
  if (header.failed || writer->central.failed)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory to write the record %s.", name);
  if (status == NW_OK)
    status = nw_file_writer_write(writer->file, header.data, header.length, error);
  if (status == NW_OK && n > 0)
    status = nw_file_writer_write(writer->file, bytes, n, error);
  nw_text_clear(&header);
  nw_text_clear(&path);
  return status;
}

static void put_end(NwText *out, uint64_t count, uint64_t size, uint64_t offset)
{
  if (size >= LIMIT32 || offset >= LIMIT32 || count >= 0xffff) {
    nw_put_u32(out, 0x06064b50);
    nw_put_u64(out, 44);
    nw_put_u16(out, 45);
    nw_put_u16(out, 45);
    nw_put_u32(out, 0);
    nw_put_u32(out, 0);
    nw_put_u64(out, count);
    nw_put_u64(out, count);
    nw_put_u64(out, size);
    nw_put_u64(out, offset);
    nw_put_u32(out, 0x07064b50);
    nw_put_u32(out, 0);
    nw_put_u64(out, offset + size);
    nw_put_u32(out, 1);
  }
  nw_put_u32(out, 0x06054b50);
  nw_put_u16(out, 0);
  nw_put_u16(out, 0);
  nw_put_u16(out, count >= 0xffff ? 0xffff : (uint16_t)count);
  nw_put_u16(out, count >= 0xffff ? 0xffff : (uint16_t)count);
  nw_put_u32(out, size >= LIMIT32 ? (uint32_t)LIMIT32 : (uint32_t)size);
  nw_put_u32(out, offset >= LIMIT32 ? (uint32_t)LIMIT32 : (uint32_t)offset);
  nw_put_u16(out, 0);
}

NwStatus nw_zip_writer_commit(NwZipWriter *writer, NwError *error)
{
  uint64_t offset = nw_file_writer_offset(writer->file), size = writer->central.length;
  put_end(&writer->central, writer->count, size, offset);
  NwStatus status = NW_OK;
  if (writer->central.failed)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory to finish the file.");
  if (status == NW_OK)
    status = nw_file_writer_write(writer->file, writer->central.data, writer->central.length, error);
  if (status != NW_OK) {
    nw_zip_writer_cancel(writer);
    return status;
  }
  status = nw_file_writer_commit(writer->file, error);
  nw_text_clear(&writer->central);
  nw_free(writer);
  return status;
}

void nw_zip_writer_cancel(NwZipWriter *writer)
{
  if (writer == NULL)
    return;
  nw_file_writer_cancel(writer->file);
  nw_text_clear(&writer->central);
  nw_free(writer);
}
