/* Sums of a block in registers: XL_ROWS rows of up to XL_GROUPS registers, loaded and stored by all kernels alike.
 *
 * To be included between XL_TARGET_BEGIN and XL_TARGET_END by a file that defines XL_ROWS and XL_GROUPS; XL_REGISTER,
 * a vector of XL_WORDS words of 32 bits; XL_LOAD(from) and XL_STORE(to, vector). */
#ifndef XL_MATRIX_REGISTERS_H
#define XL_MATRIX_REGISTERS_H

#include "kernels.h"
#include "target.h"

typedef XL_REGISTER xl_sums[XL_ROWS][XL_GROUPS];

/* XL_ROWS rows from (row, column) on. Rows that the block has not are others of it. */
XL_INLINE void xl_load_sums(xl_sums sums, const xl_matrix_block *block, int row, int column, int groups) {
    XL_UNROLL
    for (int i = 0; i < XL_ROWS; ++i)
        XL_UNROLL
    for (int g = 0; g < groups; ++g) {
        const int from = row + i < block->rows ? row + i : 0;
        sums[i][g] = XL_LOAD(block->start + from * block->start_row + column + XL_WORDS * g);
    }
}

/* The same rows back, but for those that the block has not. */
XL_INLINE void xl_store_sums(const xl_sums sums, const xl_matrix_block *block, int row, int column, int groups) {
    XL_UNROLL
    for (int i = 0; i < XL_ROWS; ++i)
        XL_UNROLL
    for (int g = 0; g < groups; ++g)
        if (row + i < block->rows)
            XL_STORE(block->sums + (row + i) * XL_BLOCK_COLUMNS + column + XL_WORDS * g, sums[i][g]);
}

#endif
