/* Residues of triangular factors: sums of products of what is known of them, and what becomes known; see native.h. */
#include "sharing.h"

enum { SLAB = XL_MATRIX_DEPTH, TILE = 256 };

typedef struct {
    const xl_instructions *set;
    const xl_elimination *e;
    int64_t start, stop;
    const int64_t *order;
} elimination_job;

static int64_t packed_columns(const xl_elimination *e) {
    return round_up(e->columns, XL_MATRIX_COLUMNS);
}

static int8_t *lower_plane(const xl_elimination *e, int64_t p, int64_t digit) {
    return e->lower + (2 * p + digit) * e->rows * e->depth;
}

static int8_t *upper_plane(const xl_elimination *e, int64_t p, int64_t digit) {
    return e->upper + (2 * p + digit) * packed_columns(e) * e->depth;
}

static int8_t *slab_plane(const xl_elimination *e, int64_t p, int64_t digit) {
    return e->slab + (2 * p + digit) * e->columns * SLAB;
}

/* Residues of a tile of L U for a modulus. */
static void multiply(const elimination_job *job, int64_t p, xl_matrix_range range, int16_t *to, int64_t row,
                     void *scratch) {
    const xl_elimination *e = job->e;
    const xl_matrix_term term = {
        .left = lower_plane(e, p, 0),
        .right = upper_plane(e, p, 0),
        .left_digit = e->rows * e->depth,
        .right_digit = packed_columns(e) * e->depth,
        .depth = round_up(job->start, SLAB),
        .row = e->depth,
    };
    xl_matrix_tile16(job->set->matrix, (const xl_matrix_modulus16 *)e->constants + p, 1, &term, 1, range, to, 0, row,
                     scratch);
}

static void *aligned(void *whole) {
    return (char *)whole + (XL_MATRIX_ALIGNMENT - (uintptr_t)whole % XL_MATRIX_ALIGNMENT);
}

static int64_t scratch_bytes(const elimination_job *job) {
    return round_up(xl_matrix_scratch_bytes(job->set->matrix, 2, TILE, TILE), XL_MATRIX_ALIGNMENT);
}

/* Columns of the block from the rows' sums: a tile is made by rows and turned. */
static int64_t column_sums_piece(const void *context, int64_t p) {
    const elimination_job *job = context;
    const xl_elimination *e = job->e;
    const int64_t first = job->start / XL_MATRIX_COLUMNS * XL_MATRIX_COLUMNS;
    const int64_t width = round_up(job->stop - first, XL_MATRIX_COLUMNS), bytes = scratch_bytes(job);
    void *whole = malloc((size_t)(bytes + 2 * TILE * width + XL_MATRIX_ALIGNMENT));
    int16_t *tile;
    if (!whole)
        return XL_OUT_OF_MEMORY;
    tile = (int16_t *)(void *)((char *)aligned(whole) + bytes);
    for (int64_t i = job->start; i < e->rows; i += TILE) {
        const int64_t rows = minimum(TILE, e->rows - i);
        for (int64_t j = 0; j < width; j += TILE) {
            const xl_matrix_range range = {i, i + rows, first + j, minimum(first + j + TILE, job->stop)};
            multiply(job, p, range, tile + j, width, aligned(whole));
        }
        for (int64_t j = job->start; j < job->stop; ++j) {
            int16_t *to = e->sums + (p * e->block + j - job->start) * e->sums_stride + i - job->start;
            for (int64_t r = 0; r < rows; ++r)
                to[r] = tile[r * width + j - first];
        }
    }
    free(whole);
    return 0;
}

int64_t xl_native_column_sums(const xl_instructions *set, const xl_elimination *e, int64_t start, int64_t stop,
                              int64_t threads) {
    const elimination_job job = {set, e, start, stop, NULL};
    const int64_t work = e->moduli * (e->rows - start) * (stop - start);
    return xl_for_each(xl_team(threads, work, e->moduli), e->moduli, column_sums_piece, &job);
}

static int64_t row_sums_piece(const void *context, int64_t p) {
    const elimination_job *job = context;
    const xl_elimination *e = job->e;
    const int64_t first = job->stop / XL_MATRIX_COLUMNS * XL_MATRIX_COLUMNS, rows = job->stop - job->start;
    const int64_t bytes = scratch_bytes(job);
    void *whole = malloc((size_t)(bytes + 2 * TILE * rows + XL_MATRIX_ALIGNMENT));
    int16_t *tile;
    if (!whole)
        return XL_OUT_OF_MEMORY;
    tile = (int16_t *)(void *)((char *)aligned(whole) + bytes);
    for (int64_t j = first; j < e->columns; j += TILE) {
        const int64_t end = minimum(j + TILE, e->columns), from = maximum(j, job->stop);
        const xl_matrix_range range = {job->start, job->stop, j, end};
        multiply(job, p, range, tile, TILE, aligned(whole));
        for (int64_t i = 0; i < rows; ++i)
            memcpy(e->sums + (p * e->block + i) * e->sums_stride + from - job->stop, tile + i * TILE + from - j,
                   (size_t)(2 * (end - from)));
    }
    free(whole);
    return 0;
}

int64_t xl_native_row_sums(const xl_instructions *set, const xl_elimination *e, int64_t start, int64_t stop,
                           int64_t threads) {
    const elimination_job job = {set, e, start, stop, NULL};
    const int64_t work = e->moduli * (e->columns - stop) * (stop - start);
    return xl_for_each(xl_team(threads, work, e->moduli), e->moduli, row_sums_piece, &job);
}

/* Row k of `rows` rows of `octets` octets becomes what row order[k] was; `kept` has room for them. */
static void reorder(char *rows, int64_t stride, const int64_t *order, int64_t count, int64_t octets, char *kept) {
    int64_t moved = 0;
    for (int64_t k = 0; k < count; ++k)
        if (order[k] != k)
            memcpy(kept + moved++ * octets, rows + order[k] * stride, (size_t)octets);
    moved = 0;
    for (int64_t k = 0; k < count; ++k)
        if (order[k] != k)
            memcpy(rows + k * stride, kept + moved++ * octets, (size_t)octets);
}

static void split(int64_t residue, int8_t *high, int8_t *low) {
    *high = (int8_t)((residue + 128) >> 8);
    *low = (int8_t)(residue - 256 * *high);
}

static int64_t exchange_piece(const void *context, int64_t p) {
    const elimination_job *job = context;
    const xl_elimination *e = job->e;
    const int64_t count = e->rows - job->start, width = job->stop - job->start;
    char *kept = malloc((size_t)(count * maximum(job->start, 2) + count * width));
    if (!kept)
        return XL_OUT_OF_MEMORY;
    for (int64_t digit = 0; digit < 2; ++digit)
        reorder((char *)lower_plane(e, p, digit) + job->start * e->depth, e->depth, job->order, count, job->start, kept);
    for (int64_t k = 0; k < width; ++k)
        reorder((char *)(e->panel_lower + (p * e->block + k) * e->lower_stride), 2, job->order, count, 2, kept);
    for (int64_t i = 0; i < count; ++i) {
        const int16_t *panel = e->panel_lower + p * e->block * e->lower_stride + i;
        int8_t *high = lower_plane(e, p, 0) + (job->start + i) * e->depth + job->start, *low = high + e->rows * e->depth;
        for (int64_t k = 0; k < width; ++k)
            split(panel[k * e->lower_stride], &high[k], &low[k]);
    }
    free(kept);
    return 0;
}

int64_t xl_native_exchange(const xl_instructions *set, const xl_elimination *e, int64_t start, int64_t stop,
                           const int64_t *order, int64_t threads) {
    const elimination_job job = {set, e, start, stop, order};
    const int64_t work = e->moduli * (e->rows - start) * (stop - start);
    return xl_for_each(xl_team(threads, work, e->moduli), e->moduli, exchange_piece, &job);
}

/* Packs the slab, rows [begin, begin + 64) of U, as far as they are known. */
static void pack_slab(const elimination_job *job, int64_t p, int64_t digit, int64_t begin) {
    const xl_elimination *e = job->e;
    const int8_t *slab = slab_plane(e, p, digit);
    for (int64_t j = 0; j < e->columns; j += XL_MATRIX_COLUMNS)
        xl_matrix_pack(job->set->matrix, slab + j * SLAB, 0, minimum(XL_MATRIX_COLUMNS, e->columns - j), SLAB,
                       upper_plane(e, p, digit) + j * e->depth + begin * XL_MATRIX_COLUMNS);
}

static int64_t keep_upper_piece(const void *context, int64_t p) {
    const elimination_job *job = context;
    const xl_elimination *e = job->e;
    for (int64_t i = job->start, end; i < job->stop; i = end) {
        end = minimum(i / SLAB * SLAB + SLAB, job->stop);
        if (i % SLAB == 0)
            memset(slab_plane(e, p, 0), 0, (size_t)(2 * e->columns * SLAB));
        for (int64_t j = i + 1; j < e->columns; ++j) {
            const int16_t *panel = e->panel_upper + (p * e->block + i - job->start) * e->upper_stride + j;
            int8_t *high = slab_plane(e, p, 0) + j * SLAB + i % SLAB, *low = high + e->columns * SLAB;
            for (int64_t k = 0; k < minimum(end, j) - i; ++k)
                split(panel[k * e->upper_stride], &high[k], &low[k]);
        }
        for (int64_t digit = 0; digit < 2; ++digit)
            pack_slab(job, p, digit, i / SLAB * SLAB);
    }
    return 0;
}

int64_t xl_native_keep_upper(const xl_instructions *set, const xl_elimination *e, int64_t start, int64_t stop,
                             int64_t threads) {
    const elimination_job job = {set, e, start, stop, NULL};
    const int64_t work = e->moduli * e->columns * (stop - start);
    return xl_for_each(xl_team(threads, work, e->moduli), e->moduli, keep_upper_piece, &job);
}
