/* What Python calls: loops over stacks of matrices, tiles and threads around the kernels.
 *
 * Nothing here keeps state. A `threads` argument of 0 stands for OpenMP's own number; small work runs on the caller's
 * thread. Functions that return int64_t return a count, or 0, or XL_OUT_OF_MEMORY.
 */
#ifndef XL_NATIVE_H
#define XL_NATIVE_H

#include "../matrix/matrix.h"
#include "kernel_set.h"

/* Kernels that work together on one CPU. */
typedef struct {
    const char *name;
    const xl_matrix_kernels *matrix;
    const xl_kernel_set *elements;
} xl_instructions;

/* A stack of matrices: matrix s starts s * stride bytes after the first, and its exponents `rows` entries later. */
typedef struct {
    xl_operand first;
    int64_t stacks, stride;
} xl_stack;

/* Residues of a stack: matrix s starts s * stride bytes after the first. */
typedef struct {
    xl_planes first;
    int64_t stride;
} xl_plane_stack;

/* A term of a sum of products: residues of two stacks, the right one packed. */
typedef struct {
    xl_matrix_term first;
    int64_t left_stride, right_stride;
} xl_product_term;

/* Sums of products of pairs of matrices. */
typedef struct {
    const xl_product_term *terms;
    int64_t term_count;
    const int64_t *left, *right; /* the matrices of each pair */
    int64_t pairs, rows, columns;
    int64_t moduli, octets;      /* octets: 1, or 2 for moduli of two digits */
    const void *constants;       /* xl_matrix_modulus8 or xl_matrix_modulus16, one a modulus */
} xl_product;

/* Where the residues of results go: pair t starts t * pair_stride bytes after the first. */
typedef struct {
    xl_results first;
    int64_t pair_stride;
} xl_result_stack;

/* How integers become encodings. */
typedef struct {
    const xl_crt_table *crt;
    const int64_t *format;
    const int64_t *left_exponents, *right_exponents; /* [stacks][rows], [stacks][columns] */
    int64_t shift;
    const xl_encodings *encodings; /* of pair 0; pair t starts t * pair_stride bytes later */
    int64_t pair_stride, count;
    int64_t slack;   /* with unsure: as xl_host.h's round_certified */
    uint8_t *unsure; /* null, or [pairs][rows][columns] */
    int64_t components; /* 0, or how many the one of `encodings` has for each result: [rows][columns][components] */
} xl_rounding_job;

/* The instruction sets of this build, the preferred one first; null past the last. `runs_here` is 0 or 1. */
const char *xl_native_listed(int64_t index, int64_t *runs_here);

/* The instructions of that name, or the fastest that run here for null; null where they cannot run. */
const xl_instructions *xl_native_select(const char *name);

/* Fills the constants of the matrix kernels for moduli of `octets` bytes, one record after the other; returns the bytes
 * that they take, without writing where `constants` is null, or -1 where a modulus is out of range. */
int64_t xl_native_constants(const uint32_t *moduli, int64_t count, int64_t octets, void *constants);

/* Numbers that callers plan with. */
typedef struct {
    int64_t depth, columns, alignment; /* XL_MATRIX_* */
    int64_t tile_side, tile_bytes;     /* the largest tile of results: rows and columns, and bytes of residues */
    int64_t worth_a_thread;            /* entries, below which work stays on the caller's thread */
    int64_t plan_bits, plan_limbs;     /* of xl_direct */
} xl_limits;

const xl_limits *xl_native_limits(void);

/* Threads that a `threads` argument stands for. */
int64_t xl_native_threads(int64_t threads);

/* Bytes of scratch of the matrix kernels for tiles of up to so many rows and columns. */
int64_t xl_native_scratch(const xl_instructions *set, int64_t octets, int64_t rows, int64_t columns);

/* Scans `count` operands of one shape, whose rows share their exponents.
 * Ensures: entries of row r of stack s are integers times 2**lowest[s * rows + r], below 2**highest[...] in magnitude,
 * both 0 where all are 0; nonfinite[i] entries of operand i are not finite, and count as 0. Returns the largest
 * highest - lowest, or XL_OUT_OF_MEMORY. */
int64_t xl_native_scan(const xl_instructions *set, const xl_stack *operands, int64_t count, int64_t *lowest,
                       int64_t *highest, int64_t *nonfinite, int64_t threads);

/* Ensures: planes as xl_host.h's residues8 or residues16; returns how many entries break their scan. */
int64_t xl_native_residues(const xl_instructions *set, const xl_stack *x, const xl_residue_table *table,
                           int64_t octets, const xl_plane_stack *planes, int64_t threads);

/* The same for sums of `count` components of one stack, as xl_host.h's component_residues: components[count], one after
 * the other. Rows lie next to each other in their planes, or are packed as xl_native_pack does it. */
int64_t xl_native_component_residues(const xl_instructions *set, const xl_stack *components, int64_t count,
                                     const xl_residue_table *table, int64_t octets, const xl_planes *planes,
                                     int64_t packed, int64_t threads);

/* The same for the pieces of intervals: planes[XL_PIECES]. */
int64_t xl_native_interval_residues(const xl_instructions *set, const xl_stack *first, const xl_stack *second,
                                    int64_t endpoints, const xl_residue_table *table, int64_t octets,
                                    const xl_plane_stack *planes, int64_t *invalid, int64_t threads);

/* The same for the classes of entries: planes[XL_CLASSES], one byte plane each. */
void xl_native_classify(const xl_instructions *set, const xl_stack *x, const xl_plane_stack *planes);

/* Packs `count` right planes of columns x depth, which follow each other, into `packed`. */
void xl_native_pack(const xl_instructions *set, const int8_t *planes, int64_t count, int64_t columns, int64_t depth,
                    int8_t *packed, int64_t threads);

/* Ensures: results of the product; rows are written up to the next multiple of XL_MATRIX_COLUMNS columns. */
int64_t xl_native_multiply(const xl_instructions *set, const xl_product *product, const xl_result_stack *results,
                           int64_t threads);

/* Ensures: encodings of the product, whose residues never leave a tile; returns how many components are infinite. */
int64_t xl_native_multiply_round(const xl_instructions *set, const xl_product *product, const xl_rounding_job *job,
                                 int64_t threads);

/* Ensures: encodings of results; left and right as in xl_product. */
int64_t xl_native_round(const xl_instructions *set, const xl_result_stack *results, const int64_t *left,
                        const int64_t *right, int64_t pairs, const xl_rounding_job *job, int64_t threads);

/* Ensures: result congruent to the sum over terms of signs[i] * terms[i], all of one shape and layout. */
void xl_native_combine(const xl_instructions *set, const xl_result_stack *result, const xl_result_stack *terms,
                       const int64_t *signs, int64_t count, int64_t pairs, const xl_crt_table *table,
                       int64_t threads);

/* Ensures: two's complement limbs [pairs][rows][columns][table->limbs] of the integers with these residues. */
int64_t xl_native_integers(const xl_instructions *set, const xl_result_stack *results, int64_t pairs,
                           const xl_crt_table *table, uint32_t *limbs, int64_t threads);

/* Whether the matrix kernels are right on extreme residues and on the longest sums: 1 or 0, or XL_OUT_OF_MEMORY. */
int64_t xl_native_check(const xl_instructions *set);

/* ---- systems ---- */

/* An integer matrix, and more columns beside it, modulo primes. */
typedef struct {
    const int64_t *matrix; /* [rows][columns] */
    const int64_t *right;  /* [rows][more] */
    int64_t rows, columns, more;
    const int64_t *primes; /* odd, below 2**28 */
    int64_t moduli;
    int64_t *minors, *ranks; /* [moduli] */
    int64_t *orders;         /* [moduli][rows] */
    int64_t *pivots;         /* [moduli][columns], the first `rank` of which are written */
    int64_t *determinants;   /* null, or for a square matrix [moduli], with */
    uint32_t *numerators;    /* [moduli][more][columns] */
} xl_modular_systems;

/* Ensures: for each prime the largest minor as xl_host.h's `eliminate` finds it; and the determinant, and it times the
 * solution for each column of `right`, which is 0 where the determinant is. */
int64_t xl_native_eliminate(const xl_instructions *set, const xl_modular_systems *systems, int64_t threads);

/* Square matrices modulo primes, each in place. */
typedef struct {
    int8_t *planes; /* [moduli][size][depth]: depth at least size, and zeros past it */
    int64_t moduli, size, depth;
    const xl_matrix_modulus8 *constants; /* of primes above 100 */
    int64_t begin, end; /* the columns that a call transforms: begin is a multiple of XL_INVERSION_BLOCK, and so is end */
    int64_t *exchanged; /* [moduli][size], kept from call to call */
} xl_inversion;

enum { XL_INVERSION_BLOCK = 256 };

/* Ensures: after calls for all columns in turn, planes of the inverse modulo each prime, and determinants[p], which are 1
 * at the beginning; where that is 0, the plane is not defined. `end` may be the size, too. */
int64_t xl_native_invert(const xl_instructions *set, const xl_inversion *inversion, int64_t *determinants,
                         int64_t threads);

/* Residues of a square matrix, packed, and what turns integers into residues and back. */
typedef struct {
    const int8_t *packed; /* [moduli] planes of size rows and `depth` columns */
    const xl_matrix_modulus8 *constants;
    int64_t moduli;
    const xl_residue_table *residues; /* of the integers that the matrix is multiplied by */
    const xl_crt_table *crt;          /* of its products */
} xl_lifting_side;

/* Steps of p-adic lifting, P the product of the inverse's moduli; see exactla/backend.py, Lifting. */
typedef struct {
    xl_lifting_side inverse, matrix; /* A**-1 modulo primes, A modulo others: numbers below their product / 4 are known */
    int64_t size, depth, columns, steps;
    const int64_t *reciprocals; /* 1 / P modulo each of the matrix's moduli, centred */
    uint32_t *residual;         /* [columns][size][matrix.crt->limbs] */
    uint32_t *digits;           /* [steps][columns][size][inverse.crt->limbs] */
} xl_lifting;

/* Ensures: digits and the new residual. */
int64_t xl_native_lift(const xl_instructions *set, const xl_lifting *lifting, int64_t threads);

/* Ensures: sums [steps][2 words] as xl_host.h's combine_digits has them, of digits [steps][entries][words]. */
int64_t xl_native_combine_digits(const xl_instructions *set, const uint32_t *digits, int64_t steps, int64_t entries,
                                 int64_t words, const int32_t *weights, int64_t *sums, int64_t threads);

/* Ensures: results of entries [begin, end), as xl_host.h's numbers has them. */
int64_t xl_native_numbers(const xl_instructions *set, const xl_numbers *numbers, int64_t begin, int64_t end,
                          int64_t threads);

/* ---- long numbers ---- */

enum { XL_HALVING_WORDS = 64 /* of the longest numbers that are halved at once */ };

/* Requires: x >= y >= 0 in `words` words of two's complement, at most XL_HALVING_WORDS + 2, and goal at least half of the
 * bits of x.
 * Ensures: matrix [4][words], (a, b, c, d) in two's complement, of determinant 1 or -1; x = |a x + b y| and
 * y = |c x + d y| of the numbers before, or the other way round, x >= y and y < 2**goal. */
int64_t xl_native_halve(const xl_instructions *set, uint32_t *x, uint32_t *y, int64_t words, int64_t goal,
                        uint32_t *matrix);

/* ---- small products ---- */

enum {
    XL_DIRECT_NOT = -2,   /* the general path has to be taken */
    XL_DIRECT_BITS = 216, /* plans are for results of fewer bits, */
    XL_DIRECT_LIMBS = 8   /* made from integers of fewer limbs */
};

/* An array as NumPy describes it to C: the PyArrayInterface of `__array_struct__`. */
typedef struct {
    int two, dimensions;
    char kind;
    int itemsize, flags;
    const intptr_t *shape, *strides; /* strides in bytes */
    void *data;
    void *description;
} xl_array;

/* Tables for results of so many bits, from integers of so many limbs. */
typedef struct {
    xl_residue_table residues;
    xl_crt_table crt;
    const xl_matrix_modulus8 *constants;
} xl_direct_plan;

/* Products of two matrices, or of pairs of them, to `count` arrays of encodings. */
typedef struct {
    const xl_array *left, *right; /* [M, K] and [K, N], or stacks of them */
    const xl_array *results;      /* [count, M, N], or [count, pairs, M, N], the last axis contiguous */
    int64_t threads;
    const int64_t *left_format, *right_format, *result_format;
    int64_t transposed; /* 1 where the right matrices are [N, K] */
    const xl_direct_plan *const *plans; /* [XL_DIRECT_BITS][XL_DIRECT_LIMBS] */
    int64_t count, roundings[2];
} xl_direct;

/* Requires: no axis is empty.
 * Ensures: the encodings, and returns 0; or returns XL_DIRECT_NOT, or 1 + the number of a plan that is null. */
int64_t xl_native_direct(const xl_instructions *set, const xl_direct *job);

/* ---- integers of many limbs: uint64 in two's complement, the lowest first; see exactla/backend.py, Multiprecision - */

/* A matrix of integers of `count` limbs; distances in limbs. */
typedef struct {
    uint64_t *limbs;
    int64_t row_stride, entry_stride, count, rows, columns;
} xl_long_integers;

/* Ensures: to = RN(x * 2**shift) modulo 2**(64 to->count), with shifts[i * shift_step] for entry i in C order. */
int64_t xl_native_scale(const xl_instructions *set, const xl_long_integers *x, const int64_t *shifts,
                        int64_t shift_step, const xl_long_integers *to, int64_t threads);

/* Requires: |x| <= 2**(64 count - 2). Ensures: x rounded to so many leading bits, in place. */
int64_t xl_native_round_leading(const xl_instructions *set, const xl_long_integers *x, int64_t precision,
                                int64_t threads);

/* Ensures: lengths[i] = bits of |entry i|, in C order. */
int64_t xl_native_bit_lengths(const xl_instructions *set, const xl_long_integers *x, int64_t *lengths, int64_t threads);

/* Requires: x has one row, count > 0. Ensures: the first k < count with the largest |entry order[k]|. */
int64_t xl_native_largest(const xl_instructions *set, const xl_long_integers *x, const int64_t *order, int64_t count);

/* Numbers of several float64 components, in their encodings [rows][count]. */
typedef struct {
    uint64_t *words;
    int64_t rows, count;
} xl_components;

/* The first encoding that is not finite and the first row whose components overlap, as exactla/core/expansions.py has it, or
 * INT64_MAX; components are multiples of 2**lowest below 2**highest, or INT64_MAX and INT64_MIN where all are 0. */
typedef struct {
    int64_t not_finite, overlap, lowest, highest;
} xl_component_scan;

int64_t xl_native_scan_components(const xl_instructions *set, const xl_components *x, xl_component_scan *found,
                                  int64_t threads);

/* Ensures: sums of the components of each row in units of 2**exponent, which they are multiples of, modulo
 * 2**(64 sums->count). */
int64_t xl_native_sum_components(const xl_instructions *set, const xl_components *x, int64_t exponent,
                                 const xl_long_integers *sums, int64_t threads);

/* Requires: |exponent| <= 2**40. Ensures: each component is the nearest float64, ties to even, to what those before it leave of
 * an integer times 2**exponent. */
int64_t xl_native_take_components(const xl_instructions *set, const xl_long_integers *integers, int64_t exponent,
                                  const xl_components *x, int64_t threads);

/* Constants of many moduli; see cpu/wide.py. */
typedef struct {
    const xl_wide_modulus *constants;
    int64_t moduli;
    const int8_t *powers;    /* [32 for each 16 moduli][powers_depth]: digits of 256**j, 16 high ones and 16 low ones */
    int64_t powers_depth;
    const int8_t *cofactors; /* [octets][cofactors_depth]: signed bytes of M / m, two moduli's digits each */
    int64_t cofactors_depth;
    int64_t octets;
    const uint8_t *product;  /* [octets] of M */
} xl_wide_base;

/* Where residues of integers go: as numbers, or as byte planes of high and low digits. Distances in entries. */
typedef struct {
    int16_t *residues;
    int8_t *planes; /* digit d of modulus p starts at (2 p + d) * plane_stride */
    int64_t plane_stride, row_stride;
} xl_wide_places;

int64_t xl_native_wide_residues(const xl_instructions *set, const xl_wide_base *base, const xl_long_integers *x,
                                const xl_wide_places *places, int64_t threads);

/* Sums in residues that become integers: entry (i, j) for modulus p starts at p * plane + i * row + j. */
typedef struct {
    const int16_t *sums;
    int64_t sums_plane, sums_row;
} xl_wide_sums;

/* Ensures: to is the sum. Rows of sums have to be readable to the next multiple of 16. */
int64_t xl_native_wide_integers(const xl_instructions *set, const xl_wide_base *base, const xl_wide_sums *sums,
                                const xl_long_integers *to, int64_t threads);

/* Requires: x and to have one row; |x| <= 2**(64 to->count - 2) |divisor|, of so many limbs. Ensures: to = RN(x / divisor). */
int64_t xl_native_divide(const xl_instructions *set, const xl_long_integers *x, const uint64_t *divisor,
                         int64_t divisor_count, const xl_long_integers *to, int64_t threads);

/* Unknowns of a triangular system: x_i = RN((s_i - sum over k < i of L_ik x_k) / d_i), limbs of L [n, n], of which entries left
 * of the diagonal are read, of s and x [n, c], and of d [1, n], or null for d_i = 2**precision.
 * Returns 1 where an unknown is too long for its limbs, else 0. */
int64_t xl_native_substitute(const xl_instructions *set, const xl_long_integers *lower,
                             const xl_long_integers *divisors, int64_t precision, const xl_long_integers *sums,
                             const xl_long_integers *found, int64_t threads);

/* Residues of L by rows and of U by columns, digits of bytes along the depth; see cpu/elimination.py. */
typedef struct {
    const void *constants;  /* xl_matrix_modulus16 */
    int64_t moduli, depth;  /* depth: bytes of a row of L and of a packed column of U */
    int8_t *lower;          /* [moduli][2][rows][depth] */
    int8_t *upper;          /* [moduli][2][columns packed][depth] */
    int8_t *slab;           /* [moduli][2][columns][64]: columns of U from the last multiple of 64 on */
    int16_t *panel_lower;   /* [moduli][block][lower_stride]: columns of L in an open block, from row `start` on */
    int16_t *panel_upper;   /* [moduli][block][upper_stride] */
    int16_t *sums;          /* [moduli][block][sums_stride] */
    int64_t rows, columns, block, lower_stride, upper_stride, sums_stride;
} xl_elimination;

/* Ensures: sums = those over k < start, for columns start..stop-1 of the rows from start on, by columns. */
int64_t xl_native_column_sums(const xl_instructions *set, const xl_elimination *e, int64_t start, int64_t stop,
                              int64_t threads);

/* Ensures: sums = those over k < start, for rows start..stop-1 of the columns from stop on, by rows. */
int64_t xl_native_row_sums(const xl_instructions *set, const xl_elimination *e, int64_t start, int64_t stop,
                           int64_t threads);

/* Ensures: rows of L from start on are those that `order` says, with columns start..stop-1 from the panel, whose rows
 * are put in that order too. */
int64_t xl_native_exchange(const xl_instructions *set, const xl_elimination *e, int64_t start, int64_t stop,
                           const int64_t *order, int64_t threads);

/* Ensures: rows start..stop-1 of U from the panel. */
int64_t xl_native_keep_upper(const xl_instructions *set, const xl_elimination *e, int64_t start, int64_t stop,
                             int64_t threads);

enum { XL_PANEL_PARTS = 2 };

/* A block of columns [start, stop) of L and of rows of U, in units of 2**-precision; the sums s_ij are those of
 * exactla/core/lu.py. */
typedef struct {
    const xl_elimination *factors;
    const xl_wide_base *sums, *lower, *upper; /* tables for sums on their way out, and for entries on their way in */
    const xl_long_integers *matrix;           /* [rows, columns], its rows in the order of now */
    const xl_long_integers *lower_entries;    /* [rows - start, stop - start] */
    const xl_long_integers *upper_entries;    /* [stop - start, columns] */
    int64_t precision, start, stop;
    int64_t *order;   /* [rows - start]: 0, 1, ... before */
    int64_t *places;  /* [stop - start] */
    uint64_t *pivots; /* [stop - start][limbs of an entry of U] */
    uint64_t *value;  /* [limbs of a sum] */
    int64_t *nanoseconds; /* [XL_PANEL_PARTS]: grows by what conversions into residues took, and reconstruction out of them */
} xl_panel;

/* Requires: column_sums of the block.
 * Ensures: returns how many columns have pivots that do not round to 0, all or those before the first that does; for them, L,
 * U beside the pivots in the columns of the block, and residues of both, as put in the panel; rows of L keep their order, row
 * order[k] holds pivot k, which was `places[k]` after k in the order of then; rows of earlier pivots hold any numbers. `value`
 * is the sum with the largest magnitude of the last column that was looked at. */
int64_t xl_native_panel_columns(const xl_instructions *set, const xl_panel *panel, int64_t threads);

/* Requires: exchange, and row_sums, of the block. Ensures: U in the columns from stop on, and its residues in the panel. */
int64_t xl_native_panel_rows(const xl_instructions *set, const xl_panel *panel, int64_t threads);

#endif
