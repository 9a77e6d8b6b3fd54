#include "engine/base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *nw_status_text(NwStatus status)
{
  static const char *const texts[] = {
#define X(id, text) text,
      NW_STATUS_MAP(X)
#undef X
  };
  return (unsigned)status < (unsigned)NW_COUNT(texts) ? texts[status] : "unknown status";
}

static void error_start(NwError *error, NwStatus status, const char *property)
{
  error->status = status;
  error->block = 0;
  snprintf(error->property, sizeof error->property, "%s", property);
}

/* A sentence that did not fit ends with a whole character: it goes to JSON and to labels, which want UTF-8.
 */
static void end_whole(NwError *error)
{
  size_t n = strlen(error->text), from = n;
  if (n + 1 < sizeof error->text)
    return;
  while (from > 0 && ((unsigned char)error->text[from - 1] & 0xC0) == 0x80)
    from--;
  if (from == 0)
    return;
  unsigned char lead = (unsigned char)error->text[from - 1];
  size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (n - (from - 1) < wanted)
    error->text[from - 1] = '\0';
}

NwStatus nw_fail(NwError *error, NwStatus status, const char *format, ...)
{
  if (error != NULL) {
    va_list args;
    error_start(error, status, "");
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    end_whole(error);
  }
  return status;
}

NwStatus nw_fail_property(NwError *error, NwStatus status, const char *property, const char *format, ...)
{
  if (error != NULL) {
    va_list args;
    error_start(error, status, property);
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    end_whole(error);
  }
  return status;
}

static NwStatus status_of_errno(int errnum)
{
  switch (errnum) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return NW_NO_SPACE;
  case ENOENT:
  case ENOTDIR:
    return NW_NOT_FOUND;
  case ENOMEM:
    return NW_NO_MEMORY;
  case EEXIST:
    return NW_EXISTS;
  default:
    return NW_IO;
  }
}

NwStatus nw_fail_errno(NwError *error, int errnum, const char *format, ...)
{
  NwStatus status = status_of_errno(errnum);
  if (error != NULL) {
    va_list args;
    char reason[128];
    error_start(error, status, "");
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    size_t n = strlen(error->text);
    snprintf(error->text + n, sizeof error->text - n, ": %s", strerror_r(errnum, reason, sizeof reason));
    end_whole(error);
  }
  return status;
}

NwStatus nw_error_prefix(NwError *error, NwStatus status, const char *format, ...)
{
  if (error != NULL) {
    va_list args;
    char old[sizeof error->text];
    memcpy(old, error->text, sizeof old);
    va_start(args, format);
    int n = vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof error->text)
      snprintf(error->text + n, sizeof error->text - (size_t)n, ": %s", old);
    end_whole(error);
    error->status = status;
  }
  return status;
}
