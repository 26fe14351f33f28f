/* Sums of two products of 16-bit integers at a time, in OpenCL C for CPUs: their compilers have an instruction for it.
 *
 * Vectors of 32 are no type of OpenCL C's own, and none of SPIR-V's; clang, which compiles OpenCL C for all CPUs, has
 * them.
 */
#ifndef XL_LANES_PAIRS_H
#define XL_LANES_PAIRS_H

typedef short xl_shorts __attribute__((ext_vector_type(32)));
typedef int xl_products __attribute__((ext_vector_type(32)));

/* Requires: words of two signed integers of 16 bits each.
 * Ensures: sums plus, in each word, the products of the lower and of the upper integers. */
XL_FUNCTION int16 xl_add_pairs(uint16 x, uint16 y, int16 sums) {
    const xl_products left = __builtin_convertvector(__builtin_astype(x, xl_shorts), xl_products);
    const xl_products products = left * __builtin_convertvector(__builtin_astype(y, xl_shorts), xl_products);
    return sums + products.even + products.odd;
}

#endif
