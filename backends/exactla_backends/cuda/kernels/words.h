/* Entries of operands as words. What is compiled is for one format: XL_FORMAT has the fields of xl_format. */
#ifndef XL_CUDA_WORDS_H
#define XL_CUDA_WORDS_H
#include "xl_residues.h"

XL_FUNCTION uint64_t xl_word(const uint8_t *from, int32_t octets) {
    return octets == 8   ? *(const uint64_t *)from
           : octets == 4 ? *(const uint32_t *)from
           : octets == 2 ? *(const uint16_t *)from
                         : *from;
}

/* Ensures: the exponent of a number's encoding in a float format, that of the last bit of its significand. */
XL_FUNCTION int32_t xl_exponent_of(uint64_t word) {
    const xl_format f = {XL_FORMAT};
    const uint32_t field = (uint32_t)(word >> f.fraction_bits & xl_ones(f.exponent_bits));
    return (int32_t)(field != 0 ? field : 1) - (int32_t)(f.bias + f.fraction_bits);
}

/* Requires: the encoding of a number that is not 0, in a float format.
 * Ensures: the exponent of the lowest bit that is set, which is the same with and without the implicit one. */
XL_FUNCTION int32_t xl_lowest_bit(uint64_t word) {
    const xl_format f = {XL_FORMAT};
    const uint64_t bits = (word & xl_ones(f.fraction_bits)) | (uint64_t)1 << f.fraction_bits;
    return xl_exponent_of(word) + (f.fraction_bits < 31 ? __ffs((int32_t)bits) : __ffsll((int64_t)bits)) - 1;
}

XL_FUNCTION bool xl_is_zero(uint64_t word) {
    const xl_format f = {XL_FORMAT};
    return (word & xl_ones(f.bits - 1)) == 0;
}

#endif
