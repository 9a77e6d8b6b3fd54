/* TransformerEncoderLayer: attention and two layers for each step, both beside shortcuts. */
#include "engine/ops/multihead_attention.h"

typedef struct Encoder {
  NwCompositeHidden hidden;
  int64_t nhead, dim_feedforward, activation;
  bool norm_first;
  double dropout, layer_norm_eps;
} Encoder;
enum { RELU, GELU };

static const NwEnumItem activations[] = {{RELU, "relu", N_("ReLU")}, {GELU, "gelu", N_("GELU")}};
static const NwAttr attrs_rows[] = {
    {"nhead", N_("Heads"),
     N_("How many parts look at the sequence, each its own way; must divide its numbers."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(Encoder, nhead), 4, 1, 1024, 1, 64, 1},
    {"dim_feedforward", N_("Width inside"), N_("Numbers between the two layers of each step."), NULL,
     NW_ATTR_INT, NW_ATTR_ON_BLOCK | NW_ATTR_LOG, offsetof(Encoder, dim_feedforward), 256, 1, 65536, 1, 4096,
     1},
    {"dropout", N_("Dropout"),
     N_("How likely each number is set to zero in training, behind attention and layers."), NULL,
     NW_ATTR_REAL, 0, offsetof(Encoder, dropout), 0.1, 0, 1, 0, 0.95, 0.05},
    {"activation", N_("Activation"), N_("What stands between the two layers."), NULL, NW_ATTR_ENUM, 0,
     offsetof(Encoder, activation), RELU, .items = activations, .n_items = NW_COUNT(activations)},
    {"layer_norm_eps", N_("Epsilon"), N_("Of the norms."), NULL, NW_ATTR_REAL, NW_ATTR_LOG,
     offsetof(Encoder, layer_norm_eps), 1e-5, 0, 1, 1e-8, 1e-1, 1e-5},
    {"norm_first", N_("Norm first"),
     N_("Norms stand before attention and layers instead of behind the additions."), NULL, NW_ATTR_BOOL, 0,
     offsetof(Encoder, norm_first), 0, 0, 1, 0, 1, 1},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Batch × steps × numbers.")},
                                  NW_ATTENTION_PORTS("self_attn."),
                                  NW_PORTS_LINEAR("linear1"),
                                  NW_PORTS_LINEAR("linear2"),
                                  NW_PORTS_LINEAR("norm1"),
                                  NW_PORTS_LINEAR("norm2")};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("As many numbers for each step.")}};

static NwVal drop(NwSketch *s, const Encoder *a, NwVal x)
{
  return a->dropout > 0 ? nw_part(s, NULL, "dropout", x, "p=%.17g", a->dropout) : x;
}

static NwVal norm(NwSketch *s, const Encoder *a, const char *path, NwVal x)
{
  return nw_part(s, path, "layer_norm", x, "eps=%.17g", a->layer_norm_eps);
}

static NwVal attend(NwSketch *s, const Encoder *a, NwVal x)
{
  return drop(s, a, nw_part(s, "self_attn", "multihead_attention", x, "num_heads=%lld", (long long)a->nhead));
}

static NwVal feed(NwSketch *s, const Encoder *a, NwVal x, int64_t size)
{
  NwVal y = nw_part(s, "linear1", "linear", x, "out_features=%lld", (long long)a->dim_feedforward);
  y = drop(s, a, nw_part(s, NULL, a->activation == GELU ? "gelu" : "relu", y, " "));
  return drop(s, a, nw_part(s, "linear2", "linear", y, "out_features=%lld", (long long)size));
}

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Encoder *a = attrs;
  NwVal x = s->in[0];
  NwSpec spec = nw_drawn(s, x);
  int64_t size = spec.ndim == 3 ? spec.dims[2] : 1;
  if (spec.ndim != 3 || size < 1 || size > (1 << 20))
    nw_sketch_fail(
        s, NULL,
        "%s needs batch × steps × numbers; this input has %d sizes: put a PatchEmbedding or Reshape "
        "before it",
        s->op->label, spec.ndim > 0 ? spec.ndim : 0);
  else if (size % a->nhead != 0)
    nw_sketch_fail(s, "nhead", "%s: %lld heads do not divide the %lld numbers of a step", s->op->label,
                   (long long)a->nhead, (long long)size);
  if (a->norm_first) {
    x = nw_join(s, "add", x, attend(s, a, norm(s, a, "norm1", x)));
    return nw_join(s, "add", x, feed(s, a, norm(s, a, "norm2", x), size));
  }
  x = norm(s, a, "norm1", nw_join(s, "add", x, attend(s, a, x)));
  return norm(s, a, "norm2", nw_join(s, "add", x, feed(s, a, x, size)));
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {
    {"nhead=2 dim_feedforward=5 dropout=0", "2x4x6 18x6 18 6x6 6 5x6 5 6x5 6 6 6 6 6"},
    {"nhead=1 dim_feedforward=3 dropout=0 norm_first=true activation=gelu",
     "1x3x4 12x4 12 4x4 4 3x4 3 4x3 4 4 4 4 4"}};

const NwOp nw_ops_transformer_encoder_layer[] = {
    {.id = "transformer_encoder_layer",
     .version = 1,
     .label = "TransformerEncoderLayer",
     .group = NW_GROUP_COMPOSITE,
     .doc = N_("Attention, then two layers for each step, both added to what came in."),
     .formula = N_("x = norm1(x + attention(x)); y = norm2(x + linear2(act(linear1(x)))); with norm_first "
                   "the norms stand "
                   "before (Vaswani et al. 2017)"),
     .keywords = "transformer attention vision vit bert encoder",
     .torch = "torch.nn.TransformerEncoderLayer(batch_first=True)",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Encoder, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(transformer_encoder_layer);
