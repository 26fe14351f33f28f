/* How work is shared out among threads. Known to the files of this folder only. */
#ifndef XL_SHARING_H
#define XL_SHARING_H

#include "native.h"

enum {
    XL_GRAIN = 1 << 14,          /* entries that are worth a piece of work of their own */
    XL_WORTH_A_THREAD = 1 << 15, /* entries up to which work stays on the caller's thread */
    XL_TILE_SIDE = 256,
    XL_TILE_BYTES = 9 << 18 /* residues of a tile: more would leave a second level cache, less read operands more often */
};

static inline int64_t minimum(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t maximum(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t divide_up(int64_t n, int64_t by) {
    return (n + by - 1) / by;
}

static inline int64_t round_up(int64_t n, int64_t multiple) {
    return divide_up(n, multiple) * multiple;
}

/* A sum of counts in which XL_OUT_OF_MEMORY wins. */
static inline int64_t joined(int64_t total, int64_t count) {
    return total < 0 || count < 0 ? XL_OUT_OF_MEMORY : total + count;
}

/* Threads that a `threads` argument stands for. */
int64_t xl_threads(int64_t threads);

/* Threads for `pieces` pieces of work, of so many entries in all. */
int xl_team(int64_t threads, int64_t work, int64_t pieces);

/* The number of the calling thread in its team. */
int64_t xl_thread(void);

/* Does one piece of a job; returns a count, or 0, or XL_OUT_OF_MEMORY. */
typedef int64_t (*xl_piece)(const void *job, int64_t piece);

/* Does `count` pieces of a job, which may run at the same time, on so many threads.
 * Ensures: returns the sum of their counts, XL_OUT_OF_MEMORY where one of them did. */
int64_t xl_for_each(int team, int64_t count, xl_piece piece, const void *job);

/* Rows of a stack of matrices cut into pieces of about XL_GRAIN entries. */
typedef struct {
    int64_t rows, step, per_stack, count;
} xl_row_pieces;

/* Rows [begin, end) of a matrix of the stack. */
typedef struct {
    int64_t stack, begin, end;
} xl_rows;

xl_row_pieces xl_cut_rows(int64_t stacks, int64_t rows, int64_t depth);

/* The same, so many rows always together. */
xl_row_pieces xl_cut_rows_by(int64_t stacks, int64_t rows, int64_t depth, int64_t together);
xl_rows xl_rows_of(const xl_row_pieces *pieces, int64_t piece);

/* A matrix of a stack, and its residues. */
xl_operand xl_matrix_of(const xl_stack *x, int64_t stack);
xl_planes xl_planes_of(const xl_plane_stack *planes, int64_t stack);

#endif
