/* What the kernels of a device share: how buffers are described to them, and how a work item loads and stores.
 *
 * A work item takes XL_LANES entries that follow each other along axis 0 of the grid; along the axes 1 and 2 it steps
 * by the size of the grid. Arrays of constants are those of `tables.py`; descriptions are arrays of 64-bit integers,
 * in the order below. XL_MAX_LIMBS are the limbs of the largest integers; with XL_FIXED all have XL_FIXED_LIMBS.
 */
#ifndef XL_DEVICE_H
#define XL_DEVICE_H

#include "xl_limbs.h"

/* An operand [stacks, rows, depth]: where its entries lie, in octets, and where its rows' exponents, in elements. */
#define XL_STACKS 0
#define XL_ROWS 1
#define XL_DEPTH 2
#define XL_OFFSET 3
#define XL_STACK_STRIDE 4
#define XL_ROW_STRIDE 5
#define XL_DEPTH_STRIDE 6
#define XL_LIMB_STRIDE 7
#define XL_LIMBS 8 /* of integers of limbs, else 0 */
#define XL_BITS 9
#define XL_CHECKS 10
#define XL_EXPONENTS 11
#define XL_EXPONENT_STRIDE 12
#define XL_FORMAT 13 /* and the fields from there on */

/* XL_CHECKS: what breaks a scan, and integers of limbs that are in units of their rows' exponents already. */
#define XL_EXPECT_FINITE 1
#define XL_MAY_DROP 2
#define XL_IN_UNITS 4

#define XL_EACH(i, axis, count) \
    for (int64_t i = XL_GLOBAL_INDEX(axis); i < (count); i += XL_GLOBAL_SIZE(axis))

#ifdef XL_FIXED
#define XL_COUNT(limbs) XL_FIXED_LIMBS
#else
#define XL_COUNT(limbs) ((int32_t)(limbs))
#endif

typedef XL_GLOBAL const int64_t *xl_sizes;
typedef XL_GLOBAL const uint8_t *xl_bytes;

XL_FUNCTION uint64_t xl_device_load(xl_bytes from, int64_t octets) {
    if (octets == 1)
        return *from;
    if (octets == 2)
        return *(XL_GLOBAL const uint16_t *)from;
    if (octets == 4)
        return *(XL_GLOBAL const uint32_t *)from;
    return *(XL_GLOBAL const uint64_t *)from;
}

XL_FUNCTION void xl_device_store(XL_GLOBAL uint8_t *to, int64_t octets, uint64_t word) {
    if (octets == 1)
        *to = (uint8_t)word;
    else if (octets == 2)
        *(XL_GLOBAL uint16_t *)to = (uint16_t)word;
    else if (octets == 4)
        *(XL_GLOBAL uint32_t *)to = (uint32_t)word;
    else
        *(XL_GLOBAL uint64_t *)to = word;
}

/* Requires: `to` is aligned to the lanes.
 * Ensures: to[w] = values[w]. */
XL_FUNCTION void xl_device_store_octets(XL_GLOBAL int8_t *to, const int8_t values[XL_LANES]) {
#if XL_LANES == 4
    *(XL_GLOBAL uint32_t *)to = (uint32_t)(uint8_t)values[0] | (uint32_t)(uint8_t)values[1] << 8 |
                                (uint32_t)(uint8_t)values[2] << 16 | (uint32_t)(uint8_t)values[3] << 24;
#elif XL_LANES == 16
    vstore16(vload16(0, values), 0, to);
#else
    XL_EACH_LANE(w)
        to[w] = values[w];
#endif
}

/* Requires: `from` is aligned to the lanes.
 * Ensures: values[w] = from[w]. */
XL_FUNCTION void xl_device_load_octets(int8_t values[XL_LANES], XL_GLOBAL const int8_t *from) {
#if XL_LANES == 4
    const uint32_t word = *(XL_GLOBAL const uint32_t *)from;
    XL_EACH_LANE(w)
        values[w] = (int8_t)(word >> 8 * w & 255);
#elif XL_LANES == 16
    vstore16(vload16(0, from), 0, values);
#else
    XL_EACH_LANE(w)
        values[w] = from[w];
#endif
}

/* Ensures: words first + w of a row, `octets` each, 0 past its end. */
XL_FUNCTION void xl_device_words(uint64_t words[XL_LANES], xl_bytes data, xl_sizes x, int64_t octets, int64_t stack,
                                 int64_t row, int64_t first) {
    const int64_t step = x[XL_DEPTH_STRIDE], left = x[XL_DEPTH] - first;
    xl_bytes from = data + x[XL_OFFSET] + stack * x[XL_STACK_STRIDE] + row * x[XL_ROW_STRIDE] + first * step;
#ifdef XL_VECTORS
    if (octets == 8 && step == 8 && left >= XL_LANES) {
        vstore16(vload16(0, (XL_GLOBAL const uint64_t *)from), 0, words);
        return;
    }
#endif
    XL_EACH_LANE(w)
        words[w] = w < left ? xl_device_load(from + w * step, octets) : 0;
}

XL_FUNCTION int64_t xl_device_exponent(xl_sizes exponents, xl_sizes x, int64_t stack, int64_t row) {
    return exponents[x[XL_EXPONENTS] + stack * x[XL_EXPONENT_STRIDE] + row];
}

/* Ensures: limbs of the integers of limbs in a row, 0 past its end. */
XL_FUNCTION void xl_device_given_limbs(uint32_t *limbs, int32_t count, xl_bytes data, xl_sizes x, int64_t exponent,
                                       int64_t stack, int64_t row, int64_t first) {
    const int32_t given = x[XL_LIMBS] < count ? (int32_t)x[XL_LIMBS] : count;
    uint64_t words[XL_LANES];
    int64_t shift[XL_LANES];
    for (int32_t j = 0; j < given; ++j) {
        xl_device_words(words, data + j * x[XL_LIMB_STRIDE], x, 4, stack, row, first);
        XL_EACH_LANE(w)
            limbs[j * XL_LANES + w] = (uint32_t)words[w];
    }
    XL_EACH_LANE(w)
        shift[w] = exponent;
    xl_limbs_extend(limbs, given, count);
    if ((x[XL_CHECKS] & XL_IN_UNITS) == 0)
        xl_limbs_shift(limbs, count, shift);
}

#endif
