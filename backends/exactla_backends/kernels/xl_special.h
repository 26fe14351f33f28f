/* Non-finite entries: their classes as small integers, and the encodings that IEEE 754 gives for their products. */
#ifndef XL_SPECIAL_H
#define XL_SPECIAL_H

#include "xl_limbs.h"

/* Requires: words[w] are encodings of a float or integer format.
 * Ensures: classes[0..6][w] = sign, |sign|, infinity, |infinity|, zero, nan, one: `sign` and `infinity` are -1, 0 or 1
 * and 0 for a NaN, `infinity` 0 for a number; `zero` and `nan` are indicators, and `one` is 1. */
XL_STAGE void xl_classify(int8_t classes[XL_CLASSES][XL_LANES], const uint64_t words[XL_LANES],
                          const xl_format *format) {
    const xl_format f = *format;
    const uint64_t is_float = (uint64_t)(f.kind == XL_KIND_FLOAT);
    const uint64_t can_be_infinite = is_float & (uint64_t)f.has_infinity;
    const uint64_t magnitude_mask = xl_ones(f.bits) >> 1;
    xl_entries x;
    xl_decode(&x, words, format);
    XL_EACH_LANE(w) {
        const uint64_t infinite = can_be_infinite & (uint64_t)((words[w] & magnitude_mask) == f.infinity);
        const uint64_t nan = is_float & (xl_is_finite(words[w], &f) ^ 1) & (infinite ^ 1);
        const uint64_t nonzero = (uint64_t)(x.significand[w] != 0) | infinite;
        const uint64_t negative = (x.negative[w] & 1) | (infinite & words[w] >> (f.bits - 1));
        const int32_t sign = 1 - 2 * (int32_t)negative;
        classes[0][w] = (int8_t)(nonzero ? sign : 0);
        classes[1][w] = (int8_t)nonzero;
        classes[2][w] = (int8_t)(infinite ? sign : 0);
        classes[3][w] = (int8_t)infinite;
        classes[4][w] = (int8_t)((nonzero | nan) ^ 1);
        classes[5][w] = (int8_t)nan;
        classes[6][w] = 1;
    }
}

/* Requires: any[w] is 0 for the number 0 only, top[w] the top limb of a two's complement integer.
 * Ensures: classes as xl_classify says, for numbers. */
XL_STAGE void xl_classify_limbs(int8_t classes[XL_CLASSES][XL_LANES], const uint32_t any[XL_LANES],
                                const uint32_t top[XL_LANES]) {
    XL_EACH_LANE(w) {
        const int32_t nonzero = any[w] != 0;
        classes[0][w] = (int8_t)(top[w] >> 31 ? -1 : nonzero);
        classes[1][w] = (int8_t)nonzero;
        classes[2][w] = classes[3][w] = classes[5][w] = 0;
        classes[4][w] = (int8_t)(1 - nonzero);
        classes[6][w] = 1;
    }
}

/* Requires: integers of `count` limbs; they are overwritten.
 * Ensures: encodings are the canonical NaN where invalid > 0 or |signs| < terms (and terms > 0), or where terms > 0 and
 * the format has no infinity; else the infinity of the sign of `signs` where terms > 0; else as they were. */
XL_STAGE void xl_mark(uint64_t encodings[XL_LANES], uint32_t *signs, uint32_t *terms, const uint32_t *invalid,
                      int32_t count, const xl_format *format) {
    const xl_format f = *format;
    const uint64_t finite_only = (uint64_t)(f.has_infinity == 0);
    uint32_t negative[XL_LANES], mixed[XL_LANES], some_terms[XL_LANES], some_invalid[XL_LANES];
    XL_EACH_LANE(w) {
        some_terms[w] = 0;
        some_invalid[w] = 0;
    }
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w) {
            some_terms[w] |= terms[j * XL_LANES + w];
            some_invalid[w] |= invalid[j * XL_LANES + w];
        }
    xl_limbs_sign(negative, signs, count);
    xl_limbs_negate(signs, signs, count, negative);
    xl_limbs_less(mixed, signs, terms, count);
    XL_EACH_LANE(w) {
        const uint64_t infinite = (uint64_t)(some_terms[w] != 0);
        const uint64_t nan = (uint64_t)(some_invalid[w] != 0) | (infinite & (finite_only | (mixed[w] & 1)));
        const uint64_t infinity = f.infinity | (uint64_t)(negative[w] & 1) << (f.bits - 1);
        encodings[w] = nan ? f.nan : (infinite ? infinity : encodings[w]);
    }
}

#endif
