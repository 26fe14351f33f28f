/* Which matrices of two operands meet in a product, as in NumPy's matmul: vectors, stacks and broadcasting. */
#ifndef CHECKER_LAYOUT_H
#define CHECKER_LAYOUT_H

#include "array.h"
#include "report.h"

/* A stack of matrices that is read by lines along the inner dimension. Strides count entries. */
typedef struct {
    int64_t lines, depth;
    int64_t line_stride, depth_stride, matrix_stride;
} side_layout;

/* Result t is left matrix left_matrix[t] times right matrix right_matrix[t], whose columns are the lines. */
typedef struct {
    side_layout left, right;
    int64_t dimensions, shape[MAX_DIMENSIONS];
    int64_t pairs;
    int64_t *left_matrix, *right_matrix;
} product_layout;

/* Lays out a @ b, or a @ b.T where `transposed`. */
problem layout_product(product_layout *found, const array *a, const array *b, int transposed, pool *memory);

#endif
