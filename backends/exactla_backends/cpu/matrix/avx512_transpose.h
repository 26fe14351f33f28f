/* Transposes 16 x 16 words of 32 bits with AVX-512: from 16 rows of a plane to the layout of a VNNI operand.
 * To be included between XL_TARGET_BEGIN and XL_TARGET_END with these instructions. */
#ifndef XL_MATRIX_AVX512_TRANSPOSE_H
#define XL_MATRIX_AVX512_TRANSPOSE_H

#include <immintrin.h>
#include <stdint.h>

/* Word j of 64-byte row k of `to` = word k of row j of `from` xor `flip`; rows from `rows` on count as zeros. */
static inline void xl_avx512_transpose(const int8_t *from, int64_t stride, int rows, __m512i flip, int8_t *to) {
    __m512i a[16], b[16];
    for (int j = 0; j < 16; ++j)
        a[j] = _mm512_xor_si512(j < rows ? _mm512_loadu_si512(from + j * stride) : _mm512_setzero_si512(), flip);
    for (int j = 0; j < 16; j += 2) {
        b[j] = _mm512_unpacklo_epi32(a[j], a[j + 1]);
        b[j + 1] = _mm512_unpackhi_epi32(a[j], a[j + 1]);
    }
    for (int j = 0; j < 16; j += 4) {
        a[j] = _mm512_unpacklo_epi64(b[j], b[j + 2]);
        a[j + 1] = _mm512_unpackhi_epi64(b[j], b[j + 2]);
        a[j + 2] = _mm512_unpacklo_epi64(b[j + 1], b[j + 3]);
        a[j + 3] = _mm512_unpackhi_epi64(b[j + 1], b[j + 3]);
    }
    /* a[4 q + c], lane l: column 4 l + c of rows 4 q .. 4 q + 3 */
    for (int c = 0; c < 4; ++c) {
        b[c] = _mm512_shuffle_i32x4(a[c], a[4 + c], 0x88);
        b[4 + c] = _mm512_shuffle_i32x4(a[c], a[4 + c], 0xDD);
        b[8 + c] = _mm512_shuffle_i32x4(a[8 + c], a[12 + c], 0x88);
        b[12 + c] = _mm512_shuffle_i32x4(a[8 + c], a[12 + c], 0xDD);
    }
    for (int c = 0; c < 4; ++c) {
        _mm512_storeu_si512(to + 64 * c, _mm512_shuffle_i32x4(b[c], b[8 + c], 0x88));
        _mm512_storeu_si512(to + 64 * (4 + c), _mm512_shuffle_i32x4(b[4 + c], b[12 + c], 0x88));
        _mm512_storeu_si512(to + 64 * (8 + c), _mm512_shuffle_i32x4(b[c], b[8 + c], 0xDD));
        _mm512_storeu_si512(to + 64 * (12 + c), _mm512_shuffle_i32x4(b[4 + c], b[12 + c], 0xDD));
    }
}

#endif
