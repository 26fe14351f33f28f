/* Sums of products of two matrices, as residues; see `exactla.core.contraction`. */
#ifndef CHECKER_CONTRACTION_H
#define CHECKER_CONTRACTION_H

#include "casefile.h"
#include "operand.h"

/* What a side is cut into: its parts, the pieces of intervals of xl_interval.h, or for each part the classes of
 * xl_special.h. */
typedef enum { PARTS, INTERVALS, CLASSES } piece_kind;

enum { INTERVAL_PIECES = 7, CLASS_PIECES = 7, MAX_PIECES = MAX_PARTS * CLASS_PIECES, MAX_TERMS = 8, MAX_GROUPS = 6 };

typedef struct {
    const operand *x;
    const residue_table *table; /* not needed for classes */
} contraction_side;

/* sign * left piece @ right piece, transposed */
typedef struct {
    int sign, left, right;
} product_term;

typedef struct {
    int count;
    product_term term[MAX_TERMS];
} product_group;

typedef struct {
    const residue_base *base;
    piece_kind kind;
    int endpoints; /* intervals are given by their ends, not by midpoint and radius */
    contraction_side left, right;
    int group_count;
    product_group group[MAX_GROUPS];
} contraction;

/* Ensures: sums[g] holds the residues of the sum of the terms of group g. */
problem contract(const contraction *work, xl_results *sums, pool *memory);

/* Ensures: residues of first + sign * second, of results of one shape. */
xl_results add_results(const residue_base *base, const xl_results *first, int sign, const xl_results *second,
                       pool *memory);

/* Results of so many rows and columns, not yet set. */
xl_results new_results(const residue_base *base, int64_t rows, int64_t columns, pool *memory);

/* Bits of a sum of so many products of integers below 2**left and 2**right in magnitude. */
int64_t sum_bits(int64_t left, int64_t right, int64_t terms);

/* Fails where sums of `terms` products, of integers that have `extra` bits more than the operands, need more bits than
 * the base has, or where the operands do not fit the tables. */
problem plan_holds(const case_plan *plan, const operand *left, const operand *right, int64_t extra, int64_t terms);

#endif
