/* Products of residue planes on int8 matrix units: what the rest of the library may call.
 *
 * Residues are centred: with h = floor(m / 2) the residue of v modulo m is the r = v (mod m) with -h <= r < m - h.
 * Nothing here allocates (except `xl_matrix_check`), keeps state or starts threads; calls on disjoint ranges of rows
 * or columns may run at the same time, each with a scratch of its own.
 */
#ifndef XL_MATRIX_H
#define XL_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    XL_MATRIX_DEPTH = 64,    /* the inner dimension of planes is padded with zeros to a multiple of this */
    XL_MATRIX_COLUMNS = 16,  /* right operands are packed, and tiles written, in blocks of this many columns */
    XL_MATRIX_ALIGNMENT = 64 /* packed planes and scratch start at a multiple of this; anything else may lie anywhere */
};

/* Constants of a modulus 2 <= m <= 256, filled by `xl_matrix_modulus8`. */
typedef struct {
    uint32_t modulus;
    uint32_t half;       /* floor(m / 2) */
    uint32_t bias;       /* 2^31 <= bias < 2^31 + m and bias = half (mod m): makes sums non-negative and centres them */
    uint32_t reciprocal; /* floor(2^32 / m) */
    uint32_t bytes;      /* signed bytes c[i] = 2^(8 i) (mod m): y = sum over i of c[i] * byte i of y (mod m) */
    uint32_t offset1;    /* multiples of m that keep two such sums non-negative: the first stays below 2^17, */
    uint32_t offset2;    /* the second below 2^15 */
    uint16_t magic;      /* floor(z / m) = (z * magic) >> 16 >> shift for 0 <= z < 2^15 */
    uint16_t shift;
} xl_matrix_modulus8;

/* Constants of a modulus whose residues are 256 * high + low with int8 digits: 2 <= m <= 65536.
 * y is 2^16 * y[0] + 2^8 * y[1] + y[2] with biased sums y[0], y[1], y[2] of high-high, mixed and low-low products. */
typedef struct {
    uint32_t modulus;
    uint32_t half;
    uint32_t bias;       /* 2^31 */
    uint32_t reciprocal; /* floor(2^32 / m) */
    uint32_t high[3];    /* signed bytes: 256 * byte i of high[d] + byte i of low[d] = 2^(8 i + 8 (2 - d)) (mod m) */
    uint32_t low[3];
    uint32_t offset; /* keeps the sum of all byte products in [0, 2^28), removes the biases and adds half, modulo m */
} xl_matrix_modulus16;

/* One product of a sum of products: left planes [moduli][digits][rows][depth] times packed right planes.
 * Strides are in bytes; digits are the high one and then the low one, and unused by 8-bit moduli. Rows a multiple of
 * 2048 bytes apart push each other out of caches: a depth of 64 more is faster. */
typedef struct {
    const int8_t *left;
    const int8_t *right;
    int64_t left_modulus;
    int64_t left_digit;
    int64_t right_modulus;
    int64_t right_digit;
    int64_t depth;    /* K padded: a multiple of XL_MATRIX_DEPTH */
    int64_t negative; /* 1 where the product is subtracted, 0 where it is added */
    int64_t row;      /* bytes between rows, and between packed columns, that are longer than depth; 0 where not */
} xl_matrix_term;

/* Rows [row_begin, row_end) and columns [column_begin, column_end) of a product. */
typedef struct {
    int64_t row_begin;
    int64_t row_end;
    int64_t column_begin; /* a multiple of XL_MATRIX_COLUMNS */
    int64_t column_end;
} xl_matrix_range;

/* The code for one instruction set. */
typedef struct xl_matrix_kernels xl_matrix_kernels;

/* Fills the constants of m; returns 0, or -1 where m is out of range. */
int xl_matrix_modulus8_set(xl_matrix_modulus8 *constants, uint32_t m);
int xl_matrix_modulus16_set(xl_matrix_modulus16 *constants, uint32_t m);

/* The fastest kernels that this CPU and system run; with a name, those kernels, or NULL where they cannot run here. */
const xl_matrix_kernels *xl_matrix_select(const char *name);

/* The kernels of this build from the fastest on, whether or not they run here; NULL from `index` = their count on. */
const xl_matrix_kernels *xl_matrix_listed(int index);
const char *xl_matrix_name(const xl_matrix_kernels *kernels);

/* Whether the kernels are right on extreme residues and on the longest sums: 1, or 0, or -1 where memory ran out. */
int xl_matrix_check(const xl_matrix_kernels *kernels);

/* Bytes of the packed form of one right plane [columns][depth]; packed planes of several moduli follow each other. */
int64_t xl_matrix_packed_bytes(int64_t columns, int64_t depth);

/* Packs columns [begin, end) of a right plane [columns][depth], held by columns, into its packed form.
 * begin is a multiple of XL_MATRIX_COLUMNS, and end too unless it is the number of columns. */
void xl_matrix_pack(
    const xl_matrix_kernels *kernels, const int8_t *plane, int64_t begin, int64_t end, int64_t depth, int8_t *packed);

/* Bytes of scratch for tiles of up to so many rows and columns, of residues of one or two digits. Where K is at most
 * about a thousand and there is one term of one digit, only the first few thousand of them are touched. */
int64_t xl_matrix_scratch_bytes(const xl_matrix_kernels *kernels, int digits, int64_t rows, int64_t columns);

/* The residues of a tile of the sum of products, for all moduli.
 *
 * Entry (i, j) of the tile for modulus p goes to residues[p * plane + i * row + j], strides in entries, centred.
 * Columns are written up to the next multiple of XL_MATRIX_COLUMNS (zeros there), so `row` is at least that.
 * Any left and right entries in [-128, 127] and any depth are exact. */
void xl_matrix_tile8(const xl_matrix_kernels *kernels, const xl_matrix_modulus8 *moduli, int64_t modulus_count,
    const xl_matrix_term *terms, int64_t term_count, xl_matrix_range range, int8_t *residues, int64_t plane,
    int64_t row, void *scratch);

/* The same for residues of two digits; the result is one integer of 16 bits. */
void xl_matrix_tile16(const xl_matrix_kernels *kernels, const xl_matrix_modulus16 *moduli, int64_t modulus_count,
    const xl_matrix_term *terms, int64_t term_count, xl_matrix_range range, int16_t *residues, int64_t plane,
    int64_t row, void *scratch);

/* A product of bytes in [-128, 127]: left rows at any distance, which may overlap, times packed right columns. */
typedef struct {
    const int8_t *left;
    int64_t left_row; /* bytes between left rows */
    int64_t rows;
    const int8_t *right;
    int64_t columns; /* written up to the next multiple of XL_MATRIX_COLUMNS */
    int64_t depth;   /* a multiple of XL_MATRIX_DEPTH, at most 2^16 */
    int32_t *sums;
    int64_t row; /* entries between rows of sums */
} xl_matrix_sums_job;

int64_t xl_matrix_sums_scratch_bytes(const xl_matrix_kernels *kernels);

/* Ensures: sums[i * row + j] is the sum over k of left (i, k) times right (k, j), exactly. */
void xl_matrix_sums(const xl_matrix_kernels *kernels, const xl_matrix_sums_job *job, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
