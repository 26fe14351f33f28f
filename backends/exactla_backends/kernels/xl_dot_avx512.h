/* Sums of products of packed bytes by AVX-512 VNNI; see xl_dot_plain.h for what they ensure. */
#ifndef XL_DOT_AVX512_H
#define XL_DOT_AVX512_H

#include <immintrin.h>

XL_FUNCTION void xl_dot_rows(int32_t sums[4][XL_LANES], const uint32_t *bytes, int32_t groups, const uint32_t *weights,
                             int32_t stride) {
    __m512i total[4][4];
    for (int32_t i = 0; i < 4; ++i)
        for (int32_t v = 0; v < 4; ++v)
            total[i][v] = _mm512_setzero_si512();
    for (int32_t g = 0; g < groups; ++g) {
        __m512i value[4];
        for (int32_t v = 0; v < 4; ++v)
            value[v] = _mm512_loadu_si512(bytes + g * XL_LANES + 16 * v);
        for (int32_t i = 0; i < 4; ++i) {
            const __m512i weight = _mm512_set1_epi32((int32_t)weights[i * stride + g]);
            for (int32_t v = 0; v < 4; ++v)
                total[i][v] = _mm512_dpbusd_epi32(total[i][v], value[v], weight);
        }
    }
    for (int32_t i = 0; i < 4; ++i)
        for (int32_t v = 0; v < 4; ++v)
            _mm512_storeu_si512(sums[i] + 16 * v, total[i][v]);
}

XL_FUNCTION void xl_dot_fold(uint16_t folded[XL_LANES], const int32_t values[XL_LANES], int32_t start, uint32_t weights,
                             int32_t bias) {
    for (int32_t v = 0; v < 4; ++v) {
        const __m512i value = _mm512_add_epi32(_mm512_loadu_si512(values + 16 * v), _mm512_set1_epi32(start));
        const __m512i sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(bias), value, _mm512_set1_epi32((int32_t)weights));
        _mm256_storeu_si256((__m256i *)(folded + 16 * v), _mm512_cvtepi32_epi16(sum));
    }
}

#endif
