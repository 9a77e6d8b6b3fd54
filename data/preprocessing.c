/* The lists of a project, and their JSON form. */
#include <string.h>

#include "data/transform.h"
#include "data/words.h"

#define SIDE_MAX 16384

NwPreprocessing *nw_preprocessing_new(guint channels, guint height, guint width)
{
  NwPreprocessing *p = g_new0(NwPreprocessing, 1);
  NwTransform resize = nw_transform_default(NW_RESIZE, (int)height, (int)width);
  p->train = g_array_new(FALSE, TRUE, sizeof(NwTransform));
  p->eval = g_array_new(FALSE, TRUE, sizeof(NwTransform));
  g_array_append_val(p->train, resize);
  g_array_append_val(p->eval, resize);
  p->channels = channels;
  p->height = height;
  p->width = width;
  for (int c = 0; c < 4; c++)
    p->mean[c] = p->deviation[c] = 0.5;
  return p;
}

NwPreprocessing *nw_preprocessing_copy(const NwPreprocessing *preprocessing)
{
  NwPreprocessing *p = g_new0(NwPreprocessing, 1);
  *p = *preprocessing;
  p->train = g_array_copy(preprocessing->train);
  p->eval = g_array_copy(preprocessing->eval);
  return p;
}

void nw_preprocessing_free(NwPreprocessing *preprocessing)
{
  if (!preprocessing)
    return;
  g_array_unref(preprocessing->train);
  g_array_unref(preprocessing->eval);
  g_free(preprocessing);
}

static NwJson *pair(double a, double b)
{
  NwJson *array = nw_json_array();
  nw_json_append(array, nw_json_real(a));
  nw_json_append(array, nw_json_real(b));
  return array;
}

static NwJson *transform_to_json(const NwTransform *t)
{
  NwJson *o = nw_json_object();
  nw_json_set_string(o, "name", nw_transform_name(t->kind));
  if (t->kind == NW_RESIZE && t->width == 0) {
    nw_json_set_int(o, "size", t->height);
  } else if (t->kind != NW_RANDOM_HORIZONTAL_FLIP && t->kind != NW_COLOR_JITTER) {
    NwJson *size = nw_json_array();
    nw_json_append(size, nw_json_int(t->height));
    nw_json_append(size, nw_json_int(t->width));
    nw_json_set(o, "size", size);
  }
  if (t->kind == NW_RANDOM_CROP)
    nw_json_set_int(o, "padding", t->padding);
  if (t->kind == NW_RANDOM_HORIZONTAL_FLIP)
    nw_json_set_real(o, "p", t->p);
  if (t->kind == NW_RANDOM_RESIZED_CROP) {
    nw_json_set(o, "scale", pair(t->scale[0], t->scale[1]));
    nw_json_set(o, "ratio", pair(t->ratio[0], t->ratio[1]));
  }
  if (t->kind == NW_COLOR_JITTER) {
    nw_json_set_real(o, "brightness", t->brightness);
    nw_json_set_real(o, "contrast", t->contrast);
    nw_json_set_real(o, "saturation", t->saturation);
    nw_json_set_real(o, "hue", t->hue);
  }
  return o;
}

static NwJson *list_to_json(const GArray *list)
{
  NwJson *array = nw_json_array();
  for (guint i = 0; i < list->len; i++)
    nw_json_append(array, transform_to_json(&g_array_index(list, NwTransform, i)));
  return array;
}

NwJson *nw_preprocessing_to_json(const NwPreprocessing *p)
{
  NwJson *o = nw_json_object(), *mean = nw_json_array(), *deviation = nw_json_array(),
         *normalize = nw_json_object();
  nw_json_set_int(o, "channels", p->channels);
  nw_json_set_int(o, "height", p->height);
  nw_json_set_int(o, "width", p->width);
  nw_json_set(o, "train", list_to_json(p->train));
  nw_json_set(o, "eval", list_to_json(p->eval));
  for (guint c = 0; c < p->channels && c < 4; c++) {
    nw_json_append(mean, nw_json_real(p->mean[c]));
    nw_json_append(deviation, nw_json_real(p->deviation[c]));
  }
  nw_json_set(normalize, "mean", mean);
  nw_json_set(normalize, "std", deviation);
  nw_json_set(o, "normalize", normalize);
  return o;
}

/* --- reading --- */

static gboolean read_pair(const NwJson *o, const char *key, double out[2])
{
  NwJson *array = nw_json_get(o, key);
  if (!array)
    return TRUE;
  if (!nw_json_is_array(array) || nw_json_length(array) != 2)
    return FALSE;
  out[0] = nw_json_to_real(nw_json_at(array, 0), 0);
  out[1] = nw_json_to_real(nw_json_at(array, 1), 0);
  return out[0] > 0 && out[0] <= out[1] && out[1] < 1e6;
}

static gboolean read_size(const NwJson *o, NwTransform *t)
{
  NwJson *size = nw_json_get(o, "size");
  if (t->kind == NW_RANDOM_HORIZONTAL_FLIP || t->kind == NW_COLOR_JITTER)
    return TRUE;
  if (nw_json_is_int(size)) {
    t->height = (int)CLAMP(nw_json_to_int(size, 0), 0, SIDE_MAX + 1);
    t->width = t->kind == NW_RESIZE ? 0 : t->height;
  } else if (nw_json_is_array(size) && nw_json_length(size) == 2) {
    t->height = (int)CLAMP(nw_json_to_int(nw_json_at(size, 0), 0), 0, SIDE_MAX + 1);
    t->width = (int)CLAMP(nw_json_to_int(nw_json_at(size, 1), 0), 0, SIDE_MAX + 1);
  } else {
    return FALSE;
  }
  return t->height >= 1 && t->height <= SIDE_MAX && t->width <= SIDE_MAX &&
         (t->width >= 1 || t->kind == NW_RESIZE);
}

static NwStatus transform_from_json(const NwJson *o, gboolean eval, NwTransform *t, NwError *error)
{
  const char *name = nw_json_get_string(o, "name", "");
  int kind = NW_RESIZE;
  while (kind <= NW_COLOR_JITTER && strcmp(name, nw_transform_name((NwTransformKind)kind)) != 0)
    kind++;
  if (kind > NW_COLOR_JITTER)
    return nw_fail(error, NW_BAD_FORMAT, _("the transform “%s” is not known"), name);
  *t = nw_transform_default((NwTransformKind)kind, 0, 0);
  if (eval && nw_transform_is_random(t->kind))
    return nw_fail(error, NW_BAD_ARGUMENT,
                   _("%s is random and cannot stand among the transforms for evaluation"), name);
  t->padding = (int)CLAMP(nw_json_get_int(o, "padding", 0), -1, SIDE_MAX + 1);
  t->p = nw_json_get_real(o, "p", 0.5);
  t->brightness = nw_json_get_real(o, "brightness", 0);
  t->contrast = nw_json_get_real(o, "contrast", 0);
  t->saturation = nw_json_get_real(o, "saturation", 0);
  t->hue = nw_json_get_real(o, "hue", 0);
  if (!read_size(o, t))
    return nw_fail_property(error, NW_BAD_ARGUMENT, "size", _("%s needs a size of 1 to %d pixels"), name,
                            SIDE_MAX);
  if (t->padding < 0 || t->padding > SIDE_MAX)
    return nw_fail_property(error, NW_BAD_ARGUMENT, "padding", _("the padding of %s must be 0 to %d"), name,
                            SIDE_MAX);
  if (!(t->p >= 0 && t->p <= 1))
    return nw_fail_property(error, NW_BAD_ARGUMENT, "p", _("the probability of %s must be 0 to 1"), name);
  if (!read_pair(o, "scale", t->scale) || !read_pair(o, "ratio", t->ratio))
    return nw_fail_property(error, NW_BAD_ARGUMENT, "scale",
                            _("scale and ratio of %s must be two numbers above 0, the smaller one first"),
                            name);
  if (!(t->brightness >= 0 && t->contrast >= 0 && t->saturation >= 0 && t->hue >= 0 && t->hue <= 0.5))
    return nw_fail_property(error, NW_BAD_ARGUMENT, "hue",
                            _("ColorJitter needs amounts of 0 or more, and a hue of at most 0.5"));
  return NW_OK;
}

static NwStatus list_from_json(const NwJson *array, gboolean eval, GArray *list, NwError *error)
{
  if (!nw_json_is_array(array))
    return nw_fail(error, NW_BAD_FORMAT, _("the transforms for %s are missing"), eval ? "eval" : "train");
  g_array_set_size(list, 0);
  for (size_t i = 0; i < nw_json_length(array); i++) {
    NwTransform t;
    NW_TRY(transform_from_json(nw_json_at(array, i), eval, &t, error));
    g_array_append_val(list, t);
  }
  return NW_OK;
}

NwStatus nw_preprocessing_from_json(const NwJson *json, NwPreprocessing **out, NwError *error)
{
  gint64 channels = nw_json_get_int(json, "channels", 0), height = nw_json_get_int(json, "height", 0),
         width = nw_json_get_int(json, "width", 0);
  *out = NULL;
  if ((channels != 1 && channels != 3) || height < 1 || height > SIDE_MAX || width < 1 || width > SIDE_MAX)
    return nw_fail(error, NW_BAD_FORMAT,
                   _("the preprocessing must make pictures of 1 or 3 channels and 1 to %d pixels"), SIDE_MAX);
  NwPreprocessing *p = nw_preprocessing_new((guint)channels, (guint)height, (guint)width);
  NwJson *normalize = nw_json_get(json, "normalize");
  NwJson *mean = nw_json_get(normalize, "mean"), *deviation = nw_json_get(normalize, "std");
  NwStatus status = list_from_json(nw_json_get(json, "train"), FALSE, p->train, error);
  if (status == NW_OK)
    status = list_from_json(nw_json_get(json, "eval"), TRUE, p->eval, error);
  for (guint c = 0; status == NW_OK && c < (guint)channels; c++) {
    p->mean[c] = nw_json_to_real(nw_json_at(mean, c), 0.5);
    p->deviation[c] = nw_json_to_real(nw_json_at(deviation, c), 0.5);
    if (!(p->deviation[c] > 0))
      status =
          nw_fail_property(error, NW_BAD_ARGUMENT, "std", _("the deviation of a channel must be above 0"));
  }
  if (status == NW_OK)
    *out = p;
  else
    nw_preprocessing_free(p);
  return status;
}
