/* Looking into a picture without decoding it, where that is enough. */
#include "data/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/frame.h"
#include "data/words.h"

#define HEAD 65536
#define TAIL 4096
#define WHOLE (HEAD + TAIL) /* files up to here are read whole */

const char *nw_looks_like(const guint8 *bytes, gsize n)
{
  char start[64] = {0};
  for (gsize i = 0; i < MIN(n, sizeof start - 1); i++)
    start[i] = g_ascii_tolower((char)bytes[i]);
  const char *text = start;
  while (g_ascii_isspace(*text))
    text++;
  if (g_str_has_prefix(text, "<!doctype html") || g_str_has_prefix(text, "<html"))
    return _("a web page");
  if (g_str_has_prefix(text, "<?xml") || g_str_has_prefix(text, "<svg"))
    return _("XML or SVG");
  if (n >= 4 && !memcmp(bytes, "\0\5\26\7", 4))
    return _("a macOS resource file");
  if (n >= 4 && !memcmp(bytes, "PK\3\4", 4))
    return _("a zip archive");
  if (n >= 2 && !memcmp(bytes, "\x1f\x8b", 2))
    return _("a gzip file");
  if (n >= 4 && !memcmp(bytes, "%PDF", 4))
    return _("a PDF document");
  if (n >= 12 && !memcmp(bytes + 4, "ftyp", 4))
    return _("a HEIF picture or a film");
  if (n >= 6 && !memcmp(bytes, "7z\xbc\xaf\x27\x1c", 6))
    return _("a 7-zip archive");
  if (n >= 4 && !memcmp(bytes, "Rar!", 4))
    return _("a RAR archive");
  if (nw_picture_sniff(bytes, n) != NW_FORMAT_UNKNOWN)
    return nw_picture_format_name(nw_picture_sniff(bytes, n));
  return _("something unknown");
}

static guint32 big16(const guint8 *p)
{
  return (guint32)p[0] << 8 | p[1];
}

static guint32 big32(const guint8 *p)
{
  return big16(p) << 16 | big16(p + 2);
}

/* Orientation of an EXIF block, 1 when there is none. */
static guint exif_orientation(const guint8 *p, gsize n)
{
  if (n < 14 || memcmp(p, "Exif\0\0", 6) != 0)
    return 1;
  p += 6;
  n -= 6;
  gboolean big = p[0] == 'M';
#define EXIF16(at) (big ? big16(p + (at)) : (guint32)p[at] | (guint32)p[(at) + 1] << 8)
#define EXIF32(at) (big ? big32(p + (at)) : EXIF16(at) | EXIF16((at) + 2) << 16)
  gsize at = EXIF32(4);
  if (at > n || n - at < 2)
    return 1;
  guint count = EXIF16(at);
  for (guint i = 0; i < count && at + 2 + 12 * (gsize)(i + 1) <= n; i++)
    if (EXIF16(at + 2 + 12 * i) == 0x0112) {
      guint value = EXIF16(at + 2 + 12 * i + 8);
      return value >= 1 && value <= 8 ? value : 1;
    }
  return 1;
#undef EXIF16
#undef EXIF32
}

typedef struct Header {
  gboolean known;    /* sizes and the rest are in the info */
  gboolean complete; /* and the end is there too */
} Header;

/* The last end marker must stand behind the start of the scan data; thumbnails have markers of their own. */
static gboolean jpeg_ends(const guint8 *bytes, gsize n, gsize from)
{
  for (gsize i = n; i >= from + 2; i--)
    if (bytes[i - 2] == 0xff && bytes[i - 1] == 0xd9)
      return TRUE;
  return FALSE;
}

static Header jpeg_header(const guint8 *p, gsize n, const guint8 *tail, gsize tail_n, NwPictureInfo *info)
{
  Header header = {FALSE, FALSE};
  guint precision = 8;
  for (gsize i = 2; i + 4 <= n;) {
    if (p[i] != 0xff)
      return header;
    guint marker = p[i + 1];
    if (marker == 0xff || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {
      i += marker == 0xff ? 1 : 2;
      continue;
    }
    gsize length = big16(p + i + 2);
    if (length < 2 || marker == 0xd9)
      return header;
    if (marker == 0xda) {
      /* Unusual kinds go through the real decoder, which says what is wrong with them. */
      header.known = info->width > 0 && info->height > 0 && precision == 8;
      header.complete = tail ? jpeg_ends(tail, tail_n, 0) : jpeg_ends(p, n, i);
      return header;
    }
    if (i + 2 + length > n)
      return header;
    gboolean frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame && length >= 8) {
      if (marker > 0xc2) /* lossless, hierarchical, arithmetic */
        return header;
      precision = p[i + 4];
      info->height = big16(p + i + 5);
      info->width = big16(p + i + 7);
      info->gray = p[i + 9] == 1;
      info->progressive = marker == 0xc2;
      if (p[i + 9] != 1 && p[i + 9] != 3 && p[i + 9] != 4)
        return header;
    }
    if (marker == 0xe1 && info->orientation == 1)
      info->orientation = exif_orientation(p + i + 4, length - 2);
    i += 2 + length;
  }
  return header;
}

static Header png_header(const guint8 *p, gsize n, const guint8 *tail, gsize tail_n, NwPictureInfo *info)
{
  Header header = {FALSE, FALSE};
  if (n < 33 || memcmp(p + 12, "IHDR", 4) != 0)
    return header;
  guint type = p[25];
  info->width = big32(p + 16);
  info->height = big32(p + 20);
  info->sixteen = p[24] == 16;
  info->gray = type == 0 || type == 4;
  info->alpha = type == 4 || type == 6;
  header.known = info->width > 0 && info->height > 0 && info->width < 1000000 && info->height < 1000000;
  for (gsize i = 33; i + 12 <= n;) { /* tRNS and eXIf stand before the data */
    gsize length = big32(p + i);
    if (!memcmp(p + i + 4, "IDAT", 4) || length > n)
      break;
    if (!memcmp(p + i + 4, "tRNS", 4))
      info->alpha = TRUE;
    i += 12 + length;
  }
  const guint8 *end = tail ? tail : p;
  gsize end_n = tail ? tail_n : n;
  for (gsize i = end_n; i >= 12 && !header.complete; i--)
    header.complete = !memcmp(end + i - 8, "IEND", 4);
  return header;
}

static Header bmp_header(const guint8 *p, gsize n, guint64 size, NwPictureInfo *info)
{
  Header header = {FALSE, FALSE};
  if (n < 54)
    return header;
  guint32 width = (guint32)p[18] | (guint32)p[19] << 8 | (guint32)p[20] << 16 | (guint32)p[21] << 24;
  gint32 height =
      (gint32)((guint32)p[22] | (guint32)p[23] << 8 | (guint32)p[24] << 16 | (guint32)p[25] << 24);
  guint32 offset = (guint32)p[10] | (guint32)p[11] << 8 | (guint32)p[12] << 16 | (guint32)p[13] << 24;
  guint bits = (guint)p[28] | (guint)p[29] << 8, packing = p[30];
  if (height == G_MININT32 || width > 1000000 || packing != 0 || (bits != 24 && bits != 32))
    return header;
  info->width = width;
  info->height = (guint32)ABS(height);
  header.known = info->width > 0 && info->height > 0;
  header.complete = offset + (guint64)((width * bits + 31) / 32 * 4) * info->height <= size;
  return header;
}

static Header header_of(const guint8 *p, gsize n, const guint8 *tail, gsize tail_n, guint64 size,
                        NwPictureInfo *info)
{
  switch (info->format) {
  case NW_FORMAT_JPEG:
    return jpeg_header(p, n, tail, tail_n, info);
  case NW_FORMAT_PNG:
    return png_header(p, n, tail, tail_n, info);
  case NW_FORMAT_BMP:
    return bmp_header(p, n, size, info);
  default: /* the others are rare: decoded */
    return (Header){FALSE, FALSE};
  }
}

static gboolean name_says_otherwise(const char *path, NwPictureFormat format)
{
  static const struct {
    const char *end;
    NwPictureFormat format;
  } ends[] = {{".jpg", NW_FORMAT_JPEG},  {".jpeg", NW_FORMAT_JPEG}, {".png", NW_FORMAT_PNG},
              {".webp", NW_FORMAT_WEBP}, {".bmp", NW_FORMAT_BMP},   {".gif", NW_FORMAT_GIF},
              {".tif", NW_FORMAT_TIFF},  {".tiff", NW_FORMAT_TIFF}, {".ppm", NW_FORMAT_PNM},
              {".pgm", NW_FORMAT_PNM}};
  const char *dot = strrchr(path, '.');
  for (guint i = 0; dot && i < G_N_ELEMENTS(ends); i++)
    if (!g_ascii_strcasecmp(dot, ends[i].end))
      return ends[i].format != format;
  return FALSE;
}

static void find(NwFinding *finding, const char *kind, const char *text)
{
  finding->kind = kind;
  g_free(finding->text);
  finding->text = g_strdup(text);
}

static const char *kind_of(NwStatus status, const NwError *error)
{
  if (error->property[0])
    return !strcmp(error->property, NW_FAULT_CUT) ? NW_FAULT_CUT : NW_FAULT_LARGE;
  return status == NW_UNSUPPORTED ? "unsupported" : status == NW_BAD_FORMAT ? "corrupt" : "unreadable";
}

/* Whether transparency is really used; many files only have room for it. */
static gboolean is_see_through(const NwFrame *frame)
{
  for (guint y = 0; y < frame->height; y++)
    for (guint x = 0; x < frame->width; x++)
      if (frame->pixels[y * frame->stride + 4 * (gsize)x + 3] != 255)
        return TRUE;
  return FALSE;
}

static void decode_whole(NwInspector *inspector, const guint8 *bytes, gsize n, NwFinding *finding)
{
  NwError error = {0};
  NwPictureInfo info;
  NwFrame frame;
  NwStatus status = nw_decoder_open(inspector->decoder, bytes, n, &info, &error);
  if (status == NW_OK)
    status = nw_decoder_decode(inspector->decoder, NULL, 3, &frame, &error);
  if (status != NW_OK) {
    find(finding, kind_of(status, &error), error.text);
    return;
  }
  info.orientation = finding->info.orientation;
  if (info.alpha && info.format != NW_FORMAT_PNG)
    info.alpha = info.format != NW_FORMAT_BMP && frame.bytes == 4 && is_see_through(&frame);
  finding->info = info;
  if (nw_decoder_lacks_end(inspector->decoder))
    finding->notes |= NW_NOTE_NO_END;
}

/* The whole of a small file; of a large one its two ends, so that a scan of big photos does not read them
 * all. */
static NwStatus read_ends(NwInspector *inspector, const NwStore *store, const NwPictureEntry *entry,
                          gboolean whole, const guint8 **head, gsize *n, gsize *tail_n, NwError *error)
{
  *tail_n = 0;
  if (store->kind != NW_DATA_FOLDER || whole || entry->bytes <= WHOLE)
    return nw_store_read(store, entry, &inspector->head, head, n, error);
  if (!nw_bytes_need(&inspector->head, HEAD) || !nw_bytes_need(&inspector->tail, TAIL))
    return nw_fail(error, NW_NO_MEMORY, _("no memory to look into a file"));
  char *path = g_build_filename(store->root, entry->path, NULL);
  int fd = open(path, O_RDONLY | O_CLOEXEC), code = errno;
  g_free(path);
  if (fd < 0)
    return nw_fail_errno(error, code, _("it cannot be opened"));
  ssize_t a = pread(fd, inspector->head.data, HEAD, 0);
  ssize_t b = pread(fd, inspector->tail.data, TAIL, (off_t)(entry->bytes - TAIL));
  code = errno;
  close(fd);
  if (a <= 0 || b <= 0)
    return nw_fail_errno(error, code, _("it cannot be read"));
  *head = inspector->head.data;
  *n = (gsize)a;
  *tail_n = (gsize)b;
  return NW_OK;
}

void nw_inspect(NwInspector *inspector, const NwStore *store, const NwPictureEntry *entry,
                gboolean decode_all, NwFinding *finding)
{
  NwError error = {0};
  const guint8 *head = NULL;
  gsize n = 0, tail_n = 0;
  memset(finding, 0, sizeof *finding);
  if (!inspector->decoder)
    inspector->decoder = nw_decoder_new();
  NwStatus status = read_ends(inspector, store, entry, decode_all, &head, &n, &tail_n, &error);
  if (status != NW_OK) {
    find(finding, status == NW_BAD_FORMAT ? "corrupt" : "unreadable", error.text);
    return;
  }
  NwPictureInfo *info = &finding->info;
  info->orientation = 1;
  info->format = nw_picture_sniff(head, n);
  if (n == 0) {
    find(finding, "empty-file", _("the file is empty"));
    return;
  }
  if (info->format == NW_FORMAT_UNKNOWN) {
    char *text = g_strdup_printf(_("the file is not a picture; it looks like %s"), nw_looks_like(head, n));
    find(finding, "not-a-picture", text);
    g_free(text);
    return;
  }
  Header header = header_of(head, n, tail_n ? inspector->tail.data : NULL, tail_n, entry->bytes, info);
  if (header.known && nw_check_size(info->width, info->height, &error) != NW_OK) {
    find(finding, NW_FAULT_LARGE, error.text);
    return;
  }
  if (decode_all || !header.known || !header.complete) {
    status = tail_n ? nw_store_read(store, entry, &inspector->head, &head, &n, &error) : NW_OK;
    if (status != NW_OK)
      find(finding, "unreadable", error.text);
    else
      decode_whole(inspector, head, n, finding);
  }
  if (finding->kind)
    return;
  if (name_says_otherwise(entry->path, info->format))
    finding->notes |= NW_NOTE_EXTENSION;
  finding->notes |= (info->orientation != 1 ? NW_NOTE_ROTATED : 0u) | (info->alpha ? NW_NOTE_ALPHA : 0u) |
                    (info->sixteen && info->gray ? NW_NOTE_SIXTEEN : 0u) |
                    (info->animated ? NW_NOTE_ANIMATED : 0u);
}
