/* Residue products on the int8 tensor cores of Hopper: warpgroup products fed by the copy engine, reduced in registers.
 *
 * A block of threads is one producer, which keeps a ring of tiles in shared memory full, and two consumer warpgroups of
 * 64 rows each. Blocks are persistent and take tiles in an order that shares operands through the L2 cache. Between
 * segments of the inner dimension sums are reduced modulo m in their registers: so sums of any length are exact, and
 * residues of two digits (residue = 256 high + low) take their four products one after the other, as Horner's rule has
 * it. A launch compiles this text with XL_COLUMNS (tile columns: 64, 128 or 256), XL_DIGITS (1 or 2), XL_SEGMENTED (0
 * where there is one segment, else 1), XL_ADD (1 to add to earlier results), XL_STAGES and XL_PRODUCT, the instruction's text; see `hopper.py`.
 */
#include "xl_cuda.h"

#define XL_ROWS 128
#define XL_DEPTH 128 /* octets of a row in shared memory: the width of the swizzle */
#define XL_CONSUMERS 2
/* Products still running when the next are issued. The compiler gives that up where sums are reduced in between. */
#define XL_PENDING (XL_SEGMENTED ? 0 : 1)
#define XL_SUMS (XL_COLUMNS / 2) /* a thread's share of 64 rows */
#define XL_LEFT_BYTES (XL_ROWS * XL_DEPTH)
#define XL_RIGHT_BYTES (XL_COLUMNS * XL_DEPTH)
#define XL_STAGE_BYTES (XL_LEFT_BYTES + XL_RIGHT_BYTES)
#define XL_GROUP_ROWS 16 /* tile rows that go through the columns together */

struct alignas(64) xl_tensor_map {
    uint64_t words[16];
};

/* Left [stacks * moduli * digits, rows, depth] and right [.., columns, depth] octets lie behind the tensor maps. */
struct xl_problem {
    int32_t rows, columns, depth, pairs, moduli;
    int32_t segment; /* blocks of XL_DEPTH whose products are summed before they are reduced */
    int32_t sign, keep; /* with XL_ADD: results become keep * result + sign * product */
    const int64_t *places;         /* [2, pairs]: the left and the right matrix of each pair */
    const int32_t *constants;      /* (m, round(2**32 / m), 256 mod m, 0) for each modulus */
    uint8_t *result;               /* [pairs, moduli, rows, row_stride]: octets, or with two digits words of 16 bits */
    int64_t row_stride;            /* in entries */
};

/* ---- barriers and copies ---- */

XL_INLINE uint32_t xl_shared_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

XL_INLINE void xl_barrier_init(uint32_t barrier, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

XL_INLINE void xl_barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

XL_INLINE void xl_barrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

XL_INLINE void xl_barrier_wait(uint32_t barrier, uint32_t parity) {
    asm volatile("{\n"
                 ".reg .pred ready;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 ready, [%0], %1;\n"
                 "@ready bra done;\n"
                 "bra again;\n"
                 "done:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

XL_INLINE void xl_copy_tile(uint32_t target, const xl_tensor_map *map, uint32_t barrier, int32_t k, int32_t row,
                            int32_t plane) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
                 "[%2];" ::"r"(target),
                 "l"(map), "r"(barrier), "r"(k), "r"(row), "r"(plane)
                 : "memory");
}

/* ---- warpgroup products ---- */

/* Requires: an address of a tile whose rows of 128 octets are swizzled. */
XL_INLINE uint64_t xl_descriptor(uint32_t address) {
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

template <int32_t pending> XL_INLINE void xl_wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/* Keeps the compiler from moving uses of the sums across: products run while it looks away. */
XL_INLINE void xl_pin(int32_t (&d)[XL_SUMS]) {
#pragma unroll
    for (int32_t i = 0; i < XL_SUMS; ++i)
        asm volatile("" : "+r"(d[i])::"memory");
}

/* Ensures: sums += 64 rows of left times 32 octets of right. */
XL_INLINE void xl_multiply(int32_t (&d)[XL_SUMS], uint64_t left, uint64_t right) {
    XL_PRODUCT
}

/* ---- reduction ---- */

struct xl_modulus {
    int32_t modulus, inverse, radix;
};

/* Requires: inverse = round(2**32 / modulus).
 * Ensures: congruent to sum, in [-floor(m / 2), ceil(m / 2)): the quotient is off by at most a quarter before it is
 * rounded down, so that the first remainder lies in [-m / 4, 5 m / 4). */
XL_INLINE int32_t xl_centre(int32_t sum, xl_modulus m) {
    const int32_t remainder = sum - __mulhi(sum, m.inverse) * m.modulus;
    return remainder >= (m.modulus + 1) >> 1 ? remainder - m.modulus : remainder;
}

#if XL_ADD
/* Ensures: d = keep * what the results were + sign * d, centred. */
XL_INLINE void xl_add(const xl_problem &p, int64_t plane, int32_t row, int32_t column, xl_modulus m,
                      int32_t (&d)[XL_SUMS]) {
    const int32_t q = threadIdx.x & 3, upper = (m.modulus + 1) >> 1, lower = -(m.modulus >> 1);
#pragma unroll
    for (int32_t i = 0; i < XL_SUMS; ++i) {
        const int32_t at_row = row + 8 * (i >> 1 & 1), at = column + 8 * (i >> 2) + 2 * q + (i & 1);
        const int64_t entry = (plane * p.rows + at_row) * p.row_stride + at;
        const bool inside = p.keep && at_row < p.rows && at < p.row_stride;
        const int32_t old = !inside          ? 0
                            : XL_DIGITS == 1 ? ((const int8_t *)p.result)[entry]
                                             : ((const int16_t *)p.result)[entry];
        const int32_t sum = old + p.sign * d[i];
        d[i] = sum >= upper ? sum - m.modulus : sum < lower ? sum + m.modulus : sum;
    }
}
#endif

/* Four lanes of a row hold two of eight octets in each of four blocks; lane q gets the eight octets of block q. */
XL_INLINE uint64_t xl_exchange(uint32_t blocks01, uint32_t blocks23, int32_t q) {
    const bool upper = q & 2, odd = q & 1;
    const uint32_t mine = upper ? blocks23 : blocks01, other = upper ? blocks01 : blocks23;
    const uint32_t theirs = __shfl_xor_sync(0xffffffffu, other, 2); /* of lane q ^ 2, in the blocks of this pair */
    const uint32_t lower_lane = upper ? theirs : mine, upper_lane = upper ? mine : theirs;
    /* both hold two blocks of a pair: of lanes q & 1 and (q & 1) + 2 */
    const uint32_t even_block = __byte_perm(lower_lane, upper_lane, 0x5410);
    const uint32_t odd_block = __byte_perm(lower_lane, upper_lane, 0x7632);
    const uint32_t kept = odd ? odd_block : even_block;
    const uint32_t got = __shfl_xor_sync(0xffffffffu, odd ? even_block : odd_block, 1);
    const uint32_t first = odd ? got : kept, second = odd ? kept : got; /* of lanes 0 and 2, and of lanes 1 and 3 */
    return (uint64_t)__byte_perm(first, second, 0x7632) << 32 | __byte_perm(first, second, 0x5410);
}

#if XL_DIGITS == 1
XL_INLINE void xl_store(const xl_problem &p, int64_t plane, int32_t row, int32_t column, const int32_t (&d)[XL_SUMS]) {
    const int32_t q = threadIdx.x & 3;
#pragma unroll
    for (int32_t half = 0; half < 2; ++half) {
        uint8_t *to = p.result + (plane * p.rows + row + 8 * half) * p.row_stride + column + 8 * q;
#pragma unroll
        for (int32_t j = 0; j < XL_COLUMNS / 32; ++j) {
            uint32_t pairs[4];
#pragma unroll
            for (int32_t i = 0; i < 4; ++i)
                pairs[i] = __byte_perm((uint32_t)d[16 * j + 4 * i + 2 * half], (uint32_t)d[16 * j + 4 * i + 2 * half + 1],
                                       0x0040);
            const uint64_t octets =
                xl_exchange(__byte_perm(pairs[0], pairs[1], 0x5410), __byte_perm(pairs[2], pairs[3], 0x5410), q);
            if (row + 8 * half < p.rows && column + 32 * j + 8 * q < p.row_stride)
                *(uint64_t *)(to + 32 * j) = octets;
        }
    }
}
#else
XL_INLINE void xl_store(const xl_problem &p, int64_t plane, int32_t row, int32_t column, const int32_t (&d)[XL_SUMS]) {
    const int32_t q = threadIdx.x & 3;
#pragma unroll
    for (int32_t half = 0; half < 2; ++half) {
        int16_t *to = (int16_t *)p.result + (plane * p.rows + row + 8 * half) * p.row_stride + column + 2 * q;
#pragma unroll
        for (int32_t i = 0; i < XL_COLUMNS / 8; ++i)
            if (row + 8 * half < p.rows && column + 8 * i < p.row_stride)
                *(uint32_t *)(to + 8 * i) =
                    __byte_perm((uint32_t)d[4 * i + 2 * half], (uint32_t)d[4 * i + 2 * half + 1], 0x5410);
    }
}
#endif

/* ---- tiles ---- */

struct xl_place {
    int32_t pair, modulus, row, column;
};

XL_INLINE int32_t xl_tiles(int32_t length, int32_t step) {
    return (length + step - 1) / step;
}

/* Ensures: where tile `index` lies: pairs and moduli slowest, then groups of tile rows, each through all columns. */
XL_INLINE xl_place xl_place_of(const xl_problem &p, int64_t index) {
    const int32_t tile_rows = xl_tiles(p.rows, XL_ROWS), tile_columns = xl_tiles(p.columns, XL_COLUMNS);
    const int64_t plane = index / ((int64_t)tile_rows * tile_columns);
    const int32_t within = (int32_t)(index % ((int64_t)tile_rows * tile_columns));
    const int32_t group = within / (XL_GROUP_ROWS * tile_columns), rest = within % (XL_GROUP_ROWS * tile_columns);
    const int32_t first = group * XL_GROUP_ROWS;
    const int32_t height = tile_rows - first < XL_GROUP_ROWS ? tile_rows - first : XL_GROUP_ROWS;
    return {(int32_t)(plane / p.moduli), (int32_t)(plane % p.moduli), (first + rest % height) * XL_ROWS,
            rest / height * XL_COLUMNS};
}

struct xl_ring {
    uint32_t stage, parity;
    XL_INLINE void advance() {
        if (++stage == XL_STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/* Products of digits, in the order of Horner's rule: high high, high low, low high, low low. */
#define XL_PRODUCTS (XL_DIGITS * XL_DIGITS)

XL_INLINE void xl_produce(const xl_problem &p, const xl_tensor_map *left, const xl_tensor_map *right, uint32_t tiles,
                          uint32_t full, uint32_t empty, int64_t count) {
    xl_ring ring = {0, 0};
    for (int64_t index = blockIdx.x; index < count; index += gridDim.x) {
        const xl_place at = xl_place_of(p, index);
        const int32_t left_plane = ((int32_t)p.places[at.pair] * p.moduli + at.modulus) * XL_DIGITS;
        const int32_t right_plane = ((int32_t)p.places[p.pairs + at.pair] * p.moduli + at.modulus) * XL_DIGITS;
        for (int32_t product = 0; product < XL_PRODUCTS; ++product)
            for (int32_t k = 0; k < p.depth; k += XL_DEPTH) {
                const uint32_t tile = tiles + ring.stage * XL_STAGE_BYTES, barrier = full + 8 * ring.stage;
                xl_barrier_wait(empty + 8 * ring.stage, ring.parity ^ 1);
                xl_barrier_expect(barrier, XL_STAGE_BYTES);
                xl_copy_tile(tile, left, barrier, k, at.row, left_plane + (XL_DIGITS == 2 ? product >> 1 : 0));
                xl_copy_tile(tile + XL_LEFT_BYTES, right, barrier, k, at.column,
                             right_plane + (XL_DIGITS == 2 ? product & 1 : 0));
                ring.advance();
            }
    }
}

XL_INLINE void xl_consume(const xl_problem &p, uint32_t tiles, uint32_t full, uint32_t empty, int64_t count,
                          int32_t warpgroup) {
    const int32_t thread = threadIdx.x & 127;
    const bool speaks = thread == 0;
    xl_ring ring = {0, 0};
    int32_t d[XL_SUMS];
    for (int64_t index = blockIdx.x; index < count; index += gridDim.x) {
        const xl_place at = xl_place_of(p, index);
        const int32_t *c = p.constants + 4 * at.modulus;
        const xl_modulus m = {c[0], c[1], c[2]};
#pragma unroll
        for (int32_t i = 0; i < XL_SUMS; ++i)
            d[i] = 0;
        for (int32_t product = 0; product < XL_PRODUCTS; ++product)
            for (int32_t block = 0; block * XL_DEPTH < p.depth; block += p.segment) {
                const int32_t blocks = xl_tiles(p.depth, XL_DEPTH) - block;
                const int32_t some = blocks < p.segment ? blocks : p.segment;
                if (XL_SEGMENTED && product + block > 0) {
                    const bool next_digit = XL_DIGITS == 2 && block == 0 && (product & 1);
#pragma unroll
                    for (int32_t i = 0; i < XL_SUMS; ++i) {
                        d[i] = xl_centre(d[i], m);
                        if (next_digit)
                            d[i] = xl_centre(d[i] * m.radix, m);
                    }
                }
                xl_pin(d);
                uint32_t last = 0;
                for (int32_t i = 0; i < some; ++i) {
                    const uint32_t tile = tiles + ring.stage * XL_STAGE_BYTES;
                    const uint64_t left = xl_descriptor(tile + warpgroup * 64 * XL_DEPTH);
                    const uint64_t right = xl_descriptor(tile + XL_LEFT_BYTES);
                    xl_barrier_wait(full + 8 * ring.stage, ring.parity);
                    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                    for (int32_t part = 0; part < XL_DEPTH / 32; ++part)
                        xl_multiply(d, left + 2 * part, right + 2 * part);
                    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                    xl_wait_for_products<XL_PENDING>();
                    if (speaks && i >= XL_PENDING) /* what is done has read its tile, which may be filled again */
                        xl_barrier_arrive(empty + 8 * (XL_PENDING ? last : ring.stage));
                    last = ring.stage;
                    ring.advance();
                }
                xl_wait_for_products<0>();
                xl_pin(d);
                if (speaks && XL_PENDING)
                    xl_barrier_arrive(empty + 8 * last);
            }
        const int64_t plane = (int64_t)at.pair * p.moduli + at.modulus;
        const int32_t row = at.row + 64 * warpgroup + 16 * (thread >> 5) + ((thread & 31) >> 2);
#pragma unroll
        for (int32_t i = 0; i < XL_SUMS; ++i)
            d[i] = xl_centre(d[i], m);
#if XL_ADD
        xl_add(p, plane, row, at.column, m, d);
#endif
        xl_store(p, plane, row, at.column, d);
    }
}

extern "C" __global__ void __launch_bounds__(128 * (1 + XL_CONSUMERS), 1)
    xl_residue_product(const __grid_constant__ xl_tensor_map left, const __grid_constant__ xl_tensor_map right,
                       const __grid_constant__ xl_problem p) {
    extern __shared__ uint8_t shared[];
    __shared__ alignas(8) uint64_t barriers[2 * XL_STAGES];
    const uint32_t tiles = (xl_shared_address(shared) + 1023) & ~1023u;
    const uint32_t full = xl_shared_address(barriers), empty = full + 8 * XL_STAGES;
    const int64_t count =
        (int64_t)xl_tiles(p.rows, XL_ROWS) * xl_tiles(p.columns, XL_COLUMNS) * p.moduli * p.pairs;
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < XL_STAGES; ++i) {
            xl_barrier_init(full + 8 * i, 1);
            xl_barrier_init(empty + 8 * i, XL_CONSUMERS);
        }
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            xl_produce(p, &left, &right, tiles, full, empty, count);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        xl_consume(p, tiles, full, empty, count, (int32_t)threadIdx.x / 128 - 1);
    }
}
