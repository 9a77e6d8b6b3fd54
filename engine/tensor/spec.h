/* What a tensor is, without its numbers: type, device, shape, memory layout. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NW_MAX_DIMS = 8 };

/* name, bytes, torch storage class, TorchScript dtype number */
#define NW_DTYPE_MAP(X)                                                                                        \
  X(F64, "float64", 8, "DoubleStorage", 7)                                                                     \
  X(F32, "float32", 4, "FloatStorage", 6)                                                                      \
  X(F16, "float16", 2, "HalfStorage", 5)                                                                       \
  X(BF16, "bfloat16", 2, "BFloat16Storage", 15)                                                                \
  X(I64, "int64", 8, "LongStorage", 4)                                                                         \
  X(I32, "int32", 4, "IntStorage", 3)                                                                          \
  X(U8, "uint8", 1, "ByteStorage", 0)                                                                          \
  X(BOOL, "bool", 1, "BoolStorage", 11)

typedef enum NwDType {
#define X(id, name, bytes, storage, number) NW_##id,
  NW_DTYPE_MAP(X)
#undef X
  NW_DTYPES
} NwDType;

const char *nw_dtype_name(NwDType dtype);    /* torch's name: "float32" */
const char *nw_dtype_storage(NwDType dtype); /* "FloatStorage" */
size_t nw_dtype_size(NwDType dtype);
bool nw_dtype_find_storage(const char *storage, NwDType *dtype);

typedef enum NwDevice { NW_CPU, NW_CUDA } NwDevice;

/* A dense tensor. block 0: row-major. block 8 or 16: a 4-D value (N, C, H, W) stored as N, ceil(C/block), H, W, block
 * ("nChw8c"), channels padded with zeros up to the block; every kernel that writes such a value writes the zeros too.
 * dims are always the logical N, C, H, W. */
typedef struct NwSpec {
  NwDType dtype;
  NwDevice device;
  int32_t block;
  int32_t ndim; /* -1: an optional input that is not there */
  int64_t dims[NW_MAX_DIMS];
} NwSpec;

NwSpec nw_spec(NwDType dtype, int ndim, const int64_t *dims);
NwSpec nw_spec_absent(void);
bool nw_spec_present(const NwSpec *spec);
/* Elements, padding not counted; -1 when the product overflows or a size is negative. */
int64_t nw_spec_count(const NwSpec *spec);
/* Bytes in memory, the padding of blocked channels included; 0 for an absent one. */
size_t nw_spec_bytes(const NwSpec *spec);
bool nw_spec_same_shape(const NwSpec *a, const NwSpec *b);
/* "3×112×112" without the first (batch) size when skip_batch; "scalar" for ndim 0. Writes at most n bytes. */
void nw_spec_shape_text(const NwSpec *spec, bool skip_batch, char *text, size_t n);
