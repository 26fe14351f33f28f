/* Integers of XL_LIMBS limbs to encodings, of more than 32 bits with XL_WIDE. */
#ifndef XL_CUDA_ENCODINGS_H
#define XL_CUDA_ENCODINGS_H
#include "xl_round.h"

#if XL_WIDE
typedef uint64_t xl_encoding;
#else
typedef uint32_t xl_encoding;
#endif

/* The leading bits of |s|: window * 2**(position - 63) <= |s| with equality unless sticky; window is 0 for s = 0. */
struct xl_magnitude {
    uint64_t window;
    uint32_t rest; /* the 32 bits below the window */
    int32_t position;
    bool sticky, negative;
};

/* Ensures: as `xl_lead` of xl_round.h, without an array that is indexed by what it holds. */
XL_FUNCTION xl_magnitude xl_magnitude_of(const uint32_t limbs[XL_LIMBS]) {
    uint32_t high = 0, middle = 0, low = 0, lower = 0, below = 0, top = 0;
    uint32_t first = 0, second = 0, third = 0, fourth = 0, rest = 0;
    const uint32_t sign = (uint32_t)((int32_t)limbs[XL_LIMBS - 1] >> 31);
    uint64_t sum = sign & 1;
#pragma unroll
    for (int32_t j = 0; j < XL_LIMBS; ++j) {
        sum += limbs[j] ^ sign;
        const uint32_t limb = (uint32_t)sum;
        const bool holds = limb != 0;
        sum >>= 32;
        rest |= third; /* limbs up to j - 4 so far, and j - 3 with this */
        fourth = third;
        third = second;
        second = first;
        first = limb;
        high = holds ? limb : high;
        middle = holds ? second : middle;
        low = holds ? third : low;
        lower = holds ? fourth : lower;
        below = holds ? rest : below;
        top = holds ? 32 * j + 31 : top;
    }
    const uint32_t shift = __clz((int32_t)high) & 31;
    return {(uint64_t)__funnelshift_l(middle, high, shift) << 32 | __funnelshift_l(low, middle, shift),
            __funnelshift_l(lower, low, shift), (int32_t)(top - shift), (low << shift | below) != 0, sign != 0};
}

/* A magnitude rounded towards zero, as an encoding without sign that may pass the largest; see xl_rounded. */
struct xl_rounded8 {
    xl_encoding truncated;
    bool next, sticky, negative, zero;
    bool plain; /* a normal number, and its successor another */
};

/* Ensures: as `xl_round_lead` of xl_round.h; exponents of entries are far inside 32 bits. */
XL_FUNCTION xl_rounded8 xl_round_magnitude(const xl_magnitude &x, int32_t exponent) {
    const xl_format f = {XL_FORMAT};
    const int32_t least = (int32_t)(1 - f.bias - f.fraction_bits), beyond = 1 << f.exponent_bits;
    const int32_t scale = x.position - 63 + exponent, normal = scale + 64 - (int32_t)f.precision;
    const int32_t unit = normal > least ? normal : least, guard = unit - scale - 1;
    const bool inside = guard < 64;
    const xl_encoding kept = inside ? (xl_encoding)(x.window >> guard) : 0;
    const bool lost = inside ? x.window << (64 - guard) != 0 : x.window != 0; /* guard is 10 or more */
    const int32_t field = unit - least < beyond ? unit - least : beyond;
    return {((xl_encoding)field << f.fraction_bits) + (kept >> 1), (kept & 1) != 0, x.sticky || lost, x.negative,
            x.window == 0, false};
}

/* Ensures: as `xl_round_magnitude` where the result is plain, which it nearly always is. */
XL_FUNCTION xl_rounded8 xl_round_plain(const xl_magnitude &x, int32_t exponent) {
    const xl_format f = {XL_FORMAT};
    const int32_t least = (int32_t)(1 - f.bias - f.fraction_bits), beyond = 1 << f.exponent_bits;
    const int32_t field = x.position + 1 - (int32_t)f.precision + exponent - least;
    const uint64_t below = x.window << f.precision;
    const bool plain = x.window >> 63 != 0 && (uint32_t)field < (uint32_t)(beyond - 3);
    return {((xl_encoding)field << f.fraction_bits) + (xl_encoding)(x.window >> (64 - f.precision)), below >> 63 != 0,
            x.sticky || below << 1 != 0, x.negative, false, plain};
}

/* Ensures: as `xl_encode8` for a plain result. */
XL_FUNCTION xl_encoding xl_encode_plain(const xl_rounded8 &x, int32_t rounding) {
    const xl_format f = {XL_FORMAT};
    const bool outward = rounding == (x.negative ? XL_DOWN : XL_UP);
    const bool away = rounding == XL_NEAREST ? x.next && (x.sticky || (x.truncated & 1)) : outward && (x.next || x.sticky);
    return (x.truncated + (away ? 1 : 0)) | (xl_encoding)x.negative << (f.bits - 1);
}

/* Ensures: as `xl_encode` of xl_round.h. */
XL_FUNCTION xl_encoding xl_encode8(const xl_rounded8 &x, int32_t rounding) {
    const xl_format f = {XL_FORMAT};
    const xl_encoding largest = (xl_encoding)f.largest, past_largest = (xl_encoding)(f.has_infinity ? f.infinity : f.nan);
    const bool nearest = rounding == XL_NEAREST, outward = rounding == (x.negative ? XL_DOWN : XL_UP);
    const bool inexact = x.next || x.sticky || x.truncated > largest;
    const bool away = nearest ? x.next && (x.sticky || (x.truncated & 1)) : outward && inexact;
    const xl_encoding magnitude = x.truncated + (away ? 1 : 0);
    const bool over = magnitude > largest, leaves = over && (nearest || outward);
    const bool vanishes = x.zero || (!f.signed_zero && magnitude == 0) || (!f.has_infinity && leaves);
    const xl_encoding unsigned_part = x.zero ? 0 : leaves ? past_largest : over ? largest : magnitude;
    return unsigned_part | (xl_encoding)(x.negative && !vanishes) << (f.bits - 1);
}

#endif
