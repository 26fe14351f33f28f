/* Integers of many limbs, entry by entry: rounding, comparison, and rows that move. `common.cuh` stands before this text.
 */

/* Whether a bit of x below bit `end` is 1. Every thread of the block comes here. */
XL_INLINE bool xl_any_below(uint32_t &shared, const uint64_t *x, int64_t count, int64_t end) {
    const int64_t whole = end >> 6;
    bool any = threadIdx.x == 0 && end > 0 && xl_limb(x, count, whole) << 1 << (63 - (end & 63)) != 0;
    for (int64_t j = threadIdx.x; j < whole && j < count; j += XL_THREADS)
        any |= x[j] != 0;
    __syncthreads();
    if (threadIdx.x == 0)
        shared = 0;
    __syncthreads();
    if (any)
        shared = 1;
    __syncthreads();
    return shared != 0;
}

/* Whether x / 2**down is rounded up, to nearest, ties to even. Requires: down > 0. */
XL_INLINE bool xl_rounds_up(uint32_t &shared, const uint64_t *x, int64_t count, int64_t down) {
    const bool sticky = xl_any_below(shared, x, count, down - 1);
    return xl_bit(x, count, down - 1) && (sticky || xl_bit(x, count, down));
}

/* result[i] = RN(2**shift x) in `wanted` limbs, for the entries of a matrix, with
 *
 *     shift = one + row_shifts[i / width] + column_shifts[i % width],
 *
 * where those that are null are left out. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_wide_scale(const uint64_t *matrix, int64_t columns, int64_t row_stride, int64_t entry_stride, int64_t count,
                  const int64_t *row_shifts, int64_t width, const int64_t *column_shifts, int64_t one, uint64_t *result,
                  int64_t wanted) {
    __shared__ xl_carries carries;
    __shared__ uint32_t any;
    const uint64_t *x = xl_entry(matrix, columns, row_stride, entry_stride, blockIdx.x);
    uint64_t *to = result + (int64_t)blockIdx.x * wanted;
    const int64_t shift = one + (row_shifts ? row_shifts[blockIdx.x / width] : 0) +
                          (column_shifts ? column_shifts[blockIdx.x % width] : 0);
    uint32_t carry = shift < 0 && xl_rounds_up(any, x, count, -shift);
    for (int64_t base = 0; base < wanted; base += XL_THREADS) {
        const int64_t j = base + threadIdx.x;
        const uint64_t limb = j < wanted ? xl_shifted_limb(x, count, shift, j) : 0;
        const uint64_t sum = limb + xl_carry_in(carries, false, limb == ~0ull, carry);
        if (j < wanted)
            to[j] = sum;
    }
}

/* Bits of the magnitude of x, or one less where that is a power of two and x is negative. */
XL_INLINE int64_t xl_length(int32_t &shared, const uint64_t *x, int64_t count) {
    const uint64_t sign = xl_limb(x, count, count);
    int32_t top = -1;
    for (int64_t j = threadIdx.x; j < count; j += XL_THREADS)
        if (x[j] != sign)
            top = (int32_t)j;
    __syncthreads();
    if (threadIdx.x == 0)
        shared = -1;
    __syncthreads();
    if (top >= 0)
        atomicMax(&shared, top);
    __syncthreads();
    return shared < 0 ? 0 : 64ll * shared + 64 - __clzll((int64_t)(x[shared] ^ sign));
}

/* Each entry x rounded to so many significant bits, to nearest, ties to even. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_wide_round_leading(const uint64_t *matrix, int64_t columns, int64_t row_stride, int64_t entry_stride,
                          int64_t count, int64_t precision, uint64_t *result) {
    __shared__ xl_carries carries;
    __shared__ uint32_t any;
    __shared__ int32_t top;
    const uint64_t *x = xl_entry(matrix, columns, row_stride, entry_stride, blockIdx.x);
    uint64_t *to = result + (int64_t)blockIdx.x * count;
    /* a negative power of two is what it is rounded to, whichever its length is taken to be */
    const int64_t length = xl_length(top, x, count), dropped = length > precision ? length - precision : 0;
    const bool up = dropped > 0 && xl_rounds_up(any, x, count, dropped);
    const int64_t whole = dropped >> 6;
    const uint64_t unit = 1ull << (dropped & 63);
    uint32_t carry = 0;
    for (int64_t base = 0; base < count; base += XL_THREADS) {
        const int64_t j = base + threadIdx.x;
        const uint64_t limb = j < whole || j >= count ? 0 : j == whole ? x[j] & ~(unit - 1) : x[j];
        const uint64_t added = j == whole && up ? unit : 0, sum = limb + added;
        const uint64_t found = sum + xl_carry_in(carries, sum < added, sum == ~0ull, carry);
        if (j < count)
            to[j] = found;
    }
}

/* The first of places a and b in an order, -1 for none, where the magnitude is the larger one. */
XL_INLINE int32_t xl_larger(const uint64_t *limbs, int64_t stride, int64_t count, const int64_t *order, int32_t a,
                            int32_t b) {
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    const int32_t sign = xl_compare_magnitudes(limbs + order[a] * stride, limbs + order[b] * stride, count);
    return sign > 0 || (sign == 0 && a < b) ? a : b;
}

/* found[0] = the first k for which place order[k] has the largest magnitude, then the limbs there. One block. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_wide_largest(const uint64_t *limbs, int64_t stride, int64_t count, const int64_t *order, int64_t entries,
                    uint64_t *found) {
    __shared__ int32_t places[XL_THREADS];
    const int32_t thread = (int32_t)threadIdx.x;
    int32_t mine = -1;
    for (int64_t k = thread; k < entries; k += XL_THREADS)
        mine = xl_larger(limbs, stride, count, order, mine, (int32_t)k);
    for (int32_t half = XL_THREADS / 2; half != 0; half /= 2) {
        places[thread] = mine;
        __syncthreads();
        if (thread < half)
            mine = xl_larger(limbs, stride, count, order, mine, places[thread + half]);
        __syncthreads();
    }
    if (thread == 0)
        places[0] = mine;
    __syncthreads();
    if (thread == 0)
        found[0] = (uint64_t)places[0];
    for (int64_t j = thread; j < count; j += XL_THREADS)
        found[1 + j] = limbs[order[places[0]] * stride + j];
}

/* to[p, to_rows[i], x] = from[p, from_rows[i], x] for so many planes, rows and words; without rows the i-th is meant. */
extern "C" __global__ void xl_wide_copy_rows(const uint64_t *from, int64_t from_plane, int64_t from_row,
                                             const int64_t *from_rows, uint64_t *to, int64_t to_plane, int64_t to_row,
                                             const int64_t *to_rows, int64_t rows, int64_t words) {
    const int64_t word = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.z;
    if (word < words)
        for (int64_t i = blockIdx.y; i < rows; i += gridDim.y)
            to[p * to_plane + (to_rows ? to_rows[i] : i) * to_row + word] =
                from[p * from_plane + (from_rows ? from_rows[i] : i) * from_row + word];
}

/* The same integers in no fewer limbs, from one matrix to another: a thread for each limb. */
extern "C" __global__ void xl_wide_store(const uint64_t *from, int64_t from_columns, int64_t from_row, int64_t from_entry,
                                         int64_t count, uint64_t *to, int64_t to_columns, int64_t to_row,
                                         int64_t to_entry, int64_t wanted, int64_t entries) {
    const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j < wanted)
        for (int64_t i = blockIdx.y; i < entries; i += gridDim.y)
            to[i / to_columns * to_row + i % to_columns * to_entry + j] =
                xl_limb(xl_entry(from, from_columns, from_row, from_entry, i), count, j);
}

/* result[i] = x + y, or x - y where `subtracts`, in `wanted` limbs. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_wide_add(const uint64_t *left, int64_t left_columns, int64_t left_row, int64_t left_entry, int64_t left_count,
                const uint64_t *right, int64_t right_columns, int64_t right_row, int64_t right_entry, int64_t right_count,
                int64_t subtracts, uint64_t *result, int64_t wanted) {
    __shared__ xl_carries carries;
    const uint64_t *x = xl_entry(left, left_columns, left_row, left_entry, blockIdx.x);
    const uint64_t *y = xl_entry(right, right_columns, right_row, right_entry, blockIdx.x);
    uint64_t *to = result + (int64_t)blockIdx.x * wanted;
    uint32_t carry = subtracts != 0;
    for (int64_t base = 0; base < wanted; base += XL_THREADS) {
        const int64_t j = base + threadIdx.x;
        const uint64_t limb = xl_limb(x, left_count, j), other = xl_limb(y, right_count, j);
        const uint64_t sum = limb + (subtracts ? ~other : other);
        const uint64_t found = sum + xl_carry_in(carries, sum < limb, sum == ~0ull, carry);
        if (j < wanted)
            to[j] = found;
    }
}

/* signs[i] = the sign of x - y: a thread for each entry. */
extern "C" __global__ void xl_wide_compare(const uint64_t *left, int64_t left_columns, int64_t left_row,
                                           int64_t left_entry, int64_t left_count, const uint64_t *right,
                                           int64_t right_columns, int64_t right_row, int64_t right_entry,
                                           int64_t right_count, int8_t *signs, int64_t entries) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= entries)
        return;
    const uint64_t *x = xl_entry(left, left_columns, left_row, left_entry, i);
    const uint64_t *y = xl_entry(right, right_columns, right_row, right_entry, i);
    int64_t j = left_count > right_count ? left_count : right_count;
    int8_t sign = 0;
    /* limbs above the highest are all ones or 0: as signed numbers they decide too */
    const int64_t x_above = (int64_t)xl_limb(x, left_count, j), y_above = (int64_t)xl_limb(y, right_count, j);
    if (x_above != y_above)
        sign = x_above < y_above ? -1 : 1;
    while (sign == 0 && --j >= 0) {
        const uint64_t a = xl_limb(x, left_count, j), b = xl_limb(y, right_count, j);
        sign = a == b ? 0 : a < b ? -1 : 1;
    }
    signs[i] = sign;
}

/* lengths[i] = the least b with |x| < 2**b; `most`, if there is one, grows to the largest. */
extern "C" __global__ void __launch_bounds__(XL_THREADS)
    xl_wide_lengths(const uint64_t *matrix, int64_t columns, int64_t row_stride, int64_t entry_stride, int64_t count,
                    int64_t *lengths, int32_t *most) {
    __shared__ uint32_t any;
    __shared__ int32_t top;
    const uint64_t *x = xl_entry(matrix, columns, row_stride, entry_stride, blockIdx.x);
    const int64_t length = xl_length(top, x, count);
    const bool is_power = xl_limb(x, count, count) != 0 && !xl_any_below(any, x, count, length);
    if (threadIdx.x != 0)
        return;
    if (most)
        atomicMax(most, (int32_t)(length + is_power));
    else
        lengths[blockIdx.x] = length + is_power;
}
