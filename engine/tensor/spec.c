#include "engine/tensor/spec.h"

#include <stdio.h>
#include <string.h>

typedef struct TypeRow {
  const char *name, *storage;
  size_t size;
} TypeRow;

static const TypeRow types[NW_DTYPES] = {
#define X(id, name, bytes, storage, number) [NW_##id] = {name, storage, bytes},
    NW_DTYPE_MAP(X)
#undef X
};

const char *nw_dtype_name(NwDType dtype)
{
  return types[dtype].name;
}

const char *nw_dtype_storage(NwDType dtype)
{
  return types[dtype].storage;
}

size_t nw_dtype_size(NwDType dtype)
{
  return types[dtype].size;
}

bool nw_dtype_find_storage(const char *storage, NwDType *dtype)
{
  for (int i = 0; i < NW_DTYPES; i++)
    if (strcmp(types[i].storage, storage) == 0) {
      *dtype = (NwDType)i;
      return true;
    }
  return false;
}

NwSpec nw_spec(NwDType dtype, int ndim, const int64_t *dims)
{
  NwSpec spec = {.dtype = dtype, .device = NW_CPU, .ndim = ndim};
  for (int i = 0; i < ndim && i < NW_MAX_DIMS; i++)
    spec.dims[i] = dims[i];
  return spec;
}

NwSpec nw_spec_absent(void)
{
  return (NwSpec){.dtype = NW_F32, .ndim = -1};
}

bool nw_spec_present(const NwSpec *spec)
{
  return spec->ndim >= 0;
}

int64_t nw_spec_count(const NwSpec *spec)
{
  int64_t n = 1;
  if (spec->ndim < 0)
    return 0;
  for (int i = 0; i < spec->ndim; i++)
    if (spec->dims[i] < 0 || __builtin_mul_overflow(n, spec->dims[i], &n))
      return -1;
  return n;
}

size_t nw_spec_bytes(const NwSpec *spec)
{
  NwSpec stored = *spec;
  if (spec->block > 0 && spec->ndim == 4) {
    if (__builtin_add_overflow(spec->dims[1], spec->block - 1, &stored.dims[1]))
      return SIZE_MAX / 2;
    stored.dims[1] = stored.dims[1] / spec->block * spec->block;
  }
  int64_t n = nw_spec_count(&stored);
  size_t bytes;
  return n < 0 || __builtin_mul_overflow((size_t)n, types[spec->dtype].size, &bytes) ? SIZE_MAX / 2 : bytes;
}

bool nw_spec_same_shape(const NwSpec *a, const NwSpec *b)
{
  if (a->ndim != b->ndim)
    return false;
  for (int i = 0; i < a->ndim; i++)
    if (a->dims[i] != b->dims[i])
      return false;
  return true;
}

void nw_spec_shape_text(const NwSpec *spec, bool skip_batch, char *text, size_t n)
{
  size_t used = 0;
  if (n == 0)
    return;
  text[0] = '\0';
  int first = skip_batch && spec->ndim > 0 ? 1 : 0;
  if (spec->ndim <= first) {
    snprintf(text, n, "%s", spec->ndim < 0 ? "nothing" : "scalar");
    return;
  }
  for (int i = first; i < spec->ndim && used < n; i++) {
    int wrote = snprintf(text + used, n - used, i > first ? "×%lld" : "%lld", (long long)spec->dims[i]);
    if (wrote < 0 || (size_t)wrote >= n - used) {
      text[used] = '\0'; /* no half size, no half letter */
      return;
    }
    used += (size_t)wrote;
  }
}
