/* Sums of products in residues: the inner dimension in steps, each from operands to a sum that is added to the last. */
#include "contraction.h"
#include "kernels_under_test.h"

enum { DEPTH_STEP = 4096, BLOCK_BITS = 64 };

static int64_t round_up(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

xl_results new_results(const residue_base *base, int64_t rows, int64_t columns, pool *memory) {
    xl_results x = {.octets = base->octets, .rows = rows, .columns = columns};
    x.row_stride = round_up(columns, XL_MATRIX_COLUMNS) * base->octets;
    x.plane_stride = rows * x.row_stride;
    x.data = pool_take(memory, base->moduli, x.plane_stride);
    return x;
}

xl_results add_results(const residue_base *base, const xl_results *first, int sign, const xl_results *second,
                       pool *memory) {
    const xl_results terms[2] = {*first, *second}, sum = new_results(base, first->rows, first->columns, memory);
    const int64_t signs[2] = {1, sign};
    xl_combine_c((void *)sum.data, terms, signs, 2, &base->crt, 0, sum.rows);
    return sum;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* Residues of the pieces of one side for one step: of a class one plane serves for all moduli. Those of a right side
 * are packed. */
typedef struct {
    int64_t lines, depth; /* depth padded */
    int64_t planes;       /* of a piece */
    int count;
    int8_t *piece[MAX_PIECES];
} residue_pieces;

/* Entries [first, first + count) of every line. */
static xl_operand slice(const xl_operand *x, int64_t first, int64_t count) {
    xl_operand part = *x;
    part.data = (const char *)x->data + first * x->depth_stride;
    part.depth = count;
    return part;
}

static int64_t part_residues(const contraction *work, const contraction_side *side, const xl_operand *part,
                             const xl_planes *target) {
    const xl_residue_table *table = &side->table->table;
    return kernel_result(work->base->octets == 1 ? xl_residues8_c(part, table, target, 0, part->rows)
                                                 : xl_residues16_c(part, table, target, 0, part->rows));
}

/* Ensures: planes of all pieces. */
static problem fill_pieces(const contraction *work, const contraction_side *side, const xl_operand *part,
                           const xl_planes *target) {
    const int64_t lines = part[0].rows;
    int64_t broken = 0, invalid = 0;
    if (work->kind == INTERVALS)
        broken = kernel_result(xl_interval_residues_c(&part[0], &part[1], work->endpoints, (int32_t)work->base->octets,
                                                      &side->table->table, target, 0, lines, &invalid));
    else
        for (int p = 0; p < side->x->parts; ++p)
            if (work->kind == PARTS)
                broken += part_residues(work, side, &part[p], &target[p]);
            else
                xl_classify_c(&part[p], target + p * CLASS_PIECES, 0, lines);
    if (invalid != 0)
        return "an interval is empty";
    return broken == 0 ? NULL : "entries are outside of what the scan found";
}

static problem take_pieces(residue_pieces *found, const contraction *work, const contraction_side *side, int64_t first,
                           int64_t count, pool *memory) {
    const int pieces[] = {side->x->parts, INTERVAL_PIECES, side->x->parts * CLASS_PIECES};
    xl_operand part[MAX_PARTS];
    xl_planes target[MAX_PIECES];
    found->lines = side->x->part[0].rows;
    found->depth = round_up(count, XL_MATRIX_DEPTH);
    found->planes = work->kind == CLASSES ? 1 : work->base->moduli * work->base->octets;
    found->count = pieces[work->kind];
    for (int p = 0; p < side->x->parts; ++p)
        part[p] = slice(&side->x->part[p], first, count);
    for (int i = 0; i < found->count; ++i) {
        found->piece[i] = pool_take(memory, found->planes, found->lines * found->depth);
        target[i] = (xl_planes){found->piece[i], found->lines * found->depth, found->depth, found->depth};
    }
    return fill_pieces(work, side, part, target);
}

static int64_t plane_octets(const residue_pieces *x, int packed) {
    return packed ? xl_matrix_packed_bytes(x->lines, x->depth) : x->lines * x->depth;
}

static void pack(residue_pieces *x, pool *memory) {
    const int64_t plain = plane_octets(x, 0), packed = plane_octets(x, 1);
    for (int i = 0; i < x->count; ++i) {
        int8_t *target = pool_take(memory, x->planes, packed);
        for (int64_t p = 0; p < x->planes; ++p)
            xl_matrix_pack(&CHECKER_MATRIX, x->piece[i] + p * plain, 0, x->lines, x->depth, target + p * packed);
        x->piece[i] = target;
    }
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static xl_matrix_term matrix_term(const contraction *work, const product_term *term, const residue_pieces *left,
                                  const residue_pieces *right) {
    const int64_t octets = work->kind == CLASSES ? 0 : work->base->octets;
    return (xl_matrix_term){
        .left = left->piece[term->left],
        .right = right->piece[term->right],
        .left_modulus = octets * plane_octets(left, 0),
        .left_digit = plane_octets(left, 0),
        .right_modulus = octets * plane_octets(right, 1),
        .right_digit = plane_octets(right, 1),
        .depth = left->depth,
        .negative = term->sign < 0,
    };
}

/* Ensures: residues of the sum of `count` terms. */
static xl_results multiply(const contraction *work, const xl_matrix_term *terms, int64_t count, pool *memory) {
    const residue_base *base = work->base;
    const int64_t rows = work->left.x->part[0].rows, columns = work->right.x->part[0].rows, octets = base->octets;
    const xl_results found = new_results(base, rows, columns, memory);
    const xl_matrix_range range = {0, rows, 0, columns};
    const int64_t plane = found.plane_stride / octets, row = found.row_stride / octets;
    pool scratch = {NULL};
    void *room = pool_take(&scratch, xl_matrix_scratch_bytes(&CHECKER_MATRIX, (int)octets, rows, columns), 1);
    if (octets == 1)
        xl_matrix_tile8(&CHECKER_MATRIX, base->modulus8, base->moduli, terms, count, range, (int8_t *)found.data, plane,
                        row, room);
    else
        xl_matrix_tile16(&CHECKER_MATRIX, base->modulus16, base->moduli, terms, count, range, (int16_t *)found.data,
                         plane, row, room);
    pool_release(&scratch);
    return found;
}

/* Adds what entries [first, first + count) of the lines give to the sums, or starts them. */
static problem add_step(const contraction *work, xl_results *sums, int64_t first, int64_t count, pool *memory) {
    pool step = {NULL};
    residue_pieces left, right;
    xl_matrix_term terms[MAX_TERMS];
    problem found = take_pieces(&left, work, &work->left, first, count, &step);
    if (found == NULL)
        found = take_pieces(&right, work, &work->right, first, count, &step);
    if (found == NULL) {
        pack(&right, &step);
        for (int g = 0; g < work->group_count; ++g) {
            const product_group *group = &work->group[g];
            for (int i = 0; i < group->count; ++i)
                terms[i] = matrix_term(work, &group->term[i], &left, &right);
            const xl_results product = multiply(work, terms, group->count, memory);
            sums[g] = first == 0 ? product : add_results(work->base, &sums[g], 1, &product, memory);
        }
    }
    pool_release(&step);
    return found;
}

problem contract(const contraction *work, xl_results *sums, pool *memory) {
    const int64_t depth = work->left.x->part[0].depth;
    if (depth == 0)
        for (int g = 0; g < work->group_count; ++g)
            sums[g] = multiply(work, NULL, 0, memory);
    for (int64_t first = 0; first < depth; first += DEPTH_STEP) {
        const int64_t count = depth - first < DEPTH_STEP ? depth - first : DEPTH_STEP;
        const problem found = add_step(work, sums, first, count, memory);
        if (found)
            return found;
    }
    return NULL;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static int64_t bit_length(uint64_t x) {
    int64_t bits = 0;
    for (; x != 0; x >>= 1)
        ++bits;
    return bits;
}

int64_t sum_bits(int64_t left, int64_t right, int64_t terms) {
    return left + right + bit_length(terms > 1 ? (uint64_t)terms - 1 : 0);
}

/* Whether a table holds integers of so many bits and a sign: in its limbs, or in a window of them at any place. */
static int table_holds(const xl_residue_table *table, const operand *x, int64_t bits) {
    int by_limbs = 0;
    for (int p = 0; p < x->parts; ++p)
        by_limbs |= x->part[p].limbs > 0;
    return table->blocks == 0 ? bits < 32 * table->limbs : !by_limbs && bits < BLOCK_BITS * table->blocks;
}

problem plan_holds(const case_plan *plan, const operand *left, const operand *right, int64_t extra, int64_t terms) {
    if (sum_bits(left->bits + extra, right->bits + extra, terms) > plan->base->capacity)
        return "the scan finds more bits than the moduli hold";
    const int64_t room = extra > 0 ? extra + 2 : 0; /* see interval_residues in xl_host.h */
    if (extra > 0 && plan->left->table.blocks + plan->right->table.blocks > 0)
        return "intervals need tables without a window";
    if (!table_holds(&plan->left->table, left, left->bits + room) ||
        !table_holds(&plan->right->table, right, right->bits + room))
        return "the scan finds more bits than the residue tables hold";
    return NULL;
}
