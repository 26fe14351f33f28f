/* Residues in octets to encodings, with tables of XL_PAIRS pairs of moduli as arguments; with XL_CERTIFIED the results
 * that leading bits do not decide are noted. */
#include "encodings.h"

/* s = sum over pairs of X * cofactor - q M, with X = e1 b1 + e2 b2 for the pair's residues b, biased by 128: the e are
 * the idempotents of the two moduli times the pair's weight, X < 2**25. `start` takes the biases off, and the shares
 * 2**32 / (m1 m2), with those of `start`, give q. */
struct xl_crt_pairs {
    uint32_t weights[XL_PAIRS]; /* e1 + 2**16 e2 */
    uint32_t shares[XL_PAIRS];
    uint32_t cofactors[XL_PAIRS][XL_LIMBS];
    uint32_t minus_product[XL_LIMBS], start[XL_LIMBS];
    uint64_t start_share;
};

/* Residues [pairs, moduli, rows, stride] and the encodings [pairs, rows, columns] that they become, in one direction
 * or two. */
struct xl_results8 {
    const uint8_t *residues;
    int64_t pairs, moduli, rows, columns, stride;
    const int64_t *row_exponents, *column_exponents;
    const int64_t *starts; /* [2, pairs]: where the exponents of each pair's matrices begin */
    int64_t shift;
    uint8_t *encodings[2];
    int64_t roundings[2]; /* the second is -1 where there is one direction */
    /* with XL_CERTIFIED the integers are sums of leading bits, and those that do not decide are noted */
    const int32_t *left_dropped, *right_dropped; /* entries of each row that lost bits */
    const int64_t *row_tops, *column_tops;       /* laid out like the exponents: entries are below 2**top */
    const int64_t *places;                       /* [2, pairs]: the left and the right matrix of each pair */
    int64_t *doubtful, capacity;                 /* their number, and behind it their positions */
};

/* Ensures: the sums over bytes 2 half, 2 half + 1 of x with the 16-bit parts of `weights`. */
template <int32_t half> XL_FUNCTION uint32_t xl_dot2(uint32_t weights, uint32_t x) {
    uint32_t result;
    if (half)
        asm("dp2a.hi.u32.u32 %0, %1, %2, 0;" : "=r"(result) : "r"(weights), "r"(x));
    else
        asm("dp2a.lo.u32.u32 %0, %1, %2, 0;" : "=r"(result) : "r"(weights), "r"(x));
    return result;
}

/* Ensures: limbs of s for four neighbours, whose residues `from` points to, modulus after modulus. */
XL_FUNCTION void xl_integers8(uint32_t limbs[4][XL_LIMBS], const uint8_t *from, int64_t plane, int32_t moduli,
                              const xl_crt_pairs &t) {
    const bool has_all = moduli == 2 * XL_PAIRS; /* or one less */
    uint64_t sums[4][XL_LIMBS], share[4];
#pragma unroll
    for (int32_t w = 0; w < 4; ++w) {
        share[w] = t.start_share;
#pragma unroll
        for (int32_t j = 0; j < XL_LIMBS; ++j)
            sums[w][j] = t.start[j];
    }
#pragma unroll
    for (int32_t p = 0; p < XL_PAIRS; p += 2) {
        uint32_t planes[4] = {};
#pragma unroll
        for (int32_t i = 0; i < 4; ++i)
            if (2 * p + i < 2 * XL_PAIRS - 1 || (2 * p + i == 2 * XL_PAIRS - 1 && has_all)) {
                planes[i] = *(const uint32_t *)from ^ 0x80808080u;
                from += plane;
            }
        const uint32_t low01 = __byte_perm(planes[0], planes[1], 0x5140), high01 = __byte_perm(planes[0], planes[1], 0x7362);
        const uint32_t low23 = __byte_perm(planes[2], planes[3], 0x5140), high23 = __byte_perm(planes[2], planes[3], 0x7362);
        const uint32_t bytes[4] = {__byte_perm(low01, low23, 0x5410), __byte_perm(low01, low23, 0x7632),
                                   __byte_perm(high01, high23, 0x5410), __byte_perm(high01, high23, 0x7632)};
#pragma unroll
        for (int32_t w = 0; w < 4; ++w) {
            const uint32_t x[2] = {xl_dot2<0>(t.weights[p], bytes[w]),
                                   p + 1 < XL_PAIRS ? xl_dot2<1>(t.weights[p + 1 < XL_PAIRS ? p + 1 : p], bytes[w]) : 0};
#pragma unroll
            for (int32_t i = 0; i < 2 && p + i < XL_PAIRS; ++i) {
                share[w] += (uint64_t)x[i] * t.shares[p + i];
#pragma unroll
                for (int32_t j = 0; j < XL_LIMBS; ++j)
                    sums[w][j] += (uint64_t)x[i] * t.cofactors[p + i][j];
            }
        }
    }
#pragma unroll
    for (int32_t w = 0; w < 4; ++w) {
        const uint32_t quotient = (uint32_t)((share[w] + ((uint64_t)1 << 31)) >> 32);
        uint64_t carry = 0;
#pragma unroll
        for (int32_t j = 0; j < XL_LIMBS; ++j) {
            const uint64_t sum = sums[w][j] + (uint64_t)quotient * t.minus_product[j] + carry;
            limbs[w][j] = (uint32_t)sum;
            carry = sum >> 32;
        }
    }
}

/* Ensures: encodings of the first `count` of four neighbours. */
XL_FUNCTION void xl_store_words(uint8_t *to, const xl_encoding words[4], int32_t octets, int64_t count) {
    if (count >= 4 && ((uint64_t)to & (4 * octets - 1) & 15) == 0) {
        if (octets == 8) {
            *(ulonglong2 *)to = make_ulonglong2(words[0], words[1]);
            *((ulonglong2 *)to + 1) = make_ulonglong2(words[2], words[3]);
        } else if (octets == 4)
            *(uint4 *)to = make_uint4((uint32_t)words[0], (uint32_t)words[1], (uint32_t)words[2], (uint32_t)words[3]);
        else if (octets == 2)
            *(uint2 *)to = make_uint2((uint32_t)words[0] | (uint32_t)words[1] << 16,
                                      (uint32_t)words[2] | (uint32_t)words[3] << 16);
        else
            *(uint32_t *)to = (uint32_t)words[0] | (uint32_t)words[1] << 8 | (uint32_t)words[2] << 16 |
                              (uint32_t)words[3] << 24;
        return;
    }
#pragma unroll
    for (int32_t w = 0; w < 4; ++w)
        if (w < count) {
            if (octets == 8)
                *((uint64_t *)to + w) = words[w];
            else if (octets == 4)
                *((uint32_t *)to + w) = (uint32_t)words[w];
            else if (octets == 2)
                *((uint16_t *)to + w) = (uint16_t)words[w];
            else
                to[w] = (uint8_t)words[w];
        }
}

/* What a row or a column adds to its results. */
struct xl_line {
    int32_t exponent;
#if XL_CERTIFIED
    int32_t bits;     /* entries are below 2**bits */
    uint32_t dropped; /* how many of them lost bits */
#endif
};

/* Ensures: the line of a row (side 0) or a column (side 1), of which a matrix has `count`. */
XL_FUNCTION xl_line xl_line_of(const xl_results8 &r, int32_t side, int64_t pair, int64_t number, int64_t count) {
    const int64_t of_pair = side * r.pairs + pair;
    const int64_t at = r.starts[of_pair] + number, exponent = (side ? r.column_exponents : r.row_exponents)[at];
#if XL_CERTIFIED
    const int32_t bits = (int32_t)((side ? r.column_tops : r.row_tops)[at] - exponent);
    const int32_t *dropped = side ? r.right_dropped : r.left_dropped;
    return {(int32_t)exponent, bits, (uint32_t)dropped[r.places[of_pair] * count + number]};
#else
    return {(int32_t)exponent};
#endif
}

#if XL_CERTIFIED
/* Requires: count < 2**31.
 * Ensures: more than count * 2**shift - 1 where that is below 2**31, else 2**31 or more; 0 for 0. */
XL_FUNCTION uint64_t xl_scaled(uint32_t count, int32_t shift) {
    const int32_t within = shift < -31 ? -31 : shift > 31 ? 31 : shift;
    return (uint64_t)count << 31 >> (31 - within);
}

/* Requires: a plain result.
 * Ensures: false unless all numbers up to d = (a 2**right + (b + 1) 2**left) / 2 away from s, of which one is the exact
 * sum, round as s does, where a and b are the entries of its row and its column that lost bits, and left and right their
 * bits: each entry is off by a half at most, and products of what both lost sum up to less than 2**left / 2. True if a and
 * b are 0, or if no value of the format, nor with XL_NEAREST a tie, is within d and 2**-30 units of the last place. */
XL_FUNCTION bool xl_is_sure(const xl_results8 &r, const xl_magnitude &x, const xl_line &row, const xl_line &column) {
    const xl_format f = {XL_FORMAT};
    const uint32_t a = row.dropped, b = column.dropped;
    /* 32 bits below the significand, and what is as far off in their units, with 1 for what lies below them */
    const uint32_t rest = (uint32_t)(x.window << f.precision >> 32) | (f.precision > 32 ? x.rest >> (64 - f.precision) : 0);
    const int32_t half = x.position - 32 - (int32_t)f.precision + 2;
    const uint64_t far = xl_scaled(a, column.bits - half) + xl_scaled(b + (a != 0 && b != 0), row.bits - half) + 3;
    const uint32_t near = (uint32_t)far, tie = (uint32_t)1 << 31;
    const bool by_ends = rest - near < 0 - 2 * near, by_ties = rest - tie - near < 0 - 2 * near;
    const bool nearest = r.roundings[0] == XL_NEAREST || r.roundings[1] == XL_NEAREST;
    return (a | b) == 0 || (far < tie && by_ends && (by_ties || !nearest));
}

/* Ensures: the result is in the list, if that has room. */
XL_FUNCTION void xl_note_doubtful(const xl_results8 &r, int64_t pair, int64_t row, int64_t column) {
    const int64_t number = (int64_t)atomicAdd((uint64_t *)r.doubtful, (uint64_t)1);
    if (number < r.capacity)
        r.doubtful[1 + number] = (pair * r.rows + row) * r.columns + column;
}
#endif

XL_KERNEL xl_cuda_round8(const __grid_constant__ xl_results8 r, const __grid_constant__ xl_crt_pairs table) {
    const xl_format format = {XL_FORMAT};
    const int64_t first = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (first >= r.columns)
        return;
    for (int64_t pair = blockIdx.z; pair < r.pairs; pair += gridDim.z) {
        xl_line columns[4];
#pragma unroll
        for (int32_t w = 0; w < 4; ++w)
            columns[w] = xl_line_of(r, 1, pair, first + w < r.columns ? first + w : first, r.columns);
        for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < r.rows;
             row += (int64_t)gridDim.y * blockDim.y) {
            const xl_line own = xl_line_of(r, 0, pair, row, r.rows);
            uint32_t limbs[4][XL_LIMBS];
            xl_encoding words[2][4];
            xl_integers8(limbs, r.residues + (pair * r.moduli * r.rows + row) * r.stride + first, r.rows * r.stride,
                         (int32_t)r.moduli, table);
#pragma unroll
            for (int32_t w = 0; w < 4; ++w) {
                const int32_t exponent = own.exponent + (int32_t)r.shift + columns[w].exponent;
                const xl_magnitude magnitude = xl_magnitude_of(limbs[w]);
                xl_rounded8 rounded = xl_round_plain(magnitude, exponent);
#pragma unroll
                for (int32_t i = 0; i < 2; ++i)
                    words[i][w] = xl_encode_plain(rounded, (int32_t)r.roundings[i]);
                if (!rounded.plain) {
                    rounded = xl_round_magnitude(magnitude, exponent);
#pragma unroll
                    for (int32_t i = 0; i < 2; ++i)
                        words[i][w] = xl_encode8(rounded, (int32_t)r.roundings[i]);
                }
#if XL_CERTIFIED
                const bool sure = rounded.plain ? xl_is_sure(r, magnitude, own, columns[w])
                                                : (own.dropped | columns[w].dropped) == 0;
                if (!sure && first + w < r.columns)
                    xl_note_doubtful(r, pair, row, first + w);
#endif
            }
#pragma unroll
            for (int32_t i = 0; i < 2; ++i)
                if (r.roundings[i] >= 0)
                    xl_store_words(r.encodings[i] + ((pair * r.rows + row) * r.columns + first) * format.octets, words[i],
                                   (int32_t)format.octets, r.columns - first);
        }
    }
}
