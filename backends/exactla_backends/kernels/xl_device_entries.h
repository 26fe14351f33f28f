/* Entries of an operand as integers in units of their rows' exponents. */
#ifndef XL_DEVICE_ENTRIES_H
#define XL_DEVICE_ENTRIES_H

#include "xl_device.h"
#include "xl_residues.h"

/* Ensures: limbs of entries first + w of a row, times 2**(64 * power) where there are blocks; returns how many of them
 * break their scan. */
XL_FUNCTION int64_t xl_device_limbs(uint32_t *limbs, int32_t count, xl_bytes data, xl_sizes x, int64_t exponent,
                                    int64_t stack, int64_t row, int64_t first, uint32_t power[XL_LANES],
                                    int64_t blocks) {
    const xl_format format = xl_format_read(x + XL_FORMAT);
    uint64_t words[XL_LANES];
    int64_t shift[XL_LANES], broken;
    xl_entries entries;
    if (x[XL_LIMBS] != 0) {
        xl_device_given_limbs(limbs, count, data, x, exponent, stack, row, first);
        return 0;
    }
    xl_device_words(words, data, x, format.octets, stack, row, first);
    xl_decode(&entries, words, &format);
    XL_EACH_LANE(w)
        shift[w] = entries.exponent[w] - exponent;
    broken = xl_count_broken(&entries, shift, x[XL_BITS], format.precision, x[XL_CHECKS] & XL_MAY_DROP);
    if ((x[XL_CHECKS] & XL_EXPECT_FINITE) != 0 && format.kind == XL_KIND_FLOAT)
        broken += xl_count_nonfinite(words, &format);
    if (blocks != 0)
        xl_split_shift(shift, power, blocks);
    xl_limbs_of(limbs, count, &entries, shift);
    return broken;
}

#endif
