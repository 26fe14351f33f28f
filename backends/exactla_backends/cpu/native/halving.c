/* Half of the Euclidean algorithm on long numbers, by leading parts (Lehmer 1938); see native.h.
 *
 * Two numbers x >= y >= 0 and their cofactors, rows (a, b) and (c, d) of a unimodular matrix, are transformed alike.
 * Quotients of leading parts may be wrong by rounding: the matrix stays unimodular, and signs and order are set right. */
#include "native.h"

enum {
    WORD = 32,
    LEADING = 62,         /* bits of the leading parts */
    COFACTOR = 30,        /* bits of what one round multiplies by, so that two products fit 64 bits */
    MOST = XL_HALVING_WORDS + 2
};

/* Two's complement words, the lowest first. */
typedef struct {
    uint32_t *x, *y;
    int64_t words;
} pair;

static int64_t bits_of(const uint32_t *x, int64_t words) {
    int64_t top = words - 1, bits = 0;
    while (top >= 0 && x[top] == 0)
        --top;
    if (top < 0)
        return 0;
    while (bits < WORD && x[top] >> bits)
        ++bits;
    return top * WORD + bits;
}

/* The bits [shift, shift + 62) of a number that is not negative. */
static int64_t leading(const uint32_t *x, int64_t words, int64_t shift) {
    const int64_t first = shift / WORD, inside = shift % WORD;
    uint64_t found = 0;
    for (int64_t i = 0; i < 3 && first + i < words; ++i) {
        const int64_t at = i * WORD - inside;
        if (at < 0)
            found |= x[first] >> inside;
        else if (at < 64)
            found |= (uint64_t)x[first + i] << at;
    }
    return (int64_t)(found & ((1ull << LEADING) - 1));
}

static void swap(pair p) {
    for (int64_t i = 0; i < p.words; ++i) {
        const uint32_t kept = p.x[i];
        p.x[i] = p.y[i];
        p.y[i] = kept;
    }
}

static void negate(uint32_t *x, int64_t words) {
    uint64_t carry = 1;
    for (int64_t i = 0; i < words; ++i) {
        carry += (uint32_t)~x[i];
        x[i] = (uint32_t)carry;
        carry >>= WORD;
    }
}

static int is_negative(const uint32_t *x, int64_t words) {
    return x[words - 1] >> (WORD - 1) != 0;
}

static int64_t signed_word(const pair *p, const uint32_t *x, int64_t i) {
    return i == p->words - 1 ? (int64_t)(int32_t)x[i] : (int64_t)x[i];
}

/* (x, y) = (m[0] x + m[1] y, m[2] x + m[3] y); the two factors of a row have opposite signs. */
static void transform(pair p, const int64_t m[4]) {
    int64_t carry_x = 0, carry_y = 0;
    for (int64_t i = 0; i < p.words; ++i) {
        const int64_t x = signed_word(&p, p.x, i), y = signed_word(&p, p.y, i);
        carry_x += m[0] * x + m[1] * y;
        carry_y += m[2] * x + m[3] * y;
        p.x[i] = (uint32_t)carry_x;
        p.y[i] = (uint32_t)carry_y;
        carry_x >>= WORD;
        carry_y >>= WORD;
    }
}

/* x -= factor * 2**shift * y, for 0 <= factor < 2**31. */
static void subtract(pair p, int64_t factor, int64_t shift) {
    const int64_t skipped = shift / WORD, inside = shift % WORD;
    int64_t carry = 0;
    for (int64_t i = skipped; i < p.words; ++i) {
        const uint64_t high = p.y[i - skipped];
        const uint64_t low = i > skipped ? p.y[i - skipped - 1] : 0;
        const int64_t word = (int64_t)(uint32_t)((high << WORD | low) << inside >> WORD);
        carry += (int64_t)p.x[i] - factor * word;
        p.x[i] = (uint32_t)carry;
        carry >>= WORD;
    }
}

/* Quotients of the leading parts x >= y, while y stays above `least` and cofactors are short; whether there were any. */
static int leading_steps(int64_t x, int64_t y, int64_t least, int64_t m[4]) {
    m[0] = m[3] = 1;
    m[1] = m[2] = 0;
    while (y >= least && y > 0) {
        const int64_t quotient = x / y, rest = x - quotient * y;
        const int64_t c = m[0] - quotient * m[2], d = m[1] - quotient * m[3];
        if (quotient >> COFACTOR || c >> COFACTOR > 0 || -c >> COFACTOR > 0 || d >> COFACTOR > 0 || -d >> COFACTOR > 0)
            break;
        x = y;
        y = rest;
        m[0] = m[2];
        m[1] = m[3];
        m[2] = c;
        m[3] = d;
    }
    return m[1] != 0;
}

/* Signs and order that make x >= y >= 0, of rows with their cofactors. */
static void put_in_order(pair numbers, pair first, pair second) {
    if (is_negative(numbers.x, numbers.words)) {
        negate(numbers.x, numbers.words);
        negate(first.x, first.words);
        negate(second.x, second.words);
    }
    if (is_negative(numbers.y, numbers.words)) {
        negate(numbers.y, numbers.words);
        negate(first.y, first.words);
        negate(second.y, second.words);
    }
    for (int64_t i = numbers.words - 1; i >= 0; --i)
        if (numbers.x[i] != numbers.y[i]) {
            if (numbers.x[i] < numbers.y[i]) {
                swap(numbers);
                swap(first);
                swap(second);
            }
            return;
        }
}

/* A step by the leading digits of a quotient that is too long for a round. */
static void long_step(pair numbers, pair first, pair second, int64_t bits_x, int64_t bits_y) {
    const int64_t at_x = bits_x > LEADING ? bits_x - LEADING : 0, at_y = bits_y > COFACTOR ? bits_y - COFACTOR : 0;
    const int64_t top = leading(numbers.x, numbers.words, at_x), divisor = leading(numbers.y, numbers.words, at_y) + (at_y > 0);
    int64_t factor = top / divisor, shift = at_x - at_y;
    for (; factor >> COFACTOR; factor >>= 1)
        ++shift;
    if (shift < 0) {
        factor >>= -shift;
        shift = 0;
    }
    subtract(numbers, factor, shift);
    subtract(first, factor, shift);
    subtract(second, factor, shift);
}

int64_t xl_native_halve(const xl_instructions *set, uint32_t *x, uint32_t *y, int64_t words, int64_t goal,
                        uint32_t *matrix) {
    uint32_t *const a = matrix, *const b = a + words, *const c = b + words, *const d = c + words;
    const pair numbers = {x, y, words}, first = {a, c, words}, second = {b, d, words};
    (void)set;
    if (words > MOST)
        return -1;
    for (int64_t i = 0; i < 4 * words; ++i)
        matrix[i] = 0;
    a[0] = d[0] = 1;
    for (;;) {
        const int64_t bits_x = bits_of(x, words), bits_y = bits_of(y, words);
        const int64_t shift = bits_x > LEADING ? bits_x - LEADING : 0, above = goal - shift;
        const int64_t least = 1ll << (above > COFACTOR + 1 ? (above < LEADING ? above : LEADING) : shift ? COFACTOR + 1 : above > 0 ? above : 0);
        int64_t m[4];
        if (bits_y <= goal)
            return 0;
        if (leading_steps(leading(x, words, shift), leading(y, words, shift), least, m)) {
            transform(numbers, m);
            transform(first, m);
            transform(second, m);
        } else
            long_step(numbers, first, second, bits_x, bits_y);
        put_in_order(numbers, first, second);
    }
}
