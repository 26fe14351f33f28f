/* Long integers in residues modulo hundreds of numbers below 2**16: what surrounds their products with tables. */
#ifndef XL_HOST_WIDE_H
#define XL_HOST_WIDE_H

#include "xl_host.h"
#include "xl_reduce.h"

#define XL_EACH_WIDE(w) XL_INDEPENDENT for (int32_t w = 0; w < XL_WIDE_LANES; ++w)

/* Requires: 0 <= value < m. Ensures: congruent, in [-floor(m / 2), ceil(m / 2)). */
XL_FUNCTION int32_t xl_wide_centred(uint32_t value, uint32_t modulus) {
    return (int32_t)value - (value >= (modulus + 1) / 2 ? (int32_t)modulus : 0);
}

/* Requires: |high|, |low| <= 2**30. Ensures: 256 * high + low modulo m, in [0, m). */
XL_FUNCTION uint32_t xl_wide_joined(int32_t high, int32_t low, const xl_wide_modulus *m) {
    const uint32_t first = xl_reduce32((uint32_t)high + m->bias, m->modulus, m->reciprocal);
    return xl_reduce32(first * 256 + (uint32_t)low + m->bias, m->modulus, m->reciprocal);
}

void XL_ENTRY(wide_residues)(const int32_t *high, const int32_t *low, int64_t count, const xl_wide_modulus *modulus,
                             int16_t *residues) {
    const xl_wide_modulus m = *modulus;
    for (int64_t i = 0; i < count; i += XL_WIDE_LANES)
        XL_EACH_WIDE(w) {
            residues[i + w] = (int16_t)xl_wide_centred(xl_wide_joined(high[i + w], low[i + w], &m), m.modulus);
        }
}

void XL_ENTRY(wide_split)(const int16_t *residues, int64_t count, int8_t *high, int8_t *low) {
    for (int64_t i = 0; i < count; ++i) {
        high[i] = (int8_t)((residues[i] + 128) >> 8);
        low[i] = (int8_t)(residues[i] - ((residues[i] + 128) >> 8) * 256);
    }
}

/* high and low grow by the products of a vector and the two digits of a factor. */
XL_STAGE void xl_wide_add(int32_t *XL_RESTRICT high, int32_t *XL_RESTRICT low, const int16_t *XL_RESTRICT vector,
                          int32_t first, int32_t second, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        high[i] += vector[i] * first;
        low[i] += vector[i] * second;
    }
}

/* The end of wide_weighted: 256 * high + low is the sum. */
XL_STAGE void xl_wide_weigh(const int32_t *XL_RESTRICT high, const int32_t *XL_RESTRICT low, int64_t count,
                            const xl_wide_modulus *XL_RESTRICT modulus, int32_t *XL_RESTRICT weighted) {
    const xl_wide_modulus m = *modulus;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t joined = xl_wide_joined(high[i], low[i], &m);
        weighted[i] = xl_wide_centred(xl_reduce32(joined * m.weight, m.modulus, m.reciprocal), m.modulus);
    }
}

XL_STAGE void xl_wide_fractions(const int32_t *XL_RESTRICT weighted, int64_t count, int64_t fraction,
                                int64_t *XL_RESTRICT fractions) {
    for (int64_t i = 0; i < count; ++i)
        fractions[i] += weighted[i] * fraction;
}

void XL_ENTRY(wide_weighted)(const xl_wide_sum *sum, int64_t count, const xl_wide_modulus *modulus, int64_t *fractions,
                             int16_t *digits) {
    int32_t high[XL_WIDE_MOST] = {0}, low[XL_WIDE_MOST] = {0}, weighted[XL_WIDE_MOST];
    for (int64_t i = 0; i < count; ++i)
        low[i] = sum->sums[i];
    for (int64_t k = 0; k < sum->terms; ++k) {
        const int32_t factor = sum->factors[k * sum->factor_step], first = (factor + 128) >> 8;
        xl_wide_add(high, low, sum->vectors + k * sum->step, first, factor - first * 256, count);
    }
    xl_wide_weigh(high, low, count, modulus, weighted);
    xl_wide_fractions(weighted, count, modulus->fraction, fractions);
    for (int64_t i = 0; i < count; ++i)
        digits[i] = (int16_t)(((weighted[i] + 128) >> 8) * 256 + (weighted[i] & 255));
}

void XL_ENTRY(wide_carry)(const int32_t *sums, int64_t row, int64_t limbs, const int32_t *quotients,
                          const uint8_t *product, int64_t count, int32_t *carry, uint64_t *found, int64_t found_step) {
    for (int64_t i = 0; i < count; i += XL_WIDE_LANES) {
        int32_t quotient[XL_WIDE_LANES] = {0}, rest[XL_WIDE_LANES];
        XL_EACH_WIDE(w) {
            quotient[w] = quotients ? quotients[i + w] : 0;
            rest[w] = carry[i + w];
        }
        for (int64_t j = 0; j < limbs; ++j) {
            uint64_t limb[XL_WIDE_LANES] = {0};
            for (int32_t o = 0; o < 8; ++o) {
                const int32_t *from = sums + (8 * j + o) * row + i, less = product ? product[8 * j + o] : 0;
                XL_EACH_WIDE(w) {
                    rest[w] += from[w] - quotient[w] * less;
                    limb[w] |= (uint64_t)(uint32_t)(rest[w] & 255) << (8 * o);
                    rest[w] >>= 8;
                }
            }
            XL_EACH_WIDE(w) {
                found[j * found_step + i + w] = limb[w];
            }
        }
        XL_EACH_WIDE(w) {
            carry[i + w] = rest[w];
        }
    }
}

void XL_ENTRY(wide_digit_products)(uint64_t *sums, const uint64_t *left, int64_t left_count, const uint64_t *right,
                                   int64_t right_count) {
    /* whole vectors */
    const int64_t count = (right_count + XL_WIDE_DIGIT_ROWS - 1 + XL_WORD_LANES - 1) / XL_WORD_LANES * XL_WORD_LANES;
    for (int64_t i = 0; i < left_count; i += XL_WIDE_DIGIT_ROWS)
        xl_add_rows(sums + i, left + i, right, count);
}

#endif
