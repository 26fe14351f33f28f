/* Products of interval matrices by all three methods; see exactla.core.interval. */
#include "calls.h"
#include "kernels_under_test.h"
#include "xl_interval.h"
#include "xl_round.h"

#include <string.h>

enum { INNER, OUTER, EXCESSIVE, INTERVAL_GROUPS, EXTRA_BITS = 2, SCALE_EXPONENT = -2 };

typedef enum { RUMP, SHARP, HULL, METHODS } interval_method;

/* Ends are inner - outer and inner + outer, and those of the hull where `excessive` is 0. */
static const product_group rump_groups[INTERVAL_GROUPS] = {
    [INNER] = {1, {{1, XL_MIDPOINT, XL_MIDPOINT}}},
    [OUTER] = {2, {{1, XL_MAGNITUDE, XL_RADIUS}, {1, XL_RADIUS, XL_OUTER}}},
    [EXCESSIVE] = {1, {{1, XL_ABS_RHO, XL_ABS_RHO}}},
};
static const product_group sharp_groups[INTERVAL_GROUPS] = {
    [INNER] = {2, {{1, XL_MIDPOINT, XL_MIDPOINT}, {1, XL_RHO, XL_RHO}}},
    [OUTER] = {3, {{1, XL_MAGNITUDE, XL_RADIUS}, {1, XL_RADIUS, XL_OUTER}, {-1, XL_ABS_RHO, XL_ABS_RHO}}},
    [EXCESSIVE] = {1, {{1, XL_STRADDLES, XL_STRADDLES}}},
};

static interval_method method_of(const char *name) {
    static const char *const names[METHODS] = {"rump", "sharp", "hull"};
    interval_method method = RUMP;
    if (name[0] == '\0')
        return SHARP;
    while (method < METHODS && strcmp(names[method], name) != 0)
        ++method;
    return method;
}

/* ---- what the sharp product exceeds the hull by ------------------------------------------------------------------ */

static xl_interval_side interval_integers(const contraction *work, const contraction_side *side, pool *memory) {
    const xl_operand *part = side->x->part;
    const int64_t rows = part[0].rows, depth = part[0].depth, limbs = side->table->table.limbs;
    uint32_t *pieces = pool_take(memory, XL_PIECES * limbs * rows, depth * (int64_t)sizeof *pieces);
    int64_t invalid = 0;
    kernel_result(xl_interval_integers_c(&part[0], &part[1], work->endpoints, limbs, pieces, 0, rows, &invalid));
    return (xl_interval_side){pieces, limbs, rows, depth};
}

/* Ensures: results of what planes of octets, or of two digits each, hold. */
static xl_results results_of_planes(const residue_base *base, const xl_planes *planes, int64_t rows, int64_t columns,
                                    pool *memory) {
    const xl_results found = new_results(base, rows, columns, memory);
    for (int64_t p = 0; p < base->moduli; ++p)
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) {
                const int8_t *from =
                    planes->data + p * base->octets * planes->plane_stride + r * planes->row_stride + c;
                char *to = (char *)found.data + p * found.plane_stride + r * found.row_stride + c * found.octets;
                if (base->octets == 1) {
                    *to = *from;
                    continue;
                }
                const int32_t modulus = (int32_t)base->modulus[p];
                const int32_t residue = 256 * from[0] + from[planes->plane_stride];
                /* two digits reach further down than 16 bits */
                const int16_t centred = (int16_t)(residue < -(modulus / 2) ? residue + modulus : residue);
                memcpy(to, &centred, sizeof centred);
            }
    return found;
}

/* Ensures: residues of the excess at the lower and at the upper end. */
static problem hull_excess(const contraction *work, const residue_table *table, xl_results excess[2], pool *memory) {
    if (table == NULL)
        return "the plan has no table for hulls";
    const xl_interval_side left = interval_integers(work, &work->left, memory);
    const xl_interval_side right = interval_integers(work, &work->right, memory);
    xl_planes planes[2];
    if (table->table.limbs != left.limbs + right.limbs + 1)
        return "the table for hulls does not fit those of the sides";
    for (int e = 0; e < 2; ++e) {
        int8_t *data = pool_take(memory, work->base->moduli * work->base->octets, left.rows * right.rows);
        planes[e] = (xl_planes){data, left.rows * right.rows, right.rows, right.rows};
    }
    kernel_result(xl_hull_excess_c(&left, &right, (int32_t)work->base->octets, &table->table, planes, 0, left.rows));
    for (int e = 0; e < 2; ++e)
        excess[e] = results_of_planes(work->base, &planes[e], left.rows, right.rows, memory);
    return NULL;
}

/* ---- one matrix of the result ------------------------------------------------------------------------------------ */

typedef struct {
    const test_case *which;
    interval_method method;
    int endpoints;
    array *results; /* lo, hi and perhaps the mask */
} interval_work;

/* Sets the mask of hulls: 1 where the integer `excessive` is 0. */
static void store_mask(const contraction *work, const xl_results *excessive, array *mask, int64_t matrix,
                       pool *memory) {
    const int64_t count = excessive->rows * excessive->columns, limbs = work->base->crt.limbs;
    uint32_t *integers = pool_take(memory, count * limbs, sizeof *integers);
    uint8_t *to = (uint8_t *)mask->data + matrix * count;
    kernel_result(xl_integers_c(excessive, &work->base->crt, integers, 1, limbs, 0, excessive->rows));
    for (int64_t i = 0; i < count; ++i) {
        uint32_t any = 0;
        for (int64_t j = 0; j < limbs; ++j)
            any |= integers[i * limbs + j];
        to[i] = any == 0;
    }
}

static problem enclose_matrix(const interval_work *of, const operand *left, const operand *right, int64_t matrix,
                              pool *memory) {
    const case_plan *plan = &of->which->plan;
    const product_group *groups = of->method == RUMP ? rump_groups : sharp_groups;
    const int64_t terms = groups[INNER].count + groups[OUTER].count;
    contraction work = {
        .base = plan->base,
        .kind = INTERVALS,
        .endpoints = of->endpoints,
        .left = {left, plan->left},
        .right = {right, plan->right},
        .group_count = INTERVAL_GROUPS,
    };
    xl_results sums[INTERVAL_GROUPS], ends[2], excess[2];
    const special_counts none = {NULL, NULL};
    memcpy(work.group, groups, INTERVAL_GROUPS * sizeof *groups);
    if (left->nonfinite + right->nonfinite > 0)
        return "an entry is not finite";
    problem found = plan_holds(plan, left, right, EXTRA_BITS, terms * left->part[0].depth);
    if (found == NULL)
        found = contract(&work, sums, memory);
    if (found == NULL && of->method == HULL)
        found = hull_excess(&work, plan->hull, excess, memory);
    for (int e = 0; e < 2 && found == NULL; ++e) {
        const target_part target = {&of->results[e], 0, matrix};
        ends[e] = add_results(work.base, &sums[INNER], e == 0 ? -1 : 1, &sums[OUTER], memory);
        if (of->method == HULL)
            ends[e] = add_results(work.base, &ends[e], e == 0 ? 1 : -1, &excess[e], memory);
        store_rounded(&work, &ends[e], SCALE_EXPONENT, e == 0 ? XL_DOWN : XL_UP, &none, &target);
    }
    if (found == NULL && of->which->hull_mask)
        store_mask(&work, &sums[EXCESSIVE], &of->results[2], matrix, memory);
    return found;
}

/* ---- the whole result -------------------------------------------------------------------------------------------- */

/* Whether the two numbers that intervals are given by are real and side by side. */
static int are_intervals(const array *x) {
    return x[0].type->parts == 1 && x[1].type->parts == 1 && x[0].dimensions == x[1].dimensions &&
           memcmp(x[0].shape, x[1].shape, sizeof x->shape) == 0;
}

problem compute_intervals(const test_case *which, const product_layout *layout, int endpoints, array *results) {
    const interval_work work = {which, method_of(which->method), endpoints, results};
    problem found = NULL;
    if (work.method == METHODS)
        return "the method is unknown";
    if (work.method == HULL && which->hull_mask)
        return "the mask of hulls says nothing about hulls";
    if (!are_intervals(which->operands) || !are_intervals(which->operands + 2))
        return "the operands are no intervals";
    for (int64_t t = 0; t < layout->pairs && found == NULL && array_entries(&results[0]) > 0; ++t) {
        pool memory = {NULL};
        const operand left = operand_scan(which->operands, 2, &layout->left, layout->left_matrix[t], &memory);
        const operand right = operand_scan(which->operands + 2, 2, &layout->right, layout->right_matrix[t], &memory);
        found = enclose_matrix(&work, &left, &right, t, &memory);
        pool_release(&memory);
    }
    return found;
}
