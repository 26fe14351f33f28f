/* The functions of exactla that cases call. */
#ifndef CHECKER_CALLS_H
#define CHECKER_CALLS_H

#include "rounding.h"

/* Computes the results of a case: up to MAX_RESULTS arrays, taken from `memory`. */
problem compute(const case_file *file, const test_case *which, array *results, int *count, pool *memory);

/* The work of each kind of call, on operands whose layout is known; `results` have the layout's shape.
 * A product goes into one array for each rounding, an interval product into lo and hi and, where asked for, the mask of
 * hulls; an exact product chooses the type of its array. */
problem compute_product(const test_case *which, const product_layout *layout, const int64_t *roundings, int count,
                        array *results);
problem compute_exact(const case_file *file, const test_case *which, const product_layout *layout, array *result,
                      pool *memory);
problem compute_intervals(const test_case *which, const product_layout *layout, int endpoints, array *results);

#endif
