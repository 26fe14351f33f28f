/* Operands to residues: the entry points residues8, residues16 and component_residues, and what intervals share with
 * them. */
#ifndef XL_HOST_RESIDUES_H
#define XL_HOST_RESIDUES_H

#include "host_blocks.h"
#include "xl_residues.h"

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
    XL_EACH_LANE(w)
        shift[w] = x.exponent[w] - shift[w];
    broken = xl_count_broken(&x, shift, operand->bits, format->precision, operand->checks & XL_MAY_DROP);
    if ((operand->checks & XL_EXPECT_FINITE) && format->kind == XL_KIND_FLOAT)
        XL_EACH_LANE(w)
            broken += (int64_t)(1 - xl_is_finite(words[w], format));
    if (blocks)
        xl_split_shift(shift, powers, blocks);
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
        xl_residues16(digits, limbs, count, (const uint32_t *)table->constants + p * XL_RESIDUE_FIELDS,
                      table->weights + 2 * (int64_t)p * count, table->blocks ? table->powers + p * table->blocks : NULL,
                      (int32_t)table->blocks, powers);
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

/* Requires: block after block of all components of an operand, the first one first.
 * Ensures: limbs grow by those of this component; returns how many entries break their scan, and one more where some overlap
 * the component before, whose last places are `before`. */
XL_FUNCTION int64_t add_component(uint32_t *limbs, uint32_t *more, int32_t count, const xl_operand *component,
                                  const xl_format *format, const xl_block *block, const uint64_t words[XL_LANES],
                                  int64_t before[XL_LANES]) {
    int64_t shift[XL_LANES] XL_ALIGNED;
    xl_entries x;
    int64_t broken;
    xl_decode(&x, words, format);
    broken = xl_overlap(&x, before) != 0;
    xl_spread_rows(shift, component->exponents, block);
    XL_EACH_LANE(w)
        shift[w] = x.exponent[w] - shift[w];
    broken += xl_count_broken(&x, shift, component->bits, format->precision, 0);
    xl_limbs_of(more, count, &x, shift);
    xl_limbs_add(limbs, limbs, more, count);
    return broken;
}

XL_FUNCTION int64_t sum_limbs(uint32_t *limbs, uint32_t *more, int32_t count, const xl_operand *components,
                              int32_t terms, const xl_format *format, const xl_block *block, const uint64_t *words) {
    int64_t before[XL_LANES] XL_ALIGNED;
    int64_t broken = 0;
    memset(limbs, 0, (size_t)count * XL_LANE_BYTES);
    XL_EACH_LANE(w)
        before[w] = XL_NONE;
    for (int32_t c = 0; c < terms; ++c)
        broken += add_component(limbs, more, count, &components[c], format, block,
                                words + (c * XL_TILE_ROWS + block->slot) * XL_LANES, before);
    return broken;
}

/* `operands` are one, or components of sums, of which there are `terms`. */
XL_FUNCTION int64_t residues(const xl_operand *operands, int32_t terms, const xl_residue_table *table,
                             const xl_planes *planes, int64_t begin, int64_t end, int32_t octets) {
    const xl_format format = xl_format_read(operands->format);
    const int64_t depth = operands->depth;
    const int32_t count = (int32_t)table->limbs;
    uint64_t words[XL_MOST_COMPONENTS * XL_TILE_ROWS * XL_LANES] XL_ALIGNED;
    uint32_t powers[XL_LANES] XL_ALIGNED;
    uint32_t *limbs = allocate_lanes(2 * count);
    int64_t broken = 0;
    xl_walk walk = xl_walk_of(begin, end, depth);
    xl_block block;
    if (limbs == NULL)
        return XL_OUT_OF_MEMORY;
    while (xl_next_block(&walk, &block)) {
        if (block.slot == 0 && !operands->limbs)
            for (int32_t c = 0; c < terms; ++c)
                xl_load_tile(words + c * XL_TILE_ROWS * XL_LANES, &operands[c], &walk.tile, format.octets);
        broken += terms == 1 ? block_limbs(limbs, count, operands, &format, &block, words + block.slot * XL_LANES,
                                           powers, table->blocks)
                             : sum_limbs(limbs, limbs + count * XL_LANES, count, operands, terms, &format,
                                         &block, words);
        block_residues(limbs, table, planes, &block, powers, octets);
    }
    free(limbs);
    return broken;
}

int64_t XL_ENTRY(residues8)(const xl_operand *operand, const xl_residue_table *table, const xl_planes *planes,
                            int64_t begin, int64_t end) {
    return residues(operand, 1, table, planes, begin, end, 1);
}

int64_t XL_ENTRY(residues16)(const xl_operand *operand, const xl_residue_table *table, const xl_planes *planes,
                             int64_t begin, int64_t end) {
    return residues(operand, 1, table, planes, begin, end, 2);
}

int64_t XL_ENTRY(component_residues)(const xl_operand *components, int32_t count, int32_t octets,
                                     const xl_residue_table *table, const xl_planes *planes, int64_t begin,
                                     int64_t end) {
    return residues(components, count, table, planes, begin, end, octets);
}

#endif
