#include "engine/base/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"

NwStatus nw_json_parse(const char *text, size_t length, const char *what, NwJson **out, NwError *error)
{
  json_error_t problem;
  *out = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
  if (*out != NULL)
    return NW_OK;
  if (json_error_code(&problem) == json_error_out_of_memory)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to read %s", what);
  return nw_fail(error, NW_BAD_FORMAT, "%s is not valid JSON: line %d, column %d: %s", what, problem.line,
                 problem.column, problem.text);
}

NwStatus nw_json_read(const char *path, NwJson **out, NwError *error)
{
  char *data = NULL;
  size_t length = 0;
  *out = NULL;
  NW_TRY(nw_file_read(path, (size_t)1 << 30, &data, &length, error));
  NwStatus status = nw_json_parse(data, length, path, out, error);
  nw_free(data);
  return status;
}

/* ---- writing: our own, so that numbers read back equal and never depend on the locale ---- */

static void write_string(NwText *text, const char *value)
{
  static const char plain[] = "\b\f\n\r\t\"\\", escaped[] = "bfnrt\"\\";
  nw_text_add(text, "\"");
  for (const char *p = value; *p != '\0'; p++) {
    const char *found = strchr(plain, *p);
    if (found != NULL)
      nw_text_printf(text, "\\%c", escaped[found - plain]);
    else if ((unsigned char)*p < 0x20)
      nw_text_printf(text, "\\u%04x", (unsigned char)*p);
    else
      nw_text_add_n(text, p, 1);
  }
  nw_text_add(text, "\"");
}

static void new_line(NwText *text, int indent)
{
  if (indent < 0)
    return;
  nw_text_add(text, "\n");
  for (int i = 0; i < indent; i++)
    nw_text_add(text, "  ");
}

static void write_real(NwText *text, double value)
{
  size_t from = text->length;
  nw_text_double(text, value);
  /* A whole number must stay a real when it is read again. */
  if (!text->failed && strpbrk(text->data + from, ".e") == NULL)
    nw_text_add(text, ".0");
}

static void write_value(NwText *text, const json_t *value, int indent);

static void write_array(NwText *text, const json_t *array, int indent)
{
  int deeper = indent < 0 ? -1 : indent + 1;
  size_t n = json_array_size(array);
  bool flat = true; /* short lists of plain values stay on one line */
  for (size_t i = 0; i < n; i++)
    flat = flat && !json_is_object(json_array_get(array, i)) && !json_is_array(json_array_get(array, i));
  nw_text_add(text, "[");
  for (size_t i = 0; i < n; i++) {
    if (i > 0)
      nw_text_add(text, flat && indent >= 0 ? ", " : ",");
    if (!flat)
      new_line(text, deeper);
    write_value(text, json_array_get(array, i), deeper);
  }
  if (n > 0 && !flat)
    new_line(text, indent);
  nw_text_add(text, "]");
}

static void write_object(NwText *text, const json_t *object, int indent)
{
  const char *key;
  json_t *member;
  bool first = true;
  int deeper = indent < 0 ? -1 : indent + 1;
  nw_text_add(text, "{");
  json_object_foreach((json_t *)(uintptr_t)object, key, member)
  {
    if (!first)
      nw_text_add(text, ",");
    first = false;
    new_line(text, deeper);
    write_string(text, key);
    nw_text_add(text, indent < 0 ? ":" : ": ");
    write_value(text, member, deeper);
  }
  if (!first)
    new_line(text, indent);
  nw_text_add(text, "}");
}

static void write_value(NwText *text, const json_t *value, int indent)
{
  switch (json_typeof(value)) {
  case JSON_OBJECT:
    write_object(text, value, indent);
    break;
  case JSON_ARRAY:
    write_array(text, value, indent);
    break;
  case JSON_STRING:
    write_string(text, json_string_value(value));
    break;
  case JSON_INTEGER:
    nw_text_printf(text, "%lld", (long long)json_integer_value(value));
    break;
  case JSON_REAL:
    write_real(text, json_real_value(value));
    break;
  case JSON_TRUE:
    nw_text_add(text, "true");
    break;
  case JSON_FALSE:
    nw_text_add(text, "false");
    break;
  case JSON_NULL:
    nw_text_add(text, "null");
    break;
  }
}

char *nw_json_print(const NwJson *value, bool pretty)
{
  NwText text = {0};
  if (value == NULL)
    return NULL;
  write_value(&text, value, pretty ? 0 : -1);
  return nw_text_steal(&text);
}

void nw_json_free(NwJson *value)
{
  json_decref(value);
}

NwJson *nw_json_copy(const NwJson *value)
{
  return json_deep_copy(value);
}

bool nw_json_equal(const NwJson *a, const NwJson *b)
{
  return a == b || json_equal(a, b);
}

NwJson *nw_json_object(void)
{
  return json_object();
}
NwJson *nw_json_array(void)
{
  return json_array();
}
NwJson *nw_json_string(const char *text)
{
  return text != NULL ? json_string(text) : json_null();
}
NwJson *nw_json_int(int64_t value)
{
  return json_integer(value);
}
NwJson *nw_json_real(double value)
{
  return isfinite(value) ? json_real(value) : json_null();
}
NwJson *nw_json_bool(bool value)
{
  return json_boolean(value);
}
NwJson *nw_json_null(void)
{
  return json_null();
}

bool nw_json_set(NwJson *object, const char *key, NwJson *value)
{
  return json_object_set_new(object, key, value) == 0;
}
bool nw_json_set_string(NwJson *object, const char *key, const char *text)
{
  return nw_json_set(object, key, nw_json_string(text));
}
bool nw_json_set_int(NwJson *object, const char *key, int64_t value)
{
  return nw_json_set(object, key, nw_json_int(value));
}
bool nw_json_set_real(NwJson *object, const char *key, double value)
{
  return nw_json_set(object, key, nw_json_real(value));
}
bool nw_json_set_bool(NwJson *object, const char *key, bool value)
{
  return nw_json_set(object, key, nw_json_bool(value));
}
bool nw_json_append(NwJson *array, NwJson *value)
{
  return json_array_append_new(array, value) == 0;
}

bool nw_json_is_object(const NwJson *value)
{
  return json_is_object(value);
}
bool nw_json_is_array(const NwJson *value)
{
  return json_is_array(value);
}
bool nw_json_is_string(const NwJson *value)
{
  return json_is_string(value);
}
bool nw_json_is_int(const NwJson *value)
{
  return json_is_integer(value);
}
bool nw_json_is_number(const NwJson *value)
{
  return json_is_number(value);
}
bool nw_json_is_bool(const NwJson *value)
{
  return json_is_boolean(value);
}
bool nw_json_is_null(const NwJson *value)
{
  return value == NULL || json_is_null(value);
}

NwJson *nw_json_get(const NwJson *object, const char *key)
{
  return json_object_get(object, key);
}
const char *nw_json_get_string(const NwJson *object, const char *key, const char *fallback)
{
  const json_t *value = json_object_get(object, key);
  return json_is_string(value) ? json_string_value(value) : fallback;
}
int64_t nw_json_get_int(const NwJson *object, const char *key, int64_t fallback)
{
  return nw_json_to_int(json_object_get(object, key), fallback);
}
double nw_json_get_real(const NwJson *object, const char *key, double fallback)
{
  return nw_json_to_real(json_object_get(object, key), fallback);
}
bool nw_json_get_bool(const NwJson *object, const char *key, bool fallback)
{
  return nw_json_to_bool(json_object_get(object, key), fallback);
}
const char *nw_json_text(const NwJson *string)
{
  return json_string_value(string);
}
int64_t nw_json_to_int(const NwJson *value, int64_t fallback)
{
  return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}
double nw_json_to_real(const NwJson *value, double fallback)
{
  return json_is_number(value) ? json_number_value(value) : fallback;
}
bool nw_json_to_bool(const NwJson *value, bool fallback)
{
  return json_is_boolean(value) ? json_is_true(value) : fallback;
}
size_t nw_json_length(const NwJson *value)
{
  return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}
NwJson *nw_json_at(const NwJson *array, size_t index)
{
  return json_array_get(array, index);
}

void *nw_json_first(const NwJson *object)
{
  return json_object_iter((json_t *)(uintptr_t)object);
}
void *nw_json_next(const NwJson *object, void *iterator)
{
  return json_object_iter_next((json_t *)(uintptr_t)object, iterator);
}
const char *nw_json_key(void *iterator)
{
  return json_object_iter_key(iterator);
}
NwJson *nw_json_value(void *iterator)
{
  return json_object_iter_value(iterator);
}
