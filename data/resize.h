/* The two passes of Pillow's bilinear resize, in plain C and AVX2 with equal bits. Private to data/.
 *
 * Pillow's weights have 22 bits. Each is kept as hi × 2¹¹ + lo, both small enough for 16-bit multiply-add
 * instructions: (Σ hi·v << 11) + Σ lo·v is the very integer that Pillow sums up. */
#pragma once

#include <glib.h>

typedef struct NwAxis {
  guint n, taps; /* outputs; weights each (a multiple of 4, zeros behind the real ones) */
  int *first;    /* first input of each output */
  int *count;
  gint16 *hi, *lo; /* n × taps */
} NwAxis;

typedef struct NwResizePasses {
  /* Four lines of 4-byte pixels at once. May read 12 bytes behind an input line. */
  void (*lines)(const guint8 *const in[4], guint8 *const out[4], const NwAxis *axis);
  /* Output row `at` of `bytes` bytes from rows that are `stride` apart. May read 31 bytes behind a row. */
  void (*row)(const guint8 *rows, gsize stride, const NwAxis *axis, guint at, guint8 *out, gsize bytes);
} NwResizePasses;

extern const NwResizePasses nw_resize_plain;
const NwResizePasses *nw_resize_avx2(void); /* NULL: not in this build */
