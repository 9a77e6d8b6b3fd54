#include "app/preview.h"
#include "app/i18n.h"

#include "data/loader.h"

void nw_preview_clear(NwPreview *preview)
{
  g_clear_pointer(&preview->rgb, g_free);
  preview->width = preview->height = 0;
}

static void to_rgb(const NwPicture *picture, NwPreview *out)
{
  gsize n = (gsize)picture->width * picture->height;
  out->width = picture->width;
  out->height = picture->height;
  out->rgb = g_malloc(n * 3);
  for (gsize i = 0; i < n; i++)
    for (guint c = 0; c < 3; c++)
      out->rgb[i * 3 + c] = picture->pixels[i * picture->channels + (picture->channels == 3 ? c : 0)];
}

static NwStatus read_picture(NwProject *project, guint index, guint channels, NwPicture *picture,
                             NwError *error)
{
  const NwManifest *manifest = nw_project_manifest(project);
  if (manifest == NULL || index >= manifest->pictures->len)
    return nw_fail(error, NW_BAD_STATE, _("There is no such picture: no data set is open"));
  return nw_manifest_picture(manifest, index, channels, picture, error);
}

NwStatus nw_preview_original(NwProject *project, guint index, guint max_side, NwPreview *out, NwError *error)
{
  NwPicture picture = {0};
  guint channels = nw_project_preprocessing(project)->channels;
  NW_TRY(read_picture(project, index, channels == 1 ? 1 : 3, &picture, error));
  NwStatus status = NW_OK;
  guint longest = MAX(picture.width, picture.height);
  if (longest > max_side) {
    NwPicture small = {0};
    status = nw_picture_resize(&picture, MAX(1, picture.width * max_side / longest),
                               MAX(1, picture.height * max_side / longest), &small, error);
    nw_picture_clear(&picture);
    picture = small;
  }
  if (status == NW_OK)
    to_rgb(&picture, out);
  nw_picture_clear(&picture);
  return status;
}

NwStatus nw_preview_seen(NwProject *project, guint index, guint64 epoch, NwPreview *out, NwError *error)
{
  const NwPreprocessing *preprocessing = nw_project_preprocessing(project);
  NwPicture picture = {0};
  NW_TRY(read_picture(project, index, preprocessing->channels, &picture, error));
  const NwPictureEntry *entry = &g_array_index(nw_project_manifest(project)->pictures, NwPictureEntry, index);
  NwPhilox key = {nw_project_config(project)->seed, NW_STREAM_AUGMENT};
  NwStatus status =
      nw_transform_apply(entry->split == NW_SPLIT_TRAIN ? preprocessing->train : preprocessing->eval,
                         &picture, key, epoch, index, error);
  if (status == NW_OK)
    to_rgb(&picture, out);
  nw_picture_clear(&picture);
  return status;
}
