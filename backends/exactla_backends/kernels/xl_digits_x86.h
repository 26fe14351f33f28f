/* Sums of products of digits by the signed multiplications of 32 bits to 64 of AVX2 and AVX-512, which take the even
 * lanes of their operands; xl_digits_plain.h says what they ensure.
 *
 * So the first half of the columns of a vector has the even slots, and the second half the odd ones. */
#ifndef XL_DIGITS_X86_H
#define XL_DIGITS_X86_H

#include <immintrin.h>

#ifdef XL_DIGITS_AVX512
#define XL_DIGIT_VECTOR __m512i
#define XL_DIGIT_OP(name) _mm512_##name
#define XL_DIGIT_LOAD(p) _mm512_loadu_si512(p)
#define XL_DIGIT_STORE(p, v) _mm512_storeu_si512(p, v)
#define XL_DIGIT_ZERO _mm512_setzero_si512()
#define XL_DIGIT_LANES 16
#else
#define XL_DIGIT_VECTOR __m256i
#define XL_DIGIT_OP(name) _mm256_##name
#define XL_DIGIT_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define XL_DIGIT_STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define XL_DIGIT_ZERO _mm256_setzero_si256()
#define XL_DIGIT_LANES 8
#endif
#define XL_DIGIT_HALF (XL_DIGIT_LANES / 2)
#define XL_DIGIT_SLOT(column)                                                                                          \
    ((column) / XL_DIGIT_LANES * XL_DIGIT_LANES + (column) % XL_DIGIT_HALF * 2 + (column) / XL_DIGIT_HALF % 2)

/* `digits` is a constant wherever this is used, so that the sums are in registers. */
XL_FUNCTION void xl_digit_sums_of(int64_t *sums, int64_t pitch, const int32_t *left, int64_t left_pitch, const int32_t *right,
                                  int64_t stride, int64_t depth, const int32_t digits) {
    XL_DIGIT_VECTOR total[2 * XL_MOST_DIGITS - 1][2];
    for (int32_t p = 0; p < 2 * digits - 1; ++p)
        total[p][0] = total[p][1] = XL_DIGIT_ZERO;
    for (int64_t k = 0; k < depth; ++k) {
        XL_DIGIT_VECTOR factor[XL_MOST_DIGITS];
        for (int32_t i = 0; i < digits; ++i)
            factor[i] = XL_DIGIT_OP(set1_epi32)(left[i * left_pitch + k]);
        for (int32_t j = 0; j < digits; ++j) {
            const XL_DIGIT_VECTOR even = XL_DIGIT_LOAD(right + (k * digits + j) * stride);
            const XL_DIGIT_VECTOR odd = XL_DIGIT_OP(srli_epi64)(even, 32);
            for (int32_t i = 0; i < digits; ++i) {
                total[i + j][0] = XL_DIGIT_OP(add_epi64)(total[i + j][0], XL_DIGIT_OP(mul_epi32)(factor[i], even));
                total[i + j][1] = XL_DIGIT_OP(add_epi64)(total[i + j][1], XL_DIGIT_OP(mul_epi32)(factor[i], odd));
            }
        }
    }
    for (int32_t p = 0; p < 2 * digits - 1; ++p)
        for (int32_t half = 0; half < 2; ++half)
            XL_DIGIT_STORE(sums + p * pitch + half * XL_DIGIT_HALF, total[p][half]);
}

XL_STAGE void xl_digit_sums(int64_t *sums, int64_t pitch, const int32_t *left, int64_t left_pitch, const int32_t *right, int64_t stride,
                            int64_t depth, int32_t digits) {
    switch (digits) {
    case 1:
        xl_digit_sums_of(sums, pitch, left, left_pitch, right, stride, depth, 1);
        break;
    case 2:
        xl_digit_sums_of(sums, pitch, left, left_pitch, right, stride, depth, 2);
        break;
    case 3:
        xl_digit_sums_of(sums, pitch, left, left_pitch, right, stride, depth, 3);
        break;
    default:
        xl_digit_sums_of(sums, pitch, left, left_pitch, right, stride, depth, XL_MOST_DIGITS);
    }
}

XL_STAGE void xl_piece_sums(int64_t sums[XL_PIECE_ROWS][XL_DIGIT_LANES], const int32_t *weights, int64_t row,
                            const int32_t *pieces, int64_t groups, int64_t count) {
    XL_DIGIT_VECTOR total[XL_PIECE_ROWS][2];
    for (int32_t i = 0; i < XL_PIECE_ROWS; ++i)
        total[i][0] = total[i][1] = XL_DIGIT_ZERO;
    for (int64_t g = 0; g < groups; ++g)
        for (int64_t j = 0; j < count; ++j) {
            const int32_t *from = weights + g * row - j;
            const XL_DIGIT_VECTOR even = XL_DIGIT_LOAD(pieces + (g * count + j) * XL_DIGIT_LANES);
            const XL_DIGIT_VECTOR odd = XL_DIGIT_OP(srli_epi64)(even, 32);
            __asm__("" : "+r"(from)); /* else weights go from step to step by registers, which takes longer than loads */
            for (int32_t i = 0; i < XL_PIECE_ROWS; ++i) {
                const XL_DIGIT_VECTOR factor = XL_DIGIT_OP(set1_epi32)(from[i]);
                total[i][0] = XL_DIGIT_OP(add_epi64)(total[i][0], XL_DIGIT_OP(mul_epi32)(factor, even));
                total[i][1] = XL_DIGIT_OP(add_epi64)(total[i][1], XL_DIGIT_OP(mul_epi32)(factor, odd));
            }
        }
    for (int32_t i = 0; i < XL_PIECE_ROWS; ++i)
        for (int32_t half = 0; half < 2; ++half)
            XL_DIGIT_STORE(sums[i] + half * XL_DIGIT_HALF, total[i][half]);
}

/* Compilers make products of 64 bits of these. */
XL_STAGE void xl_add_rows(uint64_t *XL_RESTRICT sums, const uint64_t *rows, const uint64_t *XL_RESTRICT right,
                          int64_t count) {
    XL_DIGIT_VECTOR row[4];
    for (int32_t i = 0; i < 4; ++i)
        row[i] = XL_DIGIT_OP(set1_epi32)((int32_t)rows[i]);
    for (int64_t j = 0; j < count; j += XL_DIGIT_HALF) {
        XL_DIGIT_VECTOR sum = XL_DIGIT_LOAD(sums + j);
        for (int32_t i = 0; i < 4; ++i)
            sum = XL_DIGIT_OP(add_epi64)(sum, XL_DIGIT_OP(mul_epi32)(row[i], XL_DIGIT_LOAD(right + j - i)));
        XL_DIGIT_STORE(sums + j, sum);
    }
}

#endif
