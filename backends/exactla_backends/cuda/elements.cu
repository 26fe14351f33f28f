/* The kernels that large products spend their time in, for CUDA: operands to residues, and residues to encodings.
 *
 * They do what `device.cl` does, for one format and one number of limbs that are known when they are compiled, with
 * tables as arguments, so that every constant is an operand of an instruction. A launch compiles this text for one
 * XL_TASK, with XL_LANES entries a thread, XL_FORMAT (the fields of xl_format), XL_LIMBS, XL_ROWS_FIRST (1 where rows
 * are contiguous in memory), and for results XL_PAIRS and XL_WIDE (1 for encodings of more than 32 bits); see
 * `elements.py`.
 */

#define XL_SCAN 0
#define XL_RESIDUES 1
#define XL_ROUND 2
#define XL_COUNT_DROPPED 3
#define XL_SETTLE 4
#define XL_EXPONENTS 5

#include "xl_residues.h"
#include "xl_round.h"

XL_FUNCTION uint64_t xl_word(const uint8_t *from, int32_t octets) {
    return octets == 8   ? *(const uint64_t *)from
           : octets == 4 ? *(const uint32_t *)from
           : octets == 2 ? *(const uint16_t *)from
                         : *from;
}

/* ---- ranges of operands ---- */

#if XL_TASK == XL_SCAN || XL_TASK == XL_EXPONENTS

#define XL_NO_RANGE (1 << 30) /* what cells start as */

struct xl_range {
    int32_t lowest, minus_highest, nonfinite;
};

/* Ensures: as `xl_scan` of xl_scan.h, for one entry. */
XL_FUNCTION void xl_widen(xl_range &range, uint64_t word) {
    const xl_format f = {XL_FORMAT};
    if (f.kind == XL_KIND_FLOAT) {
        const uint64_t fraction = word & xl_ones(f.fraction_bits);
        const uint32_t field = (uint32_t)(word >> f.fraction_bits & xl_ones(f.exponent_bits));
        const uint64_t significand = fraction | (uint64_t)(field != 0) << f.fraction_bits;
        const int32_t exponent = (int32_t)(field != 0 ? field : 1) - (int32_t)(f.bias + f.fraction_bits);
        if (!xl_is_finite(word, &f))
            ++range.nonfinite;
        else if (significand != 0) {
            const int32_t bottom = exponent + (f.fraction_bits < 31 ? __ffs((int32_t)significand) : __ffsll(significand)) - 1;
            range.lowest = min(range.lowest, bottom);
            range.minus_highest = min(range.minus_highest, -(exponent + (int32_t)f.precision));
        }
    } else {
        const uint64_t sign_bit = (uint64_t)(f.kind == XL_KIND_SIGNED) << (8 * f.octets - 1);
        const int64_t value = (int64_t)((word ^ sign_bit) - sign_bit);
        const uint64_t magnitude = f.kind == XL_KIND_SIGNED && value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value;
        range.lowest = min(range.lowest, 0);
        range.minus_highest = min(range.minus_highest, __clzll((int64_t)magnitude) - 64);
    }
}
#endif

#if XL_TASK == XL_SCAN

/* An operand, as in xl_conversion, and the cells of its rows: lowest exponents, and highest negated behind them. */
struct xl_search {
    const uint8_t *data;
    int64_t strides[3];
    int64_t stacks, rows, depth, step; /* entries of a row for each block of threads */
    int32_t *ranges, *nonfinite;
};

XL_FUNCTION void xl_note(const xl_search &s, int64_t stack, int64_t row, const xl_range &range) {
    int32_t *cell = s.ranges + stack * s.rows + row;
    if (range.lowest < XL_NO_RANGE) {
        atomicMin(cell, range.lowest);
        atomicMin(cell + s.stacks * s.rows, range.minus_highest);
    }
    if (range.nonfinite != 0)
        atomicAdd(s.nonfinite, range.nonfinite);
}

/* Neighbouring threads take neighbours in memory, along the rows or along the inner dimension. Axis 0 of the grid runs
 * over rows, axis 1 over parts of the inner dimension. */
XL_KERNEL xl_cuda_scan(const __grid_constant__ xl_search s) {
    const int64_t row = (int64_t)blockIdx.x * (XL_ROWS_FIRST ? blockDim.x : blockDim.y) +
                        (XL_ROWS_FIRST ? threadIdx.x : threadIdx.y);
    const int64_t part = XL_ROWS_FIRST ? threadIdx.y : threadIdx.x, parts = XL_ROWS_FIRST ? blockDim.y : blockDim.x;
    const xl_format format = {XL_FORMAT};
    if (row >= s.rows)
        return; /* without XL_ROWS_FIRST, whole warps: they share a row */
    for (int64_t stack = blockIdx.z; stack < s.stacks; stack += gridDim.z)
        for (int64_t begin = blockIdx.y * s.step; begin < s.depth; begin += gridDim.y * s.step) {
            const int64_t end = begin + s.step < s.depth ? begin + s.step : s.depth;
            const uint8_t *from = s.data + stack * s.strides[0] + row * s.strides[1];
            xl_range range = {XL_NO_RANGE, XL_NO_RANGE, 0};
#pragma unroll 8
            for (int64_t k = begin + part; k < end; k += parts)
                xl_widen(range, xl_word(from + k * s.strides[2], (int32_t)format.octets));
            if (!XL_ROWS_FIRST) {
                range.lowest = __reduce_min_sync(0xffffffffu, range.lowest);
                range.minus_highest = __reduce_min_sync(0xffffffffu, range.minus_highest);
                range.nonfinite = __reduce_add_sync(0xffffffffu, range.nonfinite);
            }
            if (XL_ROWS_FIRST || threadIdx.x == 0)
                xl_note(s, stack, row, range);
        }
}
#endif

/* ---- exponents of operands with few parts to a row ---- */

#if XL_TASK == XL_EXPONENTS

/* An operand, as in xl_conversion; the exponents of its rows and their tops behind them; and three cells, for the largest
 * distance between those, for the sum of the distances, and for the number of entries that are not finite. */
struct xl_few_parts {
    const uint8_t *data;
    int64_t strides[3];
    int64_t stacks, rows, depth;
    int64_t *exponents;
    int32_t *cells;
};

#define XL_PARTS 32 /* of a row, where neighbouring threads take neighbouring rows */

/* Blocks of 32 x XL_PARTS threads along the rows and for parts of them, or of 32 x 8 along the inner dimension of eight
 * rows. */
XL_KERNEL xl_cuda_exponents(const __grid_constant__ xl_few_parts s) {
    const int64_t row = (int64_t)blockIdx.x * (XL_ROWS_FIRST ? 32 : 8) + (XL_ROWS_FIRST ? threadIdx.x : threadIdx.y);
    const int64_t part = XL_ROWS_FIRST ? threadIdx.y : threadIdx.x, parts = XL_ROWS_FIRST ? XL_PARTS : 32;
    const xl_format format = {XL_FORMAT};
    __shared__ xl_range shared[XL_PARTS][32];
    for (int64_t stack = blockIdx.z; stack < s.stacks; stack += gridDim.z) {
        const uint8_t *from = s.data + stack * s.strides[0] + row * s.strides[1];
        xl_range range = {XL_NO_RANGE, XL_NO_RANGE, 0};
        if (row < s.rows)
#pragma unroll 8
            for (int64_t k = part; k < s.depth; k += parts)
                xl_widen(range, xl_word(from + k * s.strides[2], (int32_t)format.octets));
        if (XL_ROWS_FIRST) {
            shared[threadIdx.y][threadIdx.x] = range;
            __syncthreads();
            if (threadIdx.y == 0)
                for (int32_t i = 1; i < XL_PARTS; ++i) {
                    range.lowest = min(range.lowest, shared[i][threadIdx.x].lowest);
                    range.minus_highest = min(range.minus_highest, shared[i][threadIdx.x].minus_highest);
                    range.nonfinite += shared[i][threadIdx.x].nonfinite;
                }
            __syncthreads();
        } else {
            range.lowest = __reduce_min_sync(0xffffffffu, range.lowest);
            range.minus_highest = __reduce_min_sync(0xffffffffu, range.minus_highest);
            range.nonfinite = __reduce_add_sync(0xffffffffu, range.nonfinite);
        }
        if (part == 0 && row < s.rows) {
            const bool empty = range.lowest == XL_NO_RANGE;
            int64_t *to = s.exponents + stack * s.rows + row;
            to[0] = empty ? 0 : range.lowest;
            to[s.stacks * s.rows] = empty ? 0 : -range.minus_highest;
            if (!empty && -range.minus_highest > range.lowest) {
                atomicMax(s.cells, -range.minus_highest - range.lowest);
                atomicAdd(s.cells + 1, -range.minus_highest - range.lowest);
            }
            if (range.nonfinite != 0)
                atomicAdd(s.cells + 2, range.nonfinite);
        }
    }
}
#endif

/* ---- entries that lose bits ---- */

#if XL_TASK == XL_COUNT_DROPPED

/* An operand, as in xl_conversion, and for each row a count. */
struct xl_census {
    const uint8_t *data;
    int64_t strides[3];
    int64_t stacks, rows, depth, step;
    const int64_t *exponents;
    int64_t exponent_stride;
    int32_t *counts;
};

/* Ensures: whether a finite number has bits below 2**exponent. */
XL_FUNCTION bool xl_loses(uint64_t word, int32_t exponent) {
    const xl_format f = {XL_FORMAT};
    const uint32_t field = (uint32_t)(word >> f.fraction_bits & xl_ones(f.exponent_bits));
    const uint64_t significand = (word & xl_ones(f.fraction_bits)) | (uint64_t)(field != 0) << f.fraction_bits;
    const int32_t below = exponent - ((int32_t)(field != 0 ? field : 1) - (int32_t)(f.bias + f.fraction_bits));
    return below > 0 && (below < 64 ? significand << (64 - below) != 0 : significand != 0);
}

/* The grid is that of xl_cuda_scan. */
XL_KERNEL xl_cuda_count_dropped(const __grid_constant__ xl_census s) {
    const int64_t row = (int64_t)blockIdx.x * (XL_ROWS_FIRST ? blockDim.x : blockDim.y) +
                        (XL_ROWS_FIRST ? threadIdx.x : threadIdx.y);
    const int64_t part = XL_ROWS_FIRST ? threadIdx.y : threadIdx.x, parts = XL_ROWS_FIRST ? blockDim.y : blockDim.x;
    const xl_format format = {XL_FORMAT};
    if (row >= s.rows)
        return; /* without XL_ROWS_FIRST, whole warps: they share a row */
    for (int64_t stack = blockIdx.z; stack < s.stacks; stack += gridDim.z)
        for (int64_t begin = blockIdx.y * s.step; begin < s.depth; begin += gridDim.y * s.step) {
            const int64_t end = begin + s.step < s.depth ? begin + s.step : s.depth;
            const uint8_t *from = s.data + stack * s.strides[0] + row * s.strides[1];
            const int32_t exponent = (int32_t)s.exponents[stack * s.exponent_stride + row];
            int32_t count = 0;
#pragma unroll 8
            for (int64_t k = begin + part; k < end; k += parts)
                count += xl_loses(xl_word(from + k * s.strides[2], (int32_t)format.octets), exponent);
            if (!XL_ROWS_FIRST)
                count = __reduce_add_sync(0xffffffffu, count);
            if ((XL_ROWS_FIRST || threadIdx.x == 0) && count != 0)
                atomicAdd(s.counts + stack * s.rows + row, count);
        }
}
#endif

/* ---- operands to residues ---- */

#if XL_TASK == XL_RESIDUES
#define XL_TABLE_MODULI 56

/* Residues modulo m of the bytes of the limbs: start + offset + bytes . weights is not negative and below 2**24, so
 * that its quotient by m is exact with inverse = ceil(2**32 / m). */
struct xl_residue_row {
    uint32_t modulus, inverse, start, offsets; /* offsets: four times floor(m / 2), which start contains */
    uint32_t weights[XL_LIMBS];
};

struct xl_residue_rows {
    xl_residue_row row[XL_TABLE_MODULI];
};

/* An operand, [stacks, rows, depth] with strides in octets, and where its residues go: [stacks, moduli, rows, padded].
 */
struct xl_conversion {
    const uint8_t *data;
    int64_t strides[3];
    int64_t stacks, rows, depth, padded;
    const int64_t *exponents;
    int64_t exponent_stride, bits, moduli, may_drop, expect_finite;
    int8_t *planes;
    int32_t *broken;
};

/* Ensures: entries of a row from `from` on; 0 from place `count` on. */
XL_FUNCTION void xl_words(uint64_t words[XL_LANES], const uint8_t *from, int64_t stride, int64_t count, int32_t octets) {
    if (XL_ROWS_FIRST == 0 && XL_LANES * octets % 16 == 0 && stride == octets && count >= XL_LANES &&
        ((uint64_t)from & 15) == 0) {
        uint32_t whole[XL_LANES * 8 / 4];
#pragma unroll
        for (int32_t i = 0; i < XL_LANES * octets / 16; ++i)
            *(uint4 *)(whole + 4 * i) = *((const uint4 *)from + i);
        XL_EACH_LANE(w)
            words[w] = octets == 8   ? (uint64_t)whole[2 * w + 1] << 32 | whole[2 * w]
                       : octets == 4 ? whole[w]
                       : octets == 2 ? whole[w / 2] >> 16 * (w & 1) & 65535
                                     : whole[w / 4] >> 8 * (w & 3) & 255;
        return;
    }
    XL_EACH_LANE(w)
        words[w] = w < count ? xl_word(from + w * stride, octets) : 0;
}

/* Ensures: x - offsets, byte by byte. */
XL_FUNCTION uint32_t xl_less_offsets(uint32_t x, uint32_t offsets) {
    const uint32_t tops = 0x80808080u;
    return ((x | tops) - (offsets & ~tops)) ^ ((x ^ ~offsets) & tops);
}

/* Requires: |value| < 2**62, in two's complement.
 * Ensures: limbs j * XL_LANES hold value * 2**shift, or what it is rounded to: off by a half at most. */
XL_FUNCTION void xl_place(uint32_t *limbs, int64_t value, int32_t shift) {
    const int32_t up = shift > 0 ? shift : 0, down = shift < 0 ? -shift : 0, place = up >> 5;
    const int64_t fitting = down == 0 ? value : down < 64 ? (value >> down) + (value >> (down - 1) & 1) : 0;
    const uint32_t low = (uint32_t)fitting, high = (uint32_t)(fitting >> 32), sign = (uint32_t)(fitting >> 63);
    const uint32_t w0 = low << (up & 31), w1 = __funnelshift_l(low, high, up), w2 = __funnelshift_l(high, sign, up);
#pragma unroll
    for (int32_t j = 0; j < XL_LIMBS; ++j) {
        const int32_t i = j - place;
        limbs[j * XL_LANES] = i < 0 ? 0 : i == 0 ? w0 : i == 1 ? w1 : i == 2 ? w2 : sign;
    }
}

/* Ensures: limbs of an entry of a float format, and whether it breaks its scan. */
XL_FUNCTION bool xl_float_limbs(uint32_t *limbs, const xl_conversion &c, uint64_t word, int32_t exponent) {
    const xl_format f = {XL_FORMAT};
    const uint32_t field = (uint32_t)(word >> f.fraction_bits & xl_ones(f.exponent_bits));
    const bool finite = xl_is_finite(word, &f);
    const uint64_t fraction = (word & xl_ones(f.fraction_bits)) | (uint64_t)(field != 0) << f.fraction_bits;
    const uint64_t significand = finite ? fraction : 0;
    const int32_t lowest = (int32_t)(field != 0 ? field : 1) - (int32_t)(f.bias + f.fraction_bits);
    const int32_t shift = lowest - exponent, room = (int32_t)c.bits - (int32_t)f.precision;
    const bool negative = word >> (f.bits - 1) & 1;
    bool broken = c.expect_finite && !finite;
    xl_place(limbs, negative ? -(int64_t)significand : (int64_t)significand, shift);
    if ((shift < 0 || shift > room) && significand != 0) { /* few entries reach outside of the scan's room */
        const bool lost = shift < 0 && (shift <= -64 || significand << (64 + shift) != 0);
        const int32_t above = (int32_t)c.bits - shift;
        const bool past = above <= 0 || (above < 64 && significand >> above != 0);
        broken = broken || (lost && !c.may_drop) || past;
    }
    return broken;
}

/* Ensures: biased limbs of XL_LANES entries of a row; those that break their scan are counted. */
XL_FUNCTION void xl_biased_limbs(uint32_t limbs[XL_LIMBS * XL_LANES], const xl_conversion &c, int64_t stack, int64_t row,
                                 int64_t first) {
    const xl_format format = {XL_FORMAT};
    const int64_t exponent = c.exponents[stack * c.exponent_stride + row];
    uint64_t words[XL_LANES];
    int64_t broken = 0;
    xl_words(words, c.data + stack * c.strides[0] + row * c.strides[1] + first * c.strides[2], c.strides[2],
             c.depth - first, (int32_t)format.octets);
    if (format.kind == XL_KIND_FLOAT) {
        XL_EACH_LANE(w)
            broken += xl_float_limbs(limbs + w, c, words[w], (int32_t)exponent);
    } else {
        int64_t shift[XL_LANES];
        xl_entries x;
        xl_decode(&x, words, &format);
        XL_EACH_LANE(w)
            shift[w] = x.exponent[w] - exponent;
        broken = xl_count_broken(&x, shift, c.bits, format.precision, c.may_drop);
        xl_limbs_of(limbs, XL_LIMBS, &x, shift);
    }
    if (broken != 0)
        atomicAdd(c.broken, (int32_t)broken);
    xl_limbs_bias(limbs, XL_LIMBS);
}

#if XL_LANES == 16
typedef uint4 xl_octet_words;
#else
typedef uint32_t xl_octet_words;
#endif

/* Ensures: residues modulo one modulus, centred, an octet each. */
XL_FUNCTION xl_octet_words xl_octets(const uint32_t limbs[XL_LIMBS * XL_LANES], const xl_residue_row &t) {
    uint32_t packed[XL_LANES / 4];
#pragma unroll
    for (int32_t i = 0; i < XL_LANES / 4; ++i) {
        uint32_t r[4];
#pragma unroll
        for (int32_t w = 0; w < 4; ++w) {
            int32_t sum = (int32_t)t.start;
#pragma unroll
            for (int32_t j = 0; j < XL_LIMBS; ++j)
                sum = xl_dot4(limbs[j * XL_LANES + 4 * i + w], t.weights[j], sum);
            r[w] = (uint32_t)sum - __umulhi((uint32_t)sum, t.inverse) * t.modulus;
        }
        packed[i] = xl_less_offsets(
            __byte_perm(__byte_perm(r[0], r[1], 0x0040), __byte_perm(r[2], r[3], 0x0040), 0x5410), t.offsets);
    }
#if XL_LANES == 16
    return make_uint4(packed[0], packed[1], packed[2], packed[3]);
#else
    return packed[0];
#endif
}

#if XL_ROWS_FIRST
#define XL_ROW_THREADS 32
#define XL_TILE_DEPTH 128 /* the padded depth is a multiple */
#define XL_DEPTH_THREADS (XL_TILE_DEPTH / XL_LANES)
#define XL_TILE_PLANES 4

/* Rows that are contiguous in memory: neighbouring threads take neighbouring rows, and turn the residues of a tile in
 * shared memory, so that they are written along the inner dimension. */
XL_KERNEL __launch_bounds__(XL_ROW_THREADS *XL_DEPTH_THREADS, XL_LIMBS > 3 || XL_LANES < 16 ? 1 : 2)
    xl_cuda_residues8(const __grid_constant__ xl_conversion c, const __grid_constant__ xl_residue_rows table) {
    __shared__ xl_octet_words tile[XL_TILE_PLANES][XL_ROW_THREADS][XL_DEPTH_THREADS + 1];
    const int64_t base = (int64_t)blockIdx.x * XL_ROW_THREADS, row = base + threadIdx.x;
    const int32_t thread = threadIdx.y * XL_ROW_THREADS + threadIdx.x;
    const int32_t out_row = thread / XL_DEPTH_THREADS, out_part = thread % XL_DEPTH_THREADS;
    const int64_t plane = c.rows * c.padded;
    for (int64_t stack = blockIdx.z; stack < c.stacks; stack += gridDim.z)
        for (int64_t block = blockIdx.y; block * XL_TILE_DEPTH < c.padded; block += gridDim.y) {
            uint32_t limbs[XL_LIMBS * XL_LANES];
            const int64_t k = block * XL_TILE_DEPTH;
            int8_t *to = c.planes + (stack * c.moduli * c.rows + base + out_row) * c.padded + k + out_part * XL_LANES;
            if (row < c.rows)
                xl_biased_limbs(limbs, c, stack, row, k + threadIdx.y * XL_LANES);
            for (int32_t p = 0; p < (int32_t)c.moduli; p += XL_TILE_PLANES) {
                if (row < c.rows)
                    for (int32_t i = 0; i < XL_TILE_PLANES && p + i < (int32_t)c.moduli; ++i)
                        tile[i][threadIdx.x][threadIdx.y] = xl_octets(limbs, table.row[p + i]);
                __syncthreads();
                if (base + out_row < c.rows)
                    for (int32_t i = 0; i < XL_TILE_PLANES && p + i < (int32_t)c.moduli; ++i)
                        *(xl_octet_words *)(to + (p + i) * plane) = tile[i][out_row][out_part];
                __syncthreads();
            }
        }
}
#else
/* Rows along the inner dimension in memory: a thread turns XL_LANES neighbours, next to those of its neighbour. */
XL_KERNEL xl_cuda_residues8(const __grid_constant__ xl_conversion c, const __grid_constant__ xl_residue_rows table) {
    const int64_t first = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * XL_LANES;
    const int64_t start = (int64_t)blockIdx.y * blockDim.y + threadIdx.y, step = (int64_t)gridDim.y * blockDim.y;
    if (first >= c.padded)
        return;
    for (int64_t stack = blockIdx.z; stack < c.stacks; stack += gridDim.z)
        for (int64_t row = start; row < c.rows; row += step) {
            uint32_t limbs[XL_LIMBS * XL_LANES];
            int8_t *to = c.planes + (stack * c.moduli * c.rows + row) * c.padded + first;
            xl_biased_limbs(limbs, c, stack, row, first);
            for (int32_t p = 0; p < (int32_t)c.moduli; ++p, to += c.rows * c.padded)
                *(xl_octet_words *)to = xl_octets(limbs, table.row[p]);
        }
}
#endif
#endif

/* ---- integers to encodings ---- */

#if XL_TASK == XL_ROUND || XL_TASK == XL_SETTLE

#if XL_WIDE
typedef uint64_t xl_encoding;
#else
typedef uint32_t xl_encoding;
#endif

/* The leading bits of |s|: window * 2**(position - 63) <= |s| with equality unless sticky; window is 0 for s = 0. */
struct xl_magnitude {
    uint64_t window;
    uint32_t rest; /* the 32 bits below the window */
    int32_t position;
    bool sticky, negative;
};

/* Ensures: as `xl_lead` of xl_round.h, without an array that is indexed by what it holds. */
XL_FUNCTION xl_magnitude xl_magnitude_of(const uint32_t limbs[XL_LIMBS]) {
    uint32_t high = 0, middle = 0, low = 0, lower = 0, below = 0, top = 0;
    uint32_t first = 0, second = 0, third = 0, fourth = 0, rest = 0;
    const uint32_t sign = (uint32_t)((int32_t)limbs[XL_LIMBS - 1] >> 31);
    uint32_t carry = sign & 1;
#pragma unroll
    for (int32_t j = 0; j < XL_LIMBS; ++j) {
        const uint32_t limb = (limbs[j] ^ sign) + carry;
        const bool holds = limb != 0;
        carry = holds ? 0 : carry;
        rest |= third; /* limbs up to j - 4 so far, and j - 3 with this */
        fourth = third;
        third = second;
        second = first;
        first = limb;
        high = holds ? limb : high;
        middle = holds ? second : middle;
        low = holds ? third : low;
        lower = holds ? fourth : lower;
        below = holds ? rest : below;
        top = holds ? 32 * j + 31 : top;
    }
    const uint32_t shift = __clz((int32_t)high) & 31;
    return {(uint64_t)__funnelshift_l(middle, high, shift) << 32 | __funnelshift_l(low, middle, shift),
            __funnelshift_l(lower, low, shift), (int32_t)(top - shift), (low << shift | below) != 0, sign != 0};
}

/* A magnitude rounded towards zero, as an encoding without sign that may pass the largest; see xl_rounded. */
struct xl_rounded8 {
    xl_encoding truncated;
    bool next, sticky, negative, zero;
    int32_t unit; /* bits of the window below the last one of the significand */
};

/* Ensures: as `xl_round_lead` of xl_round.h; exponents of entries are far inside 32 bits. */
XL_FUNCTION xl_rounded8 xl_round_magnitude(const xl_magnitude &x, int32_t exponent) {
    const xl_format f = {XL_FORMAT};
    const int32_t least = (int32_t)(1 - f.bias - f.fraction_bits), beyond = 1 << f.exponent_bits;
    const int32_t scale = x.position - 63 + exponent, normal = scale + 64 - (int32_t)f.precision;
    const int32_t unit = normal > least ? normal : least, guard = unit - scale - 1;
    const bool inside = guard < 64;
    const xl_encoding kept = inside ? (xl_encoding)(x.window >> guard) : 0;
    const bool lost = inside ? x.window << (64 - guard) != 0 : x.window != 0; /* guard is 10 or more */
    const int32_t field = unit - least < beyond ? unit - least : beyond;
    return {((xl_encoding)field << f.fraction_bits) + (kept >> 1), (kept & 1) != 0, x.sticky || lost, x.negative,
            x.window == 0, guard + 1};
}

/* Ensures: as `xl_encode` of xl_round.h. */
XL_FUNCTION xl_encoding xl_encode8(const xl_rounded8 &x, int32_t rounding) {
    const xl_format f = {XL_FORMAT};
    const xl_encoding largest = (xl_encoding)f.largest, past_largest = (xl_encoding)(f.has_infinity ? f.infinity : f.nan);
    const bool nearest = rounding == XL_NEAREST, outward = rounding == (x.negative ? XL_DOWN : XL_UP);
    const bool inexact = x.next || x.sticky || x.truncated > largest;
    const bool away = nearest ? x.next && (x.sticky || (x.truncated & 1)) : outward && inexact;
    const xl_encoding magnitude = x.truncated + (away ? 1 : 0);
    const bool over = magnitude > largest, leaves = over && (nearest || outward);
    const bool vanishes = x.zero || (!f.signed_zero && magnitude == 0) || (!f.has_infinity && leaves);
    const xl_encoding unsigned_part = x.zero ? 0 : leaves ? past_largest : over ? largest : magnitude;
    return unsigned_part | (xl_encoding)(x.negative && !vanishes) << (f.bits - 1);
}
#endif

/* ---- residues to encodings ---- */

#if XL_TASK == XL_ROUND

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
        uint32_t planes[4];
#pragma unroll
        for (int32_t i = 0; i < 4; ++i)
            planes[i] = 2 * p + i < moduli ? *(const uint32_t *)(from + (2 * p + i) * plane) ^ 0x80808080u : 0;
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

#if XL_CERTIFIED
/* Requires: 0 <= count < 2**31.
 * Ensures: at least count * 2**shift, where that is below 2**60, else at least 2**60. */
XL_FUNCTION uint64_t xl_scaled(uint32_t count, int32_t shift) {
    if (shift <= 0)
        return shift > -32 ? (count >> -shift) + (count != 0) : (count != 0);
    return shift < 60 && (uint64_t)count >> (60 - shift) == 0 ? (uint64_t)count << shift : (uint64_t)(count != 0) << 60;
}

/* Notes a result unless all numbers up to (a 2**right + (b + 1) 2**left) / 2 away from s, of which one is the exact sum,
 * round as s does, where a and b are the entries of its row and its column that lost bits, and left and right their
 * bits: each entry is off by a half at most, and products of what both lost sum up to less than 2**left / 2. */
XL_FUNCTION void xl_certify(const xl_results8 &r, const xl_magnitude &x, const xl_rounded8 &rounded, int64_t pair,
                            int64_t row, int64_t column) {
    const xl_format f = {XL_FORMAT};
    const int64_t row_at = r.starts[pair] + row, column_at = r.starts[r.pairs + pair] + column;
    const uint32_t a = (uint32_t)r.left_dropped[r.places[pair] * r.rows + row];
    const uint32_t b = (uint32_t)r.right_dropped[r.places[r.pairs + pair] * r.columns + column];
    if ((a | b) == 0)
        return;
    /* bits below the significand: those of the window, and more where it has few */
    const int32_t more = f.precision > 32 ? 32 : 0, lowest = x.position - 63 - more, bits = rounded.unit + more;
    const int32_t left_bits = (int32_t)(r.row_tops[row_at] - r.row_exponents[row_at]);
    const int32_t right_bits = (int32_t)(r.column_tops[column_at] - r.column_exponents[column_at]);
    const uint64_t far = xl_scaled(a, right_bits - lowest - 1) + xl_scaled(b + (a != 0 && b != 0), left_bits - lowest - 1) +
                         1; /* for what lies below those bits */
    bool sure = bits < 60 && !rounded.zero;
    if (sure) {
        const uint64_t unit = (uint64_t)1 << bits, half = unit >> 1;
        const uint64_t rest = (more ? x.window << 32 | x.rest : x.window) & (unit - 1);
        sure = rest >= far && rest + far < unit;
        if (r.roundings[0] == XL_NEAREST || r.roundings[1] == XL_NEAREST)
            sure = sure && (rest < half ? rest + far < half : rest - half >= far);
    }
    if (!sure) {
        const int64_t number = (int64_t)atomicAdd((uint64_t *)r.doubtful, (uint64_t)1);
        if (number < r.capacity)
            r.doubtful[1 + number] = (pair * r.rows + row) * r.columns + column;
    }
}
#endif

XL_KERNEL xl_cuda_round8(const __grid_constant__ xl_results8 r, const __grid_constant__ xl_crt_pairs table) {
    const xl_format format = {XL_FORMAT};
    const int64_t first = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (first >= r.columns)
        return;
    for (int64_t pair = blockIdx.z; pair < r.pairs; pair += gridDim.z)
        for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < r.rows;
             row += (int64_t)gridDim.y * blockDim.y) {
            const int64_t *columns = r.column_exponents + r.starts[r.pairs + pair] + first;
            const int64_t exponent = r.row_exponents[r.starts[pair] + row] + r.shift;
            uint32_t limbs[4][XL_LIMBS];
            xl_rounded8 rounded[4];
            xl_integers8(limbs, r.residues + (pair * r.moduli * r.rows + row) * r.stride + first, r.rows * r.stride,
                         (int32_t)r.moduli, table);
#pragma unroll
            for (int32_t w = 0; w < 4; ++w) {
                const xl_magnitude magnitude = xl_magnitude_of(limbs[w]);
                rounded[w] =
                    xl_round_magnitude(magnitude, (int32_t)(exponent + (first + w < r.columns ? columns[w] : 0)));
#if XL_CERTIFIED
                if (first + w < r.columns)
                    xl_certify(r, magnitude, rounded[w], pair, row, first + w);
#endif
            }
#pragma unroll
            for (int32_t i = 0; i < 2; ++i)
                if (r.roundings[i] >= 0) {
                    xl_encoding words[4];
#pragma unroll
                    for (int32_t w = 0; w < 4; ++w)
                        words[w] = xl_encode8(rounded[w], (int32_t)r.roundings[i]);
                    xl_store_words(r.encodings[i] + ((pair * r.rows + row) * r.columns + first) * format.octets, words,
                                   (int32_t)format.octets, r.columns - first);
                }
        }
}
#endif

/* ---- exact sums of single results ---- */

#if XL_TASK == XL_SETTLE

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

/* A warp takes a result at a time. */
XL_KERNEL xl_cuda_settle(const __grid_constant__ xl_settlement s) {
    const xl_format left_format = {XL_LEFT_FORMAT}, right_format = {XL_RIGHT_FORMAT}, format = {XL_FORMAT};
    const int32_t lane = threadIdx.x & 31;
    const int64_t found = s.doubtful[0], count = found < s.capacity ? found : s.capacity;
    if (blockIdx.x == 0 && threadIdx.x == 0 && found > count)
        atomicAdd(s.left_over, (int32_t)(found - count < 1 << 30 ? found - count : 1 << 30));
    for (int64_t n = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; n < count;
         n += (int64_t)gridDim.x * blockDim.x / 32) {
        const int64_t entry = s.doubtful[1 + n];
        const int64_t column = entry % s.columns, row = entry / s.columns % s.rows, pair = entry / (s.rows * s.columns);
        const int64_t i = s.places[pair], j = s.places[s.pairs + pair];
        const int64_t left_exponent = s.left.exponents[i * s.left.exponent_stride + row];
        const int64_t right_exponent = s.right.exponents[j * s.right.exponent_stride + column];
        uint32_t acc[XL_LIMBS];
#pragma unroll
        for (int32_t l = 0; l < XL_LIMBS; ++l)
            acc[l] = 0;
        for (int64_t first = lane; first < s.depth; first += 32 * XL_AHEAD) {
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
#pragma unroll
        for (int32_t step = 16; step > 0; step /= 2) {
            uint64_t carry = 0;
#pragma unroll
            for (int32_t l = 0; l < XL_LIMBS; ++l) {
                carry += (uint64_t)acc[l] + __shfl_xor_sync(0xffffffffu, acc[l], step);
                acc[l] = (uint32_t)carry;
                carry >>= 32;
            }
        }
        if (lane < 2 && s.roundings[lane] >= 0) {
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
#endif
