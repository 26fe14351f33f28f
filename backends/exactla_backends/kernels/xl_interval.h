/* The integers that interval products are made of, in limbs; see `exactla.core.interval` for the formulas. */
#ifndef XL_INTERVAL_H
#define XL_INTERVAL_H

#include "xl_limbs.h"

#define XL_MIDPOINT 0  /* m = lo + hi */
#define XL_MAGNITUDE 1 /* |m| */
#define XL_RADIUS 2    /* r = hi - lo */
#define XL_OUTER 3     /* |m| + r */
#define XL_RHO 4       /* sign(m) min(|m|, r) */
#define XL_ABS_RHO 5   /* min(|m|, r) */
#define XL_STRADDLES 6 /* 1 where 0 < |m| < r, else 0 */

/* Requires: first and second of `count` limbs, of magnitude below 2**(32 count - 3). With `endpoints` they are lo and
 * hi, else (lo + hi) / 2 and (hi - lo) / 2. pieces holds XL_PIECES integers of `count` limbs.
 * Ensures: the pieces, in the order above; the number of lanes with r < 0. */
XL_FUNCTION int64_t xl_interval_pieces(uint32_t *pieces, const uint32_t *first, const uint32_t *second, int32_t count,
                                       int32_t endpoints) {
    const int32_t size = count * XL_LANES;
    uint32_t *m = pieces + XL_MIDPOINT * size, *abs_m = pieces + XL_MAGNITUDE * size;
    uint32_t *r = pieces + XL_RADIUS * size, *outer = pieces + XL_OUTER * size, *rho = pieces + XL_RHO * size;
    uint32_t *abs_rho = pieces + XL_ABS_RHO * size, *straddles = pieces + XL_STRADDLES * size;
    uint32_t negative[XL_LANES], inside[XL_LANES], wrong[XL_LANES], nonzero[XL_LANES];
    int64_t invalid = 0;
    xl_limbs_add(m, first, endpoints ? second : first, count);
    if (endpoints)
        xl_limbs_subtract(r, second, first, count);
    else
        xl_limbs_add(r, second, second, count);
    xl_limbs_sign(negative, m, count);
    xl_limbs_negate(abs_m, m, count, negative);
    xl_limbs_less(inside, abs_m, r, count);
    xl_limbs_add(outer, abs_m, r, count);
    xl_limbs_select(abs_rho, inside, abs_m, r, count);
    xl_limbs_negate(rho, abs_rho, count, negative);
    XL_EACH_LANE(w)
        nonzero[w] = 0;
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w)
            nonzero[w] |= abs_m[j * XL_LANES + w] != 0;
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w)
            straddles[j * XL_LANES + w] = j == 0 ? inside[w] & nonzero[w] & 1 : 0;
    xl_limbs_sign(wrong, r, count);
    XL_EACH_LANE(w)
        invalid += (int64_t)(wrong[w] & 1);
    return invalid;
}

#endif
