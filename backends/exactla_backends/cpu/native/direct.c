/* Small products whole, in one call: what a call costs around the work matters more there than tiles. */
#include "sharing.h"

/* Matrices [rows, depth], or with by_rows 0 [depth, rows]. */
static xl_stack stack_of(const xl_array *x, const int64_t *format, int by_rows) {
    const int axes = x->dimensions, rows = axes - 1 - by_rows, depth = axes - 1 - !by_rows;
    return (xl_stack){{.data = x->data,
                       .rows = x->shape[rows],
                       .depth = x->shape[depth],
                       .row_stride = x->strides[rows],
                       .depth_stride = x->strides[depth],
                       .format = format},
                      axes > 2 ? x->shape[0] : 1,
                      axes > 2 ? x->strides[0] : 0};
}

static int64_t bit_length(int64_t n) {
    int64_t bits = 0;
    for (; n > 0; n >>= 1)
        ++bits;
    return bits;
}

/* The products once their plan is known. */
typedef struct {
    const xl_instructions *set;
    const xl_direct *direct;
    const xl_direct_plan *plan;
    xl_stack left, right; /* with exponents */
    int64_t depth, columns; /* padded */
    int32_t digits, limbs;  /* of entries and of results, for products by digits */
} pairs_job;

/* Parts of one allocation, each at a multiple of XL_MATRIX_ALIGNMENT bytes. */
typedef struct {
    char *base;
    int64_t used;
} arena;

static void *take(arena *a, int64_t bytes) {
    void *part = a->base ? a->base + a->used : NULL;
    a->used += round_up(bytes, XL_MATRIX_ALIGNMENT);
    return part;
}

/* What one product needs; `planes` for one side after the other, so that all stays in the first level cache. */
typedef struct {
    int8_t *planes, *packed, *residues;
    void *scratch;
} places;

static places lay_out(arena *a, const pairs_job *job) {
    const int64_t moduli = job->plan->residues.moduli, rows = job->left.first.rows;
    return (places){
        .planes = take(a, moduli * maximum(rows, job->right.first.rows) * job->depth),
        .packed = take(a, moduli * job->columns * job->depth),
        .residues = take(a, moduli * rows * job->columns),
        .scratch = take(a, xl_matrix_scratch_bytes(job->set->matrix, 1, round_up(rows, 32), job->columns)),
    };
}

static int64_t residues_of(const pairs_job *job, const xl_stack *side, int64_t pair, int8_t *planes) {
    const xl_operand matrix = xl_matrix_of(side, pair);
    const xl_planes to = {planes, matrix.rows * job->depth, job->depth, job->depth};
    return job->set->elements->residues8(&matrix, &job->plan->residues, &to, 0, matrix.rows);
}

static void pack(const pairs_job *job, const places *p) {
    const int64_t moduli = job->plan->residues.moduli, columns = job->right.first.rows;
    for (int64_t m = 0; m < moduli; ++m)
        xl_matrix_pack(job->set->matrix, p->planes + m * columns * job->depth, 0, columns, job->depth,
                       p->packed + m * job->columns * job->depth);
}

static void multiply(const pairs_job *job, const places *p) {
    const int64_t rows = job->left.first.rows, packed = job->columns * job->depth;
    const xl_matrix_range all = {0, rows, 0, job->right.first.rows};
    const xl_matrix_term term = {p->planes, p->packed, rows * job->depth, 0, packed, 0, job->depth, 0};
    xl_matrix_tile8(job->set->matrix, job->plan->constants, job->plan->residues.moduli, &term, 1, all, p->residues,
                    rows * job->columns, job->columns, p->scratch);
}

/* Where the results of a pair go, for each rounding. */
static void encodings_of(xl_encodings to[2], const pairs_job *job, int64_t pair) {
    const xl_array *results = job->direct->results;
    const int axes = results->dimensions;
    char *data = (char *)results->data + (axes > 3 ? pair * results->strides[1] : 0);
    for (int64_t e = 0; e < job->direct->count; ++e)
        to[e] = (xl_encodings){data + e * results->strides[0], results->strides[axes - 2], job->direct->roundings[e]};
}

static int64_t round_results(const pairs_job *job, int64_t pair, const places *p) {
    const xl_operand left = xl_matrix_of(&job->left, pair), right = xl_matrix_of(&job->right, pair);
    const xl_results residues = {p->residues, 1, left.rows * job->columns, job->columns, left.rows, right.rows};
    const xl_exponents exponents = {left.exponents, right.exponents, 0};
    xl_encodings to[2];
    encodings_of(to, job, pair);
    return job->set->elements->round(&residues, &job->plan->crt, &exponents, job->direct->result_format, to,
                                     job->direct->count, 0, left.rows);
}

/* One product. Returns 0, or how many entries broke their scan, or XL_OUT_OF_MEMORY. */
static int64_t multiply_pair(const void *of, int64_t pair) {
    const pairs_job *job = of;
    arena size = {NULL, 0}, whole = {NULL, 0};
    places p;
    int64_t done;
    char *memory;
    lay_out(&size, job);
    memory = malloc((size_t)size.used + XL_MATRIX_ALIGNMENT);
    if (!memory)
        return XL_OUT_OF_MEMORY;
    whole.base = memory + (XL_MATRIX_ALIGNMENT - (uintptr_t)memory % XL_MATRIX_ALIGNMENT);
    p = lay_out(&whole, job);
    done = residues_of(job, &job->right, pair, p.planes);
    pack(job, &p);
    done = joined(done, residues_of(job, &job->left, pair, p.planes));
    if (done == 0) {
        multiply(job, &p);
        done = round_results(job, pair, &p);
    }
    free(memory);
    return done;
}

/* One product by digits. Returns 0, or how many entries broke their scan, or XL_OUT_OF_MEMORY. */
static int64_t multiply_digits(const void *of, int64_t pair) {
    const pairs_job *job = of;
    const xl_kernel_set *elements = job->set->elements;
    const xl_operand left = xl_matrix_of(&job->left, pair), right = xl_matrix_of(&job->right, pair);
    const int64_t bytes = elements->small_scratch(left.rows, left.depth, right.rows, job->digits, job->limbs);
    void *scratch = malloc((size_t)bytes);
    xl_encodings to[2];
    int64_t done;
    if (!scratch)
        return XL_OUT_OF_MEMORY;
    encodings_of(to, job, pair);
    done = elements->small_product(&left, &right, job->digits, job->limbs, job->direct->result_format, to,
                                   job->direct->count, scratch);
    free(scratch);
    return done;
}

/* Whether products of sums of so many bits are quicker by digits than by residues; the bound is measured. */
static int digits_are_quicker(const pairs_job *job, int64_t bits) {
    const int64_t rows = job->left.first.rows, depth = job->left.first.depth, columns = job->right.first.rows;
    const int64_t entries = rows * depth + columns * depth + rows * columns;
    return job->digits <= XL_MOST_DIGITS && depth * job->digits < 128 &&
           rows * depth * columns * job->digits * job->digits <= entries * bits;
}

/* Gives a side its exponents; returns its bits, or -1 where an entry is not finite. */
static int64_t scan(const xl_instructions *set, xl_stack *side, int64_t *lowest, int64_t *highest, int64_t threads) {
    int64_t nonfinite;
    const int64_t bits = xl_native_scan(set, side, 1, lowest, highest, &nonfinite, threads);
    side->first.exponents = lowest;
    side->first.bits = bits;
    side->first.checks = XL_EXPECT_FINITE;
    return nonfinite ? -1 : bits;
}

static int64_t multiply_pairs(pairs_job *job, int64_t *lowest, int64_t *highest) {
    const int64_t threads = job->direct->threads, pairs = job->left.stacks, rows = pairs * job->left.first.rows;
    const int64_t left = scan(job->set, &job->left, lowest, highest, threads);
    const int64_t right = scan(job->set, &job->right, lowest + rows, highest + rows, threads);
    const int64_t depth = job->left.first.depth;
    const int64_t bits = left + right + bit_length(depth - 1), widest = maximum(left, right), limbs = widest / 32 + 1;
    const int64_t number = bits * XL_DIRECT_LIMBS + limbs;
    const int64_t entries = pairs * (job->left.first.rows + job->right.first.rows) * depth;
    if (left < 0 || right < 0)
        return XL_DIRECT_NOT;
    job->digits = (int32_t)(widest / XL_DIGIT_BITS + 1);
    job->limbs = (int32_t)(bits / 32 + 1);
    if (digits_are_quicker(job, bits))
        return xl_for_each(xl_team(threads, entries, pairs), pairs, multiply_digits, job) ? XL_DIRECT_NOT : 0;
    if (bits >= XL_DIRECT_BITS || limbs >= XL_DIRECT_LIMBS)
        return XL_DIRECT_NOT;
    job->plan = job->direct->plans[number];
    if (!job->plan)
        return 1 + number;
    /* entries that break their scan were written to meanwhile: the general path says so */
    return xl_for_each(xl_team(threads, entries, pairs), pairs, multiply_pair, job) ? XL_DIRECT_NOT : 0;
}

int64_t xl_native_direct(const xl_instructions *set, const xl_direct *direct) {
    pairs_job job = {set, direct, NULL, stack_of(direct->left, direct->left_format, 1),
                     stack_of(direct->right, direct->right_format, direct->transposed != 0), 0, 0, 0, 0};
    const int64_t exponents = job.left.stacks * (job.left.first.rows + job.right.first.rows);
    int64_t *ranges = malloc(2 * sizeof *ranges * (size_t)exponents);
    int64_t done;
    if (!ranges)
        return XL_DIRECT_NOT;
    job.depth = round_up(job.left.first.depth, XL_MATRIX_DEPTH);
    job.columns = round_up(job.right.first.rows, XL_MATRIX_COLUMNS);
    done = multiply_pairs(&job, ranges, ranges + exponents);
    free(ranges);
    return done;
}
