/* Cuts matrices into blocks of lanes, and loads and stores them: the only part of the host code that sees strides. */
#ifndef XL_HOST_BLOCKS_H
#define XL_HOST_BLOCKS_H

#include "xl_host.h"

#define XL_TILE_ROWS 8 /* rows whose entries are loaded together: entries of a transposed matrix share cache lines */

#define XL_CACHE_LINE 64
#define XL_ROWS_AHEAD 2

#define XL_LANE_BYTES ((size_t)XL_LANES * sizeof(uint32_t))

/* Requires: 0 < size.
 * Ensures: `size` lane vectors of 32-bit words, or null. */
XL_FUNCTION uint32_t *allocate_lanes(int64_t size) {
    return malloc((size_t)size * XL_LANE_BYTES);
}

/* Lanes r * count + k of a block hold the entries first + k of the rows row + r; further lanes hold none. */
typedef struct {
    int64_t row, first;
    int32_t rows, count;
    int32_t slot; /* which of XL_TILE_ROWS blocks side by side */
    int32_t last; /* whether the rows end with this block */
} xl_block;

/* Blocks of a tile: rows shorter than a block share one, longer ones have one each. */
typedef struct {
    int64_t row, first;
    int32_t rows, count, packed, last;
} xl_tile;

XL_FUNCTION int32_t xl_tile_rows(int64_t depth) {
    return 2 * depth <= XL_LANES && depth > 0 ? (int32_t)(XL_LANES / depth) : XL_TILE_ROWS;
}

XL_FUNCTION xl_tile xl_tile_at(int64_t row, int64_t end, int64_t first, int64_t depth) {
    const int32_t step = xl_tile_rows(depth);
    xl_tile tile;
    tile.row = row;
    tile.first = first;
    tile.rows = end - row < step ? (int32_t)(end - row) : step;
    tile.count = depth - first < XL_LANES ? (int32_t)(depth - first) : XL_LANES;
    tile.packed = 2 * depth <= XL_LANES;
    tile.last = first + XL_LANES >= depth;
    return tile;
}

XL_FUNCTION int32_t xl_tile_blocks(const xl_tile *tile) {
    return tile->packed ? 1 : tile->rows;
}

XL_FUNCTION xl_block xl_block_of(const xl_tile *tile, int32_t slot) {
    xl_block block;
    block.row = tile->packed ? tile->row : tile->row + slot;
    block.first = tile->first;
    block.rows = tile->packed ? tile->rows : 1;
    block.count = tile->count;
    block.slot = slot;
    block.last = tile->last;
    return block;
}

/* A walk over the blocks of rows of so many entries, tile after tile: `tile` holds the last block that was given out,
 * and `slot` is that of the next one. */
typedef struct {
    int64_t end, depth;
    xl_tile tile;
    int32_t slot;
} xl_walk;

XL_FUNCTION xl_walk xl_walk_of(int64_t begin, int64_t end, int64_t depth) {
    xl_walk walk;
    walk.end = depth > 0 ? end : begin;
    walk.depth = depth;
    walk.tile = xl_tile_at(begin, walk.end, 0, depth);
    walk.slot = 0;
    return walk;
}

/* Ensures: returns whether there is another block, and it is in `block`; the first one of a tile has slot 0. */
XL_FUNCTION int xl_next_block(xl_walk *walk, xl_block *block) {
    if (walk->slot > 0 && walk->slot == xl_tile_blocks(&walk->tile)) {
        const int64_t row = walk->tile.last ? walk->tile.row + xl_tile_rows(walk->depth) : walk->tile.row;
        walk->tile = xl_tile_at(row, walk->end, walk->tile.last ? 0 : walk->tile.first + XL_LANES, walk->depth);
        walk->slot = 0;
    }
    if (walk->tile.row >= walk->end)
        return 0;
    *block = xl_block_of(&walk->tile, walk->slot++);
    return 1;
}

/* Requires: octets is 1, 2, 4 or 8.
 * Ensures: the unsigned number there, in the order of octets of the host. */
XL_FUNCTION uint64_t xl_load(const char *from, int64_t octets) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (octets) {
    case 1:
        memcpy(&one, from, 1);
        return one;
    case 2:
        memcpy(&two, from, 2);
        return two;
    case 4:
        memcpy(&four, from, 4);
        return four;
    default:
        memcpy(&eight, from, 8);
        return eight;
    }
}

/* Ensures: so many octets are on their way into the second level cache; they may lie outside of any array. */
XL_FUNCTION void xl_fetch(const char *from, int64_t octets) {
#ifdef __GNUC__
    for (int64_t i = 0; i < octets; i += XL_CACHE_LINE)
        __builtin_prefetch(from + i, 0, 2);
#else
    (void)from;
    (void)octets;
#endif
}

/* Ensures: words[r * pitch + k] = entry k of row r, the loop over the smaller stride inside. Where that is the one from row
 * to row, caches do not see by themselves which entries come next: those of the next block are fetched, unless each of them
 * has a line to itself. */
XL_FUNCTION void xl_load_strided(uint64_t *words, int64_t pitch, const char *from, int32_t rows, int32_t count,
                                 int64_t row_stride, int64_t stride, int64_t octets) {
    if (stride == octets)
        for (int32_t r = 0; r < rows; ++r)
            for (int32_t k = 0; k < count; ++k)
                words[r * pitch + k] = xl_load(from + r * row_stride + k * octets, octets);
    else if (llabs(stride) <= llabs(row_stride))
        for (int32_t r = 0; r < rows; ++r)
            for (int32_t k = 0; k < count; ++k)
                words[r * pitch + k] = xl_load(from + r * row_stride + k * stride, octets);
    else
        for (int32_t k = 0; k < count; ++k) {
            if (row_stride <= XL_CACHE_LINE)
                xl_fetch(from + (k + count) * stride, rows * row_stride);
            for (int32_t r = 0; r < rows; ++r)
                words[r * pitch + k] = xl_load(from + r * row_stride + k * stride, octets);
        }
}

/* Ensures: block i of the tile in words[i * XL_LANES ...], and 0 in lanes without an entry. */
XL_FUNCTION void xl_load_tile(uint64_t words[XL_TILE_ROWS * XL_LANES], const xl_operand *x, const xl_tile *tile,
                              int64_t octets) {
    const char *from = (const char *)x->data + tile->row * x->row_stride + tile->first * x->depth_stride;
    const int64_t pitch = tile->packed ? tile->count : XL_LANES;
    if (tile->packed || tile->count < XL_LANES)
        memset(words, 0, sizeof(uint64_t) * XL_LANES * (size_t)xl_tile_blocks(tile));
    switch (octets) {
    case 1:
        xl_load_strided(words, pitch, from, tile->rows, tile->count, x->row_stride, x->depth_stride, 1);
        break;
    case 2:
        xl_load_strided(words, pitch, from, tile->rows, tile->count, x->row_stride, x->depth_stride, 2);
        break;
    case 4:
        xl_load_strided(words, pitch, from, tile->rows, tile->count, x->row_stride, x->depth_stride, 4);
        break;
    default:
        xl_load_strided(words, pitch, from, tile->rows, tile->count, x->row_stride, x->depth_stride, 8);
    }
}

/* Ensures: limbs of the entries of a block, 0 in lanes without an entry. */
XL_FUNCTION void xl_load_limbs(uint32_t *limbs, const xl_operand *x, const xl_block *block, int64_t limit) {
    const int64_t count = x->limbs < limit ? x->limbs : limit;
    memset(limbs, 0, sizeof(uint32_t) * XL_LANES * (size_t)count);
    for (int64_t j = 0; j < count; ++j)
        for (int32_t r = 0; r < block->rows; ++r) {
            const char *from = (const char *)x->data + j * x->limb_stride + (block->row + r) * x->row_stride;
            for (int32_t k = 0; k < block->count; ++k)
                limbs[j * XL_LANES + r * block->count + k] =
                    (uint32_t)xl_load(from + (block->first + k) * x->depth_stride, 4);
        }
}

/* Ensures: exponents[w] is that of the row of lane w; values without lanes are 0. */
XL_FUNCTION void xl_spread_rows(int64_t spread[XL_LANES], const int64_t *rows, const xl_block *block) {
    if (block->rows == 1) {
        const int64_t value = rows[block->row];
        XL_EACH_LANE(w)
            spread[w] = value;
        return;
    }
    XL_EACH_LANE(w)
        spread[w] = 0;
    for (int32_t r = 0; r < block->rows; ++r)
        for (int32_t k = 0; k < block->count; ++k)
            spread[r * block->count + k] = rows[block->row + r];
}

/* Ensures: memcpy(to, from, size), without a call for what are a few octets in small matrices. */
XL_FUNCTION void xl_copy(void *to, const void *from, int64_t size) {
    int64_t i = 0;
    for (; i + 16 <= size; i += 16)
        memcpy((char *)to + i, (const char *)from + i, 16);
    for (; i + 4 <= size; i += 4)
        memcpy((char *)to + i, (const char *)from + i, 4);
    for (; i < size; ++i)
        ((char *)to)[i] = ((const char *)from)[i];
}

/* Ensures: the entries of a block go to a plane, and 0 behind the last entry of a row. */
XL_FUNCTION void xl_store_plane(const xl_planes *planes, int64_t plane, const int8_t values[XL_LANES],
                                const xl_block *block) {
    /* copies, since octets that are stored may lie anywhere, as far as the compiler knows */
    const int64_t row_stride = planes->row_stride, count = block->count, rows = block->rows;
    const int64_t behind = block->last ? planes->depth - block->first - count : 0;
    int8_t *to = planes->data + plane * planes->plane_stride + block->row * row_stride + block->first;
    if (count == XL_LANES && behind == 0) {
        memcpy(to, values, XL_LANES);
        return;
    }
    for (int64_t r = 0; r < rows; ++r)
        xl_store_row(to + r * row_stride, values + r * count, count, behind);
}

/* Requires: octets <= 2.
 * Ensures: residues of the results of a block modulo one modulus, 0 in lanes without a result. Those of a later row are
 * fetched, since planes are more than caches follow by themselves. */
XL_FUNCTION void xl_load_residues(void *lanes, const xl_results *x, int64_t plane, const xl_block *block,
                                  int64_t octets) {
    const char *from =
        (const char *)x->data + plane * x->plane_stride + block->row * x->row_stride + block->first * octets;
    xl_fetch(from + XL_ROWS_AHEAD * x->row_stride, XL_LANES * octets);
    if (block->count == XL_LANES) {
        memcpy(lanes, from, (size_t)(XL_LANES * octets));
        return;
    }
    memset(lanes, 0, (size_t)(XL_LANES * octets));
    for (int32_t r = 0; r < block->rows; ++r)
        xl_copy((char *)lanes + r * block->count * octets, from + r * x->row_stride, block->count * octets);
}

/* Ensures: the entries of a block are stored in `octets` octets each, in the order of octets of the host. */
XL_FUNCTION void xl_store_words(char *to, int64_t row_stride, int64_t octets, const uint64_t words[XL_LANES],
                                int32_t rows, int32_t count) {
    uint8_t one[XL_LANES];
    uint16_t two[XL_LANES];
    uint32_t four[XL_LANES];
    const void *from = words;
    if (octets == 1) {
        XL_EACH_LANE(w)
            one[w] = (uint8_t)words[w];
        from = one;
    } else if (octets == 2) {
        XL_EACH_LANE(w)
            two[w] = (uint16_t)words[w];
        from = two;
    } else if (octets == 4) {
        XL_EACH_LANE(w)
            four[w] = (uint32_t)words[w];
        from = four;
    }
    for (int32_t r = 0; r < rows; ++r)
        xl_copy(to + r * row_stride, (const char *)from + r * count * octets, count * octets);
}

/* Ensures: words of the encodings of a block, 0 in lanes without one. */
XL_FUNCTION void xl_load_words(uint64_t words[XL_LANES], const char *from, int64_t row_stride, int64_t octets,
                               int32_t rows, int32_t count) {
    memset(words, 0, sizeof(uint64_t) * XL_LANES);
    for (int32_t r = 0; r < rows; ++r)
        for (int32_t k = 0; k < count; ++k)
            words[r * count + k] = xl_load(from + r * row_stride + k * octets, octets);
}

#endif
