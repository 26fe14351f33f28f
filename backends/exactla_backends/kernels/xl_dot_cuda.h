/* Sums of products of packed bytes by the dp4a instruction; see xl_dot_plain.h for what they ensure. */
#ifndef XL_DOT_CUDA_H
#define XL_DOT_CUDA_H

XL_FUNCTION int32_t xl_dot4_add(uint32_t bytes, uint32_t weights, int32_t sum) {
    int32_t result;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(bytes), "r"(weights), "r"(sum));
    return result;
}

XL_FUNCTION void xl_dot_rows(int32_t sums[4][XL_LANES], const uint32_t *bytes, int32_t groups,
                             XL_GLOBAL const uint32_t *weights, int32_t stride) {
    for (int32_t i = 0; i < 4; ++i)
        XL_EACH_LANE(w) sums[i][w] = 0;
    for (int32_t g = 0; g < groups; ++g)
        for (int32_t i = 0; i < 4; ++i) {
            const uint32_t weight = weights[i * stride + g];
            XL_EACH_LANE(w) sums[i][w] = xl_dot4_add(bytes[g * XL_LANES + w], weight, sums[i][w]);
        }
}

XL_FUNCTION void xl_dot_fold(uint16_t folded[XL_LANES], const int32_t values[XL_LANES], int32_t start, uint32_t weights,
                             int32_t bias) {
    XL_EACH_LANE(w) folded[w] = (uint16_t)xl_dot4_add((uint32_t)(values[w] + start), weights, bias);
}

#endif
