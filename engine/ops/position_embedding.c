/* PositionEmbedding: learnt numbers for each place of a sequence are added, since attention knows no order.
 */
#include "engine/op/composite.h"
#include "engine/ops/elementwise.h"

static const NwPort ports_in[] = {
    {"x", NW_PORT_DATA, 0, N_("Batch × steps × numbers.")},
    {"pos_embedding", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("The numbers of each place.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  NwSpec x = nw_drawn(s, s->in[0]);
  if (x.ndim != 3 || nw_spec_count(&x) < 1)
    nw_sketch_fail(s, NULL, "%s needs batch × steps × numbers; this input has %d sizes", s->op->label,
                   x.ndim > 0 ? x.ndim : 0);
  NwParamInfo info = {true, nw_spec_like(&x, 3, (int64_t[]){1, x.dims[1], x.dims[2]}), NW_INIT_NORMAL, 0.02};
  return nw_join(s, "add_repeat", s->in[0], nw_own_param(s, "pos_embedding", &info));
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {{"", "2x3x5 1x3x5"}, {"", "1x1x4 1x1x4"}};

const NwOp nw_ops_position_embedding[] = {
    {.id = "position_embedding",
     .version = 1,
     .label = "PositionEmbedding",
     .group = NW_GROUP_SHAPE,
     .doc = N_("Adds learnt numbers to each place of a sequence, so that its order is seen."),
     .formula =
         N_("y[n] = x[n] + pos_embedding, which starts normal with deviation 0.02 (Dosovitskiy et al. 2021)"),
     .keywords = "position encoding transformer vit order sequence learnt",
     .torch = "pos_embedding of torchvision.models.VisionTransformer",
     .flags = NW_OP_KEEPS_SHAPE,
     NW_PORTS_AND(ports_in, nw_activation_out),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(position_embedding);
