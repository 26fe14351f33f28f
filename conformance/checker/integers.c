/* Exact products of integer matrices. */
#include "calls.h"
#include "kernels_under_test.h"

#include <string.h>

static problem exact_matrix(const case_plan *plan, const operand *left, const operand *right, uint32_t *limbs,
                            pool *memory) {
    const contraction work = {
        .base = plan->base,
        .kind = PARTS,
        .left = {left, plan->left},
        .right = {right, plan->right},
        .group_count = 1,
        .group = {{1, {{1, 0, 0}}}},
    };
    xl_results sum;
    problem found = plan_holds(plan, left, right, 0, left->part[0].depth);
    if (found == NULL)
        found = contract(&work, &sum, memory);
    if (found == NULL)
        kernel_result(xl_integers_c(&sum, &plan->base->crt, limbs, 1, plan->base->crt.limbs, 0, sum.rows));
    return found;
}

/* Limb j of an integer, which continues past its last limb as its sign. */
static uint32_t limb(const uint32_t *integer, int64_t limbs, int64_t j) {
    return j < limbs ? integer[j] : 0u - (integer[limbs - 1] >> 31);
}

static int fits_int64(const uint32_t *integer, int64_t limbs) {
    const uint32_t sign = 0u - (limb(integer, limbs, 1) >> 31);
    for (int64_t j = 2; j < limbs; ++j)
        if (integer[j] != sign)
            return 0;
    return 1;
}

/* Turns an array of limbs into one of 64-bit integers where all of them fit. */
static void narrow(array *x, const number_type *int64_type, pool *memory) {
    const uint32_t *limbs = x->data;
    const int64_t count = array_entries(x), per_entry = x->limbs;
    for (int64_t i = 0; i < count; ++i)
        if (!fits_int64(limbs + i * per_entry, per_entry))
            return;
    x->type = int64_type;
    x->limbs = 0;
    array_allocate(x, memory);
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t *from = limbs + i * per_entry;
        ((uint64_t *)x->data)[i] = (uint64_t)limb(from, per_entry, 1) << 32 | from[0];
    }
}

problem compute_exact(const case_file *file, const test_case *which, const product_layout *layout, array *result,
                      pool *memory) {
    const int64_t limbs = which->plan.base->crt.limbs, count = layout->left.lines * layout->right.lines;
    const number_type *int64_type = case_file_type(file, "int64");
    problem found = NULL;
    result->type = case_file_type(file, "int");
    result->limbs = limbs;
    for (int i = 0; i < 2; ++i)
        if (which->operands[i].type->format[0] == XL_KIND_FLOAT)
            return "the operands are no integers";
    if (result->type == NULL || int64_type == NULL)
        return "the file has no types for exact results";
    array_allocate(result, memory);
    for (int64_t t = 0; t < layout->pairs && found == NULL && count > 0; ++t) {
        pool work = {NULL};
        const operand left = operand_scan(&which->operands[0], 1, &layout->left, layout->left_matrix[t], &work);
        const operand right = operand_scan(&which->operands[1], 1, &layout->right, layout->right_matrix[t], &work);
        found = exact_matrix(&which->plan, &left, &right, (uint32_t *)result->data + t * count * limbs, &work);
        pool_release(&work);
    }
    if (found == NULL)
        narrow(result, int64_type, memory);
    return found;
}
