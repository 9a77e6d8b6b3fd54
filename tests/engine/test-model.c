/* Models: torch's names and order, first numbers, memory, and what emitting leaves behind. */
#include "tests/engine/net-fixture.h"

/* ---- names, order, shapes ---- */

typedef struct Key {
  const char *name, *shape;
} Key;

static void assert_keys(NwModel *model, const Key *keys, int n)
{
  char shape[96];
  g_assert_cmpint(nw_model_count(model), ==, n);
  for (int i = 0; i < n; i++) {
    NwParam *param = nw_model_at(model, i);
    g_assert_cmpstr(param->name, ==, keys[i].name);
    nw_spec_shape_text(&param->spec, false, shape, sizeof shape);
    g_assert_cmpstr(shape, ==, keys[i].shape);
    g_assert_true(nw_model_find(model, keys[i].name) == param);
    g_assert_cmpuint((uintptr_t)param->data % 64, ==, 0);
  }
}

static NwModel *model_of(const char *tmpl, int64_t channels, int64_t size, int64_t classes)
{
  NwNetwork *network = fx_template(tmpl, channels, size, classes);
  NwModel *model = fx_model(network, channels, size, classes, 1);
  nw_network_free(network);
  return model;
}

static void test_simplecnn(void)
{
  static const Key keys[] = {{"features.0.weight", "32×1×3×3"},   {"features.0.bias", "32"},
                             {"features.3.weight", "64×32×3×3"},  {"features.3.bias", "64"},
                             {"classifier.1.weight", "128×3136"}, {"classifier.1.bias", "128"},
                             {"classifier.4.weight", "10×128"},   {"classifier.4.bias", "10"}};
  NwModel *model = model_of("simplecnn", 1, 28, 10);
  assert_keys(model, keys, G_N_ELEMENTS(keys));
  g_assert_cmpint(nw_model_parameters(model), ==, 421642);
  g_assert_cmpint(nw_model_classes(model), ==, 10);
  nw_model_free(model);
}

static void test_lenet(void)
{
  static const Key keys[] = {{"features.0.weight", "6×3×5×5"},   {"features.0.bias", "6"},
                             {"features.3.weight", "16×6×5×5"},  {"features.3.bias", "16"},
                             {"classifier.0.weight", "120×576"}, {"classifier.0.bias", "120"},
                             {"classifier.2.weight", "84×120"},  {"classifier.2.bias", "84"},
                             {"classifier.4.weight", "7×84"},    {"classifier.4.bias", "7"}};
  NwModel *model = model_of("lenet", 3, 32, 7);
  assert_keys(model, keys, G_N_ELEMENTS(keys));
  nw_model_free(model);
}

static void test_mlp(void)
{
  static const Key keys[] = {{"classifier.1.weight", "512×784"}, {"classifier.1.bias", "512"},
                             {"classifier.3.weight", "512×512"}, {"classifier.3.bias", "512"},
                             {"classifier.5.weight", "10×512"},  {"classifier.5.bias", "10"}};
  NwModel *model = model_of("mlp", 1, 28, 10);
  assert_keys(model, keys, G_N_ELEMENTS(keys));
  nw_model_free(model);
}

static void test_simpleclassifier(void)
{
  static const Key keys[] = {{"features.0.weight", "16×3×3×3"},     {"features.0.bias", "16"},
                             {"features.3.weight", "32×16×3×3"},    {"features.3.bias", "32"},
                             {"classifier.1.weight", "128×100352"}, {"classifier.1.bias", "128"},
                             {"classifier.3.weight", "5×128"},      {"classifier.3.bias", "5"}};
  NwModel *model = model_of("simpleclassifier", 3, 224, 5);
  assert_keys(model, keys, G_N_ELEMENTS(keys));
  nw_model_free(model);
}

/* FNV-1a over lines "key sizes", sizes joined by x, a scalar "-". The wanted number was computed from the key
 * list of torchvision's resnet18().state_dict(). */
static uint64_t keys_hash(NwModel *model)
{
  uint64_t hash = 0xcbf29ce484222325u;
  GString *line = g_string_new(NULL);
  for (int i = 0; i < nw_model_count(model); i++) {
    const NwParam *param = nw_model_at(model, i);
    g_string_printf(line, "%s ", param->name);
    for (int d = 0; d < param->spec.ndim; d++)
      g_string_append_printf(line, "%s%d", d > 0 ? "x" : "", (int)param->spec.dims[d]);
    g_string_append(line, param->spec.ndim == 0 ? "-\n" : "\n");
    for (gsize k = 0; k < line->len; k++)
      hash = (hash ^ (unsigned char)line->str[k]) * 0x100000001b3u;
  }
  g_string_free(line, TRUE);
  return hash;
}

static void test_resnet18(void)
{
  NwModel *model = model_of("resnet18", 3, 224, 1000);
  g_assert_cmpint(nw_model_count(model), ==, 122);
  g_assert_cmpint(nw_model_parameters(model), ==, 11689512);
  g_assert_cmpuint(keys_hash(model), ==, 0xe5d38ced7b0eeba0u);
  NwParam *tracked = nw_model_find(model, "layer2.0.downsample.1.num_batches_tracked");
  g_assert_nonnull(tracked);
  g_assert_cmpint(tracked->spec.dtype, ==, NW_I64);
  g_assert_cmpint(tracked->spec.ndim, ==, 0);
  g_assert_true(tracked->buffer);
  g_assert_cmpint(*(int64_t *)tracked->data, ==, 0);
  nw_model_free(model);
}

static void test_resnet_small(void)
{
  NwModel *model = model_of("resnet-small", 3, 32, 10);
  static const char *const some[] = {"conv1.weight",
                                     "layer1.0.conv1.weight",
                                     "layer1.1.bn2.running_var",
                                     "layer2.0.conv1.weight",
                                     "layer2.0.downsample.0.weight",
                                     "layer3.1.conv2.weight",
                                     "fc.bias"};
  for (size_t i = 0; i < G_N_ELEMENTS(some); i++)
    g_assert_nonnull(nw_model_find(model, some[i]));
  g_assert_null(nw_model_find(model, "layer1.0.downsample.0.weight"));
  nw_model_free(model);
}

/* ---- first numbers ---- */

static void test_init(void)
{
  NwNetwork *network = fx_template("simplecnn", 1, 28, 10);
  NwModel *a = fx_model(network, 1, 28, 10, 5), *b = fx_model(network, 1, 28, 10, 5),
          *c = fx_model(network, 1, 28, 10, 6);
  for (int i = 0; i < nw_model_count(a); i++) {
    const NwParam *p = nw_model_at(a, i);
    const float *v = p->data;
    int64_t n = nw_spec_count(&p->spec), fan_in = 1;
    g_assert_cmpmem(v, nw_spec_bytes(&p->spec), nw_model_at(b, i)->data, nw_spec_bytes(&p->spec));
    g_assert_true(memcmp(v, nw_model_at(c, i)->data, nw_spec_bytes(&p->spec)) != 0);
    /* torch: weights and biases of Conv2d and Linear start uniform in ±1/√fan_in */
    const NwSpec *weight = &nw_model_at(a, i - i % 2)->spec;
    for (int d = 1; d < weight->ndim; d++)
      fan_in *= weight->dims[d];
    double bound = 1 / sqrt((double)fan_in), sum = 0, square = 0, most = 0;
    for (int64_t k = 0; k < n; k++) {
      sum += v[k];
      square += (double)v[k] * v[k];
      most = MAX(most, fabs(v[k]));
    }
    g_assert_cmpfloat(most, <=, bound);
    if (n >= 1000) {
      g_assert_cmpfloat(most, >, 0.99 * bound);
      g_assert_cmpfloat(fabs(sum / (double)n), <, 4 * bound / sqrt(3.0 * (double)n));
      g_assert_cmpfloat(fabs(square / (double)n / (bound * bound / 3) - 1), <, 0.1);
    }
  }
  nw_model_free(a);
  nw_model_free(b);
  nw_model_free(c);
  nw_network_free(network);

  NwModel *r = model_of("resnet-small", 3, 32, 10);
  const float *weight = nw_model_find(r, "bn1.weight")->data, *bias = nw_model_find(r, "bn1.bias")->data;
  const float *mean = nw_model_find(r, "bn1.running_mean")->data,
              *var = nw_model_find(r, "bn1.running_var")->data;
  for (int i = 0; i < 16; i++) {
    g_assert_cmpfloat(weight[i], ==, 1);
    g_assert_cmpfloat(bias[i], ==, 0);
    g_assert_cmpfloat(mean[i], ==, 0);
    g_assert_cmpfloat(var[i], ==, 1);
  }
  nw_model_free(r);
}

/* ---- errors ---- */

static void test_errors(void)
{
  NwNetwork *network = fx_template("lenet", 3, 32, 10);
  NwSpec small = nw_spec(NW_F32, 4, (int64_t[]){1, 3, 6, 6}),
         right = nw_spec(NW_F32, 4, (int64_t[]){1, 3, 32, 32});
  NwModel *model = (NwModel *)network;
  fx_error = (NwError){0};
  g_assert_cmpint(nw_model_new(network, &small, 10, 1, &model, &fx_error), ==, NW_BAD_SHAPE);
  g_assert_null(model);
  g_assert_cmpuint(fx_error.block, ==, nw_network_find_name(network, "features.3")->id);
  g_assert_cmpint(nw_model_new(network, &right, 12, 1, &model, &fx_error), ==, NW_BAD_SHAPE);
  g_assert_cmpstr(fx_error.property, ==, "out_features");
  nw_network_free(network);
}

static void test_fault(void)
{
  NwNetwork *network = fx_template("resnet-small", 3, 16, 10);
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, 3, 16, 16});
  int64_t live = nw_memory_live();
  int failures = 0;
  for (int64_t n = 0;; n++) {
    NwModel *model;
    nw_memory_fail_after(n);
    NwStatus status = nw_model_new(network, &input, 10, 1, &model, &fx_error);
    nw_memory_fail_after(-1);
    nw_model_free(model);
    g_assert_cmpint(nw_memory_live(), ==, live);
    if (status == NW_OK)
      break;
    failures++;
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
  }
  g_assert_cmpint(failures, >, 50);
  nw_network_free(network);
}

/* Editing the document after the model was made changes nothing in it; frozen blocks are marked. */
static void test_copy(void)
{
  NwNetwork *network = fx_template("lenet", 1, 28, 10);
  const NwBlock *conv = nw_network_find_name(network, "features.0");
  fx_ok(nw_network_set_frozen(network, conv->id, true, &fx_error));
  NwModel *model = fx_model(network, 1, 28, 10, 1);
  fx_ok(nw_network_rename(network, conv->id, "renamed", &fx_error));
  g_assert_cmpstr(nw_model_at(model, 0)->name, ==, "features.0.weight");
  g_assert_true(nw_model_at(model, 0)->frozen);
  g_assert_false(nw_model_at(model, 2)->frozen);
  nw_network_free(network);
  g_assert_cmpint(nw_network_count(nw_model_network(model)), ==, 13);
  nw_model_free(model);
}

/* Forward on the tape: shape, and evaluation draws nothing at random. */
static void test_emit(void)
{
  NwNetwork *network = fx_template("simplecnn", 1, 28, 10);
  NwModel *model = fx_model(network, 1, 28, 10, 3);
  FxBatch batch = fx_batch(4, 1, 28, 10, 9);
  FxTape tape;
  fx_tape(model, &batch, NULL, 0, &tape);
  float first[40] = {0};
  for (int round = 0; round < 3; round++) {
    NwEmitter emitter;
    NwVal params[FX_MAX], logits;
    fx_ok(nw_tape_emitter_init(&emitter, &fx_error));
    nw_manual_seed(7);
    nw_tape_set_step(round);
    for (int i = 0; i < nw_model_count(model); i++)
      params[i] = (NwVal){tape.params[i], 0};
    fx_ok(nw_model_emit(model, &emitter, (NwVal){tape.x, 0}, params, round == 2, &logits, &fx_error));
    g_assert_cmpint(nw_tensor_spec(logits.p)->dims[0], ==, 4);
    g_assert_cmpint(nw_tensor_spec(logits.p)->dims[1], ==, 10);
    const float *v = nw_tensor_data(logits.p);
    if (round == 0)
      memcpy(first, v, sizeof first);
    else if (round == 1)
      g_assert_cmpmem(first, sizeof first, v, sizeof first);
    else /* dropout is at work in training */
      g_assert_true(memcmp(first, v, sizeof first) != 0);
    nw_tape_emitter_clear(&emitter);
  }
  nw_tape_set_step(-1);
  fx_tape_clear(&tape);
  fx_batch_clear(&batch);
  nw_model_free(model);
  nw_network_free(network);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/model/keys/simplecnn", test_simplecnn);
  g_test_add_func("/model/keys/lenet", test_lenet);
  g_test_add_func("/model/keys/mlp", test_mlp);
  g_test_add_func("/model/keys/simpleclassifier", test_simpleclassifier);
  g_test_add_func("/model/keys/resnet18", test_resnet18);
  g_test_add_func("/model/keys/resnet-small", test_resnet_small);
  g_test_add_func("/model/init", test_init);
  g_test_add_func("/model/errors", test_errors);
  g_test_add_func("/model/fault", test_fault);
  g_test_add_func("/model/copy", test_copy);
  g_test_add_func("/model/emit", test_emit);
  return g_test_run();
}
