/* Triangular systems of few unknowns and few limbs: a block of threads has a right-hand side, and a thread an unknown.
 * `common.cuh` stands before this text. */

/* x -= factor y modulo 2**(64 count), for a factor of so many limbs. */
XL_INLINE void xl_subtract_product(uint64_t *x, const uint64_t *y, int64_t count, const uint64_t *factor, int64_t limbs) {
    const bool is_negative = xl_limb(factor, limbs, limbs) != 0;
    uint64_t carry = 0;
    for (int64_t a = 0; a < limbs; ++a) {
        uint64_t above = 0;
        for (int64_t j = a; j < count; ++j) {
            uint64_t low = factor[a] * y[j - a], high = __umul64hi(factor[a], y[j - a]);
            xl_add(low, high, above);
            above = high + (x[j] < low);
            x[j] -= low;
        }
    }
    /* a negative factor is 2**(64 limbs) less than what its limbs are */
    for (int64_t j = limbs; is_negative && j < count; ++j) {
        uint64_t low = x[j], high = 0;
        xl_add(low, high, y[j - limbs]);
        xl_add(low, high, carry);
        x[j] = low;
        carry = high;
    }
}

/* Whether limbs from `wanted` on are but the sign of those before. */
XL_INLINE bool xl_fits(const uint64_t *x, int64_t count, int64_t wanted) {
    const uint64_t sign = xl_limb(x, wanted, wanted);
    bool fits = true;
    for (int64_t j = wanted; j < count; ++j)
        fits &= x[j] == sign;
    return fits;
}

/* found[i, c] = RN((sums[i, c] - sum over k < i of lower[i, k] found[k, c]) / divisors[i]) in `wanted` limbs, where sums have
 * no more than count - 1 limbs, of which products have one less; `overflow` becomes 1 where something might have more. There
 * is work of 2 count + 2 limbs for each unknown, and a thread. */
extern "C" __global__ void xl_wide_triangle(const uint64_t *lower, int64_t lower_row, int64_t lower_entry,
                                            int64_t lower_count, const uint64_t *divisors, int64_t divisor_count,
                                            const uint64_t *sums, int64_t sums_row, int64_t sums_entry,
                                            int64_t sums_count, int64_t unknowns, uint64_t *work, int64_t count,
                                            uint64_t *found, int64_t wanted, int32_t *overflow) {
    const int64_t i = threadIdx.x, c = blockIdx.x, step = 2 * count + 2;
    uint64_t *all = work + c * unknowns * step, *x = all + i * step;
    xl_divisor divisor;
    if (i < unknowns) {
        divisor = xl_divisor_of(divisors + i * divisor_count, divisor_count, x + count + 1);
        for (int64_t j = 0; j < count; ++j)
            x[j] = xl_limb(sums + i * sums_row + c * sums_entry, sums_count, j);
    }
    for (int64_t k = 0; k < unknowns; ++k) {
        if (i == k) {
            xl_nearest_quotient(x, count, divisor, count);
            if (!xl_fits(x, count, wanted))
                *overflow = 1;
            for (int64_t j = 0; j < wanted; ++j)
                found[(i * gridDim.x + c) * wanted + j] = x[j];
        }
        __syncthreads();
        if (i > k && i < unknowns) {
            xl_subtract_product(x, all + k * step, count, lower + i * lower_row + k * lower_entry, lower_count);
            if (!xl_fits(x, count, count - 1))
                *overflow = 1;
        }
    }
}
