/* Products of residue planes for any device, each reduced by its modulus where it is made.
 *
 * A work item makes XL_TILE_ROWS results of one column. The left operand is read by rows, the same words in all work
 * items of a group; the right one was packed, so that neighbouring work items read neighbouring words. Bytes of the left
 * operand become unsigned by adding 128, and the sums of the right one, times 128, are taken off again.
 */
#include "xl_port.h"

/* Words of four residues along the inner dimension, to the other side of the matrix: [planes, depth / 4, columns]. */
XL_KERNEL xl_kernel_pack(XL_GLOBAL const uint32_t *from, int64_t words, int64_t columns, int64_t padded_columns,
                         XL_GLOBAL uint32_t *to) {
    const int64_t column = XL_GLOBAL_INDEX(0), word = XL_GLOBAL_INDEX(1), plane = XL_GLOBAL_INDEX(2);
    if (column < padded_columns)
        to[(plane * words + word) * padded_columns + column] =
            column < columns ? from[(plane * columns + column) * words + word] : 0;
}

#if XL_DIGITS
typedef int16_t xl_result;
#else
typedef int8_t xl_result;
#endif

#define XL_CONSTANTS 8 /* of a modulus: itself, floor(2**32 / m), 2**31 mod m, 2**16 mod m, 2**8 mod m */
#define XL_LARGEST_STEP (XL_DIGITS ? 8192 : 16384) /* words whose products have sums below 2**31 */

/* Requires: nothing.
 * Ensures: congruent to sum, in [0, m). */
XL_FUNCTION uint32_t xl_residue(int32_t sum, XL_GLOBAL const uint32_t *c) {
    const uint32_t found = xl_reduce32((uint32_t)sum ^ (uint32_t)1 << 31, c[0], c[1]) + c[0] - c[2];
    return found < c[0] ? found : found - c[0];
}

/* Adds the sums over words [begin, end) to the totals, reduced. */
XL_FUNCTION void xl_add_step(uint32_t totals[XL_TILE_ROWS], XL_GLOBAL const uint32_t *const rows[XL_TILE_ROWS],
                             XL_GLOBAL const uint32_t *right, int64_t columns, int64_t begin, int64_t end,
                             int64_t left_digit, int64_t right_digit, uint32_t negative,
                             XL_GLOBAL const uint32_t *c) {
    const uint32_t flip = 0x80808080u;
#if XL_DIGITS
    int32_t high[XL_TILE_ROWS], middle[XL_TILE_ROWS], low[XL_TILE_ROWS], high_bias = 0, low_bias = 0;
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
        high[i] = middle[i] = low[i] = 0;
    for (int64_t k = begin; k < end; ++k) {
        const uint32_t b_high = right[k * columns], b_low = right[right_digit + k * columns];
        high_bias = xl_dot4(flip, b_high, high_bias);
        low_bias = xl_dot4(flip, b_low, low_bias);
#pragma unroll
        for (int32_t i = 0; i < XL_TILE_ROWS; ++i) {
            const uint32_t a_high = rows[i][k] ^ flip, a_low = rows[i][left_digit + k] ^ flip;
            high[i] = xl_dot4(a_high, b_high, high[i]);
            middle[i] = xl_dot4(a_low, b_high, xl_dot4(a_high, b_low, middle[i]));
            low[i] = xl_dot4(a_low, b_low, low[i]);
        }
    }
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i) {
        const uint32_t h = xl_reduce32(xl_residue(high[i] - high_bias, c) * c[3], c[0], c[1]);
        const uint32_t m = xl_reduce32(xl_residue(middle[i] - high_bias - low_bias, c) * c[4], c[0], c[1]);
        const uint32_t found = xl_reduce32(h + m + xl_residue(low[i] - low_bias, c), c[0], c[1]);
        totals[i] = xl_reduce32(totals[i] + (negative ? c[0] - found : found), c[0], c[1]);
    }
#else
    int32_t sums[XL_TILE_ROWS], bias = 0;
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
        sums[i] = 0;
    for (int64_t k = begin; k < end; ++k) {
        const uint32_t b = right[k * columns];
        bias = xl_dot4(flip, b, bias);
#pragma unroll
        for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
            sums[i] = xl_dot4(rows[i][k] ^ flip, b, sums[i]);
    }
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i) {
        const uint32_t found = xl_residue(sums[i] - bias, c);
        totals[i] = xl_reduce32(totals[i] + (negative ? c[0] - found : found), c[0], c[1]);
    }
#endif
}

/* Planes [pairs, moduli, rows, columns] of the product, or with `add` of the sum of it and what the planes hold; the
 * columns are padded. Axis 0 runs over columns, axis 1 over rows, XL_TILE_ROWS a work item, axis 2 over pairs and
 * moduli. The matrices of pair t are places[t] and places[pairs + t]. */
XL_KERNEL xl_kernel_multiply(XL_GLOBAL const uint32_t *left, XL_GLOBAL const uint32_t *right,
                             XL_GLOBAL const int64_t *places, int64_t pairs, int64_t moduli, int64_t rows,
                             int64_t columns, int64_t words, int64_t negative, int64_t add,
                             XL_GLOBAL const uint32_t *constants, XL_GLOBAL xl_result *results) {
    const int64_t column = XL_GLOBAL_INDEX(0), first = XL_GLOBAL_INDEX(1) * XL_TILE_ROWS;
    const int64_t pair = XL_GLOBAL_INDEX(2) / moduli, p = XL_GLOBAL_INDEX(2) % moduli;
    const int64_t octets = 1 + XL_DIGITS, left_digit = rows * words, right_digit = columns * words;
    XL_GLOBAL const uint32_t *c = constants + p * XL_CONSTANTS, *from_rows[XL_TILE_ROWS];
    XL_GLOBAL const uint32_t *a = left + (places[pair] * moduli + p) * octets * left_digit;
    XL_GLOBAL const uint32_t *b = right + (places[pairs + pair] * moduli + p) * octets * right_digit + column;
    XL_GLOBAL xl_result *to = results + ((pair * moduli + p) * rows + first) * columns + column;
    const uint32_t offset = c[0] >> 1;
    uint32_t totals[XL_TILE_ROWS];
    if (column >= columns)
        return;
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i) {
        const int64_t row = first + i < rows ? first + i : rows - 1;
        from_rows[i] = a + row * words;
        totals[i] = add && first + i < rows ? (uint32_t)((int32_t)to[i * columns] + (int32_t)c[0]) : 0;
    }
    for (int64_t k = 0; k < words; k += XL_LARGEST_STEP)
        xl_add_step(totals, from_rows, b, columns, k, k + XL_LARGEST_STEP < words ? k + XL_LARGEST_STEP : words,
                    left_digit, right_digit, (uint32_t)negative, c);
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
        if (first + i < rows)
            to[i * columns] =
                (xl_result)((int32_t)xl_reduce32(totals[i] + offset, c[0], c[1]) - (int32_t)offset);
}
