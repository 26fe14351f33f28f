/* The product by the dot products of Arm v8.2: blocks of 4 rows by 4 registers of 4 columns. */
#if defined(__aarch64__) && defined(__linux__) && !defined(__ARM_BIG_ENDIAN)

#    include "kernels.h"
#    include "target.h"

#    include <asm/hwcap.h>
#    include <sys/auxv.h>

XL_TARGET_BEGIN(XL_TARGET_DOTPROD)

#    include "portable_reduce.h"

#    include <arm_neon.h>

enum { ROWS = 8 }; /* of a block, by XL_ROWS */

#    define XL_ROWS 4
#    define XL_GROUPS 4
#    define XL_WORDS 4
#    define XL_REGISTER int32x4_t
#    define XL_LOAD(from) vreinterpretq_s32_u32(vld1q_u32(from))
#    define XL_STORE(to, x) vst1q_u32(to, vreinterpretq_u32_s32(x))
#    include "registers.h"

typedef struct {
    const int8_t *rows[ROWS]; /* the last one repeated where there are fewer */
} prepared_rows;

static int supported(void) {
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}

static int64_t prepared_bytes(int64_t depth) {
    (void)depth;
    return sizeof(prepared_rows);
}

static void prepare(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared) {
    (void)depth;
    prepared_rows *to = prepared;
    for (int i = 0; i < ROWS; ++i)
        to->rows[i] = left + (i < rows ? i : rows - 1) * stride;
}

/* [depth / 16][4 groups of columns][4][4 columns][4] */
static void pack(const int8_t *plane, int64_t stride, int rows, int64_t depth, int8_t *packed) {
    for (int64_t k = 0; k < depth; k += 16)
        for (int j = 0; j < XL_MATRIX_COLUMNS; j += 4, packed += 64) {
            uint32x4x4_t columns;
            for (int i = 0; i < 4; ++i)
                columns.val[i] =
                    j + i < rows ? vreinterpretq_u32_s8(vld1q_s8(plane + (j + i) * stride + k)) : vdupq_n_u32(0);
            vst4q_u32((uint32_t *)(void *)packed, columns);
        }
}

/* Four products of four rows by 4 columns: lane l of a row by the l-th of the four registers at b. */
#    define XL_FOUR_ROWS(group, l)                                                                                     \
        do {                                                                                                           \
            const int8x16_t b = vld1q_s8(right + k * 16 + (group) * 64 + (l) * 16);                                    \
            sums[0][group] = vdotq_laneq_s32(sums[0][group], b, a[0], l);                                              \
            sums[1][group] = vdotq_laneq_s32(sums[1][group], b, a[1], l);                                              \
            sums[2][group] = vdotq_laneq_s32(sums[2][group], b, a[2], l);                                              \
            sums[3][group] = vdotq_laneq_s32(sums[3][group], b, a[3], l);                                              \
        } while (0)

/* 4 rows from `row` on, of 16 columns. */
static void accumulate_part(
    const xl_matrix_block *block, const prepared_rows *left, const int8_t *right, int64_t depth, int row, int column) {
    xl_sums sums;
    xl_load_sums(sums, block, row, column, XL_GROUPS);
    for (int64_t k = 0; k < depth; k += 16) {
        int8x16_t a[XL_ROWS];
        XL_UNROLL
        for (int i = 0; i < XL_ROWS; ++i)
            a[i] = vld1q_s8(left->rows[row + i] + k);
        XL_UNROLL
        for (int g = 0; g < XL_GROUPS; ++g) {
            XL_FOUR_ROWS(g, 0);
            XL_FOUR_ROWS(g, 1);
            XL_FOUR_ROWS(g, 2);
            XL_FOUR_ROWS(g, 3);
        }
    }
    xl_store_sums(sums, block, row, column, XL_GROUPS);
}

static void accumulate(const xl_matrix_block *block, const void *prepared, const int8_t *right, int64_t right_row,
    int64_t depth, const xl_matrix_meanwhile *meanwhile) {
    (void)meanwhile;
    for (int column = 0; column < block->columns; column += 16)
        for (int row = 0; row < block->rows; row += XL_ROWS)
            accumulate_part(block, prepared, right + column * right_row, depth, row, column);
}

XL_TARGET_END

const xl_matrix_kernels xl_matrix_neon_dotprod = {
    .name = "neon_dotprod",
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
typedef int xl_no_neon_dotprod;
#endif
