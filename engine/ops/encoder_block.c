/* EncoderBlock of vision transformers: TransformerEncoderLayer with the norms in front, under torchvision's
 * names. */
#include "engine/ops/multihead_attention.h"

typedef struct Encoder {
  NwCompositeHidden hidden;
  int64_t num_heads, mlp_dim;
  double dropout, eps;
} Encoder;

static const NwAttr attrs_rows[] = {
    {"num_heads", N_("Heads"),
     N_("How many parts look at the sequence, each its own way; must divide its numbers."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(Encoder, num_heads), 4, 1, 1024, 1, 64, 1},
    {"mlp_dim", N_("Width inside"), N_("Numbers between the two layers of each step."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(Encoder, mlp_dim), 256, 1, 65536, 1, 4096, 1},
    {"dropout", N_("Dropout"),
     N_("How likely each number is set to zero in training, behind attention and layers."), NULL,
     NW_ATTR_REAL, 0, offsetof(Encoder, dropout), 0, 0, 1, 0, 0.95, 0.05},
    {"eps", N_("Epsilon"), N_("Of the norms."), NULL, NW_ATTR_REAL, NW_ATTR_LOG, offsetof(Encoder, eps), 1e-6,
     0, 1, 1e-8, 1e-1, 1e-6},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Batch × steps × numbers.")},
                                  NW_PORTS_LINEAR("ln_1"),
                                  NW_ATTENTION_PORTS("self_attention."),
                                  NW_PORTS_LINEAR("ln_2"),
                                  NW_PORTS_LINEAR("mlp.0"),
                                  NW_PORTS_LINEAR("mlp.3")};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("As many numbers for each step.")}};

static NwVal drop(NwSketch *s, const Encoder *a, NwVal x)
{
  return a->dropout > 0 ? nw_part(s, NULL, "dropout", x, "p=%.17g", a->dropout) : x;
}

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Encoder *a = attrs;
  NwVal x = s->in[0], y;
  NwSpec spec = nw_drawn(s, x);
  int64_t size = spec.ndim == 3 ? spec.dims[2] : 1;
  if (spec.ndim != 3 || size < 1 || size > (1 << 20))
    nw_sketch_fail(
        s, NULL,
        "%s needs batch × steps × numbers; this input has %d sizes: put a PatchEmbedding or Reshape "
        "before it",
        s->op->label, spec.ndim > 0 ? spec.ndim : 0);
  else if (size % a->num_heads != 0)
    nw_sketch_fail(s, "num_heads", "%s: %lld heads do not divide the %lld numbers of a step", s->op->label,
                   (long long)a->num_heads, (long long)size);
  y = nw_part(s, "ln_1", "layer_norm", x, "eps=%.17g", a->eps);
  y = nw_part(s, "self_attention", "multihead_attention", y, "num_heads=%lld", (long long)a->num_heads);
  x = nw_join(s, "add", drop(s, a, y), x);
  y = nw_part(s, "ln_2", "layer_norm", x, "eps=%.17g", a->eps);
  y = nw_part(s, "mlp.0", "linear", y, "out_features=%lld", (long long)a->mlp_dim);
  y = drop(s, a, nw_part(s, NULL, "gelu", y, " "));
  y = nw_part(s, "mlp.3", "linear", y, "out_features=%lld", (long long)size);
  return nw_join(s, "add", x, drop(s, a, y));
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {{"num_heads=2 mlp_dim=5", "2x4x6 6 6 18x6 18 6x6 6 6 6 5x6 5 6x5 6"},
                                 {"num_heads=1 mlp_dim=3", "1x3x4 4 4 12x4 12 4x4 4 4 4 3x4 3 4x3 4"}};

const NwOp nw_ops_encoder_block[] = {
    {.id = "encoder_block",
     .version = 1,
     .label = "EncoderBlock",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_("The block of vision transformers: attention, then two layers for each step, both beside "
               "shortcuts."),
     .formula = N_("x = x + self_attention(ln_1(x)); y = x + mlp(ln_2(x)) (Dosovitskiy et al. 2021)"),
     .keywords = "vision transformer vit attention encoder block",
     .torch = "torchvision.models.vision_transformer.EncoderBlock",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Encoder, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(encoder_block);
