/* See strips.h. */
#include "strips.h"
#include "limbs.h"
#include "quotients.h"
#include "sharing.h"

#include <time.h>

enum {
    GROUP = 16,         /* moduli whose digits are 32 rows of a table */
    LIMBS_A_TIME = 4,
    FRACTION_BITS = 40, /* of xl_wide_modulus */
    ALIGNMENT = XL_MATRIX_ALIGNMENT
};

int xl_strip_room_new(xl_strip_room *room, const xl_instructions *set, int64_t width, int64_t depth, int64_t limbs) {
    const int64_t octets = round_up(width, XL_WIDE_LANES) * depth, sums = 4 * 32 * XL_STRIP;
    const int64_t scratch = round_up(xl_matrix_sums_scratch_bytes(set->matrix), ALIGNMENT);
    const int64_t residues = 2 * XL_STRIP, integers = limbs * (XL_STRIP + 2) + xl_quotient_room(limbs, limbs);
    char *at;
    room->whole = malloc((size_t)(2 * octets + sums + scratch + residues + 8 * integers + ALIGNMENT));
    if (!room->whole)
        return 0;
    at = (char *)room->whole + (ALIGNMENT - (uintptr_t)room->whole % ALIGNMENT);
    room->set = set;
    memset(room->nanoseconds, 0, sizeof room->nanoseconds);
    room->packed = (int8_t *)at;
    room->octets = room->packed + octets;
    room->sums = (int32_t *)(void *)(room->octets + octets);
    room->scratch = (char *)(room->sums + 32 * XL_STRIP);
    room->residues = (int16_t *)(void *)(room->scratch + scratch);
    room->limbs = (uint64_t *)(void *)((char *)room->residues + residues);
    room->first = room->limbs + limbs * XL_STRIP;
    room->second = room->first + limbs;
    room->quotients = room->second + limbs;
    return 1;
}

void xl_strip_room_free(xl_strip_room *room) {
    free(room->whole);
}

int64_t xl_octets_depth(int64_t limbs) {
    return round_up(8 * limbs + 1, XL_MATRIX_DEPTH);
}

static int64_t nanoseconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return INT64_C(1000000000) * now.tv_sec + now.tv_nsec;
}

void xl_signed_octets(const uint64_t *x, int64_t count, int8_t *octets, int64_t depth) {
    const uint64_t halves = UINT64_C(0x8080808080808080);
    unsigned carry = 0;
    uint64_t limb;
    for (int64_t j = 0; j < count; ++j) {
        const uint64_t once = x[j] + carry;
        limb = once + halves;
        carry = (once < x[j]) | (limb < once);
        limb ^= halves;
        memcpy(octets + 8 * j, &limb, 8);
    }
    memset(octets + 8 * count, 0, (size_t)(depth - 8 * count));
    octets[8 * count] = (int8_t)(carry - (sign_of(x, count) & 1));
}

static void pack(const xl_strip_room *room, int64_t entries, int64_t depth) {
    xl_matrix_pack(room->set->matrix, room->octets, 0, entries, depth, room->packed);
}

static void table_sums(const xl_strip_room *room, int64_t entries, const int8_t *table, int64_t table_row, int64_t rows,
                       int64_t depth) {
    const xl_matrix_sums_job job = {table, table_row, rows, room->packed, entries, depth, room->sums, XL_STRIP};
    xl_matrix_sums(room->set->matrix, &job, room->scratch);
}

void xl_strip_residues(xl_strip_room *room, const xl_wide_base *base, const xl_strip *strip,
                       xl_place_residues place, const void *job) {
    const int64_t depth = xl_octets_depth(strip->count), padded = round_up(strip->entries, XL_WIDE_LANES);
    const int64_t start = nanoseconds();
    for (int64_t i = 0; i < strip->entries; ++i)
        xl_signed_octets(strip->limbs + i * strip->stride, strip->count, room->octets + i * depth, depth);
    pack(room, strip->entries, depth);
    for (int64_t p = 0; p < base->moduli; p += GROUP) {
        table_sums(room, strip->entries, base->powers + 2 * p * base->powers_depth, base->powers_depth, 2 * GROUP, depth);
        for (int64_t i = 0; i < minimum(GROUP, base->moduli - p); ++i) {
            room->set->elements->wide_residues(room->sums + i * XL_STRIP, room->sums + (GROUP + i) * XL_STRIP, padded,
                                               &base->constants[p + i], room->residues);
            place(job, p + i, room->residues);
        }
    }
    room->nanoseconds[XL_CONVERSION] += nanoseconds() - start;
}

void xl_strip_weigh(xl_strip_room *room, const xl_wide_base *base, const xl_strip_sums *from, int64_t entries,
                    int32_t *quotients) {
    const int64_t depth = base->cofactors_depth, padded = round_up(entries, XL_WIDE_LANES), start = nanoseconds();
    int64_t fractions[XL_STRIP] = {0};
    int16_t digits[XL_STRIP], *matrix = (int16_t *)(void *)room->octets;
    memset(matrix, 0, (size_t)(entries * depth));
    for (int64_t p = 0; p < base->moduli; ++p) {
        /* what the next modulus needs lies far away */
        for (int64_t k = 0; k < from->terms; ++k)
            for (int64_t i = 0; i < entries; i += 32)
                __builtin_prefetch(from->vectors + (p + 1) * from->vectors_plane + k * from->vectors_step + i);
        __builtin_prefetch(from->sums + (p + 2) * from->sums_plane);
        const xl_wide_sum sum = {
            .sums = from->sums + p * from->sums_plane,
            .vectors = from->vectors + p * from->vectors_plane,
            .factors = from->factors + p * from->factors_plane,
            .step = from->vectors_step,
            .factor_step = from->factors_step,
            .terms = from->terms,
        };
        room->set->elements->wide_weighted(&sum, padded, &base->constants[p], fractions, digits);
        for (int64_t i = 0; i < entries; ++i)
            matrix[i * (depth / 2) + p] = digits[i];
    }
    for (int64_t i = 0; i < padded; ++i)
        quotients[i] = (int32_t)((fractions[i] + (INT64_C(1) << (FRACTION_BITS - 1))) >> FRACTION_BITS);
    pack(room, entries, depth);
    room->nanoseconds[XL_RECONSTRUCTION] += nanoseconds() - start;
}

/* Limbs of sums of `rows` octets at rows of a table, from the lowest on. */
static void carried_sums(const xl_strip_room *room, int64_t entries, const int8_t *table, int64_t table_row,
                         int64_t limbs, int64_t depth, const int32_t *quotients, const uint8_t *product) {
    int32_t carry[XL_STRIP] = {0};
    for (int64_t j = 0; j < limbs; j += LIMBS_A_TIME) {
        const int64_t count = minimum(LIMBS_A_TIME, limbs - j);
        table_sums(room, entries, table + 8 * j * table_row, table_row, 8 * count, depth);
        room->set->elements->wide_carry(room->sums, XL_STRIP, count, quotients, product ? product + 8 * j : NULL,
                                        round_up(entries, XL_WIDE_LANES), carry, room->limbs + j * XL_STRIP, XL_STRIP);
    }
}

void xl_strip_limbs(xl_strip_room *room, const xl_wide_base *base, int64_t entries, const int32_t *quotients,
                    int64_t first, int64_t count) {
    const int64_t start = nanoseconds();
    carried_sums(room, entries, base->cofactors + 8 * first * base->cofactors_depth, base->cofactors_depth, count,
                 base->cofactors_depth, quotients, base->product + 8 * first);
    room->nanoseconds[XL_RECONSTRUCTION] += nanoseconds() - start;
}

void xl_strip_times(const xl_strip_room *room, int64_t entries, int64_t depth, const int8_t *table, int64_t count) {
    pack(room, entries, depth);
    carried_sums(room, entries, table, -1, count, depth, NULL, NULL);
}

void xl_strip_entry(const xl_strip_room *room, int64_t i, uint64_t *to, int64_t count) {
    for (int64_t j = 0; j < count; ++j)
        to[j] = room->limbs[j * XL_STRIP + i];
}

int64_t xl_strip_width(int64_t entries, int64_t threads) {
    const int64_t strips = threads * divide_up(entries, threads * XL_STRIP);
    return round_up(divide_up(maximum(entries, 1), maximum(strips, 1)), XL_WIDE_LANES);
}
