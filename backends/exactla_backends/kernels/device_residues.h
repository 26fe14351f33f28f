/* Kernels from entries to residues. */
#ifndef DEVICE_RESIDUES_H
#define DEVICE_RESIDUES_H

#include "xl_device_entries.h"

/* Planes of residues [stacks, planes, rows, padded depth], and their table. */
#define XL_PADDED_DEPTH 0
#define XL_MODULI 1
#define XL_TABLE_LIMBS 2
#define XL_BLOCKS 3

/* Blocks of XL_LANES entries that a work item of residues8 takes. Where they are more than one, they make whole lines of
 * a cache, and rows follow each other along axis 0: planes and columns that lie powers of two apart share the sets of a
 * cache, so that lines do not stay there for another block. */
#ifndef XL_TOGETHER
#define XL_TOGETHER 1
#endif
#if XL_TOGETHER > 1
#define XL_BLOCK_AXIS 1
#define XL_ROW_AXIS 0
#else
#define XL_BLOCK_AXIS 0
#define XL_ROW_AXIS 1
#endif

XL_FUNCTION void xl_device_residues8(XL_GLOBAL int8_t *to, int64_t plane_stride, int32_t moduli,
                                     uint32_t limbs[XL_TOGETHER][XL_MAX_LIMBS * XL_LANES], int32_t count,
                                     XL_GLOBAL const int32_t *constants, XL_GLOBAL const xl_weight *weights) {
    int8_t residues[4][XL_LANES];
    for (int32_t block = 0; block < XL_TOGETHER; ++block)
        xl_limbs_bias(limbs[block], count);
    for (int32_t p = 0; p < moduli; p += 4)
        for (int32_t block = 0; block < XL_TOGETHER; ++block) {
            xl_residues8(residues, limbs[block], count, constants + p * XL_RESIDUE_FIELDS, weights + (int64_t)p * count);
            XL_UNROLL
            for (int32_t i = 0; i < 4; ++i)
                if (p + i < moduli)
                    xl_device_store_octets(to + (p + i) * plane_stride + block * XL_LANES, residues[i]);
        }
}

/* Digits in planes of octets, or with XL_WHOLE residues in planes of two octets. */
XL_FUNCTION void xl_device_residues16(XL_GLOBAL int8_t *to, int64_t plane_stride, int32_t moduli, uint32_t *limbs,
                                      int32_t count, XL_GLOBAL const uint32_t *constants,
                                      XL_GLOBAL const xl_weight *weights, XL_GLOBAL const uint32_t *powers,
                                      int32_t blocks, const uint32_t power[XL_LANES]) {
    int8_t digits[4][XL_LANES];
    xl_limbs_bias(limbs, count);
    for (int32_t p = 0; p < moduli; p += 2) {
        xl_residues16(digits, limbs, count, constants + p * XL_RESIDUE_FIELDS, weights + 2 * (int64_t)p * count,
                      powers + p * blocks, blocks, power);
#ifdef XL_WHOLE
        for (int32_t i = 0; i < 2 && p + i < moduli; ++i) {
            XL_GLOBAL int16_t *whole = (XL_GLOBAL int16_t *)(to + 2 * (p + i) * plane_stride);
            XL_EACH_LANE(w)
                whole[w] = (int16_t)(256 * digits[2 * i][w] + digits[2 * i + 1][w]);
        }
#else
        for (int32_t i = 0; i < 4 && p + i / 2 < moduli; ++i)
            xl_device_store_octets(to + (2 * p + i) * plane_stride, digits[i]);
#endif
    }
}

/* Entries from the depth up to the padded one become 0. */
XL_KERNEL xl_kernel_residues8(xl_bytes data, xl_sizes x, xl_sizes exponents, XL_GLOBAL const int32_t *constants,
                              XL_GLOBAL const xl_weight *weights, XL_GLOBAL int8_t *planes, xl_sizes y,
                              XL_GLOBAL int32_t *counts, int64_t broken_at) {
    const int64_t first = XL_GLOBAL_INDEX(XL_BLOCK_AXIS) * (XL_TOGETHER * XL_LANES);
    const int64_t depth = y[XL_PADDED_DEPTH], rows = x[XL_ROWS];
    const int32_t count = XL_COUNT(y[XL_TABLE_LIMBS]), moduli = (int32_t)y[XL_MODULI];
    uint32_t limbs[XL_TOGETHER][XL_MAX_LIMBS * XL_LANES], power[XL_LANES];
    int64_t broken = 0;
    if (first >= depth)
        return;
    XL_EACH(stack, 2, x[XL_STACKS])
        XL_EACH(row, XL_ROW_AXIS, rows) {
            const int64_t exponent = xl_device_exponent(exponents, x, stack, row);
            for (int32_t block = 0; block < XL_TOGETHER; ++block)
                broken += xl_device_limbs(limbs[block], count, data, x, exponent, stack, row, first + block * XL_LANES,
                                          power, 0);
            xl_device_residues8(planes + (stack * moduli * rows + row) * depth + first, rows * depth, moduli, limbs,
                                count, constants, weights);
        }
    if (broken != 0)
        XL_ATOMIC_ADD(counts + broken_at, (int32_t)broken);
}

XL_KERNEL xl_kernel_residues16(xl_bytes data, xl_sizes x, xl_sizes exponents, XL_GLOBAL const uint32_t *constants,
                               XL_GLOBAL const xl_weight *weights, XL_GLOBAL const uint32_t *powers,
                               XL_GLOBAL int8_t *planes, xl_sizes y, XL_GLOBAL int32_t *counts, int64_t broken_at) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, depth = y[XL_PADDED_DEPTH], rows = x[XL_ROWS];
    const int32_t count = XL_COUNT(y[XL_TABLE_LIMBS]), moduli = (int32_t)y[XL_MODULI], blocks = (int32_t)y[XL_BLOCKS];
#ifdef XL_WHOLE
    const int64_t octets = 2;
#else
    const int64_t octets = 1;
#endif
    uint32_t limbs[XL_MAX_LIMBS * XL_LANES], power[XL_LANES];
    int64_t broken = 0;
    if (first >= depth)
        return;
    XL_EACH(stack, 2, x[XL_STACKS])
        XL_EACH(row, 1, rows) {
            const int64_t exponent = xl_device_exponent(exponents, x, stack, row);
            XL_EACH_LANE(w)
                power[w] = 0;
            broken += xl_device_limbs(limbs, count, data, x, exponent, stack, row, first, power, blocks);
            xl_device_residues16(planes + 2 * stack * moduli * rows * depth + (row * depth + first) * octets,
                                 rows * depth, moduli, limbs, count, constants, weights, powers, blocks, power);
        }
    if (broken != 0)
        XL_ATOMIC_ADD(counts + broken_at, (int32_t)broken);
}

#endif
