/* Strips of long integers and products of them with tables. Known to the files of this folder only.
 *
 * A strip is made into signed octets, one entry after the other, packed as the right operand, and the rows of a table are
 * the left one, so that sums of one row lie next to each other for the entries. */
#ifndef XL_STRIPS_H
#define XL_STRIPS_H

#include "native.h"

enum {
    XL_STRIP = XL_WIDE_MOST, /* entries of a strip, at most */
    /* what time is counted of */
    XL_CONVERSION = 0,
    XL_RECONSTRUCTION = 1
};

/* Memory that strips are worked on in, by one thread. */
typedef struct {
    const xl_instructions *set;
    int8_t *octets, *packed; /* of a strip */
    int32_t *sums;           /* [32][XL_STRIP] */
    char *scratch;
    uint64_t *limbs;         /* [limbs][XL_STRIP] */
    uint64_t *first, *second; /* an integer each */
    uint64_t *quotients;     /* what the functions of quotients.h work in */
    int16_t *residues;       /* [XL_STRIP] */
    int64_t nanoseconds[XL_PANEL_PARTS];
    void *whole;
} xl_strip_room;

/* For strips of up to so many entries, tables of rows up to `depth` octets, and integers of so many limbs.
 * Returns 0 where memory ran out. */
int xl_strip_room_new(xl_strip_room *room, const xl_instructions *set, int64_t width, int64_t depth, int64_t limbs);
void xl_strip_room_free(xl_strip_room *room);

/* The depth of a table for integers of so many limbs. */
int64_t xl_octets_depth(int64_t limbs);

/* Ensures: the integer is the sum over k of octets[k] * 256**k, for 8 * count + 1 signed octets, and the rest is 0. */
void xl_signed_octets(const uint64_t *x, int64_t count, int8_t *octets, int64_t depth);

/* Entries of one row: entry i is at limbs + i * stride. */
typedef struct {
    const uint64_t *limbs;
    int64_t stride, count; /* limbs of an entry */
    int64_t entries;
} xl_strip;

/* Calls `place` with the centred residues of the entries, modulus by modulus; they may be written up to the next multiple
 * of XL_WIDE_LANES. */
typedef void (*xl_place_residues)(const void *job, int64_t modulus, int16_t *residues);
void xl_strip_residues(xl_strip_room *room, const xl_wide_base *base, const xl_strip *strip,
                       xl_place_residues place, const void *job);

/* Sums in residues: see xl_wide_sums, for consecutive entries of one row. */
typedef struct {
    const int16_t *sums;
    const int16_t *vectors;
    const int16_t *factors;
    int64_t sums_plane, vectors_plane, vectors_step, factors_plane, factors_step;
    int64_t terms;
} xl_strip_sums;

/* Makes the weighted residues of sums ready for xl_strip_limbs. Ensures: quotients[i] times M is what they exceed sum i by. */
void xl_strip_weigh(xl_strip_room *room, const xl_wide_base *base, const xl_strip_sums *sums, int64_t entries,
                    int32_t *quotients);

/* Requires: xl_strip_weigh, and nothing else in this room since.
 * Ensures: room->limbs[j * XL_STRIP + i] are limbs first + j of sum i, for j < count, as if octets below them were 0 before
 * carries: the integer of these limbs is at most 2**23 off, to either side. */
void xl_strip_limbs(xl_strip_room *room, const xl_wide_base *base, int64_t entries, const int32_t *quotients,
                    int64_t first, int64_t count);

/* The same of the entries times an integer, whose octets are those of the table: octet o of the product, without what is
 * below it, is the sum over k of table[k - o] times octet k. The entries are octets already, `depth` of them each. */
void xl_strip_times(const xl_strip_room *room, int64_t entries, int64_t depth, const int8_t *table, int64_t count);

/* Limbs of entry i out of room->limbs. */
void xl_strip_entry(const xl_strip_room *room, int64_t i, uint64_t *to, int64_t count);

/* Entries of a strip so that each of so many threads has as many strips as the others, of about as many entries. */
int64_t xl_strip_width(int64_t entries, int64_t threads);

#endif
