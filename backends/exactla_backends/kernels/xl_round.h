/* Exact integers to encodings: one rounding of limbs * 2**exponent in each asked direction.
 *
 * The unit u is the bit of |s| that becomes the last bit of the significand: precision - 1 bits below the leading one,
 * but never below the format's least exponent. The encoding of floor(|s| / 2**u) units is contiguous through subnormals
 * into overflow, so the next value away from zero is the next encoding.
 */
#ifndef XL_ROUND_H
#define XL_ROUND_H

#include "xl_limbs.h"

#define XL_NEAREST 0
#define XL_DOWN 1
#define XL_UP 2
#define XL_ZERO 3
#define XL_ROUND_PAD 2 /* limbs below the number, which are 0 */

/* Magnitudes rounded towards zero, as encodings without sign that may pass the largest; the others are 0 or 1:
 * `next` is the bit below, `sticky` says whether any bit below that is set, `negative` and `zero` what the number is.
 */
typedef struct {
    uint64_t truncated[XL_LANES] XL_ALIGNED;
    uint64_t next[XL_LANES] XL_ALIGNED;
    uint64_t sticky[XL_LANES] XL_ALIGNED;
    uint64_t negative[XL_LANES] XL_ALIGNED;
    uint64_t zero[XL_LANES] XL_ALIGNED;
} xl_rounded;

/* Leading bits of magnitudes: window * 2**(position - 63) <= |s|, the top bit of the window set unless s = 0, and
 * sticky 1 where that is not an equality. */
typedef struct {
    uint64_t window[XL_LANES] XL_ALIGNED;
    int64_t position[XL_LANES] XL_ALIGNED;
    uint64_t sticky[XL_LANES] XL_ALIGNED;
} xl_leading;

#ifdef XL_VECTORS
#include "xl_round_opencl.h"
#else

/* Requires: XL_ROUND_PAD zero limbs below limbs[0].
 * Ensures: limbs hold |s|, `negative` all ones where s < 0; the leading bits. */
XL_STAGE void xl_lead(xl_leading *XL_RESTRICT lead, uint32_t *XL_RESTRICT limbs, int32_t count,
                      uint32_t *XL_RESTRICT negative) {
    uint32_t carry[XL_LANES] XL_ALIGNED, top[XL_LANES] XL_ALIGNED, bottom[XL_LANES] XL_ALIGNED;
    uint32_t high[XL_LANES] XL_ALIGNED, middle[XL_LANES] XL_ALIGNED, low[XL_LANES] XL_ALIGNED;
    uint32_t gap[XL_LANES] XL_ALIGNED;
    xl_limbs_sign(negative, limbs, count);
    XL_EACH_LANE(w) {
        carry[w] = negative[w] & 1;
        top[w] = 0;
        bottom[w] = (uint32_t)count;
    }
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w) {
            const uint32_t limb = (limbs[j * XL_LANES + w] ^ negative[w]) + carry[w];
            const uint32_t lower = bottom[w] < (uint32_t)j ? bottom[w] : (uint32_t)j;
            limbs[j * XL_LANES + w] = limb;
            carry[w] &= (uint32_t)(limb == 0);
            top[w] = limb == 0 ? top[w] : (uint32_t)j;
            bottom[w] = limb == 0 ? bottom[w] : lower;
        }
    XL_EACH_LANE(w) {
        const int32_t at = (int32_t)top[w] * XL_LANES + w;
        high[w] = limbs[at];
        middle[w] = limbs[at - XL_LANES];
        low[w] = limbs[at - 2 * XL_LANES];
    }
    XL_EACH_LANE(w) {
        uint32_t ones = high[w];
        ones |= ones >> 1;
        ones |= ones >> 2;
        ones |= ones >> 4;
        ones |= ones >> 8;
        ones |= ones >> 16;
        gap[w] = 31 & (32 - xl_popcount32(ones));
    }
    XL_EACH_LANE(w) {
        const uint64_t shift = gap[w];
        const uint64_t below = (uint64_t)low[w] << shift;
        lead->window[w] = (((uint64_t)high[w] << 32 | middle[w]) << shift) | below >> 32;
        lead->position[w] = 32 * (int64_t)top[w] + 31 - (int64_t)shift;
        lead->sticky[w] = (uint64_t)((below << 32) != 0) | (uint64_t)(bottom[w] + 2 < top[w]);
    }
}

/* Requires: the leading bits of |s|; `negative` all ones where s < 0.
 * Ensures: s * 2**exponent rounded towards zero; see xl_rounded. */
XL_STAGE void xl_round_lead(xl_rounded *XL_RESTRICT result, const xl_leading *XL_RESTRICT lead,
                            const uint32_t *XL_RESTRICT negative, const int64_t *XL_RESTRICT exponent,
                            const xl_format *format) {
    const xl_format f = *format;
    const int64_t least = 1 - f.bias - f.fraction_bits, beyond = (int64_t)1 << f.exponent_bits;
    XL_EACH_LANE(w) {
        const int64_t scale = lead->position[w] - 63 + exponent[w]; /* of the lowest bit of the window */
        const int64_t normal = scale + 64 - f.precision;
        const int64_t unit = normal > least ? normal : least;
        const int64_t guard = unit - scale - 1; /* 10 or more: precision is 53 at most */
        const uint64_t window = lead->window[w];
        const uint64_t kept = guard < 64 ? window >> (guard & 63) : 0;
        const uint64_t back = guard < 64 ? kept << (guard & 63) : 0;
        const int64_t field = unit - least < beyond ? unit - least : beyond;
        result->truncated[w] = ((uint64_t)field << f.fraction_bits) + (kept >> 1);
        result->next[w] = kept & 1;
        result->sticky[w] = lead->sticky[w] | (uint64_t)(back != window);
        result->negative[w] = negative[w] & 1;
        result->zero[w] = (uint64_t)(window == 0);
    }
}

/* Requires: rounding is one of XL_NEAREST, XL_DOWN, XL_UP, XL_ZERO.
 * Ensures: encodings of the numbers rounded once in that direction: exact zero is +0; overflow is the largest finite
 * value or, outward and to nearest, infinity, NaN where the format has none; -0 only where the format has it. */
XL_STAGE void xl_encode(uint64_t *XL_RESTRICT encodings, const xl_rounded *XL_RESTRICT x, int64_t rounding,
                        const xl_format *format) {
    const xl_format f = *format;
    const uint64_t nearest = (uint64_t)(rounding == XL_NEAREST);
    const uint64_t down = (uint64_t)(rounding == XL_DOWN), up = (uint64_t)(rounding == XL_UP);
    const uint64_t past_largest = f.has_infinity ? f.infinity : f.nan;
    const uint64_t unsigned_nan = (uint64_t)(f.has_infinity == 0), unsigned_zero = (uint64_t)(f.signed_zero == 0);
    XL_EACH_LANE(w) {
        const uint64_t truncated = x->truncated[w], next = x->next[w], negative = x->negative[w];
        const uint64_t inexact = next | x->sticky[w] | (uint64_t)(truncated > f.largest);
        const uint64_t outward = (down & negative) | (up & (negative ^ 1));
        const uint64_t away = (nearest & next & (x->sticky[w] | truncated)) | (outward & inexact);
        const uint64_t magnitude = truncated + away;
        const uint64_t over = (uint64_t)(magnitude > f.largest);
        const uint64_t leaves = over & (nearest | outward);
        const uint64_t finite = over ? f.largest : magnitude;
        const uint64_t vanishes = x->zero[w] | (unsigned_zero & (uint64_t)(magnitude == 0)) | (unsigned_nan & leaves);
        const uint64_t signs = negative & (vanishes ^ 1);
        encodings[w] = (x->zero[w] ? 0 : (leaves ? past_largest : finite)) | signs << (f.bits - 1);
    }
}

#endif

/* Requires: XL_ROUND_PAD zero limbs below limbs[0]; |s| < 2**(32 count - 1) or s = -2**(32 count - 1).
 * Ensures: s * 2**exponent rounded towards zero; see xl_rounded. The limbs are overwritten. */
XL_FUNCTION void xl_round_limbs(xl_rounded *XL_RESTRICT result, uint32_t *limbs, int32_t count,
                                const int64_t *XL_RESTRICT exponent, const xl_format *format) {
    uint32_t negative[XL_LANES] XL_ALIGNED;
    xl_leading lead;
    xl_lead(&lead, limbs, count, negative);
    xl_round_lead(result, &lead, negative, exponent, format);
}

#endif
