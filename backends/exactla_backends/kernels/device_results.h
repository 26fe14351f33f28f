/* Kernels from residues of results to integers, encodings and sums. */
#ifndef DEVICE_RESULTS_H
#define DEVICE_RESULTS_H

#include "xl_device.h"
#include "xl_crt.h"
#include "xl_round.h"
#include "xl_special.h"

/* Residues of results [pairs, moduli, rows, padded columns], and their crt table. XL_MAX_GROUPS are its groups at most;
 * with XL_FIXED they are XL_FIXED_GROUPS, and XL_FIXED is the number of moduli. */
#define XL_PAIRS 0
#define XL_RESULT_ROWS 1
#define XL_COLUMNS 2
#define XL_PADDED_COLUMNS 3
#define XL_RESULT_MODULI 4
#define XL_RESULT_LIMBS 5
#define XL_OCTETS 6
#define XL_GROUPS 7
#define XL_QUOTIENT_OCTETS 8

#ifdef XL_FIXED
#define XL_MODULI_COUNT(moduli) XL_FIXED
#define XL_GROUP_COUNT(groups) XL_FIXED_GROUPS
#else
#define XL_MODULI_COUNT(moduli) ((int32_t)(moduli))
#define XL_GROUP_COUNT(groups) ((int32_t)(groups))
#endif

XL_FUNCTION void xl_device_pack8(uint32_t *packed, xl_bytes from, int64_t stride, int32_t moduli,
                                 XL_GLOBAL const uint32_t *constants) {
    int8_t residues[4][XL_LANES];
    XL_UNROLL
    for (int32_t p = 0; p < moduli; p += 4) {
        XL_UNROLL
        for (int32_t i = 0; i < 4; ++i)
            xl_device_load_octets(residues[i], (XL_GLOBAL const int8_t *)from + (p + i < moduli ? p + i : p) * stride);
        xl_weigh8(packed + p / 4 * XL_LANES, residues, constants + p * XL_CRT_FIELDS);
    }
}

XL_FUNCTION void xl_device_pack16(uint32_t *packed, xl_bytes from, int64_t stride, int32_t moduli,
                                  XL_GLOBAL const uint32_t *constants) {
    int16_t residues[XL_LANES];
    uint32_t weighed[XL_LANES];
    XL_UNROLL
    for (int32_t p = 0; p < moduli; ++p) {
        XL_EACH_LANE(w)
            residues[w] = ((XL_GLOBAL const int16_t *)from)[p * stride + w];
        xl_crt_weigh16(weighed, residues, constants + p * XL_CRT_FIELDS);
        XL_EACH_LANE(w)
            packed[p / 2 * XL_LANES + w] |= weighed[w] << p % 2 * 16;
    }
}

/* Ensures: limbs of the results first + w of a row; in the padding, of whatever it holds. */
XL_FUNCTION void xl_device_integers(uint32_t *limbs, xl_bytes residues, xl_sizes y, XL_GLOBAL const uint32_t *constants,
                                    XL_GLOBAL const xl_weight *weights, int64_t pair, int64_t row, int64_t first) {
    const int32_t moduli = XL_MODULI_COUNT(y[XL_RESULT_MODULI]), groups = XL_GROUP_COUNT(y[XL_GROUPS]);
    const int64_t octets = y[XL_OCTETS], columns = y[XL_PADDED_COLUMNS], stride = y[XL_RESULT_ROWS] * columns;
    xl_bytes from = residues + (pair * moduli * stride + row * columns + first) * octets;
    uint32_t packed[XL_MAX_GROUPS * XL_LANES];
    XL_UNROLL
    for (int32_t i = 0; i < groups * XL_LANES; ++i)
        packed[i] = 0;
    if (octets == 1) {
        xl_device_pack8(packed, from, stride, moduli, constants);
        xl_crt_quotient(packed, groups, moduli, (int32_t)y[XL_QUOTIENT_OCTETS], weights);
    } else {
        xl_device_pack16(packed, from, stride, moduli, constants);
        xl_crt_quotient(packed, groups, 2 * moduli, (int32_t)y[XL_QUOTIENT_OCTETS], weights);
    }
    xl_crt_sum(limbs, XL_COUNT(y[XL_RESULT_LIMBS]), packed, groups, weights + 4 * groups);
}

/* Limb j of a result at limbs[((pair * rows + row) * columns + column) * count + j]. */
XL_KERNEL xl_kernel_integers(xl_bytes residues, xl_sizes y, XL_GLOBAL const uint32_t *constants,
                             XL_GLOBAL const xl_weight *weights, XL_GLOBAL uint32_t *limbs) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, columns = y[XL_COLUMNS], rows = y[XL_RESULT_ROWS];
    const int32_t count = XL_COUNT(y[XL_RESULT_LIMBS]);
    uint32_t found[XL_MAX_LIMBS * XL_LANES];
    if (first >= columns)
        return;
    XL_EACH(pair, 2, y[XL_PAIRS])
        XL_EACH(row, 1, rows) {
            XL_GLOBAL uint32_t *to = limbs + ((pair * rows + row) * columns + first) * count;
            xl_device_integers(found, residues, y, constants, weights, pair, row, first);
            XL_EACH_LANE(w)
                if (first + w < columns)
                    for (int32_t j = 0; j < count; ++j)
                        to[w * count + j] = found[j * XL_LANES + w];
        }
}

/* Ensures: exponents of the results first + w of a row: rows of the pair begin at left[places[pair]], its columns at
 * right[places[pairs + pair]]. */
XL_FUNCTION void xl_device_exponents(int64_t exponent[XL_LANES], xl_sizes left, xl_sizes right, xl_sizes places,
                                     xl_sizes y, int64_t shift, int64_t pair, int64_t row, int64_t first) {
    const int64_t of_row = left[places[pair] + row] + shift, left_over = y[XL_COLUMNS] - first;
    xl_sizes of_columns = right + places[y[XL_PAIRS] + pair] + first;
#ifdef XL_VECTORS
    if (left_over >= XL_LANES) {
        vstore16(vload16(0, of_columns) + (long16)(of_row), 0, exponent);
        return;
    }
#endif
    XL_EACH_LANE(w)
        exponent[w] = of_row + (w < left_over ? of_columns[w] : 0);
}

XL_FUNCTION void xl_device_store_words(XL_GLOBAL uint8_t *to, int64_t octets, const uint64_t words[XL_LANES],
                                       int64_t count) {
#ifdef XL_VECTORS
    if (octets == 8 && count >= XL_LANES) {
        vstore16(vload16(0, words), 0, (XL_GLOBAL uint64_t *)to);
        return;
    }
#endif
    XL_EACH_LANE(w)
        if (w < count)
            xl_device_store(to + w * octets, octets, words[w]);
}

/* Encodings [pairs, rows, columns] in `rounding`, and, where `second_rounding` is not negative, in that too. */
XL_KERNEL xl_kernel_round(xl_bytes residues, xl_sizes y, XL_GLOBAL const uint32_t *constants,
                          XL_GLOBAL const xl_weight *weights, xl_sizes left, xl_sizes right, xl_sizes places,
                          int64_t shift, xl_sizes format_table, int64_t rounding, XL_GLOBAL uint8_t *encodings,
                          int64_t second_rounding, XL_GLOBAL uint8_t *second_encodings) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, columns = y[XL_COLUMNS], rows = y[XL_RESULT_ROWS];
    const xl_format format = xl_format_read(format_table);
    uint32_t limbs[(XL_ROUND_PAD + XL_MAX_LIMBS) * XL_LANES];
    int64_t exponent[XL_LANES];
    uint64_t words[XL_LANES];
    xl_rounded rounded;
    if (first >= columns)
        return;
    for (int32_t i = 0; i < XL_ROUND_PAD * XL_LANES; ++i)
        limbs[i] = 0;
    XL_EACH(pair, 2, y[XL_PAIRS])
        XL_EACH(row, 1, rows) {
            const int64_t at = ((pair * rows + row) * columns + first) * format.octets;
            xl_device_exponents(exponent, left, right, places, y, shift, pair, row, first);
            xl_device_integers(limbs + XL_ROUND_PAD * XL_LANES, residues, y, constants, weights, pair, row, first);
            xl_round_limbs(&rounded, limbs + XL_ROUND_PAD * XL_LANES, XL_COUNT(y[XL_RESULT_LIMBS]), exponent, &format);
            xl_encode(words, &rounded, rounding, &format);
            xl_device_store_words(encodings + at, format.octets, words, columns - first);
            if (second_rounding >= 0) {
                xl_encode(words, &rounded, second_rounding, &format);
                xl_device_store_words(second_encodings + at, format.octets, words, columns - first);
            }
        }
}

/* Requires: |s| + 2**slack < 2**(32 * limbs - 1).
 * Encodings as `round` makes them of s - 2**slack. Where those of s + 2**slack are others, or its sign is another, the
 * position of the result in C order is at unsure[1], ..., in any order; unsure[0] counts them, also those that are
 * beyond `capacity` and have no place. */
XL_KERNEL xl_kernel_round_certified(xl_bytes residues, xl_sizes y, XL_GLOBAL const uint32_t *constants,
                                    XL_GLOBAL const xl_weight *weights, xl_sizes left, xl_sizes right, xl_sizes places,
                                    int64_t shift, xl_sizes format_table, int64_t rounding,
                                    XL_GLOBAL uint8_t *encodings, int64_t second_rounding,
                                    XL_GLOBAL uint8_t *second_encodings, int64_t slack, XL_GLOBAL int64_t *unsure,
                                    int64_t capacity) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, columns = y[XL_COLUMNS], rows = y[XL_RESULT_ROWS];
    const int32_t count = XL_COUNT(y[XL_RESULT_LIMBS]);
    const xl_format format = xl_format_read(format_table);
    uint32_t limbs[XL_MAX_LIMBS * XL_LANES], moved[(XL_ROUND_PAD + XL_MAX_LIMBS) * XL_LANES];
    uint32_t below[XL_LANES], above[XL_LANES];
    int64_t exponent[XL_LANES];
    uint64_t low[2][XL_LANES], high[2][XL_LANES];
    xl_rounded rounded;
    if (first >= columns)
        return;
    for (int32_t i = 0; i < XL_ROUND_PAD * XL_LANES; ++i)
        moved[i] = 0;
    XL_EACH(pair, 2, y[XL_PAIRS])
        XL_EACH(row, 1, rows) {
            const int64_t place = (pair * rows + row) * columns + first;
            xl_device_exponents(exponent, left, right, places, y, shift, pair, row, first);
            xl_device_integers(limbs, residues, y, constants, weights, pair, row, first);
            xl_limbs_move(moved + XL_ROUND_PAD * XL_LANES, limbs, count, slack, -1);
            xl_limbs_sign(below, moved + XL_ROUND_PAD * XL_LANES, count);
            xl_round_limbs(&rounded, moved + XL_ROUND_PAD * XL_LANES, count, exponent, &format);
            xl_encode(low[0], &rounded, rounding, &format);
            xl_encode(low[1], &rounded, second_rounding < 0 ? rounding : second_rounding, &format);
            xl_limbs_move(moved + XL_ROUND_PAD * XL_LANES, limbs, count, slack, 1);
            xl_limbs_sign(above, moved + XL_ROUND_PAD * XL_LANES, count);
            xl_round_limbs(&rounded, moved + XL_ROUND_PAD * XL_LANES, count, exponent, &format);
            xl_encode(high[0], &rounded, rounding, &format);
            xl_encode(high[1], &rounded, second_rounding < 0 ? rounding : second_rounding, &format);
            xl_device_store_words(encodings + place * format.octets, format.octets, low[0], columns - first);
            if (second_rounding >= 0)
                xl_device_store_words(second_encodings + place * format.octets, format.octets, low[1], columns - first);
            XL_EACH_LANE(w)
                if (first + w < columns &&
                    (below[w] != above[w] || low[0][w] != high[0][w] || low[1][w] != high[1][w])) {
                    const int32_t slot = XL_ATOMIC_ADD((XL_GLOBAL int32_t *)unsure, 1);
                    if (slot < capacity)
                        unsure[1 + slot] = place + w;
                }
        }
}

/* Encodings of results with non-finite terms; the three kinds of residues share their sizes and tables. */
XL_KERNEL xl_kernel_mark(xl_bytes signs, xl_bytes terms, xl_bytes invalid, xl_sizes y,
                         XL_GLOBAL const uint32_t *constants, XL_GLOBAL const xl_weight *weights, xl_sizes format_table,
                         XL_GLOBAL uint8_t *encodings) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, columns = y[XL_COLUMNS], rows = y[XL_RESULT_ROWS];
    const xl_format format = xl_format_read(format_table);
    uint32_t a[XL_MAX_LIMBS * XL_LANES], b[XL_MAX_LIMBS * XL_LANES], c[XL_MAX_LIMBS * XL_LANES];
    uint64_t words[XL_LANES];
    if (first >= columns)
        return;
    XL_EACH(pair, 2, y[XL_PAIRS])
        XL_EACH(row, 1, rows) {
            XL_GLOBAL uint8_t *at = encodings + ((pair * rows + row) * columns + first) * format.octets;
            xl_device_integers(a, signs, y, constants, weights, pair, row, first);
            xl_device_integers(b, terms, y, constants, weights, pair, row, first);
            xl_device_integers(c, invalid, y, constants, weights, pair, row, first);
            XL_EACH_LANE(w)
                words[w] = first + w < columns ? xl_device_load(at + w * format.octets, format.octets) : 0;
            xl_mark(words, a, b, c, XL_COUNT(y[XL_RESULT_LIMBS]), &format);
            xl_device_store_words(at, format.octets, words, columns - first);
        }
}

/* result = sign_x * x + sign_z * z, centred; signs are -1, 0 or 1. Axis 0 runs over the entries of a plane with their
 * padding, axis 1 over moduli. */
XL_KERNEL xl_kernel_combine(XL_GLOBAL uint8_t *result, xl_bytes x, int64_t sign_x, xl_bytes z, int64_t sign_z,
                            xl_sizes y, XL_GLOBAL const uint32_t *constants) {
    const int64_t octets = y[XL_OCTETS], moduli = y[XL_RESULT_MODULI], size = y[XL_RESULT_ROWS] * y[XL_PADDED_COLUMNS];
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES;
    if (first >= size)
        return;
    XL_EACH(pair, 2, y[XL_PAIRS])
        XL_EACH(p, 1, moduli)
            XL_EACH_LANE(w) {
                const int64_t at = (pair * moduli + p) * size + first + w;
                const int32_t a = octets == 1 ? ((XL_GLOBAL const int8_t *)x)[at] : ((XL_GLOBAL const int16_t *)x)[at];
                const int32_t b = octets == 1 ? ((XL_GLOBAL const int8_t *)z)[at] : ((XL_GLOBAL const int16_t *)z)[at];
                const int32_t sum = (int32_t)sign_x * a + (int32_t)sign_z * b;
                xl_device_store(result + at * octets, octets,
                                (uint64_t)xl_centre_sum(sum, constants + p * XL_CRT_FIELDS, octets));
            }
}

#endif
