/* What the kernels for integers of many limbs share. Integers are limbs of 64 bits in two's complement, the lowest first;
 * a matrix of them is an address with strides from row to row and from entry to entry, in limbs. A block of threads has
 * one integer, and a thread one limb of each XL_THREADS. */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

#define XL_INLINE __device__ __forceinline__
#define XL_WARP 32
#define XL_WHOLE_WARP 0xffffffffu
#ifndef XL_THREADS
#define XL_THREADS 256
#endif
#define XL_WARPS (XL_THREADS / XL_WARP)

/* Limb j of an integer, of all those that there are below and above. */
XL_INLINE uint64_t xl_limb(const uint64_t *x, int64_t count, int64_t j) {
    return j < 0 ? 0 : j < count ? x[j] : (uint64_t)((int64_t)x[count - 1] >> 63);
}

/* Limb j of floor(2**shift x). */
XL_INLINE uint64_t xl_shifted_limb(const uint64_t *x, int64_t count, int64_t shift, int64_t j) {
    const int64_t part = shift & 63, from = j - (shift >> 6);
    const uint64_t limb = xl_limb(x, count, from);
    return part == 0 ? limb : limb << part | xl_limb(x, count, from - 1) >> (64 - part);
}

XL_INLINE uint32_t xl_bit(const uint64_t *x, int64_t count, int64_t bit) {
    return (uint32_t)(xl_limb(x, count, bit >> 6) >> (bit & 63)) & 1;
}

XL_INLINE const uint64_t *xl_entry(const uint64_t *x, int64_t columns, int64_t row_stride, int64_t entry_stride,
                                   int64_t entry) {
    return x + entry / columns * row_stride + entry % columns * entry_stride;
}

/* The sign of |x| - |y|. */
XL_INLINE int32_t xl_compare_magnitudes(const uint64_t *x, const uint64_t *y, int64_t count) {
    const uint64_t sx = xl_limb(x, count, count), sy = xl_limb(y, count, count);
    int64_t j = count - 1;
    while (j >= 0 && (x[j] ^ sx) == (y[j] ^ sy))
        --j;
    if (j < 0)
        return (int32_t)(sx & 1) - (int32_t)(sy & 1);
    const bool is_greater = (x[j] ^ sx) > (y[j] ^ sy);
    /* a magnitude is the complement of a negative number, or one more */
    const uint64_t *low = is_greater ? y : x, *high = is_greater ? x : y;
    const uint64_t sl = is_greater ? sy : sx, sh = is_greater ? sx : sy;
    bool is_equal = sl != sh && sl != 0 && (high[j] ^ sh) - (low[j] ^ sl) == 1;
    for (--j; is_equal && j >= 0; --j)
        is_equal = (high[j] ^ sh) == 0 && (low[j] ^ sl) == ~0ull;
    return is_equal ? 0 : is_greater ? 1 : -1;
}

/* low + 2**64 high += x. */
XL_INLINE void xl_add(uint64_t &low, uint64_t &high, uint64_t x) {
    low += x;
    high += low < x;
}

/* What warps tell each other of the carries in a part of an integer. */
struct xl_carries {
    uint32_t generate[XL_WARPS], propagate[XL_WARPS];
};

/* The carry into the limb of each thread, from those of the threads before it, which generate a carry or pass one on, and
 * from `carry` into the first of them; `carry` becomes that out of the last. Every thread of the block comes here. */
XL_INLINE uint32_t xl_carry_in(xl_carries &shared, bool generates, bool propagates, uint32_t &carry) {
    const uint32_t lane = threadIdx.x % XL_WARP, warp = threadIdx.x / XL_WARP;
    const uint64_t once = __ballot_sync(XL_WHOLE_WARP, generates);
    const uint64_t either = once | __ballot_sync(XL_WHOLE_WARP, propagates);
    uint32_t in = carry, out = carry;
    __syncthreads();
    if (lane == 0) {
        shared.generate[warp] = (uint32_t)((once + either) >> XL_WARP);
        shared.propagate[warp] = (uint32_t)((once + either + 1) >> XL_WARP);
    }
    __syncthreads();
    for (uint32_t w = 0; w < XL_WARPS; ++w) {
        if (w == warp)
            in = out;
        out = shared.generate[w] | (shared.propagate[w] & out);
    }
    carry = out;
    return (uint32_t)((once + either + in) ^ once ^ either) >> lane & 1;
}

/* Constants have XL_CONSTANTS words for each modulus: m, floor(2**32 / m), a multiple of m from 2**30 on, a weight for
 * sums and one for their negatives, floor(2**40 / m), floor(2**64 / m). */
#define XL_CONSTANTS 7
#define XL_FRACTION_BITS 40

/* Requires: x < 2**32.
 * Ensures: x modulo m. */
XL_INLINE uint32_t xl_modulo(uint32_t x, uint32_t m, uint32_t reciprocal) {
    const uint32_t remainder = x - __umulhi(x, reciprocal) * m;
    return remainder >= m ? remainder - m : remainder;
}

XL_INLINE int32_t xl_centred(uint32_t remainder, uint32_t m) {
    return remainder >= (m + 1) >> 1 ? (int32_t)remainder - (int32_t)m : (int32_t)remainder;
}

XL_INLINE int32_t xl_high_digit(int32_t residue) {
    return (residue + 128) >> 8;
}

/* x modulo the number whose constants these are. */
XL_INLINE uint32_t xl_long_modulo(uint64_t x, const uint64_t *c) {
    const uint64_t remainder = x - __umul64hi(x, c[6]) * c[0];
    return (uint32_t)(remainder >= c[0] ? remainder - c[0] : remainder);
}

/* Requires: |sum| < 2**37, which a multiple of the modulus makes positive.
 * Ensures: the sum times a weight, modulo the number whose constants these are. */
XL_INLINE uint32_t xl_weighted(int64_t sum, const uint64_t *c, uint64_t weight) {
    const uint32_t remainder = xl_long_modulo((uint64_t)(sum + (int64_t)(c[2] << 8)), c);
    return xl_modulo(remainder * (uint32_t)weight, (uint32_t)c[0], (uint32_t)c[1]);
}
