/* The range of a row's exponents, entry by entry. */
#ifndef XL_CUDA_RANGES_H
#define XL_CUDA_RANGES_H
#include "words.h"

#define XL_NO_RANGE (1 << 30) /* what cells start as */

struct xl_range {
    int32_t lowest, minus_highest, nonfinite;
};

/* Ensures: as `xl_scan` of xl_scan.h, for one entry. */
XL_FUNCTION void xl_widen(xl_range &range, uint64_t word) {
    const xl_format f = {XL_FORMAT};
    if (f.kind == XL_KIND_FLOAT) {
        const int32_t lowest = xl_lowest_bit(word), highest = xl_exponent_of(word) + (int32_t)f.precision;
        const bool finite = xl_is_finite(word, &f), counts = finite & !xl_is_zero(word);
        range.lowest = min(range.lowest, counts ? lowest : XL_NO_RANGE);
        range.minus_highest = min(range.minus_highest, counts ? -highest : XL_NO_RANGE);
        range.nonfinite += !finite;
    } else {
        const uint64_t sign_bit = (uint64_t)(f.kind == XL_KIND_SIGNED) << (8 * f.octets - 1);
        const int64_t value = (int64_t)((word ^ sign_bit) - sign_bit);
        const uint64_t magnitude = f.kind == XL_KIND_SIGNED && value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value;
        range.lowest = min(range.lowest, 0);
        range.minus_highest = min(range.minus_highest, __clzll((int64_t)magnitude) - 64);
    }
}

/* Ensures: the range of what all lanes of the warp have seen. */
XL_FUNCTION void xl_join(xl_range &range) {
    range.lowest = __reduce_min_sync(0xffffffffu, range.lowest);
    range.minus_highest = __reduce_min_sync(0xffffffffu, range.minus_highest);
    range.nonfinite = __reduce_add_sync(0xffffffffu, range.nonfinite);
}

#endif
