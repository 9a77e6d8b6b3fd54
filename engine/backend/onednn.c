/* The only file that knows oneDNN. */
#include "engine/backend/onednn.h"

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/base/threads.h"

/* libgomp's entry; its header is not there for every compiler. The setting is per thread, so it is made
 * before each use. */
void omp_set_num_threads(int n);

enum { MAX_ARGS = 8, WEIGHTS_ALIGN = 64 };
typedef enum Slot { SLOT_SRC, SLOT_WEIGHTS, SLOT_BIAS, SLOT_DST, SLOT_OTHER, SLOT_SCRATCH } Slot;

struct NwOnednn {
  dnnl_primitive_t primitive;
  int n;
  dnnl_exec_arg_t args[MAX_ARGS];
  Slot slots[MAX_ARGS];
  void *last[MAX_ARGS]; /* handing a buffer over costs more than comparing pointers */
  size_t scratch;       /* bytes, rounded up; opaque weights follow in the workspace */
  /* Weights in the library's own layout; convert NULL: torch's layout is taken as it is. */
  dnnl_primitive_t convert;
  dnnl_memory_t plain, opaque;
  size_t opaque_bytes;
  bool weights_out; /* the conversion runs after the primitive */
  void *kept;       /* opaque weights of a frozen plan */
  bool kept_valid;
  uint64_t kept_refresh;
  char implementation[48];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;
static dnnl_stream_t stream;
static bool ready;
static char version[32];

static void start(void)
{
  const dnnl_version_t *v = dnnl_version();
  snprintf(version, sizeof version, "%d.%d.%d", v->major, v->minor, v->patch);
  if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
    return;
  ready = dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
}

bool nw_onednn_available(void)
{
  pthread_once(&once, start);
  return ready;
}

const char *nw_onednn_version(void)
{
  pthread_once(&once, start);
  return version;
}

static NwStatus fail(NwError *error, const char *what, dnnl_status_t status)
{
  NwStatus code = status == dnnl_out_of_memory ? NW_NO_MEMORY : NW_BACKEND;
  return nw_fail(error, code, "oneDNN could not prepare or run %s (its status %d)", what, (int)status);
}

static dnnl_status_t spatial(dnnl_memory_desc_t *md, const int64_t dims[4], int32_t block)
{
  dnnl_dims_t d = {0};
  memcpy(d, dims, 4 * sizeof *d);
  return dnnl_memory_desc_init_by_tag(md, 4, d, dnnl_f32,
                                      block == 8    ? dnnl_nChw8c
                                      : block == 16 ? dnnl_nChw16c
                                                    : dnnl_nchw);
}

/* ---- building an object ---- */
static dnnl_status_t add_arg(NwOnednn *o, int id, const dnnl_memory_desc_t *md, Slot slot)
{
  dnnl_status_t s = dnnl_memory_create(&o->args[o->n].memory, md, engine, DNNL_MEMORY_NONE);
  if (s != dnnl_success)
    return s;
  o->args[o->n].arg = id;
  o->slots[o->n++] = slot;
  return dnnl_success;
}

/* The primitive of pd, and its scratchpad as an argument. */
static dnnl_status_t add_primitive(NwOnednn *o, dnnl_primitive_desc_t pd)
{
  const char *name = "";
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
  snprintf(o->implementation, sizeof o->implementation, "%s", name);
  dnnl_status_t s = dnnl_primitive_create(&o->primitive, pd);
  if (s != dnnl_success)
    return s;
  const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
  size_t bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
  o->scratch = (bytes + WEIGHTS_ALIGN - 1) / WEIGHTS_ALIGN * WEIGHTS_ALIGN;
  return bytes ? add_arg(o, DNNL_ARG_SCRATCHPAD, scratch, SLOT_SCRATCH) : dnnl_success;
}

/* Weights as the primitive wants them (md); where that is not torch's layout, a conversion is made beside it.
 */
static dnnl_status_t add_weights(NwOnednn *o, int id, const dnnl_memory_desc_t *md,
                                 const dnnl_memory_desc_t *plain, bool out)
{
  dnnl_status_t s = add_arg(o, id, md, SLOT_WEIGHTS);
  if (s != dnnl_success || dnnl_memory_desc_equal(md, plain))
    return s;
  dnnl_primitive_desc_t pd = NULL;
  s = out ? dnnl_reorder_primitive_desc_create(&pd, md, engine, plain, engine, NULL)
          : dnnl_reorder_primitive_desc_create(&pd, plain, engine, md, engine, NULL);
  if (s == dnnl_success)
    s = dnnl_primitive_create(&o->convert, pd);
  if (s == dnnl_success)
    s = dnnl_memory_create(&o->plain, plain, engine, DNNL_MEMORY_NONE);
  if (s == dnnl_success)
    s = dnnl_memory_create(&o->opaque, md, engine, DNNL_MEMORY_NONE);
  if (pd)
    dnnl_primitive_desc_destroy(pd);
  o->opaque_bytes = dnnl_memory_desc_get_size(md);
  o->weights_out = out;
  return s;
}

static NwStatus begin(NwOnednn **out, size_t *workspace, NwError *error)
{
  *out = NULL;
  *workspace = 0;
  if (!nw_onednn_available())
    return nw_fail(error, NW_BACKEND, "oneDNN could not be started on this machine");
  NwOnednn *o = nw_alloc0(sizeof *o);
  if (o == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is not enough memory to prepare a kernel");
  omp_set_num_threads(nw_threads());
  *out = o;
  return NW_OK;
}

static NwStatus end(dnnl_status_t s, const char *what, NwOnednn **out, size_t *workspace, NwError *error)
{
  if (s != dnnl_success) {
    nw_onednn_free(*out);
    *out = NULL;
    return fail(error, what, s);
  }
  *workspace = (*out)->scratch + (*out)->opaque_bytes;
  return NW_OK;
}

/* ---- convolution ---- */
typedef struct ConvDesc {
  dnnl_memory_desc_t src, dst, weights, plain, bias;
  dnnl_dims_t stride, dilation, left, right;
} ConvDesc;

static dnnl_status_t conv_describe(const NwOnednnConv *c, ConvDesc *d)
{
  dnnl_dims_t grouped = {c->groups, c->co / c->groups, c->ci / c->groups, c->kh, c->kw};
  dnnl_dims_t whole = {c->co, c->ci, c->kh, c->kw}, channels = {c->co};
  const int64_t size[2] = {c->h, c->w}, made[2] = {c->oh, c->ow}, kernel[2] = {c->kh, c->kw};
  memset(d, 0, sizeof *d);
  for (int i = 0; i < 2; i++) {
    d->stride[i] = c->stride[i];
    d->dilation[i] = c->dilation[i] - 1;
    d->left[i] = c->padding[i];
    /* stride can leave pixels over at the end: take them off the padding there */
    d->right[i] =
        (made[i] - 1) * c->stride[i] + c->dilation[i] * (kernel[i] - 1) + 1 - size[i] - c->padding[i];
  }
  dnnl_status_t s = spatial(&d->src, (int64_t[]){c->n, c->ci, c->h, c->w}, c->src_block);
  if (s == dnnl_success)
    s = spatial(&d->dst, (int64_t[]){c->n, c->co, c->oh, c->ow}, c->dst_block);
  bool g = c->groups > 1;
  if (s == dnnl_success)
    s = dnnl_memory_desc_init_by_tag(&d->weights, g ? 5 : 4, g ? grouped : whole, dnnl_f32,
                                     dnnl_format_tag_any);
  if (s == dnnl_success)
    s = dnnl_memory_desc_init_by_tag(&d->plain, g ? 5 : 4, g ? grouped : whole, dnnl_f32,
                                     g ? dnnl_goihw : dnnl_oihw);
  if (s == dnnl_success)
    s = dnnl_memory_desc_init_by_tag(&d->bias, 1, channels, dnnl_f32, dnnl_x);
  return s;
}

static dnnl_status_t make_attr(dnnl_primitive_attr_t *attr, const dnnl_memory_desc_t *other, bool add,
                               bool relu)
{
  dnnl_post_ops_t ops = NULL;
  dnnl_status_t s = dnnl_primitive_attr_create(attr);
  if (s == dnnl_success)
    s = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
  if (s != dnnl_success || (!add && !relu))
    return s;
  s = dnnl_post_ops_create(&ops);
  if (s == dnnl_success && add)
    s = dnnl_post_ops_append_binary(ops, dnnl_binary_add, other);
  if (s == dnnl_success && relu)
    s = dnnl_post_ops_append_eltwise(ops, 1.f, dnnl_eltwise_relu, 0.f, 0.f);
  if (s == dnnl_success)
    s = dnnl_primitive_attr_set_post_ops(*attr, ops);
  if (ops)
    dnnl_post_ops_destroy(ops);
  return s;
}

static dnnl_status_t conv_pd(const NwOnednnConv *c, const ConvDesc *d, dnnl_primitive_desc_t *pd)
{
  dnnl_convolution_desc_t desc;
  dnnl_primitive_attr_t attr = NULL;
  dnnl_primitive_desc_t hint = NULL;
  bool forward = c->pass == NW_ONEDNN_FORWARD;
  const dnnl_memory_desc_t *bias = c->bias ? &d->bias : NULL;
  *pd = NULL;
  dnnl_status_t s = make_attr(&attr, &d->dst, forward && c->add, forward && c->relu);
  if (s == dnnl_success)
    s = dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct,
                                                   &d->src, &d->weights, forward ? bias : NULL, &d->dst,
                                                   d->stride, d->dilation, d->left, d->right);
  if (s == dnnl_success)
    s = dnnl_primitive_desc_create(forward ? pd : &hint, &desc, attr, engine, NULL);
  if (s == dnnl_success && c->pass == NW_ONEDNN_BACKWARD_DATA)
    s = dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &d->src, &d->weights,
                                                         &d->dst, d->stride, d->dilation, d->left, d->right);
  if (s == dnnl_success && c->pass == NW_ONEDNN_BACKWARD_WEIGHTS)
    s = dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &d->src,
                                                            &d->weights, bias, &d->dst, d->stride,
                                                            d->dilation, d->left, d->right);
  if (s == dnnl_success && !forward)
    s = dnnl_primitive_desc_create(pd, &desc, attr, engine, hint);
  if (hint)
    dnnl_primitive_desc_destroy(hint);
  if (attr)
    dnnl_primitive_attr_destroy(attr);
  return s;
}

bool nw_onednn_conv_fast(const NwOnednnConv *conv)
{
  ConvDesc d;
  dnnl_primitive_desc_t pd = NULL;
  if (!nw_onednn_available() || conv_describe(conv, &d) != dnnl_success)
    return false;
  omp_set_num_threads(nw_threads());
  if (conv_pd(conv, &d, &pd) != dnnl_success)
    return false;
  const char *name = "";
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
  bool fast = strstr(name, "ref") == NULL;
  dnnl_primitive_desc_destroy(pd);
  return fast;
}

NwStatus nw_onednn_conv_new(const NwOnednnConv *c, NwOnednn **out, size_t *workspace, NwError *error)
{
  ConvDesc d;
  dnnl_primitive_desc_t pd = NULL;
  NW_TRY(begin(out, workspace, error));
  NwOnednn *o = *out;
  static const int src[] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_SRC, DNNL_ARG_SRC};
  static const int dst[] = {DNNL_ARG_DST, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_DST};
  static const int weights[] = {DNNL_ARG_WEIGHTS, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_WEIGHTS};
  bool back_weights = c->pass == NW_ONEDNN_BACKWARD_WEIGHTS;
  dnnl_status_t s = conv_describe(c, &d);
  if (s == dnnl_success)
    s = conv_pd(c, &d, &pd);
  if (s == dnnl_success)
    s = add_primitive(o, pd);
  if (s == dnnl_success)
    s = add_arg(o, src[c->pass], &d.src, SLOT_SRC);
  if (s == dnnl_success)
    s = add_arg(o, dst[c->pass], &d.dst, SLOT_DST);
  if (s == dnnl_success) {
    dnnl_query_t which = back_weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    s = add_weights(o, weights[c->pass], dnnl_primitive_desc_query_md(pd, which, 0), &d.plain, back_weights);
  }
  if (s == dnnl_success && c->bias && c->pass != NW_ONEDNN_BACKWARD_DATA)
    s = add_arg(o, back_weights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, &d.bias, SLOT_BIAS);
  if (s == dnnl_success && c->add)
    s = add_arg(o, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, &d.dst, SLOT_OTHER);
  if (pd)
    dnnl_primitive_desc_destroy(pd);
  return end(s, "a convolution", out, workspace, error);
}

/* ---- inner product ---- */
NwStatus nw_onednn_linear_new(const NwOnednnLinear *l, NwOnednn **out, size_t *workspace, NwError *error)
{
  NW_TRY(begin(out, workspace, error));
  NwOnednn *o = *out;
  dnnl_memory_desc_t x, w, b, y;
  dnnl_dims_t xd = {l->rows, l->in}, wd = {l->out, l->in}, bd = {l->out}, yd = {l->rows, l->out};
  dnnl_inner_product_desc_t desc;
  dnnl_primitive_desc_t pd = NULL, hint = NULL;
  dnnl_primitive_attr_t attr = NULL;
  bool forward = l->pass == NW_ONEDNN_FORWARD, back_weights = l->pass == NW_ONEDNN_BACKWARD_WEIGHTS;
  dnnl_status_t s = dnnl_memory_desc_init_by_tag(&x, 2, xd, dnnl_f32, dnnl_ab);
  if (s == dnnl_success)
    s = dnnl_memory_desc_init_by_tag(&w, 2, wd, dnnl_f32, dnnl_ab);
  if (s == dnnl_success)
    s = dnnl_memory_desc_init_by_tag(&b, 1, bd, dnnl_f32, dnnl_a);
  if (s == dnnl_success)
    s = dnnl_memory_desc_init_by_tag(&y, 2, yd, dnnl_f32, dnnl_ab);
  if (s == dnnl_success)
    s = make_attr(&attr, NULL, false, forward && l->relu);
  if (s == dnnl_success)
    s = dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_training, &x, &w,
                                             forward && l->bias ? &b : NULL, &y);
  if (s == dnnl_success)
    s = dnnl_primitive_desc_create(forward ? &pd : &hint, &desc, attr, engine, NULL);
  if (s == dnnl_success && l->pass == NW_ONEDNN_BACKWARD_DATA)
    s = dnnl_inner_product_backward_data_desc_init(&desc, &x, &w, &y);
  if (s == dnnl_success && back_weights)
    s = dnnl_inner_product_backward_weights_desc_init(&desc, &x, &w, l->bias ? &b : NULL, &y);
  if (s == dnnl_success && !forward)
    s = dnnl_primitive_desc_create(&pd, &desc, attr, engine, hint);
  if (s == dnnl_success)
    s = add_primitive(o, pd);
  if (s == dnnl_success)
    s = add_arg(o, l->pass == NW_ONEDNN_BACKWARD_DATA ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, &x, SLOT_SRC);
  if (s == dnnl_success)
    s = add_arg(o, forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, &y, SLOT_DST);
  if (s == dnnl_success)
    s = add_arg(o, back_weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, &w, SLOT_WEIGHTS);
  if (s == dnnl_success && l->bias && l->pass != NW_ONEDNN_BACKWARD_DATA)
    s = add_arg(o, back_weights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, &b, SLOT_BIAS);
  if (pd)
    dnnl_primitive_desc_destroy(pd);
  if (hint)
    dnnl_primitive_desc_destroy(hint);
  if (attr)
    dnnl_primitive_attr_destroy(attr);
  return end(s, "a linear layer", out, workspace, error);
}

/* ---- reorder ---- */
NwStatus nw_onednn_reorder_new(const int64_t dims[4], int32_t from, int32_t to, NwOnednn **out,
                               size_t *workspace, NwError *error)
{
  NW_TRY(begin(out, workspace, error));
  dnnl_memory_desc_t a, b;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_primitive_attr_t attr = NULL;
  dnnl_status_t s = spatial(&a, dims, from);
  if (s == dnnl_success)
    s = spatial(&b, dims, to);
  if (s == dnnl_success)
    s = make_attr(&attr, NULL, false, false);
  if (s == dnnl_success)
    s = dnnl_reorder_primitive_desc_create(&pd, &a, engine, &b, engine, attr);
  if (s == dnnl_success)
    s = add_primitive(*out, pd);
  if (s == dnnl_success)
    s = add_arg(*out, DNNL_ARG_FROM, &a, SLOT_SRC);
  if (s == dnnl_success)
    s = add_arg(*out, DNNL_ARG_TO, &b, SLOT_DST);
  if (pd)
    dnnl_primitive_desc_destroy(pd);
  if (attr)
    dnnl_primitive_attr_destroy(attr);
  return end(s, "a change of layout", out, workspace, error);
}

/* ---- running ---- */
static dnnl_status_t convert(NwOnednn *o, void *plain, void *opaque)
{
  dnnl_status_t s = dnnl_memory_set_data_handle(o->plain, plain);
  if (s == dnnl_success)
    s = dnnl_memory_set_data_handle(o->opaque, opaque);
  if (s != dnnl_success)
    return s;
  dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, o->weights_out ? o->opaque : o->plain},
                            {DNNL_ARG_TO, o->weights_out ? o->plain : o->opaque}};
  return dnnl_primitive_execute(o->convert, stream, 2, args);
}

/* Where the primitive finds or leaves its weights. */
static NwStatus place_weights(NwOnednn *o, const NwOnednnData *data, void **weights, NwError *error)
{
  if (o->convert == NULL)
    return NW_OK;
  void *plain = *weights;
  if (o->weights_out || !data->frozen) {
    *weights = (char *)data->workspace + o->scratch;
    dnnl_status_t s = o->weights_out ? dnnl_success : convert(o, plain, *weights);
    return s == dnnl_success ? NW_OK : fail(error, "a change of weights", s);
  }
  if (o->kept == NULL && (o->kept = nw_alloc(o->opaque_bytes)) == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is not enough memory to keep a layer's weights ready");
  *weights = o->kept;
  if (o->kept_valid && o->kept_refresh == data->refresh)
    return NW_OK;
  dnnl_status_t s = convert(o, plain, o->kept);
  o->kept_valid = s == dnnl_success;
  o->kept_refresh = data->refresh;
  return s == dnnl_success ? NW_OK : fail(error, "a change of weights", s);
}

NwStatus nw_onednn_run(NwOnednn *o, const NwOnednnData *data, NwError *error)
{
  void *at[] = {(void *)(uintptr_t)data->src, (void *)(uintptr_t)data->weights, (void *)(uintptr_t)data->bias,
                (void *)(uintptr_t)data->dst, (void *)(uintptr_t)data->other,   data->workspace};
  void *plain = at[SLOT_WEIGHTS];
  omp_set_num_threads(nw_threads());
  NW_TRY(place_weights(o, data, &at[SLOT_WEIGHTS], error));
  for (int i = 0; i < o->n; i++) {
    void *p = at[o->slots[i]];
    if (p == o->last[i])
      continue;
    dnnl_status_t s = dnnl_memory_set_data_handle(o->args[i].memory, p);
    if (s != dnnl_success)
      return fail(error, "a buffer", s);
    o->last[i] = p;
  }
  dnnl_status_t s = dnnl_primitive_execute(o->primitive, stream, o->n, o->args);
  if (s == dnnl_success && o->weights_out && o->convert)
    s = convert(o, plain, at[SLOT_WEIGHTS]);
  if (s == dnnl_success)
    s = dnnl_stream_wait(stream);
  return s == dnnl_success ? NW_OK : fail(error, o->implementation, s);
}

void nw_onednn_free(void *object)
{
  NwOnednn *o = object;
  if (o == NULL)
    return;
  for (int i = 0; i < o->n; i++)
    dnnl_memory_destroy(o->args[i].memory);
  if (o->plain)
    dnnl_memory_destroy(o->plain);
  if (o->opaque)
    dnnl_memory_destroy(o->opaque);
  if (o->convert)
    dnnl_primitive_destroy(o->convert);
  if (o->primitive)
    dnnl_primitive_destroy(o->primitive);
  nw_free(o->kept);
  nw_free(o);
}

const char *nw_onednn_implementation(const NwOnednn *object)
{
  return object->implementation;
}
