/* The product by the int8 matrix instructions of Arm v8.6: blocks of 4 pairs of rows by 4 pairs of columns. */
#if defined(__aarch64__) && defined(__linux__) && !defined(__ARM_BIG_ENDIAN)

#    include "kernels.h"
#    include "target.h"

#    include <asm/hwcap.h>
#    include <sys/auxv.h>

XL_TARGET_BEGIN(XL_TARGET_I8MM)

#    include "portable_reduce.h"

#    include <arm_neon.h>
#    include <string.h>

enum { ROWS = 8, PAIRS = 4 };

static int supported(void) {
    return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
}

static int64_t prepared_bytes(int64_t depth) {
    return ROWS * depth;
}

/* [depth / 8][PAIRS][2 rows][8], the last row repeated where there are fewer */
static void prepare(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared) {
    int8_t *to = prepared;
    for (int64_t k = 0; k < depth; k += 8)
        for (int i = 0; i < ROWS; ++i, to += 8)
            memcpy(to, left + (i < rows ? i : rows - 1) * stride + k, 8);
}

/* [depth / 8][16 columns][8] */
static void pack(const int8_t *plane, int64_t stride, int rows, int64_t depth, int8_t *packed) {
    for (int64_t k = 0; k < depth; k += 8)
        for (int j = 0; j < XL_MATRIX_COLUMNS; ++j, packed += 8)
            if (j < rows)
                memcpy(packed, plane + j * stride + k, 8);
            else
                memset(packed, 0, 8);
}

/* Sums of two rows and two columns at one place. */
static int32x4_t load_pair(const uint32_t *start, int64_t second_row) {
    return vreinterpretq_s32_u32(vcombine_u32(vld1_u32(start), vld1_u32(start + second_row)));
}

static void store_pair(const xl_matrix_block *block, int row, int column, uint32x4_t pair) {
    uint32_t *sums = block->sums + row * XL_BLOCK_COLUMNS + column;
    if (row < block->rows)
        vst1_u32(sums, vget_low_u32(pair));
    if (row + 1 < block->rows)
        vst1_u32(sums + XL_BLOCK_COLUMNS, vget_high_u32(pair));
}

/* 8 rows of 8 columns. */
static void accumulate_part(
    const xl_matrix_block *block, const int8_t *left, const int8_t *right, int64_t depth, int column) {
    int32x4_t sums[PAIRS][PAIRS];
    XL_UNROLL
    for (int i = 0; i < PAIRS; ++i)
        XL_UNROLL
    for (int j = 0; j < PAIRS; ++j) {
        const int64_t row = 2 * i < block->rows ? 2 * i : 0, second = row + 1 < block->rows ? block->start_row : 0;
        sums[i][j] = load_pair(block->start + row * block->start_row + column + 2 * j, second);
    }
    for (int64_t k = 0; k < depth; k += 8) {
        int8x16_t a[PAIRS];
        XL_UNROLL
        for (int i = 0; i < PAIRS; ++i)
            a[i] = vld1q_s8(left + k * ROWS + 16 * i);
        XL_UNROLL
        for (int j = 0; j < PAIRS; ++j) {
            const int8x16_t b = vld1q_s8(right + k * 16 + 16 * j);
            XL_UNROLL
            for (int i = 0; i < PAIRS; ++i)
                sums[i][j] = vmmlaq_s32(sums[i][j], a[i], b);
        }
    }
    XL_UNROLL
    for (int i = 0; i < PAIRS; ++i)
        XL_UNROLL
    for (int j = 0; j < PAIRS; ++j)
        store_pair(block, 2 * i, column + 2 * j, vreinterpretq_u32_s32(sums[i][j]));
}

static void accumulate(const xl_matrix_block *block, const void *prepared, const int8_t *right, int64_t right_row,
    int64_t depth, const xl_matrix_meanwhile *meanwhile) {
    (void)meanwhile;
    for (int column = 0; column < block->columns; column += 8)
        accumulate_part(block, prepared, right + column / 16 * 16 * right_row + column % 16 * 8, depth, column);
}

XL_TARGET_END

const xl_matrix_kernels xl_matrix_neon_i8mm = {
    .name = "neon_i8mm",
    .rows = ROWS,
    .supported = supported,
    .pack = pack,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
    .accumulate = accumulate,
    .reduce8 = xl_matrix_reduce_all8,
    .reduce16 = xl_matrix_reduce_all16,
};

#else
typedef int xl_no_neon_i8mm;
#endif
