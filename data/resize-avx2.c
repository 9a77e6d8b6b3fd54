#include "data/resize.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* Four weights, each pair spread over a half: k0 k1 ×4 | k2 k3 ×4. */
static inline AVX2 __m256i weights4(const gint16 *k)
{
  const __m256i spread = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  gint64 four;
  memcpy(&four, k, 8);
  return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(_mm_cvtsi64_si128(four)), spread);
}

/* Four pixels as 16-bit pairs of the same channel: pixels 0 and 1 | pixels 2 and 3. */
static inline AVX2 __m256i pixels4(const guint8 *p)
{
  const __m256i pairs = _mm256_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1, 8, -1, 12,
                                         -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1);
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p)), pairs);
}

static inline AVX2 __m256i join(__m256i hi, __m256i lo)
{
  return _mm256_add_epi32(_mm256_slli_epi32(hi, 11), lo);
}

static inline AVX2 __m256i halves(__m256i a, __m256i b)
{
  return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

static AVX2 void lines_avx2(const guint8 *const in[4], guint8 *const out[4], const NwAxis *axis)
{
  const __m256i half = _mm256_set1_epi32(1 << 21), zero = _mm256_setzero_si256();
  for (guint x = 0; x < axis->n; x++) {
    const gint16 *kh = axis->hi + (gsize)x * axis->taps, *kl = axis->lo + (gsize)x * axis->taps;
    int n = axis->count[x];
    gsize at = (gsize)axis->first[x] * 4;
    __m256i h0 = zero, h1 = zero, h2 = zero, h3 = zero, l0 = zero, l1 = zero, l2 = zero, l3 = zero;
    for (int i = 0; i < n; i += 4, at += 16) {
      __m256i hi = weights4(kh + i), lo = weights4(kl + i), v;
      v = pixels4(in[0] + at);
      h0 = _mm256_add_epi32(h0, _mm256_madd_epi16(v, hi));
      l0 = _mm256_add_epi32(l0, _mm256_madd_epi16(v, lo));
      v = pixels4(in[1] + at);
      h1 = _mm256_add_epi32(h1, _mm256_madd_epi16(v, hi));
      l1 = _mm256_add_epi32(l1, _mm256_madd_epi16(v, lo));
      v = pixels4(in[2] + at);
      h2 = _mm256_add_epi32(h2, _mm256_madd_epi16(v, hi));
      l2 = _mm256_add_epi32(l2, _mm256_madd_epi16(v, lo));
      v = pixels4(in[3] + at);
      h3 = _mm256_add_epi32(h3, _mm256_madd_epi16(v, hi));
      l3 = _mm256_add_epi32(l3, _mm256_madd_epi16(v, lo));
    }
    __m256i a = halves(join(h0, l0), join(h1, l1)), b = halves(join(h2, l2), join(h3, l3));
    a = _mm256_srai_epi32(_mm256_add_epi32(a, half), 22);
    b = _mm256_srai_epi32(_mm256_add_epi32(b, half), 22);
    __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), zero);
    guint64 even = (guint64)_mm_cvtsi128_si64(_mm256_castsi256_si128(bytes));
    guint64 odd = (guint64)_mm_cvtsi128_si64(_mm256_extracti128_si256(bytes, 1));
    guint32 p[4] = {(guint32)even, (guint32)odd, (guint32)(even >> 32), (guint32)(odd >> 32)};
    memcpy(out[0] + 4 * x, &p[0], 4);
    memcpy(out[1] + 4 * x, &p[1], 4);
    memcpy(out[2] + 4 * x, &p[2], 4);
    memcpy(out[3] + 4 * x, &p[3], 4);
  }
}

static AVX2 void row_avx2(const guint8 *rows, gsize stride, const NwAxis *axis, guint at, guint8 *out,
                          gsize bytes)
{
  const __m256i half = _mm256_set1_epi32(1 << 21), zero = _mm256_setzero_si256();
  const gint16 *kh = axis->hi + (gsize)at * axis->taps, *kl = axis->lo + (gsize)at * axis->taps;
  int n = axis->count[at];
  rows += (gsize)axis->first[at] * stride;
  for (gsize x = 0; x < bytes; x += 32) {
    __m256i h0 = zero, h1 = zero, h2 = zero, h3 = zero, l0 = zero, l1 = zero, l2 = zero, l3 = zero;
    const guint8 *p = rows + x;
    for (int j = 0; j < n; j += 2, p += 2 * stride) {
      gint32 pair;
      memcpy(&pair, kh + j, 4);
      __m256i hi = _mm256_set1_epi32(pair);
      memcpy(&pair, kl + j, 4);
      __m256i lo = _mm256_set1_epi32(pair);
      __m256i u = _mm256_loadu_si256((const __m256i *)p);
      __m256i v = j + 1 < n ? _mm256_loadu_si256((const __m256i *)(p + stride)) : zero;
      __m256i low = _mm256_unpacklo_epi8(u, v), high = _mm256_unpackhi_epi8(u, v), e;
      e = _mm256_unpacklo_epi8(low, zero);
      h0 = _mm256_add_epi32(h0, _mm256_madd_epi16(e, hi));
      l0 = _mm256_add_epi32(l0, _mm256_madd_epi16(e, lo));
      e = _mm256_unpackhi_epi8(low, zero);
      h1 = _mm256_add_epi32(h1, _mm256_madd_epi16(e, hi));
      l1 = _mm256_add_epi32(l1, _mm256_madd_epi16(e, lo));
      e = _mm256_unpacklo_epi8(high, zero);
      h2 = _mm256_add_epi32(h2, _mm256_madd_epi16(e, hi));
      l2 = _mm256_add_epi32(l2, _mm256_madd_epi16(e, lo));
      e = _mm256_unpackhi_epi8(high, zero);
      h3 = _mm256_add_epi32(h3, _mm256_madd_epi16(e, hi));
      l3 = _mm256_add_epi32(l3, _mm256_madd_epi16(e, lo));
    }
    h0 = _mm256_srai_epi32(_mm256_add_epi32(join(h0, l0), half), 22);
    h1 = _mm256_srai_epi32(_mm256_add_epi32(join(h1, l1), half), 22);
    h2 = _mm256_srai_epi32(_mm256_add_epi32(join(h2, l2), half), 22);
    h3 = _mm256_srai_epi32(_mm256_add_epi32(join(h3, l3), half), 22);
    __m256i r = _mm256_packus_epi16(_mm256_packs_epi32(h0, h1), _mm256_packs_epi32(h2, h3));
    if (bytes - x >= 32) {
      _mm256_storeu_si256((__m256i *)(out + x), r);
    } else {
      guint8 tail[32];
      _mm256_storeu_si256((__m256i *)tail, r);
      memcpy(out + x, tail, bytes - x);
    }
  }
}

static const NwResizePasses passes = {lines_avx2, row_avx2};

const NwResizePasses *nw_resize_avx2(void)
{
  return &passes;
}
#else
const NwResizePasses *nw_resize_avx2(void)
{
  return NULL;
}
#endif
