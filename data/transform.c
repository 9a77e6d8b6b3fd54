/* The list of transforms, and what it draws for one picture. */
#include "data/frame.h"

#include <math.h>
#include <string.h>

#include "data/words.h"

typedef struct Draw {
  NwPhilox key;
  guint64 epoch, base; /* base: first number of this picture and transform */
  guint used;
  guint width, height; /* of the picture so far */
  NwStep *steps;
  guint n;
} Draw;

static double uniform(Draw *draw, double low, double high)
{
  return low + (high - low) * nw_uniform_double(draw->key, draw->epoch, draw->base + draw->used++);
}

/* 0 … n - 1 */
static int uniform_int(Draw *draw, int n)
{
  int i = (int)(uniform(draw, 0, 1) * n);
  return MIN(i, n - 1);
}

NwTransform nw_transform_default(NwTransformKind kind, int height, int width)
{
  return (NwTransform){.kind = kind,
                       .height = height,
                       .width = width,
                       .p = 0.5,
                       .scale = {0.08, 1.0},
                       .ratio = {3.0 / 4.0, 4.0 / 3.0}};
}

const char *nw_transform_name(NwTransformKind kind)
{
  static const char *const names[] = {
      "Resize", "CenterCrop", "RandomCrop", "RandomResizedCrop", "RandomHorizontalFlip", "ColorJitter"};
  return (guint)kind < G_N_ELEMENTS(names) ? names[kind] : "?";
}

gboolean nw_transform_is_random(NwTransformKind kind)
{
  return kind != NW_RESIZE && kind != NW_CENTER_CROP;
}

static void add(Draw *draw, NwStep step)
{
  if (step.kind == NW_STEP_CROP || step.kind == NW_STEP_RESIZE) {
    gboolean same = (guint)step.width == draw->width && (guint)step.height == draw->height;
    if (same && step.x == 0 && step.y == 0)
      return;
    draw->width = (guint)step.width;
    draw->height = (guint)step.height;
  }
  draw->steps[draw->n++] = step;
}

static void add_crop(Draw *draw, int x, int y, int width, int height)
{
  add(draw, (NwStep){NW_STEP_CROP, x, y, width, height, 0});
}

static void draw_resize(Draw *draw, const NwTransform *t)
{
  gint64 w = draw->width, h = draw->height, s = t->height;
  int out_w = t->width, out_h = t->height;
  if (t->width == 0) { /* the shorter side becomes s */
    out_w = (int)(w <= h ? s : MAX(s * w / h, 1));
    out_h = (int)(w <= h ? MAX(s * h / w, 1) : s);
  }
  add(draw, (NwStep){NW_STEP_RESIZE, 0, 0, out_w, out_h, 0});
}

static void draw_center_crop(Draw *draw, const NwTransform *t)
{
  int w = (int)draw->width, h = (int)draw->height, cw = t->width, ch = t->height;
  int left = cw > w ? (cw - w) / 2 : 0, top = ch > h ? (ch - h) / 2 : 0;
  int padded_w = MAX(w, cw), padded_h = MAX(h, ch);
  add_crop(draw, (int)rint((padded_w - cw) / 2.0) - left, (int)rint((padded_h - ch) / 2.0) - top, cw, ch);
}

static NwStatus draw_random_crop(Draw *draw, const NwTransform *t, NwError *error)
{
  int w = (int)draw->width + 2 * t->padding, h = (int)draw->height + 2 * t->padding;
  if (w < t->width || h < t->height)
    return nw_fail(
        error, NW_BAD_DATA,
        _("RandomCrop of %d × %d is larger than the picture (%d × %d with its padding); put a Resize before "
          "it or pad more"),
        t->height, t->width, h, w);
  int y = uniform_int(draw, h - t->height + 1), x = uniform_int(draw, w - t->width + 1);
  add_crop(draw, x - t->padding, y - t->padding, t->width, t->height);
  return NW_OK;
}

static void draw_random_resized_crop(Draw *draw, const NwTransform *t)
{
  int W = (int)draw->width, H = (int)draw->height, w = 0, h = 0, x, y;
  gboolean found = FALSE;
  double low = log(t->ratio[0]), high = log(t->ratio[1]);
  for (int attempt = 0; attempt < 10 && !found; attempt++) {
    double area = (double)W * H * uniform(draw, t->scale[0], t->scale[1]);
    double ratio = exp(uniform(draw, low, high));
    w = (int)rint(sqrt(area * ratio));
    h = (int)rint(sqrt(area / ratio));
    found = w > 0 && w <= W && h > 0 && h <= H;
  }
  if (found) {
    y = uniform_int(draw, H - h + 1);
    x = uniform_int(draw, W - w + 1);
  } else {
    double is = (double)W / H;
    w = is > t->ratio[1] ? (int)rint(H * t->ratio[1]) : W;
    h = is < t->ratio[0] ? (int)rint(W / t->ratio[0]) : H;
    y = (H - h) / 2;
    x = (W - w) / 2;
  }
  add_crop(draw, x, y, w, h);
  add(draw, (NwStep){NW_STEP_RESIZE, 0, 0, t->width, t->height, 0});
}

static void draw_jitter(Draw *draw, const NwTransform *t)
{
  const double amount[4] = {t->brightness, t->contrast, t->saturation, t->hue};
  double factor[4];
  int order[4] = {0, 1, 2, 3};
  for (int i = 3; i > 0; i--) {
    int j = uniform_int(draw, i + 1), swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
  for (int i = 0; i < 3; i++)
    factor[i] = uniform(draw, MAX(0.0, 1.0 - amount[i]), 1.0 + amount[i]);
  factor[3] = uniform(draw, -amount[3], amount[3]);
  for (int i = 0; i < 4; i++)
    if (amount[order[i]] > 0)
      add(draw, (NwStep){NW_STEP_BRIGHTNESS + order[i], 0, 0, 0, 0, factor[order[i]]});
}

NwStatus nw_transform_draw_range(const GArray *list, guint first, guint last, guint width, guint height,
                                 NwPhilox key, guint64 epoch, guint64 picture_id, NwStep *steps, guint *n,
                                 guint *out_width, guint *out_height, NwError *error)
{
  Draw draw = {key, epoch, 0, 0, width, height, steps, 0};
  NwStatus status = NW_OK;
  for (guint i = first; status == NW_OK && i < last; i++) {
    const NwTransform *t = &g_array_index(list, NwTransform, i);
    if (draw.n + 4 > NW_STEPS_MAX || i > 255)
      return nw_fail(error, NW_BAD_ARGUMENT, _("the list of transforms is too long"));
    draw.base = (picture_id << 16) + ((guint64)i << 8);
    draw.used = 0;
    switch (t->kind) {
    case NW_RESIZE:
      draw_resize(&draw, t);
      break;
    case NW_CENTER_CROP:
      draw_center_crop(&draw, t);
      break;
    case NW_RANDOM_CROP:
      status = draw_random_crop(&draw, t, error);
      break;
    case NW_RANDOM_RESIZED_CROP:
      draw_random_resized_crop(&draw, t);
      break;
    case NW_RANDOM_HORIZONTAL_FLIP:
      if (uniform(&draw, 0, 1) < t->p)
        add(&draw, (NwStep){NW_STEP_MIRROR, 0, 0, 0, 0, 0});
      break;
    case NW_COLOR_JITTER:
      draw_jitter(&draw, t);
      break;
    }
  }
  *n = draw.n;
  if (out_width)
    *out_width = draw.width;
  if (out_height)
    *out_height = draw.height;
  return status;
}

NwStatus nw_transform_draw(const GArray *list, guint width, guint height, NwPhilox key, guint64 epoch,
                           guint64 picture_id, NwStep *steps, guint *n, guint *out_width, guint *out_height,
                           NwError *error)
{
  return nw_transform_draw_range(list, 0, list->len, width, height, key, epoch, picture_id, steps, n,
                                 out_width, out_height, error);
}

NwStatus nw_transform_apply(const GArray *list, NwPicture *picture, NwPhilox key, guint64 epoch,
                            guint64 picture_id, NwError *error)
{
  NwStep steps[NW_STEPS_MAX];
  guint n = 0;
  NW_TRY(nw_transform_draw(list, picture->width, picture->height, key, epoch, picture_id, steps, &n, NULL,
                           NULL, error));
  return nw_steps_apply(steps, n, picture, error);
}
