/* What an instruction set provides to the blocked loop of tile.c. Known to the files of this folder only.
 *
 * A sum of products v is kept as y = v + bias modulo 2^32, in blocks of XL_BLOCK_ROWS x XL_BLOCK_COLUMNS words of
 * 32 bits that live in the first level cache. */
#ifndef XL_MATRIX_KERNELS_H
#define XL_MATRIX_KERNELS_H

#include "matrix.h"

enum {
    XL_BLOCK_ROWS = 32,
    XL_BLOCK_COLUMNS = 32, /* also the distance between rows of sums */
    XL_CHUNK = 1280, /* the longest inner dimension of one accumulation: 32 rows of it fit the first level cache */
    XL_ROOM = 131072 - 1024 /* sums of so many products of int8 numbers, and 2^16 more, stay below 2^31 */
};

/* The sums of one block: rows x columns, 1 <= rows <= rows of the kernels, columns 16 or 32. */
typedef struct {
    int rows;
    int columns;
    uint32_t *sums;        /* written, and read where start is sums */
    const uint32_t *start; /* what to add to: row i is start[i * start_row ...] */
    int64_t start_row;     /* 0 where all rows start alike */
} xl_matrix_block;

/* A block of which the rows from `next` on have still to be reduced. */
typedef struct {
    int next;
    int rows;
    int columns;
    int64_t row; /* entries between rows of residues */
    const uint32_t *sums[3];
    const xl_matrix_modulus8 *modulus8; /* one of the two is NULL, and the residues below it */
    const xl_matrix_modulus16 *modulus16;
    int8_t *residues8;
    int16_t *residues16;
} xl_matrix_reduction;

/* What `accumulate` may do while the matrix unit works: reduce rows of an earlier block, and fetch what the next step
 * needs into the second level cache, for every 64 columns of the inner dimension as many of these left rows, which are
 * left_row bytes apart, and so many lines of 64 bytes of the packed right columns. */
typedef struct {
    xl_matrix_reduction *reduction;
    const int8_t *left;
    const int8_t *right;
    int64_t left_row;
    int left_rows;
    int right_columns;
} xl_matrix_meanwhile;

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

    /* Left rows in the form that `accumulate` reads: row i is left[i * stride ...], and depth at most XL_CHUNK. */
    int64_t (*prepared_bytes)(int64_t depth);
    void (*prepare)(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared);

    /* sums = start + prepared left @ right, modulo 2^32; right + 16 * right_row is the second block of 16 columns. */
    void (*accumulate)(const xl_matrix_block *block, const void *prepared, const int8_t *right, int64_t right_row,
        int64_t depth, const xl_matrix_meanwhile *meanwhile);

    /* Reduces the remaining rows: residues of sums biased by modulus8->bias; */
    void (*reduce8)(xl_matrix_reduction *reduction);

    /* or of 2^16 * y[0] + 2^8 * y[1] + y[2], the sums of high-high, mixed and low-low digits. */
    void (*reduce16)(xl_matrix_reduction *reduction);
};

#endif
