/* Kernels that look over operands: ranges of exponents, and the first entry that must not be there. */
#ifndef DEVICE_SCAN_H
#define DEVICE_SCAN_H

#include "xl_device.h"
#include "xl_scan.h"

#define XL_NO_RANGE ((int32_t)1 << 30) /* what the cells of ranges start as */

/* cells[i] = 0 for i < zeros, `value` for zeros <= i < count. */
XL_KERNEL xl_kernel_fill(XL_GLOBAL int32_t *cells, int64_t zeros, int64_t count, int64_t value) {
    XL_EACH(i, 0, count)
        cells[i] = i < zeros ? 0 : (int32_t)value;
}

/* Lowers the cells of each row to its lowest exponent, and `rows` of all stacks further on to the highest, negated;
 * adds the entries that are not finite to one cell. One work item takes entries first, first + step, ... */
XL_KERNEL xl_kernel_scan(xl_bytes data, xl_sizes x, int64_t step, XL_GLOBAL int32_t *cells, int64_t ranges_at,
                         int64_t nonfinite_at) {
    const int64_t start = XL_GLOBAL_INDEX(0) * XL_LANES, depth = x[XL_DEPTH], rows = x[XL_ROWS], stacks = x[XL_STACKS];
    const xl_format format = xl_format_read(x + XL_FORMAT);
    uint64_t words[XL_LANES];
    xl_ranges ranges;
    if (start >= step || start >= depth)
        return;
    XL_EACH(stack, 2, stacks)
        XL_EACH(row, 1, rows) {
            XL_GLOBAL int32_t *lowest = cells + ranges_at + stack * rows + row, *highest = lowest + stacks * rows;
            int64_t low = XL_NONE, high = -XL_NONE, nonfinite = 0;
            xl_ranges_clear(&ranges);
            if (x[XL_LIMBS] != 0) {
                ranges.lowest[0] = 0;
                ranges.highest[0] = x[XL_BITS];
            } else
                for (int64_t first = start; first < depth; first += step) {
                    xl_device_words(words, data, x, format.octets, stack, row, first);
                    xl_scan(&ranges, words, &format);
                }
            XL_EACH_LANE(w) {
                low = ranges.lowest[w] < low ? ranges.lowest[w] : low;
                high = ranges.highest[w] > high ? ranges.highest[w] : high;
                nonfinite += ranges.nonfinite[w];
            }
            if (low < XL_NONE)
                XL_ATOMIC_MIN(lowest, (int32_t)low);
            if (high > -XL_NONE)
                XL_ATOMIC_MIN(highest, -(int32_t)high);
            if (nonfinite != 0)
                XL_ATOMIC_ADD(cells + nonfinite_at, (int32_t)nonfinite);
        }
}

/* Exponents of `rows` rows, and their tops behind them, from the cells of `scan`; raises one cell to their distance, and
 * adds it to the next. */
XL_KERNEL xl_kernel_exponents(XL_GLOBAL int32_t *cells, int64_t ranges_at, int64_t rows, int64_t bits_at,
                              XL_GLOBAL int64_t *exponents) {
    XL_EACH(row, 0, rows) {
        const int32_t lowest = cells[ranges_at + row], highest = -cells[ranges_at + rows + row];
        const int32_t empty = highest == -XL_NO_RANGE;
        exponents[row] = empty ? 0 : lowest;
        exponents[rows + row] = empty ? 0 : highest;
        if (!empty && highest > lowest) {
            XL_ATOMIC_MAX(cells + bits_at, highest - lowest);
            XL_ATOMIC_ADD(cells + bits_at + 1, highest - lowest);
        }
    }
}

/* raised[i] = the larger of exponent i and top i - bits, and behind them the tops. */
XL_KERNEL xl_kernel_truncate(xl_sizes exponents, xl_sizes tops, int64_t exponent_at, int64_t exponent_stride,
                             int64_t top_at, int64_t top_stride, int64_t stacks, int64_t rows, int64_t bits,
                             XL_GLOBAL int64_t *raised) {
    XL_EACH(stack, 1, stacks)
        XL_EACH(row, 0, rows) {
            const int64_t exponent = exponents[exponent_at + stack * exponent_stride + row];
            const int64_t top = tops[top_at + stack * top_stride + row];
            raised[stack * rows + row] = exponent > top - bits ? exponent : top - bits;
            raised[(stacks + stack) * rows + row] = top;
        }
}

/* Lowers the cell of each row to the first k with a NaN or an infinity. */
XL_KERNEL xl_kernel_first_nonfinite(xl_bytes data, xl_sizes x, XL_GLOBAL int32_t *cells) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES;
    const xl_format format = xl_format_read(x + XL_FORMAT);
    uint64_t words[XL_LANES];
    if (first >= x[XL_DEPTH])
        return;
    XL_EACH(stack, 2, x[XL_STACKS])
        XL_EACH(row, 1, x[XL_ROWS]) {
            xl_device_words(words, data, x, format.octets, stack, row, first);
            for (int32_t w = 0; w < XL_LANES; ++w)
                if (first + w < x[XL_DEPTH] && xl_is_finite(words[w], &format) == 0) {
                    XL_ATOMIC_MIN(cells + stack * x[XL_ROWS] + row, (int32_t)(first + w));
                    break;
                }
        }
}

/* Lowers the cell of each row to the first k with a negative integer of limbs. */
XL_KERNEL xl_kernel_first_negative(xl_bytes data, xl_sizes x, XL_GLOBAL int32_t *cells) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES;
    uint64_t words[XL_LANES];
    if (first >= x[XL_DEPTH])
        return;
    XL_EACH(stack, 2, x[XL_STACKS])
        XL_EACH(row, 1, x[XL_ROWS]) {
            xl_device_words(words, data + (x[XL_LIMBS] - 1) * x[XL_LIMB_STRIDE], x, 4, stack, row, first);
            for (int32_t w = 0; w < XL_LANES; ++w)
                if (words[w] >> 31 != 0) {
                    XL_ATOMIC_MIN(cells + stack * x[XL_ROWS] + row, (int32_t)(first + w));
                    break;
                }
        }
}

#endif
