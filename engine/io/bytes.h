/* Little-endian numbers into a growing buffer and out of a file, whatever this machine's order is. */
#pragma once

#include <stdint.h>

#include "engine/base/text.h"

static inline void nw_put_u8(NwText *out, unsigned value)
{
  unsigned char byte = (unsigned char)value;
  nw_text_add_n(out, &byte, 1);
}

static inline void nw_put_u16(NwText *out, uint16_t value)
{
  unsigned char bytes[2] = {(unsigned char)value, (unsigned char)(value >> 8)};
  nw_text_add_n(out, bytes, 2);
}

static inline void nw_put_u32(NwText *out, uint32_t value)
{
  nw_put_u16(out, (uint16_t)value);
  nw_put_u16(out, (uint16_t)(value >> 16));
}

static inline void nw_put_u64(NwText *out, uint64_t value)
{
  nw_put_u32(out, (uint32_t)value);
  nw_put_u32(out, (uint32_t)(value >> 32));
}

static inline uint16_t nw_get_u16(const uint8_t *at)
{
  return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t nw_get_u32(const uint8_t *at)
{
  return nw_get_u16(at) | (uint32_t)nw_get_u16(at + 2) << 16;
}

static inline uint64_t nw_get_u64(const uint8_t *at)
{
  return nw_get_u32(at) | (uint64_t)nw_get_u32(at + 4) << 32;
}
