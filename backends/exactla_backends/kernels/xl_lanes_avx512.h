/* The primitives for AVX-512 with VNNI; xl_lanes_plain.h and xl_lanes_common.h say what they ensure.
 *
 * Packing instructions interleave their operands by quarters. One permutation of double words, `xl_quarters`, undoes
 * that: it takes quarter i, element v to quarter v, element i.
 */
#ifndef XL_LANES_AVX512_H
#define XL_LANES_AVX512_H

#include <immintrin.h>

XL_FUNCTION __m512i xl_quarters(__m512i x) {
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), x);
}

XL_STAGE void xl_dot_rows(int32_t sums[4][XL_LANES], const uint32_t *bytes, int32_t groups, const uint32_t *weights,
                          int32_t stride) {
    __m512i total[4][4];
    XL_UNROLLED for (int32_t i = 0; i < 4; ++i)
        XL_UNROLLED for (int32_t v = 0; v < 4; ++v)
            total[i][v] = _mm512_setzero_si512();
    for (int32_t g = 0; g < groups; ++g) {
        __m512i value[4];
        XL_UNROLLED for (int32_t v = 0; v < 4; ++v)
            value[v] = _mm512_loadu_si512(bytes + g * XL_LANES + 16 * v);
        XL_UNROLLED for (int32_t i = 0; i < 4; ++i) {
            const __m512i weight = _mm512_set1_epi32((int32_t)weights[i * stride + g]);
            XL_UNROLLED for (int32_t v = 0; v < 4; ++v)
                total[i][v] = _mm512_dpbusd_epi32(total[i][v], value[v], weight);
        }
    }
    XL_UNROLLED for (int32_t i = 0; i < 4; ++i)
        XL_UNROLLED for (int32_t v = 0; v < 4; ++v)
            _mm512_storeu_si512(sums[i] + 16 * v, total[i][v]);
}

/* Requires and ensures what xl_reduce16 does, for 32 lanes. */
XL_FUNCTION __m512i xl_reduce16_lanes(__m512i value, __m512i modulus, __m512i inverse) {
    const __m512i quotient = _mm512_mulhi_epu16(value, inverse);
    const __m512i remainder = _mm512_sub_epi16(value, _mm512_mullo_epi16(quotient, modulus));
    return _mm512_min_epu16(remainder, _mm512_sub_epi16(remainder, modulus));
}

XL_FUNCTION void xl_fold8(int8_t residues[XL_LANES], const int32_t sums[XL_LANES], const int32_t *constants) {
    const __m512i modulus = _mm512_set1_epi32(constants[0] * 65537), inverse = _mm512_set1_epi32(constants[1] * 65537);
    const __m512i start = _mm512_set1_epi32(constants[2]), weights = _mm512_set1_epi32(constants[3]);
    const __m512i bias = _mm512_set1_epi32(constants[4]);
    const __m512i offset = _mm512_set1_epi8((char)constants[5]);
    __m512i half[2];
    for (int32_t h = 0; h < 2; ++h) {
        const __m512i low = _mm512_add_epi32(_mm512_loadu_si512(sums + 32 * h), start);
        const __m512i high = _mm512_add_epi32(_mm512_loadu_si512(sums + 32 * h + 16), start);
        const __m512i folded =
            _mm512_packus_epi32(_mm512_dpbusd_epi32(bias, low, weights), _mm512_dpbusd_epi32(bias, high, weights));
        half[h] = xl_reduce16_lanes(folded, modulus, inverse);
    }
    const __m512i packed = xl_quarters(_mm512_packus_epi16(half[0], half[1]));
    _mm512_storeu_si512(residues, _mm512_sub_epi8(packed, offset));
}

XL_STAGE void xl_limbs_place(uint32_t *limbs, int32_t count, const uint64_t *values, const uint64_t *negative,
                             const int64_t *shift) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    for (int32_t w = 0; w < XL_LANES; w += 16)
        for (int32_t j = 0; j < count; j += 2) {
            __m512i word[2];
            for (int32_t v = 0; v < 2; ++v) {
                const __m512i value = _mm512_loadu_si512(values + w + 8 * v);
                const __m512i sign = _mm512_loadu_si512(negative + w + 8 * v);
                const __m512i up = _mm512_sub_epi64(_mm512_loadu_si512(shift + w + 8 * v), _mm512_set1_epi64(32 * j));
                /* counts past 63, as which negative ones are read, give 0; -up - 1 = ~up */
                const __m512i left = _mm512_sllv_epi64(value, up);
                const __m512i below = _mm512_srli_epi64(_mm512_xor_si512(value, sign), 1);
                const __m512i right = _mm512_srlv_epi64(below, _mm512_xor_si512(up, _mm512_set1_epi64(-1)));
                word[v] = _mm512_mask_xor_epi64(left, _mm512_movepi64_mask(up), right, sign);
            }
            _mm512_storeu_si512(limbs + j * XL_LANES + w, _mm512_permutex2var_epi32(word[0], even, word[1]));
            if (j + 1 < count)
                _mm512_storeu_si512(limbs + (j + 1) * XL_LANES + w, _mm512_permutex2var_epi32(word[0], odd, word[1]));
        }
}

XL_STAGE void xl_weigh8(uint32_t packed[XL_LANES], int8_t residues[4][XL_LANES], const uint32_t *constants) {
    __m512i weighed[4][2];
    for (int32_t i = 0; i < 4; ++i) {
        const uint32_t *c = constants + 4 * i;
        const __m512i modulus = _mm512_set1_epi32((int32_t)(c[0] * 65537u));
        const __m512i inverse = _mm512_set1_epi32((int32_t)(c[1] * 65537u));
        const __m512i weight = _mm512_set1_epi16((int16_t)(int32_t)c[2]),
                      bias = _mm512_set1_epi32((int32_t)(c[3] * 65537u));
        const __m512i bytes = xl_quarters(_mm512_loadu_si512(residues[i]));
        const __m512i wide[2] = {_mm512_srai_epi16(_mm512_unpacklo_epi8(bytes, bytes), 8),
                                 _mm512_srai_epi16(_mm512_unpackhi_epi8(bytes, bytes), 8)};
        for (int32_t h = 0; h < 2; ++h) {
            const __m512i product = _mm512_add_epi16(_mm512_mullo_epi16(wide[h], weight), bias);
            weighed[i][h] = xl_reduce16_lanes(product, modulus, inverse);
        }
    }
    for (int32_t h = 0; h < 2; ++h) {
        const __m512i low = _mm512_or_si512(weighed[0][h], _mm512_slli_epi16(weighed[1][h], 8));
        const __m512i high = _mm512_or_si512(weighed[2][h], _mm512_slli_epi16(weighed[3][h], 8));
        _mm512_storeu_si512(packed + 32 * h, _mm512_unpacklo_epi16(low, high));
        _mm512_storeu_si512(packed + 32 * h + 16, _mm512_unpackhi_epi16(low, high));
    }
}

/* Requires: 0 <= count.
 * Ensures: as many ones, at most 64. */
XL_FUNCTION __mmask64 xl_first_lanes(int64_t count) {
    return count < 64 ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0;
}

XL_FUNCTION void xl_store_row(int8_t *to, const int8_t *from, int64_t count, int64_t behind) {
    const __m512i values = _mm512_maskz_loadu_epi8(xl_first_lanes(count), from);
    _mm512_mask_storeu_epi8(to, xl_first_lanes(count + behind), values);
    for (int64_t k = 64; k < count + behind; k += 64)
        _mm512_mask_storeu_epi8(to + k, xl_first_lanes(count + behind - k), _mm512_setzero_si512());
}

#endif
