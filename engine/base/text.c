#include "engine/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"

void nw_text_init(NwText *text)
{
  *text = (NwText){0};
}

void nw_text_clear(NwText *text)
{
  nw_free(text->data);
  *text = (NwText){0};
}

static bool reserve(NwText *text, size_t more)
{
  if (text->failed)
    return false;
  size_t need = text->length + more + 1;
  if (need <= text->room)
    return true;
  size_t room = text->room < 64 ? 64 : text->room * 2;
  room = room < need ? need : room;
  char *grown = nw_realloc(text->data, text->length, room);
  if (grown == NULL) {
    text->failed = true;
    return false;
  }
  text->data = grown;
  text->room = room;
  return true;
}

void nw_text_add_n(NwText *text, const void *bytes, size_t n)
{
  if (!reserve(text, n))
    return;
  if (n > 0) /* bytes may be NULL then */
    memcpy(text->data + text->length, bytes, n);
  text->length += n;
  text->data[text->length] = '\0';
}

void nw_text_add(NwText *text, const char *piece)
{
  nw_text_add_n(text, piece, strlen(piece));
}

void nw_text_printf(NwText *text, const char *format, ...)
{
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0)
    text->failed = true;
  else if (reserve(text, (size_t)n)) {
    vsnprintf(text->data + text->length, (size_t)n + 1, format, again);
    text->length += (size_t)n;
  }
  va_end(again);
}

/* One C locale for the process, so that numbers in files never take the person's comma. */
static locale_t c_locale;
static void c_locale_make(void)
{
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t c_locale_enter(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, c_locale_make);
  return c_locale != (locale_t)0 ? uselocale(c_locale) : (locale_t)0;
}

static void c_locale_leave(locale_t old)
{
  if (old != (locale_t)0)
    uselocale(old);
}

void nw_text_double(NwText *text, double value)
{
  char digits[40];
  locale_t old = c_locale_enter();
  for (int precision = 1; precision <= 17; precision++) {
    snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (!isfinite(value) || strtod(digits, NULL) == value)
      break;
  }
  c_locale_leave(old);
  nw_text_add(text, digits);
}

char *nw_text_steal(NwText *text)
{
  if (!text->failed && text->data == NULL)
    nw_text_add(text, "");
  char *data = text->failed ? NULL : text->data;
  if (text->failed)
    nw_free(text->data);
  *text = (NwText){0};
  return data;
}

bool nw_parse_double(const char *text, double *value)
{
  char *end;
  if (isspace((unsigned char)*text) || strpbrk(text, "xX") != NULL)
    return false;
  locale_t old = c_locale_enter();
  errno = 0;
  double parsed = strtod(text, &end);
  bool too_big = errno == ERANGE && isinf(parsed);
  c_locale_leave(old);
  if (end == text || *end != '\0' || too_big)
    return false;
  *value = parsed;
  return true;
}

bool nw_parse_int(const char *text, long long *value)
{
  char *end;
  if (isspace((unsigned char)*text))
    return false;
  errno = 0;
  long long parsed = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0)
    return false;
  *value = parsed;
  return true;
}
