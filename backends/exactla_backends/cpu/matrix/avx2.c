/* The product by AVX2: blocks of 6 rows by 2 registers of 8 columns.
 *
 * Products of bytes (vpmaddubsw) would saturate, so both sides are widened to 16 bits and multiplied by vpmaddwd, which
 * is exact; the left rows once for all columns of a tile. */
#if defined(__x86_64__)

#    include "kernels.h"
#    include "target.h"
#    include "x86.h"

#    include <string.h>

enum { AHEAD = 2048 }; /* bytes by which a matrix that streams past a single row is asked for beforehand */

XL_TARGET_BEGIN("avx2")

#    include "portable_reduce.h"

#    include <immintrin.h>

#    define XL_ROWS 6
#    define XL_GROUPS 2
#    define XL_WORDS 8
#    define XL_REGISTER __m256i
#    define XL_LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#    define XL_STORE(to, x) _mm256_storeu_si256((__m256i *)(to), x)
#    include "registers.h"

static int supported(void) {
    return (xl_x86_features() & XL_X86_AVX2) != 0;
}

static int64_t prepared_bytes(int64_t depth) {
    return XL_ROWS * depth * (int64_t)sizeof(int16_t);
}

/* [XL_ROWS][depth], the last row repeated where there are fewer */
static void prepare(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared) {
    int16_t *to = prepared;
    for (int i = 0; i < XL_ROWS; ++i) {
        const int8_t *row = left + (i < rows ? i : rows - 1) * stride;
        for (int64_t k = 0; k < depth; k += 16, to += 16)
            _mm256_storeu_si256((__m256i *)to, _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(row + k))));
    }
}

/* Words of 16 bits: columns k .. k + 15 of eight rows, as eight groups of 8 words 32 bytes apart. */
static void pack_eight(const __m128i a[8], int8_t *packed) {
    __m128i b[8], c[8];
    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm_unpacklo_epi16(a[i], a[i + 1]);
        b[i + 1] = _mm_unpackhi_epi16(a[i], a[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int half = 0; half < 2; ++half) {
            c[i + 2 * half] = _mm_unpacklo_epi32(b[i + half], b[i + half + 2]);
            c[i + 2 * half + 1] = _mm_unpackhi_epi32(b[i + half], b[i + half + 2]);
        }
    for (int i = 0; i < 4; ++i) {
        _mm_storeu_si128((__m128i *)(packed + 64 * i), _mm_unpacklo_epi64(c[i], c[i + 4]));
        _mm_storeu_si128((__m128i *)(packed + 64 * i + 32), _mm_unpackhi_epi64(c[i], c[i + 4]));
    }
}

/* [depth / 2][16 columns][2] */
static void pack(const int8_t *plane, int64_t stride, int rows, int64_t depth, int8_t *packed) {
    for (int64_t k = 0; k < depth; k += 16)
        for (int j = 0; j < XL_MATRIX_COLUMNS; j += 8) {
            __m128i a[8];
            for (int i = 0; i < 8; ++i)
                a[i] = j + i < rows ? _mm_loadu_si128((const __m128i *)(plane + (j + i) * stride + k))
                                    : _mm_setzero_si128();
            pack_eight(a, packed + k * 16 + j * 2);
        }
}

static inline __m256i widened(const int8_t *bytes) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)bytes));
}

/* The first `rows` rows of 16 columns. */
XL_INLINE void accumulate_rows(
    const xl_matrix_block *block, const int16_t *left, const int8_t *right, int64_t depth, int column, int rows) {
    xl_sums sums;
    xl_load_sums(sums, block, 0, column, XL_GROUPS);
    for (int64_t k = 0; k < depth; k += 2) {
        const __m256i b0 = widened(right + k * 16), b1 = widened(right + k * 16 + 16);
        if (rows == 1)
            _mm_prefetch((const char *)right + k * 16 + AHEAD, _MM_HINT_T0);
        XL_UNROLL
        for (int i = 0; i < rows; ++i) {
            int32_t two;
            memcpy(&two, left + i * depth + k, 4);
            const __m256i a = _mm256_set1_epi32(two);
            sums[i][0] = _mm256_add_epi32(sums[i][0], _mm256_madd_epi16(a, b0));
            sums[i][1] = _mm256_add_epi32(sums[i][1], _mm256_madd_epi16(a, b1));
        }
    }
    xl_store_sums(sums, block, 0, column, XL_GROUPS);
}

/* A single row, a vector, has code of its own: the matrix then streams as fast as memory gives it. */
static void accumulate(const xl_matrix_block *block, const void *prepared, const int8_t *right, int64_t right_row,
    int64_t depth, const xl_matrix_meanwhile *meanwhile) {
    (void)meanwhile;
    for (int column = 0; column < block->columns; column += 16)
        if (block->rows == 1)
            accumulate_rows(block, prepared, right + column * right_row, depth, column, 1);
        else if (block->rows <= 4)
            accumulate_rows(block, prepared, right + column * right_row, depth, column, 4);
        else
            accumulate_rows(block, prepared, right + column * right_row, depth, column, XL_ROWS);
}

XL_TARGET_END

const xl_matrix_kernels xl_matrix_avx2 = {
    .name = "avx2",
    .rows = XL_ROWS,
    .supported = supported,
    .pack = pack,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
    .accumulate = accumulate,
    .reduce8 = xl_matrix_reduce_all8,
    .reduce16 = xl_matrix_reduce_all16,
};

#else
typedef int xl_no_avx2;
#endif
