/* Products of real and complex matrices, finite or not, rounded. */
#include "calls.h"
#include "kernels_under_test.h"

#include <string.h>

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Ensures: the sums that make the parts of a product of so many parts; see `product_groups` in exactla.core.matmul. */
static int product_groups(int left, int right, product_group *groups) {
    static const product_group real = {1, {{1, 0, 0}}};
    static const product_group both[2] = {{2, {{1, 0, 0}, {-1, 1, 1}}}, {2, {{1, 0, 1}, {1, 1, 0}}}};
    static const product_group left_imaginary = {1, {{1, 1, 0}}}, right_imaginary = {1, {{1, 0, 1}}};
    groups[0] = real;
    if (left == 1 && right == 1)
        return 1;
    groups[1] = left == 2 ? left_imaginary : right_imaginary;
    if (left == right)
        memcpy(groups, both, sizeof both);
    return 2;
}

enum { SIGN, ABS_SIGN, INFINITE, ABS_INFINITE, ZERO, NAN_ENTRY, ONE, COUNTS = 3 };

/* Ensures: signs, count and invalid terms of what is not finite in one group; see exactla.core.nonfinite. */
static void special_groups(const product_group *group, product_group *found) {
    static const product_group pattern[COUNTS] = {
        {3, {{1, INFINITE, SIGN}, {1, SIGN, INFINITE}, {-1, INFINITE, INFINITE}}},
        {3, {{1, ABS_INFINITE, ABS_SIGN}, {1, ABS_SIGN, ABS_INFINITE}, {-1, ABS_INFINITE, ABS_INFINITE}}},
        {4, {{1, ABS_INFINITE, ZERO}, {1, ZERO, ABS_INFINITE}, {1, NAN_ENTRY, ONE}, {1, ONE, NAN_ENTRY}}},
    };
    for (int c = 0; c < COUNTS; ++c) {
        found[c].count = 0;
        for (int i = 0; i < group->count; ++i)
            for (int j = 0; j < pattern[c].count; ++j) {
                const product_term *over = &group->term[i], *of = &pattern[c].term[j];
                found[c].term[found[c].count++] = (product_term){
                    c == 0 ? over->sign * of->sign : of->sign,
                    CLASS_PIECES * over->left + of->left,
                    CLASS_PIECES * over->right + of->right,
                };
            }
    }
}

static int64_t most_terms(const contraction *work) {
    int most = 0;
    for (int g = 0; g < work->group_count; ++g)
        most = work->group[g].count > most ? work->group[g].count : most;
    return most;
}

/* ---- one matrix of the result ------------------------------------------------------------------------------------ */

typedef struct {
    const test_case *which;
    const int64_t *roundings;
    int count;
    array *results;
} rounded_work;

/* Ensures: counts of what is not finite, three for each group of `work`. */
static problem count_special(const rounded_work *of, const contraction *work, xl_results *counts, pool *memory) {
    const residue_base *base = of->which->plan.special;
    contraction special = {.base = base, .kind = CLASSES, .left = work->left, .right = work->right};
    if (strcmp(of->which->nonfinite, "propagate") != 0 || base == NULL)
        return "an entry is not finite";
    for (int g = 0; g < work->group_count; ++g)
        special_groups(&work->group[g], &special.group[COUNTS * g]);
    special.group_count = COUNTS * work->group_count;
    if (sum_bits(1, 1, most_terms(&special) * work->left.x->part[0].depth) > base->capacity)
        return "there are more special terms than the moduli hold";
    return contract(&special, counts, memory);
}

static problem round_matrix(const rounded_work *of, const operand *left, const operand *right, int64_t matrix,
                            pool *memory) {
    const case_plan *plan = &of->which->plan;
    contraction work = {.base = plan->base, .kind = PARTS, .left = {left, plan->left}, .right = {right, plan->right}};
    xl_results sums[MAX_GROUPS], counts[MAX_GROUPS];
    const int any_special = left->nonfinite + right->nonfinite > 0;
    work.group_count = product_groups(left->parts, right->parts, work.group);
    if (work.group_count != of->results[0].type->parts)
        return "the type of the result does not fit the operands";
    problem found = plan_holds(plan, left, right, 0, most_terms(&work) * left->part[0].depth);
    if (found == NULL && any_special)
        found = count_special(of, &work, counts, memory);
    if (found == NULL)
        found = contract(&work, sums, memory);
    for (int g = 0; g < work.group_count && found == NULL; ++g) {
        const special_counts special = {plan->special, any_special ? &counts[COUNTS * g] : NULL};
        for (int r = 0; r < of->count; ++r) {
            const target_part target = {&of->results[r], g, matrix};
            store_rounded(&work, &sums[g], 0, of->roundings[r], &special, &target);
        }
    }
    return found;
}

/* ---- the whole result -------------------------------------------------------------------------------------------- */

problem compute_product(const test_case *which, const product_layout *layout, const int64_t *roundings, int count,
                        array *results) {
    const rounded_work work = {which, roundings, count, results};
    const array *a = &which->operands[0], *b = &which->operands[which->operand_count - 1];
    problem found = NULL;
    for (int64_t t = 0; t < layout->pairs && found == NULL && array_entries(&results[0]) > 0; ++t) {
        pool memory = {NULL};
        const operand left = operand_scan(a, 1, &layout->left, layout->left_matrix[t], &memory);
        const operand right = operand_scan(b, 1, &layout->right, layout->right_matrix[t], &memory);
        found = round_matrix(&work, &left, &right, t, &memory);
        pool_release(&memory);
    }
    return found;
}
