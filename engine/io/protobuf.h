/* The few things of protobuf's wire format that ONNX needs, as inline readers and writers. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "engine/io/bytes.h"

/* ---- reading: a cursor over bytes that may be hostile ---- */

typedef struct NwProto {
  const uint8_t *at, *end;
} NwProto;

typedef struct NwProtoField {
  unsigned number, wire;
  uint64_t value; /* wire 0, 1 and 5 */
  NwProto bytes;  /* wire 2 */
} NwProtoField;

static inline bool nw_proto_varint(NwProto *in, uint64_t *value)
{
  *value = 0;
  for (int shift = 0; shift < 64 && in->at < in->end; shift += 7) {
    uint8_t byte = *in->at++;
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

/* The next field; false at the end and where the bytes are no protobuf (*bad is then set). */
static inline bool nw_proto_next(NwProto *in, NwProtoField *field, bool *bad)
{
  uint64_t tag, n = 0;
  if (in->at == in->end)
    return false;
  *bad = true;
  if (!nw_proto_varint(in, &tag) || tag >> 3 == 0 || tag >> 3 > 0xffffff)
    return false;
  *field = (NwProtoField){.number = (unsigned)(tag >> 3), .wire = tag & 7};
  size_t left = (size_t)(in->end - in->at);
  switch (field->wire) {
  case 0:
    if (!nw_proto_varint(in, &field->value))
      return false;
    break;
  case 1:
  case 5:
    n = field->wire == 1 ? 8 : 4;
    if (left < n)
      return false;
    field->value = n == 8 ? nw_get_u64(in->at) : nw_get_u32(in->at);
    in->at += n;
    break;
  case 2:
    if (!nw_proto_varint(in, &n) || n > (uint64_t)(in->end - in->at))
      return false;
    field->bytes = (NwProto){in->at, in->at + n};
    in->at += n;
    break;
  default:
    return false;
  }
  *bad = false;
  return true;
}

static inline size_t nw_proto_size(NwProto in)
{
  return (size_t)(in.end - in.at);
}

static inline bool nw_proto_is(NwProto in, const char *text)
{
  return nw_proto_size(in) == strlen(text) && memcmp(in.at, text, strlen(text)) == 0;
}

/* ---- writing: messages are built from the inside out ---- */

static inline void nw_proto_put_varint(NwText *out, uint64_t value)
{
  for (; value >= 0x80; value >>= 7)
    nw_put_u8(out, (unsigned)(value & 0x7f) | 0x80);
  nw_put_u8(out, (unsigned)value);
}

static inline void nw_proto_put_int(NwText *out, unsigned number, int64_t value)
{
  nw_proto_put_varint(out, number << 3);
  nw_proto_put_varint(out, (uint64_t)value);
}

static inline void nw_proto_put_bytes(NwText *out, unsigned number, const void *bytes, size_t n)
{
  nw_proto_put_varint(out, number << 3 | 2);
  nw_proto_put_varint(out, n);
  nw_text_add_n(out, bytes, n);
}

static inline void nw_proto_put_text(NwText *out, unsigned number, const char *text)
{
  nw_proto_put_bytes(out, number, text, strlen(text));
}

static inline void nw_proto_put_float(NwText *out, unsigned number, float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  nw_proto_put_varint(out, number << 3 | 5);
  nw_put_u32(out, bits);
}

/* Takes the message: it is empty afterwards. */
static inline void nw_proto_put_message(NwText *out, unsigned number, NwText *message)
{
  nw_proto_put_bytes(out, number, message->data, message->length);
  out->failed = out->failed || message->failed;
  nw_text_clear(message);
}
