/* Operands to residues in octets: what the shared kernel does, for one format and one number of limbs.
 *
 * Tables are arguments, so that every constant is an operand of an instruction. XL_LANES entries for each thread.
 */
#include "words.h"

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
    const int32_t inside = (int32_t)(count < XL_LANES ? count : XL_LANES);
    XL_EACH_LANE(w) {
        words[w] = w < inside ? xl_word(from, octets) : 0;
        from += stride;
    }
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

/* Requires: |value| < 2**31, shift < 64; what comes out has XL_LIMBS <= 2 limbs.
 * Ensures: as xl_place. */
XL_FUNCTION void xl_place_short(uint32_t *limbs, int32_t value, int32_t shift) {
    const int32_t more = -1 - shift, down = more < 0 ? 0 : more > 31 ? 31 : more;
    const int32_t fitting = shift < 0 ? ((value >> down) + 1) >> 1 : value;
    const uint64_t placed = (uint64_t)(int64_t)fitting << ((shift > 0 ? shift : 0) & 63);
    limbs[0] = (uint32_t)placed;
    if (XL_LIMBS > 1)
        limbs[(XL_LIMBS - 1) * XL_LANES] = (uint32_t)(placed >> 32);
}

/* Ensures: whether a significand times 2**shift is no integer, though it has to be, or 2**bits or more. */
XL_FUNCTION bool xl_does_not_fit(const xl_conversion &c, uint64_t significand, int32_t shift) {
    const bool lost = shift < 0 && (shift <= -64 || significand << (64 + shift) != 0);
    const int32_t above = (int32_t)c.bits - shift;
    const bool past = above <= 0 || (above < 64 && significand >> above != 0);
    return significand != 0 && ((lost && !c.may_drop) || past);
}

/* Ensures: limbs of an entry of a float format, and whether it breaks its scan. */
XL_FUNCTION bool xl_float_limbs(uint32_t *limbs, const xl_conversion &c, uint64_t word, int32_t exponent) {
    const xl_format f = {XL_FORMAT};
    const uint32_t field = (uint32_t)(word >> f.fraction_bits & xl_ones(f.exponent_bits));
    const uint64_t significand = (word & xl_ones(f.fraction_bits)) | (uint64_t)(field != 0) << f.fraction_bits;
    const int32_t lowest = (int32_t)(field != 0 ? field : 1) - (int32_t)(f.bias + f.fraction_bits);
    const int32_t shift = lowest - exponent, room = (int32_t)c.bits - (int32_t)f.precision;
    const int64_t value = word >> (f.bits - 1) & 1 ? -(int64_t)significand : (int64_t)significand;
    if (XL_LIMBS <= 2 && f.precision <= 31)
        xl_place_short(limbs, (int32_t)value, shift);
    else
        xl_place(limbs, value, shift);
    bool broken = false;
    if (!xl_is_finite(word, &f)) {
        xl_place(limbs, 0, 0);
        broken = c.expect_finite;
    } else if (shift < 0 || shift > room) /* few entries reach outside of the scan's room */
        broken = xl_does_not_fit(c, significand, shift);
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
XL_KERNEL __launch_bounds__(XL_ROW_THREADS *XL_DEPTH_THREADS, XL_LIMBS > 3 || XL_LANES < 16 ? 1 : XL_LIMBS > 2 ? 2 : 3)
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
