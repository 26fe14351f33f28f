/* What kernels have in common that look over the rows of an operand and note something of each. */
#ifndef XL_CUDA_ROWS_H
#define XL_CUDA_ROWS_H
#include "words.h"

/* An operand, [stacks, rows, depth] with strides in octets, and the entries of a row for each block of threads. */
struct xl_rows {
    const uint8_t *data;
    int64_t strides[3];
    int64_t stacks, rows, depth, step;
};

/* Ensures: xl_start, xl_add for each entry, and xl_note have been called for all rows, part by part.
 *
 * Neighbouring threads take neighbours in memory, along the rows (with XL_ROWS_FIRST) or along the inner dimension, and
 * then xl_join what they found of a row. Axis 0 of the grid runs over rows, axis 1 over parts of the inner dimension. */
template <class Job> XL_FUNCTION void xl_over_rows(const xl_rows &x, const Job &job) {
    const int64_t row = (int64_t)blockIdx.x * (XL_ROWS_FIRST ? blockDim.x : blockDim.y) +
                        (XL_ROWS_FIRST ? threadIdx.x : threadIdx.y);
    const int64_t part = XL_ROWS_FIRST ? threadIdx.y : threadIdx.x, parts = XL_ROWS_FIRST ? blockDim.y : blockDim.x;
    const xl_format format = {XL_FORMAT};
    if (row >= x.rows)
        return; /* without XL_ROWS_FIRST, whole warps: they share a row */
    for (int64_t stack = blockIdx.z; stack < x.stacks; stack += gridDim.z)
        for (int64_t begin = blockIdx.y * x.step; begin < x.depth; begin += gridDim.y * x.step) {
            const int64_t end = begin + x.step < x.depth ? begin + x.step : x.depth;
            const uint8_t *from = x.data + stack * x.strides[0] + row * x.strides[1] + (begin + part) * x.strides[2];
            auto found = xl_start(job, stack, row);
#pragma unroll 8
            for (int64_t k = begin + part; k < end; k += parts, from += parts * x.strides[2])
                xl_add(found, xl_word(from, (int32_t)format.octets));
            if (!XL_ROWS_FIRST)
                xl_join(found);
            if (XL_ROWS_FIRST || threadIdx.x == 0)
                xl_note(job, stack, row, found);
        }
}

#endif
