/* What every kernel file exports, once an instruction set; table.c gathers them. */
#pragma once

#include "engine/kernels/kernels.h"
#include "engine/kernels/vec.h"

size_t VNAME(nw_winograd_filters)(const NwWinograd *job);
size_t VNAME(nw_winograd_scratch)(const NwWinograd *job);
void VNAME(nw_winograd_transform)(const NwWinograd *job);
void VNAME(nw_winograd)(const NwWinograd *job);
size_t VNAME(nw_winograd_weights_scratch)(const NwWinogradWeights *job);
void VNAME(nw_winograd_weights)(const NwWinogradWeights *job);
size_t VNAME(nw_direct_scratch)(const NwDirect *job);
void VNAME(nw_direct)(const NwDirect *job);
size_t VNAME(nw_first_weights_scratch)(const NwFirstWeights *job);
void VNAME(nw_first_weights)(const NwFirstWeights *job);
void VNAME(nw_pool)(const NwPooling *job);
void VNAME(nw_pool_grad)(const NwPooling *job);
void VNAME(nw_adam)(const NwAdamStep *step, int64_t begin, int64_t end);
