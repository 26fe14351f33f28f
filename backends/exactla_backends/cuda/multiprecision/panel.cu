/* Blocks of columns of L and of rows of U for integers of few limbs: everything about an entry in one launch, or two for a
 * column. `common.cuh` stands before this text.
 *
 * A block of threads has a few entries, which lie in shared memory one after the other, behind the tables that all of
 * them need. Threads have one digit or one limb each where these are independent of each other, and one entry where
 * carries are passed on. Blocks have XL_PANEL_THREADS threads, more than a warp, and sums no more than XL_PIVOT_LIMBS
 * limbs.
 */

#define XL_FETCHED 8 /* loads of a thread that are on their way at a time */

/* What is known of a block of columns and rows; `panel.py` has the same words. Rows count from the first that holds no pivot
 * of an earlier block, and residues of L are by rows in the order of the beginning. */
struct xl_panel {
    const uint64_t *tables; /* constants, and [moduli + 1, count]: M / m for each modulus, and -M */
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
    uint64_t *best;          /* for each block of threads its candidate */
    uint64_t *found;         /* sums of the column, [rows, count] */
};

/* Where the tables of a panel lie, and after them the entries. */
struct xl_few_memory {
    uint64_t *tables, *cofactors, *entries;
};

XL_INLINE xl_few_memory xl_few_memory_of(const xl_panel &panel, uint64_t *shared) {
    uint64_t *cofactors = shared + panel.moduli * XL_CONSTANTS;
    return {shared, cofactors, cofactors + (panel.moduli + 1) * panel.count};
}

XL_INLINE const uint64_t *xl_few_constants(const uint64_t *tables, uint32_t modulus) {
    return tables + modulus * XL_CONSTANTS;
}

/* Words to shared memory, by so many threads. */
XL_INLINE void xl_few_fetch(const uint64_t *from, uint32_t words, uint64_t *to, uint32_t thread, uint32_t threads) {
    for (uint32_t i = thread; i < words; i += XL_FETCHED * threads) {
        uint64_t fetched[XL_FETCHED];
#pragma unroll
        for (uint32_t t = 0; t < XL_FETCHED; ++t)
            if (i + t * threads < words)
                fetched[t] = from[i + t * threads];
#pragma unroll
        for (uint32_t t = 0; t < XL_FETCHED; ++t)
            if (i + t * threads < words)
                to[i + t * threads] = fetched[t];
    }
}

/* One entry of those that a block of threads has. */
struct xl_few {
    uint32_t *digits; /* moduli */
    uint64_t *limbs;  /* 2 count + 1 */
};

XL_INLINE xl_few xl_few_entry(const xl_panel &panel, const xl_few_memory &memory, uint32_t entry) {
    const uint32_t limbs = 2 * panel.count + 1, digits = (panel.moduli + 1) / 2;
    uint64_t *here = memory.entries + entry * (limbs + digits);
    return {(uint32_t *)(here + limbs), here};
}

/* 2**precision minuends[e] - sums, which are in residues the negatives of
 * sums[p, e] + sum over k < terms of vectors[p, k, e] factors[p, k]. */
struct xl_few_sums {
    const uint64_t *minuends;
    int64_t minuends_step;
    const int16_t *sums;
    int64_t sums_step;
    const int16_t *vectors;
    int64_t vectors_plane, vectors_line;
    const int16_t *factors;
    int64_t factors_plane, factors_line, terms;
};

/* The sum over k < terms of vectors[k vectors_line] factors[k factors_line]; the last ones are fetched again and again
 * rather than under a condition, at which loads would wait for each other. */
XL_INLINE int64_t xl_few_products(const int16_t *vectors, int64_t vectors_line, const int16_t *factors,
                                  int64_t factors_line, uint32_t terms) {
    int64_t sum = 0;
    for (uint32_t k = 0; k < terms; k += XL_FETCHED) {
        int32_t x[XL_FETCHED], y[XL_FETCHED];
#pragma unroll
        for (uint32_t t = 0; t < XL_FETCHED; ++t) {
            x[t] = *vectors;
            y[t] = *factors;
            vectors += k + t + 1 < terms ? vectors_line : 0;
            factors += k + t + 1 < terms ? factors_line : 0;
        }
#pragma unroll
        for (uint32_t t = 0; t < XL_FETCHED; ++t)
            sum += k + t < terms ? x[t] * y[t] : 0;
    }
    return sum;
}

/* Digits of the differences, and limbs of what is subtracted from, of which there are no more than moduli. */
XL_INLINE void xl_few_digits(const xl_panel &panel, const xl_few_memory &memory, const xl_few_sums &s,
                             uint32_t entries) {
    const uint32_t count = panel.count, limbs = entries * count;
    for (uint32_t i = threadIdx.x; i < entries * (uint32_t)panel.moduli; i += XL_PANEL_THREADS) {
        const uint32_t e = i % entries, p = i / entries;
        const uint64_t *c = xl_few_constants(panel.tables, p), *x = s.minuends + i / count * s.minuends_step;
        const uint64_t minuend = i < limbs ? xl_shifted_limb(x, panel.matrix_count, panel.precision, i % count) : 0;
        const int64_t sum = s.sums[p * panel.sums_plane + e * s.sums_step] +
                            xl_few_products(s.vectors + p * s.vectors_plane + e, s.vectors_line,
                                            s.factors + p * s.factors_plane, s.factors_line, (uint32_t)s.terms);
        xl_few_entry(panel, memory, e).digits[p] = xl_weighted(sum, c, c[4]);
        if (i < limbs)
            xl_few_entry(panel, memory, i / count).limbs[i % count] = minuend;
    }
    __syncthreads();
}

/* Two words for each limb of what digits make, the lower ones first, with what is subtracted from. */
XL_INLINE void xl_few_words(const xl_panel &panel, const xl_few_memory &memory, uint32_t entries) {
    const uint32_t count = panel.count, moduli = panel.moduli;
    for (uint32_t i = threadIdx.x; i < entries * count; i += XL_PANEL_THREADS) {
        const xl_few entry = xl_few_entry(panel, memory, i / count);
        const uint64_t *cofactors = memory.cofactors + i % count;
        /* digits are below 2**16, and so few that sums of products with halves of limbs do not overflow */
        uint64_t low = 0, high = 0, contained = 1ull << (XL_FRACTION_BITS - 1);
#pragma unroll 4
        for (uint32_t p = 0; p < moduli; ++p) {
            const uint32_t digit = entry.digits[p];
            const uint64_t cofactor = cofactors[p * count];
            low += (uint64_t)digit * (uint32_t)cofactor;
            high += (uint64_t)digit * (uint32_t)(cofactor >> 32);
            contained += digit * xl_few_constants(memory.tables, p)[5];
        }
        /* how often M is */
        const uint32_t times = (uint32_t)(contained >> XL_FRACTION_BITS);
        low += (uint64_t)times * (uint32_t)cofactors[moduli * count];
        high += (uint64_t)times * (uint32_t)(cofactors[moduli * count] >> 32);
        uint64_t above = high >> 32;
        xl_add(low, above, high << 32);
        xl_add(low, above, entry.limbs[i % count]);
        entry.limbs[i % count] = low;
        entry.limbs[count + i % count] = above;
    }
    __syncthreads();
}

/* to = x, of few limbs, so that many steps of the loop at a time would be but more code. */
XL_INLINE void xl_few_copy(const uint64_t *__restrict__ x, int64_t count, uint64_t *__restrict__ to) {
#pragma unroll 4
    for (int64_t j = 0; j < count; ++j)
        to[j] = x[j];
}

/* Limbs of what these words are. */
XL_INLINE void xl_few_limbs(uint64_t *__restrict__ low, const uint64_t *__restrict__ high, int64_t count) {
    uint64_t above = 0;
#pragma unroll 4
    for (int64_t j = 0; j < count; ++j) {
        const uint64_t limb = low[j] + above;
        above = high[j] + (limb < above);
        low[j] = limb;
    }
}

XL_INLINE const uint64_t *xl_panel_matrix(const xl_panel &panel, int64_t row, int64_t column) {
    return panel.matrix + row * panel.matrix_row + column * panel.matrix_entry;
}

/* The centred residue of an integer modulo the number, below 2**16, whose constants these are. */
XL_INLINE int16_t xl_few_residue(const uint64_t *x, int64_t count, const uint64_t *c) {
    const uint64_t sign = xl_limb(x, count, count);
    const uint32_t m = (uint32_t)c[0], reciprocal = (uint32_t)c[1];
    const uint32_t step = xl_modulo(~0u, m, reciprocal) + 1; /* 2**32 modulo m, or m */
    uint32_t remainder = 0;
    for (int64_t j = count - 1; j >= 0; --j) {
        const uint64_t limb = x[j] ^ sign;
        const uint32_t high = xl_modulo((uint32_t)(limb >> 32), m, reciprocal);
        const uint32_t low = xl_modulo((uint32_t)limb, m, reciprocal);
        remainder = xl_modulo(remainder * step + high, m, reciprocal);
        remainder = xl_modulo(remainder * step + low, m, reciprocal);
    }
    /* of a negative number this was the complement */
    return (int16_t)xl_centred(sign ? m - 1 - remainder : remainder, m);
}

/* Residues to[p, e] of entries of so many limbs. */
XL_INLINE void xl_few_residues(const xl_panel &panel, const xl_few_memory &memory, uint32_t entries, int64_t count,
                               int16_t *to, int64_t plane) {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < entries * (uint32_t)panel.moduli; i += XL_PANEL_THREADS) {
        const uint32_t e = i % entries, p = i / entries;
        to[p * plane + e] =
            xl_few_residue(xl_few_entry(panel, memory, e).limbs, count, xl_few_constants(memory.tables, p));
    }
    __syncthreads();
}

/* Entries of row k of U from column `first` on, as the differences say. */
XL_INLINE void xl_few_upper(const xl_panel &panel, const xl_few_memory &memory, const xl_few_sums &s, int64_t k,
                            int64_t first, uint32_t entries) {
    xl_few_digits(panel, memory, s, entries);
    xl_few_words(panel, memory, entries);
    for (uint32_t e = threadIdx.x; e < entries; e += XL_PANEL_THREADS) {
        uint64_t *limbs = xl_few_entry(panel, memory, e).limbs;
        uint64_t *to = panel.upper_limbs + k * panel.upper_limbs_row + (first + e) * panel.upper_limbs_entry;
        xl_few_limbs(limbs, limbs + panel.count, panel.count);
        xl_nearest_shifted(limbs, panel.count, panel.precision, limbs, panel.upper_count);
        xl_few_copy(limbs, panel.upper_count, to);
    }
    xl_few_residues(panel, memory, entries, panel.upper_count, panel.upper + k * panel.upper_row + first,
                    panel.upper_plane);
}

/* A row that may hold a pivot: a key of its sum's magnitude, and its place above 32 bits of the row. */
struct xl_candidate {
    uint64_t key, where;
};

#define XL_KEY_BITS 53

/* 0 is no candidate's key. Of two keys the larger one belongs to the larger magnitude: they are its number of bits, and
 * those which follow the first one. */
XL_INLINE uint64_t xl_magnitude_key(const uint64_t *x, int64_t count) {
    const uint64_t sign = xl_limb(x, count, count);
    uint64_t carry = sign & 1, before = 0, top = 0, next = 0, limbs = 0;
    for (int64_t j = 0; j < count; ++j) {
        const uint64_t limb = (x[j] ^ sign) + carry;
        carry = limb < carry;
        if (limb != 0) {
            top = limb;
            next = before;
            limbs = j + 1;
        }
        before = limb;
    }
    if (top == 0)
        return 1;
    const int32_t zeros = __clzll((int64_t)top);
    const uint64_t leading = zeros == 0 ? top : top << zeros | next >> (64 - zeros);
    return (64 * limbs - zeros) << XL_KEY_BITS | leading << 1 >> (64 - XL_KEY_BITS);
}

XL_INLINE const uint64_t *xl_panel_sum(const xl_panel &panel, const xl_candidate &c) {
    return panel.found + (uint32_t)c.where * panel.count;
}

/* Whether the sum of a is larger, or the same one and a comes first. */
XL_INLINE bool xl_panel_is_larger(const xl_panel &panel, const xl_candidate &a, const xl_candidate &b) {
    if (a.key != b.key || a.key == 0)
        return a.key > b.key;
    const int32_t sign = xl_compare_magnitudes(xl_panel_sum(panel, a), xl_panel_sum(panel, b), panel.count);
    return sign > 0 || (sign == 0 && a.where < b.where);
}

/* The candidate with the largest sum, of so many that are `step` words apart. Every thread of a warp comes here. */
XL_INLINE xl_candidate xl_panel_largest(const xl_panel &panel, const uint64_t *candidates, uint32_t step,
                                        uint32_t count) {
    const uint32_t own = (count + XL_WARP - 1) / XL_WARP;
    xl_candidate best = {0, 0};
    for (uint32_t i = 0, distance = XL_WARP / 2; distance != 0; ++i) {
        xl_candidate other = {0, 0};
        if (i < own) {
            const uint32_t at = i * XL_WARP + threadIdx.x % XL_WARP;
            if (at < count)
                other = {candidates[at * step], candidates[at * step + 1]};
        } else {
            other = {__shfl_xor_sync(XL_WHOLE_WARP, best.key, distance),
                     __shfl_xor_sync(XL_WHOLE_WARP, best.where, distance)};
            distance /= 2;
        }
        if (xl_panel_is_larger(panel, other, best))
            best = other;
    }
    return best;
}

/* Whether the pivot of an earlier column is lost; that of column k may be found to be meanwhile. */
XL_INLINE bool xl_panel_is_lost(const xl_panel &panel, int64_t k) {
    return panel.state[1] != 0 && panel.state[1] <= k;
}

/* Sums of column k, 0 in rows that hold pivots, and the largest of each block's `width` rows. */
extern "C" __global__ void __launch_bounds__(XL_PANEL_THREADS)
    xl_wide_panel_sums(const __grid_constant__ xl_panel panel, int64_t k, int64_t width) {
    extern __shared__ uint64_t shared[];
    const xl_few_memory memory = xl_few_memory_of(panel, shared);
    const int64_t first = blockIdx.x * width, left = panel.rows - first;
    const uint32_t entries = left < width ? left : width;
    const bool is_lost = xl_panel_is_lost(panel, k);
    const xl_few_sums s = {xl_panel_matrix(panel, first, panel.start + k),
                           panel.matrix_row,
                           panel.sums + k * panel.sums_row + first,
                           1,
                           panel.lower + first,
                           panel.lower_plane,
                           panel.lower_row,
                           panel.upper + panel.start + k,
                           panel.upper_plane,
                           panel.upper_row,
                           k};
    xl_few_fetch(panel.tables, memory.entries - memory.tables, memory.tables, threadIdx.x, XL_PANEL_THREADS);
    if (is_lost)
        return;
    xl_few_digits(panel, memory, s, entries);
    xl_few_words(panel, memory, entries);
    for (uint32_t e = threadIdx.x; e < entries; e += XL_PANEL_THREADS) {
        const int64_t row = first + e, place = panel.places[row];
        uint64_t *limbs = xl_few_entry(panel, memory, e).limbs, *candidate = limbs + panel.count;
        xl_few_limbs(limbs, limbs + panel.count, panel.count);
        for (int64_t j = 0; j < panel.count; ++j)
            panel.found[row * panel.count + j] = place >= k ? limbs[j] : 0;
        candidate[0] = place >= k ? xl_magnitude_key(limbs, panel.count) : 0;
        candidate[1] = place << 32 | row;
    }
    __syncthreads();
    if (threadIdx.x >= XL_WARP)
        return;
    const uint64_t *candidates = xl_few_entry(panel, memory, 0).limbs + panel.count;
    const uint32_t step = xl_few_entry(panel, memory, 1).limbs - xl_few_entry(panel, memory, 0).limbs;
    const xl_candidate best = xl_panel_largest(panel, candidates, step, entries);
    if (threadIdx.x == 0) {
        panel.best[2 * blockIdx.x] = best.key;
        panel.best[2 * blockIdx.x + 1] = best.where;
    }
}

/* The row's place in the order, its pivot, or that it is lost. */
XL_INLINE void xl_panel_note(const xl_panel &panel, int64_t k, int64_t row, int64_t place, const uint64_t *sum,
                             const uint64_t *pivot, bool is_lost) {
    if (is_lost) {
        xl_few_copy(sum, panel.count, panel.value);
        panel.state[1] = k + 1;
        return;
    }
    const int64_t other = panel.order[k];
    panel.order[place] = other;
    panel.places[other] = place;
    panel.order[k] = row;
    panel.places[row] = k;
    panel.state[0] += place > k;
    xl_few_copy(pivot, panel.upper_count, panel.pivots + k * panel.upper_count);
}

/* Column k of L from its sums, `width` rows for each of so many blocks; the others find U beside the pivot, `beside`
 * columns for each of them. The first warp looks for the pivot while others fetch what is needed. */
extern "C" __global__ void __launch_bounds__(XL_PANEL_THREADS)
    xl_wide_panel_divide(const __grid_constant__ xl_panel panel, int64_t k, int64_t width, int64_t blocks,
                         int64_t beside) {
    extern __shared__ uint64_t shared[];
    __shared__ uint64_t sum[XL_PIVOT_LIMBS], pivot[XL_PIVOT_LIMBS], divisor_limbs[XL_PIVOT_LIMBS + 1], where;
    __shared__ xl_divisor shared_divisor;
    __shared__ bool is_pivot_lost;
    const xl_few_memory memory = xl_few_memory_of(panel, shared);
    const bool divides = blockIdx.x < blocks, is_lost = xl_panel_is_lost(panel, k);
    const int64_t first = divides ? blockIdx.x * width : panel.start + k + 1 + (blockIdx.x - blocks) * beside;
    const int64_t left = divides ? panel.rows - first : panel.stop - first, most = divides ? width : beside;
    const uint32_t count = panel.count, entries = left < most ? left > 0 ? left : 0 : most;
    if (threadIdx.x < XL_WARP) {
        uint64_t *candidates = xl_few_entry(panel, memory, entries).limbs; /* behind the entries */
        xl_few_fetch(panel.best, 2 * (uint32_t)blocks, candidates, threadIdx.x, XL_WARP);
        __syncwarp();
        const xl_candidate best = xl_panel_largest(panel, candidates, 2, (uint32_t)blocks);
        if (threadIdx.x < count)
            sum[threadIdx.x] = xl_panel_sum(panel, best)[threadIdx.x];
        __syncwarp();
        if (threadIdx.x == 0) {
            uint64_t any = 0;
            where = best.where;
            xl_nearest_shifted(sum, count, panel.precision, pivot, panel.upper_count);
#pragma unroll 4
            for (int64_t j = 0; j < panel.upper_count; ++j)
                any |= pivot[j];
            is_pivot_lost = any == 0;
            if (any != 0 && divides)
                shared_divisor = xl_divisor_of(pivot, panel.upper_count, divisor_limbs);
        }
    } else {
        const uint32_t other = threadIdx.x - XL_WARP, others = XL_PANEL_THREADS - XL_WARP;
        xl_few_fetch(panel.tables, memory.entries - memory.tables, memory.tables, other, others);
        if (divides)
#pragma unroll 2
            for (uint32_t i = other; i < entries * count; i += others)
                xl_few_entry(panel, memory, i / count).limbs[i % count] = panel.found[first * count + i];
    }
    if (is_lost)
        return;
    __syncthreads();
    const int64_t row = (uint32_t)where;
    if (blockIdx.x == blocks && threadIdx.x == 0)
        xl_panel_note(panel, k, row, (int64_t)(where >> 32), sum, pivot, is_pivot_lost);
    if (is_pivot_lost || entries == 0)
        return;
    if (!divides) {
        const xl_few_sums s = {xl_panel_matrix(panel, row, first),
                               panel.matrix_entry,
                               panel.sums + (first - panel.start) * panel.sums_row + row,
                               panel.sums_row,
                               panel.upper + first,
                               panel.upper_plane,
                               panel.upper_row,
                               panel.lower + row,
                               panel.lower_plane,
                               panel.lower_row,
                               k};
        xl_few_upper(panel, memory, s, k, first, entries);
        return;
    }
    xl_divisor divisor = shared_divisor;
    divisor.limbs = divisor_limbs; /* which the compiler then knows to be in shared memory */
    for (uint32_t e = threadIdx.x; e < entries; e += XL_PANEL_THREADS) {
        uint64_t *x = xl_few_entry(panel, memory, e).limbs;
        uint64_t *to = panel.lower_limbs + (first + e) * panel.lower_limbs_row + k * panel.lower_limbs_entry;
        xl_nearest_quotient(x, count, divisor, panel.lower_count);
        xl_few_copy(x, panel.lower_count, to);
    }
    xl_few_residues(panel, memory, entries, panel.lower_count, panel.lower + k * panel.lower_row + first,
                    panel.lower_plane);
}

/* All rows of the block in the columns past it, `width` of them for each block of threads. Rows of the matrix are in their
 * places. */
extern "C" __global__ void __launch_bounds__(XL_PANEL_THREADS)
    xl_wide_panel_rows(const __grid_constant__ xl_panel panel, int64_t width) {
    extern __shared__ uint64_t shared[];
    const xl_few_memory memory = xl_few_memory_of(panel, shared);
    const int64_t begin = blockIdx.x * width, left = panel.columns - panel.stop - begin, first = panel.stop + begin;
    const uint32_t entries = left < width ? left : width;
    xl_few_fetch(panel.tables, memory.entries - memory.tables, memory.tables, threadIdx.x, XL_PANEL_THREADS);
    int64_t row = panel.order[0];
    for (int64_t k = 0; k < panel.stop - panel.start; ++k) {
        const xl_few_sums s = {xl_panel_matrix(panel, k, first),
                               panel.matrix_entry,
                               panel.sums + k * panel.sums_row + begin,
                               1,
                               panel.upper + first,
                               panel.upper_plane,
                               panel.upper_row,
                               panel.lower + row,
                               panel.lower_plane,
                               panel.lower_row,
                               k};
        if (k + 1 < panel.stop - panel.start)
            row = panel.order[k + 1]; /* before the next step waits for it */
        xl_few_upper(panel, memory, s, k, first, entries);
    }
}
