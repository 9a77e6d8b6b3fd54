/* ONNX: every layer that stands on the canvas, in networks of their own and in templates, read by ONNX's
 * checker and run in ONNX Runtime beside our engine; external data; our own reader; sentences where ONNX has
 * no words. */
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/io/onnx.h"
#include "engine/io/pth.h"
#include "engine/train/predictor.h"
#include "tests/engine/nets.h"
#include "tests/engine/python.h"

enum { BATCH = 3 };
static char *folder;

static char *place(const char *name, const char *extension)
{
  g_autofree char *file = g_strconcat(name, extension, NULL);
  return g_build_filename(folder, file, NULL);
}

static void empty_folder(void)
{
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name(dir)) != NULL) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_unlink(path);
  }
  g_dir_close(dir);
}

/* Numbers that a trained network could have; variances above 0. */
static void fill(NwModel *model, guint64 seed)
{
  for (int i = 0; i < nw_model_count(model); i++) {
    NwParam *param = nw_model_at(model, i);
    NwPhilox key = {seed, 90};
    gboolean variance = g_str_has_suffix(param->name, "running_var");
    if (param->spec.dtype != NW_F32 || param->spec.ndim > 1)
      continue;
    for (int64_t k = 0; k < nw_spec_count(&param->spec); k++) {
      float value = nw_uniform(key, (guint64)i, (guint64)k);
      ((float *)param->data)[k] = variance ? 0.5f + value : value - 0.5f;
    }
  }
}

static void save(NwModel *model, const char *name, int opset)
{
  static const char *const notes[] = {"classes", "[\"a\",\"b\"]", NULL};
  NwError error;
  NwSpec input = nw_model_input(model);
  input.dims[0] = BATCH;
  NwSpec logits = nw_spec(NW_F32, 2, (int64_t[]){BATCH, nw_model_classes(model)});
  g_autofree float *x = g_malloc(nw_spec_bytes(&input)), *y = g_malloc(nw_spec_bytes(&logits));
  for (int64_t i = 0; i < nw_spec_count(&input); i++)
    x[i] = (float)nw_normal((NwPhilox){7, 91}, 0, (guint64)i);
  NwPredictor *predictor;
  nwt_ok(nw_predictor_new(model, &(NwNormalization){{0}, {1, 1, 1, 1}}, BATCH, &predictor, &error));
  nwt_ok(nw_predictor_run_f32(predictor, x, BATCH, y, &error));
  nw_predictor_free(predictor);
  g_autofree char *path = place(name, ".onnx"), *numbers = place(name, ".pth");
  NwOnnxOptions options = {.opset = opset, .notes = notes};
  if (nw_onnx_write(path, model, &options, &error) != NW_OK)
    g_error("%s: %s", name, error.text);
  NwPickle *dict = nw_pickle_dict();
  nw_pickle_set(dict, "input", nw_pickle_tensor(&input, x));
  nw_pickle_set(dict, "logits", nw_pickle_tensor(&logits, y));
  nwt_ok(nw_pth_write(numbers, dict, &error));
  nw_pickle_free(dict);
}

/* ---- one layer ---- */

static int data_ports(const NwOp *op)
{
  int n = 0;
  for (int i = 0; i < op->n_inputs; i++)
    n += op->inputs[i].role == NW_PORT_DATA;
  return n;
}

/* The op between the pictures and a Linear; FALSE: a case that this cannot be built for. */
static gboolean build(const NwOp *op, const NwOpCase *test, NwModel **model)
{
  NwError error;
  NwNetwork *network;
  g_auto(GStrv) shapes = g_strsplit(test->shapes, " ", -1), sizes = g_strsplit(shapes[0], "x", -1);
  guint ndim = g_strv_length(sizes);
  int64_t dims[4] = {1, 1, 1, 1};
  if (ndim < 2 || ndim > 4 || strchr(shapes[0], ':') != NULL ||
      strstr(test->attrs, "dim=0") != NULL) /* mixes pictures */
    return FALSE;
  for (guint i = 1; i < ndim; i++)
    dims[i] = g_ascii_strtoll(sizes[i], NULL, 10);
  nwt_ok(nw_network_new(&network, &error));
  guint32 at = nwt_block(network, "input", "input", "", 0);
  /* pictures have few channels: the layer's own sizes come by reshaping */
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, 1, dims[1] * dims[2], dims[3]});
  if (ndim == 2)
    at = nwt_block(network, "flatten", "flat", "", at);
  if (ndim > 2) {
    g_autofree char *shape =
        g_strdup_printf("shape=%sx%sx%s", sizes[1], sizes[2], ndim == 4 ? sizes[3] : "0");
    at = nwt_block(network, "reshape", "list", shape, at);
  }
  g_auto(GStrv) pairs = g_strsplit(test->attrs, " ", -1);
  guint32 id;
  nwt_ok(nw_network_add(network, op, "layer", 0, &id, &error));
  for (char **pair = pairs; *pair; pair++) {
    g_auto(GStrv) words = g_strsplit(*pair, "=", 2);
    const NwAttr *attr = words[0] != NULL ? nw_attr_find(op, words[0]) : NULL;
    if (attr != NULL && !(attr->flags & NW_ATTR_HIDDEN))
      nwt_ok(nw_network_set_text(network, id, words[0], words[1], &error));
  }
  for (int k = 0; k < data_ports(op); k++)
    nwt_ok(nw_network_connect(network, at, id, k, &error));
  guint32 flat = nwt_block(network, "flatten", "back", "", id);
  nwt_block(network, "linear", "fc", "out_features=2", flat);
  NwStatus status = nw_model_new(network, &input, 2, 5, model, &error);
  nw_network_free(network);
  if (status != NW_OK)
    g_test_message("%s %s: %s", op->id, test->attrs, error.text);
  return status == NW_OK;
}

static void test_layers(void)
{
  const NwOp *op;
  NwError error;
  int built = 0, layers = 0;
  empty_folder();
  for (gsize i = 0; (op = nw_op_at(i)) != NULL; i++) {
    if (op->label == NULL || op->group == NW_GROUP_LOSS || op->group == NW_GROUP_OPTIMIZER ||
        op->group == NW_GROUP_INPUT)
      continue;
    int before = built;
    const char *unwritten = NULL;
    for (int c = 0; c < op->n_cases; c++) {
      NwModel *model;
      if (!build(op, &op->cases[c], &model))
        continue;
      fill(model, (guint64)i);
      for (int opset = 13; opset <= 17; opset += 4) {
        g_autofree char *name = g_strdup_printf("%s-%d-%d", op->id, c, opset), *path = place(name, ".onnx");
        NwOnnxOptions options = {.opset = opset};
        NwStatus status = nw_onnx_write(path, model, &options, &error);
        /* sentences that say what to do */
        if (status == NW_UNSUPPORTED && strstr(error.text, "no multiples") != NULL)
          continue;
        if (status == NW_UNSUPPORTED && strstr(error.text, "as ONNX yet") != NULL) {
          g_assert_cmpint(error.block, !=, 0);
          unwritten = op->label;
          continue;
        }
        if (status != NW_OK)
          g_error("%s %s: %s", op->id, op->cases[c].attrs, error.text);
        save(model, name, opset);
        built++;
      }
      nw_model_free(model);
    }
    layers += built > before;
    if (built == before)
      g_test_message("%s cannot be written%s", op->label,
                     unwritten == NULL ? ": no case of it was built" : "");
  }
  g_test_message("%d layers in %d models", layers, built);
  g_assert_cmpint(layers, >=, 54);
  if (nwt_have_torch())
    nwt_python("check_onnx.py", folder, NULL);
}

/* ---- whole networks ---- */

static void test_templates(void)
{
  static const char *const names[] = {"simplecnn", "lenet", "resnet-small", "resnet18"};
  NwError error;
  empty_folder();
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    NwNetwork *network;
    NwModel *model;
    NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, 3, 40, 48});
    nwt_ok(nw_template_build(nw_template_find(names[i]), 3, 40, 48, 2, &network, &error));
    nwt_ok(nw_model_new(network, &input, 2, 3, &model, &error));
    fill(model, 1);
    save(model, names[i], 17);
    nw_network_free(network);
    nw_model_free(model);
  }
  if (nwt_have_torch())
    nwt_python("check_onnx.py", folder, NULL);
}

static void expect_weights(const char *path, NwModel *model)
{
  NwError error;
  NwWeights *weights;
  int found = 0;
  nwt_ok(nw_weights_open(path, &weights, &error));
  g_assert_cmpstr(nw_weights_format(weights), ==, "ONNX");
  for (int i = 0; i < nw_weights_count(weights); i++) {
    const NwWeight *weight = nw_weights_at(weights, i);
    const NwParam *param = nw_model_find(model, weight->name);
    if (param == NULL)
      continue;
    gsize n = nw_spec_bytes(&param->spec);
    g_assert_true(nw_spec_same_shape(&weight->spec, &param->spec));
    g_assert_cmpmem(weight->data, n, param->data, n);
    found++;
  }
  for (int i = 0; i < nw_model_count(model); i++)
    found += nw_model_at(model, i)->spec.dtype != NW_F32; /* counts of batches are left out */
  g_assert_cmpint(found, ==, nw_model_count(model));
  nw_weights_close(weights);
}

static void test_external(void)
{
  static const char *const notes[] = {"classes", "[\"a\",\"b\"]", NULL};
  NwError error;
  NwModel *model = nwt_model("residual", 3, 16, 2, 3);
  empty_folder();
  save(model, "outside", 17);
  g_autofree char *path = place("outside", ".onnx"), *data = place("outside", ".onnx.data"), *bytes = NULL;
  expect_weights(path, model);
  NwOnnxOptions options = {.external_at_least = 1, .notes = notes};
  nwt_ok(nw_onnx_write(path, model, &options, &error));
  g_assert_true(g_file_test(data, G_FILE_TEST_EXISTS));
  expect_weights(path, model);
  if (nwt_have_torch())
    nwt_python("check_onnx.py", folder, NULL);
  gsize n;
  NwWeights *weights;
  g_assert_true(g_file_get_contents(data, &bytes, &n, NULL));
  g_assert_true(g_file_set_contents(data, bytes, (gssize)n / 2, NULL));
  g_assert_cmpint(nw_weights_open(path, &weights, &error), ==, NW_BAD_FORMAT);
  g_test_message("%s", error.text);
  g_unlink(data);
  g_assert_cmpint(nw_weights_open(path, &weights, &error), ==, NW_NOT_FOUND);
  nw_model_free(model);
}

static void test_hostile(void)
{
  NwError error;
  NwModel *model = nwt_model("residual", 3, 8, 2, 3);
  g_autofree char *path = place("hostile", ".onnx"), *bytes = NULL;
  gsize n;
  nwt_ok(nw_onnx_write(path, model, NULL, &error));
  nw_model_free(model);
  g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
  int64_t live = nw_memory_live();
  int opened = 0, rounds = g_strcmp0(g_getenv("NETWRIGHT_TEST_FULL"), "yes") == 0 ? 50000 : 2500;
  g_autofree char *copy = g_malloc(n);
  for (int round = 0; round < rounds; round++) {
    NwPhilox key = {3, 92};
    guint32 kind = nw_philox(key, (guint64)round, 0) % 8;
    NwWeights *weights;
    memcpy(copy, bytes, n);
    for (guint32 i = 0; i < 1 + kind; i++)
      copy[nw_philox(key, (guint64)round, 3 + 2 * i) % (i % 2 ? n : MIN(n, 400))] =
          (char)nw_philox(key, (guint64)round, 4 + 2 * i);
    gsize length = kind == 0 ? nw_philox(key, (guint64)round, 2) % n : n;
    g_assert_true(g_file_set_contents_full(path, copy, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    if (nw_weights_open(path, &weights, &error) != NW_OK)
      continue;
    guint sum = 0;
    for (int i = 0; i < nw_weights_count(weights); i++)
      for (gsize k = 0;
           nw_weights_at(weights, i)->reason == NULL && k < nw_spec_bytes(&nw_weights_at(weights, i)->spec);
           k++)
        sum += ((const guint8 *)nw_weights_at(weights, i)->data)[k];
    opened += sum != 1;
    nw_weights_close(weights);
  }
  g_test_message("%d damaged files, %d of them still opened", rounds, opened);
  g_assert_cmpint(nw_memory_live(), ==, live);
}

static void test_no_memory(void)
{
  NwError error;
  NwModel *model = nwt_model("residual", 3, 8, 3, 1);
  g_autofree char *path = place("no-memory", ".onnx");
  int64_t live = nw_memory_live();
  int failures = 0;
  for (;; failures++) {
    nw_memory_fail_after(failures);
    NwStatus status = nw_onnx_write(path, model, NULL, &error);
    nw_memory_fail_after(-1);
    g_assert_cmpint(nw_memory_live(), ==, live);
    if (status == NW_OK)
      break;
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
  }
  g_assert_cmpint(failures, >, 20);
  g_assert_cmpint(nw_onnx_write(path, model, &(NwOnnxOptions){.opset = 9}, &error), ==, NW_BAD_ARGUMENT);
  nw_model_free(model);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("netwright-onnx-XXXXXX", NULL);
  g_test_add_func("/onnx/layers", test_layers);
  g_test_add_func("/onnx/templates", test_templates);
  g_test_add_func("/onnx/external-data", test_external);
  g_test_add_func("/onnx/hostile", test_hostile);
  g_test_add_func("/onnx/no-memory", test_no_memory);
  int result = g_test_run();
  empty_folder();
  g_rmdir(folder);
  g_free(folder);
  return result;
}
