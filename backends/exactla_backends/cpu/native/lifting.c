/* Steps of p-adic lifting; see native.h. All threads take every step together, each on entries of its own:
 *
 *     x  = A**-1 r                modulo the primes, then as integers,
 *     r' = (r - A x) / P          modulo the matrix's moduli, then as integers.
 *
 * Two barriers a step: before each product, all of what a matrix is multiplied by has to be there. Vectors are the left
 * operand and the matrix, packed, is the right one, which streams through the matrix unit. */
#include "native.h"

#include <sched.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) {
    return 1;
}
static int omp_get_thread_num(void) {
    return 0;
}
static int omp_get_num_threads(void) {
    return 1;
}
#endif

enum {
    WORTH_A_THREAD = 1 << 19,
    PATIENCE = 1 << 12 /* looks at the others before the processor is left to someone else */
};

static int64_t minimum(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t padded(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* What all threads share. Vectors lie along the depth, which is that of the matrices: [moduli][columns][depth]. */
typedef struct {
    int8_t *factors[2];  /* what the matrices are multiplied by */
    int8_t *products[2];
    int8_t *residual; /* r modulo the matrix's moduli */
    int64_t *zeros;   /* exponents */
    void *whole;
    int waiting, meetings; /* threads that wait for the others, and how often all have met */
} shared;

/* Entries [begin, end) of all vectors, for a thread; begin is a multiple of XL_MATRIX_DEPTH. */
typedef struct {
    const xl_instructions *set;
    const xl_lifting *lifting;
    shared *memory;
    int64_t begin, end;
    int team; /* threads that share the work */
    char *scratch;
} share;

/* Returns once all threads have called it. A step takes some ten microseconds: OpenMP's barrier would either sleep, which
 * takes as long, or never give way to other processes that want the same cores. */
static void meet(const share *s) {
    shared *m = s->memory;
    const int meeting = __atomic_load_n(&m->meetings, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&m->waiting, 1, __ATOMIC_ACQ_REL) == s->team) {
        __atomic_store_n(&m->waiting, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&m->meetings, meeting + 1, __ATOMIC_RELEASE);
        return;
    }
    for (int looks = 0; __atomic_load_n(&m->meetings, __ATOMIC_ACQUIRE) == meeting; ++looks)
        if (looks >= PATIENCE)
            sched_yield();
}

static const xl_lifting_side *side_of(const xl_lifting *lifting, int which) {
    return which ? &lifting->matrix : &lifting->inverse;
}

static int shared_new(shared *m, const xl_lifting *lifting) {
    const int64_t vectors = lifting->columns * lifting->depth;
    const int64_t moduli[2] = {lifting->inverse.moduli, lifting->matrix.moduli};
    int8_t *at;
    m->whole = calloc(1, (size_t)((2 * moduli[0] + 3 * moduli[1]) * vectors + 8 * lifting->columns + XL_MATRIX_ALIGNMENT));
    if (!m->whole)
        return 0;
    at = (int8_t *)m->whole + (XL_MATRIX_ALIGNMENT - (uintptr_t)m->whole % XL_MATRIX_ALIGNMENT);
    for (int which = 0; which < 2; ++which) {
        m->factors[which] = at;
        m->products[which] = at + moduli[which] * vectors;
        at += 2 * moduli[which] * vectors;
    }
    m->residual = at;
    m->zeros = (int64_t *)(at + moduli[1] * vectors);
    return 1;
}

/* Residues of the thread's entries of integers [columns][size][count]. */
static int64_t spread(const share *s, const xl_residue_table *table, const uint32_t *limbs, int64_t count, int8_t *to) {
    static const int64_t limbs_format[12] = {3, 4, 32, 1, 1, 0, 32, 1, 0, 0, 0, 0};
    const xl_lifting *lifting = s->lifting;
    xl_operand x;
    const xl_planes planes = {to + s->begin, lifting->columns * lifting->depth, lifting->depth, s->end - s->begin};
    x.data = limbs + s->begin * count;
    x.rows = lifting->columns;
    x.depth = s->end - s->begin;
    x.row_stride = 4 * count * lifting->size;
    x.depth_stride = 4 * count;
    x.limb_stride = 4;
    x.limbs = count;
    x.format = limbs_format;
    x.exponents = s->memory->zeros;
    x.bits = 0;
    x.checks = 0;
    return s->set->elements->residues8(&x, table, &planes, 0, lifting->columns);
}

static void multiply(const share *s, int which) {
    const xl_lifting *lifting = s->lifting;
    const xl_lifting_side *side = side_of(lifting, which);
    const int64_t vectors = lifting->columns * lifting->depth;
    const xl_matrix_term term = {.left = s->memory->factors[which],
                                 .right = side->packed,
                                 .left_modulus = vectors,
                                 .right_modulus = xl_matrix_packed_bytes(lifting->size, lifting->depth),
                                 .depth = lifting->depth};
    const xl_matrix_range range = {0, lifting->columns, s->begin, s->end};
    xl_matrix_tile8(s->set->matrix, side->constants, side->moduli, &term, 1, range,
                    s->memory->products[which] + s->begin, vectors, lifting->depth, s->scratch);
}

/* Integers of the thread's entries of residues. */
static int64_t gather(const share *s, const int8_t *residues, const xl_crt_table *table, uint32_t *limbs) {
    const int64_t depth = s->lifting->depth, columns = s->lifting->columns;
    const xl_results from = {residues + s->begin, 1, columns * depth, depth, columns, s->end - s->begin};
    int64_t failed = 0;
    for (int64_t j = 0; j < columns; ++j) /* `integers` counts entries as if there were no others */
        failed |= s->set->elements->integers(
            &from, table, limbs + (j * s->lifting->size + s->begin - j * from.columns) * table->limbs, 1, table->limbs, j,
            j + 1);
    return failed;
}

/* residual = (residual - A x) / P modulo the matrix's moduli. */
static void subtract(const share *s) {
    const xl_lifting *lifting = s->lifting;
    for (int64_t q = 0; q < lifting->matrix.moduli; ++q)
        for (int64_t j = 0; j < lifting->columns; ++j) {
            const int64_t offset = (q * lifting->columns + j) * lifting->depth + s->begin;
            s->set->elements->scaled_difference(s->memory->residual + offset, s->memory->products[1] + offset,
                                                lifting->reciprocals[q], s->end - s->begin,
                                                lifting->matrix.constants[q].modulus);
        }
}

static int64_t step(const share *s, uint32_t *digits) {
    const xl_lifting *lifting = s->lifting;
    const xl_lifting_side *inverse = &lifting->inverse, *matrix = &lifting->matrix;
    int64_t failed = spread(s, inverse->residues, lifting->residual, matrix->crt->limbs, s->memory->factors[0]);
    meet(s);
    multiply(s, 0);
    failed |= gather(s, s->memory->products[0], inverse->crt, digits);
    failed |= spread(s, matrix->residues, digits, inverse->crt->limbs, s->memory->factors[1]);
    meet(s);
    multiply(s, 1);
    subtract(s);
    return failed | gather(s, s->memory->residual, matrix->crt, lifting->residual);
}

static int64_t run(const share *s) {
    const xl_lifting *lifting = s->lifting;
    const int64_t digits = lifting->size * lifting->columns * lifting->inverse.crt->limbs;
    int64_t failed =
        spread(s, lifting->matrix.residues, lifting->residual, lifting->matrix.crt->limbs, s->memory->residual);
    for (int64_t i = 0; i < lifting->steps; ++i)
        failed |= step(s, lifting->digits + i * digits);
    return failed;
}

int64_t xl_native_lift(const xl_instructions *set, const xl_lifting *lifting, int64_t threads) {
    const int64_t available = threads > 0 ? threads : omp_get_max_threads(), size = lifting->size;
    const int64_t blocks = padded(size, XL_MATRIX_DEPTH) / XL_MATRIX_DEPTH;
    const int64_t work = size * size * lifting->columns * lifting->inverse.moduli;
    const int team = work < WORTH_A_THREAD ? 1 : (int)minimum(available, blocks);
    const int64_t bytes = xl_matrix_scratch_bytes(set->matrix, 1, padded(lifting->columns, 32), padded(size, 32));
    shared memory = {.waiting = 0};
    char *scratch;
    int64_t failed = 0;
    if (!shared_new(&memory, lifting))
        return XL_OUT_OF_MEMORY;
    scratch = malloc((size_t)(team * padded(bytes, XL_MATRIX_ALIGNMENT) + XL_MATRIX_ALIGNMENT));
    if (scratch) {
        char *aligned = scratch + (XL_MATRIX_ALIGNMENT - (uintptr_t)scratch % XL_MATRIX_ALIGNMENT);
#pragma omp parallel num_threads(team) if (team > 1)
        {
            /* there may be fewer threads than were asked for */
            const int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
            const share mine = {set,
                                lifting,
                                &memory,
                                blocks * me / all * XL_MATRIX_DEPTH,
                                minimum(blocks * (me + 1) / all * XL_MATRIX_DEPTH, size),
                                (int)all,
                                aligned + me * padded(bytes, XL_MATRIX_ALIGNMENT)};
            if (run(&mine) < 0) {
#pragma omp atomic write
                failed = XL_OUT_OF_MEMORY;
            }
        }
        free(scratch);
    }
    free(memory.whole);
    return scratch ? failed : XL_OUT_OF_MEMORY;
}
