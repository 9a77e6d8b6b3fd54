/* Self-attention as a part of other composites. */
#pragma once

#include "engine/op/composite.h"
#include "engine/ops/common.h"

#define NW_ATTENTION_PORTS(prefix)                                                                           \
  {prefix "in_proj_weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("Makes query, key and value.")},             \
      {prefix "in_proj_bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("Offsets of query, key and value.")},      \
      {prefix "out_proj.weight", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("Mixes the heads.")},                   \
  {                                                                                                          \
    prefix "out_proj.bias", NW_PORT_PARAM, NW_PORT_OPTIONAL, N_("Offsets of what comes out.")                \
  }
