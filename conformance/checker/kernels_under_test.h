/* The kernels under test, and what they return: those of XL_TARGET c, with the matrix kernels CHECKER_MATRIX. */
#ifndef CHECKER_KERNELS_UNDER_TEST_H
#define CHECKER_KERNELS_UNDER_TEST_H

#include "matrix.h"
#include "report.h"
#include "xl_host.h"

#ifndef CHECKER_MATRIX
#define CHECKER_MATRIX xl_matrix_portable
#endif

extern const xl_matrix_kernels CHECKER_MATRIX;

/* What a kernel counted; the checker ends where it had no memory. */
static inline int64_t kernel_result(int64_t returned) {
    if (returned == XL_OUT_OF_MEMORY)
        give_up("a kernel had no memory");
    return returned;
}

#endif
