/* PatchEmbedding: the picture in square pieces, each made a list of numbers; the beginning of a vision
 * transformer. */
#include "engine/op/composite.h"
#include "engine/ops/view.h"

typedef struct Patch {
  int64_t embed_dim, patch_size;
} Patch;

static const NwAttr attrs_rows[] = {
    {"embed_dim", N_("Numbers"), N_("How many numbers stand for a piece."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(Patch, embed_dim), 64, 1, 16384, 1, 1024, 1},
    {"patch_size", N_("Piece"), N_("Height and width of a piece; must divide those of the picture."),
     N_("pixels"), NW_ATTR_INT, NW_ATTR_ON_BLOCK, offsetof(Patch, patch_size), 4, 1, 255, 1, 32, 1},
};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Pictures: batch, channels, height, width.")},
                                  NW_PORTS_LINEAR("conv_proj")};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("Batch × pieces × numbers.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Patch *a = attrs;
  NwSpec x = nw_drawn(s, s->in[0]);
  for (int i = 0; i < 2 && x.ndim == 4; i++)
    if (x.dims[2 + i] % a->patch_size != 0)
      nw_sketch_fail(s, "patch_size", "%s: pieces of %lld pixels do not fit into a %s of %lld", s->op->label,
                     (long long)a->patch_size, i ? "width" : "height", (long long)x.dims[2 + i]);
  NwVal y = nw_part(s, "conv_proj", "conv2d", s->in[0], "out_channels=%lld kernel_size=%lld stride=%lld",
                    (long long)a->embed_dim, (long long)a->patch_size, (long long)a->patch_size);
  NwSpec grid = nw_drawn(s, y);
  NwView view = {3, {grid.dims[0], a->embed_dim, grid.dims[2] * grid.dims[3]}};
  y = nw_part_attrs(s, "view", &y, 1, &view);
  return nw_part(s, NULL, "permute", y, "first=2 second=1");
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {{"embed_dim=5 patch_size=2", "2x3x4x6 5x3x2x2 5"},
                                 {"embed_dim=8 patch_size=3", "1x1x3x6 8x1x3x3 8"}};

const NwOp nw_ops_patch_embedding[] = {
    {.id = "patch_embedding",
     .version = 1,
     .label = "PatchEmbedding",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_("Cuts the picture into square pieces and makes each a list of numbers, for transformers."),
     .formula = N_("y[n, piece] = conv_proj of the piece, pieces row by row (Dosovitskiy et al. 2021)"),
     .keywords = "vision transformer vit patches tokens",
     .torch = "conv_proj of torchvision.models.VisionTransformer",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Patch, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(patch_embedding);
