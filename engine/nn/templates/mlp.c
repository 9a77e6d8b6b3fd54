#include "engine/nn/templates/draw.h"

#include <inttypes.h>

NwStatus nw_template_mlp(NwNetwork *network, int64_t channels, int64_t height, int64_t width, int64_t classes,
                         NwError *error)
{
  NwPencil p = nw_pencil(network, error);
  nw_draw(&p, "flatten", "classifier.0", " ");
  nw_draw(&p, "linear", "classifier.1", "out_features=512");
  nw_draw(&p, "relu", "classifier.2", " ");
  nw_draw(&p, "linear", "classifier.3", "out_features=512");
  nw_draw(&p, "relu", "classifier.4", " ");
  nw_draw(&p, "linear", "classifier.5", "out_features=%" PRId64, classes);
  return p.status;
}
