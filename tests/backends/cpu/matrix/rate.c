/* Measures the product of residue planes: rate [kernels [n [moduli [digits [tile rows [tile columns [repeats]]]]]]].
 *
 * Prints the best of many runs in 10^9 multiply-adds a second of the clock and of the threads' own time; a two-digit
 * modulus counts as four products. */
#include "matrix.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MODULI = 64 };

typedef struct {
    const xl_matrix_kernels *kernels;
    int64_t n, depth, moduli, digits, tile_rows, tile_columns;
    int8_t *left, *plane, *packed;
    xl_matrix_modulus8 base8[MODULI];
    xl_matrix_modulus16 base16[MODULI];
} workload;

static void *aligned(int64_t bytes) {
    void *memory = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    if (!memory)
        exit(1);
    memset(memory, 0, (size_t)bytes);
    return memory;
}

static void fill(int8_t *entries, int64_t count) {
    uint32_t state = 1;
    for (int64_t i = 0; i < count; ++i) {
        state = state * 1664525 + 1013904223;
        entries[i] = (int8_t)(state >> 24);
    }
}

/* Seconds that this thread has run: on a shared machine its share of the time says nothing. */
static double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double pack_all(const workload *w) {
    const int64_t plane = w->n * w->depth, packed = xl_matrix_packed_bytes(w->n, w->depth);
    const double start = omp_get_wtime();
#pragma omp parallel for schedule(static)
    for (int64_t p = 0; p < w->moduli * w->digits; ++p)
        xl_matrix_pack(w->kernels, w->plane + p * plane, 0, w->n, w->depth, w->packed + p * packed);
    return omp_get_wtime() - start;
}

/* Seconds of the clock, and through `busy` of the threads together. */
static double multiply_all(const workload *w, double *busy) {
    const int64_t plane = w->n * w->depth, packed = xl_matrix_packed_bytes(w->n, w->depth);
    const xl_matrix_term term = {w->left, w->packed, w->digits * plane, plane, w->digits * packed, packed, w->depth, 0};
    const int64_t down = (w->n + w->tile_rows - 1) / w->tile_rows;
    const int64_t across = (w->n + w->tile_columns - 1) / w->tile_columns;
    const int64_t row = (w->tile_columns + 15) / 16 * 16, tile = w->tile_rows * row;
    double start = 0, end = 0, seconds = 0;
#pragma omp parallel reduction(+ : seconds)
    {
        void *scratch = aligned(xl_matrix_scratch_bytes(w->kernels, (int)w->digits, w->tile_rows, w->tile_columns));
        void *residues = aligned(w->moduli * tile * 2);
#pragma omp barrier
#pragma omp single
        start = omp_get_wtime();
        seconds -= thread_seconds();
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t t = 0; t < down * across; ++t) {
            const int64_t i = t / across * w->tile_rows, j = t % across * w->tile_columns;
            const int64_t i_end = i + w->tile_rows < w->n ? i + w->tile_rows : w->n;
            const int64_t j_end = j + w->tile_columns < w->n ? j + w->tile_columns : w->n;
            const xl_matrix_range range = {i, i_end, j, j_end};
            if (w->digits == 1)
                xl_matrix_tile8(w->kernels, w->base8, w->moduli, &term, 1, range, residues, tile, row, scratch);
            else
                xl_matrix_tile16(w->kernels, w->base16, w->moduli, &term, 1, range, residues, tile, row, scratch);
        }
        seconds += thread_seconds();
#pragma omp barrier
#pragma omp single
        end = omp_get_wtime();
        free(scratch);
        free(residues);
    }
    *busy = seconds;
    return end - start;
}

static int64_t argument(int argc, char **argv, int index, int64_t otherwise) {
    return argc > index ? atoll(argv[index]) : otherwise;
}

int main(int argc, char **argv) {
    workload w = {.kernels = xl_matrix_select(argc > 1 && strcmp(argv[1], "best") != 0 ? argv[1] : NULL)};
    if (!w.kernels)
        return puts("these kernels do not run here"), 1;
    w.n = argument(argc, argv, 2, 1024);
    w.moduli = argument(argc, argv, 3, 22);
    w.digits = argument(argc, argv, 4, 1);
    w.tile_rows = argument(argc, argv, 5, 128);
    w.tile_columns = argument(argc, argv, 6, 128);
    const int64_t repeats = argument(argc, argv, 7, 20);
    w.depth = (w.n + 63) / 64 * 64;
    if (w.depth > 1280 && w.depth % 2048 == 0)
        w.depth += 64; /* see xl_matrix_term */
    const int64_t entries = w.moduli * w.digits * w.n * w.depth;
    w.left = aligned(entries);
    w.plane = aligned(entries);
    w.packed = aligned(w.moduli * w.digits * xl_matrix_packed_bytes(w.n, w.depth));
    fill(w.left, entries);
    fill(w.plane, entries);
    for (int p = 0; p < w.moduli; ++p) {
        xl_matrix_modulus8_set(&w.base8[p], (uint32_t)(256 - p));
        xl_matrix_modulus16_set(&w.base16[p], (uint32_t)(65280 - p));
    }
    double pack = 1e9, multiply = 1e9, busy = 1e9;
    for (int64_t r = 0; r < repeats; ++r) {
        double b;
        const double p = pack_all(&w), t = multiply_all(&w, &b);
        busy = b < busy ? b : busy;
        pack = p < pack ? p : pack;
        multiply = t < multiply ? t : multiply;
    }
    const double products = (double)w.moduli * (double)(w.digits * w.digits) * (double)w.n * (double)w.n * (double)w.n;
    printf("%s n=%ld moduli=%ld digits=%ld tile=%ldx%ld threads=%d: %.0f G mac/s (%.2f ms), %.0f a busy thread, "
           "packing %.2f ms (%.1f GB/s)\n",
        xl_matrix_name(w.kernels), (long)w.n, (long)w.moduli, (long)w.digits, (long)w.tile_rows, (long)w.tile_columns,
        omp_get_max_threads(), products / multiply / 1e9, multiply * 1e3, products / busy / 1e9, pack * 1e3,
        (double)entries / pack / 1e9);
    free(w.left);
    free(w.plane);
    free(w.packed);
    return 0;
}
