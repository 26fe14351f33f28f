/* Exact sums of single results, of operands in XL_LEFT_FORMAT and XL_RIGHT_FORMAT. */
#include "encodings.h"
#include "words.h"

struct xl_side {
    const uint8_t *data;
    int64_t strides[3];
    const int64_t *exponents;
    int64_t exponent_stride;
};

struct xl_settlement {
    xl_side left, right;
    int64_t pairs, rows, columns, depth, shift;
    const int64_t *places; /* [2, pairs]: the left and the right matrix of each pair */
    const int64_t *doubtful;
    int64_t capacity;
    int32_t *left_over; /* grows by the results that had no room in the list */
    uint8_t *encodings[2];
    int64_t roundings[2];
};

/* Ensures: acc += (-1)**negative * product * 2**shift, for shift >= 0; the product is of two words. */
XL_FUNCTION void xl_accumulate(uint32_t acc[XL_LIMBS], uint64_t low, uint64_t high, int32_t shift, uint32_t negative) {
    const uint32_t p[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    const int32_t place = shift >> 5;
    const uint32_t w0 = p[0] << (shift & 31), w1 = __funnelshift_l(p[0], p[1], shift), w2 = __funnelshift_l(p[1], p[2], shift);
    const uint32_t w3 = __funnelshift_l(p[2], p[3], shift), w4 = __funnelshift_l(p[3], 0, shift);
    uint64_t carry = negative & 1;
#pragma unroll
    for (int32_t j = 0; j < XL_LIMBS; ++j) {
        const int32_t i = j - place;
        const uint32_t word = i == 0 ? w0 : i == 1 ? w1 : i == 2 ? w2 : i == 3 ? w3 : i == 4 ? w4 : 0;
        carry += (uint64_t)acc[j] + (word ^ negative);
        acc[j] = (uint32_t)carry;
        carry >>= 32;
    }
}

XL_FUNCTION uint64_t xl_entry(const xl_side &side, int64_t stack, int64_t row, int64_t k, int32_t octets) {
    return xl_word(side.data + stack * side.strides[0] + row * side.strides[1] + k * side.strides[2], octets);
}

/* Ensures: acc += the product of two entries, in units of their rows' exponents. */
XL_FUNCTION void xl_add_product(uint32_t acc[XL_LIMBS], uint64_t left, uint64_t right, int64_t unit) {
    const xl_format left_format = {XL_LEFT_FORMAT}, right_format = {XL_RIGHT_FORMAT};
    const uint64_t words[2] = {left, right};
    xl_entries a, b;
    xl_decode(&a, words, &left_format);
    xl_decode(&b, words + 1, &right_format);
    const int32_t shift = (int32_t)(a.exponent[0] + b.exponent[0] - unit);
    const uint64_t low = a.significand[0] * b.significand[0], high = __umul64hi(a.significand[0], b.significand[0]);
    const uint32_t negative = (uint32_t)(a.negative[0] ^ b.negative[0]);
    if (shift >= 0)
        xl_accumulate(acc, low, high, shift, negative);
    else if (shift > -64) /* trailing zeros may lie below the unit */
        xl_accumulate(acc, low >> -shift | high << (64 + shift), high >> -shift, 0, negative);
    else if (shift > -128)
        xl_accumulate(acc, high >> (-shift - 64), 0, 0, negative);
}

#define XL_AHEAD 8 /* entries of each side that a thread reads before it uses them: columns lie far apart in memory */

/* Ensures: acc += more. */
XL_FUNCTION void xl_add(uint32_t acc[XL_LIMBS], const uint32_t more[XL_LIMBS]) {
    uint64_t carry = 0;
#pragma unroll
    for (int32_t l = 0; l < XL_LIMBS; ++l) {
        carry += (uint64_t)acc[l] + more[l];
        acc[l] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Ensures: acc is the sum of the accumulators of a warp, in every lane. */
XL_FUNCTION void xl_warp_sum(uint32_t acc[XL_LIMBS]) {
#pragma unroll
    for (int32_t step = 16; step > 0; step /= 2) {
        uint32_t more[XL_LIMBS];
#pragma unroll
        for (int32_t l = 0; l < XL_LIMBS; ++l)
            more[l] = __shfl_xor_sync(0xffffffffu, acc[l], step);
        xl_add(acc, more);
    }
}

#define XL_WARPS 4 /* of a block */

/* A block takes a result at a time, so that few are left when the last blocks work. */
XL_KERNEL __launch_bounds__(32 * XL_WARPS) xl_cuda_settle(const __grid_constant__ xl_settlement s) {
    const xl_format left_format = {XL_LEFT_FORMAT}, right_format = {XL_RIGHT_FORMAT}, format = {XL_FORMAT};
    __shared__ uint32_t sums[2][XL_WARPS][XL_LIMBS]; /* of two results, one of which may still be read */
    const int32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const int64_t found = s.doubtful[0], count = found < s.capacity ? found : s.capacity;
    int32_t side = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0 && found > count)
        atomicAdd(s.left_over, (int32_t)(found - count < 1 << 30 ? found - count : 1 << 30));
    for (int64_t n = blockIdx.x; n < count; n += gridDim.x, side ^= 1) {
        const int64_t entry = s.doubtful[1 + n];
        const int64_t column = entry % s.columns, row = entry / s.columns % s.rows, pair = entry / (s.rows * s.columns);
        const int64_t i = s.places[pair], j = s.places[s.pairs + pair];
        const int64_t left_exponent = s.left.exponents[i * s.left.exponent_stride + row];
        const int64_t right_exponent = s.right.exponents[j * s.right.exponent_stride + column];
        uint32_t acc[XL_LIMBS];
#pragma unroll
        for (int32_t l = 0; l < XL_LIMBS; ++l)
            acc[l] = 0;
        for (int64_t first = 32 * XL_AHEAD * warp + lane; first < s.depth; first += 32 * XL_AHEAD * XL_WARPS) {
            uint64_t left[XL_AHEAD], right[XL_AHEAD];
#pragma unroll
            for (int32_t ahead = 0; ahead < XL_AHEAD; ++ahead) {
                const int64_t k = first + 32 * ahead;
                left[ahead] = k < s.depth ? xl_entry(s.left, i, row, k, (int32_t)left_format.octets) : 0;
                right[ahead] = k < s.depth ? xl_entry(s.right, j, column, k, (int32_t)right_format.octets) : 0;
            }
#pragma unroll
            for (int32_t ahead = 0; ahead < XL_AHEAD; ++ahead)
                xl_add_product(acc, left[ahead], right[ahead], left_exponent + right_exponent);
        }
        xl_warp_sum(acc);
        if (lane == 0)
#pragma unroll
            for (int32_t l = 0; l < XL_LIMBS; ++l)
                sums[side][warp][l] = acc[l];
        __syncthreads();
        if (threadIdx.x < 2 && s.roundings[lane] >= 0) {
            for (int32_t other = 1; other < XL_WARPS; ++other)
                xl_add(acc, sums[side][other]);
            const xl_rounded8 rounded =
                xl_round_magnitude(xl_magnitude_of(acc), (int32_t)(left_exponent + right_exponent + s.shift));
            const xl_encoding word = xl_encode8(rounded, (int32_t)s.roundings[lane]);
            uint8_t *to = s.encodings[lane] + entry * format.octets;
            if (format.octets == 8)
                *(uint64_t *)to = word;
            else if (format.octets == 4)
                *(uint32_t *)to = (uint32_t)word;
            else if (format.octets == 2)
                *(uint16_t *)to = (uint16_t)word;
            else
                *to = (uint8_t)word;
        }
    }
}
