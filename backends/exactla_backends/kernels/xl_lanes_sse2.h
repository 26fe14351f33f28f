/* The primitives by SSE2, which every x86-64 has; xl_lanes_plain.h says what they ensure. */
#ifndef XL_LANES_SSE2_H
#define XL_LANES_SSE2_H

#include <emmintrin.h>

#define XL_VECTOR __m128i
#define XL_VECTOR_LANES 4
#define XL_VECTOR_OP(name) _mm_##name
#define XL_VECTOR_LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define XL_VECTOR_STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define XL_VECTOR_AND(x, y) _mm_and_si128(x, y)
#include "xl_lanes_madd.h"

#endif
