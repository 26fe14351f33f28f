/* The primitives that compilers vectorise well enough, in plain C. */
#ifndef XL_LANES_COMMON_H
#define XL_LANES_COMMON_H

#ifndef XL_OWN_RESIDUES

/* Requires: values < 2**16, congruent to an integer plus `offset`.
 * Ensures: residues congruent to the integers, in [-offset, modulus - offset). */
XL_STAGE void xl_centre8(int8_t *XL_RESTRICT residues, const uint16_t *XL_RESTRICT values, uint16_t modulus,
                         uint16_t inverse, uint16_t offset) {
    XL_EACH_LANE(w)
        residues[w] = (int8_t)(xl_reduce16(values[w], modulus, inverse) - offset);
}

/* Requires: |sums[w]| <= 16 * 4 * 255 * 128; constants (modulus, floor(2**16 / modulus), start, fold weights, bias,
 * offset), so that 0 <= sums[w] + start < 2**22 and its bytes folded by the weights, with bias, are in [0, 2**16).
 * Ensures: residues congruent to sums[w] + start + bias - offset, in [-offset, modulus - offset). */
XL_FUNCTION void xl_fold8(int8_t residues[XL_LANES], const int32_t sums[XL_LANES], XL_GLOBAL const int32_t *constants) {
    uint16_t folded[XL_LANES] XL_ALIGNED;
    xl_dot_fold(folded, sums, constants[2], (uint32_t)constants[3], constants[4]);
    xl_centre8(residues, folded, (uint16_t)constants[0], (uint16_t)constants[1], (uint16_t)constants[5]);
}

/* Requires: as xl_weigh8, for one modulus.
 * Ensures: weighed[w] = residues[w] * weight mod modulus. */
XL_STAGE void xl_weigh8_one(uint8_t *XL_RESTRICT weighed, const int8_t *XL_RESTRICT residues, uint16_t modulus,
                            uint16_t inverse, int16_t weight, int16_t bias) {
    XL_EACH_LANE(w)
        weighed[w] = (uint8_t)xl_reduce16((uint16_t)((int16_t)residues[w] * weight + bias), modulus, inverse);
}

/* Requires: four rows of constants (modulus <= 256, floor(2**16 / modulus), weight, bias), |weight| <= 128, bias the
 * least multiple of the modulus from 2**14; or all 0.
 * Ensures: byte i of packed[w] = residues[i][w] * weight mod modulus. */
XL_FUNCTION void xl_weigh8(uint32_t *packed, int8_t residues[4][XL_LANES], XL_GLOBAL const uint32_t *constants) {
    uint8_t weighed[4][XL_LANES] XL_ALIGNED;
    for (int32_t i = 0; i < 4; ++i) {
        XL_GLOBAL const uint32_t *c = constants + 4 * i;
        xl_weigh8_one(weighed[i], residues[i], (uint16_t)c[0], (uint16_t)c[1], (int16_t)(int32_t)c[2], (int16_t)c[3]);
    }
    XL_EACH_LANE(w)
        packed[w] = (uint32_t)weighed[0][w] | (uint32_t)weighed[1][w] << 8 | (uint32_t)weighed[2][w] << 16 |
                    (uint32_t)weighed[3][w] << 24;
}

#endif

#ifndef XL_OWN_PLACE

/* Requires: values in two's complement; negative[w] all ones for negative ones, else 0 (values of 64 bits that are not
 * negative are allowed).
 * Ensures: limbs of floor(value * 2**shift) modulo 2**(32 count). */
XL_STAGE void xl_limbs_place(uint32_t *XL_RESTRICT limbs, int32_t count, const uint64_t *XL_RESTRICT values,
                             const uint64_t *XL_RESTRICT negative, const int64_t *XL_RESTRICT shift) {
    for (int32_t j = 0; j < count; ++j)
        XL_EACH_LANE(w) {
            const int64_t up = shift[w] - 32 * j;
            const uint64_t left = up < 32 ? values[w] << (up & 31) : 0;
            /* the bits above the word are copies of the sign */
            const uint64_t right = up > -64 ? (values[w] ^ negative[w]) >> (-up & 63) : 0;
            limbs[j * XL_LANES + w] = (uint32_t)(up >= 0 ? left : right ^ negative[w]);
        }
}

#endif

/* Ensures: to[k] = from[k] for k < count, and 0 for the `behind` entries from there on. */
XL_FUNCTION void xl_store_row(int8_t *XL_RESTRICT to, const int8_t *XL_RESTRICT from, int64_t count, int64_t behind) {
    for (int64_t k = 0; k < count; ++k)
        to[k] = from[k];
    for (int64_t k = 0; k < behind; ++k)
        to[count + k] = 0;
}

#endif
