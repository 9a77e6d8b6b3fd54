#include "engine/tensor/tensor.h"

#include <math.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/tensor/tensor-private.h"

void (*nw_tensor_record_release)(void *record);

static void storage_unref(NwStorage *storage)
{
  if (storage == NULL || atomic_fetch_sub(&storage->refs, 1) != 1)
    return;
  nw_free(storage->data);
  nw_free(storage);
}

static NwStatus no_memory(const NwSpec *spec, NwError *error)
{
  char shape[96];
  nw_spec_shape_text(spec, false, shape, sizeof shape);
  return nw_fail(error, NW_NO_MEMORY, "There is no memory for a tensor of %s (%zu bytes)", shape,
                 nw_spec_bytes(spec));
}

NwStatus nw_tensor_new(const NwSpec *spec, NwTensor **out, NwError *error)
{
  *out = NULL;
  if (spec->ndim < 0 || spec->ndim > NW_MAX_DIMS || nw_spec_count(spec) < 0)
    return nw_fail(error, NW_BAD_SHAPE,
                   "A tensor needs 0 to %d sizes that are not negative and whose product fits", NW_MAX_DIMS);
  NwTensor *tensor = nw_alloc0(sizeof *tensor);
  NwStorage *storage = nw_alloc0(sizeof *storage);
  size_t bytes = nw_spec_bytes(spec);
  void *data = tensor != NULL && storage != NULL ? nw_alloc0(bytes) : NULL;
  if (data == NULL) {
    nw_free(tensor);
    nw_free(storage);
    return no_memory(spec, error);
  }
  atomic_init(&storage->refs, 1);
  storage->bytes = bytes;
  storage->data = data;
  atomic_init(&tensor->refs, 1);
  tensor->spec = *spec;
  tensor->storage = storage;
  *out = tensor;
  return NW_OK;
}

NwStatus nw_tensor_from(const NwSpec *spec, const void *data, NwTensor **out, NwError *error)
{
  NW_TRY(nw_tensor_new(spec, out, error));
  memcpy((*out)->storage->data, data, (*out)->storage->bytes);
  return NW_OK;
}

static void store(NwDType dtype, void *data, int64_t i, double value)
{
  switch (dtype) {
  case NW_F64:
    ((double *)data)[i] = value;
    break;
  case NW_F32:
    ((float *)data)[i] = (float)value;
    break;
  case NW_I64:
    ((int64_t *)data)[i] = (int64_t)value;
    break;
  case NW_I32:
    ((int32_t *)data)[i] = (int32_t)value;
    break;
  case NW_BOOL:
    ((uint8_t *)data)[i] = value != 0;
    break;
  case NW_U8:
    ((uint8_t *)data)[i] = (uint8_t)value;
    break;
  case NW_F16:
  case NW_BF16:
  case NW_DTYPES:
    break;
  }
}

static bool fits(NwDType dtype, double value)
{
  switch (dtype) {
  case NW_I64:
    return value >= -0x1p63 && value < 0x1p63;
  case NW_I32:
    return value > -0x1p31 - 1 && value < 0x1p31;
  case NW_U8:
    return value > -1 && value < 256;
  default:
    return true;
  }
}

NwStatus nw_tensor_full(const NwSpec *spec, double value, NwTensor **out, NwError *error)
{
  *out = NULL;
  if (spec->dtype == NW_F16 || spec->dtype == NW_BF16)
    return nw_fail(error, NW_BAD_DTYPE, "Tensors of %s cannot be filled", nw_dtype_name(spec->dtype));
  if (!fits(spec->dtype, value))
    return nw_fail(error, NW_BAD_ARGUMENT, "%g does not fit into a tensor of %s", value,
                   nw_dtype_name(spec->dtype));
  NW_TRY(nw_tensor_new(spec, out, error));
  int64_t n = nw_spec_count(spec);
  for (int64_t i = 0; i < n; i++)
    store(spec->dtype, (*out)->storage->data, i, value);
  return NW_OK;
}

NwStatus nw_tensor_alias(NwTensor *tensor, const NwSpec *spec, NwTensor **out, NwError *error)
{
  *out = nw_alloc0(sizeof **out);
  if (*out == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory for another view of a tensor");
  atomic_init(&(*out)->refs, 1);
  atomic_fetch_add(&tensor->storage->refs, 1);
  (*out)->spec = *spec;
  (*out)->storage = tensor->storage;
  return NW_OK;
}

NwStatus nw_tensor_reshape(NwTensor *tensor, int ndim, const int64_t *dims, NwTensor **out, NwError *error)
{
  *out = NULL;
  if (ndim < 0 || ndim > NW_MAX_DIMS)
    return nw_fail(error, NW_BAD_SHAPE, "A tensor has 0 to %d sizes, not %d", NW_MAX_DIMS, ndim);
  NwSpec spec = nw_spec(tensor->spec.dtype, ndim, dims);
  if (nw_spec_count(&spec) != nw_spec_count(&tensor->spec)) {
    char from[96], to[96];
    nw_spec_shape_text(&tensor->spec, false, from, sizeof from);
    nw_spec_shape_text(&spec, false, to, sizeof to);
    return nw_fail(error, NW_BAD_SHAPE, "A tensor of %s cannot become %s: the numbers of elements differ",
                   from, to);
  }
  return nw_tensor_alias(tensor, &spec, out, error);
}

NwStatus nw_tensor_detach(NwTensor *tensor, NwTensor **out, NwError *error)
{
  return nw_tensor_alias(tensor, &tensor->spec, out, error);
}

NwStatus nw_tensor_copy(NwTensor *tensor, NwTensor **out, NwError *error)
{
  return nw_tensor_from(&tensor->spec, tensor->storage->data, out, error);
}

NwTensor *nw_tensor_ref(NwTensor *tensor)
{
  if (tensor != NULL)
    atomic_fetch_add(&tensor->refs, 1);
  return tensor;
}

void nw_tensor_unref(NwTensor *tensor)
{
  if (tensor == NULL || atomic_fetch_sub(&tensor->refs, 1) != 1)
    return;
  storage_unref(tensor->storage);
  nw_tensor_unref(tensor->grad);
  if (tensor->record != NULL)
    nw_tensor_record_release(tensor->record);
  nw_free(tensor);
}

const NwSpec *nw_tensor_spec(const NwTensor *tensor)
{
  return &tensor->spec;
}

const void *nw_tensor_data(const NwTensor *tensor)
{
  return tensor->storage->data;
}

void *nw_tensor_write(NwTensor *tensor)
{
  atomic_fetch_add(&tensor->storage->version, 1);
  return tensor->storage->data;
}

uint32_t nw_tensor_version(const NwTensor *tensor)
{
  return atomic_load(&tensor->storage->version);
}

double nw_tensor_item(const NwTensor *tensor)
{
  if (nw_spec_count(&tensor->spec) != 1)
    return NAN;
  const void *data = tensor->storage->data;
  switch (tensor->spec.dtype) {
  case NW_F64:
    return *(const double *)data;
  case NW_F32:
    return *(const float *)data;
  case NW_I64:
    return (double)*(const int64_t *)data;
  case NW_I32:
    return *(const int32_t *)data;
  case NW_U8:
  case NW_BOOL:
    return *(const uint8_t *)data;
  case NW_F16:
  case NW_BF16:
  case NW_DTYPES:
    break;
  }
  return NAN;
}
