/* See division.h. */
#include "division.h"
#include "limbs.h"
#include "quotients.h"
#include "sharing.h"

enum { GUARD = 80, POINT = 48, FRACTION_LIMBS = 2 };

static int64_t table_rows(const xl_division *d) {
    return 8 * (FRACTION_LIMBS + d->count);
}

/* The reciprocal is at most 2**(t + 1). */
static int64_t reciprocal_limbs(const xl_division *d) {
    return (8 * d->lowest + POINT + 1) / 64 + 1;
}

int64_t xl_division_depth(const xl_division *d) {
    return xl_octets_depth(d->limbs);
}

int64_t xl_division_limbs(const xl_division *d, int64_t count) {
    return maximum(maximum(count, d->divisor_count), maximum(FRACTION_LIMBS + d->count, d->limbs)) + 1;
}

int xl_division_new(xl_division *d, int64_t divisor_count, int64_t count) {
    const int64_t quotient_bits = 64 * count - 2;
    int64_t reciprocal, work, table, octets;
    *d = (xl_division){.divisor_count = divisor_count, .count = count};
    d->limbs = (quotient_bits + GUARD + 1) / 64 + 1;
    d->lowest = divide_up(quotient_bits + GUARD - POINT, 8);
    reciprocal = reciprocal_limbs(d);
    work = xl_quotient_room(divisor_count + reciprocal, divisor_count);
    octets = 8 * reciprocal + 1;
    table = xl_division_depth(d) + table_rows(d) - 1;
    d->whole = malloc((size_t)(8 * (divisor_count + reciprocal + work) + octets + table));
    if (!d->whole)
        return 0;
    d->magnitude = d->whole;
    d->reciprocal = d->magnitude + divisor_count;
    d->work = d->reciprocal + reciprocal;
    d->octets = (int8_t *)(d->work + work);
    d->table = d->octets + octets + table_rows(d) - 1;
    return 1;
}

void xl_division_free(xl_division *d) {
    free(d->whole);
}

void xl_division_by(xl_division *d, const uint64_t *divisor) {
    const int64_t reciprocal = reciprocal_limbs(d), octets = 8 * reciprocal + 1, rows = table_rows(d);
    const uint64_t sign = magnitude_of(divisor, d->divisor_count, d->magnitude);
    const int64_t bits = length_of(divisor, d->divisor_count);
    d->divisor = divisor;
    d->dropped = bits - GUARD;
    xl_reciprocal(bits + 8 * d->lowest + POINT, d->magnitude, d->divisor_count, d->reciprocal, reciprocal, d->work);
    if (sign)
        negate(d->reciprocal, reciprocal);
    xl_signed_octets(d->reciprocal, reciprocal, d->octets, octets);
    /* octet o of the product takes octet lowest + o - k of the reciprocal for octet k of x */
    for (int64_t i = -rows + 1; i < xl_division_depth(d); ++i) {
        const int64_t place = d->lowest - i;
        d->table[i] = place >= 0 && place < octets ? d->octets[place] : 0;
    }
}

int xl_strip_divide(const xl_strip_room *room, const xl_division *d, const xl_strip *x, uint64_t *to, int64_t stride,
                    uint8_t doubtful[XL_STRIP]) {
    const int64_t depth = xl_division_depth(d), count = FRACTION_LIMBS + d->count;
    int any = 0;
    for (int64_t i = 0; i < x->entries; ++i) {
        shift_limbs(x->limbs + i * x->stride, x->count, -d->dropped, room->first, d->limbs);
        xl_signed_octets(room->first, d->limbs, room->octets + i * depth, depth);
    }
    xl_strip_times(room, x->entries, depth, d->table, count);
    for (int64_t i = 0; i < x->entries; ++i) {
        xl_strip_entry(room, i, room->first, count);
        doubtful[i] = (uint8_t)round_fraction(room->first, FRACTION_LIMBS, to + i * stride, d->count);
        any |= doubtful[i];
    }
    return any;
}

void xl_strip_divide_again(const xl_strip_room *room, const xl_division *d, const xl_strip *x, uint64_t *to,
                           int64_t stride, const uint8_t doubtful[XL_STRIP]) {
    for (int64_t i = 0; i < x->entries; ++i)
        if (doubtful[i])
            xl_nearest_quotient(x->limbs + i * x->stride, x->count, d->divisor, d->divisor_count, to + i * stride,
                                d->count, room->quotients);
}
