/* Integers to residues: sums of their bytes times constant bytes, reduced.
 *
 * The top bit of two's complement limbs is flipped, which adds 2**(32 limbs - 1) and makes all bytes unsigned; the
 * residue of that constant is taken off again by the `start` of each modulus. Tables come from `tables.py`.
 */
#ifndef XL_RESIDUES_H
#define XL_RESIDUES_H

#include "xl_limbs.h"

#define XL_RESIDUE_FIELDS 8
#define XL_CHUNK_LIMBS 16 /* limbs whose byte products are summed before a reduction */

/* Requires: nothing.
 * Ensures: adds 2**(32 count - 1), so that the limbs read as unsigned; a second call takes it off. */
XL_FUNCTION void xl_limbs_bias(uint32_t *limbs, int32_t count) {
#ifdef XL_VECTORS
    vstore16(vload16(count - 1, limbs) ^ (uint16)((uint32_t)1 << 31), count - 1, limbs);
#else
    XL_EACH_LANE(w)
        limbs[(count - 1) * XL_LANES + w] ^= (uint32_t)1 << 31;
#endif
}

/* Requires: blocks > 0.
 * Ensures: shift = 64 * powers + what shift becomes, in [0, 64) unless it was negative; powers < blocks, which holds by
 * itself for entries that do not break their scan. */
XL_FUNCTION void xl_split_shift(int64_t shift[XL_LANES], uint32_t powers[XL_LANES], int64_t blocks) {
    XL_EACH_LANE(w) {
        const int64_t power = shift[w] < 0 ? 0 : shift[w] >> 6;
        powers[w] = (uint32_t)(power < blocks ? power : blocks - 1);
        shift[w] -= 64 * (int64_t)powers[w];
    }
}

/* Residues modulo four moduli up to 256.
 * Requires: biased limbs, count <= XL_CHUNK_LIMBS; four rows each of XL_RESIDUE_FIELDS constants
 * (modulus, floor(2**16 / modulus), start, fold weights, bias, offset, 0, 0) and of `count` weights.
 * Ensures: residues[i][w] congruent to the integer, in [-offset, modulus - offset). */
XL_STAGE void xl_residues8(int8_t residues[4][XL_LANES], const uint32_t *limbs, int32_t count,
                           XL_GLOBAL const int32_t *constants, XL_GLOBAL const xl_weight *weights) {
    int32_t sums[4][XL_LANES] XL_ALIGNED;
    xl_dot_rows(sums, limbs, count, weights, count);
    for (int32_t i = 0; i < 4; ++i)
        xl_fold8(residues[i], sums[i], constants + i * XL_RESIDUE_FIELDS);
}

/* Residues modulo two moduli up to 2**16, as digits: residue = 256 * high + low.
 * Requires: biased limbs; for each modulus a row of XL_RESIDUE_FIELDS constants (modulus, floor(2**32 / modulus),
 * start, lift, offset, 0, 0, 0) and two rows, high and low, of `count` weights. `powers` holds `blocks` powers 2**(64
 * i) for each modulus, and where there are any, block[w] < blocks is the i of the one that multiplies the integer.
 * Ensures: 256 * digits[2 i][w] + digits[2 i + 1][w] congruent to the integer, in [-offset, modulus - offset). */
XL_STAGE void xl_residues16(int8_t digits[4][XL_LANES], const uint32_t *limbs, int32_t count,
                            XL_GLOBAL const uint32_t *constants, XL_GLOBAL const xl_weight *weights,
                            XL_GLOBAL const uint32_t *powers, int32_t blocks, const uint32_t block[XL_LANES]) {
    uint32_t residue[2][XL_LANES] XL_ALIGNED;
    int32_t sums[4][XL_LANES] XL_ALIGNED;
    for (int32_t first = 0; first < count; first += XL_CHUNK_LIMBS) {
        const int32_t some = count - first < XL_CHUNK_LIMBS ? count - first : XL_CHUNK_LIMBS;
        xl_dot_rows(sums, limbs + first * XL_LANES, some, weights + first, count);
        for (int32_t i = 0; i < 2; ++i) {
            XL_GLOBAL const uint32_t *c = constants + i * XL_RESIDUE_FIELDS;
            const uint32_t modulus = c[0], inverse = c[1], start = first == 0 ? c[2] : c[3];
            XL_EACH_LANE(w) {
                const uint32_t sum = start + (uint32_t)sums[2 * i][w] * 256 + (uint32_t)sums[2 * i + 1][w];
                const uint32_t total = xl_reduce32(sum, modulus, inverse) + (first == 0 ? 0 : residue[i][w]);
                const uint32_t less = total - modulus;
                residue[i][w] = less < total ? less : total;
            }
        }
    }
    for (int32_t i = 0; i < 2; ++i) {
        XL_GLOBAL const uint32_t *c = constants + i * XL_RESIDUE_FIELDS;
        const uint32_t modulus = c[0], inverse = c[1], offset = c[4];
        if (blocks != 0)
            XL_EACH_LANE(w) {
                const uint32_t power = powers[i * blocks + (int32_t)block[w]];
                residue[i][w] = xl_reduce32(residue[i][w] * power, modulus, inverse);
            }
        XL_EACH_LANE(w) {
            const uint32_t shifted = residue[i][w] + offset, less = shifted - modulus;
            const int32_t centred = (int32_t)((less < shifted ? less : shifted) - offset);
            const int32_t low = (int8_t)(centred & 255);
            digits[2 * i][w] = (int8_t)((centred - low) >> 8);
            digits[2 * i + 1][w] = (int8_t)low;
        }
    }
}

#endif
