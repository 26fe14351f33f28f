/* Integers of many limbs, one at a time. Known to the files of this folder only. */
#ifndef XL_LIMBS_NATIVE_H
#define XL_LIMBS_NATIVE_H

#include <stdint.h>

static inline uint64_t sign_of(const uint64_t *x, int64_t count) {
    return x[count - 1] >> 63 ? ~UINT64_C(0) : 0;
}

/* Limb j of an integer of any length. */
static inline uint64_t limb_of(const uint64_t *x, int64_t count, int64_t j) {
    return j < 0 ? 0 : j < count ? x[j] : sign_of(x, count);
}

/* Ensures: to = floor(x * 2**shift) modulo 2**(64 wanted). */
static inline void shift_limbs(const uint64_t *x, int64_t count, int64_t shift, uint64_t *to, int64_t wanted) {
    const int64_t whole = shift >> 6, part = shift & 63; /* floor */
    for (int64_t j = 0; j < wanted; ++j) {
        const uint64_t high = limb_of(x, count, j - whole);
        to[j] = part ? high << part | limb_of(x, count, j - whole - 1) >> (64 - part) : high;
    }
}

static inline void increment(uint64_t *x, int64_t count) {
    for (int64_t j = 0; j < count && ++x[j] == 0; ++j)
        ;
}

/* Whether bits [0, below) of x are not all 0. */
static inline int any_below(const uint64_t *x, int64_t count, int64_t below) {
    for (int64_t j = 0; j < below / 64; ++j)
        if (limb_of(x, count, j))
            return 1;
    return below % 64 != 0 && (limb_of(x, count, below / 64) & ((UINT64_C(1) << below % 64) - 1)) != 0;
}

/* Ensures: to = RN(x * 2**shift) modulo 2**(64 wanted). */
static inline void round_limbs(const uint64_t *x, int64_t count, int64_t shift, uint64_t *to, int64_t wanted) {
    shift_limbs(x, count, shift, to, wanted);
    if (shift < 0 && limb_of(x, count, (-shift - 1) / 64) >> ((-shift - 1) % 64) & 1 &&
        ((to[0] & 1) || any_below(x, count, -shift - 1)))
        increment(to, wanted);
}

/* Bits of |x|. */
static inline int64_t length_of(const uint64_t *x, int64_t count) {
    const uint64_t sign = sign_of(x, count);
    int64_t j = count - 1, bits;
    while (j >= 0 && x[j] == sign)
        --j;
    bits = j < 0 ? 0 : 64 * j + 64 - __builtin_clzll(x[j] ^ sign);
    /* -2**bits has a bit more than its complement, 2**bits - 1 */
    return sign && !any_below(x, count, bits) ? bits + 1 : bits;
}

#endif
