/* The product on AMX-INT8 tiles: blocks of 2 x 2 tiles of 16 x 16 sums, reduced by AVX-512 VNNI.
 *
 * The tile registers are configured when a thread begins a block of rows and released when it ends, so other code that
 * uses AMX finds them as it must: unconfigured. */
#if defined(__x86_64__) && defined(__linux__)

#    define _GNU_SOURCE /* syscall */

#    include "kernels.h"
#    include "target.h"
#    include "x86.h"

#    include <sys/syscall.h>
#    include <unistd.h>

XL_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8")

#    include "avx512_reduce.h"
#    include "avx512_transpose.h"

enum { TILE_ROWS = 16, TILE_BYTES = 64 };

typedef struct {
    const int8_t *left;
    int64_t stride;
} plain_rows;

static int supported(void) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    const unsigned needed = XL_X86_AVX512 | XL_X86_AVX512_VNNI | XL_X86_AMX_INT8;
    return (xl_x86_features() & needed) == needed && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* Tiles 0 to 3 are the sums, 4 and 5 the left rows, 6 and 7 the right columns. */
static void begin(int rows) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } configuration = {.palette = 1};
    const int second = rows > TILE_ROWS ? rows - TILE_ROWS : TILE_ROWS, first = rows < TILE_ROWS ? rows : TILE_ROWS;
    const int tile_rows[8] = {first, first, second, second, first, second, TILE_ROWS, TILE_ROWS};
    for (int t = 0; t < 8; ++t) {
        configuration.rows[t] = (uint8_t)tile_rows[t];
        configuration.row_bytes[t] = TILE_BYTES;
    }
    /* to the compiler the instruction reads one word of it */
    __asm__ volatile("" : : "r"(&configuration) : "memory");
    _tile_loadconfig(&configuration);
}

static void end(void) {
    _tile_release();
}

/* Fetches and reduces a little, at step k of an accumulation. */
static inline void do_meanwhile(const xl_matrix_meanwhile *other, const xl_lanes8 *lanes, int64_t k) {
    for (int row = 0; row < other->left_rows; ++row)
        _mm_prefetch(other->left + row * other->left_row + k, _MM_HINT_T1);
    for (int line = 0; line < other->right_columns; ++line)
        _mm_prefetch(other->right + k * other->right_columns + line * 64, _MM_HINT_T1);
    xl_matrix_reduction *x = other->reduction;
    if (x->next < x->rows && x->columns == 32) {
        if (x->modulus8)
            xl_avx512_reduce_rows8(x, 32, lanes);
        else
            xl_avx512_reduce_row16(x);
    }
}

/* Blocks of one or two rows and columns of tiles. The right operand streams past the first level cache, which so keeps
 * the left rows for the next block. */
static inline __attribute__((always_inline)) void accumulate_tiles(const xl_matrix_block *block,
    const plain_rows *plain, const int8_t *right, int64_t right_row, int64_t depth, const xl_matrix_meanwhile *other,
    int two_rows, int two_columns) {
    const int64_t start_stride = 4 * block->start_row, sums_stride = 4 * XL_BLOCK_COLUMNS;
    const uint32_t *start = block->start, *start2 = start + TILE_ROWS * block->start_row;
    const int8_t *left = plain->left, *left2 = left + TILE_ROWS * plain->stride;
    const int8_t *right2 = right + XL_MATRIX_COLUMNS * right_row;
    static const xl_matrix_modulus8 none;
    const xl_lanes8 lanes = xl_avx512_lanes8(other->reduction->modulus8 ? other->reduction->modulus8 : &none);
    _tile_loadd(0, start, start_stride);
    if (two_columns)
        _tile_loadd(1, start + 16, start_stride);
    if (two_rows)
        _tile_loadd(2, start2, start_stride);
    if (two_rows && two_columns)
        _tile_loadd(3, start2 + 16, start_stride);
    for (int64_t k = 0; k < depth; k += XL_MATRIX_DEPTH) {
        _tile_loadd(4, left + k, plain->stride);
        _tile_stream_loadd(6, right + k * 16, TILE_BYTES);
        _tile_dpbssd(0, 4, 6);
        if (two_columns) {
            _tile_stream_loadd(7, right2 + k * 16, TILE_BYTES);
            _tile_dpbssd(1, 4, 7);
        }
        if (two_rows) {
            _tile_loadd(5, left2 + k, plain->stride);
            _tile_dpbssd(2, 5, 6);
            if (two_columns)
                _tile_dpbssd(3, 5, 7);
        }
        do_meanwhile(other, &lanes, k);
    }
    uint32_t *sums = block->sums, *sums2 = sums + TILE_ROWS * XL_BLOCK_COLUMNS;
    _tile_stored(0, sums, sums_stride);
    if (two_columns)
        _tile_stored(1, sums + 16, sums_stride);
    if (two_rows)
        _tile_stored(2, sums2, sums_stride);
    if (two_rows && two_columns)
        _tile_stored(3, sums2 + 16, sums_stride);
}

static void accumulate(const xl_matrix_block *block, const void *prepared, const int8_t *right, int64_t right_row,
    int64_t depth, const xl_matrix_meanwhile *other) {
    const plain_rows *plain = prepared;
    __asm__ volatile("" : : : "memory"); /* to the compiler the loads of tiles read nothing */
    if (block->rows > TILE_ROWS) {
        if (block->columns > 16)
            accumulate_tiles(block, plain, right, right_row, depth, other, 1, 1);
        else
            accumulate_tiles(block, plain, right, right_row, depth, other, 1, 0);
    } else {
        if (block->columns > 16)
            accumulate_tiles(block, plain, right, right_row, depth, other, 0, 1);
        else
            accumulate_tiles(block, plain, right, right_row, depth, other, 0, 0);
    }
}

static int64_t prepared_bytes(int64_t depth) {
    (void)depth;
    return sizeof(plain_rows);
}

static void prepare(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared) {
    (void)rows;
    (void)depth;
    *(plain_rows *)prepared = (plain_rows){left, stride};
}

/* [depth / 4][16 columns][4]: a tile of the right operand is 16 such rows. */
static void pack(const int8_t *plane, int64_t stride, int rows, int64_t depth, int8_t *packed) {
    for (int64_t k = 0; k < depth; k += XL_MATRIX_DEPTH)
        xl_avx512_transpose(plane + k, stride, rows, _mm512_setzero_si512(), packed + k * 16);
}

XL_TARGET_END

const xl_matrix_kernels xl_matrix_amx = {
    .name = "amx",
    .rows = 2 * TILE_ROWS,
    .supported = supported,
    .begin = begin,
    .end = end,
    .pack = pack,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
    .accumulate = accumulate,
    .reduce8 = xl_avx512_reduce8,
    .reduce16 = xl_avx512_reduce16,
};

#else
typedef int xl_no_amx;
#endif
