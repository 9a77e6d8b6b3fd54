#include "engine/kernels/kernels.h"

extern const NwKernels nw_kernels_plain, nw_kernels_avx2, nw_kernels_avx512;

const NwKernels *nw_kernels_of(NwIsa isa)
{
  if (isa > nw_isa())
    return NULL;
  if (isa == NW_ISA_PLAIN)
    return &nw_kernels_plain;
#ifdef __x86_64__
  return isa == NW_ISA_AVX512 ? &nw_kernels_avx512 : &nw_kernels_avx2;
#else
  return NULL;
#endif
}

const NwKernels *nw_kernels(void)
{
  return nw_kernels_of(nw_isa());
}
