/* Long division by digits of 32 bits: Knuth, The Art of Computer Programming, volume 2, 4.3.1, algorithm D. */
#include "quotients.h"
#include "limbs.h"
#include "sharing.h"

/* A magnitude, and a divisor whose highest digit has its highest bit set, both 2**shift times what they were. */
typedef struct {
    uint32_t *x, *divisor, *quotient;
    int64_t digits, divisor_digits; /* x has digits + 1 of them; digits >= divisor_digits */
    int64_t shift;
    uint64_t *limbs; /* more memory: two magnitudes */
} long_division;

static int64_t padded_limbs(int64_t count, int64_t divisor_count) {
    return maximum(count, divisor_count) + 1;
}

int64_t xl_quotient_room(int64_t count, int64_t divisor_count) {
    return 5 * padded_limbs(count, divisor_count) + 3;
}

static long_division cut_room(int64_t limbs, uint64_t *room) {
    long_division d = {0};
    d.x = (uint32_t *)room;
    d.divisor = (uint32_t *)(room + limbs);
    d.quotient = (uint32_t *)(room + 2 * limbs);
    d.limbs = room + 3 * limbs + 1;
    d.digits = 2 * limbs - 1;
    return d;
}

static void to_digits(const uint64_t *limbs, int64_t count, uint32_t *digits) {
    for (int64_t j = 0; j < count; ++j) {
        digits[2 * j] = (uint32_t)limbs[j];
        digits[2 * j + 1] = (uint32_t)(limbs[j] >> 32);
    }
}

static void set_divisor(long_division *d, const uint64_t *divisor, int64_t count, uint64_t *kept) {
    const int64_t bits = length_of(divisor, count);
    d->divisor_digits = divide_up(bits, 32);
    d->shift = 32 * d->divisor_digits - bits;
    shift_limbs(divisor, count, d->shift, kept, count);
    to_digits(kept, count, d->divisor);
}

/* Ensures: x[0 .. count] -= factor * y; returns whether it became negative, modulo 2**(32 (count + 1)). */
static int subtract_multiple(uint32_t *x, const uint32_t *y, int64_t count, uint64_t factor) {
    uint64_t carry = 0, borrow = 0, rest;
    for (int64_t i = 0; i < count; ++i) {
        carry += factor * y[i];
        rest = (uint64_t)x[i] - (uint32_t)carry - borrow;
        x[i] = (uint32_t)rest;
        borrow = rest >> 63;
        carry >>= 32;
    }
    rest = (uint64_t)x[count] - carry - borrow;
    x[count] = (uint32_t)rest;
    return (int)(rest >> 63);
}

/* Ensures: x[0 .. count] += y; returns the carry. */
static int add_digits(uint32_t *x, const uint32_t *y, int64_t count) {
    uint64_t carry = 0;
    for (int64_t i = 0; i < count; ++i) {
        carry += (uint64_t)x[i] + y[i];
        x[i] = (uint32_t)carry;
        carry >>= 32;
    }
    carry += x[count];
    x[count] = (uint32_t)carry;
    return (int)(carry >> 32);
}

/* Ensures: x is the remainder. */
static void divide(const long_division *d) {
    const int64_t m = d->divisor_digits;
    const uint32_t leading = d->divisor[m - 1];
    for (int64_t j = d->digits - m; j >= 0; --j) {
        uint32_t *x = d->x + j;
        /* at most 2 too many */
        uint64_t guess = x[m] >= leading ? UINT32_MAX : ((uint64_t)x[m] << 32 | x[m - 1]) / leading;
        if (subtract_multiple(x, d->divisor, m, guess))
            do
                --guess;
            while (!add_digits(x, d->divisor, m));
        d->quotient[j] = (uint32_t)guess;
    }
}

/* The sign of the remainder minus half of the divisor. */
static int compare_with_half(const long_division *d) {
    const int64_t m = d->divisor_digits;
    for (int64_t i = m; i >= 0; --i) {
        const uint32_t twice = d->x[i] << 1 | (i ? d->x[i - 1] >> 31 : 0), divisor = i < m ? d->divisor[i] : 0;
        if (twice != divisor)
            return twice < divisor ? -1 : 1;
    }
    return 0;
}

static void take_quotient(const long_division *d, uint64_t *to, int64_t wanted) {
    const int64_t count = d->digits - d->divisor_digits + 1;
    for (int64_t j = 0; j < wanted; ++j) {
        const uint64_t low = 2 * j < count ? d->quotient[2 * j] : 0;
        to[j] = low | (2 * j + 1 < count ? (uint64_t)d->quotient[2 * j + 1] << 32 : 0);
    }
}

void xl_reciprocal(int64_t power, const uint64_t *divisor, int64_t divisor_count, uint64_t *to, int64_t wanted,
                   uint64_t *room) {
    const int64_t limbs = padded_limbs(power / 64 + 1, divisor_count);
    long_division d = cut_room(limbs, room);
    set_divisor(&d, divisor, divisor_count, d.limbs);
    for (int64_t i = 0; i <= d.digits; ++i)
        d.x[i] = 0;
    d.x[(power + d.shift) / 32] = UINT32_C(1) << (power + d.shift) % 32;
    divide(&d);
    take_quotient(&d, to, wanted);
}

void xl_nearest_quotient(const uint64_t *x, int64_t count, const uint64_t *divisor, int64_t divisor_count,
                         uint64_t *to, int64_t wanted, uint64_t *room) {
    const int64_t limbs = padded_limbs(count, divisor_count);
    long_division d = cut_room(limbs, room);
    uint64_t *magnitude = d.limbs, *kept = d.limbs + limbs;
    const uint64_t sign = magnitude_of(divisor, divisor_count, magnitude) ^ sign_of(x, count);
    int order;
    set_divisor(&d, magnitude, divisor_count, kept);
    magnitude_of(x, count, magnitude);
    for (int64_t j = count; j < limbs; ++j)
        magnitude[j] = 0;
    shift_limbs(magnitude, limbs, d.shift, kept, limbs);
    to_digits(kept, limbs, d.x);
    divide(&d);
    take_quotient(&d, to, wanted);
    order = compare_with_half(&d);
    if (order > 0 || (order == 0 && to[0] & 1))
        increment(to, wanted);
    if (sign)
        negate(to, wanted);
}
