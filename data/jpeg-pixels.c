#include "data/jpeg-pixels.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

gboolean nw_jpeg_pixels_here(void)
{
  return TRUE;
}

static inline AVX2 __m256i times(__m256i a, int k)
{
  return _mm256_mullo_epi32(a, _mm256_set1_epi32(k));
}

/* One pass of the IJG's 13-bit DCT over eight columns; results are rounded and shifted down by `shift`. */
static inline AVX2 void pass(__m256i v[8], const int shift)
{
#define ADD _mm256_add_epi32
#define SUB _mm256_sub_epi32
  __m256i z1 = times(ADD(v[2], v[6]), 4433);
  __m256i t2 = ADD(z1, times(v[6], -15137)), t3 = ADD(z1, times(v[2], 6270));
  __m256i t0 = _mm256_slli_epi32(ADD(v[0], v[4]), 13), t1 = _mm256_slli_epi32(SUB(v[0], v[4]), 13);
  const __m256i half = _mm256_set1_epi32(1 << (shift - 1));
  __m256i e0 = ADD(ADD(t0, t3), half), e3 = ADD(SUB(t0, t3), half), e1 = ADD(ADD(t1, t2), half),
          e2 = ADD(SUB(t1, t2), half);
  t0 = v[7], t1 = v[5], t2 = v[3], t3 = v[1];
  z1 = ADD(t0, t3);
  __m256i z2 = ADD(t1, t2), z3 = ADD(t0, t2), z4 = ADD(t1, t3), z5 = times(ADD(z3, z4), 9633);
  t0 = times(t0, 2446), t1 = times(t1, 16819), t2 = times(t2, 25172), t3 = times(t3, 12299);
  z1 = times(z1, -7373), z2 = times(z2, -20995);
  z3 = ADD(times(z3, -16069), z5), z4 = ADD(times(z4, -3196), z5);
  t0 = ADD(t0, ADD(z1, z3)), t1 = ADD(t1, ADD(z2, z4)), t2 = ADD(t2, ADD(z2, z3)), t3 = ADD(t3, ADD(z1, z4));
  v[0] = _mm256_srai_epi32(ADD(e0, t3), shift), v[7] = _mm256_srai_epi32(SUB(e0, t3), shift);
  v[1] = _mm256_srai_epi32(ADD(e1, t2), shift), v[6] = _mm256_srai_epi32(SUB(e1, t2), shift);
  v[2] = _mm256_srai_epi32(ADD(e2, t1), shift), v[5] = _mm256_srai_epi32(SUB(e2, t1), shift);
  v[3] = _mm256_srai_epi32(ADD(e3, t0), shift), v[4] = _mm256_srai_epi32(SUB(e3, t0), shift);
#undef ADD
#undef SUB
}

static inline AVX2 void transpose(__m256i v[8])
{
  __m256i a[8], b[8];
  for (int i = 0; i < 4; i++) {
    a[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    b[4 * i] = _mm256_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm256_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm256_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm256_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
  }
  for (int i = 0; i < 4; i++) {
    v[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
    v[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
  }
}

AVX2 void nw_jpeg_block(const gint16 *coefs, gboolean flat, guint8 *out, gsize stride)
{
  if (flat) {
    int level = ((coefs[0] + 4) >> 3) + 128;
    for (int y = 0; y < 8; y++)
      memset(out + (gsize)y * stride, CLAMP(level, 0, 255), 8);
    return;
  }
  __m256i v[8];
  for (int i = 0; i < 8; i++)
    v[i] = _mm256_cvtepi16_epi32(_mm_load_si128((const __m128i *)(const void *)(coefs + 8 * i)));
  pass(v, 11);
  transpose(v);
  pass(v, 18);
  transpose(v);
  const __m128i middle = _mm_set1_epi16(128);
  for (int y = 0; y < 8; y += 2) {
    __m128i a = _mm_packs_epi32(_mm256_castsi256_si128(v[y]), _mm256_extracti128_si256(v[y], 1));
    __m128i b = _mm_packs_epi32(_mm256_castsi256_si128(v[y + 1]), _mm256_extracti128_si256(v[y + 1], 1));
    __m128i rows = _mm_packus_epi16(_mm_adds_epi16(a, middle), _mm_adds_epi16(b, middle));
    _mm_storel_epi64((__m128i *)(void *)(out + (gsize)y * stride), rows);
    _mm_storel_epi64((__m128i *)(void *)(out + (gsize)(y + 1) * stride), _mm_srli_si128(rows, 8));
  }
}

/* Scratch: sums of a chroma row with a sample of margin on each side, and two rows of colour at full width.
 */
typedef struct Lines {
  gint16 *sums;
  guint8 *colour[2];
} Lines;

gsize nw_jpeg_lines_size(guint width)
{
  return ((gsize)width + 256) * 2 + 2 * ((gsize)width + 256);
}

static Lines lines_in(guint8 *room, guint width)
{
  gsize n = (gsize)width + 256;
  return (Lines){(gint16 *)(void *)room + 32, {room + 2 * n, room + 3 * n}};
}

/* A row of the plane, the nearest one where y lies outside. */
static const guint8 *row_at(const NwJpegPlane *plane, gint64 y)
{
  y = CLAMP(y, 0, (gint64)plane->height - 1);
  return plane->rows + (gsize)(y - plane->y) * plane->stride;
}

/* Colour of output row y, columns from `from` (even) to `end`, with the neighbours' share: 3 to 1 in each
 * direction. */
static AVX2 void upsample(const NwJpegPlane *plane, guint down, guint y, guint from, guint end, gint16 *sums,
                          guint8 *out)
{
  guint first = from / 2, last = (end - 1) / 2, n = last - first + 1;
  const guint8 *near = row_at(plane, y / down), *far = near;
  if (down == 2)
    far = row_at(plane, (gint64)(y / 2) + (y % 2 ? 1 : -1));
  near += first - plane->x;
  far += first - plane->x;
  for (guint i = 0; i < n; i += 16) {
    __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(near + i)));
    if (down == 2) {
      __m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(far + i)));
      a = _mm256_add_epi16(_mm256_add_epi16(a, _mm256_slli_epi16(a, 1)), b);
    }
    _mm256_storeu_si256((__m256i *)(void *)(sums + i), a);
  }
  int left = first > 0 ? near[-1] : near[0], right = last + 1 < plane->width ? near[n] : near[n - 1];
  int left_far = first > 0 ? far[-1] : far[0], right_far = last + 1 < plane->width ? far[n] : far[n - 1];
  sums[-1] = (gint16)(down == 2 ? 3 * left + left_far : left);
  sums[n] = (gint16)(down == 2 ? 3 * right + right_far : right);
  const __m256i round_even = _mm256_set1_epi16(down == 2 ? 8 : 1),
                round_odd = _mm256_set1_epi16(down == 2 ? 7 : 2);
  const __m128i shift = _mm_cvtsi32_si128(down == 2 ? 4 : 2);
  for (guint i = 0; i < n; i += 16) {
    __m256i s = _mm256_loadu_si256((const __m256i *)(const void *)(sums + i));
    __m256i before = _mm256_loadu_si256((const __m256i *)(const void *)(sums + i - 1));
    __m256i after = _mm256_loadu_si256((const __m256i *)(const void *)(sums + i + 1));
    s = _mm256_add_epi16(s, _mm256_slli_epi16(s, 1));
    __m256i even = _mm256_srl_epi16(_mm256_add_epi16(_mm256_add_epi16(s, before), round_even), shift);
    __m256i odd = _mm256_srl_epi16(_mm256_add_epi16(_mm256_add_epi16(s, after), round_odd), shift);
    _mm256_storeu_si256((__m256i *)(void *)(out + 2 * i), _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
  }
}

/* BT.601 in 16 bits of fraction, eight pixels at a time; in and out may be read and written 7 pixels too far.
 */
static AVX2 void to_rgbx(const guint8 *y, const guint8 *cb, const guint8 *cr, guint n, guint8 *out)
{
  const __m256i middle = _mm256_set1_epi32(128), half = _mm256_set1_epi32(1 << 15),
                zero = _mm256_setzero_si256(), most = _mm256_set1_epi32(255),
                opaque = _mm256_set1_epi32((int)0xff000000u);
#define LOAD(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
  for (guint i = 0; i < n; i += 8) {
    __m256i l = LOAD(y + i), b = _mm256_sub_epi32(LOAD(cb + i), middle),
            r = _mm256_sub_epi32(LOAD(cr + i), middle);
    __m256i red = _mm256_add_epi32(l, _mm256_srai_epi32(_mm256_add_epi32(times(r, 91881), half), 16));
    __m256i green = _mm256_add_epi32(
        l,
        _mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(times(b, -22554), times(r, -46802)), half), 16));
    __m256i blue = _mm256_add_epi32(l, _mm256_srai_epi32(_mm256_add_epi32(times(b, 116130), half), 16));
    red = _mm256_min_epi32(_mm256_max_epi32(red, zero), most);
    green = _mm256_min_epi32(_mm256_max_epi32(green, zero), most);
    blue = _mm256_min_epi32(_mm256_max_epi32(blue, zero), most);
    __m256i pixels = _mm256_or_si256(_mm256_or_si256(red, _mm256_slli_epi32(green, 8)),
                                     _mm256_or_si256(_mm256_slli_epi32(blue, 16), opaque));
    if (n - i >= 8) {
      _mm256_storeu_si256((__m256i *)(void *)(out + 4 * (gsize)i), pixels);
    } else {
      guint8 tail[32];
      _mm256_storeu_si256((__m256i *)(void *)tail, pixels);
      memcpy(out + 4 * (gsize)i, tail, 4 * (gsize)(n - i));
    }
  }
#undef LOAD
}

void nw_jpeg_colour(const NwJpegPlane *planes, guint n, guint across, guint down, NwFrame *frame,
                    guint8 *room)
{
  Lines lines = lines_in(room, frame->width);
  guint from = frame->x & ~1u, end = frame->x + frame->width;
  for (guint i = 0; i < frame->height; i++) {
    guint y = frame->y + i;
    const guint8 *light = row_at(&planes[0], y) + (frame->x - planes[0].x);
    guint8 *out = frame->pixels + i * frame->stride;
    if (frame->bytes == 1) {
      memcpy(out, light, frame->width);
    } else if (n == 1) {
      for (guint x = 0; x < frame->width; x++)
        memset(out + 4 * (gsize)x, light[x], 4);
    } else if (across == 1) {
      to_rgbx(light, row_at(&planes[1], y) + (frame->x - planes[1].x),
              row_at(&planes[2], y) + (frame->x - planes[2].x), frame->width, out);
    } else {
      upsample(&planes[1], down, y, from, end, lines.sums, lines.colour[0]);
      upsample(&planes[2], down, y, from, end, lines.sums, lines.colour[1]);
      to_rgbx(light, lines.colour[0] + (frame->x - from), lines.colour[1] + (frame->x - from), frame->width,
              out);
    }
  }
}
#else
gboolean nw_jpeg_pixels_here(void)
{
  return FALSE;
}

void nw_jpeg_block(const gint16 *coefs, gboolean flat, guint8 *out, gsize stride) {}

void nw_jpeg_colour(const NwJpegPlane *planes, guint n, guint across, guint down, NwFrame *frame,
                    guint8 *lines)
{
}

gsize nw_jpeg_lines_size(guint width)
{
  return 0;
}
#endif
