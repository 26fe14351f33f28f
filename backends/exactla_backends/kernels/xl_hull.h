/* What the sharp interval product exceeds the hull by, for one pair of entries that both straddle zero.
 *
 * The excess is 2 min(|m_a| r_b, r_a |m_b|) - 2 |m_a m_b|: at the lower end where m_a m_b > 0, at the upper one where
 * m_a m_b < 0; with a zero factor it is 0. See `exactla.core.interval`.
 */
#ifndef XL_HULL_H
#define XL_HULL_H

#include "xl_interval.h"

/* Requires: 0 < n, 0 < count.
 * Ensures: product = x * y, of n + count limbs, for magnitudes: x of n limbs, the same in all lanes, y of count. */
XL_STAGE void xl_limbs_multiply(uint32_t *XL_RESTRICT product, const uint32_t *XL_RESTRICT x, int32_t n,
                                const uint32_t *XL_RESTRICT y, int32_t count) {
    uint32_t carry[XL_LANES] XL_ALIGNED;
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w)
            product[j * XL_LANES + w] = 0;
    for (int32_t i = 0; i < n; ++i) {
        const uint64_t factor = x[i];
        XL_EACH_LANE(w)
            carry[w] = 0;
        for (int32_t j = 0; j < count; ++j)
            XL_EACH_LANE(w) {
                const int32_t at = (i + j) * XL_LANES + w;
                const uint64_t sum = factor * y[j * XL_LANES + w] + product[at] + carry[w];
                product[at] = (uint32_t)sum;
                carry[w] = (uint32_t)(sum >> 32);
            }
        XL_EACH_LANE(w)
            product[(i + count) * XL_LANES + w] = carry[w];
    }
}

/* The magnitudes |m| and r of one interval, or of a lane of them, in limbs. */
typedef struct {
    const uint32_t *abs_m;
    const uint32_t *r;
    int32_t limbs;
} xl_straddling;

/* Requires: a is the same in all lanes; straddles[w] is all ones or 0; opposite[w] is all ones where the signs of m_a
 * and m_b differ, else 0; room for 4 (a.limbs + b.limbs + 1) lane vectors in scratch.
 * Ensures: low and high, of a.limbs + b.limbs + 1 limbs, grow by the excesses of the lanes that straddle. */
XL_STAGE void xl_hull_add(uint32_t *low, uint32_t *high, const xl_straddling *a, const xl_straddling *b,
                          const uint32_t straddles[XL_LANES], const uint32_t opposite[XL_LANES], uint32_t *scratch) {
    const int32_t count = a->limbs + b->limbs + 1, size = count * XL_LANES;
    uint32_t *x = scratch, *y = scratch + size, *both = scratch + 2 * size, *masked = scratch + 3 * size;
    uint32_t smaller[XL_LANES];
    xl_limbs_multiply(x, a->abs_m, a->limbs, b->r, b->limbs);
    xl_limbs_multiply(y, a->r, a->limbs, b->abs_m, b->limbs);
    xl_limbs_multiply(both, a->abs_m, a->limbs, b->abs_m, b->limbs);
    XL_EACH_LANE(w)
        x[size - XL_LANES + w] = y[size - XL_LANES + w] = both[size - XL_LANES + w] = 0;
    xl_limbs_less(smaller, x, y, count);
    xl_limbs_select(x, smaller, x, y, count);
    xl_limbs_subtract(x, x, both, count);
    xl_limbs_add(x, x, x, count);
    for (int32_t i = 0; i < size; i += XL_LANES)
        XL_EACH_LANE(w) {
            const uint32_t limb = x[i + w] & straddles[w];
            masked[i + w] = limb & opposite[w];
            x[i + w] = limb & ~opposite[w];
        }
    xl_limbs_add(low, low, x, count);
    xl_limbs_add(high, high, masked, count);
}

#endif
