/* Integers of many limbs to residues modulo many numbers and back. Both ways go through a product of octets with a table,
 * which a library makes: signed octets of integers times those of powers of 256, and digits of residues times octets of
 * M / m. `common.cuh` stands before this text.
 */
#define XL_TILE 32
#define XL_TILE_ROWS 8

/* Octets of floor(2**shift x) for integers x [entries], from the `first` of a matrix on, that fit `limbs` limbs so
 * shifted. The integer is the sum of octets[j] * 256**j, with zeros up to the stride, a multiple of 8 above 8 limbs. A
 * count becomes 0, if there is one. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_wide_octets(const uint64_t *matrix, int64_t columns, int64_t row_stride, int64_t entry_stride, int64_t count,
                   int64_t first, int64_t shift, int64_t limbs, int8_t *octets, int64_t stride, int32_t *cleared) {
    __shared__ xl_carries carries;
    const uint64_t halves = 0x8080808080808080ull;
    const uint64_t *x = xl_entry(matrix, columns, row_stride, entry_stride, first + blockIdx.x);
    uint64_t *to = (uint64_t *)(octets + (int64_t)blockIdx.x * stride);
    uint32_t carry = 0;
    if (cleared && blockIdx.x == 0 && threadIdx.x == 0)
        *cleared = 0;
    for (int64_t base = 0; base < stride / 8; base += XL_THREADS) {
        const int64_t j = base + threadIdx.x;
        const uint64_t limb = j < limbs ? xl_shifted_limb(x, count, shift, j) : 0;
        const uint64_t sum = j < limbs ? limb + halves : 0;
        const uint64_t in = xl_carry_in(carries, sum < limb, sum == ~0ull, carry);
        if (j < limbs)
            to[j] = (sum + in) ^ halves;
        else if (j < stride / 8)
            to[j] = j > limbs ? 0 : (in - (xl_shifted_limb(x, count, shift, limbs - 1) >> 63)) & 255;
    }
}

/* The residue of an entry from its sums with digits of powers, |sum| < 2**30. */
XL_INLINE int32_t xl_residue(const int32_t *sums, int64_t stride, int64_t modulus, int64_t entry,
                             const uint64_t *constants) {
    const uint64_t *c = constants + modulus * XL_CONSTANTS;
    const uint32_t m = (uint32_t)c[0], reciprocal = (uint32_t)c[1], bias = (uint32_t)c[2];
    const uint32_t high = xl_modulo((uint32_t)sums[2 * modulus * stride + entry] + bias, m, reciprocal);
    const uint32_t low = (uint32_t)sums[(2 * modulus + 1) * stride + entry] + bias;
    return xl_centred(xl_modulo((high << 8) + low, m, reciprocal), m);
}

/* Residues to[p * plane + i] from sums [2 moduli, stride]. */
extern "C" __global__ void xl_wide_residues(const int32_t *sums, int64_t stride, int64_t entries,
                                            const uint64_t *constants, int16_t *to, int64_t plane) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
    if (i < entries)
        to[p * plane + i] = (int16_t)xl_residue(sums, stride, p, i, constants);
}

/* Digits of residues of the entries from the `first` on of a matrix with so many columns: planes 2 p and 2 p + 1. */
extern "C" __global__ void xl_wide_planes(const int32_t *sums, int64_t stride, int64_t first, int64_t entries,
                                          int64_t columns, const uint64_t *constants, int8_t *planes, int64_t row_stride,
                                          int64_t plane) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
    if (i < entries) {
        const int32_t residue = xl_residue(sums, stride, p, i, constants), high = xl_high_digit(residue);
        int8_t *to = planes + 2 * p * plane + (first + i) / columns * row_stride + (first + i) % columns;
        to[0] = (int8_t)high;
        to[plane] = (int8_t)(residue - 256 * high);
    }
}

/* Digits of weighted residues, octets [entries, stride], low ones first and zeros behind, of
 *
 *     sums[p * sums_plane + i / width * sums_row + i % width * sums_step]
 *         + sum over k < terms of vectors[p * vectors_plane + k * vectors_step + i] factors[p * factors_plane + k * factors_step]
 *
 * for entries i from the `first` on. A block has a tile of XL_TILE entries and moduli. */
extern "C" __global__ void __launch_bounds__(XL_TILE *XL_TILE_ROWS)
    xl_wide_weighted(const int16_t *sums, int64_t sums_plane, int64_t width, int64_t sums_row, int64_t sums_step,
                     const int16_t *vectors, int64_t vectors_plane, int64_t vectors_step, const int16_t *factors,
                     int64_t factors_plane, int64_t factors_step, int64_t terms, int64_t first, int64_t entries,
                     const uint64_t *constants, int64_t moduli, int64_t weight, int8_t *digits, int64_t stride) {
    __shared__ uint16_t tile[XL_TILE][XL_TILE + 2];
    const int32_t x = threadIdx.x % XL_TILE, y = threadIdx.x / XL_TILE;
    const int64_t first_modulus = (int64_t)blockIdx.y * XL_TILE, first_entry = (int64_t)blockIdx.x * XL_TILE;
    const int64_t i = first_entry + x, at = first + i;
    for (int32_t row = y; row < XL_TILE; row += XL_TILE_ROWS) {
        const int64_t p = first_modulus + row;
        uint32_t found = 0;
        if (p < moduli && i < entries) {
            const uint64_t *c = constants + p * XL_CONSTANTS;
            int64_t sum = sums[p * sums_plane + at / width * sums_row + at % width * sums_step];
            for (int64_t k = 0; k < terms; ++k)
                sum += (int32_t)vectors[p * vectors_plane + k * vectors_step + at] *
                       (int32_t)factors[p * factors_plane + k * factors_step];
            const int32_t digit = xl_centred(xl_weighted(sum, c, c[weight]), (uint32_t)c[0]);
            const int32_t high = xl_high_digit(digit);
            found = (uint32_t)(digit - 256 * high) & 255 | (uint32_t)(high & 255) << 8;
        }
        tile[row][x] = (uint16_t)found;
    }
    __syncthreads();
    for (int32_t row = y; row < XL_TILE; row += XL_TILE_ROWS)
        if (first_entry + row < entries && 2 * (first_modulus + x) < stride)
            ((uint16_t *)(digits + (first_entry + row) * stride))[first_modulus + x] = tile[x][row];
}

/* moduli - q, where q is the integer nearest to the sum of x_p / m_p, for digits of x_p. */
XL_INLINE uint64_t xl_quotient(int64_t *shared, const int8_t *digits, const uint64_t *constants, int64_t moduli) {
    const uint16_t *pairs = (const uint16_t *)digits;
    int64_t sum = 0;
    for (int64_t p = threadIdx.x; p < moduli; p += XL_THREADS) {
        const int64_t x = (int64_t)(int8_t)pairs[p] + 256 * (int64_t)(int8_t)(pairs[p] >> 8);
        sum += x * (int64_t)constants[p * XL_CONSTANTS + 5];
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < XL_WARP)
        for (int32_t i = XL_WARP; i < XL_THREADS; i += XL_WARP)
            shared[threadIdx.x] += shared[threadIdx.x + i];
    __syncthreads();
    sum = 0;
    for (int32_t i = 0; i < XL_WARP; ++i)
        sum += shared[i];
    return (uint64_t)(moduli - ((sum + (1ll << (XL_FRACTION_BITS - 1))) >> XL_FRACTION_BITS));
}

/* Limb j of a sum of octets, each with 2**30 added, in two words. */
XL_INLINE void xl_octets_limb(const int32_t *octets, uint64_t &low, uint64_t &high) {
    uint64_t lower = 0, upper = 0;
#pragma unroll
    for (int32_t k = 0; k < 4; ++k) {
        lower += (uint64_t)((uint32_t)octets[k] + (1u << 30)) << 8 * k;
        upper += (uint64_t)((uint32_t)octets[k + 4] + (1u << 30)) << 8 * k;
    }
    low = lower;
    high = upper >> 32;
    xl_add(low, high, upper << 32);
}

/* Integers [entries, count - skipped] from sums of octets [entries, sums_stride], |sum| < 2**30:
 *
 *     constant + sum over j of sums[j] 256**j + (moduli - q) product + 2**shift minuend   modulo 2**(64 count),
 *
 * without its lowest limbs; q is as of xl_quotient. Without moduli, or a minuend, their terms are left out. Where marks[i]
 * is not 0, entry i becomes 0. With `doubtful`, entries whose highest limb of those that are skipped is within 2 of 0 are
 * counted and listed there. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_wide_integers(const int32_t *sums, int64_t sums_stride, const int8_t *digits, int64_t digits_stride,
                     const uint64_t *constants, int64_t moduli, const uint64_t *product, const uint64_t *constant,
                     const uint64_t *minuend, int64_t columns, int64_t row_stride, int64_t entry_stride,
                     int64_t minuend_count, int64_t shift, int64_t first, const uint8_t *marks, uint64_t *result,
                     int64_t count, int64_t skipped, int32_t *doubtful) {
    __shared__ xl_carries carries;
    __shared__ int64_t parts[XL_THREADS];
    __shared__ uint64_t highs[XL_THREADS + 1];
    const int64_t entry = blockIdx.x;
    const int32_t *octets = sums + entry * sums_stride;
    const uint64_t *from =
        minuend ? xl_entry(minuend, columns, row_stride, entry_stride, first + entry) : minuend;
    const bool is_marked = marks && marks[first + entry];
    uint64_t *to = result + (first + entry) * (count - skipped);
    const uint64_t quotient = moduli ? xl_quotient(parts, digits + entry * digits_stride, constants, moduli) : 0;
    uint32_t carry = 0;
    if (threadIdx.x == 0)
        highs[XL_THREADS] = 0;
    for (int64_t base = 0; base < count; base += XL_THREADS) {
        const int64_t j = base + threadIdx.x;
        uint64_t low = 0, high = 0;
        if (j < count) {
            xl_octets_limb(octets + 8 * j, low, high);
            xl_add(low, high, constant[j]);
            if (moduli) {
                xl_add(low, high, quotient * product[j]);
                high += __umul64hi(quotient, product[j]);
            }
            if (minuend)
                xl_add(low, high, xl_shifted_limb(from, minuend_count, shift, j));
        }
        __syncthreads();
        if (threadIdx.x == 0)
            highs[0] = highs[XL_THREADS];
        __syncthreads();
        highs[threadIdx.x + 1] = high;
        __syncthreads();
        const uint64_t added = highs[threadIdx.x], sum = low + added;
        const uint64_t limb = sum + xl_carry_in(carries, sum < added, sum == ~0ull, carry);
        if (j >= skipped && j < count)
            to[j - skipped] = is_marked ? 0 : limb;
        if (doubtful && j == skipped - 1 && limb + 2 < 4)
            doubtful[1 + atomicAdd(doubtful, 1)] = (int32_t)(first + entry);
    }
}

/* Rows of a table for products with one number: table[o][k] = octets[lowest + o - k], 0 outside. */
extern "C" __global__ void xl_wide_toeplitz(const int8_t *octets, int64_t count, int64_t lowest, int64_t rows,
                                            int64_t stride, int8_t *table) {
    const int64_t word = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * word < stride)
        for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
            uint32_t found = 0;
            for (int32_t i = 0; i < 4; ++i) {
                const int64_t at = lowest + row - (4 * word + i);
                if (at >= 0 && at < count)
                    found |= (uint32_t)(uint8_t)octets[at] << 8 * i;
            }
            ((uint32_t *)(table + row * stride))[word] = found;
        }
}
