/* Plain C pieces that kernels for an instruction set may use where they have nothing faster. */
#ifndef XL_MATRIX_PORTABLE_H
#define XL_MATRIX_PORTABLE_H

#include "kernels.h"

int64_t xl_portable_prepared_bytes(int64_t depth);
void xl_portable_prepare(const int8_t *left, int64_t stride, int rows, int64_t depth, void *prepared);
void xl_portable_reduce8(const xl_block *block, const xl_matrix_modulus8 *modulus, int8_t *residues, int64_t row);
void xl_portable_reduce16(const xl_block y[3], const xl_matrix_modulus16 *modulus, int16_t *residues, int64_t row);

extern const xl_matrix_kernels xl_portable;

#endif
