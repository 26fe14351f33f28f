/* The kernels of this build, and which of them run here. */
#include "kernels.h"

#include <string.h>

extern const xl_matrix_kernels xl_matrix_amx, xl_matrix_avx512_vnni, xl_matrix_avx_vnni, xl_matrix_avx2,
    xl_matrix_neon_i8mm, xl_matrix_neon_dotprod, xl_matrix_portable;

/* The fastest first. */
static const xl_matrix_kernels *const all[] = {
#if defined(__x86_64__)
#    if defined(__linux__)
    &xl_matrix_amx,
#    endif
    &xl_matrix_avx512_vnni,
    &xl_matrix_avx_vnni,
    &xl_matrix_avx2,
#endif
#if defined(__aarch64__) && defined(__linux__) && !defined(__ARM_BIG_ENDIAN)
    &xl_matrix_neon_i8mm,
    &xl_matrix_neon_dotprod,
#endif
    &xl_matrix_portable,
};

const xl_matrix_kernels *xl_matrix_listed(int index) {
    return index >= 0 && index < (int)(sizeof all / sizeof *all) ? all[index] : NULL;
}

const char *xl_matrix_name(const xl_matrix_kernels *kernels) {
    return kernels->name;
}

const xl_matrix_kernels *xl_matrix_select(const char *name) {
    for (int i = 0; xl_matrix_listed(i); ++i)
        if ((!name || strcmp(name, all[i]->name) == 0) && all[i]->supported())
            return all[i];
    return NULL;
}
