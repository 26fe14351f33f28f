/* The product by AVX-512 VNNI: blocks of 8 rows by 2 registers of 16 columns.
 *
 * vpdpbusd multiplies unsigned by signed bytes, so right entries b are packed as b + 128, and 128 times the sum of the
 * left row is taken off again. */
#if defined(__x86_64__)

#    include "kernels.h"
#    include "target.h"
#    include "x86.h"

#    include <string.h>

XL_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

#    include "avx512_reduce.h"
#    include "avx512_transpose.h"

enum { ROWS = 8 };

typedef struct {
    const int8_t *rows[ROWS]; /* the last one repeated where there are fewer */
    uint32_t corrections[ROWS];
} prepared_rows;

static int supported(void) {
    const unsigned needed = XL_X86_AVX512 | XL_X86_AVX512_VNNI;
    return (xl_x86_features() & needed) == needed;
}

static int64_t prepared_bytes(int64_t depth) {
    (void)depth;
    return sizeof(prepared_rows);
}

static void prepare(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared) {
    prepared_rows *to = prepared;
    for (int i = 0; i < ROWS; ++i) {
        const int8_t *row = left + (i < rows ? i : rows - 1) * stride;
        __m512i sum = _mm512_setzero_si512();
        for (int64_t k = 0; k < depth; k += 64)
            sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), _mm512_loadu_si512(row + k));
        to->rows[i] = row;
        to->corrections[i] = (uint32_t)-128 * (uint32_t)_mm512_reduce_add_epi32(sum);
    }
}

static void pack(const int8_t *plane, int64_t stride, int rows, int64_t depth, int8_t *packed) {
    for (int64_t k = 0; k < depth; k += XL_MATRIX_DEPTH)
        xl_avx512_transpose(plane + k, stride, rows, _mm512_set1_epi8(-128), packed + k * 16);
}

/* 8 rows of `groups` registers of 16 columns. */
static inline __attribute__((always_inline)) void accumulate_groups(const xl_matrix_block *block,
    const prepared_rows *left, const int8_t *right, int64_t right_row, int64_t depth, int groups) {
    __m512i sums[ROWS][2];
    XL_UNROLL
    for (int i = 0; i < ROWS; ++i)
        XL_UNROLL
    for (int g = 0; g < groups; ++g) {
        const uint32_t *start = block->start + (i < block->rows ? i : 0) * block->start_row + 16 * g;
        sums[i][g] = _mm512_add_epi32(_mm512_loadu_si512(start), _mm512_set1_epi32((int)left->corrections[i]));
    }
    for (int64_t k = 0; k < depth; k += 4) {
        __m512i b[2];
        XL_UNROLL
        for (int g = 0; g < groups; ++g)
            b[g] = _mm512_loadu_si512(right + g * 16 * right_row + k * 16);
        XL_UNROLL
        for (int i = 0; i < ROWS; ++i) {
            int32_t four;
            memcpy(&four, left->rows[i] + k, 4);
            XL_UNROLL
            for (int g = 0; g < groups; ++g)
                sums[i][g] = _mm512_dpbusd_epi32(sums[i][g], b[g], _mm512_set1_epi32(four));
        }
    }
    XL_UNROLL
    for (int i = 0; i < ROWS; ++i)
        XL_UNROLL
    for (int g = 0; g < groups; ++g)
        if (i < block->rows)
            _mm512_storeu_si512(block->sums + i * XL_BLOCK_COLUMNS + 16 * g, sums[i][g]);
}

static void accumulate(const xl_matrix_block *block, const void *prepared, const int8_t *right, int64_t right_row,
    int64_t depth, const xl_matrix_meanwhile *meanwhile) {
    (void)meanwhile;
    if (block->columns > 16)
        accumulate_groups(block, prepared, right, right_row, depth, 2);
    else
        accumulate_groups(block, prepared, right, right_row, depth, 1);
}

static void reduce8(xl_matrix_reduction *x) {
    xl_avx512_reduce8(x);
}

static void reduce16(xl_matrix_reduction *x) {
    xl_avx512_reduce16(x);
}

XL_TARGET_END

const xl_matrix_kernels xl_matrix_avx512_vnni = {
    .name = "avx512_vnni",
    .rows = ROWS,
    .supported = supported,
    .pack = pack,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
    .accumulate = accumulate,
    .reduce8 = reduce8,
    .reduce16 = reduce16,
};

#else
typedef int xl_no_avx512_vnni;
#endif
