/* Residual networks after He et al., "Deep residual learning for image recognition", 2015, named as in
 * torchvision. */
#include "engine/nn/templates/draw.h"

#include <inttypes.h>
#include <stdio.h>

/* Stages of two basic blocks; the first block of every stage but the first halves the picture. */
static void stages(NwPencil *p, const int64_t *widths, int n, int64_t from)
{
  for (int stage = 0; stage < n; stage++)
    for (int block = 0; block < 2; block++) {
      char path[32];
      snprintf(path, sizeof path, "layer%d.%d", stage + 1, block);
      nw_draw_basic_block(p, path, from, widths[stage], stage > 0 && block == 0 ? 2 : 1);
      from = widths[stage];
    }
}

static void head(NwPencil *p, int64_t classes)
{
  nw_draw(p, "adaptive_avg_pool2d", "avgpool", "output_size=1");
  nw_draw(p, "flatten", "flatten", " ");
  nw_draw(p, "linear", "fc", "out_features=%" PRId64, classes);
}

/* For small pictures (28 to 64): a 3×3 stem without pooling and narrow stages, as the paper does for CIFAR.
 */
NwStatus nw_template_resnet_small(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                  int64_t classes, NwError *error)
{
  static const int64_t widths[] = {16, 32, 64};
  NwPencil p = nw_pencil(network, error);
  nw_draw(&p, "conv2d", "conv1", "out_channels=16 kernel_size=3 padding=1 bias=false");
  nw_draw(&p, "batch_norm2d", "bn1", " ");
  nw_draw(&p, "relu", "relu", " ");
  stages(&p, widths, NW_COUNT(widths), 16);
  head(&p, classes);
  return p.status;
}

NwStatus nw_template_resnet18(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                              int64_t classes, NwError *error)
{
  static const int64_t widths[] = {64, 128, 256, 512};
  NwPencil p = nw_pencil(network, error);
  nw_draw(&p, "conv2d", "conv1", "out_channels=64 kernel_size=7 stride=2 padding=3 bias=false");
  nw_draw(&p, "batch_norm2d", "bn1", " ");
  nw_draw(&p, "relu", "relu", " ");
  nw_draw(&p, "max_pool2d", "maxpool", "kernel_size=3 stride=2 padding=1");
  stages(&p, widths, NW_COUNT(widths), 64);
  head(&p, classes);
  return p.status;
}
