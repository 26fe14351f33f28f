/* The steps of rounding, in vectors; xl_round.h says what the functions ensure. */
#ifndef XL_ROUND_OPENCL_H
#define XL_ROUND_OPENCL_H

/* Ensures: 1 where the lane of a comparison is true, else 0. */
#define xl_bits_of(comparison) (as_ulong16(comparison) & (ulong16)(1))

XL_STAGE void xl_lead(xl_leading *XL_RESTRICT lead, uint32_t *XL_RESTRICT limbs, int32_t count,
                      uint32_t *XL_RESTRICT negative) {
    const uint16 flip = as_uint16(as_int16(vload16(count - 1, limbs)) >> (int16)(31));
    uint16 carry = flip & (uint16)(1), top = 0, bottom = (uint16)(count);
    uint16 high = 0, middle = 0, low = 0, before = 0, before_that = 0;
    for (int32_t j = 0; j < count; ++j) {
        const uint16 limb = (vload16(j, limbs) ^ flip) + carry, place = (uint16)(j);
        const int16 zero = limb == (uint16)(0);
        carry &= as_uint16(zero);
        top = zero ? top : place;
        bottom = zero ? bottom : min(bottom, place);
        high = zero ? high : limb;
        middle = zero ? middle : before;
        low = zero ? low : before_that;
        before_that = before;
        before = limb;
        vstore16(limb, j, limbs);
    }
    const ulong16 shift = convert_ulong16(clz(high) & (uint16)(31));
    const ulong16 below = convert_ulong16(low) << shift;
    const ulong16 upper = convert_ulong16(high) << (ulong16)(32) | convert_ulong16(middle);
    const ulong16 far = convert_ulong16(as_uint16(bottom + (uint16)(2) < top) & (uint16)(1));
    vstore16(flip, 0, negative);
    vstore16(upper << shift | below >> (ulong16)(32), 0, lead->window);
    vstore16(as_long16(convert_ulong16(top) * (ulong16)(32) + (ulong16)(31) - shift), 0, lead->position);
    vstore16(xl_bits_of(below << (ulong16)(32) != (ulong16)(0)) | far, 0, lead->sticky);
}

XL_STAGE void xl_round_lead(xl_rounded *XL_RESTRICT result, const xl_leading *XL_RESTRICT lead,
                            const uint32_t *XL_RESTRICT negative, const int64_t *XL_RESTRICT exponent,
                            const xl_format *format) {
    const xl_format f = *format;
    const long16 least = (long16)(1 - f.bias - f.fraction_bits), beyond = (long16)((int64_t)1 << f.exponent_bits);
    const long16 scale = vload16(0, lead->position) - (long16)(63) + vload16(0, exponent);
    const long16 unit = max(scale + (long16)(64 - f.precision), least);
    const long16 guard = unit - scale - (long16)(1);
    const ulong16 shift = as_ulong16(guard & (long16)(63)), window = vload16(0, lead->window);
    const ulong16 kept = window >> shift & as_ulong16(guard < (long16)(64));
    const ulong16 field = as_ulong16(min(unit - least, beyond));
    vstore16((field << (ulong16)(f.fraction_bits)) + (kept >> (ulong16)(1)), 0, result->truncated);
    vstore16(kept & (ulong16)(1), 0, result->next);
    vstore16(vload16(0, lead->sticky) | xl_bits_of(kept << shift != window), 0, result->sticky);
    vstore16(convert_ulong16(vload16(0, negative) & (uint16)(1)), 0, result->negative);
    vstore16(xl_bits_of(window == (ulong16)(0)), 0, result->zero);
}

XL_STAGE void xl_encode(uint64_t *XL_RESTRICT encodings, const xl_rounded *XL_RESTRICT x, int64_t rounding,
                        const xl_format *format) {
    const xl_format f = *format;
    const ulong16 one = (ulong16)(1), largest = (ulong16)(f.largest);
    const ulong16 nearest = (ulong16)(rounding == XL_NEAREST);
    const ulong16 down = (ulong16)(rounding == XL_DOWN), up = (ulong16)(rounding == XL_UP);
    const ulong16 unsigned_nan = (ulong16)(f.has_infinity == 0), unsigned_zero = (ulong16)(f.signed_zero == 0);
    const ulong16 truncated = vload16(0, x->truncated), next = vload16(0, x->next), sticky = vload16(0, x->sticky);
    const ulong16 negative = vload16(0, x->negative), zero = vload16(0, x->zero);
    const ulong16 inexact = next | sticky | xl_bits_of(truncated > largest);
    const ulong16 outward = (down & negative) | (up & (negative ^ one));
    const ulong16 away = (nearest & next & (sticky | truncated)) | (outward & inexact);
    const ulong16 magnitude = truncated + away;
    const ulong16 leaves = xl_bits_of(magnitude > largest) & (nearest | outward);
    const ulong16 vanishes =
        zero | (unsigned_zero & xl_bits_of(magnitude == (ulong16)(0))) | (unsigned_nan & leaves);
    const ulong16 past_largest = (ulong16)(f.has_infinity ? f.infinity : f.nan);
    const ulong16 some = leaves != (ulong16)(0) ? past_largest : min(magnitude, largest);
    const ulong16 signs = negative & (vanishes ^ one);
    vstore16((some & (zero - one)) | signs << (ulong16)(f.bits - 1), 0, encodings);
}

#endif
