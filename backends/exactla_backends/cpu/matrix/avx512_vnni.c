/* The product by AVX-512 VNNI: blocks of 8 rows by 2 registers of 16 columns; see vnni.h. */
#if defined(__x86_64__)

#    include "kernels.h"
#    include "target.h"
#    include "x86.h"

XL_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

#    include "avx512_reduce.h"
#    include "avx512_transpose.h"

static int supported(void) {
    const unsigned needed = XL_X86_AVX512 | XL_X86_AVX512_VNNI;
    return (xl_x86_features() & needed) == needed;
}

static uint32_t row_sum(const int8_t *row, int64_t depth) {
    __m512i sum = _mm512_setzero_si512();
    for (int64_t k = 0; k < depth; k += 64)
        sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), _mm512_loadu_si512(row + k));
    return (uint32_t)_mm512_reduce_add_epi32(sum);
}

static void pack(const int8_t *plane, int64_t stride, int rows, int64_t depth, int8_t *packed) {
    for (int64_t k = 0; k < depth; k += XL_MATRIX_DEPTH)
        xl_avx512_transpose(plane + k, stride, rows, _mm512_set1_epi8(-128), packed + k * 16);
}

#    define XL_ROWS 8
#    define XL_GROUPS 2
#    define XL_WORDS 16
#    define XL_REGISTER __m512i
#    define XL_LOAD(from) _mm512_loadu_si512(from)
#    define XL_STORE(to, x) _mm512_storeu_si512(to, x)
#    define XL_ADD _mm512_add_epi32
#    define XL_SET1 _mm512_set1_epi32
#    define XL_DOT _mm512_dpbusd_epi32
#    include "vnni.h"

XL_TARGET_END

const xl_matrix_kernels xl_matrix_avx512_vnni = {
    .name = "avx512_vnni",
    .rows = XL_ROWS,
    .supported = supported,
    .pack = pack,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
    .accumulate = accumulate,
    .reduce8 = xl_avx512_reduce8,
    .reduce16 = xl_avx512_reduce16,
};

#else
typedef int xl_no_avx512_vnni;
#endif
