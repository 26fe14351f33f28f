/* Sums that a library has made, to residues; and residues to what its products take.
 *
 * A launch compiles this text with XL_SUM, the type of a sum, and XL_DIGITS (1 or 2): results are octets or words of 16
 * bits. Sums are integers in whatever type, below 2**31 in magnitude, or below 2**53 in a type of eight octets.
 */
#include "xl_cuda.h"

#if XL_DIGITS == 1
typedef int8_t xl_result;
#else
typedef int16_t xl_result;
#endif

/* Requires: inverse = round(2**32 / m).
 * Ensures: congruent to sum, in [-floor(m / 2), ceil(m / 2)); see int8_sm90.cu. */
__device__ __forceinline__ int32_t xl_centre(int32_t sum, int32_t m, int32_t inverse) {
    const int32_t remainder = sum - __mulhi(sum, inverse) * m;
    return remainder >= (m + 1) >> 1 ? remainder - m : remainder;
}

/* Requires: an integer.
 * Ensures: congruent to it, of magnitude below 2**31. */
__device__ __forceinline__ int32_t xl_shorter(XL_SUM sum, int32_t m) {
    return sizeof(XL_SUM) == 8 ? (int32_t)((int64_t)sum % m) : (int32_t)sum;
}

/* result = keep * result + sign * weight * sum modulo m, centred. Sums are [moduli, rows, columns] and results [moduli,
 * rows, stride]; constants are (m, round(2**32 / m), 256 mod m, 65536 mod m) for each modulus, and `weight` is the
 * column of the weight, or 0 for 1. */
extern "C" __global__ void xl_reduce(const XL_SUM *sums, int64_t moduli, int64_t rows, int64_t columns, int64_t stride,
                                     const int32_t *constants, int64_t weight, int64_t sign, int64_t keep,
                                     xl_result *result) {
    const int64_t column = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    for (int64_t at = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; at < moduli * rows;
         at += (int64_t)gridDim.y * blockDim.y) {
        const int32_t *c = constants + 4 * (at / rows);
        const int32_t sum = xl_centre(xl_shorter(sums[at * columns + column], c[0]), c[0], c[1]);
        const int32_t old = keep ? result[at * stride + column] : 0;
        result[at * stride + column] =
            (xl_result)xl_centre(old + (int32_t)sign * sum * (weight ? c[weight] : 1), c[0], c[1]);
    }
}

/* to[i] = the half-precision number of from[i], as its encoding: integers up to 128 in magnitude. */
extern "C" __global__ void xl_halves(const int8_t *from, int64_t size, int64_t planes, int16_t *to) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < size * planes; i += step) {
        const int32_t value = from[i], magnitude = value < 0 ? -value : value;
        const int32_t exponent = 31 - __clz(magnitude | 1), fraction = (magnitude << (10 - exponent)) & 1023;
        to[i] = (int16_t)((value < 0) << 15 | (magnitude == 0 ? 0 : (exponent + 15) << 10 | fraction));
    }
}

/* Whole residues [planes, size] of planes of high digits, each followed by one of low digits. */
extern "C" __global__ void xl_whole(const int8_t *from, int64_t size, int64_t planes, XL_SUM *to) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < size * planes; i += step) {
        const int8_t *high = from + i / size * 2 * size + i % size;
        to[i] = (XL_SUM)(256 * high[0] + high[size]);
    }
}
