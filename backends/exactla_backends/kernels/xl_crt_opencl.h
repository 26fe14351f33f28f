/* Sums of weighted bytes with their carries, in vectors; xl_crt.h says what the functions ensure. */
#ifndef XL_CRT_OPENCL_H
#define XL_CRT_OPENCL_H

XL_STAGE void xl_crt_quotient(uint32_t *packed, int32_t groups, int32_t place, int32_t octets,
                              XL_GLOBAL const xl_weight *weights) {
    int32_t sums[4][XL_LANES];
    xl_dot_rows(sums, packed, groups, weights, groups);
    const int16 low = (vload16(0, sums[0]) >> (int16)(8)) + vload16(0, sums[1]);
    const int16 high = (low >> (int16)(8)) + vload16(0, sums[2]) + vload16(0, sums[3]) * (int16)(256);
    const uint16 quotient = as_uint16((high + (int16)(128)) >> (int16)(8));
    for (int32_t i = 0; i < octets; ++i) {
        const uint16 octet = quotient >> (uint16)(8 * i) & (uint16)(255);
        const int32_t target = (place + i) / 4;
        vstore16(vload16(target, packed) | octet << (uint16)((place + i) % 4 * 8), target, packed);
    }
}

XL_STAGE void xl_crt_sum(uint32_t *limbs, int32_t count, const uint32_t *packed, int32_t groups,
                         XL_GLOBAL const xl_weight *weights) {
    int32_t sums[4][XL_LANES];
    for (int32_t first = 0; first < groups; first += XL_CRT_GROUPS) {
        const int32_t some = groups - first < XL_CRT_GROUPS ? groups - first : XL_CRT_GROUPS;
        int16 carry = 0;
        for (int32_t j = 0; j < count; ++j) {
            xl_dot_rows(sums, packed + first * XL_LANES, some, weights + 4 * j * groups + first, groups);
            const uint16 before = first == 0 ? (uint16)(0) : vload16(j, limbs);
            const int16 low = carry + as_int16(before & (uint16)(65535)) + vload16(0, sums[0]) +
                              vload16(0, sums[1]) * (int16)(256);
            const int16 high = (low >> (int16)(16)) + as_int16(before >> (uint16)(16)) + vload16(0, sums[2]) +
                               vload16(0, sums[3]) * (int16)(256);
            vstore16((as_uint16(low) & (uint16)(65535)) | as_uint16(high) << (uint16)(16), j, limbs);
            carry = high >> (int16)(16);
        }
    }
}

#endif
