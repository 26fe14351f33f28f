/* See sharing.h. */
#include "sharing.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) {
    return 1;
}

static int omp_get_thread_num(void) {
    return 0;
}
#endif

int64_t xl_threads(int64_t threads) {
    return threads > 0 ? threads : omp_get_max_threads();
}

int64_t xl_thread(void) {
    return omp_get_thread_num();
}

int xl_team(int64_t threads, int64_t work, int64_t pieces) {
    return work <= XL_WORTH_A_THREAD ? 1 : (int)maximum(1, minimum(xl_threads(threads), pieces));
}

int64_t xl_for_each(int team, int64_t count, xl_piece piece, const void *job) {
    int64_t total = 0;
    if (team == 1) { /* a parallel region of one thread takes as long as some small jobs do */
        for (int64_t i = 0; i < count; ++i)
            total = joined(total, piece(job, i));
        return total;
    }
#pragma omp parallel for num_threads(team) schedule(dynamic)
    for (int64_t i = 0; i < count; ++i) {
        const int64_t found = piece(job, i);
#pragma omp critical
        total = joined(total, found);
    }
    return total;
}

xl_row_pieces xl_cut_rows(int64_t stacks, int64_t rows, int64_t depth) {
    return xl_cut_rows_by(stacks, rows, depth, 8);
}

xl_row_pieces xl_cut_rows_by(int64_t stacks, int64_t rows, int64_t depth, int64_t together) {
    const int64_t step = round_up(maximum(1, XL_GRAIN / maximum(depth, 1)), together);
    const int64_t per_stack = divide_up(rows, step);
    return (xl_row_pieces){rows, step, per_stack, stacks * per_stack};
}

xl_rows xl_rows_of(const xl_row_pieces *pieces, int64_t piece) {
    const int64_t begin = piece % pieces->per_stack * pieces->step;
    return (xl_rows){piece / pieces->per_stack, begin, minimum(begin + pieces->step, pieces->rows)};
}

xl_operand xl_matrix_of(const xl_stack *x, int64_t stack) {
    xl_operand matrix = x->first;
    matrix.data = (const char *)matrix.data + stack * x->stride;
    if (matrix.exponents)
        matrix.exponents += stack * matrix.rows;
    return matrix;
}

xl_planes xl_planes_of(const xl_plane_stack *planes, int64_t stack) {
    xl_planes one = planes->first;
    one.data += stack * planes->stride;
    return one;
}
