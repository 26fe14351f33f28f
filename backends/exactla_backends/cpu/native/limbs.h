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

/* Ensures: x += y, modulo 2**(64 count). */
static inline void add_limbs(uint64_t *x, const uint64_t *y, int64_t count) {
    unsigned carry = 0;
    for (int64_t j = 0; j < count; ++j) {
        const uint64_t once = x[j] + y[j], twice = once + carry;
        carry = (once < y[j]) | (twice < once);
        x[j] = twice;
    }
}

static inline void negate(uint64_t *x, int64_t count) {
    for (int64_t j = 0; j < count; ++j)
        x[j] = ~x[j];
    increment(x, count);
}

/* Ensures: to = |x|, in as many limbs; returns the sign, as sign_of does. */
static inline uint64_t magnitude_of(const uint64_t *x, int64_t count, uint64_t *to) {
    const uint64_t sign = sign_of(x, count);
    for (int64_t j = 0; j < count; ++j)
        to[j] = x[j];
    if (sign)
        negate(to, count);
    return sign;
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

/* Ensures: to = floor(x / 2**(64 fraction) + 1/2); returns whether it is another where x is up to 2 units of limb
 * fraction - 1 off. */
static inline int round_fraction(const uint64_t *x, int64_t fraction, uint64_t *to, int64_t count) {
    const uint64_t top = x[fraction - 1];
    for (int64_t j = 0; j < count; ++j)
        to[j] = x[fraction + j];
    if (top >> 63)
        increment(to, count);
    return top - UINT64_C(0x7ffffffffffffffe) < 4;
}

/* Ensures: to = 2**shift * minuend - value, modulo 2**(64 count). */
static inline void subtract_from(const uint64_t *minuend, int64_t minuend_count, int64_t shift, const uint64_t *value,
                                 uint64_t *to, int64_t count) {
    unsigned borrow = 0;
    shift_limbs(minuend, minuend_count, shift, to, count);
    for (int64_t j = 0; j < count; ++j) {
        const uint64_t kept = to[j], less = kept - value[j];
        to[j] = less - borrow;
        borrow = (kept < value[j]) | (less < borrow);
    }
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

/* Whether ||x| - |y|| may be at most 2**32; requires count > 1. */
static inline int are_close(const uint64_t *x, const uint64_t *y, int64_t count) {
    const uint64_t sx = sign_of(x, count), sy = sign_of(y, count);
    int64_t j = count - 1;
    uint64_t a, b;
    while (j > 0 && (x[j] ^ sx) == (y[j] ^ sy))
        --j;
    a = x[j] ^ sx;
    b = y[j] ^ sy;
    return (a > b ? a - b : b - a) <= (j > 0 ? 1 : UINT64_C(1) << 33);
}

/* The sign of |x| - |y|. */
static inline int compare_magnitudes(const uint64_t *x, const uint64_t *y, int64_t count) {
    const uint64_t sx = sign_of(x, count), sy = sign_of(y, count);
    int64_t j = count - 1;
    /* complements differ from magnitudes by 1 at most: where they differ, that is the order but for one case */
    while (j >= 0 && (x[j] ^ sx) == (y[j] ^ sy))
        --j;
    if (j < 0)
        return (sx != 0) - (sy != 0);
    if (sx == sy)
        return (x[j] ^ sx) < (y[j] ^ sy) ? -1 : 1;
    {
        /* |x| - |y| = difference of complements + [x < 0] - [y < 0] */
        const int greater = (x[j] ^ sx) > (y[j] ^ sy);
        const uint64_t *low = greater ? y : x, *high = greater ? x : y; /* by complements */
        const uint64_t sl = greater ? sy : sx, sh = greater ? sx : sy;
        int equal = sl != 0 && (high[j] ^ sh) - (low[j] ^ sl) == 1; /* then |low| may be |high| */
        for (int64_t i = j - 1; equal && i >= 0; --i)
            equal = (high[i] ^ sh) == 0 && (low[i] ^ sl) == ~UINT64_C(0);
        return equal ? 0 : greater ? 1 : -1;
    }
}

#endif
