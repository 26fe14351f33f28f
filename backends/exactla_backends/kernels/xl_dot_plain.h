/* Sums of products of packed bytes, in plain C: the definition of the two primitives. */
#ifndef XL_DOT_PLAIN_H
#define XL_DOT_PLAIN_H

/* Ensures: the sum over i < 4 of byte i of `bytes`, unsigned, times byte i of `weights`, signed. */
XL_FUNCTION int32_t xl_dot4(uint32_t bytes, uint32_t weights) {
    return (int32_t)(bytes & 255) * (int8_t)(weights & 255) + (int32_t)(bytes >> 8 & 255) * (int8_t)(weights >> 8 & 255) +
           (int32_t)(bytes >> 16 & 255) * (int8_t)(weights >> 16 & 255) + (int32_t)(bytes >> 24) * (int8_t)(weights >> 24);
}

/* Requires: groups * 4 * 255 * 128 < 2**31.
 * Ensures: sums[i][w] = sum over g < groups of dot4(bytes[g][w], weights[i * stride + g]) for i < 4. */
XL_FUNCTION void xl_dot_rows(int32_t sums[4][XL_LANES], const uint32_t *bytes, int32_t groups,
                             XL_GLOBAL const uint32_t *weights, int32_t stride) {
    for (int32_t i = 0; i < 4; ++i)
        XL_EACH_LANE(w) sums[i][w] = 0;
    for (int32_t g = 0; g < groups; ++g)
        for (int32_t i = 0; i < 4; ++i) {
            const uint32_t weight = weights[i * stride + g];
            XL_EACH_LANE(w) sums[i][w] += xl_dot4(bytes[g * XL_LANES + w], weight);
        }
}

/* Requires: 0 <= values[w] + start, and the result below fits.
 * Ensures: folded[w] = bias + dot4(values[w] + start, weights), in [0, 2**16). */
XL_FUNCTION void xl_dot_fold(uint16_t folded[XL_LANES], const int32_t values[XL_LANES], int32_t start, uint32_t weights,
                             int32_t bias) {
    XL_EACH_LANE(w) folded[w] = (uint16_t)(bias + xl_dot4((uint32_t)(values[w] + start), weights));
}

#endif
