/* Sums of products, tile by tile; see native.h. */
#include "rounding.h"
#include "sharing.h"

/* Results cut into tiles, a pair at a time, the rows of a block of columns after each other. */
typedef struct {
    int64_t rows, columns, row_step, column_step, row_tiles, column_tiles, count;
} tiles;

typedef struct {
    int64_t pair;
    xl_matrix_range range;
} tile_place;

/* Bytes that each result takes of a second level cache: its residues until they are rounded, or else sums of the kinds of
 * products of two digits, for which most of the cache stays with the operands. */
static int64_t result_bytes(const xl_product *product, const xl_rounding_job *rounding) {
    enum { SUMS = 3 * sizeof(int32_t), SHARES = 4 };
    return rounding ? maximum(product->moduli * product->octets, 1) : product->octets == 2 ? SHARES * SUMS : 1;
}

static tiles cut_results(const xl_product *product, const xl_rounding_job *rounding, int64_t threads) {
    const int64_t bytes = result_bytes(product, rounding);
    tiles t = {product->rows, product->columns, XL_TILE_SIDE, XL_TILE_SIDE, 0, 0, 0};
    while (t.row_step * t.column_step * bytes > XL_TILE_BYTES && t.row_step * t.column_step > 32 * 32) {
        if (t.column_step > t.row_step)
            t.column_step /= 2;
        else
            t.row_step /= 2;
    }
    t.row_step = minimum(t.row_step, round_up(maximum(t.rows, 1), 32));
    t.column_step = minimum(t.column_step, round_up(maximum(t.columns, 1), XL_MATRIX_COLUMNS));
    /* small results are shared out by smaller tiles */
    while (t.row_step > 32 && product->pairs * divide_up(t.rows, t.row_step) * divide_up(t.columns, t.column_step) <
                                  2 * threads)
        t.row_step = round_up(t.row_step / 2, 32);
    t.row_tiles = divide_up(t.rows, t.row_step);
    t.column_tiles = divide_up(t.columns, t.column_step);
    t.count = product->pairs * t.row_tiles * t.column_tiles;
    return t;
}

static tile_place place_of(const tiles *t, int64_t i) {
    const int64_t row = i % t->row_tiles * t->row_step;
    const int64_t column = i / t->row_tiles % t->column_tiles * t->column_step;
    return (tile_place){
        i / (t->row_tiles * t->column_tiles),
        {row, minimum(row + t->row_step, t->rows), column, minimum(column + t->column_step, t->columns)}};
}

/* Memory of a thread: terms of the pair at hand, scratch of the matrix kernels, residues of a tile. */
typedef struct {
    xl_matrix_term *terms;
    char *scratch, *residues;
    void *whole;
} workspace;

static int workspace_new(workspace *w, const xl_instructions *set, const xl_product *product, const tiles *t,
                         int64_t residue_bytes) {
    const int64_t terms = round_up((int64_t)sizeof(xl_matrix_term) * product->term_count, XL_MATRIX_ALIGNMENT);
    const int64_t scratch =
        round_up(xl_matrix_scratch_bytes(set->matrix, (int)product->octets, t->row_step, t->column_step),
                 XL_MATRIX_ALIGNMENT);
    w->whole = malloc((size_t)(terms + scratch + residue_bytes + XL_MATRIX_ALIGNMENT));
    if (!w->whole)
        return 0;
    w->terms = (void *)((char *)w->whole + (XL_MATRIX_ALIGNMENT - (uintptr_t)w->whole % XL_MATRIX_ALIGNMENT));
    w->scratch = (char *)w->terms + terms;
    w->residues = w->scratch + scratch;
    for (int64_t i = 0; i < product->term_count; ++i)
        w->terms[i] = product->terms[i].first;
    return 1;
}

/* A product on its way to residues, or with `rounding` to encodings. */
typedef struct {
    const xl_instructions *set;
    const xl_product *product;
    const xl_result_stack *results;
    const xl_rounding_job *rounding;
    tiles tiles;
} product_job;

static void multiply_tile(const product_job *job, const workspace *w, tile_place at, char *residues, int64_t plane,
                          int64_t row) {
    const xl_product *product = job->product;
    for (int64_t i = 0; i < product->term_count; ++i) {
        const xl_product_term *term = &product->terms[i];
        w->terms[i].left = term->first.left + product->left[at.pair] * term->left_stride;
        w->terms[i].right = term->first.right + product->right[at.pair] * term->right_stride;
    }
    if (product->octets == 1)
        xl_matrix_tile8(job->set->matrix, product->constants, product->moduli, w->terms, product->term_count, at.range,
                        (int8_t *)residues, plane, row, w->scratch);
    else
        xl_matrix_tile16(job->set->matrix, product->constants, product->moduli, w->terms, product->term_count,
                         at.range, (int16_t *)residues, plane, row, w->scratch);
}

static int64_t tile_to_residues(const product_job *job, const workspace *w, tile_place at) {
    const xl_results *to = &job->results->first;
    char *residues = (char *)(uintptr_t)to->data + at.pair * job->results->pair_stride +
                     at.range.row_begin * to->row_stride + at.range.column_begin * to->octets;
    multiply_tile(job, w, at, residues, to->plane_stride / to->octets, to->row_stride / to->octets);
    return 0;
}

/* Residues from one plane of a tile to the next: not a power of two, at which they would share a set of the cache. */
static int64_t tile_plane(const tiles *t) {
    return t->row_step * t->column_step + XL_MATRIX_ALIGNMENT;
}

static int64_t tile_to_encodings(const product_job *job, const workspace *w, tile_place at) {
    const tiles *t = &job->tiles;
    const xl_product *product = job->product;
    const int64_t octets = product->octets;
    const xl_results residues = {w->residues, octets, tile_plane(t) * octets, t->column_step * octets,
                                 at.range.row_end - at.range.row_begin, at.range.column_end - at.range.column_begin};
    const xl_rounding_place place = {at.pair, product->left[at.pair], product->right[at.pair], t->rows, t->columns,
                                     at.range.row_begin, at.range.column_begin};
    multiply_tile(job, w, at, w->residues, tile_plane(t), t->column_step);
    return xl_round_place(job->set, job->rounding, &residues, &place);
}

static int64_t multiplications(const xl_product *product) {
    int64_t depth = 0;
    for (int64_t i = 0; i < product->term_count; ++i)
        depth += product->terms[i].first.depth;
    return product->pairs * product->rows * product->columns * maximum(depth / 16, 8);
}

/* As xl_for_each, with memory for each thread: returns the sum of counts, too. */
static int64_t for_each_tile(const product_job *job, int64_t threads) {
    const tiles *t = &job->tiles;
    const int team = xl_team(threads, multiplications(job->product), t->count);
    const int64_t residues = job->rounding ? tile_plane(t) * job->product->octets * job->product->moduli : 0;
    int64_t failed = 0, beyond = 0;
    (void)team;
#pragma omp parallel num_threads(team) if (team > 1) reduction(+ : beyond)
    {
        workspace w;
        const int ready = workspace_new(&w, job->set, job->product, t, residues);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < t->count; ++i) {
            const int64_t done = !ready          ? XL_OUT_OF_MEMORY
                                 : job->rounding ? tile_to_encodings(job, &w, place_of(t, i))
                                                 : tile_to_residues(job, &w, place_of(t, i));
            if (done < 0) {
#pragma omp atomic write
                failed = XL_OUT_OF_MEMORY;
            } else {
                beyond += done;
            }
        }
        if (ready)
            free(w.whole);
    }
    return failed < 0 ? failed : beyond;
}

int64_t xl_native_multiply(const xl_instructions *set, const xl_product *product, const xl_result_stack *results,
                           int64_t threads) {
    const product_job job = {set, product, results, NULL, cut_results(product, NULL, xl_threads(threads))};
    return for_each_tile(&job, threads);
}

int64_t xl_native_multiply_round(const xl_instructions *set, const xl_product *product, const xl_rounding_job *job,
                                 int64_t threads) {
    const product_job rounded = {set, product, NULL, job, cut_results(product, job, xl_threads(threads))};
    return for_each_tile(&rounded, threads);
}
