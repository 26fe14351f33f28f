/* The primitives by a multiply-add of 16-bit pairs; xl_lanes_sse2.h and xl_lanes_avx2.h set the width.
 *
 * Even and odd bytes are widened to 16 bits, where products of pairs are summed without saturation.
 */
#ifndef XL_LANES_MADD_H
#define XL_LANES_MADD_H

/* Ensures: the sum of `total` and, in each lane, the products of even and odd bytes with even and odd weights. */
XL_FUNCTION XL_VECTOR xl_dot4_madd(XL_VECTOR total, XL_VECTOR even, XL_VECTOR odd, uint32_t weights) {
    const XL_VECTOR packed = XL_VECTOR_OP(set1_epi32)((int32_t)weights);
    const XL_VECTOR even_weights = XL_VECTOR_OP(srai_epi16)(XL_VECTOR_OP(slli_epi16)(packed, 8), 8);
    const XL_VECTOR odd_weights = XL_VECTOR_OP(srai_epi16)(packed, 8);
    total = XL_VECTOR_OP(add_epi32)(total, XL_VECTOR_OP(madd_epi16)(even, even_weights));
    return XL_VECTOR_OP(add_epi32)(total, XL_VECTOR_OP(madd_epi16)(odd, odd_weights));
}

XL_STAGE void xl_dot_rows(int32_t sums[4][XL_LANES], const uint32_t *bytes, int32_t groups, const uint32_t *weights,
                          int32_t stride) {
    const XL_VECTOR mask = XL_VECTOR_OP(set1_epi16)(255);
    for (int32_t w = 0; w < XL_LANES; w += 2 * XL_VECTOR_LANES) {
        XL_VECTOR total[4][2];
        for (int32_t i = 0; i < 4; ++i)
            for (int32_t v = 0; v < 2; ++v)
                total[i][v] = XL_VECTOR_OP(set1_epi32)(0);
        for (int32_t g = 0; g < groups; ++g)
            for (int32_t v = 0; v < 2; ++v) {
                const XL_VECTOR value = XL_VECTOR_LOAD(bytes + g * XL_LANES + w + v * XL_VECTOR_LANES);
                const XL_VECTOR even = XL_VECTOR_AND(value, mask), odd = XL_VECTOR_OP(srli_epi16)(value, 8);
                for (int32_t i = 0; i < 4; ++i)
                    total[i][v] = xl_dot4_madd(total[i][v], even, odd, weights[i * stride + g]);
            }
        for (int32_t i = 0; i < 4; ++i)
            for (int32_t v = 0; v < 2; ++v)
                XL_VECTOR_STORE(sums[i] + w + v * XL_VECTOR_LANES, total[i][v]);
    }
}

XL_STAGE void xl_dot_fold(uint16_t folded[XL_LANES], const int32_t values[XL_LANES], int32_t start, uint32_t weights,
                          int32_t bias) {
    const XL_VECTOR mask = XL_VECTOR_OP(set1_epi16)(255);
    int32_t sums[XL_LANES];
    for (int32_t w = 0; w < XL_LANES; w += XL_VECTOR_LANES) {
        const XL_VECTOR value = XL_VECTOR_OP(add_epi32)(XL_VECTOR_LOAD(values + w), XL_VECTOR_OP(set1_epi32)(start));
        const XL_VECTOR even = XL_VECTOR_AND(value, mask), odd = XL_VECTOR_OP(srli_epi16)(value, 8);
        XL_VECTOR_STORE(sums + w, xl_dot4_madd(XL_VECTOR_OP(set1_epi32)(bias), even, odd, weights));
    }
    XL_EACH_LANE(w)
        folded[w] = (uint16_t)sums[w];
}

#include "xl_lanes_common.h"

#endif
