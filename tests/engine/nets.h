/* Small networks and seeded numbers that the tests of files, training and goldens share, the same as
 * tests/interop/nets.py. */
#pragma once

#include <glib.h>

#include "engine/base/philox.h"
#include "engine/nn/model.h"
#include "engine/nn/template.h"

#define nwt_ok(call)                                                                                         \
  do {                                                                                                       \
    NwStatus nwt_status_ = (call);                                                                           \
    if (nwt_status_ != NW_OK)                                                                                \
      g_error("%s: %s (%s)", #call, error.text, nw_status_text(nwt_status_));                                \
  } while (0)

static inline uint32_t nwt_block(NwNetwork *network, const char *op, const char *name, const char *attrs,
                                 uint32_t from)
{
  NwError error;
  uint32_t id;
  g_assert_nonnull(nw_op_find(op));
  nwt_ok(nw_network_add(network, nw_op_find(op), name, 0, &id, &error));
  g_auto(GStrv) pairs = g_strsplit(attrs, " ", -1);
  for (char **pair = pairs; *pair; pair++) {
    g_auto(GStrv) words = g_strsplit(*pair, "=", 2);
    if (words[0] != NULL && words[0][0] != 0)
      nwt_ok(nw_network_set_text(network, id, words[0], words[1], &error));
  }
  if (from != 0)
    nwt_ok(nw_network_connect(network, from, id, 0, &error));
  return id;
}

/* A block as torchvision's BasicBlock; returns its last block. */
static inline uint32_t nwt_basic_block(NwNetwork *network, const char *path, int from_width, int width,
                                       int stride, uint32_t x)
{
  NwError error;
#define NAME(part) (g_snprintf(name, sizeof name, "%s.%s", path, part), name)
  char name[64];
  g_autofree char *first =
      g_strdup_printf("out_channels=%d kernel_size=3 stride=%d padding=1 bias=false", width, stride);
  g_autofree char *second = g_strdup_printf("out_channels=%d kernel_size=3 padding=1 bias=false", width);
  g_autofree char *side =
      g_strdup_printf("out_channels=%d kernel_size=1 stride=%d bias=false", width, stride);
  uint32_t at = nwt_block(network, "conv2d", NAME("conv1"), first, x), shortcut = x;
  at = nwt_block(network, "batch_norm2d", NAME("bn1"), "", at);
  at = nwt_block(network, "relu", NAME("relu"), "", at);
  at = nwt_block(network, "conv2d", NAME("conv2"), second, at);
  at = nwt_block(network, "batch_norm2d", NAME("bn2"), "", at);
  if (stride != 1 || from_width != width) {
    shortcut = nwt_block(network, "conv2d", NAME("downsample.0"), side, x);
    shortcut = nwt_block(network, "batch_norm2d", NAME("downsample.1"), "", shortcut);
  }
  at = nwt_block(network, "add", NAME("add"), "", at);
  nwt_ok(nw_network_connect(network, shortcut, at, 1, &error));
  return nwt_block(network, "relu", NAME("relu2"), "", at);
#undef NAME
}

static inline NwNetwork *nwt_residual(int classes)
{
  NwError error;
  NwNetwork *network;
  nwt_ok(nw_network_new(&network, &error));
  g_autofree char *last = g_strdup_printf("out_features=%d", classes);
  uint32_t at = nwt_block(network, "input", "input", "", 0);
  at = nwt_block(network, "conv2d", "conv1", "out_channels=8 kernel_size=3 padding=1 bias=false", at);
  at = nwt_block(network, "batch_norm2d", "bn1", "", at);
  at = nwt_block(network, "relu", "relu", "", at);
  at = nwt_basic_block(network, "layer1.0", 8, 8, 1, at);
  at = nwt_basic_block(network, "layer2.0", 8, 16, 2, at);
  at = nwt_block(network, "adaptive_avg_pool2d", "avgpool", "output_size=1", at);
  at = nwt_block(network, "flatten", "flatten", "", at);
  nwt_block(network, "linear", "fc", last, at);
  return network;
}

/* Every kind of layer that the others do not have, in two branches. */
static inline NwNetwork *nwt_zoo(int classes)
{
  NwError error;
  NwNetwork *network;
  nwt_ok(nw_network_new(&network, &error));
  g_autofree char *last = g_strdup_printf("out_features=%d bias=false", classes);
  uint32_t at = nwt_block(network, "input", "input", "", 0), left, right;
  at = nwt_block(network, "conv2d", "stem",
                 "out_channels=8 kernel_size=5x3 stride=2x1 padding=2x1 dilation=1", at);
  left = nwt_block(network, "gelu", "left.gelu", "", at);
  left = nwt_block(network, "conv2d", "left.conv", "out_channels=8 groups=4 dilation=2 padding=2", left);
  left = nwt_block(network, "leaky_relu", "left.leaky", "negative_slope=0.2", left);
  left = nwt_block(network, "avg_pool2d", "left.pool", "kernel_size=3 stride=2 padding=1", left);
  right = nwt_block(network, "silu", "right.silu", "", at);
  right = nwt_block(network, "batch_norm2d", "right.norm", "affine=false eps=0.001", right);
  right = nwt_block(network, "max_pool2d", "right.pool", "kernel_size=3 stride=2 padding=1", right);
  right = nwt_block(network, "tanh", "right.tanh", "", right);
  at = nwt_block(network, "concat", "join", "", left);
  nwt_ok(nw_network_connect(network, right, at, 1, &error));
  at = nwt_block(network, "adaptive_avg_pool2d", "pool", "output_size=2x3", at);
  at = nwt_block(network, "sigmoid", "sigmoid", "", at);
  at = nwt_block(network, "flatten", "flatten", "", at);
  at = nwt_block(network, "dropout", "dropout", "p=0.25", at);
  at = nwt_block(network, "linear", "head", last, at);
  nwt_block(network, "softmax", "softmax", "", at);
  return network;
}

/* "residual", "zoo" or a template's id, for square pictures. */
static inline NwModel *nwt_model(const char *name, int channels, int size, int classes, uint64_t seed)
{
  NwError error;
  NwNetwork *network;
  NwModel *model;
  if (g_str_equal(name, "residual"))
    network = nwt_residual(classes);
  else if (g_str_equal(name, "zoo"))
    network = nwt_zoo(classes);
  else
    nwt_ok(nw_template_build(nw_template_find(name), channels, size, size, classes, &network, &error));
  NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, channels, size, size});
  nwt_ok(nw_model_new(network, &input, classes, seed, &model, &error));
  nw_network_free(network);
  return model;
}

/* Uniform in [-1, 1), the same in tests/interop/philox.py. */
static inline float nwt_number(uint64_t seed, uint32_t stream, uint64_t step, uint64_t element)
{
  return 2 * nw_uniform((NwPhilox){seed, stream}, step, element) - 1;
}
