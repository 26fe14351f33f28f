/* The kernels under test, of the plain C target, and what they return. */
#ifndef CHECKER_PLAIN_KERNELS_H
#define CHECKER_PLAIN_KERNELS_H

#include "matrix.h"
#include "report.h"
#include "xl_host.h"

extern const xl_matrix_kernels xl_matrix_portable;

/* What a kernel counted; the checker ends where it had no memory. */
static inline int64_t kernel_result(int64_t returned) {
    if (returned == XL_OUT_OF_MEMORY)
        give_up("a kernel had no memory");
    return returned;
}

#endif
