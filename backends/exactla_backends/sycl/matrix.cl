/* Products of residue planes for any device, each reduced by its modulus where it is made.
 *
 * A work item makes XL_TILE_ROWS rows of XL_WIDTH results. The left operand is read by rows, the same word in all work
 * items of a group; the right one is packed, so that neighbouring results read neighbouring words.
 *
 * With XL_PAIRS, for CPUs, a word has two residues, of 16 bits each, and products are made for vectors of columns: their
 * compilers have an instruction for sums of two such products. Without, for GPUs, a word has four residues. Those of the
 * left operand become unsigned by adding 128, and the sums of the right one, times 128, are taken off again.
 */
#include "xl_port.h"

#define XL_CONSTANTS 8 /* of a modulus: itself, floor(2**32 / m), 2**31 mod m, 2**16 mod m, 2**8 mod m */

#if XL_PAIRS

#define XL_WIDTH 8
#define XL_LARGEST_STEP (XL_DIGITS ? 16384 : 32768) /* words whose products have sums below 2**31 */
typedef int8 xl_sums;
typedef uint8 xl_values;
typedef short16 xl_right;

XL_FUNCTION xl_right xl_load_right(XL_GLOBAL const uint32_t *from) {
    return as_short16(vload8(0, from));
}

XL_FUNCTION xl_sums xl_multiply_add(uint32_t left, xl_right right, xl_sums sums) {
    const int16 products = convert_int16(as_short16((uint8)(left))) * convert_int16(right);
    return sums + products.even + products.odd;
}

#define xl_bias(right, sums) (sums)
#define xl_to_sums as_int8
#define xl_to_values as_uint8
#if XL_DIGITS
#define xl_store(values, to) vstore8(convert_short8(values), 0, to)
#define xl_load(from) convert_int8(vload8(0, from))
#else
#define xl_store(values, to) vstore8(convert_char8(values), 0, to)
#define xl_load(from) convert_int8(vload8(0, from))
#endif

#else

#define XL_WIDTH 1
#define XL_LARGEST_STEP (XL_DIGITS ? 8192 : 16384)
typedef int32_t xl_sums;
typedef uint32_t xl_values;
typedef uint32_t xl_right;

XL_FUNCTION xl_right xl_load_right(XL_GLOBAL const uint32_t *from) {
    return *from;
}

XL_FUNCTION xl_sums xl_multiply_add(uint32_t left, xl_right right, xl_sums sums) {
    return xl_dot4(left ^ 0x80808080u, right, sums);
}

#define xl_bias(right, sums) xl_dot4(0x80808080u, right, sums)
#define xl_to_sums as_int
#define xl_to_values as_uint
#define xl_store(values, to) (*(to) = (xl_result)(values))
#define xl_load(from) ((xl_sums)*(from))

#endif

#if XL_DIGITS
typedef int16_t xl_result;
#else
typedef int8_t xl_result;
#endif

/* Ensures: eight words of the residues there. */
XL_FUNCTION uint8 xl_words(XL_GLOBAL const char *from) {
#if XL_PAIRS
    return as_uint8(convert_short16(vload16(0, from)));
#else
    return vload8(0, (XL_GLOBAL const uint *)from);
#endif
}

/* Residues [planes, rows, depth] as words [planes, rows, words]. A work item takes eight of them. */
XL_KERNEL xl_kernel_pack_left(XL_GLOBAL const char *from, int64_t depth, int64_t words, int64_t rows,
                              XL_GLOBAL uint32_t *to) {
    const int64_t word = XL_GLOBAL_INDEX(0) * 8, row = XL_GLOBAL_INDEX(2) * rows + XL_GLOBAL_INDEX(1);
    vstore8(xl_words(from + row * depth + word * (depth / words)), 0, to + row * words + word);
}

/* The same as words [planes, words, rows], the rows padded with zeros. */
XL_KERNEL xl_kernel_pack_right(XL_GLOBAL const char *from, int64_t depth, int64_t words, int64_t rows,
                               int64_t padded_rows, XL_GLOBAL uint32_t *to) {
    const int64_t row = XL_GLOBAL_INDEX(0), word = XL_GLOBAL_INDEX(1) * 8, plane = XL_GLOBAL_INDEX(2);
    uint32_t found[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    if (row < rows)
        vstore8(xl_words(from + (plane * rows + row) * depth + word * (depth / words)), 0, found);
#pragma unroll
    for (int32_t i = 0; i < 8; ++i)
        to[(plane * words + word + i) * padded_rows + row] = found[i];
}

/* Requires: the constants c of a modulus m.
 * Ensures: values mod m. */
XL_FUNCTION xl_values xl_reduce(xl_values values, XL_GLOBAL const uint32_t *c) {
    const xl_values remainder = values - mul_hi(values, (xl_values)(c[1])) * c[0];
    return min(remainder, remainder - c[0]);
}

/* Ensures: sums mod m. */
XL_FUNCTION xl_values xl_residues_of(xl_sums sums, XL_GLOBAL const uint32_t *c) {
    const xl_values found = xl_reduce(xl_to_values(sums) ^ (xl_values)(1u << 31), c) + (c[0] - c[2]);
    return min(found, found - c[0]);
}

/* Ensures: totals + found, or totals - found where negative, mod m. */
XL_FUNCTION xl_values xl_added(xl_values totals, xl_values found, int64_t negative, XL_GLOBAL const uint32_t *c) {
    return xl_reduce(totals + (negative ? c[0] - found : found), c);
}

/* Adds the sums over `words` words to the totals. Rows of the left operand begin at rows[i], and its low digits
 * `left_digit` further on; words of the right one are `columns` apart. */
XL_FUNCTION void xl_add_step(xl_values totals[XL_TILE_ROWS], XL_GLOBAL const uint32_t *left,
                             const int64_t rows[XL_TILE_ROWS], int64_t left_digit, XL_GLOBAL const uint32_t *right,
                             int64_t right_digit, int64_t columns, int64_t words, int64_t negative,
                             XL_GLOBAL const uint32_t *c) {
#if XL_DIGITS
    xl_sums high[XL_TILE_ROWS], middle[XL_TILE_ROWS], low[XL_TILE_ROWS], high_bias = 0, low_bias = 0;
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
        high[i] = middle[i] = low[i] = 0;
    for (int64_t k = 0; k < words; ++k) {
        const xl_right b_high = xl_load_right(right + k * columns);
        const xl_right b_low = xl_load_right(right + right_digit + k * columns);
        high_bias = xl_bias(b_high, high_bias);
        low_bias = xl_bias(b_low, low_bias);
#pragma unroll
        for (int32_t i = 0; i < XL_TILE_ROWS; ++i) {
            const uint32_t a_high = left[rows[i] + k], a_low = left[rows[i] + left_digit + k];
            high[i] = xl_multiply_add(a_high, b_high, high[i]);
            middle[i] = xl_multiply_add(a_low, b_high, xl_multiply_add(a_high, b_low, middle[i]));
            low[i] = xl_multiply_add(a_low, b_low, low[i]);
        }
    }
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i) {
        const xl_values h = xl_reduce(xl_residues_of(high[i] - high_bias, c) * c[3], c);
        const xl_values m = xl_reduce(xl_residues_of(middle[i] - high_bias - low_bias, c) * c[4], c);
        const xl_values found = xl_reduce(h + m + xl_residues_of(low[i] - low_bias, c), c);
        totals[i] = xl_added(totals[i], found, negative, c);
    }
#else
    xl_sums sums[XL_TILE_ROWS], bias = 0;
    (void)left_digit;
    (void)right_digit;
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
        sums[i] = 0;
    for (int64_t k = 0; k < words; ++k) {
        const xl_right b = xl_load_right(right + k * columns);
        bias = xl_bias(b, bias);
#pragma unroll
        for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
            sums[i] = xl_multiply_add(left[rows[i] + k], b, sums[i]);
    }
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
        totals[i] = xl_added(totals[i], xl_residues_of(sums[i] - bias, c), negative, c);
#endif
}

/* Planes [pairs, moduli, rows, columns] of the product, or with `add` of the sum of it and what the planes hold; the
 * columns are padded. Axis 0 runs over columns, axis 1 over rows, axis 2 over pairs and moduli. The matrices of pair t
 * are places[t] and places[pairs + t]. */
XL_KERNEL xl_kernel_multiply(XL_GLOBAL const uint32_t *left, XL_GLOBAL const uint32_t *right,
                             XL_GLOBAL const int64_t *places, int64_t pairs, int64_t moduli, int64_t rows,
                             int64_t columns, int64_t words, int64_t negative, int64_t add,
                             XL_GLOBAL const uint32_t *constants, XL_GLOBAL xl_result *results) {
    const int64_t column = XL_GLOBAL_INDEX(0) * XL_WIDTH, first = XL_GLOBAL_INDEX(1) * XL_TILE_ROWS;
    const int64_t pair = XL_GLOBAL_INDEX(2) / moduli, p = XL_GLOBAL_INDEX(2) % moduli;
    const int64_t left_digit = rows * words, right_digit = columns * words;
    XL_GLOBAL const uint32_t *c = constants + p * XL_CONSTANTS;
    XL_GLOBAL const uint32_t *a = left + (places[pair] * moduli + p) * (1 + XL_DIGITS) * left_digit;
    XL_GLOBAL const uint32_t *b = right + (places[pairs + pair] * moduli + p) * (1 + XL_DIGITS) * right_digit + column;
    XL_GLOBAL xl_result *to = results + ((pair * moduli + p) * rows + first) * columns + column;
    const uint32_t offset = c[0] >> 1;
    int64_t from_rows[XL_TILE_ROWS];
    xl_values totals[XL_TILE_ROWS];
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i) {
        from_rows[i] = (first + i < rows ? first + i : rows - 1) * words;
        totals[i] = add && first + i < rows ? xl_to_values(xl_load(to + i * columns) + (int32_t)c[0]) : 0;
    }
    for (int64_t k = 0; k < words; k += XL_LARGEST_STEP)
        xl_add_step(totals, a + k, from_rows, left_digit, b + k * columns, right_digit, columns,
                    words - k < XL_LARGEST_STEP ? words - k : XL_LARGEST_STEP, negative, c);
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
        if (first + i < rows)
            xl_store(xl_to_sums(xl_reduce(totals[i] + offset, c) - offset), to + i * columns);
}
