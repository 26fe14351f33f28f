/* Residue products on tensor cores for numbers of eight bits (e4m3), of compute capability 8.9 and later.
 *
 * Such numbers hold the integers up to 16, so a residue r in [-128, 127] is 17 h + l with digits of magnitude up to 8, and
 *
 *     sum a b = 289 sum h h + 17 sum (h l + l h) + sum l l.
 *
 * Sums over XL_STEP terms, or twice as many in the middle, stay up to 2**12 in magnitude: below what accumulators hold
 * exactly that keep 14 bits, as those of Hopper are said to, and the self-check of the engine tries them at that bound.
 * Each becomes an integer before the next begins. The conversion is the only other floating-point instruction.
 */
#include "xl_cuda.h"

#define XL_STEP 32
#define XL_WARPS 4
#define XL_ROWS (16 * XL_WARPS)
#define XL_COLUMNS 64
#define XL_STRIDE 48 /* octets from row to row in shared memory: the threads of a warp read from different banks */

struct xl_product8 {
    const int8_t *left, *right; /* [stacks, moduli, rows or columns, depth] */
    int64_t rows, columns, depth, pairs, moduli;
    const int64_t *places;    /* [2, pairs]: the left and the right matrix of each pair */
    const int32_t *constants; /* [moduli, 4]: m, round(2**32 / m) */
    int8_t *result;           /* [pairs, moduli, rows, row_stride] */
    int64_t row_stride, sign, keep;
};

/* Requires: |sum| < 2**31, inverse = round(2**32 / m).
 * Ensures: congruent to sum, in [-floor(m / 2), ceil(m / 2)); see int8_sm90.cu. */
XL_INLINE int32_t xl_centre(int32_t sum, int32_t m, int32_t inverse) {
    const int32_t remainder = sum - __mulhi(sum, inverse) * m;
    return remainder >= (m + 1) >> 1 ? remainder - m : remainder;
}

/* Requires: |digit| <= 8.
 * Ensures: its encoding. */
XL_INLINE uint32_t xl_e4m3(int32_t digit) {
    const uint32_t magnitude = (uint32_t)(digit < 0 ? -digit : digit);
    const uint32_t encoding = magnitude == 8 ? 0x50 : (uint32_t)(0x4e4c4a4844403800ull >> 8 * magnitude) & 255;
    return encoding | (uint32_t)(digit < 0) << 7;
}

/* Ensures: encodings of the digits of four residues. */
XL_INLINE void xl_digits(uint32_t residues, uint32_t &high, uint32_t &low) {
    high = low = 0;
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
        const uint32_t shifted = (uint32_t)((int32_t)(int8_t)(residues >> 8 * i) + 8 + 17 * 8);
        high |= xl_e4m3((int32_t)(shifted / 17) - 8) << 8 * i;
        low |= xl_e4m3((int32_t)(shifted % 17) - 8) << 8 * i;
    }
}

/* Digits of the rows of one side, of XL_STEP terms. */
struct xl_tile8 {
    alignas(16) uint32_t high[XL_COLUMNS][XL_STRIDE / 4], low[XL_COLUMNS][XL_STRIDE / 4];
};

/* Requires: a block of 2 * XL_COLUMNS threads.
 * Ensures: digits of XL_COLUMNS rows from `first` on; zeros past the last. */
XL_INLINE void xl_load(xl_tile8 &tile, const int8_t *from, int64_t first, int64_t rows, int64_t depth) {
    const int32_t row = threadIdx.x / 2, part = threadIdx.x % 2 * 4;
    uint4 words = {0, 0, 0, 0};
    if (first + row < rows)
        words = *(const uint4 *)(from + (first + row) * depth + 4 * part);
    uint32_t *high = tile.high[row] + part, *low = tile.low[row] + part;
    xl_digits(words.x, high[0], low[0]);
    xl_digits(words.y, high[1], low[1]);
    xl_digits(words.z, high[2], low[2]);
    xl_digits(words.w, high[3], low[3]);
}

/* Ensures: d = c + a b, a thread's share of 16 rows and 8 columns. */
XL_INLINE void xl_multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const float (&c)[4]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%10, %11, %12, %13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
                   "f"(c[3]));
}

/* Ensures: a thread's share of the words of 16 rows, or of 8. */
XL_INLINE void xl_left_words(uint32_t (&a)[4], const uint32_t rows[][XL_STRIDE / 4], int32_t lane) {
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
        a[i] = rows[lane / 4 + 8 * (i % 2)][lane % 4 + 4 * (i / 2)];
}

XL_INLINE void xl_right_words(uint32_t (&b)[2], const uint32_t rows[][XL_STRIDE / 4], int32_t lane) {
#pragma unroll
    for (int32_t i = 0; i < 2; ++i)
        b[i] = rows[lane / 4][lane % 4 + 4 * i];
}

/* Ensures: sums += the products of one step. */
XL_INLINE void xl_step(int32_t (&sums)[XL_COLUMNS / 8][4], const xl_tile8 &left, const xl_tile8 &right, int32_t columns) {
    const int32_t lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16;
    const float zeros[4] = {0, 0, 0, 0};
    uint32_t a_high[4], a_low[4], b_high[2], b_low[2];
    xl_left_words(a_high, left.high + first, lane);
    xl_left_words(a_low, left.low + first, lane);
#pragma unroll
    for (int32_t n = 0; n < XL_COLUMNS / 8; ++n) {
        if (8 * n >= columns)
            break;
        float high[4], middle[4], half[4], low[4];
        xl_right_words(b_high, right.high + 8 * n, lane);
        xl_right_words(b_low, right.low + 8 * n, lane);
        xl_multiply(high, a_high, b_high, zeros);
        xl_multiply(low, a_low, b_low, zeros);
        xl_multiply(half, a_high, b_low, zeros);
        xl_multiply(middle, a_low, b_high, half);
#pragma unroll
        for (int32_t i = 0; i < 4; ++i)
            sums[n][i] += 289 * (int32_t)high[i] + 17 * (int32_t)middle[i] + (int32_t)low[i];
    }
}

/* result = keep * result + sign * left @ right.T modulo m, centred, for all pairs and moduli. Axis 0 of the grid
 * runs over columns, axis 1 over the rows of all products.
 * Requires: depth a multiple of XL_STEP. */
extern "C" __global__ void __launch_bounds__(32 * XL_WARPS) xl_product8(const __grid_constant__ xl_product8 p) {
    __shared__ xl_tile8 left, right;
    const int64_t column0 = (int64_t)blockIdx.x * XL_COLUMNS, tiles = (p.rows + XL_ROWS - 1) / XL_ROWS;
    const int32_t lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16;
    const int32_t columns = p.columns - column0 < XL_COLUMNS ? (int32_t)(p.columns - column0) : XL_COLUMNS;
    for (int64_t at = blockIdx.y; at < tiles * p.pairs * p.moduli; at += gridDim.y) {
        const int64_t row0 = at % tiles * XL_ROWS, product = at / tiles;
        const int64_t pair = product / p.moduli, modulus = product % p.moduli;
        const int8_t *a = p.left + (p.places[pair] * p.moduli + modulus) * p.rows * p.depth;
        const int8_t *b = p.right + (p.places[p.pairs + pair] * p.moduli + modulus) * p.columns * p.depth;
        const int32_t m = p.constants[4 * modulus], inverse = p.constants[4 * modulus + 1];
        int32_t sums[XL_COLUMNS / 8][4] = {};
        for (int64_t k = 0; k < p.depth; k += XL_STEP) {
            xl_load(left, a + k, row0, p.rows, p.depth);
            xl_load(right, b + k, column0, p.columns, p.depth);
            __syncthreads();
            if (row0 + warp_row < p.rows)
                xl_step(sums, left, right, columns);
            if ((k + XL_STEP) % XL_SEGMENT == 0)
#pragma unroll
                for (int32_t n = 0; n < XL_COLUMNS / 8; ++n)
#pragma unroll
                    for (int32_t i = 0; i < 4; ++i)
                        sums[n][i] = xl_centre(sums[n][i], m, inverse);
            __syncthreads();
        }
#pragma unroll
        for (int32_t n = 0; n < XL_COLUMNS / 8; ++n)
#pragma unroll
            for (int32_t i = 0; i < 4; ++i) {
                const int64_t row = row0 + warp_row + lane / 4 + 8 * (i / 2), column = column0 + 8 * n + lane % 4 * 2 + i % 2;
                if (row < p.rows && column < p.columns) {
                    int8_t *to = p.result + ((pair * p.moduli + modulus) * p.rows + row) * p.row_stride + column;
                    const int32_t sum = (int32_t)p.sign * xl_centre(sums[n][i], m, inverse) + (p.keep ? *to : 0);
                    *to = (int8_t)xl_centre(sum, m, inverse);
                }
            }
    }
}
