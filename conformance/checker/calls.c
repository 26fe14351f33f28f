/* From the name of a function and its keywords to the work that they ask for. */
#include "calls.h"
#include "xl_round.h"

#include <string.h>

typedef enum { ROUNDED, ENCLOSED, EXACT, MIDPOINTS, ENDPOINTS } call_kind;

typedef struct {
    const char *name;
    call_kind kind;
    int operands, transposed;
} call;

static const call calls[] = {
    {"mm", ROUNDED, 2, 0},          {"mm_nt", ROUNDED, 2, 1},          {"bmm", ROUNDED, 2, 0},
    {"mm_enclose", ENCLOSED, 2, 0}, {"mm_enclose_nt", ENCLOSED, 2, 1}, {"bmm_enclose", ENCLOSED, 2, 0},
    {"mm_enclose", ENCLOSED, 1, 1}, /* the Gram matrix, whose operand is both sides */
    {"mm_exact", EXACT, 2, 0},      {"mm_interval", MIDPOINTS, 4, 0},  {"mm_interval_bounds", ENDPOINTS, 4, 0},
};

static const call *find_call(const test_case *which) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        if (strcmp(calls[i].name, which->function) == 0 && calls[i].operands == which->operand_count)
            return &calls[i];
    return NULL;
}

/* The code of a rounding, to nearest where it is not named; -1 for an unknown one. */
static int64_t rounding_code(const char *name) {
    static const char *const names[] = {
        [XL_NEAREST] = "nearest", [XL_DOWN] = "down", [XL_UP] = "up", [XL_ZERO] = "zero"};
    if (name[0] == '\0')
        return XL_NEAREST;
    for (int64_t i = 0; i < 4; ++i)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* Ensures: an array of the layout's shape. */
static array shaped(const product_layout *layout) {
    array x = {.dimensions = layout->dimensions};
    memcpy(x.shape, layout->shape, sizeof x.shape);
    return x;
}

static problem prepare_results(const product_layout *layout, const number_type *type, array *results, int count,
                               pool *memory) {
    if (type == NULL || type->format[0] == XL_KIND_LIMBS)
        return "the file has no type for the result";
    for (int i = 0; i < count; ++i) {
        results[i] = shaped(layout);
        results[i].type = type;
        array_allocate(&results[i], memory);
    }
    return NULL;
}

static problem compute_rounded(const test_case *which, const product_layout *layout, call_kind kind, array *results,
                               int *count, pool *memory) {
    const int64_t ends[2] = {XL_DOWN, XL_UP}, one[1] = {rounding_code(which->rounding)};
    if (one[0] < 0)
        return "the rounding is unknown";
    *count = kind == ENCLOSED ? 2 : 1;
    const problem found = prepare_results(layout, which->result, results, *count, memory);
    return found ? found : compute_product(which, layout, kind == ENCLOSED ? ends : one, *count, results);
}

static problem compute_bounds(const case_file *file, const test_case *which, const product_layout *layout,
                              call_kind kind, array *results, int *count, pool *memory) {
    problem found = prepare_results(layout, which->result, results, 2, memory);
    *count = 2;
    if (found == NULL && which->hull_mask)
        found = prepare_results(layout, case_file_type(file, "bool"), &results[(*count)++], 1, memory);
    return found ? found : compute_intervals(which, layout, kind == ENDPOINTS, results);
}

problem compute(const case_file *file, const test_case *which, array *results, int *count, pool *memory) {
    const call *asked = find_call(which);
    product_layout layout;
    if (asked == NULL)
        return "the checker does not know this call";
    const array *a = &which->operands[0], *b = &which->operands[which->operand_count / 2];
    const problem found = layout_product(&layout, a, b, asked->transposed, memory);
    if (found)
        return found;
    switch (asked->kind) {
    case EXACT:
        *count = 1;
        results[0] = shaped(&layout);
        return compute_exact(file, which, &layout, &results[0], memory);
    case MIDPOINTS:
    case ENDPOINTS:
        return compute_bounds(file, which, &layout, asked->kind, results, count, memory);
    default:
        return compute_rounded(which, &layout, asked->kind, results, count, memory);
    }
}
