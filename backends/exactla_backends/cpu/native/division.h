/* Many long integers divided by one: products with its reciprocal. Known to the files of this folder only.
 *
 * With a divisor of b bits and quotients below 2**q, x loses its lowest d = b - 80 bits and the reciprocal is
 * R = floor(2**(b + t) / divisor). Octets of the product below the c-th are left out, where t = 8 c + 48 >= q + 80, so that
 * the point is 128 bits above what is left. The proofs show that the error stays below 2**-70. What is rounded in doubt has
 * to be divided again, digit by digit. */
#ifndef XL_DIVISION_H
#define XL_DIVISION_H

#include "strips.h"

typedef struct {
    const uint64_t *divisor;
    int64_t divisor_count, count;   /* limbs of the divisor, and of quotients */
    int64_t dropped, limbs, lowest; /* d, limbs of what is left of x, c */
    int8_t *octets, *table;         /* of the reciprocal; [-rows + 1, depth) of them for rows of products */
    uint64_t *magnitude, *reciprocal, *work;
    void *whole;
} xl_division;

/* For divisors of so many limbs and quotients of `count`, below 2**(64 count - 2) in magnitude.
 * Returns 0 where memory ran out. */
int xl_division_new(xl_division *d, int64_t divisor_count, int64_t count);
void xl_division_free(xl_division *d);

/* The divisor is not 0, and stays where it is. */
void xl_division_by(xl_division *d, const uint64_t *divisor);

/* Limbs and table depth that a room needs for dividing integers of so many limbs. */
int64_t xl_division_limbs(const xl_division *d, int64_t count);
int64_t xl_division_depth(const xl_division *d);

/* Ensures: entry i at to + i * stride is RN(x / divisor), but where doubtful[i] is set; returns whether one is. The entries may
 * be up to 2**(bits of the divisor - 80) off. */
int xl_strip_divide(const xl_strip_room *room, const xl_division *d, const xl_strip *x, uint64_t *to, int64_t stride,
                    uint8_t doubtful[XL_STRIP]);

/* Ensures: the same for doubtful entries, from what they are exactly. */
void xl_strip_divide_again(const xl_strip_room *room, const xl_division *d, const xl_strip *x, uint64_t *to,
                           int64_t stride, const uint8_t doubtful[XL_STRIP]);

#endif
