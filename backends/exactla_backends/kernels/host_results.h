/* Residues of results to integers, encodings and sums: the entry points integers, round,
 * round_components, mark and combine. */
#ifndef XL_HOST_RESULTS_H
#define XL_HOST_RESULTS_H

#include "host_blocks.h"
#include "xl_round.h"
#include "xl_crt.h"
#include "xl_special.h"

/* Ensures: two's complement limbs of a block of results; `packed` holds table->groups lane vectors. */
XL_FUNCTION void results_limbs(uint32_t *limbs, uint32_t *packed, const xl_results *results, const xl_crt_table *table,
                               const xl_block *block) {
    const int32_t moduli = (int32_t)table->moduli, groups = (int32_t)table->groups;
    int8_t residues8[4][XL_LANES] XL_ALIGNED;
    int16_t residues16[XL_LANES] XL_ALIGNED;
    uint32_t weighed[XL_LANES] XL_ALIGNED;
    int32_t place = moduli;
    memset(packed, 0, (size_t)groups * XL_LANE_BYTES);
    if (results->octets == 1)
        for (int32_t p = 0; p < moduli; p += 4) {
            for (int32_t i = 0; i < 4; ++i)
                xl_load_residues(residues8[i], results, p + i < moduli ? p + i : p, block, 1);
            xl_weigh8(packed + p / 4 * XL_LANES, residues8, table->constants + p * XL_CRT_FIELDS);
        }
    else {
        place = 2 * moduli;
        for (int32_t p = 0; p < moduli; ++p) {
            uint32_t *target = packed + p / 2 * XL_LANES;
            const int32_t shift = p % 2 * 16;
            xl_load_residues(residues16, results, p, block, 2);
            xl_crt_weigh16(weighed, residues16, table->constants + p * XL_CRT_FIELDS);
            XL_EACH_LANE(w)
                target[w] |= weighed[w] << shift;
        }
    }
    xl_crt_quotient(packed, groups, place, (int32_t)table->quotient_octets, table->weights);
    xl_crt_sum(limbs, (int32_t)table->limbs, packed, groups, table->weights + 4 * groups);
}

int64_t XL_ENTRY(integers)(const xl_results *results, const xl_crt_table *table, uint32_t *limbs, int64_t limb_stride,
                           int64_t entry_stride, int64_t begin, int64_t end) {
    const int64_t count = table->limbs;
    uint32_t *found = allocate_lanes(count + table->groups), *packed = found + count * XL_LANES;
    xl_walk walk = xl_walk_of(begin, end, results->columns);
    xl_block block;
    if (found == NULL)
        return XL_OUT_OF_MEMORY;
    while (xl_next_block(&walk, &block)) {
        results_limbs(found, packed, results, table, &block);
        for (int32_t r = 0; r < block.rows; ++r)
            for (int32_t c = 0; c < block.count; ++c) {
                const int64_t entry = (block.row + r) * results->columns + block.first + c;
                for (int64_t j = 0; j < count; ++j)
                    limbs[j * limb_stride + entry * entry_stride] = found[j * XL_LANES + r * block.count + c];
            }
    }
    free(found);
    return 0;
}

XL_FUNCTION void lane_exponents(int64_t exponent[XL_LANES], const xl_exponents *exponents, const xl_block *block) {
    xl_spread_rows(exponent, exponents->rows, block);
    for (int32_t r = 0; r < block->rows; ++r)
        for (int32_t c = 0; c < block->count; ++c)
            exponent[r * block->count + c] += exponents->columns[block->first + c] + exponents->shift;
}

int64_t XL_ENTRY(round)(const xl_results *results, const xl_crt_table *table, const xl_exponents *exponents,
                        const int64_t *format, const xl_encodings *encodings, int64_t count, int64_t begin,
                        int64_t end) {
    const xl_format target = xl_format_read(format);
    uint32_t *lanes = allocate_lanes(XL_ROUND_PAD + table->limbs + table->groups);
    uint32_t *limbs = lanes + XL_ROUND_PAD * XL_LANES, *packed = limbs + table->limbs * XL_LANES;
    int64_t exponent[XL_LANES] XL_ALIGNED;
    uint64_t words[XL_LANES] XL_ALIGNED;
    xl_rounded rounded;
    xl_walk walk = xl_walk_of(begin, end, results->columns);
    xl_block block;
    if (lanes == NULL)
        return XL_OUT_OF_MEMORY;
    memset(lanes, 0, XL_ROUND_PAD * XL_LANE_BYTES);
    while (xl_next_block(&walk, &block)) {
        results_limbs(limbs, packed, results, table, &block);
        lane_exponents(exponent, exponents, &block);
        xl_round_limbs(&rounded, limbs, (int32_t)table->limbs, exponent, &target);
        for (int64_t e = 0; e < count; ++e) {
            char *to = (char *)encodings[e].data + block.row * encodings[e].row_stride + block.first * target.octets;
            xl_encode(words, &rounded, encodings[e].rounding, &target);
            xl_store_words(to, encodings[e].row_stride, target.octets, words, block.rows, block.count);
        }
    }
    free(lanes);
    return 0;
}

/* Requires: lanes of 2 count + XL_ROUND_PAD limbs to work in, the padding and then the integers at limbs.
 * Ensures: words[i] is the nearest encoding of what words before it leave of integers times 2**exponent; returns how
 * many lanes have an encoding beyond the largest. */
XL_FUNCTION int64_t block_components(uint64_t *words, int64_t components, uint32_t *limbs, uint32_t *left, int32_t count,
                                     const int64_t exponent[XL_LANES], const xl_format *format) {
    int64_t shift[XL_LANES] XL_ALIGNED;
    int64_t beyond = 0;
    xl_rounded rounded;
    xl_entries x;
    for (int64_t i = 0; i < components; ++i) {
        uint64_t *found = words + i * XL_LANES;
        memcpy(left, limbs, (size_t)count * XL_LANE_BYTES);
        xl_round_limbs(&rounded, limbs, count, exponent, format);
        xl_encode(found, &rounded, XL_NEAREST, format);
        XL_EACH_LANE(w)
            beyond += (int64_t)(1 - xl_is_finite(found[w], format));
        if (i + 1 == components)
            break;
        xl_decode(&x, found, format);
        XL_EACH_LANE(w)
            shift[w] = x.exponent[w] - exponent[w];
        xl_limbs_of(limbs, count, &x, shift);
        xl_limbs_subtract(limbs, left, limbs, count);
    }
    return beyond;
}

/* Ensures: the components of each entry of a block lie next to each other. */
XL_FUNCTION void store_components(char *to, int64_t row_stride, const uint64_t *words, int64_t components,
                                  const xl_block *block) {
    for (int32_t r = 0; r < block->rows; ++r) {
        uint64_t *row = (uint64_t *)(void *)(to + r * row_stride);
        for (int32_t c = 0; c < block->count; ++c)
            for (int64_t i = 0; i < components; ++i)
                row[c * components + i] = words[i * XL_LANES + r * block->count + c];
    }
}

int64_t XL_ENTRY(round_components)(const xl_results *results, const xl_crt_table *table, const xl_exponents *exponents,
                                   const int64_t *format, const xl_encodings *encodings, int64_t components,
                                   int64_t begin, int64_t end) {
    const xl_format target = xl_format_read(format);
    const int64_t size = table->limbs * XL_LANES;
    uint32_t *lanes = allocate_lanes(XL_ROUND_PAD + 2 * table->limbs + table->groups);
    uint32_t *limbs = lanes + XL_ROUND_PAD * XL_LANES, *left = limbs + size, *packed = left + size;
    int64_t exponent[XL_LANES] XL_ALIGNED;
    uint64_t words[XL_MOST_COMPONENTS * XL_LANES] XL_ALIGNED;
    int64_t beyond = 0;
    xl_walk walk = xl_walk_of(begin, end, results->columns);
    xl_block block;
    if (lanes == NULL)
        return XL_OUT_OF_MEMORY;
    memset(lanes, 0, XL_ROUND_PAD * XL_LANE_BYTES);
    while (xl_next_block(&walk, &block)) {
        char *to = (char *)encodings->data + block.row * encodings->row_stride +
                   block.first * components * (int64_t)sizeof *words;
        results_limbs(limbs, packed, results, table, &block);
        lane_exponents(exponent, exponents, &block);
        beyond += block_components(words, components, limbs, left, (int32_t)table->limbs, exponent, &target);
        store_components(to, encodings->row_stride, words, components, &block);
    }
    free(lanes);
    return beyond;
}

/* Ensures: encodings[e] of a block of integers, in each direction. */
XL_FUNCTION void block_encodings(uint64_t *words, uint32_t *limbs, int32_t count, const int64_t exponent[XL_LANES],
                                 const xl_format *format, const xl_encodings *encodings, int64_t directions) {
    xl_rounded rounded;
    xl_round_limbs(&rounded, limbs, count, exponent, format);
    for (int64_t e = 0; e < directions; ++e)
        xl_encode(words + e * XL_LANES, &rounded, encodings[e].rounding, format);
}

int64_t XL_ENTRY(round_certified)(const xl_results *results, const xl_crt_table *table, const xl_exponents *exponents,
                                  const int64_t *format, const xl_encodings *encodings, int64_t count, int64_t slack,
                                  uint8_t *unsure, int64_t unsure_stride, int64_t begin, int64_t end) {
    const xl_format target = xl_format_read(format);
    const int32_t size = (int32_t)table->limbs;
    uint32_t *lanes = allocate_lanes(XL_ROUND_PAD + 2 * table->limbs + table->groups + 4 * count);
    uint32_t *moved = lanes + XL_ROUND_PAD * XL_LANES, *limbs = moved + size * XL_LANES;
    uint32_t *packed = limbs + size * XL_LANES;
    uint32_t below[XL_LANES] XL_ALIGNED, above[XL_LANES] XL_ALIGNED;
    uint64_t *low = (uint64_t *)(packed + table->groups * XL_LANES), *high = low + count * XL_LANES;
    int64_t exponent[XL_LANES] XL_ALIGNED;
    xl_walk walk = xl_walk_of(begin, end, results->columns);
    xl_block block;
    if (lanes == NULL)
        return XL_OUT_OF_MEMORY;
    memset(lanes, 0, XL_ROUND_PAD * XL_LANE_BYTES);
    while (xl_next_block(&walk, &block)) {
        results_limbs(limbs, packed, results, table, &block);
        lane_exponents(exponent, exponents, &block);
        xl_limbs_move(moved, limbs, size, slack, -1);
        xl_limbs_sign(below, moved, size);
        block_encodings(low, moved, size, exponent, &target, encodings, count);
        xl_limbs_move(moved, limbs, size, slack, 1);
        xl_limbs_sign(above, moved, size);
        block_encodings(high, moved, size, exponent, &target, encodings, count);
        for (int64_t e = 0; e < count; ++e) {
            char *to = (char *)encodings[e].data + block.row * encodings[e].row_stride + block.first * target.octets;
            xl_store_words(to, encodings[e].row_stride, target.octets, low + e * XL_LANES, block.rows,
                           block.count);
        }
        for (int32_t r = 0; r < block.rows; ++r)
            for (int32_t c = 0; c < block.count; ++c) {
                const int32_t w = r * block.count + c;
                int differ = below[w] != above[w];
                for (int64_t e = 0; e < count; ++e)
                    differ |= low[e * XL_LANES + w] != high[e * XL_LANES + w];
                unsure[(block.row + r) * unsure_stride + block.first + c] = (uint8_t)differ;
            }
    }
    free(lanes);
    return 0;
}

int64_t XL_ENTRY(mark)(const xl_results special[3], const xl_crt_table *table, const int64_t *format,
                       const xl_encodings *encodings, int64_t begin, int64_t end) {
    const xl_format target = xl_format_read(format);
    const int64_t size = table->limbs * XL_LANES, columns = special[0].columns;
    uint32_t *lanes = allocate_lanes(3 * table->limbs + table->groups), *packed = lanes + 3 * size;
    uint64_t words[XL_LANES] XL_ALIGNED;
    xl_walk walk = xl_walk_of(begin, end, columns);
    xl_block block;
    if (lanes == NULL)
        return XL_OUT_OF_MEMORY;
    while (xl_next_block(&walk, &block)) {
        char *at = (char *)encodings->data + block.row * encodings->row_stride + block.first * target.octets;
        for (int32_t s = 0; s < 3; ++s)
            results_limbs(lanes + s * size, packed, &special[s], table, &block);
        xl_load_words(words, at, encodings->row_stride, target.octets, block.rows, block.count);
        xl_mark(words, lanes, lanes + size, lanes + 2 * size, (int32_t)table->limbs, &target);
        xl_store_words(at, encodings->row_stride, target.octets, words, block.rows, block.count);
    }
    free(lanes);
    return 0;
}

/* ---- sums of residues ---- */

XL_FUNCTION void combine8(int8_t *to, const xl_results *terms, const int64_t *signs, int64_t count, int64_t offset,
                          int64_t columns, const uint32_t *constants) {
    const uint16_t modulus = (uint16_t)constants[0], inverse = (uint16_t)constants[1];
    const uint16_t half = modulus >> 1, bias = (uint16_t)(constants[3] + half);
    for (int64_t first = 0; first < columns; first += XL_LANES) {
        const int32_t some = columns - first < XL_LANES ? (int32_t)(columns - first) : XL_LANES;
        uint16_t sum[XL_LANES];
        XL_EACH_LANE(w)
            sum[w] = bias;
        for (int64_t i = 0; i < count; ++i) {
            const int8_t *from = (const int8_t *)terms[i].data + offset + first;
            const int16_t sign = (int16_t)signs[i];
            for (int32_t w = 0; w < some; ++w)
                sum[w] = (uint16_t)(sum[w] + sign * from[w]);
        }
        for (int32_t w = 0; w < some; ++w)
            to[first + w] = (int8_t)(xl_reduce16(sum[w], modulus, inverse) - half);
    }
}

XL_FUNCTION void combine16(char *to, const xl_results *terms, const int64_t *signs, int64_t count, int64_t offset,
                           int64_t columns, const uint32_t *constants) {
    for (int64_t c = 0; c < columns; ++c) {
        int32_t sum = 0;
        int16_t value;
        for (int64_t i = 0; i < count; ++i) {
            memcpy(&value, (const char *)terms[i].data + offset + 2 * c, 2);
            sum += (int32_t)signs[i] * value;
        }
        value = (int16_t)xl_centre_sum(sum, constants, 2);
        memcpy(to + 2 * c, &value, 2);
    }
}

void XL_ENTRY(combine)(void *result, const xl_results *terms, const int64_t *signs, int64_t count,
                       const xl_crt_table *table, int64_t begin, int64_t end) {
    for (int64_t p = 0; p < table->moduli; ++p)
        for (int64_t row = begin; row < end; ++row) {
            const int64_t offset = p * terms->plane_stride + row * terms->row_stride;
            char *to = (char *)result + offset;
            if (terms->octets == 1)
                combine8((int8_t *)to, terms, signs, count, offset, terms->columns,
                         table->constants + p * XL_CRT_FIELDS);
            else
                combine16(to, terms, signs, count, offset, terms->columns, table->constants + p * XL_CRT_FIELDS);
        }
}

#endif
