#include "engine/base/machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"

const char *nw_isa_name(NwIsa isa)
{
  static const char *const names[] = {"plain", "avx2", "avx512"};
  return names[isa];
}

int nw_isa_lanes(NwIsa isa)
{
  return isa == NW_ISA_AVX512 ? 16 : 8;
}

static NwIsa best_isa(void)
{
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return NW_ISA_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return NW_ISA_AVX2;
#endif
  return NW_ISA_PLAIN;
}

static NwIsa chosen;
static void choose(void)
{
  NwIsa best = best_isa();
  const char *wish = getenv("NETWRIGHT_ISA");
  chosen = best;
  if (wish == NULL)
    return;
  for (int isa = NW_ISA_PLAIN; isa <= NW_ISA_AVX512; isa++)
    if (strcmp(wish, nw_isa_name((NwIsa)isa)) == 0) {
      if ((NwIsa)isa > best)
        nw_log(NW_LOG_WARNING, "NETWRIGHT_ISA=%s: this processor has only %s", wish, nw_isa_name(best));
      else
        chosen = (NwIsa)isa;
      return;
    }
  nw_log(NW_LOG_WARNING, "NETWRIGHT_ISA=%s is not known; use plain, avx2 or avx512", wish);
}

NwIsa nw_isa(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, choose);
  return chosen;
}

static char cpu[128];
static void read_cpu(void)
{
  FILE *file = fopen("/proc/cpuinfo", "re");
  char line[256];
  snprintf(cpu, sizeof cpu, "unknown processor");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || colon == NULL)
      continue;
    line[strcspn(line, "\n")] = '\0';
    snprintf(cpu, sizeof cpu, "%.120s", colon + 2);
    break;
  }
  if (file != NULL)
    fclose(file);
}

const char *nw_machine_cpu(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_cpu);
  return cpu;
}

/* The number behind `key` in a /proc file of "Key:  123 kB" lines, in bytes; 0: not there. */
static uint64_t proc_value(const char *path, const char *key)
{
  FILE *file = fopen(path, "re");
  char line[256];
  unsigned long long value = 0;
  size_t n = strlen(key);
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, key, n) == 0 && sscanf(line + n, " %llu", &value) == 1)
      break;
  if (file != NULL)
    fclose(file);
  return (uint64_t)value * 1024;
}

/* cgroup v2 limit and use; 0: none. */
static uint64_t cgroup_value(const char *name)
{
  char path[96];
  unsigned long long value = 0;
  snprintf(path, sizeof path, "/sys/fs/cgroup/%s", name);
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return 0;
  if (fscanf(file, "%llu", &value) != 1)
    value = 0;
  fclose(file);
  return value;
}

uint64_t nw_machine_memory(void)
{
  uint64_t all = proc_value("/proc/meminfo", "MemTotal:"), limit = cgroup_value("memory.max");
  return limit > 0 && limit < all ? limit : all;
}

uint64_t nw_machine_memory_free(void)
{
  uint64_t available = proc_value("/proc/meminfo", "MemAvailable:"), limit = cgroup_value("memory.max");
  uint64_t used = cgroup_value("memory.current");
  return limit > 0 && limit > used && limit - used < available ? limit - used : available;
}

uint64_t nw_process_memory(void)
{
  return proc_value("/proc/self/status", "VmRSS:");
}

uint64_t nw_process_memory_peak(void)
{
  return proc_value("/proc/self/status", "VmHWM:");
}
