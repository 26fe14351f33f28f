/* Modular reduction of biased sums by AVX-512 VNNI, shared by the AMX and the AVX-512 kernels.
 * To be included between XL_TARGET_BEGIN and XL_TARGET_END with these instructions. */
#ifndef XL_MATRIX_AVX512_REDUCE_H
#define XL_MATRIX_AVX512_REDUCE_H

#include "kernels.h"

#include <immintrin.h>

/* Constants of a modulus of 8 bits, in every lane. */
typedef struct {
    __m512i bytes, offset1, offset2, magic, shift, modulus, half, order;
} xl_lanes8;

static inline xl_lanes8 xl_avx512_lanes8(const xl_matrix_modulus8 *m) {
    return (xl_lanes8){
        _mm512_set1_epi32((int)m->bytes),
        _mm512_set1_epi32((int)m->offset1),
        _mm512_set1_epi32((int)m->offset2),
        _mm512_set1_epi16((short)m->magic),
        _mm512_set1_epi16((short)m->shift),
        _mm512_set1_epi16((short)m->modulus),
        _mm512_set1_epi8((char)m->half),
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
    };
}

/* z = y (mod m) with 0 <= z < 2^15, for any y. */
static inline __m512i xl_avx512_fold8(__m512i y, const xl_lanes8 *c) {
    const __m512i once = _mm512_dpbusd_epi32(c->offset1, y, c->bytes);
    return _mm512_dpbusd_epi32(c->offset2, once, c->bytes);
}

/* z mod m for 0 <= z < 2^15. */
static inline __m512i xl_avx512_mod8(__m512i z, const xl_lanes8 *c) {
    const __m512i quotient = _mm512_srlv_epi16(_mm512_mulhi_epu16(z, c->magic), c->shift);
    return _mm512_sub_epi16(z, _mm512_mullo_epi16(quotient, c->modulus));
}

/* The residues of 4 x 16 biased sums, one after the other. */
static inline __m512i xl_avx512_reduce64(const __m512i y[4], const xl_lanes8 *c) {
    const __m512i z01 = _mm512_packus_epi32(xl_avx512_fold8(y[0], c), xl_avx512_fold8(y[1], c));
    const __m512i z23 = _mm512_packus_epi32(xl_avx512_fold8(y[2], c), xl_avx512_fold8(y[3], c));
    const __m512i r = _mm512_packus_epi16(xl_avx512_mod8(z01, c), xl_avx512_mod8(z23, c));
    return _mm512_permutexvar_epi32(c->order, _mm512_sub_epi8(r, c->half));
}

/* Reduces the next 64 / columns rows, as far as there are so many. */
static inline void xl_avx512_reduce_rows8(xl_matrix_reduction *x, int columns, const xl_lanes8 *c) {
    const int groups = columns / 16; /* of 16 sums, in a row */
    __m512i y[4];
    int8_t *to[4];
    for (int g = 0; g < 4; ++g) {
        const int i = x->next + g / groups < x->rows ? x->next + g / groups : x->rows - 1;
        y[g] = _mm512_loadu_si512(x->sums[0] + i * XL_BLOCK_COLUMNS + g % groups * 16);
        to[g] = x->residues8 + i * x->row + g % groups * 16;
    }
    const __m512i r = xl_avx512_reduce64(y, c);
    _mm_storeu_si128((__m128i *)to[0], _mm512_extracti32x4_epi32(r, 0));
    _mm_storeu_si128((__m128i *)to[1], _mm512_extracti32x4_epi32(r, 1));
    _mm_storeu_si128((__m128i *)to[2], _mm512_extracti32x4_epi32(r, 2));
    _mm_storeu_si128((__m128i *)to[3], _mm512_extracti32x4_epi32(r, 3));
    x->next += 64 / columns;
}

/* See `reduce8` of xl_matrix_kernels. */
static inline void xl_avx512_reduce8(xl_matrix_reduction *x) {
    const xl_lanes8 c = xl_avx512_lanes8(x->modulus8);
    if (x->columns == 32)
        while (x->next < x->rows)
            xl_avx512_reduce_rows8(x, 32, &c);
    else
        while (x->next < x->rows)
            xl_avx512_reduce_rows8(x, 16, &c);
}

/* floor(z * reciprocal / 2^32), for every lane. */
static inline __m512i xl_avx512_mulhi32(__m512i z, __m512i reciprocal) {
    const __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(z, reciprocal), 32);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(z, 32), reciprocal);
    return _mm512_mask_mov_epi32(even, 0xAAAA, odd);
}

/* Reduces the next row. */
static inline void xl_avx512_reduce_row16(xl_matrix_reduction *x) {
    const xl_matrix_modulus16 *modulus = x->modulus16;
    const __m512i m = _mm512_set1_epi32((int)modulus->modulus), half = _mm512_set1_epi32((int)modulus->half);
    const __m512i reciprocal = _mm512_set1_epi32((int)modulus->reciprocal);
    for (int j = 0; j < x->columns; j += 16) {
        __m512i high = _mm512_setzero_si512(), low = _mm512_set1_epi32((int)modulus->offset);
        for (int d = 0; d < 3; ++d) {
            const __m512i y = _mm512_loadu_si512(x->sums[d] + x->next * XL_BLOCK_COLUMNS + j);
            high = _mm512_dpbusd_epi32(high, y, _mm512_set1_epi32((int)modulus->high[d]));
            low = _mm512_dpbusd_epi32(low, y, _mm512_set1_epi32((int)modulus->low[d]));
        }
        const __m512i z = _mm512_add_epi32(_mm512_slli_epi32(high, 8), low);
        __m512i r = _mm512_sub_epi32(z, _mm512_mullo_epi32(xl_avx512_mulhi32(z, reciprocal), m));
        r = _mm512_sub_epi32(_mm512_min_epu32(r, _mm512_sub_epi32(r, m)), half);
        _mm256_storeu_si256((__m256i *)(x->residues16 + x->next * x->row + j), _mm512_cvtepi32_epi16(r));
    }
    ++x->next;
}

/* See `reduce16` of xl_matrix_kernels. */
static inline void xl_avx512_reduce16(xl_matrix_reduction *x) {
    while (x->next < x->rows)
        xl_avx512_reduce_row16(x);
}

#endif
