/* The kernels of this build, and which of them run here. */
#include "portable.h"

#include <string.h>

#if defined(__x86_64__) && defined(__linux__)
extern const xl_matrix_kernels xl_amx;
#endif

/* The fastest first. */
static const xl_matrix_kernels *const all[] = {
#if defined(__x86_64__) && defined(__linux__)
    &xl_amx,
#endif
    &xl_portable,
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
