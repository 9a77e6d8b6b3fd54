#include "data/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/decoder.h"
#include "data/frame.h"
#include "data/words.h"

NwPictureFormat nw_picture_sniff(const guint8 *bytes, gsize n)
{
  if (n >= 3 && !memcmp(bytes, "\xff\xd8\xff", 3))
    return NW_FORMAT_JPEG;
  if (n >= 8 && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8))
    return NW_FORMAT_PNG;
  if (n >= 12 && !memcmp(bytes, "RIFF", 4) && !memcmp(bytes + 8, "WEBP", 4))
    return NW_FORMAT_WEBP;
  if (n >= 6 && (!memcmp(bytes, "GIF87a", 6) || !memcmp(bytes, "GIF89a", 6)))
    return NW_FORMAT_GIF;
  if (n >= 26 && !memcmp(bytes, "BM", 2))
    return NW_FORMAT_BMP;
  if (n >= 8 && (!memcmp(bytes, "II*\0", 4) || !memcmp(bytes, "MM\0*", 4)))
    return NW_FORMAT_TIFF;
  if (n >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' && g_ascii_isspace(bytes[2]))
    return NW_FORMAT_PNM;
  return NW_FORMAT_UNKNOWN;
}

const char *nw_picture_format_name(NwPictureFormat format)
{
  static const char *const names[] = {"unknown", "JPEG", "PNG", "WebP", "BMP", "GIF", "TIFF", "PNM", "raw"};
  return (guint)format < G_N_ELEMENTS(names) ? names[format] : names[0];
}

NwStatus nw_picture_decode(const guint8 *bytes, gsize n, guint channels, NwPicture *out, NwError *error)
{
  NwDecoder *decoder = nw_decoder_new();
  NwPictureInfo info;
  NwFrame frame;
  memset(out, 0, sizeof *out);
  NwStatus status = nw_decoder_open(decoder, bytes, n, &info, error);
  if (status == NW_OK)
    status = nw_decoder_decode(decoder, NULL, channels, &frame, error);
  if (status == NW_OK)
    status = nw_frame_to_picture(&frame, out, error);
  nw_decoder_free(decoder);
  return status;
}

NwStatus nw_picture_read(const char *path, guint channels, NwPicture *out, NwError *error)
{
  NwBytes bytes = {0};
  gsize n = 0;
  memset(out, 0, sizeof *out);
  NwStatus status = nw_file_bytes(path, &bytes, &n, error);
  if (status == NW_OK)
    status = nw_picture_decode(bytes.data, n, channels, out, error);
  if (status != NW_OK) {
    char *shown = g_filename_display_name(path);
    nw_error_prefix(error, status, "%s", shown);
    g_free(shown);
  }
  nw_bytes_clear(&bytes);
  return status;
}

void nw_picture_clear(NwPicture *picture)
{
  g_free(picture->pixels);
  memset(picture, 0, sizeof *picture);
}

NwStatus nw_file_bytes(const char *path, NwBytes *bytes, gsize *n, NwError *error)
{
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0) {
    int code = errno;
    nw_fail_errno(error, code, _("it cannot be opened"));
    if (fd >= 0)
      close(fd);
    return code == ENOENT || code == ENOTDIR ? NW_NOT_FOUND : NW_IO;
  }
  NwStatus status = NW_OK;
  gsize size = (gsize)st.st_size, done = 0;
  if (!S_ISREG(st.st_mode) || st.st_size > (gint64)1 << 31)
    status = nw_fail(error, NW_BAD_FORMAT,
                     S_ISDIR(st.st_mode) ? _("this is a folder; give the pictures in it")
                                         : _("this is not a picture file"));
  else if (!nw_bytes_need(bytes, size))
    status = nw_fail(error, NW_NO_MEMORY, _("no memory for a file of %zu bytes"), size);
  while (status == NW_OK && done < size) {
    ssize_t got = read(fd, bytes->data + done, size - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      status = nw_fail_errno(error, errno, _("it cannot be read"));
    if (got <= 0)
      break;
    done += (gsize)got;
  }
  close(fd);
  *n = done;
  return status;
}
