/* Numbers of several float64 components to integers of many limbs and back, by their bits; see native.h. */
#include "limbs.h"
#include "sharing.h"

enum { ROWS = 1024, PRECISION = 53, FRACTION = 52, FIELDS = 2047, LEAST_EXPONENT = -1074 };

typedef struct {
    const xl_components *x;
    const xl_long_integers *integers;
    int64_t exponent;
    xl_component_scan *scan;
} components_job;

/* significand * 2**exponent */
typedef struct {
    uint64_t significand;
    int64_t exponent;
} decoded;

static decoded decode(uint64_t word) {
    const int64_t field = (int64_t)(word >> FRACTION) & FIELDS;
    const uint64_t fraction = word & ((UINT64_C(1) << FRACTION) - 1);
    return (decoded){fraction | (uint64_t)(field > 0) << FRACTION, maximum(field, 1) - 1 + LEAST_EXPONENT};
}

static int64_t bits_of(uint64_t x) {
    return x ? 64 - __builtin_clzll(x) : 0;
}

static int64_t for_rows(const components_job *job, xl_piece piece, int64_t threads) {
    const int64_t pieces = divide_up(job->x->rows, ROWS);
    return xl_for_each(xl_team(threads, 8 * job->x->rows, pieces), pieces, piece, job);
}

static int64_t end_of(const components_job *job, int64_t piece) {
    return minimum((piece + 1) * ROWS, job->x->rows);
}

/* ---- what there is ------------------------------------------------------------------------------------------------ */

static void scan_row(const xl_components *x, int64_t row, xl_component_scan *found) {
    decoded before = {1, INT64_MAX};
    for (int64_t c = 0; c < x->count; ++c) {
        const uint64_t word = x->words[row * x->count + c];
        const decoded now = decode(word);
        const int64_t highest = now.exponent + bits_of(now.significand);
        if ((word >> FRACTION & FIELDS) == FIELDS)
            found->not_finite = minimum(found->not_finite, row * x->count + c);
        if (now.significand) {
            if (before.significand == 0 || highest > before.exponent)
                found->overlap = minimum(found->overlap, row);
            found->lowest = minimum(found->lowest, now.exponent + __builtin_ctzll(now.significand));
            found->highest = maximum(found->highest, highest);
        }
        before = now;
    }
}

static int64_t scan_piece(const void *context, int64_t piece) {
    const components_job *job = context;
    xl_component_scan found = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MIN}, *all = job->scan;
    for (int64_t row = piece * ROWS; row < end_of(job, piece); ++row)
        scan_row(job->x, row, &found);
#pragma omp critical
    *all = (xl_component_scan){minimum(all->not_finite, found.not_finite), minimum(all->overlap, found.overlap),
                               minimum(all->lowest, found.lowest), maximum(all->highest, found.highest)};
    return 0;
}

int64_t xl_native_scan_components(const xl_instructions *set, const xl_components *x, xl_component_scan *found,
                                  int64_t threads) {
    const components_job job = {.x = x, .scan = found};
    (void)set;
    *found = (xl_component_scan){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MIN};
    return for_rows(&job, scan_piece, threads);
}

/* ---- sums --------------------------------------------------------------------------------------------------------- */

/* Ensures: x grows by value * 2**place, or by minus that, modulo 2**(64 count). */
static void add_at(uint64_t *x, int64_t count, uint64_t value, int64_t place, int negative) {
    const int64_t limb = place / 64, part = place % 64;
    const uint64_t words[2] = {value << part, part ? value >> (64 - part) : 0};
    unsigned carry = 0;
    for (int64_t j = limb; j < count && (j < limb + 2 || carry); ++j) {
        const uint64_t word = j < limb + 2 ? words[j - limb] : 0, before = x[j];
        if (negative) {
            x[j] = before - word - carry;
            carry = carry ? before <= word : before < word;
        } else {
            x[j] = before + word + carry;
            carry = carry ? x[j] <= before : x[j] < before;
        }
    }
}

static uint64_t *integer_at(const components_job *job, int64_t row) {
    return job->integers->limbs + row * job->integers->entry_stride;
}

static int64_t sums_piece(const void *context, int64_t piece) {
    const components_job *job = context;
    const xl_components *x = job->x;
    for (int64_t row = piece * ROWS; row < end_of(job, piece); ++row) {
        uint64_t *sum = integer_at(job, row);
        memset(sum, 0, (size_t)(8 * job->integers->count));
        for (int64_t c = 0; c < x->count; ++c) {
            const uint64_t word = x->words[row * x->count + c];
            const decoded now = decode(word);
            const int64_t place = now.exponent - job->exponent;
            if (now.significand) /* bits below the unit are 0 */
                add_at(sum, job->integers->count, place < 0 ? now.significand >> -place : now.significand,
                       maximum(place, 0), word >> 63 != 0);
        }
    }
    return 0;
}

int64_t xl_native_sum_components(const xl_instructions *set, const xl_components *x, int64_t exponent,
                                 const xl_long_integers *sums, int64_t threads) {
    const components_job job = {.x = x, .integers = sums, .exponent = exponent};
    (void)set;
    return for_rows(&job, sums_piece, threads);
}

/* ---- back --------------------------------------------------------------------------------------------------------- */

/* RN(x / 2**place) of a magnitude below 2**(place + 53), which may become 2**53. */
static uint64_t rounded_window(const uint64_t *x, int64_t count, int64_t place) {
    uint64_t found;
    shift_limbs(x, count, -place, &found, 1);
    found &= (UINT64_C(1) << PRECISION) - 1; /* 2**(64 count - 1) shifts as a negative number */
    if (place > 0 && limb_of(x, count, (place - 1) / 64) >> ((place - 1) % 64) & 1 &&
        ((found & 1) || any_below(x, count, place - 1)))
        ++found;
    return found;
}

/* The nearest float64 to x * 2**exponent, which x is then reduced by. */
static uint64_t take_component(uint64_t *x, int64_t count, int64_t exponent, uint64_t *magnitude) {
    const uint64_t sign = magnitude_of(x, count, magnitude);
    const int64_t length = length_of(x, count), place = maximum(length - PRECISION, LEAST_EXPONENT - exponent);
    const uint64_t kept = rounded_window(magnitude, count, place);
    const int64_t field = minimum(place + exponent - LEAST_EXPONENT, FIELDS + 1);
    const uint64_t found = kept + ((uint64_t)field << FRACTION), infinity = (uint64_t)FIELDS << FRACTION;
    if (length == 0)
        return 0;
    add_at(x, count, place < 0 ? kept >> -place : kept, maximum(place, 0), sign == 0);
    return (found < infinity ? found : infinity) | (sign & UINT64_C(1) << 63);
}

static int64_t take_piece(const void *context, int64_t piece) {
    const components_job *job = context;
    const int64_t count = job->integers->count;
    uint64_t *left = malloc((size_t)(16 * count));
    if (!left)
        return XL_OUT_OF_MEMORY;
    for (int64_t row = piece * ROWS; row < end_of(job, piece); ++row) {
        memcpy(left, integer_at(job, row), (size_t)(8 * count));
        for (int64_t c = 0; c < job->x->count; ++c)
            job->x->words[row * job->x->count + c] = take_component(left, count, job->exponent, left + count);
    }
    free(left);
    return 0;
}

int64_t xl_native_take_components(const xl_instructions *set, const xl_long_integers *integers, int64_t exponent,
                                  const xl_components *x, int64_t threads) {
    const components_job job = {.x = x, .integers = integers, .exponent = exponent};
    (void)set;
    return for_rows(&job, take_piece, threads);
}
