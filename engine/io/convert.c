/* Numbers of one type into another, as torch's Tensor.to does. */
#include <math.h>
#include <string.h>

#include "engine/io/weights.h"

static float half_to_float(uint16_t half)
{
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ff, bits;
  if (exponent == 31) {
    bits = sign | 0x7f800000 | mantissa << 13;
  } else if (exponent != 0) {
    bits = sign | (exponent + 112) << 23 | mantissa << 13;
  } else { /* zero, or so small that float has an exponent for it where half has none */
    float value = (float)mantissa * 0x1p-24f;
    memcpy(&bits, &value, sizeof bits);
    bits |= sign;
  }
  float out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

/* Round to nearest, ties to even, from the double, so that nothing is rounded twice. */
static uint16_t double_to_half(double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  double size = value < 0 ? -value : value;
  if (value != value)
    return sign | 0x7e00;
  if (size >= 65520)
    return sign | 0x7c00;
  int exponent = -14; /* of zero */
  if (size > 0)
    frexp(size, &exponent);
  bool tiny = exponent < -13; /* a subnormal half */
  double scaled = ldexp(size, tiny ? 24 : 11 - exponent);
  uint32_t whole = (uint32_t)scaled;
  double rest = scaled - whole;
  whole += rest > 0.5 || (rest == 0.5 && (whole & 1));
  /* a mantissa that overflows carries into the exponent by itself */
  uint32_t out = tiny ? whole : ((uint32_t)(exponent + 14) << 10) + whole - 1024;
  return (uint16_t)(sign | out);
}

static double read_real(NwDType type, const uint8_t *at)
{
  float f;
  double d;
  uint16_t h;
  uint32_t bits;
  switch (type) {
  case NW_F64:
    memcpy(&d, at, sizeof d);
    return d;
  case NW_F32:
    memcpy(&f, at, sizeof f);
    return (double)f;
  case NW_F16:
    memcpy(&h, at, sizeof h);
    return (double)half_to_float(h);
  default:
    memcpy(&h, at, sizeof h);
    bits = (uint32_t)h << 16;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
  }
}

static void write_real(NwDType type, uint8_t *at, double value)
{
  float f = (float)value;
  uint16_t h = 0;
  switch (type) {
  case NW_F64:
    memcpy(at, &value, sizeof value);
    return;
  case NW_F32:
    memcpy(at, &f, sizeof f);
    return;
  case NW_F16:
    h = double_to_half(value);
    break;
  default: {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    h = (uint16_t)(f != f ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  }
  memcpy(at, &h, sizeof h);
}

static int64_t read_whole(NwDType type, const uint8_t *at)
{
  int64_t wide;
  int32_t narrow;
  switch (type) {
  case NW_I64:
    memcpy(&wide, at, sizeof wide);
    return wide;
  case NW_I32:
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
  default:
    return *at;
  }
}

static void write_whole(NwDType type, uint8_t *at, int64_t value)
{
  int32_t narrow = (int32_t)value;
  switch (type) {
  case NW_I64:
    memcpy(at, &value, sizeof value);
    return;
  case NW_I32:
    memcpy(at, &narrow, sizeof narrow);
    return;
  default:
    *at = type == NW_BOOL ? value != 0 : (uint8_t)value;
  }
}

static bool is_real(NwDType type)
{
  return type == NW_F64 || type == NW_F32 || type == NW_F16 || type == NW_BF16;
}

bool nw_convert(NwDType from_type, const void *from, NwDType to_type, void *to, int64_t count)
{
  size_t in = nw_dtype_size(from_type), out = nw_dtype_size(to_type);
  const uint8_t *source = from;
  uint8_t *target = to;
  if (from_type == to_type) {
    if (count > 0)
      memcpy(to, from, (size_t)count * in);
    return true;
  }
  if (is_real(from_type) != is_real(to_type))
    return false;
  for (int64_t i = 0; i < count; i++, source += in, target += out)
    if (is_real(from_type))
      write_real(to_type, target, read_real(from_type, source));
    else
      write_whole(to_type, target, read_whole(from_type, source));
  return true;
}
