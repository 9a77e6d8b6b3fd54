#include "engine/nn/templates/draw.h"

#include <inttypes.h>

NwStatus nw_template_lenet(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                           int64_t classes, NwError *error)
{
  NwPencil p = nw_pencil(network, error);
  nw_draw(&p, "conv2d", "features.0", "out_channels=6 kernel_size=5 padding=2");
  nw_draw(&p, "relu", "features.1", " ");
  nw_draw(&p, "max_pool2d", "features.2", "kernel_size=2 stride=2");
  nw_draw(&p, "conv2d", "features.3", "out_channels=16 kernel_size=5");
  nw_draw(&p, "relu", "features.4", " ");
  nw_draw(&p, "max_pool2d", "features.5", "kernel_size=2 stride=2");
  nw_draw(&p, "flatten", "flatten", " ");
  nw_draw(&p, "linear", "classifier.0", "out_features=120");
  nw_draw(&p, "relu", "classifier.1", " ");
  nw_draw(&p, "linear", "classifier.2", "out_features=84");
  nw_draw(&p, "relu", "classifier.3", " ");
  nw_draw(&p, "linear", "classifier.4", "out_features=%" PRId64, classes);
  return p.status;
}
