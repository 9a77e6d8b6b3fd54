/* One vector type, three instruction sets. Files that include this are compiled once a set, with
 * -DNW_VEC_AVX2, -DNW_VEC_AVX512 or neither (GCC's and Clang's vector extension); what they export is named
 * by VNAME. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VINLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define VUNROLL(n) _Pragma(VTEXT(unroll n))
#else
#define VUNROLL(n) _Pragma(VTEXT(GCC unroll n))
#endif
#define VTEXT(text) #text
#define VJOIN2(a, b) a##_##b
#define VJOIN(a, b) VJOIN2(a, b)
#define VNAME(name) VJOIN(name, NW_VEC_ISA)

#if defined NW_VEC_AVX512
#include <immintrin.h>
#define NW_VEC_ISA avx512
/* Rows of the register tiles: ROWS × 2 sums and three operands fill 32 registers. */
enum { VLEN = 16, VROWS = 12, VROWS_W = 8 };
typedef __m512 vf;
VINLINE vf vload(const float *p)
{
  return _mm512_loadu_ps(p);
}
VINLINE void vstore(float *p, vf a)
{
  _mm512_storeu_ps(p, a);
}
VINLINE vf vset(float a)
{
  return _mm512_set1_ps(a);
}
VINLINE vf vmax(vf a, vf b)
{
  return _mm512_max_ps(a, b);
}
VINLINE vf vfma(vf a, vf b, vf c) /* a·b + c */
{
  return _mm512_fmadd_ps(a, b, c);
}
VINLINE vf vfnma(vf a, vf b, vf c) /* c − a·b */
{
  return _mm512_fnmadd_ps(a, b, c);
}

#elif defined NW_VEC_AVX2
#include <immintrin.h>
#define NW_VEC_ISA avx2
enum { VLEN = 8, VROWS = 6, VROWS_W = 4 }; /* 12 sums and three operands of 16 registers */
typedef __m256 vf;
VINLINE vf vload(const float *p)
{
  return _mm256_loadu_ps(p);
}
VINLINE void vstore(float *p, vf a)
{
  _mm256_storeu_ps(p, a);
}
VINLINE vf vset(float a)
{
  return _mm256_set1_ps(a);
}
VINLINE vf vmax(vf a, vf b)
{
  return _mm256_max_ps(a, b);
}
VINLINE vf vfma(vf a, vf b, vf c)
{
  return _mm256_fmadd_ps(a, b, c);
}
VINLINE vf vfnma(vf a, vf b, vf c)
{
  return _mm256_fnmadd_ps(a, b, c);
}

#else
#ifdef NW_VEC_PLAIN16 /* AVX-512's lanes and tiles in plain C, so that tests reach that code on any machine  \
                       */
#define NW_VEC_ISA plain16
enum { VLEN = 16, VROWS = 12, VROWS_W = 8 };
#else
#define NW_VEC_ISA plain
enum { VLEN = 8, VROWS = 2, VROWS_W = 2 };
#endif
typedef float vf __attribute__((vector_size(VLEN * 4)));
typedef float vf_anywhere __attribute__((vector_size(VLEN * 4), aligned(4), may_alias));
VINLINE vf vload(const float *p)
{
  return *(const vf_anywhere *)p;
}
VINLINE void vstore(float *p, vf a)
{
  *(vf_anywhere *)p = a;
}
VINLINE vf vset(float a)
{
  return a - (vf){0};
}
VINLINE vf vmax(vf a, vf b)
{
  vf r = a;
  for (int i = 0; i < VLEN; i++)
    r[i] = a[i] > b[i] ? a[i] : b[i];
  return r;
}
VINLINE vf vfma(vf a, vf b, vf c)
{
  return a * b + c;
}
VINLINE vf vfnma(vf a, vf b, vf c)
{
  return c - a * b;
}
#endif

VINLINE vf vzero(void)
{
  return vset(0);
}
VINLINE vf vadd(vf a, vf b)
{
  return a + b;
}
VINLINE vf vsub(vf a, vf b)
{
  return a - b;
}
VINLINE vf vmul(vf a, vf b)
{
  return a * b;
}
