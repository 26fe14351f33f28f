/* The primitives in plain C: what they are, and what devices and unknown processors run. */
#ifndef XL_LANES_PLAIN_H
#define XL_LANES_PLAIN_H

/* Requires: groups * 4 * 255 * 128 < 2**31.
 * Ensures: sums[i][w] = sum over g < groups of the dot product of the unsigned bytes of bytes[g][w] with the signed
 * bytes of weights[i * stride + g], for i < 4. */
XL_STAGE void xl_dot_rows(int32_t sums[4][XL_LANES], const uint32_t *XL_RESTRICT bytes, int32_t groups,
                          XL_GLOBAL const xl_weight *XL_RESTRICT weights, int32_t stride) {
    for (int32_t i = 0; i < 4; ++i)
        XL_EACH_LANE(w)
            sums[i][w] = 0;
    for (int32_t g = 0; g < groups; ++g)
        for (int32_t i = 0; i < 4; ++i) {
            const uint32_t weight = weights[i * stride + g];
            XL_EACH_LANE(w)
                sums[i][w] = xl_dot4(bytes[g * XL_LANES + w], weight, sums[i][w]);
        }
}

/* Requires: 0 <= values[w] + start, and the result below fits.
 * Ensures: folded[w] = bias + dot4(values[w] + start, weights), in [0, 2**16). */
XL_STAGE void xl_dot_fold(uint16_t *XL_RESTRICT folded, const int32_t *XL_RESTRICT values, int32_t start,
                          uint32_t weights, int32_t bias) {
    XL_EACH_LANE(w)
        folded[w] = (uint16_t)xl_dot4((uint32_t)(values[w] + start), weights, bias);
}

#include "xl_lanes_common.h"

#endif
