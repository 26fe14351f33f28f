/* Integers of many limbs: two's complement, 32 bits a limb, the lowest first, limb j of lane w at [j * XL_LANES + w].
 */
#ifndef XL_LIMBS_H
#define XL_LIMBS_H

#include "xl_format.h"

/* Ensures: limbs of floor(entry * 2**(shift - exponent of the entry)) modulo 2**(32 count). */
XL_FUNCTION void xl_limbs_of(uint32_t *limbs, int32_t count, const xl_entries *x, const int64_t shift[XL_LANES]) {
    uint64_t values[XL_LANES] XL_ALIGNED;
    XL_EACH_LANE(w)
        values[w] = (x->significand[w] ^ x->negative[w]) - x->negative[w];
    xl_limbs_place(limbs, count, values, x->negative, shift);
}

/* Requires: significands below 2**width, bits >= 0.
 * Ensures: 0 where no entry can break its scan; see xl_count_broken. */
XL_STAGE uint64_t xl_may_be_broken(const xl_entries *XL_RESTRICT x, const int64_t *XL_RESTRICT shift, int64_t bits,
                                   int64_t width) {
#ifdef XL_VECTORS
    const ulong16 shifts = as_ulong16(vload16(0, shift)), room = (ulong16)(bits - width);
    const ulong16 entries = as_ulong16(vload16(0, x->significand) != (ulong16)(0));
    return (uint64_t)any(as_long16((shifts | (room - shifts)) & entries));
#else
    const int64_t room = bits - width;
    uint64_t outside = 0;
    XL_EACH_LANE(w) {
        const uint64_t wrong = (uint64_t)shift[w] | (uint64_t)(room - shift[w]);
        outside |= wrong & ((uint64_t)0 - (uint64_t)(x->significand[w] != 0));
    }
    return outside >> 63;
#endif
}

/* Requires: significands below 2**width, bits >= 0.
 * Ensures: the number of lanes whose significand * 2**shift is not below 2**bits or, where bits may not be dropped, is
 * not an integer: entries that break their scan. */
XL_FUNCTION int64_t xl_count_broken(const xl_entries *x, const int64_t shift[XL_LANES], int64_t bits, int64_t width,
                                    int64_t may_drop) {
    int64_t count = 0;
    if (xl_may_be_broken(x, shift, bits, width) == 0)
        return 0;
    XL_EACH_LANE(w) {
        const int64_t above = bits - shift[w], below = shift[w] > -64 ? -shift[w] : 64;
        const uint64_t significand = x->significand[w];
        const uint64_t kept = below < 1 ? significand : (below < 64 ? significand >> below << below : 0);
        const uint64_t past = above > 63 ? 0 : (above > 0 ? significand >> above : significand);
        count += (kept != significand && !may_drop) || past != 0;
    }
    return count;
}

/* Requires: components, in their order, of sums, with significands below 2**63: before[w] is XL_NONE for the first, and
 * then as the last call left it.
 * Ensures: returns 0 where none is as large as one unit in the last place of the component before, or not 0 after a 0. */
XL_STAGE uint64_t xl_overlap(const xl_entries *XL_RESTRICT x, int64_t *XL_RESTRICT before) {
    uint64_t wrong = 0;
    XL_EACH_LANE(w) {
        const int64_t above = before[w] - x->exponent[w], least = above < 0 ? 0 : above;
        const uint64_t shift = (uint64_t)(least > 63 ? 63 : least);
        wrong |= x->significand[w] >> shift;
        before[w] = x->significand[w] == 0 ? -XL_NONE : x->exponent[w];
    }
    return wrong;
}

/* Requires: 0 < from <= count.
 * Ensures: limbs from..count - 1 continue the sign of limb from - 1. */
XL_STAGE void xl_limbs_extend(uint32_t *limbs, int32_t from, int32_t count) {
    for (int32_t j = from; j < count; ++j)
        XL_EACH_LANE(w)
            limbs[j * XL_LANES + w] = 0u - (limbs[(from - 1) * XL_LANES + w] >> 31);
}

/* Requires: exponent <= 0.
 * Ensures: limbs = x * 2**-exponent modulo 2**(32 count), in place. */
XL_STAGE void xl_limbs_shift(uint32_t *limbs, int32_t count, const int64_t exponent[XL_LANES]) {
    for (int32_t j = count - 1; j >= 0; --j)
        XL_EACH_LANE(w) {
            const int64_t up = -exponent[w] & 31, source = j - (-exponent[w] >> 5);
            const uint64_t high = source < 0 ? 0 : limbs[source * XL_LANES + w];
            const uint64_t low = source < 1 ? 0 : limbs[(source - 1) * XL_LANES + w];
            limbs[j * XL_LANES + w] = (uint32_t)((high << 32 | low) << up >> 32);
        }
}

/* Requires: flip[w] is 0 or all ones.
 * Ensures: result = flip ? -x : x, modulo 2**(32 count); result may be x. */
XL_STAGE void xl_limbs_negate(uint32_t *result, const uint32_t *x, int32_t count, const uint32_t flip[XL_LANES]) {
    uint32_t carry[XL_LANES];
    XL_EACH_LANE(w)
        carry[w] = flip[w] & 1;
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w) {
            const uint32_t limb = (x[j * XL_LANES + w] ^ flip[w]) + carry[w];
            carry[w] &= (uint32_t)(limb == 0);
            result[j * XL_LANES + w] = limb;
        }
}

/* Requires: nothing.
 * Ensures: result = x + y modulo 2**(32 count); result may be x or y. */
XL_STAGE void xl_limbs_add(uint32_t *result, const uint32_t *x, const uint32_t *y, int32_t count) {
    uint32_t carry[XL_LANES];
    XL_EACH_LANE(w)
        carry[w] = 0;
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w) {
            const uint32_t partial = x[j * XL_LANES + w] + carry[w];
            const uint32_t sum = partial + y[j * XL_LANES + w];
            carry[w] = (uint32_t)(partial < carry[w]) | (uint32_t)(sum < partial);
            result[j * XL_LANES + w] = sum;
        }
}

/* Requires: nothing.
 * Ensures: result = x - y modulo 2**(32 count); result may be x or y. */
XL_STAGE void xl_limbs_subtract(uint32_t *result, const uint32_t *x, const uint32_t *y, int32_t count) {
    uint32_t borrow[XL_LANES];
    XL_EACH_LANE(w)
        borrow[w] = 0;
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w) {
            const uint32_t minuend = x[j * XL_LANES + w];
            const uint32_t partial = minuend - y[j * XL_LANES + w];
            const uint32_t difference = partial - borrow[w];
            borrow[w] = (uint32_t)(partial > minuend) | (uint32_t)(difference > partial);
            result[j * XL_LANES + w] = difference;
        }
}

/* Requires: 0 <= slack, sign is 1 or -1.
 * Ensures: moved = limbs + sign * 2**slack modulo 2**(32 count). */
XL_FUNCTION void xl_limbs_move(uint32_t *moved, const uint32_t *limbs, int32_t count, int64_t slack, int64_t sign) {
    const int32_t place = (int32_t)(slack / 32);
    const int64_t step = sign * ((int64_t)1 << slack % 32);
    int64_t carry[XL_LANES] XL_ALIGNED;
    XL_EACH_LANE(w)
        carry[w] = 0;
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w) {
            const int64_t sum = (int64_t)limbs[j * XL_LANES + w] + carry[w] + (j == place ? step : 0);
            moved[j * XL_LANES + w] = (uint32_t)(uint64_t)sum;
            carry[w] = sum < 0 ? -1 : sum >> 32;
        }
}

/* Requires: |x|, |y| < 2**(32 count - 1).
 * Ensures: less[w] is all ones where x < y, else 0. */
XL_STAGE void xl_limbs_less(uint32_t less[XL_LANES], const uint32_t *x, const uint32_t *y, int32_t count) {
    uint32_t borrow[XL_LANES];
    XL_EACH_LANE(w)
        borrow[w] = 0;
    for (int32_t j = 0; j < count; ++j) {
        const uint32_t bias = j == count - 1 ? (uint32_t)1 << 31 : 0; /* orders the signed limb like unsigned ones */
        XL_EACH_LANE(w) {
            const uint32_t minuend = x[j * XL_LANES + w] ^ bias;
            const uint32_t partial = minuend - (y[j * XL_LANES + w] ^ bias);
            borrow[w] = (uint32_t)(partial > minuend) | (uint32_t)(partial - borrow[w] > partial);
        }
    }
    XL_EACH_LANE(w)
        less[w] = 0u - borrow[w];
}

/* Requires: nothing.
 * Ensures: signs[w] is all ones where x < 0, else 0. */
XL_FUNCTION void xl_limbs_sign(uint32_t *signs, const uint32_t *x, int32_t count) {
    XL_EACH_LANE(w)
        signs[w] = 0u - (x[(count - 1) * XL_LANES + w] >> 31);
}

/* Requires: choice[w] is 0 or all ones.
 * Ensures: result = choice ? x : y. */
XL_STAGE void xl_limbs_select(uint32_t *result, const uint32_t choice[XL_LANES], const uint32_t *x, const uint32_t *y,
                              int32_t count) {
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w) {
            const uint32_t other = y[j * XL_LANES + w];
            result[j * XL_LANES + w] = other ^ ((x[j * XL_LANES + w] ^ other) & choice[w]);
        }
}

#endif
