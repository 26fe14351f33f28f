/* Elimination modulo one prime of up to 28 bits. Products are summed in 64 bits and reduced when an entry is needed. */
#ifndef XL_HOST_ELIMINATION_H
#define XL_HOST_ELIMINATION_H

#include "xl_host.h"

/* Products of two residues that may be added to a third: 96 * 2**56 + 2**28 < 2**63. */
#define XL_WORD_SUMS 96

/* Constants of an odd prime p < 2**28. */
typedef struct {
    uint32_t prime;
    uint32_t negative_inverse; /* -1 / p modulo 2**32 */
    uint32_t square;           /* 2**64 modulo p */
} xl_word_ring;

XL_FUNCTION xl_word_ring xl_word_ring_of(uint32_t prime) {
    const uint64_t word = ((uint64_t)1 << 32) % prime;
    xl_word_ring ring = {prime, prime, (uint32_t)(word * word % prime)};
    uint32_t inverse = prime; /* of p modulo 2**3; every step doubles the bits */
    for (int32_t i = 0; i < 4; ++i)
        inverse *= 2 - prime * inverse;
    ring.negative_inverse = 0u - inverse;
    return ring;
}

/* Requires: x < 2**63 + 2**28.
 * Ensures: congruent to x / 2**32, at most x / 2**32 + p. */
XL_FUNCTION uint64_t xl_word_shift(uint64_t x, const xl_word_ring *ring) {
    const uint32_t factor = (uint32_t)x * ring->negative_inverse;
    return (x + (uint64_t)factor * ring->prime) >> 32;
}

/* Requires: the same. Ensures: the residue of x, in [0, p). */
XL_FUNCTION uint32_t xl_word_reduce(uint64_t x, const xl_word_ring *ring) {
    const uint32_t shifted = (uint32_t)xl_word_shift(x, ring);
    const uint32_t found = (uint32_t)xl_word_shift((uint64_t)shifted * ring->square, ring);
    return found < ring->prime ? found : found - ring->prime;
}

XL_FUNCTION uint32_t xl_word_multiply(uint32_t a, uint32_t b, const xl_word_ring *ring) {
    return xl_word_reduce((uint64_t)a * b, ring);
}

/* Ensures: the residue of 1 / value for a value that is not 0: Euclid's algorithm. */
XL_FUNCTION uint32_t xl_word_reciprocal(uint32_t value, const xl_word_ring *ring) {
    uint32_t x = ring->prime, y = value;
    int32_t before = 0, factor = 1; /* y = factor * value modulo p */
    while (y > 1) {
        const uint32_t quotient = x / y, rest = x - quotient * y;
        const int32_t next = before - (int32_t)quotient * factor;
        before = factor;
        factor = next;
        x = y;
        y = rest;
    }
    return (uint32_t)(factor < 0 ? factor + (int32_t)ring->prime : factor);
}

XL_STAGE void xl_word_load(uint64_t *XL_RESTRICT to, const int64_t *XL_RESTRICT from, int64_t count,
                           xl_word_ring ring) {
    /* the least multiple of p that is 2**63 or more */
    const uint64_t bias = (((uint64_t)1 << 63) / ring.prime + 1) * ring.prime;
    for (int64_t i = 0; i < count; ++i)
        to[i] = xl_word_reduce(from[i] < 0 ? (uint64_t)from[i] + bias : (uint64_t)from[i], &ring);
}

/* Requires here and below: a count that is a multiple of XL_WORD_LANES, which makes short rows vectors too. */
XL_STAGE void xl_word_reduce_row(uint64_t *x, int64_t count, xl_word_ring ring) {
    for (int64_t i = 0; i < count; i += XL_WORD_LANES)
        for (int32_t w = 0; w < XL_WORD_LANES; ++w)
            x[i + w] = xl_word_reduce(x[i + w], &ring);
}

XL_STAGE void xl_word_add_multiple(uint64_t *XL_RESTRICT x, const uint64_t *XL_RESTRICT row, uint32_t factor,
                                   int64_t count) {
    for (int64_t i = 0; i < count; i += XL_WORD_LANES)
        for (int32_t w = 0; w < XL_WORD_LANES; ++w)
            x[i + w] += (uint64_t)(uint32_t)row[i + w] * factor;
}

/* Ensures: the residue of sum_i row[i] * x[i], for residues. */
XL_STAGE uint32_t xl_word_dot(const uint64_t *XL_RESTRICT row, const uint64_t *XL_RESTRICT x, int64_t count,
                              xl_word_ring ring) {
    uint64_t sum = 0;
    for (int64_t start = 0; start < count; start += XL_WORD_SUMS) {
        const int64_t stop = count < start + XL_WORD_SUMS ? count : start + XL_WORD_SUMS;
        for (int64_t i = start; i < stop; ++i)
            sum += (uint64_t)(uint32_t)row[i] * (uint32_t)x[i];
        sum = xl_word_reduce(sum, &ring);
    }
    return (uint32_t)sum;
}

/* Ensures: residues of x times a factor. */
XL_STAGE void xl_word_scale_row(uint64_t *x, uint32_t factor, int64_t count, xl_word_ring ring) {
    for (int64_t i = 0; i < count; i += XL_WORD_LANES)
        for (int32_t w = 0; w < XL_WORD_LANES; ++w)
            x[i + w] = xl_word_multiply((uint32_t)x[i + w], factor, &ring);
}

/* Takes the residues of a column of all rows from `rank` on; returns the first of them that is not 0, or `rows`. */
XL_FUNCTION int64_t xl_word_pivot(xl_word_elimination *e, int64_t rank, int64_t column, const xl_word_ring *ring) {
    const int64_t count = (e->rows - rank + XL_WORD_LANES - 1) / XL_WORD_LANES * XL_WORD_LANES;
    int64_t found = rank;
    for (int64_t i = rank; i < e->rows; ++i)
        e->factors[i] = e->row[i][column];
    xl_word_reduce_row(e->factors + rank, count, *ring);
    while (found < e->rows && e->factors[found] == 0)
        ++found;
    return found;
}

XL_FUNCTION void xl_word_exchange(xl_word_elimination *e, int64_t a, int64_t b) {
    uint64_t *const row = e->row[a];
    const int64_t order = e->order[a];
    const uint64_t factor = e->factors[a];
    e->factors[a] = e->factors[b];
    e->factors[b] = factor;
    e->row[a] = e->row[b];
    e->order[a] = e->order[b];
    e->row[b] = row;
    e->order[b] = order;
}

/* Ensures: see xl_host.h. */
int64_t XL_ENTRY(eliminate)(xl_word_elimination *e) {
    const xl_word_ring ring = xl_word_ring_of(e->prime);
    int64_t rank = 0, sums = 0;
    e->minor = 1;
    for (int64_t column = 0; column < e->columns && rank < e->rows; ++column) {
        const int64_t pivot = xl_word_pivot(e, rank, column, &ring);
        /* columns before this one are not looked at again, so that it does no harm to change them */
        const int64_t start = (column + 1) / XL_WORD_LANES * XL_WORD_LANES, rest = e->width - start;
        uint64_t *top;
        uint32_t value;
        if (pivot == e->rows)
            continue;
        xl_word_exchange(e, pivot, rank);
        top = e->row[rank];
        value = (uint32_t)e->factors[rank];
        e->pivots[rank] = column;
        e->reciprocals[rank] = xl_word_reciprocal(value, &ring);
        e->minor = xl_word_multiply(e->minor, value, &ring);
        xl_word_reduce_row(top + start, rest, ring);
        xl_word_scale_row(e->factors + rank, ring.prime - (uint32_t)e->reciprocals[rank],
                          (e->rows - rank + XL_WORD_LANES - 1) / XL_WORD_LANES * XL_WORD_LANES, ring);
        for (int64_t i = rank + 1; i < e->rows; ++i)
            if (e->factors[i])
                xl_word_add_multiple(e->row[i] + start, top + start, (uint32_t)e->factors[i], rest);
        ++rank;
        if (++sums == XL_WORD_SUMS) {
            sums = 0;
            for (int64_t i = rank; i < e->rows; ++i)
                xl_word_reduce_row(e->row[i] + start, rest, ring);
        }
    }
    return rank;
}

/* Ensures: see xl_host.h. */
void XL_ENTRY(substitute)(const xl_word_elimination *e, int64_t column, uint32_t factor, uint64_t *solution) {
    const xl_word_ring ring = xl_word_ring_of(e->prime);
    for (int64_t i = e->columns - 1; i >= 0; --i) {
        const uint64_t *row = e->row[i];
        const uint32_t known = xl_word_dot(row + i + 1, solution + i + 1, e->columns - i - 1, ring);
        const uint32_t wanted = xl_word_multiply((uint32_t)row[e->columns + column], factor, &ring);
        solution[i] = xl_word_multiply(wanted < known ? wanted + ring.prime - known : wanted - known,
                                       (uint32_t)e->reciprocals[i], &ring);
    }
}

/* Ensures: see xl_host.h. */
void XL_ENTRY(load_words)(uint64_t *to, const int64_t *from, int64_t count, uint32_t prime) {
    xl_word_load(to, from, count, xl_word_ring_of(prime));
}

#endif
