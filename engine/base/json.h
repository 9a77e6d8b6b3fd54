/* JSON documents; jansson stands behind this file and nowhere else.
 *
 * Values are reference-free trees: a value belongs to the container it was put into; the root is freed with
 * nw_json_free. Setters take ownership of the value they are given, also on failure. Out of memory makes constructors
 * return NULL and setters return false; a NULL value is accepted and makes the setter fail, so calls can be nested. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"

typedef struct json_t NwJson;

/* Parses; line, column and reason are in the sentence. `what` names the source ("project file /a/b"). Owner: caller. */
NwStatus nw_json_parse(const char *text, size_t length, const char *what, NwJson **out, NwError *error);
NwStatus nw_json_read(const char *path, NwJson **out, NwError *error);
/* Text with sorted keys off (order of insertion), indent 2 when pretty; free with nw_free; NULL: no memory. */
char *nw_json_print(const NwJson *value, bool pretty);
void nw_json_free(NwJson *value);
NwJson *nw_json_copy(const NwJson *value);
bool nw_json_equal(const NwJson *a, const NwJson *b);

NwJson *nw_json_object(void);
NwJson *nw_json_array(void);
NwJson *nw_json_string(const char *text);
NwJson *nw_json_int(int64_t value);
NwJson *nw_json_real(double value); /* not finite: becomes null */
NwJson *nw_json_bool(bool value);
NwJson *nw_json_null(void);

bool nw_json_set(NwJson *object, const char *key, NwJson *value);
bool nw_json_set_string(NwJson *object, const char *key, const char *text); /* text NULL: null */
bool nw_json_set_int(NwJson *object, const char *key, int64_t value);
bool nw_json_set_real(NwJson *object, const char *key, double value);
bool nw_json_set_bool(NwJson *object, const char *key, bool value);
bool nw_json_append(NwJson *array, NwJson *value);

bool nw_json_is_object(const NwJson *value);
bool nw_json_is_array(const NwJson *value);
bool nw_json_is_string(const NwJson *value);
bool nw_json_is_int(const NwJson *value);
bool nw_json_is_number(const NwJson *value);
bool nw_json_is_bool(const NwJson *value);
bool nw_json_is_null(const NwJson *value); /* true for NULL too */

/* Readers: the fallback comes back when the key is missing or of another type. Borrowed pointers. */
NwJson *nw_json_get(const NwJson *object, const char *key); /* NULL: missing */
const char *nw_json_get_string(const NwJson *object, const char *key, const char *fallback);
int64_t nw_json_get_int(const NwJson *object, const char *key, int64_t fallback);
double nw_json_get_real(const NwJson *object, const char *key, double fallback); /* ints too */
bool nw_json_get_bool(const NwJson *object, const char *key, bool fallback);
const char *nw_json_text(const NwJson *string); /* NULL when not a string */
int64_t nw_json_to_int(const NwJson *value, int64_t fallback);
double nw_json_to_real(const NwJson *value, double fallback);
bool nw_json_to_bool(const NwJson *value, bool fallback);
size_t nw_json_length(const NwJson *array_or_object);
NwJson *nw_json_at(const NwJson *array, size_t index);
/* Walks an object: `for (void *it = nw_json_first(o); it; it = nw_json_next(o, it))`. */
void *nw_json_first(const NwJson *object);
void *nw_json_next(const NwJson *object, void *iterator);
const char *nw_json_key(void *iterator);
NwJson *nw_json_value(void *iterator);
