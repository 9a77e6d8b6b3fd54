#include <string.h>

#include "engine/base/memory.h"
#include "engine/train/step-plan.h"

enum { LINE = 64 };

static bool trained(const NwParam *param)
{
  return !param->buffer && !param->frozen;
}

/* The slots are the STATE ports beside the parameter itself. */
static NwStatus find_slots(const NwOp *optimizer, const void *attrs, const NwParam *like, NwMoments *moments,
                           NwParamInfo *infos, NwError *error)
{
  NwSpec in[NW_MAX_PORTS];
  for (int port = 0; port < optimizer->n_inputs; port++)
    in[port] = like->spec;
  for (int port = 0; port < optimizer->n_inputs; port++) {
    if (optimizer->inputs[port].role != NW_PORT_STATE || strcmp(optimizer->inputs[port].name, "param") == 0)
      continue;
    NwParamInfo info = {0};
    NW_TRY(optimizer->param(optimizer, attrs, in, port, &info, error));
    if (!info.present)
      continue;
    moments->ports[moments->n_slots] = port;
    moments->single[moments->n_slots] = info.spec.ndim == 0;
    infos[moments->n_slots++] = info;
  }
  return NW_OK;
}

NwSpec nw_moments_spec(const NwMoments *moments, const NwSpec *param, int slot)
{
  return moments->single[slot] ? nw_spec(NW_F32, 0, NULL) : *param;
}

static size_t slot_bytes(const NwMoments *moments, const NwParam *param, int slot)
{
  NwSpec spec = nw_moments_spec(moments, &param->spec, slot);
  return (nw_spec_bytes(&spec) + LINE - 1) / LINE * LINE;
}

static void fill(const NwParamInfo *info, const NwSpec *spec, void *data)
{
  if (info->init != NW_INIT_CONSTANT || info->value == 0 || spec->dtype != NW_F32)
    return; /* the memory is zero already */
  float *numbers = data;
  for (int64_t i = 0; i < nw_spec_count(spec); i++)
    numbers[i] = (float)info->value;
}

NwStatus nw_moments_new(NwModel *model, const NwOp *optimizer, const void *attrs, NwMoments *out,
                        NwError *error)
{
  NwParamInfo infos[NW_MAX_PORTS] = {0};
  int n = nw_model_count(model);
  *out = (NwMoments){0};
  const NwParam *first = NULL;
  for (int i = n - 1; i >= 0; i--)
    if (trained(nw_model_at(model, i)))
      first = nw_model_at(model, i);
  if (first == NULL)
    return nw_fail(
        error, NW_BAD_STATE,
        "There is nothing to train: the network has no parameters, or all of its blocks are frozen.");
  NW_TRY(find_slots(optimizer, attrs, first, out, infos, error));
  for (int i = 0; i < n; i++)
    for (int slot = 0; slot < out->n_slots && trained(nw_model_at(model, i)); slot++)
      out->bytes += slot_bytes(out, nw_model_at(model, i), slot);
  out->data = nw_alloc0(((size_t)n * (size_t)out->n_slots + 1) * sizeof *out->data);
  out->memory = out->bytes > 0 ? nw_map(out->bytes) : NULL;
  if (out->data == NULL || (out->bytes > 0 && out->memory == NULL)) {
    size_t wanted = out->bytes;
    nw_moments_clear(out);
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for what %s remembers (%zu bytes).",
                   optimizer->label, wanted);
  }
  char *at = out->memory;
  for (int i = 0; i < n; i++) {
    const NwParam *param = nw_model_at(model, i);
    for (int slot = 0; slot < out->n_slots && trained(param); slot++) {
      out->data[i * out->n_slots + slot] = at;
      NwSpec spec = nw_moments_spec(out, &param->spec, slot);
      fill(&infos[slot], &spec, at);
      at += slot_bytes(out, param, slot);
    }
  }
  return NW_OK;
}

void nw_moments_clear(NwMoments *moments)
{
  if (moments->memory != NULL)
    nw_unmap(moments->memory, moments->bytes);
  nw_free(moments->data);
  *moments = (NwMoments){0};
}

void *nw_moments_at(const NwMoments *moments, int param, int slot)
{
  return moments->data[param * moments->n_slots + slot];
}
