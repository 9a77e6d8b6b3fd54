#include "engine/io/pth.h"

NwPickle *nw_pickle_state_dict(NwModel *model)
{
  NwPickle *dict = nw_pickle_ordered_dict();
  for (int i = 0; i < nw_model_count(model); i++) {
    const NwParam *param = nw_model_at(model, i);
    nw_pickle_set(dict, param->name, nw_pickle_tensor(&param->spec, param->data));
  }
  return dict;
}

NwStatus nw_pth_write_weights(const char *path, NwModel *model, NwError *error)
{
  NwPickle *dict = nw_pickle_state_dict(model);
  NwStatus status = nw_pth_write(path, dict, error);
  nw_pickle_free(dict);
  return status;
}
