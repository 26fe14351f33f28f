/* Quotients of integers of many limbs. Known to the files of this folder only. */
#ifndef XL_QUOTIENTS_H
#define XL_QUOTIENTS_H

#include <stdint.h>

/* Limbs of memory that the functions below work in, for integers of up to so many limbs. */
int64_t xl_quotient_room(int64_t count, int64_t divisor_count);

/* Requires: divisor > 0, and a quotient below 2**(64 wanted - 1). Ensures: to = floor(2**power / divisor). */
void xl_reciprocal(int64_t power, const uint64_t *divisor, int64_t divisor_count, uint64_t *to, int64_t wanted,
                   uint64_t *room);

/* Requires: divisor != 0, and a quotient below 2**(64 wanted - 1) in magnitude. Ensures: to = RN(x / divisor). */
void xl_nearest_quotient(const uint64_t *x, int64_t count, const uint64_t *divisor, int64_t divisor_count,
                         uint64_t *to, int64_t wanted, uint64_t *room);

#endif
