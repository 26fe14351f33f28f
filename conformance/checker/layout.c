/* Shapes of products. */
#include "layout.h"

static side_layout side_of(const array *x, int by_columns) {
    const int64_t last = x->shape[x->dimensions - 1], before = x->dimensions > 1 ? x->shape[x->dimensions - 2] : 1;
    if (x->dimensions > 1 && by_columns)
        return (side_layout){last, before, 1, last, before * last};
    return (side_layout){before, last, last, 1, before * last};
}

static int64_t batch_dimensions(const array *x) {
    return x->dimensions > 2 ? x->dimensions - 2 : 0;
}

/* Length of a dimension of the stack, which counts from the last; 1 where the array has none. */
static int64_t batch_length(const array *x, int64_t from_last) {
    const int64_t count = batch_dimensions(x);
    return from_last < count ? x->shape[count - 1 - from_last] : 1;
}

/* Ensures: the number of the matrix that member t of the common stack takes from an operand. */
static int64_t matrix_of(const array *x, const product_layout *found, int64_t batch, int64_t t) {
    int64_t number = 0, step = 1;
    for (int64_t i = 0; i < batch; ++i) {
        const int64_t common = found->shape[batch - 1 - i], length = batch_length(x, i), index = t % common;
        number += length > 1 ? index * step : 0;
        step *= length;
        t /= common;
    }
    return number;
}

/* Ensures: the shape of the common stack and the number of its members. */
static problem broadcast(product_layout *found, const array *a, const array *b, int64_t batch) {
    found->pairs = 1;
    for (int64_t i = 0; i < batch; ++i) {
        const int64_t x = batch_length(a, i), y = batch_length(b, i);
        if (x != y && x != 1 && y != 1)
            return "the stacks do not match";
        found->shape[batch - 1 - i] = x == 1 ? y : x;
        found->pairs *= x == 1 ? y : x;
    }
    return NULL;
}

problem layout_product(product_layout *found, const array *a, const array *b, int transposed, pool *memory) {
    if (a->dimensions < 1 || b->dimensions < 1)
        return "an operand has no dimensions";
    found->left = side_of(a, 0);
    found->right = side_of(b, !transposed);
    if (found->left.depth != found->right.depth)
        return "the inner dimensions differ";
    const int64_t left = batch_dimensions(a), right = batch_dimensions(b), batch = left > right ? left : right;
    const problem unlike = broadcast(found, a, b, batch);
    if (unlike)
        return unlike;
    found->dimensions = batch;
    if (a->dimensions > 1)
        found->shape[found->dimensions++] = found->left.lines;
    if (b->dimensions > 1)
        found->shape[found->dimensions++] = found->right.lines;
    found->left_matrix = pool_take(memory, found->pairs, sizeof *found->left_matrix);
    found->right_matrix = pool_take(memory, found->pairs, sizeof *found->right_matrix);
    for (int64_t t = 0; t < found->pairs; ++t) {
        found->left_matrix[t] = matrix_of(a, found, batch, t);
        found->right_matrix[t] = matrix_of(b, found, batch, t);
    }
    return NULL;
}
