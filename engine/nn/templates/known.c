/* Networks as torchvision publishes them: parameters have its names and stand in its order, so that its
 * weights load. Sizes and names: tests/golden/keys. */
#include "engine/nn/templates/draw.h"

#include <inttypes.h>
#include <stdio.h>

#define NAME(...) (snprintf(name, sizeof name, __VA_ARGS__), name)

static void conv_norm(NwPencil *p, const char *conv, const char *norm, int64_t out, int64_t k, int64_t stride,
                      const char *more)
{
  nw_draw(p, "conv2d", conv,
          "out_channels=%" PRId64 " kernel_size=%" PRId64 " stride=%" PRId64 " padding=%" PRId64
          " bias=false",
          out, k, stride, k / 2);
  nw_draw(p, "batch_norm2d", norm, "%s", more);
}

static void pool_head(NwPencil *p, const char *linear, double dropout, int64_t classes)
{
  nw_draw(p, "adaptive_avg_pool2d", "avgpool", "output_size=1");
  nw_draw(p, "flatten", "flatten", " ");
  if (dropout > 0)
    nw_draw(p, "dropout", "classifier.0", "p=%g", dropout);
  nw_draw(p, "linear", linear, "out_features=%" PRId64, classes);
}

/* ---- ResNet (He et al. 2015) ---- */

static NwStatus resnet(NwNetwork *network, const int *blocks, bool wide, int64_t classes, NwError *error)
{
  static const int64_t widths[] = {64, 128, 256, 512};
  NwPencil p = nw_pencil(network, error);
  int64_t from = 64;
  char name[48];
  nw_draw(&p, "conv2d", "conv1", "out_channels=64 kernel_size=7 stride=2 padding=3 bias=false");
  nw_draw(&p, "batch_norm2d", "bn1", " ");
  nw_draw(&p, "relu", "relu", " ");
  nw_draw(&p, "max_pool2d", "maxpool", "kernel_size=3 stride=2 padding=1");
  for (int stage = 0; stage < 4; stage++)
    for (int i = 0; i < blocks[stage]; i++) {
      int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      NAME("layer%d.%d", stage + 1, i);
      if (wide)
        nw_draw(&p, "bottleneck", name, "planes=%" PRId64 " stride=%" PRId64, widths[stage], stride);
      else
        nw_draw_basic_block(&p, name, from, widths[stage], stride);
      from = widths[stage];
    }
  nw_draw(&p, "adaptive_avg_pool2d", "avgpool", "output_size=1");
  nw_draw(&p, "flatten", "flatten", " ");
  nw_draw(&p, "linear", "fc", "out_features=%" PRId64, classes);
  return p.status;
}

NwStatus nw_template_resnet34(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                              int64_t classes, NwError *error)
{
  return resnet(network, (const int[]){3, 4, 6, 3}, false, classes, error);
}

NwStatus nw_template_resnet50(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                              int64_t classes, NwError *error)
{
  return resnet(network, (const int[]){3, 4, 6, 3}, true, classes, error);
}

/* ---- VGG (Simonyan and Zisserman 2014); 0: a pooling ---- */

static const int64_t vgg11_rows[] = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0, -1};
static const int64_t vgg16_rows[] = {64,  64,  0,   128, 128, 0,   256, 256, 256, 0,
                                     512, 512, 512, 0,   512, 512, 512, 0,   -1};

static NwStatus vgg(NwNetwork *network, const int64_t *rows, bool norm, int64_t classes, NwError *error)
{
  NwPencil p = nw_pencil(network, error);
  char name[48];
  int at = 0;
  for (; *rows >= 0; rows++) {
    if (*rows == 0) {
      nw_draw(&p, "max_pool2d", NAME("features.%d", at++), "kernel_size=2 stride=2");
      continue;
    }
    nw_draw(&p, "conv2d", NAME("features.%d", at++), "out_channels=%" PRId64 " kernel_size=3 padding=1",
            *rows);
    if (norm)
      nw_draw(&p, "batch_norm2d", NAME("features.%d", at++), " ");
    nw_draw(&p, "relu", NAME("features.%d", at++), " ");
  }
  nw_draw(&p, "adaptive_avg_pool2d", "avgpool", "output_size=7");
  nw_draw(&p, "flatten", "flatten", " ");
  nw_draw(&p, "linear", "classifier.0", "out_features=4096");
  nw_draw(&p, "relu", "classifier.1", " ");
  nw_draw(&p, "dropout", "classifier.2", "p=0.5");
  nw_draw(&p, "linear", "classifier.3", "out_features=4096");
  nw_draw(&p, "relu", "classifier.4", " ");
  nw_draw(&p, "dropout", "classifier.5", "p=0.5");
  nw_draw(&p, "linear", "classifier.6", "out_features=%" PRId64, classes);
  return p.status;
}

#define VGG(id, rows, norm)                                                                                  \
  NwStatus nw_template_##id(NwNetwork *network, int64_t channels, int64_t height, int64_t width,             \
                            int64_t classes, NwError *error)                                                 \
  {                                                                                                          \
    return vgg(network, rows, norm, classes, error);                                                         \
  }
VGG(vgg11, vgg11_rows, false)
VGG(vgg11_bn, vgg11_rows, true)
VGG(vgg16, vgg16_rows, false)
VGG(vgg16_bn, vgg16_rows, true)

/* ---- AlexNet (Krizhevsky 2014) ---- */

NwStatus nw_template_alexnet(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                             int64_t classes, NwError *error)
{
  NwPencil p = nw_pencil(network, error);
  nw_draw(&p, "conv2d", "features.0", "out_channels=64 kernel_size=11 stride=4 padding=2");
  nw_draw(&p, "relu", "features.1", " ");
  nw_draw(&p, "max_pool2d", "features.2", "kernel_size=3 stride=2");
  nw_draw(&p, "conv2d", "features.3", "out_channels=192 kernel_size=5 padding=2");
  nw_draw(&p, "relu", "features.4", " ");
  nw_draw(&p, "max_pool2d", "features.5", "kernel_size=3 stride=2");
  nw_draw(&p, "conv2d", "features.6", "out_channels=384 kernel_size=3 padding=1");
  nw_draw(&p, "relu", "features.7", " ");
  nw_draw(&p, "conv2d", "features.8", "out_channels=256 kernel_size=3 padding=1");
  nw_draw(&p, "relu", "features.9", " ");
  nw_draw(&p, "conv2d", "features.10", "out_channels=256 kernel_size=3 padding=1");
  nw_draw(&p, "relu", "features.11", " ");
  nw_draw(&p, "max_pool2d", "features.12", "kernel_size=3 stride=2");
  nw_draw(&p, "adaptive_avg_pool2d", "avgpool", "output_size=6");
  nw_draw(&p, "flatten", "flatten", " ");
  nw_draw(&p, "dropout", "classifier.0", "p=0.5");
  nw_draw(&p, "linear", "classifier.1", "out_features=4096");
  nw_draw(&p, "relu", "classifier.2", " ");
  nw_draw(&p, "dropout", "classifier.3", "p=0.5");
  nw_draw(&p, "linear", "classifier.4", "out_features=4096");
  nw_draw(&p, "relu", "classifier.5", " ");
  nw_draw(&p, "linear", "classifier.6", "out_features=%" PRId64, classes);
  return p.status;
}

/* ---- SqueezeNet (Iandola et al. 2016); 0: a pooling ---- */

static NwStatus squeezenet(NwNetwork *network, const char *stem, const int64_t *fires, int64_t classes,
                           NwError *error)
{
  NwPencil p = nw_pencil(network, error);
  char name[48];
  int at = 3;
  nw_draw(&p, "conv2d", "features.0", "%s", stem);
  nw_draw(&p, "relu", "features.1", " ");
  nw_draw(&p, "max_pool2d", "features.2", "kernel_size=3 stride=2 ceil_mode=true");
  for (; *fires >= 0; fires++, at++)
    if (*fires == 0)
      nw_draw(&p, "max_pool2d", NAME("features.%d", at), "kernel_size=3 stride=2 ceil_mode=true");
    else
      nw_draw(&p, "fire", NAME("features.%d", at),
              "squeeze=%" PRId64 " expand1x1=%" PRId64 " expand3x3=%" PRId64, *fires, 4 * *fires, 4 * *fires);
  nw_draw(&p, "dropout", "classifier.0", "p=0.5");
  nw_draw(&p, "conv2d", "classifier.1", "out_channels=%" PRId64 " kernel_size=1", classes);
  nw_draw(&p, "relu", "classifier.2", " ");
  nw_draw(&p, "adaptive_avg_pool2d", "classifier.3", "output_size=1");
  nw_draw(&p, "flatten", "flatten", " ");
  return p.status;
}

NwStatus nw_template_squeezenet1_0(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                   int64_t classes, NwError *error)
{
  static const int64_t fires[] = {16, 16, 32, 0, 32, 48, 48, 64, 0, 64, -1};
  return squeezenet(network, "out_channels=96 kernel_size=7 stride=2", fires, classes, error);
}

NwStatus nw_template_squeezenet1_1(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                   int64_t classes, NwError *error)
{
  static const int64_t fires[] = {16, 16, 0, 32, 32, 0, 48, 48, 64, 64, -1};
  return squeezenet(network, "out_channels=64 kernel_size=3 stride=2", fires, classes, error);
}

/* ---- MobileNetV2 (Sandler et al. 2018) ---- */

NwStatus nw_template_mobilenet_v2(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                  int64_t classes, NwError *error)
{
  static const int64_t rows[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  NwPencil p = nw_pencil(network, error);
  char name[48];
  int at = 1;
  conv_norm(&p, "features.0.0", "features.0.1", 32, 3, 2, " ");
  nw_draw(&p, "relu6", "features.0.2", " ");
  for (int r = 0; r < NW_COUNT(rows); r++)
    for (int64_t i = 0; i < rows[r][2]; i++)
      nw_draw(&p, "inverted_residual", NAME("features.%d", at++),
              "expand_ratio=%" PRId64 " out_channels=%" PRId64 " stride=%" PRId64, rows[r][0], rows[r][1],
              i == 0 ? rows[r][3] : 1);
  conv_norm(&p, "features.18.0", "features.18.1", 1280, 1, 1, " ");
  nw_draw(&p, "relu6", "features.18.2", " ");
  pool_head(&p, "classifier.1", 0.2, classes);
  return p.status;
}

/* ---- MobileNetV3 (Howard et al. 2019) ---- */

/* kernel, inside, out, squeeze-and-excitation, hardswish, stride */
typedef struct V3Row {
  int k, inside, out, gate, hard, stride;
} V3Row;

/* The next multiple of 8 that is not much smaller, as the paper's authors round. */
static int round_to_8(double value)
{
  int rounded = (int)(value + 4) / 8 * 8;
  rounded = rounded < 8 ? 8 : rounded;
  return rounded < 0.9 * value ? rounded + 8 : rounded;
}

static NwStatus mobilenet_v3(NwNetwork *network, const V3Row *rows, int n, int last, int hidden,
                             int64_t classes, NwError *error)
{
  static const char norm[] = "eps=0.001 momentum=0.01";
  NwPencil p = nw_pencil(network, error);
  char name[48], norm_name[48], act[48];
  conv_norm(&p, "features.0.0", "features.0.1", 16, 3, 2, norm);
  nw_draw(&p, "hardswish", "features.0.2", " ");
  for (int i = 0; i < n; i++)
    nw_draw(
        &p, "mb_conv", NAME("features.%d", i + 1),
        "out_channels=%d expanded_channels=%d kernel_size=%d stride=%d squeeze_channels=%d activation=%s %s",
        rows[i].out, rows[i].inside, rows[i].k, rows[i].stride,
        rows[i].gate ? round_to_8(rows[i].inside / 4.0) : 0, rows[i].hard ? "hardswish" : "relu", norm);
  snprintf(norm_name, sizeof norm_name, "features.%d.1", n + 1);
  snprintf(act, sizeof act, "features.%d.2", n + 1);
  conv_norm(&p, NAME("features.%d.0", n + 1), norm_name, last, 1, 1, norm);
  nw_draw(&p, "hardswish", act, " ");
  nw_draw(&p, "adaptive_avg_pool2d", "avgpool", "output_size=1");
  nw_draw(&p, "flatten", "flatten", " ");
  nw_draw(&p, "linear", "classifier.0", "out_features=%d", hidden);
  nw_draw(&p, "hardswish", "classifier.1", " ");
  nw_draw(&p, "dropout", "classifier.2", "p=0.2");
  nw_draw(&p, "linear", "classifier.3", "out_features=%" PRId64, classes);
  return p.status;
}

NwStatus nw_template_mobilenet_v3_small(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                        int64_t classes, NwError *error)
{
  static const V3Row rows[] = {{3, 16, 16, 1, 0, 2},  {3, 72, 24, 0, 0, 2},  {3, 88, 24, 0, 0, 1},
                               {5, 96, 40, 1, 1, 2},  {5, 240, 40, 1, 1, 1}, {5, 240, 40, 1, 1, 1},
                               {5, 120, 48, 1, 1, 1}, {5, 144, 48, 1, 1, 1}, {5, 288, 96, 1, 1, 2},
                               {5, 576, 96, 1, 1, 1}, {5, 576, 96, 1, 1, 1}};
  return mobilenet_v3(network, rows, NW_COUNT(rows), 576, 1024, classes, error);
}

NwStatus nw_template_mobilenet_v3_large(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                        int64_t classes, NwError *error)
{
  static const V3Row rows[] = {{3, 16, 16, 0, 0, 1},   {3, 64, 24, 0, 0, 2},   {3, 72, 24, 0, 0, 1},
                               {5, 72, 40, 1, 0, 2},   {5, 120, 40, 1, 0, 1},  {5, 120, 40, 1, 0, 1},
                               {3, 240, 80, 0, 1, 2},  {3, 200, 80, 0, 1, 1},  {3, 184, 80, 0, 1, 1},
                               {3, 184, 80, 0, 1, 1},  {3, 480, 112, 1, 1, 1}, {3, 672, 112, 1, 1, 1},
                               {5, 672, 160, 1, 1, 2}, {5, 960, 160, 1, 1, 1}, {5, 960, 160, 1, 1, 1}};
  return mobilenet_v3(network, rows, NW_COUNT(rows), 960, 1280, classes, error);
}

/* ---- EfficientNet (Tan and Le 2019) ---- */

NwStatus nw_template_efficientnet_b0(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                     int64_t classes, NwError *error)
{
  /* widening, kernel, stride, out, how often */
  static const int64_t rows[][5] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                                    {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
  NwPencil p = nw_pencil(network, error);
  char name[48];
  int64_t in = 32;
  int index = 0;
  conv_norm(&p, "features.0.0", "features.0.1", 32, 3, 2, " ");
  nw_draw(&p, "silu", "features.0.2", " ");
  for (int r = 0; r < NW_COUNT(rows); r++)
    for (int i = 0; i < rows[r][4]; i++, index++) {
      nw_draw(&p, "mb_conv", NAME("features.%d.%d", r + 1, i),
              "out_channels=%" PRId64 " expanded_channels=%" PRId64 " kernel_size=%" PRId64 " stride=%" PRId64
              " squeeze_channels=%" PRId64 " activation=silu p=%.17g",
              rows[r][3], in * rows[r][0], rows[r][1], i == 0 ? rows[r][2] : 1, in / 4 > 1 ? in / 4 : 1,
              0.2 * index / 16);
      in = rows[r][3];
    }
  conv_norm(&p, "features.8.0", "features.8.1", 1280, 1, 1, " ");
  nw_draw(&p, "silu", "features.8.2", " ");
  pool_head(&p, "classifier.1", 0.2, classes);
  return p.status;
}

/* EfficientNet-Lite0, named as in the published weights. Where a stride is 2 the padding lies right and below
 * only, as TensorFlow's "SAME" puts it for 224 pixels. */
static void lite_filter(NwPencil *p, const char *path, const char *conv, int64_t channels, int64_t groups,
                        int64_t k, int64_t stride)
{
  char name[64];
  if (stride == 2)
    nw_draw(p, "zero_pad2d", NAME("%s%s_pad", path, conv), k == 3 ? "padding=0x1x0x1" : "padding=1x2x1x2");
  nw_draw(p, "conv2d", NAME("%s%s", path, conv),
          "out_channels=%" PRId64 " kernel_size=%" PRId64 " stride=%" PRId64 " padding=%" PRId64
          " groups=%" PRId64 " bias=false",
          channels, k, stride, stride == 2 ? 0 : k / 2, groups);
}

static void lite_norm(NwPencil *p, const char *path, const char *norm, bool activated)
{
  char name[64];
  nw_draw(p, "batch_norm2d", NAME("%s%s", path, norm), "eps=0.001 momentum=0.01");
  if (activated)
    nw_draw(p, "relu6", NAME("%s%s_relu", path, norm), " ");
}

static void lite_block(NwPencil *p, int number, int64_t k, int64_t stride, int64_t widening, int64_t in,
                       int64_t out)
{
  char path[32], name[64];
  uint32_t top = p->at;
  snprintf(path, sizeof path, "_blocks.%d.", number);
  if (widening != 1) {
    lite_filter(p, path, "_expand_conv", in * widening, 1, 1, 1);
    lite_norm(p, path, "_bn0", true);
  }
  lite_filter(p, path, "_depthwise_conv", in * widening, in * widening, k, stride);
  lite_norm(p, path, "_bn1", true);
  lite_filter(p, path, "_project_conv", out, 1, 1, 1);
  lite_norm(p, path, "_bn2", false);
  if (stride == 1 && in == out)
    nw_draw_join(p, "add", NAME("%s_add", path), top);
}

NwStatus nw_template_efficientnet_lite0(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                        int64_t classes, NwError *error)
{
  /* kernel, stride, widening, in, out */
  static const int64_t rows[][5] = {
      {3, 1, 1, 32, 16},   {3, 2, 6, 16, 24},   {3, 1, 6, 24, 24},   {5, 2, 6, 24, 40},
      {5, 1, 6, 40, 40},   {3, 2, 6, 40, 80},   {3, 1, 6, 80, 80},   {3, 1, 6, 80, 80},
      {5, 1, 6, 80, 112},  {5, 1, 6, 112, 112}, {5, 1, 6, 112, 112}, {5, 2, 6, 112, 192},
      {5, 1, 6, 192, 192}, {5, 1, 6, 192, 192}, {5, 1, 6, 192, 192}, {3, 1, 6, 192, 320}};
  NwPencil p = nw_pencil(network, error);
  lite_filter(&p, "", "_conv_stem", 32, 1, 3, 2);
  lite_norm(&p, "", "_bn0", true);
  for (int i = 0; i < NW_COUNT(rows); i++)
    lite_block(&p, i, rows[i][0], rows[i][1], rows[i][2], rows[i][3], rows[i][4]);
  lite_filter(&p, "", "_conv_head", 1280, 1, 1, 1);
  lite_norm(&p, "", "_bn1", true);
  nw_draw(&p, "adaptive_avg_pool2d", "_avg_pooling", "output_size=1");
  nw_draw(&p, "flatten", "_flatten", " ");
  nw_draw(&p, "dropout", "_dropout", "p=0.2");
  nw_draw(&p, "linear", "_fc", "out_features=%" PRId64, classes);
  return p.status;
}
