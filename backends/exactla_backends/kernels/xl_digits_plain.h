/* Sums of products of digits in plain C; see xl_digit_sums. */
#ifndef XL_DIGITS_PLAIN_H
#define XL_DIGITS_PLAIN_H

#define XL_DIGIT_LANES 8
#define XL_DIGIT_SLOT(column) (column)

/* Requires: digits <= XL_MOST_DIGITS, depth * digits < 128, digits of XL_DIGIT_BITS bits, which may be signed; columns
 * of `right` in their slots, XL_DIGIT_SLOT.
 * Ensures: sums[p * pitch + w] = sum over k < depth and i + j = p of left[i * left_pitch + k] * right[(k * digits + j) *
 * stride + slot of w], for p < 2 digits - 1 and w < XL_DIGIT_LANES. */
XL_STAGE void xl_digit_sums(int64_t *XL_RESTRICT sums, int64_t pitch, const int32_t *left, int64_t left_pitch, const int32_t *right,
                            int64_t stride, int64_t depth, int32_t digits) {
    int64_t total[2 * XL_MOST_DIGITS - 1][XL_DIGIT_LANES] = {{0}};
    for (int64_t k = 0; k < depth; ++k)
        for (int32_t i = 0; i < digits; ++i) {
            const int64_t factor = left[i * left_pitch + k];
            for (int32_t j = 0; j < digits; ++j)
                for (int32_t w = 0; w < XL_DIGIT_LANES; ++w)
                    total[i + j][w] += factor * right[(k * digits + j) * stride + w];
        }
    for (int32_t p = 0; p < 2 * digits - 1; ++p)
        for (int32_t w = 0; w < XL_DIGIT_LANES; ++w)
            sums[p * pitch + w] = total[p][w];
}

/* Requires: sums below 2**63 in magnitude; columns of `pieces` in their slots.
 * Ensures: sums[i][w] = sum over g < groups and j < count of weights[g * row + i - j] * pieces[(g * count + j) *
 * XL_DIGIT_LANES + slot of w]. */
XL_STAGE void xl_piece_sums(int64_t sums[XL_PIECE_ROWS][XL_DIGIT_LANES], const int32_t *weights, int64_t row,
                            const int32_t *pieces, int64_t groups, int64_t count) {
    for (int32_t i = 0; i < XL_PIECE_ROWS; ++i) {
        int64_t total[XL_DIGIT_LANES] = {0};
        for (int64_t g = 0; g < groups; ++g)
            for (int64_t j = 0; j < count; ++j) {
                const int64_t factor = weights[g * row + i - j];
                for (int32_t w = 0; w < XL_DIGIT_LANES; ++w)
                    total[w] += factor * pieces[(g * count + j) * XL_DIGIT_LANES + w];
            }
        for (int32_t w = 0; w < XL_DIGIT_LANES; ++w)
            sums[i][w] = total[w];
    }
}

/* Requires: digits of at most 31 bits, and a count that is a multiple of 8.
 * Ensures: sums[j] grows by the sum over i < 4 of rows[i] * right[j - i], modulo 2**64. */
XL_STAGE void xl_add_rows(uint64_t *XL_RESTRICT sums, const uint64_t *rows, const uint64_t *XL_RESTRICT right,
                          int64_t count) {
    for (int64_t j = 0; j < count; ++j)
        sums[j] += rows[0] * right[j] + rows[1] * right[j - 1] + rows[2] * right[j - 2] + rows[3] * right[j - 3];
}

#endif
