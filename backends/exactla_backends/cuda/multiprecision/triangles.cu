/* Triangular systems of few unknowns and few limbs: a block of threads has a right-hand side, and a thread an unknown.
 * `common.cuh` stands before this text. */

#define XL_TOGETHER 4 /* limbs of a factor that a thread multiplies by at a time */

/* x -= factor y modulo 2**(64 count), for the magnitude of a factor of so many limbs, above which its sign is. */
XL_INLINE void xl_subtract_product(uint64_t *__restrict__ x, const uint64_t *__restrict__ y, int64_t count,
                                   const uint64_t *__restrict__ factor, int64_t limbs) {
    const uint64_t flip = ~factor[limbs]; /* x - y is the complement of that of x, plus y */
    for (int64_t a = 0; a < limbs; a += XL_TOGETHER) {
        uint64_t few[XL_TOGETHER], others[XL_TOGETHER] = {}, low = 0, middle = 0;
        for (int64_t b = 0; b < XL_TOGETHER; ++b)
            few[b] = a + b < limbs ? factor[a + b] : 0;
        for (int64_t j = a; j < count; ++j) {
            uint64_t high = 0, carry = 0;
            for (int64_t b = XL_TOGETHER - 1; b > 0; --b)
                others[b] = others[b - 1];
            others[0] = y[j - a];
            xl_add(low, carry, x[j] ^ flip);
            xl_add(middle, high, carry);
            for (int64_t b = 0; b < XL_TOGETHER; ++b) {
                carry = __umul64hi(few[b], others[b]); /* no more than 2**64 - 2 */
                xl_add(low, carry, few[b] * others[b]);
                xl_add(middle, high, carry);
            }
            x[j] = low ^ flip;
            low = middle;
            middle = high;
        }
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

/* to = |x| in `count` limbs, and the sign. */
XL_INLINE void xl_fetch_factor(const uint64_t *x, int64_t count, uint64_t *to) {
    xl_magnitude(x, count, to);
    to[count] = xl_limb(x, count, count);
}

/* found[i, c] = RN((sums[i, c] - sum over k < i of lower[i, k] found[k, c]) / divisors[i]) in `wanted` limbs, where sums have
 * no more than count - 1 limbs, of which products have one less; `overflow` becomes 1 where something might have more.
 * Divisors are 2**precision where they have no limbs.
 *
 * The first half of the threads have an unknown each, and the other half fetch factors for the step to come. What a
 * thread has lies in shared memory: `stride` words for an unknown and its divisor, and twice `factor_stride` for a
 * factor, both odd, so that threads meet in no bank. */
extern "C" __global__ void xl_wide_triangle(const uint64_t *lower, int64_t lower_row, int64_t lower_entry,
                                            int64_t lower_count, const uint64_t *divisors, int64_t divisor_count,
                                            int64_t precision, const uint64_t *sums, int64_t sums_row,
                                            int64_t sums_entry, int64_t sums_count, int64_t unknowns, int64_t count,
                                            int64_t stride, int64_t factor_stride, uint64_t *found, int64_t wanted,
                                            int32_t *overflow) {
    extern __shared__ uint64_t shared[];
    const int64_t threads = blockDim.x / 2, c = blockIdx.x;
    const bool fetches = threadIdx.x >= threads;
    const int64_t i = fetches ? threadIdx.x - threads : threadIdx.x;
    uint64_t *x = shared + i * stride, *factors = shared + unknowns * stride + i * factor_stride;
    const int64_t others = unknowns * factor_stride;
    xl_divisor divisor;
    if (!fetches && i < unknowns) {
        for (int64_t j = 0; j < count; ++j)
            x[j] = xl_limb(sums + i * sums_row + c * sums_entry, sums_count, j);
        if (divisor_count != 0)
            divisor = xl_divisor_of(divisors + i * divisor_count, divisor_count, x + count + 1);
    } else if (i > 0 && i < unknowns) {
        xl_fetch_factor(lower + i * lower_row, lower_count, factors);
    }
    for (int64_t k = 0; k < unknowns; ++k) {
        if (!fetches && i == k) {
            if (divisor_count == 0)
                xl_nearest_shifted(x, count, precision, x, count);
            else
                xl_nearest_quotient(x, count, divisor, count);
            if (!xl_fits(x, count, wanted))
                *overflow = 1;
            for (int64_t j = 0; j < wanted; ++j)
                found[(i * gridDim.x + c) * wanted + j] = x[j];
        }
        __syncthreads();
        if (i <= k || i >= unknowns)
            continue;
        if (fetches && i > k + 1) {
            xl_fetch_factor(lower + i * lower_row + (k + 1) * lower_entry, lower_count, factors + (k + 1) % 2 * others);
        } else if (!fetches) {
            xl_subtract_product(x, shared + k * stride, count, factors + k % 2 * others, lower_count);
            if (!xl_fits(x, count, count - 1))
                *overflow = 1;
        }
    }
}
