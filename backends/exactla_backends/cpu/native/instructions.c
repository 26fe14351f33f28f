/* The instruction sets of this build: which elementwise kernels go with which matrix kernels. */
#include "native.h"

enum { MOST = 16 };

extern const xl_kernel_set xl_kernel_set_c;

#ifdef XL_HAS_AVX2
extern const xl_kernel_set xl_kernel_set_avx2;

/* What -march=x86-64-v3 lets the compiler use. */
static int runs_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
}
#endif

#ifdef XL_HAS_AVX512
extern const xl_kernel_set xl_kernel_set_avx512;

/* What the options of the file in CMakeLists.txt let the compiler use. */
static int runs_avx512(void) {
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}
#endif

static int is_one_of(const char *name, const char *a, const char *b) {
    return strcmp(name, a) == 0 || strcmp(name, b) == 0;
}

/* Wide vectors only beside wide matrix kernels, so that a forced set is all that runs. */
static const xl_kernel_set *elements_for(const char *name) {
#ifdef XL_HAS_AVX512
    if (is_one_of(name, "amx", "avx512_vnni") && runs_avx512())
        return &xl_kernel_set_avx512;
#endif
#ifdef XL_HAS_AVX2
    if (!is_one_of(name, "portable", "") && runs_avx2())
        return &xl_kernel_set_avx2;
#endif
    (void)name;
    return &xl_kernel_set_c;
}

static xl_instructions found[MOST];

/* When the library is loaded, so that threads only ever read the table. */
__attribute__((constructor)) static void fill(void) {
#if defined(__x86_64__)
    __builtin_cpu_init(); /* this may run before the compiler's own constructors */
#endif
    for (int i = 0; i < MOST && xl_matrix_listed(i); ++i) {
        found[i].name = xl_matrix_name(xl_matrix_listed(i));
        found[i].matrix = xl_matrix_listed(i);
        found[i].elements = elements_for(found[i].name);
    }
}

const char *xl_native_listed(int64_t index, int64_t *runs_here) {
    const xl_matrix_kernels *kernels = xl_matrix_listed((int)index);
    if (!kernels)
        return NULL;
    *runs_here = xl_matrix_select(xl_matrix_name(kernels)) != NULL;
    return xl_matrix_name(kernels);
}

const xl_instructions *xl_native_select(const char *name) {
    const xl_matrix_kernels *kernels = xl_matrix_select(name);
    for (int i = 0; kernels && i < MOST; ++i)
        if (found[i].matrix == kernels)
            return &found[i];
    return NULL;
}

int64_t xl_native_check(const xl_instructions *set) {
    return xl_matrix_check(set->matrix);
}
