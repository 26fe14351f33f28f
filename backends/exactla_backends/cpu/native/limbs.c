/* Integers of many limbs, entry by entry; see native.h. */
#include "limbs.h"
#include "sharing.h"

enum { ENTRIES = 64 };

typedef struct {
    const xl_long_integers *x, *to;
    const int64_t *shifts;
    int64_t shift_step, precision;
    int64_t *lengths;
} entries_job;

static uint64_t *entry(const xl_long_integers *x, int64_t i) {
    return x->limbs + i / x->columns * x->row_stride + i % x->columns * x->entry_stride;
}

static int64_t for_entries(const entries_job *job, xl_piece piece, int64_t threads) {
    const int64_t entries = job->x->rows * job->x->columns, pieces = divide_up(entries, ENTRIES);
    return xl_for_each(xl_team(threads, entries * job->x->count, pieces), pieces, piece, job);
}

static int64_t scale_piece(const void *context, int64_t piece) {
    const entries_job *job = context;
    const int64_t end = minimum((piece + 1) * ENTRIES, job->x->rows * job->x->columns);
    for (int64_t i = piece * ENTRIES; i < end; ++i)
        round_limbs(entry(job->x, i), job->x->count, job->shifts[i * job->shift_step], entry(job->to, i),
                    job->to->count);
    return 0;
}

int64_t xl_native_scale(const xl_instructions *set, const xl_long_integers *x, const int64_t *shifts,
                        int64_t shift_step, const xl_long_integers *to, int64_t threads) {
    const entries_job job = {.x = x, .to = to, .shifts = shifts, .shift_step = shift_step};
    (void)set;
    return for_entries(&job, scale_piece, threads);
}

static int64_t leading_piece(const void *context, int64_t piece) {
    const entries_job *job = context;
    const int64_t end = minimum((piece + 1) * ENTRIES, job->x->rows * job->x->columns), count = job->x->count;
    uint64_t *kept = malloc((size_t)count * sizeof *kept);
    if (!kept)
        return XL_OUT_OF_MEMORY;
    for (int64_t i = piece * ENTRIES; i < end; ++i) {
        uint64_t *x = entry(job->x, i);
        const int64_t dropped = length_of(x, count) - job->precision;
        if (dropped > 0) {
            round_limbs(x, count, -dropped, kept, count);
            shift_limbs(kept, count, dropped, x, count);
        }
    }
    free(kept);
    return 0;
}

int64_t xl_native_round_leading(const xl_instructions *set, const xl_long_integers *x, int64_t precision,
                                int64_t threads) {
    const entries_job job = {.x = x, .precision = precision};
    (void)set;
    return for_entries(&job, leading_piece, threads);
}

static int64_t lengths_piece(const void *context, int64_t piece) {
    const entries_job *job = context;
    const int64_t end = minimum((piece + 1) * ENTRIES, job->x->rows * job->x->columns);
    for (int64_t i = piece * ENTRIES; i < end; ++i)
        job->lengths[i] = length_of(entry(job->x, i), job->x->count);
    return 0;
}

int64_t xl_native_bit_lengths(const xl_instructions *set, const xl_long_integers *x, int64_t *lengths, int64_t threads) {
    const entries_job job = {.x = x, .lengths = lengths};
    (void)set;
    return for_entries(&job, lengths_piece, threads);
}

int64_t xl_native_largest(const xl_instructions *set, const xl_long_integers *x, const int64_t *order, int64_t count) {
    int64_t best = 0;
    (void)set;
    for (int64_t k = 1; k < count; ++k)
        if (compare_magnitudes(entry(x, order[k]), entry(x, order[best]), x->count) > 0)
            best = k;
    return best;
}
