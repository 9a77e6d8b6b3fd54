#include "engine/nn/model-internal.h"

#include "engine/base/philox.h"

static double draw(const NwParamInfo *info, NwPhilox key, uint64_t step, uint64_t element)
{
  switch (info->init) {
  case NW_INIT_CONSTANT:
    return info->value;
  case NW_INIT_UNIFORM:
    return info->value * (2 * (double)nw_uniform(key, step, element) - 1);
  case NW_INIT_NORMAL:
    return info->value * nw_normal(key, step, element);
  }
  return 0;
}

static void fill(NwParam *param, const NwParamInfo *info, NwPhilox key, uint64_t index)
{
  int64_t n = nw_spec_count(&param->spec);
  for (int64_t i = 0; i < n; i++) {
    double value = draw(info, key, index, (uint64_t)i);
    switch (param->spec.dtype) {
    case NW_F32:
      ((float *)param->data)[i] = (float)value;
      break;
    case NW_F64:
      ((double *)param->data)[i] = value;
      break;
    case NW_I64:
      ((int64_t *)param->data)[i] = (int64_t)value;
      break;
    case NW_I32:
      ((int32_t *)param->data)[i] = (int32_t)value;
      break;
    default: /* others start as zeros, which the memory is */
      return;
    }
  }
}

void nw_model_initialise(NwModel *model, const NwParamInfo *infos, uint64_t seed)
{
  NwPhilox key = {.seed = seed, .stream = NW_STREAM_INIT};
  for (int i = 0; i < model->n_params; i++)
    fill(&model->params[i], &infos[i], key, (uint64_t)i);
}
