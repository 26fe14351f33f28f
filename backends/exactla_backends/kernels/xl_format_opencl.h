/* Encodings of floats to integers, in vectors; xl_format.h says what the functions ensure. */
#ifndef XL_FORMAT_OPENCL_H
#define XL_FORMAT_OPENCL_H

/* Ensures: all ones in the lanes of numbers, 0 in those of NaNs and infinities. */
XL_FUNCTION ulong16 xl_finite_lanes(ulong16 words, const xl_format *format) {
    const uint64_t sign_bit = (uint64_t)1 << (format->bits - 1);
    const uint64_t missing_zero = format->signed_zero ? ~(uint64_t)0 : sign_bit;
    const long16 small = (words & (ulong16)(sign_bit - 1)) <= (ulong16)(format->largest);
    return as_ulong16(small & (words != (ulong16)(missing_zero)));
}

XL_STAGE void xl_decode_floats(xl_entries *XL_RESTRICT x, const uint64_t *XL_RESTRICT words, const xl_format *format) {
    const xl_format f = *format;
    const ulong16 word = vload16(0, words);
    const ulong16 field = word >> (ulong16)(f.fraction_bits) & (ulong16)(xl_ones(f.exponent_bits));
    const ulong16 normal = as_ulong16(field != (ulong16)(0)) & (ulong16)(1);
    const ulong16 fraction = word & (ulong16)(xl_ones(f.fraction_bits));
    const ulong16 significand = (fraction | normal << (ulong16)(f.fraction_bits)) & xl_finite_lanes(word, &f);
    const ulong16 sign = word >> (ulong16)(f.bits - 1) & as_ulong16(significand != (ulong16)(0));
    vstore16(significand, 0, x->significand);
    vstore16((ulong16)(0) - sign, 0, x->negative);
    vstore16(as_long16(field + ((ulong16)(1) - normal)) - (long16)(f.bias + f.fraction_bits), 0, x->exponent);
}

XL_FUNCTION int64_t xl_count_nonfinite(const uint64_t words[XL_LANES], const xl_format *format) {
    const ulong16 ones = (ulong16)(1) + xl_finite_lanes(vload16(0, words), format);
    const ulong8 eight = ones.lo + ones.hi;
    const ulong4 four = eight.lo + eight.hi;
    return (int64_t)(four.x + four.y + four.z + four.w);
}

#endif
