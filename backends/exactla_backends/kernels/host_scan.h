/* Looks over operands before planning: the entry points scan and first_nonfinite. */
#ifndef XL_HOST_SCAN_H
#define XL_HOST_SCAN_H

#include "host_blocks.h"
#include "xl_scan.h"
#include "xl_limbs.h"

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
    xl_walk walk = xl_walk_of(begin, end, operand->depth);
    xl_block block;
    while (xl_next_block(&walk, &block)) {
        if (block.slot == 0)
            xl_load_tile(words, operand, &walk.tile, format.octets);
        if (block.first == 0)
            xl_ranges_clear(&ranges[block.slot]);
        xl_scan(&ranges[block.slot], words + block.slot * XL_LANES, &format);
        if (!block.last)
            continue;
        merge_block(&ranges[block.slot], &block, lowest, highest);
        XL_EACH_LANE(w)
            nonfinite += ranges[block.slot].nonfinite[w];
    }
    return nonfinite;
}

static int64_t scan_limbs(const xl_operand *operand, int64_t begin, int64_t end, int64_t *lowest, int64_t *highest) {
    const int32_t count = (int32_t)operand->limbs;
    uint32_t *limbs = allocate_lanes(count);
    uint32_t negative[XL_LANES];
    xl_ranges ranges;
    xl_walk walk = xl_walk_of(begin, end, operand->depth);
    xl_block block;
    if (limbs == NULL)
        return XL_OUT_OF_MEMORY;
    while (xl_next_block(&walk, &block)) {
        xl_load_limbs(limbs, operand, &block, count);
        xl_limbs_sign(negative, limbs, count);
        xl_limbs_negate(limbs, limbs, count, negative);
        XL_EACH_LANE(w)
            ranges.lowest[w] = ranges.highest[w] = 0;
        for (int32_t j = 0; j < count; ++j)
            XL_EACH_LANE(w) {
                const uint32_t limb = limbs[j * XL_LANES + w];
                ranges.highest[w] = limb ? 32 * j + (int64_t)xl_bit_length(limb) : ranges.highest[w];
            }
        merge_block(&ranges, &block, lowest, highest);
    }
    free(limbs);
    return 0;
}

/* As scan_words for rows whose entries lie further apart than the rows: a lane has one row, and the loop follows memory. */
static int64_t scan_columns(const xl_operand *operand, int64_t begin, int64_t end, int64_t *lowest, int64_t *highest) {
    enum { AHEAD = 6 };
    const xl_format format = xl_format_read(operand->format);
    uint64_t words[XL_LANES] XL_ALIGNED;
    xl_ranges ranges;
    int64_t nonfinite = 0;
    for (int64_t row = begin; row < end; row += XL_LANES) {
        const int32_t count = end - row < XL_LANES ? (int32_t)(end - row) : XL_LANES;
        const char *from = (const char *)operand->data + row * operand->row_stride;
        xl_ranges_clear(&ranges);
        for (int64_t k = 0; k < operand->depth; ++k) {
            xl_fetch(from + (k + AHEAD) * operand->depth_stride, count * format.octets);
            xl_load_words(words, from + k * operand->depth_stride, 0, format.octets, 1, count);
            xl_scan(&ranges, words, &format);
        }
        for (int32_t w = 0; w < count; ++w) {
            merge_row(&ranges, w, 1, &lowest[row + w], &highest[row + w]);
            nonfinite += ranges.nonfinite[w];
        }
    }
    return nonfinite;
}

int64_t XL_ENTRY(scan)(const xl_operand *operand, int64_t begin, int64_t end, int64_t *lowest, int64_t *highest) {
    const int64_t octets = xl_format_read(operand->format).octets;
    if (operand->limbs)
        return scan_limbs(operand, begin, end, lowest, highest);
    if (operand->row_stride == octets && operand->depth_stride != octets && end - begin >= XL_LANES)
        return scan_columns(operand, begin, end, lowest, highest);
    return scan_words(operand, begin, end, lowest, highest);
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

#endif
