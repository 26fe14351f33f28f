/* A small product whole, in one call: what a call costs around the work matters more there than threads or tiles. */
#include "native.h"

enum { DEPTH = XL_MATRIX_DEPTH, LARGEST_SCRATCH = 1 << 18 };

static const int64_t NONE = (int64_t)1 << 40;

static int64_t round_up(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* Parts of one allocation, each at a multiple of 64 bytes. */
typedef struct {
    char *base;
    int64_t used;
} arena;

static void *take(arena *a, int64_t bytes) {
    void *part = a->base ? a->base + a->used : NULL;
    a->used += round_up(bytes, XL_MATRIX_ALIGNMENT);
    return part;
}

/* One side: its rows' exponents, and the bits of the entries in units of them; -1 where one is not finite. */
static int64_t scan_side(const xl_instructions *set, const xl_direct_side *side, int64_t rows, int64_t depth,
                         int64_t *lowest, int64_t *highest) {
    const xl_operand x = {side->data, rows, depth, side->row_stride, side->depth_stride, 0, 0, side->format, NULL, 0};
    int64_t bits = 0;
    for (int64_t r = 0; r < rows; ++r) {
        lowest[r] = NONE;
        highest[r] = -NONE;
    }
    if (set->elements->scan(&x, 0, rows, lowest, highest))
        return -1;
    for (int64_t r = 0; r < rows; ++r) {
        if (highest[r] == -NONE)
            lowest[r] = highest[r] = 0;
        if (highest[r] - lowest[r] > bits)
            bits = highest[r] - lowest[r];
    }
    return bits;
}

static int64_t bit_length(int64_t n) {
    int64_t bits = 0;
    for (; n > 0; n >>= 1)
        ++bits;
    return bits;
}

static int64_t residues_of(const xl_instructions *set, const xl_direct_side *side, int64_t rows, int64_t depth,
                           const int64_t *exponents, int64_t bits, const xl_residue_table *table, int8_t *planes,
                           int64_t padded) {
    const xl_operand x = {side->data, rows, depth, side->row_stride, side->depth_stride,
                          0,          0,    side->format, exponents, bits, XL_EXPECT_FINITE};
    const xl_planes to = {planes, rows * padded, padded, padded};
    return set->elements->residues8(&x, table, &to, 0, rows);
}

typedef struct {
    int64_t *left_low, *left_high, *right_low, *right_high;
    int8_t *left, *right, *packed, *residues;
    void *scratch;
} places;

static int64_t matrix_scratch(const xl_instructions *set, const xl_direct *job) {
    const int64_t columns = round_up(job->columns, XL_MATRIX_COLUMNS);
    return round_up(xl_matrix_scratch_bytes(set->matrix, 1, round_up(job->rows, 32), columns), XL_MATRIX_ALIGNMENT);
}

static places lay_out(arena *a, const xl_instructions *set, const xl_direct *job, int64_t moduli, int64_t padded) {
    const int64_t columns = round_up(job->columns, XL_MATRIX_COLUMNS);
    places p;
    p.left_low = take(a, 8 * job->rows);
    p.left_high = take(a, 8 * job->rows);
    p.right_low = take(a, 8 * job->columns);
    p.right_high = take(a, 8 * job->columns);
    p.left = take(a, moduli * job->rows * padded);
    p.right = take(a, moduli * job->columns * padded);
    p.packed = take(a, moduli * xl_matrix_packed_bytes(job->columns, padded));
    p.residues = take(a, moduli * job->rows * columns);
    p.scratch = take(a, matrix_scratch(set, job));
    return p;
}

static int64_t multiply_and_round(const xl_instructions *set, const xl_direct *job, const xl_direct_plan *plan,
                                  const places *p, int64_t padded) {
    const int64_t columns = round_up(job->columns, XL_MATRIX_COLUMNS), moduli = plan->residues.moduli;
    const int64_t packed = xl_matrix_packed_bytes(job->columns, padded);
    const xl_matrix_range all = {0, job->rows, 0, job->columns};
    const xl_matrix_term term = {p->left, p->packed, job->rows * padded, 0, packed, 0, padded, 0};
    const xl_results results = {p->residues, 1, job->rows * columns, columns, job->rows, job->columns};
    const xl_exponents exponents = {p->left_low, p->right_low, 0};
    for (int64_t m = 0; m < moduli; ++m)
        xl_matrix_pack(set->matrix, p->right + m * job->columns * padded, 0, job->columns, padded,
                       p->packed + m * packed);
    xl_matrix_tile8(set->matrix, plan->constants, moduli, &term, 1, all, p->residues, job->rows * columns, columns,
                    p->scratch);
    return set->elements->round(&results, &plan->crt, &exponents, job->format, job->encodings, job->count, 0,
                                job->rows);
}

int64_t xl_native_direct(const xl_instructions *set, const xl_direct *job) {
    const int64_t padded = round_up(job->depth, DEPTH);
    arena measure = {NULL, 0}, whole;
    int64_t left, right, bits, limbs, done = XL_DIRECT_NOT;
    const xl_direct_plan *plan;
    char *memory;
    places p;
    lay_out(&measure, set, job, XL_DIRECT_MODULI, padded);
    /* without the matrix kernels' own scratch, so that all instruction sets take the same products */
    if (measure.used - matrix_scratch(set, job) > LARGEST_SCRATCH)
        return XL_DIRECT_NOT;
    memory = malloc((size_t)measure.used + XL_MATRIX_ALIGNMENT);
    if (!memory)
        return XL_DIRECT_NOT;
    whole.base = memory + (XL_MATRIX_ALIGNMENT - (uintptr_t)memory % XL_MATRIX_ALIGNMENT);
    whole.used = 0;
    p = lay_out(&whole, set, job, XL_DIRECT_MODULI, padded);
    left = scan_side(set, &job->left, job->rows, job->depth, p.left_low, p.left_high);
    right = scan_side(set, &job->right, job->columns, job->depth, p.right_low, p.right_high);
    bits = left + right + bit_length(job->depth - 1);
    limbs = (left > right ? left : right) / 32 + 1;
    if (left >= 0 && right >= 0 && bits < XL_DIRECT_BITS && limbs < XL_DIRECT_LIMBS) {
        plan = job->plans[bits * XL_DIRECT_LIMBS + limbs];
        if (!plan)
            done = 1 + bits * XL_DIRECT_LIMBS + limbs;
        /* entries that break their scan were written to meanwhile: the general path says so */
        else if (!residues_of(set, &job->left, job->rows, job->depth, p.left_low, left, &plan->residues, p.left,
                              padded) &&
                 !residues_of(set, &job->right, job->columns, job->depth, p.right_low, right, &plan->residues, p.right,
                              padded))
            done = multiply_and_round(set, job, plan, &p, padded);
    }
    free(memory);
    return done;
}
