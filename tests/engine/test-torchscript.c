/* TorchScript and weights that PyTorch loads: same logits, in eval and train mode, straight and branching
 * networks. */
#include <glib/gstdio.h>
#include <string.h>

#include "engine/graph/plan.h"
#include "engine/io/pth.h"
#include "engine/io/torchscript.h"
#include "engine/train/predictor.h"
#include "tests/engine/nets.h"
#include "tests/engine/python.h"

enum { BATCH = 5, CLASSES = 7 };

typedef struct Case {
  const char *name, *channels, *size;
  gboolean train; /* no dropout in it: train mode can be compared */
} Case;
static const Case cases[] = {
    {"simplecnn", "1", "28", FALSE}, {"lenet", "3", "32", TRUE},    {"simpleclassifier", "3", "32", TRUE},
    {"mlp", "1", "12", TRUE},        {"residual", "3", "16", TRUE}, {"zoo", "3", "16", FALSE},
};

/* Folder of one test, removed by clean. */
static char *folder_new(void)
{
  g_autoptr(GError) problem = NULL;
  char *folder = g_dir_make_tmp("netwright-XXXXXX", &problem);
  g_assert_no_error(problem);
  return folder;
}

static void clean(const char *folder)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_cmpint(g_unlink(path), ==, 0);
  }
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

static float *input_new(NwModel *model, NwSpec *spec)
{
  *spec = nw_model_input(model);
  spec->dims[0] = BATCH;
  float *input = g_new(float, nw_spec_count(spec));
  for (int64_t i = 0; i < nw_spec_count(spec); i++)
    input[i] = nwt_number(5, 50, 0, (uint64_t)i);
  return input;
}

/* The training-mode forward; changes the running statistics of the model. */
static void run_training(NwModel *model, const NwSpec *spec, const float *input, float *logits)
{
  NwError error;
  NwGraph *graph;
  NwPlan *plan;
  NwVal x, out, params[256];
  NwPlanOptions options = {.exact = true};
  NwRun run = {.seed = 1};
  nwt_ok(nw_graph_new(&graph, &error));
  nwt_ok(nw_graph_input(graph, "x", spec, NW_INPUT_DATA, false, &x, &error));
  nwt_ok(nw_model_emit_graph(model, graph, x, true, params, &out, &error));
  nwt_ok(nw_plan_compile(graph, &out, 1, &options, &plan, &error));
  nwt_ok(nw_plan_bind(plan, x, (void *)input, &error));
  for (int i = 0; i < nw_model_count(model); i++)
    nwt_ok(nw_plan_bind(plan, params[i], nw_model_at(model, i)->data, &error));
  nwt_ok(nw_plan_run(plan, &run, &error));
  memcpy(logits, nw_plan_data(plan, out), BATCH * CLASSES * sizeof *logits);
  nw_plan_free(plan);
}

/* Statistics that an untrained network does not have, so that a mix-up of them shows. */
static void disturb(NwModel *model)
{
  for (int i = 0; i < nw_model_count(model); i++) {
    NwParam *param = nw_model_at(model, i);
    for (int64_t k = 0; param->spec.dtype == NW_F32 && k < nw_spec_count(&param->spec); k++)
      if (param->buffer || g_str_has_suffix(param->name, "bias"))
        ((float *)param->data)[k] += 0.3f * (1 + nwt_number(6, 60, (uint64_t)i, (uint64_t)k));
  }
}

static void write_io(const char *path, NwModel *model, const NwSpec *spec, const float *input,
                     const float *logits, const float *train_logits)
{
  NwError error;
  NwSpec out = nw_spec(NW_F32, 2, (int64_t[]){BATCH, CLASSES});
  NwPickle *root = nw_pickle_dict();
  nw_pickle_set(root, "input", nw_pickle_tensor(spec, input));
  nw_pickle_set(root, "logits", nw_pickle_tensor(&out, logits));
  if (train_logits != NULL) {
    nw_pickle_set(root, "train_logits", nw_pickle_tensor(&out, train_logits));
    for (int i = 0; i < nw_model_count(model); i++) {
      const NwParam *param = nw_model_at(model, i);
      if (param->buffer && param->spec.dtype == NW_F32) {
        g_autofree char *key = g_strconcat("after.", param->name, NULL);
        nw_pickle_set(root, key, nw_pickle_tensor(&param->spec, param->data));
      }
    }
  }
  nwt_ok(nw_pth_write(path, root, &error));
  nw_pickle_free(root);
}

static void check_same(NwModel *model, const char *path)
{
  NwError error;
  NwPthFile *file;
  NwPthTensor tensor;
  nwt_ok(nw_pth_open(path, &file, &error));
  g_assert_cmpint(nw_pth_length(nw_pth_state_dict(file)), ==, nw_model_count(model));
  for (int i = 0; i < nw_model_count(model); i++) {
    const NwParam *param = nw_model_at(model, i);
    const char *key;
    g_assert_true(nw_pth_tensor(nw_pth_at(nw_pth_state_dict(file), i, &key), &tensor));
    g_assert_cmpstr(key, ==, param->name);
    g_assert_true(nw_spec_same_shape(&tensor.spec, &param->spec) && tensor.spec.dtype == param->spec.dtype);
    g_assert_cmpmem(tensor.data, nw_spec_bytes(&tensor.spec), param->data, nw_spec_bytes(&param->spec));
  }
  nw_pth_close(file);
}

static void test_case(const void *data)
{
  const Case *c = data;
  if (!nwt_have_torch())
    return;
  NwError error;
  NwSpec spec;
  NwPredictor *predictor;
  static const char *const extra[] = {"netwright.json", "{\"classes\":[\"test\"]}", NULL};
  g_autofree char *folder = folder_new();
  g_autofree char *weights = g_build_filename(folder, "weights.pth", NULL);
  g_autofree char *script = g_build_filename(folder, "model.pt", NULL);
  g_autofree char *io = g_build_filename(folder, "io.pth", NULL);
  g_autofree char *copy = g_build_filename(folder, "copy.pth", NULL);
  NwModel *model = nwt_model(c->name, atoi(c->channels), atoi(c->size), CLASSES, 11);
  float logits[BATCH * CLASSES], train_logits[BATCH * CLASSES];
  g_autofree float *input = input_new(model, &spec);
  disturb(model);
  nwt_ok(nw_predictor_new(model, NULL, BATCH, &predictor, &error));
  nwt_ok(nw_predictor_run_f32(predictor, input, BATCH, logits, &error));
  nwt_ok(nw_pth_write_weights(weights, model, &error));
  nwt_ok(nw_torchscript_write(script, model, extra, &error));
  write_io(io, model, &spec, input, logits, NULL);
  nwt_python("check_weights.py", c->name, c->channels, c->size, "7", weights, io, copy, NULL);
  check_same(model, weights);
  check_same(model, copy);
  check_same(model, script);
  if (c->train) {
    run_training(model, &spec, input, train_logits);
    write_io(io, model, &spec, input, logits, train_logits);
  }
  nwt_python("check_torchscript.py", c->name, c->channels, c->size, "7", script, io, NULL);
  nw_predictor_free(predictor);
  nw_model_free(model);
  clean(folder);
}

/* ---- without PyTorch ---- */

static void test_equal_bytes(void)
{
  NwError error;
  g_autofree char *folder = folder_new();
  g_autofree char *a = g_build_filename(folder, "a.pt", NULL), *b = g_build_filename(folder, "b.pt", NULL);
  g_autofree char *first = NULL, *second = NULL;
  gsize n = 0, m = 0;
  for (int i = 0; i < 2; i++) {
    NwModel *model = nwt_model("residual", 3, 16, CLASSES, 3);
    nwt_ok(nw_torchscript_write(i ? b : a, model, NULL, &error));
    nw_model_free(model);
  }
  g_assert_true(g_file_get_contents(a, &first, &n, NULL) && g_file_get_contents(b, &second, &m, NULL));
  g_assert_cmpmem(first, n, second, m);
  clean(folder);
}

static void expect_refused(NwNetwork *network, NwStatus wanted, const char *word)
{
  NwError error;
  NwModel *model;
  g_autofree char *folder = folder_new();
  g_autofree char *path = g_build_filename(folder, "model.pt", NULL);
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, 3, 8, 8});
  nwt_ok(nw_model_new(network, &input, 4, 1, &model, &error));
  g_assert_cmpint(nw_torchscript_write(path, model, NULL, &error), ==, wanted);
  g_test_message("%s", error.text);
  g_assert_nonnull(strstr(error.text, word));
  g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
  nw_model_free(model);
  nw_network_free(network);
  clean(folder);
}

static NwNetwork *named(const char *name)
{
  NwError error;
  NwNetwork *network;
  nwt_ok(nw_network_new(&network, &error));
  uint32_t at = nwt_block(network, "input", "input", "", 0);
  at = nwt_block(network, "conv2d", name, "out_channels=4 kernel_size=8", at);
  nwt_block(network, "flatten", "flatten", "", at);
  return network;
}

static void test_names(void)
{
  expect_refused(named("a.forward"), NW_BAD_ARGUMENT, "forward");
  expect_refused(named("training"), NW_BAD_ARGUMENT, "training");
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *path = g_strconcat("/torchscript/torch/", cases[i].name, NULL);
    g_test_add_data_func(path, &cases[i], test_case);
  }
  g_test_add_func("/torchscript/equal-bytes", test_equal_bytes);
  g_test_add_func("/torchscript/names", test_names);
  return g_test_run();
}
