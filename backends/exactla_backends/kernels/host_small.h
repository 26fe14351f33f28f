/* Small products without residues: digits of 28 bits, whose products are summed in 64 bits. The entry point
 * small_product.
 *
 * A conversion to residues costs the same for every entry, whatever is done with it; here an entry costs next to
 * nothing, and a product of entries digits * digits multiplications. */
#ifndef XL_HOST_SMALL_H
#define XL_HOST_SMALL_H

#include "host_blocks.h"
#include "host_residues.h"
#include "host_results.h"

#define XL_SUMS (2 * XL_MOST_DIGITS - 1)
#define XL_SUM_PITCH (XL_LANES + XL_DIGIT_LANES) /* vectors of sums may run past the last lane */

/* Requires: integers x of limbs with -2**(28 digits - 1) <= x < 2**(28 digits - 1), 32 count >= 28 digits.
 * Ensures: x = sum of found[i][w] * 2**(28 i), all but the last digit not negative. */
XL_STAGE void xl_digits(int32_t found[XL_MOST_DIGITS][XL_LANES], const uint32_t *limbs, int32_t count,
                        int32_t digits) {
    for (int32_t i = 0; i < digits; ++i) {
        const int32_t place = i * XL_DIGIT_BITS / 32, shift = i * XL_DIGIT_BITS % 32;
        const int32_t above = place + 1 < count ? place + 1 : place;
        const int32_t up = i == digits - 1 ? 32 - XL_DIGIT_BITS : 0;
        const uint32_t mask = up ? ~(uint32_t)0 : ((uint32_t)1 << XL_DIGIT_BITS) - 1;
        XL_EACH_LANE(w) {
            const uint64_t both = (uint64_t)limbs[above * XL_LANES + w] << 32 | limbs[place * XL_LANES + w];
            found[i][w] = (int32_t)(((uint32_t)(both >> shift) & mask) << up) >> up;
        }
    }
}

/* Ensures: digits of a block: of rows of the left operand at to[(i * rows + row) * depth + k], or with padded not 0, of
 * columns of the right one, in their slots, at to[(k * digits + i) * padded + slot of the row]. */
XL_FUNCTION void xl_store_digits(int32_t *to, const xl_operand *operand, const xl_block *block, int64_t padded,
                                 int32_t found[XL_MOST_DIGITS][XL_LANES], int32_t digits) {
    for (int32_t i = 0; i < digits; ++i)
        for (int32_t r = 0; r < block->rows; ++r) {
            const int64_t row = block->row + r, first = block->first;
            const int32_t *from = found[i] + r * block->count;
            if (padded == 0)
                xl_copy(to + (i * operand->rows + row) * operand->depth + first, from, block->count * 4);
            else
                for (int32_t k = 0; k < block->count; ++k)
                    to[((first + k) * digits + i) * padded + XL_DIGIT_SLOT(row)] = from[k];
        }
}

/* Ensures: digits of all entries as xl_store_digits has it; returns how many entries break their scan. */
XL_FUNCTION int64_t operand_digits(int32_t *to, const xl_operand *operand, int64_t padded, int32_t digits) {
    const xl_format format = xl_format_read(operand->format);
    const int32_t count = (XL_DIGIT_BITS * digits + 31) / 32;
    uint64_t words[XL_TILE_ROWS * XL_LANES] XL_ALIGNED;
    uint32_t limbs[XL_MOST_DIGITS * XL_LANES] XL_ALIGNED, powers[XL_LANES] XL_ALIGNED;
    int32_t found[XL_MOST_DIGITS][XL_LANES] XL_ALIGNED;
    int64_t broken = 0;
    xl_walk walk = xl_walk_of(0, operand->rows, operand->depth);
    xl_block block;
    while (xl_next_block(&walk, &block)) {
        if (block.slot == 0)
            xl_load_tile(words, operand, &walk.tile, format.octets);
        broken += block_limbs(limbs, count, operand, &format, &block, words + block.slot * XL_LANES, powers, 0);
        xl_digits(found, limbs, count, digits);
        xl_store_digits(to, operand, &block, padded, found, digits);
    }
    return broken;
}

/* Ensures: limbs of the integers sum of sums[p][w] * 2**(28 p) modulo 2**(32 count). */
XL_STAGE void xl_digits_carried(uint32_t *limbs, int32_t count, int64_t sums[XL_SUMS][XL_SUM_PITCH], int32_t digits) {
    int64_t carry[XL_LANES] XL_ALIGNED;
    uint64_t held[XL_LANES] XL_ALIGNED; /* `fill` bits that are in no limb yet */
    const int32_t last = 2 * digits - 2;
    int32_t fill = 0, limb = 0;
    XL_EACH_LANE(w) {
        carry[w] = 0;
        held[w] = 0;
    }
    for (int32_t p = 0; limb < count; ++p) {
        XL_EACH_LANE(w) {
            const int64_t sum = carry[w] + (p <= last ? sums[p][w] : 0);
            held[w] |= ((uint64_t)sum & (((uint64_t)1 << XL_DIGIT_BITS) - 1)) << fill;
            carry[w] = sum >> XL_DIGIT_BITS;
        }
        fill += XL_DIGIT_BITS;
        if (fill >= 32) {
            XL_EACH_LANE(w) {
                limbs[limb * XL_LANES + w] = (uint32_t)held[w];
                held[w] >>= 32;
            }
            fill -= 32;
            ++limb;
        }
    }
}

int64_t XL_ENTRY(small_scratch)(int64_t rows, int64_t depth, int64_t columns, int32_t digits, int32_t limbs) {
    const int64_t padded = (columns + XL_DIGIT_LANES - 1) / XL_DIGIT_LANES * XL_DIGIT_LANES;
    return (rows + padded) * depth * digits * (int64_t)sizeof(int32_t) + (XL_ROUND_PAD + limbs) * (int64_t)XL_LANE_BYTES;
}

int64_t XL_ENTRY(small_product)(const xl_operand *left, const xl_operand *right, int32_t digits, int32_t limbs,
                                const int64_t *format, const xl_encodings *encodings, int64_t count, void *scratch) {
    const xl_format target = xl_format_read(format);
    const xl_exponents exponents = {left->exponents, right->exponents, 0};
    const int64_t depth = left->depth, columns = right->rows;
    const int64_t padded = (columns + XL_DIGIT_LANES - 1) / XL_DIGIT_LANES * XL_DIGIT_LANES;
    uint32_t *lanes = scratch, *found = lanes + XL_ROUND_PAD * XL_LANES;
    int32_t *rights = (int32_t *)(found + limbs * XL_LANES), *lefts = rights + padded * depth * digits;
    int64_t sums[XL_SUMS][XL_SUM_PITCH] XL_ALIGNED;
    int64_t exponent[XL_LANES] XL_ALIGNED, broken;
    uint64_t words[XL_LANES] XL_ALIGNED;
    xl_rounded rounded;
    xl_walk walk = xl_walk_of(0, left->rows, columns);
    xl_block block;
    memset(lanes, 0, XL_ROUND_PAD * XL_LANE_BYTES);
    memset(sums, 0, sizeof sums);
    if (padded != columns)
        memset(rights, 0, (size_t)(padded * depth * digits) * sizeof *rights);
    broken = operand_digits(rights, right, padded, digits) + operand_digits(lefts, left, 0, digits);
    while (xl_next_block(&walk, &block)) {
        for (int32_t r = 0; r < block.rows; ++r)
            for (int32_t c = 0; c < block.count; c += XL_DIGIT_LANES)
                xl_digit_sums(sums[0] + r * block.count + c, XL_SUM_PITCH,
                              lefts + (block.row + r) * depth, left->rows * depth, rights + block.first + c, padded,
                              depth, digits);
        xl_digits_carried(found, limbs, sums, digits);
        lane_exponents(exponent, &exponents, &block);
        xl_round_limbs(&rounded, found, limbs, exponent, &target);
        for (int64_t e = 0; e < count; ++e) {
            char *to = (char *)encodings[e].data + block.row * encodings[e].row_stride + block.first * target.octets;
            xl_encode(words, &rounded, encodings[e].rounding, &target);
            xl_store_words(to, encodings[e].row_stride, target.octets, words, block.rows, block.count);
        }
    }
    return broken;
}

#endif
