/* Tables of the products that take integers of many limbs to residues and back: a block has a modulus, or a thread. They
 * are of octets, rows of a multiple of 16, and begin as zeros. `common.cuh` stands before this text. */

/* Requires: p < moduli = gridDim.x.
 * Ensures: table[2 p, j] and table[2 p + 1, j] are the high and the low digit of 256**j modulo the modulus, centred. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_wide_powers(const uint64_t *constants, int64_t octets, int8_t *table) {
    const int64_t p = blockIdx.x;
    const uint64_t *c = constants + p * XL_CONSTANTS;
    const uint32_t m = (uint32_t)c[0], reciprocal = (uint32_t)c[1];
    /* 256**thread and 256**XL_THREADS */
    uint32_t power = 1, step = 1, square = 256 % m;
    for (uint32_t bit = 1; bit <= XL_THREADS; bit <<= 1) {
        if (threadIdx.x & bit)
            power = xl_modulo(power * square, m, reciprocal);
        if (XL_THREADS & bit)
            step = square;
        square = xl_modulo(square * square, m, reciprocal);
    }
    for (int64_t j = threadIdx.x; j < octets; j += XL_THREADS) {
        const int32_t residue = xl_centred(power, m), high = xl_high_digit(residue);
        table[2 * p * octets + j] = (int8_t)high;
        table[(2 * p + 1) * octets + j] = (int8_t)(residue - 256 * high);
        power = xl_modulo(power * step, m, reciprocal);
    }
}

/* Requires: M >= 0 in `count` words of 32 bits; quotients [count, moduli] are memory to work in.
 * Ensures: table[o, 2 p] is the balanced octet o of M / m_p, for o < octets, a multiple of 4, and table[o, 2 p + 1] that
 * of 256 M / m_p. */
extern "C" __global__ void xl_wide_cofactors(const uint32_t *product, int64_t count, const uint64_t *constants,
                                             int64_t moduli, uint32_t *quotients, int64_t octets, int64_t stride,
                                             int8_t *table) {
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= moduli)
        return;
    const uint64_t m = constants[p * XL_CONSTANTS], reciprocal = constants[p * XL_CONSTANTS + 6];
    uint64_t remainder = 0;
    for (int64_t w = count - 1; w >= 0; --w) {
        /* below 2**32 m, so that a product with the reciprocal is at most one less than the quotient */
        const uint64_t x = remainder << 32 | product[w];
        uint64_t quotient = __umul64hi(x, reciprocal);
        remainder = x - quotient * m;
        if (remainder >= m) {
            remainder -= m;
            ++quotient;
        }
        quotients[w * moduli + p] = (uint32_t)quotient;
    }
    const uint64_t halves = 0x80808080ull;
    uint64_t carry = 0;
    for (int64_t w = 0; w < octets / 4; ++w) {
        const uint64_t sum = (w < count ? quotients[w * moduli + p] : 0) + halves + carry;
        const uint32_t found = (uint32_t)(sum ^ halves);
        int8_t *to = table + 4 * w * stride + 2 * p;
        carry = sum >> 32;
        for (int32_t b = 0; b < 4; ++b) {
            to[b * stride] = (int8_t)(found >> 8 * b);
            if (4 * w + b + 1 < octets)
                to[(b + 1) * stride + 1] = (int8_t)(found >> 8 * b);
        }
    }
}
