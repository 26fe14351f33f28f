/* Matrices of operands. */
#include "operand.h"
#include "kernels_under_test.h"

static const int64_t none = (int64_t)1 << 40; /* past any exponent, as xl_host.h's scan expects it */

static xl_operand view(const array *x, int64_t part, const side_layout *layout, int64_t matrix) {
    const int64_t octets = array_part_octets(x), entry = octets * x->type->parts;
    return (xl_operand){
        .data = (const char *)x->data + matrix * layout->matrix_stride * entry + part * octets,
        .rows = layout->lines,
        .depth = layout->depth,
        .row_stride = layout->line_stride * entry,
        .depth_stride = layout->depth_stride * entry,
        .limb_stride = x->limbs ? 4 : 0,
        .limbs = x->limbs,
        .format = x->type->format,
    };
}

/* Ensures: exponents and bits of all parts together. */
static void scan(operand *x, pool *memory) {
    const int64_t lines = x->part[0].rows;
    int64_t *lowest = pool_take(memory, lines, sizeof *lowest), *highest = pool_take(memory, lines, sizeof *highest);
    for (int64_t i = 0; i < lines; ++i) {
        lowest[i] = none;
        highest[i] = -none;
    }
    for (int p = 0; p < x->parts; ++p)
        x->nonfinite += kernel_result(xl_scan_c(&x->part[p], 0, lines, lowest, highest));
    for (int64_t i = 0; i < lines; ++i) {
        if (highest[i] == -none)
            lowest[i] = highest[i] = 0;
        x->bits = highest[i] - lowest[i] > x->bits ? highest[i] - lowest[i] : x->bits;
    }
    for (int p = 0; p < x->parts; ++p) {
        x->part[p].exponents = lowest;
        x->part[p].bits = x->bits;
    }
}

operand operand_scan(const array *arrays, int count, const side_layout *layout, int64_t matrix, pool *memory) {
    operand x = {0};
    for (int i = 0; i < count; ++i)
        for (int64_t part = 0; part < arrays[i].type->parts && x.parts < MAX_PARTS; ++part)
            x.part[x.parts++] = view(&arrays[i], part, layout, matrix);
    scan(&x, memory);
    return x;
}
