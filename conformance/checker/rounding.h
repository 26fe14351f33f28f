/* From residues of sums to entries of result arrays. */
#ifndef CHECKER_ROUNDING_H
#define CHECKER_ROUNDING_H

#include "contraction.h"

enum { MAX_RESULTS = 3 };

/* Counts of non-finite terms beside sums, for xl_host.h's mark: signs, terms, invalid. */
typedef struct {
    const residue_base *base;
    const xl_results *counts; /* [3], or NULL where all entries are finite */
} special_counts;

/* Where rounded sums go: one part of the entries of a matrix of a result. */
typedef struct {
    array *result;
    int64_t part, matrix;
} target_part;

/* Ensures: the sums times 2**(exponents of row and column + shift), rounded in one direction. */
void store_rounded(const contraction *work, const xl_results *sums, int64_t shift, int64_t rounding,
                   const special_counts *special, const target_part *target);

#endif
