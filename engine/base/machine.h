/* What this machine is: recorded with every run, shown by `netwright info --machine`, used to pick kernels. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instruction sets our kernels are built for, worst first. */
typedef enum NwIsa { NW_ISA_PLAIN, NW_ISA_AVX2, NW_ISA_AVX512 } NwIsa;

/* The best set that this processor has and this build holds; NETWRIGHT_ISA=plain|avx2|avx512 forces a lower one (a
 * higher one than the processor has is ignored with a warning). Constant for the process. */
NwIsa nw_isa(void);
const char *nw_isa_name(NwIsa isa);
/* Floats in a vector of the set: 8, 8 and 16. The channel block of blocked layouts. */
int nw_isa_lanes(NwIsa isa);

/* Model name of the processor from /proc/cpuinfo ("AMD EPYC ..."), never NULL. */
const char *nw_machine_cpu(void);
uint64_t nw_machine_memory(void);         /* bytes of RAM, the cgroup's limit included */
uint64_t nw_machine_memory_free(void);    /* MemAvailable, the cgroup's limit included */
uint64_t nw_process_memory(void);         /* resident bytes now */
uint64_t nw_process_memory_peak(void);    /* highest resident bytes */
