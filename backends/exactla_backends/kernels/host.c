/* The kernels for a host: loops over blocks of lanes. Compiled once for each instruction set; see xl_host.h. */
#include "xl_host.h"
#include "host_blocks.h"
#include "xl_scan.h"
#include "xl_residues.h"
#include "xl_crt.h"
#include "xl_round.h"
#include "xl_interval.h"
#include "xl_special.h"

#define XL_LANE_BYTES ((size_t)XL_LANES * sizeof(uint32_t))

/* Requires: 0 < size.
 * Ensures: `size` lane vectors of 32-bit words, or null. */
static uint32_t *allocate_lanes(int64_t size) {
    return malloc((size_t)size * XL_LANE_BYTES);
}

/* ---- looking over operands ---- */

static void merge_row(const xl_ranges *ranges, int32_t first, int32_t count, int64_t *lowest, int64_t *highest) {
    int64_t low = *lowest, high = *highest;
    for (int32_t w = first; w < first + count; ++w) {
        low = ranges->lowest[w] < low ? ranges->lowest[w] : low;
        high = ranges->highest[w] > high ? ranges->highest[w] : high;
    }
    *lowest = low;
    *highest = high;
}

static void merge_block(const xl_ranges *ranges, const xl_block *block, int64_t *lowest, int64_t *highest) {
    if (block->rows == 1)
        merge_row(ranges, 0, XL_LANES, lowest + block->row, highest + block->row);
    else
        for (int32_t r = 0; r < block->rows; ++r)
            merge_row(ranges, r * block->count, block->count, lowest + block->row + r, highest + block->row + r);
}

/* Lanes without an entry look like the integer 0 to the scan. */
static int64_t scan_words(const xl_operand *operand, int64_t begin, int64_t end, int64_t *lowest, int64_t *highest) {
    const xl_format format = xl_format_read(operand->format);
    uint64_t words[XL_TILE_ROWS * XL_LANES] XL_ALIGNED;
    xl_ranges ranges[XL_TILE_ROWS];
    int64_t nonfinite = 0;
    for (int64_t row = begin; row < end; row += xl_tile_rows(operand->depth))
        for (int64_t first = 0; first < operand->depth; first += XL_LANES) {
            const xl_tile tile = xl_tile_at(row, end, first, operand->depth);
            xl_load_tile(words, operand, &tile, format.octets);
            for (int32_t i = 0; i < xl_tile_blocks(&tile); ++i) {
                const xl_block block = xl_block_of(&tile, i);
                if (first == 0)
                    xl_ranges_clear(&ranges[i]);
                xl_scan(&ranges[i], words + i * XL_LANES, &format);
                if (!block.last)
                    continue;
                merge_block(&ranges[i], &block, lowest, highest);
                XL_EACH_LANE(w) nonfinite += ranges[i].nonfinite[w];
            }
        }
    return nonfinite;
}

static int64_t scan_limbs(const xl_operand *operand, int64_t begin, int64_t end, int64_t *lowest, int64_t *highest) {
    const int32_t count = (int32_t)operand->limbs;
    uint32_t *limbs = allocate_lanes(count);
    uint32_t negative[XL_LANES];
    xl_ranges ranges;
    if (limbs == NULL)
        return XL_OUT_OF_MEMORY;
    for (int64_t row = begin; row < end; row += xl_tile_rows(operand->depth))
        for (int64_t first = 0; first < operand->depth; first += XL_LANES) {
            const xl_tile tile = xl_tile_at(row, end, first, operand->depth);
            for (int32_t i = 0; i < xl_tile_blocks(&tile); ++i) {
                const xl_block block = xl_block_of(&tile, i);
                xl_load_limbs(limbs, operand, &block, count);
                xl_limbs_sign(negative, limbs, count);
                xl_limbs_negate(limbs, limbs, count, negative);
                XL_EACH_LANE(w) ranges.lowest[w] = ranges.highest[w] = 0;
                for (int32_t j = 0; j < count; ++j)
                    XL_EACH_LANE(w) {
                        const uint32_t limb = limbs[j * XL_LANES + w];
                        ranges.highest[w] = limb ? 32 * j + (int64_t)xl_bit_length(limb) : ranges.highest[w];
                    }
                merge_block(&ranges, &block, lowest, highest);
            }
        }
    free(limbs);
    return 0;
}

int64_t XL_ENTRY(scan)(const xl_operand *operand, int64_t begin, int64_t end, int64_t *lowest, int64_t *highest) {
    return operand->limbs ? scan_limbs(operand, begin, end, lowest, highest)
                          : scan_words(operand, begin, end, lowest, highest);
}

int64_t XL_ENTRY(first_nonfinite)(const xl_operand *operand, int64_t begin, int64_t end) {
    const xl_format format = xl_format_read(operand->format);
    if (format.kind != XL_KIND_FLOAT)
        return -1;
    for (int64_t row = begin; row < end; ++row) {
        const char *from = (const char *)operand->data + row * operand->row_stride;
        for (int64_t k = 0; k < operand->depth; ++k)
            if (!xl_is_finite(xl_load(from + k * operand->depth_stride, format.octets), &format))
                return row * operand->depth + k;
    }
    return -1;
}

/* ---- operands to residues ---- */

/* Ensures: two's complement limbs of a block of the operand; returns how many entries break their scan. */
XL_FUNCTION int64_t block_limbs(uint32_t *limbs, int32_t count, const xl_operand *operand, const xl_format *format,
                                const xl_block *block, const uint64_t words[XL_LANES], uint32_t powers[XL_LANES],
                                int64_t blocks) {
    int64_t shift[XL_LANES] XL_ALIGNED;
    xl_entries x;
    int64_t broken;
    xl_spread_rows(shift, operand->exponents, block);
    if (operand->limbs) {
        const int32_t given = operand->limbs < count ? (int32_t)operand->limbs : count;
        xl_load_limbs(limbs, operand, block, given);
        xl_limbs_extend(limbs, given, count);
        xl_limbs_shift(limbs, count, shift);
        return 0;
    }
    xl_decode(&x, words, format);
    XL_EACH_LANE(w) shift[w] = x.exponent[w] - shift[w];
    broken = xl_count_broken(&x, shift, operand->bits, format->precision);
    if (blocks)
        XL_EACH_LANE(w) {
            const int64_t power = shift[w] < 0 ? 0 : shift[w] >> 6;
            powers[w] = (uint32_t)(power < blocks ? power : blocks - 1); /* the limit is for entries that break it */
            shift[w] -= 64 * (int64_t)powers[w];
        }
    xl_limbs_of(limbs, count, &x, shift);
    return broken;
}

XL_FUNCTION void block_residues8(const uint32_t *limbs, const xl_residue_table *table, const xl_planes *planes,
                                 const xl_block *block) {
    int8_t residues[4][XL_LANES] XL_ALIGNED;
    const int32_t count = (int32_t)table->limbs, moduli = (int32_t)table->moduli;
    for (int32_t p = 0; p < moduli; p += 4) {
        xl_residues8(residues, limbs, count, (const int32_t *)table->constants + p * XL_RESIDUE_FIELDS,
                     table->weights + (int64_t)p * count);
        for (int32_t i = 0; i < 4 && p + i < moduli; ++i)
            xl_store_plane(planes, p + i, residues[i], block);
    }
}

XL_FUNCTION void block_residues16(const uint32_t *limbs, const xl_residue_table *table, const xl_planes *planes,
                                  const xl_block *block, const uint32_t powers[XL_LANES]) {
    int8_t digits[4][XL_LANES] XL_ALIGNED;
    const int32_t count = (int32_t)table->limbs, moduli = (int32_t)table->moduli;
    for (int32_t p = 0; p < moduli; p += 2) {
        const uint32_t *table_powers = table->powers ? table->powers + p * table->blocks : NULL;
        xl_residues16(digits, limbs, count, (const uint32_t *)table->constants + p * XL_RESIDUE_FIELDS,
                      table->weights + 2 * (int64_t)p * count, table_powers, (int32_t)table->blocks, powers);
        for (int32_t i = 0; i < 4 && 2 * p + i < 2 * moduli; ++i)
            xl_store_plane(planes, 2 * p + i, digits[i], block);
    }
}

XL_FUNCTION void block_residues(uint32_t *limbs, const xl_residue_table *table, const xl_planes *planes,
                                const xl_block *block, const uint32_t powers[XL_LANES], int32_t octets) {
    xl_limbs_bias(limbs, (int32_t)table->limbs);
    if (octets == 1)
        block_residues8(limbs, table, planes, block);
    else
        block_residues16(limbs, table, planes, block, powers);
}

XL_FUNCTION int64_t residues(const xl_operand *operand, const xl_residue_table *table, const xl_planes *planes,
                             int64_t begin, int64_t end, int32_t octets) {
    const xl_format format = xl_format_read(operand->format);
    const int32_t count = (int32_t)table->limbs;
    uint64_t words[XL_TILE_ROWS * XL_LANES] XL_ALIGNED;
    uint32_t powers[XL_LANES] XL_ALIGNED;
    uint32_t *limbs = allocate_lanes(count);
    int64_t broken = 0;
    if (limbs == NULL)
        return XL_OUT_OF_MEMORY;
    for (int64_t row = begin; row < end; row += xl_tile_rows(operand->depth))
        for (int64_t first = 0; first < operand->depth; first += XL_LANES) {
            const xl_tile tile = xl_tile_at(row, end, first, operand->depth);
            if (!operand->limbs)
                xl_load_tile(words, operand, &tile, format.octets);
            for (int32_t i = 0; i < xl_tile_blocks(&tile); ++i) {
                const xl_block block = xl_block_of(&tile, i);
                broken += block_limbs(limbs, count, operand, &format, &block, words + i * XL_LANES, powers,
                                      table->powers ? table->blocks : 0);
                block_residues(limbs, table, planes, &block, powers, octets);
            }
        }
    free(limbs);
    return broken;
}

int64_t XL_ENTRY(residues8)(const xl_operand *operand, const xl_residue_table *table, const xl_planes *planes,
                            int64_t begin, int64_t end) {
    return residues(operand, table, planes, begin, end, 1);
}

int64_t XL_ENTRY(residues16)(const xl_operand *operand, const xl_residue_table *table, const xl_planes *planes,
                             int64_t begin, int64_t end) {
    return residues(operand, table, planes, begin, end, 2);
}

/* ---- interval pieces ---- */

typedef struct {
    const xl_operand *operand;
    xl_format format;
    uint64_t words[XL_TILE_ROWS * XL_LANES] XL_ALIGNED;
    uint32_t *limbs;
} interval_part;

static void load_part(interval_part *part, const xl_tile *tile) {
    if (!part->operand->limbs)
        xl_load_tile(part->words, part->operand, tile, part->format.octets);
}

static int64_t place_part(interval_part *part, const xl_block *block, int32_t count) {
    return block_limbs(part->limbs, count, part->operand, &part->format, block, part->words + block->slot * XL_LANES,
                       NULL, 0);
}

int64_t XL_ENTRY(interval_residues)(const xl_operand *first, const xl_operand *second, int32_t endpoints,
                                    int32_t octets, const xl_residue_table *table, const xl_planes *planes,
                                    int64_t begin, int64_t end, int64_t *invalid) {
    const int32_t count = (int32_t)table->limbs;
    uint32_t *limbs = allocate_lanes((2 + XL_PIECES) * (int64_t)count), *pieces = limbs + 2 * count * XL_LANES;
    const uint32_t no_powers[XL_LANES] = {0};
    int64_t broken = 0;
    interval_part x, y;
    if (limbs == NULL)
        return XL_OUT_OF_MEMORY;
    x.operand = first;
    y.operand = second;
    x.format = xl_format_read(first->format);
    y.format = xl_format_read(second->format);
    x.limbs = limbs;
    y.limbs = limbs + count * XL_LANES;
    for (int64_t row = begin; row < end; row += xl_tile_rows(first->depth))
        for (int64_t k = 0; k < first->depth; k += XL_LANES) {
            const xl_tile tile = xl_tile_at(row, end, k, first->depth);
            load_part(&x, &tile);
            load_part(&y, &tile);
            for (int32_t i = 0; i < xl_tile_blocks(&tile); ++i) {
                const xl_block block = xl_block_of(&tile, i);
                broken += place_part(&x, &block, count) + place_part(&y, &block, count);
                *invalid += xl_interval_pieces(pieces, x.limbs, y.limbs, count, endpoints);
                for (int32_t piece = 0; piece < XL_PIECES; ++piece)
                    block_residues(pieces + piece * count * XL_LANES, table, &planes[piece], &block, no_powers,
                                   octets);
            }
        }
    free(limbs);
    return broken;
}

/* ---- non-finite entries ---- */

void XL_ENTRY(classify)(const xl_operand *operand, const xl_planes *classes, int64_t begin, int64_t end) {
    const xl_format format = xl_format_read(operand->format);
    uint64_t words[XL_TILE_ROWS * XL_LANES] XL_ALIGNED;
    int8_t values[XL_CLASSES][XL_LANES] XL_ALIGNED;
    for (int64_t row = begin; row < end; row += xl_tile_rows(operand->depth))
        for (int64_t first = 0; first < operand->depth; first += XL_LANES) {
            const xl_tile tile = xl_tile_at(row, end, first, operand->depth);
            xl_load_tile(words, operand, &tile, format.octets);
            for (int32_t i = 0; i < xl_tile_blocks(&tile); ++i) {
                const xl_block block = xl_block_of(&tile, i);
                xl_classify(values, words + i * XL_LANES, &format);
                for (int32_t piece = 0; piece < XL_CLASSES; ++piece)
                    xl_store_plane(&classes[piece], 0, values[piece], &block);
            }
        }
}

/* ---- residues to integers and encodings ---- */

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
            XL_EACH_LANE(w) target[w] |= weighed[w] << shift;
        }
    }
    xl_crt_quotient(packed, groups, place, (int32_t)table->quotient_octets, table->weights);
    xl_crt_sum(limbs, (int32_t)table->limbs, packed, groups, table->weights + 4 * groups);
}

int64_t XL_ENTRY(integers)(const xl_results *results, const xl_crt_table *table, uint32_t *limbs, int64_t limb_stride,
                           int64_t entry_stride, int64_t begin, int64_t end) {
    const int64_t count = table->limbs;
    uint32_t *found = allocate_lanes(count + table->groups), *packed = found + count * XL_LANES;
    if (found == NULL)
        return XL_OUT_OF_MEMORY;
    for (int64_t row = begin; row < end; row += xl_tile_rows(results->columns))
        for (int64_t first = 0; first < results->columns; first += XL_LANES) {
            const xl_tile tile = xl_tile_at(row, end, first, results->columns);
            for (int32_t i = 0; i < xl_tile_blocks(&tile); ++i) {
                const xl_block block = xl_block_of(&tile, i);
                results_limbs(found, packed, results, table, &block);
                for (int32_t r = 0; r < block.rows; ++r)
                    for (int32_t c = 0; c < block.count; ++c) {
                        const int64_t entry = (block.row + r) * results->columns + first + c;
                        for (int64_t j = 0; j < count; ++j)
                            limbs[j * limb_stride + entry * entry_stride] =
                                found[j * XL_LANES + r * block.count + c];
                    }
            }
        }
    free(found);
    return 0;
}

XL_FUNCTION void lane_exponents(int64_t exponent[XL_LANES], const xl_exponents *exponents, const xl_block *block) {
    xl_spread_rows(exponent, exponents->rows, block);
    for (int32_t r = 0; r < block->rows; ++r)
        for (int32_t c = 0; c < block->count; ++c)
            exponent[r * block->count + c] += exponents->columns[block->first + c];
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
    if (lanes == NULL)
        return XL_OUT_OF_MEMORY;
    memset(lanes, 0, XL_ROUND_PAD * XL_LANE_BYTES);
    for (int64_t row = begin; row < end; row += xl_tile_rows(results->columns))
        for (int64_t first = 0; first < results->columns; first += XL_LANES) {
            const xl_tile tile = xl_tile_at(row, end, first, results->columns);
            for (int32_t i = 0; i < xl_tile_blocks(&tile); ++i) {
                const xl_block block = xl_block_of(&tile, i);
                results_limbs(limbs, packed, results, table, &block);
                lane_exponents(exponent, exponents, &block);
                xl_round_limbs(&rounded, limbs, (int32_t)table->limbs, exponent, &target);
                for (int64_t e = 0; e < count; ++e) {
                    char *to = (char *)encodings[e].data + block.row * encodings[e].row_stride + first * target.octets;
                    xl_encode(words, &rounded, encodings[e].rounding, &target);
                    xl_store_words(to, encodings[e].row_stride, target.octets, words, block.rows, block.count);
                }
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
    if (lanes == NULL)
        return XL_OUT_OF_MEMORY;
    for (int64_t row = begin; row < end; row += xl_tile_rows(columns))
        for (int64_t first = 0; first < columns; first += XL_LANES) {
            const xl_tile tile = xl_tile_at(row, end, first, columns);
            for (int32_t i = 0; i < xl_tile_blocks(&tile); ++i) {
                const xl_block block = xl_block_of(&tile, i);
                char *at = (char *)encodings->data + block.row * encodings->row_stride + first * target.octets;
                for (int32_t s = 0; s < 3; ++s)
                    results_limbs(lanes + s * size, packed, &special[s], table, &block);
                xl_load_words(words, at, encodings->row_stride, target.octets, block.rows, block.count);
                xl_mark(words, lanes, lanes + size, lanes + 2 * size, (int32_t)table->limbs, &target);
                xl_store_words(at, encodings->row_stride, target.octets, words, block.rows, block.count);
            }
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
        XL_EACH_LANE(w) sum[w] = bias;
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
    const uint32_t modulus = constants[0], inverse = constants[1], half = modulus >> 1, bias = constants[3] + half;
    for (int64_t c = 0; c < columns; ++c) {
        uint32_t sum = bias;
        int16_t value;
        for (int64_t i = 0; i < count; ++i) {
            memcpy(&value, (const char *)terms[i].data + offset + 2 * c, 2);
            sum += (uint32_t)((int32_t)signs[i] * value);
        }
        value = (int16_t)((int32_t)xl_reduce32(sum, modulus, inverse) - (int32_t)half);
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
