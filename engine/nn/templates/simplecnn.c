#include "engine/nn/templates/draw.h"

#include <inttypes.h>

NwStatus nw_template_simplecnn(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                               int64_t classes, NwError *error)
{
  NwPencil p = nw_pencil(network, error);
  nw_draw(&p, "conv2d", "features.0", "out_channels=32 kernel_size=3 padding=1");
  nw_draw(&p, "relu", "features.1", " ");
  nw_draw(&p, "max_pool2d", "features.2", "kernel_size=2 stride=2");
  nw_draw(&p, "conv2d", "features.3", "out_channels=64 kernel_size=3 padding=1");
  nw_draw(&p, "relu", "features.4", " ");
  nw_draw(&p, "max_pool2d", "features.5", "kernel_size=2 stride=2");
  nw_draw(&p, "flatten", "classifier.0", " ");
  nw_draw(&p, "linear", "classifier.1", "out_features=128");
  nw_draw(&p, "relu", "classifier.2", " ");
  nw_draw(&p, "dropout", "classifier.3", "p=0.5");
  nw_draw(&p, "linear", "classifier.4", "out_features=%" PRId64, classes);
  return p.status;
}
