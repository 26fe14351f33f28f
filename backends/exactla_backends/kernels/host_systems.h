/* Steps of inverses and of p-adic lifting on residues modulo one prime or modulus up to 256. */
#ifndef XL_HOST_SYSTEMS_H
#define XL_HOST_SYSTEMS_H

#include "xl_host.h"

/* Constants of a modulus m: residues r with -half <= r < m - half, half = floor(m / 2). */
typedef struct {
    int32_t modulus, half;
    uint32_t inverse; /* floor(2**32 / m) */
    int32_t bias;     /* a multiple of m, plus half: at least 2**16 */
} xl_ring;

XL_FUNCTION xl_ring xl_ring_of(int64_t modulus) {
    xl_ring ring;
    ring.modulus = (int32_t)modulus;
    ring.half = ring.modulus / 2;
    ring.inverse = (uint32_t)(((uint64_t)1 << 32) / (uint64_t)modulus);
    ring.bias = ((1 << 16) / ring.modulus + 1) * ring.modulus + ring.half;
    return ring;
}

/* Requires: |value| <= 2**16.
 * Ensures: the residue of value. */
XL_FUNCTION int32_t xl_ring_reduce(int32_t value, const xl_ring *ring) {
    return (int32_t)xl_reduce32((uint32_t)(value + ring->bias), (uint32_t)ring->modulus, ring->inverse) - ring->half;
}

/* Requires: a prime modulus and a value that it does not divide.
 * Ensures: the residue of 1 / value. */
XL_FUNCTION int32_t xl_ring_reciprocal(int32_t value, const xl_ring *ring) {
    int32_t result = 1;
    for (int32_t power = value, exponent = ring->modulus - 2; exponent > 0; exponent /= 2) {
        if (exponent % 2)
            result = xl_ring_reduce(result * power, ring);
        power = xl_ring_reduce(power * power, ring);
    }
    return result;
}

/* Requires: |x|, |t|, |s| < m / 2 + 1, 100 < m < 256; scale = floor(2**21 / m), or 2**22 for m >= 128, and shift 5 or 6.
 * Ensures: x congruent to x + t * s, centred: |x| <= floor(m / 2). */
XL_STAGE void xl_add_multiple(int16_t *XL_RESTRICT x, const int16_t *XL_RESTRICT t, int16_t s, int64_t count,
                              int16_t modulus, int16_t scale, int32_t shift) {
    const int16_t half = modulus / 2, low = (int16_t)-half, around = (int16_t)(1 << (shift - 1));
    for (int64_t i = 0; i < count; ++i) {
        const int16_t value = (int16_t)(x[i] + t[i] * s);
        const int16_t quotient = (int16_t)((int16_t)(((int32_t)value * scale) >> 16) + around) >> shift;
        int16_t rest = (int16_t)(value - quotient * modulus);
        rest = rest > half ? (int16_t)(rest - modulus) : rest;
        x[i] = rest < low ? (int16_t)(rest + modulus) : rest;
    }
}

/* Ensures: see xl_host.h. */
int64_t XL_ENTRY(pivot_panel)(int16_t *panel, int64_t stride, int64_t rows, int64_t columns, int64_t start,
                              int64_t modulus, int64_t *exchanged) {
    const xl_ring ring = xl_ring_of(modulus);
    const int32_t shift = modulus >= 128 ? 6 : 5;
    const int16_t scale = (int16_t)((1 << (16 + shift)) / modulus);
    int32_t determinant = 1;
    for (int64_t k = 0; k < columns; ++k) {
        int16_t *column = panel + k * stride;
        const int64_t row = start + k;
        int64_t pivot = row;
        int32_t reciprocal;
        while (pivot < rows && column[pivot] == 0)
            ++pivot;
        if (pivot == rows)
            return 0;
        exchanged[k] = pivot;
        for (int64_t j = 0; j < columns && pivot != row; ++j) {
            const int16_t other = panel[j * stride + pivot];
            panel[j * stride + pivot] = panel[j * stride + row];
            panel[j * stride + row] = other;
        }
        determinant = xl_ring_reduce(determinant * (pivot == row ? column[row] : -column[row]), &ring);
        reciprocal = xl_ring_reciprocal(column[row], &ring);
        column[row] = 0;
        for (int64_t i = 0; i < rows; ++i)
            column[i] = (int16_t)xl_ring_reduce(-column[i] * reciprocal, &ring);
        column[row] = (int16_t)reciprocal;
        for (int64_t j = 0; j < columns; ++j) {
            int16_t *other = panel + j * stride;
            const int16_t multiplier = other[row];
            if (j == k || multiplier == 0)
                continue;
            other[row] = 0;
            xl_add_multiple(other, column, multiplier, rows, (int16_t)modulus, scale, shift);
        }
    }
    return determinant < 0 ? determinant + modulus : determinant;
}

/* Requires: residues of an odd modulus m, half = floor(m / 2), low = -half.
 * Ensures: to congruent to to + more, centred. Inlined for each count, so that short rows are vectors too. */
XL_FUNCTION void xl_add_residues(int8_t *XL_RESTRICT to, const int8_t *XL_RESTRICT more, int32_t count,
                                 int16_t modulus, int16_t half, int16_t low) {
    XL_INDEPENDENT for (int32_t i = 0; i < count; ++i) {
        int16_t sum = (int16_t)(to[i] + more[i]);
        sum = sum > half ? (int16_t)(sum - modulus) : sum;
        to[i] = (int8_t)(sum < low ? (int16_t)(sum + modulus) : sum);
    }
}

void XL_ENTRY(add_residues)(int8_t *to, int64_t stride, const int8_t *more, int64_t more_stride, int64_t rows,
                            int64_t columns, int64_t modulus) {
    const int16_t m = (int16_t)modulus, half = (int16_t)(m / 2), low = (int16_t)-half;
    for (int64_t i = 0; i < rows; ++i) {
        int8_t *row = to + i * stride;
        const int8_t *added = more + i * more_stride;
        int64_t j = 0;
        for (; j + 64 <= columns; j += 64)
            xl_add_residues(row + j, added + j, 64, m, half, low);
        for (; j + 32 <= columns; j += 32)
            xl_add_residues(row + j, added + j, 32, m, half, low);
        xl_add_residues(row + j, added + j, (int32_t)(columns - j), m, half, low);
    }
}

void XL_ENTRY(scaled_difference)(int8_t *to, const int8_t *less, int64_t factor, int64_t count, int64_t modulus) {
    const xl_ring ring = xl_ring_of(modulus);
    for (int64_t i = 0; i < count; ++i)
        to[i] = (int8_t)xl_ring_reduce((to[i] - less[i]) * (int32_t)factor, &ring);
}

#endif
