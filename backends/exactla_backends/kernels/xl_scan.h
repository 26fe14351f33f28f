/* Looks over entries before planning: where their lowest and highest bits lie. */
#ifndef XL_SCAN_H
#define XL_SCAN_H

#include "xl_format.h"

/* Requires: nothing.
 * Ensures: the position of the lowest one of x, 64 for 0. */
XL_FUNCTION uint64_t xl_trailing_zeros(uint64_t x) {
    return xl_popcount64((x & ((uint64_t)0 - x)) - 1);
}

/* Requires: nothing.
 * Ensures: the number of bits of x, 0 for 0. */
XL_FUNCTION uint64_t xl_bit_length(uint64_t x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    x |= x >> 32;
    return xl_popcount64(x);
}

/* Ranges of exponents, lane by lane, and the number of entries that are not finite. */
typedef struct {
    int64_t lowest[XL_LANES] XL_ALIGNED;
    int64_t highest[XL_LANES] XL_ALIGNED;
    int64_t nonfinite[XL_LANES] XL_ALIGNED;
} xl_ranges;

XL_FUNCTION void xl_ranges_clear(xl_ranges *ranges) {
    XL_EACH_LANE(w) {
        ranges->lowest[w] = XL_NONE;
        ranges->highest[w] = -XL_NONE;
        ranges->nonfinite[w] = 0;
    }
}

#ifdef XL_VECTORS
#include "xl_scan_opencl.h"
#else

/* Requires: words[w] are encodings of a float format, and these are their entries.
 * Ensures: as xl_scan. */
XL_FUNCTION void xl_scan_floats(xl_ranges *ranges, const xl_entries *x, const uint64_t words[XL_LANES],
                                const xl_format *format) {
    const xl_format f = *format;
    XL_EACH_LANE(w) {
        const int64_t zero = x->significand[w] == 0;
        const int64_t bottom = zero ? XL_NONE : x->exponent[w] + (int64_t)xl_trailing_zeros(x->significand[w]);
        const int64_t top = zero ? -XL_NONE : x->exponent[w] + f.precision;
        ranges->lowest[w] = bottom < ranges->lowest[w] ? bottom : ranges->lowest[w];
        ranges->highest[w] = top > ranges->highest[w] ? top : ranges->highest[w];
        ranges->nonfinite[w] += (int64_t)(1 - xl_is_finite(words[w], &f));
    }
}

#endif

/* Requires: words[w] are encodings of a float or integer format.
 * Ensures: for each entry that is not 0, lowest <= exponent of its lowest one, and highest >= exponent + precision for
 * a float, >= bits of its magnitude for an integer; lowest <= 0 <= highest for any integer; nonfinite counts. */
XL_STAGE void xl_scan(xl_ranges *ranges, const uint64_t words[XL_LANES], const xl_format *format) {
    xl_entries x;
    xl_decode(&x, words, format);
    if (format->kind == XL_KIND_FLOAT) {
        xl_scan_floats(ranges, &x, words, format);
    } else {
        XL_EACH_LANE(w) {
            const int64_t top = (int64_t)xl_bit_length(x.significand[w]);
            ranges->lowest[w] = ranges->lowest[w] > 0 ? 0 : ranges->lowest[w];
            ranges->highest[w] = top > ranges->highest[w] ? top : ranges->highest[w];
        }
    }
}

#endif
