/* The primitives by AArch64 i8mm; xl_lanes_plain.h says what they ensure. */
#ifndef XL_LANES_NEON_H
#define XL_LANES_NEON_H

#include <arm_neon.h>

XL_STAGE void xl_dot_rows(int32_t sums[4][XL_LANES], const uint32_t *bytes, int32_t groups, const uint32_t *weights,
                          int32_t stride) {
    for (int32_t w = 0; w < XL_LANES; w += 16) {
        int32x4_t total[4][4];
        for (int32_t i = 0; i < 4; ++i)
            for (int32_t v = 0; v < 4; ++v)
                total[i][v] = vdupq_n_s32(0);
        for (int32_t g = 0; g < groups; ++g)
            for (int32_t v = 0; v < 4; ++v) {
                const uint8x16_t value = vreinterpretq_u8_u32(vld1q_u32(bytes + g * XL_LANES + w + 4 * v));
                for (int32_t i = 0; i < 4; ++i) {
                    const int8x16_t weight = vreinterpretq_s8_u32(vdupq_n_u32(weights[i * stride + g]));
                    total[i][v] = vusdotq_s32(total[i][v], value, weight);
                }
            }
        for (int32_t i = 0; i < 4; ++i)
            for (int32_t v = 0; v < 4; ++v)
                vst1q_s32(sums[i] + w + 4 * v, total[i][v]);
    }
}

XL_STAGE void xl_dot_fold(uint16_t folded[XL_LANES], const int32_t values[XL_LANES], int32_t start, uint32_t weights,
                          int32_t bias) {
    const int8x16_t weight = vreinterpretq_s8_u32(vdupq_n_u32(weights));
    for (int32_t w = 0; w < XL_LANES; w += 4) {
        const int32x4_t value = vaddq_s32(vld1q_s32(values + w), vdupq_n_s32(start));
        const int32x4_t sum = vusdotq_s32(vdupq_n_s32(bias), vreinterpretq_u8_s32(value), weight);
        vst1_u16(folded + w, vmovn_u32(vreinterpretq_u32_s32(sum)));
    }
}

#include "xl_lanes_common.h"

#endif
