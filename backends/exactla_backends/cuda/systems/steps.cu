/* Steps of p-adic lifting: x = B r modulo the primes and as integers, then r' = (r - A x) / P.
 *
 * A launch compiles this text, behind `common.cuh`, with XL_WORDS, the words of a digit; XL_COLUMNS, right-hand sides that
 * a block of threads takes together; and XL_ENTRY, the type of the matrix's entries. Vectors are [columns, stride] and
 * zero past the size, where the stride is a multiple of 128.
 */
#define XL_ROWS 4
#define XL_MOST_PRIMES 64
#define XL_ENTRIES (XL_ROWS * XL_COLUMNS)
#define XL_THREADS 256
#define XL_POINT 40 /* binary places of reciprocals of primes */

/* The inverse times the residual, of a few rows and columns, not reduced: by warps, a prime at a time. */
XL_INLINE void xl_multiply(const int8_t *inverse, const int8_t *residues, int64_t size, int64_t stride, int64_t columns,
                           int64_t primes, int64_t row, int64_t column, int32_t *found) {
    const int32_t lane = (int32_t)threadIdx.x % XL_WARP;
    for (int64_t p = threadIdx.x / XL_WARP; p < primes; p += XL_THREADS / XL_WARP) {
        int32_t sums[XL_ROWS][XL_COLUMNS];
        const int8_t *left[XL_ROWS], *right[XL_COLUMNS];
#pragma unroll
        for (int32_t i = 0; i < XL_ROWS; ++i)
            left[i] = inverse + (p * size + min(row + i, size - 1)) * stride;
#pragma unroll
        for (int32_t j = 0; j < XL_COLUMNS; ++j)
            right[j] = residues + (p * columns + min(column + j, columns - 1)) * stride;
#pragma unroll
        for (int32_t i = 0; i < XL_ENTRIES; ++i)
            sums[i / XL_COLUMNS][i % XL_COLUMNS] = 0;
        for (int64_t k = 16 * lane; k < stride; k += 16 * XL_WARP) {
            uint4 a[XL_ROWS];
#pragma unroll
            for (int32_t i = 0; i < XL_ROWS; ++i)
                a[i] = *(const uint4 *)(left[i] + k);
#pragma unroll
            for (int32_t j = 0; j < XL_COLUMNS; ++j) {
                const uint4 b = *(const uint4 *)(right[j] + k);
#pragma unroll
                for (int32_t i = 0; i < XL_ROWS; ++i) {
                    sums[i][j] = xl_dot(a[i].x, b.x, sums[i][j]);
                    sums[i][j] = xl_dot(a[i].y, b.y, sums[i][j]);
                    sums[i][j] = xl_dot(a[i].z, b.z, sums[i][j]);
                    sums[i][j] = xl_dot(a[i].w, b.w, sums[i][j]);
                }
            }
        }
        int32_t mine = 0;
#pragma unroll
        for (int32_t i = 0; i < XL_ENTRIES; ++i) {
            const int32_t sum = __reduce_add_sync(XL_WHOLE_WARP, sums[i / XL_COLUMNS][i % XL_COLUMNS]);
            mine = lane == i ? sum : mine;
        }
        if (lane < XL_ENTRIES)
            found[p * XL_ENTRIES + lane] = mine;
    }
}

/* Fetches a table to shared memory, where it is after the block has waited. */
template <class T> XL_INLINE void xl_fetch(const T *from, int64_t count, T *to) {
    for (int64_t i = threadIdx.x; i < count; i += XL_THREADS)
        to[i] = from[i];
}

/* digits [columns, size, XL_WORDS] = B r mod P, nearly centred; and their low 64 bits [columns, stride]. A block of threads
 * for XL_ROWS rows and XL_COLUMNS columns.
 *
 * Constants [primes, 4] are m, round(2**32 / m), the inverse of P / m modulo m, centred, and one that is not used;
 * reciprocals are round(2**XL_POINT / m), cofactors [primes + 1, XL_WORDS] P / m and, last, P. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_system_digits(const int8_t *inverse, const int8_t *residues, int64_t size, int64_t stride, int64_t columns,
                     int64_t primes, const int32_t *constants, const int64_t *reciprocals, const uint32_t *cofactors,
                     uint32_t *digits, uint64_t *low) {
    __shared__ int32_t found[XL_MOST_PRIMES * XL_ENTRIES];
    __shared__ int64_t words[XL_ENTRIES * XL_WORDS], shares[XL_MOST_PRIMES];
    __shared__ int32_t moduli[4 * XL_MOST_PRIMES];
    __shared__ uint32_t factors[(XL_MOST_PRIMES + 1) * XL_WORDS];
    const int64_t row = (int64_t)blockIdx.x * XL_ROWS, column = (int64_t)blockIdx.y * XL_COLUMNS;
    /* tables are on their way while the inverse is */
    xl_fetch(constants, 4 * primes, moduli);
    xl_fetch(reciprocals, primes, shares);
    xl_fetch(cofactors, (primes + 1) * XL_WORDS, factors);
    xl_multiply(inverse, residues, size, stride, columns, primes, row, column, found);
    __syncthreads();
    for (int32_t i = (int32_t)threadIdx.x; i < primes * XL_ENTRIES; i += XL_THREADS) {
        const int32_t *by = moduli + 4 * (i / XL_ENTRIES);
        const int32_t m = by[0], reciprocal = by[1];
        found[i] = xl_centre(xl_centre(found[i], m, reciprocal) * by[2], m, reciprocal);
    }
    __syncthreads();
    for (int32_t i = (int32_t)threadIdx.x; i < XL_ENTRIES * XL_WORDS; i += XL_THREADS) {
        const int32_t entry = i / XL_WORDS, word = i % XL_WORDS;
        int64_t share = 1ll << (XL_POINT - 1), sum = 0;
        for (int64_t p = 0; p < primes; ++p) {
            const int64_t weighted = found[p * XL_ENTRIES + entry];
            share += weighted * shares[p];
            sum += weighted * factors[p * XL_WORDS + word];
        }
        words[i] = sum - (share >> XL_POINT) * factors[primes * XL_WORDS + word];
    }
    __syncthreads();
    const int32_t entry = (int32_t)threadIdx.x;
    const int64_t i = row + entry / XL_COLUMNS, j = column + entry % XL_COLUMNS;
    if (entry < XL_ENTRIES && i < size && j < columns) {
        uint32_t *digit = digits + (j * size + i) * XL_WORDS;
        int64_t carry = 0;
        uint64_t bottom = 0;
#pragma unroll
        for (int32_t word = 0; word < XL_WORDS; ++word) {
            carry += words[entry * XL_WORDS + word];
            digit[word] = (uint32_t)carry;
            if (word < 2)
                bottom |= (uint64_t)(uint32_t)carry << 32 * word;
            carry >>= 32;
        }
        low[j * stride + i] = XL_WORDS == 1 ? (uint64_t)(int64_t)(int32_t)bottom : bottom;
    }
}

XL_INLINE uint64_t xl_over_warp(uint64_t sum) {
#pragma unroll
    for (uint32_t distance = XL_WARP / 2; distance != 0; distance /= 2) {
        const uint32_t low = __shfl_xor_sync(XL_WHOLE_WARP, (uint32_t)sum, distance);
        const uint32_t high = __shfl_xor_sync(XL_WHOLE_WARP, (uint32_t)(sum >> 32), distance);
        sum += (uint64_t)high << 32 | low;
    }
    return sum;
}

/* Four entries of a row, from a place that is a multiple of four. */
XL_INLINE void xl_take(const int32_t *from, int64_t entries[4]) {
    const uint4 words = *(const uint4 *)from;
    entries[0] = (int32_t)words.x;
    entries[1] = (int32_t)words.y;
    entries[2] = (int32_t)words.z;
    entries[3] = (int32_t)words.w;
}

XL_INLINE void xl_take(const int64_t *from, int64_t entries[4]) {
    const ulonglong2 low = *(const ulonglong2 *)from, high = *(const ulonglong2 *)(from + 2);
    entries[0] = (int64_t)low.x;
    entries[1] = (int64_t)low.y;
    entries[2] = (int64_t)high.x;
    entries[3] = (int64_t)high.y;
}

/* result = (residual - A x) / P modulo 2**64, [columns, size], from the low 64 bits of x; and its residues. Each warp has a
 * row. `powers` are as for `xl_residue`, for two words, and `reciprocal` is 1 / P modulo 2**64. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_system_residuals(const XL_ENTRY *matrix, const uint64_t *low, int64_t size, int64_t stride, int64_t columns,
                        int64_t reciprocal, int64_t primes, const int32_t *constants, const uint32_t *powers,
                        const uint64_t *residual, uint64_t *result, int8_t *residues) {
    const int32_t lane = (int32_t)threadIdx.x % XL_WARP;
    const int64_t row = ((int64_t)blockIdx.x * XL_THREADS + threadIdx.x) / XL_WARP;
    const int64_t column = (int64_t)blockIdx.y * XL_COLUMNS;
    const XL_ENTRY *entries = matrix + min(row, size - 1) * stride;
    __shared__ int32_t moduli[4 * XL_MOST_PRIMES];
    __shared__ uint32_t places[3 * XL_MOST_PRIMES];
    uint64_t sums[XL_COLUMNS], before[XL_COLUMNS];
    /* whatever is needed in the end is on its way while the matrix is */
    xl_fetch(constants, 4 * primes, moduli);
    xl_fetch(powers, 3 * primes, places);
#pragma unroll
    for (int32_t j = 0; j < XL_COLUMNS; ++j) {
        sums[j] = 0;
        before[j] = residual[min(column + j, columns - 1) * size + min(row, size - 1)];
    }
#pragma unroll 4
    for (int64_t k = 4 * lane; k < stride; k += 4 * XL_WARP) {
        int64_t a[4];
        xl_take(entries + k, a);
#pragma unroll
        for (int32_t j = 0; j < XL_COLUMNS; ++j) {
            int64_t x[4];
            xl_take((const int64_t *)low + min(column + j, columns - 1) * stride + k, x);
#pragma unroll
            for (int32_t i = 0; i < 4; ++i)
                sums[j] += (uint64_t)a[i] * (uint64_t)x[i];
        }
    }
    __syncthreads();
#pragma unroll
    for (int32_t j = 0; j < XL_COLUMNS; ++j) {
        const uint64_t sum = xl_over_warp(sums[j]);
        if (row < size && column + j < columns) {
            const uint64_t made = (before[j] - sum) * (uint64_t)reciprocal;
            const uint32_t words[2] = {(uint32_t)made, (uint32_t)(made >> 32)};
            if (lane == 0)
                result[(column + j) * size + row] = made;
            for (int64_t p = lane; p < primes; p += XL_WARP)
                residues[(p * columns + column + j) * stride + row] =
                    (int8_t)xl_residue(words, 2, places + 3 * p, moduli[4 * p], moduli[4 * p + 1]);
        }
    }
}

/* The matrix's entries [size, stride] in XL_ENTRY, with zeros past the size. */
extern "C" __global__ void xl_system_pad(const int64_t *from, int64_t size, int64_t stride, XL_ENTRY *to) {
    const int64_t column = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (column < stride)
        for (int64_t row = blockIdx.y; row < size; row += gridDim.y)
            to[row * stride + column] = column < size ? (XL_ENTRY)from[row * size + column] : 0;
}

/* ---- residuals of many words ---- */

/* sums [columns, size, words, 2]: word k of A x is the first of each pair, times 1, and the second, times 2**32. Entries of
 * the matrix have `count` words; the top words of these and of digits are signed. */
extern "C" __global__ void xl_system_sums(const uint32_t *matrix, int64_t count, const uint32_t *digits, int64_t size,
                                          int64_t columns, int64_t words, int64_t *sums) {
    const int64_t word = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t first = word < XL_WORDS ? 0 : word - XL_WORDS + 1;
    if (word >= words)
        return;
    for (int64_t column = blockIdx.z; column < columns; column += gridDim.z)
        for (int64_t row = blockIdx.y; row < size; row += gridDim.y) {
            int64_t low = 0, high = 0;
            for (int64_t j = 0; j < size; ++j) {
                const uint32_t *a = matrix + (row * size + j) * count, *x = digits + (column * size + j) * XL_WORDS;
                for (int64_t l = first; l < count && l <= word; ++l) {
                    const bool a_is_signed = l == count - 1, x_is_signed = word - l == XL_WORDS - 1;
                    const uint64_t left = a_is_signed ? (uint64_t)(int32_t)a[l] : a[l];
                    const uint64_t right = x_is_signed ? (uint64_t)(int32_t)x[word - l] : x[word - l];
                    const uint64_t product = left * right;
                    low += (uint32_t)product;
                    high += a_is_signed || x_is_signed ? (int64_t)product >> 32 : (int64_t)(product >> 32);
                }
            }
            int64_t *at = sums + ((column * size + row) * words + word) * 2;
            at[0] = low;
            at[1] = high;
        }
}

/* result = (residual - sums) / P modulo 2**(32 words), [entries, words]: Hensel's division, a word at a time. */
extern "C" __global__ void xl_system_divide(const int64_t *sums, int64_t entries, int64_t words, const uint32_t *product,
                                            int64_t reciprocal, const uint32_t *residual, uint32_t *result) {
    const int64_t entry = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (entry >= entries)
        return;
    const int64_t *sum = sums + entry * words * 2;
    uint32_t *left = result + entry * words;
    int64_t carry = 0, high = 0;
    for (int64_t k = 0; k < words; ++k) {
        carry += (int64_t)residual[entry * words + k] - sum[2 * k] - high;
        high = sum[2 * k + 1];
        left[k] = (uint32_t)carry;
        carry >>= 32;
    }
    for (int64_t k = 0; k < words; ++k) {
        const uint32_t quotient = left[k] * (uint32_t)reciprocal;
        uint64_t borrowed = 0;
        for (int64_t i = k; i < words && (i < k + XL_WORDS || borrowed != 0); ++i) {
            borrowed += i < k + XL_WORDS ? (uint64_t)quotient * product[i - k] : 0;
            const uint32_t before = left[i], taken = (uint32_t)borrowed;
            left[i] = before - taken;
            borrowed = (borrowed >> 32) + (before < taken);
        }
        left[k] = quotient;
    }
}
