/* The pieces of intervals and what the sharp product exceeds the hull by: interval_residues, interval_integers,
 * hull_excess. */
#ifndef XL_HOST_INTERVALS_H
#define XL_HOST_INTERVALS_H

#include "host_blocks.h"
#include "xl_hull.h"
#include "host_residues.h"

/* One of the two operands that intervals are given by: a tile of its words, and the limbs of a block. */
typedef struct {
    const xl_operand *operand;
    xl_format format;
    uint64_t words[XL_TILE_ROWS * XL_LANES] XL_ALIGNED;
    uint32_t *limbs;
} interval_part;

typedef struct {
    interval_part parts[2];
    uint32_t *pieces;
    int32_t count, endpoints;
    int64_t broken, invalid;
} interval_work;

/* Ensures: memory for integers of `count` limbs, released by free(work->parts[0].limbs); or returns XL_OUT_OF_MEMORY.
 */
static int64_t begin_intervals(interval_work *work, const xl_operand *first, const xl_operand *second,
                               int32_t endpoints, int64_t count) {
    uint32_t *limbs = allocate_lanes((2 + XL_PIECES) * count);
    if (limbs == NULL)
        return XL_OUT_OF_MEMORY;
    work->parts[0].operand = first;
    work->parts[1].operand = second;
    for (int32_t i = 0; i < 2; ++i) {
        work->parts[i].format = xl_format_read(work->parts[i].operand->format);
        work->parts[i].limbs = limbs + i * count * XL_LANES;
    }
    work->pieces = limbs + 2 * count * XL_LANES;
    work->count = (int32_t)count;
    work->endpoints = endpoints;
    work->broken = work->invalid = 0;
    return 0;
}

static void load_intervals(interval_work *work, const xl_tile *tile) {
    for (int32_t i = 0; i < 2; ++i)
        if (!work->parts[i].operand->limbs)
            xl_load_tile(work->parts[i].words, work->parts[i].operand, tile, work->parts[i].format.octets);
}

static void block_pieces(interval_work *work, const xl_block *block) {
    for (int32_t i = 0; i < 2; ++i) {
        interval_part *part = &work->parts[i];
        work->broken += block_limbs(part->limbs, work->count, part->operand, &part->format, block,
                                    part->words + block->slot * XL_LANES, NULL, 0);
    }
    work->invalid +=
        xl_interval_pieces(work->pieces, work->parts[0].limbs, work->parts[1].limbs, work->count, work->endpoints);
}

int64_t XL_ENTRY(interval_residues)(const xl_operand *first, const xl_operand *second, int32_t endpoints,
                                    int32_t octets, const xl_residue_table *table, const xl_planes *planes,
                                    int64_t begin, int64_t end, int64_t *invalid) {
    const uint32_t no_powers[XL_LANES] = {0};
    interval_work work;
    xl_walk walk = xl_walk_of(begin, end, first->depth);
    xl_block block;
    if (begin_intervals(&work, first, second, endpoints, table->limbs) != 0)
        return XL_OUT_OF_MEMORY;
    while (xl_next_block(&walk, &block)) {
        if (block.slot == 0)
            load_intervals(&work, &walk.tile);
        block_pieces(&work, &block);
        for (int32_t piece = 0; piece < XL_PIECES; ++piece)
            block_residues(work.pieces + piece * work.count * XL_LANES, table, &planes[piece], &block,
                           no_powers, octets);
    }
    free(work.parts[0].limbs);
    *invalid += work.invalid;
    return work.broken;
}

int64_t XL_ENTRY(interval_integers)(const xl_operand *first, const xl_operand *second, int32_t endpoints, int64_t limbs,
                                    uint32_t *pieces, int64_t begin, int64_t end, int64_t *invalid) {
    const int64_t rows = first->rows, depth = first->depth;
    interval_work work;
    xl_walk walk = xl_walk_of(begin, end, depth);
    xl_block block;
    if (begin_intervals(&work, first, second, endpoints, limbs) != 0)
        return XL_OUT_OF_MEMORY;
    while (xl_next_block(&walk, &block)) {
        if (block.slot == 0)
            load_intervals(&work, &walk.tile);
        block_pieces(&work, &block);
        for (int64_t limb = 0; limb < XL_PIECES * limbs; ++limb)
            for (int32_t r = 0; r < block.rows; ++r)
                memcpy(pieces + (limb * rows + block.row + r) * depth + block.first,
                       work.pieces + limb * XL_LANES + r * block.count, sizeof(uint32_t) * (size_t)block.count);
    }
    free(work.parts[0].limbs);
    *invalid += work.invalid;
    return work.broken;
}

/* Ensures: limbs of entry (row, k) of a piece, at to[j * stride]. */
static void load_piece(uint32_t *to, int64_t stride, const xl_interval_side *side, int64_t piece, int64_t row,
                       int64_t k) {
    for (int64_t j = 0; j < side->limbs; ++j)
        to[j * stride] = side->pieces[((piece * side->limbs + j) * side->rows + row) * side->depth + k];
}

/* Ensures: all ones where the intervals (rows first + w, k) straddle zero, 0 elsewhere; returns whether any does. */
static uint32_t load_straddling(uint32_t straddles[XL_LANES], const xl_interval_side *side, int64_t first,
                                int32_t count, int64_t k) {
    uint32_t one, any = 0;
    XL_EACH_LANE(w)
        straddles[w] = 0;
    for (int32_t w = 0; w < count; ++w) {
        one = side->pieces[(XL_STRADDLES * side->limbs * side->rows + first + w) * side->depth + k];
        straddles[w] = 0u - one;
        any |= one;
    }
    return any;
}

/* Ensures: low and high hold the excess of the results (row, first + w), w < count. */
static void row_excess(uint32_t *low, uint32_t *high, const xl_interval_side *left, const xl_interval_side *right,
                       int64_t row, int64_t first, int32_t count, uint32_t *scratch) {
    const int32_t n = (int32_t)left->limbs, limbs = (int32_t)right->limbs, total = n + limbs + 1;
    uint32_t *abs_a = scratch, *r_a = scratch + n, *m_a = scratch + 2 * n;
    uint32_t *abs_b = scratch + 3 * n, *r_b = abs_b + limbs * XL_LANES, *m_b = r_b + limbs * XL_LANES;
    uint32_t straddles[XL_LANES], opposite[XL_LANES];
    const xl_straddling a = {abs_a, r_a, n}, b = {abs_b, r_b, limbs};
    memset(low, 0, (size_t)total * XL_LANE_BYTES);
    memset(high, 0, (size_t)total * XL_LANE_BYTES);
    memset(abs_b, 0, 3 * (size_t)limbs * XL_LANE_BYTES);
    for (int64_t k = 0; k < left->depth; ++k) {
        if (load_straddling(straddles, left, row, 1, k) == 0 || load_straddling(straddles, right, first, count, k) == 0)
            continue;
        load_piece(abs_a, 1, left, XL_MAGNITUDE, row, k);
        load_piece(r_a, 1, left, XL_RADIUS, row, k);
        load_piece(m_a, 1, left, XL_MIDPOINT, row, k);
        for (int32_t w = 0; w < count; ++w) {
            load_piece(abs_b + w, XL_LANES, right, XL_MAGNITUDE, first + w, k);
            load_piece(r_b + w, XL_LANES, right, XL_RADIUS, first + w, k);
            load_piece(m_b + w, XL_LANES, right, XL_MIDPOINT, first + w, k);
        }
        xl_limbs_sign(opposite, m_b, limbs);
        XL_EACH_LANE(w)
            opposite[w] ^= 0u - (m_a[n - 1] >> 31);
        xl_hull_add(low, high, &a, &b, straddles, opposite, m_b + limbs * XL_LANES);
    }
}

int64_t XL_ENTRY(hull_excess)(const xl_interval_side *left, const xl_interval_side *right, int32_t octets,
                              const xl_residue_table *table, const xl_planes planes[2], int64_t begin, int64_t end) {
    const int64_t total = left->limbs + right->limbs + 1;
    const uint32_t no_powers[XL_LANES] = {0};
    uint32_t *low = allocate_lanes(6 * total + 3 * (left->limbs + right->limbs)), *high = low + total * XL_LANES;
    if (low == NULL)
        return XL_OUT_OF_MEMORY;
    for (int64_t row = begin; row < end; ++row)
        for (int64_t first = 0; first < right->rows; first += XL_LANES) {
            const int32_t count = right->rows - first < XL_LANES ? (int32_t)(right->rows - first) : XL_LANES;
            const xl_block block = {row, first, 1, count, 0, first + XL_LANES >= right->rows};
            row_excess(low, high, left, right, row, first, count, high + total * XL_LANES);
            block_residues(low, table, &planes[0], &block, no_powers, octets);
            block_residues(high, table, &planes[1], &block, no_powers, octets);
        }
    free(low);
    return 0;
}

#endif
