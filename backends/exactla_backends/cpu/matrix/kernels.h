/* What an instruction set provides, and the blocked loop over it. Known to the files of this folder only.
 *
 * A sum of products v is kept as y = v + bias modulo 2^32, in blocks of XL_BLOCK_ROWS x XL_BLOCK_COLUMNS words of
 * 32 bits that live in the first level cache. */
#ifndef XL_MATRIX_KERNELS_H
#define XL_MATRIX_KERNELS_H

#include "matrix.h"

enum {
    XL_BLOCK_ROWS = 32,
    XL_BLOCK_COLUMNS = 32, /* also the distance between rows of sums */
    XL_PIECE = 131072 - 64 /* longest sum of products of any int8 numbers that leaves 2^20 - 1 below 2^31 unused */
};

/* The sums of one block: rows x columns, 1 <= rows <= rows of the kernels, columns 16 or 32. */
typedef struct {
    int rows;
    int columns;
    uint32_t *sums;        /* written, and read where start is sums */
    const uint32_t *start; /* what to add to: row i is start[i * start_row ...] */
    int64_t start_row;     /* 0 where all rows start alike */
} xl_block;

struct xl_matrix_kernels {
    const char *name;
    int rows; /* rows of a block, at most XL_BLOCK_ROWS */

    /* Whether the CPU and the operating system run these kernels; may ask the system's permission. */
    int (*supported)(void);

    /* Around the blocks of one number of rows, on one thread; NULL where there is nothing to do. */
    void (*begin)(int rows);
    void (*end)(void);

    /* Packs 16 rows of a right plane (fewer: the others are zeros) of `depth` columns into 16 * depth bytes, in which
     * every 64 columns take 1024 bytes. */
    void (*pack)(const int8_t *plane, int64_t stride, int rows, int64_t depth, int8_t *packed);

    /* Left rows in the form that `accumulate` reads: row i is left[i * stride ...]. */
    int64_t (*prepared_bytes)(int64_t depth);
    void (*prepare)(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared);

    /* sums = start + prepared left @ right, modulo 2^32; right + 16 * right_row is the second block of 16 columns. */
    void (*accumulate)(
        const xl_block *block, const void *prepared, const int8_t *right, int64_t right_row, int64_t depth);

    /* Residues of sums biased by modulus->bias; rows of `residues` are `row` entries apart. */
    void (*reduce8)(const xl_block *block, const xl_matrix_modulus8 *modulus, int8_t *residues, int64_t row);

    /* Residues of 2^16 * y[0] + 2^8 * y[1] + y[2], the blocks of sums of high-high, mixed and low-low digits. */
    void (*reduce16)(const xl_block y[3], const xl_matrix_modulus16 *modulus, int16_t *residues, int64_t row);
};

/* Left rows used as they are, for kernels whose `prepare` has nothing to convert. */
typedef struct {
    const int8_t *left;
    int64_t stride;
} xl_plain_rows;

#endif
