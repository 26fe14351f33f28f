/* Kernels for interval products: the integers that they are made of, and what the sharp product exceeds the hull by. */
#ifndef DEVICE_INTERVALS_H
#define DEVICE_INTERVALS_H

#include "xl_device_entries.h"
#include "xl_hull.h"

/* Pieces of intervals: limb j of piece i of entry (stack, row, k) is at (((i * limbs + j) * stacks + stack) * rows +
 * row) * depth + k. */
XL_FUNCTION int64_t xl_piece_place(xl_sizes x, int64_t limbs, int64_t piece, int64_t stack, int64_t row, int64_t k) {
    return ((piece * limbs * x[XL_STACKS] + stack) * x[XL_ROWS] + row) * x[XL_DEPTH] + k;
}

/* Pieces of the intervals [first, second], or first -+ second where not `endpoints`; the operands share their rows'
 * exponents. Counts entries that break their scan, and those with r < 0. */
XL_KERNEL xl_kernel_interval_pieces(xl_bytes first_data, xl_sizes x1, xl_bytes second_data, xl_sizes x2,
                                    xl_sizes exponents, int64_t endpoints, int64_t limbs, XL_GLOBAL uint32_t *pieces,
                                    XL_GLOBAL int32_t *broken_counts, int64_t broken_at,
                                    XL_GLOBAL int32_t *invalid_counts, int64_t invalid_at) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, depth = x1[XL_DEPTH];
    const int64_t limb_stride = x1[XL_STACKS] * x1[XL_ROWS] * depth;
    const int32_t count = XL_COUNT(limbs);
    uint32_t a[XL_MAX_LIMBS * XL_LANES], b[XL_MAX_LIMBS * XL_LANES], found[XL_PIECES * XL_MAX_LIMBS * XL_LANES];
    uint32_t power[XL_LANES];
    int64_t broken = 0, invalid = 0;
    if (first >= depth)
        return;
    XL_EACH(stack, 2, x1[XL_STACKS])
        XL_EACH(row, 1, x1[XL_ROWS]) {
            const int64_t exponent = xl_device_exponent(exponents, x1, stack, row);
            broken += xl_device_limbs(a, count, first_data, x1, exponent, stack, row, first, power, 0);
            broken += xl_device_limbs(b, count, second_data, x2, exponent, stack, row, first, power, 0);
            invalid += xl_interval_pieces(found, a, b, count, (int32_t)endpoints);
            for (int32_t i = 0; i < XL_PIECES; ++i) {
                XL_GLOBAL uint32_t *to = pieces + xl_piece_place(x1, limbs, i, stack, row, first);
                for (int32_t j = 0; j < count; ++j)
                    XL_EACH_LANE(w)
                        if (first + w < depth)
                            to[j * limb_stride + w] = found[(i * count + j) * XL_LANES + w];
            }
        }
    if (broken != 0)
        XL_ATOMIC_ADD(broken_counts + broken_at, (int32_t)broken);
    if (invalid != 0)
        XL_ATOMIC_ADD(invalid_counts + invalid_at, (int32_t)invalid);
}

/* Ensures: the limbs of a piece of entry k of a row, and of the lanes behind it. */
XL_FUNCTION void xl_device_piece(uint32_t *to, XL_GLOBAL const uint32_t *pieces, xl_sizes x, int32_t limbs,
                                 int64_t piece, int64_t stack, int64_t row, int64_t k) {
    XL_GLOBAL const uint32_t *from = pieces + xl_piece_place(x, limbs, piece, stack, row, k);
    const int64_t stride = x[XL_STACKS] * x[XL_ROWS] * x[XL_DEPTH];
    for (int32_t j = 0; j < limbs; ++j)
        to[j] = from[j * stride];
}

/* What the lower and the upper end of the sharp product exceed the hull by, summed over k: limb j of end e of result
 * (pair, row, column) is at excess[(((e * limbs + j) * pairs + pair) * rows + row) * columns + column], where limbs are
 * left_limbs + right_limbs + 1. The stacks of pair t are places[t] and places[pairs + t]. Written for XL_LANES 1. */
XL_KERNEL xl_kernel_hull(XL_GLOBAL const uint32_t *left, xl_sizes x, int64_t left_limbs,
                         XL_GLOBAL const uint32_t *right, xl_sizes y, int64_t right_limbs, xl_sizes places,
                         int64_t pairs, XL_GLOBAL uint32_t *excess) {
    const int64_t column = XL_GLOBAL_INDEX(0), rows = x[XL_ROWS], columns = y[XL_ROWS];
    const int32_t n = (int32_t)left_limbs, m = (int32_t)right_limbs, count = n + m + 1;
    uint32_t abs_a[XL_MAX_LIMBS], r_a[XL_MAX_LIMBS], abs_b[XL_MAX_LIMBS], r_b[XL_MAX_LIMBS];
    uint32_t low[XL_MAX_LIMBS], high[XL_MAX_LIMBS], scratch[4 * XL_MAX_LIMBS];
    const xl_straddling a = {abs_a, r_a, n}, b = {abs_b, r_b, m};
    if (column >= columns)
        return;
    XL_EACH(pair, 2, pairs)
        XL_EACH(row, 1, rows) {
            const int64_t i = places[pair], j = places[pairs + pair];
            for (int32_t l = 0; l < count; ++l)
                low[l] = high[l] = 0;
            for (int64_t k = 0; k < x[XL_DEPTH]; ++k) {
                const uint32_t straddles[1] = {
                    0u - (left[xl_piece_place(x, n, XL_STRADDLES, i, row, k)] &
                          right[xl_piece_place(y, m, XL_STRADDLES, j, column, k)])};
                uint32_t opposite[1];
                if (straddles[0] == 0)
                    continue;
                xl_device_piece(scratch, left, x, n, XL_MIDPOINT, i, row, k);
                opposite[0] = scratch[n - 1];
                xl_device_piece(scratch, right, y, m, XL_MIDPOINT, j, column, k);
                opposite[0] = 0u - ((opposite[0] ^ scratch[m - 1]) >> 31);
                xl_device_piece(abs_a, left, x, n, XL_MAGNITUDE, i, row, k);
                xl_device_piece(r_a, left, x, n, XL_RADIUS, i, row, k);
                xl_device_piece(abs_b, right, y, m, XL_MAGNITUDE, j, column, k);
                xl_device_piece(r_b, right, y, m, XL_RADIUS, j, column, k);
                xl_hull_add(low, high, &a, &b, straddles, opposite, scratch);
            }
            for (int32_t l = 0; l < count; ++l) {
                excess[((l * pairs + pair) * rows + row) * columns + column] = low[l];
                excess[(((count + l) * pairs + pair) * rows + row) * columns + column] = high[l];
            }
        }
}

#endif
