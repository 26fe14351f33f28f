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
