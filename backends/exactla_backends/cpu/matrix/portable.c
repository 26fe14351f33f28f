/* The product in plain C: for every CPU, and what the other kernels are compared with. */
#include "portable_reduce.h"

#include <string.h>

typedef struct {
    const int8_t *left;
    int64_t stride;
} plain_rows;

static int supported(void) {
    return 1;
}

static int64_t prepared_bytes(int64_t depth) {
    (void)depth;
    return sizeof(plain_rows);
}

static void prepare(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared) {
    (void)rows;
    (void)depth;
    *(plain_rows *)prepared = (plain_rows){left, stride};
}

/* [depth / 64][16][64] */
static void pack(const int8_t *plane, int64_t stride, int rows, int64_t depth, int8_t *packed) {
    for (int64_t k = 0; k < depth; k += XL_MATRIX_DEPTH)
        for (int j = 0; j < XL_MATRIX_COLUMNS; ++j, packed += XL_MATRIX_DEPTH)
            if (j < rows)
                memcpy(packed, plane + j * stride + k, XL_MATRIX_DEPTH);
            else
                memset(packed, 0, XL_MATRIX_DEPTH);
}

static int32_t dot(const int8_t *a, const int8_t *b) {
    int32_t sum = 0;
    for (int k = 0; k < XL_MATRIX_DEPTH; ++k)
        sum += (int32_t)a[k] * b[k];
    return sum;
}

static void accumulate(const xl_matrix_block *block, const void *prepared, const int8_t *right, int64_t right_row,
    int64_t depth, const xl_matrix_meanwhile *meanwhile) {
    (void)meanwhile;
    const plain_rows *rows = prepared;
    for (int i = 0; i < block->rows; ++i)
        for (int j = 0; j < block->columns; ++j) {
            const int8_t *a = rows->left + i * rows->stride;
            const int8_t *b = right + j / 16 * 16 * right_row + j % 16 * XL_MATRIX_DEPTH;
            uint32_t sum = block->start[i * block->start_row + j];
            for (int64_t k = 0; k < depth; k += XL_MATRIX_DEPTH)
                sum += (uint32_t)dot(a + k, b + k * XL_MATRIX_COLUMNS);
            block->sums[i * XL_BLOCK_COLUMNS + j] = sum;
        }
}

const xl_matrix_kernels xl_matrix_portable = {
    .name = "portable",
    .rows = 8,
    .supported = supported,
    .pack = pack,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
    .accumulate = accumulate,
    .reduce8 = xl_matrix_reduce_all8,
    .reduce16 = xl_matrix_reduce_all16,
};
