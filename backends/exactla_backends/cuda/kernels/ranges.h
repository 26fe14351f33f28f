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
        const uint64_t fraction = word & xl_ones(f.fraction_bits);
        const uint32_t field = (uint32_t)(word >> f.fraction_bits & xl_ones(f.exponent_bits));
        const uint64_t significand = fraction | (uint64_t)(field != 0) << f.fraction_bits;
        const int32_t exponent = (int32_t)(field != 0 ? field : 1) - (int32_t)(f.bias + f.fraction_bits);
        if (!xl_is_finite(word, &f))
            ++range.nonfinite;
        else if (significand != 0) {
            const int32_t bottom = exponent + (f.fraction_bits < 31 ? __ffs((int32_t)significand) : __ffsll(significand)) - 1;
            range.lowest = min(range.lowest, bottom);
            range.minus_highest = min(range.minus_highest, -(exponent + (int32_t)f.precision));
        }
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
