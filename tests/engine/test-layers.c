/* Layers among others: networks of composite blocks and of sequences train as a plan as they do on the tape,
 * their parameters have torch's names, what cannot be drawn is refused in a sentence pinned to block and
 * property, and what draws lots keeps its promises. */
#include "tests/engine/net-fixture.h"
#include "tests/engine/op-bench.h"

enum { CHANNELS = 3, SIZE = 12, CLASSES = 5, BATCH = 4 };

/* ---- networks ---- */
typedef struct Step {
  const char *op, *name, *attrs;
} Step;

static const Step blocks[] = {
    {"conv2d", "stem", "out_channels=8 kernel_size=3 padding=1 bias=false"},
    {"basic_block", "layer1.0", "out_channels=8"},
    {"bottleneck", "layer2.0", "planes=4 stride=2"},
    {"inverted_residual", "features.1", "out_channels=16 expand_ratio=2"},
    {"mb_conv", "features.2", "out_channels=16 expanded_channels=24 squeeze_channels=4 p=0.3"},
    {"mb_conv", "features.3", "out_channels=8 expanded_channels=24 activation=hardswish stride=2"},
    {"convnext_block", "features.4", "layer_scale=0.3 kernel_size=3 p=0.2"},
    {"dense_layer", "features.5", "growth_rate=4 drop_rate=0.1"},
    {"squeeze_excitation", "features.6", "squeeze_channels=4"},
    {"fire", "features.7", "squeeze=4 expand1x1=6 expand3x3=6"},
    {"dropout2d", "features.8", "p=0.2"},
    {"flatten", "flatten", ""},
    {"batch_norm1d", "norm", ""},
    {"linear", "fc", "out_features=5"},
};
static const Step rows[] = {
    {"reshape", "rows", "shape=12x36x0"},
    {"lstm", "lstm", "hidden_size=6 num_layers=2 bidirectional=true dropout=0.2"},
    {"gru", "gru", "hidden_size=7"},
    {"rnn", "rnn", "hidden_size=6 nonlinearity=relu"},
    {"layer_norm", "norm", ""},
    {"permute", "turn", "first=2 second=1"},
    {"conv1d", "conv", "out_channels=6 padding=1"},
    {"max_pool1d", "pool", ""},
    {"permute", "back", "first=2 second=1"},
    {"select", "last", ""},
    {"linear", "fc", "out_features=5"},
};
static const Step pieces[] = {
    {"patch_embedding", "patches", "embed_dim=12 patch_size=4"},
    {"class_token", "token", ""},
    {"position_embedding", "encoder", ""},
    {"sinusoidal_positions", "waves", ""},
    {"encoder_block", "layers.0", "num_heads=3 mlp_dim=20 dropout=0.1"},
    {"transformer_encoder_layer", "layers.1", "nhead=2 dim_feedforward=16"},
    {"select", "first", "index=0"},
    {"linear", "head", "out_features=5"},
};
static const Step pixels[] = {
    {"zero_pad2d", "pad", "padding=1x0x2x1"},
    {"conv2d", "conv", "out_channels=12 kernel_size=2 groups=3"},
    {"group_norm", "norm1", "num_groups=3"},
    {"prelu", "act1", "num_parameters=12"},
    {"channel_shuffle", "mix", "groups=3"},
    {"conv_transpose2d", "up", "out_channels=8 kernel_size=2 stride=2"},
    {"layer_norm2d", "norm2", ""},
    {"mish", "act2", ""},
    {"pixel_shuffle", "fold", ""},
    {"reflection_pad2d", "mirror", "padding=1"},
    {"instance_norm2d", "norm3", "affine=true"},
    {"hardswish", "act3", ""},
    {"adaptive_max_pool2d", "pool", "output_size=4x3"},
    {"upsample", "large", "mode=bilinear"},
    {"elu", "act4", ""},
    {"flatten", "flatten", ""},
    {"linear", "fc", "out_features=5"},
    {"softplus", "act5", ""},
};

typedef struct Net {
  const char *name;
  const Step *steps;
  int n;
} Net;
static const Net nets[] = {{"blocks", blocks, G_N_ELEMENTS(blocks)},
                           {"rows", rows, G_N_ELEMENTS(rows)},
                           {"pieces", pieces, G_N_ELEMENTS(pieces)},
                           {"pixels", pixels, G_N_ELEMENTS(pixels)}};

static NwNetwork *network_of(const Net *net)
{
  NwNetwork *network;
  fx_ok(nw_network_new(&network, &fx_error));
  uint32_t at = fx_add(network, "input", "input", "", 0);
  for (int i = 0; i < net->n; i++)
    at = fx_add(network, net->steps[i].op, net->steps[i].name, net->steps[i].attrs, at);
  return network;
}

static void same_bits(const char *name, const void *a, const void *b, const NwSpec *spec)
{
  if (memcmp(a, b, nw_spec_bytes(spec)) != 0)
    g_error("%s differs between tape and plan: distance %g", name, fx_distance(a, b, nw_spec_count(spec)));
}

/* Three steps of SGD: the tape and the exact plan, bit for bit; then the plan with every pass on, near the
 * exact one. */
static void test_net(gconstpointer data)
{
  const Net *net = data;
  NwNetwork *network = network_of(net);
  NwModel *model = fx_model(network, CHANNELS, SIZE, CLASSES, 11);
  FxBatch batch = fx_batch(BATCH, CHANNELS, SIZE, CLASSES, 21);
  FxOptions exact = {.plan = {.exact = true}, .training = true, .optimizer = "sgd", .keep_grads = true};
  FxOptions fast = {.training = true, .keep_grads = true};
  FxTape tape;
  FxPlan plan, quick;
  fx_tape(model, &batch, "sgd", 0.05f, &tape);
  fx_plan(model, &batch, &exact, &plan);
  fx_plan(model, &batch, &fast, &quick);
  plan.lr_value = 0.05f;
  for (int64_t step = 1; step <= 3; step++) {
    double worst = 0;
    if (step == 1) { /* the buffers move in each run, so the quick plan sees the same ones only once */
      float loss = fx_run(&quick, 99, step);
      for (int i = 0; i < nw_model_count(model); i++) {
        NwParam *param = nw_model_at(model, i);
        if (param->buffer)
          memcpy(param->data, nw_tensor_data(tape.params[i]), nw_spec_bytes(&param->spec));
      }
      g_assert_true(isfinite(loss));
    }
    fx_tape_step(model, &tape, "sgd", 99, step);
    float loss = fx_run(&plan, 99, step);
    g_assert_cmpmem(&loss, sizeof loss, &tape.loss, sizeof loss);
    g_assert_true(isfinite(loss));
    for (int i = 0; i < nw_model_count(model); i++) {
      const NwParam *param = nw_model_at(model, i);
      if (!param->buffer) {
        const float *gradient = nw_plan_data(plan.plan, plan.grads[i]);
        same_bits(param->name, gradient, nw_tensor_data(nw_tensor_grad(tape.params[i])), &param->spec);
        double norm = 0, d = 0;
        for (int64_t k = 0; k < nw_spec_count(&param->spec); k++)
          norm += (double)gradient[k] * gradient[k];
        /* behind some parameters a norm takes away what they do: their gradients are rounding alone */
        if (step == 1 && sqrt(norm) > 1e-3)
          d = fx_distance(nw_plan_data(quick.plan, quick.grads[i]), gradient, nw_spec_count(&param->spec));
        if (d > 5e-4)
          g_error("the optimised plan's gradient of %s is off by %.2g", param->name, d);
        worst = MAX(worst, d);
      }
      same_bits(param->name, param->data, nw_tensor_data(tape.params[i]), &param->spec);
    }
    g_test_message("%s, step %d: loss %.4f, optimised plan's gradients within %.2g", net->name, (int)step,
                   loss, worst);
  }
  nw_tape_set_step(-1);
  fx_plan_clear(&plan);
  fx_plan_clear(&quick);
  fx_tape_clear(&tape);
  fx_batch_clear(&batch);
  nw_model_free(model);
  nw_network_free(network);
}

static void test_names(void)
{
  static const char *const some[] = {
      "layer1.0.conv1.weight",     "layer1.0.bn2.num_batches_tracked", "layer2.0.downsample.1.running_var",
      "features.1.conv.1.1.bias",  "features.2.block.2.fc1.bias",      "features.4.layer_scale",
      "features.4.block.5.weight", "features.7.expand3x3.bias"};
  NwNetwork *network = network_of(&nets[0]);
  NwModel *model = fx_model(network, CHANNELS, SIZE, CLASSES, 1);
  for (gsize i = 0; i < G_N_ELEMENTS(some); i++)
    if (nw_model_find(model, some[i]) == NULL)
      g_error("there is no %s", some[i]);
  g_assert_null(nw_model_find(model, "layer1.0.downsample.0.weight"));
  g_assert_cmpfloat(*(float *)nw_model_find(model, "features.4.layer_scale")->data, ==, 0.3f);
  g_assert_cmpfloat(*(float *)nw_model_find(model, "layer1.0.bn1.running_var")->data, ==, 1);
  /* the parts count, as they would as blocks of their own */
  NwNetworkReport report;
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, CHANNELS, SIZE, SIZE});
  fx_ok(nw_network_check(network, &input, CLASSES, &report, &fx_error));
  g_assert_cmpint(report.blocks[2].parameters, ==, 2 * (8 * 8 * 9 + 16));
  g_assert_cmpfloat(report.blocks[2].macs, ==, 2.0 * 8 * 8 * 9 * SIZE * SIZE);
  nw_network_report_clear(&report);
  nw_model_free(model);
  nw_network_free(network);
}

/* ---- mistakes ---- */
typedef struct Mistake {
  const char *before, *before_attrs; /* a layer between picture and mistake; NULL: none */
  const char *op, *attrs, *property, *words;
} Mistake;

/* The picture has 3 channels and 12 × 12 pixels. */
static const Mistake mistakes[] = {
    {NULL, NULL, "prelu", "num_parameters=4", "num_parameters",
     "num_parameters is 4, but the input has 3 channels"},
    {NULL, NULL, "channel_shuffle", "groups=2", "groups", "2 groups do not divide the 3 channels"},
    {NULL, NULL, "reshape", "shape=5x5x0", "shape", "has 432 numbers, which do not fit these sizes"},
    {NULL, NULL, "permute", "first=2 second=2 third=1", "second", "each of 1 to 3 must stand in one place"},
    {"flatten", "", "permute", "", "", "needs two or three sizes behind the batch; this input has 1"},
    {NULL, NULL, "pixel_shuffle", "", "upscale_factor",
     "a factor of 2 needs channels that are a multiple of 4; there are 3"},
    {NULL, NULL, "reflection_pad2d", "padding=12", "padding",
     "padding 12 needs a picture of more than so many pixels"},
    {"flatten", "", "zero_pad2d", "", "",
     "ZeroPad2d needs pictures (channels × height × width); this input is 432"},
    {"flatten", "", "upsample", "", "", "Upsample needs pictures"},
    {"flatten", "", "dropout2d", "", "", "Dropout2d needs pictures"},
    {"flatten", "", "layer_norm", "sizes=2", "sizes", "the input has 1 sizes behind the batch, fewer than 2"},
    {NULL, NULL, "group_norm", "num_groups=2", "num_groups", "2 groups do not divide the 3 channels"},
    {"adaptive_avg_pool2d", "", "instance_norm2d", "", "", "needs channels of more than one pixel"},
    {"flatten", "", "layer_norm2d", "", "", "LayerNorm2d needs pictures"},
    {NULL, NULL, "batch_norm1d", "", "", "BatchNorm1d needs batch × channels, or batch × channels × length"},
    {NULL, NULL, "conv1d", "", "", "Conv1d needs batch × channels × length; this input has 4 sizes"},
    {"reshape", "shape=3x144x0", "conv1d", "groups=2", "groups",
     "2 groups must divide both the 3 channels in and the 16 out"},
    {"reshape", "shape=144x3x0", "conv1d", "kernel_size=5", "kernel_size",
     "kernel_size 5 reaches over 5 pixels"},
    {"reshape", "shape=144x3x0", "max_pool1d", "padding=2", "padding",
     "padding 2 is more than half the window of 2"},
    {NULL, NULL, "conv_transpose2d", "groups=2", "groups",
     "2 groups must divide both the 3 channels in and the 16 out"},
    {NULL, NULL, "conv_transpose2d", "output_padding=1", "output_padding",
     "output_padding is 1; it must be smaller"},
    {NULL, NULL, "conv_transpose2d", "kernel_size=1 padding=9", "padding", "padding 9 leaves no picture"},
    {"flatten", "", "conv_transpose2d", "", "", "ConvTranspose2d needs pictures"},
    {"flatten", "", "adaptive_max_pool2d", "", "", "AdaptiveMaxPool2d needs pictures"},
    {"flatten", "", "basic_block", "", "", "BasicBlock, conv1: Conv2d needs pictures"},
    {NULL, NULL, "bottleneck", "planes=3 groups=2 base_width=16", "", "Bottleneck"},
    {NULL, NULL, "mb_conv", "kernel_size=4", "kernel_size", "kernel_size 4 is even; it must be odd"},
    {NULL, NULL, "convnext_block", "kernel_size=2", "kernel_size", "kernel_size 2 is even; it must be odd"},
    {"flatten", "", "dense_layer", "", "", "DenseLayer, norm1: BatchNorm2d needs pictures"},
    {"flatten", "", "fire", "", "", "Fire, squeeze: Conv2d needs pictures"},
    {"flatten", "", "squeeze_excitation", "", "", "SqueezeExcitation"},
    {NULL, NULL, "lstm", "", "",
     "LSTM needs batch × steps × numbers; this input has 4 sizes: put a Reshape before it"},
    {NULL, NULL, "gru", "", "", "GRU needs batch × steps × numbers"},
    {"flatten", "", "rnn", "", "", "RNN needs batch × steps × numbers"},
    {NULL, NULL, "multihead_attention", "", "", "MultiheadAttention needs batch × steps × numbers"},
    {"reshape", "shape=12x36x0", "multihead_attention", "num_heads=5", "num_heads",
     "5 heads do not divide the 36 numbers"},
    {"reshape", "shape=12x36x0", "transformer_encoder_layer", "nhead=7", "nhead",
     "7 heads do not divide the 36 numbers"},
    {"reshape", "shape=12x36x0", "encoder_block", "num_heads=8", "num_heads",
     "8 heads do not divide the 36 numbers"},
    {NULL, NULL, "patch_embedding", "patch_size=5", "patch_size",
     "pieces of 5 pixels do not fit into a height of 12"},
    {"reshape", "shape=12x36x0", "select", "index=12", "index", "there is no step 12; the sequence has 12"},
    {"flatten", "", "class_token", "", "", "ClassToken needs batch × steps × numbers"},
    {"flatten", "", "position_embedding", "", "", "PositionEmbedding needs batch × steps × numbers"},
    {"reshape", "shape=48x9x0", "sinusoidal_positions", "", "",
     "needs an even count of numbers for each step; there are 9"},
    {"flatten", "", "log_softmax", "dim=2", "dim", "the input has 2 sizes, so there is no size 2"},
};

static void test_mistakes(void)
{
  for (gsize i = 0; i < G_N_ELEMENTS(mistakes); i++) {
    const Mistake *m = &mistakes[i];
    NwNetwork *network;
    NwNetworkReport report;
    NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){2, CHANNELS, SIZE, SIZE});
    fx_ok(nw_network_new(&network, &fx_error));
    uint32_t at = fx_add(network, "input", "input", "", 0);
    if (m->before != NULL)
      at = fx_add(network, m->before, "before", m->before_attrs, at);
    at = fx_add(network, m->op, "wrong", m->attrs, at);
    fx_ok(nw_network_check(network, &input, 0, &report, &fx_error));
    const NwError *error = &report.blocks[report.n_blocks - 1].error;
    if (report.blocks[report.n_blocks - 1].status == NW_OK || strstr(error->text, m->words) == NULL ||
        strcmp(error->property, m->property) != 0 || error->block != at) {
      g_test_message("%s %s says, of \"%s\": %s", m->op, m->attrs, error->property, error->text);
      g_test_fail();
    }
    nw_network_report_clear(&report);
    nw_network_free(network);
  }
}

/* ---- lots ---- */
/* Factors that op draws for ones of this shape: each `run` numbers share one, 0 or 1/(1 − p). */
static int check_lots(const char *id, const char *text, const NwSpec *spec, int64_t run, double p, int lanes)
{
  Bench bench;
  NwError error = {0};
  const NwOp *op = nw_op_find(id);
  g_autofree void *attrs = parse_attrs(op, text);
  bench_init(&bench, 0, lanes);
  Value *x = value_new(&bench, spec);
  int64_t n = nw_spec_count(spec), dropped = 0;
  for (int64_t i = 0; i < n; i++)
    set_number(x, i, 1);
  NwVal out[NW_MAX_PORTS], back[NW_MAX_PORTS];
  g_assert_cmpint(bench_emit(&bench.emitter, op, attrs, (NwVal[]){{x, 0}}, 1, out, &error), ==, NW_OK);
  g_assert_cmpint(bench_emit(&bench.emitter, op, attrs, (NwVal[]){{x, 0}}, 1, back, &error), ==, NW_OK);
  for (int64_t i = 0; i < n; i++) {
    double v = get_number(out[0].p, i);
    g_assert_cmpfloat(v, ==, get_number(out[0].p, i / run * run));
    g_assert_cmpfloat(v, ==, get_number(back[0].p, i)); /* backward draws the same */
    g_assert_true(v == 0 || fabs(v - 1 / (1 - p)) < 1e-6);
    dropped += v == 0;
  }
  bench_clear(&bench);
  return (int)(dropped / run);
}

static void test_lots(void)
{
  NwSpec pictures = nw_spec(NW_F32, 4, (int64_t[]){40, 24, 3, 2}),
         lists = nw_spec(NW_F32, 2, (int64_t[]){2000, 3});
  int plain = check_lots("dropout2d", "p=0.3 training=true stream=2", &pictures, 6, 0.3, 0);
  g_assert_cmpint(abs(plain - 288), <, 60);
  for (int lanes = 8; lanes <= 16; lanes += 8) /* the layout does not show */
    g_assert_cmpint(check_lots("dropout2d", "p=0.3 training=true stream=2", &pictures, 6, 0.3, lanes), ==,
                    plain);
  int rows_dropped = check_lots("stochastic_depth", "p=0.2 training=true stream=3", &lists, 3, 0.2, 0);
  g_assert_cmpint(abs(rows_dropped - 400), <, 70);
  check_lots("stochastic_depth", "p=0.2 mode=batch training=true", &lists, 6000, 0.2, 0);
  g_assert_cmpint(check_lots("stochastic_depth", "p=0.2", &pictures, 1, 0, 8), ==, 0);
  g_assert_cmpint(check_lots("dropout2d", "p=1 training=true", &pictures, 6, 0, 8), ==, 960);
}

/* A number that is none must come out as such, or a broken training would go on unseen. */
static void test_not_a_number(void)
{
  static const char *const ids[] = {"relu6", "hardswish",  "hardsigmoid", "elu",
                                    "selu",  "mish",       "softplus",    "log_softmax",
                                    "prelu", "layer_norm", "group_norm"};
  static const char *const attrs_of[] = {
      "", "", "", "", "", "", "", "", "", "elementwise_affine=false", "affine=false num_groups=1"};
  NwSpec spec = nw_spec(NW_F32, 2, (int64_t[]){2, 9}), one = nw_spec(NW_F32, 1, (int64_t[]){1});
  for (gsize k = 0; k < G_N_ELEMENTS(ids); k++)
    for (int row = 0; row < nw_op_find(ids[k])->n_kernels; row++) {
      Bench bench;
      NwError error = {0};
      NwVal out[NW_MAX_PORTS];
      g_autofree void *attrs = parse_attrs(nw_op_find(ids[k]), attrs_of[k]);
      bench_init(&bench, row, 0);
      Value *x = value_new(&bench, &spec), *slope = value_new(&bench, &one);
      set_number(x, 4, NAN);
      NwVal in[] = {{x, 0}, {strcmp(ids[k], "prelu") == 0 ? slope : NULL, 0}};
      g_assert_cmpint(
          bench_emit(&bench.emitter, nw_op_find(ids[k]), attrs, in, 1 + (in[1].p != NULL), out, &error), ==,
          NW_OK);
      if (!isnan(get_number(out[0].p, 4)))
        g_error("%s hides what is not a number", ids[k]);
      bench_clear(&bench);
    }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(nets); i++) {
    g_autofree char *path = g_strconcat("/layers/train/", nets[i].name, NULL);
    g_test_add_data_func(path, &nets[i], test_net);
  }
  g_test_add_func("/layers/names", test_names);
  g_test_add_func("/layers/mistakes", test_mistakes);
  g_test_add_func("/layers/lots", test_lots);
  g_test_add_func("/layers/not-a-number", test_not_a_number);
  return g_test_run();
}
