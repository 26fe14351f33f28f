/* The primitives in OpenCL C for CPUs, by sums of pairs of products; xl_lanes_plain.h says what they ensure.
 *
 * Even and odd bytes are widened to 16 bits, where products of pairs are summed without saturation.
 */
#ifndef XL_LANES_OPENCL_H
#define XL_LANES_OPENCL_H

#include "xl_lanes_pairs.h"

#define XL_EVEN_BYTES 0x00ff00ffu

/* Ensures: sums plus, in each lane, the products of even and odd bytes with even and odd weights. */
XL_FUNCTION int16 xl_dot4_apart(uint16 even, uint16 odd, xl_weight weights, int16 sums) {
    return xl_add_pairs(odd, (uint16)(weights.y), xl_add_pairs(even, (uint16)(weights.x), sums));
}

/* Ensures: sums plus, in each lane, the products of even and odd bytes with the signed bytes of the weights. */
XL_FUNCTION int16 xl_dot4_pairs(uint16 even, uint16 odd, uint32_t weights, int16 sums) {
    const short2 packed = as_short2(weights);
    const uint32_t even_weights = as_uint((short2)(packed << (short2)(8)) >> (short2)(8));
    return xl_dot4_apart(even, odd, (xl_weight)(even_weights, as_uint(packed >> (short2)(8))), sums);
}

XL_STAGE void xl_dot_rows(int32_t sums[4][XL_LANES], const uint32_t *XL_RESTRICT bytes, int32_t groups,
                          XL_GLOBAL const xl_weight *XL_RESTRICT weights, int32_t stride) {
    int16 total[4] = {0, 0, 0, 0};
    for (int32_t g = 0; g < groups; ++g) {
        const uint16 value = vload16(g, bytes);
        const uint16 even = value & XL_EVEN_BYTES, odd = value >> 8 & XL_EVEN_BYTES;
#pragma unroll
        for (int32_t i = 0; i < 4; ++i)
            total[i] = xl_dot4_apart(even, odd, weights[i * stride + g], total[i]);
    }
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
        vstore16(total[i], 0, sums[i]);
}

/* Requires: as xl_reduce16.
 * Ensures: values mod modulus. */
XL_FUNCTION ushort16 xl_reduce16_all(ushort16 values, uint32_t modulus, uint32_t inverse) {
    const ushort16 quotients = mul_hi(values, (ushort16)(inverse));
    const ushort16 remainders = values - quotients * (ushort16)(modulus);
    return min(remainders, remainders - (ushort16)(modulus));
}

/* Requires and ensures: as xl_fold8 of xl_lanes_common.h. */
XL_FUNCTION void xl_fold8(int8_t residues[XL_LANES], const int32_t sums[XL_LANES], XL_GLOBAL const int32_t *constants) {
    const uint16 value = as_uint16(vload16(0, sums) + constants[2]);
    const int16 folded = xl_dot4_pairs(value & XL_EVEN_BYTES, value >> 8 & XL_EVEN_BYTES, (uint32_t)constants[3],
                                       (int16)(constants[4]));
    const ushort16 reduced = xl_reduce16_all(convert_ushort16(as_uint16(folded)), (uint32_t)constants[0],
                                             (uint32_t)constants[1]);
    vstore16(as_char16(convert_uchar16(reduced - (ushort16)(constants[5]))), 0, residues);
}

/* Requires and ensures: as xl_weigh8 of xl_lanes_common.h. */
XL_FUNCTION void xl_weigh8(uint32_t *packed, int8_t residues[4][XL_LANES], XL_GLOBAL const uint32_t *constants) {
    uint16 words = 0;
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
        XL_GLOBAL const uint32_t *c = constants + 4 * i;
        const short16 biased = convert_short16(vload16(0, residues[i])) * (short16)(c[2]) + (short16)(c[3]);
        words |= convert_uint16(xl_reduce16_all(as_ushort16(biased), c[0], c[1])) << 8 * i;
    }
    vstore16(words, 0, packed);
}

/* Requires and ensures: as xl_limbs_place of xl_lanes_common.h. */
XL_FUNCTION void xl_limbs_place(uint32_t *limbs, int32_t count, const uint64_t *values, const uint64_t *negative,
                                const int64_t *shift) {
    const ulong16 value = vload16(0, values), sign = vload16(0, negative), flipped = value ^ sign;
    for (int32_t j = 0; j < count; ++j) {
        const long16 up = vload16(0, shift) - (long16)(32 * j);
        const ulong16 left = value << as_ulong16(up & (long16)(31)) & as_ulong16(up < (long16)(32));
        const ulong16 right = flipped >> as_ulong16(-up & (long16)(63)) & as_ulong16(up > (long16)(-64));
        vstore16(convert_uint16(up >= (long16)(0) ? left : right ^ sign), j, limbs);
    }
}

#define XL_OWN_RESIDUES /* from here, and not from there */
#define XL_OWN_PLACE
#include "xl_lanes_common.h"

#endif
