/* Layers over lists of vectors (batch × channels × length): pictures of height 1 to the layers over pictures.
 */
#pragma once

#include "engine/op/composite.h"
#include "engine/ops/view.h"

/* x as a picture of one row. `flat`: a batch × channels without length is taken too. */
static inline NwVal nw_line_in(NwSketch *s, NwVal x, bool flat)
{
  NwSpec spec = nw_drawn(s, x);
  NwView view = {4, {spec.dims[0], spec.ndim >= 2 ? spec.dims[1] : 1, 1, spec.ndim == 3 ? spec.dims[2] : 1}};
  if (spec.ndim != 3 && !(flat && spec.ndim == 2))
    nw_sketch_fail(s, NULL, "%s needs %sbatch × channels × length; this input has %d sizes", s->op->label,
                   flat ? "batch × channels, or " : "", spec.ndim > 0 ? spec.ndim : 0);
  return nw_part_attrs(s, "view", &x, 1, &view);
}

/* And back. */
static inline NwVal nw_line_out(NwSketch *s, NwVal y, bool flat)
{
  NwSpec spec = nw_drawn(s, y);
  NwView view = {flat ? 2 : 3, {spec.dims[0], spec.dims[1], spec.dims[3]}};
  return nw_part_attrs(s, "view", &y, 1, &view);
}
