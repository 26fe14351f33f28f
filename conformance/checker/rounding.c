/* Rounds sums and puts them where they belong. */
#include "rounding.h"
#include "kernels_under_test.h"

#include <string.h>

/* Ensures: encodings beside each other become one part of the entries of the target's matrix. */
static void place(const char *encodings, int64_t count, int64_t octets, const target_part *target) {
    const int64_t parts = target->result->type->parts;
    char *to = (char *)target->result->data + (target->matrix * count * parts + target->part) * octets;
    for (int64_t i = 0; i < count; ++i)
        memcpy(to + i * parts * octets, encodings + i * octets, (size_t)octets);
}

void store_rounded(const contraction *work, const xl_results *sums, int64_t shift, int64_t rounding,
                   const special_counts *special, const target_part *target) {
    pool memory = {NULL};
    const int64_t *format = target->result->type->format, octets = array_part_octets(target->result);
    const int64_t rows = sums->rows, columns = sums->columns;
    const xl_encodings encodings = {pool_take(&memory, rows * columns, octets), columns * octets, rounding};
    const xl_exponents exponents = {work->left.x->part[0].exponents, work->right.x->part[0].exponents, shift};
    kernel_result(xl_round_c(sums, &work->base->crt, &exponents, format, &encodings, 1, 0, rows));
    if (special->counts)
        kernel_result(xl_mark_c(special->counts, &special->base->crt, format, &encodings, 0, rows));
    place(encodings.data, rows * columns, octets, target);
    pool_release(&memory);
}
