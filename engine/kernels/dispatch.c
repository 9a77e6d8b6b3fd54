#include "engine/base/machine.h"
#include "engine/kernels/kernels.h"

extern const NwKernels nw_kernels_plain, nw_kernels_avx2, nw_kernels_avx512;

const NwKernels *nw_kernels(void)
{
#ifdef __x86_64__
  switch (nw_isa()) {
  case NW_ISA_AVX512:
    return &nw_kernels_avx512;
  case NW_ISA_AVX2:
    return &nw_kernels_avx2;
  default:
    break;
  }
#endif
  return &nw_kernels_plain;
}
