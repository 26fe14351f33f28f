/* The product by vpdpbusd, for registers of any width: blocks of XL_ROWS rows by XL_GROUPS registers.
 *
 * vpdpbusd multiplies unsigned by signed bytes, so right entries b are packed as b + 128, and 128 times the sum of the
 * left row is taken off again. To be included as registers.h, by a file that defines XL_DOT(sums, right, left) and
 * XL_ADD and XL_SET1 of words too, and a function row_sum(row, depth). */
#ifndef XL_MATRIX_VNNI_H
#define XL_MATRIX_VNNI_H

#include "registers.h"

#include <string.h>

/* Left rows, the last one repeated where there are fewer, and what their sums make of the 128. */
typedef struct {
    const int8_t *rows[XL_ROWS];
    uint32_t corrections[XL_ROWS];
} prepared_rows;

static int64_t prepared_bytes(int64_t depth) {
    (void)depth;
    return sizeof(prepared_rows);
}

static void prepare(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared) {
    prepared_rows *to = prepared;
    for (int i = 0; i < XL_ROWS; ++i) {
        to->rows[i] = left + (i < rows ? i : rows - 1) * stride;
        to->corrections[i] = (uint32_t)-128 * row_sum(to->rows[i], depth);
    }
}

/* `groups` registers of columns from `column` on; right operands are [depth / 4][16 columns][4]. */
XL_INLINE void accumulate_groups(const xl_matrix_block *block, const prepared_rows *left, const int8_t *right,
    int64_t right_row, int64_t depth, int column, int groups) {
    xl_sums sums;
    xl_load_sums(sums, block, 0, column, groups);
    XL_UNROLL
    for (int i = 0; i < XL_ROWS; ++i)
        XL_UNROLL
    for (int g = 0; g < groups; ++g)
        sums[i][g] = XL_ADD(sums[i][g], XL_SET1((int)left->corrections[i]));
    for (int64_t k = 0; k < depth; k += 4) {
        XL_REGISTER b[XL_GROUPS];
        XL_UNROLL
        for (int g = 0; g < groups; ++g) {
            const int j = XL_WORDS * g;
            b[g] = XL_LOAD(right + (column + j) / 16 * 16 * right_row + k * 16 + j % 16 * 4);
        }
        XL_UNROLL
        for (int i = 0; i < XL_ROWS; ++i) {
            int32_t four;
            memcpy(&four, left->rows[i] + k, 4);
            XL_UNROLL
            for (int g = 0; g < groups; ++g)
                sums[i][g] = XL_DOT(sums[i][g], b[g], XL_SET1(four));
        }
    }
    xl_store_sums(sums, block, 0, column, groups);
}

static void accumulate(const xl_matrix_block *block, const void *prepared, const int8_t *right, int64_t right_row,
    int64_t depth, const xl_matrix_meanwhile *meanwhile) {
    (void)meanwhile;
    int column = 0;
    for (; column + XL_GROUPS * XL_WORDS <= block->columns; column += XL_GROUPS * XL_WORDS)
        accumulate_groups(block, prepared, right, right_row, depth, column, XL_GROUPS);
    if (column < block->columns)
        accumulate_groups(block, prepared, right, right_row, depth, column, 1);
}

#endif
