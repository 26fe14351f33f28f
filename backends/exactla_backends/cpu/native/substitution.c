/* Triangular systems of long integers with few right-hand sides: sums of products limb by limb, without residues; see
 * native.h. */
#include "limbs.h"
#include "quotients.h"
#include "sharing.h"

enum { ROWS = 16 /* of a block, which threads share until its own unknowns are wanted */ };

/* Signs and magnitudes of the unknowns, and what is known of the sums of a block, in two accumulators each: products that are
 * subtracted, and products that are added. */
typedef struct {
    const xl_long_integers *lower, *divisors, *sums, *found;
    int64_t precision;
    int64_t first, rows; /* of the block */
    int64_t room;        /* limbs of an accumulator */
    uint64_t *magnitudes, *signs, *accumulators;
    uint64_t *total, *work;
    uint64_t *factors; /* of each thread, the magnitude of an entry of L */
    int64_t short_of; /* whether an unknown is too long */
    void *whole;
} substitution;

static uint64_t *entry(const xl_long_integers *x, int64_t row, int64_t column) {
    return x->limbs + row * x->row_stride + column * x->entry_stride;
}

static int64_t columns_of(const substitution *s) {
    return s->sums->columns;
}

static uint64_t *accumulators_of(const substitution *s, int64_t row, int64_t column) {
    return s->accumulators + 2 * ((row - s->first) * columns_of(s) + column) * s->room;
}

static int64_t significant(const uint64_t *x, int64_t count) {
    while (count > 0 && x[count - 1] == 0)
        --count;
    return count;
}

/* Ensures: x[0 .. count) += factor * y; returns the carry. */
static uint64_t add_multiple(uint64_t *x, const uint64_t *y, int64_t count, uint64_t factor) {
    uint64_t carry = 0;
    for (int64_t j = 0; j < count; ++j) {
#ifdef __SIZEOF_INT128__
        const unsigned __int128 sum = (unsigned __int128)factor * y[j] + x[j] + carry;
        x[j] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
#else
        const uint64_t low = factor & UINT32_MAX, high = factor >> 32, y0 = y[j] & UINT32_MAX, y1 = y[j] >> 32;
        const uint64_t first = low * y0 + (x[j] & UINT32_MAX), second = high * y0 + (first >> 32);
        const uint64_t middle = low * y1 + (second & UINT32_MAX);
        const uint64_t third = high * y1 + (second >> 32) + (middle >> 32);
        const uint64_t sum = (middle << 32 | (first & UINT32_MAX)), more = (x[j] >> 32) << 32;
        const uint64_t once = sum + more, twice = once + carry;
        carry = third + (once < sum) + (twice < once);
        x[j] = twice;
#endif
    }
    return carry;
}

static void add_product(uint64_t *to, const uint64_t *x, int64_t x_count, const uint64_t *y, int64_t y_count) {
    for (int64_t i = 0; i < x_count; ++i) {
        uint64_t carry = add_multiple(to + i, y, y_count, x[i]);
        for (int64_t j = i + y_count; carry; ++j) {
            to[j] += carry;
            carry = to[j] < carry;
        }
    }
}

/* Adds L_ik x_k for k in [begin, end) to the accumulators of a row. */
static void add_known(const substitution *s, int64_t row, int64_t begin, int64_t end, uint64_t *magnitude) {
    for (int64_t k = begin; k < end; ++k) {
        const uint64_t sign = magnitude_of(entry(s->lower, row, k), s->lower->count, magnitude);
        const int64_t count = significant(magnitude, s->lower->count);
        for (int64_t c = 0; c < columns_of(s); ++c) {
            const int64_t at = k * columns_of(s) + c;
            const uint64_t *x = s->magnitudes + at * s->found->count;
            uint64_t *to = accumulators_of(s, row, c) + (sign == s->signs[at] ? 0 : s->room);
            add_product(to, magnitude, count, x, significant(x, s->found->count));
        }
    }
}

static void round_unknown(substitution *s, int64_t row, int64_t column) {
    const int64_t at = row * columns_of(s) + column, count = s->found->count;
    const uint64_t *minus = accumulators_of(s, row, column), *plus = minus + s->room;
    uint64_t *found = entry(s->found, row, column), *magnitude = s->magnitudes + at * count;
    subtract_from(entry(s->sums, row, column), s->sums->count, 0, minus, s->total, s->room);
    add_limbs(s->total, plus, s->room);
    if (s->divisors)
        xl_nearest_quotient(s->total, s->room, entry(s->divisors, 0, row), s->divisors->count, s->total, s->room, s->work);
    else
        round_limbs(s->total, s->room, -s->precision, s->work, s->room);
    memcpy(found, s->divisors ? s->total : s->work, (size_t)(8 * count));
    if (length_of(s->divisors ? s->total : s->work, s->room) > 64 * count - 1)
        s->short_of = 1;
    s->signs[at] = magnitude_of(found, count, magnitude);
}

/* The unknowns of a block, from those before it and from each other. */
static void finish_block(substitution *s, uint64_t *magnitude) {
    for (int64_t row = s->first; row < s->first + s->rows && !s->short_of; ++row) {
        add_known(s, row, s->first, row, magnitude);
        for (int64_t c = 0; c < columns_of(s); ++c)
            round_unknown(s, row, c);
    }
}

static void open_block(substitution *s, int64_t first) {
    s->first = first;
    s->rows = minimum(ROWS, s->sums->rows - first);
    memset(s->accumulators, 0, (size_t)(16 * s->rows * columns_of(s) * s->room));
}

/* What the threads of a team do together. */
static void find_unknowns(substitution *s, uint64_t *magnitude) {
    for (int64_t first = 0; first < s->sums->rows; first += ROWS) {
#pragma omp single
        open_block(s, first);
#pragma omp for schedule(dynamic)
        for (int64_t row = 0; row < s->rows; ++row)
            add_known(s, first + row, 0, first, magnitude);
#pragma omp single
        finish_block(s, magnitude);
        if (s->short_of)
            return;
    }
}

static int substitution_new(substitution *s, int64_t team) {
    const int64_t unknowns = s->sums->rows * s->sums->columns, divisor = s->divisors ? s->divisors->count : 0;
    int64_t work;
    s->room = maximum(s->lower->count + s->found->count, s->sums->count) + 1;
    work = maximum(s->room, xl_quotient_room(s->room, divisor));
    s->whole = malloc((size_t)(8 * (unknowns * (s->found->count + 1) + 2 * ROWS * s->sums->columns * s->room + s->room +
                                    work + team * s->lower->count)));
    if (!s->whole)
        return 0;
    s->magnitudes = s->whole;
    s->signs = s->magnitudes + unknowns * s->found->count;
    s->accumulators = s->signs + unknowns;
    s->total = s->accumulators + 2 * ROWS * s->sums->columns * s->room;
    s->work = s->total + s->room;
    s->factors = s->work + work;
    return 1;
}

int64_t xl_native_substitute(const xl_instructions *set, const xl_long_integers *lower,
                             const xl_long_integers *divisors, int64_t precision, const xl_long_integers *sums,
                             const xl_long_integers *found, int64_t threads) {
    substitution s = {.lower = lower, .divisors = divisors, .sums = sums, .found = found, .precision = precision};
    const int64_t work = sums->rows * sums->rows / 2 * sums->columns * lower->count * found->count / 8;
    const int team = xl_team(threads, work, ROWS);
    (void)set;
    if (!substitution_new(&s, team))
        return XL_OUT_OF_MEMORY;
#pragma omp parallel num_threads(team) if (team > 1)
    find_unknowns(&s, s.factors + xl_thread() * lower->count);
    free(s.whole);
    return s.short_of;
}
