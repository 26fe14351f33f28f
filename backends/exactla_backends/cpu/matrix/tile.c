/* The blocked loop: tiles of sums of products in residues, for any instruction set. */
#include "kernels.h"

/* Where the bytes of a scratch go: a row of biases, three blocks of sums, the prepared left rows. */
enum {
    BIAS_BYTES = XL_BLOCK_COLUMNS * 4,
    SUMS_WORDS = XL_BLOCK_ROWS * XL_BLOCK_COLUMNS,
    PREPARED_AT = BIAS_BYTES + 3 * SUMS_WORDS * 4
};

/* A tile in the making. */
typedef struct {
    const xl_matrix_kernels *kernels;
    const xl_matrix_term *terms;
    int64_t term_count;
    uint32_t *bias;
    uint32_t *sums[3];
    char *prepared;         /* of the current rows: [digits][terms][pieces] */
    int64_t prepared_digit; /* bytes of a digit's part of it */
} job;

static int64_t minimum(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t round_up(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* Bytes that the left rows of a term take when prepared. */
static int64_t prepared_bytes(const xl_matrix_kernels *kernels, const xl_matrix_term *term) {
    int64_t bytes = 0;
    for (int64_t k = 0; k < term->depth; k += XL_PIECE)
        bytes += kernels->prepared_bytes(minimum(term->depth - k, XL_PIECE));
    return bytes;
}

static int64_t all_prepared_bytes(const xl_matrix_kernels *kernels, const xl_matrix_term *terms, int64_t count) {
    int64_t bytes = 0;
    for (int64_t t = 0; t < count; ++t)
        bytes += prepared_bytes(kernels, &terms[t]);
    return bytes;
}

int64_t xl_matrix_packed_bytes(int64_t columns, int64_t depth) {
    return round_up(columns, XL_MATRIX_COLUMNS) * depth;
}

int64_t xl_matrix_scratch_bytes(const xl_matrix_kernels *kernels, const xl_matrix_term *terms, int64_t term_count) {
    return PREPARED_AT + 2 * all_prepared_bytes(kernels, terms, term_count);
}

void xl_matrix_pack(
    const xl_matrix_kernels *kernels, const int8_t *plane, int64_t begin, int64_t end, int64_t depth, int8_t *packed) {
    for (int64_t j = begin; j < end; j += XL_MATRIX_COLUMNS)
        kernels->pack(
            plane + j * depth, depth, (int)minimum(end - j, XL_MATRIX_COLUMNS), depth, packed + j * depth);
}

static job new_job(const xl_matrix_kernels *kernels, const xl_matrix_term *terms, int64_t term_count, void *scratch) {
    job work = {kernels, terms, term_count, scratch, {0}, (char *)scratch + PREPARED_AT, 0};
    for (int d = 0; d < 3; ++d)
        work.sums[d] = (uint32_t *)scratch + XL_BLOCK_COLUMNS + d * SUMS_WORDS;
    work.prepared_digit = all_prepared_bytes(kernels, terms, term_count);
    return work;
}

/* Prepares rows [i, i + rows) of all terms' left planes for modulus p. */
static void prepare(const job *work, int digits, int64_t p, int64_t i, int rows) {
    const xl_matrix_kernels *kernels = work->kernels;
    char *slot = work->prepared;
    for (int digit = 0; digit < digits; ++digit)
        for (int64_t t = 0; t < work->term_count; ++t) {
            const xl_matrix_term *term = &work->terms[t];
            const int8_t *left = term->left + p * term->left_modulus + digit * term->left_digit + i * term->depth;
            for (int64_t k = 0; k < term->depth; k += XL_PIECE) {
                const int64_t piece = minimum(term->depth - k, XL_PIECE);
                kernels->prepare(left + k, term->depth, rows, piece, slot);
                slot += kernels->prepared_bytes(piece);
            }
        }
}

/* sums = sums mod m, still biased: what lets a sum go on. */
static void fold(const xl_block *block, uint32_t m, uint32_t bias) {
    for (int i = 0; i < block->rows; ++i)
        for (int j = 0; j < block->columns; ++j) {
            uint32_t *y = &block->sums[i * XL_BLOCK_COLUMNS + j];
            const uint32_t multiple_of_m = UINT32_C(0x80000000) / m * m;
            *y = (uint32_t)((*y + (uint64_t)2 * multiple_of_m - bias) % m) + bias;
        }
}

/* The sums change sign. */
static void negate(const xl_block *block, uint32_t bias) {
    for (int i = 0; i < block->rows; ++i)
        for (int j = 0; j < block->columns; ++j) {
            uint32_t *y = &block->sums[i * XL_BLOCK_COLUMNS + j];
            *y = 2 * bias - *y;
        }
}

/* Adds the product of a left and a right digit of one term, folding where the sum would grow too long. */
static void add_product(const job *work, xl_block *block, const xl_matrix_term *term, const char *prepared,
    const int8_t *right, uint32_t m, int64_t *room) {
    const xl_matrix_kernels *kernels = work->kernels;
    for (int64_t k = 0; k < term->depth; k += XL_PIECE) {
        const int64_t piece = minimum(term->depth - k, XL_PIECE);
        if (piece > *room) {
            fold(block, m, work->bias[0]);
            *room = XL_PIECE;
        }
        kernels->accumulate(block, prepared, right + k * XL_MATRIX_COLUMNS, term->depth, piece);
        block->start = block->sums;
        block->start_row = XL_BLOCK_COLUMNS;
        prepared += kernels->prepared_bytes(piece);
        *room -= piece;
    }
}

/* Adds the products of all terms of one sign, for one left and one right digit; returns whether there were any. */
static int add_terms(const job *work, xl_block *block, int64_t negative, const int digits[2], int64_t p, int64_t j,
    uint32_t m, int64_t *room) {
    const char *prepared = work->prepared + digits[0] * work->prepared_digit;
    int any = 0;
    for (int64_t t = 0; t < work->term_count; ++t) {
        const xl_matrix_term *term = &work->terms[t];
        if (term->negative == negative && term->depth > 0) {
            const int8_t *right = term->right + p * term->right_modulus + digits[1] * term->right_digit;
            add_product(work, block, term, prepared, right + j * term->depth, m, room);
            any = 1;
        }
        prepared += prepared_bytes(work->kernels, term);
    }
    return any;
}

/* block->sums = sum over `pairs` pairs of digits and over all terms, biased: negative terms first, then a change of
 * sign, then the positive ones. */
static void sum_block(const job *work, xl_block *block, const int (*digits)[2], int pairs, int64_t p, int64_t j,
    uint32_t m) {
    int64_t room = XL_PIECE;
    int any = 0;
    block->start = work->bias;
    block->start_row = 0;
    for (int pair = 0; pair < pairs; ++pair)
        any |= add_terms(work, block, 1, digits[pair], p, j, m, &room);
    if (any)
        negate(block, work->bias[0]);
    for (int pair = 0; pair < pairs; ++pair)
        any |= add_terms(work, block, 0, digits[pair], p, j, m, &room);
    for (int i = 0; !any && i < SUMS_WORDS; ++i)
        block->sums[i] = work->bias[0];
}

static void set_bias(const job *work, uint32_t bias) {
    for (int j = 0; j < XL_BLOCK_COLUMNS; ++j)
        work->bias[j] = bias;
}

/* The residues of `rows` rows from row i on, for one modulus of 8 bits. */
static void rows8(const job *work, const xl_matrix_modulus8 *modulus, int64_t p, int64_t i, int rows,
    const xl_matrix_range *range, int8_t *residues, int64_t row) {
    static const int digits[1][2] = {{0, 0}};
    set_bias(work, modulus->bias);
    prepare(work, 1, p, i, rows);
    for (int64_t j = range->column_begin; j < range->column_end; j += XL_BLOCK_COLUMNS) {
        const int columns = range->column_end - j > XL_MATRIX_COLUMNS ? XL_BLOCK_COLUMNS : XL_MATRIX_COLUMNS;
        xl_block block = {rows, columns, work->sums[0], 0, 0};
        sum_block(work, &block, digits, 1, p, j, modulus->modulus);
        work->kernels->reduce8(&block, modulus, residues + (j - range->column_begin), row);
    }
}

/* The residues of `rows` rows from row i on, for one modulus of two digits. */
static void rows16(const job *work, const xl_matrix_modulus16 *modulus, int64_t p, int64_t i, int rows,
    const xl_matrix_range *range, int16_t *residues, int64_t row) {
    static const int digits[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    static const int first[3] = {0, 1, 3}, pairs[3] = {1, 2, 1};
    set_bias(work, modulus->bias);
    prepare(work, 2, p, i, rows);
    for (int64_t j = range->column_begin; j < range->column_end; j += XL_BLOCK_COLUMNS) {
        const int columns = range->column_end - j > XL_MATRIX_COLUMNS ? XL_BLOCK_COLUMNS : XL_MATRIX_COLUMNS;
        xl_block blocks[3];
        for (int d = 0; d < 3; ++d) {
            blocks[d] = (xl_block){rows, columns, work->sums[d], 0, 0};
            sum_block(work, &blocks[d], digits + first[d], pairs[d], p, j, modulus->modulus);
        }
        work->kernels->reduce16(blocks, modulus, residues + (j - range->column_begin), row);
    }
}

void xl_matrix_tile8(const xl_matrix_kernels *kernels, const xl_matrix_modulus8 *moduli, int64_t modulus_count,
    const xl_matrix_term *terms, int64_t term_count, xl_matrix_range range, int8_t *residues, int64_t plane,
    int64_t row, void *scratch) {
    const job work = new_job(kernels, terms, term_count, scratch);
    const int64_t whole = range.row_begin + (range.row_end - range.row_begin) / kernels->rows * kernels->rows;
    for (int64_t begin = range.row_begin; begin < range.row_end;) {
        const int rows = (int)minimum(range.row_end - begin, kernels->rows);
        const int64_t end = begin < whole ? whole : range.row_end;
        if (kernels->begin)
            kernels->begin(rows);
        for (int64_t p = 0; p < modulus_count; ++p)
            for (int64_t i = begin; i < end; i += rows)
                rows8(&work, &moduli[p], p, i, rows, &range, residues + p * plane + (i - range.row_begin) * row, row);
        begin = end;
    }
    if (kernels->end)
        kernels->end();
}

void xl_matrix_tile16(const xl_matrix_kernels *kernels, const xl_matrix_modulus16 *moduli, int64_t modulus_count,
    const xl_matrix_term *terms, int64_t term_count, xl_matrix_range range, int16_t *residues, int64_t plane,
    int64_t row, void *scratch) {
    const job work = new_job(kernels, terms, term_count, scratch);
    const int64_t whole = range.row_begin + (range.row_end - range.row_begin) / kernels->rows * kernels->rows;
    for (int64_t begin = range.row_begin; begin < range.row_end;) {
        const int rows = (int)minimum(range.row_end - begin, kernels->rows);
        const int64_t end = begin < whole ? whole : range.row_end;
        if (kernels->begin)
            kernels->begin(rows);
        for (int64_t p = 0; p < modulus_count; ++p)
            for (int64_t i = begin; i < end; i += rows)
                rows16(&work, &moduli[p], p, i, rows, &range, residues + p * plane + (i - range.row_begin) * row, row);
        begin = end;
    }
    if (kernels->end)
        kernels->end();
}
