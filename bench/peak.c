/* What bounds a product of bytes on this CPU: prints, a line each, the most multiply-adds of bytes a second that its
 * units do in registers, and the octets a second that memory is copied with, read and written ones together. All
 * threads of OpenMP work at once. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 9, STEPS = 1 << 20, COPIED = 1 << 26 };

/* Does STEPS steps. */
typedef void (*loop)(void);

/* Steps a second of all threads together, the best of some runs. */
static double rate(loop run) {
    double best = 0;
    for (int r = 0; r < REPEATS; ++r) {
        double start = 0, end = 0;
#pragma omp parallel
        {
#pragma omp barrier
#pragma omp master
            start = omp_get_wtime();
#pragma omp barrier
            run();
#pragma omp barrier
#pragma omp master
            end = omp_get_wtime();
        }
        const double found = (double)STEPS * omp_get_max_threads() / (end - start);
        best = found > best ? found : best;
    }
    return best;
}

#if defined(__x86_64__) && defined(__linux__)
#    include <immintrin.h>
#    include <sys/syscall.h>
#    include <unistd.h>

enum { TILE_SUMS = 4, TILE_PRODUCTS = 16 * 16 * 64, VECTOR_SUMS = 12, VECTOR_PRODUCTS = 64 };

__attribute__((target("amx-tile,amx-int8"))) static void tiles(void) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } configuration = {.palette = 1};
    for (int t = 0; t < 8; ++t) {
        configuration.rows[t] = 16;
        configuration.row_bytes[t] = 64;
    }
    __asm__ volatile("" : : "r"(&configuration) : "memory");
    _tile_loadconfig(&configuration);
    for (int i = 0; i < STEPS; i += TILE_SUMS) {
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    _tile_release();
}

__attribute__((target("avx512f,avx512vnni"))) static void vectors(void) {
    __m512i sums[VECTOR_SUMS], a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(2);
#    pragma GCC unroll 12
    for (int s = 0; s < VECTOR_SUMS; ++s)
        sums[s] = _mm512_setzero_si512();
    for (int i = 0; i < STEPS; i += VECTOR_SUMS)
#    pragma GCC unroll 12
        for (int s = 0; s < VECTOR_SUMS; ++s) {
            sums[s] = _mm512_dpbusd_epi32(sums[s], a, b);
            __asm__ volatile("" : "+v"(sums[s]));
        }
}

static void print_units(void) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    if (__builtin_cpu_supports("amx-int8") && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0)
        printf("amx %.4g\n", TILE_PRODUCTS * rate(tiles));
    if (__builtin_cpu_supports("avx512vnni"))
        printf("avx512_vnni %.4g\n", VECTOR_PRODUCTS * rate(vectors));
}
#else
static void print_units(void) {
}
#endif

static void print_memory(void) {
    double best = 0;
    for (int r = 0; r < REPEATS; ++r) {
        double start = 0, end = 0;
#pragma omp parallel
        {
            char *from = malloc(COPIED), *to = malloc(COPIED);
            if (!from || !to)
                exit(1);
            memset(from, 1, COPIED);
            memset(to, 2, COPIED);
#pragma omp barrier
#pragma omp master
            start = omp_get_wtime();
#pragma omp barrier
            memcpy(to, from, COPIED);
            __asm__ volatile("" : : "r"(to) : "memory");
#pragma omp barrier
#pragma omp master
            end = omp_get_wtime();
            free(from);
            free(to);
        }
        const double found = 2.0 * COPIED * omp_get_max_threads() / (end - start);
        best = found > best ? found : best;
    }
    printf("memory %.4g\n", best);
}

int main(void) {
    print_units();
    print_memory();
    return 0;
}
