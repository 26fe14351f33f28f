/* Long integers from p-adic digits: sums of digits times long weights, modulo a long number. The entry points
 * combine_digits and numbers.
 *
 * Digits of some steps become one integer first. Integers and weights are cut into balanced pieces of up to 31 bits,
 * whose products are summed in 64 bits: sum q is that of piece q - i of a weight times piece i of its integer. The multiple
 * of the modulus that has to go is one integer more, of weight minus the modulus: it is found from the top sums, which are
 * made first. */
#ifndef XL_HOST_NUMBERS_H
#define XL_HOST_NUMBERS_H

#include "xl_host.h"

#define XL_LINE 64 /* bytes of a cache line, which no vector should share with another one */

/* Words and sums of the numbers that are made at a time lie next to each other. */
#define XL_EACH_NUMBER(w) XL_INDEPENDENT for (int32_t w = 0; w < XL_DIGIT_LANES; ++w)

/* What is left of sums of pieces that became words. */
typedef struct {
    int64_t rest[XL_DIGIT_LANES];
    uint64_t held[XL_DIGIT_LANES]; /* `fill` bits that are in no word yet */
    int32_t fill;
    int64_t word; /* words that are done */
} xl_piece_carry;

/* Memory for the numbers of one vector. */
typedef struct {
    int32_t *pieces;                /* [groups + 1][pieces][XL_DIGIT_LANES] */
    uint32_t *first, *second, *top; /* [words][XL_DIGIT_LANES] */
} xl_number_room;

void XL_ENTRY(combine_digits)(const uint32_t *digits, int64_t entries, int64_t words, const int32_t *weights,
                              int64_t *sums) {
    memset(sums, 0, (size_t)(2 * words) * sizeof *sums);
    for (int64_t e = 0; e < entries; ++e)
        for (int64_t i = 0; i < words; ++i) {
            const uint32_t word = digits[e * words + i];
            const int64_t high = i == words - 1 ? (int32_t)word >> 16 : (int32_t)(word >> 16);
            sums[2 * i] += (int64_t)weights[e] * (word & 65535);
            sums[2 * i + 1] += weights[e] * high;
        }
}

/* Ensures: to grows by from * factor modulo 2**(32 count). */
XL_STAGE void xl_number_add(uint32_t *XL_RESTRICT to, int64_t count, const uint32_t *XL_RESTRICT from,
                            int64_t from_count, uint32_t factor) {
    const int64_t both = from_count < count ? from_count : count;
    uint64_t carry[XL_DIGIT_LANES] XL_ALIGNED = {0};
    for (int64_t j = 0; j < both; ++j)
        XL_EACH_NUMBER(w) {
            carry[w] += (uint64_t)from[j * XL_DIGIT_LANES + w] * factor + to[j * XL_DIGIT_LANES + w];
            to[j * XL_DIGIT_LANES + w] = (uint32_t)carry[w];
            carry[w] >>= 32;
        }
    for (int64_t j = both; j < count; ++j)
        XL_EACH_NUMBER(w) {
            carry[w] += to[j * XL_DIGIT_LANES + w];
            to[j * XL_DIGIT_LANES + w] = (uint32_t)carry[w];
            carry[w] >>= 32;
        }
}

/* Ensures: to grows by a constant modulo 2**(32 count). */
XL_STAGE void xl_number_add_constant(uint32_t *to, int64_t count, const uint32_t *constant) {
    uint64_t carry[XL_DIGIT_LANES] XL_ALIGNED = {0};
    for (int64_t j = 0; j < count; ++j)
        XL_EACH_NUMBER(w) {
            carry[w] += (uint64_t)to[j * XL_DIGIT_LANES + w] + constant[j];
            to[j * XL_DIGIT_LANES + w] = (uint32_t)carry[w];
            carry[w] >>= 32;
        }
}

/* Ensures: in two's complement, to[count] = from[have]. */
XL_STAGE void xl_number_extend(uint32_t *number, int64_t have, int64_t count) {
    for (int64_t j = have; j < count; ++j)
        XL_EACH_NUMBER(w) {
            number[j * XL_DIGIT_LANES + w] = number[(have - 1) * XL_DIGIT_LANES + w] >> 31 ? ~(uint32_t)0 : 0;
        }
}

/* Digits of a step for entries from `entry` on, the last of which is repeated where there are fewer than lanes. */
XL_FUNCTION void xl_number_load(uint32_t *to, const uint32_t *digits, int64_t words, int64_t entry, int64_t end) {
#ifdef __GNUC__
    /* those of the entries after them, which lie far from those of the next step */
    __builtin_prefetch(digits + (entry + XL_DIGIT_LANES) * words, 0, 2);
#endif
    for (int64_t w = 0; w < XL_DIGIT_LANES; ++w) {
        const uint32_t *from = digits + (entry + w < end ? entry + w : end - 1) * words;
        for (int64_t j = 0; j < words; ++j)
            to[j * XL_DIGIT_LANES + w] = from[j];
    }
}

/* Requires: words of an integer, with half of a piece's range in every piece added.
 * Ensures: its pieces, in their slots. */
XL_STAGE void xl_number_cut(int32_t *XL_RESTRICT pieces, const uint32_t *XL_RESTRICT words, int64_t count,
                            int32_t bits) {
    const uint32_t mask = ((uint32_t)1 << bits) - 1;
    const int32_t half = (int32_t)1 << (bits - 1);
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t *from = words + i * bits / 32 * XL_DIGIT_LANES;
        const int32_t shift = (int32_t)(i * bits % 32);
        int32_t *to = pieces + i * XL_DIGIT_LANES;
        for (int32_t w = 0; w < XL_DIGIT_LANES; ++w) {
            const uint64_t both = (uint64_t)from[XL_DIGIT_LANES + w] << 32 | from[w];
            to[XL_DIGIT_SLOT(w)] = (int32_t)((uint32_t)(both >> shift) & mask) - half;
        }
    }
}

/* Pieces of the sum of P**i times digit i over the steps of a group. */
XL_FUNCTION void xl_number_merge(const xl_numbers *job, xl_number_room *room, int64_t group, int64_t entry,
                                 int64_t end) {
    const int64_t begin = group * job->together, after = begin + job->together, words = job->words;
    int64_t step = (after < job->steps ? after : job->steps) - 1, count = words;
    xl_number_load(room->first, job->digits[step], words, entry, end);
    while (--step >= begin) {
        uint32_t *const sum = room->second, *const from = room->first;
        const int64_t more = count + words < job->merged_words ? count + words : job->merged_words;
        xl_number_load(sum, job->digits[step], words, entry, end);
        xl_number_extend(sum, words, more);
        xl_number_extend(from, count, more);
        for (int64_t i = 0; i < job->base_words && i < more; ++i)
            xl_number_add(sum + i * XL_DIGIT_LANES, more - i, from, more - i, job->base[i]);
        count = more;
        room->first = sum;
        room->second = from;
    }
    xl_number_extend(room->first, count, job->merged_words);
    xl_number_add_constant(room->first, job->merged_words, job->halves);
    xl_number_cut(room->pieces + group * job->pieces * XL_DIGIT_LANES, room->first, job->pieces, (int32_t)job->bits);
}

/* Ensures: words of the sums of pieces, as far as they are complete and fewer than count. */
XL_STAGE void xl_number_carry(xl_piece_carry *c, int64_t sums[XL_PIECE_ROWS][XL_DIGIT_LANES], int32_t bits,
                              uint32_t *words, int64_t count) {
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (int32_t p = 0; p < XL_PIECE_ROWS; ++p) {
        XL_EACH_NUMBER(w) {
            const int64_t sum = c->rest[w] + sums[p][w];
            c->held[w] |= ((uint64_t)sum & mask) << c->fill;
            c->rest[w] = sum >> bits;
        }
        c->fill += bits;
        if (c->fill >= 32) {
            if (c->word < count)
                XL_EACH_NUMBER(w) {
                    words[c->word * XL_DIGIT_LANES + w] = (uint32_t)c->held[w];
                }
            XL_EACH_NUMBER(w) {
                c->held[w] >>= 32;
            }
            c->fill -= 32;
            ++c->word;
        }
    }
}

/* Ensures: words of the integer whose pieces are the sums from `position` on, modulo 2**(32 count). */
XL_FUNCTION void xl_number_sum(const xl_numbers *job, const int32_t *pieces, int64_t position, int64_t groups,
                               uint32_t *words, int64_t count) {
    int64_t sums[XL_PIECE_ROWS][XL_DIGIT_LANES] XL_ALIGNED;
    xl_piece_carry carry;
    memset(&carry, 0, sizeof carry);
    for (; carry.word < count; position += XL_PIECE_ROWS) {
        if (position < job->positions)
            xl_piece_sums(sums, job->weights + position, job->row, pieces, groups, job->pieces);
        else
            memset(sums, 0, sizeof sums);
        xl_number_carry(&carry, sums, (int32_t)job->bits, words, count);
    }
}

/* Pieces of the multiple of the modulus that is nearest to the sum, or nearly so. */
XL_FUNCTION void xl_number_quotient(const xl_numbers *job, xl_number_room *room) {
    const int64_t words = job->top_words, length = words + job->reciprocal_words;
    uint32_t *top = room->top, *product = top + words * XL_DIGIT_LANES;
    xl_number_sum(job, room->pieces, job->top_position, job->groups, top, words);
    xl_number_add_constant(top, words, job->top_offset);
    memset(product, 0, (size_t)((length + job->merged_words) * XL_DIGIT_LANES) * sizeof *product);
    XL_EACH_NUMBER(w) {
        product[(job->places - 1) * XL_DIGIT_LANES + w] = (uint32_t)1 << 31;
    }
    for (int64_t i = 0; i < job->reciprocal_words; ++i)
        xl_number_add(product + i * XL_DIGIT_LANES, length - i, top, words, job->reciprocal[i]);
    product += job->places * XL_DIGIT_LANES;
    xl_number_add_constant(product, job->merged_words, job->quotient_halves);
    xl_number_cut(room->pieces + job->groups * job->pieces * XL_DIGIT_LANES, product, job->pieces, (int32_t)job->bits);
}

/* Bits of a magnitude, of words in two's complement. */
XL_FUNCTION int64_t xl_number_length(const uint32_t *words, int64_t count) {
    const uint32_t sign = words[count - 1] >> 31 ? ~(uint32_t)0 : 0;
    int64_t k = count - 1, bits = 0, power;
    while (k > 0 && words[k] == sign)
        --k;
    for (uint32_t rest = words[k] ^ sign; rest; rest >>= 1)
        ++bits;
    power = sign && ((words[k] ^ sign) & ((words[k] ^ sign) + 1)) == 0; /* -2**bits, if all words below are 0 */
    for (int64_t j = 0; j < k && power; ++j)
        power = words[j] == 0;
    return 32 * k + bits + power;
}

XL_FUNCTION void xl_number_store(const xl_numbers *job, const uint32_t *words, int64_t entry, int64_t end) {
    const int64_t count = job->result_words;
    for (int64_t w = 0; w < XL_DIGIT_LANES && entry + w < end; ++w) {
        uint32_t *to = job->result + (entry + w) * count;
        for (int64_t j = 0; j < count; ++j)
            to[j] = words[j * XL_DIGIT_LANES + w];
        job->lengths[entry + w] = xl_number_length(to, count);
    }
}

int64_t XL_ENTRY(numbers)(const xl_numbers *job, int64_t begin, int64_t end) {
    const int64_t merged = job->merged_words + job->words, result = job->result_words;
    const int64_t top = 2 * job->top_words + job->reciprocal_words + job->merged_words;
    const int64_t pieces = (job->groups + 1) * job->pieces;
    const int64_t vectors = pieces + 2 * merged + top + result;
    char *memory = malloc((size_t)(vectors * XL_DIGIT_LANES) * sizeof(uint32_t) + XL_LINE);
    xl_number_room room;
    if (memory == NULL)
        return XL_OUT_OF_MEMORY;
    room.pieces = (int32_t *)(void *)(memory + (XL_LINE - (uintptr_t)memory % XL_LINE));
    room.first = (uint32_t *)room.pieces + pieces * XL_DIGIT_LANES;
    room.second = room.first + merged * XL_DIGIT_LANES;
    room.top = room.second + merged * XL_DIGIT_LANES;
    for (int64_t entry = begin; entry < end; entry += XL_DIGIT_LANES) {
        uint32_t *words = room.top + top * XL_DIGIT_LANES;
        for (int64_t group = 0; group < job->groups; ++group)
            xl_number_merge(job, &room, group, entry, end);
        xl_number_quotient(job, &room);
        xl_number_sum(job, room.pieces, 0, job->groups + 1, words, result);
        xl_number_store(job, words, entry, end);
    }
    free(memory);
    return 0;
}

#endif
