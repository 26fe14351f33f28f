/* Long integers from p-adic digits: sums of digits with weights of entries, and with weights of steps.
 *
 * A launch compiles this text, behind `common.cuh`, with XL_WORDS, the words of a digit. Digits are [steps, entries,
 * XL_WORDS], in two's complement.
 */
#define XL_THREADS 256
#define XL_HALVES 0x80808080u
#define XL_BIAS (1u << 30)
#define XL_ROOM (2 * XL_WORDS + 16) /* words of the numbers that a quotient is made from */

/* sums [steps, XL_WORDS, 2]: those of the low and of the high half of each word, times the weights of the entries; top
 * halves are signed. A block of threads for each step. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_system_combine(const uint32_t *digits, int64_t entries, const int32_t *weights, int64_t *sums) {
    __shared__ int64_t low[XL_THREADS], high[XL_THREADS];
    const int32_t thread = (int32_t)threadIdx.x, word = thread % XL_WORDS, together = XL_THREADS / XL_WORDS;
    const uint32_t *digit = digits + (int64_t)blockIdx.x * entries * XL_WORDS;
    low[thread] = high[thread] = 0;
    if (thread < together * XL_WORDS)
        for (int64_t entry = thread / XL_WORDS; entry < entries; entry += together) {
            const uint32_t value = digit[entry * XL_WORDS + word];
            low[thread] += (int64_t)weights[entry] * (value & 0xffff);
            high[thread] += (int64_t)weights[entry] * (word == XL_WORDS - 1 ? (int32_t)value >> 16 : (int32_t)(value >> 16));
        }
    __syncthreads();
    if (thread < XL_WORDS) {
        int64_t *at = sums + ((int64_t)blockIdx.x * XL_WORDS + thread) * 2;
        at[0] = at[1] = 0;
        for (int32_t i = 0; i < together; ++i) {
            at[0] += low[i * XL_WORDS + thread];
            at[1] += high[i * XL_WORDS + thread];
        }
    }
}

/* Balanced octets of digits, so that those of a digit are sums of octets[o] * 256**o, for entries [first, first + count):
 * octets [count, stride], those of each step behind those of the step before. A thread for each entry and step.
 * Requires: digits are less than 0.49 * 2**(32 XL_WORDS) in magnitude; strides are multiples of 4. */
extern "C" __global__ void xl_system_octets(const uint32_t *digits, int64_t entries, int64_t first, int64_t count,
                                            int64_t steps, uint32_t *octets, int64_t stride) {
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, entry = at / steps, step = at % steps;
    if (entry >= count)
        return;
    const uint32_t *digit = digits + (step * entries + first + entry) * XL_WORDS;
    uint32_t *to = octets + entry * (stride / 4) + step * XL_WORDS;
    uint64_t carry = 0;
#pragma unroll
    for (int32_t word = 0; word < XL_WORDS; ++word) {
        carry += (uint64_t)digit[word] + XL_HALVES;
        to[word] = (uint32_t)carry ^ XL_HALVES;
        carry >>= 32;
    }
}

/* Balanced octets of weights [steps, length], in words, as far as they are multiplied with those of digits for octets
 * [first, first + gridDim.y) of the sums: row o has octet first + o - i of a step's weight where octet i of its digit is.
 * A thread for four octets of a row. Requires: `length` and `stride` are multiples of 4. */
extern "C" __global__ void xl_system_weights(const int8_t *weights, int64_t length, int64_t steps, int64_t first,
                                             int64_t stride, uint32_t *table) {
    const int64_t word = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, step = word / XL_WORDS;
    if (word >= stride / 4)
        return;
    uint32_t found = 0;
    for (int32_t octet = 0; octet < 4 && step < steps; ++octet) {
        const int64_t place = first + blockIdx.y - 4 * (word % XL_WORDS) - octet;
        if (place >= 0 && place < length)
            found |= (uint32_t)(uint8_t)weights[step * length + place] << 8 * octet;
    }
    table[blockIdx.y * (stride / 4) + word] = found;
}

/* Sums [parts, columns, stride] of octets, of at most 2**30 in magnitude, as words [columns / 4, count] of what all parts
 * add up to, with 2**30 and a constant of as many words added to each. */
XL_INLINE void xl_carry(const uint32_t *sums, int64_t parts, int64_t stride, int64_t count, int64_t columns,
                        const uint32_t *constant, int64_t entry, uint32_t *words) {
    uint64_t carry = 0;
#pragma unroll 4
    for (int64_t k = 0; k < columns / 4; ++k) {
        carry += constant[k];
        for (int64_t part = 0; part < parts; ++part) {
            const uint32_t *at = sums + (part * columns + 4 * k) * stride + entry;
#pragma unroll
            for (int32_t octet = 0; octet < 4; ++octet)
                carry += (uint64_t)(at[octet * stride] + XL_BIAS) << 8 * octet;
        }
        words[k * count + entry] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* A modulus, and what its multiples are found with: words of s from `bottom` on times `reciprocal`, `places` words of which
 * are behind the point, give s / modulus. */
struct xl_division {
    const uint32_t *modulus, *reciprocal;
    int64_t modulus_words, reciprocal_words, bottom, places;
};

/* round(s / modulus) for s of `words` words, or nearly so; returns its words. */
XL_INLINE int64_t xl_quotient(const xl_division &by, const uint32_t *s, int64_t words, int64_t count, uint32_t *quotient) {
    uint32_t product[2 * XL_ROOM];
    const int64_t top = words - by.bottom, length = top + by.reciprocal_words;
    for (int64_t i = 0; i < length; ++i)
        product[i] = 0;
    product[by.places - 1] = 0x80000000u;
    for (int64_t i = 0; i < top; ++i) {
        uint64_t carry = 0;
        const uint64_t x = s[(by.bottom + i) * count];
        for (int64_t j = 0; j < by.reciprocal_words; ++j) {
            carry += x * by.reciprocal[j] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        for (int64_t j = i + by.reciprocal_words; carry != 0 && j < length; ++j) {
            carry += product[j];
            product[j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    for (int64_t i = by.places; i < length; ++i)
        quotient[i - by.places] = product[i];
    return length - by.places;
}

/* result [entries, modulus_words]: the sums, with the constant, modulo a modulus: centred where they are far from half of
 * it, in two's complement; and the bits of their magnitudes, of the next lower one for negative ones. A thread for each
 * entry. */
extern "C" __global__ void xl_system_reduce(const uint32_t *sums, int64_t parts, int64_t stride, int64_t first,
                                            int64_t count, int64_t columns, const uint32_t *constant,
                                            const uint32_t *modulus, int64_t modulus_words, const uint32_t *reciprocal,
                                            int64_t reciprocal_words, int64_t bottom, int64_t places, uint32_t *words,
                                            uint32_t *result, int32_t *bits) {
    const int64_t entry = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const xl_division by = {modulus, reciprocal, modulus_words, reciprocal_words, bottom, places};
    uint32_t quotient[2 * XL_ROOM];
    if (entry >= count)
        return;
    xl_carry(sums, parts, stride, count, columns, constant, entry, words);
    const int64_t quotient_words = xl_quotient(by, words + entry, columns / 4, count, quotient);
    uint32_t *to = result + (first + entry) * modulus_words;
    int64_t carry = 0, after_zeros = 0, after_ones = 0, before = 0;
    for (int64_t k = 0; k < modulus_words; ++k) {
        int64_t low = 0, high = 0;
        for (int64_t i = 0; i < quotient_words && i <= k; ++i) {
            const uint64_t product = (uint64_t)quotient[i] * modulus[k - i];
            low += (uint32_t)product;
            high += (int64_t)(product >> 32);
        }
        carry += (int64_t)words[k * count + entry] - low - before;
        before = high;
        const uint32_t word = (uint32_t)carry;
        carry >>= 32;
        to[k] = word;
        after_zeros = word != 0 ? 32 * (k + 1) - __clz((int32_t)word) : after_zeros;
        after_ones = ~word != 0 ? 32 * (k + 1) - __clz((int32_t)~word) : after_ones;
    }
    bits[first + entry] = (int32_t)((int32_t)to[modulus_words - 1] < 0 ? after_ones : after_zeros);
}
