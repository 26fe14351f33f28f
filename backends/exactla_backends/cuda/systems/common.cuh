/* What the kernels for systems of equations share. Residues are of odd primes below 256, centred, in a signed octet. */
#include "xl_cuda.h"

/* Requires: inverse = round(2**32 / m).
 * Ensures: congruent to sum, in [-floor(m / 2), ceil(m / 2)). */
XL_INLINE int32_t xl_centre(int32_t sum, int32_t m, int32_t inverse) {
    const int32_t remainder = sum - __mulhi(sum, inverse) * m;
    return remainder >= (m + 1) >> 1 ? remainder - m : remainder;
}

/* Ensures: sum plus the products of four signed octets. */
XL_INLINE int32_t xl_dot(uint32_t x, uint32_t y, int32_t sum) {
    int32_t result;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(sum));
    return result;
}

/* Ensures: sum plus the products of four octets with four signed ones. */
XL_INLINE int32_t xl_mixed_dot(uint32_t x, uint32_t y, int32_t sum) {
    int32_t result;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(sum));
    return result;
}

/* Requires: `powers` holds the residues of 2**(8 i) for the octets of `count` words, then that of 2**(32 count).
 * Ensures: the residue of an integer in two's complement. */
XL_INLINE int32_t xl_residue(const uint32_t *words, int64_t count, const uint32_t *powers, int32_t m, int32_t inverse) {
    int32_t sum = 0;
    for (int64_t i = 0; i < count; ++i)
        sum = xl_mixed_dot(words[i], powers[i], sum);
    if ((int32_t)words[count - 1] < 0)
        sum -= (int8_t)powers[count];
    return xl_centre(sum, m, inverse);
}
