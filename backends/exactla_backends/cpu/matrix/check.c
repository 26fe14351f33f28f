/* The check of kernels before they are trusted: extreme residues, longest sums, and all edges of a block. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

/* The first few of each list serve for the longest sums. */
static const uint32_t moduli8[] = {256, 255, 171, 253, 170, 129, 128, 127, 3, 2};
static const uint32_t moduli16[] = {65536, 65521, 65280, 65279, 32769, 257, 2};

enum {
    MODULI8 = sizeof moduli8 / sizeof *moduli8,
    MODULI16 = sizeof moduli16 / sizeof *moduli16,
    MODULI = MODULI8 > MODULI16 ? MODULI8 : MODULI16,
    LONG = XL_ROOM + 2 * XL_CHUNK, /* more than one sum takes */
    LONG_MODULI8 = 3,
    LONG_MODULI16 = 2,
    LONG_ROWS = 2,
    LONG_COLUMNS = 3,
    SHORT = 3 * XL_MATRIX_DEPTH,
    SHORT_TERMS = 3,
    SHORT_ROWS = XL_BLOCK_ROWS + XL_BLOCK_ROWS / 2 + 1,
    SHORT_COLUMNS = XL_BLOCK_COLUMNS + 5,
    LEFT_BYTES = LONG_ROWS * LONG,
    RIGHT_BYTES = LONG_COLUMNS * LONG,
    PACKED_BYTES = XL_MATRIX_COLUMNS * LONG,
    MAX_ENTRIES = SHORT_ROWS * (SHORT_COLUMNS + XL_MATRIX_COLUMNS)
};

/* Operands, each one plane for all moduli and both digits, and room for everything else. */
typedef struct {
    const xl_matrix_kernels *kernels;
    int rows, columns, moduli8, moduli16;
    int terms; /* the product is taken so often, all but the first one negative */
    int64_t depth;
    int8_t *left, *right, *packed;
    char *scratch;
    int16_t *residues;
} problem;

static void pack(const problem *x) {
    xl_matrix_pack(x->kernels, x->right, 0, x->columns, x->depth, x->packed);
}

static void fill_terms(const problem *x, xl_matrix_term terms[SHORT_TERMS]) {
    for (int t = 0; t < x->terms; ++t)
        terms[t] = (xl_matrix_term){.left = x->left, .right = x->packed, .depth = x->depth, .negative = t > 0};
}

static int64_t dot(const problem *x, int i, int j) {
    int64_t sum = 0;
    for (int64_t k = 0; k < x->depth; ++k)
        sum += x->left[i * x->depth + k] * x->right[j * x->depth + k];
    return sum;
}

/* Whether `residue` is that of `value` modulo m. */
static int is_residue(int64_t residue, int64_t value, int64_t m) {
    const int64_t half = m / 2;
    return residue >= -half && residue < m - half && (residue - value) % m == 0;
}

/* Whether the tiles are right where every product of the operands is dots[i * columns + j]. */
static int right8(const problem *x, const int64_t *dots) {
    xl_matrix_modulus8 constants[MODULI8];
    for (int p = 0; p < MODULI8; ++p)
        xl_matrix_modulus8_set(&constants[p], moduli8[p]);
    xl_matrix_term terms[SHORT_TERMS];
    fill_terms(x, terms);
    int8_t *residues = (int8_t *)x->residues;
    const int64_t row = x->columns + XL_MATRIX_COLUMNS, plane = x->rows * row;
    const xl_matrix_range range = {0, x->rows, 0, x->columns};
    xl_matrix_tile8(x->kernels, constants, x->moduli8, terms, x->terms, range, residues, plane, row, x->scratch);
    int right = 1;
    for (int p = 0; p < x->moduli8; ++p)
        for (int i = 0; i < x->rows; ++i)
            for (int j = 0; j < x->columns; ++j)
                right &= is_residue(
                    residues[p * plane + i * row + j], (2 - x->terms) * dots[i * x->columns + j], moduli8[p]);
    return right;
}

static int right16(const problem *x, const int64_t *dots) {
    xl_matrix_modulus16 constants[MODULI16];
    for (int p = 0; p < MODULI16; ++p)
        xl_matrix_modulus16_set(&constants[p], moduli16[p]);
    xl_matrix_term terms[SHORT_TERMS];
    fill_terms(x, terms);
    const int64_t row = x->columns + XL_MATRIX_COLUMNS, plane = x->rows * row, digits = 257 * 257;
    const xl_matrix_range range = {0, x->rows, 0, x->columns};
    xl_matrix_tile16(x->kernels, constants, x->moduli16, terms, x->terms, range, x->residues, plane, row, x->scratch);
    int right = 1;
    for (int p = 0; p < x->moduli16; ++p)
        for (int i = 0; i < x->rows; ++i)
            for (int j = 0; j < x->columns; ++j)
                right &= is_residue(x->residues[p * plane + i * row + j],
                    (2 - x->terms) * digits * dots[i * x->columns + j], moduli16[p]);
    return right;
}

/* Constant operands, which reach the ends of what the sums may be. */
static int right_extremes(problem *x) {
    static const int8_t ends[][2] = {{-128, -128}, {-128, 127}, {127, 127}};
    x->rows = LONG_ROWS;
    x->columns = LONG_COLUMNS;
    x->depth = LONG;
    x->moduli8 = LONG_MODULI8;
    x->moduli16 = LONG_MODULI16;
    x->terms = 1;
    int64_t dots[LONG_ROWS * LONG_COLUMNS];
    for (int e = 0; e < 3; ++e) {
        memset(x->left, ends[e][0], LEFT_BYTES);
        memset(x->right, ends[e][1], RIGHT_BYTES);
        for (int i = 0; i < LONG_ROWS * LONG_COLUMNS; ++i)
            dots[i] = (int64_t)LONG * ends[e][0] * ends[e][1];
        pack(x);
        if (!right8(x, dots) || !right16(x, dots))
            return 0;
    }
    return 1;
}

/* Operands without a pattern, in a shape with every kind of block. */
static int right_shapes(problem *x) {
    x->rows = SHORT_ROWS;
    x->columns = SHORT_COLUMNS;
    x->depth = SHORT;
    x->moduli8 = MODULI8;
    x->moduli16 = MODULI16;
    x->terms = SHORT_TERMS;
    uint32_t state = 1;
    for (int64_t i = 0; i < SHORT_ROWS * SHORT + SHORT_COLUMNS * SHORT; ++i) {
        state = state * 1664525 + 1013904223;
        *(i < SHORT_ROWS * SHORT ? &x->left[i] : &x->right[i - SHORT_ROWS * SHORT]) = (int8_t)(uint8_t)(state >> 24);
    }
    int64_t dots[SHORT_ROWS * SHORT_COLUMNS];
    for (int i = 0; i < SHORT_ROWS; ++i)
        for (int j = 0; j < SHORT_COLUMNS; ++j)
            dots[i * SHORT_COLUMNS + j] = dot(x, i, j);
    pack(x);
    return right8(x, dots) && right16(x, dots);
}

int xl_matrix_check(const xl_matrix_kernels *kernels) {
    const int64_t scratch = xl_matrix_scratch_bytes(kernels, 2, SHORT_ROWS, SHORT_COLUMNS);
    const int64_t bytes =
        XL_MATRIX_ALIGNMENT + PACKED_BYTES + scratch + MODULI * MAX_ENTRIES * 2 + LEFT_BYTES + RIGHT_BYTES;
    char *memory = malloc((size_t)bytes);
    if (!memory)
        return -1;
    problem x = {.kernels = kernels};
    x.packed = (int8_t *)(memory + (-(uintptr_t)memory) % XL_MATRIX_ALIGNMENT);
    x.scratch = (char *)x.packed + PACKED_BYTES;
    x.residues = (int16_t *)(x.scratch + (scratch + 1) / 2 * 2);
    x.left = (int8_t *)(x.residues + MODULI * MAX_ENTRIES);
    x.right = x.left + LEFT_BYTES;
    const int right = right_shapes(&x) && right_extremes(&x);
    free(memory);
    return right;
}
