/* Adam's loop, which the compiler vectorises for each instruction set. */
#include <math.h>

#include "engine/kernels/kernels-internal.h"

void VNAME(nw_adam)(const NwAdamStep *step, int64_t begin, int64_t end)
{
  const NwAdamStep s = *step;
  float *restrict param = s.param, *restrict mean = s.mean, *restrict square = s.square;
  const float *restrict grad = s.grad;
  for (int64_t i = begin; i < end; i++) {
    float p = param[i] * s.shrink, g = grad[i] + s.decay * p;
    float m = s.beta1 * mean[i] + s.rest1 * g, v = s.beta2 * square[i] + s.rest2 * g * g;
    mean[i] = m;
    square[i] = v;
    param[i] = p - s.size * m / (sqrtf(v) / s.root + s.eps);
  }
}
