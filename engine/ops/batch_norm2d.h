/* Attributes of BatchNorm2d, shared with the ops it is fused into. */
#pragma once

#include "engine/ops/common.h"

typedef struct NwBatchNorm2d {
  double eps, momentum;
  bool affine, training;
} NwBatchNorm2d;

enum { NW_BATCH_NORM2D_ATTRS = 4 };
extern const NwAttr nw_batch_norm2d_attrs[NW_BATCH_NORM2D_ATTRS];
/* Ports of batch_norm2d and of the fused ops that begin like it. */
enum { NW_BN_X, NW_BN_WEIGHT, NW_BN_BIAS, NW_BN_MEAN, NW_BN_VAR, NW_BN_COUNT, NW_BN_PORTS };
