/* Classes of non-finite entries: the entry point classify. */
#ifndef XL_HOST_SPECIAL_H
#define XL_HOST_SPECIAL_H

#include "host_blocks.h"
#include "xl_special.h"

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

#endif
