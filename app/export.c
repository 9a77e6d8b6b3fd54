#include "app/export.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "app/i18n.h"
#include "engine/io/npy.h"
#include "engine/io/onnx.h"
#include "engine/io/pth.h"
#include "engine/io/safetensors.h"
#include "engine/io/torchscript.h"
#include "engine/base/memory.h"
#include "engine/base/philox.h"
#include "engine/io/weight-plan.h"
#include "engine/train/checkpoint.h"
#include "engine/train/predictor.h"

typedef NwStatus (*Write)(const char *path, NwModel *model, const NwJson *json, NwError *error);

typedef struct Format {
  NwExportFormat face;
  Write write;
} Format;

static NwStatus write_weights(const char *path, NwModel *model, const NwJson *json, NwError *error)
{
  return nw_pth_write_weights(path, model, error);
}

static NwStatus write_safetensors(const char *path, NwModel *model, const NwJson *json, NwError *error)
{
  return nw_safetensors_write(path, model, NW_F32, error);
}

static NwStatus write_npz(const char *path, NwModel *model, const NwJson *json, NwError *error)
{
  return nw_npz_write(path, model, error);
}

/* What somebody needs beside the network: classes and how pictures are prepared. No time, path or run id, so
 * that equal networks give equal bytes. nw_free. */
static char *about_text(const NwJson *json)
{
  NwJson *extra = nw_json_get(json, "extra"), *about = nw_json_object();
  nw_json_set(about, "classes", nw_json_copy(nw_json_get(extra, "classes")));
  nw_json_set(about, "preprocessing", nw_json_copy(nw_json_get(extra, "preprocessing")));
  char *text = nw_json_print(about, true);
  nw_json_free(about);
  return text;
}

static NwStatus write_torchscript(const char *path, NwModel *model, const NwJson *json, NwError *error)
{
  char *text = about_text(json);
  if (text == NULL)
    return nw_fail(error, NW_NO_MEMORY, _("There is no memory to export"));
  const char *const files[] = {"netwright.json", text, NULL};
  NwStatus status = nw_torchscript_write(path, model, files, error);
  nw_free(text);
  return status;
}

static NwStatus write_onnx(const char *path, NwModel *model, const NwJson *json, NwError *error)
{
  const NwJson *extra = nw_json_get(json, "extra");
  char *classes = nw_json_print(nw_json_get(extra, "classes"), false),
       *preprocessing = nw_json_print(nw_json_get(extra, "preprocessing"), false);
  NwStatus status = NW_NO_MEMORY;
  if (classes != NULL && preprocessing != NULL) {
    const char *const notes[] = {"classes", classes, "preprocessing", preprocessing, NULL};
    status = nw_onnx_write(path, model, &(NwOnnxOptions){.notes = notes}, error);
  } else {
    nw_fail(error, NW_NO_MEMORY, _("There is no memory to export"));
  }
  nw_free(classes);
  nw_free(preprocessing);
  return status;
}

static const Format formats[] = {
    {{"weights", N_("PyTorch Weights"), N_("A state_dict with torch's names: torch.load and load_state_dict"),
      "pth"},
     write_weights},
    {{"torchscript", N_("TorchScript"), N_("Network and weights in one file: torch.jit.load, libtorch"),
      "pt"},
     write_torchscript},
    {{"onnx", N_("ONNX"), N_("Network and weights for ONNX Runtime and many other programs"), "onnx"},
     write_onnx},
    {{"safetensors", N_("Safetensors"), N_("Weights with torch's names, for Hugging Face and others"),
      "safetensors"},
     write_safetensors},
    {{"npz", N_("NumPy"), N_("Weights with torch's names: numpy.load"), "npz"}, write_npz},
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

/* The logits of both on the same noise. */
static NwStatus run_both(NwModel *model, NwModel *again, double *largest, NwError *error)
{
  enum { BATCH = 2 };
  NwSpec input = nw_model_input(model);
  int64_t classes = nw_model_classes(model), n = BATCH * nw_spec_count(&input);
  g_autofree float *x = g_new(float, n), *a = g_new0(float, BATCH *classes),
                   *b = g_new0(float, BATCH *classes);
  NwModel *models[] = {model, again};
  const NwNormalization plain = {{0}, {1, 1, 1, 1}};
  for (int64_t i = 0; i < n; i++)
    x[i] = (float)nw_normal((NwPhilox){1, 0}, 0, (uint64_t)i);
  for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
    NwPredictor *predictor = NULL;
    NW_TRY(nw_predictor_new(models[i], &plain, BATCH, &predictor, error));
    NwStatus status = nw_predictor_run_f32(predictor, x, BATCH, i == 0 ? a : b, error);
    nw_predictor_free(predictor);
    NW_TRY(status);
  }
  for (int64_t i = 0; i < BATCH * classes; i++) {
    double d = a[i] == b[i] || (isnan(a[i]) && isnan(b[i])) ? 0 : fabs((double)a[i] - (double)b[i]);
    *largest = d > *largest || isnan(d) ? d : *largest;
  }
  return NW_OK;
}

/* The file's weights in a network of their own, which must be whole and answer as the first one does. */
static NwStatus read_into(NwModel *again, NwModel *model, NwWeights *weights, double *largest, NwError *error)
{
  NwWeightPlan *plan = NULL;
  NW_TRY(nw_weight_plan_new(weights, again, false, &plan, error));
  NwStatus status = NW_OK;
  if (plan->missing > 0 || plan->misfit > 0 || plan->prefix[0] != 0)
    status = nw_fail(error, NW_INTERNAL, _("The exported file, read back, lacks %d tensors of the network"),
                     plan->missing + plan->misfit);
  else
    status = nw_weight_plan_apply(plan, error);
  for (int i = 0; i < nw_model_count(model) && status == NW_OK; i++) {
    const NwParam *a = nw_model_at(model, i), *b = nw_model_at(again, i);
    if (plan->params[i].state == NW_MATCH_FOUND && memcmp(a->data, b->data, nw_spec_bytes(&a->spec)) != 0)
      status =
          nw_fail(error, NW_INTERNAL, _("The exported file, read back, has other numbers for %s"), a->name);
  }
  nw_weight_plan_free(plan);
  if (status == NW_OK)
    status = run_both(model, again, largest, error);
  if (status == NW_OK && *largest != 0)
    status = nw_fail(error, NW_INTERNAL,
                     _("The exported file, read back, differs from the network by up to %g"), *largest);
  return status;
}

static NwStatus read_back(NwModel *model, const char *path, double *largest, NwError *error)
{
  NwWeights *weights = NULL;
  NwModel *again = NULL;
  NwSpec input = nw_model_input(model);
  NW_TRY(nw_weights_open(path, &weights, error));
  NwStatus status =
      nw_model_new(nw_model_network(model), &input, nw_model_classes(model), 12345, &again, error);
  if (status == NW_OK)
    status = read_into(again, model, weights, largest, error);
  nw_model_free(again);
  nw_weights_close(weights);
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
