/* Blocks of columns of L and of rows of U for integers of few limbs: everything about an entry in one launch, or two for a
 * column. `common.cuh` stands before this text.
 *
 * A block of threads has a few entries, which lie in shared memory one after the other. Threads have one digit or one limb
 * each where these are independent of each other, and one entry where carries are passed on. Blocks have XL_PANEL_THREADS
 * threads, and entries of U no more than XL_PIVOT_LIMBS limbs.
 */

/* What is known of a block of columns and rows; `panel.py` has the same words. Rows count from the first that holds no pivot
 * of an earlier block, and residues of L are by rows in the order of the beginning. */
struct xl_panel {
    const uint64_t *constants, *table; /* [moduli + 1, count]: M / m for each modulus, and -M */
    int64_t moduli, count, precision;
    int64_t start, stop, rows, columns;
    const int16_t *sums; /* over all k before the block, [moduli, block, row] */
    int64_t sums_plane, sums_row;
    int16_t *lower; /* residues, [moduli, block, row] */
    int64_t lower_plane, lower_row;
    int16_t *upper;
    int64_t upper_plane, upper_row;
    const uint64_t *matrix; /* from row `start` on */
    int64_t matrix_row, matrix_entry, matrix_count;
    uint64_t *lower_limbs;
    int64_t lower_limbs_row, lower_limbs_entry, lower_count;
    uint64_t *upper_limbs;
    int64_t upper_limbs_row, upper_limbs_entry, upper_count;
    int64_t *order, *places; /* the k-th row, and which one a row is */
    int64_t *state;          /* exchanges so far, and 1 + the column whose pivot is lost, if there is one */
    uint64_t *pivots;        /* [block, upper_count] */
    uint64_t *value;         /* the sum that a lost pivot would be of */
    int64_t *best;           /* for each block of threads the row with its largest sum, -1 for none, and its place */
    uint64_t *found;         /* sums of the column, [rows, count] */
};

/* One entry of those that a block of threads has. */
struct xl_few {
    uint32_t *digits; /* moduli + 1 */
    uint64_t *limbs;  /* 2 count + 1 */
};

XL_INLINE xl_few xl_few_entry(const xl_panel &panel, uint64_t *shared, int64_t entry) {
    const int64_t limbs = 2 * panel.count + 1, digits = (panel.moduli + 2) / 2;
    uint64_t *here = shared + entry * (limbs + digits);
    return {(uint32_t *)(here + limbs), here};
}

/* Sums in residues, sums[p, e] + sum over k < terms of vectors[p, k, e] factors[p, k]. */
struct xl_few_sums {
    const int16_t *sums;
    int64_t sums_step;
    const int16_t *vectors;
    int64_t vectors_plane, vectors_line;
    const int16_t *factors;
    int64_t factors_plane, factors_line, terms;
};

/* Digits of the sums' negatives, and of how often M is contained in what they make. */
XL_INLINE void xl_few_digits(const xl_panel &panel, uint64_t *shared, const xl_few_sums &s, int64_t entries) {
    for (int64_t i = threadIdx.x; i < entries * panel.moduli; i += blockDim.x) {
        const int64_t e = i % entries, p = i / entries;
        const uint64_t *c = panel.constants + p * XL_CONSTANTS;
        const int16_t *vectors = s.vectors + p * s.vectors_plane + e, *factors = s.factors + p * s.factors_plane;
        int64_t sum = s.sums[p * panel.sums_plane + e * s.sums_step];
        for (int64_t k = 0; k < s.terms; ++k)
            sum += (int32_t)vectors[k * s.vectors_line] * (int32_t)factors[k * s.factors_line];
        xl_few_entry(panel, shared, e).digits[p] = xl_weighted(sum, c, c[4]);
    }
    __syncthreads();
    for (int64_t e = threadIdx.x; e < entries; e += blockDim.x) {
        uint32_t *digits = xl_few_entry(panel, shared, e).digits;
        uint64_t sum = 1ull << (XL_FRACTION_BITS - 1);
        for (int64_t p = 0; p < panel.moduli; ++p)
            sum += digits[p] * panel.constants[p * XL_CONSTANTS + 5];
        digits[panel.moduli] = (uint32_t)(sum >> XL_FRACTION_BITS);
    }
    __syncthreads();
}

/* Two words for each limb of what digits make: the lower ones first. */
XL_INLINE void xl_few_words(const xl_panel &panel, uint64_t *shared, int64_t entries) {
    for (int64_t i = threadIdx.x; i < entries * panel.count; i += blockDim.x) {
        const int64_t e = i / panel.count, j = i % panel.count;
        const xl_few entry = xl_few_entry(panel, shared, e);
        uint64_t low = 0, high = 0;
        for (int64_t p = 0; p <= panel.moduli; ++p) {
            const uint64_t digit = entry.digits[p], cofactor = panel.table[p * panel.count + j];
            xl_add(low, high, digit * cofactor);
            high += __umul64hi(digit, cofactor);
        }
        entry.limbs[j] = low;
        entry.limbs[panel.count + j] = high;
    }
    __syncthreads();
}

/* Limbs of 2**precision x plus what these words are. */
XL_INLINE void xl_few_limbs(const xl_panel &panel, const xl_few &entry, const uint64_t *x) {
    uint64_t above = 0;
    for (int64_t j = 0; j < panel.count; ++j) {
        uint64_t low = entry.limbs[j], high = entry.limbs[panel.count + j];
        xl_add(low, high, above);
        xl_add(low, high, xl_shifted_limb(x, panel.matrix_count, panel.precision, j));
        entry.limbs[j] = low;
        above = high;
    }
}

XL_INLINE const uint64_t *xl_panel_matrix(const xl_panel &panel, int64_t row, int64_t column) {
    return panel.matrix + row * panel.matrix_row + column * panel.matrix_entry;
}

/* to = RN(x / 2**precision). */
XL_INLINE void xl_few_round(const xl_panel &panel, const uint64_t *x, uint64_t *to) {
    const int64_t down = panel.precision;
    const int64_t half = (down - 1) >> 6;
    uint64_t sticky = xl_limb(x, panel.count, half) & ((1ull << ((down - 1) & 63)) - 1);
    for (int64_t j = 0; j < half && j < panel.count; ++j)
        sticky |= x[j];
    uint64_t carry = xl_bit(x, panel.count, down - 1) && (sticky || xl_bit(x, panel.count, down));
    for (int64_t j = 0; j < panel.upper_count; ++j) {
        const uint64_t limb = xl_shifted_limb(x, panel.count, -down, j);
        to[j] = limb + carry;
        carry = to[j] < carry;
    }
}

/* The centred residue of an integer modulo the number whose constants these are. */
XL_INLINE int16_t xl_few_residue(const uint64_t *x, int64_t count, const uint64_t *c) {
    const uint64_t sign = xl_limb(x, count, count);
    uint32_t remainder = 0;
    for (int64_t j = count - 1; j >= 0; --j) {
        const uint64_t limb = x[j] ^ sign;
        remainder = xl_long_modulo((uint64_t)remainder << 32 | limb >> 32, c);
        remainder = xl_long_modulo((uint64_t)remainder << 32 | (uint32_t)limb, c);
    }
    /* of a negative number this was the complement */
    const uint32_t m = (uint32_t)c[0];
    return (int16_t)xl_centred(sign ? m - 1 - remainder : remainder, m);
}

/* Residues to[p, e] of entries of so many limbs. */
XL_INLINE void xl_few_residues(const xl_panel &panel, uint64_t *shared, int64_t entries, int64_t count, int16_t *to,
                               int64_t plane) {
    __syncthreads();
    for (int64_t i = threadIdx.x; i < entries * panel.moduli; i += blockDim.x) {
        const int64_t e = i % entries, p = i / entries;
        to[p * plane + e] =
            xl_few_residue(xl_few_entry(panel, shared, e).limbs, count, panel.constants + p * XL_CONSTANTS);
    }
    __syncthreads();
}

/* Entries of row k of U from column `first` on, whose sums over k in the block are `s`; the row is the `row`-th of now. */
XL_INLINE void xl_few_upper(const xl_panel &panel, uint64_t *shared, const xl_few_sums &s, int64_t row, int64_t k,
                            int64_t first, int64_t entries) {
    xl_few_digits(panel, shared, s, entries);
    xl_few_words(panel, shared, entries);
    for (int64_t e = threadIdx.x; e < entries; e += blockDim.x) {
        const xl_few entry = xl_few_entry(panel, shared, e);
        uint64_t *to = panel.upper_limbs + k * panel.upper_limbs_row + (first + e) * panel.upper_limbs_entry;
        xl_few_limbs(panel, entry, xl_panel_matrix(panel, row, first + e));
        xl_few_round(panel, entry.limbs, entry.limbs + panel.count);
        for (int64_t j = 0; j < panel.upper_count; ++j)
            to[j] = entry.limbs[j] = entry.limbs[panel.count + j];
    }
    xl_few_residues(panel, shared, entries, panel.upper_count, panel.upper + k * panel.upper_row + first,
                    panel.upper_plane);
}

/* Whether row a at place i has a larger sum than row b at place j, or the same one and comes first; -1 is no row. */
XL_INLINE bool xl_panel_is_larger(const xl_panel &panel, int64_t a, int64_t i, int64_t b, int64_t j) {
    if (a < 0 || b < 0)
        return b < 0 && a >= 0;
    const int32_t sign =
        xl_compare_magnitudes(panel.found + a * panel.count, panel.found + b * panel.count, panel.count);
    return sign > 0 || (sign == 0 && i < j);
}

/* Whether the pivot of an earlier column is lost; that of column k may be found to be meanwhile. */
XL_INLINE bool xl_panel_is_lost(const xl_panel &panel, int64_t k) {
    return panel.state[1] != 0 && panel.state[1] <= k;
}

/* Sums of column k, 0 in rows that hold pivots, and the largest of each block's `width` rows. */
extern "C" __global__ void __launch_bounds__(XL_PANEL_THREADS)
    xl_wide_panel_sums(const xl_panel *whole, int64_t k, int64_t width) {
    extern __shared__ uint64_t shared[];
    const xl_panel panel = *whole;
    const int64_t first = blockIdx.x * width, entries = panel.rows - first < width ? panel.rows - first : width;
    if (xl_panel_is_lost(panel, k))
        return;
    const xl_few_sums s = {panel.sums + k * panel.sums_row + first,
                           1,
                           panel.lower + first,
                           panel.lower_plane,
                           panel.lower_row,
                           panel.upper + panel.start + k,
                           panel.upper_plane,
                           panel.upper_row,
                           k};
    xl_few_digits(panel, shared, s, entries);
    xl_few_words(panel, shared, entries);
    for (int64_t e = threadIdx.x; e < entries; e += blockDim.x) {
        const xl_few entry = xl_few_entry(panel, shared, e);
        const bool is_free = panel.places[first + e] >= k;
        xl_few_limbs(panel, entry, xl_panel_matrix(panel, first + e, panel.start + k));
        for (int64_t j = 0; j < panel.count; ++j)
            panel.found[(first + e) * panel.count + j] = is_free ? entry.limbs[j] : 0;
    }
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    int64_t best = -1, place = 0;
    for (int64_t row = first; row < first + entries; ++row)
        if (panel.places[row] >= k && xl_panel_is_larger(panel, row, panel.places[row], best, place)) {
            best = row;
            place = panel.places[row];
        }
    panel.best[2 * blockIdx.x] = best;
    panel.best[2 * blockIdx.x + 1] = place;
}

/* Row and place of the largest sum of all, from those of so many blocks. Every thread of the block comes here. */
XL_INLINE void xl_panel_largest(const xl_panel &panel, int64_t (*shared)[2], int64_t blocks) {
    int64_t best = -1, place = 0;
    for (int64_t b = threadIdx.x; b < blocks; b += XL_PANEL_THREADS)
        if (xl_panel_is_larger(panel, panel.best[2 * b], panel.best[2 * b + 1], best, place)) {
            best = panel.best[2 * b];
            place = panel.best[2 * b + 1];
        }
    shared[threadIdx.x][0] = best;
    shared[threadIdx.x][1] = place;
    __syncthreads();
    for (int32_t half = XL_PANEL_THREADS / 2; half != 0; half /= 2) {
        int64_t *mine = shared[threadIdx.x], *other = mine + 2 * half;
        if (threadIdx.x < half && xl_panel_is_larger(panel, other[0], other[1], mine[0], mine[1])) {
            mine[0] = other[0];
            mine[1] = other[1];
        }
        __syncthreads();
    }
}

/* A divisor: its magnitude shifted so that the highest bit of its highest limb is 1, and the reciprocal of that limb,
 * floor((2**128 - 1) / d) - 2**64. */
struct xl_divisor {
    uint64_t *limbs;
    int64_t count, shift;
    uint64_t reciprocal;
    bool is_negative;
};

XL_INLINE uint64_t xl_reciprocal(uint64_t d) {
    uint64_t remainder = ~d, found = 0;
    for (int32_t bit = 0; bit < 64; ++bit) {
        const bool is_over = remainder >> 63 != 0;
        remainder = remainder << 1 | 1;
        found <<= 1;
        if (is_over || remainder >= d) {
            remainder -= d;
            found |= 1;
        }
    }
    return found;
}

/* to = |x| in as many limbs. */
XL_INLINE void xl_magnitude(const uint64_t *x, int64_t count, uint64_t *to) {
    const uint64_t sign = xl_limb(x, count, count);
    uint64_t carry = sign & 1;
    for (int64_t j = 0; j < count; ++j) {
        const uint64_t limb = x[j] ^ sign;
        to[j] = limb + carry;
        carry = to[j] < carry;
    }
}

/* x[0], ..., x[count] *= 2**shift, with x[count] from what leaves the others. Requires: shift < 64. */
XL_INLINE void xl_shift_up(uint64_t *x, int64_t count, int64_t shift) {
    for (int64_t j = count; j >= 0; --j) {
        const uint64_t here = j < count ? x[j] : 0, below = j > 0 ? x[j - 1] : 0;
        x[j] = shift == 0 ? here : here << shift | below >> (64 - shift);
    }
}

/* Requires: x is not 0; there is a limb more at `to`. */
XL_INLINE xl_divisor xl_divisor_of(const uint64_t *x, int64_t count, uint64_t *to) {
    xl_divisor found = {to, count, 0, 0, xl_limb(x, count, count) != 0};
    xl_magnitude(x, count, to);
    while (to[found.count - 1] == 0)
        --found.count;
    found.shift = __clzll((int64_t)to[found.count - 1]);
    xl_shift_up(to, found.count, found.shift);
    found.reciprocal = xl_reciprocal(to[found.count - 1]);
    return found;
}

/* floor((2**64 high + low) / d) for the highest limb d of a divisor, or 2**64 - 1 where that is less.
 * Moeller and Granlund, Improved division by invariant integers (2011), algorithm 4. */
XL_INLINE uint64_t xl_quotient_limb(uint64_t high, uint64_t low, uint64_t d, uint64_t reciprocal) {
    if (high >= d)
        return ~0ull;
    uint64_t fraction = reciprocal * high, quotient = __umul64hi(reciprocal, high);
    xl_add(fraction, quotient, low);
    quotient += high + 1;
    uint64_t remainder = low - quotient * d;
    if (remainder > fraction) {
        --quotient;
        remainder += d;
    }
    return remainder >= d ? quotient + 1 : quotient;
}

/* x -= quotient d for the limbs of x from those of the divisor's lowest on; how much is borrowed from above them. */
XL_INLINE uint64_t xl_subtract_multiple(uint64_t *x, const xl_divisor &d, uint64_t quotient) {
    uint64_t above = 0;
    for (int64_t i = 0; i < d.count; ++i) {
        uint64_t low = quotient * d.limbs[i], high = __umul64hi(quotient, d.limbs[i]);
        xl_add(low, high, above);
        above = high + (x[i] < low);
        x[i] -= low;
    }
    return above;
}

/* x += d; the carry out of as many limbs. */
XL_INLINE uint64_t xl_add_divisor(uint64_t *x, const xl_divisor &d) {
    uint64_t carry = 0;
    for (int64_t i = 0; i < d.count; ++i) {
        uint64_t low = x[i], high = 0;
        xl_add(low, high, d.limbs[i]);
        xl_add(low, high, carry);
        x[i] = low;
        carry = high;
    }
    return carry;
}

/* The remainder of x[0], ..., x[count] in the lowest limbs, and the quotient above them.
 * Knuth, The art of computer programming 2, 4.3.1, algorithm D. */
XL_INLINE void xl_divide_limbs(uint64_t *x, int64_t count, const xl_divisor &d) {
    const uint64_t top = d.limbs[d.count - 1];
    for (int64_t j = count - d.count; j >= 0; --j) {
        uint64_t *highest = x + j + d.count;
        uint64_t quotient = xl_quotient_limb(highest[0], highest[-1], top, d.reciprocal);
        const uint64_t borrow = xl_subtract_multiple(x + j, d, quotient);
        bool is_negative = *highest < borrow;
        *highest -= borrow;
        while (is_negative) {
            --quotient;
            const uint64_t carry = xl_add_divisor(x + j, d);
            *highest += carry;
            is_negative = *highest >= carry; /* until it passes 0 */
        }
        *highest = quotient;
    }
}

/* Whether twice a remainder is more than the divisor, or as much and the quotient odd. */
XL_INLINE bool xl_rounds_quotient_up(const uint64_t *remainder, const xl_divisor &d, bool is_odd) {
    if (remainder[d.count - 1] >> 63)
        return true;
    for (int64_t i = d.count - 1; i >= 0; --i) {
        const uint64_t twice = remainder[i] << 1 | (i > 0 ? remainder[i - 1] >> 63 : 0);
        if (twice != d.limbs[i])
            return twice > d.limbs[i];
    }
    return is_odd;
}

/* The first `wanted` limbs = RN(x / d) for x of `count` limbs, no fewer than d has, where there is room for one more. */
XL_INLINE void xl_few_quotient(uint64_t *x, int64_t count, const xl_divisor &d, int64_t wanted) {
    const uint64_t sign = xl_limb(x, count, count) ^ (d.is_negative ? ~0ull : 0);
    xl_magnitude(x, count, x);
    xl_shift_up(x, count, d.shift);
    xl_divide_limbs(x, count, d);
    const int64_t most = count - d.count + 1;
    uint64_t carry = xl_rounds_quotient_up(x, d, (x[d.count] & 1) != 0);
    uint64_t negated = sign & 1;
    for (int64_t j = 0; j < wanted; ++j) {
        const uint64_t limb = (j < most ? x[d.count + j] : 0) + carry;
        carry = limb < carry;
        x[j] = (limb ^ sign) + negated;
        negated = x[j] < negated;
    }
}

/* The row's place in the order, its pivot, or that it is lost. */
XL_INLINE void xl_panel_note(const xl_panel &panel, int64_t k, int64_t row, int64_t place, const uint64_t *pivot,
                             bool is_lost) {
    if (is_lost) {
        for (int64_t j = 0; j < panel.count; ++j)
            panel.value[j] = panel.found[row * panel.count + j];
        panel.state[1] = k + 1;
        return;
    }
    const int64_t other = panel.order[k];
    panel.order[place] = other;
    panel.places[other] = place;
    panel.order[k] = row;
    panel.places[row] = k;
    panel.state[0] += place > k;
    for (int64_t j = 0; j < panel.upper_count; ++j)
        panel.pivots[k * panel.upper_count + j] = pivot[j];
}

/* Column k of L from its sums, `width` rows for each block but the last one, which finds U beside the pivot. */
extern "C" __global__ void __launch_bounds__(XL_PANEL_THREADS)
    xl_wide_panel_divide(const xl_panel *whole, int64_t k, int64_t width) {
    extern __shared__ uint64_t shared[];
    __shared__ uint64_t pivot[XL_PIVOT_LIMBS], divisor_limbs[XL_PIVOT_LIMBS + 1];
    __shared__ xl_divisor divisor;
    __shared__ bool is_lost;
    const xl_panel panel = *whole;
    const int64_t blocks = gridDim.x - 1;
    if (xl_panel_is_lost(panel, k))
        return;
    int64_t (*largest)[2] = (int64_t (*)[2])shared; /* until entries are there */
    xl_panel_largest(panel, largest, blocks);
    const int64_t row = largest[0][0], place = largest[0][1];
    if (threadIdx.x == 0) {
        uint64_t any = 0;
        xl_few_round(panel, panel.found + row * panel.count, pivot);
        for (int64_t j = 0; j < panel.upper_count; ++j)
            any |= pivot[j];
        is_lost = any == 0;
        if (!is_lost)
            divisor = xl_divisor_of(pivot, panel.upper_count, divisor_limbs);
        if (blockIdx.x == blocks)
            xl_panel_note(panel, k, row, place, pivot, is_lost);
    }
    __syncthreads();
    if (is_lost)
        return;
    if (blockIdx.x == blocks) {
        const int64_t next = panel.start + k + 1;
        const xl_few_sums s = {panel.sums + (k + 1) * panel.sums_row + row,
                               panel.sums_row,
                               panel.upper + next,
                               panel.upper_plane,
                               panel.upper_row,
                               panel.lower + row,
                               panel.lower_plane,
                               panel.lower_row,
                               k};
        if (next < panel.stop)
            xl_few_upper(panel, shared, s, row, k, next, panel.stop - next);
        return;
    }
    const int64_t first = blockIdx.x * width, entries = panel.rows - first < width ? panel.rows - first : width;
    for (int64_t e = threadIdx.x; e < entries; e += blockDim.x) {
        uint64_t *x = xl_few_entry(panel, shared, e).limbs;
        uint64_t *to = panel.lower_limbs + (first + e) * panel.lower_limbs_row + k * panel.lower_limbs_entry;
        for (int64_t j = 0; j < panel.count; ++j)
            x[j] = panel.found[(first + e) * panel.count + j];
        xl_few_quotient(x, panel.count, divisor, panel.lower_count);
        for (int64_t j = 0; j < panel.lower_count; ++j)
            to[j] = x[j];
    }
    xl_few_residues(panel, shared, entries, panel.lower_count, panel.lower + k * panel.lower_row + first,
                    panel.lower_plane);
}

/* All rows of the block in the columns past it, `width` of them for each block of threads. Rows of the matrix are in their
 * places. */
extern "C" __global__ void __launch_bounds__(XL_PANEL_THREADS)
    xl_wide_panel_rows(const xl_panel *whole, int64_t width) {
    extern __shared__ uint64_t shared[];
    const xl_panel panel = *whole;
    const int64_t begin = blockIdx.x * width, past = panel.columns - panel.stop - begin;
    const int64_t first = panel.stop + begin, entries = past < width ? past : width;
    for (int64_t k = 0; k < panel.stop - panel.start; ++k) {
        const xl_few_sums s = {panel.sums + k * panel.sums_row + begin,
                               1,
                               panel.upper + first,
                               panel.upper_plane,
                               panel.upper_row,
                               panel.lower + panel.order[k],
                               panel.lower_plane,
                               panel.lower_row,
                               k};
        xl_few_upper(panel, shared, s, k, k, first, entries);
    }
}
