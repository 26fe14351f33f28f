/* Residues to integers, by the Chinese remainder theorem with M the product of the moduli m:
 *
 *     s = sum over m of x_m * (M / m) - q M,   x_m = (r_m * weight_m) mod m,   q = round(sum over m of x_m / m).
 *
 * The x are cut into bytes, and byte sums with the digits of M / m, and of -M for q, give the digits of s.
 */
#ifndef XL_CRT_H
#define XL_CRT_H

#include "xl_residues.h"

#define XL_CRT_FIELDS 4
#define XL_CRT_GROUPS 32 /* groups of four byte planes whose sums are carried together: sums stay below 2**22 */

/* Requires: constants (modulus <= 2**16, floor(2**32 / modulus), weight, bias), |weight| <= 2**15, bias the least
 * multiple of the modulus from 2**30.
 * Ensures: weighed[w] = residue * weight mod modulus. */
XL_STAGE void xl_crt_weigh16(uint32_t *XL_RESTRICT weighed, const int16_t *XL_RESTRICT residues,
                             XL_GLOBAL const uint32_t *constants) {
    const uint32_t modulus = constants[0], inverse = constants[1], weight = constants[2], bias = constants[3];
    XL_EACH_LANE(w)
        weighed[w] = xl_reduce32((uint32_t)(int32_t)residues[w] * weight + bias, modulus, inverse);
}

#ifdef XL_VECTORS
#include "xl_crt_opencl.h"
#else

/* Requires: the moduli's bytes packed by fours, 0 from byte `place` on, where `octets` bytes have room; four rows of
 * `groups` weights, the base-256 digits of 2**24 / m.
 * Ensures: those bytes hold q, the lowest first. */
XL_STAGE void xl_crt_quotient(uint32_t *packed, int32_t groups, int32_t place, int32_t octets,
                              XL_GLOBAL const xl_weight *weights) {
    int32_t sums[4][XL_LANES] XL_ALIGNED;
    uint32_t quotient[XL_LANES] XL_ALIGNED;
    xl_dot_rows(sums, packed, groups, weights, groups);
    XL_EACH_LANE(w) {
        const int32_t low = (sums[0][w] >> 8) + sums[1][w];
        const int32_t high = (low >> 8) + sums[2][w] + sums[3][w] * 256;
        quotient[w] = (uint32_t)((high + 128) >> 8);
    }
    for (int32_t i = 0; i < octets; ++i) {
        uint32_t *target = packed + (place + i) / 4 * XL_LANES;
        XL_EACH_LANE(w)
            target[w] |= (quotient[w] >> (8 * i) & 255) << ((place + i) % 4 * 8);
    }
}

/* Requires: bytes packed by fours; 4 * count rows of `groups` weights, row i the digits of place 256**i.
 * Ensures: limbs = the sum of all bytes times their constants, modulo 2**(32 count). */
XL_STAGE void xl_crt_sum(uint32_t *limbs, int32_t count, const uint32_t *packed, int32_t groups,
                         XL_GLOBAL const xl_weight *weights) {
    int32_t sums[4][XL_LANES] XL_ALIGNED;
    int32_t carry[XL_LANES] XL_ALIGNED;
    for (int32_t first = 0; first < groups; first += XL_CRT_GROUPS) {
        const int32_t some = groups - first < XL_CRT_GROUPS ? groups - first : XL_CRT_GROUPS;
        XL_EACH_LANE(w)
            carry[w] = 0;
        for (int32_t j = 0; j < count; ++j) {
            uint32_t *limb = limbs + j * XL_LANES;
            xl_dot_rows(sums, packed + first * XL_LANES, some, weights + 4 * j * groups + first, groups);
            XL_EACH_LANE(w) {
                const uint32_t before = first == 0 ? 0 : limb[w];
                const int32_t low = carry[w] + (int32_t)(before & 65535) + sums[0][w] + sums[1][w] * 256;
                const int32_t high = (low >> 16) + (int32_t)(before >> 16) + sums[2][w] + sums[3][w] * 256;
                limb[w] = ((uint32_t)low & 65535) | (uint32_t)high << 16;
                carry[w] = high >> 16;
            }
        }
    }
}

#endif

/* Requires: constants of the modulus for residues of `octets` octets; |sum| <= 2**14 for one, 2**30 for two.
 * Ensures: congruent to the sum, in [-floor(m / 2), ceil(m / 2)). */
XL_FUNCTION int32_t xl_centre_sum(int32_t sum, XL_GLOBAL const uint32_t *constants, int64_t octets) {
    const uint32_t modulus = constants[0], inverse = constants[1], half_modulus = modulus >> 1;
    const uint32_t biased = (uint32_t)sum + constants[3] + half_modulus;
    const uint32_t reduced = octets == 1 ? xl_reduce16((uint16_t)biased, (uint16_t)modulus, (uint16_t)inverse)
                                         : xl_reduce32(biased, modulus, inverse);
    return (int32_t)(reduced - half_modulus);
}

#endif
