/* Encodings to integers: an entry is (-1)**sign * significand * 2**exponent, read from its bits. */
#ifndef XL_FORMAT_H
#define XL_FORMAT_H

#include "xl_port.h"

#define XL_KIND_FLOAT 0
#define XL_KIND_SIGNED 1
#define XL_KIND_UNSIGNED 2
#define XL_KIND_LIMBS 3

/* A number format, read from a table of 64-bit integers in the order of these fields; see `tables.format_table`.
 * Integers have the least exponent 0 and limbs have 4 octets. */
typedef struct {
    int64_t kind;
    int64_t octets;
    int64_t bits;
    int64_t exponent_bits;
    int64_t fraction_bits;
    int64_t bias;
    int64_t precision;
    int64_t signed_zero;
    int64_t has_infinity;
    uint64_t largest;
    uint64_t infinity;
    uint64_t nan;
} xl_format;

#define XL_FORMAT_FIELDS 12

/* Requires: table has XL_FORMAT_FIELDS entries. */
XL_FUNCTION xl_format xl_format_read(XL_GLOBAL const int64_t *table) {
    xl_format format;
    format.kind = table[0];
    format.octets = table[1];
    format.bits = table[2];
    format.exponent_bits = table[3];
    format.fraction_bits = table[4];
    format.bias = table[5];
    format.precision = table[6];
    format.signed_zero = table[7];
    format.has_infinity = table[8];
    format.largest = (uint64_t)table[9];
    format.infinity = (uint64_t)table[10];
    format.nan = (uint64_t)table[11];
    return format;
}

/* Entries of a block: (-1)**(negative & 1) * significand * 2**exponent; `negative` is 0 or all ones.
 * A non-finite entry has significand 0, and a zero has negative 0. */
typedef struct {
    uint64_t significand[XL_LANES] XL_ALIGNED;
    uint64_t negative[XL_LANES] XL_ALIGNED;
    int64_t exponent[XL_LANES] XL_ALIGNED;
} xl_entries;

/* Requires: 0 < bits <= 64.
 * Ensures: 2**bits - 1. */
XL_FUNCTION uint64_t xl_ones(int64_t bits) {
    return ~(uint64_t)0 >> (64 - bits);
}

/* Requires: word < 2**bits is an encoding of a float format.
 * Ensures: 1 where it stands for a number, 0 for a NaN or an infinity. */
XL_FUNCTION uint64_t xl_is_finite(uint64_t word, const xl_format *format) {
    const uint64_t sign_bit = (uint64_t)1 << (format->bits - 1);
    const uint64_t missing_zero = format->signed_zero ? ~(uint64_t)0 : sign_bit;
    return (uint64_t)((word & (sign_bit - 1)) <= format->largest) & (uint64_t)(word != missing_zero);
}

#ifdef XL_VECTORS
#include "xl_format_opencl.h"
#else

/* Requires: words[w] < 2**bits are encodings of a float format.
 * Ensures: the entries; see xl_entries. */
XL_STAGE void xl_decode_floats(xl_entries *XL_RESTRICT x, const uint64_t *XL_RESTRICT words, const xl_format *format) {
    const xl_format f = *format;
    const uint64_t field_mask = xl_ones(f.exponent_bits), fraction_mask = xl_ones(f.fraction_bits);
    const int64_t scale = f.bias + f.fraction_bits;
    XL_EACH_LANE(w) {
        const uint64_t word = words[w];
        const uint64_t field = word >> f.fraction_bits & field_mask;
        const uint64_t normal = (uint64_t)(field != 0);
        const uint64_t finite = (uint64_t)0 - xl_is_finite(word, &f);
        const uint64_t significand = ((word & fraction_mask) | normal << f.fraction_bits) & finite;
        x->significand[w] = significand;
        x->negative[w] = (uint64_t)0 - (word >> (f.bits - 1) & (uint64_t)(significand != 0));
        x->exponent[w] = (int64_t)(field + (1 - normal)) - scale;
    }
}

/* Requires: words[w] < 2**bits are encodings of a float format.
 * Ensures: the number of NaNs and infinities. */
XL_FUNCTION int64_t xl_count_nonfinite(const uint64_t words[XL_LANES], const xl_format *format) {
    int64_t count = 0;
    XL_EACH_LANE(w)
        count += (int64_t)(1 - xl_is_finite(words[w], format));
    return count;
}

#endif

/* Requires: words[w] < 2**(8 * octets) are two's complement or unsigned integers.
 * Ensures: the entries, with exponents 0. */
XL_STAGE void xl_decode_integers(xl_entries *XL_RESTRICT x, const uint64_t *XL_RESTRICT words,
                                 const xl_format *format) {
    const uint64_t is_signed = (uint64_t)(format->kind == XL_KIND_SIGNED);
    const uint64_t sign_bit = is_signed << (8 * format->octets - 1);
    XL_EACH_LANE(w) {
        const uint64_t value = (words[w] ^ sign_bit) - sign_bit;
        const uint64_t negative = (uint64_t)0 - (value >> 63 & is_signed);
        x->significand[w] = (value ^ negative) - negative;
        x->negative[w] = negative;
        x->exponent[w] = 0;
    }
}

/* Requires: words[w] are encodings of the format, which is not of kind limbs.
 * Ensures: the entries; see xl_entries. */
XL_FUNCTION void xl_decode(xl_entries *x, const uint64_t words[XL_LANES], const xl_format *format) {
    if (format->kind == XL_KIND_FLOAT)
        xl_decode_floats(x, words, format);
    else
        xl_decode_integers(x, words, format);
}

#endif
