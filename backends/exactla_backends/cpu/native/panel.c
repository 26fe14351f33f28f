/* Columns of L and rows of U of an open block, from their sums in residues to entries and residues of them; see native.h.
 *
 * Columns follow each other, so one parallel region does all of them: each thread keeps the strips of rows that it began
 * with. Rows of U beside the block depend on rows above them only, column by column, so that a strip of columns is done
 * from its first row to its last by one thread. */
#include "division.h"
#include "limbs.h"
#include "sharing.h"

/* Sums are made from a limb on, up to 2**24 of whose units they are off, where that is enough to round them. */
enum {
    ROUNDING_GUARD = 90,  /* bits below the point of an entry of U */
    DIVISION_GUARD = 104, /* bits of a sum that are left out below the last one of the pivot that it is divided by */
    LIMB = 64
};

typedef struct {
    const xl_instructions *set;
    const xl_panel *panel;
    int64_t count;        /* limbs of a sum */
    int64_t width, pieces; /* strips */
    /* residues of entries whose products with a vector are added, [which][moduli][width of the block] */
    int16_t *factors;
    /* of columns only */
    int16_t *rest;        /* [moduli][XL_STRIP]: sums of the row of a pivot */
    uint64_t *found;      /* [rows][count]: s_ij of a column, from limb `first` on */
    int64_t first;
    uint8_t *taken;       /* [rows]: whether a row holds a pivot */
    xl_division division;
    int64_t done;         /* columns */
    int64_t bits, next;   /* of the last pivot, and `first` for the column after it */
    uint64_t *work;       /* an entry of U and a limb */
    int64_t unsure;       /* whether the next one has to be made from limb 0 on */
    int64_t lost;         /* whether it has no pivot */
    void *whole;
} panel_job;

static int64_t rows_of(const panel_job *job) {
    return job->panel->factors->rows - job->panel->start;
}

static int64_t block_of(const panel_job *job) {
    return job->panel->stop - job->panel->start;
}

static uint64_t *entry(const xl_long_integers *x, int64_t row, int64_t column) {
    return x->limbs + row * x->row_stride + column * x->entry_stride;
}

static int16_t *factor_of(const panel_job *job, int64_t which, int64_t p, int64_t k) {
    return job->factors + (which * job->panel->factors->moduli + p) * block_of(job) + k;
}

static int16_t *lower_of(const panel_job *job, int64_t k, int64_t row) {
    return job->panel->factors->panel_lower + k * job->panel->factors->lower_stride + row;
}

static int16_t *upper_of(const panel_job *job, int64_t k, int64_t column) {
    return job->panel->factors->panel_upper + k * job->panel->factors->upper_stride + column;
}

static int16_t *sums_of(const panel_job *job, int64_t which, int64_t place) {
    return job->panel->factors->sums + which * job->panel->factors->sums_stride + place;
}

static uint64_t *sum_of(const panel_job *job, int64_t row) {
    return job->found + row * job->count;
}

static int room_new(const panel_job *job, xl_strip_room *room) {
    const xl_panel *panel = job->panel;
    const xl_division sizes = job->division;
    const int64_t entry_depth = xl_octets_depth(maximum(panel->lower_entries->count, panel->upper_entries->count));
    const int64_t depth = maximum(panel->sums->cofactors_depth, maximum(entry_depth, xl_division_depth(&sizes)));
    const int64_t limbs = maximum(job->count, panel->upper_entries->count) + 1;
    return xl_strip_room_new(room, job->set, XL_STRIP, depth, xl_division_limbs(&sizes, limbs));
}

/* Counts what a thread of a team took. */
static void count_time(const panel_job *job, const xl_strip_room *room, int team) {
    for (int64_t i = 0; i < XL_PANEL_PARTS; ++i) {
        const int64_t share = room->nanoseconds[i] / team;
#pragma omp atomic
        job->panel->nanoseconds[i] += share;
    }
}

/* ---- rows of U ---------------------------------------------------------------------------------------------------- */

/* Entries of row start + k of U in consecutive columns. */
typedef struct {
    const panel_job *job;
    int64_t k, column, entries;
} row_strip;

/* Ensures: to = RN(sum / 2**precision) for a sum from limb `first` on; returns whether that is in doubt. */
static int round_sum(const xl_panel *panel, const uint64_t *sum, int64_t count, int64_t first, uint64_t *to,
                     uint64_t *work) {
    const int64_t shift = panel->precision - LIMB * first, limbs = panel->upper_entries->count;
    if (first > 0) {
        shift_limbs(sum, count, LIMB - shift, work, limbs + 1);
        return round_fraction(work, 1, to, limbs);
    }
    round_limbs(sum, count, -shift, to, limbs);
    return 0;
}

/* Ensures: entries of U from limbs `first` on of their sums; returns whether rounding is in doubt. */
static int round_row(xl_strip_room *room, const row_strip *s, const int32_t *quotients, int64_t row, int64_t first) {
    const xl_panel *panel = s->job->panel;
    const xl_long_integers *to = panel->upper_entries;
    const int64_t count = s->job->count - first, shift = panel->precision - LIMB * first;
    int doubtful = 0;
    xl_strip_limbs(room, panel->sums, s->entries, quotients, first, count);
    for (int64_t i = 0; i < s->entries; ++i) {
        xl_strip_entry(room, i, room->first, count);
        subtract_from(entry(panel->matrix, row, s->column + i), panel->matrix->count, shift, room->first, room->second,
                      count);
        doubtful |= round_sum(panel, room->second, count, first, entry(to, s->k, s->column + i), room->first);
    }
    return doubtful;
}

static void place_row(const void *context, int64_t p, int16_t *residues) {
    const row_strip *s = context;
    const xl_elimination *e = s->job->panel->factors;
    memcpy(upper_of(s->job, p * e->block + s->k, s->column), residues, (size_t)(2 * s->entries));
}

/* The same, and as factors of the columns. */
static void place_row_and_factors(const void *context, int64_t p, int16_t *residues) {
    const row_strip *s = context;
    place_row(context, p, residues);
    for (int64_t i = 0; i < s->entries; ++i)
        *factor_of(s->job, s->column + i - s->job->panel->start, p, s->k) = residues[i];
}

static void finish_row(xl_strip_room *room, const row_strip *s, const xl_strip_sums *sums, int64_t row,
                       xl_place_residues place) {
    const xl_panel *panel = s->job->panel;
    const xl_long_integers *to = panel->upper_entries;
    const int64_t first = maximum(0, panel->precision - ROUNDING_GUARD) / LIMB;
    const xl_strip found = {entry(to, s->k, s->column), to->entry_stride, to->count, s->entries};
    int32_t quotients[XL_STRIP];
    xl_strip_weigh(room, panel->sums, sums, s->entries, quotients);
    if (round_row(room, s, quotients, row, first))
        round_row(room, s, quotients, row, 0);
    xl_strip_residues(room, panel->upper, &found, place, s);
}

/* All rows of the block for a strip of columns. */
static void finish_rows(const panel_job *job, xl_strip_room *room, int64_t piece) {
    const xl_panel *panel = job->panel;
    const xl_elimination *e = panel->factors;
    const int64_t first = piece * job->width, columns = e->columns - panel->stop;
    for (int64_t k = 0; k < block_of(job); ++k) {
        const row_strip s = {job, k, panel->stop + first, minimum(job->width, columns - first)};
        const xl_strip_sums sums = {
            .sums = sums_of(job, k, first),
            .sums_plane = e->block * e->sums_stride,
            .vectors = upper_of(job, 0, s.column),
            .vectors_plane = e->block * e->upper_stride,
            .vectors_step = e->upper_stride,
            .factors = factor_of(job, k, 0, 0),
            .factors_plane = block_of(job),
            .factors_step = 1,
            .terms = k,
        };
        finish_row(room, &s, &sums, panel->start + k, place_row);
    }
}

static void gather_lower(const panel_job *job) {
    const xl_elimination *e = job->panel->factors;
    for (int64_t p = 0; p < e->moduli; ++p)
        for (int64_t k = 0; k < block_of(job); ++k)
            for (int64_t i = k + 1; i < block_of(job); ++i)
                *factor_of(job, i, p, k) = *lower_of(job, p * e->block + k, i);
}

int64_t xl_native_panel_rows(const xl_instructions *set, const xl_panel *panel, int64_t threads) {
    const xl_elimination *e = panel->factors;
    const int64_t columns = e->columns - panel->stop, block = panel->stop - panel->start;
    panel_job job = {.set = set, .panel = panel, .count = panel->sums->octets / 8};
    int64_t failed = 0;
    int team;
    if (columns == 0)
        return 0;
    job.width = xl_strip_width(columns, xl_threads(threads));
    job.pieces = divide_up(columns, job.width);
    team = xl_team(threads, columns * block * e->moduli, job.pieces);
    job.factors = job.whole = malloc((size_t)(2 * block * e->moduli * block));
    if (!job.whole)
        return XL_OUT_OF_MEMORY;
    gather_lower(&job);
    (void)team;
#pragma omp parallel num_threads(team) if (team > 1)
    {
        xl_strip_room room;
        const int ready = room_new(&job, &room);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < job.pieces; ++i)
            if (ready) {
                finish_rows(&job, &room, i);
            } else {
#pragma omp atomic write
                failed = XL_OUT_OF_MEMORY;
            }
        if (ready)
            count_time(&job, &room, team);
        xl_strip_room_free(&room);
    }
    free(job.whole);
    return failed;
}

/* ---- columns of L ------------------------------------------------------------------------------------------------- */

/* s_ij of the next column in a strip of rows, from a limb on, and zeros below it. */
static void sum_column(const panel_job *job, xl_strip_room *room, int64_t piece, int64_t from) {
    const xl_panel *panel = job->panel;
    const xl_elimination *e = panel->factors;
    const int64_t first = piece * job->width, entries = minimum(job->width, rows_of(job) - first), k = job->done;
    const xl_strip_sums sums = {
        .sums = sums_of(job, k, first),
        .sums_plane = e->block * e->sums_stride,
        .vectors = lower_of(job, 0, first),
        .vectors_plane = e->block * e->lower_stride,
        .vectors_step = e->lower_stride,
        .factors = factor_of(job, k, 0, 0),
        .factors_plane = block_of(job),
        .factors_step = 1,
        .terms = k,
    };
    int32_t quotients[XL_STRIP];
    xl_strip_weigh(room, panel->sums, &sums, entries, quotients);
    xl_strip_limbs(room, panel->sums, entries, quotients, from, job->count - from);
    for (int64_t i = 0; i < entries; ++i) {
        uint64_t *found = sum_of(job, first + i);
        memset(found, 0, (size_t)(8 * (job->taken[first + i] ? job->count : from)));
        if (job->taken[first + i])
            continue;
        xl_strip_entry(room, i, room->first, job->count - from);
        subtract_from(entry(panel->matrix, panel->start + first + i, panel->start + k), panel->matrix->count,
                      panel->precision - LIMB * from, room->first, found + from, job->count - from);
    }
}

/* The place in the order of the row with the largest sum, the first of such rows. */
static int64_t largest_sum(const panel_job *job) {
    const int64_t *order = job->panel->order;
    int64_t best = job->done;
    for (int64_t i = job->done + 1; i < rows_of(job); ++i)
        if (compare_magnitudes(sum_of(job, order[i]), sum_of(job, order[best]), job->count) > 0)
            best = i;
    return best;
}

/* Whether some other row might have the largest sum. */
static int has_rivals(const panel_job *job, int64_t best) {
    const int64_t *order = job->panel->order, first = job->first, count = job->count - first;
    for (int64_t i = job->done; i < rows_of(job); ++i)
        if (i != best && are_close(sum_of(job, order[i]) + first, sum_of(job, order[best]) + first, count))
            return 1;
    return 0;
}

/* Limbs of the next column that are left out, from the bits of the last pivot and of the one before it. */
static int64_t next_first(const panel_job *job, int64_t bits, int64_t before) {
    const int64_t expected = bits - LIMB - maximum(0, before - bits);
    return maximum(0, minimum(expected - DIVISION_GUARD, job->panel->precision - ROUNDING_GUARD)) / LIMB;
}

/* The row of the next pivot takes its place in the order, and the pivot is rounded; or nothing of it where sums are not long
 * enough to tell them. */
static void choose_pivot(panel_job *job) {
    const xl_panel *panel = job->panel;
    const int64_t k = job->done, limbs = panel->upper_entries->count, first = job->first, best = largest_sum(job);
    const int64_t row = panel->order[best];
    uint64_t *pivot = panel->pivots + k * limbs;
    const int doubtful = round_sum(panel, sum_of(job, row) + first, job->count - first, first, pivot, job->work);
    const int64_t bits = length_of(pivot, limbs);
    job->unsure = first > 0 && (doubtful || bits < LIMB * first + DIVISION_GUARD || has_rivals(job, best));
    if (job->unsure) {
        job->first = 0;
        return;
    }
    memcpy(panel->value, sum_of(job, row), (size_t)(8 * job->count));
    job->lost = bits == 0;
    panel->places[k] = best - k;
    panel->order[best] = panel->order[k];
    panel->order[k] = row;
    job->next = next_first(job, bits, job->bits);
    job->bits = bits;
}

/* Entries of U beside the pivot that was chosen last, in columns of the block. */
static void finish_rest_of_row(const panel_job *job, xl_strip_room *room) {
    const xl_panel *panel = job->panel;
    const xl_elimination *e = panel->factors;
    const int64_t k = job->done, row = panel->order[k], entries = block_of(job) - 1 - k;
    const row_strip s = {job, k, panel->start + k + 1, entries};
    const xl_strip_sums sums = {
        .sums = job->rest,
        .sums_plane = XL_STRIP,
        .vectors = upper_of(job, 0, s.column),
        .vectors_plane = e->block * e->upper_stride,
        .vectors_step = e->upper_stride,
        .factors = lower_of(job, 0, row),
        .factors_plane = e->block * e->lower_stride,
        .factors_step = e->lower_stride,
        .terms = k,
    };
    if (entries == 0)
        return;
    for (int64_t p = 0; p < e->moduli; ++p)
        for (int64_t i = 0; i < entries; ++i)
            job->rest[p * XL_STRIP + i] = *sums_of(job, p * e->block + k + 1 + i, row);
    finish_row(room, &s, &sums, panel->start + row, place_row_and_factors);
}

typedef struct {
    const panel_job *job;
    int64_t first, entries;
} column_strip;

static void place_column(const void *context, int64_t p, int16_t *residues) {
    const column_strip *s = context;
    memcpy(lower_of(s->job, p * s->job->panel->factors->block + s->job->done, s->first), residues,
           (size_t)(2 * s->entries));
}

/* L_ij of the column whose pivot was chosen last, in a strip of rows. */
static void divide_column(const panel_job *job, xl_strip_room *room, int64_t piece) {
    const xl_long_integers *to = job->panel->lower_entries;
    const int64_t first = piece * job->width, entries = minimum(job->width, rows_of(job) - first);
    const column_strip s = {job, first, entries};
    const xl_strip x = {sum_of(job, first), job->count, job->count, entries};
    const xl_strip found = {entry(to, first, job->done), to->row_stride, to->count, entries};
    uint64_t *to_first = entry(to, first, job->done);
    uint8_t doubtful[XL_STRIP];
    if (xl_strip_divide(room, &job->division, &x, to_first, to->row_stride, doubtful)) {
        if (job->first > 0)
            sum_column(job, room, piece, 0);
        xl_strip_divide_again(room, &job->division, &x, to_first, to->row_stride, doubtful);
    }
    xl_strip_residues(room, job->panel->lower, &found, place_column, &s);
}

static void close_column(panel_job *job) {
    job->taken[job->panel->order[job->done]] = 1;
    job->first = job->next;
    ++job->done;
}

/* What the threads of a team do together. A strip of rows has one thread for all columns: `static` sees to that. */
static void finish_columns(panel_job *job, xl_strip_room *room) {
    while (job->done < block_of(job)) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < job->pieces; ++i)
            sum_column(job, room, i, job->first);
#pragma omp single
        choose_pivot(job);
        if (job->unsure)
            continue;
        if (job->lost)
            return;
#pragma omp for schedule(static, 1)
        for (int64_t i = 0; i < 2; ++i) {
            if (i == 0)
                finish_rest_of_row(job, room);
            else
                xl_division_by(&job->division, job->panel->pivots + job->done * job->panel->upper_entries->count);
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < job->pieces; ++i)
            divide_column(job, room, i);
#pragma omp single
        close_column(job);
    }
}

static int columns_new(panel_job *job, int64_t threads) {
    const xl_panel *panel = job->panel;
    const int64_t rows = rows_of(job), moduli = panel->factors->moduli, block = block_of(job);
    const int64_t found = 8 * (rows * job->count + panel->upper_entries->count + 1), factors = 2 * block * moduli * block, rest = 2 * moduli * XL_STRIP;
    job->width = xl_strip_width(rows, xl_threads(threads));
    job->pieces = divide_up(rows, job->width);
    if (!xl_division_new(&job->division, panel->upper_entries->count, panel->lower_entries->count))
        return 0;
    job->whole = calloc(1, (size_t)(found + factors + rest + rows));
    if (!job->whole) {
        xl_division_free(&job->division);
        return 0;
    }
    job->found = job->whole;
    job->work = sum_of(job, rows);
    job->factors = (int16_t *)(void *)((char *)job->whole + found);
    job->rest = job->factors + factors / 2;
    job->taken = (uint8_t *)(job->rest + rest / 2);
    return 1;
}

int64_t xl_native_panel_columns(const xl_instructions *set, const xl_panel *panel, int64_t threads) {
    panel_job job = {.set = set, .panel = panel, .count = panel->sums->octets / 8};
    int64_t missing = 0;
    int team;
    if (!columns_new(&job, threads))
        return XL_OUT_OF_MEMORY;
    team = xl_team(threads, rows_of(&job) * block_of(&job) * panel->factors->moduli, job.pieces);
    (void)team;
#pragma omp parallel num_threads(team) if (team > 1)
    {
        xl_strip_room room;
        if (!room_new(&job, &room)) {
#pragma omp atomic write
            missing = 1;
        }
#pragma omp barrier
        if (!missing) {
            finish_columns(&job, &room);
            count_time(&job, &room, team);
        }
        xl_strip_room_free(&room);
    }
    free(job.whole);
    xl_division_free(&job.division);
    return missing ? XL_OUT_OF_MEMORY : job.done;
}
