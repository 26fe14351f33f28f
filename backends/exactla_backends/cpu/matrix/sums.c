/* Sums of products as they are, without residues: a product with a table of constants. */
#include "kernels.h"

#include <string.h>

static int64_t minimum(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t prepared_bytes(const xl_matrix_kernels *kernels) {
    return (kernels->prepared_bytes(XL_CHUNK) + XL_MATRIX_ALIGNMENT - 1) / XL_MATRIX_ALIGNMENT * XL_MATRIX_ALIGNMENT;
}

int64_t xl_matrix_sums_scratch_bytes(const xl_matrix_kernels *kernels) {
    return 4 * XL_BLOCK_COLUMNS * (1 + XL_BLOCK_ROWS) + prepared_bytes(kernels);
}

/* The rows and columns of one block, whose left rows are prepared where they are one chunk. */
static void sum_block(const xl_matrix_kernels *kernels, const xl_matrix_sums_job *job, int64_t i, int64_t j, int rows,
    const uint32_t *zeros, uint32_t *sums, void *prepared) {
    static xl_matrix_reduction nothing;
    const xl_matrix_meanwhile other = {.reduction = &nothing};
    const xl_matrix_block block = {
        rows, job->columns - j > XL_MATRIX_COLUMNS ? XL_BLOCK_COLUMNS : XL_MATRIX_COLUMNS, sums, zeros, 0};
    xl_matrix_block more = block;
    more.start = sums;
    more.start_row = XL_BLOCK_COLUMNS;
    for (int64_t k = 0; k < job->depth; k += XL_CHUNK) {
        const int64_t depth = minimum(XL_CHUNK, job->depth - k);
        if (job->depth > XL_CHUNK)
            kernels->prepare(job->left + i * job->left_row + k, job->left_row, rows, depth, prepared);
        kernels->accumulate(k == 0 ? &block : &more, prepared, job->right + j * job->depth + k * XL_MATRIX_COLUMNS,
            job->depth, depth, &other);
    }
    for (int r = 0; r < rows; ++r)
        memcpy(job->sums + (i + r) * job->row + j, sums + r * XL_BLOCK_COLUMNS, sizeof *sums * (size_t)block.columns);
}

void xl_matrix_sums(const xl_matrix_kernels *kernels, const xl_matrix_sums_job *job, void *scratch) {
    uint32_t *zeros = scratch, *sums = zeros + XL_BLOCK_COLUMNS;
    void *prepared = sums + XL_BLOCK_ROWS * XL_BLOCK_COLUMNS;
    int rows = 0;
    for (int j = 0; j < XL_BLOCK_COLUMNS; ++j)
        zeros[j] = 0;
    for (int64_t i = 0; i < job->rows; i += rows) {
        const int wanted = (int)minimum(kernels->rows, job->rows - i);
        if (wanted != rows && kernels->begin)
            kernels->begin(wanted);
        rows = wanted;
        if (job->depth <= XL_CHUNK)
            kernels->prepare(job->left + i * job->left_row, job->left_row, rows, job->depth, prepared);
        for (int64_t j = 0; j < job->columns; j += XL_BLOCK_COLUMNS)
            sum_block(kernels, job, i, j, rows, zeros, sums, prepared);
    }
    if (rows > 0 && kernels->end)
        kernels->end();
}
