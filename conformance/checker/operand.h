/* A matrix of an operand by its lines, as the kernels take it, and what a scan of it finds. */
#ifndef CHECKER_OPERAND_H
#define CHECKER_OPERAND_H

#include "layout.h"
#include "xl_host.h"

enum { MAX_PARTS = 2 };

/* Matrices of one shape that share the exponents of their lines: the parts of complex numbers, or the two numbers that
 * intervals are given by. Entries are integers times 2**exponent of their line, of magnitude below 2**bits. */
typedef struct {
    int parts;
    xl_operand part[MAX_PARTS];
    int64_t bits;
    int64_t nonfinite; /* entries that are a NaN or an infinity, which count as 0 */
} operand;

/* Matrix number `matrix` of arrays of one shape, one or two, scanned; memory for exponents is from `memory`. */
operand operand_scan(const array *arrays, int count, const side_layout *layout, int64_t matrix, pool *memory);

#endif
