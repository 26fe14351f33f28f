/* What the kernels for integers of many limbs share. Integers are limbs of 64 bits in two's complement, the lowest first;
 * a matrix of them is an address with strides from row to row and from entry to entry, in limbs. A block of threads has
 * one integer, and a thread one limb of each XL_THREADS. */
#include "xl_cuda.h"

#ifndef XL_THREADS
#define XL_THREADS 256
#endif
#define XL_WARPS (XL_THREADS / XL_WARP)

/* Limb j of an integer, of all those that there are below and above. */
XL_INLINE uint64_t xl_limb(const uint64_t *x, int64_t count, int64_t j) {
    return j < 0 ? 0 : j < count ? x[j] : (uint64_t)((int64_t)x[count - 1] >> 63);
}

/* Limb j of floor(2**shift x). */
XL_INLINE uint64_t xl_shifted_limb(const uint64_t *x, int64_t count, int64_t shift, int64_t j) {
    const int64_t part = shift & 63, from = j - (shift >> 6);
    const uint64_t limb = xl_limb(x, count, from);
    return part == 0 ? limb : limb << part | xl_limb(x, count, from - 1) >> (64 - part);
}

XL_INLINE uint32_t xl_bit(const uint64_t *x, int64_t count, int64_t bit) {
    return (uint32_t)(xl_limb(x, count, bit >> 6) >> (bit & 63)) & 1;
}

/* to = RN(x / 2**down) in so many limbs; it may be x. */
XL_INLINE void xl_nearest_shifted(const uint64_t *x, int64_t count, int64_t down, uint64_t *to, int64_t wanted) {
    const int64_t half = (down - 1) >> 6;
    uint64_t sticky = xl_limb(x, count, half) & ((1ull << ((down - 1) & 63)) - 1);
#pragma unroll 4
    for (int64_t j = 0; j < half && j < count; ++j)
        sticky |= x[j];
    uint64_t carry = xl_bit(x, count, down - 1) && (sticky || xl_bit(x, count, down));
#pragma unroll 2
    for (int64_t j = 0; j < wanted; ++j) {
        const uint64_t limb = xl_shifted_limb(x, count, -down, j);
        to[j] = limb + carry;
        carry = to[j] < carry;
    }
}

XL_INLINE const uint64_t *xl_entry(const uint64_t *x, int64_t columns, int64_t row_stride, int64_t entry_stride,
                                   int64_t entry) {
    return x + entry / columns * row_stride + entry % columns * entry_stride;
}

/* The sign of |x| - |y|. */
XL_INLINE int32_t xl_compare_magnitudes(const uint64_t *x, const uint64_t *y, int64_t count) {
    const uint64_t sx = xl_limb(x, count, count), sy = xl_limb(y, count, count);
    int64_t j = count - 1;
    while (j >= 0 && (x[j] ^ sx) == (y[j] ^ sy))
        --j;
    if (j < 0)
        return (int32_t)(sx & 1) - (int32_t)(sy & 1);
    const bool is_greater = (x[j] ^ sx) > (y[j] ^ sy);
    /* a magnitude is the complement of a negative number, or one more */
    const uint64_t *low = is_greater ? y : x, *high = is_greater ? x : y;
    const uint64_t sl = is_greater ? sy : sx, sh = is_greater ? sx : sy;
    bool is_equal = sl != sh && sl != 0 && (high[j] ^ sh) - (low[j] ^ sl) == 1;
    for (--j; is_equal && j >= 0; --j)
        is_equal = (high[j] ^ sh) == 0 && (low[j] ^ sl) == ~0ull;
    return is_equal ? 0 : is_greater ? 1 : -1;
}

/* low + 2**64 high += x. */
XL_INLINE void xl_add(uint64_t &low, uint64_t &high, uint64_t x) {
    low += x;
    high += low < x;
}

/* What warps tell each other of the carries in a part of an integer. */
struct xl_carries {
    uint32_t generate[XL_WARPS], propagate[XL_WARPS];
};

/* The carry into the limb of each thread, from those of the threads before it, which generate a carry or pass one on, and
 * from `carry` into the first of them; `carry` becomes that out of the last. Every thread of the block comes here. */
XL_INLINE uint32_t xl_carry_in(xl_carries &shared, bool generates, bool propagates, uint32_t &carry) {
    const uint32_t lane = threadIdx.x % XL_WARP, warp = threadIdx.x / XL_WARP;
    const uint64_t once = __ballot_sync(XL_WHOLE_WARP, generates);
    const uint64_t either = once | __ballot_sync(XL_WHOLE_WARP, propagates);
    uint32_t in = carry, out = carry;
    __syncthreads();
    if (lane == 0) {
        shared.generate[warp] = (uint32_t)((once + either) >> XL_WARP);
        shared.propagate[warp] = (uint32_t)((once + either + 1) >> XL_WARP);
    }
    __syncthreads();
    for (uint32_t w = 0; w < XL_WARPS; ++w) {
        if (w == warp)
            in = out;
        out = shared.generate[w] | (shared.propagate[w] & out);
    }
    carry = out;
    return (uint32_t)((once + either + in) ^ once ^ either) >> lane & 1;
}

/* Constants have XL_CONSTANTS words for each modulus: m, floor(2**32 / m), a multiple of m from 2**30 on, a weight for
 * sums and one for their negatives, floor(2**40 / m), floor(2**64 / m). */
#define XL_CONSTANTS 7
#define XL_FRACTION_BITS 40

/* Requires: x < 2**32.
 * Ensures: x modulo m. */
XL_INLINE uint32_t xl_modulo(uint32_t x, uint32_t m, uint32_t reciprocal) {
    const uint32_t remainder = x - __umulhi(x, reciprocal) * m;
    return remainder >= m ? remainder - m : remainder;
}

XL_INLINE int32_t xl_centred(uint32_t remainder, uint32_t m) {
    return remainder >= (m + 1) >> 1 ? (int32_t)remainder - (int32_t)m : (int32_t)remainder;
}

XL_INLINE int32_t xl_high_digit(int32_t residue) {
    return (residue + 128) >> 8;
}

/* x modulo the number whose constants these are. */
XL_INLINE uint32_t xl_long_modulo(uint64_t x, const uint64_t *c) {
    const uint64_t remainder = x - __umul64hi(x, c[6]) * c[0];
    return (uint32_t)(remainder >= c[0] ? remainder - c[0] : remainder);
}

/* Requires: |sum| < 2**37, which a multiple of the modulus makes positive.
 * Ensures: the sum times a weight, modulo the number whose constants these are. */
XL_INLINE uint32_t xl_weighted(int64_t sum, const uint64_t *c, uint64_t weight) {
    const uint32_t remainder = xl_long_modulo((uint64_t)(sum + (int64_t)(c[2] << 8)), c);
    return xl_modulo(remainder * (uint32_t)weight, (uint32_t)c[0], (uint32_t)c[1]);
}

/* A divisor: its magnitude shifted so that the highest bit of its highest limb is 1, and the reciprocal of that limb,
 * floor((2**128 - 1) / d) - 2**64. */
struct xl_divisor {
    uint64_t *limbs;
    int64_t count, shift;
    uint64_t reciprocal;
    bool is_negative;
};

/* Requires: the highest bit of d is 1.
 * Moeller and Granlund, Improved division by invariant integers (2011), algorithm 2. */
XL_INLINE uint64_t xl_reciprocal(uint64_t d) {
    const uint64_t rough = (1u << 19) - (3u << 8), high = (d >> 24) + 1, half = (d >> 1) + (d & 1);
    uint64_t v = (uint32_t)rough / (uint32_t)(d >> 55);
    v = (v << 11) - (v * v * high >> 40) - 1;
    v = (v << 13) + (v * ((1ull << 60) - v * high) >> 47);
    const uint64_t error = ((v >> 1) & (0 - (d & 1))) - v * half;
    v = (v << 31) + (__umul64hi(v, error) >> 1);
    uint64_t low = v * d, above = __umul64hi(v, d);
    xl_add(low, above, d);
    return v - (above + d);
}

/* to = |x| in as many limbs. */
XL_INLINE void xl_magnitude(const uint64_t *x, int64_t count, uint64_t *to) {
    const uint64_t sign = xl_limb(x, count, count);
    uint64_t carry = sign & 1;
#pragma unroll 4
    for (int64_t j = 0; j < count; ++j) {
        const uint64_t limb = x[j] ^ sign;
        to[j] = limb + carry;
        carry = to[j] < carry;
    }
}

/* x[0], ..., x[count] *= 2**shift, with x[count] from what leaves the others. Requires: shift < 64. */
XL_INLINE void xl_shift_up(uint64_t *x, int64_t count, int64_t shift) {
#pragma unroll 4
    for (int64_t j = count; j >= 0; --j) {
        const uint64_t here = j < count ? x[j] : 0, below = j > 0 ? x[j - 1] : 0;
        x[j] = shift == 0 ? here : here << shift | below >> (64 - shift);
    }
}

/* Requires: x is not 0; there is a limb more at `to`. */
XL_INLINE xl_divisor xl_divisor_of(const uint64_t *x, int64_t count, uint64_t *to) {
    xl_divisor found = {to, count, 0, 0, xl_limb(x, count, count) != 0};
    xl_magnitude(x, count, to);
    while (to[found.count - 1] == 0)
        --found.count;
    found.shift = __clzll((int64_t)to[found.count - 1]);
    xl_shift_up(to, found.count, found.shift);
    found.reciprocal = xl_reciprocal(to[found.count - 1]);
    return found;
}

/* floor((2**64 high + low) / d) for the highest limb d of a divisor, or 2**64 - 1 where that is less.
 * Moeller and Granlund, Improved division by invariant integers (2011), algorithm 4. */
XL_INLINE uint64_t xl_quotient_limb(uint64_t high, uint64_t low, uint64_t d, uint64_t reciprocal) {
    if (high >= d)
        return ~0ull;
    uint64_t fraction = reciprocal * high, quotient = __umul64hi(reciprocal, high);
    xl_add(fraction, quotient, low);
    quotient += high + 1;
    uint64_t remainder = low - quotient * d;
    if (remainder > fraction) {
        --quotient;
        remainder += d;
    }
    return remainder >= d ? quotient + 1 : quotient;
}

/* x -= quotient d for limbs of x from those of the divisor's lowest on; how much is borrowed from above them. */
XL_INLINE uint64_t xl_subtract_multiple(uint64_t *__restrict__ x, const uint64_t *__restrict__ d, int64_t count,
                                        uint64_t quotient) {
    uint64_t above = 0;
    for (int64_t i = 0; i < count; ++i) {
        uint64_t low = quotient * d[i], high = __umul64hi(quotient, d[i]);
        xl_add(low, high, above);
        above = high + (x[i] < low);
        x[i] -= low;
    }
    return above;
}

/* x += d; the carry out of as many limbs. */
XL_INLINE uint64_t xl_add_divisor(uint64_t *x, const xl_divisor &d) {
    uint64_t carry = 0;
#pragma unroll 1 /* which is seldom needed */
    for (int64_t i = 0; i < d.count; ++i) {
        uint64_t low = x[i], high = 0;
        xl_add(low, high, d.limbs[i]);
        xl_add(low, high, carry);
        x[i] = low;
        carry = high;
    }
    return carry;
}

/* The remainder of x[0], ..., x[count] in the lowest limbs, and the quotient above them.
 * Knuth, The art of computer programming 2, 4.3.1, algorithm D. */
XL_INLINE void xl_divide_limbs(uint64_t *x, int64_t count, const xl_divisor &d) {
    const uint64_t top = d.limbs[d.count - 1];
    for (int64_t j = count - d.count; j >= 0; --j) {
        uint64_t *highest = x + j + d.count;
        uint64_t quotient = xl_quotient_limb(highest[0], highest[-1], top, d.reciprocal);
        if (quotient == 0)
            continue; /* and so is *highest */
        const uint64_t borrow = xl_subtract_multiple(x + j, d.limbs, d.count, quotient);
        bool is_negative = *highest < borrow;
        *highest -= borrow;
        while (is_negative) {
            --quotient;
            const uint64_t carry = xl_add_divisor(x + j, d);
            *highest += carry;
            is_negative = *highest >= carry; /* until it passes 0 */
        }
        *highest = quotient;
    }
}

/* Whether twice a remainder is more than the divisor, or as much and the quotient odd. */
XL_INLINE bool xl_rounds_quotient_up(const uint64_t *remainder, const xl_divisor &d, bool is_odd) {
    if (remainder[d.count - 1] >> 63)
        return true;
    for (int64_t i = d.count - 1; i >= 0; --i) {
        const uint64_t twice = remainder[i] << 1 | (i > 0 ? remainder[i - 1] >> 63 : 0);
        if (twice != d.limbs[i])
            return twice > d.limbs[i];
    }
    return is_odd;
}

/* The first `wanted` limbs = RN(x / d) for x of `count` limbs, no fewer than d has, where there is room for one more. */
XL_INLINE void xl_nearest_quotient(uint64_t *x, int64_t count, const xl_divisor &d, int64_t wanted) {
    const uint64_t sign = xl_limb(x, count, count) ^ (d.is_negative ? ~0ull : 0);
    xl_magnitude(x, count, x);
    while (count > d.count && x[count - 1] == 0)
        --count; /* where the quotient would have a 0 */
    xl_shift_up(x, count, d.shift);
    xl_divide_limbs(x, count, d);
    const int64_t most = count - d.count + 1;
    uint64_t carry = xl_rounds_quotient_up(x, d, (x[d.count] & 1) != 0);
    uint64_t negated = sign & 1;
    for (int64_t j = 0; j < wanted; ++j) {
        const uint64_t limb = (j < most ? x[d.count + j] : 0) + carry;
        carry = limb < carry;
        x[j] = (limb ^ sign) + negated;
        negated = x[j] < negated;
    }
}
