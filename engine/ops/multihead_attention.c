/* MultiheadAttention of a sequence with itself: each step gathers from all steps what matters to it. */
#include "engine/ops/multihead_attention.h"

typedef struct Multihead {
  NwCompositeHidden hidden;
  int64_t num_heads;
  bool bias;
} Multihead;

static const NwAttr attrs_rows[] = {
    {"num_heads", N_("Heads"),
     N_("How many parts look at the sequence, each its own way; must divide its numbers."), NULL, NW_ATTR_INT,
     NW_ATTR_ON_BLOCK, offsetof(Multihead, num_heads), 4, 1, 1024, 1, 64, 1},
    {"bias", N_("Bias"), N_("Adds learnt numbers."), NULL, NW_ATTR_BOOL, 0, offsetof(Multihead, bias), 1, 0,
     1, 0, 1, 1},
    NW_COMPOSITE_ATTRS};
static const NwPort ports_in[] = {{"x", NW_PORT_DATA, 0, N_("Batch × steps × numbers.")},
                                  NW_ATTENTION_PORTS("")};
static const NwPort ports_out[] = {{"y", NW_PORT_DATA, 0, N_("As many numbers for each step.")}};

static NwVal draw(NwSketch *s, const void *attrs)
{
  const Multihead *a = attrs;
  NwVal x = s->in[0];
  NwSpec like = nw_drawn(s, x);
  int64_t size = like.ndim == 3 && like.dims[2] > 0 && like.dims[2] <= 1 << 20 ? like.dims[2] : 1;
  if (like.ndim != 3 || nw_spec_count(&like) < 1 || size != like.dims[2])
    nw_sketch_fail(
        s, NULL,
        "%s needs batch × steps × numbers; this input has %d sizes: put a PatchEmbedding or Reshape "
        "before it",
        s->op->label, like.ndim > 0 ? like.ndim : 0);
  else if (size % a->num_heads != 0)
    nw_sketch_fail(s, "num_heads", "%s: %lld heads do not divide the %lld numbers of a step", s->op->label,
                   (long long)a->num_heads, (long long)size);
  /* as torch: xavier_uniform, offsets from 0 */
  NwParamInfo info = {true, nw_spec_like(&like, 2, (int64_t[]){3 * size, size}), NW_INIT_UNIFORM,
                      sqrt(6 / (double)(4 * size))};
  NwVal weight = nw_own_param(s, "in_proj_weight", &info);
  info = nw_param_vector(&like, 3 * size, NW_INIT_CONSTANT, 0);
  info.present = a->bias;
  NwVal bias = nw_own_param(s, "in_proj_bias", &info);
  const char *has = a->bias ? "true" : "false";
  NwVal y = nw_part_ports(s, "linear", (NwVal[]){x, weight, bias}, 3, "out_features=%lld bias=%s",
                          (long long)(3 * size), has);
  y = nw_part(s, NULL, "attention", y, "heads=%lld", (long long)a->num_heads);
  return nw_part(s, "out_proj", "linear", y, "out_features=%lld bias=%s", (long long)size, has);
}
NW_COMPOSITE(draw)

static const NwOpCase cases[] = {{"num_heads=2", "2x5x8 24x8 24 8x8 8"},
                                 {"num_heads=3 bias=false", "1x3x6 18x6 - 6x6 -"}};

const NwOp nw_ops_multihead_attention[] = {
    {.id = "multihead_attention",
     .version = 1,
     .label = "MultiheadAttention",
     .group = NW_GROUP_LINEAR,
     .doc = N_("Lets each step of a sequence gather from all steps what matters to it."),
     .formula =
         N_("y = out_proj([softmax(q kᵀ / √d) v of each head]), q, k, v = in_proj(x) (Vaswani et al. 2017)"),
     .keywords = "attention transformer self query key value heads",
     .torch = "torch.nn.MultiheadAttention(batch_first=True) of x with itself",
     NW_PORTS_AND(ports_in, ports_out),
     NW_ATTRS(Multihead, attrs_rows),
     NW_COMPOSITE_ROW(draw),
     NW_CASES(cases)},
};
NW_OPS_END(multihead_attention);
