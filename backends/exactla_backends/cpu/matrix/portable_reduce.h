/* Modular reduction of biased sums in plain C, for compilers to vectorise with the instructions of the file that
 * includes this one. */
#ifndef XL_MATRIX_PORTABLE_REDUCE_H
#define XL_MATRIX_PORTABLE_REDUCE_H

#include "kernels.h"

/* y mod m, with reciprocal = floor(2^32 / m). */
static inline uint32_t xl_matrix_mod(uint32_t y, uint32_t m, uint32_t reciprocal) {
    const uint32_t r = y - (uint32_t)((uint64_t)y * reciprocal >> 32) * m;
    return r < m ? r : r - m;
}

/* The residues of 16 sums. */
static inline void xl_matrix_reduce8(const uint32_t *y, const xl_matrix_modulus8 *modulus, int8_t *residues) {
    const uint32_t m = modulus->modulus, reciprocal = modulus->reciprocal, half = modulus->half;
    uint32_t r[16];
    for (int j = 0; j < 16; ++j)
        r[j] = xl_matrix_mod(y[j], m, reciprocal) - half;
    for (int j = 0; j < 16; ++j)
        residues[j] = (int8_t)(uint8_t)r[j];
}

/* sum over i of byte i of y * signed byte i of digits, modulo 2^32 */
static inline uint32_t xl_matrix_byte_sum(uint32_t y, uint32_t digits) {
    uint32_t sum = 0;
    for (int i = 0; i < 32; i += 8)
        sum += (y >> i & 255) * (uint32_t)(int32_t)(int8_t)(uint8_t)(digits >> i);
    return sum;
}

/* The residues of 2^16 * y[0] + 2^8 * y[1] + y[2] for 16 sums of each kind. */
static inline void xl_matrix_reduce16(
    const uint32_t *const y[3], const xl_matrix_modulus16 *modulus, int16_t *residues) {
    const uint32_t m = modulus->modulus, reciprocal = modulus->reciprocal, half = modulus->half;
    uint32_t z[16];
    for (int j = 0; j < 16; ++j)
        z[j] = modulus->offset;
    for (int d = 0; d < 3; ++d)
        for (int j = 0; j < 16; ++j)
            z[j] += 256 * xl_matrix_byte_sum(y[d][j], modulus->high[d]) + xl_matrix_byte_sum(y[d][j], modulus->low[d]);
    for (int j = 0; j < 16; ++j)
        z[j] = xl_matrix_mod(z[j], m, reciprocal) - half;
    for (int j = 0; j < 16; ++j)
        residues[j] = (int16_t)(uint16_t)z[j];
}

/* See `reduce8` of xl_matrix_kernels. */
static inline void xl_matrix_reduce_all8(xl_matrix_reduction *x) {
    for (; x->next < x->rows; ++x->next)
        for (int j = 0; j < x->columns; j += 16)
            xl_matrix_reduce8(
                x->sums[0] + x->next * XL_BLOCK_COLUMNS + j, x->modulus8, x->residues8 + x->next * x->row + j);
}

/* See `reduce16` of xl_matrix_kernels. */
static inline void xl_matrix_reduce_all16(xl_matrix_reduction *x) {
    for (; x->next < x->rows; ++x->next)
        for (int j = 0; j < x->columns; j += 16) {
            const int at = x->next * XL_BLOCK_COLUMNS + j;
            const uint32_t *const y[3] = {x->sums[0] + at, x->sums[1] + at, x->sums[2] + at};
            xl_matrix_reduce16(y, x->modulus16, x->residues16 + x->next * x->row + j);
        }
}

#endif
