/* Classes of non-finite entries: the entry point classify. */
#ifndef XL_HOST_SPECIAL_H
#define XL_HOST_SPECIAL_H

#include "host_blocks.h"
#include "xl_special.h"

/* Requires: integers of limbs, which are looked at one by one.
 * Ensures: classes of the entries of a block. */
static void classify_limbs(int8_t classes[XL_CLASSES][XL_LANES], const xl_operand *operand, const xl_block *block) {
    uint32_t limb[XL_LANES] XL_ALIGNED, any[XL_LANES] XL_ALIGNED;
    xl_operand one = *operand;
    XL_EACH_LANE(w)
        any[w] = 0;
    one.limbs = 1;
    for (int64_t j = 0; j < operand->limbs; ++j) {
        one.data = (const char *)operand->data + j * operand->limb_stride;
        xl_load_limbs(limb, &one, block, 1);
        XL_EACH_LANE(w)
            any[w] |= limb[w];
    }
    xl_classify_limbs(classes, any, limb);
}

void XL_ENTRY(classify)(const xl_operand *operand, const xl_planes *classes, int64_t begin, int64_t end) {
    const xl_format format = xl_format_read(operand->format);
    uint64_t words[XL_TILE_ROWS * XL_LANES] XL_ALIGNED;
    int8_t values[XL_CLASSES][XL_LANES] XL_ALIGNED;
    xl_walk walk = xl_walk_of(begin, end, operand->depth);
    xl_block block;
    while (xl_next_block(&walk, &block)) {
        if (block.slot == 0 && !operand->limbs)
            xl_load_tile(words, operand, &walk.tile, format.octets);
        if (operand->limbs)
            classify_limbs(values, operand, &block);
        else
            xl_classify(values, words + block.slot * XL_LANES, &format);
        for (int32_t piece = 0; piece < XL_CLASSES; ++piece)
            xl_store_plane(&classes[piece], 0, values[piece], &block);
    }
}

#endif
