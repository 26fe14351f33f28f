/* Where rounded results lie, for the files of this folder that make them. */
#ifndef XL_ROUNDING_H
#define XL_ROUNDING_H

#include "native.h"

/* Some rows and columns of the results of a pair, from (row, column) on, and the matrices that were multiplied. */
typedef struct {
    int64_t pair, left, right;
    int64_t rows, columns; /* of all results of the pair */
    int64_t row, column;
} xl_rounding_place;

/* Ensures: encodings of the residues, which lie at that place, and what is unsure about them. */
int64_t xl_round_place(const xl_instructions *set, const xl_rounding_job *job, const xl_results *residues,
                       const xl_rounding_place *at);

#endif
