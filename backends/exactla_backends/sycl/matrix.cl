/* Products of residue planes for any device, each reduced by its modulus where it is made.
 *
 * A work item makes a tile of XL_TILE_ROWS by XL_TILE_COLUMNS vectors of XL_HEIGHT rows and XL_WIDTH columns. The left
 * operand is read by rows; the right one is packed into panels of XL_PANEL columns, whose words lie one behind the
 * other.
 *
 * With XL_PAIRS, for CPUs, a word has two residues, of 16 bits each, and products are made for vectors of columns, by
 * sums of pairs. Without, for GPUs, a word has four residues. With XL_XMX matrix units multiply eight rows by eight
 * words of as many columns as a sub-group has work items, XL_XMX. Else the residues of the left operand become unsigned
 * by adding 128, and the sums of the right one, times 128, are taken off again.
 */
#include "xl_port.h"
#if XL_PAIRS
#include "xl_lanes_pairs.h"
#endif

#define XL_CONSTANTS 8 /* of a modulus: itself, floor(2**32 / m), 2**31 mod m, 2**16 mod m, 2**8 mod m */

/* XL_WORDS: words of a row that are multiplied at once.
 * XL_STEP is given: words whose products are summed before a reduction. Sums have to stay below 2**31. */
#if XL_PAIRS

#define XL_RESIDUES 2
#define XL_HEIGHT 1
#define XL_WIDTH 16
#define XL_WORDS 1
typedef int16 xl_sums;
typedef uint16 xl_values;
typedef uint32_t xl_left_value;
typedef uint16 xl_right;
#define xl_load_right(from) vload16(0, from)
#define xl_multiply_add(left, right, sums) xl_add_pairs((uint16)(left), right, sums)
#define xl_bias(right, sums) (sums)
#define xl_shared(x) (x)
#define xl_to_sums as_int16
#define xl_to_values as_uint16
#define xl_load(from, columns, rows) convert_int16(vload16(0, from))
#if XL_DIGITS
#define xl_store(sums, to, columns, rows) vstore16(convert_short16(sums), 0, to)
#else
#define xl_store(sums, to, columns, rows) vstore16(convert_char16(sums), 0, to)
#endif

#elif XL_XMX

#define XL_RESIDUES 4
#define XL_HEIGHT 8
#define XL_WIDTH 1
#define XL_WORDS 8
typedef int8 xl_sums;
typedef uint8 xl_values;
typedef int8 xl_right;
#define xl_shared(x) sub_group_broadcast(x, 0)
#define xl_multiply_add intel_sub_group_i8_i8_matrix_mad_k32
#define xl_bias(right, sums) (sums)
#define xl_to_sums as_int8
#define xl_to_values as_uint8

/* A work item's part of 32 bytes of each of eight rows, the work items of a sub-group having them side by side. */
#if XL_XMX == 8
typedef int32_t xl_part;
typedef int8 xl_left_value;
#else
typedef int16_t xl_part;
typedef short8 xl_left_value;
#endif

#ifndef cl_intel_subgroup_matrix_multiply_accumulate /* compilers to SPIR-V leave the call to the device's compiler */
int8 __attribute__((overloadable)) intel_sub_group_i8_i8_matrix_mad_k32(xl_left_value a, xl_right b, xl_sums sums);
#endif

#else

#define XL_RESIDUES 4
#define XL_HEIGHT 1
#define XL_WIDTH 1
#define XL_WORDS 1
typedef int32_t xl_sums;
typedef uint32_t xl_values;
typedef uint32_t xl_left_value;
typedef uint32_t xl_right;
#define xl_load_right(from) (*(from))
#define xl_multiply_add(left, right, sums) xl_dot4((left) ^ 0x80808080u, right, sums)
#define xl_bias(right, sums) xl_dot4(0x80808080u, right, sums)
#define xl_shared(x) (x)
#define xl_to_sums as_int
#define xl_to_values as_uint
#define xl_load(from, columns, rows) ((xl_sums)*(from))
#define xl_store(sums, to, columns, rows) (*(to) = (xl_result)(sums))

#endif

#if XL_DIGITS
typedef int16_t xl_result;
#else
typedef int8_t xl_result;
#endif

typedef XL_GLOBAL const char *xl_residues;

/* The panels of a work item that have columns. */
#if XL_PANELS > 1
#define XL_EACH_PANEL(panel, columns)                                                                                  \
    for (int64_t panel = 0; panel < XL_PANELS && panel * XL_PANEL < (columns); ++panel)
#else
#define XL_EACH_PANEL(panel, columns) for (int64_t panel = 0; panel < 1; ++panel)
#endif

/* Rows of the left operand, and where they are read from: `step` words of each, widened to pairs, or the rows as they
 * lie. */
#if XL_PAIRS
typedef struct {
    uint32_t words[(1 + XL_DIGITS) * XL_TILE_ROWS * XL_STEP];
} xl_left;
#define xl_left_word(left, digit, i, k) (left).words[((digit) * XL_TILE_ROWS + (i)) * XL_STEP + (k)]
#else
typedef struct {
    XL_GLOBAL const uint32_t *rows[(1 + XL_DIGITS) * XL_TILE_ROWS * XL_HEIGHT];
} xl_left;
#if XL_XMX
#define xl_left_word(left, digit, i, k) xl_left_parts((left).rows + ((digit) * XL_TILE_ROWS + (i)) * XL_HEIGHT, k)
#else
#define xl_left_word(left, digit, i, k) (left).rows[(digit) * XL_TILE_ROWS + (i)][k]
#endif
#endif

#if XL_XMX
/* Ensures: of eight rows this work item's parts of the eight words from k on. */
XL_FUNCTION xl_left_value xl_left_parts(XL_GLOBAL const uint32_t *const *rows, int64_t k) {
    const uint32_t own = get_sub_group_local_id();
#define XL_PART(i) ((XL_GLOBAL const xl_part *)(rows[i] + k))[own]
    return (xl_left_value)(XL_PART(0), XL_PART(1), XL_PART(2), XL_PART(3), XL_PART(4), XL_PART(5), XL_PART(6), XL_PART(7));
}

/* Ensures: eight words of this work item's column. */
XL_FUNCTION xl_right xl_load_right(XL_GLOBAL const uint32_t *from) {
#define XL_WORD(k) (int32_t) from[(k) * XL_PANEL]
    return (xl_right)(XL_WORD(0), XL_WORD(1), XL_WORD(2), XL_WORD(3), XL_WORD(4), XL_WORD(5), XL_WORD(6), XL_WORD(7));
}

/* Ensures: eight entries of a column with rows of so many columns, 0 for rows from `rows` on. */
XL_FUNCTION xl_sums xl_load(XL_GLOBAL const xl_result *from, int64_t columns, int64_t rows) {
    int32_t found[XL_HEIGHT];
#pragma unroll
    for (int32_t i = 0; i < XL_HEIGHT; ++i)
        found[i] = i < rows ? from[i * columns] : 0;
    return vload8(0, found);
}

/* Ensures: these are the entries, of the rows before `rows`. */
XL_FUNCTION void xl_store(xl_sums sums, XL_GLOBAL xl_result *to, int64_t columns, int64_t rows) {
    int32_t entries[XL_HEIGHT];
    vstore8(sums, 0, entries);
#pragma unroll
    for (int32_t i = 0; i < XL_HEIGHT; ++i)
        if (i < rows)
            to[i * columns] = (xl_result)entries[i];
}
#endif

/* Requires: a multiple of 16 residues in each row.
 * Ensures: the words from each of the rows' places on can be read. */
XL_FUNCTION void xl_read_left(xl_left *left, xl_residues from, const int64_t places[XL_TILE_ROWS * XL_HEIGHT],
                              int64_t digit, int64_t words) {
#pragma unroll
    for (int32_t d = 0; d < 1 + XL_DIGITS; ++d)
#pragma unroll
        for (int32_t i = 0; i < XL_TILE_ROWS * XL_HEIGHT; ++i) {
            xl_residues row = from + d * digit + places[i];
#if XL_PAIRS
            for (int64_t k = 0; k < words; k += 8)
                vstore8(as_uint8(convert_short16(vload16(0, row + 2 * k))), 0, &xl_left_word(*left, d, i, k));
#else
            left->rows[d * XL_TILE_ROWS * XL_HEIGHT + i] = (XL_GLOBAL const uint32_t *)row;
            (void)words;
#endif
        }
}

#if XL_PAIRS
/* Ensures: 16 residues of row i, 0 for rows from `rows` on. */
XL_FUNCTION uint8 xl_row_words(xl_residues from, int64_t i, int64_t depth, int64_t rows) {
    return i < rows ? as_uint8(convert_short16(vload16(0, from + i * depth))) : (uint8)(0);
}
#endif

/* Requires: at least 16 / XL_RESIDUES words follow.
 * Ensures: words of the residues there, of XL_WIDTH rows `depth` apart, at to[word][row]; 0 for rows from `rows` on. */
XL_FUNCTION void xl_transpose(XL_GLOBAL uint32_t *to, xl_residues from, int64_t depth, int64_t rows) {
#if XL_PAIRS
    uint16 w[8], apart[8];
#pragma unroll
    for (int32_t i = 0; i < 8; ++i)
        w[i] = (uint16)(xl_row_words(from, 2 * i, depth, rows), xl_row_words(from, 2 * i + 1, depth, rows));
#pragma unroll
    for (int32_t step = 0; step < 3; ++step) { /* even words before odd ones: three times, it transposes 16 by 8 */
#pragma unroll
        for (int32_t i = 0; i < 4; ++i) {
            apart[i] = (uint16)(w[2 * i].even, w[2 * i + 1].even);
            apart[4 + i] = (uint16)(w[2 * i].odd, w[2 * i + 1].odd);
        }
#pragma unroll
        for (int32_t i = 0; i < 8; ++i)
            w[i] = apart[i];
    }
#pragma unroll
    for (int32_t i = 0; i < 8; ++i)
        vstore16(w[i], 0, to + i * XL_PANEL);
#else
    const uint4 words = rows > 0 ? as_uint4(vload16(0, from)) : (uint4)(0);
    to[0] = words.s0;
    to[XL_PANEL] = words.s1;
    to[2 * XL_PANEL] = words.s2;
    to[3 * XL_PANEL] = words.s3;
    (void)depth;
#endif
}

/* Residues [planes, rows, depth] as words [planes, panels, words, XL_PANEL], the rows padded with zeros. A work item
 * takes 16 residues of XL_WIDTH rows. */
XL_KERNEL xl_kernel_pack_right(xl_residues from, int64_t depth, int64_t rows, int64_t padded_rows,
                               XL_GLOBAL uint32_t *to) {
    const int64_t row = XL_GLOBAL_INDEX(0) * XL_WIDTH, first = XL_GLOBAL_INDEX(1) * 16, plane = XL_GLOBAL_INDEX(2);
    const int64_t words = depth / XL_RESIDUES, panel = row / XL_PANEL * XL_PANEL;
    xl_transpose(to + (plane * padded_rows + panel) * words + first / XL_RESIDUES * XL_PANEL + row % XL_PANEL,
                 from + (plane * rows + row) * depth + first, depth, rows - row);
}

/* Requires: the constants c of a modulus m, values below 2 m.
 * Ensures: values mod m. */
XL_FUNCTION xl_values xl_once_less(xl_values values, XL_GLOBAL const uint32_t *c) {
    return min(values, values - c[0]);
}

/* Requires: the constants c of a modulus m.
 * Ensures: values mod m. */
XL_FUNCTION xl_values xl_reduce(xl_values values, XL_GLOBAL const uint32_t *c) {
    return xl_once_less(values - mul_hi(values, (xl_values)(c[1])) * c[0], c);
}

/* Ensures: sums mod m. */
XL_FUNCTION xl_values xl_residues_of(xl_sums sums, XL_GLOBAL const uint32_t *c) {
    return xl_once_less(xl_reduce(xl_to_values(sums) ^ (xl_values)(1u << 31), c) + (c[0] - c[2]), c);
}

/* Requires: totals and found below m.
 * Ensures: totals + found, or totals - found where negative, mod m. */
XL_FUNCTION xl_values xl_added(xl_values totals, xl_values found, int64_t negative, XL_GLOBAL const uint32_t *c) {
    return xl_once_less(totals + (negative ? c[0] - found : found), c);
}

/* Adds the sums over `words` words to the totals. The low digits of the right operand are `right_digit` further on. */
XL_FUNCTION void xl_add_step(xl_values totals[XL_TILE_ROWS][XL_TILE_COLUMNS], const xl_left *left,
                             XL_GLOBAL const uint32_t *right, int64_t right_digit, int64_t words, int64_t negative,
                             XL_GLOBAL const uint32_t *c) {
#if XL_DIGITS
    xl_sums high[XL_TILE_ROWS][XL_TILE_COLUMNS], middle[XL_TILE_ROWS][XL_TILE_COLUMNS];
    xl_sums low[XL_TILE_ROWS][XL_TILE_COLUMNS], high_bias[XL_TILE_COLUMNS], low_bias[XL_TILE_COLUMNS];
    xl_right b_high[XL_TILE_COLUMNS], b_low[XL_TILE_COLUMNS];
#pragma unroll
    for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j) {
        high_bias[j] = low_bias[j] = 0;
#pragma unroll
        for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
            high[i][j] = middle[i][j] = low[i][j] = 0;
    }
    for (int64_t k = 0; k < words; k += XL_WORDS) {
#pragma unroll
        for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j) {
            b_high[j] = xl_load_right(right + k * XL_PANEL + j * XL_WIDTH);
            b_low[j] = xl_load_right(right + right_digit + k * XL_PANEL + j * XL_WIDTH);
            high_bias[j] = xl_bias(b_high[j], high_bias[j]);
            low_bias[j] = xl_bias(b_low[j], low_bias[j]);
        }
#pragma unroll
        for (int32_t i = 0; i < XL_TILE_ROWS; ++i) {
            const xl_left_value a_high = xl_left_word(*left, 0, i, k), a_low = xl_left_word(*left, 1, i, k);
#pragma unroll
            for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j) {
                high[i][j] = xl_multiply_add(a_high, b_high[j], high[i][j]);
                middle[i][j] = xl_multiply_add(a_low, b_high[j], xl_multiply_add(a_high, b_low[j], middle[i][j]));
                low[i][j] = xl_multiply_add(a_low, b_low[j], low[i][j]);
            }
        }
    }
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
#pragma unroll
        for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j) {
            const xl_values h = xl_reduce(xl_residues_of(high[i][j] - high_bias[j], c) * c[3], c);
            const xl_values m = xl_reduce(xl_residues_of(middle[i][j] - high_bias[j] - low_bias[j], c) * c[4], c);
            const xl_values found = xl_reduce(h + m + xl_residues_of(low[i][j] - low_bias[j], c), c);
            totals[i][j] = xl_added(totals[i][j], found, negative, c);
        }
#else
    xl_sums sums[XL_TILE_ROWS][XL_TILE_COLUMNS], bias[XL_TILE_COLUMNS];
    xl_right b[XL_TILE_COLUMNS];
    (void)right_digit;
#pragma unroll
    for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j) {
        bias[j] = 0;
#pragma unroll
        for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
            sums[i][j] = 0;
    }
    for (int64_t k = 0; k < words; k += XL_WORDS) {
#pragma unroll
        for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j) {
            b[j] = xl_load_right(right + k * XL_PANEL + j * XL_WIDTH);
            bias[j] = xl_bias(b[j], bias[j]);
        }
#pragma unroll
        for (int32_t i = 0; i < XL_TILE_ROWS; ++i) {
            const xl_left_value a = xl_left_word(*left, 0, i, k);
#pragma unroll
            for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j)
                sums[i][j] = xl_multiply_add(a, b[j], sums[i][j]);
        }
    }
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
#pragma unroll
        for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j)
            totals[i][j] = xl_added(totals[i][j], xl_residues_of(sums[i][j] - bias[j], c), negative, c);
#endif
}

/* Ensures: totals are 0, or with `add` what a tile of the result holds, mod m. */
XL_FUNCTION void xl_load_totals(xl_values totals[XL_TILE_ROWS][XL_TILE_COLUMNS], XL_GLOBAL const xl_result *from,
                                int64_t columns, int64_t rows_here, int64_t columns_here, int64_t add,
                                XL_GLOBAL const uint32_t *c) {
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
#pragma unroll
        for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j) {
            totals[i][j] = 0;
            if (add && i * XL_HEIGHT < rows_here && j * XL_WIDTH < columns_here) {
                const xl_values held = xl_to_values(
                    xl_load(from + i * XL_HEIGHT * columns + j * XL_WIDTH, columns, rows_here - i * XL_HEIGHT));
                totals[i][j] = min(held, held + c[0]); /* those below 0 are the largest */
            }
        }
}

/* Requires: totals below m.
 * Ensures: a tile of the result is congruent to them, and centred. */
XL_FUNCTION void xl_store_totals(XL_GLOBAL xl_result *to, xl_values totals[XL_TILE_ROWS][XL_TILE_COLUMNS],
                                 int64_t columns, int64_t rows_here, int64_t columns_here,
                                 XL_GLOBAL const uint32_t *c) {
    const uint32_t offset = c[0] >> 1;
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS; ++i)
#pragma unroll
        for (int32_t j = 0; j < XL_TILE_COLUMNS; ++j)
            if (i * XL_HEIGHT < rows_here && j * XL_WIDTH < columns_here)
                xl_store(xl_to_sums(xl_once_less(totals[i][j] + offset, c) - offset),
                         to + i * XL_HEIGHT * columns + j * XL_WIDTH, columns, rows_here - i * XL_HEIGHT);
}

/* Planes [pairs, moduli, rows, columns] of the product, or with `add` of the sum of it and what the planes hold.
 *
 * Axis 1 - XL_PAIRS runs over tiles of rows, the other one of 0 and 1 over tiles of columns, axis 2 over pairs and
 * moduli: with XL_PAIRS a panel stays in a cache while its rows pass, and rows that are widened serve XL_PANELS of them. The left operand has rows of `depth` residues,
 * the right one is padded to `right_columns`. The matrices of pair t are places[t] and places[pairs + t]. */
XL_KERNEL xl_kernel_multiply(xl_residues left, XL_GLOBAL const uint32_t *right, XL_GLOBAL const int64_t *places,
                             int64_t pairs, int64_t moduli, int64_t rows, int64_t columns, int64_t right_columns,
                             int64_t depth, int64_t negative, int64_t add, XL_GLOBAL const uint32_t *constants,
                             XL_GLOBAL xl_result *results) {
    const int64_t column = XL_GLOBAL_INDEX(XL_PAIRS) * (XL_PANELS * XL_TILE_COLUMNS * XL_WIDTH);
    const int64_t first = xl_shared(XL_GLOBAL_INDEX(1 - XL_PAIRS) * (XL_TILE_ROWS * XL_HEIGHT));
    const int64_t rows_here = rows - first, columns_here = columns - column;
    const int64_t pair = XL_GLOBAL_INDEX(2) / moduli, p = XL_GLOBAL_INDEX(2) % moduli;
    const int64_t words = depth / XL_RESIDUES, left_digit = rows * depth, right_digit = words * right_columns;
    XL_GLOBAL const uint32_t *c = constants + p * XL_CONSTANTS;
    xl_residues a = left + (places[pair] * moduli + p) * (1 + XL_DIGITS) * left_digit;
    XL_GLOBAL const uint32_t *b = right + (places[pairs + pair] * moduli + p) * (1 + XL_DIGITS) * right_digit +
                                  column / XL_PANEL * XL_PANEL * words + column % XL_PANEL;
    XL_GLOBAL xl_result *to = results + ((pair * moduli + p) * rows + first) * columns + column;
    int64_t from_rows[XL_TILE_ROWS * XL_HEIGHT];
    xl_values totals[XL_PANELS][XL_TILE_ROWS][XL_TILE_COLUMNS];
    xl_left some;
#pragma unroll
    for (int32_t i = 0; i < XL_TILE_ROWS * XL_HEIGHT; ++i)
        from_rows[i] = (first + i < rows ? first + i : rows - 1) * depth;
    XL_EACH_PANEL(panel, columns_here)
        xl_load_totals(totals[panel], to + panel * XL_PANEL, columns, rows_here, columns_here - panel * XL_PANEL, add, c);
    for (int64_t k = 0; k < words; k += XL_STEP) {
        const int64_t step = words - k < XL_STEP ? words - k : XL_STEP;
        xl_read_left(&some, a + k * XL_RESIDUES, from_rows, left_digit, step);
        XL_EACH_PANEL(panel, columns_here)
            xl_add_step(totals[panel], &some, b + (panel * words + k) * XL_PANEL, right_digit, step, negative, c);
    }
    XL_EACH_PANEL(panel, columns_here)
        xl_store_totals(to + panel * XL_PANEL, totals[panel], columns, rows_here, columns_here - panel * XL_PANEL, c);
}
