/* Triangular systems of long integers with few right-hand sides: sums of products digit by digit, without residues; see
 * native.h. */
#include "limbs.h"
#include "quotients.h"
#include "sharing.h"

enum {
    ROWS = 16, /* of a block, which threads share until its own unknowns are wanted */
    BITS = XL_WIDE_DIGIT_BITS,
    BEFORE = 8, AFTER = 16,                 /* zeros around the digits of a factor */
    TERMS = (1 << (64 - 2 * BITS)) - 1      /* products of digits that a sum holds beside one digit */
};

/* Digits of a magnitude, between zeros. */
typedef struct {
    uint64_t *at;
    int64_t count;
    uint64_t sign;
} factor;

/* Sums of products of digits, each of so many. */
typedef struct {
    uint64_t *digits;
    int64_t terms;
} accumulator;

typedef struct {
    const xl_instructions *set;
    const xl_long_integers *lower, *divisors, *sums, *found;
    int64_t precision;
    int64_t first, rows;          /* of the block */
    int64_t limbs, digits;        /* of a sum */
    int64_t left_room, right_room; /* digits of a factor, with zeros */
    factor *unknowns;             /* [n][c] */
    accumulator *accumulators;    /* [ROWS][c][2]: what is subtracted, and what is added */
    uint64_t *total, *more, *work; /* a sum each, and what quotients are made in */
    uint64_t *left;               /* of each thread: the digits of an entry of L, and its limbs */
    int64_t too_long;             /* whether an unknown is */
    void *whole, *records;
} substitution;

static uint64_t *entry(const xl_long_integers *x, int64_t row, int64_t column) {
    return x->limbs + row * x->row_stride + column * x->entry_stride;
}

static int64_t columns_of(const substitution *s) {
    return s->sums->columns;
}

static accumulator *accumulators_of(const substitution *s, int64_t row, int64_t column) {
    return s->accumulators + 2 * ((row - s->first) * columns_of(s) + column);
}

static int64_t digits_of(int64_t limbs) {
    return divide_up(64 * limbs, BITS);
}

/* Digits of a magnitude, none of them 0 at the top; returns how many. */
static int64_t to_digits(const uint64_t *limbs, int64_t count, uint64_t *digits) {
    int64_t found = 0;
    for (int64_t i = 0; i < digits_of(count); ++i) {
        const int64_t bit = BITS * i, limb = bit / 64, part = bit % 64;
        const uint64_t high = part > 64 - BITS && limb + 1 < count ? limbs[limb + 1] << (64 - part) : 0;
        digits[i] = (limbs[limb] >> part | high) & ((1 << BITS) - 1);
        if (digits[i])
            found = i + 1;
    }
    return found;
}

/* Every sum but the last becomes a digit. */
static void carry(const substitution *s, accumulator *a) {
    uint64_t rest = 0;
    for (int64_t i = 0; i < s->digits; ++i) {
        rest += a->digits[i];
        a->digits[i] = rest & ((1 << BITS) - 1);
        rest >>= BITS;
    }
    a->terms = 0;
}

static void to_limbs(const substitution *s, accumulator *a, uint64_t *limbs) {
    carry(s, a);
    memset(limbs, 0, (size_t)(8 * s->limbs));
    for (int64_t i = 0; i < s->digits; ++i) {
        const int64_t bit = BITS * i, limb = bit / 64, part = bit % 64;
        if (limb < s->limbs)
            limbs[limb] |= a->digits[i] << part;
        if (part > 64 - BITS && limb + 1 < s->limbs)
            limbs[limb + 1] |= a->digits[i] >> (64 - part);
    }
}

static void add_product(const substitution *s, accumulator *to, const factor *left, const factor *right) {
    for (int64_t i = 0, rows; i < left->count; i += rows) {
        rows = minimum(left->count - i, TERMS / XL_WIDE_DIGIT_ROWS * XL_WIDE_DIGIT_ROWS);
        if (to->terms + rows > TERMS)
            carry(s, to);
        to->terms += rows;
        s->set->elements->wide_digit_products(to->digits + i, left->at + i, round_up(rows, XL_WIDE_DIGIT_ROWS), right->at,
                                              right->count);
    }
}

/* Adds L_ik x_k for k in [begin, end) to the accumulators of a row. */
static void add_known(const substitution *s, int64_t row, int64_t begin, int64_t end) {
    factor left = {s->left + xl_thread() * (s->left_room + s->lower->count), 0, 0};
    uint64_t *magnitude = left.at + s->left_room;
    for (int64_t k = begin; k < end; ++k) {
        left.sign = magnitude_of(entry(s->lower, row, k), s->lower->count, magnitude);
        left.count = to_digits(magnitude, s->lower->count, left.at);
        for (int64_t c = 0; c < columns_of(s); ++c) {
            const factor *x = s->unknowns + k * columns_of(s) + c;
            add_product(s, accumulators_of(s, row, c) + (left.sign != x->sign), &left, x);
        }
    }
}

static void round_unknown(substitution *s, int64_t row, int64_t column) {
    const int64_t count = s->found->count;
    accumulator *a = accumulators_of(s, row, column);
    factor *x = s->unknowns + row * columns_of(s) + column;
    uint64_t *found = s->total;
    to_limbs(s, &a[0], s->more);
    subtract_from(entry(s->sums, row, column), s->sums->count, 0, s->more, s->total, s->limbs);
    to_limbs(s, &a[1], s->more);
    add_limbs(s->total, s->more, s->limbs);
    if (s->divisors)
        xl_nearest_quotient(s->total, s->limbs, entry(s->divisors, 0, row), s->divisors->count, found, s->limbs, s->work);
    else
        round_limbs(s->total, s->limbs, -s->precision, found = s->more, s->limbs);
    s->too_long |= length_of(found, s->limbs) > 64 * count - 1;
    memcpy(entry(s->found, row, column), found, (size_t)(8 * count));
    x->sign = magnitude_of(found, s->limbs, s->work);
    x->count = to_digits(s->work, count, x->at);
}

/* The unknowns of a block, from those before it and from each other. */
static void finish_block(substitution *s) {
    for (int64_t row = s->first; row < s->first + s->rows && !s->too_long; ++row) {
        add_known(s, row, s->first, row);
        for (int64_t c = 0; c < columns_of(s); ++c)
            round_unknown(s, row, c);
    }
}

static void open_block(substitution *s, int64_t first) {
    s->first = first;
    s->rows = minimum(ROWS, s->sums->rows - first);
    for (int64_t i = 0; i < 2 * s->rows * columns_of(s); ++i) {
        memset(s->accumulators[i].digits, 0, (size_t)(8 * s->digits));
        s->accumulators[i].terms = 0;
    }
}

/* What the threads of a team do together. */
static void find_unknowns(substitution *s) {
    for (int64_t first = 0; first < s->sums->rows; first += ROWS) {
#pragma omp single
        open_block(s, first);
#pragma omp for schedule(dynamic)
        for (int64_t row = 0; row < s->rows; ++row)
            add_known(s, first + row, 0, first);
#pragma omp single
        finish_block(s);
        if (s->too_long)
            return;
    }
}

static int substitution_new(substitution *s, int64_t team) {
    const int64_t unknowns = s->sums->rows * s->sums->columns, accumulators = 2 * ROWS * s->sums->columns;
    const int64_t lower = s->lower->count, found = s->found->count;
    int64_t work;
    uint64_t *at;
    s->left_room = digits_of(lower) + AFTER;
    s->right_room = BEFORE + digits_of(found) + AFTER;
    s->limbs = maximum(lower + found, s->sums->count) + 1;
    s->digits = maximum(digits_of(s->limbs), digits_of(lower) + digits_of(found)) + AFTER;
    work = maximum(s->limbs, xl_quotient_room(s->limbs, s->divisors ? s->divisors->count : 0));
    s->whole = calloc((size_t)(unknowns * s->right_room + accumulators * s->digits + 2 * s->limbs + work +
                               team * (s->left_room + lower)),
                      sizeof(uint64_t));
    s->records = malloc((size_t)unknowns * sizeof(factor) + (size_t)accumulators * sizeof(accumulator));
    if (!s->whole || !s->records)
        return 0;
    at = s->whole;
    s->unknowns = s->records;
    s->accumulators = (accumulator *)(void *)(s->unknowns + unknowns);
    for (int64_t i = 0; i < unknowns; ++i, at += s->right_room)
        s->unknowns[i].at = at + BEFORE;
    for (int64_t i = 0; i < accumulators; ++i, at += s->digits)
        s->accumulators[i].digits = at;
    s->total = at;
    s->more = s->total + s->limbs;
    s->work = s->more + s->limbs;
    s->left = s->work + work;
    return 1;
}

int64_t xl_native_substitute(const xl_instructions *set, const xl_long_integers *lower,
                             const xl_long_integers *divisors, int64_t precision, const xl_long_integers *sums,
                             const xl_long_integers *found, int64_t threads) {
    substitution s = {
        .set = set, .lower = lower, .divisors = divisors, .sums = sums, .found = found, .precision = precision};
    const int64_t work = sums->rows * sums->rows / 2 * sums->columns * lower->count * found->count / 8;
    const int team = xl_team(threads, work, ROWS);
    const int ready = substitution_new(&s, team);
    if (ready) {
#pragma omp parallel num_threads(team) if (team > 1)
        find_unknowns(&s);
    }
    free(s.whole);
    free(s.records);
    return ready ? s.too_long : XL_OUT_OF_MEMORY;
}
