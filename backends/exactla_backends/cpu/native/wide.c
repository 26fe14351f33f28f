/* Long integers to residues modulo hundreds of numbers and back, and divided by one number; see native.h. */
#include "division.h"
#include "sharing.h"

/* A row of entries cut into strips, row by row. */
typedef struct {
    int64_t width, per_row, count;
} strips;

typedef struct {
    int64_t row, first, count;
} place;

static strips cut(int64_t rows, int64_t columns, int64_t threads) {
    strips s = {XL_STRIP, 0, 0};
    while (s.width > XL_WIDE_LANES && rows * divide_up(columns, s.width) < 2 * threads)
        s.width /= 2;
    s.per_row = divide_up(columns, s.width);
    s.count = rows * s.per_row;
    return s;
}

static place place_of(const strips *s, int64_t i, int64_t columns) {
    const int64_t first = i % s->per_row * s->width;
    return (place){i / s->per_row, first, minimum(s->width, columns - first)};
}

static uint64_t *entry(const xl_long_integers *x, int64_t row, int64_t column) {
    return x->limbs + row * x->row_stride + column * x->entry_stride;
}

static xl_strip strip_of(const xl_long_integers *x, const place *at) {
    return (xl_strip){entry(x, at->row, at->first), x->entry_stride, x->count, at->count};
}

typedef struct {
    const xl_wide_base *base;
    const xl_long_integers *x, *to;
    const xl_wide_places *places;
    const xl_wide_sums *sums;
    const xl_division *division;
} wide_job;

typedef void (*work_on_strip)(const wide_job *job, xl_strip_room *room, const place *at);

/* Does the strips of `over` on as many threads as they are worth, each with memory for tables so deep and such integers. */
static int64_t for_strips(const xl_instructions *set, const wide_job *job, work_on_strip work,
                          const xl_long_integers *over, int64_t amount, int64_t depth, int64_t limbs, int64_t threads) {
    const strips s = cut(over->rows, over->columns, xl_threads(threads));
    const int team = xl_team(threads, over->rows * over->columns * amount, s.count);
    int64_t failed = 0;
    (void)team;
#pragma omp parallel num_threads(team) if (team > 1)
    {
        xl_strip_room room;
        const int ready = xl_strip_room_new(&room, set, minimum(s.width, over->columns), depth, limbs);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < s.count; ++i) {
            const place at = place_of(&s, i, over->columns);
            if (ready) {
                work(job, &room, &at);
            } else {
#pragma omp atomic write
                failed = XL_OUT_OF_MEMORY;
            }
        }
        xl_strip_room_free(&room);
    }
    return failed;
}

/* ---- into residues ------------------------------------------------------------------------------------------------ */

typedef struct {
    const wide_job *job;
    const xl_strip_room *room;
    const place *at;
} placement;

static void place_residues(const void *context, int64_t p, int16_t *residues) {
    const placement *to = context;
    const xl_wide_places *places = to->job->places;
    const int64_t offset = to->at->row * places->row_stride + to->at->first;
    if (places->residues) {
        memcpy(places->residues + p * places->plane_stride + offset, residues, (size_t)(2 * to->at->count));
    } else {
        int8_t *high = places->planes + 2 * p * places->plane_stride + offset;
        to->room->set->elements->wide_split(residues, to->at->count, high, high + places->plane_stride);
    }
}

static void residues_of_strip(const wide_job *job, xl_strip_room *room, const place *at) {
    const xl_strip strip = strip_of(job->x, at);
    const placement to = {job, room, at};
    xl_strip_residues(room, job->base, &strip, place_residues, &to);
}

int64_t xl_native_wide_residues(const xl_instructions *set, const xl_wide_base *base, const xl_long_integers *x,
                                const xl_wide_places *places, int64_t threads) {
    const wide_job job = {.base = base, .x = x, .places = places};
    return for_strips(set, &job, residues_of_strip, x, base->moduli, xl_octets_depth(x->count), 0, threads);
}

/* ---- out of residues ---------------------------------------------------------------------------------------------- */

static void integers_of_strip(const wide_job *job, xl_strip_room *room, const place *at) {
    const xl_wide_sums *from = job->sums;
    const xl_long_integers *to = job->to;
    const xl_strip_sums sums = {.sums = from->sums + at->row * from->sums_row + at->first,
                                .sums_plane = from->sums_plane};
    int32_t quotients[XL_STRIP];
    xl_strip_weigh(room, job->base, &sums, at->count, quotients);
    xl_strip_limbs(room, job->base, at->count, quotients, 0, to->count);
    for (int64_t i = 0; i < at->count; ++i)
        xl_strip_entry(room, i, entry(to, at->row, at->first + i), to->count);
}

int64_t xl_native_wide_integers(const xl_instructions *set, const xl_wide_base *base, const xl_wide_sums *sums,
                                const xl_long_integers *to, int64_t threads) {
    const wide_job job = {.base = base, .to = to, .sums = sums};
    return for_strips(set, &job, integers_of_strip, to, base->moduli, base->cofactors_depth, to->count, threads);
}

/* ---- division ----------------------------------------------------------------------------------------------------- */

static void divide_strip(const wide_job *job, xl_strip_room *room, const place *at) {
    const xl_strip strip = strip_of(job->x, at);
    uint64_t *to = entry(job->to, at->row, at->first);
    uint8_t doubtful[XL_STRIP];
    if (xl_strip_divide(room, job->division, &strip, to, job->to->entry_stride, doubtful))
        xl_strip_divide_again(room, job->division, &strip, to, job->to->entry_stride, doubtful);
}

int64_t xl_native_divide(const xl_instructions *set, const xl_long_integers *x, const uint64_t *divisor,
                         int64_t divisor_count, const xl_long_integers *to, int64_t threads) {
    xl_division division;
    const wide_job job = {.x = x, .to = to, .division = &division};
    int64_t failed;
    if (!xl_division_new(&division, divisor_count, to->count))
        return XL_OUT_OF_MEMORY;
    xl_division_by(&division, divisor);
    failed = for_strips(set, &job, divide_strip, x, division.limbs * 16, xl_division_depth(&division),
                        xl_division_limbs(&division, x->count), threads);
    xl_division_free(&division);
    return failed;
}
