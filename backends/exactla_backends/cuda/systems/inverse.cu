/* Inverses of a matrix modulo many primes at once, in place, by pivot transforms of blocks of columns.
 *
 * With K the columns of a block, R its pivot rows and T = A_RK**-1:
 *
 *     [A_RK  A_RJ]         [T          T A_RJ           ]
 *     [A_IK  A_IJ]  -->    [-A_IK T    A_IJ - A_IK T A_RJ]
 *
 * Rows are not exchanged: the pivot of column k is in whatever row pivots[k], and `places` is the inverse permutation, -1
 * in rows that had none yet. The panel of a block is transformed column by column, by one block of threads for each
 * prime; the right half of the result is A_*J with the rows R cleared, plus panel times A_RJ. A column without a pivot,
 * which depends on those before it, is passed over: its place in pivots stays -1. `common.cuh` stands before this text.
 *
 * Planes are [primes, size, stride] octets, the stride a multiple of XL_TILE, with zeros past the size; constants are
 * (m, round(2**32 / m)) for each prime.
 */
#define XL_PANEL 32
#define XL_PANEL_WORDS (XL_PANEL / 4)
#define XL_TILE 128
#define XL_PART 8 /* rows and columns of a tile that a thread has */
#define XL_NOWHERE 0x7fffffff

/* planes[p] = residues of integers [rows, columns] of `count` words each; zeros up to the stride. */
extern "C" __global__ void xl_system_residues(const uint32_t *words, int64_t count, int64_t rows, int64_t columns,
                                              int64_t stride, int64_t primes, const int32_t *constants,
                                              const uint32_t *powers, int8_t *planes) {
    const int64_t column = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= stride)
        return;
    for (int64_t row = blockIdx.y; row < rows; row += gridDim.y)
        for (int64_t p = 0; p < primes; ++p)
            planes[(p * rows + row) * stride + column] =
                column >= columns ? 0
                                  : (int8_t)xl_residue(words + (row * columns + column) * count, count,
                                                       powers + p * (count + 1), constants[2 * p], constants[2 * p + 1]);
}

/* base**exponent modulo m, for 0 <= base < m < 256. */
XL_INLINE int32_t xl_power(int32_t base, int32_t exponent, int32_t m) {
    int32_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            result = result * base % m;
        base = base * base % m;
    }
    return result;
}

/* The first row of the thread's, if any, that has no pivot yet and is not 0 in a column of the panel. */
XL_INLINE int32_t xl_candidate(const int8_t *panel, const int32_t *places, int64_t size, int64_t column) {
    for (int64_t i = threadIdx.x; i < size; i += blockDim.x)
        if (places[i] < 0 && panel[i * XL_PANEL + column] != 0)
            return (int32_t)i;
    return XL_NOWHERE;
}

/* row -= factor * pivot row, whose entry of the column stands for the pivot's inverse. */
XL_INLINE void xl_clear_row(int8_t *row, const uint32_t *pivot_row, int64_t column, int32_t m, int32_t inverse) {
    const int32_t factor = row[column];
    uint32_t *words = (uint32_t *)row;
    if (factor == 0)
        return;
    row[column] = 0;
#pragma unroll
    for (int32_t w = 0; w < XL_PANEL_WORDS; ++w) {
        const uint32_t old = words[w], other = pivot_row[w];
        uint32_t made = 0;
#pragma unroll
        for (int32_t i = 0; i < 4; ++i) {
            const int32_t x = (int8_t)(old >> 8 * i), y = (int8_t)(other >> 8 * i);
            made |= (uint32_t)(uint8_t)xl_centre(x - factor * y, m, inverse) << 8 * i;
        }
        words[w] = made;
    }
}

/* Transforms the columns [start, start + count) by themselves into panels [primes, size, XL_PANEL], and copies the pivot
 * rows of the whole matrix, untransformed, to rows [primes, XL_PANEL, stride]. One block of threads for each prime. With
 * `is_shared` there are XL_PANEL octets of shared memory for each row, where the panel is while it is transformed. */
extern "C" __global__ void __launch_bounds__(1024)
    xl_system_panel(const int8_t *planes, int64_t size, int64_t stride, int64_t start, int64_t count,
                    const int32_t *constants, int8_t *panels, int8_t *rows, int32_t *all_pivots, int32_t *all_places,
                    int32_t *determinants, int64_t is_shared) {
    extern __shared__ uint4 shared_panel[];
    __shared__ int32_t found[XL_PANEL];
    __shared__ uint32_t pivot_row[XL_PANEL_WORDS];
    __shared__ uint8_t inverses[256];
    const int64_t prime = blockIdx.x;
    const int32_t m = constants[2 * prime], inverse = constants[2 * prime + 1];
    const int32_t thread = (int32_t)threadIdx.x;
    const int8_t *matrix = planes + prime * size * stride;
    int8_t *const result = panels + prime * size * XL_PANEL;
    int8_t *const panel = is_shared ? (int8_t *)shared_panel : result;
    int32_t *pivots = all_pivots + prime * size, *places = all_places + prime * size;
    int32_t determinant = determinants[prime];
    for (int32_t i = thread; i < XL_PANEL; i += (int32_t)blockDim.x)
        found[i] = XL_NOWHERE;
    for (int32_t i = thread; i < m; i += (int32_t)blockDim.x)
        inverses[i] = (uint8_t)xl_power(i, m - 2, m);
    for (int64_t i = thread; i < size; i += blockDim.x)
        for (int32_t w = 0; w < XL_PANEL_WORDS; ++w)
            ((uint32_t *)(panel + i * XL_PANEL))[w] = *(const uint32_t *)(matrix + i * stride + start + 4 * w);
    __syncthreads();
    for (int64_t k = 0; k < count; ++k) {
        const int32_t candidate = __reduce_min_sync(XL_WHOLE_WARP, xl_candidate(panel, places, size, k));
        if (thread % XL_WARP == 0 && candidate != XL_NOWHERE)
            atomicMin(&found[k], candidate);
        __syncthreads();
        const int32_t row = found[k];
        if (row == XL_NOWHERE)
            continue;
        if (thread < XL_PANEL) {
            const int32_t pivot = panel[row * XL_PANEL + k], positive = pivot < 0 ? pivot + m : pivot;
            const int32_t entry = thread == k ? 1 : panel[row * XL_PANEL + thread];
            ((int8_t *)pivot_row)[thread] = (int8_t)xl_centre(entry * inverses[positive], m, inverse);
            determinant = determinant * positive % m;
            if (thread == 0)
                pivots[start + k] = row;
        }
        __syncthreads();
        for (int64_t i = thread; i < size; i += blockDim.x)
            if (i != row)
                xl_clear_row(panel + i * XL_PANEL, pivot_row, k, m, inverse);
            else {
                for (int32_t w = 0; w < XL_PANEL_WORDS; ++w)
                    ((uint32_t *)(panel + i * XL_PANEL))[w] = pivot_row[w];
                places[i] = (int32_t)(start + k);
            }
    }
    if (thread == 0)
        determinants[prime] = determinant;
    __syncthreads();
    if (is_shared)
        for (int64_t i = thread; i < size * XL_PANEL / 16; i += blockDim.x)
            ((uint4 *)result)[i] = shared_panel[i];
    for (int64_t k = 0; k < XL_PANEL; ++k) {
        const int32_t pivot = k < count ? pivots[start + k] : -1;
        const uint32_t *from = (const uint32_t *)(matrix + (pivot < 0 ? 0 : pivot) * stride);
        uint32_t *to = (uint32_t *)(rows + (prime * XL_PANEL + k) * stride);
        for (int64_t w = thread; w < stride / 4; w += blockDim.x)
            to[w] = pivot < 0 ? 0 : from[w];
    }
}

/* Four octets of the same place in four words, for each of the four places. */
XL_INLINE uint4 xl_transposed(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const uint32_t low = __byte_perm(a, b, 0x5140), low_next = __byte_perm(c, d, 0x5140);
    const uint32_t high = __byte_perm(a, b, 0x7362), high_next = __byte_perm(c, d, 0x7362);
    return make_uint4(__byte_perm(low, low_next, 0x5410), __byte_perm(low, low_next, 0x7632),
                      __byte_perm(high, high_next, 0x5410), __byte_perm(high, high_next, 0x7632));
}

/* Brings the transform of a panel to the whole matrix: a block of 256 threads for each tile. */
extern "C" __global__ void __launch_bounds__(256)
    xl_system_update(int8_t *planes, int64_t size, int64_t stride, int64_t start, const int32_t *constants,
                     const int8_t *panels, const int8_t *rows, const int32_t *all_places) {
    __shared__ uint32_t left[XL_TILE][XL_PANEL_WORDS + 1];
    __shared__ uint4 right[XL_PANEL_WORDS][XL_TILE / 4];
    const int64_t prime = blockIdx.z, first_row = (int64_t)blockIdx.y * XL_TILE, first = (int64_t)blockIdx.x * XL_TILE;
    const int32_t m = constants[2 * prime], inverse = constants[2 * prime + 1];
    const int32_t thread = (int32_t)threadIdx.x;
    const int32_t x = thread % (XL_TILE / XL_PART) * XL_PART, y = thread / (XL_TILE / XL_PART) * XL_PART;
    const int32_t *places = all_places + prime * size;
    int32_t sums[XL_PART][XL_PART];
    for (int32_t i = thread; i < XL_TILE * XL_PANEL_WORDS; i += 256) {
        const int64_t row = first_row + i / XL_PANEL_WORDS;
        left[i / XL_PANEL_WORDS][i % XL_PANEL_WORDS] =
            row < size ? ((const uint32_t *)(panels + (prime * size + row) * XL_PANEL))[i % XL_PANEL_WORDS] : 0;
    }
    {
        const int32_t group = thread / (XL_TILE / 4), column = thread % (XL_TILE / 4) * 4;
        const int8_t *from = rows + (prime * XL_PANEL + 4 * group) * stride + first + column;
        right[group][column / 4] =
            xl_transposed(*(const uint32_t *)from, *(const uint32_t *)(from + stride),
                          *(const uint32_t *)(from + 2 * stride), *(const uint32_t *)(from + 3 * stride));
    }
    __syncthreads();
#pragma unroll
    for (int32_t i = 0; i < XL_PART; ++i)
#pragma unroll
        for (int32_t j = 0; j < XL_PART; ++j)
            sums[i][j] = 0;
#pragma unroll
    for (int32_t k = 0; k < XL_PANEL_WORDS; ++k) {
        const uint4 low = right[k][x / 4], high = right[k][x / 4 + 1];
        const uint32_t b[XL_PART] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int32_t i = 0; i < XL_PART; ++i) {
            const uint32_t a = left[y + i][k];
#pragma unroll
            for (int32_t j = 0; j < XL_PART; ++j)
                sums[i][j] = xl_dot(a, b[j], sums[i][j]);
        }
    }
    const int64_t column = first + x, within = column - start;
#pragma unroll
    for (int32_t i = 0; i < XL_PART; ++i) {
        const int64_t row = first_row + y + i;
        if (row < size) {
            uint2 *at = (uint2 *)(planes + (prime * size + row) * stride + column);
            const bool is_pivot_row = places[row] >= start;
            const uint2 old = is_pivot_row ? make_uint2(0, 0) : *at;
            uint32_t made[2] = {0, 0};
#pragma unroll
            for (int32_t j = 0; j < XL_PART; ++j) {
                const int32_t before = (int8_t)((j < 4 ? old.x : old.y) >> 8 * (j & 3));
                made[j / 4] |= (uint32_t)(uint8_t)xl_centre(before + sums[i][j], m, inverse) << 8 * (j & 3);
            }
            *at = within >= 0 && within < XL_PANEL ? make_uint2(left[y + i][within / 4], left[y + i][within / 4 + 1])
                                                   : make_uint2(made[0], made[1]);
        }
    }
}

/* The inverse proper, without the primes that have none: entry (k, pivots[l]) is what lies in row pivots[k], column l. */
extern "C" __global__ void xl_system_arrange(const int8_t *planes, int64_t size, int64_t stride, const int32_t *all_pivots,
                                             const int32_t *all_places, const int32_t *kept, int8_t *result) {
    const int64_t word = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, prime = kept[blockIdx.z];
    if (word >= stride / 4)
        return;
    for (int64_t row = blockIdx.y; row < size; row += gridDim.y) {
        const int8_t *from = planes + (prime * size + all_pivots[prime * size + row]) * stride;
        uint32_t made = 0;
        for (int32_t i = 0; i < 4; ++i)
            if (4 * word + i < size)
                made |= (uint32_t)(uint8_t)from[all_places[prime * size + 4 * word + i]] << 8 * i;
        ((uint32_t *)(result + ((int64_t)blockIdx.z * size + row) * stride))[word] = made;
    }
}
