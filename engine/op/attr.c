#include "engine/op/attr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/op/op.h"

static const char *name_of(const NwOp *op)
{
  return op->label != NULL ? op->label : op->id;
}

static void store(const NwAttr *attr, void *attrs, NwValue value)
{
  char *at = (char *)attrs + attr->offset;
  switch (attr->type) {
  case NW_ATTR_INT:
  case NW_ATTR_ENUM:
    memcpy(at, &value.i, sizeof value.i);
    break;
  case NW_ATTR_REAL:
    memcpy(at, &value.r, sizeof value.r);
    break;
  case NW_ATTR_BOOL:
    memcpy(at, &value.b, sizeof value.b);
    break;
  case NW_ATTR_DIMS:
    memcpy(at, &value.d, sizeof value.d);
    break;
  }
}

NwValue nw_attr_get(const NwAttr *attr, const void *attrs)
{
  const char *at = (const char *)attrs + attr->offset;
  NwValue value = {.type = attr->type};
  switch (attr->type) {
  case NW_ATTR_INT:
  case NW_ATTR_ENUM:
    memcpy(&value.i, at, sizeof value.i);
    break;
  case NW_ATTR_REAL:
    memcpy(&value.r, at, sizeof value.r);
    break;
  case NW_ATTR_BOOL:
    memcpy(&value.b, at, sizeof value.b);
    break;
  case NW_ATTR_DIMS:
    memcpy(&value.d, at, sizeof value.d);
    break;
  }
  return value;
}

static NwValue initial_of(const NwAttr *attr)
{
  NwValue value = {.type = attr->type};
  switch (attr->type) {
  case NW_ATTR_INT:
  case NW_ATTR_ENUM:
    value.i = (int64_t)attr->initial;
    break;
  case NW_ATTR_REAL:
    value.r = attr->initial;
    break;
  case NW_ATTR_BOOL:
    value.b = attr->initial != 0;
    break;
  case NW_ATTR_DIMS:
    for (int i = 0; i < attr->count; i++)
      value.d.v[i] = (int64_t)attr->initial;
    break;
  }
  return value;
}

void nw_attrs_init(const NwOp *op, void *attrs)
{
  if (op->attrs_size > 0)
    memset(attrs, 0, op->attrs_size);
  for (int i = 0; i < op->n_attrs; i++)
    store(&op->attrs[i], attrs, initial_of(&op->attrs[i]));
}

const NwAttr *nw_attr_find(const NwOp *op, const char *key)
{
  for (int i = 0; i < op->n_attrs; i++)
    if (strcmp(op->attrs[i].key, key) == 0)
      return &op->attrs[i];
  return NULL;
}

/* ---- ranges ---- */

static NwStatus check_number(const NwOp *op, const NwAttr *attr, double value, NwError *error)
{
  if (value >= attr->min && value <= attr->max && isfinite(value))
    return NW_OK;
  int digits = attr->type == NW_ATTR_REAL ? 6 : 17; /* sizes are told to the last digit */
  if (isinf(attr->max))
    return nw_fail_property(error, NW_BAD_ARGUMENT, attr->key, "%s: %s is %.*g; it must be %.*g or more",
                            name_of(op), attr->key, digits, value, digits, attr->min);
  return nw_fail_property(error, NW_BAD_ARGUMENT, attr->key, "%s: %s is %.*g; it must be from %.*g to %.*g",
                          name_of(op), attr->key, digits, value, digits, attr->min, digits, attr->max);
}

static NwStatus check_enum(const NwOp *op, const NwAttr *attr, int64_t value, NwError *error)
{
  for (int i = 0; i < attr->n_items; i++)
    if (attr->items[i].value == value)
      return NW_OK;
  return nw_fail_property(error, NW_BAD_ARGUMENT, attr->key, "%s: %s has no choice number %lld", name_of(op),
                          attr->key, (long long)value);
}

static NwStatus check_value(const NwOp *op, const NwAttr *attr, NwValue value, NwError *error)
{
  switch (attr->type) {
  case NW_ATTR_INT:
    return check_number(op, attr, (double)value.i, error);
  case NW_ATTR_REAL:
    return check_number(op, attr, value.r, error);
  case NW_ATTR_ENUM:
    return check_enum(op, attr, value.i, error);
  case NW_ATTR_DIMS:
    for (int i = 0; i < attr->count; i++)
      NW_TRY(check_number(op, attr, (double)value.d.v[i], error));
    return NW_OK;
  case NW_ATTR_BOOL:
    break;
  }
  return NW_OK;
}

/* A whole number serves where a real or equal sizes are asked for. */
static bool convert(const NwAttr *attr, NwValue *value)
{
  if (value->type == attr->type)
    return true;
  if (value->type != NW_ATTR_INT)
    return false;
  int64_t i = value->i;
  if (attr->type == NW_ATTR_REAL)
    *value = (NwValue){.type = NW_ATTR_REAL, .r = (double)i};
  else if (attr->type == NW_ATTR_DIMS) {
    *value = (NwValue){.type = NW_ATTR_DIMS};
    for (int k = 0; k < attr->count; k++)
      value->d.v[k] = i;
  } else
    return false;
  return true;
}

static const char *wanted(const NwAttr *attr)
{
  switch (attr->type) {
  case NW_ATTR_INT:
    return "a whole number";
  case NW_ATTR_REAL:
    return "a number";
  case NW_ATTR_BOOL:
    return "true or false";
  case NW_ATTR_ENUM:
    return "one of its choices";
  case NW_ATTR_DIMS:
    return "whole numbers such as 3 or 3x5";
  }
  return "";
}

static NwStatus wrong_type(const NwOp *op, const NwAttr *attr, NwError *error)
{
  return nw_fail_property(error, NW_BAD_ARGUMENT, attr->key, "%s: %s must be %s", name_of(op), attr->key,
                          wanted(attr));
}

NwStatus nw_attr_set(const NwOp *op, const NwAttr *attr, void *attrs, NwValue value, NwError *error)
{
  if (!convert(attr, &value))
    return wrong_type(op, attr, error);
  NW_TRY(check_value(op, attr, value, error));
  store(attr, attrs, value);
  return NW_OK;
}

/* ---- texts ---- */

static NwStatus unknown(const NwOp *op, const char *key, NwError *error)
{
  NwText known = {0};
  for (int i = 0; i < op->n_attrs; i++)
    if (!(op->attrs[i].flags & NW_ATTR_HIDDEN))
      nw_text_printf(&known, "%s%s", known.length > 0 ? ", " : "", op->attrs[i].key);
  NwStatus status =
      nw_fail_property(error, NW_BAD_ARGUMENT, key, "%s has no attribute %s; it has %s", name_of(op), key,
                       known.data != NULL && !known.failed ? known.data : "none");
  nw_text_clear(&known);
  return status;
}

static bool parse_dims(const NwAttr *attr, const char *text, NwDims *dims)
{
  char piece[32];
  int n = 0;
  while (n < NW_MAX_ATTR_DIMS) {
    size_t length = strcspn(text, "x,×");
    long long value;
    if (length == 0 || length >= sizeof piece)
      return false;
    memcpy(piece, text, length);
    piece[length] = '\0';
    if (!nw_parse_int(piece, &value))
      return false;
    dims->v[n++] = value;
    text += length;
    if (*text == '\0')
      break;
    text += strncmp(text, "×", strlen("×")) == 0 ? strlen("×") : 1;
    text += strspn(text, " ");
  }
  if (n == 1)
    for (; n < attr->count; n++)
      dims->v[n] = dims->v[0];
  return n == attr->count && *text == '\0';
}

static bool parse_enum(const NwAttr *attr, const char *text, int64_t *value)
{
  for (int i = 0; i < attr->n_items; i++)
    if (strcmp(attr->items[i].key, text) == 0) {
      *value = attr->items[i].value;
      return true;
    }
  return false;
}

static NwStatus unknown_choice(const NwOp *op, const NwAttr *attr, const char *text, NwError *error)
{
  NwText choices = {0};
  for (int i = 0; i < attr->n_items; i++)
    nw_text_printf(&choices, "%s%s", i > 0 ? ", " : "", attr->items[i].key);
  NwStatus status = nw_fail_property(error, NW_BAD_ARGUMENT, attr->key,
                                     "%s: %s cannot be \"%s\"; choose from %s", name_of(op), attr->key, text,
                                     choices.data != NULL && !choices.failed ? choices.data : "its list");
  nw_text_clear(&choices);
  return status;
}

NwStatus nw_attr_set_text(const NwOp *op, void *attrs, const char *key, const char *text, NwError *error)
{
  const NwAttr *attr = nw_attr_find(op, key);
  NwValue value = {0};
  long long whole;
  if (attr == NULL)
    return unknown(op, key, error);
  value.type = attr->type;
  switch (attr->type) {
  case NW_ATTR_INT:
    if (!nw_parse_int(text, &whole))
      return wrong_type(op, attr, error);
    value.i = whole;
    break;
  case NW_ATTR_REAL:
    if (!nw_parse_double(text, &value.r) || isnan(value.r))
      return wrong_type(op, attr, error);
    break;
  case NW_ATTR_BOOL:
    value.b = strcmp(text, "true") == 0 || strcmp(text, "1") == 0 || strcmp(text, "yes") == 0;
    if (!value.b && strcmp(text, "false") != 0 && strcmp(text, "0") != 0 && strcmp(text, "no") != 0)
      return wrong_type(op, attr, error);
    break;
  case NW_ATTR_ENUM:
    if (!parse_enum(attr, text, &value.i))
      return unknown_choice(op, attr, text, error);
    break;
  case NW_ATTR_DIMS:
    if (!parse_dims(attr, text, &value.d))
      return wrong_type(op, attr, error);
    break;
  }
  return nw_attr_set(op, attr, attrs, value, error);
}

void nw_attrs_set_hidden(const NwOp *op, void *attrs, const char *key, int64_t value)
{
  const NwAttr *attr = nw_attr_find(op, key);
  if (attr == NULL || !(attr->flags & NW_ATTR_HIDDEN))
    return;
  NwValue stored = {.type = attr->type};
  if (attr->type == NW_ATTR_BOOL)
    stored.b = value != 0;
  else if (attr->type == NW_ATTR_REAL)
    stored.r = (double)value;
  else
    stored.i = value;
  store(attr, attrs, stored);
}

static const char *enum_key(const NwAttr *attr, int64_t value)
{
  for (int i = 0; i < attr->n_items; i++)
    if (attr->items[i].value == value)
      return attr->items[i].key;
  return "";
}

static bool dims_alike(const NwAttr *attr, const NwDims *dims)
{
  for (int i = 1; i < attr->count; i++)
    if (dims->v[i] != dims->v[0])
      return false;
  return true;
}

void nw_attr_print(const NwAttr *attr, const void *attrs, char *text, size_t n)
{
  NwValue value = nw_attr_get(attr, attrs);
  NwText real = {0};
  switch (attr->type) {
  case NW_ATTR_INT:
    snprintf(text, n, "%lld", (long long)value.i);
    break;
  case NW_ATTR_REAL:
    nw_text_double(&real, value.r);
    snprintf(text, n, "%s", real.data != NULL ? real.data : "");
    nw_text_clear(&real);
    break;
  case NW_ATTR_BOOL:
    snprintf(text, n, "%s", value.b ? "true" : "false");
    break;
  case NW_ATTR_ENUM:
    snprintf(text, n, "%s", enum_key(attr, value.i));
    break;
  case NW_ATTR_DIMS: {
    size_t used = 0;
    int shown = dims_alike(attr, &value.d) ? 1 : attr->count;
    for (int i = 0; i < shown && used < n; i++) {
      int wrote = snprintf(text + used, n - used, i > 0 ? "x%lld" : "%lld", (long long)value.d.v[i]);
      used += wrote > 0 ? (size_t)wrote : 0;
    }
    break;
  }
  }
}

bool nw_attr_is_initial(const NwAttr *attr, const void *attrs)
{
  NwValue value = nw_attr_get(attr, attrs), initial = initial_of(attr);
  switch (attr->type) {
  case NW_ATTR_REAL:
    return value.r == initial.r;
  case NW_ATTR_BOOL:
    return value.b == initial.b;
  case NW_ATTR_DIMS:
    return memcmp(&value.d, &initial.d, sizeof value.d.v[0] * (size_t)attr->count) == 0;
  case NW_ATTR_INT:
  case NW_ATTR_ENUM:
    break;
  }
  return value.i == initial.i;
}

bool nw_attr_visible(const NwOp *op, const NwAttr *attr, const void *attrs)
{
  char key[64], text[64];
  if (attr->flags & NW_ATTR_HIDDEN)
    return false;
  const char *equals = attr->visible_when != NULL ? strchr(attr->visible_when, '=') : NULL;
  if (equals == NULL || (size_t)(equals - attr->visible_when) >= sizeof key)
    return true;
  memcpy(key, attr->visible_when, (size_t)(equals - attr->visible_when));
  key[equals - attr->visible_when] = '\0';
  const NwAttr *other = nw_attr_find(op, key);
  if (other == NULL)
    return true;
  nw_attr_print(other, attrs, text, sizeof text);
  return strcmp(text, equals + 1) == 0;
}

NwStatus nw_attrs_check(const NwOp *op, const void *attrs, NwError *error)
{
  for (int i = 0; i < op->n_attrs; i++)
    if (!(op->attrs[i].flags & NW_ATTR_HIDDEN))
      NW_TRY(check_value(op, &op->attrs[i], nw_attr_get(&op->attrs[i], attrs), error));
  return op->check != NULL ? op->check(op, attrs, error) : NW_OK;
}

/* ---- JSON ---- */

static NwJson *value_to_json(const NwAttr *attr, NwValue value)
{
  switch (attr->type) {
  case NW_ATTR_INT:
    return nw_json_int(value.i);
  case NW_ATTR_REAL:
    return nw_json_real(value.r);
  case NW_ATTR_BOOL:
    return nw_json_bool(value.b);
  case NW_ATTR_ENUM:
    return nw_json_string(enum_key(attr, value.i));
  case NW_ATTR_DIMS:
    break;
  }
  NwJson *array = nw_json_array();
  for (int i = 0; i < attr->count; i++)
    if (!nw_json_append(array, nw_json_int(value.d.v[i]))) {
      nw_json_free(array);
      return NULL;
    }
  return array;
}

NwJson *nw_attrs_to_json(const NwOp *op, const void *attrs)
{
  NwJson *object = nw_json_object();
  for (int i = 0; i < op->n_attrs; i++) {
    const NwAttr *attr = &op->attrs[i];
    if (attr->flags & NW_ATTR_HIDDEN)
      continue;
    if (!nw_json_set(object, attr->key, value_to_json(attr, nw_attr_get(attr, attrs)))) {
      nw_json_free(object);
      return NULL;
    }
  }
  return object;
}

static bool value_from_json(const NwAttr *attr, const NwJson *json, NwValue *value)
{
  value->type = attr->type;
  switch (attr->type) {
  case NW_ATTR_INT:
    value->i = nw_json_to_int(json, 0);
    return nw_json_is_int(json);
  case NW_ATTR_REAL:
    value->r = nw_json_to_real(json, 0);
    return nw_json_is_number(json);
  case NW_ATTR_BOOL:
    value->b = nw_json_to_bool(json, false);
    return nw_json_is_bool(json);
  case NW_ATTR_ENUM:
    return nw_json_is_string(json) && parse_enum(attr, nw_json_text(json), &value->i);
  case NW_ATTR_DIMS:
    break;
  }
  if (nw_json_is_int(json)) {
    *value = (NwValue){.type = NW_ATTR_INT, .i = nw_json_to_int(json, 0)};
    return true;
  }
  if (!nw_json_is_array(json) || nw_json_length(json) != (size_t)attr->count)
    return false;
  for (int i = 0; i < attr->count; i++) {
    if (!nw_json_is_int(nw_json_at(json, (size_t)i)))
      return false;
    value->d.v[i] = nw_json_to_int(nw_json_at(json, (size_t)i), 0);
  }
  return true;
}

NwStatus nw_attrs_from_json(const NwOp *op, const NwJson *json, void *attrs, NwError *error)
{
  nw_attrs_init(op, attrs);
  if (json == NULL)
    return NW_OK;
  if (!nw_json_is_object(json))
    return nw_fail(error, NW_BAD_FORMAT, "The attributes of %s are not an object", name_of(op));
  for (void *it = nw_json_first(json); it != NULL; it = nw_json_next(json, it)) {
    const NwAttr *attr = nw_attr_find(op, nw_json_key(it));
    NwValue value = {0};
    if (attr == NULL || (attr->flags & NW_ATTR_HIDDEN))
      return unknown(op, nw_json_key(it), error);
    if (!value_from_json(attr, nw_json_value(it), &value)) {
      const char *text = nw_json_text(nw_json_value(it));
      return attr->type == NW_ATTR_ENUM && text != NULL ? unknown_choice(op, attr, text, error)
                                                        : wrong_type(op, attr, error);
    }
    NW_TRY(nw_attr_set(op, attr, attrs, value, error));
  }
  return NW_OK;
}
