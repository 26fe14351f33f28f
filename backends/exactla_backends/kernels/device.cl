/* The kernels for a device, as OpenCL C and for NVRTC: one work item for XL_LANES entries of a row.
 *
 * Axis 0 runs over blocks of XL_LANES entries, axis 1 over rows. A launch compiles this text with XL_MAX_LIMBS, the
 * limbs of the largest integers, XL_MAX_GROUPS, the groups of a crt table, and XL_LANES where it is not 1. Matrices are
 * described by tables of 64-bit integers, XL_ROWS and so on; the arrays of constants are those of `tables.py`.
 */
#include "xl_port.h"
#include "xl_scan.h"
#include "xl_residues.h"
#include "xl_crt.h"
#include "xl_round.h"
#include "xl_interval.h"
#include "xl_special.h"

/* An operand: sizes, strides in octets, the bits of its entries, and how many limbs they have (0 for encodings). */
#define XL_ROWS 0
#define XL_DEPTH 1
#define XL_ROW_STRIDE 2
#define XL_DEPTH_STRIDE 3
#define XL_LIMB_STRIDE 4
#define XL_LIMBS 5
#define XL_BITS 6

/* Planes of residues: sizes, strides in entries, and the moduli and limbs (or octets) of their table. */
#define XL_PLANE_STRIDE 3
#define XL_MODULI 4
#define XL_TABLE_LIMBS 5
#define XL_BLOCKS 6
#define XL_OCTETS 6
#define XL_GROUPS 7
#define XL_QUOTIENT_OCTETS 8

typedef XL_GLOBAL const int64_t *xl_sizes;
typedef XL_GLOBAL const uint8_t *xl_bytes;

XL_FUNCTION uint64_t xl_device_load(xl_bytes from, int64_t octets) {
    if (octets == 1)
        return *from;
    if (octets == 2)
        return *(XL_GLOBAL const uint16_t *)from;
    if (octets == 4)
        return *(XL_GLOBAL const uint32_t *)from;
    return *(XL_GLOBAL const uint64_t *)from;
}

XL_FUNCTION void xl_device_store(XL_GLOBAL uint8_t *to, int64_t octets, uint64_t word) {
    if (octets == 1)
        *to = (uint8_t)word;
    else if (octets == 2)
        *(XL_GLOBAL uint16_t *)to = (uint16_t)word;
    else if (octets == 4)
        *(XL_GLOBAL uint32_t *)to = (uint32_t)word;
    else
        *(XL_GLOBAL uint64_t *)to = word;
}

/* Ensures: the residue there, of one octet or two. */
XL_FUNCTION int32_t xl_device_residue(xl_bytes from, int64_t octets) {
    return octets == 1 ? (int32_t)(int8_t)*from : (int32_t)*(XL_GLOBAL const int16_t *)from;
}

/* Ensures: encodings row, first + w of an operand, 0 past its end. */
XL_FUNCTION void xl_device_words(uint64_t words[XL_LANES], xl_bytes data, xl_sizes x, int64_t octets, int64_t row,
                                 int64_t first) {
    xl_bytes from = data + row * x[XL_ROW_STRIDE] + first * x[XL_DEPTH_STRIDE];
    XL_EACH_LANE(w)
        words[w] = first + w < x[XL_DEPTH] ? xl_device_load(from + w * x[XL_DEPTH_STRIDE], octets) : 0;
}

/* Ensures: limbs of the entries row, first + w; returns how many of them break their scan. */
XL_FUNCTION int64_t xl_device_limbs(uint32_t *limbs, int32_t count, xl_bytes data, xl_sizes x, const xl_format *format,
                                    int64_t exponent, int64_t row, int64_t first, uint32_t powers[XL_LANES],
                                    int64_t blocks) {
    uint64_t words[XL_LANES];
    int64_t shift[XL_LANES], broken;
    xl_entries entries;
    if (x[XL_LIMBS] != 0) {
        const int32_t given = x[XL_LIMBS] < count ? (int32_t)x[XL_LIMBS] : count;
        for (int32_t j = 0; j < given; ++j) {
            xl_device_words(words, data + j * x[XL_LIMB_STRIDE], x, 4, row, first);
            XL_EACH_LANE(w)
                limbs[j * XL_LANES + w] = (uint32_t)words[w];
        }
        XL_EACH_LANE(w)
            shift[w] = exponent;
        xl_limbs_extend(limbs, given, count);
        xl_limbs_shift(limbs, count, shift);
        return 0;
    }
    xl_device_words(words, data, x, format->octets, row, first);
    xl_decode(&entries, words, format);
    XL_EACH_LANE(w)
        shift[w] = entries.exponent[w] - exponent;
    broken = xl_count_broken(&entries, shift, x[XL_BITS], format->precision, 0);
    if (blocks != 0)
        xl_split_shift(shift, powers, blocks);
    xl_limbs_of(limbs, count, &entries, shift);
    return broken;
}

/* Ensures: entries first + w of a row of a plane. */
XL_FUNCTION void xl_device_store_residues(XL_GLOBAL int8_t *planes, xl_sizes y, int64_t plane, int64_t row,
                                          int64_t first, const int8_t residues[XL_LANES]) {
    XL_GLOBAL int8_t *to = planes + plane * y[XL_PLANE_STRIDE] + row * y[XL_ROW_STRIDE] + first;
    XL_EACH_LANE(w)
        if (first + w < y[XL_DEPTH])
            to[w] = residues[w];
}

XL_FUNCTION void xl_device_residues8(XL_GLOBAL int8_t *planes, xl_sizes y, uint32_t *limbs,
                                     XL_GLOBAL const int32_t *constants, XL_GLOBAL const uint32_t *weights, int64_t row,
                                     int64_t first) {
    const int32_t count = (int32_t)y[XL_TABLE_LIMBS], moduli = (int32_t)y[XL_MODULI];
    int8_t residues[4][XL_LANES];
    xl_limbs_bias(limbs, count);
    for (int32_t p = 0; p < moduli; p += 4) {
        xl_residues8(residues, limbs, count, constants + p * XL_RESIDUE_FIELDS, weights + (int64_t)p * count);
        for (int32_t i = 0; i < 4 && p + i < moduli; ++i)
            xl_device_store_residues(planes, y, p + i, row, first, residues[i]);
    }
}

XL_FUNCTION void xl_device_residues16(XL_GLOBAL int8_t *planes, xl_sizes y, uint32_t *limbs,
                                      XL_GLOBAL const uint32_t *constants, XL_GLOBAL const uint32_t *weights,
                                      XL_GLOBAL const uint32_t *powers, const uint32_t power[XL_LANES], int64_t row,
                                      int64_t first) {
    const int32_t count = (int32_t)y[XL_TABLE_LIMBS], moduli = (int32_t)y[XL_MODULI], blocks = (int32_t)y[XL_BLOCKS];
    int8_t digits[4][XL_LANES];
    xl_limbs_bias(limbs, count);
    for (int32_t p = 0; p < moduli; p += 2) {
        xl_residues16(digits, limbs, count, constants + p * XL_RESIDUE_FIELDS, weights + 2 * (int64_t)p * count,
                      powers + p * blocks, blocks, power);
        for (int32_t i = 0; i < 4 && p + i / 2 < moduli; ++i)
            xl_device_store_residues(planes, y, 2 * p + i, row, first, digits[i]);
    }
}

/* Ensures: limbs of the results row, first + w; y describes the residues. */
XL_FUNCTION void xl_device_integers(uint32_t *limbs, xl_bytes residues, xl_sizes y, XL_GLOBAL const uint32_t *constants,
                                    XL_GLOBAL const uint32_t *weights, int64_t row, int64_t first) {
    const int32_t moduli = (int32_t)y[XL_MODULI], groups = (int32_t)y[XL_GROUPS], octets = (int32_t)y[XL_OCTETS];
    uint32_t packed[XL_MAX_GROUPS * XL_LANES], weighed[XL_LANES];
    int8_t residues8[4][XL_LANES];
    int16_t residues16[XL_LANES];
    for (int32_t i = 0; i < groups * XL_LANES; ++i)
        packed[i] = 0;
    for (int32_t p = 0; p < moduli; p += 4 / octets) {
        for (int32_t i = 0; i < 4 / octets; ++i) {
            const int64_t plane = p + i < moduli ? p + i : p;
            xl_bytes from = residues + (plane * y[XL_PLANE_STRIDE] + row * y[XL_ROW_STRIDE] + first) * octets;
            XL_EACH_LANE(w) {
                const uint64_t word = first + w < y[XL_DEPTH] ? xl_device_load(from + w * octets, octets) : 0;
                residues8[i][w] = (int8_t)word;
                residues16[w] = (int16_t)word;
            }
            if (octets == 2 && p + i < moduli) {
                xl_crt_weigh16(weighed, residues16, constants + plane * XL_CRT_FIELDS);
                XL_EACH_LANE(w)
                    packed[p / 2 * XL_LANES + w] |= weighed[w] << 16 * i;
            }
        }
        if (octets == 1)
            xl_weigh8(packed + p / 4 * XL_LANES, residues8, constants + p * XL_CRT_FIELDS);
    }
    xl_crt_quotient(packed, groups, octets * moduli, (int32_t)y[XL_QUOTIENT_OCTETS], weights);
    xl_crt_sum(limbs, (int32_t)y[XL_TABLE_LIMBS], packed, groups, weights + 4 * groups);
}

/* One work item looks at entries first, first + step, ... of a row; cells of lowest and highest start as +-2**30. */
XL_KERNEL xl_kernel_scan(xl_bytes data, xl_sizes x, xl_sizes format_table, int64_t step, XL_GLOBAL int32_t *lowest,
                         XL_GLOBAL int32_t *highest, XL_GLOBAL int32_t *nonfinite) {
    const int64_t start = XL_GLOBAL_INDEX(0) * XL_LANES, row = XL_GLOBAL_INDEX(1);
    const xl_format format = xl_format_read(format_table);
    uint64_t words[XL_LANES];
    xl_ranges ranges;
    if (start >= step || start >= x[XL_DEPTH] || row >= x[XL_ROWS])
        return;
    xl_ranges_clear(&ranges);
    for (int64_t first = start; first < x[XL_DEPTH]; first += step) {
        xl_device_words(words, data, x, format.octets, row, first);
        xl_scan(&ranges, words, &format);
    }
    XL_EACH_LANE(w) {
        if (ranges.lowest[w] < XL_NONE)
            XL_ATOMIC_MIN(lowest + row, (int32_t)ranges.lowest[w]);
        if (ranges.highest[w] > -XL_NONE)
            XL_ATOMIC_MAX(highest + row, (int32_t)ranges.highest[w]);
        if (ranges.nonfinite[w] != 0)
            XL_ATOMIC_ADD(nonfinite, (int32_t)ranges.nonfinite[w]);
    }
}

XL_KERNEL xl_kernel_residues8(xl_bytes data, xl_sizes x, xl_sizes format_table, xl_sizes exponents,
                              XL_GLOBAL const int32_t *constants, XL_GLOBAL const uint32_t *weights,
                              XL_GLOBAL int8_t *planes, xl_sizes y, XL_GLOBAL int32_t *broken) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, row = XL_GLOBAL_INDEX(1);
    const xl_format format = xl_format_read(format_table);
    uint32_t limbs[XL_MAX_LIMBS * XL_LANES], power[XL_LANES];
    int64_t wrong;
    if (first >= y[XL_DEPTH] || row >= x[XL_ROWS])
        return;
    wrong = xl_device_limbs(limbs, (int32_t)y[XL_TABLE_LIMBS], data, x, &format, exponents[row], row, first, power, 0);
    if (wrong != 0)
        XL_ATOMIC_ADD(broken, (int32_t)wrong);
    xl_device_residues8(planes, y, limbs, constants, weights, row, first);
}

XL_KERNEL xl_kernel_residues16(xl_bytes data, xl_sizes x, xl_sizes format_table, xl_sizes exponents,
                               XL_GLOBAL const uint32_t *constants, XL_GLOBAL const uint32_t *weights,
                               XL_GLOBAL const uint32_t *powers, XL_GLOBAL int8_t *planes, xl_sizes y,
                               XL_GLOBAL int32_t *broken) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, row = XL_GLOBAL_INDEX(1);
    const xl_format format = xl_format_read(format_table);
    uint32_t limbs[XL_MAX_LIMBS * XL_LANES], power[XL_LANES];
    int64_t wrong;
    if (first >= y[XL_DEPTH] || row >= x[XL_ROWS])
        return;
    XL_EACH_LANE(w)
        power[w] = 0;
    wrong = xl_device_limbs(limbs, (int32_t)y[XL_TABLE_LIMBS], data, x, &format, exponents[row], row, first, power,
                            y[XL_BLOCKS]);
    if (wrong != 0)
        XL_ATOMIC_ADD(broken, (int32_t)wrong);
    xl_device_residues16(planes, y, limbs, constants, weights, powers, power, row, first);
}

/* Planes of piece i begin at planes + i * piece_stride. */
XL_KERNEL xl_kernel_interval8(xl_bytes first_data, xl_sizes x1, xl_sizes format1, xl_bytes second_data, xl_sizes x2,
                              xl_sizes format2, int32_t endpoints, xl_sizes exponents,
                              XL_GLOBAL const int32_t *constants, XL_GLOBAL const uint32_t *weights,
                              XL_GLOBAL int8_t *planes, int64_t piece_stride, xl_sizes y, XL_GLOBAL int32_t *broken,
                              XL_GLOBAL int32_t *invalid) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, row = XL_GLOBAL_INDEX(1);
    const int32_t count = (int32_t)y[XL_TABLE_LIMBS];
    const xl_format f1 = xl_format_read(format1), f2 = xl_format_read(format2);
    uint32_t a[XL_MAX_LIMBS * XL_LANES], b[XL_MAX_LIMBS * XL_LANES], pieces[XL_PIECES * XL_MAX_LIMBS * XL_LANES];
    uint32_t power[XL_LANES];
    int64_t wrong, reversed;
    if (first >= y[XL_DEPTH] || row >= x1[XL_ROWS])
        return;
    wrong = xl_device_limbs(a, count, first_data, x1, &f1, exponents[row], row, first, power, 0);
    wrong += xl_device_limbs(b, count, second_data, x2, &f2, exponents[row], row, first, power, 0);
    reversed = xl_interval_pieces(pieces, a, b, count, endpoints);
    if (wrong != 0)
        XL_ATOMIC_ADD(broken, (int32_t)wrong);
    if (reversed != 0)
        XL_ATOMIC_ADD(invalid, (int32_t)reversed);
    for (int32_t i = 0; i < XL_PIECES; ++i)
        xl_device_residues8(planes + i * piece_stride, y, pieces + i * count * XL_LANES, constants, weights, row,
                            first);
}

/* Class i of an entry at classes[i * piece_stride + row * depth + k]. */
XL_KERNEL xl_kernel_classify(xl_bytes data, xl_sizes x, xl_sizes format_table, XL_GLOBAL int8_t *classes,
                             int64_t piece_stride) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, row = XL_GLOBAL_INDEX(1);
    const xl_format format = xl_format_read(format_table);
    uint64_t words[XL_LANES];
    int8_t found[XL_CLASSES][XL_LANES];
    if (first >= x[XL_DEPTH] || row >= x[XL_ROWS])
        return;
    xl_device_words(words, data, x, format.octets, row, first);
    xl_classify(found, words, &format);
    for (int32_t i = 0; i < XL_CLASSES; ++i)
        XL_EACH_LANE(w)
            if (first + w < x[XL_DEPTH])
                classes[i * piece_stride + row * x[XL_DEPTH] + first + w] = found[i][w];
}

/* Limb j of a result at limbs[(row * columns + column) * count + j]. */
XL_KERNEL xl_kernel_integers(xl_bytes residues, xl_sizes y, XL_GLOBAL const uint32_t *constants,
                             XL_GLOBAL const uint32_t *weights, XL_GLOBAL uint32_t *limbs) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, row = XL_GLOBAL_INDEX(1), count = y[XL_TABLE_LIMBS];
    uint32_t found[XL_MAX_LIMBS * XL_LANES];
    if (first >= y[XL_DEPTH] || row >= y[XL_ROWS])
        return;
    xl_device_integers(found, residues, y, constants, weights, row, first);
    XL_EACH_LANE(w)
        if (first + w < y[XL_DEPTH])
            for (int64_t j = 0; j < count; ++j)
                limbs[(row * y[XL_DEPTH] + first + w) * count + j] = found[j * XL_LANES + w];
}

/* Encodings in `rounding`, and, where `second_rounding` is not negative, in that too. */
XL_KERNEL xl_kernel_round(xl_bytes residues, xl_sizes y, XL_GLOBAL const uint32_t *constants,
                          XL_GLOBAL const uint32_t *weights, xl_sizes row_exponents, xl_sizes column_exponents,
                          xl_sizes format_table, int64_t result_stride, int32_t rounding, XL_GLOBAL uint8_t *encodings,
                          int32_t second_rounding, XL_GLOBAL uint8_t *second_encodings) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, row = XL_GLOBAL_INDEX(1);
    const xl_format format = xl_format_read(format_table);
    uint32_t limbs[(XL_ROUND_PAD + XL_MAX_LIMBS) * XL_LANES];
    int64_t exponent[XL_LANES];
    uint64_t words[XL_LANES];
    xl_rounded rounded;
    if (first >= y[XL_DEPTH] || row >= y[XL_ROWS])
        return;
    for (int32_t i = 0; i < XL_ROUND_PAD * XL_LANES; ++i)
        limbs[i] = 0;
    XL_EACH_LANE(w)
        exponent[w] = row_exponents[row] + (first + w < y[XL_DEPTH] ? column_exponents[first + w] : 0);
    xl_device_integers(limbs + XL_ROUND_PAD * XL_LANES, residues, y, constants, weights, row, first);
    xl_round_limbs(&rounded, limbs + XL_ROUND_PAD * XL_LANES, (int32_t)y[XL_TABLE_LIMBS], exponent, &format);
    for (int32_t i = 0; i < 2; ++i) {
        XL_GLOBAL uint8_t *to = (i == 0 ? encodings : second_encodings) + row * result_stride + first * format.octets;
        if (i == 1 && second_rounding < 0)
            return;
        xl_encode(words, &rounded, i == 0 ? rounding : second_rounding, &format);
        XL_EACH_LANE(w)
            if (first + w < y[XL_DEPTH])
                xl_device_store(to + w * format.octets, format.octets, words[w]);
    }
}

/* Encodings of results with non-finite terms; the three kinds of residues share their sizes and tables. */
XL_KERNEL xl_kernel_mark(xl_bytes signs, xl_bytes terms, xl_bytes invalid, xl_sizes y,
                         XL_GLOBAL const uint32_t *constants, XL_GLOBAL const uint32_t *weights, xl_sizes format_table,
                         int64_t result_stride, XL_GLOBAL uint8_t *encodings) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, row = XL_GLOBAL_INDEX(1);
    const xl_format format = xl_format_read(format_table);
    uint32_t a[XL_MAX_LIMBS * XL_LANES], b[XL_MAX_LIMBS * XL_LANES], c[XL_MAX_LIMBS * XL_LANES];
    XL_GLOBAL uint8_t *at = encodings + row * result_stride + first * format.octets;
    uint64_t words[XL_LANES];
    if (first >= y[XL_DEPTH] || row >= y[XL_ROWS])
        return;
    xl_device_integers(a, signs, y, constants, weights, row, first);
    xl_device_integers(b, terms, y, constants, weights, row, first);
    xl_device_integers(c, invalid, y, constants, weights, row, first);
    XL_EACH_LANE(w)
        words[w] = first + w < y[XL_DEPTH] ? xl_device_load(at + w * format.octets, format.octets) : 0;
    xl_mark(words, a, b, c, (int32_t)y[XL_TABLE_LIMBS], &format);
    XL_EACH_LANE(w)
        if (first + w < y[XL_DEPTH])
            xl_device_store(at + w * format.octets, format.octets, words[w]);
}

/* result = sign_x * x + sign_z * z, centred: axis 1 runs over moduli, and y[XL_DEPTH] is the number of entries of a
 * plane, which follow each other. The signs are 1 or -1; result may be x or z. */
XL_KERNEL xl_kernel_combine(XL_GLOBAL uint8_t *result, xl_bytes x, int32_t sign_x, xl_bytes z, int32_t sign_z,
                            xl_sizes y, XL_GLOBAL const uint32_t *constants) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, p = XL_GLOBAL_INDEX(1), octets = y[XL_OCTETS];
    XL_GLOBAL const uint32_t *c = constants + p * XL_CRT_FIELDS;
    if (first >= y[XL_DEPTH] || p >= y[XL_MODULI])
        return;
    XL_EACH_LANE(w) {
        const int64_t at = (p * y[XL_DEPTH] + first + w) * octets;
        if (first + w < y[XL_DEPTH]) {
            const int32_t sum = sign_x * xl_device_residue(x + at, octets) + sign_z * xl_device_residue(z + at, octets);
            xl_device_store(result + at, octets, (uint64_t)xl_centre_sum(sum, c, octets));
        }
    }
}
