/* Stands in for onednn.c in a build without oneDNN: nothing is available, so no kernel row picks it. */
#include "engine/backend/onednn.h"

bool nw_onednn_available(void)
{
  return false;
}

const char *nw_onednn_version(void)
{
  return "";
}

bool nw_onednn_conv_fast(const NwOnednnConv *conv)
{
  (void)conv;
  return false;
}

static NwStatus none(NwOnednn **out, size_t *workspace, NwError *error)
{
  *out = NULL;
  *workspace = 0;
  return nw_fail(error, NW_UNSUPPORTED, "this build has no oneDNN");
}

NwStatus nw_onednn_conv_new(const NwOnednnConv *conv, NwOnednn **out, size_t *workspace, NwError *error)
{
  (void)conv;
  return none(out, workspace, error);
}

NwStatus nw_onednn_linear_new(const NwOnednnLinear *linear, NwOnednn **out, size_t *workspace, NwError *error)
{
  (void)linear;
  return none(out, workspace, error);
}

NwStatus nw_onednn_reorder_new(const int64_t dims[4], int32_t from, int32_t to, NwOnednn **out,
                               size_t *workspace, NwError *error)
{
  (void)dims;
  (void)from;
  (void)to;
  return none(out, workspace, error);
}

NwStatus nw_onednn_run(NwOnednn *object, const NwOnednnData *data, NwError *error)
{
  (void)object;
  (void)data;
  return nw_fail(error, NW_UNSUPPORTED, "this build has no oneDNN");
}

void nw_onednn_free(void *object)
{
  (void)object;
}

const char *nw_onednn_implementation(const NwOnednn *object)
{
  (void)object;
  return "";
}
