/* Scalar steps that lanes are made of: reductions by a constant modulus, and products of four bytes. */
#ifndef XL_REDUCE_H
#define XL_REDUCE_H

/* Requires: value < 2**16, inverse = floor(2**16 / modulus), 0 < modulus <= 256.
 * Ensures: value mod modulus. */
XL_FUNCTION uint16_t xl_reduce16(uint16_t value, uint16_t modulus, uint16_t inverse) {
    const uint16_t quotient = (uint16_t)((uint32_t)value * inverse >> 16);
    const uint16_t remainder = (uint16_t)(value - (uint16_t)(quotient * modulus)); /* below 2 * modulus */
    const uint16_t less = (uint16_t)(remainder - modulus);
    return less < remainder ? less : remainder;
}

/* Requires: value < 2**32, inverse = floor(2**32 / modulus), 1 < modulus <= 2**16.
 * Ensures: value mod modulus. */
XL_FUNCTION uint32_t xl_reduce32(uint32_t value, uint32_t modulus, uint32_t inverse) {
    const uint32_t quotient = (uint32_t)((uint64_t)value * inverse >> 32);
    const uint32_t remainder = value - quotient * modulus; /* below 2 * modulus */
    const uint32_t less = remainder - modulus;
    return less < remainder ? less : remainder;
}

#endif
