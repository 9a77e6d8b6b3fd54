/* Templates that are named after torchvision's networks: names, order and shapes of the weights as there, the
 * same logits. */
#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/io/pth.h"
#include "engine/io/weight-plan.h"
#include "engine/train/predictor.h"
#include "tests/engine/nets.h"
#include "tests/engine/python.h"

static const struct {
  const char *id, *name;
  int side;      /* of the pictures that logits are compared on */
  gboolean huge; /* half a gigabyte of weights: logits only in the long tests */
} nets[] = {{"resnet18", "resnet18", 64, FALSE},
            {"resnet34", "resnet34", 64, FALSE},
            {"resnet50", "resnet50", 64, FALSE},
            {"squeezenet1-0", "squeezenet1_0", 64, FALSE},
            {"squeezenet1-1", "squeezenet1_1", 64, FALSE},
            {"mobilenet-v2", "mobilenet_v2", 64, FALSE},
            {"mobilenet-v3-small", "mobilenet_v3_small", 64, FALSE},
            {"mobilenet-v3-large", "mobilenet_v3_large", 64, FALSE},
            {"efficientnet-b0", "efficientnet_b0", 64, FALSE},
            {"efficientnet-lite0", "efficientnet_lite0", 0, FALSE},
            {"alexnet", "alexnet", 64, TRUE},
            {"vgg11", "vgg11", 64, TRUE},
            {"vgg11-bn", "vgg11_bn", 64, TRUE},
            {"vgg16", "vgg16", 64, TRUE}};

static NwModel *make(const char *id, int side)
{
  NwError error;
  NwNetwork *network;
  NwModel *model;
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, 3, side, side});
  nwt_ok(nw_template_build(nw_template_find(id), 3, side, side, 1000, &network, &error));
  nwt_ok(nw_model_new(network, &input, 1000, 1, &model, &error));
  nw_network_free(network);
  return model;
}

static void test_keys(gconstpointer data)
{
  gsize i = GPOINTER_TO_SIZE(data);
  g_autofree char *file = g_strconcat("tests/golden/keys/", nets[i].name, ".txt", NULL), *text = NULL;
  g_autofree char *path = g_build_filename(g_getenv("NETWRIGHT_SOURCE"), file, NULL);
  g_autoptr(GString) ours = g_string_new(NULL);
  NwModel *model = make(nets[i].id, 224);
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  for (int p = 0; p < nw_model_count(model); p++) {
    const NwParam *param = nw_model_at(model, p);
    g_string_append_printf(ours, "%s ", param->name);
    for (int d = 0; d < param->spec.ndim; d++)
      g_string_append_printf(ours, "%s%d", d ? "x" : "", (int)param->spec.dims[d]);
    g_string_append(ours, param->spec.ndim ? "\n" : "-\n");
  }
  nw_model_free(model);
  g_auto(GStrv) have = g_strsplit(ours->str, "\n", -1), want = g_strsplit(text, "\n", -1);
  for (guint k = 0; have[k] != NULL || want[k] != NULL; k++)
    if (g_strcmp0(have[k], want[k]) != 0)
      g_error("tensor %u: %s, torchvision has %s", k, have[k], want[k]);
}

static void randomise(NwModel *model)
{
  for (int i = 0; i < nw_model_count(model); i++) {
    NwParam *param = nw_model_at(model, i);
    gboolean variance = g_str_has_suffix(param->name, "running_var"), norm = param->spec.ndim == 1;
    for (int64_t k = 0; norm && param->spec.dtype == NW_F32 && k < nw_spec_count(&param->spec); k++) {
      float value = nw_uniform((NwPhilox){1, 93}, (guint64)i, (guint64)k);
      gboolean scale = variance || g_str_has_suffix(param->name, ".weight");
      ((float *)param->data)[k] = scale ? 0.8f + 0.4f * value : 0.2f * (value - 0.5f);
    }
  }
}

static void test_logits(gconstpointer data)
{
  enum { BATCH = 2 };
  gsize i = GPOINTER_TO_SIZE(data);
  NwError error;
  int side = nets[i].side;
  if (nets[i].huge && g_strcmp0(g_getenv("NETWRIGHT_TEST_FULL"), "yes") != 0) {
    g_test_skip("half a gigabyte of weights: only in the long tests");
    return;
  }
  if (!nwt_have_torch())
    return;
  g_autofree char *folder = g_dir_make_tmp("netwright-templates-XXXXXX", NULL);
  g_autofree char *weights = g_build_filename(folder, "w.pth", NULL),
                  *io = g_build_filename(folder, "io.pth", NULL);
  NwModel *model = make(nets[i].id, side);
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){BATCH, 3, side, side});
  NwSpec logits = nw_spec(NW_F32, 2, (int64_t[]){BATCH, 1000});
  g_autofree float *x = g_malloc(nw_spec_bytes(&input)), *y = g_malloc(nw_spec_bytes(&logits));
  randomise(model);
  for (int64_t k = 0; k < nw_spec_count(&input); k++)
    x[k] = (float)nw_normal((NwPhilox){3, 94}, 0, (guint64)k);
  NwPredictor *predictor;
  nwt_ok(nw_predictor_new(model, &(NwNormalization){{0}, {1, 1, 1, 1}}, BATCH, &predictor, &error));
  nwt_ok(nw_predictor_run_f32(predictor, x, BATCH, y, &error));
  nw_predictor_free(predictor);
  nwt_ok(nw_pth_write_weights(weights, model, &error));
  nw_model_free(model);
  NwPickle *dict = nw_pickle_dict();
  nw_pickle_set(dict, "input", nw_pickle_tensor(&input, x));
  nw_pickle_set(dict, "logits", nw_pickle_tensor(&logits, y));
  nwt_ok(nw_pth_write(io, dict, &error));
  nw_pickle_free(dict);
  nwt_python("check_templates.py", nets[i].name, weights, io, NULL);
  g_unlink(weights);
  g_unlink(io);
  g_rmdir(folder);
}

/* Published weights on photos whose answers are known; then the shipped ones, which are rounded to half
 * precision. */
static void expect_photos(const char *weights, const NwPthTensor *input, const NwPthTensor *wanted,
                          double most)
{
  NwError error;
  NwText report = {0};
  NwModel *model = make("efficientnet-lite0", 224);
  NwPredictor *predictor;
  float logits[3 * 1000];
  double largest = 0;
  nwt_ok(nw_weights_load(weights, model, false, &report, &error));
  g_assert_true(g_str_has_prefix(report.data, "296 of 296 tensors"));
  nw_text_clear(&report);
  nwt_ok(nw_predictor_new(model, &(NwNormalization){{0}, {1, 1, 1, 1}}, 3, &predictor, &error));
  nwt_ok(nw_predictor_run_f32(predictor, input->data, 3, logits, &error));
  for (int i = 0; i < 3; i++) {
    static const int classes[] = {967, 282, 657}; /* espresso, tiger cat, missile */
    int best = 0;
    for (int k = 0; k < 1000; k++) {
      best = logits[i * 1000 + k] > logits[i * 1000 + best] ? k : best;
      largest = MAX(largest,
                    fabs((double)logits[i * 1000 + k] - (double)((const float *)wanted->data)[i * 1000 + k]));
    }
    g_assert_cmpint(best, ==, classes[i]);
  }
  g_test_message("%s: logits differ by at most %.3g", strrchr(weights, '/') + 1, largest);
  g_assert_cmpfloat(largest, <=, most);
  nw_predictor_free(predictor);
  nw_model_free(model);
}

static void test_photos(void)
{
  NwError error;
  NwPthFile *file;
  NwPthTensor input, logits;
  const char *source = g_getenv("NETWRIGHT_SOURCE");
  g_autofree char *published =
      g_build_filename(source, "../shared/data/efficientnet_lite0/efficientnet-lite0-57934424.pth", NULL);
  g_autofree char *shipped =
      g_build_filename(source, "share/efficientnet-lite0/efficientnet-lite0.safetensors", NULL);
  if (!nwt_have_torch())
    return;
  if (!g_file_test(published, G_FILE_TEST_EXISTS) ||
      !g_file_test("/usr/lib/python3/dist-packages/skimage/data/coffee.png", G_FILE_TEST_EXISTS)) {
    g_test_skip("the published weights or scikit-image's photos (python3-skimage-lib) are not here");
    return;
  }
  g_autofree char *folder = g_dir_make_tmp("netwright-templates-XXXXXX", NULL),
                  *io = g_build_filename(folder, "io", NULL);
  nwt_python("make_lite0.py", published, io, NULL);
  nwt_ok(nw_pth_open(io, &file, &error));
  g_assert_true(nw_pth_tensor(nw_pth_get(nw_pth_root(file), "input"), &input));
  g_assert_true(nw_pth_tensor(nw_pth_get(nw_pth_root(file), "logits"), &logits));
  expect_photos(published, &input, &logits, 1e-4);
  expect_photos(shipped, &input, &logits, 0.05);
  nw_pth_close(file);
  g_unlink(io);
  g_rmdir(folder);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(nets); i++) {
    g_autofree char *keys = g_strconcat("/templates/keys/", nets[i].name, NULL),
                    *logits = g_strconcat("/templates/logits/", nets[i].name, NULL);
    g_test_add_data_func(keys, GSIZE_TO_POINTER(i), test_keys);
    if (nets[i].side > 0)
      g_test_add_data_func(logits, GSIZE_TO_POINTER(i), test_logits);
  }
  g_test_add_func("/templates/photos", test_photos);
  return g_test_run();
}
