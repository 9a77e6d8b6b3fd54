/* A growing text. Out of memory does not have to be tested at each step: it sticks, and nw_text_steal returns NULL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct NwText {
  char *data; /* always terminated once something was written; NULL before */
  size_t length, room;
  bool failed;
} NwText;

void nw_text_init(NwText *text); /* same as = {0} */
void nw_text_clear(NwText *text);
void nw_text_add(NwText *text, const char *piece);
void nw_text_add_n(NwText *text, const void *bytes, size_t n);
void nw_text_printf(NwText *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A double in the shortest decimal that reads back equal, always with '.', never the locale's comma. */
void nw_text_double(NwText *text, double value);
/* Hands the text over (free with nw_free); NULL when memory ran out. The text is empty afterwards. */
char *nw_text_steal(NwText *text);

/* strtod in the C locale, whatever the process's locale is; false when text is not wholly a number. */
bool nw_parse_double(const char *text, double *value);
bool nw_parse_int(const char *text, long long *value);
