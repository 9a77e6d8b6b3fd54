#include "app/export.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "app/i18n.h"
#include "engine/io/pth.h"
#include "engine/io/torchscript.h"
#include "engine/base/memory.h"
#include "engine/train/checkpoint.h"

typedef NwStatus (*Write)(const char *path, NwModel *model, const NwJson *json, NwError *error);

typedef struct Format {
  NwExportFormat face;
  Write write;
} Format;

static NwStatus write_weights(const char *path, NwModel *model, const NwJson *json, NwError *error)
{
  return nw_pth_write_weights(path, model, error);
}

/* What somebody needs beside the network: classes and how pictures are prepared. No time, path or run id, so
 * that equal networks give equal bytes. */
static NwStatus write_torchscript(const char *path, NwModel *model, const NwJson *json, NwError *error)
{
  NwJson *extra = nw_json_get(json, "extra"), *about = nw_json_object();
  nw_json_set(about, "classes", nw_json_copy(nw_json_get(extra, "classes")));
  nw_json_set(about, "preprocessing", nw_json_copy(nw_json_get(extra, "preprocessing")));
  char *text = nw_json_print(about, true);
  nw_json_free(about);
  if (text == NULL)
    return nw_fail(error, NW_NO_MEMORY, _("There is no memory to export"));
  const char *const files[] = {"netwright.json", text, NULL};
  NwStatus status = nw_torchscript_write(path, model, files, error);
  nw_free(text);
  return status;
}

static const Format formats[] = {
    {{"weights", N_("PyTorch Weights"), N_("A state_dict with torch's names: torch.load and load_state_dict"),
      "pth"},
     write_weights},
    {{"torchscript", N_("TorchScript"), N_("Network and weights in one file: torch.jit.load, libtorch"),
      "pt"},
     write_torchscript},
};

const NwExportFormat *nw_export_format_at(guint index)
{
  return index < G_N_ELEMENTS(formats) ? &formats[index].face : NULL;
}

const NwExportFormat *nw_export_format_find(const char *id)
{
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
    if (g_strcmp0(formats[i].face.id, id) == 0)
      return &formats[i].face;
  return NULL;
}

/* ---- reading back ---- */

static double largest_difference(const NwParam *param, const NwPthTensor *tensor)
{
  /* Bytes first: equal weights that are no numbers are equal, and one that became no number is far away. */
  if (memcmp(param->data, tensor->data, nw_spec_bytes(&param->spec)) == 0)
    return 0;
  if (param->spec.dtype != NW_F32)
    return INFINITY;
  const float *a = param->data, *b = tensor->data;
  double largest = 0;
  for (int64_t i = 0, n = nw_spec_count(&param->spec); i < n; i++) {
    double d = fabs((double)a[i] - (double)b[i]);
    largest = fmax(largest, isnan(d) ? INFINITY : d);
  }
  return largest;
}

static NwStatus compare(NwModel *model, NwPthFile *file, double *largest, NwError *error)
{
  const NwPthNode *state = nw_pth_state_dict(file);
  int n = nw_model_count(model);
  if (state == NULL || nw_pth_length(state) != n)
    return nw_fail(error, NW_INTERNAL,
                   _("The exported file, read back, does not hold the %d tensors of the network"), n);
  for (int i = 0; i < n; i++) {
    NwParam *param = nw_model_at(model, i);
    NwPthTensor tensor;
    const NwPthNode *node = nw_pth_get(state, param->name);
    if (node == NULL || !nw_pth_tensor(node, &tensor) || !nw_spec_same_shape(&tensor.spec, &param->spec) ||
        tensor.spec.dtype != param->spec.dtype)
      return nw_fail(error, NW_INTERNAL,
                     _("The exported file, read back, lacks %s or holds it in another shape"), param->name);
    *largest = fmax(*largest, largest_difference(param, &tensor));
  }
  if (*largest != 0)
    return nw_fail(error, NW_INTERNAL,
                   _("The exported file, read back, differs from the network by up to %g"), *largest);
  return NW_OK;
}

static NwStatus read_back(NwModel *model, const char *path, double *largest, NwError *error)
{
  NwPthFile *file = NULL;
  NW_TRY(nw_pth_open(path, &file, error));
  NwStatus status = compare(model, file, largest, error);
  nw_pth_close(file);
  return status;
}

static const Format *format_of(const NwExportFormat *face)
{
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
    if (&formats[i].face == face)
      return &formats[i];
  return NULL;
}

static NwStatus export_checkpoint(const char *checkpoint, const Format *format, const char *path,
                                  char **report, NwError *error)
{
  NwModel *model = NULL;
  NwJson *json = NULL;
  double largest = 0;
  NW_TRY(nw_checkpoint_read_model(checkpoint, &model, &json, error));
  NwStatus status = format->write(path, model, json, error);
  if (status == NW_NOT_FOUND) { /* the place to write to, not what is exported */
    status = NW_IO;
    if (error != NULL)
      error->status = status;
  }
  if (status == NW_OK)
    status = read_back(model, path, &largest, error);
  if (status == NW_OK && report != NULL)
    *report = g_strdup_printf(g_dngettext(NULL, "Written and read back: %d tensor, largest difference %g.",
                                          "Written and read back: %d tensors, largest difference %g.",
                                          (gulong)nw_model_count(model)),
                              nw_model_count(model), largest);
  nw_json_free(json);
  nw_model_free(model);
  return status;
}

/* An export must not replace what it is made from. */
static gboolean is_kept_by(const NwRunInfo *info, const char *path)
{
  static const char *const names[] = {"best.pth", "last.pth"};
  GStatBuf there, kept;
  if (g_stat(path, &there) != 0)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *file = g_build_filename(info->folder, names[i], NULL);
    if (g_stat(file, &kept) == 0 && kept.st_dev == there.st_dev && kept.st_ino == there.st_ino)
      return TRUE;
  }
  return FALSE;
}

NwStatus nw_export_run(NwHistory *history, const char *run, const char *checkpoint,
                       const NwExportFormat *face, const char *path, char **report, NwError *error)
{
  NwRunInfo *info = NULL;
  const Format *format = format_of(face);
  if (report != NULL)
    *report = NULL;
  if (format == NULL)
    return nw_fail(error, NW_BAD_ARGUMENT, _("There is no such export format"));
  if (!g_str_equal(checkpoint, "best") && !g_str_equal(checkpoint, "last"))
    return nw_fail(error, NW_BAD_ARGUMENT, _("There is no checkpoint \"%s\"; choose best or last"),
                   checkpoint);
  NW_TRY(nw_history_find(history, run, &info, error));
  g_autofree char *file = g_strconcat(checkpoint, ".pth", NULL);
  g_autofree char *from = g_build_filename(info->folder, file, NULL);
  /* Without validation, or before the first epoch, there is no best one. */
  if (!g_file_test(from, G_FILE_TEST_EXISTS) && g_str_equal(checkpoint, "best")) {
    g_free(from);
    from = g_build_filename(info->folder, "last.pth", NULL);
  }
  if (is_kept_by(info, path)) {
    nw_run_info_free(info);
    return nw_fail(error, NW_EXISTS, _("%s is a checkpoint of the run itself; choose another place"), path);
  }
  NwStatus status = g_file_test(from, G_FILE_TEST_EXISTS)
                        ? export_checkpoint(from, format, path, report, error)
                        : nw_fail(error, NW_NOT_FOUND, _("Run %s has no checkpoint \"%s\" (%s is missing)"),
                                  info->id, checkpoint, from);
  nw_run_info_free(info);
  return status;
}
