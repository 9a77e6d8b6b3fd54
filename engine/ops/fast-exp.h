/* e^x in floats, to about one part in 10⁷, without a call: loops over it are vectorised. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "engine/ops/common.h"

/* What is not a number stays so; below −87 it is 1e-38, above 88 it is 1.6e38. */
NW_INLINE float nw_exp_f(float x)
{
  const float round = 12582912.f; /* adding it leaves no room for a fraction */
  x = x < -87.f ? -87.f : x;
  x = x > 88.f ? 88.f : x;
  float n = (x * 1.44269504f + round) - round;
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f; /* ln 2 in two parts */
  float p = 1.f / 5040;
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.f;
  p = p * r + 1.f;
  uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

NW_INLINE float nw_sigmoid_f(float x)
{
  return 1.f / (1.f + nw_exp_f(-x));
}

NW_INLINE float nw_tanh_f(float x)
{
  return 1.f - 2.f / (nw_exp_f(2.f * x) + 1.f);
}
