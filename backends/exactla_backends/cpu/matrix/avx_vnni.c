/* The product by AVX-VNNI, for CPUs that have it and no AVX-512: blocks of 6 rows by 2 registers of 8 columns;
 * see vnni.h. */
#if defined(__x86_64__)

#    include "kernels.h"
#    include "target.h"
#    include "x86.h"

XL_TARGET_BEGIN("avx2,avxvnni")

#    include "portable_reduce.h"

#    include <immintrin.h>

static int supported(void) {
    return (xl_x86_features() & XL_X86_AVX_VNNI) != 0;
}

static uint32_t row_sum(const int8_t *row, int64_t depth) {
    __m256i sum = _mm256_setzero_si256();
    for (int64_t k = 0; k < depth; k += 32)
        sum = _mm256_dpbusd_avx_epi32(sum, _mm256_set1_epi8(1), _mm256_loadu_si256((const __m256i *)(row + k)));
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    four = _mm_hadd_epi32(four, four);
    return (uint32_t)_mm_cvtsi128_si32(_mm_hadd_epi32(four, four));
}

/* Columns k .. k + 15 of four rows, as four groups of 4 x 4 bytes 64 bytes apart. */
static void pack_four(const __m128i a[4], int8_t *packed) {
    const __m128i low01 = _mm_unpacklo_epi32(a[0], a[1]), high01 = _mm_unpackhi_epi32(a[0], a[1]);
    const __m128i low23 = _mm_unpacklo_epi32(a[2], a[3]), high23 = _mm_unpackhi_epi32(a[2], a[3]);
    _mm_storeu_si128((__m128i *)packed, _mm_unpacklo_epi64(low01, low23));
    _mm_storeu_si128((__m128i *)(packed + 64), _mm_unpackhi_epi64(low01, low23));
    _mm_storeu_si128((__m128i *)(packed + 128), _mm_unpacklo_epi64(high01, high23));
    _mm_storeu_si128((__m128i *)(packed + 192), _mm_unpackhi_epi64(high01, high23));
}

/* [depth / 4][16 columns][4] */
static void pack(const int8_t *plane, int64_t stride, int rows, int64_t depth, int8_t *packed) {
    const __m128i flip = _mm_set1_epi8(-128);
    for (int64_t k = 0; k < depth; k += 16)
        for (int j = 0; j < XL_MATRIX_COLUMNS; j += 4) {
            __m128i a[4];
            for (int i = 0; i < 4; ++i)
                a[i] = j + i < rows
                           ? _mm_xor_si128(flip, _mm_loadu_si128((const __m128i *)(plane + (j + i) * stride + k)))
                           : flip;
            pack_four(a, packed + k * 16 + j * 4);
        }
}

#    define XL_ROWS 6
#    define XL_GROUPS 2
#    define XL_WORDS 8
#    define XL_REGISTER __m256i
#    define XL_LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#    define XL_STORE(to, x) _mm256_storeu_si256((__m256i *)(to), x)
#    define XL_ADD _mm256_add_epi32
#    define XL_SET1 _mm256_set1_epi32
#    define XL_DOT _mm256_dpbusd_avx_epi32
#    include "vnni.h"

XL_TARGET_END

const xl_matrix_kernels xl_matrix_avx_vnni = {
    .name = "avx_vnni",
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
typedef int xl_no_avx_vnni;
#endif
