/* The primitives by AVX2; xl_lanes_plain.h says what they ensure.
 *
 * Even and odd bytes are widened to 16 bits, where products of pairs are summed without saturation.
 */
#ifndef XL_LANES_AVX2_H
#define XL_LANES_AVX2_H

#include <immintrin.h>

#define XL_VECTOR __m256i
#define XL_VECTOR_LANES 8
#define XL_VECTOR_OP(name) _mm256_##name
#define XL_VECTOR_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define XL_VECTOR_STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define XL_VECTOR_AND(x, y) _mm256_and_si256(x, y)
#include "xl_lanes_madd.h"

#endif
