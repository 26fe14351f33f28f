/* Loops over stacks, tiles and threads; see native.h. */
#include "native.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) {
    return 1;
}
#endif

enum {
    GRAIN = 1 << 14,          /* entries that are worth a piece of work of their own */
    TILE_ROWS = 256,
    TILE_COLUMNS = 256,
    TILE_BYTES = 7 << 18,     /* residues of a tile, within a second level cache */
    WORTH_A_THREAD = 1 << 15  /* entries up to which work stays on the caller's thread */
};

static int64_t minimum(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t maximum(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t divide_up(int64_t n, int64_t by) {
    return (n + by - 1) / by;
}

static int team(int64_t threads, int64_t work, int64_t pieces) {
    const int64_t available = threads > 0 ? threads : omp_get_max_threads();
    return work <= WORTH_A_THREAD ? 1 : (int)maximum(1, minimum(available, pieces));
}

/* ---- pieces of rows ---- */

/* Rows of a stack cut into pieces of about GRAIN entries. */
typedef struct {
    int64_t rows, step, per_stack, count;
} row_pieces;

static row_pieces cut_rows(int64_t stacks, int64_t rows, int64_t depth) {
    row_pieces pieces;
    pieces.rows = rows;
    pieces.step = divide_up(maximum(1, GRAIN / maximum(depth, 1)), 8) * 8;
    pieces.per_stack = divide_up(rows, pieces.step);
    pieces.count = stacks * pieces.per_stack;
    return pieces;
}

static int64_t piece_begin(const row_pieces *pieces, int64_t i) {
    return i % pieces->per_stack * pieces->step;
}

static int64_t piece_end(const row_pieces *pieces, int64_t i) {
    return minimum(piece_begin(pieces, i) + pieces->step, pieces->rows);
}

static xl_operand matrix_of(const xl_stack *x, int64_t stack) {
    xl_operand matrix = x->first;
    matrix.data = (const char *)matrix.data + stack * x->stride;
    if (matrix.exponents)
        matrix.exponents += stack * matrix.rows;
    return matrix;
}

static xl_planes planes_of(const xl_plane_stack *planes, int64_t stack) {
    xl_planes one = planes->first;
    one.data += stack * planes->stride;
    return one;
}

/* A sum of counts in which XL_OUT_OF_MEMORY wins. */
static int64_t joined(int64_t total, int64_t count) {
    return total < 0 || count < 0 ? XL_OUT_OF_MEMORY : total + count;
}

/* ---- constants ---- */

int64_t xl_native_constants(const uint32_t *moduli, int64_t count, int64_t octets, void *constants) {
    xl_matrix_modulus8 *one = constants;
    xl_matrix_modulus16 *two = constants;
    for (int64_t i = 0; constants && i < count; ++i)
        if (octets == 1 ? xl_matrix_modulus8_set(&one[i], moduli[i]) : xl_matrix_modulus16_set(&two[i], moduli[i]))
            return -1;
    return count * (int64_t)(octets == 1 ? sizeof *one : sizeof *two);
}

int64_t xl_native_scratch(const xl_instructions *set, int64_t octets, int64_t rows, int64_t columns) {
    return xl_matrix_scratch_bytes(set->matrix, (int)octets, rows, columns);
}

/* ---- operands ---- */

int64_t xl_native_scan(const xl_instructions *set, const xl_stack *x, int64_t *lowest, int64_t *highest,
                       int64_t threads) {
    const row_pieces pieces = cut_rows(x->stacks, x->first.rows, x->first.depth);
    const int size = team(threads, x->stacks * x->first.rows * x->first.depth, pieces.count);
    int64_t nonfinite = 0;
    (void)size;
#pragma omp parallel for num_threads(size) schedule(dynamic) if (size > 1)
    for (int64_t i = 0; i < pieces.count; ++i) {
        const int64_t stack = i / pieces.per_stack;
        const xl_operand matrix = matrix_of(x, stack);
        const int64_t found = set->elements->scan(&matrix, piece_begin(&pieces, i), piece_end(&pieces, i),
                                                  lowest + stack * matrix.rows, highest + stack * matrix.rows);
#pragma omp critical
        nonfinite = joined(nonfinite, found);
    }
    return nonfinite;
}

int64_t xl_native_residues(const xl_instructions *set, const xl_stack *x, const xl_residue_table *table,
                           int64_t octets, const xl_plane_stack *planes, int64_t threads) {
    const row_pieces pieces = cut_rows(x->stacks, x->first.rows, planes->first.depth);
    const int size = team(threads, x->stacks * x->first.rows * x->first.depth * 8, pieces.count);
    int64_t broken = 0;
    (void)size;
#pragma omp parallel for num_threads(size) schedule(dynamic) if (size > 1)
    for (int64_t i = 0; i < pieces.count; ++i) {
        const xl_operand matrix = matrix_of(x, i / pieces.per_stack);
        const xl_planes to = planes_of(planes, i / pieces.per_stack);
        const int64_t found = (octets == 1 ? set->elements->residues8 : set->elements->residues16)(
            &matrix, table, &to, piece_begin(&pieces, i), piece_end(&pieces, i));
#pragma omp critical
        broken = joined(broken, found);
    }
    return broken;
}

int64_t xl_native_interval_residues(const xl_instructions *set, const xl_stack *first, const xl_stack *second,
                                    int64_t endpoints, const xl_residue_table *table, int64_t octets,
                                    const xl_plane_stack *planes, int64_t *invalid, int64_t threads) {
    const row_pieces pieces = cut_rows(first->stacks, first->first.rows, planes->first.depth);
    const int size = team(threads, first->stacks * first->first.rows * first->first.depth * 8, pieces.count);
    int64_t broken = 0, wrong = 0;
    (void)size;
#pragma omp parallel for num_threads(size) schedule(dynamic) if (size > 1)
    for (int64_t i = 0; i < pieces.count; ++i) {
        const int64_t stack = i / pieces.per_stack;
        const xl_operand x = matrix_of(first, stack), y = matrix_of(second, stack);
        xl_planes to[7];
        int64_t inverted = 0;
        for (int piece = 0; piece < 7; ++piece)
            to[piece] = planes_of(&planes[piece], stack);
        const int64_t found =
            set->elements->interval_residues(&x, &y, (int32_t)endpoints, (int32_t)octets, table, to,
                                             piece_begin(&pieces, i), piece_end(&pieces, i), &inverted);
#pragma omp critical
        {
            broken = joined(broken, found);
            wrong += inverted;
        }
    }
    *invalid = wrong;
    return broken;
}

void xl_native_classify(const xl_instructions *set, const xl_stack *x, const xl_plane_stack *planes) {
    for (int64_t stack = 0; stack < x->stacks; ++stack) {
        const xl_operand matrix = matrix_of(x, stack);
        xl_planes to[7];
        for (int piece = 0; piece < 7; ++piece)
            to[piece] = planes_of(&planes[piece], stack);
        set->elements->classify(&matrix, to, 0, matrix.rows);
    }
}

void xl_native_pack(const xl_instructions *set, const int8_t *planes, int64_t count, int64_t columns, int64_t depth,
                    int8_t *packed, int64_t threads) {
    const int64_t bytes = xl_matrix_packed_bytes(columns, depth);
    const int64_t step = divide_up(maximum(1, 4 * GRAIN / maximum(depth, 1)), XL_MATRIX_COLUMNS) * XL_MATRIX_COLUMNS;
    const int64_t per_plane = divide_up(columns, step);
    const int size = team(threads, count * columns * depth, count * per_plane);
    (void)size;
#pragma omp parallel for num_threads(size) schedule(dynamic) if (size > 1)
    for (int64_t i = 0; i < count * per_plane; ++i) {
        const int64_t plane = i / per_plane, begin = i % per_plane * step;
        xl_matrix_pack(set->matrix, planes + plane * columns * depth, begin, minimum(begin + step, columns), depth,
                       packed + plane * bytes);
    }
}

/* ---- tiles of products ---- */

/* Results cut into tiles, a pair at a time, the rows of a block of columns after each other. */
typedef struct {
    int64_t rows, columns, row_step, column_step, row_tiles, column_tiles, count;
} tiles;

static tiles cut_results(const xl_product *product, int64_t threads) {
    const int64_t bytes = maximum(product->moduli * product->octets, 1);
    tiles t = {product->rows, product->columns, TILE_ROWS, TILE_COLUMNS, 0, 0, 0};
    while (t.row_step * t.column_step * bytes > TILE_BYTES && t.row_step * t.column_step > 32 * 32) {
        if (t.column_step > t.row_step)
            t.column_step /= 2;
        else
            t.row_step /= 2;
    }
    t.row_step = minimum(t.row_step, divide_up(maximum(t.rows, 1), 32) * 32);
    t.column_step = minimum(t.column_step, divide_up(maximum(t.columns, 1), XL_MATRIX_COLUMNS) * XL_MATRIX_COLUMNS);
    /* small results are shared out by smaller tiles */
    while (t.row_step > 32 && product->pairs * divide_up(t.rows, t.row_step) * divide_up(t.columns, t.column_step) <
                                  2 * threads)
        t.row_step = divide_up(t.row_step / 2, 32) * 32;
    t.row_tiles = divide_up(t.rows, t.row_step);
    t.column_tiles = divide_up(t.columns, t.column_step);
    t.count = product->pairs * t.row_tiles * t.column_tiles;
    return t;
}

typedef struct {
    int64_t pair;
    xl_matrix_range range;
} tile_place;

static tile_place place_of(const tiles *t, int64_t i) {
    tile_place place;
    const int64_t row = i % t->row_tiles, column = i / t->row_tiles % t->column_tiles;
    place.pair = i / (t->row_tiles * t->column_tiles);
    place.range.row_begin = row * t->row_step;
    place.range.row_end = minimum(place.range.row_begin + t->row_step, t->rows);
    place.range.column_begin = column * t->column_step;
    place.range.column_end = minimum(place.range.column_begin + t->column_step, t->columns);
    return place;
}

/* Memory of a thread: terms of the pair at hand, scratch of the matrix kernels, residues of a tile. */
typedef struct {
    xl_matrix_term *terms;
    char *scratch, *residues;
    void *whole;
} workspace;

static int64_t padded(int64_t bytes) {
    return divide_up(bytes, XL_MATRIX_ALIGNMENT) * XL_MATRIX_ALIGNMENT;
}

static int workspace_new(workspace *w, const xl_instructions *set, const xl_product *product, const tiles *t,
                         int64_t residue_bytes) {
    const int64_t terms = padded((int64_t)sizeof(xl_matrix_term) * product->term_count);
    int64_t scratch;
    w->terms = malloc((size_t)terms);
    if (!w->terms)
        return 0;
    for (int64_t i = 0; i < product->term_count; ++i)
        w->terms[i] = product->terms[i].first;
    scratch = padded(xl_matrix_scratch_bytes(set->matrix, (int)product->octets, t->row_step, t->column_step));
    w->whole = malloc((size_t)(scratch + residue_bytes + XL_MATRIX_ALIGNMENT));
    if (!w->whole) {
        free(w->terms);
        return 0;
    }
    w->scratch = (char *)w->whole + (XL_MATRIX_ALIGNMENT - (uintptr_t)w->whole % XL_MATRIX_ALIGNMENT);
    w->residues = w->scratch + scratch;
    return 1;
}

static void workspace_free(workspace *w) {
    free(w->whole);
    free(w->terms);
}

static void multiply_tile(const xl_instructions *set, const xl_product *product, const workspace *w, tile_place place,
                          char *residues, int64_t plane, int64_t row) {
    for (int64_t i = 0; i < product->term_count; ++i) {
        const xl_product_term *term = &product->terms[i];
        w->terms[i].left = term->first.left + product->left[place.pair] * term->left_stride;
        w->terms[i].right = term->first.right + product->right[place.pair] * term->right_stride;
    }
    if (product->octets == 1)
        xl_matrix_tile8(set->matrix, product->constants, product->moduli, w->terms, product->term_count, place.range,
                        (int8_t *)residues, plane, row, w->scratch);
    else
        xl_matrix_tile16(set->matrix, product->constants, product->moduli, w->terms, product->term_count, place.range,
                         (int16_t *)residues, plane, row, w->scratch);
}

static int64_t multiplications(const xl_product *product) {
    int64_t depth = 0;
    for (int64_t i = 0; i < product->term_count; ++i)
        depth += product->terms[i].first.depth;
    return product->pairs * product->rows * product->columns * maximum(depth / 16, 8);
}

int64_t xl_native_multiply(const xl_instructions *set, const xl_product *product, const xl_result_stack *results,
                           int64_t threads) {
    const int64_t available = threads > 0 ? threads : omp_get_max_threads();
    const tiles t = cut_results(product, available);
    const int size = team(threads, multiplications(product), t.count);
    const xl_results *to = &results->first;
    int64_t failed = 0;
    (void)size;
#pragma omp parallel num_threads(size) if (size > 1)
    {
        workspace w;
        const int ready = workspace_new(&w, set, product, &t, 0);
        if (!ready) {
#pragma omp atomic write
            failed = XL_OUT_OF_MEMORY;
        }
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < t.count; ++i) {
            const tile_place place = place_of(&t, i);
            char *residues = (char *)(uintptr_t)to->data + place.pair * results->pair_stride +
                             place.range.row_begin * to->row_stride + place.range.column_begin * to->octets;
            if (ready)
                multiply_tile(set, product, &w, place, residues, to->plane_stride / to->octets,
                              to->row_stride / to->octets);
        }
        if (ready)
            workspace_free(&w);
    }
    return failed;
}

/* ---- rounding ---- */

enum { MOST_ENCODINGS = 4 };

/* Rows [begin, end) of residues, which lie at (row, column) of the results of a pair, to encodings. */
static int64_t round_rows(const xl_instructions *set, const xl_rounding_job *job, const xl_results *residues,
                          int64_t rows, int64_t columns, int64_t pair, const int64_t *row_exponents, const int64_t *column_exponents, int64_t row,
                          int64_t column, int64_t begin, int64_t end) {
    xl_encodings to[MOST_ENCODINGS];
    xl_exponents exponents = {row_exponents + row, column_exponents + column, job->shift};
    for (int64_t e = 0; e < job->count; ++e) {
        to[e] = job->encodings[e];
        to[e].data = (char *)to[e].data + pair * job->pair_stride + row * to[e].row_stride + column * job->format[1];
    }
    if (job->unsure)
        return set->elements->round_certified(residues, job->crt, &exponents, job->format, to, job->count, job->slack,
                                              job->unsure + (pair * rows + row) * columns + column, columns, begin, end);
    return set->elements->round(residues, job->crt, &exponents, job->format, to, job->count, begin, end);
}

int64_t xl_native_multiply_round(const xl_instructions *set, const xl_product *product, const xl_rounding_job *job,
                                 int64_t threads) {
    const int64_t available = threads > 0 ? threads : omp_get_max_threads();
    const tiles t = cut_results(product, available);
    const int size = team(threads, multiplications(product), t.count);
    const int64_t plane = t.row_step * t.column_step;
    int64_t failed = 0;
    (void)size;
#pragma omp parallel num_threads(size) if (size > 1)
    {
        workspace w;
        const int ready = workspace_new(&w, set, product, &t, plane * product->octets * product->moduli);
        if (!ready) {
#pragma omp atomic write
            failed = XL_OUT_OF_MEMORY;
        }
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < t.count; ++i) {
            const tile_place at = place_of(&t, i);
            const int64_t rows = at.range.row_end - at.range.row_begin;
            const xl_results residues = {
                w.residues, product->octets, plane * product->octets, t.column_step * product->octets, rows,
                at.range.column_end - at.range.column_begin};
            if (!ready)
                continue;
            multiply_tile(set, product, &w, at, w.residues, plane, t.column_step);
            if (round_rows(set, job, &residues, t.rows, t.columns, at.pair, job->left_exponents + product->left[at.pair] * product->rows,
                           job->right_exponents + product->right[at.pair] * product->columns, at.range.row_begin,
                           at.range.column_begin, 0, rows) < 0) {
#pragma omp atomic write
                failed = XL_OUT_OF_MEMORY;
            }
        }
        if (ready)
            workspace_free(&w);
    }
    return failed;
}

int64_t xl_native_round(const xl_instructions *set, const xl_result_stack *results, const int64_t *left,
                        const int64_t *right, int64_t pairs, const xl_rounding_job *job, int64_t threads) {
    const int64_t rows = results->first.rows, columns = results->first.columns;
    const row_pieces pieces = cut_rows(pairs, rows, columns);
    const int size = team(threads, pairs * rows * columns * 16, pieces.count);
    int64_t failed = 0;
    (void)size;
#pragma omp parallel for num_threads(size) schedule(dynamic) if (size > 1)
    for (int64_t i = 0; i < pieces.count; ++i) {
        const int64_t pair = i / pieces.per_stack, row = piece_begin(&pieces, i);
        xl_results part = results->first;
        part.data = (const char *)part.data + pair * results->pair_stride + row * part.row_stride;
        part.rows = piece_end(&pieces, i) - row;
        if (round_rows(set, job, &part, rows, columns, pair, job->left_exponents + left[pair] * rows,
                       job->right_exponents + right[pair] * columns, row, 0, 0, part.rows) < 0) {
#pragma omp atomic write
            failed = XL_OUT_OF_MEMORY;
        }
    }
    return failed;
}

/* ---- sums and integers ---- */

static xl_results results_of(const xl_result_stack *results, int64_t pair) {
    xl_results one = results->first;
    one.data = (const char *)one.data + pair * results->pair_stride;
    return one;
}

int64_t xl_native_combine(const xl_instructions *set, const xl_result_stack *result, const xl_result_stack *terms,
                          const int64_t *signs, int64_t count, int64_t pairs, const xl_crt_table *table,
                          int64_t threads) {
    const int64_t rows = result->first.rows, columns = result->first.columns;
    const row_pieces pieces = cut_rows(pairs, rows, columns);
    const int size = team(threads, pairs * rows * columns * table->moduli / 8, pieces.count);
    int64_t failed = 0;
    (void)size;
#pragma omp parallel num_threads(size) if (size > 1)
    {
        xl_results *parts = malloc(sizeof(xl_results) * (size_t)count);
        if (!parts) {
#pragma omp atomic write
            failed = XL_OUT_OF_MEMORY;
        }
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < pieces.count; ++i) {
            const int64_t pair = i / pieces.per_stack;
            const xl_results to = results_of(result, pair);
            if (!parts)
                continue;
            for (int64_t term = 0; term < count; ++term)
                parts[term] = results_of(&terms[term], pair);
            set->elements->combine((void *)(uintptr_t)to.data, parts, signs, count, table, piece_begin(&pieces, i),
                                   piece_end(&pieces, i));
        }
        free(parts);
    }
    return failed;
}

int64_t xl_native_integers(const xl_instructions *set, const xl_result_stack *results, int64_t pairs,
                           const xl_crt_table *table, uint32_t *limbs, int64_t threads) {
    const int64_t rows = results->first.rows, columns = results->first.columns;
    const row_pieces pieces = cut_rows(pairs, rows, columns);
    const int size = team(threads, pairs * rows * columns * 16, pieces.count);
    int64_t failed = 0;
    (void)size;
#pragma omp parallel for num_threads(size) schedule(dynamic) if (size > 1)
    for (int64_t i = 0; i < pieces.count; ++i) {
        const int64_t pair = i / pieces.per_stack;
        const xl_results part = results_of(results, pair);
        if (set->elements->integers(&part, table, limbs + pair * rows * columns * table->limbs, 1, table->limbs,
                                    piece_begin(&pieces, i), piece_end(&pieces, i)) < 0) {
#pragma omp atomic write
            failed = XL_OUT_OF_MEMORY;
        }
    }
    return failed;
}

int64_t xl_native_check(const xl_instructions *set) {
    return xl_matrix_check(set->matrix);
}
