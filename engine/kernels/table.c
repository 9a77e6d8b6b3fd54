#include "engine/kernels/kernels-internal.h"

#define STRING2(text) #text
#define STRING(text) STRING2(text)

extern const NwKernels VNAME(nw_kernels);
const NwKernels VNAME(nw_kernels) = {
    .name = STRING(NW_VEC_ISA),
    .lanes = VLEN,
    .winograd_filters = VNAME(nw_winograd_filters),
    .winograd_scratch = VNAME(nw_winograd_scratch),
    .winograd_transform = VNAME(nw_winograd_transform),
    .winograd = VNAME(nw_winograd),
    .winograd_weights_scratch = VNAME(nw_winograd_weights_scratch),
    .winograd_weights = VNAME(nw_winograd_weights),
    .direct_scratch = VNAME(nw_direct_scratch),
    .direct = VNAME(nw_direct),
    .first_weights_scratch = VNAME(nw_first_weights_scratch),
    .first_weights = VNAME(nw_first_weights),
    .pool = VNAME(nw_pool),
    .pool_grad = VNAME(nw_pool_grad),
    .adam = VNAME(nw_adam),
};
