/* Inverses modulo primes, in place, by pivot transforms of blocks of columns; see native.h.
 *
 * With K the columns of a block and, after exchanges, its pivot rows, and T = A_KK**-1:
 *
 *     [A_KK  A_KJ]         [T          T A_KJ           ]
 *     [A_IK  A_IJ]  -->    [-A_IK T    A_IJ - A_IK T A_KJ]
 *
 * The right block is A_*J with the rows K cleared, plus the left block times A_KJ: a product on the matrix unit. The left
 * block is made by the same steps on its halves, and on a few columns by `pivot_panel`. */
#include "native.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) {
    return 1;
}
#endif

enum {
    PANEL = 32,  /* columns that are transformed one by one */
    BLOCK = XL_INVERSION_BLOCK, /* columns whose transform reaches the rest of the matrix at once */
    TILE = 256,
    WORTH_A_THREAD = 1 << 23
};

static int64_t minimum(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t padded(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* What a thread works on: one matrix at a time, with memory of its own. */
typedef struct {
    const xl_instructions *set;
    const xl_matrix_modulus8 *constants;
    int8_t *matrix;
    int64_t size, depth;
    int16_t *panel;     /* [PANEL][lanes]: columns */
    int8_t *left;       /* [size][up to BLOCK]: a block of columns */
    int8_t *rows;       /* [size][up to BLOCK]: its pivot rows, by columns */
    int8_t *packed;     /* the same for the matrix unit */
    int8_t *tile;       /* [TILE][TILE]: a part of the product */
    int64_t *source;    /* [size] */
    int64_t *exchanged; /* [size], of the inversion */
    char *scratch;
    int64_t lanes;
    void *whole;
} workspace;

static int workspace_new(workspace *w, const xl_instructions *set, const xl_inversion *inversion) {
    /* columns that are powers of two apart would share a few sets of the cache */
    const int64_t lanes = padded(inversion->size, XL_MATRIX_ALIGNMENT) + XL_MATRIX_ALIGNMENT, bytes = lanes * BLOCK;
    const int64_t scratch = xl_matrix_scratch_bytes(set->matrix, 1, TILE, TILE);
    char *at;
    w->whole = malloc((size_t)(2 * PANEL * lanes + 3 * bytes + TILE * TILE + 8 * lanes + scratch + XL_MATRIX_ALIGNMENT));
    if (!w->whole)
        return 0;
    at = (char *)w->whole + (XL_MATRIX_ALIGNMENT - (uintptr_t)w->whole % XL_MATRIX_ALIGNMENT);
    w->set = set;
    w->size = inversion->size;
    w->depth = inversion->depth;
    w->lanes = lanes;
    w->panel = (int16_t *)at;
    w->left = (int8_t *)(w->panel + PANEL * lanes);
    w->rows = w->left + bytes;
    w->packed = w->rows + bytes;
    w->tile = w->packed + bytes;
    w->source = (int64_t *)(w->tile + TILE * TILE);
    w->scratch = (char *)(w->source + lanes);
    return 1;
}

static void exchange_rows(int8_t *a, int8_t *b, int64_t count) {
    for (int64_t j = 0; j < count && a != b; ++j) {
        const int8_t kept = a[j];
        a[j] = b[j];
        b[j] = kept;
    }
}

/* Transforms a few columns by themselves; returns the determinant of their pivots, or 0. */
static int64_t transform_panel(const workspace *w, int64_t start, int64_t count) {
    int64_t determinant;
    for (int64_t i = 0; i < w->size; ++i)
        for (int64_t k = 0; k < count; ++k)
            w->panel[k * w->lanes + i] = w->matrix[i * w->depth + start + k];
    determinant = w->set->elements->pivot_panel(w->panel, w->lanes, w->size, count, start, w->constants->modulus,
                                                w->exchanged + start);
    if (determinant == 0)
        return 0;
    for (int64_t k = start; k < start + count; ++k)
        exchange_rows(w->matrix + k * w->depth, w->matrix + w->exchanged[k] * w->depth, w->size);
    for (int64_t i = 0; i < w->size; ++i)
        for (int64_t k = 0; k < count; ++k)
            w->matrix[i * w->depth + start + k] = (int8_t)w->panel[k * w->lanes + i];
    return determinant;
}

/* Copies a block of columns to `left`, and its pivot rows in columns [from, to) to `rows`, where they become 0. */
static void take_block(const workspace *w, int64_t start, int64_t count, int64_t from, int64_t to, int64_t depth) {
    for (int64_t i = 0; i < w->size; ++i) {
        memcpy(w->left + i * depth, w->matrix + i * w->depth + start, (size_t)count);
        memset(w->left + i * depth + count, 0, (size_t)(depth - count));
    }
    for (int64_t j = from; j < to; ++j)
        for (int64_t k = count; k < depth; ++k)
            w->rows[(j - from) * depth + k] = 0;
    for (int64_t k = 0; k < count; k += 8)
        for (int64_t j = from; j < to; ++j)
            for (int64_t i = k; i < minimum(k + 8, count); ++i)
                w->rows[(j - from) * depth + i] = w->matrix[(start + i) * w->depth + j];
    for (int64_t k = 0; k < count; ++k)
        memset(w->matrix + (start + k) * w->depth + from, 0, (size_t)(to - from));
}

/* Brings the transform of a block of columns to the columns [from, to). */
static void transform_others(const workspace *w, int64_t start, int64_t count, int64_t from, int64_t to) {
    const int64_t depth = padded(count, XL_MATRIX_DEPTH);
    const xl_matrix_term term = {.left = w->left, .right = w->packed, .depth = depth};
    if (from >= to)
        return;
    take_block(w, start, count, from, to, depth);
    xl_matrix_pack(w->set->matrix, w->rows, 0, to - from, depth, w->packed);
    for (int64_t i = 0; i < w->size; i += TILE)
        for (int64_t j = from; j < to; j += TILE) {
            const int64_t rows = minimum(TILE, w->size - i), columns = minimum(TILE, to - j);
            const xl_matrix_range range = {i, i + rows, j - from, j - from + columns};
            xl_matrix_tile8(w->set->matrix, w->constants, 1, &term, 1, range, w->tile, 0, TILE, w->scratch);
            w->set->elements->add_residues(w->matrix + i * w->depth + j, w->depth, w->tile, TILE, rows, columns,
                                           w->constants->modulus);
        }
}

/* Transforms a block of columns by themselves; returns the determinant of their pivots modulo the prime, or 0. */
static int64_t transform_block(const workspace *w, int64_t start, int64_t count) {
    int64_t half = PANEL, first, second;
    if (count <= PANEL)
        return transform_panel(w, start, count);
    while (2 * half < count)
        half *= 2;
    first = transform_block(w, start, half);
    if (first == 0)
        return 0;
    transform_others(w, start, half, start + half, start + count);
    second = transform_block(w, start + half, count - half);
    transform_others(w, start + half, count - half, start, start + half);
    return first * second % w->constants->modulus;
}

/* Undoes the exchanges of rows: those of columns, in the opposite order, on the inverse. */
static void restore_columns(const workspace *w) {
    for (int64_t j = 0; j < w->size; ++j)
        w->source[j] = j;
    for (int64_t k = w->size - 1; k >= 0; --k) {
        const int64_t kept = w->source[k];
        w->source[k] = w->source[w->exchanged[k]];
        w->source[w->exchanged[k]] = kept;
    }
    for (int64_t i = 0; i < w->size; ++i) {
        int8_t *row = w->matrix + i * w->depth;
        memcpy(w->rows, row, (size_t)w->size);
        for (int64_t j = 0; j < w->size; ++j)
            row[j] = w->rows[w->source[j]];
    }
}

/* Transforms the columns of a call; returns the determinant of the pivots so far, or 0. */
static int64_t transform_columns(const workspace *w, const xl_inversion *inversion, int64_t determinant) {
    for (int64_t start = inversion->begin; start < inversion->end && determinant; start += BLOCK) {
        const int64_t count = minimum(BLOCK, w->size - start);
        determinant = determinant * transform_block(w, start, count) % w->constants->modulus;
        if (determinant) {
            transform_others(w, start, count, 0, start);
            transform_others(w, start, count, start + count, w->size);
        }
    }
    if (determinant && inversion->end == w->size)
        restore_columns(w);
    return determinant;
}

int64_t xl_native_invert(const xl_instructions *set, const xl_inversion *inversion, int64_t *determinants,
                         int64_t threads) {
    const int64_t size = inversion->size, plane = size * inversion->depth;
    const int64_t available = threads > 0 ? threads : omp_get_max_threads();
    const int team = size * size * size * inversion->moduli < WORTH_A_THREAD ? 1 : (int)minimum(available, inversion->moduli);
    int64_t failed = 0;
    (void)team;
#pragma omp parallel num_threads(team) if (team > 1)
    {
        workspace w;
        const int ready = workspace_new(&w, set, inversion);
        if (!ready) {
#pragma omp atomic write
            failed = XL_OUT_OF_MEMORY;
        }
#pragma omp for schedule(dynamic)
        for (int64_t p = 0; p < inversion->moduli; ++p)
            if (ready) {
                w.matrix = inversion->planes + p * plane;
                w.constants = &inversion->constants[p];
                w.exchanged = inversion->exchanged + p * size;
                determinants[p] = transform_columns(&w, inversion, determinants[p]);
            }
        if (ready)
            free(w.whole);
    }
    return failed;
}
