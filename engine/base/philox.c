#include "engine/base/philox.h"

#include <math.h>

static inline void round_once(uint32_t c[4], uint32_t k0, uint32_t k1)
{
  uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
  uint32_t c1 = c[1], c3 = c[3];
  c[0] = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
  c[1] = (uint32_t)p1;
  c[2] = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
  c[3] = (uint32_t)p0;
}

/* Counter words: block index (32 low bits), stream with the block's high bits folded in, step low, step high;
 * key: seed. */
void nw_philox4(NwPhilox key, uint64_t step, uint64_t index, uint32_t out[4])
{
  uint32_t k0 = (uint32_t)key.seed, k1 = (uint32_t)(key.seed >> 32);
  out[0] = (uint32_t)index;
  out[1] = key.stream ^ (uint32_t)(index >> 32) * 0x9E3779B9u;
  out[2] = (uint32_t)step;
  out[3] = (uint32_t)(step >> 32);
  for (int i = 0; i < 10; i++) {
    round_once(out, k0, k1);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

uint32_t nw_philox(NwPhilox key, uint64_t step, uint64_t element)
{
  uint32_t out[4];
  nw_philox4(key, step, element / 4, out);
  return out[element % 4];
}

float nw_uniform(NwPhilox key, uint64_t step, uint64_t element)
{
  return (float)(nw_philox(key, step, element) >> 8) * 0x1p-24f;
}

double nw_uniform_double(NwPhilox key, uint64_t step, uint64_t element)
{
  uint32_t out[4];
  nw_philox4(key, step, element, out);
  return (double)(((uint64_t)out[0] << 32 | out[1]) >> 11) * 0x1p-53;
}

double nw_normal(NwPhilox key, uint64_t step, uint64_t element)
{
  uint32_t out[4];
  nw_philox4(key, step, element, out);
  double u = ((double)(((uint64_t)out[0] << 32 | out[1]) >> 11) + 1) * 0x1p-53;
  double v = (double)(((uint64_t)out[2] << 32 | out[3]) >> 11) * 0x1p-53;
  return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

void nw_shuffle(NwPhilox key, uint64_t step, uint32_t *items, uint32_t n)
{
  for (uint32_t i = n; i > 1; i--) {
    uint32_t j = (uint32_t)(nw_uniform_double(key, step, i) * i);
    uint32_t kept = items[i - 1];
    items[i - 1] = items[j];
    items[j] = kept;
  }
}
