/* Exponents of the rows of operands with few parts to a row, and what a plan has to know of them. */
#include "ranges.h"

/* An operand, as in xl_conversion; the exponents of its rows and their tops behind them; and three cells, for the largest
 * distance between those, for the sum of the distances, and for the number of entries that are not finite. */
struct xl_few_parts {
    const uint8_t *data;
    int64_t strides[3];
    int64_t stacks, rows, depth;
    int64_t *exponents;
    int32_t *cells;
};

#define XL_PARTS 32 /* of a row, where neighbouring threads take neighbouring rows */

/* Blocks of 32 x XL_PARTS threads along the rows and for parts of them, or of 32 x 8 along the inner dimension of eight
 * rows. */
XL_KERNEL xl_cuda_exponents(const __grid_constant__ xl_few_parts s) {
    const int64_t row = (int64_t)blockIdx.x * (XL_ROWS_FIRST ? 32 : 8) + (XL_ROWS_FIRST ? threadIdx.x : threadIdx.y);
    const int64_t part = XL_ROWS_FIRST ? threadIdx.y : threadIdx.x, parts = XL_ROWS_FIRST ? XL_PARTS : 32;
    const xl_format format = {XL_FORMAT};
    __shared__ xl_range shared[XL_PARTS][32];
    for (int64_t stack = blockIdx.z; stack < s.stacks; stack += gridDim.z) {
        const uint8_t *from = s.data + stack * s.strides[0] + row * s.strides[1];
        xl_range range = {XL_NO_RANGE, XL_NO_RANGE, 0};
        from += part * s.strides[2];
        if (row < s.rows)
#pragma unroll 8
            for (int64_t k = part; k < s.depth; k += parts, from += parts * s.strides[2])
                xl_widen(range, xl_word(from, (int32_t)format.octets));
        if (XL_ROWS_FIRST) {
            shared[threadIdx.y][threadIdx.x] = range;
            __syncthreads();
            if (threadIdx.y == 0)
                for (int32_t i = 1; i < XL_PARTS; ++i) {
                    range.lowest = min(range.lowest, shared[i][threadIdx.x].lowest);
                    range.minus_highest = min(range.minus_highest, shared[i][threadIdx.x].minus_highest);
                    range.nonfinite += shared[i][threadIdx.x].nonfinite;
                }
            __syncthreads();
        } else
            xl_join(range);
        if (part == 0 && row < s.rows) {
            const bool empty = range.lowest == XL_NO_RANGE;
            int64_t *to = s.exponents + stack * s.rows + row;
            to[0] = empty ? 0 : range.lowest;
            to[s.stacks * s.rows] = empty ? 0 : -range.minus_highest;
            if (!empty && -range.minus_highest > range.lowest) {
                atomicMax(s.cells, -range.minus_highest - range.lowest);
                atomicAdd(s.cells + 1, -range.minus_highest - range.lowest);
            }
            if (range.nonfinite != 0)
                atomicAdd(s.cells + 2, range.nonfinite);
        }
    }
}
