/* Products of matrices of double-double, triple-double and quad-double numbers by three loops: what a user would write.
 *
 * Numbers are planes of components, [count][n][n], and a multiply-and-add has no branch. It has to be compiled without
 * contraction, and products are split by fma. */
#include <omp.h>
#include <stddef.h>

#define MOST 4

static inline void two_sum(double a, double b, double *s, double *e) {
    const double sum = a + b, back = sum - a;
    *e = (a - (sum - back)) + (b - back);
    *s = sum;
}

static inline void quick_two_sum(double a, double b, double *s, double *e) {
    const double sum = a + b;
    *e = b - (sum - a);
    *s = sum;
}

/* c += a * b: terms of one order of magnitude are summed without error, and their errors join the next order. */
static inline __attribute__((always_inline)) void multiply_add(const double *a, const double *b, double *c, int count) {
    double carried[16], next[16];
    int carries = 0;
#pragma GCC unroll 16
    for (int order = 0; order < count; ++order) {
        const int last = order + 1 == count;
        int nexts = 0;
        double total = c[order], error;
#pragma GCC unroll 16
        for (int i = 0; i < carries; ++i) {
            if (last) {
                total += carried[i];
            } else {
                two_sum(total, carried[i], &total, &error);
                next[nexts++] = error;
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i <= order; ++i) {
            const double product = a[i] * b[order - i];
            if (last) {
                total += product;
            } else {
                two_sum(total, product, &total, &error);
                next[nexts++] = error;
                next[nexts++] = __builtin_fma(a[i], b[order - i], -product);
            }
        }
        c[order] = total;
        carries = nexts;
#pragma GCC unroll 16
        for (int i = 0; i < nexts; ++i)
            carried[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = count - 2; i >= 0; --i)
        quick_two_sum(c[i], c[i + 1], &c[i], &c[i + 1]);
#pragma GCC unroll 16
    for (int i = 0; i + 1 < count; ++i)
        quick_two_sum(c[i], c[i + 1], &c[i], &c[i + 1]);
}

static inline __attribute__((always_inline)) void rows(const double *restrict a, const double *restrict b,
                                                       double *restrict c, ptrdiff_t n, int count) {
    const ptrdiff_t plane = n * n;
#pragma omp for schedule(static)
    for (ptrdiff_t i = 0; i < n; ++i)
        for (ptrdiff_t k = 0; k < n; ++k) {
            double left[MOST];
            for (int p = 0; p < count; ++p)
                left[p] = a[p * plane + i * n + k];
#pragma omp simd
            for (ptrdiff_t j = 0; j < n; ++j) {
                double right[MOST], sum[MOST];
                for (int p = 0; p < count; ++p) {
                    right[p] = b[p * plane + k * n + j];
                    sum[p] = c[p * plane + i * n + j];
                }
                multiply_add(left, right, sum, count);
                for (int p = 0; p < count; ++p)
                    c[p * plane + i * n + j] = sum[p];
            }
        }
}

/* c = a b for n x n matrices of numbers of 2, 3 or 4 components; c holds zeros. */
void multiply(const double *a, const double *b, double *c, int n, int count, int threads) {
#pragma omp parallel num_threads(threads)
    {
        if (count == 2)
            rows(a, b, c, n, 2);
        else if (count == 3)
            rows(a, b, c, n, 3);
        else
            rows(a, b, c, n, 4);
    }
}
