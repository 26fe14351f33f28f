/* The product in plain C: for every CPU, and what the other kernels are compared with. */
#include "portable.h"

#include <string.h>

int64_t xl_portable_prepared_bytes(int64_t depth) {
    (void)depth;
    return sizeof(xl_plain_rows);
}

void xl_portable_prepare(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared) {
    (void)rows;
    (void)depth;
    const xl_plain_rows plain = {left, stride};
    memcpy(prepared, &plain, sizeof plain);
}

void xl_portable_reduce8(const xl_block *block, const xl_matrix_modulus8 *modulus, int8_t *residues, int64_t row) {
    const uint32_t m = modulus->modulus;
    for (int i = 0; i < block->rows; ++i)
        for (int j = 0; j < block->columns; ++j) {
            const uint32_t y = block->sums[i * XL_BLOCK_COLUMNS + j];
            uint32_t r = y - (uint32_t)((uint64_t)y * modulus->reciprocal >> 32) * m;
            r = r < m ? r : r - m;
            residues[i * row + j] = (int8_t)((int32_t)r - (int32_t)modulus->half);
        }
}

/* sum over the bytes of the three sums of digit * byte */
static int32_t byte_sum(const uint32_t y[3], const uint32_t digits[3]) {
    int32_t sum = 0;
    for (int d = 0; d < 3; ++d)
        for (int i = 0; i < 32; i += 8)
            sum += (int32_t)(y[d] >> i & 255) * (int8_t)(uint8_t)(digits[d] >> i);
    return sum;
}

void xl_portable_reduce16(const xl_block y[3], const xl_matrix_modulus16 *modulus, int16_t *residues, int64_t row) {
    const uint32_t m = modulus->modulus;
    for (int i = 0; i < y->rows; ++i)
        for (int j = 0; j < y->columns; ++j) {
            const int at = i * XL_BLOCK_COLUMNS + j;
            const uint32_t sums[3] = {y[0].sums[at], y[1].sums[at], y[2].sums[at]};
            const uint32_t high = (uint32_t)byte_sum(sums, modulus->high);
            const uint32_t low = (uint32_t)byte_sum(sums, modulus->low);
            const uint32_t z = 256 * high + low + modulus->offset;
            uint32_t r = z - (uint32_t)((uint64_t)z * modulus->reciprocal >> 32) * m;
            r = r < m ? r : r - m;
            residues[i * row + j] = (int16_t)((int32_t)r - (int32_t)modulus->half);
        }
}

static int supported(void) {
    return 1;
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

static void accumulate(
    const xl_block *block, const void *prepared, const int8_t *right, int64_t right_row, int64_t depth) {
    xl_plain_rows plain;
    memcpy(&plain, prepared, sizeof plain);
    for (int i = 0; i < block->rows; ++i)
        for (int j = 0; j < block->columns; ++j) {
            const int8_t *a = plain.left + i * plain.stride;
            const int8_t *b = right + j / XL_MATRIX_COLUMNS * XL_MATRIX_COLUMNS * right_row +
                              j % XL_MATRIX_COLUMNS * XL_MATRIX_DEPTH;
            uint32_t sum = block->start[i * block->start_row + j];
            for (int64_t k = 0; k < depth; k += XL_MATRIX_DEPTH)
                sum += (uint32_t)dot(a + k, b + k * XL_MATRIX_COLUMNS);
            block->sums[i * XL_BLOCK_COLUMNS + j] = sum;
        }
}

const xl_matrix_kernels xl_portable = {
    .name = "portable",
    .rows = 8,
    .supported = supported,
    .pack = pack,
    .prepared_bytes = xl_portable_prepared_bytes,
    .prepare = xl_portable_prepare,
    .accumulate = accumulate,
    .reduce8 = xl_portable_reduce8,
    .reduce16 = xl_portable_reduce16,
};
